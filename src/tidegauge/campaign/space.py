"""Is there room on the disk for what a trial writes?"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tidegauge.errors import RunFailedError
from tidegauge.experiments.api import TrialSpec


class DiskFullError(RunFailedError):
    """The disk has no room. Ends the run: the next trial would fill it again, and whoever else needs it suffers."""


FREE_BYTES_BEFORE = 2 << 30
FREE_BYTES_DURING = 256 << 20
_COPIES = 2.0
"""Pulsar writes each message to a journal and to a ledger; Kafka once. The larger is reserved for both."""


def bytes_needed(spec: TrialSpec, nodes: int) -> int:
    """What so many nodes of a trial may write at most; for a closed loop, whose rate is not known, only the floor."""
    seconds = spec.warmup_s_max + spec.measure_s + 5
    if spec.late is not None:
        # The load goes on while the backlog is read away, and after it.
        building_s = spec.late.backlog_msgs / spec.msgs_per_s if spec.msgs_per_s else 0.0
        seconds += max(spec.measure_s, building_s) + spec.late.chase_s_max
    written = spec.most_msgs_per_s * seconds * spec.workload.payload.message_bytes * _COPIES * nodes
    return FREE_BYTES_BEFORE + int(written)


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


def check_during(directories: Iterable[Path]) -> None:
    """Raise `DiskFullError` before a disk is full: servers behave in strange ways then, and logs are lost.

    Raises `RunFailedError` if a disk is gone.
    """
    for directory in directories:
        try:
            free = shutil.disk_usage(directory).free
        except OSError as error:
            raise RunFailedError(f"The disk of {directory} can't be looked at any more: {error.strerror}.") from error
        if free < FREE_BYTES_DURING:
            raise DiskFullError(
                f"The disk of {directory} is almost full ({_gib(free)} free), so the run was ended.",
                "Free some room, choose another disk with 'data-directory', or make the trial shorter.",
            )


def _gib(size_bytes: int) -> str:
    return f"{size_bytes / (1 << 30):.1f} GiB"
