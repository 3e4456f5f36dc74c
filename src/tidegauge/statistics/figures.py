"""The figures of trials and findings: the one list that thresholds, comparisons, reports and published claims look up.

An entry says what a figure is called, its unit, which direction is better, how it is got, and where reports show it of
their own accord; thresholds may name every one (docs/decisions/0052-one-registry-of-figures.md). A name ends in its
unit, and for times in which of the distribution: `response_ms_p99`. Figures are of two kinds: MEASURED ones scatter
from trial to trial and get intervals; COUNTED ones (lost messages) are facts of each trial, and what is asked of them
is asked of every single one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import Flag, StrEnum, auto
from typing import Any

from tidegauge.model.finding import Finding
from tidegauge.model.trial import Latency, LoadResult, MeasuredResult, ReadResult, SubscriptionResult
from tidegauge.model.workload import BEFORE, DURING, late_names

ValueInTrial = Callable[[MeasuredResult], float | None]
"""The figure of a result; None where there are too few samples, or nothing was measured."""
ValueInLoad = Callable[[LoadResult], float | None]


class FigureKind(StrEnum):
    """Whether a figure scatters or is a fact of its trial."""

    MEASURED = "measured"
    COUNTED = "counted"


class Shown(Flag):
    """Where a figure stands without being asked for. Its column in the table of trials is `Figure.column`."""

    NOWHERE = 0
    MARKDOWN = auto()
    """A column of the run's tables in Markdown."""
    JUNIT = auto()
    """In what a trial's case reports."""
    TRIALS = auto()
    """A column of the page's list of all trials, the discarded ones too."""
    WITHIN = auto()
    """Compared between the systems of a run."""
    ACROSS = auto()
    """Compared between runs."""


@dataclass(frozen=True)
class TableColumn:
    """A figure's column in the table of trials (terminal and page).

    Attributes:
        group: the head above it, which all columns of the same group share.
        optional: left out where no trial has the figure, or it is 0 in all.
    """

    group: str
    head: str
    optional: bool = False


@dataclass(frozen=True)
class Figure:
    """One figure of a trial.

    Attributes:
        name: as thresholds write it.
        title: in sentences and tables.
        unit: "" for a count; how the number is written follows from it (`numbers.in_unit`).
        value_in: how it is got.
        scheduled: it means nothing without a schedule: response times of a closed loop hide waiting.
        offered: with a schedule it is what was asked for, so there it is not compared.
        column: None = none.
    """

    name: str
    title: str
    unit: str
    higher_is_better: bool
    kind: FigureKind
    value_in: ValueInTrial
    scheduled: bool = False
    offered: bool = False
    column: TableColumn | None = None
    shown: Shown = Shown.NOWHERE

    @property
    def head(self) -> str:
        """The head of its column: "response p99, ms"."""
        return f"{self.title}, {self.unit}" if self.unit else self.title


@dataclass(frozen=True)
class FindingFigure:
    """One figure that an experiment finds, by its name in `Finding.figures`.

    Attributes:
        value_in_trial: how the experiment gets it from its only trial; None where it takes several.
        resolution: the share by which it may be off though it comes out the same each time, as a search's steps do; the
            least of it, see `resolution_in`.
    """

    name: str
    title: str
    unit: str
    higher_is_better: bool
    value_in_trial: ValueInTrial | None = None
    resolution: float = 0.0
    shown: Shown = Shown.WITHIN | Shown.ACROSS

    @property
    def head(self) -> str:
        """The head of its column: "sustainable rate, msg/s"."""
        return f"{self.title}, {self.unit}" if self.unit else self.title

    def value_in(self, finding: Finding) -> float | None:
        """The figure in a finding; None where it has none."""
        return finding.figure(self.name)

    def resolution_in(self, findings: Iterable[Finding]) -> float:
        """The share by which it may be off alike in all of these: how far the widest bracket of a search is open."""
        if not self.resolution:
            return 0.0
        return max((self.resolution, *(_bracket_share(finding) for finding in findings)))


