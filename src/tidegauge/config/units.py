"""Quantities as people write them in campaign files: durations, sizes, rates. Every parser raises ValueError.

The messages say what is allowed, so that whoever knows the file and the line can show them as they are.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

_DURATION_UNITS_S = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86_400.0}
_SIZE_UNITS_BYTES = {
    "b": 1,
    "": 1,
    "kib": 1 << 10,
    "mib": 1 << 20,
    "gib": 1 << 30,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
}
_RATE_FACTORS = {"": 1.0, "k": 1e3, "m": 1e6}

_QUANTITY = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)")
_SHARE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*%\s*(?:of\s+)?(?:the\s+)?lowest\s+(peak|sustainable)")
_OF_MEMORY = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*%\s*(?:of\s+)?(?:the\s+)?server[ -]memory")
_MESSAGES = re.compile(r"(.*\S)\s+messages")
_PERCENT = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*%")

DURATION_HELP = "a duration with its unit, such as 500ms, 30s, 5m, 2h or 2d"
SIZE_HELP = "a size such as 100B, 1KiB or 1MiB"
RATE_HELP = (
    "messages a second such as 20000 or 20k, or a share such as '50% of lowest peak' or '50% of lowest sustainable'"
)
ABSOLUTE_RATE_HELP = "messages a second such as 20000 or 20k"
BACKLOG_HELP = "a size such as 2GiB, a count such as '500k messages', or a share such as '150% of server memory'"


@dataclass(frozen=True)
class Rate:
    """An offered rate: absolute, or a share of the lowest measured peak or sustainable rate of the systems compared."""

    msgs_per_s: float | None = None
    share_of_lowest_peak: float | None = None
    share_of_lowest_sustainable: float | None = None

    def __str__(self) -> str:
        if self.share_of_lowest_peak is not None:
            return f"{self.share_of_lowest_peak * 100:g}% of lowest peak"
        if self.share_of_lowest_sustainable is not None:
            return f"{self.share_of_lowest_sustainable * 100:g}% of lowest sustainable"
        return f"{self.msgs_per_s:g} msg/s"


@dataclass(frozen=True)
class Backlog:
    """How large a backlog is to be: bytes of message values, messages, or a share of a server's memory."""

    size_bytes: int | None = None
    msgs: int | None = None
    share_of_server_memory: float | None = None
    text: str = ""

    def messages(self, message_bytes: int, server_memory_bytes: int | None) -> int:
        """In messages, at least one. ValueError if it is a share of a memory that is not known."""
        if self.msgs is not None:
            return self.msgs
        size_bytes = self.size_bytes
        if self.share_of_server_memory is not None:
            if server_memory_bytes is None:
                raise ValueError(f"'{self.text}' needs a known server memory")
            size_bytes = round(self.share_of_server_memory * server_memory_bytes)
        return max(1, -(-(size_bytes or 0) // message_bytes))

    def __str__(self) -> str:
        return self.text


def parse_backlog(value: object) -> Backlog:
    """A `Backlog` from "2GiB", "500k messages" or "150% of server memory". A bare number is refused: of what?"""
    complaint = f"must be {BACKLOG_HELP}"
    if not isinstance(value, str):
        raise ValueError(complaint)
    text = " ".join(value.split())
    if share := _OF_MEMORY.fullmatch(text.lower()):
        fraction = float(share.group(1)) / 100
        if not 0 < fraction <= 100:
            raise ValueError("must be a share above 0% and at most 10000% of server memory")
        return Backlog(share_of_server_memory=fraction, text=text)
    if counted := _MESSAGES.fullmatch(text.lower()):
        return Backlog(msgs=max(1, round(_parse_absolute(counted.group(1), complaint))), text=text)
    size_bytes = _quantity(text, _SIZE_UNITS_BYTES, complaint)
    if text[-1].isdigit() or size_bytes != int(size_bytes):
        raise ValueError(complaint)
    if size_bytes <= 0:
        raise ValueError("must be above 0")
    return Backlog(size_bytes=int(size_bytes), text=text)


def parse_duration_s(value: object) -> float:
    """Seconds from "30s", "500ms", "5m", "2h", "2d". A bare number is refused: its unit would be a guess."""
    return _quantity(value, _DURATION_UNITS_S, f"must be {DURATION_HELP}", any_case=False)


def parse_size_bytes(value: object) -> int:
    """Bytes from "1KiB", "100B", "1.5MiB" or a whole number of bytes."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    size_bytes = _quantity(value, _SIZE_UNITS_BYTES, f"must be {SIZE_HELP}")
    if size_bytes != int(size_bytes):
        raise ValueError("must be a whole number of bytes")
    return int(size_bytes)


def parse_rate(value: object) -> Rate:
    """A `Rate` from 20000, "20k", "1.5M", "50% of lowest peak" or "50% of lowest sustainable"."""
    share = _SHARE.fullmatch(" ".join(value.lower().split())) if isinstance(value, str) else None
    if share is None:
        return Rate(msgs_per_s=_parse_absolute(value, f"must be {RATE_HELP}"))
    fraction = float(share.group(1)) / 100
    if not 0 < fraction <= 2:
        raise ValueError(f"must be a share above 0% and at most 200% of the lowest {share.group(2)}")
    if share.group(2) == "sustainable":
        return Rate(share_of_lowest_sustainable=fraction)
    return Rate(share_of_lowest_peak=fraction)


def parse_absolute_rate(value: object) -> float:
    """Messages a second from 20000, "20k" or "1.5M"."""
    return _parse_absolute(value, f"must be {ABSOLUTE_RATE_HELP}")


def parse_share(value: object) -> float:
    """A share from "5%": 0.05. A bare number is refused: 0.05 and 5 would both be guesses."""
    match = _PERCENT.fullmatch(value.strip()) if isinstance(value, str) else None
    if not match:
        raise ValueError("must be a share such as 5%")
    return float(match.group(1)) / 100


def round_to_two_digits(rate: float) -> float:
    """Two significant digits, so that a rate derived from a noisy peak reads as what it is: a chosen round figure."""
    if rate <= 0:
        return rate
    step: float = 10.0 ** (math.floor(math.log10(rate)) - 1)
    return float(f"{round(rate / step) * step:.10g}")


def _parse_absolute(value: object, complaint: str) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        msgs_per_s = float(value)
    else:
        msgs_per_s = _quantity(value, _RATE_FACTORS, complaint)
    if not math.isfinite(msgs_per_s) or msgs_per_s <= 0:
        raise ValueError("must be above 0")
    return msgs_per_s


def _quantity(value: object, units: Mapping[str, float], complaint: str, any_case: bool = True) -> float:
    """A number with one of these units."""
    match = _QUANTITY.fullmatch(value.strip()) if isinstance(value, str) else None
    factor = units.get(match[2].lower() if any_case else match[2]) if match else None
    if match is None or factor is None:
        raise ValueError(complaint)
    return float(match[1]) * factor
