"""Is there room on the disk for what a trial writes?"""

from __future__ import annotations

import errno
import os
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType

from tidegauge.errors import RunFailedError, UserError
from tidegauge.hosts.ceilings_measure import machine_id, place_for
from tidegauge.hosts.kept import fresh_ceilings, kept_ceilings
from tidegauge.hosts.memory import dirty_limit_bytes
from tidegauge.hosts.storage import free_space
from tidegauge.model.ceilings import Ceilings
from tidegauge.model.host import FreeSpace
from tidegauge.model.server import by_turns, has_own_hosts, node_disks
from tidegauge.model.trial import LoadSpec, TrialSpec
from tidegauge.numbers import gib
from tidegauge.places import expand_path


class DiskFullError(RunFailedError):
    """The disk has no room. Ends the run: the next trial would fill it again, and whoever else needs it suffers."""


FREE_BYTES_BEFORE = 2 << 30
FREE_BYTES_DURING = 256 << 20
_WRITES_MAX = 2.0
"""How often what arrives may be written, to a journal and to where it stays, in a trial as fast as it goes."""
_RECORD_BYTES = 128
"""Beside a message's value: its headers, its part of an index, the gaps at ends of files."""
_JOURNAL_BYTES = 16 << 30
_JOURNAL_S = 60.0
"""A journal is removed once all of it is where it stays: a bookie keeps 5 of 2 GiB and one that grows, and writes out
what they hold within a minute (journalMaxBackups, journalMaxSizeMB, flushInterval)."""
_AHEAD_S = 2.0
"""A disk that will be full by then counts as full: what takes notice and stops the load needs some of it."""
_SEEN_S = 3.0
"""How long the free room is looked at until it is said how fast it goes."""


def bytes_needed(spec: TrialSpec, nodes: int) -> int:
    """What so many nodes of a trial may need at most; of an unknown rate only the floor (see `FullSpeed`)."""
    return FREE_BYTES_BEFORE + nodes * (stays_bytes(spec) + journal_bytes(spec))


def stays_bytes(spec: TrialSpec) -> int:
    """What stays on a node until the trial ends: a copy of every message, for nothing is deleted while it runs."""
    message_bytes = spec.workload.payload.message_bytes + _RECORD_BYTES
    return int(spec.most_msgs_per_s * _sending_s_max(spec) * message_bytes)


def journal_bytes(spec: TrialSpec) -> int:
    """What a node's journal may hold beside, where its system has one."""
    a_minute = spec.most_msgs_per_s * _JOURNAL_S * (spec.workload.payload.message_bytes + _RECORD_BYTES)
    return min(stays_bytes(spec), _JOURNAL_BYTES + int(a_minute))


def _sending_s_max(spec: TrialSpec) -> float:
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
class FullSpeed:
    """What bounds the writing of trials whose rate nobody knows before: measured of the machine, or assumed.

    Attributes:
        disk_bytes_per_s: of all disks together.
        cached_bytes: that the kernel lets wait in memory beside.
        loopback_bytes_per_s: everything that is stored came to its node over it; None if it was not measured.
        measured: whether the disks were.
    """

    disk_bytes_per_s: float
    cached_bytes: int = 0
    loopback_bytes_per_s: float | None = None
    measured: bool = True

    def bytes_written(self, spec: TrialSpec) -> int:
        """How much all nodes of a trial together write at most."""
        seconds = _sending_s_max(spec)
        bounds = [self.disk_bytes_per_s * seconds + self.cached_bytes]
        if self.loopback_bytes_per_s is not None:
            bounds.append(self.loopback_bytes_per_s * seconds * _WRITES_MAX)
        return int(min(bounds))


ASSUMED = FullSpeed(2e9, measured=False)
"""Where nothing is measured: 2 GB/s, about what one fast NVMe drive takes."""


def is_open_ended(spec: TrialSpec) -> bool:
    """Whether its rate, and so what it writes, is not known before."""
    return isinstance(spec, LoadSpec) and spec.msgs_per_s is None and not spec.elsewhere


def full_speed(ceilings: Ceilings | None, devices: Sequence[str]) -> FullSpeed:
    """What these disks and loopback allow; assumed where a disk was not measured."""
    disks = [ceilings.disk(device) for device in dict.fromkeys(devices)] if ceilings else []
    rates = [disk.write_bytes_per_s if disk else None for disk in disks]
    if ceilings is None or not rates or None in rates:
        return ASSUMED
    loopback = ceilings.loopback
    total = sum(rate for rate in rates if rate is not None)
    return FullSpeed(total, dirty_limit_bytes(), loopback.most_bytes_per_s if loopback else None)


