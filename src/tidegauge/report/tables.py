"""The tables of a run: figures of each trial, of each step of a schedule, and remarks on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TypeVar

from tidegauge.comparison.blocks import Block
from tidegauge.model.trial import LoadResult, MeasuredResult, ReadResult, RecordResult, Validity
from tidegauge.model.workload import SubscriptionType
from tidegauge.numbers import MISSING, count, in_unit, ms, plural
from tidegauge.plain import grouped
from tidegauge.report.layout import Column, ColumnGroup, FigureTable
from tidegauge.statistics.figures import FIGURES

T = TypeVar("T")
RecordFigure = Callable[[RecordResult], float | None]
Form = Callable[[float | None], str]
Reduce = Callable[[Sequence[float]], float]
_SECOND_TABLE = "backlog"
"""The group of columns with which a further table begins."""


def records_table(block: Block) -> FigureTable | None:
    """A row for each step of each system; None without a schedule."""
    rows = [
        (f"{system} {name}", records)
        for system in block.systems
        for name, records in grouped(
            (record.name, record)
            for load in shown(block, system)
            if isinstance(load, LoadResult)
            for record in load.records
        ).items()
    ]
    if not rows:
        return None

    def group(head: str, form: Form, figures: Mapping[str, RecordFigure]) -> ColumnGroup:
        return reduced_group(head, [records for _, records in rows], form, figures)

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


def shown(block: Block, system: str) -> Sequence[MeasuredResult]:
    """A single trial whatever its validity, which the table above shows; of several those whose figures may be used."""
    trials = block.of(system)
    return trials if len(trials) == 1 else block.usable(system)


@dataclass(frozen=True)
class Remark:
    """One sentence on a trial. `validity`: of the trial where this says why it is not valid; None for the rest."""

    text: str
    validity: Validity | None = None


def remarks(block: Block) -> Iterable[Remark]:
    """All of a block, by system."""
    for result in sorted(block.results, key=lambda result: (result.spec.system, result.spec.trial_id)):
        alone = len(block.of(result.spec.system)) == 1 and not block.point
        who = result.spec.system if alone else result.spec.trial_id
        for reason in result.reasons:
            yield Remark(f"{who} is {result.validity.value.upper()}: {reason}", result.validity)
        for warning in result.warnings:
            yield Remark(f"{who}: {warning}")
        for where, message, times in result.errors:
            yield Remark(f"{who}: {plural(times, 'error')} in {where}: {message}")


def figure_rows(block: Block) -> list[tuple[str, Sequence[MeasuredResult], Reduce]]:
    """Label, trials and what is made of them: each trial without repeats; else min, median and max of each system."""
    if all(len(block.of(system)) == 1 for system in block.systems):
        return [(block.label(system), block.of(system), max) for system in block.systems]
    return [
        (f"{block.label(system)} {name}", block.usable(system), reduce)
        for system in block.systems
        for name, reduce in (("min", min), ("median", median), ("max", max))
    ]


def figure_table(*blocks: Block) -> FigureTable:
    """The table of one experiment, of a sweep at several points: a column for each figure that has one."""
    listed = [row for block in blocks for row in figure_rows(block)]
    rows = [(results, reduce) for _, results, reduce in listed]
    groups: dict[str, list[Column]] = {}
    for figure in FIGURES.values():
        if figure.column is None:
            continue
        values = [reduced(results, figure.of, reduce) for results, reduce in rows]
        if not figure.column.optional or any(value is not None for value in values):
            cells = tuple(in_unit(value, figure.unit) for value in values)
            groups.setdefault(figure.column.group, []).append(Column(figure.column.head, cells))
    validity = Column("validity", tuple(_validity(results) for results, _ in rows), words=True)
    found = [ColumnGroup(head, tuple(columns), head == _SECOND_TABLE) for head, columns in groups.items()]
    return FigureTable("system", tuple(label for label, _, _ in listed), (*found, ColumnGroup.of("", validity)))


def reduced(items: Iterable[T], figure: Callable[[T], float | None], reduce: Reduce) -> float | None:
    """What is made of a figure of all items that have it; None where none has."""
    values = [value for value in map(figure, items) if value is not None]
    return float(reduce(values)) if values else None


def reduced_group(
    head: str,
    rows: Sequence[Sequence[T]],
    form: Form,
    figures: Mapping[str, Callable[[T], float | None]],
    reduce: Reduce = median,
) -> ColumnGroup:
    """Figures that are written alike, by the heads of their columns: of each row what is made of its items."""
    cells = {name: tuple(form(reduced(items, of, reduce)) for items in rows) for name, of in figures.items()}
    return ColumnGroup(head, tuple(Column(name, column) for name, column in cells.items()))


def _validity(results: Sequence[MeasuredResult]) -> str:
    """ "valid", or in capitals what is not."""
    if not results:
        return "INVALID"
    return max((result.validity for result in results), key=list(Validity).index).shown


def footnotes(block: Block) -> list[str]:
    """What a reader of the table must know: missing figures, several subscriptions, repeats."""
    notes = []
    table = figure_table(block)
    cells = [cell for group in table.groups for column in group.columns for cell in column.cells]
    if MISSING in cells:
        needed = "p99.99 needs 100,000, p99.9 10,000, p99 1,000, p95 200, p50 20"
        notes.append(f"'{MISSING}': too few samples ({needed}) or none at all.")
    if any(FIGURES["lost"].of(result) is None for result in block.results):
        notes.append("Whether messages were lost is not known where consumers were still behind when the drain ended.")
    without_cpu = [s for s in block.systems if any(result.server_cpu_s is None for result in block.of(s))]
    if without_cpu:
        notes.append(f"The servers' CPU is not known where others run them: {', '.join(without_cpu)}.")
    if any(len(result.subscriptions) > 1 for result in block.results):
        notes.append(
            "End-to-end times and backlogs are each the largest of any subscription; message counts sum over all."
        )
    if any(len(block.of(system)) > 1 for system in block.systems):
        used = ", ".join(f"{system} {len(block.usable(system))} of {len(block.of(system))}" for system in block.systems)
        notes.append(f"Min, median and max over repeated trials, for each figure on its own; trials used: {used}.")
    notes += _own_settings(block)
    if any(load.spec.late for load in block.loads):
        notes.append(
            "Over the whole time before, during and after the catching up; what was found by phases is shown below. "
            "End-to-end times of late readers hold the time for which they were made to wait."
        )
    notes += _promises(block)
    if block.closed_loop and block.loads:
        notes.append(
            "Closed loop: the next message waits for an earlier one, so these times hide waiting; "
            "compare latency at a fixed rate."
        )
    return notes


def _promises(block: Block) -> list[str]:
    """What the workload's shape takes away from what is checked."""
    workload = block.results[0].spec.workload
    notes = []
    reading = [result for result in block.results if isinstance(result, ReadResult)]
    if reading:
        read = sum(sub.received for result in reading for sub in result.subscriptions)
        verified = sum(sub.verified for result in reading for sub in result.subscriptions)
        notes.append(
            f"Nothing was sent. msg/s: received. Of {count(read)} messages {count(verified)} were of an earlier run, "
            "and their checksums verified; of the others nothing is known but their number."
        )
    elif not workload.subscriptions:
        notes.append("Nobody read, so nothing is known of loss, damage or order: only acknowledgements were measured.")
    elif workload.subscription_type is SubscriptionType.SHARED:
        notes.append("Shared subscriptions promise no order, so none was checked.")
    elif workload.subscription_type is SubscriptionType.KEY_SHARED:
        notes.append("Key-shared subscriptions promise the order of each key, and that was checked.")
    return notes


def _own_settings(block: Block) -> list[str]:
    """Client settings of single systems, which make the clients differ."""
    notes = []
    for system in block.systems:
        workload = block.of(system)[0].spec.workload
        for kind, overrides in (("producer", workload.producer_overrides), ("consumer", workload.consumer_overrides)):
            settings = [f"{name}={value}" for overridden in overrides.values() for name, value in overridden.items()]
            if settings:
                notes.append(f"{system} has its own {kind} settings: {', '.join(settings)}.")
    return notes
