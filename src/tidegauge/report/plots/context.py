"""Which trials a picture is of, in words: what stands under its title, and goes with it where it is shown alone."""

from __future__ import annotations

from collections.abc import Sequence

from tidegauge.comparison.compared_trials import ComparedTrials
from tidegauge.model.finding import Finding
from tidegauge.model.trial import LoadSpec, MeasuredResult, TrialResult, TrialSpec, Validity, point_words
from tidegauge.numbers import count, join_with_and
from tidegauge.report.tables import short_point


def context_of_trials(results: Sequence[TrialResult], *, with_rate: bool = True) -> str:
    """Experiments, rate and point where all have the same, and every level: "latency at 500 msg/s; levels 2 and 4"."""
    if not results:
        return ""
    experiments = join_with_and(list(dict.fromkeys(result.spec.experiment for result in results)))
    at = ""
    scheduled = {isinstance(result.spec, LoadSpec) and result.spec.schedule is not None for result in results}
    if with_rate and scheduled == {True}:
        at = " with a schedule of rates"
    elif with_rate and scheduled == {False}:
        (rate, *others) = {
            result.offered_msgs_per_s if isinstance(result, MeasuredResult) else None for result in results
        }
        at = f" at {count(rate)} msg/s" if rate is not None and not others else ""
    points = {short_point(result.spec.point) for result in results}
    where = f", {next(iter(points))}" if len(points) == 1 and points != {""} else ""
    return f"{experiments}{at}{where}; {levels_given(results)}"


def context_of_findings(findings: Sequence[Finding], results: Sequence[TrialResult]) -> str:
    """The context of findings: of the trials of their experiments, systems and points."""
    asked = {(finding.experiment, finding.system, point_words(finding.point)) for finding in findings}
    trials = [result for result in results if result.spec.question in asked]
    return (
        context_of_trials(trials, with_rate=False)
        or f"{join_with_and(list(dict.fromkeys(f.experiment for f in findings)))}; level not known"
    )


def context_of_unfinished(spec: TrialSpec, status: str) -> str:
    """The context of a trial without a result, whose level nobody read back."""
    where = f", {short_point(spec.point)}" if spec.point else ""
    how = "expected" if spec.choice.as_found else "asked for"
    level = "as found" if spec.choice.is_open else f"{spec.choice.level} {how}"
    return f"{spec.experiment}{where}, {status}; level {level}"


def levels_given(results: Sequence[TrialResult]) -> str:
    """Every durability level that was in force in any of them: "level 3", "levels 2 and 4", "level not known"."""
    levels = sorted({result.level.level or 0 for result in results})
    words = [str(level) if level else "not known" for level in levels]
    return f"level{'s' if len(words) > 1 else ''} {join_with_and(words)}"


def validity_words(compared: ComparedTrials, *kinds: Validity) -> str:
    """Which trials are not valid: "INVALID: kafka@4.3.1 (trial 2), pulsar@4.2.4."; "" where none is of these kinds."""
    sentences = []
    for kind in kinds:
        names = []
        for system in compared.systems:
            trials = compared.of_system(system)
            numbers = [str(number) for number, trial in enumerate(trials, 1) if trial.validity is kind]
            if len(numbers) == len(trials):
                names.append(system)
            elif numbers:
                names.append(f"{system} (trial{'s' if len(numbers) > 1 else ''} {join_with_and(numbers)})")
        if names:
            sentences.append(f"{kind.shown}: {', '.join(names)}.")
    return " ".join(sentences)
