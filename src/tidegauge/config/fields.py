"""The field types that configuration models are made of. Keys are written with hyphens: `message-size`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict
from pydantic_core import PydanticCustomError

from tidegauge.config.units import (
    Backlog,
    Rate,
    ScheduleRule,
    parse_absolute_rate,
    parse_backlog,
    parse_duration_s,
    parse_message_count,
    parse_rate,
    parse_rate_or_schedule,
    parse_share,
    parse_size_bytes,
)
from tidegauge.errors import did_you_mean

_Number = TypeVar("_Number", int, float)


class Fields(BaseModel):
    """Base of every configuration model: unknown keys and wrong types are errors, values never change.

    Attributes:
        key_missing: the complaint where a key is missing; other keys' values may stand in it, by {key}.
        other_keys_refused: the complaint, in a variant of a union, about a key that only other variants have.
    """

    key_missing: ClassVar[str] = "this key is missing"
    other_keys_refused: ClassVar[str] = ""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        frozen=True,
        alias_generator=lambda name: name.replace("_", "-"),
        validate_by_name=True,
        validate_by_alias=True,
    )


REFUSED = "refused"


def refuse_value(text: str, *key: str) -> PydanticCustomError:
    """The error of a value that messages must not repeat, such as a secret. `key`: the one of a mapping to blame."""
    return PydanticCustomError(REFUSED, "{text}", {"text": text, "key": key})


def quantity_between(low: str, high: str, parse: Callable[[str], _Number]) -> Callable[[_Number], _Number]:
    """A check that a quantity lies between two, which are given as text so that messages fit."""
    least, most = parse(low), parse(high)

    def check(value: _Number) -> _Number:
        if not least <= value <= most:
            raise ValueError(f"must be from {low} to {high}")
        return value

    return check


def duration_between(low: str, high: str) -> AfterValidator:
    """A check that a duration in seconds lies between two."""
    return AfterValidator(quantity_between(low, high, parse_duration_s))


def size_between(low: str, high: str) -> AfterValidator:
    """A check that a size in bytes lies between two."""
    return AfterValidator(quantity_between(low, high, parse_size_bytes))


def share_between(low: str, high: str) -> AfterValidator:
    """A check that a share lies between two."""
    return AfterValidator(quantity_between(low, high, parse_share))


def text_matching(pattern: str, complaint: str) -> AfterValidator:
    """A check that all of a text matches a pattern."""

    def check(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise ValueError(complaint)
        return text

    return AfterValidator(check)


def one_of(allowed: Sequence[str], kind: type[str] = str) -> BeforeValidator:
    """A parser of one of several words, which becomes one of that kind."""

    def parse(value: Any) -> str:
        if value not in allowed:
            raise ValueError(f"must be one of {', '.join(allowed)}{did_you_mean(str(value), list(allowed))}")
        return kind(value)

    return BeforeValidator(parse)


def mapping_such_as(example: str) -> BeforeValidator:
    """A check that something is a mapping, before its keys are looked at."""

    def check(value: Any) -> Any:
        if not isinstance(value, dict):
            raise ValueError(f"must be a mapping such as {example}")
        return value

    return BeforeValidator(check)


def member_of(kind: type[StrEnum], without: frozenset[str] = frozenset()) -> BeforeValidator:
    """A parser of an enumeration's members; `without` are those that a file may not ask for."""
    return one_of([member.value for member in kind if member.value not in without], kind)


def parse_settings(value: Any) -> dict[str, str]:
    """A mapping of a system's own settings. Numbers and true/false become text as that system writes them."""
    if not isinstance(value, dict):
        raise ValueError("must be a mapping of the system's own settings, 'name: value'")
    settings = {}
    for name, setting in value.items():
        if isinstance(setting, bool):
            settings[name] = "true" if setting else "false"
        elif isinstance(setting, str | int | float):
            settings[name] = str(setting)
        else:
            raise ValueError(f"the setting '{name}' must be one value: text, a number, true or false")
    return settings


Duration = Annotated[float, BeforeValidator(parse_duration_s)]
"""Seconds, from "30s"."""

Size = Annotated[int, BeforeValidator(parse_size_bytes)]
"""Bytes, from "1KiB"."""

OfferedRate = Annotated[Rate, BeforeValidator(parse_rate)]
"""A `Rate`, from 20000, "20k", "50% of lowest peak" or "50% of lowest sustainable"."""

RateOrSchedule = Annotated[Rate | ScheduleRule, BeforeValidator(parse_rate_or_schedule)]
"""The same, or steps, a ramp or bursts of it."""

AbsoluteRate = Annotated[float, BeforeValidator(parse_absolute_rate)]
"""Messages a second, from 20000 or "20k"."""

BacklogSize = Annotated[Backlog, BeforeValidator(parse_backlog)]
"""A `Backlog`, from "2GiB", "500k messages" or "150% of server memory"."""

MessageCount = Annotated[int, BeforeValidator(parse_message_count)]
"""A number of messages, from 1000, "100k" or "1M"."""

Share = Annotated[float, BeforeValidator(parse_share)]
"""A share, 0.05 from "5%"."""

Settings = Annotated[dict[str, str], BeforeValidator(parse_settings)]
"""A system's own settings."""

WarmUpMin = Annotated[Duration, duration_between("1s", "1h")]
WarmUpMax = Annotated[Duration, duration_between("1s", "2h")]
MeasureTime = Annotated[Duration, duration_between("1s", "30d")]
DrainMax = Annotated[Duration, duration_between("6s", "1h")]


DATA_KEYS = ("data-directory", "data-directories")
"""One disk for the servers' data, and several that nodes take by turns: one option gives either."""
_OPTIONS = {"durability": "--level", **dict.fromkeys(DATA_KEYS, "--data-dir"), "thresholds": "--threshold"}
"""Command-line options that are called otherwise than the keys that they replace."""


def option_of(key: str) -> str:
    """The command-line option that gives a key of a campaign, and is repeated for each value of a list."""
    return _OPTIONS.get(key, f"--{key}")
