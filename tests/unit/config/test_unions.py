"""A mapping that is one of several models: what is wrong is said of the one that it is, at its place in the file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pytest
from pydantic import Discriminator, RootModel, Tag

from tidegauge.config.fields import Fields
from tidegauge.config.source import Source, validate


class Disk(Fields):
    other_keys_refused = "a disk has no such thing"
    sectors: dict[str, int]


class Network(Fields):
    key_missing = "a network needs it"
    host: str
    link: int = 1


Either = Annotated[
    Annotated[Disk, Tag("disk")] | Annotated[Network, Tag("network")],
    Discriminator(lambda value: "disk" if "sectors" in value else "network"),
]


class Device(RootModel[Either]):
    """One of them at the top."""


class Devices(Fields):
    network: Either


def problems(model: type[Devices | Device], data: object) -> list[str]:
    source = Source(Path("devices.yaml"), {}, {})
    validate(model, data, source, ())
    return [problem.text for problem in source.problems]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({"sectors": {"disk": "1"}}, "sectors.disk: '1': must be a whole number"),
        ({"sectors": {}, "link": 1}, "link: a disk has no such thing"),
        ({"sectors": {}, "lnik": 1}, "lnik: unknown key 'lnik' (did you mean 'link'?); allowed: sectors, host, link"),
        ({}, "host: a network needs it"),
        ({"host": 1}, "host: '1': must be text"),
    ],
)
def test_a_variants_problem_is_at_its_place(data: dict[str, object], says: str) -> None:
    assert problems(Device, data) == [says]
    assert problems(Devices, {"network": data}) == [f"network.{says}"]


def test_what_is_right_is_of_its_variant() -> None:
    disk = validate(Device, {"sectors": {"a": 1}}, Source(Path("devices.yaml"), {}, {}), ())
    assert disk is not None
    assert disk.root == Disk(sectors={"a": 1})
