"""Colours, dashes and markers of systems: told apart without colour too.

The colours are those of Okabe and Ito ("Color Universal Design", 2008), which people with any common kind of colour
blindness can tell apart. On a dark page some are lighter; both sets have a contrast of 3:1 to their page at least.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Look:
    """How one system is drawn. `dash` is matplotlib's: off and on lengths in points, () for a solid line.

    `shape`: `marker` as an SVG path around (17, 6), for a page's legend.
    """

    light: str
    dark: str
    dash: tuple[float, ...]
    marker: str
    shape: str


LOOKS = (
    Look("#0072b2", "#56b4e9", (), "o", "M13 6a4 4 0 1 0 8 0a4 4 0 1 0-8 0Z"),
    Look("#d55e00", "#ff8a3d", (6.0, 2.0), "s", "M13 2h8v8h-8Z"),
    Look("#009e73", "#2fcf9f", (2.0, 1.5), "^", "M17 1.5l4.5 8.5h-9Z"),
    Look("#b5508c", "#e69ac8", (7.0, 2.0, 1.5, 2.0), "D", "M17 1l5 5l-5 5l-5-5Z"),
    Look("#8a6d00", "#e6c229", (3.0, 3.0), "v", "M17 10.5l-4.5-8.5h9Z"),
    Look("#2b6f8f", "#8fd3f4", (1.0, 1.0), "P", "M15.5 2h3v2.5h2.5v3h-2.5v2.5h-3v-2.5h-2.5v-3h2.5Z"),
)
"""By a system's place among those of the run; with more systems they begin anew."""

INK, FAINT, GRID, PAGE, SPAN = "#1a1a1b", "#5f6368", "#dfe1e5", "#fefefe", "#eef1f6"
"""What is no system's, as drawn on paper; pages replace these by variables of their own."""


def look(place: int) -> Look:
    """The look of the system at this place, from 0."""
    return LOOKS[place % len(LOOKS)]
