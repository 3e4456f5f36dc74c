"""Draws plot models with matplotlib: as SVG for pages (colours by variables, text as text), as SVG or PNG files.

No state of matplotlib's is shared: figures are made without pyplot, settings are applied for one drawing only.
"""

from __future__ import annotations

import io
import math
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis as DrawnAxis
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.textpath import TextToPath
from matplotlib.ticker import FixedFormatter, FixedLocator, FuncFormatter, Locator, MaxNLocator, NullLocator

from tidegauge.numbers import in_full, trimmed
from tidegauge.report.plots.draw_cells import draw_cells
from tidegauge.report.plots.model import LOOKS, Axis, Form, Mark, Plot, Scale, Series, cell_words, is_drawable, look
from tidegauge.report.plots.paper import (
    FAINT,
    FONT_PT,
    GRID,
    HEIGHT_PT,
    INK,
    LABEL_CHAR_PT,
    PAGE,
    SPAN,
    WIDTH_PT,
)

_ROW_PT = FONT_PT + 2.0
"""How high a row is, of names of limits one below the other."""
_CHARS_WIDE = 70
"""Characters of a file's smaller texts that stand on one line, and about 2 of 3 as many of its title."""
_SOURCE_PT, _SOURCE_CHARS_WIDE = 8.5, 78
"""The size of the letters that say which run a file's picture is from, and how many of them stand on one line."""
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
    "hatch.linewidth": 1.8,
}
_PERCENTILE_TICKS = (50.0, 90.0, 99.0, 99.9, 99.99, 99.999, 99.9999)


class DrawnPoint(NamedTuple):
    """A point of a drawing, for a reader's pointer: its place in the SVG's own coordinates, and its words."""

    x: float
    y: float
    system: int
    words: str


@dataclass(frozen=True)
class Drawing:
    """A plot as an SVG element for a page, and its points."""

    svg: str
    points: tuple[DrawnPoint, ...]


def page_drawing(plot: Plot, places: Mapping[str, int]) -> Drawing:
    """A plot to stand in a page, which has title and legend itself. `places`: of each system among those of the run."""
    with _drawing_settings({"svg.hashsalt": plot.plot_id}):
        figure, axes = draw_figure(plot, places)
        height_pt = drawing_height_pt(plot)
        points = tuple(_points_of_plot(plot, axes, places))
        return Drawing(_for_page(_svg_text(figure), height_pt), points)


def svg_file(plot: Plot, places: Mapping[str, int], source: str = "") -> bytes:
    """A plot with title and legend as an SVG file. `source`: the run that it is from, in words, for its last lines."""
    with drawn_like_files(plot.plot_id):
        return _svg_text(file_figure(plot, places, source)).encode()


def png_file(plot: Plot, places: Mapping[str, int], source: str = "") -> bytes:
    """The same as `svg_file` as a PNG file, of twice the size in pixels."""
    with drawn_like_files():
        buffer = io.BytesIO()
        file_figure(plot, places, source).savefig(buffer, format="png", dpi=160, metadata={"Software": None})
        return buffer.getvalue()


def drawn_like_files(salt: str = "") -> AbstractContextManager[None]:
    """Settings under which files are drawn. `salt`: of an SVG's ids, so that the same is drawn the same."""
    return _drawing_settings({"svg.hashsalt": salt, "figure.facecolor": PAGE})


def _drawing_settings(more: Mapping[str, Any]) -> AbstractContextManager[None]:
    settings: Any = {**_STYLE, **more}
    return mpl.rc_context(settings)


def draw_figure(
    plot: Plot, places: Mapping[str, int], head_pt: float = 0.0, foot_pt: float = 0.0
) -> tuple[Figure, Axes]:
    """Figure and axes with everything but title and legend, for which room is left above and below.

    The margins are fixed: finding them out by drawing twice takes most of the time.
    """
    shown = turned(plot) if plot.lying else plot
    height = drawing_height_pt(plot) + head_pt + foot_pt
    figure = Figure(figsize=(WIDTH_PT / 72, height / 72), dpi=72)
    left_pt, below_pt = _left_pt(shown), 40 + _names_pt(shown)
    left, right, bottom, top = (
        left_pt / WIDTH_PT,
        1 - 14 / WIDTH_PT,
        (below_pt + foot_pt) / height,
        1 - (22 + head_pt) / height,
    )
    axes = figure.add_axes((left, bottom, right - left, top - bottom))
    for axis, set_scale in ((shown.x, axes.set_xscale), (shown.y, axes.set_yscale)):
        if axis.scale is Scale.LOG:
            set_scale("log")
        elif axis.scale is Scale.PERCENTILE:
            set_scale("function", functions=(_to_nines, _from_nines))
    axes.set_xlim(*_x_ends(shown))
    _draw_spans(axes, shown)
    for series in shown.series:
        if shown.heat is not None:
            axes.set_ylim(len(shown.y.names) - 0.5, -0.5)
            draw_cells(axes, series, shown.heat, f"system-{places.get(series.system, 0)}")
        else:
            _draw_series(axes, series, places.get(series.system, 0), lying=shown.lying)
    _draw_lines(axes, shown)
    _set_y_limits(axes, shown)
    _set_ticks(axes, shown)
    if not row_names(shown):
        _make_room_for_numbers(axes)
    for row, limit in enumerate(_placed_limits(axes, shown)):
        _draw_limit(axes, limit, places.get(limit.series.system, 0), row)
    for span, (row, at_pt) in zip(shown.spans, _label_places(axes, shown), strict=True):
        moved_pt = at_pt - float(axes.transData.transform((span.begin, 1.0))[0])
        axes.annotate(
            span.label, (span.begin, 1), (3 + moved_pt, -2 - row * FONT_PT), textcoords="offset points",
            color=INK if span.inner else FAINT, fontsize=FONT_PT - 1.5, va="top",
            xycoords=axes.get_xaxis_transform(), annotation_clip=False,
        )  # fmt: skip
    # A y spares laying out all ticks. Names of rows stand left of the axes, and so does what they are.
    x = -(left_pt - 6) / axes.bbox.width if row_names(shown) else 0.0
    axes.set_title(shown.y.label, loc="left", y=1.0, x=x, fontsize=FONT_PT, color=FAINT)
    axes.set_xlabel(shown.x.label, color=FAINT)
    return figure, axes


