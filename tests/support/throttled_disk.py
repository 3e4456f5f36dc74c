"""A disk of a known speed: a loop device with direct I/O, a file system without a journal, a limit of bytes. Root."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LIMIT_FILE = Path("/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device")
"""Of the root cgroup: a child's limit doesn't hold back writeback, which the kernel does for others."""


def can_throttle() -> bool:
    """Whether this host lets one limit a block device."""
    return os.geteuid() == 0 and LIMIT_FILE.exists()


@contextmanager
def throttled_disk(root: Path, size_bytes: int, bytes_per_s: int) -> Iterator[Path]:
    """A mounted directory that takes `bytes_per_s` at most. Everything is undone at the end."""
    image, mount = root / "disk.img", root / "disk"
    mount.mkdir()
    with image.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, size_bytes)
    device = _output("losetup", "--find", "--show", "--direct-io=on", str(image))
    try:
        _output("mkfs.ext4", "-q", "-O", "^has_journal", "-E", "lazy_itable_init=0", device)
        _output("mount", "-o", "noatime", device, str(mount))
        number = Path(device).stat().st_rdev
        place = f"{os.major(number)}:{os.minor(number)}"
        try:
            LIMIT_FILE.write_text(f"{place} {bytes_per_s}")
            yield mount
        finally:
            LIMIT_FILE.write_text(f"{place} 0")
            _output("umount", str(mount))
    finally:
        _output("losetup", "--detach", device)
        image.unlink()


def _output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
