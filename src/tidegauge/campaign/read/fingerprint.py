"""What a campaign means, as flat text: kept with a run, so that it is only ever resumed as it began. Pure."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from enum import Enum
from typing import Any

from pydantic import BaseModel

from tidegauge.campaign.model import Campaign, SystemChoice
from tidegauge.model.trial import TrialSpec, point_words
from tidegauge.plain import Parts, differing, flatten, json_parts

_NOT_MEANT = ("description", "source_path", "overrides", "points", "price", "notes", "listed")
"""What may differ without another trial being made, or another figure being compared."""
_SYSTEM = re.compile(r"systems\.\d+\.name")
_SAID_SINCE = {"worker.count": "1", "worker.hosts": "0", "retry": "0", "nodes_per_host": "1", "keeper_apart": "False"}
"""What runs of earlier versions meant without saying it."""
_WHERE = "faults_at"
"""Where in which file something stands, which is no part of what it means."""


def meaning(campaign: Campaign) -> dict[str, str]:
    """Every value that decides what is measured, by its path: "workload.partitions": "4".

    Of a sweep each point's values that differ from the first's: "partitions=100: workload.partitions": "100".
    """
    base = _meant(campaign)
    found = dict(base)
    for number, point in enumerate(campaign.points, 1):
        own = _meant(point.campaign)
        words = ", ".join(f"{axis}={value}" for axis, value in point.values.items())
        found[f"sweep[{number}]"] = words
        found |= {f"sweep[{number}].{path}": text for path, text in own.items() if base.get(path) != text}
    return found


def differences(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """What is not the same: "workload.partitions was 1 and is 4 now", one each. `before` may be of an older version."""
    both = ({**_SAID_SINCE, **before}, now)
    return [f"{path} was {old} and is {new} now" for path, (old, new) in differing(both, "not set")]


def system_of(meant: Mapping[str, str], spec: TrialSpec) -> SystemChoice | None:
    """The system of a trial as its run's campaign set up servers and clients, without its level and its cluster.

    None for attached clusters, and where the meaning does not name the system.
    """
    own = dict(meant)
    for key, words in meant.items():
        if key.startswith("sweep[") and key.endswith("]") and words == point_words(spec.point):
            own |= {path.removeprefix(f"{key}."): text for path, text in meant.items() if path.startswith(f"{key}.")}
    name, _, version = spec.system.partition("@")
    fitting = [path.removesuffix(".name") for path, text in own.items() if _SYSTEM.fullmatch(path) and text == name]
    exact = [at for at in fitting if own.get(f"{at}.version") == version]
    at = next(iter((*exact, *fitting)), "")
    if spec.attached or f"{at}.heap_mb" not in own:
        return None
    return SystemChoice(
        name,
        own.get(f"{at}.version", ""),
        settings=_below(own, f"{at}.settings."),
        producer=_below(own, f"{at}.producer."),
        consumer=_below(own, f"{at}.consumer."),
        heap_mb=int(own[f"{at}.heap_mb"]),
        direct_memory_mb=int(own[f"{at}.direct_memory_mb"]),
        shape=_below(own, f"{at}.shape."),
    )


def _below(meant: Mapping[str, str], path: str) -> dict[str, str]:
    return {key.removeprefix(path): text for key, text in meant.items() if key.startswith(path)}


def _meant(campaign: Campaign) -> dict[str, str]:
    fields = dataclasses.fields(campaign)
    meant = {field.name: getattr(campaign, field.name) for field in fields if field.name not in _NOT_MEANT}
    return {path: str(value.value if isinstance(value, Enum) else value) for path, value in flatten(meant, _parts)}


def _parts(value: Any) -> Parts | None:
    """As runs keep it: "systems.0.name", where others write "systems[0].name"."""
    if isinstance(value, BaseModel):
        return [(name, getattr(value, name)) for name in type(value).model_fields]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return [(field.name, getattr(value, field.name)) for field in fields if field.name != _WHERE]
    if isinstance(value, list | tuple):
        return [(str(index), part) for index, part in enumerate(value)]
    return json_parts(value)
