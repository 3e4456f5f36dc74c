"""A trial of 24 hours: what is asked of its seconds stays within stated bounds of memory and time."""

from __future__ import annotations

import math
import random
import time
import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
from patience import slowness

from tidegauge.statistics.histograms import Histogram
from tidegauge.statistics.steady import SecondPoint, backlog_grows, drift_of_window, slope_of
from tidegauge.statistics.within_trial import mean_within, percentile_within

DAY_S = 24 * 3600
MEMORY_MIB_MAX = 64
SECONDS_MAX = 20.0


@pytest.fixture(scope="module")
def day() -> list[SecondPoint]:
    """A rate with a daily wave of 5 %, and a backlog without a trend."""
    draw = random.Random(1)
    return [
        SecondPoint(
            20_000 * (1 + 0.05 * math.sin(second / DAY_S * 6.28) + 0.02 * draw.gauss(0, 1)),
            5 * math.exp(0.2 * draw.gauss(0, 1)),
            draw.randrange(500),
        )
        for second in range(DAY_S)
    ]


def within_bounds(asked: Callable[[], object]) -> object:
    """The answer, after checking what it took."""
    began = time.process_time()
    tracemalloc.start()
    try:
        answer = asked()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak <= MEMORY_MIB_MAX << 20
    assert time.process_time() - began <= SECONDS_MAX * slowness()
    return answer


def test_drift_and_backlog_of_a_day(day: list[SecondPoint]) -> None:
    assert within_bounds(lambda: backlog_grows(day)) is False
    assert isinstance(within_bounds(lambda: drift_of_window(day)), str)
    slope = within_bounds(lambda: slope_of([float(point.backlog) for point in day]))
    assert slope is not None


def test_a_rate_within_a_day(day: list[SecondPoint]) -> None:
    found = within_bounds(lambda: mean_within([point.msgs_per_s for point in day]))
    assert found is not None


def test_a_percentile_of_as_many_stretches_as_are_held(day: list[SecondPoint]) -> None:
    """240 stretches with counts in all of 20,000 buckets: more than any real distribution fills."""
    draw = np.random.default_rng(1)
    stretches = [Histogram(draw.integers(0, 3, 20_000)) for _ in range(240)]
    began = time.process_time()
    assert percentile_within(stretches, 99.0) is not None
    assert time.process_time() - began <= SECONDS_MAX * slowness()