def turned(plot: Plot) -> Plot:
    """A lying plot as it is drawn: its axes change places, and so do the coordinates of its points."""
    series = tuple(
        replace(line, x=tuple(math.nan if y is None else y for y in line.y), y=line.x) for line in plot.series
    )
    return replace(plot, x=plot.y, y=plot.x, series=series)


def row_names(plot: Plot) -> tuple[str, ...]:
    """What stands at the rows of a plot as it is drawn, on lines; () of one whose y axis has numbers."""
    if plot.y.form is not Form.WORDS:
        return ()
    return tuple(
        "\n".join(
            wrapped
            for line in name.split("\n")
            for wrapped in textwrap.wrap(line, _ROW_CHARS_MAX, break_long_words=False, break_on_hyphens=False) or [line]
        )
        for name in plot.y.names
    )


def drawing_height_pt(plot: Plot) -> float:
    """How high a plot is without title and legend: one of rows grows with them."""
    names = row_names(turned(plot) if plot.lying else plot)
    if not names:
        return HEIGHT_PT
    # Cells of all heat maps are as high as those with a second line: several stand in a row.
    lines = max(1 if plot.heat is None else 2, *(name.count("\n") + 1 for name in names))
    return 22 + 40 + len(names) * (_ONE_LINE_PT + _LINE_PT * (lines - 1)) + (0 if plot.lying else _names_pt(plot))


_ONE_LINE_PT, _LINE_PT = 26.0, 10.0
"""How high the row of a heat map or of a lying plot is whose names have one line, and what each further line adds."""
_ROW_CHARS_MAX = 24


def _left_pt(plot: Plot) -> float:
    """Where the axes begin: right of the names of rows, or of numbers, see `_make_room_for_numbers`."""
    longest = max((len(line) for name in _row_names_that_fit(plot) for line in name.split("\n")), default=0)
    return max(48.0, longest * 0.58 * (FONT_PT - 1) + 12)


def _wide_pt(plot: Plot) -> float:
    """How wide the axes are."""
    return WIDTH_PT - 14 - _left_pt(plot)


def _row_names_that_fit(plot: Plot) -> list[str]:
    for end in (False, True):
        shown = [
            "\n".join(_cut_line(line, _ROW_CHARS_MAX, end=end) for line in name.split("\n")) for name in row_names(plot)
        ]
        if len(set(shown)) == len(shown):
            break
    return shown


_LEFT_LIGHT = 0.6
"""Of what is behind the shade of a fault that all trials have."""


def _draw_spans(axes: Axes, plot: Plot) -> None:
    """Shade the spans of the x axis, and the bands of the axis of values."""
    label_rows = [row for span, (row, _) in zip(plot.spans, _label_places(axes, plot), strict=True) if span.inner]
    # Those within another end below all their labels, which are not read well on a shade.
    below_labels = 1 - ((max(label_rows, default=0) + 1) * FONT_PT + 2) / (axes.bbox.height + 1)
    for span in plot.spans:
        up_to = below_labels if span.inner else 1.0
        if span.end > span.begin:
            colour, alpha = (FAINT, 1 - _LEFT_LIGHT**span.share) if span.inner else (SPAN, 1.0)
            axes.axvspan(span.begin, span.end, 0, up_to, color=colour, alpha=alpha, lw=0, zorder=0)
        if span.end <= span.begin or span.inner:
            axes.axvline(span.begin, 0, up_to, color=FAINT, lw=1, zorder=1)
    for band in plot.bands:
        (axes.axvspan if plot.lying else axes.axhspan)(band.low, band.high, color=SPAN, lw=0, zorder=0)


