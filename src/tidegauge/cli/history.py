"""The history of runs: what is printed of it, and the page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Group
from rich.text import Text

from tidegauge import store
from tidegauge.cli.output import EXIT_GOOD, Output
from tidegauge.cli.reports import check_output, link_to_report
from tidegauge.comparison.history import history_of_runs
from tidegauge.errors import UserError, did_you_mean
from tidegauge.extras import command_for, has_package
from tidegauge.places import is_directory
from tidegauge.report.history import history_content, history_report
from tidegauge.report.layout import path_line
from tidegauge.store.details import read_disclosed
from tidegauge.store.read import StoredRun


def show_history(runs_directory: Path, campaign: str | None, tag: str | None, output: Path | None, out: Output) -> int:
    """Carry out `tidegauge history`: show it, and write its page if what draws is installed.

    Raises `UserError`, `RunFailedError`.
    """
    if not is_directory(runs_directory):
        raise UserError(f"There is no directory {runs_directory}.", "Start a run with `tidegauge quick`.")
    check_output(output)
    runs = _chosen_runs(store.list_runs(runs_directory), campaign, tag, runs_directory)
    history = history_of_runs(runs, read_disclosed)
    path = output or runs_directory / store.HISTORY_NAME
    if not has_package("matplotlib"):
        out.alert(f"No page was written. For one: {command_for('matplotlib')} and the same command again.")
        out.show(history_report(history), history_content(history, ""))
        return EXIT_GOOD
    from tidegauge.report.html.page import history_page

    chosen = ", ".join(filter(None, (campaign, f"tag {tag}" if tag else "")))
    page = history_page(history, lambda run: link_to_report(run.path, path.parent), chosen)
    store.write_page(path, page)
    shown = Group(history_report(history), Text(""), path_line("Written: ", path))
    out.show(shown, history_content(history, str(path.absolute())))
    return EXIT_GOOD


def _chosen_runs(
    runs: Sequence[StoredRun], campaign: str | None, tag: str | None, runs_directory: Path
) -> list[StoredRun]:
    """The runs of a campaign and with a tag. Raises `UserError` if there are none; the message names the nearest."""
    for option, wanted, names_of in (
        ("--campaign", campaign, lambda run: (run.name,)),
        ("--tag", tag, lambda run: run.labels.tags),
    ):
        if wanted is None:
            continue
        names = list(dict.fromkeys(name for run in runs for name in names_of(run)))
        runs = [run for run in runs if wanted in names_of(run)]
        if not runs:
            raise UserError(
                f"{option} '{wanted}': no run in {runs_directory} has it{did_you_mean(wanted, names)}.",
                f"There are: {', '.join(names) or 'none'}.",
            )
    return list(runs)
