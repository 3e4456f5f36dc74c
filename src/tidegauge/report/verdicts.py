"""What a run found, in one sentence for each experiment: the figures, and how sure they are.

For every report: pure functions over a run. A sentence claims no more than `compare` does, since it is made of the same
ratios and verdicts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import floor, log10

from tidegauge.comparison import within
from tidegauge.comparison.compared_trials import ComparedTrials
from tidegauge.comparison.contests import DURABILITY
from tidegauge.comparison.within import Ratio
from tidegauge.durability import levels_found
from tidegauge.model.finding import Finding
from tidegauge.model.reason import ReasonKind
from tidegauge.model.trial import MeasuredResult, Validity, point_words
from tidegauge.numbers import as_sentence, change_between, count, join_with_and, ms, of_all, plural, short
from tidegauge.plain import grouped
from tidegauge.report import compare, contests, fairness, levels
from tidegauge.report.compare import Estimate, estimate, estimate_of
from tidegauge.report.distributions import Within
from tidegauge.report.effects import effects_of_compared, effects_sentence
from tidegauge.report.facts import RunFacts
from tidegauge.report.tables import short_point
from tidegauge.statistics.figures import FIGURES, FindingFigure, Shown, figures_found
from tidegauge.statistics.intervals import CONFIDENCE, ComparisonVerdict
from tidegauge.store.read import StoredRun

ONE_EACH = "measured once each: no evidence that the order would hold again"
NO_POINT = "no point has two blocks of both: no evidence that the order would hold again"
ONE_LEFT = "one usable result each: no evidence that the order would hold again"
"""Where several were measured, of which the others may not be used."""
ONE_AT_POINT = "measured once at each point: no evidence that points differ by more than chance"
VARIANTS_SENTENCES_MAX = 2
"""Of a sweep with variants so many comparisons stand in the verdict; all of them below it."""
POINTS_APART_MIN = 3
"""Of so many points of a sweep each has a sentence of its own below that over all of them."""


@dataclass(frozen=True)
class ExperimentVerdict:
    """One experiment's answer: a complete sentence with its uncertainty, which names systems as `SystemNames` does.

    `compared_trials`: the tables that it is of, by their order; () where all trials were steps towards a finding.
    `each`: what was found at each point of a sweep, a sentence each, where `sentence` is over all of them.
    """

    experiment: str
    sentence: str
    compared_trials: tuple[ComparedTrials, ...] = ()
    each: tuple[str, ...] = ()


def verdicts(facts: RunFacts) -> list[ExperimentVerdict]:
    """A verdict for each experiment, in order of measuring; one whose answer is beyond trials comes with it alone."""
    if facts.run.variants:
        return _verdicts_on_variants(facts)
    order = dict.fromkeys(spec.experiment for spec in facts.run.specs)
    answered = [
        replace(
            _verdict_on_findings(findings, facts),
            compared_trials=tuple(
                compared for sweep in facts.tables if sweep.experiment == name for compared in sweep.compared_trials
            ),
        )
        for name, findings in facts.findings.items()
    ]
    by_trials = [
        ExperimentVerdict(
            sweep.experiment,
            _sentence_of_compared(sweep.compared_trials[0], facts)
            if len(sweep.compared_trials) == 1
            else _sentence_of_sweep(sweep.compared_trials, facts),
            sweep.compared_trials,
        )
        for sweep in facts.tables
        if sweep.experiment not in facts.findings
    ]
    all_verdicts = [*by_trials, *answered]
    return sorted(all_verdicts, key=lambda verdict: [*order, *facts.findings].index(verdict.experiment))


def _verdicts_on_variants(facts: RunFacts) -> list[ExperimentVerdict]:
    """A verdict for each experiment of a run that compares variants: how these stand against the first of them."""
    experiment_verdicts = []
    for name in dict.fromkeys(spec.experiment for spec in facts.run.specs):
        leading = contests.leading_contests(facts.variant_contests, name)
        all_compared = tuple(
            leading for table in facts.tables if table.experiment == name for leading in table.compared_trials
        )
        if leading:
            each = tuple(contests.experiment_sentence([contest]) for contest in leading) if len(leading) > 1 else ()
            sentence = f"{facts.mark}{contests.experiment_sentence(leading[:VARIANTS_SENTENCES_MAX])}"
            experiment_verdicts.append(ExperimentVerdict(name, sentence, all_compared, each))
    return experiment_verdicts


def level_phrase(run: StoredRun) -> str:
    """To begin a headline: "At level 3 (one copy on disk; settings read back and seen in system calls)"; "" without.

    In capitals where the levels are not what their reader would take for granted.
    """
    stands = levels.standing(run.results)
    levels_by_system = levels_found(run.results)
    if not levels_by_system:
        return ""
    some = " at some points" if len(levels.by_point(run.results)) > 1 else ""
    if stands is levels.Standing.UNKNOWN:
        return f"At an UNKNOWN durability level{some}"
    if stands is levels.Standing.NOT_EQUAL:
        return f"At levels that DIFFER{some}"
    if stands is levels.Standing.PARTLY_UNKNOWN:
        return f"At a durability level that is UNKNOWN of some{some}"
    level_numbers = sorted({result.level.level for result in run.results if result.level.level is not None})
    if len(level_numbers) > 1:
        asked = "" if stands is levels.Standing.KEPT else ", NOT all as asked for"
        numbers = join_with_and([str(level) for level in level_numbers])
        return f"At levels {numbers}{asked} ({levels.witness_words(run.results)})"
    (level,) = level_numbers
    asked = "" if stands is levels.Standing.KEPT else ", NOT the one asked for"
    but = "; with a caveat, see durability" if levels.caveats(run.results) else ""
    return f"At level {level}{asked} ({levels.short_name(level)}; {levels.witness_words(run.results)}{but})"


@dataclass(frozen=True)
class _Side:
    """One system's figure. `made`: results that there are, usable or not.

    `marks`: what must be read with it, each with its figures, or "" without.
    """

    system: str
    known: Estimate
    made: int
    marks: tuple[tuple[str, str], ...] = ()


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
    """A rate or count with three significant digits: 146,812 as 147,000, and 4 as it is."""
    rounded = _three_digits(value)
    return count(rounded) if rounded == int(rounded) else short(rounded)


def _three_digits(value: float) -> float:
    return round(value, 2 - floor(log10(abs(value)))) if value else 0.0


def _sentence_of_compared(compared: ComparedTrials, facts: RunFacts) -> str:
    question = _trial_question(compared)
    ratios = [
        ratio
        for ratio in within.ratios_of_compared(compared, facts.run.terms.allowed)
        if ratio.figure == question.figure
    ]
    trials = {result.spec.trial_id for result in compared.results}
    sayings = [spread for spread in facts.within if spread.trial_id in trials and spread.figure == question.figure]
    without = facts.missing_words(compared.experiment, compared.systems, point_words(compared.point))
    # Why systems are missing from the comparison.
    bad = [system for system in compared.systems if not compared.usable(system)]
    objection = f"no VALID trial of {facts.names.listed(bad)}" if bad else ""
    several = len(compared.systems) - len(bad) > 1
    across = ""
    if several and compare.is_across_levels(compared, facts.run.terms.allowed):
        across = "don't compare these: the durability levels DIFFER or are unknown"
    reasons = [objection, across, without, _damage_words(compared.results, facts)]
    return _question_sentence(question, ratios, sayings, [*filter(None, reasons)], facts)


def _trial_question(compared: ComparedTrials, points: Sequence[ComparedTrials] = ()) -> _Question:
    """What is asked of one table; of a sweep of `points` the same figure at all of them."""
    first = compared.results[0]
    load = compared.loads[0].spec if compared.loads else None
    if load is None or compared.closed_loop:
        verb = "took" if load else "read"
        sides = _sides_of_compared(compared, FIGURES["msgs_per_s"].value_in)
        return _Question("as fast as it goes, ", verb, "rate", "msg/s", True, sides, point_words(compared.point))
    figure = compare.leading_figure(points or [compared])
    rate = "the scheduled rates" if load.schedule else f"{about(first.offered_msgs_per_s or 0.0)} msg/s"
    faults = f" with {plural(len(load.faults), 'fault')}" if load.faults else ""
    lead = f"at {rate}{faults} the {figure.title} was "
    return _Question(
        lead, "", figure.title, "ms", False, _sides_of_compared(compared, figure.value_in), point_words(compared.point)
    )


def _sides_of_compared(compared: ComparedTrials, figure: Callable[[MeasuredResult], float | None]) -> tuple[_Side, ...]:
    sides = []
    for system in compared.systems:
        results = compared.usable(system)
        middle = estimate_of(figure, results)
        if middle is None:
            continue
        doubtful = any(result.validity is Validity.DOUBTFUL for result in results)
        slow = [result for result in results if result.is_warned_of(ReasonKind.NOT_KEPT_UP)]
        marks = [("DOUBTFUL", "")] if doubtful else []
        if slow:
            worst = min(slow, key=lambda result: result.msgs_per_s)
            marks.append(("did not keep up", f"{about(worst.msgs_per_s)} msg/s"))
        sides.append(_Side(system, middle, len(compared.of_system(system)), tuple(marks)))
    return tuple(sides)


def _damage_words(results: Sequence[MeasuredResult], facts: RunFacts) -> str:
    """Messages that were lost or damaged, by system. Of a damaged one nobody knows whether it was acknowledged."""
    damage = []
    for system in sorted({result.spec.system for result in results}):
        results_of_system = [result for result in results if result.spec.system == system]
        lost, damaged = (
            sum(result.lost for result in results_of_system),
            sum(result.corrupt for result in results_of_system),
        )
        parts = [f"LOST {plural(lost, 'acknowledged message')}"] if lost else []
        parts += [f"DAMAGED {plural(damaged, 'message')}"] if damaged else []
        if parts:
            damage.append(f"{facts.names.name_of(system)} {' and '.join(parts)}")
    return ", ".join(damage)


def _verdict_on_findings(findings: Sequence[Finding], facts: RunFacts) -> ExperimentVerdict:
    """The verdict of an experiment that finds more than figures of trials; at several points, each for itself."""
    compared = within.finding_ratios(findings, facts.run.results, facts.run.terms.allowed)
    at_points = grouped((point_words(finding.point), finding) for finding in findings)
    sentences = []
    for at, at_point in at_points.items():
        ratios = [ratio for ratio in compared if point_words(ratio.point) == at]
        sentence = _at_one_point(at_point, ratios, facts)
        sentences.append(f"At {at}: {sentence}" if at else sentence)
    name = findings[0].experiment
    if len(sentences) < POINTS_APART_MIN:
        return ExperimentVerdict(name, " ".join(sentences))
    return ExperimentVerdict(name, _at_all_points(at_points, compared, facts), each=tuple(sentences))


def _at_all_points(at_points: Mapping[str, Sequence[Finding]], compared: Sequence[Ratio], facts: RunFacts) -> str:
    """What was found over a sweep, as `_sentence_of_sweep` has it of trials, and where it is no answer."""
    findings = [finding for group in at_points.values() for finding in group]
    many = plural(len(at_points), "point")
    figure = figure_of_findings(findings)
    parts = [f"answers at {many}"]
    if figure is not None:
        values = grouped(
            ((finding.system, at), value)
            for at, group in at_points.items()
            for finding in group
            if (value := figure.value_in(finding)) is not None
        )
        means = [(system, (mean.value, at)) for (system, at), group in values.items() if (mean := estimate(group))]
        question = _Question("", "", figure.title, figure.unit, figure.higher_is_better, ())
        ratios = [ratio for ratio in compared if ratio.name == figure.name]
        parts = [f"{figure.title} over {many}: {_range_words(grouped(means), question, facts, len(at_points))}"]
        once = len(findings) == len({(finding.system, point_words(finding.point)) for finding in findings})
        parts += filter(None, [_over_points(ratios, len(at_points), facts, once=once)])
    answered = {(finding.system, point_words(finding.point)) for finding in findings}
    planned = [(system, at) for at in at_points for system in facts.planned(findings[0].experiment, at)]
    for state, where in (
        ("has no result", [at for at in planned if at not in answered]),
        ("REFUTED", [(each.system, point_words(each.point)) for each in findings if each.refuted]),
        ("not decided", [(each.system, point_words(each.point)) for each in findings if not each.decided]),
    ):
        points = grouped(sorted(where))
        parts += [
            f"{facts.names.name_of(system)} {state} at {of_all(len(set(group)), len(at_points), 'point')}"
            for system, group in points.items()
        ]
    return _as_sentence("; ".join(parts), facts)


def figure_of_findings(findings: Sequence[Finding]) -> FindingFigure | None:
    """The figure by which they are compared, with what it counts in its title; None where they have none."""
    shown = (figure for figure in figures_found(Shown.WITHIN) if any(map(figure.value_in, findings)))
    figure = next(shown, None)
    counted = findings[0].counted
    return replace(figure, title=f"{figure.title} of {counted}") if figure is not None and counted else figure


def _at_one_point(findings: Sequence[Finding], ratios: Sequence[Ratio], facts: RunFacts) -> str:
    figure = figure_of_findings(findings)
    systems = sorted({finding.system for finding in findings})
    open_for = sorted({_open_words(finding, facts) for finding in findings if not finding.decided})
    missing = facts.missing_words(findings[0].experiment, systems, point_words(findings[0].point))
    undecided = f"not decided for {join_with_and(open_for)}" if open_for else ""
    reasons = [*filter(None, (undecided, missing))]
    if figure is None:
        return _without_figure(findings, reasons, facts)
    values = grouped((finding.system, value) for finding in findings if (value := figure.value_in(finding)))
    findings_by_system = Counter(finding.system for finding in findings)
    middles = {system: estimate(values[system]) for system in sorted(values)}
    doubtful = {finding.system for finding in findings if within.rest_on_doubt([finding], facts.run.results)}
    sides = tuple(
        _Side(system, middle, findings_by_system[system], (("DOUBTFUL", ""),) if system in doubtful else ())
        for system, middle in middles.items()
        if middle
    )
    at = point_words(findings[0].point)
    question = _Question(f"{figure.title}: ", "", figure.title, figure.unit, figure.higher_is_better, sides, at)
    ratios = [ratio for ratio in ratios if ratio.name == figure.name]
    return _question_sentence(question, ratios, [], reasons, facts)


def _open_words(finding: Finding, facts: RunFacts) -> str:
    """For whom a finding is not decided: "Kafka", or where some goals are, "Kafka (goal: prompt)"."""
    goals_open = [goal.goal for goal in finding.goals if not goal.decided]
    some = f" (goal: {', '.join(goals_open)})" if 0 < len(goals_open) < len(finding.goals) else ""
    return f"{facts.names.name_of(finding.system)}{some}"


def _without_figure(findings: Sequence[Finding], reasons: Sequence[str], facts: RunFacts) -> str:
    """What findings without a figure say: an attestation's verdicts, or a curve's extent."""
    attested = []
    for finding in findings:
        scenarios = [
            f"{record.verdict.value.upper() if finding.refuted else record.verdict.value} at level {record.level} in "
            f"{plural(record.cuts, 'cut')} ({'; '.join(filter(None, (record.scenario.value, record.label)))})"
            for record in finding.attestations
        ]
        outcome = ", ".join(scenarios) or next(iter(finding.summary), "no verdict").rstrip(".")
        attested.append(f"{facts.names.name_of(finding.system)}: {outcome}")
    return _as_sentence("; ".join([*attested, *reasons]), facts)


def _question_sentence(
    question: _Question, ratios: Sequence[Ratio], within: Sequence[Within], reasons: Sequence[str], facts: RunFacts
) -> str:
    """Figures, the best first, then how sure they are, then what speaks against them."""
    sides = sorted(question.sides, key=lambda side: side.known.value)
    if question.higher_is_better:
        sides.reverse()
    if not sides:
        return _as_sentence("; ".join(["no figure that may be used", *reasons]), facts)
    figures = [_figure_words(side, question, facts, first=place == 0) for place, side in enumerate(sides)]
    sure = _how_sure(sides, ratios, within, question, facts)
    return _as_sentence("; ".join([f"{question.lead}{join_with_and(figures)}", sure, *reasons]), facts)


def _figure_words(side: _Side, question: _Question, facts: RunFacts, *, first: bool) -> str:
    """ "Pulsar took 147,000 msg/s" or "25.4 ms for Pulsar", and for the others "Kafka 66,200" or "146 for Kafka"."""
    name, value = facts.names.name_of(side.system, question.at), question.form(side.known.value)
    value += f" {question.unit}" if first and question.unit else ""
    marks = f" ({', '.join(': '.join(filter(None, mark)) for mark in side.marks)})" if side.marks else ""
    if not question.verb:
        return f"{value} for {name}{marks}"
    return f"{name} {question.verb} {value}{marks}" if first else f"{name} {value}{marks}"


def _how_sure(
    sides: Sequence[_Side], ratios: Sequence[Ratio], within: Sequence[Within], question: _Question, facts: RunFacts
) -> str:
    if len(sides) == 1:
        side = sides[0]
        if side.known.trials < 2:
            how_often = "measured once" if side.made == 1 else "one usable result"
            return f"{how_often}: another trial may differ{_least_sure(within, facts)}"
        span = f"{question.form(side.known.low)} to {question.form(side.known.high)}"
        return f"{span}, {side.known.span_words()}"
    repeated = [ratio for ratio in ratios if ratio.repeated]
    if repeated:
        # "Pulsar's is 2.22x [1.95, 2.53] Kafka's: better"
        comparisons, rests = [], {compare.rests_on(ratio) for ratio in repeated}
        for place, ratio in enumerate(ratios):
            at = point_words(ratio.point)
            base = f" {facts.names.name_of(ratio.baseline, at)}'s" if place == 0 else ""
            verdict = compare.verdict_words(ratio.comparison) if ratio.repeated else compare.no_evidence(ratio)
            system = facts.names.name_of(ratio.system, at)
            # Systems of which some trials are INVALID rest on fewer blocks than others.
            over = f" over {compare.rests_on(ratio)}" if len(rests) > 1 and ratio.repeated else ""
            comparisons.append(f"{system}'s is {compare.times(ratio.comparison)}{base}{over}: {verdict}")
        return f"{f'over {rests.pop()}, ' if len(rests) == 1 else ''}{'; '.join(comparisons)}"
    if any(side.known.trials > 1 for side in sides):
        return "not compared"
    alone = ONE_EACH if all(side.made == 1 for side in sides) else ONE_LEFT
    return f"{alone}{_least_sure(within, facts)}"


def _least_sure(within: Sequence[Within], facts: RunFacts) -> str:
    """How far the figure that moved most within its trial may be off."""
    if not within:
        return ""
    worst = max(within, key=lambda spread: spread.interval.high / spread.interval.low)
    low, high = (end / worst.interval.estimate - 1 for end in (worst.interval.low, worst.interval.high))
    who = facts.names.name_of(worst.system)
    least = f"; least steady within its trial: {who}," if len(within) > 1 else "; within the trial"
    return f"{least} {change_between(low, high)} ({CONFIDENCE:.0%} interval)"


def _sentence_of_sweep(points: Sequence[ComparedTrials], facts: RunFacts) -> str:
    """Each system from its lowest to its highest figure, then how often it was better or worse."""
    each = [(leading, _trial_question(leading, points)) for leading in points]
    question = each[0][1]
    figures = grouped(
        (side.system, (side.known.value, point_words(leading.point))) for leading, asked in each for side in asked.sides
    )
    ratios = [
        ratio
        for leading, asked in each
        for ratio in within.ratios_of_compared(leading, facts.run.terms.allowed)
        if ratio.figure == asked.figure
    ]
    damage = _damage_words([result for leading in points for result in leading.results], facts)
    once = all(len(leading.of_system(system)) == 1 for leading in points for system in leading.systems)
    sure = _over_points(ratios, len(points), facts, once=once)
    if len({system for leading in points for system in leading.systems}) == 1:
        leading = contests.leading_contests(facts.sweep_contests, points[0].experiment)
        sure = contests.points_clause(leading) or sure
    over = f"{question.figure} over {plural(len(points), 'point')}"
    moved = [f"{facts.names.name_of(sweep.system)}: {effects_sentence(sweep)}" for sweep in effects_of_compared(points)]
    ranges = f"{over}: {_range_words(figures, question, facts, len(each))}"
    parts = [ranges, *moved, sure, *_doubts_over(each, facts), damage]
    return _as_sentence("; ".join(filter(None, parts)), facts)


def _doubts_over(each: Sequence[tuple[ComparedTrials, _Question]], facts: RunFacts) -> list[str]:
    """At how many points of a sweep something speaks against the figures, or a system has none."""
    doubts: Counter[str] = Counter()
    for compared, asked in each:
        if compare.is_across_levels(compared, facts.run.terms.allowed):
            doubts["durability levels that DIFFER or are unknown"] += 1
        sides = {side.system: side for side in asked.sides}
        for system in sorted({*compared.systems, *facts.planned(compared.experiment, point_words(compared.point))}):
            name = facts.names.name_of(system)
            if system not in sides:
                doubts[f"no usable figure of {name}"] += 1
            for mark, _ in sides[system].marks if system in sides else ():
                doubts[f"{name} {mark}"] += 1
    return [f"{what} at {of_all(number, len(each), 'point')}" for what, number in doubts.items()]


def _range_words(
    figures: Mapping[str, Sequence[tuple[float, str]]], question: _Question, facts: RunFacts, points: int
) -> str:
    """Of each system the lowest and the highest figure with their points: "Kafka 40 (n=2) to 60 msg/s (n=1)".

    `points`: of how many points the sweep is.
    """
    ranges = []
    for system, figures_at_points in sorted(figures.items()):
        (low, at_low), (high, at_high) = min(figures_at_points), max(figures_at_points)
        lowest, highest = question.form(low), question.form(high)
        if lowest == highest and len(figures_at_points) > 1:
            ranges.append(
                f"{facts.names.name_of(system)} {highest} {question.unit} "
                f"at {of_all(len(figures_at_points), points, 'point')}"
            )
            continue
        first = f"{lowest} ({_short_place(system, at_low, facts)}) to " if at_low != at_high else ""
        last = f"{highest} {question.unit} ({_short_place(system, at_high, facts)})"
        ranges.append(f"{facts.names.name_of(system)} {first}{last}")
    return join_with_and(ranges) or "no figure"


def _short_place(system: str, at: str, facts: RunFacts) -> str:
    """A point with the short names of its fields, and the form where the system has another there than elsewhere.

    A form that is another system's is left out.
    """
    points = {point_words(spec.point): spec.point for spec in facts.run.specs}
    place = facts.names.where(system, at)
    if at not in points:
        return place
    point = dict(points[at])
    level, _, form = point.get(DURABILITY, "").partition(" ")
    if form and form != facts.names.form(system, at):
        point[DURABILITY] = level
    return place.replace(at, short_point(point))


def _over_points(ratios: Sequence[Ratio], points: int, facts: RunFacts, *, once: bool) -> str:
    """How often systems were better or worse over points. `once`: whether nothing was repeated at any point."""
    repeated = [ratio for ratio in ratios if ratio.repeated]
    if not ratios:
        return ONE_AT_POINT if once else ""
    if not repeated:
        return f"at each point {ONE_EACH}" if once else NO_POINT
    counts = []
    for system, base in dict.fromkeys((ratio.system, ratio.baseline) for ratio in repeated):
        decided = [ratio.comparison.verdict for ratio in repeated if ratio.system == system]
        numbers = [
            f"{verdict.value} at {decided.count(verdict)}" for verdict in ComparisonVerdict if verdict in decided
        ]
        counts.append(
            f"{facts.names.name_of(system)} against {facts.names.name_of(base)}: {', '.join(numbers)} of {points}"
        )
    return "; ".join(counts)


def _as_sentence(sentence: str, facts: RunFacts) -> str:
    """A sentence with its mark, its capital and its full stop."""
    mark = f"{fairness.MARK} terms: " if facts.run.terms.unequal else ""
    return f"{mark}{as_sentence(sentence)}"
