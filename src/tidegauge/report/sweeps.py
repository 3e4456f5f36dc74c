"""What a sweep found, side by side: the swept values in the first columns, then the system."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tidegauge.comparison.blocks import Block
from tidegauge.model.trial import point_words
from tidegauge.report.layout import BETWEEN_COLUMNS, FigureTable
from tidegauge.report.tables import figure_rows, figure_table

Point = Mapping[str, str]

LABEL_CHARS_MAX = 56
"""Of the swept values and the system together."""
_QUANTITY = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z%]*)")
_UNITS = {
    "": 1.0, "b": 1.0, "kib": 2.0**10, "mib": 2.0**20, "gib": 2.0**30, "kb": 1e3, "mb": 1e6, "gb": 1e9,
    "k": 1e3, "m": 60.0, "%": 0.01, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0,
}  # fmt: skip


def in_order(points: Sequence[Point]) -> list[Point]:
    """Each point once, by its values: quantities by their size, other words by the alphabet, the first axis first."""
    unique = {point_words(point): point for point in points}
    numeric = {
        axis: all(_size(point.get(axis, "")) is not None for point in unique.values())
        for point in unique.values()
        for axis in point
    }

    def key(point: Point) -> list[tuple[float, str]]:
        return [(_size(value) or 0.0, "") if numeric[axis] else (0.0, value) for axis, value in point.items()]

    return sorted(unique.values(), key=key)


def _size(value: str) -> float | None:
    """The quantity that a value begins with ("4" of "4 bypass"); None if it does not begin with one."""
    match = _QUANTITY.match(value)
    if match is None:
        return None
    factor = _UNITS.get(match[2].lower())
    return None if factor is None else float(match[1]) * factor


def labelled(points: Sequence[Point], labels: Sequence[str], head: str) -> tuple[str, tuple[str, ...]]:
    """The head and the labels of a table whose rows are at these points: aligned columns of values, then `labels`.

    A label has the form in which its system gives its level: it is no value of the systems beside it.
    """
    axes = list(dict.fromkeys(axis for point in points for axis in point))
    rows = [[axis.rpartition(".")[2] for axis in axes] + [head]]
    rows += [[_shown(axis, point) for axis in axes] + [label] for point, label in zip(points, labels, strict=True)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(axes) + 1)]
    texts = [
        BETWEEN_COLUMNS.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return texts[0], tuple(texts[1:])


def _shown(axis: str, point: Point) -> str:
    """A value of a point in a row of one system."""
    value = point.get(axis, "")
    return value.partition(" ")[0] if axis == "durability" else value


@dataclass(frozen=True)
class Swept:
    """One experiment at all points, by their order."""

    experiment: str
    blocks: tuple[Block, ...]

    def table(self) -> FigureTable:
        """One table of all points."""
        table = figure_table(*self.blocks)
        points = [block.point for block in self.blocks for _ in figure_rows(block)]
        head, labels = labelled(points, table.labels, "system")
        return FigureTable(head, labels, table.groups, LABEL_CHARS_MAX)


def swept(blocks: Sequence[Block]) -> list[Swept]:
    """The tables of a sweep's results. An experiment that the campaign lists several times gets one for each."""
    found: dict[tuple[str, int], list[Block]] = {}
    seen: dict[tuple[str, str], int] = {}
    for block in blocks:
        at = (block.experiment, point_words(block.point))
        number = seen[at] = seen.get(at, -1) + 1
        found.setdefault((block.experiment, number), []).append(block)
    order = [point_words(point) for point in in_order([block.point for block in blocks])]
    return [
        Swept(name, tuple(sorted(own, key=lambda block: order.index(point_words(block.point)))))
        for (name, _), own in found.items()
    ]
