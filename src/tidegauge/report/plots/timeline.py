"""Second by second: rate, latency and resources of all trials that are compared, and how late readers caught up.

Aligned where measuring begins, or where the late readers do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import groupby, pairwise
from operator import attrgetter
from statistics import median
from typing import Any

from tidegauge.comparison.compared_trials import ComparedTrials
from tidegauge.model.host import HostLink
from tidegauge.model.trial import MeasuredResult, Validity, family
from tidegauge.model.workload import DURING, PHASES, late_names
from tidegauge.numbers import capitalized, duration, mb_per_s
from tidegauge.report.findings import faults_by_number
from tidegauge.report.plots.context import context_of_trials, validity_words
from tidegauge.report.plots.model import (
    Axis,
    Details,
    Form,
    Line,
    Plot,
    Scale,
    Series,
    Span,
    thinned_points,
    values_per_stretch,
)
from tidegauge.store.details import TrialDetails
from tidegauge.store.telemetry import OF_HOST, RECEIVED_BY, SENT_BY, WRITTEN_TO, metric_column
from tidegauge.systems import registry
from tidegauge.systems.metrics import Combine

POINTS_MAX = 300
"""Points of a line: more than a plot has pixels to tell apart."""
TRIALS_MAX = 6
"""Trials of one system that are drawn; with more, lines can't be told apart."""
LINKS_MAX = 8
"""Directions of links that are drawn."""
NEAR_SHARE = 0.5
"""Of its ceiling that a figure must reach for this to be drawn: far from it, all lines would lie on the axis."""
_GAP = 2.5
"""Seconds are missing where two follow each other by this many times what those beside them do."""
_APART_S = 1.0
"""Ends of the same fault in two trials that are further apart are marked apart."""
_NS_PER_S = 1e9
MIB = float(1 << 20)

Column = Callable[[Mapping[str, Any]], float | None]


class RowsOf(Enum):
    """From which of a trial's rows a chart is drawn: the load's seconds, what was used, what servers reported."""

    SECONDS = attrgetter("seconds")
    USE = attrgetter("use")
    METRICS = attrgetter("metrics")


@dataclass(frozen=True)
class Chart:
    """One figure over time: its name, title, axis, and how it is computed from a row of the seconds.

    Attributes:
        scheduled: it has a meaning only where there is a schedule.
        at_end: it is how much there was at the end of a second, where it is drawn; else what came in a second, which is
            drawn in its middle, so that no line falls long before what made it fall.
        ceiling: the most that it can be, which is drawn where it comes near.
    """

    name: str
    title: str
    axis: Axis
    column: Column
    meaning: str
    scheduled: bool = False
    at_end: bool = False
    rows: RowsOf = RowsOf.SECONDS
    ceiling: float | None = None


def as_is(name: str, factor: float = 1.0) -> Column:
    """A figure of a row as it is, or in another unit."""
    return lambda row: None if row.get(name) is None else float(row[name]) * factor


def per_s(name: str, unit: float = 1.0) -> Column:
    """A count of a row as a rate; none of a short piece, as the first and the last second of a trial may be."""

    def column(row: Mapping[str, Any]) -> float | None:
        length_s = (row["until_mono_ns"] - row["from_mono_ns"]) / _NS_PER_S
        value = row.get(name)
        return None if value is None or length_s < 0.2 else float(value) / length_s / unit

    return column


def _y_axis(label: str, form: Form = Form.SHORT, unit: str | None = None) -> Axis:
    """An axis from zero. `unit`: None = of figures that are written short the word that the label begins with."""
    if form is Form.SHORT and unit is None:
        unit = label.partition(" ")[0].rstrip(",")
    return Axis(label, form=form, from_zero=True, unit=unit)