def _draw_lines(axes: Axes, plot: Plot) -> None:
    """Draw the levels across the plot, each with its name: at the left end, or of a lying plot at the top."""
    for line in plot.lines:
        dashed: dict[str, Any] = {"color": INK, "lw": 1, "ls": (0, (4, 2))}
        if plot.lying:
            axes.axvline(line.value, **dashed, zorder=1)
            place, offset, transform = (line.value, 1.0), (0, 3), axes.get_xaxis_transform()
        else:
            axes.axhline(line.value, **dashed)
            place, offset, transform = (0.0, line.value), (4, 3), axes.get_yaxis_transform()
        axes.annotate(
            line.label, place, offset, textcoords="offset points", fontsize=FONT_PT - 1.5, xycoords=transform,
            ha="center" if plot.lying else "left", annotation_clip=False,
        )  # fmt: skip


def _make_room_for_numbers(axes: Axes) -> None:
    """Move the left end of the axes to where the longest number at them fits in."""
    low, high = axes.get_ylim()
    at = [tick for tick in axes.get_yticks() if low <= tick <= high]
    longest = max(map(len, axes.yaxis.get_major_formatter().format_ticks(at)), default=0)
    box = axes.get_position()
    left = max(box.x0, (longest * 0.6 * FONT_PT + 10) / WIDTH_PT)
    axes.set_position((left, box.y0, box.x1 - left, box.height))


def _label_places(axes: Axes, plot: Plot) -> list[tuple[int, float]]:
    """The row of each span's label and where in it that begins, in points.

    Within another span lower, and lower still where one before would be hit. It begins where its span does, but further
    left where it would reach beyond the picture.
    """
    ends_pt: list[float] = []
    places = []
    for span in plot.spans:
        # A figure has 72 dots an inch, so a dot is a point.
        wide_pt = len(span.label) * LABEL_CHAR_PT + 3
        at_pt = min(float(axes.transData.transform((span.begin, 1.0))[0]), WIDTH_PT - 4 - 1.1 * wide_pt)
        first = 1 if span.inner else 0
        ends_pt += [-math.inf] * (first + 1 - len(ends_pt))
        row = next((row for row in range(first, len(ends_pt)) if ends_pt[row] <= at_pt), len(ends_pt))
        places.append((row, at_pt))
        if span.label:
            ends_pt[row:row + 1] = [at_pt + wide_pt]  # fmt: skip
    return places


def _to_nines(percentile: Any) -> Any:
    """Percent to number of nines: 90 is 1, 99 is 2."""
    return -np.log10(np.maximum(1e-9, 1 - np.asarray(percentile) / 100))


def _from_nines(nines: Any) -> Any:
    return 100 * (1 - 10.0 ** -np.asarray(nines))


def _draw_series(axes: Axes, series: Series, place: int, *, lying: bool) -> None:
    system_look = look(place)
    y = [math.nan if value is None else value for value in series.y]
    gid = f"system-{place}"
    if series.mark is Mark.BARS:
        for number, (x, value) in enumerate(zip(series.x, series.y, strict=True)):
            if value is not None:
                hollow = bool(series.hollow) and series.hollow[number]
                (bar,) = axes.bar(
                    x, value, series.width, color=PAGE if hollow else system_look.light, edgecolor=system_look.light,
                    lw=1.7 if hollow else 0, zorder=2, hatch=system_look.hatch or None,
                    hatchcolor=system_look.light if hollow else PAGE,
                )  # fmt: skip
                bar.set_gid(gid)
    if series.mark in (Mark.LINE, Mark.LINE_POINTS):
        dash = (0, system_look.dash) if system_look.dash else "solid"
        width = 1.0 if series.minor or series.theirs else 1.7
        axes.plot(series.x, y, color=_colour_of_series(series, place), ls=dash, lw=width, zorder=2, gid=gid)
    if series.mark is Mark.LINE and series.lone:
        at = [(series.x[number], y[number]) for number in series.lone]
        axes.plot(*zip(*at, strict=True), color=system_look.light, ls="none", marker=".", ms=4, zorder=2, gid=gid)
    if series.mark in (Mark.POINTS, Mark.LINE_POINTS):
        _draw_markers(axes, series, y, place)
    if series.low and series.high and series.mark is not Mark.LIMITS:
        values = series.x if lying else y
        below = [max(0.0, value - low) for value, low in zip(values, series.low, strict=True)]
        above = [max(0.0, high - value) for value, high in zip(values, series.high, strict=True)]
        ends: dict[str, Any] = {"xerr" if lying else "yerr": (below, above)}
        # Points of several systems may stand at one place: then their whiskers have colours and caps of their own.
        colour, cap_pt = (INK, 4) if series.mark is Mark.BARS else (system_look.light, 4 + 2 * (place % len(LOOKS)))
        whiskers = axes.errorbar(
            series.x, y, **ends, fmt="none", ecolor=colour, elinewidth=1.3, capsize=cap_pt, zorder=4
        )
        for part in (*whiskers.lines[1], *whiskers.lines[2]):
            part.set_gid(gid)


