"""Confidence intervals over repeated trials, what they say of two systems, and how many repeats a question takes.

The unit is the block: one round of a campaign in which every system was measured once. Blocks are what was repeated
independently; the messages and seconds inside one trial were not, and are never counted as samples here (for those see
`within_trial`).

Everything is done on logarithms: ratios are what is asked for, spread grows with size, and a ratio must not depend on
which of two systems stands above the line. So an estimate is a geometric mean. The interval is Student's t; from
`BOOTSTRAP_BLOCKS_MIN` blocks on each end is moved out to where the studentised bootstrap (bootstrap-t, over whole
blocks) has it, if that is further: it sees a tail that t does not. Why so, with measured coverage:
docs/decisions/0020-intervals-over-few-repeats.md.

Fewer than `BLOCKS_MIN` blocks have no interval at all: two values give one that spans many powers of ten and says
nothing.

Some figures come only in steps (a search's rate), so that repeats may agree to the last digit and all be off alike.
Their `resolution` is that share. It is no scatter and does not shrink with repeats: both ends are moved out by it.

| verdict | when |
| --- | --- |
| the same | the whole interval lies within the noise threshold, and what the figure's own steps are beyond it |
| better, worse | the whole interval lies on one side of 1, and not within the threshold |
| not decided | anything else, and always with fewer than `BLOCKS_MIN` blocks |

So of two equal systems "better" or "worse" is said as rarely as the interval misses 1: once in twenty comparisons at
95 %. "The same" is a claim of its own and needs a narrow interval: not to have seen a difference decides nothing.

A number of repeats from three blocks is a rough guess itself: the spread of three values is off by a factor of two now
and then.

Sources: W. S. Gosset, "The Probable Error of a Mean", Biometrika 6 (1908); B. L. Welch, "The Generalization of
Student's Problem", Biometrika 34 (1947); J. W. Tukey, "Bias and Confidence in Not-quite Large Samples", Annals of
Mathematical Statistics 29 (1958), and R. G. Miller, "The Jackknife: a Review", Biometrika 61 (1974); P. Hall,
"Theoretical Comparison of Bootstrap Confidence Intervals", Annals of Statistics 16 (1988); J. Cohen, "Statistical Power
Analysis for the Behavioral Sciences", 2nd edition (1988).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tidegauge.extras import INTERVALS, require_package
from tidegauge.model.finding import Finding
from tidegauge.model.trial import MeasuredResult
from tidegauge.plain import grouped

CONFIDENCE = 0.95
TAILS = ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2)
"""Where the ends of an interval lie in what was drawn again."""
BLOCKS_MIN = 3
"""Blocks below which nothing is concluded: two values show no spread that one could believe."""
BOOTSTRAP_BLOCKS_MIN = 10
"""Blocks from which the bootstrap can estimate a tail; with fewer its intervals hold the truth too rarely."""
_RESAMPLES = 4000
_SEED = 20_260_101
"""The same data give the same interval each time."""

Floats = NDArray[np.float64]
Part = TypeVar("Part", MeasuredResult, Finding)


class Method(StrEnum):
    """How an interval was found."""

    T = "Student's t over blocks"
    BOOTSTRAP = "Student's t and studentised bootstrap over blocks, the wider"
    WITHIN_TRIAL = "block bootstrap over the seconds of one trial"


@dataclass(frozen=True)
class Interval:
    """An estimate and the interval around it.

    Attributes:
        estimate: geometric mean over blocks (of ratios, or of a figure in its own unit), or the difference of two such.
        low, high: ends of the interval, in the same unit.
        blocks: how many blocks it rests on; of an unpaired ratio those of the side that has fewer.
        deviation: of the logarithms, or of the differences, from block to block; of what is unpaired that of both sides
            together, such that an interval over n blocks a side is about as wide as a paired one over n.
        resolution: share by which both ends were moved out, since no repeat can resolve less.
    """

    estimate: float
    low: float
    high: float
    blocks: int
    method: Method
    deviation: float
    resolution: float = 0.0
    confidence: float = CONFIDENCE

    def holds(self, value: float) -> bool:
        """Whether a value lies inside."""
        return self.low <= value <= self.high


def figure_interval(values: Sequence[float], resolution: float = 0.0) -> Interval | None:
    """The interval of a figure that was measured once in each block, all of them positive.

    None with fewer than `BLOCKS_MIN` values, or with one that is not positive and finite: that has no logarithm.
    """
    logs = _logarithms_of(values)
    return None if logs is None or logs.size < BLOCKS_MIN else _interval_of_logs(logs, resolution)


def paired_ratio(
    above: Mapping[int, float], below: Mapping[int, float], resolution: float = 0.0, confidence: float = CONFIDENCE
) -> Interval | None:
    """The ratio of two systems that were measured in the same blocks, paired within them.

    What changes from block to block (a noisy neighbour, heat) touches both sides of a block and cancels out.

    Args:
        above, below: a figure by block number; only blocks that both have count.

    Returns None with fewer than `BLOCKS_MIN` common blocks, or a value that is not positive and finite.
    """
    common = sorted(above.keys() & below.keys())
    numerators, denominators = (
        _logarithms_of([above[block] for block in common]),
        _logarithms_of([below[block] for block in common]),
    )
    if numerators is None or denominators is None or len(common) < BLOCKS_MIN:
        return None
    return _interval_of_logs(numerators - denominators, resolution, confidence)


def unpaired_ratio(
    above: Sequence[float], below: Sequence[float], resolution: float = 0.0, confidence: float = CONFIDENCE
) -> Interval | None:
    """The ratio of two figures that were not measured in the same blocks: those of two runs.

    Spreads may differ (Welch). None with fewer than `BLOCKS_MIN` values on a side, or one that is not positive and
    finite.
    """
    first, second = _logarithms_of(above), _logarithms_of(below)
    if first is None or second is None or min(first.size, second.size) < BLOCKS_MIN:
        return None
    return _with_logs_undone(_interval_by_welch(first, second, confidence), resolution)


def paired_difference(
    above: Sequence[float], below: Sequence[float], confidence: float = CONFIDENCE
) -> Interval | None:
    """The difference of the geometric means of two figures that were measured in the same blocks, in their unit.

    Its scatter is the jackknife's: where a constant is added to figures that change from block to block, tangents
    cancel, and what is left of them is too small.

    Args:
        above, below: the figures of the blocks that both have, in the same order.

    Returns None with fewer than `BLOCKS_MIN` blocks, or a value that is not positive and finite.
    """
    first, second = _logarithms_of(above), _logarithms_of(below)
    if first is None or second is None or first.size < BLOCKS_MIN:
        return None
    difference = np.exp(first.mean()) - np.exp(second.mean())
    without_block = np.exp(_means_without_each(first)) - np.exp(_means_without_each(second))
    # Of the pseudo-values only the scatter: so the difference has the sign of the ratio, and is the one of the figures.
    return _interval_of_mean(difference + (first.size - 1) * (without_block.mean() - without_block), confidence)


def unpaired_difference(
    above: Sequence[float], below: Sequence[float], confidence: float = CONFIDENCE
) -> Interval | None:
    """The difference of the geometric means of two figures that were not measured in the same blocks (Welch).

    None with fewer than `BLOCKS_MIN` values on a side, or one that is not positive and finite.
    """
    first, second = _tangents_of(above), _tangents_of(below)
    if first is None or second is None or min(first.size, second.size) < BLOCKS_MIN:
        return None
    return _interval_by_welch(first, second, confidence)


def _means_without_each(values: Floats) -> Floats:
    """The mean of the others, for each of the values."""
    return np.asarray((values.sum() - values) / (values.size - 1), dtype=np.float64)


def _tangents_of(values: Sequence[float]) -> Floats | None:
    """Values whose mean is the geometric mean, and whose scatter is that of the logarithms in the figure's unit.

    So the difference of two figures has the sign of their ratio, however far single blocks are off (delta method).
    """
    logs = _logarithms_of(values)
    return None if logs is None else np.exp(logs.mean()) * (1 + logs - logs.mean())


def geometric_mean(values: Sequence[float]) -> float:
    """The value whose logarithm is the mean of theirs; all must be positive. A single one is itself."""
    if len(values) == 1:
        return values[0]
    return math.exp(sum(map(math.log, values)) / len(values))


def by_block(parts: Iterable[Part], of: Callable[[Part], float | None]) -> dict[int, float]:
    """A figure of trials or findings by block number; of several in one block the geometric mean.

    What is not positive has none.
    """
    values = ((part.block if isinstance(part, Finding) else part.spec.block, of(part)) for part in parts)
    values_by_block = grouped((block, value) for block, value in values if value is not None and value > 0)
    return {block: geometric_mean(of_block) for block, of_block in sorted(values_by_block.items())}


def _interval_of_logs(logs: Floats, resolution: float, confidence: float = CONFIDENCE) -> Interval:
    return _with_logs_undone(_interval_of_mean(logs, confidence), resolution)


def _with_logs_undone(logs: Interval, resolution: float) -> Interval:
    """The interval of a ratio, from that of its logarithm, moved out by what no repeat can resolve."""
    step = math.log1p(resolution)
    low, high = _exp_bounded(logs.low - step), _exp_bounded(logs.high + step)
    return replace(logs, estimate=math.exp(logs.estimate), low=low, high=high, resolution=resolution)


def _interval_of_mean(values: Floats, confidence: float) -> Interval:
    """The interval of the mean of values, one for each block."""
    estimate, deviation = float(values.mean()), float(values.std(ddof=1))
    studentised = partial(_studentised_ends, values, confidence)
    return _interval_around(estimate, deviation, values.size, values.size - 1, studentised, confidence=confidence)


def _interval_by_welch(first: Floats, second: Floats, confidence: float) -> Interval:
    """The interval of the difference of two means."""
    error, freedom = _welch_error(first, second)
    fewer = min(first.size, second.size)
    estimate, deviation = float(first.mean() - second.mean()), error * math.sqrt(fewer)
    studentised = partial(_studentised_difference, first, second, confidence)
    return _interval_around(estimate, deviation, fewer, freedom, studentised, confidence=confidence)


def _interval_around(
    estimate: float,
    deviation: float,
    blocks: int,
    freedom: float,
    studentised: Callable[[], tuple[float, float]],
    *,
    confidence: float,
) -> Interval:
    """The interval around an estimate.

    Args:
        studentised: what to go down and up from the estimate by the bootstrap, in standard errors.
    """
    error = deviation / math.sqrt(blocks)
    high, method = t_quantile(freedom, confidence), Method.T
    low = -high
    if blocks >= BOOTSTRAP_BLOCKS_MIN and error > 0:
        down, up = studentised()
        low, high, method = min(low, down), max(high, up), Method.BOOTSTRAP
    ends = estimate + low * error, estimate + high * error
    return Interval(estimate, *ends, blocks, method, deviation, confidence=confidence)


def _exp_bounded(exponent: float) -> float:
    """The exponential, bounded: a few blocks that differ much give ends beyond any figure."""
    return math.exp(min(exponent, 700.0))


def _logarithms_of(values: Sequence[float]) -> Floats | None:
    numbers = np.asarray(values, dtype=np.float64)
    if not np.all(np.isfinite(numbers)) or not np.all(numbers > 0):
        return None
    return np.asarray(np.log(numbers), dtype=np.float64)


def t_quantile(freedom: float, confidence: float = CONFIDENCE) -> float:
    """How many standard errors a two-sided interval reaches to each side (Student's t)."""
    require_package("scipy", INTERVALS)
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + confidence) / 2))


