"""Tables of figures: columns in groups under a common head, wrapped by whole groups so that no cell is ever cut.

What does not fit beside the others goes into a further table below, with the row labels again.
"""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TypeVar

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.text import Text

T = TypeVar("T")
LABEL_CHARS_MAX = 24
BETWEEN_COLUMNS = "  "
BETWEEN_GROUPS = "   "
_RULE_CHARS_MIN = 3
_NAME_CHARS_MIN = 8

STYLES = {"valid": "green", "DOUBTFUL": "yellow", "INVALID": "bold red", "finished": "green", "failed": "bold red"}
"""Colours of whole cells, as a help only: the words say it all."""


@dataclass(frozen=True)
class Column:
    """One column: its head and a cell for each row. Numbers stand right, words left."""

    head: str
    cells: tuple[str, ...]
    words: bool = False

    @property
    def width(self) -> int:
        """How many characters the column needs."""
        return max(len(text) for text in (self.head, *self.cells))


def columns(items: Sequence[T], cells: Mapping[str, Callable[[T], str]], words: bool = False) -> tuple[Column, ...]:
    """Columns by their heads, with a cell for each item."""
    return tuple(Column(head, tuple(map(cell, items)), words) for head, cell in cells.items())


@dataclass(frozen=True)
class ColumnGroup:
    """Columns that belong together, with what they have in common ("response time, ms").

    `begins_table`: it opens a further table even if there were room beside the others, so that all reports look alike.
    """

    head: str
    columns: tuple[Column, ...]
    begins_table: bool = False

    @property
    def width(self) -> int:
        """How many characters the group needs, its head included."""
        columns = sum(column.width for column in self.columns) + len(BETWEEN_COLUMNS) * (len(self.columns) - 1)
        return max(columns, len(self.head))


@dataclass(frozen=True)
class FigureTable:
    """A rich renderable. `labels` name the rows; every column has as many cells. Longer labels are wrapped.

    `leading`: columns of words that name the rows too, before the labels: the values of a sweep's axes.
    `label_chars_max`: of labels and leading columns together; a longer word is kept whole where there is room.
    """

    label_head: str
    labels: tuple[str, ...]
    groups: tuple[ColumnGroup, ...]
    label_chars_max: int = LABEL_CHARS_MAX
    leading: tuple[Column, ...] = ()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """As many stacked tables as the width asks for."""
        for place, lines in enumerate(self.lines(options.max_width)):
            if place > 0:
                yield Text("")
            for index, line in enumerate(lines):
                text = Text(line, no_wrap=True, overflow="ignore", style="bold" if index < 2 else "")
                if index >= 2:
                    for word, style in STYLES.items():
                        text.highlight_regex(rf"\b{word}\b", style)
                yield text

    def lines(self, width: int) -> Iterator[list[str]]:
        """Each stacked table as a list of lines: group heads, column heads, rows."""
        wide = self._label_width(width)
        names = self._names_of_rows(wide)
        for groups in self.packed(width):
            yield [
                _padded_line("", wide, [_group_head(group) for group in groups]),
                *(
                    line
                    for row, (first, *rest) in enumerate(names)
                    for line in (_padded_line(first, wide, [_group_cells(group, row) for group in groups]), *rest)
                ),
            ]

    def packed(self, width: float) -> list[list[ColumnGroup]]:
        """The groups of each of the tables into which it falls at this width."""
        packed: list[list[ColumnGroup]] = []
        used = 0
        for group in self.groups:
            needed = len(BETWEEN_GROUPS) + group.width
            if not packed or group.begins_table or used + needed > width:
                packed.append([])
                used = self._label_width(width)
            packed[-1].append(group)
            used += needed
        return packed

    @property
    def _columns_of_names(self) -> tuple[Column, ...]:
        return (*self.leading, Column(self.label_head, self.labels))

    def _label_width(self, width: float) -> int:
        """How many characters are for what names the rows: more than usual only for a word that would be broken."""
        widths = [column.width for column in self._columns_of_names]
        words = (word for column in self._columns_of_names for cell in column.cells for word in cell.split())
        others = sum(widths) - max(widths) + len(BETWEEN_COLUMNS) * (len(widths) - 1)
        room = width - len(BETWEEN_GROUPS) - max((group.width for group in self.groups), default=0)
        whole_words = min(others + max(map(len, words), default=0), room)
        return int(min(others + max(widths), max(self.label_chars_max, whole_words)))

    def _names_of_rows(self, width: int) -> list[list[str]]:
        """The lines of the head and of what names each row, the widest column of which is wrapped to fit."""
        names = self._columns_of_names
        widths = [column.width for column in names]
        widest = widths.index(max(widths))
        over = sum(widths) + len(BETWEEN_COLUMNS) * (len(widths) - 1) - width
        widths[widest] = max(_NAME_CHARS_MIN, widths[widest] - over) if over > 0 else widths[widest]
        lines_of_rows = []
        for row in zip(*((column.head, *column.cells) for column in names), strict=True):
            cells = [_wrapped(text, widths[place]) if place == widest else [text] for place, text in enumerate(row)]
            lines = zip_longest(*cells, fillvalue="")
            padded = (map(str.ljust, line, widths) for line in lines)
            lines_of_rows.append([BETWEEN_COLUMNS.join(line).rstrip() for line in padded])
        return lines_of_rows