def _colour_of_series(series: Series, place: int) -> str:
    """That of its system; grey for what others published."""
    return FAINT if series.theirs else look(place).light


def _limits_of(plot: Plot) -> list[tuple[Series, int]]:
    """Each line across, by its series and its place in that."""
    return [(series, number) for series in plot.series if series.mark is Mark.LIMITS for number in range(len(series.x))]


class _PlacedLimit(NamedTuple):
    """A line across, by its series and its place in that, and where its name begins, in points right of that line.

    None where the name stands left of the line.
    """

    series: Series
    number: int
    begin_pt: float | None


def _placed_limits(axes: Axes, plot: Plot) -> list[_PlacedLimit]:
    """Lines across in the order of the rows of their names, each of which stands over no line of another row.

    A name stands left of its line, and lower ones end below it. Where there is no room it stands above its line, right
    of those before that have none either.
    """
    beside: list[tuple[float, Series, int]] = []
    above: list[tuple[float, Series, int]] = []
    for series, number in _limits_of(plot):
        at_pt = float(axes.transData.transform((series.x[number], 1.0))[0] - axes.bbox.x0)
        has_room = at_pt > _text_wide_pt(series.name, size=FONT_PT - 1.5) + 4
        (beside if has_room else above).append((at_pt, series, number))
    placed = [_PlacedLimit(series, number, None) for _, series, number in sorted(beside, key=lambda limit: -limit[0])]
    last_pt = 0.0
    for at_pt, series, number in sorted(above, key=lambda limit: limit[0]):
        placed.append(_PlacedLimit(series, number, last_pt + 4 - at_pt))
        last_pt = at_pt
    return placed


def _draw_limit(axes: Axes, limit: _PlacedLimit, place: int, row: int) -> None:
    series, number, begin_pt = limit
    system_look, gid, x = look(place), f"system-{place}", series.x[number]
    if series.low and series.high:
        axes.axvspan(
            series.low[number], series.high[number], color=system_look.light, alpha=0.13, lw=0, zorder=0, gid=gid
        )
    # It ends at its own name, beside or below it.
    is_beside = begin_pt is None
    top = 1 - (3 + (row if is_beside else row + 1) * _ROW_PT) / axes.bbox.height
    axes.axvline(
        x, 0, top, color=system_look.light, ls=(0, system_look.dash) if system_look.dash else "solid", lw=1.7, zorder=1,
        gid=gid,
    )  # fmt: skip
    axes.annotate(
        series.name, (x, 1), (-4 if begin_pt is None else begin_pt, -3 - row * _ROW_PT), textcoords="offset points",
        ha="right" if is_beside else "left", va="top", color=INK, fontsize=FONT_PT - 1.5, gid=gid, zorder=5,
        xycoords=axes.get_xaxis_transform(), bbox={"facecolor": PAGE, "edgecolor": "none", "pad": 0.5},
    )  # fmt: skip


def _draw_markers(axes: Axes, series: Series, y: Sequence[float], place: int) -> None:
    """Draw a series' points, filled and hollow ones apart."""
    system_look, hollow = look(place), (True,) * len(y) if series.theirs else series.hollow or (False,) * len(y)
    colour = _colour_of_series(series, place)
    # The first system's marks are the largest, so that those of others at the same place do not hide them.
    size_pt = 3.5 if series.minor else max(4.5, 7.5 - 1.3 * (place % len(LOOKS)))
    for is_hollow in (False, True):
        chosen = [number for number, other in enumerate(hollow) if other is is_hollow]
        if chosen:
            face = PAGE if is_hollow else colour
            axes.plot(
                [series.x[number] for number in chosen], [y[number] for number in chosen], ls="none",
                marker=system_look.marker, ms=size_pt, mfc=face, mec=colour,
                mew=1.0 if series.minor else 1.5, gid=f"system-{place}", zorder=2 if series.minor else 3,
                alpha=0.45 if series.minor else None,
            )  # fmt: skip


_DECADES_MAX = 300
"""Of room above points that lie hundreds of decades apart, as in a damaged run; 308 are all that a float has."""


def _set_y_limits(axes: Axes, plot: Plot) -> None:
    if rows := row_names(plot):
        axes.set_ylim(len(rows) - 0.5, -0.5)
        return
    values = [value for series in plot.series if series.mark is not Mark.LIMITS for value in series.reach]
    values += [line.value for line in plot.lines if is_drawable(line.value)]
    # Above all points there is room for the names of limits and spans.
    labels = max(
        (row + 1 for (row, _), span in zip(_label_places(axes, plot), plot.spans, strict=True) if span.label), default=0
    )
    free = max(0.3, 1 - (len(_limits_of(plot)) * _ROW_PT + labels * FONT_PT) / (axes.bbox.height + 1))
    if plot.y.scale is Scale.LOG:
        positive = [value for value in values if value > 0] or [1.0]
        low, high = plot.y.span or (min(positive), max(positive))
        low, high = low / 1.3, high * 1.4
        bottom, top = math.log10(low), math.log10(high)
        axes.set_ylim(low, 10.0 ** min(bottom + (top - bottom) / free, _DECADES_MAX))
    elif plot.y.from_zero:
        top = max([0.0, *values, *(plot.y.span or ())])
        axes.set_ylim(0, (top or 1.0) * 1.05 / min(free, 1.05 / 1.12))


