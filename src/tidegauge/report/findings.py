"""What experiments found beyond the figures of single trials: the answer in sentences, and a table of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from rich.console import RenderableType
from rich.text import Text

from tidegauge.model.finding import Cell, Finding
from tidegauge.model.trial import point_words
from tidegauge.numbers import MISSING, count, short
from tidegauge.report.layout import Column, ColumnGroup, FigureTable, bullet
from tidegauge.report.names import SystemNames
from tidegauge.report.sweeps import LABEL_CHARS_MAX, in_order, labelled

_WHOLE_FROM = 100.0


def findings(found: Sequence[Finding], names: SystemNames) -> Iterable[RenderableType]:
    """One part for each experiment that has findings: its answers, those that stay open in colour, and the table."""
    order = [point_words(point) for point in in_order([one.point for one in found])]
    for experiment in dict.fromkeys(one.experiment for one in found):
        own = sorted(
            (one for one in found if one.experiment == experiment),
            key=lambda one: (order.index(point_words(one.point)), one.system, one.block),
        )
        yield Text(f"{experiment}: what was found", style="bold")
        for one in own:
            for sentence in one.summary:
                yield bullet(f"{named(one, own, names)}: {sentence}", "" if one.decided else "yellow")
        if any(one.rows for one in own):
            yield finding_table(own, names)
        yield Text("")


def named(finding: Finding, own: Sequence[Finding], names: SystemNames) -> str:
    """Which of one experiment's findings it is: "partitions=100: kafka@4.3.1, block 2"."""
    where = f"{point_words(finding.point)}: " if finding.point else ""
    return f"{where}{_who(finding, own, names)}"


def _who(finding: Finding, own: Sequence[Finding], names: SystemNames) -> str:
    repeated = sum((one.system, one.point) == (finding.system, finding.point) for one in own) > 1
    label = names.label(finding.system, point_words(finding.point))
    return f"{label}, block {finding.block + 1}" if repeated else label


def finding_table(own: Sequence[Finding], names: SystemNames) -> FigureTable:
    """The rows of all findings of one experiment, with their systems as labels."""
    rows = [(_who(finding, own, names), row) for finding in own for row in finding.rows]
    heads = list(dict.fromkeys(head for _, row in rows for head in row))
    groups = []
    for head in heads:
        cells = [row.get(head) for _, row in rows]
        words = any(isinstance(cell, str) for cell in cells)
        groups.append(ColumnGroup("", (Column(head, tuple(map(_shown, cells)), words),)))
    points = [finding.point for finding in own for _ in finding.rows]
    label_head, labels = labelled(points, [who for who, _ in rows], "system")
    table = FigureTable(label_head, labels, tuple(groups))
    return replace(table, label_chars_max=LABEL_CHARS_MAX) if any(points) else table


def _shown(cell: Cell) -> str:
    if cell is None or cell == "":
        return MISSING
    if isinstance(cell, str):
        return cell
    return count(cell) if isinstance(cell, int) or abs(cell) >= _WHOLE_FROM else short(cell)
