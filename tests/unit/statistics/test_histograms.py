"""Our decoder against the HdrHistogram package and against plain sorting."""

from __future__ import annotations

import base64
import math
import random
import struct
import zlib
from collections.abc import Iterable
from functools import reduce

import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given, settings
from hypothesis import strategies as st
from run_samples import encoded_many

from tidegauge.model.trial import Latency
from tidegauge.statistics import histograms
from tidegauge.statistics.histograms import (
    EMPTY,
    Histogram,
    add_histograms,
    compressed,
    decode_histogram,
    encode_histogram,
    latency_summary,
    live_ms,
    merged_encodings,
    summarise_histogram,
    without_unknown_tail,
)

HOUR_NS = 3600 * 10**9


def merge(parts: Iterable[bytes]) -> Histogram:
    return reduce(add_histograms, map(decode_histogram, parts), EMPTY)


def encoded(values: list[int], highest: int = HOUR_NS, lowest: int = 1, digits: int = 3, times: int = 1) -> bytes:
    histogram = HdrHistogram(lowest, highest, digits)
    for value in values:
        histogram.record_value(value, times)
    return base64.b64decode(histogram.encode())


def exact(values: list[int], percentile: float) -> int:
    return sorted(values)[max(0, math.ceil(percentile * len(values) / 100 - 1e-6) - 1)]


@settings(max_examples=60)
@given(st.lists(st.integers(0, HOUR_NS), min_size=1, max_size=300))
def test_percentiles_are_those_of_the_sorted_samples_within_three_digits(values: list[int]) -> None:
    histogram = decode_histogram(encoded(values))
    assert histogram.count == len(values)
    for percentile in (50.0, 90.0, 99.0, 99.9, 100.0):
        assert histogram.percentile_ns(percentile) == pytest.approx(exact(values, percentile), rel=1e-3, abs=1)


@settings(max_examples=60)
@given(st.lists(st.integers(0, HOUR_NS), min_size=1, max_size=300))
def test_samples_of_thousands_of_values_are_what_the_package_records(values: list[int]) -> None:
    expected, counts = decode_histogram(encoded(values)).counts, decode_histogram(encoded_many(values)).counts
    assert expected.tolist() == counts.tolist()


@settings(max_examples=40)
@given(st.lists(st.integers(1, HOUR_NS), min_size=1, max_size=300))
def test_mean_and_maximum_agree_with_the_package(values: list[int]) -> None:
    reference = HdrHistogram.decode(base64.b64encode(encoded(values)))
    histogram = decode_histogram(encoded(values))
    assert histogram.mean_ns() == pytest.approx(reference.get_mean_value(), rel=1e-3, abs=1)
    assert histogram.max_ns() == reference.get_max_value()


@settings(max_examples=40)
@given(
    st.lists(st.integers(0, 10**6), max_size=100),
    st.lists(st.integers(0, HOUR_NS), max_size=100),
)
def test_merging_is_the_same_as_recording_everything_in_one_whatever_the_ranges(
    small: list[int], large: list[int]
) -> None:
    merged = merge([encoded(small, 10**6), encoded(large), b""])
    together = decode_histogram(encoded(small + large))
    assert merged.count == len(small) + len(large)
    for percentile in (1.0, 50.0, 99.0, 100.0):
        assert merged.percentile_ns(percentile) == together.percentile_ns(percentile)


def test_merged_percentiles_are_not_the_average_of_percentiles() -> None:
    fast, slow = encoded([1_000_000] * 9900), encoded([1_000_000_000] * 100)
    assert merge([fast, slow]).percentile_ns(99.0) == pytest.approx(1_000_000, rel=1e-3)
    assert merge([fast, slow, slow]).percentile_ns(99.0) == pytest.approx(1_000_000_000, rel=1e-3)


def test_nothing_recorded() -> None:
    assert decode_histogram(b"") is EMPTY
    assert decode_histogram(encoded([])).count == 0
    assert summarise_histogram(b"").p50_ms is None
    assert live_ms(b"") == (None, None)
    assert EMPTY.share_above(0) == 0.0


def test_share_above_counts_what_lies_beyond() -> None:
    assert decode_histogram(encoded([100] * 75 + [5000] * 25)).share_above(1000) == 0.25


@pytest.mark.parametrize("cut", [1, 8, 20, 40])
def test_damaged_bytes_are_refused(cut: int) -> None:
    good = encoded(list(range(1, 500)))
    with pytest.raises(ValueError, match="histogram"):
        decode_histogram(good[:-cut])
    with pytest.raises(ValueError, match="histogram"):
        decode_histogram(b"\x00" * cut)


def test_other_precision_and_other_resolution_are_refused() -> None:
    with pytest.raises(ValueError, match="digits"):
        decode_histogram(encoded([5], digits=2))
    with pytest.raises(ValueError, match="from 1024 ns on"):
        decode_histogram(encoded([5000], lowest=1024))


def test_a_truncated_number_is_refused() -> None:
    import zlib

    good = encoded([1, 2, 3])
    plain = bytearray(zlib.decompress(good[8:]))
    plain[-1] |= 0x80
    packed = zlib.compress(bytes(plain))
    with pytest.raises(ValueError, match="middle of a number"):
        decode_histogram(struct.pack(">II", 0x1C849314, len(packed)) + packed)


