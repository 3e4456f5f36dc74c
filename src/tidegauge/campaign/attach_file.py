"""`--attach FILE`: a campaign on clusters that run already, which a file names, instead of on servers started here.

The file has `systems`, as a campaign has attached ones. What a campaign says of servers that others run has no effect
then, and is reported in words instead of being refused: the campaign is somebody else's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from tidegauge.campaign.attach import SERVERS_KEYS
from tidegauge.campaign.sweep import Assignment, as_mapping
from tidegauge.config.fields import Fields, Settings
from tidegauge.config.source import KeyPath, Origin, Source, read_source, show_path
from tidegauge.config.validate import validate
from tidegauge.errors import UserError, nearest
from tidegauge.model.events import LEFT_OUT

KEY = "attach"
WHAT = "clusters"
"""What such a file is in messages."""
_NOT_KEPT = (*SERVERS_KEYS, "optional")


class _ClustersFields(Fields):
    systems: list[Any] = Field(min_length=1)


class _ClusterFields(Fields):
    name: str
    attach: dict[str, Any]
    version: str = ""
    producer: Settings = Field(default_factory=dict)
    consumer: Settings = Field(default_factory=dict)


def read_clusters(path: Path, known: Sequence[str]) -> Source:
    """A file of clusters; what is wrong with it is noted. What `attach` holds is checked where the campaign is read."""
    source = read_source(path, WHAT, example="docs/reference.md shows one under 'attach'")
    fields = validate(_ClustersFields, source.data, source, ())
    for index, item in enumerate(fields.systems if fields else ()):
        at: KeyPath = ("systems", index)
        if not isinstance(item, dict):
            source.complain(at, "must be a mapping such as {name: kafka, attach: {bootstrap-servers: host:9092}}")
        elif validate(_ClusterFields, item, source, at) and item["name"] not in known:
            name = item["name"]
            source.complain(
                (*at, "name"), f"unknown system '{name}'{nearest(name, list(known))}; known: {', '.join(known)}"
            )
    return source


def to_correct(sources: Sequence[Source], overrides: Mapping[str, Any]) -> str:
    """The file that problems ask to correct: that of the clusters if all of them are in it, else the campaign."""
    wheres = [problem.where for source in sources for problem in source.problems]
    of_clusters = KEY in overrides and all(where.startswith(f"{Path(overrides[KEY])}:") for where in wheres)
    return f"{WHAT} file" if of_clusters else "campaign"


def attach_clusters(source: Source, clusters: Source) -> tuple[str, ...]:
    """Put the clusters in the place of the campaign's systems of the same names, and say what has no effect then.

    Each keeps what the campaign says of its clients; a system without a cluster is left out.
    """
    listed = source.data.get("systems")
    own = [as_mapping("systems", item) for item in (listed if isinstance(listed, list) else [])]
    names = [str(item.get("name")) for item in own if isinstance(item, dict)]
    chosen: list[tuple[int | None, Any]] = []
    origins: dict[KeyPath, Origin] = {}
    notes: list[str] = []
    for name in dict.fromkeys(names):
        place = next(at for at, item in enumerate(own) if isinstance(item, dict) and str(item.get("name")) == name)
        there = [at for at, item in enumerate(clusters.data["systems"]) if item["name"] == name]
        notes += (
            _without_effect(name, own[place]) if there else [f"{name}{LEFT_OUT}{clusters.path} has no cluster of it."]
        )
        for at in there:
            origins |= _origins(clusters, at, len(chosen))
            chosen.append((place, _merged(own[place], clusters.data["systems"][at])))
    unused = dict.fromkeys(item["name"] for item in clusters.data["systems"] if item["name"] not in names)
    notes += [f"{clusters.path}: the campaign does not measure {name}: its cluster is not used." for name in unused]
    if not chosen:
        clusters.complain(("systems",), f"has no cluster of the campaign's systems: {', '.join(names)}")
        return ()
    replace_systems(source, chosen)
    source.placed |= origins
    memory = {key: source.data.pop(key) for key in ("heap", "direct-memory") if _is_own(source, key)}
    return (*notes, *_without_effect("The campaign", memory))


def refuse_swept_servers(source: Source, assignments: Sequence[Assignment]) -> None:
    """Raises `UserError` if a sweep changes what others run: leaving that out would leave nothing of the question."""
    for at, origin in (placed for one in assignments for placed in one.placed.items()):
        if at[0] != "systems" or at[2] not in SERVERS_KEYS:
            continue
        system = as_mapping("systems", source.data["systems"][at[1]])
        if "attach" in system:
            raise UserError(
                f"{origin.where}: {origin.shown}: this sweep changes the servers of {system['name']}, which is "
                "attached: others run them.",
                "Such a campaign can't be run on attached clusters: let it start its servers (no --attach).",
            )


def replace_systems(source: Source, chosen: Sequence[tuple[int | None, Any]]) -> None:
    """Other systems for a campaign: items, each with the place of the one it was made of (None = of none).

    What is wrong with a value that stayed is reported at its place in the campaign.
    """
    listed = source.data.get("systems")
    before = [as_mapping("systems", item) for item in (listed if isinstance(listed, list) else [])]
    origins: dict[KeyPath, Origin] = {}
    for index, (place, item) in enumerate(chosen):
        kept = before[place] if place is not None else {}
        for key, value in kept.items() if isinstance(item, dict) else ():
            if item.get(key) == value:
                at: KeyPath = ("systems", place or 0, key)
                told = Origin(source.path, source.line_of(at), show_path(at), value)
                origins["systems", index, key] = source.placed.get(at, told)
    source.placed = {at: origin for at, origin in source.placed.items() if at[0] != "systems"} | origins
    source.data["systems"] = [item for _, item in chosen]


def _merged(own: Mapping[str, Any], cluster: Mapping[str, Any]) -> dict[str, Any]:
    merged = {**{key: value for key, value in own.items() if key not in _NOT_KEPT}, **cluster}
    for block in ("producer", "consumer"):
        if block in own and isinstance(own[block], dict):
            merged[block] = {**own[block], **cluster.get(block, {})}
    return merged


def _origins(clusters: Source, at: int, index: int) -> dict[KeyPath, Origin]:
    """Where a cluster's entry stands, and everything that it says."""
    return {
        ("systems", index, *path[2:]): Origin(clusters.path, line, show_path(path), None)
        for path, line in clusters.lines.items()
        if path[:2] == ("systems", at)
    }


def _is_own(source: Source, key: str) -> bool:
    """Whether a value is the file's and not an option's, which whoever gives it here must be told of."""
    return key in source.data and not source.option_of((key,))


def _without_effect(who: str, item: Mapping[str, Any]) -> list[str]:
    """A sentence on what an entry says of servers that others run; [] if it says nothing."""
    said = [f"{key} {_shown(item[key])}" for key in SERVERS_KEYS if item.get(key)]
    if not said:
        return []
    return [f"{who}: without effect on an attached cluster, whose servers others run: {'; '.join(said)}."]


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}={one}" for name, one in value.items())
    return str(value)
