"""Where a series jumps to another level: Pettitt's test for one jump, Kuiper's for one up and back down, and again in
every part of what they find.

A slope test sees a climb; a jump in the middle of a window looks like one, a jump up and back down like none. Both
tests work on ranks, so a single pause of a second can't make a jump. Like the slope test they take seconds for
independent, which they are not quite, so whoever decides by them also asks whether the jump matters. With fewer than
18 values no jump, however clear, is found; the place is right within a value or two.

Source: A. N. Pettitt, "A Non-Parametric Approach to the Change-Point Problem", Applied Statistics 28 (1979); the
range of a bridge: N. H. Kuiper, "Tests Concerning Random Points on a Circle", Indagationes Mathematicae 22 (1960); the
search in all parts: A. J. Scott and M. Knott, "A Cluster Analysis Method for Grouping Means", Biometrics 30 (1974).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

import numpy as np
from numpy.typing import NDArray

ALPHA = 0.01
SECONDS_MIN = 6
"""Shorter parts are not split further."""


@dataclass(frozen=True)
class Jump:
    """From the value at index `at` on, another level: medians of the parts before and after, up to the next jumps."""

    at: int
    before: float
    after: float


def jumps(values: Sequence[float]) -> tuple[Jump, ...]:
    """Every jump in equally spaced values, in order."""
    found = sorted(_split(np.asarray(values, dtype=np.float64), 0))
    edges = [0, *found, len(values)]
    return tuple(
        Jump(at, median(values[edges[place] : at]), median(values[at : edges[place + 2]]))
        for place, at in enumerate(found)
    )


def pettitt(values: NDArray[np.float64]) -> tuple[int, float]:
    """The likeliest place of a jump (first index after it), and the probability of such a one by chance (at most 1)."""
    count = values.size
    statistic = np.abs(2 * np.cumsum(_ranks(values)) - np.arange(1, count + 1) * (count + 1))[:-1]
    at = int(np.argmax(statistic))
    return at + 1, min(1.0, 2 * math.exp(-6 * float(statistic[at]) ** 2 / (count**3 + count**2)))


def pulse(values: NDArray[np.float64]) -> tuple[int, int, float]:
    """The likeliest two places of a jump there and back, and the probability of such by chance (at most 1).

    The sums of ranks above the mean are a Brownian bridge; what counts is its range.
    """
    count = values.size
    bridge = (np.cumsum(_ranks(values)) - np.arange(1, count + 1) * (count + 1) / 2)[:-1]
    bridge = bridge / math.sqrt(count * (count**2 - 1) / 12)
    reach = float(max(0.0, bridge.max()) - min(0.0, bridge.min()))
    squares = [(2 * turn * reach) ** 2 for turn in range(1, 10)]
    p_value = 2 * sum((square - 1) * math.exp(-square / 2) for square in squares) if reach > 0.4 else 1.0
    first, second = sorted((int(np.argmin(bridge)) + 1, int(np.argmax(bridge)) + 1))
    return first, second, min(1.0, max(0.0, p_value))


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ranks from 1; equal values share the mean of theirs."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks: NDArray[np.float64] = (ends - (counts - 1) / 2)[place]
    return ranks


def _split(values: NDArray[np.float64], offset: int) -> list[int]:
    """Places of jumps; of the two tests each has half of `ALPHA`."""
    if values.size < SECONDS_MIN:
        return []
    single, p_value = pettitt(values)
    places = [single]
    if p_value >= ALPHA / 2:
        *places, p_value = pulse(values)
    if p_value >= ALPHA / 2:
        return []
    edges = [0, *places, values.size]
    parts = [_split(values[start:end], offset + start) for start, end in pairwise(edges)]
    return [*(offset + at for at in places), *(at for part in parts for at in part)]
