"""What this host is, for disclosure: everything here can change a result, or explain why one differs."""

from __future__ import annotations

import os
import platform
import re
import socket
from collections.abc import Iterable
from pathlib import Path

from tidegauge.hosts.cgroups import cgroup_limits
from tidegauge.hosts.memory import meminfo
from tidegauge.hosts.storage import chosen, disk_facts, text_of
from tidegauge.model.host import HostFacts


def host_facts(paths: Iterable[Path] = (), root: Path = Path("/")) -> HostFacts:
    """Facts about this host and the disks that hold `paths`. What can't be read is "" or 0; never raises.

    Args:
        paths: existing or not; where a path does not exist yet, its nearest existing parent counts.
        root: where /proc, /sys and /etc are (for tests).
    """
    memory = meminfo(root)
    return HostFacts(
        hostname=socket.gethostname(),
        kernel=f"{platform.system()} {platform.release()} {platform.version()}",
        distribution=_os_name(text_of(root / "etc/os-release")),
        cpu_model=cpu_model(text_of(root / "proc/cpuinfo")) or platform.machine(),
        cpus=len(os.sched_getaffinity(0)),
        cpu_governor=_governors(root),
        memory_bytes=memory.get("MemTotal", 0),
        swap_bytes=memory.get("SwapTotal", 0),
        clock_source=text_of(root / "sys/devices/system/clocksource/clocksource0/current_clocksource"),
        transparent_huge_pages=chosen(text_of(root / "sys/kernel/mm/transparent_hugepage/enabled")),
        cgroup_limits=cgroup_limits(root),
        disks={str(path): _disk(path, root) for path in paths},
    )


def cpu_model(cpuinfo: str) -> str:
    """The CPU's name from /proc/cpuinfo; "" where it has none (as on some ARM)."""
    match = re.search(r"^(?:model name|Processor|cpu model|Model)\s*:\s*(.+)$", cpuinfo, re.MULTILINE)
    return match.group(1).strip() if match else ""


def _os_name(os_release: str) -> str:
    match = re.search(r'^PRETTY_NAME="?([^"\n]*)"?$', os_release, re.MULTILINE)
    return match.group(1) if match else ""


def _governors(root: Path) -> str:
    """Frequency governors in use; "" where the host (a virtual machine, mostly) shows none."""
    files = (root / "sys/devices/system/cpu").glob("cpu[0-9]*/cpufreq/scaling_governor")
    return ", ".join(sorted({text_of(file) for file in files}))


def _disk(path: Path, root: Path) -> dict[str, str]:
    existing = next(place for place in (path.absolute(), *path.absolute().parents) if place.exists())
    try:
        return disk_facts(existing, root)
    except (OSError, IndexError):
        return {}
