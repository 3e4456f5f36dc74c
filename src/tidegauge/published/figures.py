"""The figures that reports publish and runs measure, by one name each: their unit, and where a run has them.

Rates of bytes are bytes a second here. Each report has its own unit for them, in which both are shown (`units`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tidegauge.model.trial import Latency, TrialResult

MAX_THROUGHPUT = "max-throughput"
CONFIRMATION = "confirmation"
"""How the rate of the trial is called whose figure a search gives."""
LATENCY = "latency"
MILLISECONDS = "ms"
BYTES_PER_S = "B/s"
BYTE_UNITS = {"MB/s": 10**6, "MiB/s": 1 << 20, "GB/s": 10**9, "GiB/s": 1 << 30}
"""Units of rates of bytes that a report may have."""


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
    "p75": ("p75", "p75_ms"),
    "p90": ("p90", "p90_ms"),
    "p95": ("p95", "p95_ms"),
    "p99": ("p99", "p99_ms"),
    "p999": ("p99.9", "p999_ms"),
    "p9999": ("p99.99", "p9999_ms"),
    "max": ("maximum", "max_ms"),
}


def _worst_end_to_end(result: TrialResult, field: str) -> float | None:
    """That of the slowest subscription."""
    values = [_of(subscription.end_to_end, field) for subscription in result.subscriptions]
    return max((value for value in values if value is not None), default=None)


def _of(latency: Latency, field: str) -> float | None:
    value: float | None = getattr(latency, field) if latency.count else None
    return value


def _publish(name: str) -> Figure:
    shown, field = _PERCENTILES[name]
    return Figure(
        f"publish latency, {shown}", MILLISECONDS, LATENCY_MARGIN, LATENCY, lambda result: _of(result.response, field)
    )


def _end_to_end(name: str) -> Figure:
    shown, field = _PERCENTILES[name]
    return Figure(
        f"end-to-end latency, {shown}",
        MILLISECONDS,
        LATENCY_MARGIN,
        LATENCY,
        lambda result: _worst_end_to_end(result, field),
    )


def _at_maximum(shown: str, field: str) -> Figure:
    """Of the trial that confirmed a sustainable rate."""
    words = f"publish latency at the sustainable rate, {shown}"
    return Figure(words, MILLISECONDS, LATENCY_MARGIN, MAX_THROUGHPUT, lambda result: _of(result.response, field))


def _catch_up(words: str, unit: str, field: str) -> Figure:
    def figure(result: TrialResult) -> float | None:
        value: float | None = getattr(result.catch_up, field, None)
        return value

    return Figure(words, unit, RATE_MARGIN, "catch-up", figure)


def _phase_p99(words: str, experiment: str, phase: str) -> Figure:
    def figure(result: TrialResult) -> float | None:
        return None if result.catch_up is None else _of(result.catch_up.phase(phase).response, "p99_ms")

    return Figure(words, MILLISECONDS, LATENCY_MARGIN, experiment, figure)


FIGURES: dict[str, Figure] = {
    "throughput": Figure(
        "sustainable rate", BYTES_PER_S, RATE_MARGIN, MAX_THROUGHPUT, of_goal=lambda rate, size: rate * size
    ),
    "throughput-messages": Figure(
        "sustainable rate", "msg/s", RATE_MARGIN, MAX_THROUGHPUT, of_goal=lambda rate, _size: rate
    ),
    **{f"publish-{name}": _publish(name) for name in _PERCENTILES},
    **{f"end-to-end-{name}": _end_to_end(name) for name in _PERCENTILES},
    "maximum-publish-mean": _at_maximum("mean", "mean_ms"),
    "maximum-publish-p99": _at_maximum("p99", "p99_ms"),
    "peak-read-rate": _catch_up("catch-up reads, peak", BYTES_PER_S, "peak_read_bytes_per_s"),
    "chase-time": _catch_up("time to catch up", "s", "chase_s"),
    "publish-p99-before": _phase_p99("publish latency before catching up, p99", "catch-up", "before"),
    "publish-p99-during": _phase_p99("publish latency while catching up, p99", "catch-up", "during"),
    "mixed-publish-p99-before": _phase_p99("publish latency before catch-up readers begin, p99", "mixed", "before"),
    "mixed-publish-p99": _phase_p99("publish latency beside catch-up readers, p99", "mixed", "during"),
}
