"""The tables of a run: figures of each trial, step of a schedule, load generator and point of a sweep, with remarks.

Those of a sweep stand side by side: the swept values in the first columns, then the system.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import median
from typing import TypeVar

from tidegauge.comparison.compared_trials import ComparedTrials
from tidegauge.comparison.order import Point
from tidegauge.model.trial import (
    LoadResult,
    MeasuredResult,
    ReadResult,
    RecordResult,
    Validity,
    WorkerResult,
    point_words,
)
from tidegauge.model.workload import SubscriptionType
from tidegauge.numbers import MISSING, count, in_unit, ms, plural, rounded, short
from tidegauge.plain import grouped
from tidegauge.report.layout import Column, ColumnGroup, FigureTable, Paragraph, bullet
from tidegauge.statistics.figures import FIGURES, Figure, is_all_accounted_for, prompt_readers

T = TypeVar("T")
RecordFigure = Callable[[RecordResult], float | None]
Form = Callable[[float | None], str]
Reduce = Callable[[Sequence[float]], float]
_SECOND_TABLE = "backlog"
"""The group of columns with which a further table begins."""


def records_table(compared: ComparedTrials) -> FigureTable | None:
    """A row for each step of each system; None without a schedule."""
    rows = [
        (f"{system} {name}", records)
        for system in compared.systems
        for name, records in grouped(
            (record.name, record)
            for load in trials_shown(compared, system)
            if isinstance(load, LoadResult)
            for record in load.records
        ).items()
    ]
    if not rows:
        return None
    group = partial(reduced_group, [records for _, records in rows])
    times: Mapping[str, RecordFigure] = {
        "p50": lambda r: r.response.p50_ms,
        "p99": lambda r: r.response.p99_ms,
        "max": lambda r: r.response.max_ms if r.response.count else None,
    }
    groups = (
        group("msg/s", count, {"offered": lambda r: r.offered_msgs_per_s, "achieved": lambda r: r.msgs_per_s}),
        group("response time, ms", ms, times),
        group("service, ms", ms, {"p99": lambda r: r.service.p99_ms}),
        group("end-to-end, ms", ms, {"p50": lambda r: r.end_to_end.p50_ms, "p99": lambda r: r.end_to_end.p99_ms}),
    )
    return FigureTable("system and step", tuple(label for label, _ in rows), groups)


def trials_shown(compared: ComparedTrials, system: str) -> Sequence[MeasuredResult]:
    """A single trial whatever its validity, which the table above shows; of several those whose figures may be used."""
    trials = compared.of_system(system)
    return trials if len(trials) == 1 else compared.usable(system)


@dataclass(frozen=True)
class Remark:
    """One sentence on a trial. `validity`: of the trial where this says why it is not valid; None for the rest."""

    text: str
    validity: Validity | None = None

    def bullet(self) -> Paragraph:
        """The remark as a paragraph for a terminal."""
        style = "" if self.validity is None else "bold red" if self.validity is Validity.INVALID else "yellow"
        return bullet(self.text, style)


def remarks(compared: ComparedTrials) -> Iterable[Remark]:
    """All remarks on trials that are compared, by system."""
    for result in sorted(compared.results, key=lambda result: (result.spec.system, result.spec.trial_id)):
        alone = len(compared.of_system(result.spec.system)) == 1 and not compared.point
        at = f" ({short_point(compared.point)})" if compared.point else ""
        who = result.spec.system if alone else f"{result.spec.trial_id}{at}"
        for reason in result.reasons:
            yield Remark(f"{who} is {result.validity.shown}: {reason}", result.validity)
        for warning in result.warnings:
            yield Remark(f"{who}: {warning}")
        for where, message, times in result.errors:
            yield Remark(f"{who}: {plural(times, 'error')} in {where}: {message}")


def figure_rows(compared: ComparedTrials) -> list[tuple[str, Sequence[MeasuredResult], Reduce]]:
    """Label, trials and what is made of them: each trial without repeats; else min, median and max of each system."""
    if all(len(compared.of_system(system)) == 1 for system in compared.systems):
        return [(compared.label(system), compared.of_system(system), max) for system in compared.systems]
    return [
        (f"{compared.label(system)} {name}", compared.usable(system), reduce)
        for system in compared.systems
        for name, reduce in (("min", min), ("median", median), ("max", max))
    ]


def figure_table(*all_compared: ComparedTrials) -> FigureTable:
    """The table of one experiment, of a sweep at several points: a column for each figure that has one."""
    listed = [row for compared in all_compared for row in figure_rows(compared)]
    rows = [(results, reduce) for _, results, reduce in listed]
    groups: dict[str, list[Column]] = {}
    for figure in FIGURES.values():
        if figure.column is None:
            continue
        values = [reduced_figure(results, figure.value_in, reduce) for results, reduce in rows]
        if is_figure_shown(figure, [result for results, _ in rows for result in results]):
            cells = tuple(in_unit(value, figure.unit) for value in values)
            groups.setdefault(figure.column.group, []).append(Column(figure.column.head, cells))
    # Of all trials of its system, in each row: a table that is scrolled or goes on overleaf begins with any.
    cells_of_validity: list[str] = []
    for compared in all_compared:
        rows_of_system = len(figure_rows(compared)) // len(compared.systems)
        for system in compared.systems:
            cells_of_validity += [validity_of_all(compared.of_system(system))] * rows_of_system
    validity = Column("validity", tuple(cells_of_validity), words=True)
    column_groups = [ColumnGroup(head, tuple(columns), head == _SECOND_TABLE) for head, columns in groups.items()]
    return FigureTable("system", tuple(label for label, _, _ in listed), (*column_groups, ColumnGroup("", (validity,))))


def is_figure_shown(figure: Figure, results: Iterable[MeasuredResult]) -> bool:
    """Whether tables of these trials show a figure: an optional one only where it says something."""
    return figure.column is None or not figure.column.optional or any(map(figure.value_in, results))


def reduced_figure(items: Iterable[T], figure: Callable[[T], float | None], reduce: Reduce) -> float | None:
    """What is made of a figure of all items that have it; None where none has."""
    values = [value for value in map(figure, items) if value is not None]
    return float(reduce(values)) if values else None


def reduced_group(
    rows: Sequence[Sequence[T]],
    head: str,
    form: Form,
    figures: Mapping[str, Callable[[T], float | None]],
    reduce: Reduce = median,
) -> ColumnGroup:
    """Figures that are written alike, by the heads of their columns: of each row what is made of its items."""
    cells = {name: tuple(form(reduced_figure(items, of, reduce)) for items in rows) for name, of in figures.items()}
    return ColumnGroup(head, tuple(Column(name, column) for name, column in cells.items()))


def worst_validity(results: Sequence[MeasuredResult]) -> Validity:
    """The validity of the worst of these trials; without any, no figure may be used."""
    return max((result.validity for result in results), key=list(Validity).index, default=Validity.INVALID)


def validity_of_all(results: Sequence[MeasuredResult]) -> str:
    """ "valid", or the worst of several trials and how many have it: "1 of 3 DOUBTFUL"."""
    worst = worst_validity(results)
    if worst is Validity.VALID or len(results) == 1:
        return worst.shown
    return f"{sum(result.validity is worst for result in results)} of {len(results)} {worst.shown}"


def footnotes(compared: ComparedTrials) -> list[str]:
    """What a reader of the table must know: missing figures, several subscriptions, repeats."""
    notes = [*_missing_times(compared)]
    if any(load.subscriptions and not is_all_accounted_for(load) for load in compared.loads):
        notes.append(
            "Whether messages were lost is not known where consumers were behind at the end and nobody could look, "
            "or did."
        )
    specs = [result.spec for result in compared.results if result.server_cpu_s is None]
    without = [spec for spec in specs if not spec.serverless]
    others, ours = (
        sorted({spec.system for spec in without if spec.attached is attached}) for attached in (True, False)
    )
    notes += [f"The servers' CPU is not known where others run them: {', '.join(others)}."] if others else []
    notes += [f"The servers' CPU was not recorded: {', '.join(ours)}."] if ours else []
    notes += _over_subscriptions(compared)
    if any(len(compared.of_system(system)) > 1 for system in compared.systems):
        used = ", ".join(
            f"{system} {len(compared.usable(system))} of {len(compared.of_system(system))}"
            for system in compared.systems
        )
        notes.append(f"Min, median and max over repeated trials, for each figure on its own; trials used: {used}.")
    notes += _own_settings(compared)
    if any(load.spec.late for load in compared.loads):
        times = (
            "End-to-end times of late readers include the time for which they were made to wait."
            if all(len(prompt_readers(load)) == len(load.subscriptions) for load in compared.loads)
            else "End-to-end times are without those of late readers, which were made to wait."
        )
        phases = "; those of each phase are below" if any(load.records for load in compared.loads) else ""
        notes.append(f"Figures are over the whole time before, during and after catching up{phases}. {times}")
    notes += _promise_notes(compared)
    if compared.closed_loop and compared.loads:
        notes.append(
            "Closed loop: the next message waits for an earlier one, so these times hide waiting; "
            "compare latency at a fixed rate."
        )
    return notes


def _missing_times(compared: ComparedTrials) -> list[str]:
    """Why times are missing: of trials that may be used, and of a system without any."""
    rows = [(results, reduce) for _, results, reduce in figure_rows(compared) if results]
    every = [result for results, _ in rows for result in results]
    times = [figure for figure in FIGURES.values() if figure.column is not None and figure.unit == "ms"]
    listed = [figure for figure in times if is_figure_shown(figure, every)]
    notes = []
    if any(reduced_figure(results, figure.value_in, reduce) is None for results, reduce in rows for figure in listed):
        needed = "p99.99 needs 100,000, p99.9 10,000, p99 1,000, p95 200, p50 20"
        across = any(load.clocks for load in compared.loads)
        clocks = ", or (end-to-end) clocks of several hosts that are not known well enough" if across else ""
        notes.append(
            f"'{MISSING}': too few samples ({needed}), none at all, or (p99.9, p99.99) as many messages without an "
            f"outcome as lie beyond{clocks}."
        )
    unusable = [
        system for system in compared.systems if not compared.usable(system) and len(compared.of_system(system)) > 1
    ]
    if unusable:
        notes.append(f"'{MISSING}' in a whole row: no trial of {', '.join(unusable)} may be used.")
    return notes


def _over_subscriptions(compared: ComparedTrials) -> list[str]:
    """What the figures of several subscriptions are together."""
    several = [result for result in compared.results if len(result.subscriptions) > 1]
    loads = [result for result in several if isinstance(result, LoadResult)]
    if not several:
        return []
    if not loads:
        return ["Rates and message counts are those of all subscriptions together."]
    if any(len(prompt_readers(load)) < len(load.subscriptions) for load in loads):
        return [
            "Of several subscriptions end-to-end times, and the backlog when the window ended, are each the largest of "
            "any that reads all the time; what was left is the largest of any, and message counts sum over all."
        ]
    return ["End-to-end times and backlogs are each the largest of any subscription; message counts sum over all."]


def _promise_notes(compared: ComparedTrials) -> list[str]:
    """What the workload's shape takes away from what is checked."""
    workload = compared.results[0].spec.workload
    notes = []
    reading = [result for result in compared.results if isinstance(result, ReadResult)]
    if reading:
        read = sum(sub.received for result in reading for sub in result.subscriptions)
        verified = sum(sub.verified for result in reading for sub in result.subscriptions)
        corrupt = sum(sub.corrupt for result in reading for sub in result.subscriptions)
        parts = [f"{count(verified)} were of an earlier run, and their checksums were checked"] if verified else []
        parts += [f"{count(corrupt)} were damaged when they arrived"] if corrupt else []
        if verified < read or not parts:
            nothing = "nothing is known but their number"
            parts.append(f"of the others {nothing}" if parts else nothing)
        notes.append(
            f"Nothing was sent. msg/s: received. Of {count(read)} messages {'; '.join(parts)}. "
            "Whether any was lost, came twice or out of order was not checked."
        )
    elif not workload.subscriptions:
        notes.append("Nobody read, so nothing is known of loss, damage or order: only acknowledgements were measured.")
    elif workload.subscription_type is SubscriptionType.SHARED:
        notes.append("Shared subscriptions promise no order, so none was checked.")
    elif workload.subscription_type is SubscriptionType.KEY_SHARED:
        notes.append("Key-shared subscriptions promise the order of each key, and that was checked.")
    return notes


