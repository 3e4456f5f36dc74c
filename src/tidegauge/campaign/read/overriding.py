"""Options of the command line that replace keys of a campaign, memory of servers among them.

all nodes of a system   half of the machine's memory; the other half is left to the page cache and the load
    each node               its part of that: half of it is heap, half direct memory
    bounds                  whole steps of 64 MiB, at most 31 GiB (a larger heap has longer pointers)

Every system of a campaign gets the same, by the layout that has the most nodes, so that memory favours none.

A wrong value is reported with the option that brought it, and one that stays with its line in the file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator

from tidegauge.campaign.model import AUTO, SystemChoice
from tidegauge.campaign.read.attach import CLIENT_PROPERTIES, attach_clusters, read_clusters, replace_systems
from tidegauge.campaign.read.attach import KEY as ATTACH
from tidegauge.campaign.read.client_properties import read_client_properties, refuse_two_files
from tidegauge.campaign.read.sweep import items_of
from tidegauge.config.fields import DATA_KEYS, option_of, quantity_between
from tidegauge.config.source import KeyPath, Origin, Source, show_path
from tidegauge.config.units import parse_size_bytes
from tidegauge.errors import UserError
from tidegauge.hosts.memory import this_machine
from tidegauge.model.events import Note
from tidegauge.systems.registry import all_systems

AUTO_WORD = "auto"
_HEAP_LEAST, _MB_LEAST = "128MiB", 128
_SHARE_OF_MACHINE = 2
_PARTS_OF_NODE = 2
_STEP_MB = 64
_MB_MAX = 31 << 10


def _memory_between(low: str, high: str) -> Callable[[object], int]:
    """A parser of a size in bytes between two, or of the word that leaves it to the machine's memory."""
    check = quantity_between(low, high, parse_size_bytes)

    def parse(value: object) -> int:
        if value == AUTO_WORD:
            return AUTO
        try:
            return check(parse_size_bytes(value))
        except ValueError as error:
            raise ValueError(f"{error}, or '{AUTO_WORD}'") from error

    return parse


parse_heap = _memory_between(_HEAP_LEAST, "1024GiB")
parse_direct_memory = _memory_between("64MiB", "1024GiB")
Heap = Annotated[int, BeforeValidator(parse_heap)]
"""Heap of each node's JVM, bytes, from "768MiB"; `AUTO` from "auto"."""

DirectMemory = Annotated[int, BeforeValidator(parse_direct_memory)]
"""The same for memory outside of the heap."""


def in_mb(size_bytes: int) -> int:
    """Bytes as MiB; `AUTO` stays."""
    return AUTO if size_bytes == AUTO else size_bytes >> 20


