"""What /proc says: of processes, their threads, limits and open files."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tidegauge.hosts.storage import read_stripped_text
from tidegauge.model.host import UNBOUNDED
from tidegauge.model.server import Handles

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
MARKER = "TIDEGAUGE_AGENT"
"""Environment variable of every managed process: "AGENT_ID/PROCESS_NAME"; descendants inherit it."""


_SHORT_BYTES = 4096


def short_file(path: str) -> bytes:
    """A short file of /proc; b"" if it is gone. Without the layers of `open`: some are read for each thread."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(descriptor, _SHORT_BYTES)
    except OSError:
        return b""
    finally:
        os.close(descriptor)


@dataclass(frozen=True)
class Identity:
    """A process beyond doubt: its number, and when it started in clock ticks since boot."""

    pid: int
    start_ticks: int


@dataclass(frozen=True)
class Stat:
    """What /proc/PID/stat says. `cpu_ticks`: user and system time of all threads and of children already waited for.

    `name` is as the kernel keeps it: 15 characters at most.
    """

    identity: Identity
    state: str
    parent: int
    session: int
    cpu_ticks: int
    resident_pages: int
    name: str = ""
    of_kernel: bool = False
    """Whether it is a thread of the kernel."""

    @property
    def pid(self) -> int:
        """The process number."""
        return self.identity.pid

    @property
    def ended(self) -> bool:
        """True for a zombie: it runs no more, only its parent has not asked how it ended."""
        return self.state in "ZX"


_NAME_BYTES_MAX = 15
"""What the kernel keeps of a program's name: TASK_COMM_LEN of include/linux/sched.h, less the byte at its end."""
_CALLED_WORDS = 2
"""Of a command line, that may name the program: itself, or what runs it and then its script."""


def whole_name(name: str, command_line: bytes) -> str:
    """The name of a program of which the kernel keeps the beginning, as far as its command line says it. Pure."""
    if len(name.encode("utf-8", "surrogateescape")) < _NAME_BYTES_MAX:
        return name
    words = command_line.decode("utf-8", "replace").split("\0")[:_CALLED_WORDS]
    return next((called for word in words if (called := word.rpartition("/")[2]).startswith(name)), name)


_KERNEL_THREAD = 0x00200000
"""PF_KTHREAD of include/linux/sched.h."""


def parse_stat(text: str) -> Stat:
    """Parse the content of /proc/PID/stat (proc_pid_stat(5)). The command in brackets may hold anything."""
    pid, _, rest = text.partition(" (")
    name, _, behind = rest.rpartition(")")
    fields = behind.split()
    return Stat(
        identity=Identity(int(pid), int(fields[19])),
        state=fields[0],
        parent=int(fields[1]),
        session=int(fields[3]),
        cpu_ticks=sum(int(field) for field in fields[11:15]),
        resident_pages=int(fields[21]),
        name=name,
        of_kernel=bool(int(fields[6]) & _KERNEL_THREAD),
    )


def read_stat(pid: int) -> Stat | None:
    """State of one process, None if there is no such process."""
    text = short_file(f"/proc/{pid}/stat")
    return parse_stat(text.decode("utf-8", "replace")) if text else None


def all_stats() -> list[Stat]:
    """Every process that this one can see."""
    return stats_of(pids())


def stats_of(pids: Iterable[int]) -> list[Stat]:
    """The states of these processes; one that is gone is left out."""
    return [stat for stat in map(read_stat, pids) if stat is not None]


def read_bytes(pids: Iterable[int]) -> int | None:
    """What these processes and the children they waited for made the kernel fetch from block devices; None if unknown.

    Pages that were in the cache are not in it, those that a page fault or read-ahead fetched are (proc_pid_io(5)).
    """
    bytes_moved = [moved for pid in pids if (moved := io_bytes(pid)) is not None]
    return sum(read for read, _ in bytes_moved) if bytes_moved else None


def io_bytes(pid: int) -> tuple[int, int] | None:
    """Bytes from and to block devices of a process and the children it waited for; None if it may not be asked."""
    text = short_file(f"/proc/{pid}/io")
    return parse_io(text) if text else None


def parse_io(text: bytes) -> tuple[int, int]:
    """Bytes from and to devices of /proc/PID/io, less what was deleted before it was ever written. Pure."""
    counters = dict(line.split(b": ", 1) for line in text.splitlines() if b": " in line)
    written = int(counters.get(b"write_bytes", 0)) - int(counters.get(b"cancelled_write_bytes", 0))
    return int(counters.get(b"read_bytes", 0)), max(0, written)


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


MAP_COUNT = Path("/proc/sys/vm/max_map_count")


def handles_available(map_count: Path = MAP_COUNT) -> Handles:
    """The bounds of each process started from here: servers' Java raises its soft limit of files to the hard one.

    A bound that the kernel does not report is taken to be none.
    """
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return Handles(UNBOUNDED if files == resource.RLIM_INFINITY else files, read_bound(map_count))


def read_bound(file: Path) -> int:
    """The number that a file of the kernel holds; no bound if it holds none."""
    text = read_stripped_text(file)
    return int(text) if text.isdigit() else UNBOUNDED


def threads_of(processes: Mapping[str, int]) -> dict[int, str]:
    """Threads of these processes, of their sessions and of all that descends from them, each with the tree's name."""
    stats = all_stats()
    below: dict[int, list[Stat]] = {}
    for stat in stats:
        below.setdefault(stat.parent, []).append(stat)
    tree_of_thread: dict[int, str] = {}
    for name, pid in processes.items():
        tree = [stat for stat in stats if pid in (stat.pid, stat.session)]
        for stat in tree:
            tree += [child for child in below.get(stat.pid, []) if child not in tree]
            with contextlib.suppress(OSError):
                tree_of_thread |= {int(entry): name for entry in os.listdir(f"/proc/{stat.pid}/task")}  # noqa: PTH208
    return tree_of_thread


def users_of(device: int) -> dict[int, str]:
    """Processes that have files of a device (`st_dev`) open, mapped or as working directory, with their commands.

    Of processes that this one may not look at, nothing is known.
    """
    return {
        pid: short_file(f"/proc/{pid}/comm").decode("utf-8", "replace").strip() or "?"
        for pid in pids()
        if _uses_device(pid, device)
    }


def pids() -> list[int]:
    """The numbers of all processes that this one can see."""
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]  # noqa: PTH208 - hot path


def _uses_device(pid: int, device: int) -> bool:
    directory = f"/proc/{pid}"
    try:
        links = [f"{directory}/cwd", f"{directory}/root"]
        links += [f"{directory}/fd/{entry}" for entry in os.listdir(f"{directory}/fd")]  # noqa: PTH208 - hot path
    except OSError:
        return False
    return any(_device_of(link) == device for link in links) or _has_mapped_file(pid, device)


def _device_of(link: str) -> int:
    try:
        return os.stat(link).st_dev  # noqa: PTH116 - hot path
    except OSError:
        return -1


def _has_mapped_file(pid: int, device: int) -> bool:
    """Whether a file of the device is mapped (proc_pid_maps(5)): its descriptor may be closed."""
    device_field = f" {os.major(device):02x}:{os.minor(device):02x} "
    return device_field in read_stripped_text(Path(f"/proc/{pid}/maps"))