def _own_settings(compared: ComparedTrials) -> list[str]:
    """Client settings of single systems, which make the clients differ."""
    notes = []
    for system in compared.systems:
        workload = compared.of_system(system)[0].spec.workload
        for kind, overrides in (("producer", workload.producer_overrides), ("consumer", workload.consumer_overrides)):
            settings = [f"{name}={value}" for overridden in overrides.values() for name, value in overridden.items()]
            if settings:
                notes.append(f"{system} has its own {kind} settings: {', '.join(settings)}.")
    return notes


WORKER_ROWS_MAX = 16
"""How many rows one system has; of more load generators those with the largest own lag are shown."""
WORKER_LABEL_CHARS_MAX = 32

WorkerFigure = Callable[[WorkerResult], float | None]
OfWorker = Sequence[WorkerResult]
"""One load generator, by its number, in all trials of a system."""


def workers_table(compared: ComparedTrials) -> FigureTable | None:
    """A row for each load generator of each system; None where trials had one only, and of a sweep, for want of room.

    Of repeated trials rates, times and CPU are medians; lag, pauses and instants are the largest.
    """
    if compared.point:
        return None
    rows = []
    for system in compared.systems:
        every = _by_number(trials_shown(compared, system))
        late = sorted(every, key=lambda results: -max(worker.own_lag.max_ms for worker in results))
        shown = sorted(late[:WORKER_ROWS_MAX], key=lambda results: results[0].worker)
        rows += [(f"{compared.label(system)} {results[0].worker}", results) for results in shown]
    if not rows:
        return None
    group = partial(reduced_group, [worker_results for _, worker_results in rows])
    rates: Mapping[str, WorkerFigure] = {
        "offered": lambda w: w.offered_msgs_per_s,
        "achieved": lambda w: w.msgs_per_s,
        "received": lambda w: w.received_msgs_per_s,
    }
    lags: Mapping[str, WorkerFigure] = {
        "p99": lambda w: w.own_lag.p99_ms,
        "max": lambda w: w.own_lag.max_ms if w.own_lag.count else None,
    }
    used = (group("", short, {"CPU": lambda w: w.cpu_s}), group("", short, {"GC": lambda w: w.gc_pause_s}, max))
    groups = (
        group("msg/s", count, rates),
        group("response, ms", ms, {"p50": lambda w: w.response.p50_ms, "p99": lambda w: w.response.p99_ms}),
        group("own lag, ms", ms, lags, max),
        ColumnGroup("used, s", tuple(column for part in used for column in part.columns), begins_table=True),
        group(
            "after the first, ms",
            _apart_text,
            {"started": lambda w: w.started_ms, "ended": lambda w: w.stopped_ms},
            max,
        ),
    )
    labels = tuple(label for label, _ in rows)
    return FigureTable("system, load generator", labels, groups, label_chars_max=WORKER_LABEL_CHARS_MAX)


