"""Locks on files, and records of what a process holds, each locked while that process lives.

The kernel drops a lock when its holder dies, however it dies, so "does it live?" has a sure answer even across
containers that share the directory.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tidegauge.atomic import new_path_beside, replace_file


def try_lock(path: Path) -> int | None:
    """Take an exclusive lock without waiting: the open descriptor, or None if somebody holds it. Raises `OSError`."""
    descriptor = _open_lock_file(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock; waits for whoever has it. Raises `OSError`."""
    descriptor = _open_lock_file(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _open_lock_file(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


@dataclass(frozen=True)
class LockedRecord:
    """A record `DIRECTORY/NAME.json`, and `NAME.lock`, which its writer keeps locked while it lives."""

    directory: Path
    name: str

    @property
    def path(self) -> Path:
        """The record's file."""
        return self.directory / f"{self.name}.json"

    @property
    def lock_path(self) -> Path:
        """The lock's file."""
        return self.directory / f"{self.name}.lock"

    def take_left(self) -> int | None:
        """The lock of a record whose writer is dead; None if it lives or the record is gone. Raises `OSError`."""
        lock = try_lock(self.lock_path)
        # Holding the lock: nobody else works on it, but somebody may have finished just before.
        if lock is None:
            return None
        try:
            if self.path.exists():
                return lock
            self.lock_path.unlink(missing_ok=True)
        except BaseException:
            os.close(lock)
            raise
        os.close(lock)
        return None

    def write(self, schema: int, content: Mapping[str, object], durable: bool = False) -> None:
        """Replace the record, all or nothing; `durable`: so that it survives a power cut. Raises `OSError`."""
        replace_file(self.path, json.dumps({"schema": schema, **content}).encode(), durable)

    def remove(self) -> None:
        """Forget it, with what a kill in the middle of writing left. Raises `OSError`."""
        for path in (self.path, new_path_beside(self.path), self.lock_path):
            path.unlink(missing_ok=True)
