"""How much memory can be used here without swapping: what the kernel has left, and what every cgroup limit leaves."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tidegauge.hosts.cgroups import cgroup_limits, hierarchies, memory_left_in
from tidegauge.hosts.environments import environment_of_helpers
from tidegauge.hosts.storage import read_stripped_text
from tidegauge.model.cgroup import cgroup_pattern
from tidegauge.model.host import MemoryAvailable

_MIB = 1 << 20


@dataclass(frozen=True)
class Machine:
    """What a process may use here: CPUs, and memory in all (MiB; 0 = not known)."""

    cpus: int
    memory_mb: int


def meminfo(root: Path = Path("/")) -> dict[str, int]:
    """What the kernel says of its memory, by its names, in bytes."""
    sizes_kb = re.findall(r"^(\w+):\s+(\d+) kB", read_stripped_text(root / "proc/meminfo"), re.MULTILINE)
    return {name: int(size) * 1024 for name, size in sizes_kb}


def this_machine(root: Path = Path("/")) -> Machine:
    """This machine, within the limits of its cgroups. Unlike what is available, it is the same from run to run."""
    limits = cgroup_limits(root)
    cpus = float(len(os.sched_getaffinity(0)))
    memory_mb = meminfo(root).get("MemTotal", 0) // _MIB
    limit_mb = int(limits.get("memory_bytes") or 0) // _MIB
    return Machine(
        max(1, round(min(cpus, float(limits.get("cpus") or cpus)))), min(memory_mb or limit_mb, limit_mb or memory_mb)
    )


def memory_available(root: Path = Path("/")) -> MemoryAvailable | None:
    """The least of what the kernel and the cgroups above this process leave; None if the kernel doesn't say.

    The page cache counts as available: the kernel gives it up before it swaps.
    """
    kernel = meminfo(root)
    if not {"MemAvailable", "MemTotal"} <= kernel.keys():
        return None
    machine = MemoryAvailable(kernel["MemAvailable"] // _MIB, f"of the machine's {kernel['MemTotal'] // _MIB:,} MiB")
    try:
        left = memory_left_in(hierarchies(root))
    except (OSError, ValueError):
        left = None
    if left is None or left.left_bytes // _MIB >= machine.available_mb:
        return machine
    bound = f"of the {left.limit_bytes // _MIB:,} MiB that the cgroup {cgroup_pattern(str(left.directory))} allows"
    return MemoryAvailable(left.left_bytes // _MIB, bound)


def unwritten_bytes(root: Path = Path("/")) -> int:
    """How much of what was written waits in memory, or is on its way to a disk; 0 unknown."""
    kernel = meminfo(root)
    return kernel.get("Dirty", 0) + kernel.get("Writeback", 0)


def dirty_limit_bytes(root: Path = Path("/"), name: str = "dirty") -> int:
    """How much of what is written may wait in memory before writers must wait for the disk (vm.dirty_*); 0 unknown.

    "dirty_background" is the limit from which on it is written to the disk at all. The ratio is of memory that is free
    or in the page cache, of which MemAvailable is the best figure there is.
    """
    try:
        dirty_bytes = int((root / f"proc/sys/vm/{name}_bytes").read_text())
        if dirty_bytes:
            return dirty_bytes
        ratio = int((root / f"proc/sys/vm/{name}_ratio").read_text())
    except (OSError, ValueError):
        return 0
    available = memory_available(root)
    return (available.available_mb * _MIB) * ratio // 100 if available else 0


_DROP = Path("/proc/sys/vm/drop_caches")
_PAGES_ONLY = "1"
WRITE_BACK_S_MAX = 120.0
"""For what a trial before has left dirty, also on a slow disk."""


def drop_page_cache(directories: Sequence[Path], control: Path = _DROP) -> str:
    """Write back what is dirty on the file systems of `directories`, then drop the page cache. Never raises.

    Other file systems are left alone: one of them may be frozen or hang, and sync(2) would then hang as well.

    Returns why it can't be done, "" if it is done.
    """
    # Dirty pages can't be dropped.
    if problem := write_back(directories, WRITE_BACK_S_MAX):
        return problem
    try:
        control.write_text(_PAGES_ONLY)
    except PermissionError:
        return "needs root"
    except OSError as error:
        return f"{control}: {error.strerror}"
    return ""


def write_back(directories: Sequence[Path], seconds_max: float = WRITE_BACK_S_MAX) -> str:
    """Have all on disk that was written to these file systems until now; why it can't be done, "" if it is done.

    A process of its own does it, since nothing else that waits for a disk can be given up.
    """
    by_device = {directory.stat().st_dev: directory for directory in directories if directory.exists()}
    if not by_device:
        return ""
    command = ["sync", "--file-system", "--", *map(str, by_device.values())]
    try:
        child = subprocess.Popen(
            command,
            env=environment_of_helpers(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
    except OSError as error:
        return f"sync can't be run: {error.strerror}"
    try:
        _, errors = child.communicate(timeout=seconds_max)
    except subprocess.TimeoutExpired:
        child.kill()  # It ends when the disk answers; waiting for that is what must not happen here.
        where = ", ".join(sorted(map(str, by_device.values())))
        return f"not all was on the disk of {where} within {seconds_max:.0f} s"
    return "" if child.returncode == 0 else f"sync failed: {' '.join(errors.decode(errors='replace').split())[:200]}"
