"""What a run found, in one sentence for each experiment: the figures, and how sure they are.

For every report: pure functions over a run. A sentence claims no more than `compare` does, since it is made of the same
ratios and verdicts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import floor, log10

from tidegauge.comparison import within
from tidegauge.comparison.blocks import Block, blocks
from tidegauge.comparison.within import Ratio
from tidegauge.durability import levels_equal, levels_found
from tidegauge.model.finding import Finding
from tidegauge.model.trial import MeasuredResult, Validity, point_words
from tidegauge.numbers import count, listed, ms, plural, short
from tidegauge.plain import grouped
from tidegauge.report import compare, distributions, fairness, levels
from tidegauge.report.compare import Estimate, estimate, estimate_of
from tidegauge.report.distributions import Within
from tidegauge.report.findings import by_experiment
from tidegauge.report.names import SystemNames, names_of
from tidegauge.report.tables import swept
from tidegauge.statistics.classify import NOT_KEPT_UP
from tidegauge.statistics.figures import FIGURES, Shown, figures_found
from tidegauge.statistics.intervals import CONFIDENCE, Verdict
from tidegauge.store.read import StoredRun

ONE_EACH = "measured once each: no evidence that the order would hold again"


@dataclass(frozen=True)
class ExperimentVerdict:
    """One experiment's answer: a complete sentence with its uncertainty, which names systems as `SystemNames` does.

    `blocks`: the tables that it is of, by their order; () where all trials were steps towards a finding.
    """

    experiment: str
    sentence: str
    blocks: tuple[Block, ...] = ()


def verdicts(run: StoredRun) -> list[ExperimentVerdict]:
    """One for each experiment, in the order of measuring; one whose answer is beyond trials comes with it alone."""
    case = _Case(run)
    found = by_experiment(run.findings)
    order = dict.fromkeys(spec.experiment for spec in (*run.planned, *(result.spec for result in run.results)))
    tables = swept(blocks(run.results))
    answered = [
        ExperimentVerdict(
            name,
            _of_findings(own, case),
            tuple(block for sweep in tables if sweep.experiment == name for block in sweep.blocks),
        )
        for name, own in found.items()
    ]
    by_trials = [
        ExperimentVerdict(
            sweep.experiment,
            _of_block(sweep.blocks[0], case) if len(sweep.blocks) == 1 else _of_sweep(sweep.blocks, case),
            sweep.blocks,
        )
        for sweep in tables
        if sweep.experiment not in found
    ]
    all_verdicts = [*by_trials, *answered]
    return sorted(all_verdicts, key=lambda verdict: [*order, *found].index(verdict.experiment))


def level_phrase(run: StoredRun) -> str:
    """To begin a headline: "At level 3 (one copy on disk; settings read back and seen in system calls)"; "" without.

    In capitals where the levels are not what their reader would take for granted.
    """
    stands = levels.standing(run.results)
    found = levels_found(run.results)
    if not found:
        return ""
    if stands is levels.Standing.UNKNOWN:
        return "At an UNKNOWN durability level"
    if stands is levels.Standing.NOT_EQUAL or len({finding.level for _, finding in found.values()}) > 1:
        return "At levels that DIFFER" if stands is levels.Standing.NOT_EQUAL else "At each level"
    level = next(iter(found.values()))[1].level
    asked = "" if stands is levels.Standing.KEPT else ", NOT the one asked for"
    return f"At level {level}{asked} ({levels.short_name(level)}; {levels.witnesses(run.results)})"


@dataclass(frozen=True)
class _Case:
    """A run with what all sentences need of it."""

    run: StoredRun

    @cached_property
    def names(self) -> SystemNames:
        return names_of(self.run)

    @cached_property
    def within(self) -> list[Within]:
        return distributions.within(self.run)

    @property
    def mark(self) -> str:
        return f"{fairness.MARK} terms: " if self.run.terms.unequal else ""

    def without(self, experiment: str, systems: Sequence[str]) -> str:
        """Planned systems that an experiment has no result of; "" if it has of all."""
        planned = dict.fromkeys(spec.system for spec in self.run.planned if spec.experiment == experiment)
        missing = [system for system in planned if system not in systems]
        return f"no result of {self.names.listed(missing)}" if missing else ""


@dataclass(frozen=True)
class _Side:
    """One system's figure. `marks`: what must be read with it."""

    system: str
    known: Estimate
    marks: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Question:
    """A figure of the systems that have it. `verb`: between a system and its figure; `lead` before the sentence."""

    lead: str
    verb: str
    figure: str
    unit: str
    higher_is_better: bool
    sides: tuple[_Side, ...]
    at: str = ""
    """The point of a sweep, in words."""

    def form(self, value: float) -> str:
        """A value without its unit."""
        return ms(_three_digits(value)) if self.unit == "ms" else about(value)