def _bracket_share(finding: Finding) -> float:
    """How far a search's first goal has its ends apart, as a share of the lower; 0 where one is not known."""
    for goal in finding.goals[:1]:
        if goal.lower_msgs_per_s and goal.upper_msgs_per_s:
            return goal.upper_msgs_per_s / goal.lower_msgs_per_s - 1
    return 0.0


def prompt_readers(result: LoadResult) -> list[SubscriptionResult]:
    """All subscriptions but late readers beside others: the times of these hold how long they were made to wait."""
    late = late_names(len(result.subscriptions), result.spec.late)
    prompt = [subscription for subscription in result.subscriptions if subscription.name not in late]
    return prompt or list(result.subscriptions)


def largest_times(latencies: Sequence[Latency]) -> Latency | None:
    """The worst of several subscriptions: of each percentile the largest, so a limit holds for it if it does for all.

    A percentile is None where any of them has too few samples. None without subscriptions. `count` is the least.
    """
    if not latencies:
        return None
    worst: dict[str, Any] = {}
    for name in (field.name for field in fields(Latency) if field.name != "count"):
        values = [getattr(latency, name) for latency in latencies]
        worst[name] = None if None in values else max(values)
    return Latency(count=min(latency.count for latency in latencies), **worst)


def _worst_end_to_end(result: LoadResult) -> Latency | None:
    return largest_times([subscription.end_to_end for subscription in prompt_readers(result)])


def _largest_of_subscriptions(series: str) -> Callable[[LoadResult], Latency | None]:
    """The worst of a series that only subscriptions with processing consumers have; None where one lacks it."""

    def latency(result: LoadResult) -> Latency | None:
        latencies = [getattr(subscription, series) for subscription in prompt_readers(result)]
        return None if None in latencies else largest_times(latencies)

    return latency


def _processing_cpu_s(result: LoadResult) -> float | None:
    used_s = [sub.processing_cpu_s for sub in result.subscriptions if sub.processing_cpu_s is not None]
    return sum(used_s) if used_s else None


def processing_cpu_cores(result: LoadResult) -> float | None:
    """Returns the CPU cores that consumers' processing kept busy on average; None where it takes no CPU."""
    used_s = _processing_cpu_s(result)
    return used_s / result.measured_s if used_s is not None and result.measured_s > 0 else None


def _processing_percent(result: LoadResult) -> float | None:
    shares = [subscription.processing_share for subscription in prompt_readers(result)]
    return max((100 * share for share in shares if share is not None), default=None)


PERCENTILES = (
    ("p50", "p50", "p50"),
    ("p75", "p75", "p75"),
    ("p90", "p90", "p90"),
    ("p95", "p95", "p95"),
    ("p99", "p99", "p99"),
    ("p999", "p99.9", "p99.9"),
    ("p9999", "p99.99", "p99.99"),
    ("mean", "mean", "mean"),
    ("max", "maximum", "max"),
)
"""What each end of a figure's name is called: in titles, and as a column's head."""


def _latency_figures(
    series: str,
    title: str,
    latency: Callable[[LoadResult], Latency | None],
    columns: tuple[str, ...] = (),
    shown: Mapping[str, Shown] | None = None,
    *,
    optional: bool = False,
) -> list[Figure]:
    """All percentiles of a series. `columns`: those in the table of trials, after the head of their group."""

    def value_of_field(field: str) -> ValueInTrial:
        def figure(result: LoadResult) -> float | None:
            summary = latency(result)
            return getattr(summary, field) if summary is not None and summary.count else None

        return _of_load(figure)

    return [
        Figure(
            f"{series}_ms_{name}",
            f"{title} {title_end}",
            "ms",
            False,
            FigureKind.MEASURED,
            value_of_field(f"{name}_ms"),
            scheduled=True,
            column=TableColumn(columns[0], head, optional=optional or name == "p9999") if name in columns[1:] else None,
            shown=(shown or {}).get(name, Shown.NOWHERE),
        )
        for name, title_end, head in PERCENTILES
    ]


