"""What servers and the load generator used, and which resource limited a trial.

Sources: the kernel's proc(5), Documentation/admin-guide/iostats.rst, accounting/psi.rst, scheduler/sched-stats.rst.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Self

from tidegauge.plain import AsText

_LINKS_WITHIN_A_HOST = re.compile(r"(veth|docker|br-|cni|cali|flannel|virbr|tap|dummy|tg[0-9a-f]{1,8}(n\d+)?$)")
"""Begins the names of links between containers of a host, and is those of nodes with networks of their own."""


def is_link_within_host(name: str) -> bool:
    """Whether an interface links what is on its host: what leaves that is counted by another, too."""
    return _LINKS_WITHIN_A_HOST.match(name) is not None


@dataclass(frozen=True)
class ThreadUse:
    """CPU time of one thread, and how long it was ready to run and had no CPU.

    Names are as the kernel keeps them: 15 characters at most. `quota_cpus` is that of a cgroup which holds the thread
    and not its process, and held it back; None without one, or where nobody looked.
    """

    thread: int
    name: str
    cpu_s: float
    wait_s: float
    quota_cpus: float | None = None


@dataclass(frozen=True)
class ProcessUse:
    """What a process and all that descends from it used.

    Attributes:
        cpu_wait_s: its threads, taken together, were ready to run and had no CPU; None if the kernel doesn't report it.
        busiest: the threads that used most CPU, most first, at most `BUSIEST_MAX`; `waiting`: those that waited most,
            and all that a quota of their own held back.
        read_bytes, written_bytes: fetched from and (sooner or later) sent to block devices; None where not readable.
        context_switches: of all threads; None if the kernel doesn't report it.
        cpus_allowed: CPUs it may use, by affinity and by quota of its cgroups; None where only the process reports.
        cpu_throttled_s: held back by such a quota, summed over its CPUs; None without a quota.
        quota_group: the cgroup that has it, by which one sees that two share it; "" without a quota.
        memory_limit_bytes, memory_left_bytes: of the cgroup that leaves it least; None without a limit.
        gc_pause_s, gc_pause_max_s: pauses of a server's garbage collector; None where it is not reported.
        host: of a fleet's, on which it ran; "" = the one that ran the trial.
    """

    name: str
    processes: int
    threads: int
    cpu_s: float
    cpu_wait_s: float | None
    busiest: tuple[ThreadUse, ...]
    resident_bytes: int
    read_bytes: int | None
    written_bytes: int | None
    context_switches: int | None
    cpus_allowed: float | None
    cpu_throttled_s: float | None = None
    memory_limit_bytes: int | None = None
    memory_left_bytes: int | None = None
    gc_pause_s: float | None = None
    gc_pause_max_s: float | None = None
    host: str = ""
    waiting: tuple[ThreadUse, ...] = ()
    quota_group: str = ""


@dataclass(frozen=True)
class ProgramUse:
    """What all processes of one name in one cgroup used that are neither a server, nor a load generator, nor Tidegauge.

    Attributes:
        cgroup: its place in the tree of cgroups; "" where it is in none of its own.
        read_bytes, written_bytes: as in `ProcessUse`. `host` likewise.
    """

    name: str
    cgroup: str
    processes: int
    cpu_s: float
    read_bytes: int | None
    written_bytes: int | None
    resident_bytes: int
    host: str = ""


@dataclass(frozen=True)
class DeviceUse:
    """What a block device did. `number` is its "major:minor".

    Attributes:
        busy_s: at least one request was under way. What a cgroup holds back is not under way yet.
        write_s, flush_s: summed over requests, so divided by their number a mean.
        write_bytes_per_s_max, writes_per_s_max: what cgroups of our processes allow; None without a limit.
        flushes: requests to empty the device's own write cache, as an fsync makes; 0 on devices without such a cache.
        host: as in `ProcessUse`.
    """

    number: str
    name: str
    reads: int
    read_bytes: int
    writes: int
    written_bytes: int
    write_s: float
    busy_s: float
    flushes: int
    flush_s: float
    write_bytes_per_s_max: int | None = None
    writes_per_s_max: int | None = None
    host: str = ""


@dataclass(frozen=True)
class HostUse:
    """What the whole host used, whoever used it.

    Attributes:
        cpu_s: of all CPUs together, with what a hypervisor took (`cpu_steal_s`), which is lost as well.
        dirty_bytes: written by processes and not yet by the kernel.
        loopback_bytes: sent over loopback. `network_*` is everything else.
        cpu_kernel_s: of its threads and of interrupts, which work for everybody.
        control_cpu_s: of Tidegauge itself, beside its load generators.
        others_cpu_s: of programs that are no part of the trial, as far as they can be seen; others_* likewise.
        unseen_cpu_s: busy beyond all that is seen; below 0 where counters that tick give more to processes than there
            was. None, as all these, where nobody looked.
        *_stall_s: time in which some ("some") or all ("full") tasks that could have worked waited for a resource
            (pressure-stall information); None where the kernel has none.
    """

    cpus: int
    cpu_s: float
    cpu_system_s: float
    cpu_iowait_s: float
    cpu_steal_s: float
    memory_bytes: int
    memory_available_bytes: int
    dirty_bytes: int
    loopback_bytes: int
    network_received_bytes: int
    network_sent_bytes: int
    tcp_segments: int
    tcp_retransmits: int
    context_switches: int
    cpu_stall_s: float | None = None
    memory_stall_s: float | None = None
    memory_full_stall_s: float | None = None
    io_stall_s: float | None = None
    io_full_stall_s: float | None = None
    cpu_kernel_s: float | None = None
    control_cpu_s: float | None = None
    others_cpu_s: float | None = None
    unseen_cpu_s: float | None = None
    others_read_bytes: int | None = None
    others_written_bytes: int | None = None
    others_resident_bytes: int | None = None


def of_host(host: str, device: str) -> str:
    """The number of a device of another host than the one that runs the trial."""
    return f"{host} {device}"


def host_of(device: str) -> str:
    """Whose number that is; "" = of a device of the host that runs the trial."""
    return device.rpartition(" ")[0]


@dataclass(frozen=True)
class OtherHostUse:
    """What another host used in `seconds` of its own: of a fleet a second ago, of others' by its node exporter."""

    host: str
    seconds: float
    use: HostUse


