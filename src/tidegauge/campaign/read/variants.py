"""`variants` in a campaign: named sets of settings, each measured in every block and compared with the others.

A variant may set whatever a sweep may, by the same names (`compression`, `latency.rate`, `durability`), and whatever
else makes a system another one: `producer`, `consumer` and `settings`, `version`, `attach`, `shape`, `heap` and
`direct-memory`, which mean the campaign's system where it has one only. Variants are one more axis of the campaign's
points, so that each is checked like any other campaign.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tidegauge.campaign.read.sweep import (
    CAMPAIGN_KEYS,
    SYSTEM_MAPPINGS,
    VARIANTS,
    AxisValue,
    items_of,
    label_of,
    place_value,
)
from tidegauge.config.source import KeyPath, Origin, Source, keys_of
from tidegauge.config.workload import WorkloadFields
from tidegauge.errors import did_you_mean
from tidegauge.model.variant import Variant

VARIANTS_MAX = 20
REPEAT = 5
"""How often a campaign with variants is repeated that does not say it: fewer blocks than three conclude nothing."""
EXAMPLE = "{name: lz4, producer: {compression.type: lz4}}"
TWO_VARIANTS = "[{name: a, producer: {linger.ms: 0}}, {name: b, producer: {linger.ms: 20}}]"
_NAME_CHARS_MAX = 40
_NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9 ._:/%=+-]{{0,{_NAME_CHARS_MAX - 1}}}")
_NAME_RULE = "must be made of letters, digits, spaces and ._:/%=+-, begin with a letter or digit, and have at most 40"
UNCHANGED = "unchanged"
"""What a variant is called that sets nothing and has no name."""
_ATTACH = "attach"
_MAPPINGS = (*SYSTEM_MAPPINGS, _ATTACH)
_OF_SYSTEM = ("version", "heap", "direct-memory")
_KEYS = ("name", "workload", *_MAPPINGS, *_OF_SYSTEM, *CAMPAIGN_KEYS)


def read_variants(source: Source) -> tuple[AxisValue, ...]:
    """The variants of a campaign in order; () if it has none. Problems are noted in `source`.

    They may be written as entries of one system, too.
    """
    entries = _take_entries_of_one_system(source)
    if VARIANTS not in source.data and not entries:
        return ()
    items, key = (entries, "systems") if entries else (source.data[VARIANTS], VARIANTS)
    if not isinstance(items, list) or not 2 <= len(items) <= VARIANTS_MAX:
        source.complain((VARIANTS,), f"must be a list of 2 to {VARIANTS_MAX} mappings, such as {EXAMPLE}")
        return ()
    values_or_none = [_read_variant(item, source, (key, index)) for index, item in enumerate(items)]
    values = [value for value in values_or_none if value is not None]
    seen: set[str] = set()
    for index, value in enumerate(values):
        if value.label in seen:
            source.complain((key, index), f"'{value.label}' is listed twice: give each a 'name' of its own")
        seen.add(value.label)
    return tuple(values) if len(values) == len(items) else ()


def _take_entries_of_one_system(source: Source) -> list[dict[str, object]]:
    """What entries of `systems` set that are one system with different settings: one variant each; [] if none are.

    The system is listed once then. Attached clusters and versions of one system are systems of their own.
    """
    entries = source.data.get("systems")
    if VARIANTS in source.data or not isinstance(entries, list) or not 2 <= len(entries) <= VARIANTS_MAX:
        return []
    systems = [entry if isinstance(entry, dict) else {"name": entry} for entry in entries]
    identities = [{key: system[key] for key in ("name", "version") if key in system} for system in systems]
    sets = [{key: value for key, value in system.items() if key not in ("name", "version")} for system in systems]
    may_be_set = {*SYSTEM_MAPPINGS, *_OF_SYSTEM, "durability"}
    is_one_system = isinstance(identities[0].get("name"), str) and len(set(map(str, identities))) == 1
    if not is_one_system or len(set(map(str, sets))) < len(sets) or not all(map(may_be_set.issuperset, sets)):
        return []
    source.data["systems"] = identities[:1]
    return sets


def _read_variant(item: object, source: Source, at: KeyPath) -> AxisValue | None:
    """One variant; None after a complaint."""
    if not isinstance(item, dict):
        source.complain(at, f"must be a mapping with a 'name' and what it sets, such as {EXAMPLE}")
        return None
    placed: dict[KeyPath, Origin] = {}
    for key, value in item.items():
        placed_by_key = {} if key == "name" else _place_key(str(key), value, source, (*at, key))
        if placed_by_key is None:
            return None
        placed |= placed_by_key
    name = item.get("name")
    if name is None:
        name = _name_by_settings(placed)
    label = label_of(name)
    if not _NAME.fullmatch(label):
        source.complain((*at, "name"), f"'{label}': {_NAME_RULE}")
        return None
    # A cluster that a variant attaches to is called as the variant, where it has no label of its own.
    labelled = dict(placed)
    slug = re.sub(r"[^a-z0-9-]+", "-", label.lower()).strip("-")
    slug = (slug if slug[:1].isalpha() else f"v-{slug}")[:31]
    for where, origin in placed.items():
        label_at = (*where[:-1], "label")
        if where[2:3] == (_ATTACH,) and label_at not in labelled:
            labelled[label_at] = replace(origin, value=slug)
    return AxisValue(label, labelled)


def _place_key(key: str, value: object, source: Source, at: KeyPath) -> dict[KeyPath, Origin] | None:
    """The keys of the campaign that a key of a variant sets, each with its origin; None after a complaint."""
    holds_keys = key in _MAPPINGS or key == "workload"
    parts = value if holds_keys and isinstance(value, dict) else {}
    if holds_keys and not parts:
        source.complain(at, "must hold keys and values: those in which this variant differs")
        return None
    if not holds_keys and key not in _OF_SYSTEM:
        return _place_swept_key(key, value, source, at)
    if key == "workload":
        places = {name: _place_swept_key(f"workload.{name}", part, source, (*at, name)) for name, part in parts.items()}
        return None if None in places.values() else {k: v for each in places.values() if each for k, v in each.items()}
    indexes = _indexes_of_entries_to_set(key, source, at)
    if indexes is None:
        return None
    settings = [((key, str(name)), part) for name, part in parts.items()] if holds_keys else [((key,), value)]
    placed: dict[KeyPath, Origin] = {}
    for tail, part in settings:
        where = (*at, *tail[1:])
        if key in SYSTEM_MAPPINGS and (part is None or isinstance(part, dict | list)):
            source.complain(where, "must be one value: text, a number, true or false")
            return None
        origin = source.origin_at(where, part)
        placed |= {("systems", index, *tail): origin for index in indexes}
    return placed


def _place_swept_key(key: str, value: object, source: Source, at: KeyPath) -> dict[KeyPath, Origin] | None:
    workload_keys = keys_of(WorkloadFields)
    if "." not in key and key not in (*CAMPAIGN_KEYS, *workload_keys):
        near = did_you_mean(key, [*_KEYS, *workload_keys])
        source.complain(
            at, f"unknown key '{key}'{near}; a variant sets {', '.join(_KEYS[1:])}, or what a sweep may set"
        )
        return None
    return place_value(key, value, source, at, at)


def _indexes_of_entries_to_set(key: str, source: Source, at: KeyPath) -> list[int] | None:
    """Returns the indexes in `systems` of the entries that a key of a variant sets, which are all of them.

    None after a complaint: a key that belongs to one system can't be set where there are several.
    """
    items = items_of("systems", source.data)
    names = list(dict.fromkeys(str(item.get("name", "")) for item in items if isinstance(item, dict)))
    if len(names) > 1 and key not in ("heap", "direct-memory"):
        whose = f"systems.{names[0]}.{key}"
        more = ".NAME" if key in SYSTEM_MAPPINGS else ""
        instead = f": write '{whose}{more}'" if key != _ATTACH else ": compare clusters of one system at a time"
        source.complain(at, f"the campaign has several systems ({', '.join(names)}){instead}")
        return None
    return list(range(len(items)))


def _name_by_settings(placed: Mapping[KeyPath, Origin]) -> str:
    """What a variant without a name is called: by as much of what it sets as a name may have."""
    settings = list(dict.fromkeys(f"{where[-1]}={label_of(origin.value)}" for where, origin in placed.items()))
    name = re.sub(r"[^A-Za-z0-9 ._:/%=+-]", "-", " ".join(settings))
    if len(name) <= _NAME_CHARS_MAX:
        return name or UNCHANGED
    return f"{name[: _NAME_CHARS_MAX - 4]} ..."


def describe_variants(values: Sequence[AxisValue], source: Source) -> tuple[Variant, ...]:
    """The variants with what each has of everything in which they differ.

    Args:
        values: as `read_variants` gives them.
        source: the campaign, which says what a variant has that does not set a key itself.
    """
    keys = dict.fromkeys(where for value in values for where in value.placed if where[2:] != (_ATTACH, "label"))
    rows = {
        where: [
            label_of(value.placed[where].value) if where in value.placed else _value_of_campaign(where, source)
            for value in values
        ]
        for where in keys
    }
    named = dict(_named_rows(rows, source))
    differing = {name: row for name, row in named.items() if len(set(row)) > 1}
    return tuple(
        Variant(value.label, {name: row[place] for name, row in differing.items()})
        for place, value in enumerate(values)
    )


def _named_rows(rows: Mapping[KeyPath, list[str]], source: Source) -> Iterator[tuple[str, list[str]]]:
    """Each row under a name for readers; entries of one system share it."""
    items = items_of("systems", source.data)
    names = [str(item.get("name", "")) if isinstance(item, dict) else "" for item in items]
    experiments = items_of("experiments", source.data)
    for where, row in rows.items():
        match where:
            case ("systems", int(index), *rest):
                shown = " ".join("server" if part == "settings" else str(part) for part in rest)
                yield (f"{names[index]} {shown}" if len(set(names)) > 1 else shown), row
            case ("experiments", int(index), *rest):
                experiment = experiments[index]
                name = experiment.get("name", "") if isinstance(experiment, dict) else ""
                yield f"{name}.{'.'.join(map(str, rest))}", row
            case _:
                yield str(where[-1]), row


def _value_of_campaign(where: KeyPath, source: Source) -> str:
    """What the campaign itself has at a key, in words; where it says nothing, that it is left as it is."""
    holder: object = source.data
    for place, part in enumerate(where):
        if place == 1 and isinstance(part, int):
            items = items_of(str(where[0]), source.data)
            holder = items[part] if part < len(items) else None
        else:
            holder = holder.get(part) if isinstance(holder, dict) else None
    return "default" if holder is None else label_of(holder)
