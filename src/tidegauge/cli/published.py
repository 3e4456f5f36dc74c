"""The verb `published` as typer wants it. What it needs it imports when it is called: `--help` is answered at once."""

from __future__ import annotations

from typing import Annotated

import typer

from tidegauge.cli.options import DEFAULT_RUNS, Json, RunsDir
from tidegauge.cli.output import Output

PUBLISHED_EXAMPLE = "Example: tidegauge published 2026-11-20 last"


def published(
    runs: Annotated[list[str], typer.Argument(help="Runs of campaigns of one published report, as `show` takes them.")],
    *,
    runs_dir: RunsDir = DEFAULT_RUNS,
    as_json: Json = False,
) -> int:
    """Examine a published report's claims over several runs, such as of systems that took turns on the same hosts."""
    from tidegauge.cli.examining import PublishedRequest, examine_runs

    return examine_runs(PublishedRequest(tuple(runs), runs_dir), Output(as_json))
