"""Quantities as people write them in campaign files: durations, sizes, rates, and rates that change.

Every parser raises ValueError, and the messages say what is allowed, so that whoever knows the file and the line can
show them as they are.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tidegauge.errors import did_you_mean
from tidegauge.model.workload import RECORDS_MAX, RatePhase, RateSchedule
from tidegauge.numbers import trimmed

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
_RATE_MIN, _RATE_MAX = 0.001, 1e12
"""Messages a second, or messages: nothing has as many, and what is less or more is a slip of the pen."""
_RATE_FACTORS = {"": 1.0, "k": 1e3, "m": 1e6}

# Longer numbers mean nothing, and the largest of them no float can hold.
_NUMBER = r"([0-9]{1,18}(?:\.[0-9]{1,18})?)"
_QUANTITY = re.compile(rf"{_NUMBER}\s*([A-Za-z]*)")
_SHARE = re.compile(rf"{_NUMBER}\s*%\s*(?:of\s+)?(?:the\s+)?lowest\s+(peak|sustainable)")
_OF_MEMORY = re.compile(rf"{_NUMBER}\s*%\s*(?:of\s+)?(?:the\s+)?server[ -]memory")
_MESSAGES = re.compile(r"(.*\S)\s+messages")
_PERCENT = re.compile(rf"{_NUMBER}\s*%")

DURATION_HELP = "a duration with its unit, such as 500ms, 30s, 5m, 2h or 2d"
SIZE_HELP = "a size such as 100B, 1KiB or 1MiB"
RATE_HELP = (
    "messages a second such as 20000 or 20k, or a share such as '50% of lowest peak' or '50% of lowest sustainable'"
)
ABSOLUTE_RATE_HELP = "messages a second such as 20000 or 20k"
COUNT_HELP = "a number of messages such as 1000, 100k or 1M"
BACKLOG_HELP = "a size such as 2GiB, a count such as '500k messages', or a share such as '150% of server memory'"


@dataclass(frozen=True)
class Rate:
    """An offered rate: absolute, or a share of the lowest measured peak or sustainable rate of the systems compared."""

    msgs_per_s: float | None = None
    share_of_lowest_peak: float | None = None
    share_of_lowest_sustainable: float | None = None

    def __str__(self) -> str:
        if self.share_of_lowest_peak is not None:
            return f"{trimmed(self.share_of_lowest_peak * 100)}% of lowest peak"
        if self.share_of_lowest_sustainable is not None:
            return f"{trimmed(self.share_of_lowest_sustainable * 100)}% of lowest sustainable"
        return f"{trimmed(self.msgs_per_s or 0.0)} msg/s"


@dataclass(frozen=True)
class Backlog:
    """How large a backlog is to be: bytes of message values, messages, or a share of a server's memory."""

    size_bytes: int | None = None
    msgs: int | None = None
    share_of_server_memory: float | None = None
    text: str = ""

    def messages(self, message_bytes: int, server_memory_bytes: int | None) -> int:
        """The backlog in messages, at least one. `ValueError` if it is a share of a memory that is not known."""
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
    if count_match := _MESSAGES.fullmatch(text.lower()):
        return Backlog(msgs=max(1, round(_parse_absolute(count_match.group(1), complaint))), text=text)
    size_bytes = _parse_quantity(text, _SIZE_UNITS_BYTES, complaint)
    if text[-1].isdigit() or size_bytes != int(size_bytes):
        raise ValueError(complaint)
    if size_bytes <= 0:
        raise ValueError("must be above 0")
    return Backlog(size_bytes=int(size_bytes), text=text)


def parse_duration_s(value: object) -> float:
    """Seconds from "30s", "500ms", "5m", "2h", "2d". A bare number is refused: its unit would be a guess."""
    return _parse_quantity(value, _DURATION_UNITS_S, f"must be {DURATION_HELP}", any_case=False)


