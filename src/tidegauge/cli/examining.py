"""`tidegauge published`: the claims of a published report, examined over the figures of one or several stored runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tidegauge import store
from tidegauge.campaign.published import choice_of, examined, measured_of
from tidegauge.cli.exit_codes import EXIT_GOOD
from tidegauge.cli.output import Output
from tidegauge.comparison.across import LETTERS
from tidegauge.comparison.published import examined_together
from tidegauge.errors import UserError
from tidegauge.published.examine import Choice
from tidegauge.report.published_runs import published_runs, published_runs_content


@dataclass(frozen=True)
class PublishedRequest:
    """What the user asked for."""

    runs: tuple[str, ...]
    runs_directory: Path


def examine_runs(request: PublishedRequest, out: Output) -> int:
    """Examine and show. Raises `UserError` if runs can't be read or must not be put together."""
    if len(request.runs) > len(LETTERS):
        raise UserError(f"{len(request.runs)} runs are too many; at most {len(LETTERS)} can be examined at once.")
    paths = [store.find_run(request.runs_directory, name).resolve() for name in request.runs]
    twice = sorted({path.name for path in paths if paths.count(path) > 1})
    if twice:
        raise UserError(f"{', '.join(twice)} is given twice.", "Name different runs.")
    runs = [store.load_run(path) for path in paths]
    choices = [_choice(run) for run in runs]
    measured = list(map(measured_of, runs))
    outcome = examined(choices[0], runs[0]) if len(runs) == 1 else examined_together(choices, runs, measured)
    out.show(published_runs(runs, outcome), published_runs_content(runs, outcome))
    return EXIT_GOOD


def _choice(run: store.StoredRun) -> Choice:
    choice = choice_of(run)
    if choice is None:
        raise UserError(
            f"{run.path.name}: its campaign, {run.name}, examines no claims of a published report.",
            "Name runs of campaigns that have `published`: see docs/published.md.",
        )
    if not run.results:
        raise UserError(f"{run.path.name} has no trial with a readable result.")
    return choice
