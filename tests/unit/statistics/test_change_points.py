"""Change points of series whose changes are known, and of series without any."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest

from tidegauge.statistics.change_points import FALSE_ALARMS, PART_MIN, VALUES_MIN, find_change_points


def steps(*parts: tuple[int, float], seed: int = 1) -> list[float]:
    """Values with a spread of 1 around the height of each part, which has a length."""
    dice = np.random.default_rng(seed)
    return [float(value) for length, height in parts for value in dice.normal(height, 1, length)]


@pytest.mark.parametrize(
    ("series", "changes"),
    [
        (steps((20, 0)), ()),
        (steps((12, 0), (12, 5)), (12,)),
        (steps((12, 5), (12, 0)), (12,)),
        (steps((20, 0), (PART_MIN, 6)), (20,)),
        (steps((12, 0), (6, 6), (12, 0)), (12, 18)),
        (steps((12, 0), (12, 6), (12, 12)), (12, 24)),
        ([1.0] * 20, ()),
        ([1.0] * 10 + [2.0] * 10, (10,)),
    ],
    ids=["none", "a rise", "a fall", "the last runs", "a rise that ended", "two rises", "constant", "constant parts"],
)
def test_changes_that_are_known_are_found(series: Sequence[float], changes: tuple[int, ...]) -> None:
    assert find_change_points(series) == changes


def test_a_change_of_the_spread_alone_is_one() -> None:
    dice = np.random.default_rng(2)
    calm, wild = dice.normal(0, 1, 40), dice.normal(0, 12, 40)
    (place,) = find_change_points([*map(float, calm), *map(float, wild)])
    assert abs(place - 40) <= 5


@pytest.mark.parametrize("outliers", [1, PART_MIN - 1])
def test_outliers_are_no_change(outliers: int) -> None:
    assert find_change_points(steps((12, 0), (outliers, 9), (16, 0))) == ()


def test_the_fewest_values_are_as_many_as_the_rate_of_false_alarms_takes() -> None:
    """Of halves that differ there are two arrangements as strong, the other way round too."""
    assert 2 / math.comb(VALUES_MIN - 1, (VALUES_MIN - 1) // 2) > FALSE_ALARMS
    assert 2 / math.comb(VALUES_MIN, VALUES_MIN // 2) <= FALSE_ALARMS
    assert find_change_points([0.0, 0.1, 0.2, 0.3, 9.0, 9.1, 9.2, 9.3, 9.4]) == ()
    assert find_change_points([0.0, 0.1, 0.2, 0.3, 0.4, 9.0, 9.1, 9.2, 9.3, 9.4]) == (5,)


def test_the_same_series_has_the_same_changes() -> None:
    series = steps((15, 0), (15, 2), seed=4)
    assert len({find_change_points(series) for _ in range(2)}) == 1


def test_the_statistic_is_that_of_its_definition() -> None:
    """Found by trying every place and every end, with plain sums."""
    series = steps((7, 0), (5, 4), seed=3)

    def mean_distance(one: Sequence[float], other: Sequence[float]) -> float:
        return sum(abs(a - b) for a in one for b in other) / (len(one) * len(other))

    def mean_within(one: Sequence[float]) -> float:
        pairs = list(itertools.combinations(one, 2))
        return sum(abs(a - b) for a, b in pairs) / len(pairs)

    def strength(place: int, end: int) -> float:
        before, after = series[:place], series[place:end]
        energy = 2 * mean_distance(before, after) - mean_within(before) - mean_within(after)
        return energy * len(before) * len(after) / (len(before) + len(after))

    from tidegauge.statistics.change_points import division_strengths

    places = range(PART_MIN, len(series) - PART_MIN + 1)
    expected = [max(strength(place, end) for end in range(place + PART_MIN, len(series) + 1)) for place in places]
    assert division_strengths(np.asarray([series]))[0] == pytest.approx(expected)