def about(value: float) -> str:
    """A rate or count with three significant digits: 146,812 as 147,000."""
    return short(_three_digits(value))


def _three_digits(value: float) -> float:
    return round(value, 2 - floor(log10(abs(value)))) if value else 0.0


def _of_block(block: Block, case: _Case) -> str:
    question = _trial_question(block)
    ratios = [ratio for ratio in within.ratios(block, case.run.terms.allowed) if ratio.figure == question.figure]
    trials = {result.spec.trial_id for result in block.results}
    sayings = [spread for spread in case.within if spread.trial_id in trials and spread.figure == question.figure]
    reasons = [_objection(block, case), case.without(block.experiment, block.systems), _damage(block.results, case)]
    return _sentence(question, ratios, sayings, [*filter(None, reasons)], case)


def _trial_question(block: Block) -> _Question:
    first = block.results[0]
    load = block.loads[0].spec if block.loads else None
    if load is None or block.closed_loop:
        verb = "took" if load else "read"
        sides = _sides(block, FIGURES["msgs_per_s"].of)
        return _Question("as fast as it goes, ", verb, "rate", "msg/s", True, sides, point_words(block.point))
    # The highest percentile that all have samples enough for.
    known = [FIGURES[f"response_ms_{name}"] for name in ("p99", "p50", "max")]
    results = [result for system in block.systems for result in block.usable(system)]
    figure = next((figure for figure in known if results and all(map(figure.of, results))), known[0])
    rate = "the scheduled rates" if load.schedule else f"{about(first.offered_msgs_per_s or 0.0)} msg/s"
    faults = f" with {plural(len(load.faults), 'fault')}" if load.faults else ""
    lead = f"at {rate}{faults} the {figure.title} was "
    return _Question(lead, "", figure.title, "ms", False, _sides(block, figure.of), point_words(block.point))


def _sides(block: Block, figure: Callable[[MeasuredResult], float | None]) -> tuple[_Side, ...]:
    sides = []
    for system in block.systems:
        results = block.usable(system)
        known = estimate_of(figure, results)
        if known is None:
            continue
        doubtful = any(result.validity is Validity.DOUBTFUL for result in results)
        slow = [result for result in results if any(said.startswith(NOT_KEPT_UP) for said in result.warnings)]
        marks = (*(["DOUBTFUL"] if doubtful else []), *([_shortfall(slow)] if slow else []))
        sides.append(_Side(system, known, marks))
    return tuple(sides)


def _shortfall(slow: Sequence[MeasuredResult]) -> str:
    worst = min(slow, key=lambda result: result.msgs_per_s)
    return f"did not keep up: {about(worst.msgs_per_s)} msg/s"


def _objection(block: Block, case: _Case) -> str:
    """Why systems are missing from the comparison."""
    bad = [system for system in block.systems if not block.usable(system)]
    if bad:
        return f"no VALID trial of {case.names.listed(bad)}"
    if len(block.systems) > 1 and not (case.run.terms.allowed or levels_equal(block.results)):
        return "don't compare these: the durability levels DIFFER or are unknown"
    return ""


