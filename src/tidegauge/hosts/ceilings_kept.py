"""Ceilings kept from one command to the next, so that a run need not measure what `doctor` just did (`hosts.kept`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from tidegauge.hosts.ceilings import Ceilings
from tidegauge.hosts.kept import is_fresh, path_of, read_kept_of, seconds_since, write_kept

_NAME = "ceilings"


def kept_path() -> Path:
    """The file; it need not exist."""
    return path_of(_NAME)


def keep(ceilings: Ceilings) -> None:
    """Add to what is kept, the newest first. Raises `OSError`."""
    write_kept(_NAME, [ceilings, *(earlier for earlier in read_kept() if earlier.machine == ceilings.machine)])


def read_kept() -> list[Ceilings]:
    """Everything kept, the newest first; nothing if the file is damaged or of another schema."""
    return read_kept_of(_NAME, Ceilings)


def fresh(
    kept: Sequence[Ceilings], machine: str, devices: Sequence[str], now: datetime, load_average: float
) -> Ceilings | None:
    """What is fresh of this machine for all these disks together; None if anything is missing. Pure.

    Figures may come from several measurements: the time reported is then that of the oldest one used. Doubtful ones
    count only while the machine is as busy as it was then (`load_average`: now): measuring again would show no more.
    """
    usable = [
        ceilings
        for ceilings in kept
        if ceilings.machine == machine
        and is_fresh(ceilings.measured_at, now)
        and (not ceilings.doubtful or ceilings.load_average <= load_average)
    ]
    with_loopback = next((ceilings for ceilings in usable if ceilings.loopback is not None), None)
    by_disk = [next((ceilings for ceilings in usable if ceilings.disk(device) is not None), None) for device in devices]
    if with_loopback is None or None in by_disk:
        return None
    used = [with_loopback, *(ceilings for ceilings in by_disk if ceilings is not None)]
    oldest = min(used, key=lambda ceilings: ceilings.measured_at)
    disks = [
        disk for ceilings, device in zip(used[1:], devices, strict=True) if (disk := ceilings.disk(device)) is not None
    ]
    memory = next((ceilings.memory for ceilings in usable if ceilings.memory is not None), None)
    busiest = max(ceilings.load_average for ceilings in used)
    return replace(oldest, disks=tuple(disks), loopback=with_loopback.loopback, memory=memory, load_average=busiest)


def age_s(ceilings: Ceilings, now: datetime) -> float:
    """How long ago they were measured; infinite if the time can't be read."""
    return seconds_since(ceilings.measured_at, now)