def _of_load(figure: ValueInLoad, without: float | None = None) -> ValueInTrial:
    """A figure that only loads have. `without`: what it is where nothing was sent, of which nothing can have failed."""
    return lambda result: figure(result) if isinstance(result, LoadResult) else without


def _sum_over_subscriptions(field: str) -> ValueInLoad:
    """Sums a count over all subscriptions; None without any, for then nobody knows."""

    def figure(result: LoadResult) -> float | None:
        counts = [getattr(subscription, field) for subscription in result.subscriptions]
        return float(sum(counts)) if counts else None

    return figure


def _corrupt_messages(result: MeasuredResult) -> float | None:
    """How many messages arrived damaged; None if that is not known.

    Of messages that others sent only those with checksums were checked, and short ones have no room for any.
    """
    read = result.subscriptions if isinstance(result, ReadResult) else ()
    short = isinstance(result, LoadResult) and not result.spec.workload.checks_damage
    unchecked = short or not result.subscriptions or any(sub.received > sub.verified for sub in read)
    return None if unchecked and not result.corrupt else float(result.corrupt)


def _reordered_messages(result: LoadResult) -> float | None:
    """None where no order was promised, and so none was checked."""
    return _sum_over_subscriptions("reordered")(result) if result.spec.workload.checks_order else None


def _foreign_messages(result: MeasuredResult) -> float | None:
    return float(sum(sub.foreign for sub in result.subscriptions)) if result.subscriptions else None


def _lost_messages(result: LoadResult) -> float | None:
    """None where of something that was not received nobody knows what became of it, unless some is known to be lost."""
    return float(result.lost) if result.lost or is_all_accounted_for(result) else None


def is_all_accounted_for(result: LoadResult) -> bool:
    """Whether somebody read, and of each message that nobody received it is known if it was lost, or there but late."""
    return bool(result.subscriptions) and all(sub.backlog <= sub.lost + sub.late for sub in result.subscriptions)


def _window_end_backlog(result: LoadResult) -> float | None:
    """The slowest subscription's backlog as the window ended; None where it was not seen. Late readers don't count."""
    late = late_names(len(result.subscriptions), result.spec.late)
    backlogs = [
        subscription.window_end_backlog for subscription in result.subscriptions if subscription.name not in late
    ]
    return max((float(backlog) for backlog in backlogs if backlog is not None), default=None)


def _backlog_left(result: LoadResult) -> float | None:
    return max((float(subscription.backlog) for subscription in result.subscriptions), default=None)


def _cores_kept_busy(cpu_s: str) -> ValueInTrial:
    """CPU seconds of the window as cores kept busy on average."""

    def figure(result: MeasuredResult) -> float | None:
        used_s = getattr(result, cpu_s)
        return used_s / result.measured_s if used_s is not None and result.measured_s > 0 else None

    return figure


def _catch_up(field: str) -> ValueInTrial:
    return _of_load(lambda result: getattr(result.catch_up, field, None))


def _phase_p99(series: str, phase: str) -> ValueInTrial:
    """The p99 of a series in one phase of a trial with late readers."""

    def figure(result: LoadResult) -> float | None:
        latency: Latency | None = getattr(result.catch_up.phase(phase), series) if result.catch_up else None
        return latency.p99_ms if latency is not None else None

    return _of_load(figure)


def _count_figure(
    name: str, title: str, value_in: ValueInTrial, column: TableColumn | None = None, shown: Shown = Shown.NOWHERE
) -> Figure:
    return Figure(name, title, "", False, FigureKind.COUNTED, value_in, column=column, shown=shown)