MAIN = (
    Chart(
        "rate", "Rate over time", _y_axis("acknowledged, msg/s", Form.COUNT),
        per_s("acked_msgs"), "Messages acknowledged in each second",
    ),
    Chart(
        "response", "Response time over time", Axis("response p99 of each second, ms", Scale.LOG, Form.MS),
        as_is("response_p99_ms"), "p99 of the response time in each second",
    ),
    Chart(
        "end-to-end", "End-to-end latency over time", Axis("end-to-end p99 of each second, ms", Scale.LOG, Form.MS),
        as_is("end_to_end_p99_ms"), "p99 of the end-to-end latency in each second, of the slowest subscription",
    ),
)  # fmt: skip
READING = (
    Chart(
        "rate", "Rate over time", _y_axis("received, msg/s", Form.COUNT),
        per_s("received_msgs"), "Messages received in each second",
    ),
)  # fmt: skip
"""Charts that replace MAIN where nothing is sent."""
_WATCHED = ": those of the servers' data where Tidegauge starts servers, else all there are"
_OF_USE = (
    Chart(
        "server-cpu", "CPU of the servers", _y_axis("cores, all server processes together"),
        per_s("server_cpu_s"), "CPU seconds a second that all server processes used together",
    ),
    Chart(
        "host-cpu", "CPU of the host", _y_axis("% of its CPUs, whoever used them"),
        as_is("host_cpu_percent"), "Share of the CPUs that were busy on the host that ran the trial, whoever used them",
    ),
    Chart(
        "others-cpu", "CPU of other programs", _y_axis("% of the CPUs of the host"), as_is("others_cpu_percent"),
        "Share of the CPUs that programs which are no part of it had on the host that ran the trial",
    ),
    Chart(
        "server-memory", "Memory of the servers", _y_axis("MiB resident", Form.COUNT),
        as_is("server_resident_bytes", 1 / MIB), "Memory of all server processes together", at_end=True,
    ),
    Chart(
        "server-gc", "GC pauses of the servers", _y_axis("ms in each second", Form.MS),
        as_is("server_gc_pause_s", 1000.0),
        "Time that garbage collection stopped servers in each second, summed over them",
    ),
    Chart(
        "disk-written", "Written to disk", _y_axis("MB/s"),
        per_s("disk_written_bytes", 1e6), "Bytes written to the disks that were watched, whoever wrote them" + _WATCHED,
    ),
    Chart(
        "disk-read", "Read from disk", _y_axis("MB/s"),
        per_s("disk_read_bytes", 1e6), "Bytes read from the disks that were watched, whoever read them" + _WATCHED,
    ),
    Chart(
        "disk-flushes", "Cache flushes of the disks", _y_axis("flushes/s"),
        per_s("disk_flushes"),
        "How often a second the disks that were watched emptied their own cache, which a sync asks for" + _WATCHED,
    ),
    Chart(
        "disk-busy", "Disk busy", _y_axis("% of the time"), as_is("disk_busy_percent"),
        "Share of the time for which the busiest of the disks that were watched had a request under way" + _WATCHED,
    ),
    Chart(
        "io-stall", "Waiting for I/O", _y_axis("% of the time"), as_is("io_stall_percent"),
        "Share of the time in which a task on the host that ran the trial waited for I/O (pressure stalls)",
    ),
    Chart(
        "cpu-stall", "Waiting for a CPU", _y_axis("% of the time"), as_is("cpu_stall_percent"),
        "Share of the time in which a task on the host that ran the trial waited for a CPU (pressure stalls)",
    ),
    Chart(
        "loopback", "Over loopback", _y_axis("MB/s"),
        per_s("loopback_bytes", 1e6), "Bytes sent over loopback of the host that ran the trial, whoever sent them",
    ),
    Chart(
        "context-switches", "Context switches of the servers", _y_axis("a second, all threads", Form.COUNT, "a second"),
        per_s("server_context_switches"), "How often a thread of any server was given a CPU, a second",
    ),
    Chart(
        "network-sent", "Over the network", _y_axis("MB/s sent"), per_s("network_sent_bytes", 1e6),
        "Bytes that the host which ran the trial sent over its network, whoever sent them",
    ),
)  # fmt: skip
USED = tuple(replace(chart, rows=RowsOf.USE) for chart in _OF_USE)
_TITLES_BESIDE_OTHERS = {
    "host-cpu": "CPU of the command's host",
    "others-cpu": "CPU of other programs on the command's host",
    "io-stall": "Waiting for I/O on the command's host",
    "cpu-stall": "Waiting for a CPU on the command's host",
    "loopback": "Over loopback of the command's host",
    "network-sent": "Over the network from the command's host",
}
"""Of charts of one host, where a fleet has others that are watched, too."""
RESOURCES = (
    Chart(
        "received", "Received over time", _y_axis("received, msg/s", Form.COUNT),
        per_s("received_msgs"), "Messages that all subscriptions together received in each second",
    ),
    Chart(
        "backlog", "Backlog", _y_axis("messages not received yet", Form.COUNT),
        as_is("backlog_msgs"), "Messages that the slowest subscription had yet to receive at the end of each second",
        at_end=True,
    ),
    Chart(
        "in-flight", "In flight", _y_axis("messages not acknowledged yet", Form.COUNT),
        as_is("in_flight_msgs"), "Messages sent and not yet acknowledged at the end of each second", at_end=True,
    ),
    Chart(
        "client-cpu", "CPU of the load generator", _y_axis("cores"),
        per_s("worker_cpu_s"), "CPU seconds a second that the load generator used, of several all together",
    ),
    Chart(
        "client-gc", "GC pauses of the load generator", _y_axis("ms in each second", Form.MS),
        as_is("gc_pause_s", 1000.0),
        "Time that garbage collection stopped the load generator in each second, of several the longest",
    ),
    Chart(
        "client-heap", "Heap of the load generator", _y_axis("MiB used", Form.COUNT),
        as_is("heap_used_bytes", 1 / MIB), "Heap that the load generator used, of several all together", at_end=True,
    ),
    Chart(
        "own-lag", "Lag of the load generator itself", _y_axis("largest in each second, ms", Form.MS),
        as_is("own_lag_max_ms"),
        "How late the load generator was by itself, not held back by the system, of several the latest; where that is "
        "much of the response, a trial is DOUBTFUL or INVALID", scheduled=True,
    ),
    Chart(
        "blocked", "Producers held back", _y_axis("s in each second"),
        as_is("blocked_s"), "Time that producers waited for the system, summed over them",
    ),
)  # fmt: skip


