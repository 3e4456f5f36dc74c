"""Comparing runs from the command line: two that are named, or one with an earlier one, judged for regressions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tidegauge import store
from tidegauge.cli.options import WantedFiles
from tidegauge.cli.output import EXIT_GOOD, EXIT_INVALID, EXIT_THRESHOLD, Output
from tidegauge.cli.reports import load_runs
from tidegauge.comparison.across import RunComparison
from tidegauge.comparison.across import compare_runs as compare_stored
from tidegauge.comparison.differences import DisclosedRun
from tidegauge.comparison.regression import (
    RegressionJudgement,
    RegressionOutcome,
    judge_regressions,
    parse_allowed,
)
from tidegauge.errors import UserError
from tidegauge.extras import PLOTS, require_package
from tidegauge.model.labels import NEWEST
from tidegauge.model.variant import parse_same_within
from tidegauge.report import across
from tidegauge.report.html.comparison import comparison_page
from tidegauge.report.layout import Paragraph, shown_path
from tidegauge.store.details import read_disclosed


@dataclass(frozen=True)
class Regression:
    """What the user asked about figures that got worse. `against` None = the first of the runs is the baseline."""

    against: str | None = None
    allowed: Sequence[str] = ()
    strict: bool = False

    @property
    def is_asked(self) -> bool:
        """Whether figures are to be judged, and not only to be shown."""
        return self.against is not None or bool(self.allowed) or self.strict


def compare_runs(
    names: Sequence[str],
    runs_directory: Path,
    files: WantedFiles,
    out: Output,
    *,
    noise: float,
    unequal: bool,
    asked: Regression,
    same_within: str | None = None,
) -> int:
    """Compare and show; differences below `noise`, or within `same_within`, are none; `unequal` levels may be allowed.

    Returns the exit code. Raises `UserError` if runs can't be read, don't belong together, or are not at equal levels.
    """
    files.check()
    if files.html is not None:
        require_package("matplotlib", PLOTS)
    if not 0 < noise < 1:
        raise UserError(f"--noise {noise:g}: must be a share between 0 and 1, such as 0.03 for 3 %.")
    try:
        allowed = parse_allowed(asked.allowed)
    except ValueError as error:
        raise UserError(f"{error}.") from error
    try:
        margin = None if same_within is None else parse_same_within(same_within)
    except ValueError as error:
        raise UserError(f"--same-within '{same_within}': {error}.") from error
    if asked.against is not None:
        if len(names) > 1:
            raise UserError("--against compares one run.", "Name one, or none for the newest.")
        later = store.find_run(runs_directory, names[0] if names else NEWEST[0], out.alert)
        baseline = store.find_baseline(runs_directory, asked.against, later, out.alert)
        if baseline is None:
            return _show_no_baseline(asked, later, files, out, noise)
        names = [str(baseline), str(later)]
    if len(names) < 2:
        raise UserError(
            "One run can't be compared.",
            "Name two or more: tidegauge compare RUN RUN; or say with what: tidegauge compare --against last-week.",
        )
    runs = []
    for run in load_runs(names, runs_directory, "compared", out):
        if not run.results:
            why = next((f": {trial.problem}" for trial in run.trials if trial.problem), "")
            raise UserError(f"{run.path.name} has no trial with a readable result{why}.")
        last = {trial.result.spec.system: trial for trial in run.trials if trial.result is not None}
        runs.append(DisclosedRun(run, {system: read_disclosed(trial) for system, trial in last.items()}))
    comparison = compare_stored(runs, unequal, noise, margin)
    judgement = judge_regressions(comparison, allowed) if asked.is_asked else None
    facts = across.ComparisonFacts(comparison, judgement)
    files.write(
        lambda: across.junit(comparison, judgement),
        lambda: across.markdown(comparison, judgement),
        lambda: comparison_page(facts),
    )
    out.show(across.report(facts), across.content(comparison, judgement))
    _say_written(files, out)
    return EXIT_GOOD if judgement is None else _code_of(judgement, asked.strict)


def _show_no_baseline(asked: Regression, later: Path, files: WantedFiles, out: Output, noise: float) -> int:
    """Say that there is nothing to compare with yet, as in the first week of a nightly job."""
    judgement = RegressionJudgement(())
    comparison = RunComparison((("A", store.load_run(later)),), (), (), (), (), noise, ({},))
    sentence = (
        f"Not decided: there is no earlier finished run of the campaign {comparison.runs[0][1].name} that "
        f"'{asked.against}' means, with which {later.name} could be compared."
    )
    files.write(
        lambda: across.junit(comparison, judgement),
        lambda: across.markdown(comparison, judgement),
        lambda: comparison_page(across.ComparisonFacts(comparison, judgement), sentence),
    )
    out.show(Paragraph(sentence), across.content(comparison, judgement))
    _say_written(files, out)
    return _code_of(judgement, asked.strict)


def _say_written(files: WantedFiles, out: Output) -> None:
    """Say where the page is that was asked for, as `history` and `report` do."""
    if files.html is not None:
        out.say(f"Written: {shown_path(files.html)}")


def _code_of(judgement: RegressionJudgement, strict: bool) -> int:
    if judgement.outcome is RegressionOutcome.REGRESSED:
        return EXIT_THRESHOLD
    return EXIT_INVALID if strict and judgement.outcome is RegressionOutcome.NOT_DECIDED else EXIT_GOOD
