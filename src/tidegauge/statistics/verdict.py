"""What an interval says of two systems, and how many repeats a question takes.

| verdict | when |
| --- | --- |
| no difference | the whole interval lies within the noise threshold, and what the figure's own steps are beyond it |
| better, worse | the whole interval lies on one side of 1, and not within the threshold |
| inconclusive | anything else, and always with fewer than `BLOCKS_MIN` blocks |

So of two equal systems "better" or "worse" is said as rarely as the interval misses 1: once in twenty comparisons at
95 %. "No difference" is a claim of its own and needs a narrow interval: not to have seen a difference is inconclusive.

A number of repeats from three blocks is a rough guess itself: the spread of three values is off by a factor of two now
and then.

Source: J. Cohen, "Statistical Power Analysis for the Behavioral Sciences", 2nd edition (1988), t tests.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tidegauge.statistics.intervals import (
    BLOCKS_MIN,
    CONFIDENCE,
    Interval,
    geometric_mean,
    paired_ratio,
    unpaired_ratio,
)

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
    from scipy.special import nctdtr, stdtrit

    freedom = (blocks - 1) * (1 if paired else 2)
    limit = float(stdtrit(freedom, (1 + CONFIDENCE) / 2))
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


class Verdict(StrEnum):
    """What is said of the first system against the second."""

    BETTER = "better"
    WORSE = "worse"
    NO_DIFFERENCE = "no difference"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True)
class Comparison:
    """A ratio with what it is worth.

    Attributes:
        ratio: geometric mean of the ratios of all blocks, or of the only one.
        interval: None with fewer than two blocks on a side.
        paired: whether both were measured in the same blocks.
        blocks: that the ratio rests on.
        blocks_needed: how many blocks would show `difference` with 80 % power, judged by the spread seen; None where
            the verdict is not inconclusive, or the spread is unknown.
        noise: the share that a difference was judged by: the noise threshold, widened by the figure's resolution.
        difference: the share that `blocks_needed` speaks of: the one seen, or `noise` if that is larger.
    """

    ratio: float
    interval: Interval | None
    paired: bool
    blocks: int
    verdict: Verdict
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
    ratio = geometric_mean([one / other for one, other in pairs])
    interval = paired_ratio(above, below, resolution=resolution)
    noise = _with_steps(noise, resolution)
    return _comparison(ratio, interval, higher_is_better, noise=noise, paired=True, blocks=len(pairs))


def compare_unpaired(
    above: Sequence[float],
    below: Sequence[float],
    higher_is_better: bool,
    noise: float = NOISE_THRESHOLD,
    resolution: float = 0.0,
) -> Comparison | None:
    """The same where the two sides were measured at different times: two runs. None if a side has no figure."""
    if not above or not below or any(not value > 0 for value in (*above, *below)):
        return None
    ratio = geometric_mean(above) / geometric_mean(below)
    blocks = min(len(above), len(below))
    interval = unpaired_ratio(above, below, resolution=resolution)
    noise = _with_steps(noise, resolution)
    return _comparison(ratio, interval, higher_is_better, noise=noise, paired=False, blocks=blocks)


def _with_steps(noise: float, resolution: float) -> float:
    """Nothing smaller than a figure's own steps can be shown to be no difference."""
    return (1 + noise) * (1 + resolution) - 1 if resolution else noise


def judge(interval: Interval | None, higher_is_better: bool, noise: float = NOISE_THRESHOLD) -> Verdict:
    """The verdict on a ratio's interval (see the table above)."""
    if interval is None or interval.blocks < BLOCKS_MIN:
        return Verdict.INCONCLUSIVE
    if 1 / (1 + noise) <= interval.low and interval.high <= 1 + noise:
        return Verdict.NO_DIFFERENCE
    if interval.low > 1:
        return Verdict.BETTER if higher_is_better else Verdict.WORSE
    if interval.high < 1:
        return Verdict.WORSE if higher_is_better else Verdict.BETTER
    return Verdict.INCONCLUSIVE


def _comparison(
    ratio: float, interval: Interval | None, higher_is_better: bool, *, noise: float, paired: bool, blocks: int
) -> Comparison:
    verdict = judge(interval, higher_is_better, noise)
    difference = max(noise, math.exp(abs(math.log(ratio))) - 1)
    needed = None
    if verdict is Verdict.INCONCLUSIVE and interval is not None and interval.deviation > 0:
        # A spread from few blocks may be too small by chance: never fewer than one more than there were.
        beyond = (1 + difference) / (1 + interval.resolution) - 1
        needed = max(blocks + 1, blocks_needed(interval.deviation, beyond, paired))
    return Comparison(ratio, interval, paired, blocks, verdict, noise, needed, difference)