def _x_ends(plot: Plot) -> tuple[float, float]:
    """Where the x axis begins and ends: never left to matplotlib, which counts only some of what it draws."""
    if plot.x.form is Form.WORDS:
        margin = 0.6 if plot.heat is None else 0.5
        return -margin, max(1, len(plot.x.names)) - 1 + margin
    if plot.lying:
        return _ends_of_values(plot)
    places = [x for series in plot.series for x in series.x if is_drawable(x)] or [1.0]
    if plot.x.scale is Scale.PERCENTILE:
        # Marks are of a few percentiles, which fill the picture and are drawn whole at its ends.
        dotted = any(series.mark is not Mark.LINE for series in plot.series)
        nines = _to_nines(min(places)) - 0.15, _to_nines(max(places)) + 0.15
        return (max(0.0, float(_from_nines(nines[0]))), float(_from_nines(nines[1]))) if dotted else (0.0, max(places))
    limits = [series for series in plot.series if series.mark is Mark.LIMITS]
    places += [end for series in limits for end in (*series.low, *series.high) if is_drawable(end)]
    if plot.x.scale is Scale.LOG:
        positive = [place for place in places if place > 0] or [1.0]
        return min(positive) / 1.5, max(positive) * 1.35
    if plot.x.from_zero:
        return 0.0, max(places) * 1.05
    places += [end for span in plot.spans for end in (span.begin, span.end)]
    dotted = any(series.mark is not Mark.LINE for series in plot.series)
    margin = (0.04 if dotted else 0.02) * (max(places) - min(places)) or 0.5
    return min(places) - margin, max(places) + margin


def _ends_of_values(plot: Plot) -> tuple[float, float]:
    """Where the axis of values of a lying plot begins and ends: around all points, intervals, lines and bands."""
    places = [end for series in plot.series for ends in (series.x, series.low, series.high) for end in ends]
    places += [line.value for line in plot.lines] + [end for band in plot.bands for end in (band.low, band.high)]
    places += [0.0, *(plot.x.span or ())] if plot.x.from_zero else []
    at = [place for place in places if is_drawable(place) and (plot.x.scale is not Scale.LOG or place > 0)]
    low, high = min(at, default=1.0), max(at, default=1.0)
    if plot.x.scale is Scale.LOG:
        low, high = plot.x.span or (low, high)
        room = max((high / low) ** 0.06, 1.01)
        return low / room, high * room
    room = 0.06 * (high - low) or 0.5
    return 0.0 if plot.x.from_zero and low == 0.0 else low - room, high + room


