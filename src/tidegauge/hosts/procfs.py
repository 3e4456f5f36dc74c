"""Processes as /proc shows them. A process is known by its number and start time, since numbers are used again."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
MARKER = "TIDEGAUGE_AGENT"
"""Environment variable of every managed process: "AGENT_ID/PROCESS_NAME"; descendants inherit it."""


@dataclass(frozen=True)
class Identity:
    """A process beyond doubt: its number, and when it started in clock ticks since boot."""

    pid: int
    start_ticks: int


@dataclass(frozen=True)
class Stat:
    """What /proc/PID/stat says. `cpu_ticks`: user and system time of all threads and of children already waited for."""

    identity: Identity
    state: str
    parent: int
    session: int
    cpu_ticks: int
    resident_pages: int

    @property
    def pid(self) -> int:
        """The process number."""
        return self.identity.pid

    @property
    def ended(self) -> bool:
        """True for a zombie: it runs no more, only its parent has not asked how it ended."""
        return self.state in "ZX"


def parse_stat(text: str) -> Stat:
    """Parse the content of /proc/PID/stat (proc_pid_stat(5)). The command in brackets may hold anything."""
    pid, _, rest = text.partition(" (")
    fields = rest.rpartition(")")[2].split()
    return Stat(
        identity=Identity(int(pid), int(fields[19])),
        state=fields[0],
        parent=int(fields[1]),
        session=int(fields[3]),
        cpu_ticks=sum(int(field) for field in fields[11:15]),
        resident_pages=int(fields[21]),
    )


def read_stat(pid: int) -> Stat | None:
    """State of one process, None if there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - hot path
            return parse_stat(file.read())
    except OSError:
        return None


def all_stats() -> list[Stat]:
    """Every process that this one can see."""
    found = (read_stat(int(entry)) for entry in os.listdir("/proc") if entry.isdigit())  # noqa: PTH208 - hot path
    return [stat for stat in found if stat is not None]


def read_bytes(pids: Iterable[int]) -> int | None:
    """What these processes and the children they waited for made the kernel fetch from block devices; None if unknown.

    Pages that were in the cache are not in it, those that a page fault or read-ahead fetched are (proc_pid_io(5)).
    """
    total, told = 0, False
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/io").read_text(encoding="ascii").splitlines()
        except OSError:
            continue
        total += next((int(line.split()[1]) for line in lines if line.startswith("read_bytes:")), 0)
        told = True
    return total if told else None


def marker_of(pid: int) -> str:
    """The process's `MARKER` value, "" if it has none or may not be asked."""
    prefix = MARKER.encode() + b"="
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return ""
    for entry in environment.split(b"\0"):
        if entry.startswith(prefix):
            return os.fsdecode(entry[len(prefix) :])
    return ""


def is_running(identity: Identity) -> bool:
    """Whether exactly this process still runs (a zombie does not)."""
    stat = read_stat(identity.pid)
    return stat is not None and stat.identity == identity and not stat.ended


def send_signal(identity: Identity, signal_number: int) -> bool:
    """Send a signal to exactly this process, never to another that got its number. False if it is gone."""
    try:
        descriptor = os.pidfd_open(identity.pid)
    except OSError:
        return False
    try:
        # The descriptor pins the process; only now is comparing the start time free of a race.
        stat = read_stat(identity.pid)
        if stat is None or stat.identity != identity:
            return False
        signal.pidfd_send_signal(descriptor, signal_number)
    except ProcessLookupError:
        return False
    finally:
        os.close(descriptor)
    return True


def boot_id() -> str:
    """Names this boot of the kernel: process numbers from another boot mean nothing."""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def pid_namespace() -> str:
    """Names the pid namespace: process numbers from another container mean nothing here."""
    return str(Path("/proc/self/ns/pid").readlink())
