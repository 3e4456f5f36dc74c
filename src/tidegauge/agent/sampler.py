"""Looks once a second at what the host and the agent's processes use, for as long as somebody asks for it.

What the kernel reports is parsed by pure functions. Its counters are since boot: what was used between two looks is by
how much they grew.

The looks keep their own rhythm and are kept for a while, so that a controller that is late loses none, and two that ask
see the same. They run in the agent's only thread: a look takes some ms.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from tidegauge.agent.api import ServersSeen
from tidegauge.agent.children import Child, Children
from tidegauge.agent.process_use import CgroupWatch, ProcessWatch, WriteLimit
from tidegauge.agent.program_use import ProgramAccounts, ProgramWatch
from tidegauge.hosts.memory import meminfo
from tidegauge.hosts.peers import local_peers
from tidegauge.hosts.procfs import TICKS_PER_S, Identity, Stat, stats_of
from tidegauge.hosts.storage import read_stripped_text
from tidegauge.model.use import DeviceUse, HostUse, ProcessUse, ProgramUse, Sample, is_link_within_host

SECTOR_BYTES = 512
_LOOPBACK = "lo"


def parse_stat(text: str) -> dict[str, Any]:
    """/proc/stat, over all CPUs, by the fields of `HostUse`. Guests' time is in their user's already (proc_stat(5))."""
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
    # Interrupts are the kernel's; its threads are counted one by one.
    return {
        "cpus": max(1, cpus),
        "cpu_s": (user + nice + system + irq + softirq + steal) / TICKS_PER_S,
        "cpu_system_s": system / TICKS_PER_S,
        "cpu_iowait_s": iowait / TICKS_PER_S,
        "cpu_steal_s": steal / TICKS_PER_S,
        "cpu_kernel_s": (irq + softirq) / TICKS_PER_S,
        "context_switches": switches,
    }


def parse_diskstats(text: str) -> list[DeviceUse]:
    """/proc/diskstats: devices that ever did anything. Flushes are reported since Linux 5.5."""
    devices = []
    for line in text.splitlines():
        major, minor, name, *fields = line.split()
        numbers = [int(field) for field in fields] + [0] * 17
        if not any(numbers):
            continue
        devices.append(
            DeviceUse(
                number=f"{major}:{minor}",
                name=name,
                reads=numbers[0],
                read_bytes=numbers[2] * SECTOR_BYTES,
                writes=numbers[4],
                written_bytes=numbers[6] * SECTOR_BYTES,
                write_s=numbers[7] / 1e3,
                busy_s=numbers[9] / 1e3,
                flushes=numbers[15],
                flush_s=numbers[16] / 1e3,
            )
        )
    return devices


def parse_traffic(text: str) -> dict[str, Any]:
    """/proc/net/dev, of this network namespace, by the fields of `HostUse`, without links that lead nowhere else."""
    loopback = received = sent = 0
    for line in text.splitlines():
        name, colon, rest = line.partition(":")
        fields = rest.split()
        if not colon or len(fields) < 9:
            continue
        if name.strip() == _LOOPBACK:
            loopback += int(fields[8])
        elif not is_link_within_host(name.strip()):
            received += int(fields[0])
            sent += int(fields[8])
    return {"loopback_bytes": loopback, "network_received_bytes": received, "network_sent_bytes": sent}


def parse_tcp(text: str) -> dict[str, Any]:
    """/proc/net/snmp, by the fields of `HostUse`."""
    lines = [line.split() for line in text.splitlines() if line.startswith("Tcp:")]
    counters = dict(zip(*lines, strict=False)) if len(lines) == 2 else {}
    return {"tcp_segments": int(counters.get("OutSegs", 0)), "tcp_retransmits": int(counters.get("RetransSegs", 0))}


def parse_pressure(text: str) -> Mapping[str, float]:
    """/proc/pressure/*: seconds of stall by "some" and "full"."""
    stalled_s = {}
    for line in text.splitlines():
        kind, _, rest = line.partition(" ")
        total = rest.rpartition("total=")[2]
        if total.isdigit():
            stalled_s[kind] = int(total) / 1e6
    return stalled_s


@dataclass(frozen=True)
class CounterReading:
    """One moment. What counts is since boot, the rest of then; devices by number."""

    mono_ns: int
    host: HostUse
    devices: Mapping[str, DeviceUse]


def read_counters(root: Path = Path("/")) -> CounterReading:
    """The host now. `root`: where /proc is (for tests)."""
    mono_ns, proc = time.monotonic_ns(), root / "proc"
    memory = meminfo(root)
    stalls = {
        resource: parse_pressure(read_stripped_text(proc / "pressure" / resource))
        for resource in ("cpu", "memory", "io")
    }
    host = HostUse(
        **parse_stat(read_stripped_text(proc / "stat")),
        **parse_traffic(read_stripped_text(proc / "net/dev")),
        **parse_tcp(read_stripped_text(proc / "net/snmp")),
        memory_bytes=memory.get("MemTotal", 0),
        memory_available_bytes=memory.get("MemAvailable", 0),
        dirty_bytes=memory.get("Dirty", 0) + memory.get("Writeback", 0),
        cpu_stall_s=stalls["cpu"].get("some"),
        memory_stall_s=stalls["memory"].get("some"),
        memory_full_stall_s=stalls["memory"].get("full"),
        io_stall_s=stalls["io"].get("some"),
        io_full_stall_s=stalls["io"].get("full"),
    )
    return CounterReading(
        mono_ns, host, {device.number: device for device in parse_diskstats(read_stripped_text(proc / "diskstats"))}
    )


def host_with_accounts(host: HostUse, accounts: ProgramAccounts | None) -> HostUse:
    """A host's use with who it was; what is busy beyond all that was seen is nobody's. Pure."""
    if accounts is None:
        return host
    kernel_s = (host.cpu_kernel_s or 0.0) + accounts.kernel_cpu_s
    # What is counted late is no more than what was busy: a second has no more.
    most_s = max(0.0, host.cpu_s - host.cpu_steal_s - accounts.trial_cpu_s)
    others_s = min(accounts.others_cpu_s, most_s)
    unseen_s = host.cpu_s - host.cpu_steal_s - kernel_s - accounts.trial_cpu_s - others_s
    return replace(
        host,
        cpu_kernel_s=round(kernel_s, _DIGITS),
        control_cpu_s=accounts.control_cpu_s,
        others_cpu_s=round(others_s, _DIGITS),
        unseen_cpu_s=round(unseen_s, _DIGITS),
        others_read_bytes=accounts.others_read_bytes,
        others_written_bytes=accounts.others_written_bytes,
        others_resident_bytes=accounts.others_resident_bytes,
    )


def programs_within(host: HostUse, accounts: ProgramAccounts | None) -> tuple[ProgramUse, ...]:
    """Other programs with no more CPU in all than others used: what they used before this look is none of its. Pure."""
    if accounts is None:
        return ()
    used_s = host.others_cpu_s or 0.0
    share = min(1.0, used_s / accounts.others_cpu_s) if accounts.others_cpu_s > 0 else 1.0
    return tuple(replace(program, cpu_s=round(program.cpu_s * share, _DIGITS)) for program in accounts.programs)


_Use = TypeVar("_Use", HostUse, DeviceUse)
_NO_COUNTERS = frozenset(
    {"cpus", "memory_bytes", "memory_available_bytes", "dirty_bytes", "others_resident_bytes"}
    | {"number", "name", "write_bytes_per_s_max", "writes_per_s_max", "host"}
)
_DIGITS = 6
"""Of a second: the finest that is counted is a microsecond."""


def used_between(before: _Use, now: _Use) -> _Use:
    """What was used between two looks, None where one of them does not say; what is no counter is as it is now."""
    grown: dict[str, Any] = {}
    for name in {field.name for field in fields(now)} - _NO_COUNTERS:
        begun, ended = getattr(before, name), getattr(now, name)
        grown[name] = None if begun is None or ended is None else round(max(begun, ended) - begun, _DIGITS)
    return replace(now, **grown)


def device_use(before: DeviceUse | None, now: DeviceUse, limit: WriteLimit) -> DeviceUse:
    """What a device did between two looks; one that came meanwhile, since it came."""
    used = used_between(before, now) if before else now
    return replace(used, write_bytes_per_s_max=limit.bytes_per_s, writes_per_s_max=limit.requests_per_s)


PERIOD_S = 1.0
KEPT_MAX = 120
ASKED_S_MAX = 10.0
"""Looking ends when nobody has asked for so long."""


class Sampler:
    """The looks of one agent. `next_s`: when the next one is due (monotonic); infinite while nobody asks."""

    def __init__(self, children: Children) -> None:
        self._children = children
        self._kept: deque[Sample] = deque(maxlen=KEPT_MAX)
        self._cgroups = CgroupWatch()
        self._watch = ProcessWatch(self._cgroups)
        self._programs = ProgramWatch()
        self._attached: dict[str, Identity] = {}
        """Servers that others run on this host, by the names that samples have of them."""
        self._asked_s = float("-inf")
        self.next_s = float("inf")
        self._number = 0
        self._last: CounterReading | None = None

    def samples(self, after: int) -> list[Sample]:
        """Samples later than number `after` that are still kept, oldest first. The first call begins the looking."""
        now_s = time.monotonic()
        self._asked_s = now_s
        if self.next_s == float("inf"):
            self._last = None
            self.next_s = now_s
        return [sample for sample in self._kept if sample.number > after]

    def follow_servers(self, clients: Sequence[str]) -> ServersSeen:
        """Count as servers whom these processes talk to on this host. Returns how much of those can be seen."""
        self._attached = {}
        if not clients:
            return ServersSeen.ALL
        members = self._children.members()
        peers = local_peers({stat.pid for name in clients for stat in members.get(name, ())})
        ours = {stat.pid for tree in members.values() for stat in tree} | {os.getpid(), os.getppid()}
        stats = [stat for stat in stats_of(peers.pids - ours) if not stat.ended]
        self._attached = {f"{stat.name} ({stat.pid})": stat.identity for stat in stats}
        if peers.hidden:
            return ServersSeen.HIDDEN
        return ServersSeen.ELSEWHERE if peers.elsewhere else ServersSeen.ALL

    def look_if_due(self) -> None:
        """Look if it is time."""
        now_s = time.monotonic()
        if now_s < self.next_s:
            return
        if now_s - self._asked_s > ASKED_S_MAX:
            self.next_s = float("inf")
            self._watch.forget(())
            self._programs.forget()
            self._attached = {}
            return
        self._take_sample()
        # Late looks are not made up for: their spans say how long they are.
        self.next_s = max(self.next_s + PERIOD_S, now_s + PERIOD_S / 2)

    def _take_sample(self) -> None:
        begun_s = time.thread_time()
        now = read_counters()
        living = {name: child for name, child in self._children.by_name.items() if child.exit_code is None}
        members = self._children.members(all_looked_at=False)
        processes = self._process_uses(living, members)
        ours = {stat.pid for tree in members.values() for stat in tree}
        ours |= {identity.pid for identity in self._attached.values()}
        accounts = self._programs.take_accounts(ours, control=(os.getpid(), os.getppid()))
        limits = self._cgroups.write_limits(child.identity.pid for child in living.values())
        last, self._last = self._last, now
        if last is None:
            return
        self._number += 1
        host = host_with_accounts(used_between(last.host, now.host), accounts)
        self._kept.append(
            Sample(
                number=self._number,
                from_mono_ns=last.mono_ns,
                until_mono_ns=now.mono_ns,
                host=host,
                processes=processes,
                devices=tuple(
                    device_use(last.devices.get(number), device, limits.get(number, WriteLimit()))
                    for number, device in now.devices.items()
                ),
                cost_s=time.thread_time() - begun_s,
                programs=programs_within(host, accounts),
            )
        )

    def _process_uses(
        self, living: Mapping[str, Child], members: Mapping[str, Sequence[Stat]]
    ) -> tuple[ProcessUse, ...]:
        self._watch.forget([*(child.identity for child in living.values()), *self._attached.values()])
        uses = [
            self._watch.use(name, child.identity, members[name], child.spec.gc_log_path)
            for name, child in living.items()
            if members[name]
        ]
        for name, identity in self._attached.items():
            stats = [stat for stat in stats_of([identity.pid]) if stat.identity == identity]
            uses += [self._watch.use(name, identity, stats)] if stats else []
        return tuple(use for use in uses if use is not None)
