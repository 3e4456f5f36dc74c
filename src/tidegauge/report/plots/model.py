"""What a plot shows, without how it is drawn: made by pure functions, drawn by `plots.draw`, listed by `data_table`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from tidegauge.model.trial import Validity
from tidegauge.numbers import MISSING, count, ms, percent, precise, short, trimmed
from tidegauge.plain import grouped
from tidegauge.report.plots.paper import LABEL_CHAR_PT, WIDTH_PT
from tidegauge.store.details import TrialDetails

Details = Mapping[str, TrialDetails]
"""What was stored of each trial beside its result, by its id."""
P99_MEANING = "1 of 100 messages waited longer"
ROWS_MAX = 60
"""Rows of a data table: enough to read a curve; every figure is in the run's directory."""


class Scale(StrEnum):
    """How an axis maps values to places. PERCENTILE: 90, 99 and 99.9 are equally far apart."""

    LINEAR = "linear"
    LOG = "log"
    PERCENTILE = "percentile"


class Form(StrEnum):
    """How a number is written.

    PERCENT: of a percentile, with all its nines. SHARE: of a ceiling, in percent too. TRIAL: which of several trials.
    SIGNED: a difference, with its sign.
    """

    MS = "ms"
    COUNT = "count"
    SHORT = "short"
    SECOND = "second"
    PERCENT = "percent"
    SHARE = "share"
    TRIAL = "trial"
    SIGNED = "signed"
    WORDS = "words"


class Mark(StrEnum):
    """How a series is drawn.

    LIMITS: lines across, at places of the x axis alone, with their names at the top. CELLS: those of a heat map, whose
    axes are both of words.
    """

    LINE = "line"
    POINTS = "points"
    LINE_POINTS = "line and points"
    BARS = "bars"
    LIMITS = "limits"
    CELLS = "cells"


@dataclass(frozen=True)
class SystemLook:
    """How one system is drawn. `dash` is matplotlib's: off and on lengths in points, () for a solid line.

    `shape`: `marker` as an SVG path around (17, 6), for a page's legend. `hatch`: of its bars, matplotlib's; `strokes`:
    the same as an SVG path over a square at (24, 1).
    """

    light: str
    dark: str
    dash: tuple[float, ...]
    marker: str
    shape: str
    hatch: str = ""
    strokes: str = ""


LOOKS = (
    SystemLook("#0072b2", "#56b4e9", (), "o", "M13 6a4 4 0 1 0 8 0a4 4 0 1 0-8 0Z"),
    SystemLook("#d55e00", "#ff8a3d", (6.0, 2.0), "s", "M13 2h8v8h-8Z"),
    SystemLook("#009e73", "#2fcf9f", (2.0, 1.5), "^", "M17 1.5l4.5 8.5h-9Z"),
    SystemLook("#b5508c", "#e69ac8", (7.0, 2.0, 1.5, 2.0), "D", "M17 1l5 5l-5 5l-5-5Z"),
    SystemLook("#8a6d00", "#e6c229", (3.0, 3.0), "v", "M17 10.5l-4.5-8.5h9Z"),
    SystemLook("#2b6f8f", "#8fd3f4", (1.0, 1.0), "P", "M15.5 2h3v2.5h2.5v3h-2.5v2.5h-3v-2.5h-2.5v-3h2.5Z"),
)
"""By a system's place among those of the run; see `look` for more systems than that.

The colours are those of Okabe and Ito ("Color Universal Design", 2008), which people with any common kind of colour
blindness can tell apart. On a dark page some are lighter; both sets have a contrast of 3:1 to their page at least.
"""


_HATCHES = (("", ""), ("///", "M24 7l6-6M24 11l10-10M28 11l6-6"), ("---", "M24 3h10M24 6h10M24 9h10"))


