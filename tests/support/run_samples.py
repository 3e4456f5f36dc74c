"""Hand-made trials, results and figures for the tests of store, report and cli."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache

import numpy as np
from hdrh.histogram import HdrHistogram
from numpy.typing import NDArray

from tidegauge.model.level import LevelChoice, LevelFinding
from tidegauge.model.load import SecondFigures, SubscriptionSecond, SubscriptionTotals, TotalFigures, WindowFigures
from tidegauge.model.trial import (
    Latency,
    LoadResult,
    LoadSpec,
    ReadResult,
    ReadSpec,
    ReadSubscription,
    SubscriptionResult,
    Validity,
)
from tidegauge.model.workload import Arrival, Workload
from tidegauge.statistics.histograms import Histogram, encode_histogram


@cache
def encoded(*values_ns: int) -> bytes:
    """A histogram of a few values, as a worker sends it."""
    histogram = HdrHistogram(1, 3_600_000_000_000, 3)
    for value in values_ns:
        histogram.record_value(value)
    return base64.b64decode(histogram.encode())


def encoded_many(values_ns: Sequence[int] | NDArray[np.float64]) -> bytes:
    """The same of thousands of values, at least one, whose buckets are found at once: 1,024 for each power of two."""
    values = np.asarray(values_ns).astype(np.int64)
    shifts = np.maximum(0, np.frexp(values)[1] - 11)
    return encode_histogram(Histogram(np.bincount((shifts << 10) + (values >> shifts))))


def spec(system: str = "kafka@4.3.1", experiment: str = "latency", number: int = 1, block: int = 0) -> LoadSpec:
    name = system.split("@", maxsplit=1)[0]
    return LoadSpec(
        trial_id=f"{number:04d}-{experiment}-{name}",
        experiment=experiment,
        system=system,
        choice=LevelChoice(3),
        nodes=1,
        block=block,
        seed=7,
        workload=Workload(),
        msgs_per_s=None if experiment == "peak" else 20_000.0,
        warmup_s_min=5.0,
        warmup_s_max=15.0,
        measure_s=30.0,
        drain_s_max=20.0,
    )


def latency(scale: float = 1.0, count: int = 600_000) -> Latency:
    return Latency(
        count=count,
        mean_ms=1.5 * scale,
        p50_ms=1.2 * scale,
        p95_ms=3.4 * scale if count >= 200 else None,
        p99_ms=7.8 * scale if count >= 1000 else None,
        p999_ms=21.3 * scale if count >= 10_000 else None,
        max_ms=44.1 * scale,
        p75_ms=1.9 * scale,
        p90_ms=2.8 * scale,
        p9999_ms=31.5 * scale if count >= 100_000 else None,
    )


_SHARES = (0.0, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999, 1.0)


def times_ns(shares: Iterable[float], scale: float = 1.0) -> list[int]:
    """The times of which these shares are smaller in a distribution that `latency` sums up."""
    whole = latency(scale)
    middle = (whole.p50_ms, whole.p75_ms, whole.p90_ms, whole.p95_ms, whole.p99_ms, whole.p999_ms, whole.p9999_ms)
    times_ms = [0.4 * scale, *(value or 0.0 for value in middle), whole.max_ms]
    return [int(1e6 * value) for value in np.exp(np.interp(list(shares), _SHARES, np.log(times_ms)))]


def result(trial: LoadSpec | None = None, scale: float = 1.0, **changes: object) -> LoadResult:
    trial = trial or spec()
    rate = trial.msgs_per_s if trial.msgs_per_s is not None else 123_456.7 * scale
    made = LoadResult(
        spec=trial,
        started_at="2026-11-21T03:24:36+00:00",
        status="finished",
        offered_msgs_per_s=trial.msgs_per_s,
        msgs_per_s=rate,
        mb_per_s=rate * 1024 / 1e6,
        sent=int(rate * 40),
        acked=int(rate * 40),
        failed=0,
        unresolved=0,
        response=latency(scale),
        service=latency(scale * 0.8),
        delay=latency(scale * 0.1),
        own_lag=latency(0.01),
        subscriptions=(
            SubscriptionResult(
                name="sub-0",
                end_to_end=latency(scale * 1.3),
                received=int(rate * 40),
                backlog=0,
                lost=0,
                duplicated=0,
                reordered=0,
                corrupt=0,
                foreign=0,
                negative_latency=0,
                window_end_backlog=0,
            ),
        ),
        validity=Validity.VALID,
        reasons=(),
        warnings=(),
        errors=(),
        worker_cpu_s=12.5,
        server_cpu_s=31.2,
        gc_pause_s=0.4,
        warmup_s=6.0,
        steady=True,
        measured_s=30.0,
        level=LevelFinding(3, ("one node: no replication", "flush.messages=1: fsync before the acknowledgement")),
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def reading() -> ReadResult:
    """Of a trial that only read."""
    trial = spec(experiment="read")
    workload = replace(trial.workload, producers=0, existing_topics=("orders",), arrival=Arrival.CLOSED_LOOP)
    return ReadResult(
        spec=ReadSpec(**replace(trial, workload=workload).shared, drain_s_max=5.0),
        started_at="2026-11-21T03:24:36+00:00",
        status="finished",
        msgs_per_s=50_000.0,
        mb_per_s=51.2,
        subscriptions=(ReadSubscription(name="sub-0", received=500_000, corrupt=0, foreign=500_000),),
        errors=(),
        worker_cpu_s=5.0,
        server_cpu_s=None,
        gc_pause_s=0.1,
        measured_s=10.0,
        level=LevelFinding(3, ("as found",)),
    )


def second(number: int = 0) -> SecondFigures:
    start = 5_000_000_000 + number * 1_000_000_000
    return SecondFigures(
        second=number,
        from_mono_ns=start,
        until_mono_ns=start + 1_000_000_000,
        scheduled_msgs_per_s=20_000.0,
        sent=20_000,
        acked=19_990,
        failed=0,
        acked_bytes=19_990 * 1024,
        in_flight=10,
        blocked_ns=1_500_000,
        own_lag_ns_max=2_000_000,
        response=encoded(1_000_000, 2_000_000, 37_000_000),
        service=encoded(900_000, 1_900_000),
        delay=encoded(1_000),
        subscriptions=(
            SubscriptionSecond("sub-0", 19_980, 19_980 * 1024, 10, 0, 0, 0, encoded(3_000_000, 5_000_000)),
            SubscriptionSecond("sub-1", 19_900, 19_900 * 1024, 90, 1, 2, 3, encoded(4_000_000, 9_000_000)),
        ),
        worker_cpu_ns=400_000_000,
        gc_pause_ns=1_000_000,
        heap_used_bytes=100_000_000,
    )


def totals() -> TotalFigures:
    window = WindowFigures(
        from_mono_ns=5_000_000_000,
        until_mono_ns=35_000_000_000,
        intended=600_000,
        acked=600_000,
        failed=0,
        acked_bytes=600_000 * 1024,
        acked_within=600_000,
        response=encoded(1_000_000, 2_000_000, 37_000_000),
        service=encoded(900_000),
        delay=encoded(1_000),
        own_lag=encoded(0),
        own_lag_over_tolerance=0,
        blocked_ns=0,
        worker_cpu_ns=12_500_000_000,
        gc_pause_ns=0,
        cpu_wait_ns=0,
    )
    subscription = SubscriptionTotals(
        "sub-0", 800_000, 800_000, 0, 0, 0, 0, 0, 0, 0, 0, encoded(3_000_000), 600_000, ()
    )
    return TotalFigures(800_000, 800_000, 0, 0, window, (subscription,), (), 16_000_000_000, 0, 300_000_000)
