"""The figures of a trial that have a name: what thresholds are written in and comparisons are made of.

A name ends in its unit, and for times in which of the distribution: `response_ms_p99`. Figures are of two kinds:
MEASURED ones scatter from trial to trial and get intervals; COUNTED ones (lost messages) are facts of each trial, and
what is asked of them is asked of every single one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tidegauge.model.finding import Finding
from tidegauge.model.trial import Latency, TrialResult
from tidegauge.model.workload import late_names
from tidegauge.statistics.intervals import geometric_mean


class Kind(StrEnum):
    """Whether a figure scatters or is a fact of its trial."""

    MEASURED = "measured"
    COUNTED = "counted"


@dataclass(frozen=True)
class Figure:
    """One figure of a trial.

    Attributes:
        name: as thresholds write it.
        title: in sentences and tables.
        unit: "" for a count.
        scheduled: it means nothing without a schedule: response times of a closed loop hide waiting.
        of: the figure of a result; None where there are too few samples, or nothing was measured.
    """

    name: str
    title: str
    unit: str
    higher_is_better: bool
    kind: Kind
    of: Callable[[TrialResult], float | None]
    scheduled: bool = False


@dataclass(frozen=True)
class FindingFigure:
    """One figure that an experiment finds. `name` is its key in `Finding.figures`, or in `Finding.details`.

    `resolution`: the share by which it may be off though it comes out the same each time, as a search's steps do; the
    least of it, see `resolution_in`.
    """

    name: str
    title: str
    unit: str
    higher_is_better: bool
    resolution: float = 0.0

    def of(self, finding: Finding) -> float | None:
        """The figure in a finding; None where it has none."""
        goals = finding.details.get("goals")
        first = goals[0] if isinstance(goals, list) and goals else {}
        # Of several goals the first stands for a search; runs stored before findings had `figures` have it there only.
        for place in (finding.figures, finding.details, first):
            value = place.get(self.name) if isinstance(place, Mapping) else None
            if value is not None:
                return float(value)
        return None

    def resolution_in(self, findings: Iterable[Finding]) -> float:
        """The share by which it may be off alike in all of these: how far the widest bracket of a search is open."""
        if not self.resolution:
            return 0.0
        return max((self.resolution, *(_bracket_share(finding) for finding in findings)))


def _bracket_share(finding: Finding) -> float:
    """How far a search's first goal has its ends apart, as a share of the lower; 0 where one is not known."""
    goals = finding.details.get("goals") or [{}]
    lower, upper = goals[0].get("lower_msgs_per_s"), goals[0].get("upper_msgs_per_s")
    return float(upper) / float(lower) - 1 if lower and upper else 0.0


_PERCENTILES = (
    ("p50", "p50_ms", "p50"),
    ("p75", "p75_ms", "p75"),
    ("p90", "p90_ms", "p90"),
    ("p95", "p95_ms", "p95"),
    ("p99", "p99_ms", "p99"),
    ("p999", "p999_ms", "p99.9"),
    ("p9999", "p9999_ms", "p99.99"),
    ("mean", "mean_ms", "mean"),
    ("max", "max_ms", "maximum"),
)


def worst_end_to_end(result: TrialResult) -> Latency | None:
    """End-to-end latency of the slowest subscription (percentiles are never averaged); None without subscriptions.

    Late readers beside others don't count: their times hold how long they were made to wait.
    """
    late = late_names(len(result.subscriptions), result.spec.late)
    found = [subscription for subscription in result.subscriptions if subscription.name not in late] or list(
        result.subscriptions
    )
    return max((one.end_to_end for one in found), key=lambda one: one.p99_ms or one.max_ms, default=None)


def _times(series: str, title: str, latency: Callable[[TrialResult], Latency | None]) -> list[Figure]:
    def of(field: str) -> Callable[[TrialResult], float | None]:
        def figure(result: TrialResult) -> float | None:
            found = latency(result)
            return getattr(found, field) if found is not None and found.count else None

        return figure

    return [
        Figure(f"{series}_ms_{name}", f"{title} {shown}", "ms", False, Kind.MEASURED, of(field), scheduled=True)
        for name, field, shown in _PERCENTILES
    ]


