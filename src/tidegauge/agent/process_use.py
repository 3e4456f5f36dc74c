"""What the processes of each name used: CPU, memory, disk and garbage collection, of cgroups where there are any.

A line a collection costs nothing; the JVM's shared performance file, which has the same figures, can stall its
collector, and asking by JMX or attaching would run code in it.

Threads are read from their scheduler statistics: one short line each, where their status would be fifty. What a thread
used after the last look before it ended is missing from threads' figures, not from the process's CPU time.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from tidegauge.hosts import procfs
from tidegauge.hosts.cgroups import Hierarchy, MemoryLeft, cpu_quotas, hierarchies, memory_left_in
from tidegauge.hosts.procfs import Identity, Stat
from tidegauge.hosts.storage import read_stripped_text
from tidegauge.model.use import BUSIEST_MAX, ProcessUse, ThreadUse

_PLACES_MAX = 63
"""Processes' places that are remembered."""


@dataclass(frozen=True)
class CpuQuota:
    """The tightest quota, in CPUs, and the cgroup that has it. `throttled_s`: held back by it so far."""

    cpus: float
    throttled_s: float
    group: str = ""


@dataclass(frozen=True)
class WriteLimit:
    """Most bytes and requests a second; None = no limit."""

    bytes_per_s: int | None = None
    requests_per_s: int | None = None


class CgroupWatch:
    """Looks at processes' cgroups; where each one's are is found again only when it was moved."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        self._found: dict[str, tuple[Hierarchy, ...]] = {}

    def limits_of_process(self, pid: int) -> tuple[CpuQuota | None, MemoryLeft | None]:
        """CPU quota, and what the memory limit leaves, of a process; None where there is no such limit."""
        groups = self._groups_of_process(pid)
        return _tightest_quota(groups), memory_left_in(groups)

    def write_limits(self, pids: Iterable[int]) -> dict[str, WriteLimit]:
        """What these processes may write at most, by the device's "major:minor"; only devices with a limit."""
        lowest: dict[tuple[str, str], int] = {}
        for group in (group for pid in pids for group in self._groups_of_process(pid)):
            for device, kind, most in _write_limits(group):
                lowest[device, kind] = min(most, lowest.get((device, kind), most))
        return {device: WriteLimit(lowest.get((device, "bps")), lowest.get((device, "iops"))) for device, _ in lowest}

    def have_same_cgroups(self, first: int, other: int) -> bool:
        """Whether two processes or threads are in the same cgroups."""
        return procfs.short_file(f"{self._root}/proc/{first}/cgroup") == procfs.short_file(
            f"{self._root}/proc/{other}/cgroup"
        )

    def _groups_of_process(self, pid: int) -> tuple[Hierarchy, ...]:
        try:
            text = (self._root / f"proc/{pid}/cgroup").read_text()
            if text not in self._found:
                self._found = {
                    text: tuple(hierarchies(self._root, pid)),
                    **dict(list(self._found.items())[:_PLACES_MAX]),
                }
        except OSError:
            return ()
        return self._found[text]


def _tightest_quota(groups: tuple[Hierarchy, ...]) -> CpuQuota | None:
    quotas = [quota for group in groups for quota in cpu_quotas(group)]
    if not quotas:
        return None
    cpus, level = min(quotas)
    # How long a cgroup's quota has held it back so far, s: v1 reports ns, v2 us.
    counters = dict(line.split(" ", 1) for line in read_stripped_text(level / "cpu.stat").splitlines() if " " in line)
    throttled_s = int(counters.get("throttled_time", 0)) / 1e9 + int(counters.get("throttled_usec", 0)) / 1e6
    return CpuQuota(cpus, throttled_s, str(level))


def _write_limits(group: Hierarchy) -> Iterator[tuple[str, str, int]]:
    """The limits at all levels: a device, what of it is limited ("bps" or "iops"), and the most a second."""
    if group.version == 1 and "blkio" not in group.controllers:
        return
    for level in group.levels:
        if group.version == 1:
            for kind in ("bps", "iops"):
                for line in read_stripped_text(level / f"blkio.throttle.write_{kind}_device").splitlines():
                    device, most = line.split()
                    yield device, kind, int(most)
        else:
            for line in read_stripped_text(level / "io.max").splitlines():
                device, *limits = line.split()
                for key, _, most in (limit.partition("=") for limit in limits):
                    if key in ("wbps", "wiops") and most != "max":
                        yield device, key.removeprefix("w"), int(most)


_PAUSE = re.compile(rb"\bPause [^\n]*? ([0-9]+(?:\.[0-9]+)?)ms\s*$", re.MULTILINE)
_READ_BYTES_MAX = 1 << 20


