"""Looks once a second at what the host and the agent's processes use, for as long as somebody asks for it.

What the kernel reports is parsed by pure functions; its counters are since boot, unless said otherwise.

The looks keep their own rhythm and are kept for a while, so that a controller that is late loses none, and two that ask
see the same. They run in the agent's only thread: a look takes some ms.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tidegauge.fleet.children import Children
from tidegauge.fleet.process_use import CgroupWatch, ProcessWatch, WriteLimit
from tidegauge.hosts import procfs
from tidegauge.hosts.storage import text_of
from tidegauge.model.use import DeviceUse, HostUse, ProcessUse, Sample

SECTOR_BYTES = 512
_LOOPBACK = "lo"


@dataclass(frozen=True)
class CpuTimes:
    """/proc/stat, in clock ticks over all CPUs. `busy` holds system, interrupts and stolen time too."""

    cpus: int
    busy: int
    system: int
    iowait: int
    steal: int
    context_switches: int


@dataclass(frozen=True)
class DiskTimes:
    """A line of /proc/diskstats; times in ms."""

    number: str
    name: str
    reads: int
    read_bytes: int
    writes: int
    written_bytes: int
    write_ms: int
    busy_ms: int
    flushes: int
    flush_ms: int


@dataclass(frozen=True)
class Traffic:
    """Bytes over network interfaces of this network namespace."""

    loopback_sent: int
    received: int
    sent: int


def parse_stat(text: str) -> CpuTimes:
    """/proc/stat. Guests' time is in their user's already (proc_stat(5))."""
    cpus, times, switches = 0, [0] * 8, 0
    for line in text.splitlines():
        key, _, rest = line.partition(" ")
        if key == "cpu":
            times = [int(field) for field in rest.split()][:8]
            times += [0] * (8 - len(times))
        elif key.startswith("cpu"):
            cpus += 1
        elif key == "ctxt":
            switches = int(rest)
    user, nice, system, _idle, iowait, irq, softirq, steal = times
    return CpuTimes(max(1, cpus), user + nice + system + irq + softirq + steal, system, iowait, steal, switches)


def parse_diskstats(text: str) -> list[DiskTimes]:
    """/proc/diskstats: devices that ever did anything. Flushes are reported since Linux 5.5."""
    found = []
    for line in text.splitlines():
        major, minor, name, *fields = line.split()
        numbers = [int(field) for field in fields] + [0] * 17
        if not any(numbers):
            continue
        found.append(
            DiskTimes(
                number=f"{major}:{minor}",
                name=name,
                reads=numbers[0],
                read_bytes=numbers[2] * SECTOR_BYTES,
                writes=numbers[4],
                written_bytes=numbers[6] * SECTOR_BYTES,
                write_ms=numbers[7],
                busy_ms=numbers[9],
                flushes=numbers[15],
                flush_ms=numbers[16],
            )
        )
    return found


def parse_traffic(text: str) -> Traffic:
    """/proc/net/dev."""
    loopback = received = sent = 0
    for line in text.splitlines():
        name, colon, rest = line.partition(":")
        fields = rest.split()
        if not colon or len(fields) < 9:
            continue
        if name.strip() == _LOOPBACK:
            loopback += int(fields[8])
        else:
            received += int(fields[0])
            sent += int(fields[8])
    return Traffic(loopback, received, sent)


def parse_tcp(text: str) -> tuple[int, int]:
    """/proc/net/snmp: TCP segments sent, and sent again."""
    lines = [line.split() for line in text.splitlines() if line.startswith("Tcp:")]
    found = dict(zip(*lines, strict=False)) if len(lines) == 2 else {}
    return int(found.get("OutSegs", 0)), int(found.get("RetransSegs", 0))


def parse_memory(text: str) -> Mapping[str, int]:
    """/proc/meminfo in bytes, by name; this moment, not a counter."""
    found = {}
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        number = rest.split()[:1]
        if number and number[0].isdigit():
            found[name] = int(number[0]) * 1024
    return found


def parse_pressure(text: str) -> Mapping[str, float]:
    """/proc/pressure/*: seconds of stall by "some" and "full"."""
    found = {}
    for line in text.splitlines():
        kind, _, rest = line.partition(" ")
        total = rest.rpartition("total=")[2]
        if total.isdigit():
            found[kind] = int(total) / 1e6
    return found


PERIOD_S = 1.0
KEPT_MAX = 120
ASKED_S_MAX = 10.0
"""Looking ends when nobody has asked for so long."""


class Sampler:
    """The looks of one agent."""

    def __init__(self, children: Children, root: Path = Path("/")) -> None:
        self._children = children
        self._proc = root / "proc"
        self._kept: deque[Sample] = deque(maxlen=KEPT_MAX)
        self._cgroups = CgroupWatch()
        self._watch = ProcessWatch(self._cgroups)
        self._asked_s = float("-inf")
        self._next_s = float("inf")
        self._number = 0
        self._last: _Counters | None = None

    def samples(self, after: int) -> list[Sample]:
        """Those later than number `after` that are still kept, oldest first. The first call begins the looking."""
        now_s = time.monotonic()
        self._asked_s = now_s
        if self._next_s == float("inf"):
            self._last = None
            self._next_s = now_s
        return [sample for sample in self._kept if sample.number > after]

    @property
    def next_s(self) -> float:
        """When the next look is due (monotonic); infinite while nobody asks."""
        return self._next_s

    def look_if_due(self) -> None:
        """Look if it is time."""
        now_s = time.monotonic()
        if now_s < self._next_s:
            return
        if now_s - self._asked_s > ASKED_S_MAX:
            self._next_s = float("inf")
            self._watch.forget(())
            return
        self._look()
        # Late looks are not made up for: their spans say how long they are.
        self._next_s = max(self._next_s + PERIOD_S, now_s + PERIOD_S / 2)

    def _look(self) -> None:
        begun_s = time.thread_time()
        now = _Counters(self._proc)
        processes = self._processes()
        limits = self._write_limits()
        last, self._last = self._last, now
        if last is None:
            return
        self._number += 1
        self._kept.append(
            Sample(
                number=self._number,
                from_mono_ns=last.mono_ns,
                until_mono_ns=now.mono_ns,
                host=host_use(last, now),
                processes=processes,
                devices=device_use(last.disks, now.disks, limits),
                cost_s=time.thread_time() - begun_s,
            )
        )

    def _processes(self) -> tuple[ProcessUse, ...]:
        members = self._children.members(all_looked_at=False)
        self._watch.forget([child.identity for child in self._children.by_name.values() if child.exit_code is None])
        found = []
        for name, child in self._children.by_name.items():
            if child.exit_code is None and members.get(name):
                use = self._watch.use(name, child.identity, members[name], child.spec.gc_log_path)
                if use is not None:
                    found.append(use)
        return tuple(found)

    def _write_limits(self) -> dict[str, WriteLimit]:
        """Of all processes together, by device."""
        found: dict[str, WriteLimit] = {}
        for child in self._children.by_name.values():
            if child.exit_code is None:
                for device, limit in self._cgroups.write_limits(child.identity.pid).items():
                    found[device] = limit.tightest(found.get(device))
        return found


class _Counters:
    """The host's counters at one moment."""

    def __init__(self, proc: Path) -> None:
        self.mono_ns = time.monotonic_ns()
        self.cpu: CpuTimes = parse_stat(text_of(proc / "stat"))
        self.disks = {disk.number: disk for disk in parse_diskstats(text_of(proc / "diskstats"))}
        self.traffic: Traffic = parse_traffic(text_of(proc / "net/dev"))
        self.segments, self.retransmits = parse_tcp(text_of(proc / "net/snmp"))
        self.memory = parse_memory(text_of(proc / "meminfo"))
        self.stalls = {what: parse_pressure(text_of(proc / "pressure" / what)) for what in ("cpu", "memory", "io")}


def host_use(before: _Counters, now: _Counters) -> HostUse:
    """What the host used between two moments."""

    def ticks(name: str) -> float:
        return float(max(0, getattr(now.cpu, name) - getattr(before.cpu, name))) / procfs.TICKS_PER_S

    def stall(what: str, kind: str) -> float | None:
        begun, ended = before.stalls[what].get(kind), now.stalls[what].get(kind)
        return None if begun is None or ended is None else max(0.0, ended - begun)

    return HostUse(
        cpus=now.cpu.cpus,
        cpu_s=ticks("busy"),
        cpu_system_s=ticks("system"),
        cpu_iowait_s=ticks("iowait"),
        cpu_steal_s=ticks("steal"),
        memory_bytes=now.memory.get("MemTotal", 0),
        memory_available_bytes=now.memory.get("MemAvailable", 0),
        dirty_bytes=now.memory.get("Dirty", 0) + now.memory.get("Writeback", 0),
        loopback_bytes=max(0, now.traffic.loopback_sent - before.traffic.loopback_sent),
        network_received_bytes=max(0, now.traffic.received - before.traffic.received),
        network_sent_bytes=max(0, now.traffic.sent - before.traffic.sent),
        tcp_segments=max(0, now.segments - before.segments),
        tcp_retransmits=max(0, now.retransmits - before.retransmits),
        context_switches=max(0, now.cpu.context_switches - before.cpu.context_switches),
        cpu_stall_s=stall("cpu", "some"),
        memory_stall_s=stall("memory", "some"),
        memory_full_stall_s=stall("memory", "full"),
        io_stall_s=stall("io", "some"),
        io_full_stall_s=stall("io", "full"),
    )


def device_use(
    before: dict[str, DiskTimes], now: dict[str, DiskTimes], limits: Mapping[str, WriteLimit]
) -> tuple[DeviceUse, ...]:
    """What each device did between two moments; one that came meanwhile, since it came."""
    found = []
    for number, disk in now.items():
        old = before.get(number) or DiskTimes(number, disk.name, 0, 0, 0, 0, 0, 0, 0, 0)

        def since(name: str, old: DiskTimes = old, disk: DiskTimes = disk) -> int:
            return max(0, int(getattr(disk, name)) - int(getattr(old, name)))

        found.append(
            DeviceUse(
                number=number,
                name=disk.name,
                reads=since("reads"),
                read_bytes=since("read_bytes"),
                writes=since("writes"),
                written_bytes=since("written_bytes"),
                write_s=since("write_ms") / 1e3,
                busy_s=since("busy_ms") / 1e3,
                flushes=since("flushes"),
                flush_s=since("flush_ms") / 1e3,
                write_bytes_per_s_max=limits[number].bytes_per_s if number in limits else None,
                writes_per_s_max=limits[number].requests_per_s if number in limits else None,
            )
        )
    return tuple(found)
