"""What the agent's processes used since they were last looked at, thread by thread.

Threads are read from their scheduler statistics: one short line each, where their status would be fifty. What a thread
used after the last look before it ended is missing from threads' figures, not from the process's CPU time.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tidegauge.fleet.cgroup_use import CgroupWatch, CpuQuota
from tidegauge.fleet.gc_log import GcLog
from tidegauge.hosts import procfs
from tidegauge.hosts.procfs import Identity, Stat
from tidegauge.model.use import BUSIEST_MAX, ProcessUse, ThreadUse

_READ_BYTES = 4096
_NS_PER_S = 1e9


@dataclass
class _Seen:
    """Counters of one managed process at the last look; processes by identity, threads by number."""

    cpu_ticks: dict[Identity, int] = field(default_factory=dict)
    io_bytes: dict[Identity, tuple[int, int]] = field(default_factory=dict)
    threads: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    throttled_s: float | None = None
    gc_log: GcLog | None = None


class ProcessWatch:
    """Remembers counters from look to look."""

    def __init__(self, cgroups: CgroupWatch | None = None) -> None:
        self._cgroups = cgroups or CgroupWatch()
        self._seen: dict[Identity, _Seen] = {}

    def forget(self, alive: Sequence[Identity]) -> None:
        """Drop what is known of all others."""
        self._seen = {leader: seen for leader, seen in self._seen.items() if leader in alive}

    def use(self, name: str, leader: Identity, members: Sequence[Stat], gc_log_path: str = "") -> ProcessUse | None:
        """What `members`, which descend from `leader`, used since the last call for it; None at the first."""
        first = leader not in self._seen
        seen = self._seen.setdefault(leader, _Seen(gc_log=GcLog(Path(gc_log_path)) if gc_log_path else None))
        cpu_ticks = self._cpu_ticks(seen, members)
        read_bytes, written_bytes = _io(seen, members)
        busiest, waited_ns, switches = _threads(seen, members)
        quota, memory = self._cgroups.of(leader.pid)
        throttled_s = _throttled_since(seen, quota)
        pauses = seen.gc_log.new_pauses() if seen.gc_log else None
        if first:
            return None
        return ProcessUse(
            name=name,
            processes=len(members),
            threads=len(seen.threads),
            cpu_s=cpu_ticks / procfs.TICKS_PER_S,
            cpu_wait_s=None if waited_ns is None else waited_ns / _NS_PER_S,
            busiest=busiest,
            resident_bytes=sum(stat.resident_pages for stat in members) * procfs.PAGE_BYTES,
            read_bytes=read_bytes,
            written_bytes=written_bytes,
            context_switches=switches,
            cpus_allowed=_cpus_allowed(leader.pid, quota.cpus if quota else None),
            cpu_throttled_s=throttled_s,
            memory_limit_bytes=memory[0] if memory else None,
            memory_left_bytes=memory[1] if memory else None,
            gc_pause_s=pauses.total_s if pauses else None,
            gc_pause_max_s=pauses.longest_s if pauses else None,
        )

    @staticmethod
    def _cpu_ticks(seen: _Seen, members: Sequence[Stat]) -> int:
        now = {stat.identity: stat.cpu_ticks for stat in members}
        used = sum(max(0, ticks - seen.cpu_ticks.get(identity, 0)) for identity, ticks in now.items())
        seen.cpu_ticks = now
        return used


def _throttled_since(seen: _Seen, quota: CpuQuota | None) -> float | None:
    """None without a quota; 0 at the first look after it came."""
    before, seen.throttled_s = seen.throttled_s, quota.throttled_s if quota else None
    if quota is None:
        return None
    return 0.0 if before is None else max(0.0, quota.throttled_s - before)


def _cpus_allowed(pid: int, quota_cpus: float | None) -> float:
    try:
        allowed = float(len(os.sched_getaffinity(pid)))
    except OSError:
        allowed = float(os.cpu_count() or 1)
    return allowed if quota_cpus is None else min(allowed, quota_cpus)


def _io(seen: _Seen, members: Sequence[Stat]) -> tuple[int | None, int | None]:
    """Bytes read from and written to devices since the last look; None where no process's may be read."""
    now: dict[Identity, tuple[int, int]] = {}
    for stat in members:
        text = _read(f"/proc/{stat.pid}/io")
        if text:
            now[stat.identity] = parse_io(text)
    read = sum(max(0, one[0] - seen.io_bytes.get(identity, (0, 0))[0]) for identity, one in now.items())
    written = sum(max(0, one[1] - seen.io_bytes.get(identity, (0, 0))[1]) for identity, one in now.items())
    seen.io_bytes = now
    return (read, written) if now else (None, None)


def parse_io(text: bytes) -> tuple[int, int]:
    """Bytes from and to devices of /proc/PID/io, less what was deleted before it was ever written. Pure."""
    found = dict(line.split(b": ", 1) for line in text.splitlines() if b": " in line)
    written = int(found.get(b"write_bytes", 0)) - int(found.get(b"cancelled_write_bytes", 0))
    return int(found.get(b"read_bytes", 0)), max(0, written)


def parse_schedstat(text: bytes) -> tuple[int, int, int] | None:
    """CPU time and time waited for a CPU (ns), and how often it got one, of a thread; None if it isn't told. Pure."""
    fields = text.split()
    return (int(fields[0]), int(fields[1]), int(fields[2])) if len(fields) == 3 else None


def _threads(seen: _Seen, members: Sequence[Stat]) -> tuple[tuple[ThreadUse, ...], int | None, int | None]:
    """The busiest threads, and what all waited for a CPU (ns), and their context switches."""
    now: dict[int, tuple[int, int, int]] = {}
    owners: dict[int, int] = {}
    for stat in members:
        try:
            entries = os.listdir(f"/proc/{stat.pid}/task")  # noqa: PTH208 - hot path
        except OSError:
            continue
        for entry in entries:
            told = parse_schedstat(_read(f"/proc/{stat.pid}/task/{entry}/schedstat"))
            if told is not None:
                now[int(entry)] = told
                owners[int(entry)] = stat.pid
    used = {thread: _since(seen.threads.get(thread), counters) for thread, counters in now.items()}
    seen.threads = now
    if not now:
        return (), None, None
    busiest = sorted(used, key=lambda thread: -used[thread][0])[:BUSIEST_MAX]
    named = tuple(
        ThreadUse(
            thread, _thread_name(owners[thread], thread), used[thread][0] / _NS_PER_S, used[thread][1] / _NS_PER_S
        )
        for thread in busiest
        if used[thread][0] > 0
    )
    return named, sum(one[1] for one in used.values()), sum(one[2] for one in used.values())


def _since(before: tuple[int, int, int] | None, now: tuple[int, int, int]) -> tuple[int, int, int]:
    """A number that was used again belongs to a new thread, whose counters are smaller."""
    if before is None or now[0] < before[0]:
        return now
    return now[0] - before[0], max(0, now[1] - before[1]), max(0, now[2] - before[2])


def _thread_name(process: int, thread: int) -> str:
    return _read(f"/proc/{process}/task/{thread}/comm").decode("utf-8", "replace").strip()


def _read(path: str) -> bytes:
    """A short file of /proc; b"" if it is gone. Without the layers of `open`: it is done for each thread."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(descriptor, _READ_BYTES)
    except OSError:
        return b""
    finally:
        os.close(descriptor)
