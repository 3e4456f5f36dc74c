"""Room on a disk, asked before it is needed."""

from __future__ import annotations

import os
from pathlib import Path

from tidegauge.errors import RunFailedError


def free_bytes(path: Path) -> int:
    """Bytes that an ordinary user may still write where `path` is or would be made. Raises `OSError`."""
    found = os.statvfs(_existing(path))
    return found.f_bavail * found.f_frsize


def check_space(path: Path, need_bytes: int, purpose: str = "this run") -> None:
    """Raise `RunFailedError` if the disk that holds `path` can't take `need_bytes` more, or no more files."""
    found = os.statvfs(_existing(path))
    free = found.f_bavail * found.f_frsize
    if free < need_bytes:
        raise RunFailedError(
            f"The disk that holds {path} has {_readable(free)} free; {purpose} needs about {_readable(need_bytes)}.",
            "Free some space, or choose a directory on another disk.",
        )
    if found.f_files > 0 and found.f_favail == 0:  # btrfs and others count no files: 0 of 0.
        raise RunFailedError(
            f"The file system that holds {path} can't take more files (no free inodes).",
            "Remove some files, or choose a directory on another disk.",
        )


def _existing(path: Path) -> Path:
    return next(place for place in (path.absolute(), *path.absolute().parents) if place.exists())


def _readable(size_bytes: int) -> str:
    return f"{size_bytes / 1e9:.1f} GB" if size_bytes >= 1e9 else f"{size_bytes / 1e6:.1f} MB"