def look(place: int) -> SystemLook:
    """The look of the system at this place, from 0: from the seventh on other marks, dashes and bars of the colours."""
    colours, marks = LOOKS[place % len(LOOKS)], LOOKS[(place + place // len(LOOKS)) % len(LOOKS)]
    hatch, strokes = _HATCHES[place // len(LOOKS) % len(_HATCHES)]
    return replace(marks, light=colours.light, dark=colours.dark, hatch=hatch, strokes=strokes)


_DRAWN_MAX = 1e100
"""Files of runs may hold any number, and matplotlib can't draw an axis to what is near the largest there are."""


def is_drawable(value: float) -> bool:
    """Whether an axis can reach it."""
    return abs(value) < _DRAWN_MAX


@dataclass(frozen=True)
class Axis:
    """One axis. `label` names unit and meaning; `names` are the categories of an axis of words (value 0 = first).

    `span`: values from which to which a y axis reaches at least; None = those of its own plot.
    `ticks`: places of a quantity that are marked, with their words; () = round numbers.
    `meaning`: of its figure, for readers who meet it for the first time.
    `unit`: of a value in a sentence; None = what its label ends with.
    """

    label: str
    scale: Scale = Scale.LINEAR
    form: Form = Form.COUNT
    names: tuple[str, ...] = ()
    from_zero: bool = False
    span: tuple[float, float] | None = None
    ticks: tuple[tuple[float, str], ...] = ()
    meaning: str = ""
    unit: str | None = None

    def text(self, value: float | None) -> str:
        """A value on it in words."""
        if value is None or not math.isfinite(value):
            return MISSING
        if self.form is Form.WORDS:
            place = round(value)
            # What is on lines of its own in a picture is not run together with what it is of.
            return self.names[place].replace("\n", ": ") if 0 <= place < len(self.names) else MISSING
        if self.ticks:
            return dict(self.ticks).get(value) or _FORMS[self.form](value)
        return _FORMS[self.form](value)

    def with_unit(self, value: float | None) -> str:
        """A value on it in words that stand alone: "7.80 ms", "20,000 msg/s", "partitions=100"."""
        text = self.text(value)
        if text == MISSING or self.form is Form.WORDS:
            return text
        if self.ticks:
            return f"{self.label.partition(', ')[0]}={text}"
        if self.unit is not None:
            return f"{text} {self.unit}".rstrip()
        unit = {Form.MS: "ms", Form.COUNT: self.label.rpartition(", ")[2]}.get(self.form, "")
        return f"{text} {unit}".rstrip()


@dataclass(frozen=True)
class Cell:
    """What a cell of a heat map says of its point.

    Attributes:
        value: of the trials that may be used; None without such, or where these are too short for the figure.
        validity: that of the worst of these; INVALID where none may be used.
        verdict: against the first cell of its row, in a word or two; "" where they are not compared.
        note: further words on it, shown with it.
        lack: what stands instead of a figure, such as INVALID; "" where there is one, or its trials lack it.
    """

    value: float | None
    validity: Validity
    verdict: str = ""
    note: str = ""
    lack: str = ""


@dataclass(frozen=True)
class Series:
    """One line, cloud of points or set of bars.

    Attributes:
        system: whose it is: decides colour, dash and marker, and is what a reader can hide. "" for none.
        label: what distinguishes it from the system's other series: "p99", "block 2"; may be "".
        y: None leaves a gap.
        low, high: ends of the interval around each y (of LIMITS around each x); () for none.
        hollow: points that are not what they should be (not sustained, INVALID), drawn hollow; () for none.
        notes: further words for each point, shown with it; () for none.
        minor: drawn thinner and paler, behind the others.
        theirs: of figures that others published: grey and hollow, never to be taken for what was measured.
        width: of its bars, in units of the x axis.
        cells: at each place of CELLS what is there.
    """

    system: str
    label: str
    x: tuple[float, ...]
    y: tuple[float | None, ...]
    mark: Mark = Mark.LINE
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    hollow: tuple[bool, ...] = ()
    notes: tuple[str, ...] = ()
    minor: bool = False
    theirs: bool = False
    width: float = 0.6
    cells: tuple[Cell, ...] = ()

    @property
    def name(self) -> str:
        """How a legend or a table calls it."""
        return ", ".join(part for part in (self.system, self.label) if part)

    @property
    def reach(self) -> list[float]:
        """All that it goes up and down to: its values and the ends of their intervals, without infinite ones."""
        drawn = [place for place, value in enumerate(self.y) if value is not None]
        ends = [float(line[place] or 0.0) for line in (self.y, self.low, self.high) if line for place in drawn]
        return [end for end in ends if is_drawable(end)]

    @property
    def lone(self) -> tuple[int, ...]:
        """Places of values without one before and after them, which a line does not show."""
        around = (None, *self.y, None)
        return tuple(
            place
            for place, value in enumerate(self.y)
            if value is not None and around[place] is None and around[place + 2] is None
        )

    @property
    def empty(self) -> bool:
        """Whether there is nothing to draw."""
        return self.mark is not Mark.LIMITS and all(value is None for value in self.y)


@dataclass(frozen=True)
class Span:
    """A stretch of the x axis, such as the measured window; a single instant where it ends as it begins.

    `inner`: it lies within another, such as a fault within the window, and is drawn darker, with its label lower.
    `share`: of the trials that it is of; those that begin together are as dark together as one of all.
    """

    begin: float
    end: float
    label: str
    inner: bool = False
    share: float = 1.0


@dataclass(frozen=True)
class Line:
    """A level across the plot, such as a ceiling. On the y axis."""

    value: float
    label: str


@dataclass(frozen=True)
class Band:
    """A stretch of the y axis that is shaded: the margin within which two figures count as the same."""

    low: float
    high: float


@dataclass(frozen=True)
class Plot:
    """A whole plot.

    Attributes:
        plot_id: unique in its run, fit for file names: "02-latency-response-percentiles".
        title: what it shows, in a few words.
        description: the same in a sentence with the figures that matter, for readers who don't see it.
        context: which trials it is of, with every durability level among them: a picture is shown without its page.
        bands: shaded stretches of the y axis, which `reading` explains.
        reading: how its marks are to be read, where they do not say it themselves: what a bar and its whisker are.
        of_p99: whether its figure is the response p99.
        lying: its x axis of words is drawn from top to bottom, where there is room for long ones.
        heat: the axis of what cells show; its `span` is that of the colours.
    """

    plot_id: str
    title: str
    description: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    spans: tuple[Span, ...] = ()
    lines: tuple[Line, ...] = ()
    bands: tuple[Band, ...] = ()
    context: str = ""
    reading: str = ""
    of_p99: bool = False
    lying: bool = False
    heat: Axis | None = None

    def lying_where_names_are_long(self) -> Plot:
        """The same, lying if a word of a name on its x axis is wider than the room that is there beside the others."""
        room_chars = 0.8 * WIDTH_PT / max(1, len(self.x.names)) / LABEL_CHAR_PT
        words = (word for name in self.x.names for word in name.split())
        return replace(self, lying=max(map(len, words), default=0) > room_chars)

    @property
    def systems(self) -> tuple[str, ...]:
        """Whose series it has, in order."""
        return tuple(dict.fromkeys(series.system for series in self.series if series.system))


@dataclass(frozen=True)
class DataTable:
    """Figures or facts in words. `left_out`: rows between those that are shown."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left_out: int = 0


def on_one_scale(plots: Sequence[Plot]) -> tuple[Plot, ...]:
    """The same plots, all of times with one y axis, and all others of one figure: who compares two compares heights."""
    axes = [
        _TIMES
        if plot.y.form is Form.MS and plot.y.scale is Scale.LOG
        else (replace(plot.y, span=None) if plot.y.from_zero else None)
        for plot in plots
    ]
    values_by_axis = grouped(
        (axis, value)
        for axis, plot in zip(axes, plots, strict=True)
        for line in plot.series
        for value in line.reach
        if axis is not None and (value > 0 or axis.from_zero)
    )
    spans = {axis: (0.0 if axis.from_zero else min(values), max(values)) for axis, values in values_by_axis.items()}
    return tuple(
        plot if axis is None else replace(plot, y=replace(plot.y, span=spans.get(axis)))
        for axis, plot in zip(axes, plots, strict=True)
    )


_TIMES = Axis("any time, ms", Scale.LOG, Form.MS)
"""Stands for the y axes of all times, which share their limits."""


def data_table(plot: Plot) -> DataTable:
    """A column for the x axis and one for each series; of many rows every n-th. What is at one place shares a cell.

    Of a heat map the rows and columns that it has.
    """
    if plot.heat is not None:
        return _table_of_cells(plot, plot.heat)
    by_x: dict[float, dict[int, list[str]]] = {}
    # Bars of one name stand side by side, and seconds of two trials do not begin at quite the same instant.
    rounds = plot.x.form in (Form.WORDS, Form.SECOND)
    for number, series in enumerate(plot.series):
        for place, (x, y) in enumerate(zip(series.x, series.y, strict=True)):
            at = by_x.setdefault(float(math.floor(x + 0.5)) if rounds else x, {})
            at.setdefault(number, []).append(_value_cell(plot, series, place, y))
    places = sorted(by_x)
    step = math.ceil(len(places) / ROWS_MAX) | 1  # Odd: of points that are by turns least and largest, both kinds.
    places_shown = places[::step]
    rows = tuple(
        (plot.x.text(x), *(", ".join(by_x[x].get(number, [MISSING])) for number in range(len(plot.series))))
        for x in places_shown
    )
    heads = (plot.x.label, *(series.name or plot.y.label for series in plot.series))
    return DataTable(heads, rows, len(places) - len(places_shown))


def _table_of_cells(plot: Plot, heat: Axis) -> DataTable:
    words = {
        (round(x), round(y or 0.0)): cell_words(heat, cell)
        for series in plot.series
        for x, y, cell in zip(series.x, series.y, series.cells, strict=True)
    }
    rows = tuple(
        (name, *(words.get((column, row), "") for column in range(len(plot.x.names))))
        for row, name in enumerate(plot.y.names)
    )
    return DataTable((f"{plot.y.label} / {plot.x.label}", *plot.x.names), rows)


def cell_words(heat: Axis, cell: Cell) -> str:
    """A cell in words: "7.80 DOUBTFUL, worse, ...", "INVALID"."""
    doubt = f" {cell.validity.shown}" if cell.validity is Validity.DOUBTFUL else ""
    return ", ".join(filter(None, (cell.lack or heat.text(cell.value) + doubt, cell.verdict, cell.note)))


def _value_cell(plot: Plot, series: Series, place: int, y: float | None) -> str:
    """A value with its interval; of a limit, which is at a place of the x axis alone, that place with its own."""
    axis, value = (plot.x, series.x[place]) if series.mark is Mark.LIMITS else (plot.y, y)
    text = axis.text(value)
    if series.low and series.high and value is not None:
        text += f" ({axis.text(series.low[place])} to {axis.text(series.high[place])})"
    if series.notes and series.notes[place]:
        text += f" {series.notes[place]}"
    return text.strip()


def thinned_points(
    x: Sequence[float], y: Sequence[float | None], points_max: int
) -> tuple[tuple[float, ...], tuple[float | None, ...]]:
    """At most so many points: of each stretch the least and the largest value, since a plot hides no dip and no peak.

    A stretch that has gaps keeps the first of them.
    """
    step = values_per_stretch(y, points_max)
    if step == 1:
        return tuple(x), tuple(y)
    places_kept: list[int] = []
    for begin in range(0, len(x), step):
        stretch = range(begin, min(begin + step, len(x)))
        gaps = [place for place in stretch if y[place] is None][:1]
        valued = [place for place in stretch if y[place] is not None]
        ends = [choose(valued, key=lambda place: y[place] or 0.0) for choose in (min, max)] if valued else []
        places_kept += sorted({*gaps, *ends})
    return tuple(x[place] for place in places_kept), tuple(y[place] for place in places_kept)


def values_per_stretch(y: Sequence[float | None], points_max: int) -> int:
    """How many values each stretch has of which `thinned_points` keeps some; 1 where it keeps all."""
    if len(y) <= points_max:
        return 1
    return math.ceil(len(y) / (points_max // (2 if None not in y else 3)))


def _percentile_words(value: float) -> str:
    """A percentile in as many digits as tell what is above it: "17.4 %", "99.17 %", "99.9167 %"."""
    above = 100 - value
    digits = min(6, 2 - math.floor(math.log10(above))) if above > 0 else 0
    return f"{trimmed(round(value, digits))} %"


_FORMS: dict[Form, Callable[[float], str]] = {
    Form.MS: ms,
    Form.COUNT: count,
    # None that is drawn above 0 is written as 0.00.
    Form.SHORT: lambda value: precise(value) if 0 < value < 0.01 else short(value),
    Form.SECOND: lambda value: f"{value:.0f} s",
    Form.PERCENT: _percentile_words,
    Form.SHARE: lambda value: percent(value / 100),
    Form.TRIAL: lambda value: f"trial {value:.0f}",
    Form.SIGNED: lambda value: f"{'+' if value > 0 else ''}{short(value)}" if value else "0",
}
