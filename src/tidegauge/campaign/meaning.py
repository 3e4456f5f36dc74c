"""What a campaign means, as flat text: kept with a run, so that it is only ever gone on with as it began. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any

from pydantic import BaseModel

from tidegauge.campaign.model import Campaign

_NOT_MEANT = ("description", "source_path", "overrides", "points", "price")
"""What may differ without another trial being made, or another figure being compared."""
_WHERE = "faults_at"
"""Where in which file something stands, which is no part of what it means."""


def meaning(campaign: Campaign) -> dict[str, str]:
    """Every value that decides what is measured, by its path: "workload.partitions": "4".

    Of a sweep each point's values that differ from the first's: "partitions=100: workload.partitions": "100".
    """
    base = dict(_flat("", _meant(campaign)))
    found = dict(base)
    for number, point in enumerate(campaign.points, 1):
        own = dict(_flat("", _meant(point.campaign)))
        words = ", ".join(f"{axis}={value}" for axis, value in point.values.items())
        found[f"sweep[{number}]"] = words
        found |= {f"sweep[{number}].{path}": text for path, text in own.items() if base.get(path) != text}
    return found


def differences(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """What is not the same: "workload.partitions was 1 and is 4 now", one each."""
    nothing = "not set"
    return [
        f"{path} was {before.get(path, nothing)} and is {now.get(path, nothing)} now"
        for path in dict.fromkeys((*before, *now))
        if before.get(path) != now.get(path)
    ]


def _meant(campaign: Campaign) -> dict[str, Any]:
    fields = dataclasses.fields(campaign)
    return {field.name: getattr(campaign, field.name) for field in fields if field.name not in _NOT_MEANT}


def _flat(path: str, value: Any) -> Iterator[tuple[str, str]]:
    parts = _parts(value)
    if parts is None:
        yield path, str(value.value if isinstance(value, Enum) else value)
    for name, part in parts or ():
        yield from _flat(f"{path}.{name}" if path else name, part)


def _parts(value: Any) -> list[tuple[str, Any]] | None:
    """What a value is made of; None if it is one."""
    if isinstance(value, BaseModel):
        return [(name, getattr(value, name)) for name in type(value).model_fields]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return [(field.name, getattr(value, field.name)) for field in fields if field.name != _WHERE]
    if isinstance(value, Mapping):
        return [(str(name), part) for name, part in value.items()]
    if isinstance(value, list | tuple):
        return [(str(index), part) for index, part in enumerate(value)]
    return None
