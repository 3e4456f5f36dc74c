"""What each of several load generators counted."""

from __future__ import annotations

import base64
from typing import Any

from hdrh.histogram import HdrHistogram

from tidegauge.model.load import SecondFigures, SubscriptionSecond, SubscriptionTotals, TotalFigures, WindowFigures

S = 1_000_000_000
BEGIN = 1_000 * S


def histogram(*values_ms: float) -> bytes:
    recorded = HdrHistogram(1, 3600 * S, 3)
    for value in values_ms:
        recorded.record_value(int(value * 1e6))
    return base64.b64decode(recorded.encode())


def sub(name: str = "sub-0", **changes: Any) -> SubscriptionSecond:
    figures: dict[str, Any] = {
        "received": 10, "received_bytes": 100, "backlog": 0, "duplicated": 0, "reordered": 0, "corrupt": 0,
        "end_to_end": histogram(5.0), "unique": 10,
    }  # fmt: skip
    return SubscriptionSecond(name, **{**figures, **changes})


def second(from_s: float, until_s: float, number: int = 0, **changes: Any) -> SecondFigures:
    figures: dict[str, Any] = {
        "scheduled_msgs_per_s": 10.0, "sent": 10, "acked": 10, "failed": 0, "acked_bytes": 100, "in_flight": 1,
        "blocked_ns": 0, "own_lag_ns_max": 0, "response": histogram(1.0), "service": histogram(1.0),
        "delay": histogram(0.1), "subscriptions": (sub(),), "worker_cpu_ns": 5, "gc_pause_ns": 0, "heap_used_bytes": 7,
    }  # fmt: skip
    span = (BEGIN + round(from_s * S), BEGIN + round(until_s * S))
    return SecondFigures(number, *span, **{**figures, **changes})


def window(**changes: Any) -> WindowFigures:
    figures: dict[str, Any] = {
        "from_mono_ns": BEGIN, "until_mono_ns": BEGIN + S, "intended": 10, "acked": 9, "failed": 1, "acked_bytes": 90,
        "acked_within": 9, "response": histogram(1.0), "service": histogram(1.0), "delay": b"",
        "own_lag": histogram(0.1),
        "own_lag_over_tolerance": 1, "blocked_ns": 2, "worker_cpu_ns": 3, "gc_pause_ns": 4, "cpu_wait_ns": 5,
    }  # fmt: skip
    return WindowFigures(**{**figures, **changes})


def sub_totals(**changes: Any) -> SubscriptionTotals:
    figures: dict[str, Any] = {
        "name": "sub-0", "received": 50, "unique": 50, "backlog": 77, "lost": 77, "duplicated": 0, "reordered": 1,
        "corrupt": 0, "corrupt_unattributed": 0, "foreign": 0, "negative_latency": 0, "end_to_end": histogram(3.0),
        "window_received": 20, "lost_examples": ("nonsense",),
    }  # fmt: skip
    return SubscriptionTotals(**{**figures, **changes})


def totals(
    sent: int = 100, acked: int = 100, failed: int = 0, unresolved: int | None = None, **changes: Any
) -> TotalFigures:
    acked = min(sent, acked)
    figures: dict[str, Any] = {
        "window": window(), "subscriptions": (sub_totals(),), "errors": (), "worker_cpu_ns": 10, "gc_pause_ns": 5,
        "resident_bytes": 1000,
    }  # fmt: skip
    return TotalFigures(
        sent, acked, failed, sent - acked - failed if unresolved is None else unresolved, **{**figures, **changes}
    )
