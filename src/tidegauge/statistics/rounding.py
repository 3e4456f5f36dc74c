"""Numbers inside sentences."""

from __future__ import annotations


def short(value: float, digits: int = 3) -> str:
    """So many significant digits, whole numbers in full, and never an exponent for large ones."""
    return f"{value:,.0f}" if abs(value) >= 9.95 * 10 ** (digits - 2) else f"{value:.{digits}g}"