def _messages_figure(
    field: str, value_in: ValueInLoad | None = None, shown: Shown = Shown.NOWHERE, *, optional: bool = False
) -> Figure:
    """Messages to which something happened, over all subscriptions; of what others sent nobody knows it."""
    column = TableColumn("messages", field, optional=optional)
    return _count_figure(
        field, f"{field} messages", _of_load(value_in or _sum_over_subscriptions(field)), column, shown
    )


def _measured_figure(
    name: str, title: str, unit: str, value_in: ValueInTrial, column: TableColumn | None = None
) -> Figure:
    return Figure(name, title, unit, False, FigureKind.MEASURED, value_in, column=column)


def _rate_figure(name: str, title: str, unit: str, value_in: ValueInTrial, shown: Shown = Shown.NOWHERE) -> Figure:
    column = TableColumn("rate", unit)
    return Figure(name, title, unit, True, FigureKind.MEASURED, value_in, offered=True, column=column, shown=shown)


_EVERYWHERE = Shown.MARKDOWN | Shown.JUNIT | Shown.TRIALS | Shown.WITHIN | Shown.ACROSS
_ALL = (
    _rate_figure("msgs_per_s", "rate", "msg/s", lambda result: result.msgs_per_s, _EVERYWHERE),
    _rate_figure("mb_per_s", "throughput", "MB/s", lambda result: result.mb_per_s),
    *_latency_figures(
        "response", "response", lambda result: result.response,
        ("response time, ms", "p50", "p95", "p99", "p999", "p9999", "max"),
        {"p50": Shown.MARKDOWN | Shown.ACROSS, "p99": _EVERYWHERE, "p999": Shown.ACROSS},
    ),
    *_latency_figures("service", "service", lambda result: result.service, ("service, ms", "p99")),
    *_latency_figures("delay", "delay", lambda result: result.delay),
    *_latency_figures(
        "end_to_end", "end-to-end", _worst_end_to_end,
        ("end-to-end, ms", "p50", "p99"),
        {"p99": _EVERYWHERE & ~Shown.JUNIT},
    ),
    *_latency_figures(
        "processed", "until processed", _largest_of_subscriptions("processed"),
        ("until processed, ms", "p50", "p99"),
        {"p99": Shown.MARKDOWN | Shown.WITHIN | Shown.ACROSS},
        optional=True,
    ),
    *_latency_figures("in_consumer", "in the consumer", _largest_of_subscriptions("in_consumer")),
    _measured_figure(
        "processing_percent", "processing by consumers", "%", _of_load(_processing_percent),
    ),
    _count_figure(
        "window_end_backlog", "backlog when the measured window ended", _of_load(_window_end_backlog),
        TableColumn("backlog", "end"),
    ),
    _count_figure("backlog", "backlog after the drain", _of_load(_backlog_left), TableColumn("backlog", "left")),
    _messages_figure("lost", _lost_messages, Shown.MARKDOWN),
    _messages_figure("late", shown=Shown.MARKDOWN, optional=True),
    _messages_figure("untraced", shown=Shown.MARKDOWN, optional=True),
    _messages_figure("duplicated", shown=Shown.MARKDOWN),
    _messages_figure("reordered", _reordered_messages),
    _count_figure("corrupt", "corrupt messages", _corrupt_messages, TableColumn("messages", "corrupt")),
    _count_figure("foreign", "foreign messages", _foreign_messages),
    _count_figure("failed", "failed messages", _of_load(lambda result: float(result.failed), 0.0)),
    _count_figure("unresolved", "messages without an outcome", _of_load(lambda result: float(result.unresolved), 0.0)),
    _count_figure(
        "unacknowledged", "messages failed or without an outcome",
        _of_load(lambda result: float(result.failed + result.unresolved), 0.0), TableColumn("messages", "failed"),
    ),
    _measured_figure("server_cpu_s", "CPU time of the servers", "s", lambda result: result.server_cpu_s),
    _measured_figure("worker_cpu_s", "CPU time of the clients", "s", lambda result: result.worker_cpu_s),
    _measured_figure(
        "worker_cpu_cores", "CPU cores of the clients", "cores", _cores_kept_busy("worker_cpu_s"),
        TableColumn("CPU, cores", "client"),
    ),
    _measured_figure("processing_cpu_s", "CPU time of consumers' processing", "s", _of_load(_processing_cpu_s)),
    _measured_figure(
        "processing_cpu_cores", "CPU cores of consumers' processing", "cores", _of_load(processing_cpu_cores),
        TableColumn("CPU, cores", "of that processing", optional=True),
    ),
    _measured_figure(
        "server_cpu_cores", "CPU cores of the servers", "cores", _cores_kept_busy("server_cpu_s"),
        TableColumn("CPU, cores", "server"),
    ),
)  # fmt: skip