def auto_mb(machine_mb: int, nodes: int) -> int:
    """Heap of each of so many nodes on a machine with this memory (MiB), and as much direct memory. 0 = too small."""
    mb = machine_mb // _SHARE_OF_MACHINE // nodes // _PARTS_OF_NODE
    return min(_MB_MAX, mb // _STEP_MB * _STEP_MB)


def with_memory(systems: Sequence[SystemChoice], nodes: int) -> tuple[SystemChoice, ...]:
    """The systems, with sizes by this machine's memory in the place of `auto`. Raises `ValueError`, for the user."""
    if not any(AUTO in (system.heap_mb, system.direct_memory_mb) for system in systems):
        return tuple(systems)
    machine_mb = this_machine().memory_mb
    mb = auto_mb(machine_mb, nodes)
    if mb < _MB_LEAST:
        shortage = (
            f"has {machine_mb:,} MiB, too little for {nodes} nodes" if machine_mb else "does not say how much it has"
        )
        raise ValueError(f"'{AUTO_WORD}': this machine {shortage}: give a size such as 1GiB")
    return tuple(
        replace(
            system,
            heap_mb=mb if system.heap_mb == AUTO else system.heap_mb,
            direct_memory_mb=mb if system.direct_memory_mb == AUTO else system.direct_memory_mb,
        )
        for system in systems
    )


MEMORY_KEYS = ("heap", "direct-memory")
IN_FLIGHT = "in-flight"
WORKERS = "workers"
SCALE = "scale"
_BELOW: Mapping[str, KeyPath] = {IN_FLIGHT: ("workload", IN_FLIGHT), WORKERS: ("worker", "count")}
"""Where in a campaign options go that are no keys at its top."""


def apply_overrides(
    source: Source, overrides: Mapping[str, object], system_names: Sequence[str]
) -> tuple[tuple[Source, ...], tuple[Note, ...]]:
    """Put the options' values in place, by the campaign's keys; `scale` was put in place before.

    Returns files that were read beside it, and what has no effect now, in sentences. `system_names` are the systems
    that Tidegauge has. Raises `UserError` if a file that an option names can't be read.
    """
    if any(key in overrides for key in DATA_KEYS):
        for key in DATA_KEYS:
            source.data.pop(key, None)
    for key, value in overrides.items():
        if key == "systems" and isinstance(value, Sequence):
            _choose_systems(source, value)
        elif key not in (SCALE, ATTACH, CLIENT_PROPERTIES):
            shown_key = "" if key in _BELOW else key
            source.put(_BELOW.get(key, (key,)), Origin(source.path, 0, shown_key, value, option_of(key)))
    for key in MEMORY_KEYS:
        if key in overrides:
            systems = source.data.get("systems")
            for item in systems if isinstance(systems, list) else ():
                if isinstance(item, dict):
                    item.pop(key, None)
    notes = _free_worker(source) if IN_FLIGHT in overrides else ()
    if not {ATTACH, CLIENT_PROPERTIES} & overrides.keys():
        return (), notes
    clusters, notes_on_file = _read_clusters(source, overrides, system_names)
    notes = (*notes, *notes_on_file)
    return (clusters,), notes if clusters.problems else (*notes, *attach_clusters(source, clusters))


def _read_clusters(
    source: Source, overrides: Mapping[str, object], system_names: Sequence[str]
) -> tuple[Source, tuple[Note, ...]]:
    """The file of clusters that an option names, with notes. Client properties are of the first system that can be."""
    if CLIENT_PROPERTIES not in overrides:
        return read_clusters(Path(str(overrides[ATTACH])), system_names), ()
    refuse_two_files(overrides.get(ATTACH), overrides[CLIENT_PROPERTIES])
    path, systems = Path(str(overrides[CLIENT_PROPERTIES])), all_systems()
    with_files = [name for name, system in systems.items() if system.client_properties((), "") is not None]
    items = [item for item in items_of("systems", source.data) if isinstance(item, dict)]
    fitting = [item for item in items if item.get("name") in with_files]
    if not fitting:
        raise UserError(
            f"{option_of(CLIENT_PROPERTIES)} {path}: no system of the campaign has such files; only "
            f"{', '.join(with_files)} may.",
            "Use --attach, for clusters of all systems.",
        )
    return read_client_properties(path, systems[str(fitting[0]["name"])], fitting[0])


def systems_with_campaign_level(source: Source, system_names: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Name and version of the file's own systems that have the campaign's durability, whatever options choose."""
    return tuple(
        (item["name"], item["version"] if isinstance(item.get("version"), str) else "")
        for item in items_of("systems", source.data)
        if isinstance(item, dict) and item.get("name") in system_names and item.get("durability") is None
    )


def _free_worker(source: Source) -> tuple[Note, ...]:
    """Leave the load generator's memory to what it has to hold: the campaign's was for another window."""
    worker = source.data.get("worker")
    memory_given = {key: worker.pop(key) for key in MEMORY_KEYS if key in worker} if isinstance(worker, dict) else {}
    if not memory_given:
        return ()
    words = ", ".join(f"{key} {value}" for key, value in memory_given.items())
    return (Note(f"--in-flight: the load generator's memory follows from it, instead of the campaign's ({words})."),)


def _choose_systems(source: Source, texts: Sequence[str]) -> None:
    """Leave the campaign the systems that are named, each as it has it.

    A name alone stands for every entry of that name; with a version it is the entry of that version, else the first
    that is started here, in the other version. One that the campaign has not gets the memory that all of its have.
    """
    campaign_items = items_of("systems", source.data)
    chosen = [entry for text in texts for entry in _entries_named(text, campaign_items)]
    replace_systems(source, chosen)
    option = option_of("systems")
    source.placed["systems",] = Origin(source.path, 0, "systems", texts, option)
    for index, (_, item) in enumerate(chosen):
        at: KeyPath = ("systems", index, "version")
        # That of the campaign's own entry is placed by now.
        if isinstance(item, dict) and "version" in item and at not in source.placed:
            source.placed[at] = Origin(source.path, 0, show_path(at), item["version"], option)


def _entries_named(text: str, campaign_items: list[object]) -> list[tuple[int | None, object]]:
    """What a text such as kafka@4.3.1 stands for: entries, with their places in the campaign; None = not of it."""
    name, separator, version = text.partition("@")
    if separator and not version:
        return [(None, text)]
    keys_wanted: dict[str, object] = {"name": name, "version": version} if version else {"name": name}
    # A system that is asked for by name is not left out: it is not optional.
    named: list[tuple[int, dict[str, object]]] = [
        (place, {key: value for key, value in item.items() if key != "optional"})
        for place, item in enumerate(campaign_items)
        if isinstance(item, dict) and item.get("name") == name
    ]
    entries_of_version = [entry for entry in named if not version or entry[1].get("version") == version]
    if entries_of_version:
        return [*entries_of_version]
    for place, item in named:
        if ATTACH not in item:
            return [(place, item | keys_wanted)]
    # The memory that each system of the campaign has, if it is the same.
    items = [item if isinstance(item, dict) else {} for item in campaign_items]
    values_by_key = {key: [item.get(key) for item in items] for key in MEMORY_KEYS}
    common_memory = {
        key: each[0] for key, each in values_by_key.items() if len(set(map(str, each))) == 1 and each[0] is not None
    }
    return [(None, keys_wanted | common_memory)]
