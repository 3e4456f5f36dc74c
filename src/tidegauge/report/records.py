"""The latencies of each step of a rate schedule as a table; of repeated trials the median of each figure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median

from tidegauge.comparison.blocks import Block
from tidegauge.model.trial import RecordResult, TrialResult
from tidegauge.numbers import count, ms
from tidegauge.report.layout import Column, ColumnGroup, FigureTable

Figure = Callable[[RecordResult], float | None]


def records_table(block: Block) -> FigureTable | None:
    """A row for each step of each system; None without a schedule."""
    rows = [
        (f"{system} {name}", records)
        for system in block.systems
        for name, records in _by_name([result.records for result in _shown(block, system)])
    ]
    if not rows:
        return None

    def column(head: str, form: Callable[[float | None], str], figure: Figure) -> Column:
        return Column(head, tuple(form(_median(records, figure)) for _, records in rows))

    groups = (
        ColumnGroup(
            "msg/s",
            (
                column("offered", count, lambda r: r.offered_msgs_per_s),
                column("achieved", count, lambda r: r.msgs_per_s),
            ),
        ),
        ColumnGroup(
            "response time, ms",
            (
                column("p50", ms, lambda r: r.response.p50_ms),
                column("p99", ms, lambda r: r.response.p99_ms),
                column("max", ms, lambda r: r.response.max_ms if r.response.count else None),
            ),
        ),
        ColumnGroup("service, ms", (column("p99", ms, lambda r: r.service.p99_ms),)),
        ColumnGroup(
            "end-to-end, ms",
            (
                column("p50", ms, lambda r: r.end_to_end.p50_ms),
                column("p99", ms, lambda r: r.end_to_end.p99_ms),
            ),
        ),
    )
    return FigureTable("system and step", tuple(label for label, _ in rows), groups)


def _shown(block: Block, system: str) -> Sequence[TrialResult]:
    """A single trial whatever its validity, which the table above tells; of several those whose figures may be used."""
    trials = block.of(system)
    return trials if len(trials) == 1 else block.usable(system)


def _by_name(trials: Sequence[Sequence[RecordResult]]) -> list[tuple[str, list[RecordResult]]]:
    found: dict[str, list[RecordResult]] = {}
    for records in trials:
        for record in records:
            found.setdefault(record.name, []).append(record)
    return list(found.items())


def _median(records: Sequence[RecordResult], figure: Figure) -> float | None:
    values = [value for value in map(figure, records) if value is not None]
    return float(median(values)) if values else None