def _apart_text(apart_ms: float | None) -> str:
    """A time between load generators in two digits: more exactly nobody stops one."""
    return MISSING if apart_ms is None else rounded(apart_ms, 2)


def _by_number(results: Sequence[MeasuredResult]) -> list[OfWorker]:
    return list(grouped((worker.worker, worker) for result in results for worker in result.workers).values())


def worker_notes(all_compared: Sequence[ComparedTrials]) -> list[str]:
    """How far apart load generators began and ended at most, and what the table leaves out; [] where trials had one."""
    notes = []
    for system in dict.fromkeys(system for compared in all_compared for system in compared.systems):
        every = [
            worker_results for compared in all_compared for worker_results in _by_number(trials_shown(compared, system))
        ]
        workers = [worker for worker_results in every for worker in worker_results]
        if not workers:
            continue
        several = max(worker.worker for worker in workers)
        label = next(compared.label(system) for compared in all_compared if system in compared.systems)
        who = f"{label}: the {several} load generators"
        started = _apart_text(reduced_figure(workers, lambda w: w.started_ms, max))
        ended = _apart_text(reduced_figure(workers, lambda w: w.stopped_ms, max))
        if MISSING not in (started, ended):
            notes.append(f"{who} began within {started} ms of each other and ended within {ended} ms.")
        if across := _across_clocks([result for compared in all_compared for result in trials_shown(compared, system)]):
            notes.append(f"{who} are on several hosts: {across}.")
        if several > WORKER_ROWS_MAX and not all_compared[0].point:
            notes.append(
                f"{who} are too many for a table: it has the {WORKER_ROWS_MAX} with the largest own lag, --json all."
            )
    return notes


