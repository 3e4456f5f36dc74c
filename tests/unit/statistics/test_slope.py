"""The slope of a count and its interval, beside scipy's."""

from __future__ import annotations

import random

import pytest
from scipy.stats import theilslopes

from tidegauge.statistics.steady import slope_of


@pytest.mark.parametrize("seed", range(20))
def test_slope_and_interval_are_those_of_theil_and_sen(seed: int) -> None:
    rng = random.Random(seed)
    values = [rng.uniform(-50, 50) * second + rng.gauss(0, 300) for second in range(rng.randint(6, 60))]
    found = slope_of(values)
    theirs = theilslopes(values, alpha=0.95)
    assert found is not None
    assert found.per_s == pytest.approx(theirs.slope)
    # One step of the sorted slopes may lie between two ways to round the ranks; ours is the wider.
    assert found.low_per_s <= theirs.low_slope + 1e-9
    assert found.high_per_s >= theirs.high_slope - 1e-9


def test_the_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    rng = random.Random(1)
    held = 0
    for _ in range(400):
        found = slope_of([7.0 * second + rng.gauss(0, 40) for second in range(20)])
        assert found is not None
        held += found.low_per_s <= 7.0 <= found.high_per_s
    assert held >= 0.93 * 400


def test_few_seconds_have_no_slope_and_many_are_thinned() -> None:
    assert slope_of([1.0, 2.0, 3.0, 4.0, 5.0]) is None
    long = slope_of([3.0 * second for second in range(5_000)])
    assert long is not None
    assert (long.per_s, long.low_per_s, long.high_per_s) == pytest.approx((3.0, 3.0, 3.0))