def _damage(results: Sequence[MeasuredResult], case: _Case) -> str:
    """Acknowledged messages that were lost or damaged, by system."""
    damage = []
    for system in sorted({result.spec.system for result in results}):
        own = [result for result in results if result.spec.system == system]
        counts = (("LOST", sum(result.lost for result in own)), ("DAMAGED", sum(result.corrupt for result in own)))
        what = " and ".join(f"{word} {count(number)}" for word, number in counts if number)
        if what:
            damage.append(f"{case.names.of(system)} {what} acknowledged messages")
    return ", ".join(damage)


def _of_findings(findings: Sequence[Finding], case: _Case) -> str:
    """Of an experiment that finds more than the figures of trials; at several points, each for itself."""
    compared = within.finding_ratios(findings, case.run.results, case.run.terms.allowed)
    sentences = []
    for (_, at), at_point in within.by_question(findings).items():
        ratios = [ratio for ratio in compared if point_words(ratio.point) == at]
        sentence = _at_one_point(at_point, ratios, case)
        sentences.append(f"at {at}: {sentence}" if at else sentence)
    return " ".join(sentences)


def _at_one_point(own: Sequence[Finding], ratios: Sequence[Ratio], case: _Case) -> str:
    figure = next((figure for figure in figures_found(Shown.WITHIN) if any(map(figure.of, own))), None)
    systems = sorted({finding.system for finding in own})
    open_for = sorted({finding.system for finding in own if not finding.decided})
    reasons = [f"not decided for {case.names.listed(open_for)}"] if open_for else []
    reasons += [reason for reason in [case.without(own[0].experiment, systems)] if reason]
    if figure is None:
        return _without_figure(own, reasons, case)
    values = grouped((finding.system, value) for finding in own if (value := figure.of(finding)))
    sides = tuple(_Side(system, known) for system in sorted(values) if (known := estimate(values[system])))
    at = point_words(own[0].point)
    question = _Question(f"{figure.title}: ", "", figure.title, figure.unit, figure.higher_is_better, sides, at)
    ratios = [ratio for ratio in ratios if ratio.name == figure.name]
    return _sentence(question, ratios, [], reasons, case)


def _without_figure(own: Sequence[Finding], reasons: Sequence[str], case: _Case) -> str:
    """An attestation's verdicts, or a curve's extent."""
    attested = []
    for finding in own:
        scenarios = [
            f"{kept.verdict.value.upper() if finding.refuted else kept.verdict.value} at level {kept.level} in "
            f"{plural(kept.cuts, 'cut')} ({kept.scenario.value})"
            for kept in finding.attestations
        ]
        found = ", ".join(scenarios) or next(iter(finding.summary), "no verdict").rstrip(".")
        attested.append(f"{case.names.of(finding.system)}: {found}")
    return _finished("; ".join([*attested, *reasons]), case)


def _sentence(
    question: _Question, ratios: Sequence[Ratio], within: Sequence[Within], reasons: Sequence[str], case: _Case
) -> str:
    """Figures, the best first, then how sure they are, then what speaks against them."""
    sides = sorted(question.sides, key=lambda side: side.known.value)
    if question.higher_is_better:
        sides.reverse()
    if not sides:
        return _finished("; ".join(["no figure that may be used", *reasons]), case)
    figures = [_figure(side, question, case, first=place == 0) for place, side in enumerate(sides)]
    sure = _how_sure(sides, ratios, within, question, case)
    return _finished("; ".join([f"{question.lead}{listed(figures)}", sure, *reasons]), case)


def _figure(side: _Side, question: _Question, case: _Case, *, first: bool) -> str:
    """ "Pulsar took 147,000 msg/s" or "25.4 ms for Pulsar", and for the others "Kafka 66,200" or "146 for Kafka"."""
    name, value = case.names.of(side.system, question.at), question.form(side.known.value)
    value += f" {question.unit}" if first else ""
    marks = f" ({', '.join(side.marks)})" if side.marks else ""
    if not question.verb:
        return f"{value} for {name}{marks}"
    return f"{name} {question.verb} {value}{marks}" if first else f"{name} {value}{marks}"