def used_charts(compared: ComparedTrials, details: Details) -> tuple[Chart, ...]:
    """Charts of all that trials used and that their servers reported, and of their load generators."""
    trials = [details[result.spec.trial_id] for result in compared.results]
    columns = sorted({column for trial in trials for row in trial.use for column in row}, key=_rank_of_column)
    hosts = [
        Chart(
            f"host-cpu-{(host := column.removeprefix(OF_HOST))}", f"CPU of {host}",
            _y_axis("% of its CPUs, whoever used them"), as_is(column),
            "Share of that host's CPUs that were busy, whoever used them", rows=RowsOf.USE,
        )
        for column in columns
        if column.startswith(OF_HOST)
    ]  # fmt: skip
    disks = [
        Chart(
            f"{_DISK}{(disk := column.removeprefix(WRITTEN_TO)).replace(' ', '-')}", f"Written to {disk}",
            _y_axis("MB/s"), per_s(column, 1e6), "Bytes written to that disk, whoever wrote them", rows=RowsOf.USE,
        )
        for column in columns
        if column.startswith(WRITTEN_TO)
    ]  # fmt: skip
    links = {address: link for trial in trials for address, link in trial.links.items()}
    of_clients = [chart for chart in RESOURCES if compared.loads or chart.name not in _OF_SENDING]
    titles = _TITLES_BESIDE_OTHERS if hosts else {}
    used = [replace(chart, title=titles.get(chart.name, chart.title)) for chart in USED]
    return (*used, *hosts, *_link_charts(trials, links), *disks, *_metric_charts(compared, trials), *of_clients)


def _rank_of_column(column: str) -> list[str | int]:
    """Numbers in words count as such: 10.0.0.9 stands before 10.0.0.10."""
    return [int(part) if place % 2 else part for place, part in enumerate(re.split(r"(\d+)", column))]


