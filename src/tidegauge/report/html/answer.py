"""What stands first in a report: the figures in question, what they are worth, and what speaks against them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tidegauge.experiments.api import TrialResult, Validity, point_words
from tidegauge.experiments.finding import Finding
from tidegauge.published.outcome import PublishedOutcome
from tidegauge.published.verdict import Verdict
from tidegauge.report import compare, fairness, levels, thresholds
from tidegauge.report.estimates import Estimate, estimate
from tidegauge.report.limiting import limited_by
from tidegauge.report.numbers import count, ms, plural, short
from tidegauge.report.published import counts
from tidegauge.report.tables import Block, blocks
from tidegauge.report.terminal import load_words
from tidegauge.statistics.figures import FINDING_FIGURES, FindingFigure, worst_end_to_end
from tidegauge.store.read import StoredRun
from tidegauge.thresholds.model import Outcome

GOOD, DOUBT, BAD = "good", "doubt", "bad"


@dataclass(frozen=True)
class Bar:
    """One system's figure. `share`: of the largest on its card, from 0 to 1; `beside`: further figures in words."""

    system: str
    text: str
    share: float
    beside: str
    validity: str


@dataclass(frozen=True)
class Card:
    """One question and its answer.

    Attributes:
        figure: what the bars show, in words for a headline.
        better: "higher" or "lower".
        verdicts: what the figures are worth.
    """

    title: str
    figure: str
    unit: str
    better: str
    bars: tuple[Bar, ...]
    verdicts: tuple[str, ...]
    anchor: str


@dataclass(frozen=True)
class Check:
    """One thing that would speak against the figures, and whether it does. `state`: good, doubt or bad."""

    state: str
    text: str


@dataclass(frozen=True)
class Answer:
    """The first screen."""

    headline: str
    confidence: str
    cards: tuple[Card, ...]
    checks: tuple[Check, ...]


def answer(run: StoredRun, anchors: dict[str, str]) -> Answer:
    """The first screen of a run. `anchors`: the place in the page of each experiment."""
    cards = [*_finding_cards(run, anchors), *(_block_card(one, run, anchors) for one in blocks(run.results))]
    cards.sort(key=lambda card: not card.bars)  # Findings first, whatever cannot be drawn last.
    checks = tuple(_checks(run))
    return Answer(_headline(run, cards), _confidence(run, cards), tuple(cards), checks)


def _headline(run: StoredRun, cards: Sequence[Card]) -> str:
    if not run.results:
        return "No trial has finished, so there is no answer"
    mark = f"{fairness.MARK}: " if run.terms.unequal else ""
    if run.published is not None:
        return f"{mark}{run.published.title}: {counts(run.published)}"
    lead = cards[0] if cards else None
    if lead is None or not lead.bars:
        return f"{run.name}: {plural(len(run.results), 'trial')} finished"
    figures = ", ".join(f"{bar.system} {bar.text}" for bar in lead.bars)
    return f"{mark}{lead.figure}: {figures} {lead.unit}"


def _confidence(run: StoredRun, cards: Sequence[Card]) -> str:
    """What the headline is worth, in one or two sentences."""
    systems = {result.spec.system for result in run.results}
    if not systems or not cards:
        return run.reason
    if run.terms.unequal:
        return fairness.headline(run.terms)
    if run.published is not None:
        return _decided(run.published)
    if len(systems) < 2:
        return "One system: nothing is compared."
    return cards[0].verdicts[0] if cards[0].verdicts else "The systems are not compared."


def _decided(outcome: PublishedOutcome) -> str:
    """The claims with a verdict; where there is none, where the reasons stand."""
    decided = [one for one in outcome.claims if one.verdict is not Verdict.NOT_DECIDED]
    words = "; ".join(f"{one.verdict.value}: {one.text}" for one in decided)
    return f"{words[:1].upper()}{words[1:]}." if words else "What each claim lacks for a verdict stands with it."


