"""Which process writes a run, so that a run whose writer was killed can be told from one that goes on."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Writer:
    """A process, named so that a later process with the same pid is not taken for it.

    Attributes:
        started_s: when the process started, in seconds of the epoch, as psutil says.
        boot_id: the boot of the host that it ran in; "" where the host does not say.
    """

    pid: int
    started_s: float
    hostname: str
    boot_id: str


def boot_id() -> str:
    """The identity of this boot of this host, or ""."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def this_writer() -> Writer:
    """The process that calls."""
    import psutil

    return Writer(os.getpid(), psutil.Process().create_time(), socket.gethostname(), boot_id())


def may_be_alive(writer: Writer) -> bool:
    """Whether the writer still runs. True for a writer on another host: it can't be seen from here."""
    if writer.hostname != socket.gethostname():
        return True
    if writer.boot_id != boot_id():
        return False
    import psutil

    try:
        process = psutil.Process(writer.pid)
        same = abs(process.create_time() - writer.started_s) < 2.0
        return same and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
