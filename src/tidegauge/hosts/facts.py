"""What this host is, for disclosure: everything here can change a result, or explain why one differs.

And how many files, threads and connections load generators can have here.
"""

from __future__ import annotations

import os
import platform
import re
import resource
import socket
from collections.abc import Iterable
from pathlib import Path

from tidegauge.hosts.cgroups import cgroup_limits
from tidegauge.hosts.memory import meminfo
from tidegauge.hosts.procfs import handles_available, read_bound
from tidegauge.hosts.storage import choice_in_force, disk_facts, read_stripped_text
from tidegauge.model.host import UNBOUNDED, HostFacts, LoadBounds


def host_facts(paths: Iterable[Path] = (), root: Path = Path("/")) -> HostFacts:
    """Facts about this host and the disks that hold `paths`. What can't be read is "" or 0; never raises.

    Args:
        paths: existing or not; where a path does not exist yet, its nearest existing parent counts.
        root: where /proc, /sys and /etc are (for tests).
    """
    memory = meminfo(root)
    match = re.search(r'^PRETTY_NAME="?([^"\n]*)"?$', read_stripped_text(root / "etc/os-release"), re.MULTILINE)
    files = (root / "sys/devices/system/cpu").glob("cpu[0-9]*/cpufreq/scaling_governor")
    return HostFacts(
        hostname=socket.gethostname(),
        kernel=f"{platform.system()} {platform.release()} {platform.version()}",
        distribution=match.group(1) if match else "",
        cpu_model=cpu_model(read_stripped_text(root / "proc/cpuinfo")) or platform.machine(),
        cpus=len(os.sched_getaffinity(0)),
        cpu_governor=", ".join(sorted({read_stripped_text(file) for file in files})),
        memory_bytes=memory.get("MemTotal", 0),
        swap_bytes=memory.get("SwapTotal", 0),
        clock_source=read_stripped_text(root / "sys/devices/system/clocksource/clocksource0/current_clocksource"),
        transparent_huge_pages=choice_in_force(read_stripped_text(root / "sys/kernel/mm/transparent_hugepage/enabled")),
        cgroup_limits=cgroup_limits(root),
        disks={str(path): disk_facts(path, root) for path in paths},
    )


def cpu_model(cpuinfo: str) -> str:
    """The CPU's name from /proc/cpuinfo; "" where it has none (as on some ARM)."""
    match = re.search(r"^(?:model name|Processor|cpu model|Model)\s*:\s*(.+)$", cpuinfo, re.MULTILINE)
    return match.group(1).strip() if match else ""


_RESERVED = 1000
"""Threads and ports for everything else."""


def load_bounds(root: Path = Path("/")) -> LoadBounds:
    """Load bounds of this machine, within its cgroups' limits. What the kernel does not say is taken to be no bound."""
    handles = handles_available(root / "proc/sys/vm/max_map_count")
    of_kernel = min(read_bound(root / f"proc/sys/kernel/{name}") for name in ("pid_max", "threads-max"))
    running = re.search(r"/(\d+) ", read_stripped_text(root / "proc/loadavg"))
    bounds = [of_kernel - (int(running[1]) if running else 0) - _RESERVED]
    # How many run already of what a cgroup or a user may have is not known here: a tenth is left to them.
    of_cgroup = int(cgroup_limits(root).get("pids") or UNBOUNDED)
    of_user = resource.getrlimit(resource.RLIMIT_NPROC)[0] if os.geteuid() != 0 else resource.RLIM_INFINITY
    bounds += [
        limit - limit // 10 for limit in (of_cgroup, of_user) if limit not in (UNBOUNDED, resource.RLIM_INFINITY)
    ]
    return LoadBounds(handles.files, handles.maps, max(0, min(bounds)), _ports_left(root))


def _ports_left(root: Path) -> int:
    fields = read_stripped_text(root / "proc/sys/net/ipv4/ip_local_port_range").split()
    first_and_last = [int(number) for number in fields if number.isdigit()]
    return max(0, first_and_last[1] - first_and_last[0] + 1 - _RESERVED) if len(first_and_last) == 2 else UNBOUNDED