def _welch_error(first: Floats, second: Floats) -> tuple[float, float]:
    """Standard error of the difference of means and its degrees of freedom (Welch, Satterthwaite)."""
    parts = [float(side.var(ddof=1)) / side.size for side in (first, second)]
    whole = sum(parts)
    if whole <= 0:
        return 0.0, float(first.size + second.size - 2)
    freedom = whole**2 / sum(part**2 / (side.size - 1) for part, side in zip(parts, (first, second), strict=True))
    return math.sqrt(whole), freedom


def _studentised_ends(logs: Floats, confidence: float) -> tuple[float, float]:
    drawn = logs[np.random.default_rng(_SEED).integers(0, logs.size, (_RESAMPLES, logs.size))]
    errors = drawn.std(axis=1, ddof=1) / math.sqrt(logs.size)
    return _bounds_by_deviations((drawn.mean(axis=1) - logs.mean()), errors, confidence)


def _studentised_difference(first: Floats, second: Floats, confidence: float) -> tuple[float, float]:
    draw = np.random.default_rng(_SEED)
    first_drawn = first[draw.integers(0, first.size, (_RESAMPLES, first.size))]
    second_drawn = second[draw.integers(0, second.size, (_RESAMPLES, second.size))]
    errors = np.sqrt(first_drawn.var(axis=1, ddof=1) / first.size + second_drawn.var(axis=1, ddof=1) / second.size)
    moved = first_drawn.mean(axis=1) - second_drawn.mean(axis=1) - (first.mean() - second.mean())
    return _bounds_by_deviations(moved, errors, confidence)


