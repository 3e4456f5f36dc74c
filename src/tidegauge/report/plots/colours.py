"""Colours, dashes and markers of systems: told apart without colour too.

The colours are those of Okabe and Ito ("Color Universal Design", 2008), which people with any common kind of colour
blindness can tell apart. On a dark page some are lighter; both sets have a contrast of 3:1 to their page at least.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Look:
    """How one system is drawn. `dash` is matplotlib's: off and on lengths in points, () for a solid line."""

    light: str
    dark: str
    dash: tuple[float, ...]
    marker: str


LOOKS = (
    Look("#0072b2", "#56b4e9", (), "o"),
    Look("#d55e00", "#ff8a3d", (6.0, 2.0), "s"),
    Look("#009e73", "#2fcf9f", (2.0, 1.5), "^"),
    Look("#b5508c", "#e69ac8", (7.0, 2.0, 1.5, 2.0), "D"),
    Look("#8a6d00", "#e6c229", (3.0, 3.0), "v"),
    Look("#2b6f8f", "#8fd3f4", (1.0, 1.0), "P"),
)
"""By a system's place among those of the run; with more systems they begin anew."""

INK, FAINT, GRID, PAGE, SPAN = "#1a1a1b", "#5f6368", "#dfe1e5", "#fefefe", "#eef1f6"
"""What is no system's, as drawn on paper; pages replace these by variables of their own."""


def look(place: int) -> Look:
    """The look of the system at this place, from 0."""
    return LOOKS[place % len(LOOKS)]
