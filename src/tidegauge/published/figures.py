"""The figures that reports publish and runs measure, by one name each: their unit, and where a run has them.

Rates of bytes are bytes a second here. Each report has its own unit for them, in which both are shown (`units`).
"""

from __future__ import annotations

from dataclasses import dataclass

from tidegauge.model.trial import MeasuredResult
from tidegauge.statistics.figures import PERCENTILES, SUSTAINABLE, of_trial

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
        name: of the figure in `statistics.figures`, which says how it is got.
        margin: factor by which single trials must differ before that counts as more than chance. Chosen by judgement.
    """

    words: str
    unit: str
    margin: float
    experiment: str = ""
    name: str = ""

    def of_trial(self, result: MeasuredResult) -> float | None:
        """The figure of one trial; None where it has too few samples, or it takes several trials."""
        getter = of_trial(self.name)
        return getter(result) if getter else None


RATE_MARGIN = 1.5
LATENCY_MARGIN = 3.0
"""Chosen by judgement (see docs/methodology.md). Times and read rates of a catch-up are rates in this sense."""


def _latency(words: str, name: str, experiment: str = LATENCY) -> Figure:
    return Figure(words, MILLISECONDS, LATENCY_MARGIN, experiment, name)


def _percentiles(words: str, series: str) -> dict[str, Figure]:
    return {name: _latency(f"{words}, {title}", f"{series}_ms_{name}") for name, title, _ in PERCENTILES}


FIGURES: dict[str, Figure] = {
    "throughput": Figure("sustainable rate", BYTES_PER_S, RATE_MARGIN, MAX_THROUGHPUT, SUSTAINABLE),
    "throughput-messages": Figure("sustainable rate", "msg/s", RATE_MARGIN, MAX_THROUGHPUT, SUSTAINABLE),
    **{f"publish-{name}": figure for name, figure in _percentiles("publish latency", "response").items()},
    **{f"end-to-end-{name}": figure for name, figure in _percentiles("end-to-end latency", "end_to_end").items()},
    "maximum-publish-mean": _latency(
        "publish latency at the sustainable rate, mean", "response_ms_mean", MAX_THROUGHPUT
    ),
    "maximum-publish-p99": _latency("publish latency at the sustainable rate, p99", "response_ms_p99", MAX_THROUGHPUT),
    "maximum-end-to-end-mean": _latency(
        "end-to-end latency at the sustainable rate, mean", "end_to_end_ms_mean", MAX_THROUGHPUT
    ),
    "peak-read-rate": Figure("catch-up reads, peak", BYTES_PER_S, RATE_MARGIN, "catch-up", "peak_read_bytes_per_s"),
    "chase-time": Figure("time to catch up", "s", RATE_MARGIN, "catch-up", "chase_s"),
    "publish-p99-before": _latency("publish latency before catching up, p99", "response_ms_p99_before", "catch-up"),
    "publish-p99-during": _latency("publish latency while catching up, p99", "response_ms_p99_during", "catch-up"),
    "mixed-publish-p99-before": _latency(
        "publish latency before catch-up readers begin, p99", "response_ms_p99_before", "mixed"
    ),
    "mixed-publish-p99": _latency("publish latency beside catch-up readers, p99", "response_ms_p99_during", "mixed"),
}
