"""End-to-end latency across clocks: the truth lies in the bounds, and what is not known well enough is not given."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from merging_samples import sub_totals, totals

from tidegauge.model.load import ApartLatency, TotalFigures
from tidegauge.model.trial import NO_LATENCY, SubscriptionResult
from tidegauge.statistics.clocks import Offset
from tidegauge.statistics.histograms import (
    Histogram,
    decode_histogram,
    encode_histogram,
    moved_in_time,
    samples_without,
)
from tidegauge.worker.across import across_clocks, clock_warnings, end_to_end_times

MS = 1_000_000


def of(*values_ns: int) -> Histogram:
    """Counts of exact values, each in the bucket that it belongs to."""
    one = Histogram(np.array([0, 1], dtype=np.int64))
    parts = [moved_in_time(one, value - 1) for value in values_ns]
    counts = np.zeros(max((part.counts.size for part in parts), default=0), dtype=np.int64)
    for part in parts:
        counts[: part.counts.size] += part.counts
    return Histogram(counts)


@pytest.mark.parametrize("value_ns", [0, 1, 2047, 2048, 2049, 4095, 4096, 123_456_789, 2**41 + 12_345])
def test_a_moved_sample_is_in_its_bucket(value_ns: int) -> None:
    found = of(value_ns)
    assert found.count == 1
    assert value_ns <= found.max_ns() <= value_ns * 1.001 + 1
    (place,) = found.counts.nonzero()
    assert place.size == 1


def test_what_falls_below_zero_is_zero_and_nothing_is_lost() -> None:
    found = moved_in_time(of(100, 500, 900), -500)
    assert (found.count, found.percentile_ns(50), found.max_ns()) == (3, 0, 400)
    assert moved_in_time(of(100), 300, mirrored=True).max_ns() == 200
    assert samples_without(of(1, 2, 2), of(2)).counts.tolist() == [0, 1, 1]


def offset(low_ns: float, high_ns: float) -> Offset:
    return Offset(low_ns, high_ns, 0.0, 0.0)


def trial(ahead_ns: int, true_ns: list[int], estimate_ns: int, own_ns: list[int]) -> list[TotalFigures]:
    """Worker 0 received these from worker 1, whose clock is really ahead by so much, and some of its own producers."""
    # It subtracts the intended time of the other's clock, put on its own by the estimate.
    seen = [latency + estimate_ns - ahead_ns for latency in true_ns]
    after, before = [value for value in seen if value >= 0], [-value for value in seen if value < 0]
    sub = sub_totals(
        end_to_end=encode_histogram(of(*own_ns, *after)),
        apart=(ApartLatency(1, encode_histogram(of(*after)), encode_histogram(of(*before))),),
    )
    return [totals(subscriptions=(sub,)), totals(subscriptions=(sub_totals(end_to_end=b""),))]


def bounded(ahead_ns: int, true_ns: list[int], estimate_ns: int, own_ns: list[int], *, low: int, high: int) -> Any:
    each = trial(ahead_ns, true_ns, estimate_ns, own_ns)
    bounds = {(0, 1): offset(low, high), (1, 0): offset(-high, -low)}
    found = across_clocks(each[0], each, bounds, [0, estimate_ns])
    assert [(clock.one, clock.other, clock.low_ns, clock.high_ns) for clock in found.clocks] == [(1, 2, low, high)]
    return found.subscriptions[0]


def test_the_truth_lies_between_the_bounds_whatever_the_estimate() -> None:
    chance = random.Random(3)
    for _ in range(50):
        ahead_ns = chance.randint(-(10**12), 10**12)
        low, high = ahead_ns - chance.randint(0, 10**5), ahead_ns + chance.randint(0, 10**5)
        true_ns = [chance.randint(50_000, 5 * MS) for _ in range(400)]
        own_ns = [chance.randint(50_000, 5 * MS) for _ in range(100)]
        found = bounded(ahead_ns, true_ns, chance.randint(low, high), own_ns, low=low, high=high)
        truth = of(*true_ns, *own_ns)
        for percentile in (1, 50, 90, 99, 100):
            least, most = (decode_histogram(found.end_to_end_low), decode_histogram(found.end_to_end_high))
            # Buckets are a thousandth wide.
            assert least.percentile_ns(percentile) * 0.998 <= truth.percentile_ns(percentile)
            assert truth.percentile_ns(percentile) <= most.percentile_ns(percentile) * 1.002
        assert decode_histogram(found.end_to_end).count == decode_histogram(found.end_to_end_low).count == 500
        assert found.negative_latency == 0


def test_what_no_bound_explains_is_counted() -> None:
    found = bounded(MS, [100_000] * 10, 0, [], low=-1000, high=1000)
    assert found.negative_latency == 10, "received 0.9 ms before they were intended"


def test_what_may_have_been_in_time_is_not_counted_though_its_bucket_reaches_below_zero() -> None:
    """The estimate is 50 ms too far, and a bucket there is 33 us wide."""
    found = bounded(0, list(range(1, 40_000, 997)), 50_000_000, [], low=0, high=0)
    assert found.negative_latency == 0


def test_on_one_clock_nothing_changes() -> None:
    each = [totals(subscriptions=(sub_totals(end_to_end=encode_histogram(of(MS))),))]
    found = across_clocks(each[0], each, {}, [0])
    assert found.subscriptions[0] == each[0].subscriptions[0]
    assert found.clocks == ()
    assert set(end_to_end_times(found.subscriptions[0])) == {"end_to_end"}


def test_percentiles_that_are_not_known_to_a_tenth_are_not_given_but_their_bounds() -> None:
    values = [MS] * 600 + [20 * MS] * 600
    sub = sub_totals(
        end_to_end=encode_histogram(of(*values)),
        end_to_end_low=encode_histogram(moved_in_time(of(*values), -0.5 * MS)),
        end_to_end_high=encode_histogram(moved_in_time(of(*values), 0.5 * MS)),
    )
    times = end_to_end_times(sub)
    assert times["end_to_end"].p50_ms is None, "1 ms, give or take 0.5"
    assert times["end_to_end"].p99_ms == pytest.approx(20.0, rel=0.001)
    result = SubscriptionResult(
        name="sub-0", received=1, corrupt=0, foreign=0, backlog=0, lost=0, duplicated=0, reordered=0,
        negative_latency=0, **times,
    )  # fmt: skip
    warnings = clock_warnings([result], by_phases=False)
    assert list(map(str, warnings)) == ["end-to-end times of sub-0 are only known within bounds: p50 0.500 to 1.50 ms"]
    assert list(map(str, clock_warnings([result], by_phases=True)))[1:] == [
        "end-to-end times of phases are by clocks as they were when the trial began"
    ]
    plain = replace(result, end_to_end=NO_LATENCY, end_to_end_low=None, end_to_end_high=None)
    assert list(clock_warnings([plain], by_phases=True)) == []


def test_too_far_an_estimate_is_no_excuse_for_what_cannot_be() -> None:
    """Found 50 us after their intended time, by a clock that was really at least 100 us less ahead."""
    sub = sub_totals(end_to_end=encode_histogram(of(*[50_000] * 4, *[400_000] * 6)), apart=())
    part = ApartLatency(1, sub.end_to_end, encode_histogram(of(1_000)))
    each = [totals(subscriptions=(replace(sub, apart=(part,)),)), totals(subscriptions=(sub_totals(end_to_end=b""),))]
    bounds = {(0, 1): offset(-200_000, -100_000), (1, 0): offset(100_000, 200_000)}
    found = across_clocks(each[0], each, bounds, [0, 0]).subscriptions[0]
    assert found.negative_latency == 5, "four, and the one before its time"


def test_figures_that_grow_while_they_are_read_lose_nothing() -> None:
    """A part that has one more than the whole, in a higher bucket: read a moment later."""
    assert samples_without(of(1), of(1, 5 * MS)).count == 0
