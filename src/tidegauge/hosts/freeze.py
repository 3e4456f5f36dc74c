"""A hung disk: a frozen file system, on which every write waits. Root.

Freezing makes durable what was written before, as ioctl_fsfreeze(2) says; reads of what is cached go on.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from pathlib import Path

_FIFREEZE = 0xC0045877
_FITHAW = 0xC0045878
"""From `linux/fs.h`."""


def freeze(descriptor: int) -> None:
    """Freeze the file system of an open directory. Frozen already is fine. Raises `OSError`."""
    try:
        fcntl.ioctl(descriptor, _FIFREEZE, 0)
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise


def thaw(descriptor: int) -> None:
    """Undo `freeze`. Not frozen is fine. Raises `OSError`."""
    try:
        fcntl.ioctl(descriptor, _FITHAW, 0)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise


def thaw_at(point: Path) -> None:
    """Thaw what is mounted at a place, if it can be and is frozen. Never raises."""
    with contextlib.suppress(OSError):
        descriptor = os.open(point, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            thaw(descriptor)
        finally:
            os.close(descriptor)
