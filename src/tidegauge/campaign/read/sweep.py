"""`sweep` in a campaign: fields over lists of values, multiplied out to the points at which everything is measured.

An axis is a field of the campaign (`partitions`, `latency.rate`), or a name of the user's own over several fields that
change together. Each point is the campaign with its values put in place, and is checked like any other campaign: what
is wrong with a value is reported at the line on which the sweep has it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidegauge.config.source import KeyPath, Origin, Source, keys_of, show_path, unknown_key
from tidegauge.config.workload import WorkloadFields
from tidegauge.errors import did_you_mean
from tidegauge.experiments.procedure import experiments

KEY = "sweep"
RATES_AT = "rates-at"
POINTS_MAX = 500
LABEL_CHARS_MAX = 40
CAMPAIGN_KEYS = ("durability", "nodes")
SYSTEM_KEYS = ("version", "heap", "direct-memory", "durability")
SYSTEM_MAPPINGS = ("settings", "producer", "consumer", "shape")
"""Mappings of a system's own settings, whose names may hold dots: all that follows is the name."""

_ALLOWED = (
    "an axis is 'durability', 'nodes', a workload's key such as 'partitions', an experiment's such as 'latency.rate', "
    "a system's such as 'systems.kafka.version', or a name of your own over mappings with a 'name'"
)


@dataclass(frozen=True)
class Assignment:
    """The values of one point: for readers by axis, and each put at its key."""

    values: Mapping[str, str]
    placed: Mapping[KeyPath, Origin]


@dataclass(frozen=True)
class _Value:
    """One value of an axis: what it is called, and what it puts where."""

    label: str
    placed: Mapping[KeyPath, Origin]


def read_matrix(source: Source) -> tuple[Assignment, ...]:
    """The points of a campaign's sweep, the last axis changing fastest; () if it has none.

    Problems are noted in `source`. What is sound gives points in spite of them, so that the rest can be checked too.
    """
    if KEY not in source.data:
        return ()
    axes = source.data[KEY]
    if not isinstance(axes, dict) or not axes:
        source.complain((KEY,), "must be a mapping of fields to lists of values, such as {partitions: [1, 100]}")
        return ()
    values_by_axis = {axis: values for axis, items in axes.items() if (values := _read_axis(axis, items, source))}
    _check_overlap(values_by_axis, source)
    count = math.prod(map(len, values_by_axis.values()))
    if count > POINTS_MAX:
        source.complain((KEY,), f"has {count:,} points, at most {POINTS_MAX} are allowed: sweep fewer values at once")
        values_by_axis = {axis: values[:1] for axis, values in values_by_axis.items()}
    return tuple(_multiply_axes(values_by_axis)) if values_by_axis else ()


def read_rates_at(source: Source, assignments: Sequence[Assignment]) -> Mapping[str, str]:
    """The axes that `rates-at` names, each with its value as points have it; problems are noted in `source`."""
    if RATES_AT not in source.data:
        return {}
    axes_given = source.data[RATES_AT]
    if not isinstance(axes_given, dict) or not axes_given:
        source.complain(
            (RATES_AT,), "must be a mapping of axes of the sweep to a value of each, such as {partitions: 100}"
        )
        return {}
    rates_at = {}
    points = [assignment.values for assignment in assignments]
    axes = {axis: list(dict.fromkeys(point[axis] for point in points)) for axis in (points[0] if points else ())}
    for axis, value in axes_given.items():
        label = label_of(value)
        if axis not in axes:
            source.complain((RATES_AT, axis), f"the sweep has no such axis{did_you_mean(axis, list(axes))}")
        elif label not in axes[axis]:
            source.complain((RATES_AT, axis), f"'{label}' is none of its values: {', '.join(axes[axis])}")
        else:
            rates_at[axis] = label
    return rates_at


def with_values(source: Source, assignment: Assignment) -> Source:
    """The campaign at one point."""
    variant = source.variant()
    for at, origin in assignment.placed.items():
        if len(at) > 1 and isinstance(at[1], int):
            # `kafka@4.3.1` and `peak` are short for mappings, which can hold more.
            items = variant.data[str(at[0])]
            items[at[1]] = as_mapping(str(at[0]), items[at[1]])
        variant.put(at, origin)
    return variant


def _multiply_axes(axes: Mapping[str, Sequence[_Value]]) -> Iterator[Assignment]:
    for values in itertools.product(*axes.values()):
        placed = {at: origin for value in values for at, origin in value.placed.items()}
        yield Assignment({axis: value.label for axis, value in zip(axes, values, strict=True)}, placed)


def _read_axis(axis: str, items: Any, source: Source) -> list[_Value]:
    """The values of an axis; empty after a complaint."""
    at: KeyPath = (KEY, axis)
    if not isinstance(items, list) or not items:
        source.complain(at, "must be a list of values, such as [1, 100, 2000]")
        return []
    own_name = all(isinstance(item, dict) for item in items) and not _is_key(axis)
    values_or_none = [
        _read_named_value(item, source, (*at, i)) if own_name else _read_plain_value(axis, item, source, (*at, i), at)
        for i, item in enumerate(items)
    ]
    values = [value for value in values_or_none if value is not None]
    seen: set[str] = set()
    for index, value in enumerate(values):
        if value.label in seen:
            source.complain((*at, index), f"'{value.label}' is listed twice; use 'repeat' for repeated trials")
        seen.add(value.label)
    return values if len(values) == len(items) else []


def _read_plain_value(axis: str, item: Any, source: Source, at: KeyPath, axis_at: KeyPath) -> _Value | None:
    placed = _place_value(axis, item, source, at, axis_at)
    return None if placed is None else _Value(label_of(item), placed)


