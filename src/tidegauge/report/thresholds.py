"""What became of a run's thresholds, and how that is worded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import RenderableType

from tidegauge.comparison import within
from tidegauge.comparison.order import compared_trials_of, findings_of
from tidegauge.model.trial import LoadResult, Validity, point_words
from tidegauge.numbers import count, rounded
from tidegauge.plain import plain_value
from tidegauge.report.compare import experiment_at_point
from tidegauge.report.layout import Paragraph, bullet
from tidegauge.store.read import StoredRun
from tidegauge.thresholds import Asked, Ruling, ThresholdOutcome, parse_threshold, rule_on_thresholds

_STYLES = {ThresholdOutcome.MISSED: "bold red", ThresholdOutcome.NOT_DECIDED: "yellow", ThresholdOutcome.MET: ""}
"""By what became of a threshold, in the order in which one hides the next."""
HOW_RULED = (
    "Of what is measured, with 3 blocks or more the whole 95% interval must hold, with fewer every block; of what is "
    "counted, every trial."
)


def rulings(run: StoredRun) -> tuple[Ruling, ...]:
    """Every threshold of a run's campaign, wherever it applies; those missed first."""
    # A missed ruling for each trial that a rule of `abort-on` ended.
    aborted = tuple(
        Ruling(
            threshold=f"abort-on: {result.aborted}",
            experiment=result.spec.experiment,
            subject=result.spec.system,
            where=experiment_at_point(result.spec.experiment, result.spec.point),
            outcome=ThresholdOutcome.MISSED,
            value=None,
            interval=None,
            blocks=1,
            why=f"{result.spec.trial_id} was aborted after {rounded(result.measured_s)} s",
        )
        for result in run.results
        if isinstance(result, LoadResult) and result.aborted
    )
    if not run.thresholds:
        return aborted
    thresholds, unreadable = [], []
    for text in run.thresholds:
        try:
            thresholds.append(parse_threshold(text))
        except ValueError as error:  # Stored by another version of Tidegauge.
            unreadable.append(Ruling(text, "", "", "", ThresholdOutcome.NOT_DECIDED, None, None, 0, str(error)))
    order = list(_STYLES)
    return tuple(
        sorted(
            (*aborted, *rule_on_thresholds(thresholds, questions_asked(run)), *unreadable),
            key=lambda ruling: order.index(ruling.outcome),
        )
    )


def questions_asked(run: StoredRun) -> list[Asked]:
    """The tables of a run, and what its experiments found."""
    tables = compared_trials_of(run)
    several = [table.experiment for table in tables]
    questions = []
    for table in tables:
        rate, at = table.results[0].offered_msgs_per_s, point_words(table.results[0].spec.point)
        load = f"{count(rate)} msg/s" if several.count(table.experiment) > 1 and rate is not None else ""
        places = ", ".join(filter(None, (load, at)))
        where = f"{table.experiment} at {places}" if places else table.experiment
        questions.append(Asked(table.experiment, where, table.point, table.closed_loop, results=table.results))
    doubtful = {result.spec.trial_id for result in run.results if result.validity is Validity.DOUBTFUL}
    for (experiment, _), findings in within.by_question(findings_of(run)).items():
        point, where = findings[0].point, experiment_at_point(experiment, findings[0].point)
        in_doubt = {finding.system for finding in findings if finding.published_trial_id in doubtful}
        questions.append(Asked(experiment, where, point, False, findings=findings, doubtful=in_doubt))
    return questions


def outcomes(all_rulings: Sequence[Ruling]) -> dict[str, ThresholdOutcome]:
    """What became of each threshold wherever it was asked, by its text: the worst, as rulings are in that order."""
    by_text: dict[str, ThresholdOutcome] = {}
    for ruling in all_rulings:
        by_text.setdefault(ruling.threshold, ruling.outcome)
    return by_text


def headline(all_rulings: Sequence[Ruling]) -> str:
    """ "Thresholds: 1 MISSED, 2 met."."""
    counted = Counter(outcomes(all_rulings).values())
    return f"Thresholds: {', '.join(f'{number} {_outcome_word(kind)}' for kind, number in counted.items())}."


def _outcome_word(outcome: ThresholdOutcome) -> str:
    return "MISSED" if outcome is ThresholdOutcome.MISSED else outcome.value


def place(ruling: Ruling) -> str:
    """The system and the place that a threshold is asked of: "kafka@4.3.1, peak"; may be ""."""
    return ", ".join(filter(None, (ruling.subject, ruling.where)))


def sentence(ruling: Ruling) -> str:
    """One line: the threshold, where it was asked, what became of it and why."""
    where = f"{place(ruling)}: " if place(ruling) else ""
    return f"{ruling.threshold}: {_outcome_word(ruling.outcome)}: {where}{ruling.why}"


def run_parts(all_rulings: Sequence[Ruling], mark: str) -> Iterable[RenderableType]:
    """What a run's report says of its thresholds, with the mark of unequal terms; nothing without any."""
    if not all_rulings:
        return
    yield Paragraph(f"{mark}{headline(all_rulings)}", style=f"bold {_STYLES[all_rulings[0].outcome]}".strip())
    yield from (bullet(sentence(ruling), _STYLES[ruling.outcome]) for ruling in all_rulings)
    if any(ruling.interval for ruling in all_rulings):
        yield Paragraph(HOW_RULED, "dim")


def content(all_rulings: Sequence[Ruling]) -> dict[str, Any] | None:
    """What became of a run's thresholds, as plain data; None without any."""
    if not all_rulings:
        return None
    content = [{**plain_value(ruling), "sentence": sentence(ruling)} for ruling in all_rulings]
    return {"outcome": all_rulings[0].outcome.value, "rulings": content}