def _link_charts(trials: Sequence[TrialDetails], links: Mapping[str, HostLink]) -> list[Chart]:
    """What a fleet's hosts sent and received beside what their links can, of those that came closest to it."""
    closest: list[tuple[float, Chart]] = []
    largest: dict[str, float] = {}
    for row in (row for trial in trials for row in trial.use):
        for column, value in row.items():
            if column.startswith((SENT_BY, RECEIVED_BY)) and value is not None:
                largest[column] = max(largest.get(column, 0.0), float(value))
    for column, most in sorted(largest.items(), key=lambda each: _rank_of_column(each[0])):
        is_sent = column.startswith(SENT_BY)
        host = column.removeprefix(SENT_BY if is_sent else RECEIVED_BY)
        link = links.get(host)
        can = (link.sent_bytes_per_s if is_sent else link.received_bytes_per_s) if link else None
        words = f"its link can carry at most {mb_per_s(can)}" if can else "what its link can carry is not known"
        name, way = f"{'sent' if is_sent else 'received'}-by-{host}", "Sent" if is_sent else "Received"
        chart = Chart(
            name, f"{way} by {host}", _y_axis("MB/s over its network"), as_is(column, 1e-6),
            f"Bytes that this host {way.lower()} a second over its network, whoever did; {words}",
            rows=RowsOf.USE, ceiling=can / 1e6 if can else None,
        )  # fmt: skip
        closest.append((most / can if can else 0.0, chart))
    closest.sort(key=lambda each: -each[0])
    return [chart for _, chart in closest[:LINKS_MAX]]


def reason_charts(compared: ComparedTrials, details: Details) -> tuple[Chart, ...]:
    """Of `used_charts` those that say why a rate is what it is: for each of many points there is room for no more."""
    return tuple(
        chart
        for chart in used_charts(compared, details)
        if chart.name in _REASONS or chart.name.startswith(_DISK) or "queue" in chart.name
    )


_OF_SENDING = frozenset({"received", "in-flight", "own-lag", "blocked"})
"""Those of `RESOURCES` that say nothing where nobody sends: what is received is the rate there."""
_REASONS = frozenset({"server-cpu", "disk-written", "disk-busy", "received"})
_DISK = "disk-written-to-"


def _metric_charts(compared: ComparedTrials, trials: Sequence[TrialDetails]) -> Iterator[Chart]:
    """A chart for each figure that servers reported of themselves, named as its system names it."""
    columns = {column for trial in trials for row in trial.metrics for column in row}
    metrics = {
        metric.name: metric
        for system in dict.fromkeys(map(family, compared.systems))
        for metric in registry.system_named(system).metrics
    }
    for name, metric in sorted(metrics.items()):
        columns_of_metric = sorted(column for column in columns if column.startswith(metric_column(name, "")))
        word = "least" if metric.combine is Combine.MIN else "largest"
        if columns_of_metric:
            yield Chart(
                name,
                capitalized(metric.meaning),
                _y_axis(name.replace("_", " "), unit=""),
                _worst_of(columns_of_metric, min if metric.combine is Combine.MIN else max),
                f"{capitalized(metric.meaning)}, as servers reported it; the {word} of several",
                at_end=True,
                rows=RowsOf.METRICS,
            )


def _worst_of(columns: Sequence[str], choose: Callable[[Iterable[float]], float]) -> Column:
    """One of several figures of a row; None where it has none of them."""

    def column(row: Mapping[str, Any]) -> float | None:
        values = [float(row[name]) for name in columns if row.get(name) is not None]
        return choose(values) if values else None

    return column


def timelines(compared: ComparedTrials, details: Details, prefix: str, charts: tuple[Chart, ...]) -> list[Plot]:
    """A plot for each chart that has figures; those that are 0 throughout are left out."""
    ids = {system: [result.spec.trial_id for result in compared.of_system(system)] for system in compared.systems}
    spans = (*_window_spans(ids, details), *_fault_spans(compared))
    shaded = (
        "More shaded: more systems still had the fault." if any(span.inner and not span.label for span in spans) else ""
    )
    context_words, reading = (
        context_of_trials(compared.results),
        " ".join(filter(None, (_reading_words(compared), shaded))),
    )
    plots = []
    for chart in charts:
        if chart.scheduled and compared.closed_loop:
            continue
        series = []
        for system in compared.systems:
            results = compared.of_system(system)
            for number, result in enumerate(results[:TRIALS_MAX], 1):
                label = _trial_label(result, number if len(results) > 1 else 0)
                series.append(_line_of_trial(system, label, details[result.spec.trial_id], chart))
        if any(value for line in series for value in line.y):
            plot = _chart_plot(chart, f"{prefix}-{chart.name}", series, spans, reading)
            plots.append(replace(plot, context=context_words))
    return plots