def _bounds_by_deviations(moved: Floats, errors: Floats, confidence: float) -> tuple[float, float]:
    """Quantiles of the studentised deviations, turned over. Resamples of one value only have no spread to divide by."""
    spread = errors > 1e-9 * errors.max()
    tails = ((1 - confidence) / 2, (1 + confidence) / 2)
    low, high = np.quantile(moved[spread] / errors[spread], tails)
    return float(-high), float(-low)


POWER = 0.80
_SURE = 10.0
"""Standard errors beyond the limit: there power is 1 for all purposes, and the series for it no longer converges."""
BLOCKS_MAX = 1000
"""More than these nobody makes: then the answer is "more than a thousand"."""


def power(blocks: int, deviation: float, difference: float, paired: bool = True) -> float:
    """The probability that an interval over so many blocks lies beyond 1 where the true ratio is 1 + difference.

    Args:
        deviation: of the logarithm of the ratio from block to block (see `Interval.deviation`).
        paired: a paired ratio has blocks - 1 degrees of freedom, an unpaired one twice as many.
    """
    from scipy.special import nctdtr

    freedom = (blocks - 1) * (1 if paired else 2)
    limit = t_quantile(freedom)
    shift = math.log1p(difference) / deviation * math.sqrt(blocks)
    if shift > limit + _SURE:
        return 1.0
    return float(1 - nctdtr(freedom, shift, limit))


