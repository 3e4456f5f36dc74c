"""Figures as text, three significant digits for times, since histograms keep three; and quantities read from text."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal

SHARE_MIN = 1e-4
"""Smaller shares are reported as "under" this: nobody acts on them."""
MISSING = "-"
"""Stands where there is no figure; a footnote says why."""


def ms(value: float | None) -> str:
    """A time in ms: <0.001, 0.123, 1.23, 12.3, 123, 1,234."""
    if value is None or not math.isfinite(value):
        return MISSING
    if 0 < abs(value) < 0.0005:
        return "<0.001"
    for limit, digits in ((0.9995, 3), (9.995, 2), (99.95, 1)):
        if abs(value) < limit:
            return f"{value:.{digits}f}"
    return f"{value:,.0f}"


def count(value: float | None) -> str:
    """A count or a rate: 1,234; of small rates that are not whole three digits: 0.001, 0.5, 2.33."""
    if value is None or not math.isfinite(value):
        return MISSING
    if abs(value) < 9.95 and abs(value - round(value)) >= (0.005 if abs(value) >= 0.5 else 0.0005):
        return f"{value:.3g}"
    return f"{value:,.0f}"


def short(value: float | None) -> str:
    """A figure with three significant digits, from 0.01 on: 0.42, 20.5, 1,234."""
    if value is None or not math.isfinite(value):
        return MISSING
    if abs(value) < 9.995:
        return f"{value:.2f}"
    return f"{value:.1f}" if abs(value) < 99.95 else f"{value:,.0f}"


def in_unit(value: float | None, unit: str) -> str:
    """A figure as those of its unit ("" for a count) are written, without the unit."""
    return {"ms": ms, "s": short, "MB/s": short, "cores": short}.get(unit, count)(value)


def precise(value: float | None) -> str:
    """A figure with three significant digits, however small it is: 0.0123, 0.42, 20.5, 1,234."""
    return in_full(value, 3) if value is not None and value < 0.1 else short(value)


def bounds_in_words(least: float | None, most: float | None) -> str:
    """What follows "a number" where it has bounds: " of at least 1", " of at most 9", " from 1 to 9", or nothing."""
    if least is None:
        return "" if most is None else f" of at most {most}"
    return f" of at least {least}" if most is None else f" from {least} to {most}"


_SIZES = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def size(size_bytes: float, digits: int = 4, whole: str = "B") -> str:
    """A size with so many significant digits: "100 B", "1 KiB", "1.5 MiB"; `whole` stands after single bytes."""
    unit, name = next(((unit, name) for unit, name in _SIZES if size_bytes >= unit), (1, whole))
    value = size_bytes / unit
    return f"{value:.0f} {name}" if unit == 1 or value >= 10**digits - 0.5 else f"{value:.{digits}g} {name}"


def gib(size_bytes: int) -> str:
    """A large size: "0.3 GiB", "1,024.0 GiB"."""
    return f"{size_bytes / (1 << 30):,.1f} GiB"


def mb_per_s(bytes_per_s: float | None, missing: str = MISSING) -> str:
    """A rate of bytes: "20.5 MB/s"."""
    return missing if bytes_per_s is None else f"{short(bytes_per_s / 1e6)} MB/s"


def trimmed(value: float) -> str:
    """A number as people write one, whole ones in full and others with up to 7 digits: 99.9, 1000000, 0.000001."""
    if not math.isfinite(value):
        return str(value)
    digits = max(7, len(f"{abs(value):.0f}"))
    return in_full(value, digits)


def in_full(value: float, digits: int) -> str:
    """A number with so many significant digits, however small or large it is without an exponent: 0.000012."""
    return f"{Decimal(f'{value:.{digits}g}'):f}"


def duration(seconds: float) -> str:
    """A length of time: "0.5 s", "42 s", "3 min 20 s", "1 h 5 min"."""
    if seconds < 9.95:
        return f"{seconds:.3g} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min" + (f" {whole % 60} s" if whole % 60 else "")
    return f"{whole // 3600} h" + (f" {whole % 3600 // 60} min" if whole % 3600 // 60 else "")


def plural(number: int, word: str) -> str:
    """ "1 topic", "3 topics"."""
    return f"{number:,} {word}" + ("" if number == 1 else "s")


def of_all(number: int, total: int, word: str) -> str:
    """So many of a number of things: "3 of 6 trials", "all 6 trials", "both trials", "the only trial"."""
    if number != total:
        return f"{number:,} of {plural(total, word)}"
    whole = {1: f"the only {word}", 2: f"both {word}s"}
    return whole.get(total, f"all {plural(total, word)}")


def join_first(words: Sequence[str], most: int, separator: str = ", ") -> str:
    """The first of many: "a, b and 4 more"."""
    more = f" and {len(words) - most} more" if len(words) > most else ""
    return f"{separator.join(words[:most])}{more}"


def capitalized(words: str) -> str:
    """Words to begin a sentence with; names in them stay as they are."""
    return f"{words[:1].upper()}{words[1:]}"


def as_sentence(words: str) -> str:
    """Words as a sentence, with a capital and one full stop."""
    return f"{capitalized(words).rstrip('.')}."


def join_with_and(words: Sequence[str]) -> str:
    """ "a, b and c"."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def parse_time(iso: str) -> datetime:
    """The UTC time of a file's text, in UTC where it names no zone. Raises `ValueError` if it is none that can be."""
    moment = datetime.fromisoformat(iso)
    if not 1970 < moment.year < 9999:
        raise ValueError(f"'{iso}' is no time at which anything was measured")
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)


