"""The figures that reports publish and runs measure, by one name each: their unit, and where a run has them.

A figure that no run has (p90, p99.99) is known all the same, so that published tables can be kept whole.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tidegauge.experiments.api import Latency, TrialResult

MAX_THROUGHPUT = "max-throughput"
_GB = 1e9


@dataclass(frozen=True)
class Figure:
    """One kind of figure.

    Attributes:
        experiment: whose trials, or findings, have it in a run; "" = none.
        of_trial: the figure of one trial, None where it has too few samples.
        of_goal: for `max-throughput`: from what was found for its first goal, the confirmed rate in messages a second
            and the size of a message.
        margin: factor by which single trials must differ before that counts as more than chance. Chosen by judgement.
    """

    words: str
    unit: str
    margin: float
    experiment: str = ""
    of_trial: Callable[[TrialResult], float | None] | None = None
    of_goal: Callable[[float, int], float] | None = None

    @property
    def measured(self) -> bool:
        """Whether runs have it at all."""
        return bool(self.experiment)


RATE_MARGIN = 1.5
LATENCY_MARGIN = 3.0
"""Chosen by judgement (see docs/methodology.md). Times and read rates of a catch-up are rates in this sense."""

_PERCENTILES = {
    "mean": ("mean", "mean_ms"),
    "p50": ("p50", "p50_ms"),
    "p75": ("p75", ""),
    "p90": ("p90", ""),
    "p95": ("p95", "p95_ms"),
    "p99": ("p99", "p99_ms"),
    "p999": ("p99.9", "p999_ms"),
    "p9999": ("p99.99", ""),
    "max": ("maximum", "max_ms"),
}


def _worst_end_to_end(result: TrialResult, field: str) -> float | None:
    """That of the slowest subscription."""
    values = [_of(one.end_to_end, field) for one in result.subscriptions]
    return max((value for value in values if value is not None), default=None)


def _of(latency: Latency, field: str) -> float | None:
    value: float | None = getattr(latency, field) if latency.count else None
    return value


def _publish(name: str) -> Figure:
    shown, field = _PERCENTILES[name]
    if not field:
        return Figure(f"publish latency, {shown}", "ms", LATENCY_MARGIN)
    return Figure(
        f"publish latency, {shown}", "ms", LATENCY_MARGIN, "latency", lambda result: _of(result.response, field)
    )


def _end_to_end(name: str) -> Figure:
    shown, field = _PERCENTILES[name]
    words = f"end-to-end latency, {shown}"
    if not field:
        return Figure(words, "ms", LATENCY_MARGIN)
    return Figure(words, "ms", LATENCY_MARGIN, "latency", lambda result: _worst_end_to_end(result, field))


def _catch_up(words: str, unit: str, field: str, scale: float = 1.0) -> Figure:
    def figure(result: TrialResult) -> float | None:
        value: float | None = getattr(result.catch_up, field, None)
        return None if value is None else value / scale

    return Figure(words, unit, RATE_MARGIN, "catch-up", figure)


def _mean_read_gb_per_s(result: TrialResult) -> float | None:
    """By all late readers together while they caught up."""
    if result.catch_up is None:
        return None
    return result.catch_up.phase("during").late_msgs_per_s * result.spec.workload.payload.message_bytes / _GB


def _phase_p99(words: str, experiment: str, phase: str) -> Figure:
    def figure(result: TrialResult) -> float | None:
        return None if result.catch_up is None else _of(result.catch_up.phase(phase).response, "p99_ms")

    return Figure(words, "ms", LATENCY_MARGIN, experiment, figure)


FIGURES: dict[str, Figure] = {
    "throughput": Figure(
        "sustainable rate", "MB/s", RATE_MARGIN, MAX_THROUGHPUT, of_goal=lambda rate, size: rate * size / 1e6
    ),
    "throughput-messages": Figure(
        "sustainable rate", "msg/s", RATE_MARGIN, MAX_THROUGHPUT, of_goal=lambda rate, _size: rate
    ),
    **{f"publish-{name}": _publish(name) for name in _PERCENTILES},
    **{f"end-to-end-{name}": _end_to_end(name) for name in _PERCENTILES},
    "read-rate": Figure("catch-up reads, mean", "GB/s", RATE_MARGIN, "catch-up", _mean_read_gb_per_s),
    "peak-read-rate": _catch_up("catch-up reads, peak", "GB/s", "peak_read_bytes_per_s", _GB),
    "chase-time": _catch_up("time to catch up", "s", "chase_s"),
    "publish-p99-before": _phase_p99("publish latency before catching up, p99", "catch-up", "before"),
    "publish-p99-during": _phase_p99("publish latency while catching up, p99", "catch-up", "during"),
    "mixed-publish-p99": _phase_p99("publish latency beside catch-up readers, p99", "mixed", "during"),
}
