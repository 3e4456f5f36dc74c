"""A memory limit for one process and all that descends from it, page cache included: a cgroup of its own. Root.

The page cache counts for whom a page was first read or written: so a process must be in its group before it opens its
files, and what others have cached of them must be dropped before (`page_cache`). Swap is not limited beside.

Sources: the kernel's Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst.
"""

from __future__ import annotations

import os
from pathlib import Path

from tidegauge.hosts.cgroups import Hierarchy, hierarchies

_PREFIX = "tidegauge-"
_LIMIT_FILE = {1: "memory.limit_in_bytes", 2: "memory.max"}
MEMBERS = "cgroup.procs"


def refusal(root: Path = Path("/")) -> str:
    """Why no limit can be set on this machine; "" if one can."""
    try:
        place = _place(root)
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
    (directory / _LIMIT_FILE[version]).write_text(str(limit_bytes))
    return directory


def join(directory: Path) -> None:
    """Put this process into a group. Raises `OSError`."""
    (directory / MEMBERS).write_text("0")


def is_group(directory: Path) -> bool:
    """Whether a directory is one of our groups, whose files go with it."""
    return directory.name.startswith(_PREFIX) and (directory / MEMBERS).is_file()


def _required_place(root: Path) -> tuple[Path, int]:
    place = _place(root)
    if place is None:
        raise OSError(0, "no cgroup of this machine controls memory")
    return place


def _place(root: Path) -> tuple[Path, int] | None:
    """Below which cgroup a group with a limit can be made, and of which version; None if there is none."""
    found = list(hierarchies(root))
    for hierarchy in found:
        if hierarchy.version == 1 and "memory" in hierarchy.controllers:
            return hierarchy.levels[0], 1
    for hierarchy in found:
        if hierarchy.version == 2 and (place := _controlling(hierarchy)) is not None:
            return place, 2
    return None


def _controlling(hierarchy: Hierarchy) -> Path | None:
    """The nearest cgroup that hands the memory controller on: one that holds processes itself can't (cgroup v2)."""
    for level in hierarchy.levels:
        try:
            if "memory" in (level / "cgroup.subtree_control").read_text().split():
                return level
        except OSError:
            continue
    return None