@dataclass(frozen=True)
class Pauses:
    """All pauses that ended in a span, together, and the longest."""

    total_s: float = 0.0
    longest_s: float = 0.0


def parse_pauses(text: bytes) -> Pauses:
    """The pauses in whole lines of a collector's log. Pure.

    A line: "[1.234s][gc] GC(5) Pause Young (Normal) (G1 Evacuation Pause) 24M->4M(256M) 1.234ms".
    """
    pauses_s = [float(match) / 1e3 for match in _PAUSE.findall(text)]
    return Pauses(sum(pauses_s), max(pauses_s, default=0.0))


class GcLog:
    """Follows one log. A log that was rotated or begun anew is read from its start."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._inode = 0
        self._offset = 0
        self._begun = b""

    def new_pauses(self) -> Pauses | None:
        """The pauses that were logged since the last call; None while there is no log."""
        try:
            with self._path.open("rb") as file:
                status = os.fstat(file.fileno())
                if status.st_ino != self._inode or status.st_size < self._offset:
                    self._inode, self._offset, self._begun = status.st_ino, 0, b""
                if status.st_size == self._offset:
                    return Pauses()
                file.seek(self._offset)
                text = self._begun + file.read(_READ_BYTES_MAX)
                self._offset = file.tell()
        except OSError:
            return None
        whole, _, self._begun = text.rpartition(b"\n")
        return parse_pauses(whole)


_NS_PER_S = 1e9
_WAIT_NS_ASKED = 20_000_000
"""In a look, from which on it is asked whether a quota of its own held a thread back."""


_Counters: TypeAlias = Mapping[tuple[int, int], tuple[int, int, int]]
"""Of threads, by process and number: time that each ran and waited for a CPU (ns), and how often it got one."""


@dataclass
class _Seen:
    """Counters of one managed process at the last look; processes by identity, threads by process and number."""

    cpu_ticks: dict[Identity, int] = field(default_factory=dict)
    io_bytes: dict[Identity, tuple[int, int]] = field(default_factory=dict)
    threads: dict[tuple[int, int], tuple[int, int, int]] = field(default_factory=dict)
    throttled_s: float | None = None
    throttled_s_of_threads: dict[str, float] = field(default_factory=dict)
    """By cgroup that holds threads of it and not the process."""
    gc_log: GcLog | None = None


class ProcessWatch:
    """Remembers counters from look to look."""

    def __init__(self, cgroups: CgroupWatch | None = None) -> None:
        self._cgroups = cgroups or CgroupWatch()
        self._seen: dict[Identity, _Seen] = {}

    def forget(self, alive: Sequence[Identity]) -> None:
        """Forget all processes but these."""
        self._seen = {leader: seen for leader, seen in self._seen.items() if leader in alive}

    def use(self, name: str, leader: Identity, members: Sequence[Stat], gc_log_path: str = "") -> ProcessUse | None:
        """What `members`, which descend from `leader`, used since the last call for it; None at the first."""
        first = leader not in self._seen
        seen = self._seen.setdefault(leader, _Seen(gc_log=GcLog(Path(gc_log_path)) if gc_log_path else None))
        now = {stat.identity: stat.cpu_ticks for stat in members}
        cpu_ticks = sum(max(0, ticks - seen.cpu_ticks.get(identity, 0)) for identity, ticks in now.items())
        seen.cpu_ticks = now
        read_bytes, written_bytes = _bytes_moved(seen, members)
        used = _counters_of_threads(seen, members)
        quota, memory = self._cgroups.limits_of_process(leader.pid)
        quotas = self._quotas_of_threads(seen, used, leader, quota.group if quota else "")
        throttled_s = _throttled_since(seen, quota)
        pauses = seen.gc_log.new_pauses() if seen.gc_log else None
        if first:
            return None
        try:
            cpus_allowed = float(len(os.sched_getaffinity(leader.pid)))
        except OSError:
            cpus_allowed = float(os.cpu_count() or 1)
        return ProcessUse(
            name=name,
            processes=len(members),
            threads=len(seen.threads),
            cpu_s=cpu_ticks / procfs.TICKS_PER_S,
            cpu_wait_s=sum(waited_ns for _, waited_ns, _ in used.values()) / _NS_PER_S if used else None,
            busiest=_threads_with_most(used, 0),
            resident_bytes=sum(stat.resident_pages for stat in members) * procfs.PAGE_BYTES,
            read_bytes=read_bytes,
            written_bytes=written_bytes,
            context_switches=sum(switches for _, _, switches in used.values()) if used else None,
            cpus_allowed=cpus_allowed if quota is None else min(cpus_allowed, quota.cpus),
            cpu_throttled_s=throttled_s,
            memory_limit_bytes=memory.limit_bytes if memory else None,
            memory_left_bytes=memory.left_bytes if memory else None,
            gc_pause_s=pauses.total_s if pauses else None,
            gc_pause_max_s=pauses.longest_s if pauses else None,
            waiting=_threads_with_most(used, 1, quotas),
            quota_group=quota.group if quota else "",
        )

    def _quotas_of_threads(
        self, seen: _Seen, used: _Counters, leader: Identity, group_of_process: str
    ) -> Mapping[int, float]:
        """The quotas, in CPUs, that held threads back since the last look and not their process, by thread.

        Such a quota is that of a cgroup which holds threads alone (`threaded` of v2, `tasks` of v1).
        """
        quotas = {}
        throttled_s = seen.throttled_s_of_threads
        before = dict(throttled_s)
        waited = [thread for (_, thread), (_, waited_ns, _) in used.items() if waited_ns >= _WAIT_NS_ASKED]
        for thread in waited:
            if self._cgroups.have_same_cgroups(thread, leader.pid):
                continue
            quota, _ = self._cgroups.limits_of_process(thread)
            if quota is None or quota.group == group_of_process:
                continue
            throttled_s[quota.group] = quota.throttled_s
            if quota.throttled_s > before.get(quota.group, quota.throttled_s):
                quotas[thread] = quota.cpus
        return quotas


def _throttled_since(seen: _Seen, quota: CpuQuota | None) -> float | None:
    """How long the quota held back since the last look, s; None without one, 0 at the first look after it came."""
    before, seen.throttled_s = seen.throttled_s, quota.throttled_s if quota else None
    if quota is None:
        return None
    return 0.0 if before is None else max(0.0, quota.throttled_s - before)


def _bytes_moved(seen: _Seen, members: Sequence[Stat]) -> tuple[int | None, int | None]:
    """Bytes read from and written to devices since the last look; None where no process's may be read."""
    now = {stat.identity: moved for stat in members if (moved := procfs.io_bytes(stat.pid)) is not None}
    before, seen.io_bytes = seen.io_bytes, now
    read, written = (
        sum(max(0, moved[way] - before.get(identity, (0, 0))[way]) for identity, moved in now.items()) for way in (0, 1)
    )
    return (read, written) if now else (None, None)