def _reading_words(compared: ComparedTrials) -> str:
    """What several lines of one system are, and whose trials are not valid; "" where there is nothing to say."""
    trials = {system: len(compared.of_system(system)) for system in compared.systems}
    left_out = [f"{system} {TRIALS_MAX} of {number}" for system, number in trials.items() if number > TRIALS_MAX]
    lines = "One line for each trial." if max(trials.values(), default=0) > 1 else ""
    if left_out:
        lines = f"One line for each trial; the first ones only: {', '.join(left_out)}."
    return " ".join(filter(None, (lines, validity_words(compared, Validity.INVALID, Validity.DOUBTFUL))))


def trial_timelines(trial: TrialDetails, system: str, prefix: str, charts: tuple[Chart, ...]) -> list[Plot]:
    """A plot of one trial, such as one without a result, for each chart that has figures."""
    window = _measured_span(trial)
    lines = [(chart, _line_of_trial(system, "", trial, chart)) for chart in charts]
    spans = () if window is None else (window,)
    return [_chart_plot(chart, f"{prefix}-{chart.name}", [line], spans, "") for chart, line in lines if any(line.y)]


def _chart_plot(chart: Chart, plot_id: str, series: list[Series], spans: tuple[Span, ...], reading: str) -> Plot:
    """The plot of a chart. `series`: with all their points, of which so many are drawn as fit."""
    x = Axis("seconds since measuring began" if spans else "seconds since load began", form=Form.SECOND)
    parts = []
    for line in series:
        values = [value for value in line.y if value is not None]
        if values:
            middle, largest = chart.axis.text(median(values)), chart.axis.with_unit(max(values))
            # Of rows that stand for several seconds the largest is known, and nothing of a middle.
            whole = _row_s(line) < _ROWS_APART_S
            name = line.name
            parts.append(f"{name}: median {middle}, largest {largest}" if whole else f"{name}: largest {largest}")
    faults: list[str] = []
    for span in spans:
        if span.inner and span.label:
            faults.append(f"{span.label} from {span.begin:.1f} to {span.end:.1f} s")
        elif span.inner:
            faults[-1] += f", elsewhere to {span.end:.1f} s"
    fault_words = f" Faults: {'; '.join(faults)}." if faults else ""
    description = f"{chart.meaning}. {'; '.join(parts)}.{fault_words}"
    reading_words = " ".join(filter(None, (reading, _thinned_words(series))))
    largest_of_all = max((value for line in series for value in line.y if value is not None), default=0.0)
    is_near = chart.ceiling is not None and largest_of_all >= NEAR_SHARE * chart.ceiling
    lines = (Line(chart.ceiling, "its link"),) if is_near and chart.ceiling else ()
    drawn = tuple(map(_thin_series, series))
    return Plot(plot_id, chart.title, description, x, chart.axis, drawn, spans, lines, reading=reading_words)


_ROWS_APART_S = 1.5
"""Rows of seconds that are further apart than this stand for several of them (see `store.tables.condense_rows`)."""


def _row_s(line: Series) -> float:
    """How far apart its points are."""
    apart = [after - before for before, after in pairwise(line.x)]
    return median(apart) if apart else 0.0


def _thin_series(line: Series) -> Series:
    x, y = thinned_points(line.x, line.y, POINTS_MAX)
    return replace(line, x=x, y=y)


def _thinned_words(series: Sequence[Series]) -> str:
    """How long the stretches are of which only two values are drawn; "" where each second has its own point."""
    step_s = max(
        (
            _row_s(line) * max(values_per_stretch(line.y, POINTS_MAX), 2 if _row_s(line) > _ROWS_APART_S else 1)
            for line in series
        ),
        default=0.0,
    )
    return f"Of each {duration(round(step_s))} the least and the largest value." if step_s > _ROWS_APART_S else ""


