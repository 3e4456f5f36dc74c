"""Change points of a series: from which value on they are distributed otherwise than before. E-Divisive means.

The statistic compares what lies before a place with a stretch after it: the energy distance between the two, times the
number of pairs over the number of values. It is large where they differ, in their mean or in their spread. A part of
the series is divided at the place where it is largest over all stretches, so that what rose and fell again is found as
well, and each part again, as long as values in random order within their parts would show as large a one in at most
`FALSE_ALARMS` of cases (permutation test). So in a series in which nothing changes, a change is claimed in at most that
share of cases, whatever the values' distribution, if none of them depends on those before it.

A permutation can't be rarer than the number of arrangements allows: with fewer than `VALUES_MIN` values no change of
any size is found, and fewer than `PART_MIN` values never make a part of their own. A slow drift is found as steps.

Why so: docs/decisions/0071-change-points.md. Sources: D. S. Matteson and N. A. James, "A Nonparametric Approach for
Multiple Change Point Analysis of Multivariate Data", Journal of the American Statistical Association 109 (2014);
D. Daly and others, "The Use of Change Point Detection to Identify Software Performance Regressions in a Continuous
Integration System", ICPE 2020.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

FALSE_ALARMS = 0.01
"""The share of series without a change in which one is claimed at most."""
VALUES_MIN = 10
"""The fewest values of which a division can be that rare: 10 in two halves have 252 arrangements, two of them best."""
PART_MIN = 3
"""The fewest values between two changes: two show no spread that one could believe."""
_SEED = 20_140_301
"""The same series has the same change points each time."""
_NUMBERS_AT_ONCE = 1_000_000
_NUMBERS_MAX = 4_000_000
_PERMUTATIONS_MIN, _PERMUTATIONS_MAX = 199, 9999
"""Of long series fewer: the test keeps its promise with any number, and with more finds a little more."""

Floats = NDArray[np.float64]


def find_change_points(values: Sequence[float]) -> tuple[int, ...]:
    """The places of the first values after each change, in order; () if none is shown.

    Args:
        values: finite, in the order in which they were measured. Of figures whose spread grows with their size, the
            logarithms.
    """
    series = np.asarray(values, dtype=np.float64)
    if series.size < VALUES_MIN:
        return ()
    dice = np.random.default_rng(_SEED)
    ends = [0, series.size]
    while True:
        parts = [series[begin:end] for begin, end in pairwise(ends)]
        divisions = [_largest_division(part) for part in parts]
        number = max(range(len(parts)), key=lambda part: divisions[part][1])
        place, strength = divisions[number]
        if strength <= 0 or _is_chance(strength, parts, dice):
            return tuple(ends[1:-1])
        ends.insert(number + 1, ends[number] + place)


def _largest_division(part: Floats) -> tuple[int, float]:
    """Where a part is best divided, and how strongly; strength 0 where it is too short."""
    if part.size < 2 * PART_MIN:
        return 0, 0.0
    strengths = division_strengths(part[np.newaxis])[0]
    place = int(strengths.argmax())
    return place + PART_MIN, float(strengths[place])


def division_strengths(rows: Floats) -> Floats:
    """The statistic at each place at which each of several rows can be divided: that of the best stretch after it."""
    size = rows.shape[1]
    sums = np.abs(rows[:, :, np.newaxis] - rows[:, np.newaxis, :]).cumsum(axis=1).cumsum(axis=2)
    inside = np.diagonal(sums, axis1=1, axis2=2)
    strengths = np.empty((rows.shape[0], size - 2 * PART_MIN + 1))
    for before in range(PART_MIN, size - PART_MIN + 1):
        after = np.arange(PART_MIN, size - before + 1)
        ends = before + after - 1
        inside_before = inside[:, before - 1, np.newaxis]
        across = sums[:, before - 1, ends] - inside_before
        inside_after = inside[:, ends] - 2 * across - inside_before
        distance = 2 * across / (before * after)
        distance -= inside_before / (before * (before - 1)) + inside_after / (after * (after - 1))
        strengths[:, before - PART_MIN] = (distance * (before * after / (before + after))).max(axis=1)
    return strengths


def _is_chance(strength: float, parts: Sequence[Floats], dice: np.random.Generator) -> bool:
    """Whether values in random order within their parts are divided so strongly in more than `FALSE_ALARMS` of cases.

    The series as it is counts as one more permutation.
    """
    divisible = [part for part in parts if part.size >= 2 * PART_MIN]
    numbers = sum(part.size**2 for part in divisible)
    permutations = min(max(_NUMBERS_MAX // numbers, _PERMUTATIONS_MIN), _PERMUTATIONS_MAX)
    exceeding_max = int(FALSE_ALARMS * (permutations + 1)) - 1
    # Arrangements that are the same but for the order within a side have the same strength, but for rounding.
    limit = strength * (1 - 1e-9)
    at_once_max = max(1, _NUMBERS_AT_ONCE // numbers)
    at_once, done, exceeding = min(20, at_once_max), 0, 0
    while done < permutations and exceeding <= exceeding_max:
        count = min(at_once, permutations - done)
        shuffled = [dice.permuted(np.tile(part, (count, 1)), axis=1) for part in divisible]
        strongest = np.max([division_strengths(rows).max(axis=1) for rows in shuffled], axis=0)
        exceeding += int((strongest >= limit).sum())
        done += count
        at_once = min(4 * at_once, at_once_max)
    return exceeding > exceeding_max