def _how_sure(
    sides: Sequence[_Side], ratios: Sequence[Ratio], within: Sequence[Within], question: _Question, case: _Case
) -> str:
    if len(sides) == 1:
        return _alone(sides[0], within, question, case)
    repeated = [ratio for ratio in ratios if ratio.repeated]
    if repeated:
        comparisons = [_compared(ratio, case, first=place == 0) for place, ratio in enumerate(ratios)]
        return f"over {compare.rests_on(repeated[0])}, {'; '.join(comparisons)}"
    if any(side.known.trials > 1 for side in sides):
        return "not compared"
    return f"{ONE_EACH}{_least_sure(within, case)}"


def _alone(side: _Side, within: Sequence[Within], question: _Question, case: _Case) -> str:
    if side.known.trials < 2:
        return f"measured once, compared with nothing{_least_sure(within, case)}"
    span = f"{question.form(side.known.low)} to {question.form(side.known.high)}"
    return f"{span}, {side.known.span_words()}, compared with nothing"


def _least_sure(within: Sequence[Within], case: _Case) -> str:
    """How far the figure that moved most within its trial may be off."""
    if not within:
        return ""
    worst = max(within, key=lambda spread: spread.interval.high / spread.interval.low)
    low, high = (end / worst.interval.estimate - 1 for end in (worst.interval.low, worst.interval.high))
    who = case.names.of(worst.system)
    least = f"; least steady within its trial: {who}," if len(within) > 1 else "; within the trial"
    return f"{least} {low:+.0%} to {high:+.0%} ({CONFIDENCE:.0%} interval)"


def _compared(ratio: Ratio, case: _Case, *, first: bool) -> str:
    """ "Pulsar's is 2.22x [1.95, 2.53] Kafka's: better"."""
    at = point_words(ratio.point)
    base = f" {case.names.of(ratio.baseline, at)}'s" if first else ""
    verdict = compare.verdict_words(ratio.comparison) if ratio.repeated else compare.ONE_BLOCK
    return f"{case.names.of(ratio.system, at)}'s is {compare.times(ratio.comparison)}{base}: {verdict}"


def _of_sweep(points: Sequence[Block], case: _Case) -> str:
    """Each system from its lowest to its highest figure, then how often it was better or worse."""
    each = [(block, _trial_question(block)) for block in points]
    question = each[0][1]
    ranges = []
    for system in sorted({system for block, _ in each for system in block.systems}):
        found = [
            (side.known.value, case.names.where(system, point_words(block.point)))
            for block, asked in each
            for side in asked.sides
            if side.system == system
        ]
        if found:
            (low, at_low), (high, at_high) = min(found), max(found)
            span = f"{question.form(low)} ({at_low}) to {question.form(high)} {question.unit} ({at_high})"
            ranges.append(f"{case.names.of(system)} {span}")
    title = "rate" if question.unit == "msg/s" else "response time"
    ratios = [
        ratio
        for block, asked in each
        for ratio in within.ratios(block, case.run.terms.allowed)
        if ratio.figure == asked.figure
    ]
    damage = _damage([result for block in points for result in block.results], case)
    sure = _over_points(ratios, len(points), case)
    parts = [f"{title} over {plural(len(points), 'point')}: {listed(ranges) or 'no figure'}", sure, damage]
    return _finished("; ".join(filter(None, parts)), case)


def _over_points(ratios: Sequence[Ratio], points: int, case: _Case) -> str:
    repeated = [ratio for ratio in ratios if ratio.repeated]
    if not ratios:
        return "compared with nothing"
    if not repeated:
        return f"at each point {ONE_EACH}"
    counts = []
    for system, base in dict.fromkeys((ratio.system, ratio.baseline) for ratio in repeated):
        decided = [ratio.comparison.verdict for ratio in repeated if ratio.system == system]
        numbers = [f"{verdict.value} at {decided.count(verdict)}" for verdict in Verdict if verdict in decided]
        counts.append(f"{case.names.of(system)} against {case.names.of(base)}: {', '.join(numbers)} of {points}")
    return "; ".join(counts)


def _finished(sentence: str, case: _Case) -> str:
    """With its capital and its full stop."""
    return f"{case.mark}{sentence[:1].upper()}{sentence[1:].rstrip('.')}."
