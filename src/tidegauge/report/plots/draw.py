"""Draws plot models with matplotlib: as SVG for pages (colours by variables, text as text), as SVG or PNG files.

No state of matplotlib's is shared: figures are made without pyplot, settings are applied for one drawing only.
"""

from __future__ import annotations

import io
import math
import re
import textwrap
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis as DrawnAxis
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, Locator, LogLocator, MaxNLocator, NullLocator
from matplotlib.transforms import ScaledTranslation, Transform

from tidegauge.numbers import trimmed
from tidegauge.plain import grouped
from tidegauge.report.plots.model import Axis, Form, Look, Mark, Plot, Scale, Series, look

INK, FAINT, GRID, PAGE, SPAN = "#1a1a1b", "#5f6368", "#dfe1e5", "#fefefe", "#eef1f6"
"""What is no system's, as drawn on paper; pages replace these by variables of their own."""


WIDTH_PT, HEIGHT_PT = 400.0, 250.0
"""A plot's size in points, which a page may scale: readable at 330 and at 600 pixels."""
FONT_PT = 12.5
_LABEL_CHAR_PT = 0.5 * (FONT_PT - 1.5)
"""About what a character of a span's label is wide."""
_ROW_PT = FONT_PT + 2.0
"""Of names of limits, one below the other."""
_HEAD_PT = 26.0
"""Room for the title above and for the legend below, in files."""
_STYLE: dict[str, Any] = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.family": "sans-serif",
    "font.size": FONT_PT,
    "axes.labelsize": FONT_PT,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "text.color": INK,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "path.simplify": False,
}
_PERCENTILE_TICKS = (50.0, 90.0, 99.0, 99.9, 99.99, 99.999, 99.9999)


class Point(NamedTuple):
    """A point of a drawing, for a reader's pointer: its place in the SVG's own coordinates, and its words."""

    x: float
    y: float
    system: int
    words: str


@dataclass(frozen=True)
class Drawing:
    """A plot as an SVG element for a page, and its points."""

    svg: str
    points: tuple[Point, ...]


def page_drawing(plot: Plot, places: Mapping[str, int]) -> Drawing:
    """A plot to stand in a page, which has title and legend itself. `places`: of each system among those of the run."""
    with _settings({"svg.hashsalt": plot.plot_id}):
        figure, axes = _figure(plot, places)
        text = _svg(figure)
        return Drawing(_for_page(text), tuple(_points(plot, axes, places)))


def svg_file(plot: Plot, places: Mapping[str, int]) -> bytes:
    """A plot with title and legend as an SVG file."""
    with _settings({"svg.hashsalt": plot.plot_id, "figure.facecolor": PAGE}):
        return _svg(_headed_figure(plot, places)).encode()


def png_file(plot: Plot, places: Mapping[str, int]) -> bytes:
    """The same as a PNG of twice the size in pixels."""
    with _settings({"figure.facecolor": PAGE}):
        buffer = io.BytesIO()
        _headed_figure(plot, places).savefig(buffer, format="png", dpi=160, metadata={"Software": None})
        return buffer.getvalue()


def _settings(more: Mapping[str, Any]) -> AbstractContextManager[None]:
    wanted: Any = {**_STYLE, **more}
    return mpl.rc_context(wanted)


def _figure(plot: Plot, places: Mapping[str, int], headed: bool = False) -> tuple[Figure, Axes]:
    """Figure and axes with everything but title and legend, for which `headed` leaves room.

    The margins are fixed: finding them out by drawing twice takes most of the time.
    """
    head = _HEAD_PT if headed else 0.0
    height = HEIGHT_PT + 2 * head
    figure = Figure(figsize=(WIDTH_PT / 72, height / 72), dpi=72)
    left, right, bottom, top = 48 / WIDTH_PT, 1 - 14 / WIDTH_PT, (40 + head) / height, 1 - (22 + head) / height
    axes = figure.add_axes((left, bottom, right - left, top - bottom))
    _scales(axes, plot)
    for span in plot.spans:
        if span.end > span.begin:
            colour, alpha = (FAINT, 0.25) if span.inner else (SPAN, 1.0)
            axes.axvspan(span.begin, span.end, color=colour, alpha=alpha, lw=0, zorder=0)
        if span.end <= span.begin or span.inner:
            axes.axvline(span.begin, color=FAINT, lw=1, zorder=1)
    for series in plot.series:
        _draw(axes, series, places.get(series.system, 0))
    for line in plot.lines:
        axes.axhline(line.value, color=INK, lw=1, ls=(0, (4, 2)))
        axes.annotate(line.label, (0, line.value), (4, 3), textcoords="offset points", fontsize=FONT_PT - 1.5,
                      xycoords=axes.get_yaxis_transform())  # fmt: skip
    _limits(axes, plot)
    for row, (series, number) in enumerate(_limits_of(plot)):
        _draw_limit(axes, series, number, places.get(series.system, 0), row)
    _label_spans(axes, plot)
    _ticks(axes, plot)
    axes.set_title(plot.y.label, loc="left", y=1.0, fontsize=FONT_PT, color=FAINT)  # A y spares laying out all ticks.
    if plot.x.form is not Form.WORDS:
        axes.set_xlabel(plot.x.label, color=FAINT)
    return figure, axes


