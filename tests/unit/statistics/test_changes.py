"""Jumps in a series, and intervals within one trial, against scipy and by hand."""

from __future__ import annotations

import base64
import math
import random

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from scipy import stats

from tidegauge.statistics.histograms import Histogram, add_histograms, decode_histogram
from tidegauge.statistics.intervals import Method
from tidegauge.statistics.steady import (
    SecondPoint,
    drift_of_window,
    find_change_by_ranks,
    find_jumps,
    find_pulse,
    unsteady_because,
)
from tidegauge.statistics.within_trial import block_length, mean_within, percentile_within


def noisy(*parts: tuple[int, float], seed: int = 1, noise: float = 0.03) -> list[float]:
    """So many values around each level."""
    draw = random.Random(seed)
    return [level * (1 + noise * draw.gauss(0, 1)) for count, level in parts for _ in range(count)]


@pytest.mark.parametrize("seed", range(5))
def test_pettitts_statistic_is_the_largest_of_mann_whitneys(seed: int) -> None:
    values = np.round(np.array(noisy((12, 100.0), (18, 104.0), seed=seed)))  # Rounded, so that there are ties.
    at, p_value = find_change_by_ranks(values)
    count = values.size
    distances = {}
    for split in range(1, count):
        u = stats.mannwhitneyu(values[:split], values[split:], method="asymptotic").statistic
        distances[split] = abs(2 * u - split * (count - split))
    assert at == max(distances, key=lambda split: distances[split])
    largest = max(distances.values())
    assert p_value == pytest.approx(min(1.0, 2 * math.exp(-6 * largest**2 / (count**3 + count**2))))


def test_one_jump_is_found_where_it_is() -> None:
    (found,) = find_jumps(noisy((20, 100.0), (15, 130.0)))
    assert found.at == 20
    assert found.before == pytest.approx(100, rel=0.05)
    assert found.after == pytest.approx(130, rel=0.05)


def test_up_and_back_down_are_two() -> None:
    found = find_jumps(noisy((25, 100.0), (25, 160.0), (25, 100.0)))
    assert [jump.at for jump in found] == [pytest.approx(25, abs=2), pytest.approx(50, abs=2)]
    assert [round(jump.after, -1) for jump in found] == [160, 100]


def test_neither_noise_nor_a_pause_nor_too_few_values_jump() -> None:
    assert find_jumps(noisy((40, 100.0))) == ()
    pause = noisy((40, 100.0))
    pause[17] = 900.0
    assert find_jumps(pause) == ()
    assert find_jumps(noisy((6, 100.0), (6, 200.0))) == ()
    assert find_jumps([5.0] * 40) == ()
    assert find_jumps([]) == ()


def test_the_range_of_a_bridge_has_kuipers_distribution() -> None:
    """Of noise, a probability below p is found in at most a share p of all series: a short bridge reaches less far."""
    draw = np.random.default_rng(3)
    found = np.array([find_pulse(draw.normal(size=60))[2] for _ in range(400)])
    assert 0.03 <= float((found < 0.1).mean()) <= 0.11
    assert 0.30 <= float((found < 0.5).mean()) <= 0.53


def points(rates: list[float], p99: float = 5.0) -> list[SecondPoint]:
    return [SecondPoint(rate, p99, 10) for rate in rates]


def test_a_pulse_that_no_slope_shows_is_reported_of_the_window() -> None:
    seen = drift_of_window(points(noisy((20, 1000.0), (20, 1500.0), (20, 1000.0))))
    assert seen.startswith("the rate jumped from about 1,5")
    assert "of 60 s" in seen
    assert drift_of_window(points(noisy((20, 1000.0), (20, 1030.0), (20, 1000.0)))) == "", "too small to matter"
    assert drift_of_window(points(noisy((60, 1000.0)))) == ""


def test_a_warm_up_is_not_steady_while_its_horizon_holds_a_jump() -> None:
    seen = points(noisy((40, 1000.0), (10, 1500.0), (10, 1000.0)))
    assert "the rate jumped from about" in unsteady_because(seen)
    assert unsteady_because([*seen, *points(noisy((40, 1000.0)))]) == ""


def histogram(*values_ns: int) -> Histogram:
    made = HdrHistogram(1, 3_600_000_000_000, 3)
    for value in values_ns:
        made.record_value(value)
    return decode_histogram(base64.b64decode(made.encode()))


def seconds(count: int, seed: int = 1, drift: float = 0.0, each: int = 200) -> list[Histogram]:
    draw = random.Random(seed)
    made = []
    for second in range(count):
        level = math.exp(drift * math.sin(second / 4) + 0.1 * draw.gauss(0, 1))
        made.append(histogram(*[int(1e6 * level * draw.lognormvariate(0, 0.5)) + 1 for _ in range(each)]))
    return made


def test_a_percentile_within_a_trial_is_that_of_the_merged_histogram() -> None:
    parts = seconds(20)
    merged = parts[0]
    for part in parts[1:]:
        merged = add_histograms(merged, part)
    found = percentile_within(parts, 99.0)
    assert found is not None
    assert found.method is Method.WITHIN_TRIAL
    assert found.estimate == pytest.approx(merged.percentile_ns(99.0) / 1e6)
    assert found.low < found.estimate < found.high
    assert found == percentile_within(parts, 99.0), "the same data give the same interval"


def test_seconds_that_hang_together_widen_it() -> None:
    calm, waving = percentile_within(seconds(60), 50.0), percentile_within(seconds(60, drift=0.5), 50.0)
    assert calm is not None
    assert waving is not None
    assert waving.high / waving.low > 1.5 * calm.high / calm.low
    assert waving.blocks < calm.blocks


def test_the_mean_of_seconds_is_no_sample_mean() -> None:
    draw, values, level = random.Random(1), [], 0.0
    for _ in range(200):
        level = 0.8 * level + draw.gauss(0, 1)
        values.append(100 + level)
    found = mean_within(values)
    naive = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert found is not None
    assert found.estimate == pytest.approx(sum(values) / 200)
    assert found.high - found.low > 1.7 * (naive.high - naive.low)


def test_blocks_are_as_long_as_the_memory_and_at_most_a_fifth() -> None:
    draw = random.Random(2)
    independent = np.array([draw.gauss(0, 1) for _ in range(100)])
    assert block_length(independent) <= 6
    assert block_length(np.cumsum(independent)) == 20
    assert block_length(np.ones(10)) == 2


def test_too_little_gives_no_interval() -> None:
    assert percentile_within(seconds(9), 50.0) is None
    assert percentile_within(seconds(12, each=50), 99.0) is None, "600 samples are too few for a p99"
    assert percentile_within([], 50.0) is None
    assert mean_within([1.0] * 9) is None
    assert mean_within([0.0] * 20) is None
