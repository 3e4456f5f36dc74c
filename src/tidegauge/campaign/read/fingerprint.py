"""What a campaign means, as flat text: kept with a run, so that it is only ever resumed as it began. Pure."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from enum import Enum

from pydantic import BaseModel

from tidegauge.campaign.model import Campaign, SystemChoice
from tidegauge.model.trial import TrialSpec, point_words
from tidegauge.plain import Parts, differing, flatten, json_parts

_NOT_MEANT = (
    *("description", "source_path", "overrides", "points", "price", "notes", "listed", "fleet_file", "locate"),
    *("variants", "same_within"),
)
"""What may differ without another trial being made, or another figure being compared; variants are points as well."""
_SYSTEM = re.compile(r"systems\.\d+\.name")
_SAID_SINCE = {"worker.count": "1", "worker.hosts": "0", "retry": "0", "nodes_per_host": "1", "keeper_apart": "False"}
"""What runs of earlier versions meant without saying it."""
_SAID_ONLY = "published.differs."
"""Sentences decide no trial; runs that `reproduce` began before kept those that are computed from the plan, too."""
_WHERE = ("faults_at", "locate", "file_keys")
"""Where in which file something stands, and under which key, which is no part of what it means."""


def meaning_of_campaign(campaign: Campaign) -> dict[str, str]:
    """Every value that decides what is measured, by its path: "workload.partitions": "4".

    Of a sweep each point's values that differ from the first's: "partitions=100: workload.partitions": "100".
    """
    base = _values_meant(campaign)
    text_by_path = dict(base)
    for number, point in enumerate(campaign.points, 1):
        texts_at_point = _values_meant(point.campaign)
        words = ", ".join(f"{axis}={value}" for axis, value in point.values.items())
        text_by_path[f"sweep[{number}]"] = words
        text_by_path |= {
            f"sweep[{number}].{path}": text for path, text in texts_at_point.items() if base.get(path) != text
        }
    return text_by_path


def differences_in_meaning(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """What two meanings differ in: "workload.partitions was 1 and is 4 now". `before` may be of an older version."""
    both = ({**_SAID_SINCE, **before}, now)
    return [
        f"{path} was {old} and is {new} now"
        for path, (old, new) in differing(both, "not set")
        if not path.startswith(_SAID_ONLY)
    ]


def system_of(meant: Mapping[str, str], spec: TrialSpec) -> SystemChoice | None:
    """The system of a trial as its run's campaign set up servers and clients, without its level and its cluster.

    None for attached clusters, and where the meaning does not name the system.
    """
    text_by_path = dict(meant)
    for key, words in meant.items():
        if key.startswith("sweep[") and key.endswith("]") and words == point_words(spec.point):
            text_by_path |= {
                path.removeprefix(f"{key}."): text for path, text in meant.items() if path.startswith(f"{key}.")
            }
    name, _, version = spec.system.partition("@")
    fitting = [
        path.removesuffix(".name") for path, text in text_by_path.items() if _SYSTEM.fullmatch(path) and text == name
    ]
    exact = [at for at in fitting if text_by_path.get(f"{at}.version") == version]
    at = next(iter((*exact, *fitting)), "")
    if spec.attached or f"{at}.heap_mb" not in text_by_path:
        return None
    return SystemChoice(
        name,
        text_by_path.get(f"{at}.version", ""),
        settings=_values_below(text_by_path, f"{at}.settings."),
        producer=_values_below(text_by_path, f"{at}.producer."),
        consumer=_values_below(text_by_path, f"{at}.consumer."),
        heap_mb=int(text_by_path[f"{at}.heap_mb"]),
        direct_memory_mb=int(text_by_path[f"{at}.direct_memory_mb"]),
        shape=_values_below(text_by_path, f"{at}.shape."),
        jvm=_values_below(text_by_path, f"{at}.jvm."),
    )


def _values_below(meant: Mapping[str, str], path: str) -> dict[str, str]:
    return {key.removeprefix(path): text for key, text in meant.items() if key.startswith(path)}


def _values_meant(campaign: Campaign) -> dict[str, str]:
    fields = dataclasses.fields(campaign)
    meant = {field.name: getattr(campaign, field.name) for field in fields if field.name not in _NOT_MEANT}
    # Any fleet of this shape will do.
    fleet = campaign.fleet_file
    meant |= {"nodes_per_host": fleet.nodes_per_host, "keeper_apart": fleet.has_keeper}
    return {
        path: str(value.value if isinstance(value, Enum) else value) for path, value in flatten(meant, _parts_of_value)
    }


def _parts_of_value(value: object) -> Parts | None:
    """The parts of a value, named as runs keep them: "systems.0.name", where others write "systems[0].name"."""
    if isinstance(value, BaseModel):
        return [(name, getattr(value, name)) for name in type(value).model_fields]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return [(field.name, getattr(value, field.name)) for field in fields if field.name not in _WHERE]
    if isinstance(value, list | tuple):
        return [(str(index), part) for index, part in enumerate(value)]
    return json_parts(value)
