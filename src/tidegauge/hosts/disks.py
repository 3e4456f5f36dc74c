"""Disks for servers' data, of whatever kind."""

from __future__ import annotations

from tidegauge.hosts import fuse_disk, loop_disk
from tidegauge.model.host import FileSystem


def refusal(file_system: FileSystem) -> str:
    """Why no such disk can be made here; "" if one can, as far as one can tell before."""
    return fuse_disk.refusal() if file_system == "fuse" else loop_disk.refusal(file_system)
