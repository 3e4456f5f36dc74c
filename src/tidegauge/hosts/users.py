"""Who has files of a disk open."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path


def users_of(device: int) -> dict[int, str]:
    """Processes that have files of a device (`st_dev`) open, mapped or as working directory, with their commands.

    Of processes that this one may not look at, nothing is known.
    """
    return {pid: _command(pid) for pid in _pids() if _uses(pid, device)}


def _pids() -> Iterator[int]:
    yield from (int(entry) for entry in os.listdir("/proc") if entry.isdigit())  # noqa: PTH208 - hot path


def _uses(pid: int, device: int) -> bool:
    directory = f"/proc/{pid}"
    try:
        links = [f"{directory}/cwd", f"{directory}/root"]
        links += [f"{directory}/fd/{entry}" for entry in os.listdir(f"{directory}/fd")]  # noqa: PTH208 - hot path
    except OSError:
        return False
    return any(_device_of(link) == device for link in links) or _maps(pid, device)


def _device_of(link: str) -> int:
    try:
        return os.stat(link).st_dev  # noqa: PTH116 - hot path
    except OSError:
        return -1


def _maps(pid: int, device: int) -> bool:
    """Whether a file of the device is mapped (proc_pid_maps(5)): its descriptor may be closed."""
    wanted = f" {os.major(device):02x}:{os.minor(device):02x} "
    try:
        return wanted in Path(f"/proc/{pid}/maps").read_text(errors="replace")
    except OSError:
        return False


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
    except OSError:
        return "?"
