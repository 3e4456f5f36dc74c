"""Which threads belong to which process tree."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping

from tidegauge.hosts import procfs
from tidegauge.hosts.procfs import Stat


def threads_of(processes: Mapping[str, int]) -> dict[int, str]:
    """Threads of these processes, of their sessions and of all that descends from them, each with the tree's name."""
    stats = procfs.all_stats()
    below: dict[int, list[Stat]] = {}
    for stat in stats:
        below.setdefault(stat.parent, []).append(stat)
    found: dict[int, str] = {}
    for name, pid in processes.items():
        tree = [stat for stat in stats if pid in (stat.pid, stat.session)]
        for stat in tree:
            tree += [child for child in below.get(stat.pid, []) if child not in tree]
            with contextlib.suppress(OSError):
                found |= {int(entry): name for entry in os.listdir(f"/proc/{stat.pid}/task")}  # noqa: PTH208
    return found
