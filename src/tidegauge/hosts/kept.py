"""What was measured of this machine, kept from one command to the next: one file of each kind in the state directory.

A file is replaced as a whole. It holds no results: a run has its own copy of what it used. Ceilings are kept so that a
run need not measure what `doctor` just did.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from tidegauge.atomic import replace_file
from tidegauge.hosts.storage import state_directory
from tidegauge.model.ceilings import Ceilings
from tidegauge.numbers import parse_time
from tidegauge.plain import plain_value, typed_value

FRESH_S = 12 * 3600.0
"""Older ones are measured again: disks fill, neighbours come and go."""
SCHEMA = 1
_KEPT_MAX = 16

T = TypeVar("T")


def path_of(name: str) -> Path:
    """The file of one kind of measurement; it need not exist."""
    return state_directory() / f"{name}.json"


def write_kept(name: str, newest_first: Sequence[object]) -> None:
    """Keep these and no others, the newest of them if they are many. Raises `OSError`."""
    path = path_of(name)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    content = {"schema": SCHEMA, "kept": plain_value(newest_first[:_KEPT_MAX])}
    replace_file(path, json.dumps(content, indent=2).encode(), shared=True)


def read_kept_of(name: str, kind: type[T]) -> list[T]:
    """Everything kept, the newest first; nothing if the file is damaged or of another schema."""
    try:
        content = json.loads(path_of(name).read_text(encoding="utf-8"))
        if content["schema"] != SCHEMA:
            return []
        return [typed_value(kind, entry) for entry in content["kept"]]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def seconds_since(measured_at: str, now: datetime) -> float:
    """How long ago something was measured; infinite if the time can't be read."""
    try:
        return (now - parse_time(measured_at)).total_seconds()
    except ValueError:
        return float("inf")


def is_fresh(measured_at: str, now: datetime) -> bool:
    """Whether something was measured a short time ago."""
    return 0 <= seconds_since(measured_at, now) <= FRESH_S


_CEILINGS = "ceilings"


def keep_ceilings(ceilings: Ceilings) -> None:
    """Add to what is kept, the newest first. Raises `OSError`."""
    write_kept(_CEILINGS, [ceilings, *(earlier for earlier in kept_ceilings() if earlier.machine == ceilings.machine)])


def kept_ceilings() -> list[Ceilings]:
    """Everything kept, the newest first; nothing if the file is damaged or of another schema."""
    return read_kept_of(_CEILINGS, Ceilings)


def fresh_ceilings(
    measurements: Sequence[Ceilings], machine: str, devices: Sequence[str], now: datetime, load_average: float
) -> Ceilings | None:
    """What is fresh of this machine for all these disks together; None if anything is missing. Pure.

    Figures may come from several measurements: the time reported is then that of the oldest one used. Doubtful ones
    count only while the machine is as busy as it was then (`load_average`: now): measuring again would show no more.
    """
    usable = [
        ceilings
        for ceilings in measurements
        if ceilings.machine == machine
        and is_fresh(ceilings.measured_at, now)
        and (not ceilings.doubtful or ceilings.load_average <= load_average)
    ]
    with_loopback = next((ceilings for ceilings in usable if ceilings.loopback is not None), None)
    with_disk = [[(ceilings, disk) for ceilings in usable if (disk := ceilings.disk(device))] for device in devices]
    if with_loopback is None or not all(with_disk):
        return None
    disks = tuple(matches[0][1] for matches in with_disk)
    used = [with_loopback, *(matches[0][0] for matches in with_disk)]
    oldest = min(used, key=lambda ceilings: ceilings.measured_at)
    memory = next((ceilings.memory for ceilings in usable if ceilings.memory is not None), None)
    busiest = max(ceilings.load_average for ceilings in used)
    return replace(oldest, disks=disks, loopback=with_loopback.loopback, memory=memory, load_average=busiest)