def _set_ticks(axes: Axes, plot: Plot) -> None:
    if plot.heat is None:
        axes.grid(axis="x" if plot.lying else "y", color=GRID, lw=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(length=3)
    if row_names(plot):
        axes.yaxis.set_major_locator(FixedLocator(list(range(len(row_names(plot))))))
        axes.set_yticklabels(_row_names_that_fit(plot), fontsize=FONT_PT - 1)
        axes.tick_params(axis="y", length=0)
    else:
        _set_numbers(axes.yaxis, plot.y, axes.get_ylim(), MaxNLocator(5))
    if plot.heat is not None:
        for spine in axes.spines.values():
            spine.set_visible(False)
    if plot.x.form is Form.WORDS:
        axes.xaxis.set_major_locator(FixedLocator(list(range(len(plot.x.names)))))
        names, is_upright = _names_that_fit(plot), _has_upright_names(plot)
        axes.set_xticklabels(names, rotation=90 if is_upright else 0)
        # In letters of a size in which names stand beside each other.
        longest = max((len(line) for name in names for line in name.split("\n")), default=1)
        room_pt = _wide_pt(plot) / (len(plot.x.names) + 0.2)
        fits_pt = FONT_PT if is_upright else 0.95 * room_pt / (0.6 * max(1, longest))
        axes.tick_params(axis="x", length=0, labelsize=max(_NAME_PT_MIN, min(FONT_PT, fits_pt)))
        return
    if plot.x.scale is Scale.PERCENTILE:
        axes.grid(axis="x", color=GRID, lw=0.8)
        # A label in the middle of the right edge would reach beyond it.
        ends_pt = {
            tick: axes.transData.transform((tick, 1.0))[0] + len(plot.x.text(tick)) * LABEL_CHAR_PT / 2
            for tick in _PERCENTILE_TICKS
            if tick <= axes.get_xlim()[1]
        }
        ticks = [tick for tick, end_pt in ends_pt.items() if end_pt <= WIDTH_PT - 2]
        _set_numbers(axes.xaxis, plot.x, axes.get_xlim(), FixedLocator(ticks))
    elif plot.x.ticks:
        _mark_values(axes, plot.x)
    else:
        _set_numbers(axes.xaxis, plot.x, axes.get_xlim(), MaxNLocator(6, integer=True))
    axes.xaxis.set_minor_locator(NullLocator())


_MARKS_MAX = 60
"""Of values on an axis: more would be a comb, which takes most of the time of drawing."""


def _mark_values(axes: Axes, axis: Axis) -> None:
    """The values that an axis has: each with its words, but for those that would be written over the one before.

    Of more than `_MARKS_MAX` only those with words are marked. Large bare numbers are as short as those of other axes.
    """
    at = [value for value, _ in axis.ticks]
    largest = max(at)
    words, end_pt = [], -math.inf
    for value, written in axis.ticks:
        text = _tick_text(axis, value, largest) if written.isdigit() and largest >= 1e4 else written
        middle_pt, half_pt = float(axes.transData.transform((value, 1.0))[0]), len(text) * LABEL_CHAR_PT / 2
        fits = middle_pt - half_pt > end_pt
        words.append(text if fits else "")
        end_pt = middle_pt + half_pt + 2 if fits else end_pt
    if len(at) > _MARKS_MAX:
        at = [value for value, text in zip(at, words, strict=True) if text]
        words = [text for text in words if text]
    axes.xaxis.set_major_locator(FixedLocator(at))
    axes.xaxis.set_major_formatter(FixedFormatter(words))


_LOG_STEPS = ((1.0,), (1.0, 3.0), (1.0, 2.0, 5.0), (1.0, 1.5, 2.0, 3.0, 5.0, 7.0), tuple(map(float, range(1, 10))))
"""Multiples of powers of ten that are marked, the fewest first."""
_LOG_TICKS_MIN, _LOG_TICKS_MAX = 3, 9


def log_ticks(low: float, high: float) -> list[float]:
    """Round values between two: powers of ten, of which every n-th on a long axis, or as many more as make three."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    every = math.ceil(sum(low <= 10.0**decade <= high for decade in decades) / _LOG_TICKS_MAX)
    for steps in _LOG_STEPS:
        ticks = [step * 10.0**decade for decade in decades if decade % max(1, every) == 0 for step in steps]
        inside = [tick for tick in ticks if low * 0.999 <= tick <= high * 1.001]
        if len(inside) >= _LOG_TICKS_MIN:
            return inside
    return [float(tick) for tick in MaxNLocator(4, steps=[1, 2, 5, 10]).tick_values(low, high) if low <= tick <= high]


def _set_numbers(drawn: DrawnAxis, axis: Axis, ends: tuple[float, float], locator: Locator) -> None:
    """Number an axis by a locator, but a logarithmic one at round values."""
    if axis.scale is Scale.LOG:
        drawn.set_minor_locator(NullLocator())
        locator = FixedLocator(log_ticks(*ends))
    drawn.set_major_locator(locator)
    largest = max(map(abs, ends))
    drawn.set_major_formatter(FuncFormatter(lambda value, _: _tick_text(axis, value, largest)))


def _tick_text(axis: Axis, value: float, largest: float) -> str:
    """A number of a scale, as short as can be: 5k, 0.5, 99.9%. All of a scale have one unit, that of its largest."""
    if axis.form in (Form.PERCENT, Form.SHARE):
        return f"{trimmed(value)}%"
    for limit, factor, unit in ((1e9, 1e9, "G"), (2e6, 1e6, "M"), (1e4, 1e3, "k")):
        if largest >= limit and axis.scale is not Scale.LOG:
            return f"{value / factor:g}{unit}" if value else "0"
    if axis.scale is Scale.LOG and value >= 1e4:  # On a logarithmic axis each has the unit that makes it shortest.
        return f"{value / 1e6:g}M" if value >= 1e6 else f"{value / 1e3:g}k"
    return f"{value:,.0f}" if abs(value) >= 1000 else in_full(value, 4)


def _names_that_fit(plot: Plot) -> list[str]:
    """Names on lines that fit between their neighbours: version, form and doubt are below a system's name."""
    for end in (False, True):
        shown = [_wrapped_name(plot, name, end=end) for name in plot.x.names]
        if len(set(shown)) == len(set(plot.x.names)):
            break
    return shown


def _wrapped_name(plot: Plot, name: str, *, end: bool) -> str:
    if _has_upright_names(plot):
        return _cut_line(name, _UPRIGHT_CHARS, end=end)
    room = max(6, int(_wide_pt(plot) / max(1, len(plot.x.names)) / LABEL_CHAR_PT))
    head, at, version = name.partition("@")
    parts = [head, f"@{version}"] if at and len(name) > min(room, 12) else [name]
    lines = [
        line
        for part in parts
        for line in textwrap.wrap(part, room, break_long_words=False, break_on_hyphens=False) or [part]
    ]
    if len(lines) > _NAME_LINES_MAX:
        lines[_NAME_LINES_MAX - 1 :] = [" ".join(lines[_NAME_LINES_MAX - 1 :])]
    return "\n".join(_cut_line(line, room, end=end) for line in lines)


def _has_upright_names(plot: Plot) -> bool:
    """Whether names on the x axis stand upright, for want of room between them."""
    return len(plot.x.names) > _NAMES_LEVEL_MAX


def _cut_line(line: str, room: int, *, end: bool) -> str:
    """What fits of a line, even of wide letters: of names that begin alike their `end`."""
    if len(line) <= room + 2:
        return line
    chars_kept = room * 4 // 5
    return f"…{line[-chars_kept:]}" if end else f"{line[:chars_kept]}…"


_NAME_LINES_MAX, _NAMES_LEVEL_MAX, _UPRIGHT_CHARS, _NAME_PT_MIN = 4, 10, 14, 9.0


def _names_pt(plot: Plot) -> float:
    """What names below the x axis need beyond one line."""
    if plot.x.form is not Form.WORDS:
        return 0.0
    shown = _names_that_fit(plot)
    if _has_upright_names(plot):
        return max(map(len, shown)) * LABEL_CHAR_PT
    return max((text.count("\n") for text in shown), default=0) * FONT_PT * 1.2


def _points_of_plot(plot: Plot, axes: Axes, places: Mapping[str, int]) -> list[DrawnPoint]:
    height_pt = drawing_height_pt(plot)
    if plot.heat is not None:
        return list(_points_of_cells(plot, plot.heat, axes, places))
    points = []
    for series in plot.series:
        for number, (x, y) in enumerate(zip(series.x, series.y, strict=True)):
            if y is None or (plot.y.scale is Scale.LOG and y <= 0):
                continue
            across, up = axes.transData.transform((y, x) if plot.lying else (x, y))
            note = f", {series.notes[number]}" if series.notes and series.notes[number] else ""
            head = ", ".join(dict.fromkeys((series.name, plot.x.with_unit(x))))
            words = f"{head}: {plot.y.with_unit(y)}{_span_words(plot.y, series, number)}{note}"
            words += f": {plot.y.meaning}" if plot.y.meaning else ""
            place = places.get(series.system, 0)
            points.append(DrawnPoint(round(float(across), 1), round(height_pt - float(up), 1), place, words))
    for row, (series, number, _) in enumerate(_placed_limits(axes, plot)):
        across, top = axes.transData.transform((series.x[number], axes.get_ylim()[1]))
        words = f"{series.name}: {plot.x.with_unit(series.x[number])}{_span_words(plot.x, series, number)}"
        down = height_pt - float(top) + (row + 0.6) * _ROW_PT
        points.append(DrawnPoint(round(float(across), 1), round(down, 1), places.get(series.system, 0), words))
    return points


def _points_of_cells(plot: Plot, heat: Axis, axes: Axes, places: Mapping[str, int]) -> Iterator[DrawnPoint]:
    height_pt = drawing_height_pt(plot)
    for series in plot.series:
        for x, y, cell in zip(series.x, series.y, series.cells, strict=True):
            across, up = axes.transData.transform((x, y or 0.0))
            where = f"{plot.x.label} {plot.x.text(x)}, {plot.y.label} {plot.y.text(y)}"
            words = f"{series.system}, {where}: {cell_words(heat, cell)}"
            yield DrawnPoint(
                round(float(across), 1), round(height_pt - float(up), 1), places.get(series.system, 0), words
            )


def _span_words(axis: Axis, series: Series, number: int) -> str:
    if not (series.low and series.high):
        return ""
    return f" ({axis.text(series.low[number])} to {axis.text(series.high[number])})"


def _lines_that_fit(text: str, chars_max: int, **font: Any) -> list[str]:
    """Lines of at most so many letters, or of fewer where they are so wide that a line would leave the picture."""
    for chars in range(chars_max, 1, -1):
        lines = textwrap.wrap(text, chars, break_on_hyphens=False)
        if all(_text_wide_pt(line, **font) <= WIDTH_PT - 2 * _MARGIN_PT for line in lines):
            break
    return lines


def _text_wide_pt(text: str, **font: Any) -> float:
    wide_pt, _, _ = TextToPath().get_text_width_height_descent(text, FontProperties(**font), ismath=False)
    return float(wide_pt)


_MARGIN_PT = 8.0
"""How far the texts of a file are from its edges."""


def file_figure(plot: Plot, places: Mapping[str, int], source: str = "") -> Figure:
    """A plot with title, legend, how it is to be read and its source, which a page has outside of the drawing."""
    title = _lines_that_fit(plot.title, _CHARS_WIDE * 2 // 3, size=FONT_PT + 2, weight="bold")
    small = [_lines_that_fit(text, _CHARS_WIDE, size=FONT_PT - 2) for text in (plot.context, plot.reading)]
    source_lines = _lines_that_fit(source, _SOURCE_CHARS_WIDE, size=_SOURCE_PT)
    entries = _legend_entries(plot, places)
    labels = [str(entry.get_label()) for entry in entries]
    widest_pt = max(map(len, labels), default=1) * LABEL_CHAR_PT * 1.1 + 46
    columns = max(1, min(len(labels), 3, int((WIDTH_PT - 10) / widest_pt)))
    rows = math.ceil(len(entries) / columns)
    title_pt, row_pt = (FONT_PT + 2) * 1.25, FONT_PT * 1.25
    head_pt = 6 + len(title) * title_pt + len(small[0]) * row_pt
    source_row_pt = _SOURCE_PT * 1.25
    source_pt = len(source_lines) * source_row_pt + (3 if source_lines else 0)
    foot_pt = rows * row_pt + (6 if rows else 0) + len(small[1]) * row_pt + source_pt + 4
    figure, _ = draw_figure(plot, places, head_pt, foot_pt)
    height_pt = drawing_height_pt(plot) + head_pt + foot_pt

    def write(lines: Sequence[str], top_pt: float, **look: Any) -> None:
        figure.text(_MARGIN_PT / WIDTH_PT, 1 - top_pt / height_pt, "\n".join(lines), va="top", linespacing=1.15, **look)

    write(title, 5, fontsize=FONT_PT + 2, fontweight="bold")
    write(small[0], 5 + len(title) * title_pt, fontsize=FONT_PT - 2, color=FAINT)
    write(small[1], height_pt - source_pt - len(small[1]) * row_pt, fontsize=FONT_PT - 2, color=FAINT)
    write(source_lines, height_pt - len(source_lines) * source_row_pt, fontsize=_SOURCE_PT, color=FAINT)
    if entries:
        bottom = (4 + source_pt + len(small[1]) * row_pt) / height_pt
        figure.legend(handles=entries, loc="lower center", bbox_to_anchor=(0.5, bottom), ncols=columns, frameon=False,
                      fontsize=FONT_PT - 1.5, borderpad=0, borderaxespad=0, labelspacing=0.3)  # fmt: skip
    return figure


def _legend_entries(plot: Plot, places: Mapping[str, int]) -> list[Artist]:
    """An entry for each system, as its series look; none where the x axis, or a heat map's title, names them."""
    if plot.heat is not None:
        return []
    if plot.x.form is Form.WORDS and all(any(s in name for name in plot.x.names) for s in plot.systems):
        return []
    entries: list[Artist] = []
    for system in plot.systems:
        system_look, series_of_system = (
            look(places.get(system, 0)),
            [series for series in plot.series if series.system == system and not series.theirs],
        )
        marks = {series.mark for series in series_of_system}
        forms = {series.label for series in series_of_system if series.mark is not Mark.LIMITS}
        # A system with its label where all its series have the same one, such as the form that gives its level.
        (form, *others) = forms or ("",)
        label = textwrap.shorten(f"{system}, {form}" if form and not others else system, 44, placeholder="...")
        if marks == {Mark.BARS}:
            entries.append(
                Patch(fc=system_look.light, lw=0, hatch=system_look.hatch or None, hatchcolor=PAGE, label=label)
            )
            continue
        lined, dotted = marks & {Mark.LINE, Mark.LINE_POINTS, Mark.LIMITS}, marks & {Mark.POINTS, Mark.LINE_POINTS}
        dash = ((0, system_look.dash) if system_look.dash else "solid") if lined else "none"
        marker = system_look.marker if dotted else "none"
        entries.append(Line2D([], [], color=system_look.light, ls=dash, lw=1.7, marker=marker, ms=6, label=label))
    if any(series.theirs for series in plot.series):
        entries.append(Line2D([], [], color=FAINT, ls="none", marker="o", mfc=PAGE, mew=1.5, ms=6, label="published"))
    return entries


def _svg_text(figure: Figure) -> str:
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


def _for_page(text: str, height_pt: float) -> str:
    """The SVG element alone, scaling with its place; systems as classes, colours as variables, no ids twice."""
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<svg [^>]*>", f'<svg viewBox="0 0 {WIDTH_PT:g} {height_pt:g}" aria-hidden="true">', text, count=1)
    text = re.sub(r' id="system-(\d+)"', r' class="system-\1"', text)
    text = re.sub(r' id="(?![hmp][0-9a-f]{10}")[^"]*"', "", text)
    text = re.sub(r"#[0-9a-f]{6}", lambda match: _COLOURS.get(match[0], match[0]), text)
    text = re.sub(r"<style.*?</style>|<defs>\s*</defs>", "", text, flags=re.DOTALL)
    text = re.sub(r"; font-family: [^;\"]*| transform=\"rotate\(-0 [^\"]*\"", "", text)
    text = re.sub(r"<[^>]*>", lambda tag: re.sub(r"(\d\.\d)\d+", r"\1", tag[0]), text)
    return re.sub(r"\n\s*", "\n", text)
