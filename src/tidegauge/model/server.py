"""A system's files, settings and disks, as everybody needs to know them; looking up settings that were read back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from tidegauge.numbers import whole_number

Disk = TypeVar("Disk")


@dataclass(frozen=True)
class Distribution:
    """The files of one version of a system, ready to start.

    Attributes:
        version: what was asked for ("4.3.1") or, for a local directory, what its files say.
        directory: where the files are.
        java_home: the Java runtime chosen for it; None for a system that needs none.
        digest: SHA-256 over the sorted (file name, SHA-256) list: says whether two runs used the same files.
        source: "maven central", "directory /opt/kafka".
    """

    system: str
    version: str
    directory: Path
    java_home: Path | None
    java_version: str
    digest: str
    source: str


def node_disks(disks: tuple[Disk, ...], number: int, nodes: int) -> tuple[Disk, ...]:
    """The data disks of node `number` (from 1) of so many; none if none was chosen.

    One, which nodes take by turns; several where more disks were chosen than there are nodes: of six, the first of
    three nodes has the first and the fourth.
    """
    return disks[number - 1 :: nodes] or tuple(by_turns(disks, number)[-1:])


def has_own_hosts(hosts: Mapping[int, str], nodes: int) -> bool:
    """Whether each of so many nodes is on a host of its own, by the hosts of those that are not on this one."""
    return len({hosts[number] for number in range(1, nodes + 1) if number in hosts}) == nodes


def by_turns(disks: Sequence[Disk], nodes: int) -> list[Disk]:
    """The disk of each of so many nodes, in their order; none if none was chosen."""
    return [disks[number % len(disks)] for number in range(nodes)] if disks else []


@dataclass(frozen=True)
class Handles:
    """Open files and memory maps of one process."""

    files: int
    maps: int


@dataclass(frozen=True)
class Setting:
    """A setting in force, read back from the running system or client (never from what we wrote).

    `default_value`: what it differs from, as the system or the client library itself says; None if it does not differ,
    or where that is not known.
    """

    scope: str
    name: str
    value: str
    is_default: bool | None = None
    default_value: str | None = field(default=None, metadata={"if_any": True})


_TOPIC = "topic "
SINGLE_ADDRESS = "single.address"
"""Of a cluster of others: the one address at which all its nodes are reached; not there if they have several."""

OF_THE_LOAD = frozenset(
    {
        "partitions",
        "partitioned",
        "in.sync.replicas",
        "leaders.by.broker",
        "partition.owners",
        "partitions.unowned",
        "queues",
        "queue.leaders",
        "queue.members.online",
    }
)
"""Settings that describe a topic's own load or a moment. Whole names: parts of them are in settings that decide, such
as Kafka's unclean.leader.election.enable."""


def value_of(settings: Sequence[Setting], scope: str, name: str) -> str:
    """The value of a setting; "" if it was not read back."""
    return next((s.value for s in settings if (s.scope, s.name) == (scope, name)), "")


def number_of(settings: Sequence[Setting], scope: str, name: str) -> int | None:
    """A setting that is a number; None if it was not read back."""
    return whole_number(value_of(settings, scope, name))


def scopes_of(settings: Sequence[Setting], prefix: str = _TOPIC) -> list[str]:
    """The scopes that begin so, sorted."""
    return sorted({s.scope for s in settings if s.scope.startswith(prefix)})


def by_scope(settings: Sequence[Setting], prefix: str = _TOPIC) -> dict[str, dict[str, str]]:
    """All settings of each scope that begins so, by name; scopes in their order."""
    scopes: dict[str, dict[str, str]] = {}
    for setting in settings:
        if setting.scope.startswith(prefix):
            scopes.setdefault(setting.scope, {})[setting.name] = setting.value
    return dict(sorted(scopes.items()))


def values_of(settings: Sequence[Setting], scope: str) -> dict[str, str]:
    """All settings of a scope, by name."""
    return {s.name: s.value for s in settings if s.scope == scope}


def listed_entries(settings: Sequence[Setting], name: str) -> Iterator[tuple[str, str]]:
    """What a topic's setting lists, as "topic-place" and entry: of "a, b" of topic t, t-0 has a and t-1 has b."""
    for setting in settings:
        if setting.name == name and setting.scope.startswith(_TOPIC):
            for place, entry in enumerate(setting.value.split(", ")):
                yield f"{setting.scope.removeprefix(_TOPIC)}-{place}", entry