def _fault_spans(compared: ComparedTrials) -> tuple[Span, ...]:
    """Where faults were in force. All trials that are compared have the same ones.

    Those of a given length are over at about the same time, and one mark stands for all systems. How long a node takes
    to be started again differs: then each end that is later by a second or more has a mark of its own, without a label,
    so that the shade is the stronger the more systems still had the fault, and alike for all faults.
    """
    spans: list[Span] = []
    for results in faults_by_number(compared.loads):
        begin, ends = min(fault.from_s for fault in results), list[list[float]]()
        for until_s in sorted(fault.until_s for fault in results):
            if ends and until_s - ends[-1][0] < _APART_S:
                ends[-1].append(until_s)
            else:
                ends.append([until_s])
        spans += [
            Span(begin, alike[0], "" if number else results[0].fault.name, True, len(alike) / len(results))
            for number, alike in enumerate(ends)
        ]
    return tuple(spans)


def _trial_label(result: MeasuredResult, number: int) -> str:
    """Which of several trials it is (0 = the only one), and that its figures may not be used."""
    invalid = Validity.INVALID.shown if result.validity is Validity.INVALID else ""
    return ", ".join(filter(None, (f"trial {number}" if number else "", invalid)))


def _line_of_trial(system: str, label: str, trial: TrialDetails, chart: Chart) -> Series:
    rows = chart.rows.value(trial)
    zero_ns = trial.window_ns[0] if trial.window_ns else (rows[0]["from_mono_ns"] if rows else 0)
    return _series_of_rows(system, label, rows, zero_ns, chart)


def _series_of_rows(system: str, label: str, rows: Sequence[Mapping[str, Any]], zero_ns: int, chart: Chart) -> Series:
    """Every value, with a gap where seconds are missing: nobody knows what was there."""
    at = [_place_s(row, zero_ns, chart.at_end) for row in rows]
    x, y = list(at), [chart.column(row) for row in rows]
    # Rows of a trial of hours stand for stretches of seconds, which may differ: that alone is no gap.
    apart = [later - earlier for earlier, later in pairwise(at)]
    gaps = [place for place in range(2, len(at) - 1) if apart[place - 1] > _GAP * max(apart[place - 2], apart[place])]
    for place in reversed(gaps):
        x.insert(place, (at[place - 1] + at[place]) / 2)
        y.insert(place, None)
    return Series(system, label, tuple(x), tuple(y))


def _place_s(row: Mapping[str, Any], zero_ns: int, at_end: bool) -> float:
    """Where on the axis a row's value is."""
    from_ns, until_ns = row["from_mono_ns"] - zero_ns, row["until_mono_ns"] - zero_ns
    return float(until_ns if at_end else (from_ns + until_ns) / 2) / _NS_PER_S


def _measured_span(trial: TrialDetails) -> Span | None:
    if trial.window_ns is None:
        return None
    return Span(0.0, (trial.window_ns[1] - trial.window_ns[0]) / _NS_PER_S, "measured")


def _window_spans(ids: Mapping[str, list[str]], details: Details) -> tuple[Span, ...]:
    """The measured window; of trials that were not measured equally long, as late readers are, where it begins."""
    spans = [span for trials in ids.values() for name in trials if (span := _measured_span(details[name])) is not None]
    ends = [span.end for span in spans]
    if spans and max(ends) - min(ends) >= _APART_S:
        return (Span(0.0, 0.0, "measuring begins"),)
    return tuple(spans[:1])


CHASE = (
    Chart(
        "backlog", "Backlog while readers catch up",
        _y_axis("messages, largest of the late readers", Form.COUNT, "messages"),
        as_is("late_backlog_msgs"), "Messages yet to be read", at_end=True,
    ),
    Chart(
        "reading", "Reading rate of late readers", _y_axis("received by late readers, msg/s", Form.COUNT),
        per_s("late_received_msgs"), "Messages read in each second",
    ),
    *(chart for chart in MAIN if chart.name != "end-to-end"),
    Chart(
        "end-to-end", "End-to-end latency over time", Axis("end-to-end p99 of each second, ms", Scale.LOG, Form.MS),
        as_is("prompt_end_to_end_p99_ms"),
        "p99 of the end-to-end latency in each second, of the slowest subscription, late readers left out beside "
        "others",
    ),
)  # fmt: skip


