"""How many files, threads and connections load generators can have here."""

from __future__ import annotations

import os
import re
import resource
from pathlib import Path

from tidegauge.hosts.cgroups import cgroup_limits
from tidegauge.hosts.procfs import bound_in, handles_available
from tidegauge.hosts.storage import text_of
from tidegauge.model.clients import UNBOUNDED, LoadBounds

_RESERVED = 1000
"""Threads and ports for everything else."""


def load_bounds(root: Path = Path("/")) -> LoadBounds:
    """Those of this machine, within the limits of its cgroups. What the kernel does not say is taken to be no bound."""
    handles = handles_available(root / "proc/sys/vm/max_map_count")
    return LoadBounds(handles.files, handles.maps, _threads_left(root), _ports(root))


def _threads_left(root: Path) -> int:
    of_kernel = min(bound_in(root / f"proc/sys/kernel/{name}") for name in ("pid_max", "threads-max"))
    running = re.search(r"/(\d+) ", text_of(root / "proc/loadavg"))
    bounds = [of_kernel - (int(running[1]) if running else 0) - _RESERVED]
    # How many run already of what a cgroup or a user may have is not known here: a tenth is left to them.
    of_cgroup = int(cgroup_limits(root).get("pids") or UNBOUNDED)
    of_user = resource.getrlimit(resource.RLIMIT_NPROC)[0] if os.geteuid() != 0 else resource.RLIM_INFINITY
    bounds += [
        limit - limit // 10 for limit in (of_cgroup, of_user) if limit not in (UNBOUNDED, resource.RLIM_INFINITY)
    ]
    return max(0, min(bounds))


def _ports(root: Path) -> int:
    found = text_of(root / "proc/sys/net/ipv4/ip_local_port_range").split()
    first_and_last = [int(number) for number in found if number.isdigit()]
    return max(0, first_and_last[1] - first_and_last[0] + 1 - _RESERVED) if len(first_and_last) == 2 else UNBOUNDED
