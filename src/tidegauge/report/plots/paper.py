"""Colours of what is no system's, and sizes, of everything that is drawn."""

from __future__ import annotations

INK, FAINT, GRID, PAGE, SPAN = "#1a1a1b", "#5f6368", "#dfe1e5", "#fefefe", "#eef1f6"
"""As drawn on paper; pages replace these by variables of their own."""
WIDTH_PT, HEIGHT_PT = 400.0, 250.0
"""A plot's size in points, which a page may scale: readable at 330 and at 600 pixels."""
FONT_PT = 12.5
LABEL_CHAR_PT = 0.5 * (FONT_PT - 1.5)
"""About what a character of a small label is wide."""
