"""How many repeats a question takes, from the spread that was seen.

A number from three blocks is a rough guess itself: the spread of three values is off by a factor of two now and then.

Source: J. Cohen, "Statistical Power Analysis for the Behavioral Sciences", 2nd edition (1988), t tests.
"""

from __future__ import annotations

import math

from tidegauge.statistics.intervals import BLOCKS_MIN, CONFIDENCE

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
