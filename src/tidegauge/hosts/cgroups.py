"""The cgroup limits in force on this process, and groups made to limit others, whichever version there is.

A limit set anywhere above a process holds it, so every level is read and the tightest one reported.

The page cache counts for whom a page was first read or written: so a process must be in its group before it opens its
files, and what others have cached of them must be dropped before (`memory.drop_page_cache`). Swap is not limited
beside.

A slow disk is the kernel's limits on a block device, for everybody who uses it. With cgroups v1 the limit is set in the
root group: a child's would not hold back what the kernel writes for others. With v2 the root has none, and each group
below it gets the limit; ext4's and xfs's writeback counts for the group that wrote, only the journal's own writes
escape. A limit belongs to the device number and outlives the mount: lift it before the device is detached.

Sources: the kernel's Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/memory.rst and cgroup-v1/blkio-controller.rst.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tidegauge.hosts import commands
from tidegauge.hosts.storage import Mount, mounts, read_stripped_text
from tidegauge.numbers import trimmed

_V1_UNLIMITED_BYTES = 1 << 60
"""cgroup v1 says "no limit" with a number near 2^63, rounded to pages."""


@dataclass(frozen=True)
class Hierarchy:
    """One mounted cgroup hierarchy and the process's place in it, leaf first."""

    version: int
    controllers: frozenset[str]
    levels: tuple[Path, ...]


@dataclass(frozen=True)
class MemoryLeft:
    """What one memory limit leaves."""

    left_bytes: int
    limit_bytes: int
    directory: Path


_MEMORY_FILES = {
    1: ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    2: ("memory.max", "memory.current", "inactive_file"),
}
"""By version of cgroups: limit, use, and the part of the use (in memory.stat) that is given up before swapping."""


def memory_left_in(places: Iterable[Hierarchy]) -> MemoryLeft | None:
    """What the memory limit of these that leaves least leaves a process in them; None if there is none."""
    limits = []
    for hierarchy in places:
        if hierarchy.version == 2 or "memory" in hierarchy.controllers:
            limits += [left for level in hierarchy.levels if (left := _memory_left_at(level, hierarchy.version))]
    return min(limits, key=lambda left: left.left_bytes, default=None)


def _memory_left_at(level: Path, version: int) -> MemoryLeft | None:
    limit_file, use_file, cache = _MEMORY_FILES[version]
    try:
        limit, used = ((level / name).read_text().strip() for name in (limit_file, use_file))
        statistics = (level / "memory.stat").read_text()
    except OSError:
        return None
    if not limit.isdigit() or int(limit) >= _V1_UNLIMITED_BYTES:
        return None
    reclaimable = dict(line.split(" ", 1) for line in statistics.splitlines()).get(cache, "0")
    return MemoryLeft(max(0, int(limit) - int(used) + int(reclaimable)), int(limit), level)


def cgroup_limits(root: Path = Path("/")) -> dict[str, str]:
    """Limits by what they limit, only those that are set; {} if they can't be read.

    Keys: "version"; where limited "memory_bytes", "memory_high_bytes", "swap_bytes", "cpus", "cpuset", "pids", "io".
    """
    limits: dict[str, str] = {}
    try:
        own_hierarchies = list(hierarchies(root))
        for hierarchy in own_hierarchies:
            limits.update({key: value for key, value in _limits_of_hierarchy(hierarchy).items() if value})
    except (OSError, ValueError):
        return {}
    versions = sorted({hierarchy.version for hierarchy in own_hierarchies})
    return {"version": " and ".join(f"v{version}" for version in versions) or "none", **limits}


def hierarchies(root: Path = Path("/"), pid: int | None = None) -> Iterator[Hierarchy]:
    """The mounted hierarchies that hold a process; this one if none is named. Raises `OSError`."""
    places: dict[str, str] = {}
    for line in (root / f"proc/{pid or 'self'}/cgroup").read_text().splitlines():
        _, names, path = line.split(":", 2)
        for controller in names.split(","):
            places[controller] = path
    for mount in mounts(root):
        if mount.file_system == "cgroup2" and "" in places:
            yield Hierarchy(2, frozenset(), _levels_up_to_mount(root, mount, places[""]))
        elif mount.file_system == "cgroup":
            controllers = frozenset(mount.super_options.split(",")) & places.keys()
            if controllers:
                yield Hierarchy(1, controllers, _levels_up_to_mount(root, mount, places[min(controllers)]))


