"""Emptying the page cache, so that every trial begins alike (root only), and writing back what is dirty."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_DROP = Path("/proc/sys/vm/drop_caches")
_PAGES_ONLY = "1"
WRITE_BACK_S_MAX = 120.0
"""For what a trial before has left dirty, also on a slow disk."""


@dataclass(frozen=True)
class CacheDrop:
    """Whether the page cache was dropped, and if not, why."""

    done: bool
    reason: str = ""


def drop_page_cache(directories: Sequence[Path], control: Path = _DROP) -> CacheDrop:
    """Write back what is dirty on the file systems of `directories`, then drop the page cache. Never raises.

    Other file systems are left alone: one of them may be frozen or hang, and sync(2) would then hang as well.
    """
    # Dirty pages can't be dropped.
    problem = write_back(directories, WRITE_BACK_S_MAX)
    if problem:
        return CacheDrop(False, problem)
    try:
        control.write_text(_PAGES_ONLY)
    except PermissionError:
        return CacheDrop(False, "needs root")
    except OSError as error:
        return CacheDrop(False, f"{control}: {error.strerror}")
    return CacheDrop(True)


def write_back(directories: Sequence[Path], seconds_max: float = WRITE_BACK_S_MAX) -> str:
    """Have all on disk that was written to these file systems until now; why it can't be done, "" if it is done.

    A process of its own does it, since nothing else that waits for a disk can be given up.
    """
    by_device = {directory.stat().st_dev: directory for directory in directories if directory.exists()}
    if not by_device:
        return ""
    command = ["sync", "--file-system", "--", *map(str, by_device.values())]
    try:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    except OSError as error:
        return f"sync can't be run: {error.strerror}"
    try:
        _, told = child.communicate(timeout=seconds_max)
    except subprocess.TimeoutExpired:
        child.kill()  # It ends when the disk answers; waiting for that is what must not happen here.
        where = ", ".join(sorted(map(str, by_device.values())))
        return f"what is still to be written to the disk of {where} was not within {seconds_max:.0f} s"
    return "" if child.returncode == 0 else f"sync failed: {' '.join(told.decode(errors='replace').split())[:200]}"
