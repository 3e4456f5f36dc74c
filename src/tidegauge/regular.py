"""Reading files that others may have made: regular ones only, no link followed, and no more bytes than were expected.

A directory that came from elsewhere may hold a FIFO, which is never at its end, a link to a device, which is endless,
or a link to a file that is nobody else's business. None of them is ever opened to be read.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFLNK: "a link, which is not followed",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def open_regular(path: Path, bytes_max: int) -> BinaryIO:
    """A regular file, open to be read. Raises `OSError`, also for what is none or has more than so many bytes."""
    # Before it is opened: that alone can do something to a device.
    _check_regular(path.lstat(), bytes_max)
    # It may have been replaced by now: a FIFO must not be waited for, and a link not be followed.
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        _check_regular(os.fstat(descriptor), bytes_max)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_regular(path: Path, bytes_max: int) -> bytes:
    """All that a regular file holds. Raises `OSError` as `open_regular` does."""
    with open_regular(path, bytes_max) as file:
        content = file.read(bytes_max + 1)
    return checked_content(content, bytes_max)


def checked_content(content: bytes | None, bytes_max: int) -> bytes:
    """What was read of a file that is never waited for.

    Raises `OSError` if it is more than so many bytes, or None: there is nothing yet, as in /proc/kmsg, which is called
    a regular file and is a pipe.
    """
    if content is None:
        raise BlockingIOError(errno.EAGAIN, "it has nothing to read yet, as no file has")
    if len(content) > bytes_max:
        raise _too_large(bytes_max)
    return content


def is_regular(path: Path) -> bool:
    """Whether there is a regular file, and no link to one."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except (OSError, ValueError):
        return False


def _check_regular(status: os.stat_result, bytes_max: int) -> None:
    if not stat.S_ISREG(status.st_mode):
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), "of an unknown kind")
        raise OSError(errno.EINVAL, f"no regular file but {kind}")
    if status.st_size > bytes_max:
        raise _too_large(bytes_max)


def _too_large(bytes_max: int) -> OSError:
    return OSError(errno.EFBIG, f"larger than {bytes_max:,} bytes")
