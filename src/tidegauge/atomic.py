"""Replacing a file whole: after an error, a kill or a power cut it is the old one or the new one, never a part."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def new_path_beside(path: Path, shared: bool = False) -> Path:
    """Where the new file is written before it takes the place of `path`; only a kill leaves it there."""
    return path.with_name(f".{path.name}.{os.getpid()}.new" if shared else f".{path.name}.new")


@contextmanager
def replacing(path: Path, durable: bool = False, shared: bool = False) -> Iterator[Path]:
    """A path beside `path` to write to; what was written there takes the place of `path` when the block ends well.

    Args:
        durable: it must also survive a power cut of this machine.
        shared: other processes may replace `path` at the same time, so each needs a name of its own beside it. With one
            writer the name is always the same, so that what a kill left is overwritten.

    Nothing is there yet: what a kill left is gone, and so is a link to another file that a stranger's directory has.

    Raises:
        OSError: `path` is as it was.
    """
    new = new_path_beside(path, shared)
    new.unlink(missing_ok=True)
    try:
        yield new
        if durable:
            _sync_to_disk(new)
        new.replace(path)
    finally:
        with suppress(OSError):
            new.unlink()
    if durable:
        # So that the new name survives; not every file system can do it.
        with suppress(OSError):
            _sync_to_disk(path.parent)


def replace_file(path: Path, content: bytes, durable: bool = False, shared: bool = False) -> None:
    """Make `content` all that a file holds. Arguments and errors: see `replacing`."""
    with replacing(path, durable, shared) as new, new.open("xb") as file:
        file.write(content)


def _sync_to_disk(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