def blocks_needed(deviation: float, difference: float, paired: bool = True) -> int:
    """The fewest blocks that find a true difference with 80 % power; `BLOCKS_MAX` + 1 where that is not enough."""
    low, high = BLOCKS_MIN, BLOCKS_MAX + 1
    while low < high:
        middle = (low + high) // 2
        if power(middle, deviation, difference, paired) >= POWER:
            high = middle
        else:
            low = middle + 1
    return low


NOISE_THRESHOLD = 0.03
"""A difference up to this share is none that anybody would act on, unless the user says otherwise."""


class ComparisonVerdict(StrEnum):
    """What is said of the first system against the second."""

    BETTER = "better"
    WORSE = "worse"
    SAME = "the same"
    NOT_DECIDED = "not decided"


@dataclass(frozen=True)
class Comparison:
    """A ratio with what it is worth.

    Attributes:
        ratio: geometric mean of the ratios of all blocks, or of the only one.
        interval: None with fewer than `BLOCKS_MIN` blocks on a side.
        paired: whether both were measured in the same blocks.
        blocks: that the ratio rests on.
        blocks_needed: how many blocks would show `difference` with 80 % power, judged by the spread seen; None where
            it is decided, or the spread is unknown.
        noise: the share that a difference was judged by: the noise threshold, widened by the figure's resolution.
        difference: the share that `blocks_needed` speaks of: the one seen, or `noise` if that is larger.
    """

    ratio: float
    interval: Interval | None
    paired: bool
    blocks: int
    verdict: ComparisonVerdict
    noise: float
    blocks_needed: int | None
    difference: float


