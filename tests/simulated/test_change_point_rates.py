"""How often changes are claimed in series without one, and found in series with one."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from tidegauge.statistics.change_points import FALSE_ALARMS, find_change_points

DICE = np.random.default_rng(20_261_128)
NOISE: dict[str, Callable[[int], np.ndarray]] = {
    "normal": lambda length: DICE.normal(0, 1, length),
    "heavy tails": lambda length: DICE.standard_t(3, length),
    "skewed": lambda length: DICE.exponential(1, length),
    "outliers": lambda length: DICE.normal(0, 1, length) + 8 * (DICE.random(length) < 0.1),
}


def claimed(noise: str, length: int, series: int) -> int:
    """In how many of so many series without a change one is claimed."""
    return sum(bool(find_change_points([*map(float, NOISE[noise](length))])) for _ in range(series))


def most(series: int) -> float:
    """As many as the stated rate gives at most, with a margin of three standard deviations."""
    return series * FALSE_ALARMS + 3 * math.sqrt(series * FALSE_ALARMS)


def test_few_series_without_a_change_show_one() -> None:
    assert claimed("normal", 12, 100) <= most(100)


@pytest.mark.slow
@pytest.mark.parametrize("noise", NOISE)
@pytest.mark.parametrize("length", [10, 20, 40])
def test_changes_are_claimed_at_the_stated_rate(noise: str, length: int) -> None:
    assert claimed(noise, length, 1000) <= most(1000)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "since", "height", "share"),
    [(5, 5, 3, 0.25), (5, 5, 5, 0.7), (10, 10, 2, 0.45), (10, 10, 3, 0.85), (20, 3, 4, 0.65)],
)
def test_changes_are_found_as_often_as_stated(before: int, since: int, height: float, share: float) -> None:
    """Of one change by so many standard deviations; docs/decisions/0071-change-points.md has what was seen."""
    heights = np.repeat([0.0, height], [before, since])
    seen = sum(
        any(abs(place - before) <= 1 for place in find_change_points([*map(float, heights + noise)]))
        for noise in (DICE.normal(0, 1, before + since) for _ in range(200))
    )
    assert seen / 200 >= share
