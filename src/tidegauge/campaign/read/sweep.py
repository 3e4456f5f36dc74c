"""`sweep` in a campaign: fields over lists of values, multiplied out to the points at which everything is measured.

An axis is a field of the campaign (`partitions`, `latency.rate`), or a name of the user's own over several fields that
change together. Each point is the campaign with its values put in place, and is checked like any other campaign: what
is wrong with a value is reported at the line on which the sweep has it. With `design` some points stand for all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tidegauge.config.source import KeyPath, Origin, Source, keys_of, show_path, unknown_key_complaint
from tidegauge.config.workload import WorkloadFields
from tidegauge.errors import did_you_mean
from tidegauge.experiments.procedure import experiments
from tidegauge.model.variant import VARIANT
from tidegauge.numbers import trimmed
from tidegauge.statistics.designs import Design, design_points, points_at_least

KEY = "sweep"
VARIANTS = "variants"
RATES_AT = "rates-at"
DESIGN = "design"
POINTS_MAX = 500
AXES_MAX = 30
"""Axes of a pairwise design: finding one for more takes too long."""
LABEL_CHARS_MAX = 40
CAMPAIGN_KEYS = ("durability", "nodes")
SYSTEM_KEYS = ("version", "heap", "direct-memory", "durability", "replication-factor")
SYSTEM_MAPPINGS = ("settings", "producer", "consumer", "shape", "jvm", "topic-settings")
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
class AxisValue:
    """One value of an axis: what it is called, and what it puts where."""

    label: str
    placed: Mapping[KeyPath, Origin]


def read_matrix(source: Source, variants: Sequence[AxisValue] = ()) -> tuple[Assignment, ...]:
    """The points of a campaign's sweep, by its design, and variants; () if it has neither.

    In a full design the last axis changes fastest.

    Problems are noted in `source`. What is sound gives points in spite of them, so that the rest can be checked too.

    Args:
        variants: of the campaign, which are one more axis.
    """
    axes = source.data.get(KEY, {})
    if KEY in source.data and (not isinstance(axes, dict) or not axes):
        source.complain((KEY,), "must be a mapping of fields to lists of values, such as {partitions: [1, 100]}")
        axes = {}
    design = _read_design(axes, source)
    if variants and design not in (None, Design.FULL):
        source.complain((KEY, DESIGN), "can't be given beside 'variants', which are compared at every point")
        return ()
    # An axis of the user's own may be called so, too: it is a list.
    listed = {axis: items for axis, items in axes.items() if axis != DESIGN or isinstance(items, list)}
    if axes and not listed:
        source.complain((KEY,), f"has a '{DESIGN}' and no axis: add fields with lists of values")
        return ()
    values_by_axis = {axis: values for axis, items in listed.items() if (values := _read_axis(axis, items, source))}
    if variants and VARIANT in values_by_axis:
        source.complain((KEY, VARIANT), "is the name of the axis that 'variants' make: call this one otherwise")
    elif variants:
        values_by_axis[VARIANT] = list(variants)
    # Two axes that set one field would make points that are not what they are called.
    owner: dict[KeyPath, str] = {}
    for axis, values_of_axis in values_by_axis.items():
        for at in dict.fromkeys(at for value in values_of_axis for at in value.placed):
            if at in owner:
                shown: KeyPath = (VARIANTS,) if axis == VARIANT else (KEY, axis)
                source.complain(shown, f"sets '{show_path(at)}', which '{owner[at]}' sets too")
            owner.setdefault(at, axis)
    if not values_by_axis:
        return ()
    problem = _too_many_words(design, list(map(len, values_by_axis.values()))) if design is not None else ""
    if problem:
        source.complain((KEY,), problem)
    if problem or design is None:
        values_by_axis = {axis: values[:1] for axis, values in values_by_axis.items()}
    return tuple(_assignments(design or Design.FULL, values_by_axis))


def _read_design(axes: Mapping[str, object], source: Source) -> Design | None:
    """How points are chosen; a full design where the sweep does not say. None after a complaint."""
    value = axes.get(DESIGN, Design.FULL.value)
    names = [design.value for design in Design]
    if value in names:
        return Design(value)
    if isinstance(value, list):
        return Design.FULL
    nearest = did_you_mean(str(value), names)
    source.complain((KEY, DESIGN), f"'{label_of(value)}' is no design{nearest}; there are {', '.join(names)}")
    return None


def _too_many_words(design: Design, sizes: Sequence[int]) -> str:
    """Why a sweep of axes with so many values can't be planned; "" if it can."""
    if design is Design.PAIRWISE and len(sizes) > AXES_MAX:
        return f"has {len(sizes)} axes, a pairwise design can have {AXES_MAX} at most: sweep fewer fields at once"
    count = points_at_least(design, sizes)
    if count <= POINTS_MAX and design is Design.PAIRWISE:
        count = len(design_points(design, sizes))
    if count <= POINTS_MAX:
        return ""
    few = "" if design is not Design.FULL or len(sizes) < 3 else f", or let '{DESIGN}: pairwise' choose some of them"
    return f"has {count:,} points, at most {POINTS_MAX} are allowed: sweep fewer values at once{few}"


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
    if rates_at and any({**point, **rates_at} not in points for point in points):
        at = ", ".join(f"{axis}={value}" for axis, value in rates_at.items())
        source.complain(
            (RATES_AT,),
            f"the design of the sweep does not have every point with {at}: give rates as numbers, or '{DESIGN}: full'",
        )
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


