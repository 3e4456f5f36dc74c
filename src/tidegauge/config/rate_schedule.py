"""Rates that change as a campaign file words them: steps, a ramp, a burst. Every parser raises ValueError."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tidegauge.config.units import Rate, parse_duration_s, parse_rate
from tidegauge.errors import nearest
from tidegauge.model.workload import RECORDS_MAX, RatePhase, RateSchedule

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
            return f"{self.from_rate} for {self.length_s:g} s"
        return f"{self.from_rate} to {self.to_rate} over {self.length_s:g} s"


@dataclass(frozen=True)
class ScheduleRule:
    """A schedule before its rates are known. A burst repeats its two spans, base and burst, until the window ends."""

    spans: tuple[RateSpan, ...]
    burst: bool = False

    def __str__(self) -> str:
        if self.burst:
            base, burst = self.spans
            every_s = base.length_s + burst.length_s
            return f"{base.from_rate}, {burst.from_rate} for {burst.length_s:g} s of every {every_s:g} s"
        return ", then ".join(map(str, self.spans))

    @property
    def length_s(self) -> float:
        """Of all spans once."""
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
                names.append(("base", "burst")[number] if self.burst else f"{begin_s:g} to {begin_s + part_s:g} s")
                begin_s += part_s
        return RateSchedule(tuple(phases), tuple(names), self.burst)


def parse_rate_or_schedule(value: object) -> Rate | ScheduleRule:
    """A `Rate`, or a `ScheduleRule` from a mapping."""
    if isinstance(value, Rate | ScheduleRule):
        return value
    if not isinstance(value, Mapping):
        return parse_rate(value)
    for mark, form in (("steps", _steps), ("to", _ramp_alone), ("burst", _burst)):
        if mark in value:
            return form(value)
    raise ValueError(f"must be {SCHEDULE_HELP}")


def _steps(value: Mapping[Any, Any]) -> ScheduleRule:
    _check_keys(value, "steps")
    steps = value["steps"]
    if not isinstance(steps, list) or not steps:
        raise ValueError("'steps' must be a list of '{rate: 10k, for: 30s}' or '{from: 10k, to: 50k, over: 60s}'")
    spans = tuple(_step(step, number) for number, step in enumerate(steps, 1))
    records = sum(span.records for span in spans)
    if records > RECORDS_MAX:
        raise ValueError(f"'steps': {records} records of latency (a ramp has {RAMP_RECORDS}); at most {RECORDS_MAX}")
    return ScheduleRule(spans)


def _step(value: object, number: int) -> RateSpan:
    try:
        if isinstance(value, Mapping) and "to" in value:
            return _ramp(value)
        if not isinstance(value, Mapping):
            raise ValueError("must be '{rate: 10k, for: 30s}' or '{from: 10k, to: 50k, over: 60s}'")
        _check_keys(value, "step")
        rate = parse_rate(value["rate"])
        return RateSpan(rate, rate, _seconds(value, "for"))
    except ValueError as error:
        raise ValueError(f"step {number}: {error}") from error


def _ramp(value: Mapping[Any, Any]) -> RateSpan:
    _check_keys(value, "ramp")
    return RateSpan(parse_rate(value["from"]), parse_rate(value["to"]), _seconds(value, "over"), RAMP_RECORDS)


def _ramp_alone(value: Mapping[Any, Any]) -> ScheduleRule:
    return ScheduleRule((_ramp(value),))


def _burst(value: Mapping[Any, Any]) -> ScheduleRule:
    _check_keys(value, "burst")
    every_s, burst_s = _seconds(value, "every"), _seconds(value, "for")
    if burst_s >= every_s:
        raise ValueError("'for', the length of a burst, must be shorter than 'every'")
    base, burst = parse_rate(value["base"]), parse_rate(value["burst"])
    return ScheduleRule((RateSpan(base, base, every_s - burst_s), RateSpan(burst, burst, burst_s)), burst=True)


def _check_keys(value: Mapping[Any, Any], form: str) -> None:
    keys = list(_FORMS[form])
    for key in value:
        if key not in keys:
            raise ValueError(f"unknown key '{key}'{nearest(str(key), keys)}; allowed: {', '.join(keys)}")
    missing = [key for key in keys if key not in value]
    if missing:
        raise ValueError(f"the key '{missing[0]}' is missing; needed: {', '.join(keys)}")


def _seconds(value: Mapping[Any, Any], key: str) -> float:
    try:
        length_s = parse_duration_s(value[key])
    except ValueError as error:
        raise ValueError(f"'{key}': {error}") from error
    if length_s < 1:
        raise ValueError(f"'{key}': must be at least 1s")
    return length_s
