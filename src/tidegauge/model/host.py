"""What a host is, and the disks that can be made on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class HostFacts:
    """What a host is, for disclosure. Sizes in bytes; "" or None where the host does not say."""

    hostname: str
    kernel: str
    distribution: str
    cpu_model: str
    cpus: int
    cpu_governor: str
    memory_bytes: int
    swap_bytes: int
    clock_source: str
    transparent_huge_pages: str
    cgroup_limits: Mapping[str, str] = field(default_factory=dict)
    disks: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


DeviceFileSystem = Literal["ext4", "xfs"]
"""On a block device, which can be slow, hang, and be cut off."""
FileSystem = DeviceFileSystem | Literal["fuse"]


@dataclass(frozen=True)
class DiskCheck:
    """A disk after a power cut. `report` is what its file system's own check said, "" where it said nothing.

    `is_clean`: the check, made after the journal had been replayed, found nothing to mend.
    """

    place: str
    file_system: DeviceFileSystem
    is_clean: bool
    report: str