def _padded_line(label: str, width: int, parts: Sequence[str]) -> str:
    return BETWEEN_GROUPS.join([label.ljust(width), *parts]).rstrip()


def _wrapped(text: str, width: int) -> list[str]:
    """A text on lines of this width, broken at blanks, and within a word only if that is wider."""
    lines = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
    return lines if max(map(len, lines), default=0) <= width and lines else textwrap.wrap(text, width) or [""]


@dataclass(frozen=True)
class WordTable:
    """A rich renderable: columns of words, of which none is ever cut.

    `droppable`: heads of columns that are left out where there is too little room, in this order.
    """

    columns: tuple[Column, ...]
    droppable: tuple[str, ...] = ()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """One line of text for each row."""
        for index, line in enumerate(self.lines(options.max_width)):
            yield Text(line, style="" if index else "bold", no_wrap=True, overflow="ignore")

    def lines(self, width: float) -> list[str]:
        """Heads and rows as lines that fit into the width, if need be without droppable columns."""
        columns_kept = list(self.columns)
        for head in self.droppable:
            if sum(column.width for column in columns_kept) + len(BETWEEN_COLUMNS) * (len(columns_kept) - 1) > width:
                columns_kept = [column for column in columns_kept if column.head != head]
        rows = zip(*((column.head, *column.cells) for column in columns_kept), strict=True)
        widths = [column.width for column in columns_kept]
        return [
            BETWEEN_COLUMNS.join(cell.ljust(wide) for cell, wide in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]


def _group_head(group: ColumnGroup) -> str:
    """The head with a rule that reaches over all its columns, where there is room for more than a dash or two."""
    if not group.head or group.width < len(group.head) + 1 + _RULE_CHARS_MIN:
        return group.head.ljust(group.width)
    return f"{group.head} ".ljust(group.width, "-")


def _group_cells(group: ColumnGroup, row: int) -> str:
    """The heads of its columns, which are row 0, or the cells of a row."""
    parts = []
    for column in group.columns:
        text = (column.head, *column.cells)[row]
        parts.append(text.ljust(column.width) if column.words else text.rjust(column.width))
    joined = BETWEEN_COLUMNS.join(parts)
    words = group.columns[0].words
    return joined.ljust(group.width) if words else joined.rjust(group.width)


@dataclass(frozen=True)
class Paragraph:
    """A rich renderable: text wrapped at blanks only, so that paths and commands stay whole to be copied."""

    text: str
    style: str = ""
    first: str = ""
    rest: str = ""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """One line of text after the other."""
        lines = textwrap.wrap(
            self.text,
            max(20, options.max_width),
            initial_indent=self.first,
            subsequent_indent=self.rest,
            break_long_words=False,
            break_on_hyphens=False,
        )
        for line in lines:
            yield Text(line, style=self.style, no_wrap=True, overflow="ignore")


def indented(text: str, style: str = "") -> Paragraph:
    """A paragraph that belongs to the line above it."""
    return Paragraph(text, style, "  ", "    ")


def bullet(text: str, style: str = "") -> Paragraph:
    """An indented paragraph with a dash before it."""
    return Paragraph(text, style, "  - ", "    ")


def heading(text: str) -> Text:
    """A line that begins a part."""
    return Text(text, style="bold")


def headed_bullets(head: str, sentences: Iterable[str]) -> list[RenderableType]:
    """A heading and a bullet for each sentence; [] without any."""
    bullets = list(map(bullet, sentences))
    return [heading(head), *bullets] if bullets else []


def with_blank_lines(*groups: Iterable[RenderableType]) -> Iterator[RenderableType]:
    """What is in all groups, with an empty line between them; a group that holds nothing is left out."""
    for number, parts in enumerate(filter(None, map(list, groups))):
        if number:
            yield Text("")
        yield from parts


def shown_path(path: Path) -> str:
    """A path from the current directory if that is shorter, as it is otherwise."""
    whole = str(path)
    try:
        relative = os.path.relpath(path)
    except (OSError, ValueError):
        return whole
    return relative if len(relative) < len(whole) else whole


def path_line(before: str, path: Path) -> Text:
    """A line with a path, which is never wrapped: it is there to be copied."""
    return Text(f"{before}{shown_path(path)}", no_wrap=True, overflow="ignore")
