"""Nested values as flat ones, and what differs between them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from tidegauge.comparison.differences import _yaml_parts
from tidegauge.plain import differing, flatten, plain_value, typed_value
from tidegauge.report.html.disclosure import environment_rows
from tidegauge.store.read import environment_changes


@pytest.mark.parametrize(
    ("value", "flat"),
    [
        ({"a": {"b": 1, "c": None}, "d": "x"}, {"a.b": 1, "a.c": None, "d": "x"}),
        ({"a": [{"b": 1}, 2, [3]]}, {"a[0].b": 1, "a[1]": 2, "a[2][0]": 3}),
        ({"a": {}, "b": [], "c": ""}, {"c": ""}),
        ([1, {"a": 2}], {"[0]": 1, "[1].a": 2}),
        (5, {"": 5}),
    ],
)
def test_nested_values_are_named_by_their_path(value: Any, flat: dict[str, Any]) -> None:
    assert dict(flatten(value)) == flat


def test_whoever_flattens_says_what_has_parts() -> None:
    assert dict(flatten({"a": {}, "b": [], "c": [1]}, _yaml_parts)) == {"a": {}, "b": [], "c[0]": 1}


def test_what_differs_is_named_with_all_its_values() -> None:
    sides = ({"a": "1", "b": "2"}, {"b": "2", "a": "3"}, {"b": "2", "c": "4"})
    assert list(differing(sides, "nothing")) == [
        ("a", ("1", "3", "nothing")),
        ("c", ("nothing", "nothing", "4")),
    ]
    assert list(differing((sides[0], dict(sides[0])), "nothing")) == []


def test_the_surroundings_of_a_session_are_compared_but_for_what_always_differs() -> None:
    before = {"schema": "1", "host": {"cpus": 2, "load_average": 1.0, "disks": [{"kind": "ssd"}]}, "load_average": 1.0}
    after = {"schema": "2", "host": {"cpus": 4, "load_average": 1.0, "disks": []}, "load_average": 2.0}
    assert environment_changes(before, after) == ["host.cpus: 2 -> 4", "host.disks[0].kind: ssd -> unknown"]
    assert environment_changes(before, dict(before)) == []


def test_the_surroundings_are_shown_one_line_a_fact() -> None:
    rows = environment_rows(
        {
            "schema": "x",
            "cpus": 2,
            "swap": None,
            "flags": ["a", "b"],
            "disks": [{"kind": "ssd"}, {"kind": ""}],
            "no": [],
        }
    )
    assert rows.rows == (("cpus", "2"), ("flags", "a, b"), ("disks.1.kind", "ssd"))


@dataclass(frozen=True)
class Parts:
    name: str
    rare: tuple[int, ...] = field(default=(), metadata={"if_any": True})
    usual: tuple[int, ...] = ()


def test_a_field_may_be_written_only_if_there_is_anything_in_it() -> None:
    assert plain_value(Parts("")) == {"name": "", "usual": []}
    assert plain_value(Parts("", (1,))) == {"name": "", "rare": [1], "usual": []}
    assert typed_value(Parts, plain_value(Parts(""))) == Parts("")


@dataclass(frozen=True)
class Histograms:
    name: str
    one: bytes
    several: tuple[bytes, ...]


def test_histograms_are_left_out() -> None:
    assert plain_value(Histograms("a", b"\x01", (b"\x02", b""))) == {"name": "a"}