def _block_card(block: Block, run: StoredRun, anchors: dict[str, str]) -> Card:
    if block.closed_loop:
        form: Callable[[float | None], str] = count
        what, unit, better, figure = "Throughput, closed loop", "msg/s", "higher", _rate
    else:
        form, unit, better, figure = ms, "ms", "lower", _response_p99
        what = f"Response p99 at {count(block.results[0].offered_msgs_per_s)} msg/s"
    what += f", {point_words(block.point)}" if block.point else ""
    sentences = [compare.claim(ratio) for ratio in compare.ratios(block, run.terms.allowed)]
    at = f" at {point_words(block.point)}" if block.point else ""
    objection = compare.objection(block, run.terms.allowed)
    verdicts = [objection, *sentences] if objection else sentences
    return Card(
        title=f"{block.experiment}{at}: {load_words(block.results[0])}",
        figure=what,
        unit=unit,
        better=better,
        bars=_bars([(system, block.usable(system) or block.of(system)) for system in block.systems], figure, form),
        verdicts=tuple(verdicts),
        anchor=anchors.get(block.experiment, ""),
    )


def _rate(result: TrialResult) -> float | None:
    return result.msgs_per_s


def _response_p99(result: TrialResult) -> float | None:
    return result.response.p99_ms


def _bars(
    rows: Sequence[tuple[str, Sequence[TrialResult]]],
    figure: Callable[[TrialResult], float | None],
    form: Callable[[float | None], str],
) -> tuple[Bar, ...]:
    known = {
        system: estimate([value for value in map(figure, results) if value is not None]) for system, results in rows
    }
    largest = max((one.value for one in known.values() if one is not None), default=0.0)
    bars = []
    for system, results in rows:
        found = known[system]
        worst = max(results, key=lambda one: list(Validity).index(one.validity)).validity
        shown = "" if worst is Validity.VALID else worst.value.upper()
        share = found.value / largest if found is not None and largest > 0 else 0.0
        limit = limited_by(results) if results[0].offered_msgs_per_s is None else None
        beside = ", ".join(filter(None, (_beside(results, found, form), f"limited by {limit.told}" if limit else "")))
        bars.append(Bar(system, form(None if found is None else found.value), share, beside, shown))
    return tuple(bars)


def _beside(results: Sequence[TrialResult], found: Estimate | None, form: Callable[[float | None], str]) -> str:
    if found is not None and found.trials > 1:
        return f"{form(found.low)} to {form(found.high)}, {found.span_words()}"
    one = results[0]
    if one.offered_msgs_per_s is None:
        return f"{short(one.mb_per_s)} MB/s"
    end_to_end = worst_end_to_end(one)
    parts = [f"p50 {ms(one.response.p50_ms)} ms"]
    parts += [f"end-to-end p99 {ms(end_to_end.p99_ms)} ms"] if end_to_end else []
    return ", ".join(parts)


def _finding_cards(run: StoredRun, anchors: dict[str, str]) -> list[Card]:
    """A card for each experiment that has an answer beyond trials, at each point."""
    compared = compare.finding_ratios(run.findings, run.results, run.terms.allowed)
    cards = []
    for experiment, at in dict.fromkeys((one.experiment, point_words(one.point)) for one in run.findings):
        own = [one for one in run.findings if (one.experiment, point_words(one.point)) == (experiment, at)]
        told = [f"{one.system}: {sentence}" for one in own for sentence in one.summary]
        ratios = [one for one in compared if (one.experiment, point_words(one.point)) == (experiment, at)]
        verdicts = (*(compare.claim(one) for one in ratios), *told)
        title = f"{experiment} at {at}" if at else experiment
        # The first figure that there is leads; others are in the verdicts and in the table.
        known = [one for one in FINDING_FIGURES.values() if any(one.of(finding) is not None for finding in own)]
        bars = _finding_bars(own, known[0]) if known else ()
        figure, unit = (f"{known[0].title[:1].upper()}{known[0].title[1:]}", known[0].unit) if known else ("", "")
        better = "higher" if known and known[0].higher_is_better else "lower"
        cards.append(Card(title, figure, unit, better, bars, verdicts, anchors.get(experiment, "")))
    return cards