def local_time(iso: str) -> str:
    """A UTC time of a run file in this machine's time zone: "2026-11-21 03:24:36 UTC"; as it stands if it is none."""
    try:
        return parse_time(iso).astimezone().strftime("%Y-%m-%d %H:%M:%S %Z")
    except ValueError:
        return iso


def percent(share: float) -> str:
    """A share: 3%, 0.5%, 120%; of very small ones only that they are."""
    value = 100 * share
    if 0 < share < SHARE_MIN:
        return f"under {trimmed(100 * SHARE_MIN)}%"
    return f"{value:.2g}%" if value < 9.5 else f"{value:,.0f}%"


CHANGE_MIN = 1e-3
"""Changes are written down to this: smaller ones change nothing that anybody would do."""


def change_between(low: float, high: float) -> str:
    """How far a figure may lie below and above, given as shares of it: "-3% to +12%", "-0.2% to +0.4%", "0% to +2%".

    "under 0.1% either way" where both ends are nearer than that.
    """
    if max(abs(low), abs(high)) < CHANGE_MIN / 2:
        return f"under {percent(CHANGE_MIN)} either way"
    return f"{_end_of_change(low)} to {_end_of_change(high)}"


def _end_of_change(share: float) -> str:
    if abs(share) < CHANGE_MIN / 2:
        return "0%"
    return f"{share:+.1%}" if abs(share) < 0.0095 else f"{share:+.0%}"


def factor(value: float) -> str:
    """A ratio: 0.0012, 0.41, 12.3, 1,234."""
    return f"{value:.2g}" if 0 < value < 0.095 else short(value)


def rounded(value: float, digits: int = 3) -> str:
    """So many significant digits, whole numbers in full, and never an exponent for large ones."""
    return f"{value:,.0f}" if abs(value) >= 9.95 * 10 ** (digits - 2) else f"{value:.{digits}g}"


_QUANTITY = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z%]*)")
_UNITS = {
    "": 1.0, "b": 1.0, "kib": 2.0**10, "mib": 2.0**20, "gib": 2.0**30, "kb": 1e3, "mb": 1e6, "gb": 1e9,
    "k": 1e3, "M": 1e6, "%": 0.01, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86_400.0,
}  # fmt: skip
"""Those of `config.units`, in small letters but for the million, which is no minute."""


def leading_quantity(value: str) -> float | None:
    """The quantity that a value begins with ("4" of "4 bypass"); None if it does not begin with one."""
    match = _QUANTITY.match(value)
    if match is None:
        return None
    unit = _UNITS.get(match[2], _UNITS.get(match[2].lower()))
    return None if unit is None else float(match[1]) * unit


def quantity(value: str) -> float | None:
    """The quantity that a value is, in its unit's base: 1024.0 for "1KiB"; None for "4 bypass" or "4.3.1"."""
    return leading_quantity(value) if _QUANTITY.fullmatch(value) else None


_WHOLE = re.compile(r"[0-9]{1,19}")


def whole_number(text: str) -> int | None:
    """The number that decimal digits are; None for any other text, and for more digits than a Java long has.

    Python raises an error of its own for thousands of digits, which servers of others and their users may write.
    """
    return int(text) if _WHOLE.fullmatch(text) else None