def _summed(what: str) -> Callable[[TrialResult], float | None]:
    return lambda result: float(sum(getattr(subscription, what) for subscription in result.subscriptions))


def _lost(result: TrialResult) -> float | None:
    """None where the drain ended while consumers were behind: what they had not received may yet have come."""
    lost = sum(subscription.lost for subscription in result.subscriptions)
    behind = any(subscription.backlog for subscription in result.subscriptions)
    return None if behind and not lost else float(lost)


def window_end_backlog(result: TrialResult) -> float | None:
    """Of the slowest subscription; None where it was not seen. Late readers beside others don't count."""
    late = late_names(len(result.subscriptions), result.spec.late)
    found = [subscription.window_end_backlog for subscription in result.subscriptions if subscription.name not in late]
    return max((float(one) for one in found if one is not None), default=None)


def _counted(name: str, title: str, of: Callable[[TrialResult], float | None]) -> Figure:
    return Figure(name, title, "", False, Kind.COUNTED, of)


def _measured(name: str, title: str, unit: str, better: bool, of: Callable[[TrialResult], float | None]) -> Figure:
    return Figure(name, title, unit, better, Kind.MEASURED, of)


_ALL = (
    _measured("msgs_per_s", "rate", "msg/s", True, lambda result: result.msgs_per_s),
    _measured("mb_per_s", "throughput", "MB/s", True, lambda result: result.mb_per_s),
    *_times("response", "response", lambda result: result.response),
    *_times("service", "service", lambda result: result.service),
    *_times("delay", "delay", lambda result: result.delay),
    *_times("end_to_end", "end-to-end", worst_end_to_end),
    *[_counted(name, f"{name} messages", _summed(name)) for name in ("duplicated", "reordered", "corrupt", "foreign")],
    _counted("lost", "lost messages", _lost),
    _counted("failed", "failed messages", lambda result: float(result.failed)),
    _counted("unresolved", "messages without an outcome", lambda result: float(result.unresolved)),
    _counted(
        "backlog",
        "backlog after the drain",
        lambda result: float(max((subscription.backlog for subscription in result.subscriptions), default=0)),
    ),
    _counted("window_end_backlog", "backlog when the measured window ended", window_end_backlog),
    _measured("server_cpu_s", "CPU time of the servers", "s", False, lambda result: result.server_cpu_s),
    _measured("worker_cpu_s", "CPU time of the clients", "s", False, lambda result: result.worker_cpu_s),
)

FIGURES = {figure.name: figure for figure in _ALL}
"""Figures of a trial, by name."""

SUSTAINABLE = "sustainable_msgs_per_s"
FINDING_FIGURES = {
    figure.name: figure
    for figure in (
        FindingFigure(SUSTAINABLE, "sustainable rate", "msg/s", higher_is_better=True, resolution=0.05),
        FindingFigure("drain_msgs_per_s", "drain rate", "msg/s", higher_is_better=True),
        FindingFigure("peak_read_msgs_per_s", "peak read rate", "msg/s", higher_is_better=True),
        FindingFigure("chase_s", "chase time", "s", higher_is_better=False),
        FindingFigure("response_ms_p99_during", "response p99 while catching up", "ms", higher_is_better=False),
        FindingFigure("tailing_ms_p99_during", "end-to-end p99 of readers that keep up", "ms", higher_is_better=False),
    )
}
"""Figures that experiments find, by name."""


def known_names() -> list[str]:
    """Every name of a figure."""
    return [*FIGURES, *FINDING_FIGURES]


def by_block(values: Sequence[tuple[int, float | None]]) -> dict[int, float]:
    """A figure by block number; of several trials in one block the geometric mean. What is not positive has none."""
    found: dict[int, list[float]] = {}
    for block, value in values:
        if value is not None and value > 0:
            found.setdefault(block, []).append(value)
    return {block: geometric_mean(of_block) for block, of_block in sorted(found.items())}
