"""How many bytes the servers of a trial may write at most, by its rate and length, and whether disks have the room."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from tidegauge.errors import DiskFullError
from tidegauge.model.host import FreeSpace
from tidegauge.model.server import by_turns, has_own_hosts, node_disks
from tidegauge.model.trial import LoadSpec, TrialSpec
from tidegauge.numbers import gib

FREE_BYTES_BEFORE = 2 << 30
"""What stays free beside a trial's messages."""
_RECORD_BYTES = 128
"""Beside a message's value: its headers, its part of an index, the gaps at ends of files."""
_JOURNAL_BYTES = 16 << 30
_JOURNAL_S = 60.0
"""A journal is removed once all of it is where it stays: a bookie keeps 5 of 2 GiB and one that grows, and writes out
what they hold within a minute (journalMaxBackups, journalMaxSizeMB, flushInterval)."""


def bytes_needed(spec: TrialSpec, nodes: int) -> int:
    """What so many nodes of a trial may need at most; where the rate is not known, only the least that is needed."""
    return FREE_BYTES_BEFORE + nodes * (stays_bytes(spec) + journal_bytes(spec))


def stays_bytes(spec: TrialSpec) -> int:
    """What stays on a node until the trial ends: a copy of every message, for nothing is deleted while it runs."""
    message_bytes = spec.workload.payload.message_bytes + _RECORD_BYTES
    return int(spec.most_msgs_per_s * sending_s_max(spec) * message_bytes)


def journal_bytes(spec: TrialSpec) -> int:
    """What a node's journal may hold beside, where its system has one."""
    a_minute = spec.most_msgs_per_s * _JOURNAL_S * (spec.workload.payload.message_bytes + _RECORD_BYTES)
    return min(stays_bytes(spec), _JOURNAL_BYTES + int(a_minute))


def sending_s_max(spec: TrialSpec) -> float:
    """How long a trial may send at most."""
    seconds = spec.measure_s + 5
    if not isinstance(spec, LoadSpec):
        return seconds
    seconds += spec.warmup_s_max
    if spec.late is not None:
        # The load goes on while the backlog is read away, and after it.
        building_s = spec.late.backlog_msgs / spec.msgs_per_s if spec.msgs_per_s else 0.0
        seconds += max(spec.measure_s, building_s) + spec.late.chase_s_max
    return seconds


@dataclass(frozen=True)
class Room:
    """What a trial may need on one disk, or on several together, and what is free there. `places`: one on each."""

    places: tuple[Path, ...]
    needed_bytes: int
    free_bytes: int
    host: str = ""

    def __str__(self) -> str:
        """Its places in words: "/a", "/a and /b on 10.77.0.2 together"."""
        *others, last = map(str, self.places)
        on = f" on {self.host}" if self.host else ""
        return f"{', '.join(others)} and {last}{on} together" if others else f"{last}{on}"


ReadFreeSpace = Callable[[Sequence[Path]], Iterable[FreeSpace]]


def needed_rooms(
    spec: TrialSpec,
    disks: Iterable[Path],
    journal_disks: Iterable[Path],
    look: ReadFreeSpace,
    hosts: Mapping[int, str] = MappingProxyType({}),
) -> list[Room]:
    """What a trial needs of the disks chosen for data and for journals, of which several places may be on one.

    `look` says what is free on all hosts; `hosts` where each node is, by number; without it nodes are on this one.

    A node's data may be spread over all of its disks, as each system does it in its own way: so they need the room
    together. Its journal needs room where `DeployRequest.journal_directory` has it: on a disk for journals, else on
    the last disk of the node. This is the least that is needed: a system that keeps all data on one of a node's disks
    may need more there, which `hosts.space.check_during` sees.
    """
    disks, journal_disks = tuple(disks), tuple(journal_disks)
    alone = has_own_hosts(hosts, spec.nodes)
    spaces = {(space.host, space.place): space for space in look((*disks, *journal_disks))}
    example: dict[tuple[str, int], FreeSpace] = {}
    needs: Counter[tuple[tuple[str, int], ...]] = Counter()
    for number in range(1, spec.nodes + 1):
        node_places = disks if alone else node_disks(disks, number, spec.nodes)
        journal = by_turns(journal_disks, number)[-1:] or list(node_places[-1:])
        for places, needed in ((node_places, stays_bytes(spec)), (journal, journal_bytes(spec))):
            disk_spaces = [spaces[hosts.get(number, ""), place] for place in places]
            for space in disk_spaces:
                example.setdefault(space.disk, space)
            needs[tuple(sorted({space.disk for space in disk_spaces}))] += needed
    rooms = []
    for disks_together in needs:
        # What has to be on some of these disks takes of what they have together.
        needed = sum(part for others, part in needs.items() if set(others) <= set(disks_together))
        disk_spaces = [example[disk] for disk in disks_together]
        places = tuple(space.place for space in disk_spaces)
        free = sum(space.free_bytes for space in disk_spaces)
        rooms.append(Room(places, FREE_BYTES_BEFORE * len(disk_spaces) + needed, free, disk_spaces[0].host))
    return rooms


def check_before(trial_id: str, needed: Iterable[Room]) -> None:
    """Raise `DiskFullError` if disks have not the room that a trial may need (see `needed_rooms`)."""
    for room in needed:
        if room.free_bytes < room.needed_bytes:
            has = "has" if len(room.places) == 1 else "have"
            raise DiskFullError(
                f"Not enough room for {trial_id}: it may need {gib(room.needed_bytes)}, and {room} {has} "
                f"{gib(room.free_bytes)} free.",
                "Free some room, choose another disk with 'data-directory', or make the trial shorter.",
            )
