"""`tidegauge compare` and `tidegauge published`: stored runs beside each other, and claims over several runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tidegauge import store
from tidegauge.campaign.read.published import choice_of, examined, measured_of
from tidegauge.cli.options import WantedFiles
from tidegauge.cli.output import EXIT_GOOD, Output
from tidegauge.comparison.across import LETTERS, compare_runs, examined_together
from tidegauge.comparison.differences import DisclosedRun
from tidegauge.errors import UserError
from tidegauge.published.examine import Choice
from tidegauge.report import across
from tidegauge.report.across import published_runs, published_runs_content
from tidegauge.store.details import read_disclosed


def compare(
    names: Sequence[str], runs_directory: Path, files: WantedFiles, out: Output, *, noise: float, allow_unequal: bool
) -> int:
    """Compare and show. Relative differences below `noise` are treated as noise.

    Raises `UserError` if runs can't be read, don't belong together, or are not at equal levels.
    """
    files.check()
    if not 0 < noise < 1:
        raise UserError(f"--noise {noise:g}: must be a share between 0 and 1, such as 0.03 for 3 %.")
    if len(names) < 2:
        raise UserError("One run can't be compared.", "Name two or more: tidegauge compare RUN RUN.")
    runs = [_disclosed_run(run) for run in _load(names, runs_directory, "compared")]
    for disclosed_run in runs:
        if not disclosed_run.run.results:
            problems = [trial.problem for trial in disclosed_run.run.trials if trial.problem]
            why = f": {problems[0]}" if problems else ""
            raise UserError(f"{disclosed_run.run.path.name} has no trial with a readable result{why}.")
    comparison = compare_runs(runs, allow_unequal, noise)
    files.write(lambda: across.junit(comparison), lambda: across.markdown(comparison))
    out.show(across.report(comparison), across.content(comparison))
    return EXIT_GOOD


def _disclosed_run(run: store.StoredRun) -> DisclosedRun:
    """What the last finished trial of each system disclosed."""
    last = {trial.result.spec.system: trial for trial in run.trials if trial.result is not None}
    return DisclosedRun(run, {system: read_disclosed(trial) for system, trial in last.items()})


def _load(names: Sequence[str], runs_directory: Path, done: str) -> list[store.StoredRun]:
    """Different runs, not too many of them to be `done` what they are named for. Raises `UserError`."""
    if len(names) > len(LETTERS):
        raise UserError(f"{len(names)} runs are too many; at most {len(LETTERS)} can be {done} at once.")
    paths = [store.find_run(runs_directory, name).resolve() for name in names]
    twice = sorted({path.name for path in paths if paths.count(path) > 1})
    if twice:
        raise UserError(f"{', '.join(twice)} is given twice.", "Name different runs.")
    return [store.load_run(path) for path in paths]


def examine_runs(names: Sequence[str], runs_directory: Path, out: Output) -> int:
    """Examine and show. Raises `UserError` if runs can't be read or must not be put together."""
    runs = _load(names, runs_directory, "examined")
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
