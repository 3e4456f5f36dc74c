"""What each of several load generators had of a trial: a table, and how far apart they began and ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median

from tidegauge.comparison.blocks import Block
from tidegauge.model.trial import MeasuredResult, WorkerResult
from tidegauge.numbers import MISSING, count, ms, rounded, short
from tidegauge.report.layout import Column, ColumnGroup, FigureTable
from tidegauge.report.tables import reduced, shown

ROWS_MAX = 16
"""Of one system; of more load generators those with the largest own lag are shown."""
LABEL_CHARS_MAX = 32

WorkerFigure = Callable[[WorkerResult], float | None]
Of = Sequence[WorkerResult]
"""One load generator, by its number, in all trials of a system."""


def workers_table(block: Block) -> FigureTable | None:
    """A row for each load generator of each system; None where trials had one only, and of a sweep, for want of room.

    Of repeated trials rates, times and CPU are medians; lag, pauses and instants are the largest.
    """
    if block.point:
        return None
    rows = [
        (f"{block.label(system)} {own[0].worker}", own) for system in block.systems for own in _shown(block, system)
    ]
    if not rows:
        return None

    def column(head: str, form: Callable[[float | None], str], figure: WorkerFigure, worst: bool = False) -> Column:
        return Column(head, tuple(form(reduced(own, figure, max if worst else median)) for _, own in rows))

    groups = (
        ColumnGroup(
            "msg/s",
            (
                column("offered", count, lambda w: w.offered_msgs_per_s),
                column("achieved", count, lambda w: w.msgs_per_s),
                column("received", count, lambda w: w.received_msgs_per_s),
            ),
        ),
        ColumnGroup(
            "response, ms",
            (column("p50", ms, lambda w: w.response.p50_ms), column("p99", ms, lambda w: w.response.p99_ms)),
        ),
        ColumnGroup(
            "own lag, ms",
            (
                column("p99", ms, lambda w: w.own_lag.p99_ms, worst=True),
                column("max", ms, lambda w: w.own_lag.max_ms if w.own_lag.count else None, worst=True),
            ),
        ),
        ColumnGroup(
            "used, s",
            (column("CPU", short, lambda w: w.cpu_s), column("GC", short, lambda w: w.gc_pause_s, worst=True)),
            begins_table=True,
        ),
        ColumnGroup(
            "after the first, ms",
            (
                column("started", _apart, lambda w: w.started_ms, worst=True),
                column("ended", _apart, lambda w: w.stopped_ms, worst=True),
            ),
        ),
    )
    labels = tuple(label for label, _ in rows)
    return FigureTable("system, load generator", labels, groups, label_chars_max=LABEL_CHARS_MAX)


def _apart(apart_ms: float | None) -> str:
    """Finer than that nobody stops a load generator."""
    return MISSING if apart_ms is None else rounded(apart_ms, 2)


def _shown(block: Block, system: str) -> list[Of]:
    every = _by_number(shown(block, system))
    late = sorted(every, key=lambda own: -max(worker.own_lag.max_ms for worker in own))[:ROWS_MAX]
    return sorted(late, key=lambda own: own[0].worker)


def _by_number(results: Sequence[MeasuredResult]) -> list[Of]:
    found: dict[int, list[WorkerResult]] = {}
    for result in results:
        for worker in result.workers:
            found.setdefault(worker.worker, []).append(worker)
    return list(found.values())


def worker_notes(blocks: Sequence[Block]) -> list[str]:
    """How far apart load generators began and ended at most, and what the table leaves out; [] where trials had one."""
    notes = []
    for system in dict.fromkeys(system for block in blocks for system in block.systems):
        every = [own for block in blocks for own in _by_number(shown(block, system))]
        workers = [worker for own in every for worker in own]
        if not workers:
            continue
        several = max(worker.worker for worker in workers)
        label = next(block.label(system) for block in blocks if system in block.systems)
        who = f"{label}: the {several} load generators"
        started = _apart(reduced(workers, lambda w: w.started_ms, max))
        ended = _apart(reduced(workers, lambda w: w.stopped_ms, max))
        if MISSING not in (started, ended):
            notes.append(f"{who} began within {started} ms of each other and ended within {ended} ms.")
        if several > ROWS_MAX and not blocks[0].point:
            notes.append(f"{who} are too many for a table: it has the {ROWS_MAX} with the largest own lag, --json all.")
    return notes
