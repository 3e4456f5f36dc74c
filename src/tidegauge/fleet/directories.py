"""Removing tracked directories, carefully: the paths come from a file on disk."""

from __future__ import annotations

import shutil
from pathlib import Path

from tidegauge.hosts import loop_disk, memory_limit


def refusal(path: Path) -> str:
    """Why a directory must not be tracked, "" if it may: never the root, a home, or anything above one."""
    if not path.is_absolute():
        return "not an absolute path"
    home = Path.home()
    if path == home or path in home.parents or len(path.parts) < 3:
        return "too much would be removed with it"
    return ""


def remove_directory(path: Path) -> str:
    """Remove a tracked directory with all it holds. Returns why it could not, or "" (also when it was gone already)."""
    reason = refusal(path)
    if reason:
        return f"{path}: {reason}"
    if path.is_symlink():
        path.unlink(missing_ok=True)
        return ""
    try:
        if memory_limit.is_group(path):
            path.rmdir()
            return ""
        loop_disk.release(path)
    except OSError as error:
        return f"{path}: {error.strerror or error}"
    failures: list[str] = []
    shutil.rmtree(path, onerror=lambda _call, name, info: failures.append(f"{name}: {info[1]}"))
    return failures[0] if failures and path.exists() else ""
