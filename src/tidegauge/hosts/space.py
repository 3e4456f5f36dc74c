"""Is there room on the disk for what a trial writes?"""

from __future__ import annotations

import errno
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tidegauge.errors import DiskFullError, RunFailedError, UserError
from tidegauge.hosts.ceilings_measure import machine_id, place_for
from tidegauge.hosts.kept import fresh_ceilings, kept_ceilings
from tidegauge.hosts.memory import dirty_limit_bytes
from tidegauge.hosts.storage import free_space
from tidegauge.model.ceilings import Ceilings
from tidegauge.model.disk_needs import sending_s_max
from tidegauge.model.host import FreeSpace
from tidegauge.model.trial import LoadSpec, TrialSpec
from tidegauge.numbers import gib
from tidegauge.places import expand_path

FREE_BYTES_DURING = 256 << 20
_WRITES_MAX = 2.0
"""How often what arrives may be written, to a journal and to where it stays, in a trial as fast as it goes."""
_AHEAD_S = 2.0
"""A disk that will be full by then counts as full: what takes notice and stops the load needs some of it."""
_SEEN_S = 3.0
"""How long the free room is looked at until it is said how fast it goes."""


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
        seconds = sending_s_max(spec)
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
        where, free = f"{space.place} on {space.host}" if space.host else str(space.place), space.free_bytes
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