def _levels_up_to_mount(root: Path, mount: Mount, place: str) -> tuple[Path, ...]:
    """Directories from the process's cgroup up to the mount point. A container may see a part of the tree only."""
    top = root / mount.mount_point.lstrip("/")
    below = place if mount.root == "/" else place.removeprefix(mount.root) if place.startswith(mount.root) else "/"
    leaf = top / below.lstrip("/")
    if not leaf.is_dir():
        leaf = top
    return (leaf, *(parent for parent in leaf.parents if parent.is_relative_to(top)))


def _values_at_levels(hierarchy: Hierarchy, file: str) -> list[str]:
    """What a file says at each level, where it says anything."""
    return [text for level in hierarchy.levels if (text := read_stripped_text(level / file))]


def _lowest_number(hierarchy: Hierarchy, file: str) -> str:
    """The lowest number that `file` sets at any level, "" if none does."""
    numbers = [
        int(text) for text in _values_at_levels(hierarchy, file) if text.isdigit() and int(text) < _V1_UNLIMITED_BYTES
    ]
    return str(min(numbers, default=""))


def cpu_quotas(hierarchy: Hierarchy) -> Iterator[tuple[float, Path]]:
    """How many CPUs each level allows that has a quota."""
    if hierarchy.version == 1 and "cpu" not in hierarchy.controllers:
        return
    for level in hierarchy.levels:
        if hierarchy.version == 1:
            quota, period = (
                read_stripped_text(level / "cpu.cfs_quota_us"),
                read_stripped_text(level / "cpu.cfs_period_us"),
            )
        else:
            quota, _, period = read_stripped_text(level / "cpu.max").partition(" ")
        if quota.isdigit() and period.isdigit():
            yield int(quota) / int(period), level


_NUMBER_FILES = {
    1: {"memory_bytes": "memory.limit_in_bytes", "memory_high_bytes": "memory.soft_limit_in_bytes"},
    2: {"memory_bytes": "memory.max", "memory_high_bytes": "memory.high", "swap_bytes": "memory.swap.max"},
}
"""By version of cgroups, the files of limits that are a number and have another name in each."""


def _limits_of_hierarchy(hierarchy: Hierarchy) -> dict[str, str]:
    """The limits that are set in a hierarchy, "" for others. One of v1 has files of its own controllers only."""
    numbers = {key: _lowest_number(hierarchy, file) for key, file in _NUMBER_FILES[hierarchy.version].items()}
    cpusets = _values_at_levels(hierarchy, "cpuset.cpus")
    if hierarchy.version == 1:
        # The root always names all CPUs; a limit differs from it.
        cpusets = cpusets if cpusets[:1] != cpusets[-1:] else []
        throttles = [
            f"{kind} {text.replace(chr(10), ', ')}"
            for kind in ("read_bps", "write_bps", "read_iops", "write_iops")
            for text in _values_at_levels(hierarchy, f"blkio.throttle.{kind}_device")
        ]
    else:
        throttles = [text.replace("\n", "; ") for text in _values_at_levels(hierarchy, "io.max")]
    fewest, _ = min(cpu_quotas(hierarchy), default=(None, None))
    return {
        **numbers,
        "pids": _lowest_number(hierarchy, "pids.max"),
        "cpus": "" if fewest is None else trimmed(fewest),
        "cpuset": next(iter(cpusets), ""),
        "io": "; ".join(throttles),
    }


_PREFIX = "tidegauge-"
MEMBERS = "cgroup.procs"


def memory_refusal(root: Path = Path("/")) -> str:
    """Why no limit of memory can be set on this machine; "" if one can."""
    try:
        place = _place_for_groups(root)
    except OSError as error:
        return f"cgroups can't be read: {error.strerror}"
    if place is None:
        return "no cgroup of this machine controls memory for processes that we start"
    if not os.access(place[0], os.W_OK):
        return f"{place[0]} can't be written: needs root"
    return ""


def group_path(name: str, root: Path = Path("/")) -> Path:
    """Where `make_group` makes a group of this name. Raises `OSError`."""
    return _required_place(root)[0] / f"{_PREFIX}{name}"