@dataclass(frozen=True)
class Sample:
    """One look: what was used since the one before. `cost_s` is the CPU time that looking took.

    `others`: of a fleet's other hosts, whose processes, devices and programs are among this one's.
    `programs`: those that are no part of the trial and used most, a few.
    `number` counts from 1, without gaps. A span that begins after the last one ended: nobody asked for a while.
    """

    number: int
    from_mono_ns: int
    until_mono_ns: int
    host: HostUse
    processes: tuple[ProcessUse, ...]
    devices: tuple[DeviceUse, ...]
    cost_s: float
    others: tuple[OtherHostUse, ...] = ()
    programs: tuple[ProgramUse, ...] = ()

    @property
    def length_s(self) -> float:
        """The length of the span."""
        return max(1e-3, (self.until_mono_ns - self.from_mono_ns) / 1e9)


BUSIEST_MAX = 3


@dataclass(frozen=True)
class Seen:
    """What was seen of the machine over the measured window, a second; empty or None where nobody looked.

    Everything that moved is counted, whoever moved it. By device ("254:0"): bytes written and read, and flushes of its
    cache; each flush is the end of one sync or of several that a file system committed together.
    """

    written_bytes_per_s: Mapping[str, float] = field(default_factory=dict)
    read_bytes_per_s: Mapping[str, float] = field(default_factory=dict)
    flushes_per_s: Mapping[str, float] = field(default_factory=dict)
    loopback_bytes_per_s: float | None = None


NOTHING_SEEN = Seen()


class Resource(StrEnum):
    """What a result can be limited by, in the words of reports."""

    SERVER_CPU = "server CPU"
    SERVER_THREAD = "one server thread"
    CLIENT_CPU = "client CPU"
    PROCESSING = "consumers' processing"
    HOST_CPU = "host CPU"
    DISK = "disk"
    MEMORY = "memory limit"
    NETWORK = "network"
    SYNCS = "sync round trips"
    REPLICATION = "replication round trips"
    WINDOW = "in-flight window"
    OFFERED = "offered rate"
    UNKNOWN = "not identified"


ROUND_TRIPS = frozenset({Resource.WINDOW, Resource.SYNCS, Resource.REPLICATION})
"""Named where nothing was full but the window of messages in flight: a larger one would have carried more."""


@dataclass(frozen=True)
class NearLimit(AsText):
    """What else was near its limit, a clause. As text, and so in a result: "disk vda (97 %): busy 97% of the time".

    Attributes:
        name: the resource and which one it is: "disk vda".
        evidence: what follows its name, with the figures.
    """

    name: str
    evidence: str

    @classmethod
    def from_text(cls, text: str) -> Self:
        """The same of a clause: a name ends where its share or the evidence begins."""
        name = text.partition(": ")[0].partition(" (")[0]
        return cls(name, text[len(name) :])

    def __str__(self) -> str:
        return f"{self.name}{self.evidence}"


@dataclass(frozen=True)
class Limiting:
    """The limiting resource of a result.

    Attributes:
        subject: which one: a process, a device; "" where there is only one.
        share: of its ceiling that was used, 0 to 1; None where it has no such ceiling.
        words: the evidence, one clause with its figures.
        others: what else was near its limit.
        used: of a host's CPUs how much was used, by whom in `users`; "" of other resources.
    """

    resource: Resource
    subject: str
    share: float | None
    words: str
    others: tuple[NearLimit, ...] = ()
    used: str = field(default="", metadata={"if_any": True})
    users: str = field(default="", metadata={"if_any": True})

    @property
    def summary(self) -> str:
        """One line for tables: "disk vda (97 %)"."""
        return f"{self.name}{self._share_words}"

    @property
    def name(self) -> str:
        """The resource and which one it is, without its share, which differs from trial to trial: "disk vda"."""
        return f"{self.resource}{' ' if self.subject else ''}{self.subject}"

    @property
    def as_near(self) -> NearLimit:
        """The same as something that was near its limit beside another."""
        return NearLimit(self.name, f"{self._share_words}: {self.words}")

    @property
    def _share_words(self) -> str:
        return "" if self.share is None else f" ({self.share * 100:.0f} %)"
