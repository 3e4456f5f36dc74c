"""What each of several load generators had of a trial: a table, and how far apart they began and ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import median

from tidegauge.comparison.blocks import Block
from tidegauge.model.trial import MeasuredResult, WorkerResult
from tidegauge.numbers import MISSING, count, ms, rounded, short
from tidegauge.plain import grouped
from tidegauge.report.layout import ColumnGroup, FigureTable
from tidegauge.report.tables import Form, Reduce, reduced, reduced_group, shown

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

    def group(head: str, form: Form, figures: Mapping[str, WorkerFigure], reduce: Reduce = median) -> ColumnGroup:
        return reduced_group(head, [own for _, own in rows], form, figures, reduce)

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
        group("after the first, ms", _apart, {"started": lambda w: w.started_ms, "ended": lambda w: w.stopped_ms}, max),
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
    return list(grouped((worker.worker, worker) for result in results for worker in result.workers).values())


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
