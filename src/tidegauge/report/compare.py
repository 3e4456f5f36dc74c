"""How the systems of one experiment relate, in words that claim no more than the trials show; estimates of figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tidegauge.comparison import within
from tidegauge.comparison.compared_trials import ComparedTrials
from tidegauge.comparison.order import compared_trials_of, findings_of
from tidegauge.comparison.within import Ratio
from tidegauge.durability import levels_equal
from tidegauge.model.trial import MeasuredResult, family, with_form
from tidegauge.numbers import factor, in_unit, join_with_and, percent, plural
from tidegauge.report.tables import short_point
from tidegauge.statistics.figures import FIGURES, FINDING_FIGURES, Figure, leading_times
from tidegauge.statistics.intervals import (
    BLOCKS_MAX,
    BLOCKS_MIN,
    CONFIDENCE,
    Comparison,
    ComparisonVerdict,
    figure_interval,
    geometric_mean,
    paired_difference,
)
from tidegauge.store.read import StoredRun


@dataclass(frozen=True)
class Estimate:
    """The geometric mean of trials, as comparisons use it.

    Attributes:
        low, high: ends of its confidence interval; with too few trials for one the least and the largest of them.
        sure: whether they are ends of an interval.
    """

    value: float
    low: float
    high: float
    trials: int
    sure: bool

    def span_words(self) -> str:
        """What `low` and `high` are."""
        return f"{CONFIDENCE:.0%} interval over {self.trials} trials" if self.sure else f"range of {self.trials} trials"


def estimate(values: Sequence[float]) -> Estimate | None:
    """The estimate over values, None without any; the plain mean and the range where one is not positive."""
    if not values:
        return None
    if min(values) <= 0:
        return Estimate(sum(values) / len(values), min(values), max(values), len(values), False)
    interval = figure_interval(values)
    if interval is not None:
        return Estimate(interval.estimate, interval.low, interval.high, len(values), True)
    return Estimate(geometric_mean(values), min(values), max(values), len(values), False)


def estimate_of(figure: Callable[[MeasuredResult], float | None], results: Sequence[MeasuredResult]) -> Estimate | None:
    """The estimate of a figure over those trials that have it."""
    return estimate([value for value in map(figure, results) if value is not None])


NO_EVIDENCE = "one trial each is no evidence of a difference"
REPEATS_FIRST = 5
"""Repeats to begin with: they show the spread, and with 80 % power a difference of about twice it."""
REPEATS_SUGGESTED_MAX = 50
ONE_BLOCK = "one block that both have is no evidence of a difference"
NO_BLOCK = "no block that both have, and one block of a system is no evidence of a difference"
ONE_SEARCH = "one search each is no evidence of a difference"


def leading_figure(tables: Sequence[ComparedTrials]) -> Figure:
    """The figure that sentences and pictures lead with: of a closed loop the rate, else one of `leading_times`.

    Of these the highest percentile that all trials which may be used have samples enough for.
    """
    if tables[0].closed_loop:
        return FIGURES["msgs_per_s"]
    results = [result for table in tables for system in table.systems for result in table.usable(system)]
    times = leading_times(results)
    return next((figure for figure in times if results and all(map(figure.value_in, results))), times[0])


def ratios_of(run: StoredRun) -> list[Ratio]:
    """All ratios of a run: of the figures of its trials, then of its findings."""
    ratios = [
        ratio
        for compared in compared_trials_of(run)
        for ratio in within.ratios_of_compared(compared, run.terms.allowed)
    ]
    return ratios + within.finding_ratios(findings_of(run), run.results, run.terms.allowed)


HOW_SURE = (
    "x: the geometric mean of the ratios of the blocks that both have, else the ratio of their geometric means, with "
    f"its {CONFIDENCE:.0%} interval. Each interval is for itself: of 20 comparisons of equal systems about one shows a "
    "difference."
)


def sentence(ratio: Ratio) -> str:
    """One line: the ratio with its interval, the two figures, and the verdict."""
    doubt = " Some of these figures are doubtful, see above." if ratio.doubtful else ""
    return f"{experiment_at_point(ratio.experiment, ratio.point)}: {claim_words(ratio)}{doubt}"


def experiment_at_point(experiment: str, point: Mapping[str, str]) -> str:
    """ "peak at partitions=100", or "peak" where there is no sweep."""
    return f"{experiment} at {short_point(point)}" if point else experiment


def claim_words(ratio: Ratio) -> str:
    """What a ratio claims, without experiment and doubt: "Pulsar's p99 is 0.41x [0.36, 0.47] Kafka's, ..."."""
    names = (with_form(ratio.system, ratio.forms[0]), with_form(ratio.baseline, ratio.forms[1]))
    relation = f"{names[0]}'s {ratio.figure} is {times(ratio.comparison)} {names[1]}'s"
    if not ratio.repeated:
        return f"{relation} ({both(ratio)}); {no_evidence(ratio)}."
    figures = f"{both(ratio)}{_difference_words(ratio)}"
    return f"{relation}, {rests_on(ratio)} ({figures}): {verdict_words(ratio.comparison)}."


def _difference_words(ratio: Ratio) -> str:
    """By how many ms two entries of one system differ: what a proxy adds, say, is the same at any load.

    "" of other figures, of two systems, and where blocks are not paired.
    """
    pairs = len(ratio.values) == len(ratio.baseline_values) == ratio.comparison.blocks and ratio.comparison.paired
    if not pairs or ratio.unit != "ms" or family(ratio.system) != family(ratio.baseline):
        return ""
    interval = paired_difference(ratio.values, ratio.baseline_values)
    if interval is None:
        return ""
    ends = (interval.estimate, interval.low, interval.high)
    value, low, high = (f"{'-' if end < 0 else '+'}{in_unit(abs(end), ratio.unit)}" for end in ends)
    return f", {value} ms [{low}, {high}]"


def no_evidence(ratio: Ratio) -> str:
    """Why a ratio without an interval says little."""
    if len(ratio.values) == len(ratio.baseline_values) == 1:
        return ONE_SEARCH if ratio.name in FINDING_FIGURES else NO_EVIDENCE
    return ONE_BLOCK if ratio.comparison.paired else NO_BLOCK


def both(ratio: Ratio) -> str:
    """The two figures of a ratio in words: "7.80 against 15.6 ms"."""
    values = (geometric_mean(side) for side in (ratio.values, ratio.baseline_values))
    return f"{' against '.join(in_unit(value, ratio.unit) for value in values)} {ratio.unit}".rstrip()


def times(comparison: Comparison) -> str:
    """ "0.41x [0.36, 0.47]", or "0.41x" where there is no interval."""
    interval = comparison.interval
    return f"{factor(comparison.ratio)}x" + (f" [{factor(interval.low)}, {factor(interval.high)}]" if interval else "")


def rests_on(ratio: Ratio) -> str:
    """ "5 blocks", "5 and 4 blocks, not paired", or "one block each"."""
    if ratio.comparison.paired:
        return plural(ratio.comparison.blocks, "block")
    if len(ratio.values) == len(ratio.baseline_values) == 1:
        return "one block each"
    return f"{len(ratio.values)} and {len(ratio.baseline_values)} blocks, not paired"


def verdict_words(comparison: Comparison) -> str:
    """The verdict, with its threshold, or with what it would take."""
    if comparison.verdict is ComparisonVerdict.SAME:
        return f"the same within the noise threshold ({percent(comparison.noise)})"
    if comparison.verdict is not ComparisonVerdict.NOT_DECIDED:
        return comparison.verdict.value
    needed = comparison.blocks_needed
    if needed is None and comparison.blocks >= BLOCKS_MIN:
        return "not decided, the difference is within the steps in which the figure comes"
    if needed is None:
        return f"not decided, since {too_few_words(comparison.blocks)}"
    if needed > BLOCKS_MAX:
        return f"not decided, and more than {BLOCKS_MAX:,} blocks would be needed"
    return f"not decided, about {needed} blocks would show a difference of {percent(comparison.difference)}"


def too_few_words(blocks: int) -> str:
    """Why so few blocks have no interval, and how many would: "2 blocks give no interval (3 do)"."""
    return f"{plural(blocks, 'block')} {'gives' if blocks == 1 else 'give'} no interval ({BLOCKS_MIN} do)"


def repeats_needed(ratios: Sequence[Ratio]) -> int | None:
    """How many blocks would decide most of what is open; None where nothing is, or nobody would make so many."""
    if any(max(len(ratio.values), len(ratio.baseline_values)) < BLOCKS_MIN for ratio in ratios):
        return REPEATS_FIRST
    needed = [
        ratio.comparison.blocks_needed for ratio in ratios if ratio.comparison.verdict is ComparisonVerdict.NOT_DECIDED
    ]
    feasible = [blocks for blocks in needed if blocks is not None and blocks <= REPEATS_SUGGESTED_MAX]
    return max(feasible, default=None)


def is_across_levels(compared: ComparedTrials, allowed: bool) -> bool:
    """Whether systems that are compared are not known to give the same durability level, and that is not allowed."""
    return len(compared.systems) > 1 and not (allowed or levels_equal(compared.results))


def objection(compared: ComparedTrials, across_levels: bool = False) -> str:
    """Why the systems of these trials are not compared, or ""."""
    if len(compared.systems) < 2:
        return ""
    name = experiment_at_point(compared.experiment, compared.point)
    if is_across_levels(compared, across_levels):
        return f"{name}: not compared, since the systems are not known to give the same durability level."
    unusable = [system for system in compared.systems if not compared.usable(system)]
    if len(unusable) == len(compared.systems):
        return f"{name}: nothing is compared, since no system has a valid trial."
    if unusable:
        have = "has" if len(unusable) == 1 else "have"
        return f"{name}: not compared with {join_with_and(unusable)}, which {have} no valid trial."
    return ""
