"""`tidegauge compare`: runs of any age held against each other."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tidegauge import store
from tidegauge.cli.exit_codes import EXIT_GOOD
from tidegauge.cli.files import WantedFiles
from tidegauge.cli.output import Output
from tidegauge.comparison.across import LETTERS, compare_runs
from tidegauge.comparison.differences import Around
from tidegauge.errors import UserError
from tidegauge.report import across
from tidegauge.store.disclosed import read_disclosed


@dataclass(frozen=True)
class CompareRequest:
    """What the user asked for. `noise` is the share up to which a difference is none."""

    runs: tuple[str, ...]
    runs_directory: Path
    noise: float
    allow_unequal: bool
    files: WantedFiles


def compare(request: CompareRequest, out: Output) -> int:
    """Compare and show. Raises `UserError` if runs can't be read, don't belong together, or are not at equal levels."""
    request.files.check()
    if not 0 < request.noise < 1:
        raise UserError(f"--noise {request.noise:g}: must be a share between 0 and 1, such as 0.03 for 3 %.")
    if len(request.runs) < 2:
        raise UserError("One run can't be compared.", "Name two or more: tidegauge compare RUN RUN.")
    if len(request.runs) > len(LETTERS):
        raise UserError(f"{len(request.runs)} runs are too many; at most {len(LETTERS)} can be compared at once.")
    paths = [store.find_run(request.runs_directory, name).resolve() for name in request.runs]
    twice = sorted({path.name for path in paths if paths.count(path) > 1})
    if twice:
        raise UserError(f"{', '.join(twice)} is given twice.", "Name different runs.")
    around = [_around(store.load_run(path)) for path in paths]
    for one in around:
        if not one.run.results:
            problems = [trial.problem for trial in one.run.trials if trial.problem]
            raise UserError(f"{one.run.path.name} has no trial with a readable result{_because(problems)}.")
    found = compare_runs(around, request.allow_unequal, request.noise)
    request.files.write(lambda: across.junit(found), lambda: across.markdown(found))
    out.show(across.report(found), across.content(found))
    return EXIT_GOOD


def _because(problems: list[str]) -> str:
    return f": {problems[0]}" if problems else ""


def _around(run: store.StoredRun) -> Around:
    """What the last finished trial of each system disclosed."""
    last = {trial.result.spec.system: trial for trial in run.trials if trial.result is not None}
    return Around(run, {system: read_disclosed(trial) for system, trial in last.items()})