def _across_clocks(results: Sequence[MeasuredResult]) -> str:
    """How well their clocks were known, and so the times of messages that went from one to another; "" on one host."""
    loads = [result for result in results if isinstance(result, LoadResult) and result.clocks]
    if not loads:
        return ""
    within_us = max(clock.half_width_us for result in loads for clock in result.clocks)
    bounds = [
        (sub.end_to_end_low.p99_ms, sub.end_to_end_high.p99_ms)
        for result in loads
        for sub in result.subscriptions
        if sub.end_to_end_low and sub.end_to_end_high and sub.end_to_end_high.p99_ms is not None
    ]
    worst = max(bounds, key=lambda bound: bound[1] or 0.0, default=None)
    p99 = f"; the largest end-to-end p99 lies between {ms(worst[0])} and {ms(worst[1])} ms" if worst else ""
    return f"how far their clocks are apart is known to within {rounded(within_us, 2)} us either way{p99}"


SWEPT_LABEL_CHARS_MAX = 56
"""How long labels of the swept values and the system together may be."""


def axis_name(axis: str) -> str:
    """What a swept field is called beside its values: "linger.ms" of "systems.kafka.producer.linger.ms"."""
    head, *rest = axis.split(".", 3)
    return rest[2] if head == "systems" and len(rest) > 2 else axis.rpartition(".")[2]