FIGURES = {figure.name: figure for figure in _ALL}
"""Figures of a trial, by name, in the order in which tables show them."""

SUSTAINABLE = "sustainable_msgs_per_s"
SMALLEST = "smallest_number"
_FOUND = (
    FindingFigure(SUSTAINABLE, "sustainable rate", "msg/s", True, resolution=0.05),
    FindingFigure(SMALLEST, "smallest number", "", False),
    FindingFigure("drain_msgs_per_s", "drain rate", "msg/s", True, _catch_up("drain_msgs_per_s")),
    FindingFigure("peak_read_msgs_per_s", "peak read rate", "msg/s", True, _catch_up("peak_read_msgs_per_s")),
    FindingFigure("chase_s", "chase time", "s", False, _catch_up("chase_s")),
    FindingFigure(
        "response_ms_p99_during", "response p99 while catching up", "ms", False, _phase_p99("response", DURING)
    ),
    FindingFigure(
        "tailing_ms_p99_during", "end-to-end p99 of readers from the start", "ms", False,
        _phase_p99("tailing_end_to_end", DURING),
    ),
    FindingFigure(
        "response_ms_p99_before", "response p99 before catching up", "ms", False, _phase_p99("response", BEFORE),
        shown=Shown.NOWHERE,
    ),
    FindingFigure(
        "peak_read_bytes_per_s", "peak read rate in bytes", "B/s", True, _catch_up("peak_read_bytes_per_s"),
        shown=Shown.NOWHERE,
    ),
)  # fmt: skip

FINDING_FIGURES = {figure.name: figure for figure in _FOUND}
"""Figures that experiments find, by name."""


def leading_times(results: Sequence[MeasuredResult]) -> list[Figure]:
    """The latencies that sum up trials at a rate, the best first: where all consumers process, until that is done."""
    processed = results and all(
        isinstance(result, LoadResult) and result.spec.workload.processing for result in results
    )
    kinds = ("processed", "response") if processed else ("response",)
    return [FIGURES[f"{kind}_ms_{name}"] for kind in kinds for name in ("p99", "p50", "max")]


def figures_shown(where: Shown) -> list[Figure]:
    """Figures of trials that a place shows, in order."""
    return [figure for figure in FIGURES.values() if where in figure.shown]


def figures_compared(where: Shown, *, closed_loop: bool) -> list[Figure]:
    """Figures of trials that a place compares: of a closed loop no waiting times, else nothing that was asked for."""
    return [figure for figure in figures_shown(where) if not (figure.scheduled if closed_loop else figure.offered)]


def figures_found(where: Shown) -> list[FindingFigure]:
    """Figures of findings that a place compares, in order."""
    return [figure for figure in FINDING_FIGURES.values() if where in figure.shown]


def find_value_in_trial(name: str) -> ValueInTrial | None:
    """How a figure of that name is got from one trial; None where that takes several. KeyError for an unknown name."""
    return FIGURES[name].value_in if name in FIGURES else FINDING_FIGURES[name].value_in_trial


def known_names() -> list[str]:
    """Every name of a figure."""
    return [*FIGURES, *FINDING_FIGURES]