def _read_named_value(item: Mapping[str, Any], source: Source, at: KeyPath) -> _Value | None:
    """A value that sets several fields under one name; None after a complaint."""
    name = item.get("name")
    if isinstance(name, bool) or not isinstance(name, str | int | float) or not str(name).strip():
        source.complain(at, "needs a 'name', by which results name this value, such as {name: 4p4c, producers: 4}")
        return None
    fields = {key: value for key, value in item.items() if key != "name"}
    if not fields:
        source.complain(at, f"'{name}' sets no field")
        return None
    placed: dict[KeyPath, Origin] = {}
    for key, value in fields.items():
        placed_by_key = _place_value(key, value, source, (*at, key), (*at, key))
        if placed_by_key is None:
            return None
        placed.update(placed_by_key)
    return _Value(label_of(name), placed)


def _place_value(
    key: str, value: Any, source: Source, at: KeyPath, complain_at: KeyPath
) -> dict[KeyPath, Origin] | None:
    """The keys that a value is put at, each with its origin; None after a complaint."""
    try:
        places = _places_of_key(key, source.data)
    except ValueError as error:
        source.complain(complain_at, str(error))
        return None
    if option := source.option_of(places[0]):
        source.complain(complain_at, f"is swept, so {option} can't be given beside")
        return None
    origin = Origin(source.path, source.line_of(at), show_path(at), value)
    return dict.fromkeys(places, origin)


def _is_key(key: str) -> bool:
    head = key.partition(".")[0]
    return key in (*CAMPAIGN_KEYS, *keys_of(WorkloadFields)) or (
        "." in key and head in ("workload", "systems", *experiments())
    )


def _places_of_key(key: str, data: Mapping[str, Any]) -> list[KeyPath]:
    """The keys of the campaign that a field of a sweep means. Raises `ValueError`, in words for the user."""
    head, _, rest = key.partition(".")
    if key in CAMPAIGN_KEYS:
        return [(key,)]
    if key in keys_of(WorkloadFields):
        return [("workload", key)]
    if rest and head == "workload":
        if rest not in keys_of(WorkloadFields):
            raise ValueError(unknown_key(rest, keys_of(WorkloadFields)))
        return [("workload", rest)]
    if rest and head == "systems":
        return _system_places(rest, data)
    if rest and head in experiments():
        options = keys_of(experiments()[head].options)
        if rest not in options:
            raise ValueError(unknown_key(rest, options))
        return [("experiments", index, rest) for index in _indexes_of_items("experiments", head, data)]
    known_fields = [*CAMPAIGN_KEYS, *keys_of(WorkloadFields)]
    known_fields += [
        f"{name}.{option}" for name, experiment in experiments().items() for option in keys_of(experiment.options)
    ]
    raise ValueError(f"unknown field '{key}'{did_you_mean(key, known_fields)}; {_ALLOWED}")


def _system_places(rest: str, data: Mapping[str, Any]) -> list[KeyPath]:
    """The keys that `kafka.version` or `kafka.settings.num.io.threads` means, at each entry of that system."""
    name, _, field = rest.partition(".")
    indexes = _indexes_of_items("systems", name, data)
    mapping, _, setting = field.partition(".")
    if mapping in SYSTEM_MAPPINGS and setting:
        return [("systems", index, mapping, setting) for index in indexes]
    if field not in SYSTEM_KEYS:
        allowed = [*SYSTEM_KEYS, *(f"{mapping}.NAME" for mapping in SYSTEM_MAPPINGS)]
        raise ValueError(unknown_key(field, allowed))
    return [("systems", index, field) for index in indexes]


def _indexes_of_items(list_name: str, wanted: str, data: Mapping[str, Any]) -> list[int]:
    items = items_of(list_name, data)
    names = [str(item.get("name", "")) if isinstance(item, dict) else "" for item in items]
    indexes = [index for index, name in enumerate(names) if name == wanted]
    if not indexes:
        existing = [name for name in names if name]
        raise ValueError(
            f"the campaign's {list_name} have no '{wanted}'{did_you_mean(wanted, existing)}; "
            f"they are {', '.join(existing)}"
        )
    return indexes


def as_mapping(list_name: str, item: Any) -> Any:
    """An item of a list with what it is short for: "kafka@4.3.1" is {name: kafka, version: 4.3.1}."""
    if not isinstance(item, str):
        return item
    name, _, version = item.partition("@") if list_name == "systems" else (item, "", "")
    return {"name": name, "version": version} if version else {"name": name}


def items_of(list_name: str, data: Mapping[str, Any]) -> list[Any]:
    """The items of a campaign's list, each with what it is short for; none where it is no list."""
    items = data.get(list_name)
    return [as_mapping(list_name, item) for item in items] if isinstance(items, list) else []


def _check_overlap(axes: Mapping[str, Sequence[_Value]], source: Source) -> None:
    """Two axes that set one field would make points that are not what they are called."""
    owner: dict[KeyPath, str] = {}
    for axis, values in axes.items():
        for at in dict.fromkeys(at for value in values for at in value.placed):
            if at in owner:
                source.complain((KEY, axis), f"sets '{show_path(at)}', which '{owner[at]}' sets too")
            owner.setdefault(at, axis)


def label_of(value: Any) -> str:
    """A value as tables show it: as it was written, a mapping by its values."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, dict):
        return " ".join(label_of(item) for item in value.values())[:LABEL_CHARS_MAX]
    if isinstance(value, list):
        return ", ".join(label_of(item) for item in value)[:LABEL_CHARS_MAX]
    return " ".join(str(value).split())[:LABEL_CHARS_MAX]