def short_point(point: Point) -> str:
    """A point in words as `point_words` has it, its fields by their short names where these differ."""
    short = {axis_name(axis): value for axis, value in point.items()}
    return point_words(short if len(short) == len(point) else point)


def columns_of_axes(points: Sequence[Point]) -> tuple[Column, ...]:
    """A column of values for each axis of a table whose rows are at these points; () without a sweep.

    A row's label has the form in which its system gives its level: it is no value of the systems beside it.
    """
    axes = dict.fromkeys(axis for point in points for axis in point)
    columns_of_values = []
    for axis in axes:
        values = [point.get(axis, "") for point in points]
        values = [value.partition(" ")[0] for value in values] if axis == "durability" else values
        columns_of_values.append(Column(axis_name(axis), tuple(values), words=True))
    return tuple(columns_of_values)


@dataclass(frozen=True)
class Swept:
    """One experiment at all points, by their order."""

    experiment: str
    compared_trials: tuple[ComparedTrials, ...]

    @property
    def results(self) -> tuple[MeasuredResult, ...]:
        """Those of all points."""
        return tuple(result for compared in self.compared_trials for result in compared.results)

    def table(self) -> FigureTable:
        """One table of all points."""
        table = figure_table(*self.compared_trials)
        points = [compared.point for compared in self.compared_trials for _ in figure_rows(compared)]
        return replace(table, leading=columns_of_axes(points), label_chars_max=SWEPT_LABEL_CHARS_MAX)


def swept_tables(all_compared: Sequence[ComparedTrials]) -> list[Swept]:
    """The tables of a sweep's results, which come in the order of their points.

    An experiment that the campaign lists several times gets one for each.
    """
    compared_by_table: dict[tuple[str, int], list[ComparedTrials]] = {}
    seen: dict[tuple[str, str], int] = {}
    for compared in all_compared:
        at = (compared.experiment, point_words(compared.point))
        number = seen[at] = seen.get(at, -1) + 1
        compared_by_table.setdefault((compared.experiment, number), []).append(compared)
    return [Swept(name, tuple(compared_of_table)) for (name, _), compared_of_table in compared_by_table.items()]