def parse_schedstat(text: bytes) -> tuple[int, int, int] | None:
    """CPU time and time waited for a CPU (ns), and how often it got one, of a thread; None if that is unknown. Pure."""
    fields = text.split()
    return (int(fields[0]), int(fields[1]), int(fields[2])) if len(fields) == 3 else None


def _counters_of_threads(seen: _Seen, members: Sequence[Stat]) -> _Counters:
    """How much the counters of all threads grew since the last look; {} where the kernel doesn't report them."""
    now: dict[tuple[int, int], tuple[int, int, int]] = {}
    for stat in members:
        with contextlib.suppress(OSError):
            for entry in os.listdir(f"/proc/{stat.pid}/task"):  # noqa: PTH208 - hot path
                times = parse_schedstat(procfs.short_file(f"/proc/{stat.pid}/task/{entry}/schedstat"))
                if times is not None:
                    now[stat.pid, int(entry)] = times
    used = {thread: _counters_since(seen.threads.get(thread), counters) for thread, counters in now.items()}
    seen.threads = now
    return used


def _threads_with_most(
    used: _Counters, counter: int, quotas: Mapping[int, float] = MappingProxyType({})
) -> tuple[ThreadUse, ...]:
    """The threads that have most of a counter of theirs: 0 = ran, 1 = waited; and all that a quota held back."""
    ordered = sorted(used.items(), key=lambda item: -item[1][counter])
    return tuple(
        ThreadUse(
            thread,
            _thread_name(process, thread),
            counters[0] / _NS_PER_S,
            counters[1] / _NS_PER_S,
            quotas.get(thread),
        )
        for place, ((process, thread), counters) in enumerate(ordered)
        if counters[counter] > 0 and (place < BUSIEST_MAX or thread in quotas)
    )


def _counters_since(before: tuple[int, int, int] | None, now: tuple[int, int, int]) -> tuple[int, int, int]:
    """How much a thread's counters grew. A number used again is of a new thread, whose counters are smaller."""
    if before is None or now[0] < before[0]:
        return now
    return now[0] - before[0], max(0, now[1] - before[1]), max(0, now[2] - before[2])


def _thread_name(process: int, thread: int) -> str:
    return procfs.short_file(f"/proc/{process}/task/{thread}/comm").decode("utf-8", "replace").strip()