@pytest.mark.parametrize(
    ("percentile", "samples_min"),
    [
        *(("p50", 20), ("p75", 40), ("p90", 100), ("p95", 200)),
        *(("p99", 1000), ("p99.9", 10_000), ("p99.99", 100_000)),
    ],
)
def test_a_percentile_needs_ten_samples_beyond_it(percentile: str, samples_min: int) -> None:
    assert latency_summary(decode_histogram(encoded([1000], times=samples_min - 1))).percentile_ms(percentile) is None
    assert latency_summary(decode_histogram(encoded([1000], times=samples_min))).percentile_ms(percentile) == 0.001


def test_summary_of_known_values() -> None:
    generator = random.Random(1)
    values = [int(generator.lognormvariate(13, 1)) for _ in range(20_000)]
    summary = latency_summary(decode_histogram(encoded(values)))
    assert summary.count == 20_000
    assert summary.mean_ms == pytest.approx(sum(values) / len(values) / 1e6, rel=2e-3)
    assert summary.p50_ms == pytest.approx(exact(values, 50) / 1e6, rel=2e-3)
    assert summary.p999_ms == pytest.approx(exact(values, 99.9) / 1e6, rel=2e-3)
    assert summary.p75_ms == pytest.approx(exact(values, 75.0) / 1e6, rel=2e-3)
    assert summary.p90_ms == pytest.approx(exact(values, 90.0) / 1e6, rel=2e-3)
    assert summary.p9999_ms is None, "too few samples"
    assert summary.max_ms == pytest.approx(max(values) / 1e6, rel=2e-3)


@settings(max_examples=40)
@given(st.lists(st.lists(st.integers(0, HOUR_NS), max_size=60), max_size=5), st.sampled_from([1, 200, 70_000]))
def test_many_are_merged_as_one_after_the_other_and_the_package_reads_the_result(
    parts: list[list[int]], times: int
) -> None:
    encodings = [encoded(values, times=times) for values in parts]
    whole, expected = merged_encodings(encodings), merge(encodings)
    assert decode_histogram(whole).count == expected.count == times * sum(map(len, parts))
    assert decode_histogram(whole).percentiles_ns(50, 99, 100) == expected.percentiles_ns(50, 99, 100)
    if expected.count:
        reference = HdrHistogram.decode(base64.b64encode(whole))
        assert reference.get_total_count() == expected.count
        assert reference.get_max_value() == expected.max_ns()


def test_more_than_is_summed_in_one_go_is_merged_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    encodings = [encoded(list(range(number, 200_000, 97))) for number in range(7)]
    at_once = merged_encodings(encodings)
    monkeypatch.setattr(histograms, "_AT_ONCE_BYTES", 100)
    assert merged_encodings(encodings) == at_once
    assert decode_histogram(at_once).count == merge(encodings).count


def test_what_is_encoded_is_decoded_as_it_was() -> None:
    known = decode_histogram(encoded([3, 3, 10**6, 5 * 10**9]))
    assert (decode_histogram(encode_histogram(known)).counts == known.counts).all()
    assert encode_histogram(EMPTY) == b""


def stored(encoding: bytes) -> bytes:
    """The same histogram as a worker sends it: in zlib's form, but not compressed."""
    packed = zlib.compress(zlib.decompress(encoding[8:]), level=0)
    return encoding[:4] + struct.pack(">I", len(packed)) + packed


def test_what_a_worker_left_uncompressed_is_read_and_merged_and_becomes_smaller() -> None:
    usual = encoded([7 * value**2 for value in range(1000)])
    left = stored(usual)
    assert len(left) > 1.2 * len(usual)
    assert (decode_histogram(left).counts == decode_histogram(usual).counts).all()
    assert (decode_histogram(merged_encodings([left, usual])).counts == 2 * decode_histogram(usual).counts).all()
    assert len(compressed(left)) < 1.1 * len(usual)
    assert (decode_histogram(compressed(left)).counts == decode_histogram(usual).counts).all()
    assert compressed(usual) == usual
    with pytest.raises(ValueError, match="not an encoded histogram"):
        compressed(left[:-9])


def test_what_cannot_be_merged_is_refused() -> None:
    with pytest.raises(ValueError, match="from 1024 ns on"):
        merged_encodings([encoded([5000]), encoded([5000], lowest=1024)])
    with pytest.raises(ValueError, match="not an encoded histogram"):
        merged_encodings([encoded([5000]), b"rubbish!"])


def test_a_tail_that_messages_without_an_outcome_would_decide_is_not_known() -> None:
    whole = Latency(100_000, 1.0, 1.0, 2.0, 3.0, 4.0, 9.0, p9999_ms=5.0)
    assert without_unknown_tail(whole, 0) == whole
    few, more = without_unknown_tail(whole, 9), without_unknown_tail(whole, 11)
    assert (few.p999_ms, few.p9999_ms) == (4.0, 5.0)
    assert (more.p99_ms, more.p999_ms, more.p9999_ms) == (3.0, 4.0, None)
    assert without_unknown_tail(whole, 101).p999_ms is None