def full_speed_known(places: Iterable[Path]) -> FullSpeed:
    """Full speed by what is known of earlier, for a plan: nothing is measured. Never raises for what it can't find."""
    try:
        devices = list(dict.fromkeys(place_for(place)[1] for place in places))
        return full_speed(
            fresh_ceilings(kept_ceilings(), machine_id(), devices, datetime.now(UTC), os.getloadavg()[0]), devices
        )
    except (OSError, UserError):
        return ASSUMED


def room_note(specs: Iterable[TrialSpec], full: FullSpeed, directories: Iterable[Path]) -> str:
    """ "" or that a trial as fast as it goes may write more than is free, and what happens then."""
    most = max((full.bytes_written(spec) for spec in specs if is_open_ended(spec)), default=0)
    by_disk = {space.disk: space.free_bytes for space in free_space(directories) if space.is_there}
    free = sum(by_disk.values())
    if not by_disk or most + FREE_BYTES_DURING <= free:
        return ""
    return (
        f"A trial as fast as it goes may write up to {gib(most)} here, and {gib(free)} are free. The run ends before "
        "a disk is full; shorter trials or another disk ('data-directory') leave more room."
    )


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
        on = _words_for_host(self.host)
        return f"{', '.join(others)} and {last}{on} together" if others else f"{last}{on}"


def _words_for_host(host: str) -> str:
    return f" on {host}" if host else ""


ReadFreeSpace = Callable[[Sequence[Path]], Iterable[FreeSpace]]


def chosen_disk(directory: str) -> Path:
    """A disk chosen for the servers' data. It is never created: a disk that isn't mounted must not be measured.

    Raises `UserError`.
    """
    path = expand_path(directory)
    if not path.is_dir():
        problem = "is no directory" if path.exists() else "does not exist"
        raise UserError(f"The data directory {path} {problem}.", "Mount the disk or create the directory first.")
    if not os.access(path, os.W_OK | os.X_OK):
        raise UserError(f"The data directory {path} can't be written.", "Change its rights, or choose another.")
    return path


def needed_rooms(
    spec: TrialSpec,
    disks: Iterable[Path],
    journal_disks: Iterable[Path],
    look: ReadFreeSpace = free_space,
    hosts: Mapping[int, str] = MappingProxyType({}),
) -> list[Room]:
    """What a trial needs of the disks chosen for data and for journals, of which several places may be on one.

    `look` says what is free on all hosts; `hosts` where each node is, by number; without it nodes are on this one.

    A node's data may be spread over all of its disks, as each system does it in its own way: so they need the room
    together. Its journal needs room where `DeployRequest.journal_directory` has it: on a disk for journals, else on
    the last disk of the node. This is the least that is needed: a system that keeps all data on one of a node's disks
    may need more there, which `check_during` sees.
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


class FreeRoom:
    """How fast the free room of disks goes, from looks at it. `clock`: seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._looks: dict[tuple[str, Path], deque[tuple[float, int]]] = {}

    def falls_by(self, space: FreeSpace) -> float:
        """Bytes a second that were lost over the last seconds; 0 until enough of them were seen."""
        now = self._clock()
        looks = self._looks.setdefault((space.host, space.place), deque())
        looks.append((now, space.free_bytes))
        while len(looks) > 2 and looks[1][0] <= now - _SEEN_S:
            looks.popleft()
        first_s, first_bytes = looks[0]
        return max(0.0, (first_bytes - space.free_bytes) / (now - first_s)) if now - first_s >= _SEEN_S else 0.0


def check_during(spaces: Iterable[FreeSpace], room: FreeRoom | None = None) -> None:
    """Raise `DiskFullError` before a disk is full: servers behave in strange ways then, and logs are lost.

    A load of gigabytes a second fills any small reserve between two looks, so with `room` a disk that would be full in
    two seconds is taken for full. Raises `RunFailedError` if a disk is gone.
    """
    for space in spaces:
        where, free = f"{space.place}{_words_for_host(space.host)}", space.free_bytes
        # A host of a fleet has directories only of its own nodes, and of the trial that started them.
        if not space.is_there and not space.host:
            raise RunFailedError(f"The disk of {where} can't be looked at any more: {os.strerror(errno.ENOENT)}.")
        falls_by = room.falls_by(space) if room else 0.0
        if free >= FREE_BYTES_DURING + falls_by * _AHEAD_S:
            continue
        filling = f" and {falls_by / 1e6:,.0f} MB less each second" if free >= FREE_BYTES_DURING else ""
        raise DiskFullError(
            f"The disk of {where} is almost full ({gib(free)} free{filling}), so the run was ended.",
            "Free some room, choose another disk with 'data-directory', or make the trial shorter.",
        )