def parse_size_bytes(value: object) -> int:
    """Bytes from "1KiB", "100B", "1.5MiB" or a whole number of bytes."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    size_bytes = _parse_quantity(value, _SIZE_UNITS_BYTES, f"must be {SIZE_HELP}")
    if size_bytes != int(size_bytes):
        raise ValueError("must be a whole number of bytes")
    return int(size_bytes)


def parse_rate(value: object, *, may_be_zero: bool = False) -> Rate:
    """A `Rate` from 20000, "20k", "1.5M", "50% of lowest peak" or "50% of lowest sustainable"."""
    share = _SHARE.fullmatch(" ".join(value.lower().split())) if isinstance(value, str) else None
    if share is None:
        return Rate(msgs_per_s=_parse_absolute(value, f"must be {RATE_HELP}", may_be_zero=may_be_zero))
    fraction = float(share.group(1)) / 100
    if not 0 < fraction <= 2:
        raise ValueError(f"must be a share above 0% and at most 200% of the lowest {share.group(2)}")
    if share.group(2) == "sustainable":
        return Rate(share_of_lowest_sustainable=fraction)
    return Rate(share_of_lowest_peak=fraction)


def parse_absolute_rate(value: object) -> float:
    """Messages a second from 20000, "20k" or "1.5M"."""
    return _parse_absolute(value, f"must be {ABSOLUTE_RATE_HELP}")


def parse_message_count(value: object) -> int:
    """Messages from 1000, "100k" or "1.5M"."""
    messages = _parse_absolute(value, f"must be {COUNT_HELP}")
    if messages < 1 or messages != int(messages):
        raise ValueError("must be a whole number of messages, 1 or more")
    return int(messages)


def parse_share(value: object) -> float:
    """A share from "5%": 0.05. A bare number is refused: 0.05 and 5 would both be guesses."""
    match = _PERCENT.fullmatch(value.strip()) if isinstance(value, str) else None
    if not match:
        raise ValueError("must be a share such as 5%")
    return float(match.group(1)) / 100


def round_to_two_digits(rate: float) -> float:
    """Round to two significant digits, so that a rate derived from a noisy peak is seen to be a chosen figure."""
    if rate <= 0:
        return rate
    step: float = 10.0 ** (math.floor(math.log10(rate)) - 1)
    return float(f"{round(rate / step) * step:.10g}")


def _parse_absolute(value: object, complaint: str, *, may_be_zero: bool = False) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        msgs_per_s = float(value)
    else:
        msgs_per_s = _parse_quantity(value, _RATE_FACTORS, complaint)
    if not (_RATE_MIN <= msgs_per_s <= _RATE_MAX or (may_be_zero and msgs_per_s == 0)):
        raise ValueError(f"must be {'0, or ' if may_be_zero else ''}from {trimmed(_RATE_MIN)} to 10^12")
    return msgs_per_s


def _parse_quantity(value: object, units: Mapping[str, float], complaint: str, any_case: bool = True) -> float:
    """Parse a number with one of these units. Raises `ValueError` with the complaint."""
    match = _QUANTITY.fullmatch(value.strip()) if isinstance(value, str) else None
    factor = units.get(match[2].lower() if any_case else match[2]) if match else None
    if match is None or factor is None:
        raise ValueError(complaint)
    # Exact for whole factors: 16.1 kB are 16,100 bytes, not a little more.
    return float(Fraction(match[1]) * factor)


RAMP_RECORDS = 10
"""Latencies of a ramp are kept for each tenth of it."""
SCHEDULE_HELP = (
    "a rate, '{steps: [{rate: 10k, for: 30s}, ...]}', '{from: 10k, to: 50k, over: 60s}' "
    "or '{base: 10k, burst: 50k, every: 30s, for: 2s}'"
)
_FORMS = {
    "steps": ("steps",),
    "ramp": ("from", "to", "over"),
    "burst": ("base", "burst", "every", "for"),
    "step": ("rate", "for"),
}


@dataclass(frozen=True)
class RateSpan:
    """A stretch of time with its rates as the file words them, in as many records of equal length."""

    from_rate: Rate
    to_rate: Rate
    length_s: float
    records: int = 1

    def __str__(self) -> str:
        if self.from_rate == self.to_rate:
            return f"{self.from_rate} for {trimmed(self.length_s)} s"
        return f"{self.from_rate} to {self.to_rate} over {trimmed(self.length_s)} s"


@dataclass(frozen=True)
class ScheduleRule:
    """A schedule before its rates are known. A burst repeats its two spans, base and burst, until the window ends."""

    spans: tuple[RateSpan, ...]
    burst: bool = False

    def __str__(self) -> str:
        if self.burst:
            base, burst = self.spans
            every_s = base.length_s + burst.length_s
            return f"{base.from_rate}, {burst.from_rate} for {trimmed(burst.length_s)} s of every {trimmed(every_s)} s"
        return ", then ".join(map(str, self.spans))

    @property
    def length_s(self) -> float:
        """The length of all spans together, once."""
        return sum(span.length_s for span in self.spans)

    @property
    def rates(self) -> tuple[Rate, ...]:
        """Every rate that is named."""
        return tuple(rate for span in self.spans for rate in (span.from_rate, span.to_rate))

    def resolved(self, msgs_per_s: Callable[[Rate], float]) -> RateSchedule:
        """The schedule in messages a second."""
        phases: list[RatePhase] = []
        names: list[str] = []
        begin_s = 0.0
        for number, span in enumerate(self.spans):
            low, high = msgs_per_s(span.from_rate), msgs_per_s(span.to_rate)
            part_s = span.length_s / span.records
            for part in range(span.records):
                first = low + (high - low) * part / span.records
                last = low + (high - low) * (part + 1) / span.records
                phases.append(RatePhase(first, last, part_s, len(names)))
                names.append(
                    ("base", "burst")[number] if self.burst else f"{trimmed(begin_s)} to {trimmed(begin_s + part_s)} s"
                )
                begin_s += part_s
        return RateSchedule(tuple(phases), tuple(names), self.burst)


def parse_rate_or_schedule(value: object) -> Rate | ScheduleRule:
    """A `Rate`, or a `ScheduleRule` from a mapping."""
    if isinstance(value, Rate | ScheduleRule):
        return value
    if not isinstance(value, Mapping):
        return parse_rate(value)
    for mark, form in (
        ("steps", _parse_steps),
        ("to", lambda ramp: ScheduleRule((_parse_ramp(ramp),))),
        ("burst", _parse_burst),
    ):
        if mark in value:
            rule = form(value)
            if all(rate.msgs_per_s == 0 for rate in rule.rates):
                raise ValueError("sends nothing: one of its rates must be above 0")
            return rule
    raise ValueError(f"must be {SCHEDULE_HELP}")


def _parse_steps(value: Mapping[Any, Any]) -> ScheduleRule:
    _check_keys(value, "steps")
    steps = value["steps"]
    if not isinstance(steps, list) or not steps:
        raise ValueError("'steps' must be a list of '{rate: 10k, for: 30s}' or '{from: 10k, to: 50k, over: 60s}'")
    spans = tuple(_parse_span_of_step(step, number) for number, step in enumerate(steps, 1))
    records = sum(span.records for span in spans)
    if records > RECORDS_MAX:
        raise ValueError(f"'steps': {records} records of latency (a ramp has {RAMP_RECORDS}); at most {RECORDS_MAX}")
    return ScheduleRule(spans)


def _parse_span_of_step(value: object, number: int) -> RateSpan:
    try:
        if isinstance(value, Mapping) and "to" in value:
            return _parse_ramp(value)
        if not isinstance(value, Mapping):
            raise ValueError("must be '{rate: 10k, for: 30s}' or '{from: 10k, to: 50k, over: 60s}'")
        _check_keys(value, "step")
        rate = _parse_rate_of(value, "rate")
        return RateSpan(rate, rate, _parse_seconds(value, "for"))
    except ValueError as error:
        raise ValueError(f"step {number}: {error}") from error


def _parse_ramp(value: Mapping[Any, Any]) -> RateSpan:
    _check_keys(value, "ramp")
    low, high = _parse_rate_of(value, "from"), _parse_rate_of(value, "to")
    return RateSpan(low, high, _parse_seconds(value, "over"), RAMP_RECORDS)


def _parse_burst(value: Mapping[Any, Any]) -> ScheduleRule:
    _check_keys(value, "burst")
    every_s, burst_s = _parse_seconds(value, "every"), _parse_seconds(value, "for")
    if burst_s >= every_s:
        raise ValueError("'for', the length of a burst, must be shorter than 'every'")
    base, burst = _parse_rate_of(value, "base"), _parse_rate_of(value, "burst")
    return ScheduleRule((RateSpan(base, base, every_s - burst_s), RateSpan(burst, burst, burst_s)), burst=True)


def _check_keys(value: Mapping[Any, Any], form: str) -> None:
    keys = list(_FORMS[form])
    for key in value:
        if key not in keys:
            raise ValueError(f"unknown key '{key}'{did_you_mean(str(key), keys)}; allowed: {', '.join(keys)}")
    missing = [key for key in keys if key not in value]
    if missing:
        raise ValueError(f"the key '{missing[0]}' is missing; needed: {', '.join(keys)}")


def _parse_rate_of(value: Mapping[Any, Any], key: str) -> Rate:
    try:
        return parse_rate(value[key], may_be_zero=True)
    except ValueError as error:
        raise ValueError(f"'{key}': {error}") from error


def _parse_seconds(value: Mapping[Any, Any], key: str) -> float:
    try:
        length_s = parse_duration_s(value[key])
    except ValueError as error:
        raise ValueError(f"'{key}': {error}") from error
    if length_s < 1:
        raise ValueError(f"'{key}': must be at least 1s")
    return length_s