def chase_plots(compared: ComparedTrials, details: Details, prefix: str) -> list[Plot]:
    """Backlog, reading rate, and what producers and the other readers felt; none without late readers."""
    if not any(load.spec.late for load in compared.loads):
        return []
    others = all(load.spec.late and load.spec.late.subscriptions < len(load.subscriptions) for load in compared.loads)
    reader_words = (
        "Of the slowest reader that is not late." if others else "Late readers' times hold how long they had to wait."
    )
    plots = []
    for chart in CHASE:
        series = [
            line
            for system in compared.systems
            for line in _chase_lines(compared, system, details, chart)
            if any(line.y)
        ]
        if series:
            values_by_line = [(line.name, [value for value in line.y if value is not None]) for line in series]
            ends = "; ".join(
                f"{name}: largest {chart.axis.text(max(y))}, at the end {chart.axis.with_unit(y[-1])}"
                for name, y in values_by_line
            )
            description = f"{chart.meaning}; 0 is when the late readers begin. {ends}."
            x = Axis("seconds since late readers began", form=Form.SECOND)
            spans, plot_id = _chase_phases(compared, details), f"{prefix}-chase-{chart.name}"
            of_readers = reader_words if chart.name == "end-to-end" else ""
            reading = " ".join(filter(None, (_reading_words(compared), of_readers, _thinned_words(series))))
            plot = Plot(plot_id, chart.title, description, x, chart.axis, tuple(map(_thin_series, series)), spans)
            plots.append(replace(plot, context=context_of_trials(compared.results), reading=reading))
    return plots


def _chase_lines(compared: ComparedTrials, system: str, details: Details, chart: Chart) -> Iterator[Series]:
    results = compared.loads_of(system)
    for number, result in enumerate(results[:TRIALS_MAX], 1):
        trial = details[result.spec.trial_id]
        zero_ns = began_ns(trial)
        if zero_ns is None:
            continue
        names = frozenset(late_names(len(result.subscriptions), result.spec.late))
        rows = [_with_late(row, names) for row in trial.seconds]
        yield _series_of_rows(system, _trial_label(result, number if len(results) > 1 else 0), rows, zero_ns, chart)


def began_ns(trial: TrialDetails) -> int | None:
    """When the late readers began (monotonic ns): the first second of the phase *during*; None if it never came."""
    return next((int(row["from_mono_ns"]) for row in trial.seconds if row.get("phase") == DURING), None)


def _with_late(row: Mapping[str, Any], names: frozenset[str]) -> dict[str, Any]:
    """A row of the seconds with what late readers received and have yet to, and the times of the others."""
    subscriptions = row.get("subscriptions") or ()
    late = [subscription for subscription in subscriptions if subscription["name"] in names]
    prompt = [subscription for subscription in subscriptions if subscription["name"] not in names]
    times = [time for subscription in prompt if (time := subscription.get("end_to_end_p99_ms")) is not None]
    return {
        **row,
        "prompt_end_to_end_p99_ms": max(times, default=None) if prompt else row.get("end_to_end_p99_ms"),
        "late_backlog_msgs": max((subscription["backlog_msgs"] for subscription in late), default=None),
        "late_received_msgs": sum(subscription["received_msgs"] for subscription in late),
    }


def _chase_phases(compared: ComparedTrials, details: Details) -> tuple[Span, ...]:
    """All phases of a single trial; of several, which catch up at different speeds, only where the readers begin."""
    if len(compared.results) > 1:
        return (Span(0.0, 0.0, "late readers begin"),)
    trial = details[compared.results[0].spec.trial_id]
    zero_ns = began_ns(trial)
    if zero_ns is None:
        return ()
    spans = []
    for phase, rows in groupby(trial.seconds, key=lambda row: row.get("phase")):
        if phase in PHASES:
            rows_of_phase = list(rows)
            begin, end = (
                (time_ns - zero_ns) / _NS_PER_S
                for time_ns in (rows_of_phase[0]["from_mono_ns"], rows_of_phase[-1]["until_mono_ns"])
            )
            # Shaded and unshaded by turns, so that neighbours can be told apart.
            spans.append(Span(begin, end if phase == DURING else begin, str(phase)))
    return tuple(spans)
