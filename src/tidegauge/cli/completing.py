"""What a shell offers when Tab is pressed: ready campaigns, runs, systems. Quiet and quick: a shell waits for it.

Typer asks these functions; what nothing is offered for, the shell completes as names of files.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from tidegauge.errors import TidegaugeError

if TYPE_CHECKING:
    from tidegauge.store.read import RunDocument


def complete_campaigns(incomplete: str) -> list[str]:
    """The names of ready campaigns that begin so."""
    from tidegauge.cli.options import find_ready_campaigns

    with suppress(TidegaugeError):
        return [name for name in sorted(find_ready_campaigns()) if name.startswith(incomplete)]
    return []


def complete_reports(incomplete: str) -> list[str]:
    """The names of published reports that begin so."""
    from tidegauge.published.examine import report_names

    return [name for name in report_names() if name.startswith(incomplete)]


def complete_runs(context: typer.Context, incomplete: str) -> list[str]:
    """The names of runs that begin so, the newest first, and `last`."""
    from tidegauge.store.read import run_directories

    names = ["last", *sorted((path.name for path in run_directories(_runs_directory(context))), reverse=True)]
    return [name for name in names if name.startswith(incomplete)]


def complete_campaigns_of_runs(context: typer.Context, incomplete: str) -> list[str]:
    """The names of campaigns of which there are runs that begin so."""
    return _complete_from_heads(context, incomplete, lambda head: [head.name])


def complete_tags(context: typer.Context, incomplete: str) -> list[str]:
    """The tags of runs that begin so."""
    return _complete_from_heads(context, incomplete, lambda head: head.tags or ())


def _complete_from_heads(
    context: typer.Context, incomplete: str, names_of: Callable[[RunDocument], Iterable[str]]
) -> list[str]:
    from tidegauge.store.read import read_run_head, run_directories

    names: set[str] = set()
    for path in run_directories(_runs_directory(context)):
        with suppress(TidegaugeError):
            names.update(names_of(read_run_head(path)))
    return sorted(name for name in names if name.startswith(incomplete))


def _runs_directory(context: typer.Context) -> Path:
    """Where runs are. Options that have defaults are not filled in yet."""
    return Path(context.params.get("runs_dir") or os.environ.get("TIDEGAUGE_RUNS") or "runs")


def complete_systems(incomplete: str) -> list[str]:
    """Systems that begin so, also the last of several with commas; after an `@` the version taken by default."""
    from tidegauge.systems import registry

    before, comma, begun = incomplete.rpartition(",")
    with suppress(TidegaugeError):
        systems = registry.all_systems()
        names = registry.system_names_for_users(sorted(systems))
        if "@" in begun:
            names = [f"{name}@{systems[name].default_version}" for name in names]
        return [f"{before}{comma}{name}" for name in names if name.startswith(begun)]
    return []
