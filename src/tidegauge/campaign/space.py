"""Is there room on the disk for what a trial writes?"""

from __future__ import annotations

import os
import shutil
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tidegauge.errors import RunFailedError, UserError
from tidegauge.experiments.api import TrialSpec
from tidegauge.hosts.ceilings import Ceilings
from tidegauge.hosts.ceilings_kept import fresh, read_kept
from tidegauge.hosts.ceilings_measure import machine_id, place_for
from tidegauge.hosts.memory import dirty_limit_bytes


class DiskFullError(RunFailedError):
    """The disk has no room. Ends the run: the next trial would fill it again, and whoever else needs it suffers."""


FREE_BYTES_BEFORE = 2 << 30
FREE_BYTES_DURING = 256 << 20
_COPIES = 2.0
"""Pulsar writes each message to a journal and to a ledger; Kafka once. The larger is reserved for both."""
_AHEAD_S = 2.0
"""A disk that will be full by then counts as full: what takes notice and stops the load needs some of it."""
_SEEN_S = 3.0
"""How long the free room is looked at until it is said how fast it goes."""


def bytes_needed(spec: TrialSpec, nodes: int) -> int:
    """What so many nodes of a trial may write at most; of an unknown rate only the floor (see `FullSpeed`)."""
    written = spec.most_msgs_per_s * _seconds(spec) * spec.workload.payload.message_bytes * _COPIES * nodes
    return FREE_BYTES_BEFORE + int(written)


def _seconds(spec: TrialSpec) -> float:
    """How long a trial may send at most."""
    seconds = spec.warmup_s_max + spec.measure_s + 5
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
        """At most, by all nodes of a trial together."""
        seconds = _seconds(spec)
        bounds = [self.disk_bytes_per_s * seconds + self.cached_bytes]
        if self.loopback_bytes_per_s is not None:
            bounds.append(self.loopback_bytes_per_s * seconds * _COPIES)
        return int(min(bounds))


ASSUMED = FullSpeed(2e9, measured=False)
"""Where nothing is measured: 2 GB/s, about what one fast NVMe drive takes."""


def is_open_ended(spec: TrialSpec) -> bool:
    """Whether its rate, and so what it writes, is not known before."""
    return spec.msgs_per_s is None and spec.attest is None and not spec.attached and not spec.reads_only


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
    """The same from what is known of earlier, for a plan: nothing is measured. Never raises for what it can't find."""
    try:
        devices = list(dict.fromkeys(place_for(place)[1] for place in places))
        return full_speed(fresh(read_kept(), machine_id(), devices, datetime.now(UTC), os.getloadavg()[0]), devices)
    except (OSError, UserError):
        return ASSUMED


def room_note(specs: Iterable[TrialSpec], full: FullSpeed, directories: Iterable[Path]) -> str:
    """ "" or that a trial as fast as it goes may write more than is free, and what happens then."""
    most = max((full.bytes_written(spec) for spec in specs if is_open_ended(spec)), default=0)
    by_disk = {place.stat().st_dev: shutil.disk_usage(place).free for place in directories if place.exists()}
    free = sum(by_disk.values())
    if not by_disk or most + FREE_BYTES_DURING <= free:
        return ""
    return (
        f"A trial as fast as it goes may write up to {_gib(most)} here, and {_gib(free)} are free. The run ends before "
        "a disk is full; shorter trials or another disk ('data-directory') leave more room."
    )


def check_before(directories: Iterable[Path], spec: TrialSpec) -> None:
    """Raise `DiskFullError` if a disk has not the room that the trial may need.

    `directories` holds one for each node's data, and one for each journal apart; several may be on one disk.
    """
    on_disk: Counter[int] = Counter()
    example: dict[int, Path] = {}
    for directory in directories:
        device = directory.stat().st_dev
        on_disk[device] += 1
        example.setdefault(device, directory)
    for device, nodes in on_disk.items():
        free = shutil.disk_usage(example[device]).free
        needed = bytes_needed(spec, nodes)
        if free < needed:
            raise DiskFullError(
                f"Not enough room for {spec.trial_id}: it may need {_gib(needed)}, and {example[device]} has "
                f"{_gib(free)} free.",
                "Free some room, choose another disk with 'data-directory', or make the trial shorter.",
            )


class FreeRoom:
    """How fast the free room of disks goes, from looks at it. `clock`: seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._looks: dict[Path, deque[tuple[float, int]]] = {}

    def falls_by(self, directory: Path, free_bytes: int) -> float:
        """Bytes a second that were lost over the last seconds; 0 until enough of them were seen."""
        now = self._clock()
        looks = self._looks.setdefault(directory, deque())
        looks.append((now, free_bytes))
        while len(looks) > 2 and looks[1][0] <= now - _SEEN_S:
            looks.popleft()
        first_s, first_bytes = looks[0]
        return max(0.0, (first_bytes - free_bytes) / (now - first_s)) if now - first_s >= _SEEN_S else 0.0


def check_during(directories: Iterable[Path], room: FreeRoom | None = None) -> None:
    """Raise `DiskFullError` before a disk is full: servers behave in strange ways then, and logs are lost.

    A load of gigabytes a second fills any small reserve between two looks, so with `room` a disk that would be full in
    two seconds is taken for full. Raises `RunFailedError` if a disk is gone.
    """
    for directory in directories:
        try:
            free = shutil.disk_usage(directory).free
        except OSError as error:
            raise RunFailedError(f"The disk of {directory} can't be looked at any more: {error.strerror}.") from error
        falls_by = room.falls_by(directory, free) if room else 0.0
        if free >= FREE_BYTES_DURING + falls_by * _AHEAD_S:
            continue
        filling = f" and {falls_by / 1e6:,.0f} MB less each second" if free >= FREE_BYTES_DURING else ""
        raise DiskFullError(
            f"The disk of {directory} is almost full ({_gib(free)} free{filling}), so the run was ended.",
            "Free some room, choose another disk with 'data-directory', or make the trial shorter.",
        )


def _gib(size_bytes: int) -> str:
    return f"{size_bytes / (1 << 30):.1f} GiB"
