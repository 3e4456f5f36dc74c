"""A histogram summed up for a reader, with sample minimums.

A percentile is given only where at least ten samples lie beyond it: otherwise one straggler more or less would decide
it. So p99.99 wants 100,000 samples, p99.9 10,000, p99 1,000, p95 200 and p50 20.
"""

from __future__ import annotations

import math

from tidegauge.model.trial import NO_LATENCY, Latency
from tidegauge.statistics.histograms import Histogram, decode

_BEYOND_MIN = 10

_NINES = {"p99_ms": 99.0, "p999_ms": 99.9, "p9999_ms": 99.99}
_PERCENTILES = {"p50_ms": 50.0, "p75_ms": 75.0, "p90_ms": 90.0, "p95_ms": 95.0, **_NINES}
"""By the field of a `Latency`."""
SAMPLES_MIN = {
    percentile: math.ceil(round(_BEYOND_MIN / (1 - percentile / 100), 3)) for percentile in _PERCENTILES.values()
}
"""Samples needed for each percentile that is printed."""


def latency_summary(histogram: Histogram) -> Latency:
    """Count, mean, percentiles and maximum; times in ms."""
    count = histogram.count
    if not count:
        return NO_LATENCY
    percentiles = {field: percentile_ms(histogram, percentile) for field, percentile in _PERCENTILES.items()}
    return Latency(count=count, mean_ms=histogram.mean_ns() / 1e6, max_ms=histogram.max_ns() / 1e6, **percentiles)


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
    p50_ns, p99_ns = histogram.percentiles_ns(50.0, 99.0)
    return p50_ns / 1e6, p99_ns / 1e6


def summarise(encoded: bytes) -> Latency:
    """`latency_summary` of an encoded histogram."""
    return latency_summary(decode(encoded))
