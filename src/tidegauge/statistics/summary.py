"""A histogram summed up for a reader, with sample minimums.

A percentile is given only where at least ten samples lie beyond it: otherwise one straggler more or less would decide
it. So p99.9 wants 10,000 samples, p99 1,000, p95 200 and p50 20.
"""

from __future__ import annotations

from tidegauge.experiments.api import NO_LATENCY, Latency
from tidegauge.statistics.histograms import Histogram, decode

_BEYOND_MIN = 10

SAMPLES_MIN = {50.0: 2 * _BEYOND_MIN, 95.0: 20 * _BEYOND_MIN, 99.0: 100 * _BEYOND_MIN, 99.9: 1000 * _BEYOND_MIN}
"""Samples needed for each percentile that is printed."""


def latency_summary(histogram: Histogram) -> Latency:
    """Count, mean, percentiles and maximum; times in ms."""
    count = histogram.count
    if not count:
        return NO_LATENCY
    return Latency(
        count=count,
        mean_ms=histogram.mean_ns() / 1e6,
        p50_ms=percentile_ms(histogram, 50.0),
        p95_ms=percentile_ms(histogram, 95.0),
        p99_ms=percentile_ms(histogram, 99.0),
        p999_ms=percentile_ms(histogram, 99.9),
        max_ms=histogram.max_ns() / 1e6,
    )


def percentile_ms(histogram: Histogram, percentile: float) -> float | None:
    """A percentile in ms; None with fewer samples than `SAMPLES_MIN` wants. KeyError for one not listed there."""
    if histogram.count < SAMPLES_MIN[percentile]:
        return None
    return histogram.percentile_ns(percentile) / 1e6


def live_ms(encoded: bytes) -> tuple[float | None, float | None]:
    """p50 and p99 of one second for the live view and the steady test; None when nothing was recorded in it.

    Without a sample minimum: they guide, they are not published.
    """
    histogram = decode(encoded)
    if not histogram.count:
        return None, None
    return histogram.percentile_ns(50.0) / 1e6, histogram.percentile_ns(99.0) / 1e6


def summarise(encoded: bytes) -> Latency:
    """`latency_summary` of an encoded histogram."""
    return latency_summary(decode(encoded))