def make_group(name: str, limit_bytes: int, root: Path = Path("/")) -> Path:
    """A group with this limit for processes to join; one of that name that is there is used. Raises `OSError`."""
    parent, version = _required_place(root)
    directory = parent / f"{_PREFIX}{name}"
    directory.mkdir(exist_ok=True)
    (directory / _MEMORY_FILES[version][0]).write_text(str(limit_bytes))
    return directory


def join_group(directory: Path) -> None:
    """Put this process into a group. Raises `OSError`."""
    (directory / MEMBERS).write_text("0")


def is_group(directory: Path) -> bool:
    """Whether a directory is one of our groups, whose files go with it."""
    return directory.name.startswith(_PREFIX) and (directory / MEMBERS).is_file()


def _required_place(root: Path) -> tuple[Path, int]:
    place = _place_for_groups(root)
    if place is None:
        raise OSError(0, "no cgroup of this machine controls memory")
    return place


def _place_for_groups(root: Path) -> tuple[Path, int] | None:
    """Below which cgroup a group with a limit can be made, and of which version; None if there is none."""
    own_hierarchies = list(hierarchies(root))
    for hierarchy in own_hierarchies:
        if hierarchy.version == 1 and "memory" in hierarchy.controllers:
            return hierarchy.levels[0], 1
    for hierarchy in own_hierarchies:
        if hierarchy.version == 2 and (place := _controlling_level(hierarchy)) is not None:
            return place, 2
    return None


def _controlling_level(hierarchy: Hierarchy) -> Path | None:
    """The nearest cgroup that hands the memory controller on: one that holds processes itself can't (cgroup v2)."""
    controlling = (
        level for level in hierarchy.levels if "memory" in read_stripped_text(level / "cgroup.subtree_control").split()
    )
    return next(controlling, None)


_V1_DISK_FILES = {
    "bps": ("blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device"),
    "iops": ("blkio.throttle.read_iops_device", "blkio.throttle.write_iops_device"),
}
_V2_DISK_FILE = "io.max"


def disk_refusal(root: Path = Path("/")) -> str:
    """Why no disk can be slowed down on this machine; "" if one can."""
    reason = commands.capability_refusal("CAP_SYS_ADMIN")
    if reason:
        return reason
    try:
        _disk_groups(root)
    except OSError as error:
        return error.strerror or str(error)
    return ""


def limit_disk(number: str, bytes_per_s: int | None, ops_per_s: int | None, root: Path = Path("/")) -> None:
    """Limit reads and writes, each, of a device ("7:3"); None is no limit. Raises `OSError`."""
    limits = {"bps": bytes_per_s, "iops": ops_per_s}
    version, groups = _disk_groups(root)
    for group in groups:
        for file, line in _disk_lines(version, number, limits).items():
            try:
                (group / file).write_text(line)
            except FileNotFoundError:
                continue  # A group of v2 that was removed meanwhile has no members to limit.


def _disk_lines(version: int, number: str, limits: Mapping[str, int | None]) -> dict[str, str]:
    """The line that is to be written into each file, by the file's name."""
    if version == 1:
        return {file: f"{number} {limits[kind] or 0}" for kind, files in _V1_DISK_FILES.items() for file in files}
    values = (f"{way}{kind}={limits[kind] or 'max'}" for kind in limits for way in "rw")
    return {_V2_DISK_FILE: f"{number} {' '.join(values)}"}


def _disk_groups(root: Path) -> tuple[int, list[Path]]:
    """The version of cgroups that limits disks here, and the groups that hold everybody. Raises `OSError`."""
    own_hierarchies = list(hierarchies(root))
    for hierarchy in own_hierarchies:
        top = hierarchy.levels[-1]
        if "blkio" in hierarchy.controllers and (top / _V1_DISK_FILES["bps"][1]).exists():
            return 1, [top]
    for hierarchy in own_hierarchies:
        top = hierarchy.levels[-1]
        if hierarchy.version == 2 and (groups := [file.parent for file in _v2_disk_files(top)]):
            return 2, groups
    raise OSError(0, "no cgroup of this machine limits disks (io is not in /sys/fs/cgroup/cgroup.subtree_control)")


def _v2_disk_files(top: Path) -> list[Path]:
    """Files of v2 that limit disks: a container's own top has one itself; the real root's children have."""
    return [top / _V2_DISK_FILE] if (top / _V2_DISK_FILE).exists() else sorted(top.glob(f"*/{_V2_DISK_FILE}"))