def _assignments(design: Design, axes: Mapping[str, Sequence[AxisValue]]) -> Iterator[Assignment]:
    for point in design_points(design, list(map(len, axes.values()))):
        values = [listed[place] for listed, place in zip(axes.values(), point, strict=True)]
        placed = {at: origin for value in values for at, origin in value.placed.items()}
        yield Assignment({axis: value.label for axis, value in zip(axes, values, strict=True)}, placed)


def _read_axis(axis: str, items: object, source: Source) -> list[AxisValue]:
    """The values of an axis; empty after a complaint."""
    at: KeyPath = (KEY, axis)
    if not isinstance(items, list) or not items:
        source.complain(at, "must be a list of values, such as [1, 100, 2000]")
        return []
    own_name = all(isinstance(item, dict) for item in items) and not _is_key(axis)
    if not own_name and place_value(axis, items[0], source, (*at, 0), at) is None:
        return []  # Not said again of each value.
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


def _read_plain_value(axis: str, item: object, source: Source, at: KeyPath, axis_at: KeyPath) -> AxisValue | None:
    placed = place_value(axis, item, source, at, axis_at)
    return None if placed is None else AxisValue(label_of(item), placed)


def _read_named_value(item: Mapping[str, object], source: Source, at: KeyPath) -> AxisValue | None:
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
        placed_by_key = place_value(key, value, source, (*at, key), (*at, key))
        if placed_by_key is None:
            return None
        placed.update(placed_by_key)
    return AxisValue(label_of(name), placed)


def place_value(
    key: str, value: object, source: Source, at: KeyPath, complain_at: KeyPath
) -> dict[KeyPath, Origin] | None:
    """The keys that a value is put at, each with its origin; None after a complaint.

    Args:
        key: the field, as a sweep names it: "partitions", "systems.kafka.version".
        at: where the value stands in the file; `complain_at`: where a problem is reported.
    """
    try:
        places = _places_of_key(key, source.data)
    except ValueError as error:
        source.complain(complain_at, str(error))
        return None
    if option := source.option_of(places[0]):
        source.complain(complain_at, f"is swept, so {option} can't be given beside")
        return None
    origin = source.origin_at(at, value)
    return dict.fromkeys(places, origin)


def _is_key(key: str) -> bool:
    head = key.partition(".")[0]
    return key in (*CAMPAIGN_KEYS, *keys_of(WorkloadFields)) or (
        "." in key and head in ("workload", "systems", *experiments())
    )


def _places_of_key(key: str, data: Mapping[str, object]) -> list[KeyPath]:
    """The keys of the campaign that a field of a sweep means. Raises `ValueError`, in words for the user."""
    head, _, rest = key.partition(".")
    if key in CAMPAIGN_KEYS:
        return [(key,)]
    if key in keys_of(WorkloadFields):
        return [("workload", key)]
    if rest and head == "workload":
        if rest not in keys_of(WorkloadFields):
            raise ValueError(unknown_key_complaint(rest, keys_of(WorkloadFields)))
        return [("workload", rest)]
    if rest and head == "systems":
        return _system_places(rest, data)
    if rest and head in experiments():
        options = keys_of(experiments()[head].options)
        if rest not in options:
            raise ValueError(unknown_key_complaint(rest, options))
        return [("experiments", index, rest) for index in _indexes_of_items("experiments", head, data)]
    known_fields = [*CAMPAIGN_KEYS, *keys_of(WorkloadFields)]
    known_fields += [
        f"{name}.{option}" for name, experiment in experiments().items() for option in keys_of(experiment.options)
    ]
    raise ValueError(f"unknown field '{key}'{did_you_mean(key, known_fields)}; {_ALLOWED}")


def _system_places(rest: str, data: Mapping[str, object]) -> list[KeyPath]:
    """The keys that `kafka.version` or `kafka.settings.num.io.threads` means, at each entry of that system."""
    name, _, field = rest.partition(".")
    indexes = _indexes_of_items("systems", name, data)
    mapping, _, setting = field.partition(".")
    if mapping in SYSTEM_MAPPINGS and setting:
        return [("systems", index, mapping, setting) for index in indexes]
    if field not in SYSTEM_KEYS:
        allowed = [*SYSTEM_KEYS, *(f"{mapping}.NAME" for mapping in SYSTEM_MAPPINGS)]
        raise ValueError(unknown_key_complaint(field, allowed))
    return [("systems", index, field) for index in indexes]


def _indexes_of_items(list_name: str, wanted: str, data: Mapping[str, object]) -> list[int]:
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


def as_mapping(list_name: str, item: object) -> object:
    """An item of a list with what it is short for: "kafka@4.3.1" is {name: kafka, version: 4.3.1}."""
    if not isinstance(item, str):
        return item
    name, _, version = item.partition("@") if list_name == "systems" else (item, "", "")
    return {"name": name, "version": version} if version else {"name": name}


def items_of(list_name: str, data: Mapping[str, object]) -> list[object]:
    """The items of a campaign's list, each with what it is short for; none where it is no list."""
    items = data.get(list_name)
    return [as_mapping(list_name, item) for item in items] if isinstance(items, list) else []


def label_of(value: object) -> str:
    """A value as tables show it: as it was written, a mapping by its values."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return trimmed(value)
    if isinstance(value, dict):
        return " ".join(label_of(item) for item in value.values())[:LABEL_CHARS_MAX]
    if isinstance(value, list):
        return ", ".join(label_of(item) for item in value)[:LABEL_CHARS_MAX]
    return " ".join(str(value).split())[:LABEL_CHARS_MAX]