def _label_spans(axes: Axes, plot: Plot) -> None:
    """Those within others lower, and lower still where the label before would be written over."""
    ends_pt: list[float] = [0.0]
    for span in plot.spans:
        # A figure has 72 dots an inch, so a dot is a point.
        at_pt = float(axes.transData.transform((span.begin, 1.0))[0])
        row = next((row for row, end_pt in enumerate(ends_pt) if row and end_pt <= at_pt), len(ends_pt))
        if span.inner and span.label:
            ends_pt[row:row + 1] = [at_pt + len(span.label) * _LABEL_CHAR_PT]  # fmt: skip
        axes.annotate(
            span.label, (span.begin, 1), (3, -2 - (row * FONT_PT if span.inner else 0)), textcoords="offset points",
            color=FAINT, fontsize=FONT_PT - 1.5, va="top", xycoords=axes.get_xaxis_transform(), annotation_clip=False,
        )  # fmt: skip


def _scales(axes: Axes, plot: Plot) -> None:
    for axis, set_scale in ((plot.x, axes.set_xscale), (plot.y, axes.set_yscale)):
        if axis.scale is Scale.LOG:
            set_scale("log")
        elif axis.scale is Scale.PERCENTILE:
            set_scale("function", functions=(_to_nines, _from_nines))


def _to_nines(percentile: Any) -> Any:
    """Percent to number of nines: 90 is 1, 99 is 2."""
    return -np.log10(np.maximum(1e-9, 1 - np.asarray(percentile) / 100))


def _from_nines(nines: Any) -> Any:
    return 100 * (1 - 10.0 ** -np.asarray(nines))


def _draw(axes: Axes, series: Series, place: int) -> None:
    known = look(place)
    y = [math.nan if value is None else value for value in series.y]
    gid = f"system-{place}"
    if series.mark is Mark.BARS:
        bars = axes.bar(series.x, y, width=series.width, color=known.light, zorder=2)
        for bar in bars:
            bar.set_gid(gid)
    if series.mark in (Mark.LINE, Mark.LINE_POINTS):
        dash = (0, known.dash) if known.dash else "solid"
        width = 1.0 if series.minor else 1.7
        axes.plot(series.x, y, color=known.light, ls=dash, lw=width, zorder=2, gid=gid, transform=_moved(axes, series))
    if series.mark in (Mark.POINTS, Mark.LINE_POINTS):
        _markers(axes, series, y, known, gid)
    if series.low and series.high and series.mark is not Mark.LIMITS:
        below = [max(0.0, value - low) for value, low in zip(y, series.low, strict=True)]
        above = [max(0.0, high - value) for value, high in zip(y, series.high, strict=True)]
        drawn = axes.errorbar(
            series.x, y, (below, above), fmt="none", ecolor=INK, elinewidth=1.3, capsize=4, zorder=4,
            transform=_moved(axes, series),
        )  # fmt: skip
        for part in (*drawn.lines[1], *drawn.lines[2]):
            part.set_gid(gid)


def _moved(axes: Axes, series: Series) -> Transform:
    """Where a series is drawn: at its place, or beside it."""
    return axes.transData + ScaledTranslation(series.shift_pt / 72, 0, axes.figure.dpi_scale_trans)


def _limits_of(plot: Plot) -> list[tuple[Series, int]]:
    """Each line across, by its series and its place in that, in the order of the rows of their names."""
    return [(series, number) for series in plot.series if series.mark is Mark.LIMITS for number in range(len(series.x))]


def _draw_limit(axes: Axes, series: Series, number: int, place: int, row: int) -> None:
    known, gid, x = look(place), f"system-{place}", series.x[number]
    if series.low and series.high:
        axes.axvspan(series.low[number], series.high[number], color=known.light, alpha=0.13, lw=0, zorder=0, gid=gid)
    axes.axvline(x, color=known.light, ls=(0, known.dash) if known.dash else "solid", lw=1.7, zorder=1, gid=gid)
    # Towards the middle, so that no name reaches beyond the drawing.
    left = axes.transAxes.inverted().transform(axes.transData.transform((x, 1.0)))[0] > 0.5
    axes.annotate(
        series.name, (x, 1), (-4 if left else 4, -3 - row * _ROW_PT), textcoords="offset points", va="top",
        ha="right" if left else "left", color=INK, fontsize=FONT_PT - 1.5, xycoords=axes.get_xaxis_transform(),
        bbox={"facecolor": PAGE, "edgecolor": "none", "pad": 0.5}, gid=gid, zorder=5,
    )  # fmt: skip


