"""Comparing runs from the command line: two that are named, or one with an earlier one, judged for regressions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tidegauge import store
from tidegauge.cli.options import NO_FILES, WantedFiles
from tidegauge.cli.output import EXIT_GOOD, EXIT_INVALID, EXIT_THRESHOLD, Output
from tidegauge.cli.reports import load_runs
from tidegauge.comparison.across import RunComparison
from tidegauge.comparison.across import compare_runs as compare_stored
from tidegauge.comparison.differences import LETTERS, DisclosedRun, merge_disclosed
from tidegauge.comparison.regression import (
    RegressionJudgement,
    RegressionOutcome,
    judge_regressions,
    parse_allowed,
)
from tidegauge.errors import UserError
from tidegauge.extras import PLOTS, require_package
from tidegauge.model.labels import NEWEST
from tidegauge.model.trial import LoadResult, point_words
from tidegauge.model.variant import SameWithin, parse_same_within
from tidegauge.numbers import trimmed
from tidegauge.places import is_file
from tidegauge.plain import grouped
from tidegauge.report import across
from tidegauge.report.html.comparison import comparison_page
from tidegauge.report.layout import Paragraph, shown_path
from tidegauge.report.omb_results import omb_results_content, show_omb_results
from tidegauge.store.details import read_disclosed
from tidegauge.store.omb_results import OmbResult, merge_repeats, read_omb_result, trial_as_omb_result


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
    if any(_is_omb_result(name) for name in names):
        return _compare_with_omb(names, runs_directory, files, out, asked)
    if files.html is not None:
        require_package("matplotlib", PLOTS)
    if not 0 < noise < 1:
        raise UserError(f"--noise {trimmed(noise)}: must be a share between 0 and 1, such as 0.03 for 3 %.")
    try:
        allowed = parse_allowed(asked.allowed)
    except ValueError as error:
        raise UserError(f"{error}.") from error
    margin = _parse_margin(same_within)
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
        by_system = grouped(
            (trial.result.spec.system, read_disclosed(trial)) for trial in run.trials if trial.result is not None
        )
        runs.append(DisclosedRun(run, {system: merge_disclosed(trials) for system, trials in by_system.items()}))
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
    return EXIT_GOOD if judgement is None else _say_code(judgement, asked.strict, out)


def _parse_margin(same_within: str | None) -> SameWithin | None:
    """The margin of the same, if one is given. Raises `UserError`."""
    try:
        return None if same_within is None else parse_same_within(same_within)
    except ValueError as error:
        raise UserError(f"--same-within '{same_within}': {error}.") from error


def _is_omb_result(name: str) -> bool:
    """Whether a name is of a file, as results of OMB are, and not of a run."""
    return name.endswith(".json") and is_file(Path(name))


def _compare_with_omb(
    names: Sequence[str], runs_directory: Path, files: WantedFiles, out: Output, asked: Regression
) -> int:
    """Show others' results of OMB beside each other and beside runs. Raises `UserError`."""
    if asked.is_asked or files != NO_FILES:
        raise UserError(
            "Results of OMB are shown side by side, and nothing is judged.",
            "Leave out --against, --regression, --strict, --junit, --markdown and --html; --json gives the figures.",
        )
    results = []
    for name in names:
        if _is_omb_result(name):
            results.append(read_omb_result(Path(name)))
            continue
        (run,) = load_runs([name], runs_directory, "compared", out)
        results += _loads_as_omb_results(run)
    if len(results) > len(LETTERS):
        raise UserError(f"{len(results)} results are too many; at most {len(LETTERS)} can be compared at once.")
    out.show(show_omb_results(results), omb_results_content(results))
    return EXIT_GOOD


def _loads_as_omb_results(run: store.StoredRun) -> list[OmbResult]:
    """Each load of a run over its repeats, in OMB's terms. Raises `UserError` if there is none."""
    loads: list[tuple[str, OmbResult]] = []
    for trial in run.trials:
        result = trial.result
        if isinstance(result, LoadResult) and (trial.trial_id in run.confirmed or not result.spec.exploratory):
            point = f" [{point_words(result.spec.point)}]" if result.spec.point else ""
            name = f"{run.path.name}, {result.spec.system}, {result.spec.experiment}{point}"
            loads.append((name, trial_as_omb_result(name, trial.directory, result)))
    if not loads:
        raise UserError(f"{run.path.name} has no load that could be set beside OMB's.")
    return [merge_repeats(trials) for trials in grouped(loads).values()]


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
    return _say_code(judgement, asked.strict, out)


def _say_written(files: WantedFiles, out: Output) -> None:
    """Say where the page is that was asked for, as `history` and `report` do."""
    if files.html is not None:
        out.say(f"Written: {shown_path(files.html)}")


def _say_code(judgement: RegressionJudgement, strict: bool, out: Output) -> int:
    """Say why the exit code is not 0, if it is not. Returns it."""
    if judgement.outcome is RegressionOutcome.REGRESSED:
        out.alert(f"Exit code {EXIT_THRESHOLD}: a figure got worse by more than is allowed.")
        return EXIT_THRESHOLD
    if strict and judgement.outcome is RegressionOutcome.NOT_DECIDED:
        out.alert(f"Exit code {EXIT_INVALID}: not everything could be judged, and --strict was given.")
        return EXIT_INVALID
    return EXIT_GOOD
