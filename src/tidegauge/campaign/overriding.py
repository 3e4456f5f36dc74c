"""What the command line puts in the place of a campaign's values, before any of them is checked.

A wrong value is reported with the option that brought it, and one that stays with its line in the file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidegauge.campaign.attach_file import KEY as ATTACH
from tidegauge.campaign.attach_file import attach_clusters, read_clusters, replace_systems
from tidegauge.campaign.sweep import as_mapping
from tidegauge.config.overrides import DATA_KEYS, option_of
from tidegauge.config.source import Origin, Source

MEMORY_KEYS = ("heap", "direct-memory")
IN_FLIGHT = "in-flight"
SCALE = "scale"


@dataclass(frozen=True)
class Applied:
    """What options did to a campaign: files that were read beside it, and what has no effect now, in sentences."""

    sources: tuple[Source, ...] = ()
    notes: tuple[str, ...] = ()


def apply_overrides(source: Source, overrides: Mapping[str, Any], known: Sequence[str]) -> Applied:
    """Put the options' values in place, by the campaign's keys; `scale` was put in place before.

    `known` are the systems that Tidegauge has. Raises `UserError` if a file that an option names can't be read.
    """
    if any(key in overrides for key in DATA_KEYS):
        for key in DATA_KEYS:
            source.data.pop(key, None)
    for key, value in overrides.items():
        if key == "systems":
            _choose_systems(source, value)
        elif key == IN_FLIGHT:
            source.put(("workload", IN_FLIGHT), Origin(source.path, 0, "", value, option_of(key)))
        elif key not in (SCALE, ATTACH):
            source.data[key] = value
            source.overridden[key] = option_of(key)
    for key in MEMORY_KEYS:
        if key in overrides:
            _drop_own(source, key)
    notes = _free_worker(source) if IN_FLIGHT in overrides else ()
    if ATTACH not in overrides:
        return Applied((), notes)
    clusters = read_clusters(Path(overrides[ATTACH]), known)
    return Applied((clusters,), notes if clusters.problems else (*notes, *attach_clusters(source, clusters)))


def followers(source: Source, known: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Name and version of the file's own systems that have the campaign's durability, whatever options choose."""
    listed = source.data.get("systems")
    own = [as_mapping("systems", item) for item in (listed if isinstance(listed, list) else [])]
    return tuple(
        (item["name"], item["version"] if isinstance(item.get("version"), str) else "")
        for item in own
        if isinstance(item, dict) and item.get("name") in known and item.get("durability") is None
    )


def _free_worker(source: Source) -> tuple[str, ...]:
    """Leave the load generator's memory to what it has to hold: the campaign's was for another window."""
    worker = source.data.get("worker")
    said = {key: worker.pop(key) for key in MEMORY_KEYS if key in worker} if isinstance(worker, dict) else {}
    if not said:
        return ()
    words = ", ".join(f"{key} {value}" for key, value in said.items())
    return (f"--in-flight: the load generator's memory follows from it, instead of the campaign's ({words}).",)


def _drop_own(source: Source, key: str) -> None:
    """No system keeps its own value of a key that an option has for all of them."""
    systems = source.data.get("systems")
    for item in systems if isinstance(systems, list) else ():
        if isinstance(item, dict):
            item.pop(key, None)


def _choose_systems(source: Source, texts: list[str]) -> None:
    """The systems named, each as the campaign has it.

    A name alone stands for every entry of that name; with a version it is the entry of that version, else the first
    that is started here, in the other version. One that the campaign has not gets the memory that all of its have.
    """
    listed = source.data.get("systems")
    own = [as_mapping("systems", item) for item in (listed if isinstance(listed, list) else [])]
    replace_systems(source, [entry for text in texts for entry in _entries(text, own)])
    source.overridden["systems"] = option_of("systems")


def _entries(text: str, own: list[Any]) -> list[tuple[int | None, Any]]:
    """What a text such as kafka@4.3.1 stands for: entries, with their places in the campaign; None = not of it."""
    name, separator, version = text.partition("@")
    if separator and not version:
        return [(None, text)]
    wanted = {"name": name, "version": version} if version else {"name": name}
    named = [(place, _wanted(item)) for place, item in enumerate(own) if _is_mapping_of(item, name)]
    found: list[tuple[int | None, Any]] = [one for one in named if not version or one[1].get("version") == version]
    other = next((one for one in named if "attach" not in one[1]), None)
    if found:
        return found
    return [(other[0], {**other[1], **wanted}) if other else (None, {**wanted, **_common_memory(own)})]


def _is_mapping_of(item: Any, name: str) -> bool:
    return isinstance(item, dict) and item.get("name") == name


def _wanted(item: Mapping[str, Any]) -> dict[str, Any]:
    """A system that is asked for by name is not left out: it is not optional."""
    return {key: value for key, value in item.items() if key != "optional"}


def _common_memory(own: list[Any]) -> dict[str, Any]:
    """The memory that each system of the campaign has, if it is the same."""
    items = [item if isinstance(item, dict) else {} for item in own]
    given = {key: [item.get(key) for item in items] for key in MEMORY_KEYS}
    return {key: each[0] for key, each in given.items() if len(set(map(str, each))) == 1 and each[0] is not None}