def _markers(axes: Axes, series: Series, y: Sequence[float], known: Look, gid: str) -> None:
    """Filled and hollow ones apart."""
    hollow = series.hollow or (False,) * len(y)
    for is_hollow in (False, True):
        chosen = [place for place, other in enumerate(hollow) if other is is_hollow]
        if chosen:
            face = PAGE if is_hollow else known.light
            axes.plot(
                [series.x[place] for place in chosen], [y[place] for place in chosen], ls="none", marker=known.marker,
                ms=3.5 if series.minor else 6, mfc=face, mec=known.light, mew=1.0 if series.minor else 1.5, gid=gid,
                zorder=2 if series.minor else 3, alpha=0.45 if series.minor else None, transform=_moved(axes, series),
            )  # fmt: skip


def _limits(axes: Axes, plot: Plot) -> None:
    drawn = [series for series in plot.series if series.mark is not Mark.LIMITS]
    values = [value for series in drawn for value in (*series.y, *series.low, *series.high) if value is not None]
    values += [line.value for line in plot.lines]
    if plot.y.scale is Scale.LOG:
        positive = [value for value in values if value > 0] or [1.0]
        low, high = plot.y.span or (min(positive), max(positive))
        low, high = low / 1.3, high * 1.4
        # Above all points there is room for the names of limits.
        free = 1 - len(_limits_of(plot)) * _ROW_PT / (axes.bbox.height + 1)
        axes.set_ylim(low, low * (high / low) ** (1 / max(free, 0.3)))
    elif plot.y.from_zero and values:
        axes.set_ylim(0, max(*values, 1e-9) * 1.12)
    if plot.x.form is Form.WORDS:
        axes.set_xlim(-0.6, max(1, len(plot.x.names)) - 0.4)
    elif plot.x.scale is Scale.PERCENTILE:
        axes.set_xlim(0, max((max(series.x) for series in plot.series if series.x), default=90.0))
    elif plot.x.scale is Scale.LOG:
        places = [x for series in plot.series for x in series.x]
        axes.set_xlim(min(places) / 1.5, max(places) * 1.35)
    elif plot.x.from_zero:
        axes.set_xlim(0, max((max(series.x) for series in plot.series if series.x), default=1.0) * 1.05)


