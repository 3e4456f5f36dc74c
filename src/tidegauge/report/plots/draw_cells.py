"""Draws the cells of a heat map: what is measured in colour, what is doubted hatched, what is INVALID crossed."""

from __future__ import annotations

import math

from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_hex, to_rgb
from matplotlib.patches import Rectangle
from matplotlib.typing import ColorType

from tidegauge.model.trial import Validity
from tidegauge.report.plots.model import Axis, Cell, Scale, Series
from tidegauge.report.plots.paper import FAINT, FONT_PT, INK, PAGE

LEAST, MOST = "#e3eef9", "#08306b"
"""The colours of the least and of the largest value, between which the others lie. On a dark page they are the same."""
DARK_TEXT, LIGHT_TEXT = "#000000", "#ffffff"
HATCH = "///"
_SHADES = LinearSegmentedColormap.from_list("cells", [LEAST, "#9ecae1", "#4292c6", MOST])
_DARK_TEXT_FROM = 0.179
"""On a colour of more light than this dark text is easier to read than light text."""
_CELL_PT_MIN = 6.0


def draw_cells(axes: Axes, series: Series, heat: Axis, gid: str) -> None:
    """Draw each cell at its place, with its figure and its verdict in it; where there is no cell nothing is drawn."""
    # The letters have the size in which every cell's lines fit into it.
    longest = max((len(line) for cell in series.cells for line in lines_of_cell(cell, heat)), default=1)
    wide_pt = axes.bbox.width / max(1.0, abs(axes.get_xlim()[1] - axes.get_xlim()[0]))
    size_pt = max(_CELL_PT_MIN, min(FONT_PT - 1, 0.88 * wide_pt / (0.58 * longest)))
    for x, y, cell in zip(series.x, series.y, series.cells, strict=True):
        shade = shade_of(cell, heat)
        place = (x - 0.47, (y or 0.0) - 0.46)
        doubtful = cell.validity is Validity.DOUBTFUL and cell.value is not None
        axes.add_patch(
            Rectangle(
                place, 0.94, 0.92, facecolor=PAGE if shade is None else colour_of_shade(shade), edgecolor=FAINT,
                lw=0 if shade is not None else 0.8, hatch=HATCH if doubtful else None, hatchcolor=FAINT,
                hatch_linewidth=0.7, gid=gid, zorder=1,
            )
        )  # fmt: skip
        if cell.validity is Validity.INVALID:
            for ends in ((place[1], place[1] + 0.92), (place[1] + 0.92, place[1])):
                axes.plot((place[0], place[0] + 0.94), ends, color=FAINT, lw=0.8, gid=gid, zorder=2)
        # On paper of its own where the cell is hatched or crossed.
        box = None if cell.validity is Validity.VALID else {"facecolor": PAGE, "edgecolor": "none", "pad": 1.0}
        axes.text(
            x, y or 0.0, "\n".join(lines_of_cell(cell, heat)), ha="center", va="center", fontsize=size_pt,
            color=INK if shade is None else text_colour(shade), linespacing=1.1, bbox=box, gid=gid, zorder=3,
        )  # fmt: skip


def colour_of_shade(shade: float) -> str:
    """The colour of a shade from 0 to 1."""
    return to_hex(_SHADES(shade))


def text_colour(shade: float) -> str:
    """The colour of text on a cell of this shade."""
    return DARK_TEXT if light_of_colour(colour_of_shade(shade)) > _DARK_TEXT_FROM else LIGHT_TEXT


def light_of_colour(colour: ColorType) -> float:
    """How much light a colour gives, from 0 to 1: its relative luminance, as WCAG 2 defines it."""
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in to_rgb(colour))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def lines_of_cell(cell: Cell, heat: Axis) -> list[str]:
    """What is written in a cell: its figure or why there is none, then its verdict."""
    return [cell.lack or heat.text(cell.value), *([cell.verdict] if cell.verdict else [])]


def shade_of(cell: Cell, heat: Axis) -> float | None:
    """How dark a cell is, from 0 for the least value to 1; None where its figure is none that was measured for sure."""
    if cell.value is None or cell.validity is not Validity.VALID or heat.span is None:
        return None
    low, high = heat.span
    value = cell.value
    if heat.scale is Scale.LOG:
        low, high, value = math.log(low), math.log(high), math.log(value)
    return 0.0 if high <= low else min(1.0, max(0.0, (value - low) / (high - low)))
