"""How many files and memory maps a process may have here."""

from __future__ import annotations

import resource
from pathlib import Path

from tidegauge.model.server import Handles

MAP_COUNT = Path("/proc/sys/vm/max_map_count")


def handles_available(map_count: Path = MAP_COUNT) -> Handles:
    """The bounds of each process started from here: servers' Java raises its soft limit of files to the hard one.

    A bound that the kernel does not tell is taken to be none.
    """
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    try:
        maps = int(map_count.read_text())
    except (OSError, ValueError):
        maps = UNBOUNDED
    return Handles(UNBOUNDED if files == resource.RLIM_INFINITY else files, maps)


UNBOUNDED = 1 << 62