def compare_paired(
    above: Mapping[int, float],
    below: Mapping[int, float],
    higher_is_better: bool,
    noise: float = NOISE_THRESHOLD,
    resolution: float = 0.0,
) -> Comparison | None:
    """The first system against the second, by blocks that both were measured in; None without a common block.

    Args:
        above, below: a positive figure by block number.
        higher_is_better: what a ratio above 1 means.
        noise: relative differences below this are treated as noise.
        resolution: the share by which a figure may be off alike in every block (see `intervals`).
    """
    common = sorted(above.keys() & below.keys())
    pairs = [(above[block], below[block]) for block in common]
    if not pairs or any(not value > 0 for pair in pairs for value in pair):
        return None
    ratio = geometric_mean([numerator / denominator for numerator, denominator in pairs])
    interval = paired_ratio(above, below, resolution=resolution)
    noise = _with_steps(noise, resolution)
    return _comparison_by_interval(ratio, interval, higher_is_better, noise=noise, paired=True, blocks=len(pairs))


def compare_unpaired(
    above: Sequence[float],
    below: Sequence[float],
    higher_is_better: bool,
    noise: float = NOISE_THRESHOLD,
    resolution: float = 0.0,
) -> Comparison | None:
    """The first system against the second where each was measured at another time: two runs.

    None if a side has no figure.
    """
    if not above or not below or any(not value > 0 for value in (*above, *below)):
        return None
    ratio = geometric_mean(above) / geometric_mean(below)
    blocks = min(len(above), len(below))
    interval = unpaired_ratio(above, below, resolution=resolution)
    noise = _with_steps(noise, resolution)
    return _comparison_by_interval(ratio, interval, higher_is_better, noise=noise, paired=False, blocks=blocks)


def _with_steps(noise: float, resolution: float) -> float:
    """Nothing smaller than a figure's own steps can be shown to be the same."""
    return (1 + noise) * (1 + resolution) - 1 if resolution else noise


def judge_interval(
    interval: Interval | None, higher_is_better: bool, noise: float = NOISE_THRESHOLD
) -> ComparisonVerdict:
    """The verdict on a ratio's interval (see the table above)."""
    if interval is None or interval.blocks < BLOCKS_MIN:
        return ComparisonVerdict.NOT_DECIDED
    if 1 / (1 + noise) <= interval.low and interval.high <= 1 + noise:
        return ComparisonVerdict.SAME
    if interval.low > 1:
        return ComparisonVerdict.BETTER if higher_is_better else ComparisonVerdict.WORSE
    if interval.high < 1:
        return ComparisonVerdict.WORSE if higher_is_better else ComparisonVerdict.BETTER
    return ComparisonVerdict.NOT_DECIDED


def _comparison_by_interval(
    ratio: float, interval: Interval | None, higher_is_better: bool, *, noise: float, paired: bool, blocks: int
) -> Comparison:
    verdict = judge_interval(interval, higher_is_better, noise)
    difference = max(noise, math.exp(abs(math.log(ratio))) - 1)
    more_blocks = None
    if verdict is ComparisonVerdict.NOT_DECIDED and interval is not None and interval.deviation > 0:
        # A spread from few blocks may be too small by chance: never fewer than one more than there were.
        beyond = (1 + difference) / (1 + interval.resolution) - 1
        more_blocks = max(blocks + 1, blocks_needed(interval.deviation, beyond, paired))
    return Comparison(ratio, interval, paired, blocks, verdict, noise, more_blocks, difference)
