"""A slow disk: the kernel's limits on a block device, for everybody who uses it. Root.

With cgroups v1 the limit is set in the root group: a child's would not hold back what the kernel writes for others.
With v2 the root has none, and each group below it gets the limit; ext4's and xfs's writeback counts for the group that
wrote, only the journal's own writes escape. A limit belongs to the device number and outlives the mount: lift it
before the device is detached. Sources: the kernel's cgroup-v1/blkio-controller.rst and cgroup-v2.rst.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tidegauge.hosts import commands
from tidegauge.hosts.cgroups import hierarchies

_V1_FILES = {
    "bps": ("blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device"),
    "iops": ("blkio.throttle.read_iops_device", "blkio.throttle.write_iops_device"),
}
_V2_FILE = "io.max"


def refusal(root: Path = Path("/")) -> str:
    """Why no disk can be slowed down on this machine; "" if one can."""
    reason = commands.refusal("CAP_SYS_ADMIN")
    if reason:
        return reason
    try:
        _places(root)
    except OSError as error:
        return error.strerror or str(error)
    return ""


def limit(number: str, bytes_per_s: int | None, ops_per_s: int | None, root: Path = Path("/")) -> None:
    """Limit reads and writes, each, of a device ("7:3"); None is no limit. Raises `OSError`."""
    limits = {"bps": bytes_per_s, "iops": ops_per_s}
    version, groups = _places(root)
    for group in groups:
        for file, line in _lines(version, number, limits).items():
            try:
                (group / file).write_text(line)
            except FileNotFoundError:
                continue  # A group of v2 that was removed meanwhile has no members to limit.


def _lines(version: int, number: str, limits: Mapping[str, int | None]) -> dict[str, str]:
    """What is to be written, by file."""
    if version == 1:
        return {file: f"{number} {limits[kind] or 0}" for kind, files in _V1_FILES.items() for file in files}
    values = (f"{way}{kind}={limits[kind] or 'max'}" for kind in limits for way in "rw")
    return {_V2_FILE: f"{number} {' '.join(values)}"}


def _places(root: Path) -> tuple[int, list[Path]]:
    """The version of cgroups that limits disks here, and the groups that hold everybody. Raises `OSError`."""
    found = list(hierarchies(root))
    for hierarchy in found:
        top = hierarchy.levels[-1]
        if "blkio" in hierarchy.controllers and (top / _V1_FILES["bps"][1]).exists():
            return 1, [top]
    for hierarchy in found:
        top = hierarchy.levels[-1]
        if hierarchy.version == 2 and (groups := [file.parent for file in _v2_files(top)]):
            return 2, groups
    raise OSError(0, "no cgroup of this machine limits disks (io is not in /sys/fs/cgroup/cgroup.subtree_control)")


def _v2_files(top: Path) -> list[Path]:
    """A container's own top has a limit itself; the real root's children have."""
    return [top / _V2_FILE] if (top / _V2_FILE).exists() else sorted(top.glob(f"*/{_V2_FILE}"))