def _ticks(axes: Axes, plot: Plot) -> None:
    axes.grid(axis="y", color=GRID, lw=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(length=3)
    _numbers(axes.yaxis, plot.y, axes.get_ylim(), MaxNLocator(5))
    if plot.x.form is Form.WORDS:
        axes.xaxis.set_major_locator(FixedLocator(list(range(len(plot.x.names)))))
        axes.set_xticklabels([_short_name(name) for name in plot.x.names])
        axes.tick_params(axis="x", length=0)
        return
    if plot.x.scale is Scale.PERCENTILE:
        axes.grid(axis="x", color=GRID, lw=0.8)
        last = axes.get_xlim()[1]
        # A label in the middle of the right edge would reach beyond it.
        ticks = [tick for tick in _PERCENTILE_TICKS if _to_nines(tick) <= 0.96 * _to_nines(last)]
        _numbers(axes.xaxis, plot.x, axes.get_xlim(), FixedLocator(ticks))
    else:
        _numbers(axes.xaxis, plot.x, axes.get_xlim(), MaxNLocator(6, integer=True))
    axes.xaxis.set_minor_locator(NullLocator())


def _numbers(drawn: DrawnAxis, axis: Axis, ends: tuple[float, float], locator: Locator) -> None:
    """By a locator; of a logarithmic axis powers of ten and, where these would be fewer than three, 2 and 5 times."""
    if axis.scale is Scale.LOG:
        few = math.log10(ends[1] / ends[0]) < 2.3
        drawn.set_minor_locator(NullLocator())
        locator = LogLocator(10, subs=(1.0, 2.0, 5.0) if few else (1.0,), numticks=9)
    drawn.set_major_locator(locator)
    largest = max(map(abs, ends))
    drawn.set_major_formatter(FuncFormatter(lambda value, _: _tick(axis, value, largest)))


def _tick(axis: Axis, value: float, largest: float) -> str:
    """A number of a scale, as short as can be: 5k, 0.5, 99.9%. All of a scale have one unit, that of its largest."""
    if axis.form in (Form.PERCENT, Form.SHARE):
        return f"{trimmed(value)}%"
    for limit, factor, unit in ((1e9, 1e9, "G"), (2e6, 1e6, "M"), (1e4, 1e3, "k")):
        if largest >= limit and axis.scale is not Scale.LOG:
            return f"{value / factor:g}{unit}" if value else "0"
    if axis.scale is Scale.LOG and value >= 1e4:  # On a logarithmic axis each has the unit that makes it shortest.
        return f"{value / 1e6:g}M" if value >= 1e6 else f"{value / 1e3:g}k"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _short_name(name: str) -> str:
    """A system's name on two lines where it is long: its version below it."""
    head, at, version = name.partition("@")
    return f"{head}\n{at}{version}" if at and len(name) > 12 else name


def _points(plot: Plot, axes: Axes, places: Mapping[str, int]) -> list[Point]:
    found = []
    for series in plot.series:
        for number, (x, y) in enumerate(zip(series.x, series.y, strict=True)):
            if y is None or (plot.y.scale is Scale.LOG and y <= 0):
                continue
            across, up = _moved(axes, series).transform((x, y))
            note = f", {series.notes[number]}" if series.notes and series.notes[number] else ""
            span = _span_words(plot.y, series, number)
            head = ", ".join(dict.fromkeys((series.name, plot.x.text(x))))
            words = f"{head}: {plot.y.text(y)} {_unit(plot.y)}".rstrip() + span + note
            words += f": {plot.y.meaning}" if plot.y.meaning else ""
            place = places.get(series.system, 0)
            found.append(Point(round(float(across), 1), round(HEIGHT_PT - float(up), 1), place, words))
    for row, (series, number) in enumerate(_limits_of(plot)):
        across, top = axes.transData.transform((series.x[number], axes.get_ylim()[1]))
        words = f"{series.name}: {plot.x.text(series.x[number])} {_unit(plot.x)}{_span_words(plot.x, series, number)}"
        down = HEIGHT_PT - float(top) + (row + 0.6) * _ROW_PT
        found.append(Point(round(float(across), 1), round(down, 1), places.get(series.system, 0), words))
    return found


def _span_words(axis: Axis, series: Series, number: int) -> str:
    if not (series.low and series.high):
        return ""
    return f" ({axis.text(series.low[number])} to {axis.text(series.high[number])})"


def _unit(axis: Axis) -> str:
    """The unit, which an axis' label ends with or is."""
    if axis.form is Form.MS:
        return "ms"
    return axis.label.rpartition(", ")[2] if axis.form is Form.COUNT else ""


def _headed_figure(plot: Plot, places: Mapping[str, int]) -> Figure:
    """With title and legend, which a page has outside of the drawing."""
    figure, axes = _figure(plot, places, headed=True)
    figure.suptitle(plot.title, x=0.02, y=0.985, ha="left", fontsize=FONT_PT + 2, fontweight="bold")
    if plot.x.form is not Form.WORDS and plot.systems:
        lines = grouped((line.get_gid(), line) for line in axes.get_lines() if line.get_gid())
        names = [textwrap.shorten(name, 28, placeholder="...") for name in plot.systems]
        handles = [own[0] for own in lines.values()]
        figure.legend(handles, names, loc="lower center", ncols=3, frameon=False, fontsize=FONT_PT - 1)
    return figure


def _svg(figure: Figure) -> str:
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    return buffer.getvalue()


_COLOURS = {
    **{look(place).light: f"var(--system-{place})" for place in range(6)},
    INK: "var(--ink)",
    FAINT: "var(--faint)",
    GRID: "var(--grid)",
    PAGE: "var(--page)",
    SPAN: "var(--span)",
}


def _for_page(text: str) -> str:
    """The SVG element alone, scaling with its place; systems as classes, colours as variables, no ids twice."""
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<svg [^>]*>", f'<svg viewBox="0 0 {WIDTH_PT:g} {HEIGHT_PT:g}" aria-hidden="true">', text, count=1)
    text = re.sub(r' id="system-(\d+)"', r' class="system-\1"', text)
    text = re.sub(r' id="(?![mp][0-9a-f]{10}")[^"]*"', "", text)
    text = re.sub(r"#[0-9a-f]{6}", lambda match: _COLOURS.get(match[0], match[0]), text)
    text = re.sub(r"<style.*?</style>|<defs>\s*</defs>", "", text, flags=re.DOTALL)
    text = re.sub(r"; font-family: [^;\"]*| transform=\"rotate\(-0 [^\"]*\"", "", text)
    text = re.sub(r"<[^>]*>", lambda tag: re.sub(r"(\d\.\d)\d+", r"\1", tag[0]), text)
    return re.sub(r"\n\s*", "\n", text)
