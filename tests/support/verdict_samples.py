"""Results whose validity is judged, good but for what a test changes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from worker_samples import worker_result

from tidegauge.model.trial import BusyConsumer, Latency, SubscriptionResult, WorkerResult
from tidegauge.statistics.classify import Evidence, TrialVerdict, judge_evidence


def latency(p50: float = 4.0, p99: float = 20.0, count: int = 100_000) -> Latency:
    return Latency(count, p50, p50, p99 / 2, p99, p99 * 2, p99 * 3)


def subscription(**changes: Any) -> SubscriptionResult:
    nothing = dict.fromkeys(("backlog", "lost", "duplicated", "reordered", "corrupt", "foreign", "negative_latency"), 0)
    clean = SubscriptionResult(name="sub-0", end_to_end=latency(), received=1000, **nothing)
    return replace(clean, **changes)


GOOD = Evidence(
    closed_loop=False,
    offered_msgs_per_s=1000.0,
    achieved_msgs_per_s=1000.0,
    window_intended=100_000,
    failed=0,
    unresolved=0,
    own_lag=latency(0.005, 0.5),
    response=latency(),
    subscriptions=(subscription(),),
    unsteady="",
    drain_end="drained",
    cpu_wait_share=0.01,
    blocked_share=0.8,
    gc_share=0.001,
    backlog_grew=False,
    drift="",
)


def judged(**changes: Any) -> TrialVerdict:
    return judge_evidence(replace(GOOD, **changes))


NOTHING = Latency(0, 0.0, None, None, None, None, 0.0)


def busy(seconds: int = 10, of: int = 10, waiting_ms: float = 50.0) -> BusyConsumer:
    return BusyConsumer("sub-0 consumer 1", "sub-0", of, seconds, waiting_ms)


def slow(end_to_end: Latency) -> dict[str, Any]:
    return {"subscriptions": (subscription(end_to_end=end_to_end),)}


BEHIND = "consumers about 5 s behind when it began and 1.2 s at its end"


def worker(number: int, own_lag: Latency, **changes: Any) -> WorkerResult:
    return replace(
        worker_result(number, own_lag=own_lag, response=latency(), cpu_wait_s=0.0, gc_pause_s=0.0), **changes
    )


def sending(number: int, msgs_per_s: float, **changes: Any) -> WorkerResult:
    """Of 500 msg/s that it was to send."""
    return worker(number, latency(0.005, 0.5), offered_msgs_per_s=500.0, msgs_per_s=msgs_per_s, **changes)
