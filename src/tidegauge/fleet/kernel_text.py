"""What the kernel tells of a host, parsed. Pure. Counters since boot, unless said otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

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
    """/proc/diskstats: devices that ever did anything. Flushes are told since Linux 5.5."""
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
