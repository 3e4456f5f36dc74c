"""How long a disk takes to make a small append durable, now: evidence beside every trial, and a way to wait for calm.

What a trial leaves behind works on: deleted files are discarded, journals are committed, other programs write. A system
measured right after has a slower disk than the one before it, and would be blamed for it.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from tidegauge.errors import RunFailedError
from tidegauge.hosts.storage import nearest_existing

APPEND_BYTES = 4096
BURST_S = 0.25
CALM_RATIO = 3.0
CALM_S_MAX = 5.0
_APPENDS_MAX = 5000


@dataclass(frozen=True)
class FsyncLatency:
    """Appends of 4 KiB, each followed by fdatasync: an append changes the file's length, so the journal commits too."""

    count: int
    mean_ms: float
    max_ms: float


@dataclass(frozen=True)
class Calm:
    """A disk as it was left: latency, the usual mean, how long was waited for it, whether it came near the usual."""

    latency: FsyncLatency
    usual_ms: float
    waited_s: float
    is_calm: bool


def fsync_latency(directory: Path, seconds: float = BURST_S) -> FsyncLatency:
    """Measure for a moment in a temporary file of this directory, which must exist. Raises `OSError`."""
    times_ns: list[int] = []
    block = b"\xa5" * APPEND_BYTES
    with tempfile.TemporaryFile(dir=directory) as file:
        end_ns = time.monotonic_ns() + round(seconds * 1e9)
        while not times_ns or (time.monotonic_ns() < end_ns and len(times_ns) < _APPENDS_MAX):
            os.write(file.fileno(), block)
            begun_ns = time.perf_counter_ns()
            os.fdatasync(file.fileno())
            times_ns.append(time.perf_counter_ns() - begun_ns)
    mean_ms = sum(times_ns) / len(times_ns) / 1e6
    return FsyncLatency(len(times_ns), mean_ms, max(times_ns) / 1e6)


def calm_disk(directory: Path) -> Calm:
    """Wait for a disk that is still busy with what came before; what is usual is measured at the first call for it.

    For a directory that is not there, the nearest one above it counts. Raises `RunFailedError`.
    """
    try:
        nearest_directory = nearest_existing(directory)
        device = nearest_directory.stat().st_dev
        if device not in _usual_ms:
            _usual_ms[device] = usual_latency(nearest_directory)
        return await_calm(_usual_ms[device], CALM_S_MAX, lambda: fsync_latency(nearest_directory))
    except OSError as error:
        raise RunFailedError(f"The disk's fsync could not be measured: {error.strerror}.") from error


_usual_ms: dict[int, float] = {}
"""By a disk's number: which directory of it is the nearest changes with what a trial makes."""


def usual_latency(directory: Path, bursts: int = 4) -> float:
    """What this disk can do when nothing disturbs it: the lowest mean of some bursts, ms. Raises `OSError`."""
    return min(fsync_latency(directory).mean_ms for _ in range(bursts))


def slowest_disk(disks: Iterable[Calm]) -> Calm:
    """The disk that holds back the others: an acknowledgement waits for it. Raises `ValueError` without any."""
    return max(disks, key=lambda disk: (not disk.is_calm, disk.latency.mean_ms))


def await_calm(
    usual_ms: float,
    seconds_max: float,
    measure: Callable[[], FsyncLatency],
    now_s: Callable[[], float] = time.monotonic,
) -> Calm:
    """Measure until two bursts in a row are at most `CALM_RATIO` times as slow as usual, or time is up."""
    begun_s = now_s()
    in_a_row = 0
    while True:
        latency = measure()
        in_a_row = in_a_row + 1 if latency.mean_ms <= CALM_RATIO * usual_ms else 0
        waited_s = now_s() - begun_s
        if in_a_row == 2 or waited_s >= seconds_max:
            return Calm(latency, usual_ms, waited_s, in_a_row > 0)