def _finding_bars(findings: Sequence[Finding], figure: FindingFigure) -> tuple[Bar, ...]:
    values: dict[str, list[float]] = {}
    for finding in findings:
        value = figure.of(finding)
        if value is not None and value > 0:
            values.setdefault(finding.system, []).append(value)
    known = {system: found for system, own in sorted(values.items()) if (found := estimate(own)) is not None}
    largest = max((one.value for one in known.values()), default=0.0)
    bars = []
    for system, found in known.items():
        state = "NOT DECIDED" if any(one.system == system and not one.decided for one in findings) else ""
        beside = f"{count(found.low)} to {count(found.high)}, {found.span_words()}" if found.trials > 1 else ""
        bars.append(Bar(system, count(found.value), found.value / largest, beside, state))
    return tuple(bars)


def _checks(run: StoredRun) -> list[Check]:
    if not run.results:
        return [Check(BAD, f"The run is {run.status}.{' ' + run.reason if run.reason else ''}")]
    checks = [
        *_threshold_checks(run),
        *_claim_checks(run),
        _state_check(run),
        _level_check(run),
        _message_check(run),
        _validity_check(run),
    ]
    if run.terms.unequal:
        checks.append(Check(BAD, fairness.headline(run.terms).removesuffix(":")))
    elif len({result.spec.system for result in run.results}) > 1:
        advice = f", {plural(len(run.terms.advice), 'thing')} to know" if run.terms.advice else ""
        checks.append(Check(DOUBT if advice else GOOD, f"Settings in force compared: equal terms{advice}."))
    return checks


def _threshold_checks(run: StoredRun) -> list[Check]:
    states = {Outcome.MET: GOOD, Outcome.MISSED: BAD, Outcome.INCONCLUSIVE: DOUBT}
    found = thresholds.rulings(run)
    decided = thresholds.outcome(found)
    if decided is None:
        return []
    return [
        Check(states[decided], thresholds.headline(found)),
        *(Check(states[one.outcome], thresholds.sentence(one)) for one in found),
    ]


def _claim_checks(run: StoredRun) -> list[Check]:
    if run.published is None:
        return []
    contradicted = any(claim.verdict is Verdict.CONTRADICTED for claim in run.published.claims)
    confirmed = all(claim.verdict is Verdict.CONFIRMED for claim in run.published.claims)
    state = BAD if contradicted else GOOD if confirmed else DOUBT
    return [Check(state, f"{run.published.title}: {counts(run.published)}.")]


def _state_check(run: StoredRun) -> Check:
    trials = f"{len(run.results)} of {max(len(run.planned), len(run.trials))} trials finished"
    state = GOOD if run.status == "finished" else DOUBT if run.status == "running" else BAD
    return Check(state, f"Run {run.status}, {trials}.")


def _level_check(run: StoredRun) -> Check:
    kept = levels.standing(run.results) is levels.Standing.KEPT
    return Check(GOOD if kept else BAD, levels.headline(run.results))


def _message_check(run: StoredRun) -> Check:
    """Over all trials but the steps of searches, whose losses are answers to the question asked."""
    results = [result for result in run.results if not result.spec.exploratory] or list(run.results)
    acked = sum(result.acked for result in results)
    found = {
        what: sum(getattr(one, what) for result in results for one in result.subscriptions)
        for what in ("lost", "corrupt", "duplicated", "reordered")
    }
    seen = ", ".join(f"{count(number)} {what}" for what, number in found.items() if number)
    if not seen:
        return Check(GOOD, f"{count(acked)} acknowledged messages: none lost, damaged, duplicated or reordered.")
    return Check(
        BAD if found["lost"] or found["corrupt"] else DOUBT, f"Of {count(acked)} acknowledged messages: {seen}."
    )


def _validity_check(run: StoredRun) -> Check:
    numbers = {kind: sum(one.validity is kind for one in run.results) for kind in Validity}
    words = ", ".join(f"{number} {kind.value}" for kind, number in numbers.items() if number)
    measured = [result for result in run.results if not result.spec.exploratory]
    bad = any(one.validity is Validity.INVALID for one in measured)
    state = BAD if bad else DOUBT if numbers[Validity.DOUBTFUL] else GOOD
    remarked = sum(bool(one.warnings) for one in measured)
    if not remarked:
        return Check(state, f"Trials: {words}.")
    first = next(one.warnings[0] for one in measured if one.warnings)
    told = f"Trials: {words}; {remarked} of {len(measured)} with remarks, such as: {first}."
    return Check(BAD if bad else DOUBT, told)
