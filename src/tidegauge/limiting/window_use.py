"""What processes, devices and the host used over a window, summed up look by look in bounded memory. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tidegauge.model.disturbance import Program
from tidegauge.model.use import DeviceUse, HostUse, ProcessUse, ProgramUse, Sample, ThreadUse

BUSY = 0.95
"""Share of a look from which on a device counts as busy for the whole of it."""
THREADS_MAX = 64
"""Threads of a process that are followed over the window; beyond it, those that used least are forgotten."""

THREADS_SHOWN = 8
COMPILERS = ("C1 Compiler", "C2 Compiler")
"""In names of threads of a JVM's compilers, which work beside the others and limit nobody."""
MEMORY_LEFT_SHARE = 0.05
"""Of its own memory limit: a process that had no more left at some moment is at that limit."""
PROGRAMS_MAX = 256
"""Programs that are followed over the window; beyond it, the least are forgotten."""
PROGRAMS_SHOWN = 16


@dataclass(frozen=True)
class ThreadShare:
    """A thread over the window: the shares of it that it ran, and waited for a CPU; `quota_cpus` as in `ThreadUse`."""

    name: str
    cpu_share: float
    wait_share: float = 0.0
    quota_cpus: float | None = None

    @property
    def is_compiler(self) -> bool:
        """Whether it is one of a JVM's compilers."""
        return any(part in self.name for part in COMPILERS)


@dataclass(frozen=True)
class ProcessShare:
    """A process over the window.

    Attributes:
        cpus: used on average.
        cpus_allowed: that it might use, by affinity and quota; None if that is not known.
        throttled_share: seconds a second that a quota held it back, summed over CPUs; None without a quota.
        threads: the few that used most CPU, the busiest first; () if threads were not seen. `waiting`: those that
            waited for a CPU most, likewise, and all that a quota of their own held back.
        wait_share: seconds a second that its threads waited for a CPU, summed over them; None if that is not known.
        moved_bytes_per_s: read from and written to block devices; None where that may not be read.
        quota_group: as in `ProcessUse`.
        memory_left_bytes_min: below the limit `memory_limit_bytes`; None without one.
        host: of a fleet's, on which it ran; "" = the one that ran the trial.
    """

    name: str
    cpus: float
    cpus_allowed: float | None
    throttled_share: float | None
    memory_limit_bytes: int | None
    memory_left_bytes_min: int | None
    threads: tuple[ThreadShare, ...] = ()
    host: str = ""
    waiting: tuple[ThreadShare, ...] = ()
    wait_share: float | None = None
    moved_bytes_per_s: float | None = None
    quota_group: str = ""

    @property
    def at_memory_limit(self) -> tuple[int, int] | None:
        """The memory limit and the least that was left below it, in bytes, where that was next to nothing."""
        limit_bytes, left_bytes = self.memory_limit_bytes, self.memory_left_bytes_min
        if limit_bytes is None or left_bytes is None or left_bytes > MEMORY_LEFT_SHARE * limit_bytes:
            return None
        return limit_bytes, left_bytes


@dataclass(frozen=True)
class DeviceShare:
    """A device over the window.

    `flush_ms` is the mean of its cache flushes; None without any. `busy_s`: of the looks in which it was busy all the
    time, together: a mean hides that a device was at its end for half of the window. `host` as in `ProcessShare`.
    """

    number: str
    name: str
    busy_share: float
    read_bytes_per_s: float
    written_bytes_per_s: float
    writes_per_s: float
    flushes_per_s: float
    flush_ms: float | None
    write_bytes_per_s_max: int | None
    writes_per_s_max: int | None
    busy_s: float = 0.0
    host: str = ""


@dataclass(frozen=True)
class HostShare:
    """The host over the window. Stalls are shares of the time; None where the kernel doesn't report them.

    `steal_cpus`, `kernel_cpus` and so on are what `HostUse` has, in CPUs; None where nobody looked who it was.
    `memory_available_bytes_min`: the least that programs could still have had at any look.
    """

    cpus: int
    cpu_share: float
    loopback_bytes_per_s: float
    network_received_bytes_per_s: float
    tcp_segments: int
    tcp_retransmits: int
    cpu_stall_share: float | None
    memory_stall_share: float | None
    io_stall_share: float | None
    network_sent_bytes_per_s: float = 0.0
    steal_cpus: float = 0.0
    kernel_cpus: float | None = None
    control_cpus: float | None = None
    others_cpus: float | None = None
    unseen_cpus: float | None = None
    others_bytes_per_s: float | None = None
    others_resident_bytes: float | None = None
    memory_bytes: int = 0
    memory_available_bytes_min: int = 0


@dataclass(frozen=True)
class WindowUse:
    """Everything that was used over a window, on average.

    `metrics`: means of what servers reported of themselves, by process and metric (see `systems.metrics`).
    `telemetry_cpus`: what looking itself cost. `others`: a fleet's other hosts, by address.
    """

    seconds: float
    host: HostShare
    processes: tuple[ProcessShare, ...]
    devices: tuple[DeviceShare, ...]
    telemetry_cpus: float = 0.0
    metrics: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    others: Mapping[str, HostShare] = field(default_factory=dict)
    programs: tuple[Program, ...] = ()
    """Those that were no part of the trial, the worst first, of all hosts."""

    def share_of_host(self, host: str) -> HostShare:
        """The host on which a process or device was; "" = the one that ran the trial."""
        return self.others.get(host, self.host)

    def find_process(self, name: str) -> ProcessShare | None:
        """One process; None if it was not seen."""
        return next((process for process in self.processes if process.name == name), None)


class Tally:
    """Sums of samples and metrics; `result` divides."""

    def __init__(self) -> None:
        self._seconds = 0.0
        self._cost_s = 0.0
        self._host: _Host | None = None
        self._others: dict[str, _Host] = {}
        self._processes: dict[str, _Process] = {}
        self._devices: dict[str, _Device] = {}
        self._programs: dict[tuple[str, str, str], _Program] = {}
        self._metrics: dict[tuple[str, str], tuple[float, int]] = {}

    def add(self, sample: Sample) -> None:
        """Takes in one more look."""
        self._seconds += sample.length_s
        self._cost_s += sample.cost_s
        self._host = self._host or _Host(sample.host)
        self._host.add(sample.host, sample.length_s)
        for other in sample.others:
            self._others.setdefault(other.host, _Host(other.use)).add(other.use, other.seconds)
        for process in sample.processes:
            self._processes.setdefault(process.name, _Process(process)).add(process, sample.length_s)
        for device in sample.devices:
            self._devices.setdefault(device.number, _Device(device)).add(device, sample.length_s)
        for program in sample.programs:
            key = (program.host, program.name, program.cgroup)
            self._programs.setdefault(key, _Program(program)).add(program)
        if len(self._programs) > PROGRAMS_MAX:
            heaviest = sorted(self._programs.items(), key=lambda item: -item[1].weight)[: PROGRAMS_MAX // 2]
            self._programs = dict(heaviest)

    def metric(self, process: str, name: str, value: float) -> None:
        """Takes in one more figure of a server's own."""
        total, count = self._metrics.get((process, name), (0.0, 0))
        self._metrics[process, name] = (total + value, count + 1)

    def result(self) -> WindowUse | None:
        """What was used; None if nothing was seen."""
        if self._host is None:
            return None
        metrics: dict[str, dict[str, float]] = {}
        for (process, name), (total, count) in self._metrics.items():
            metrics.setdefault(process, {})[name] = total / count
        return WindowUse(
            seconds=self._seconds,
            host=self._host.share(),
            processes=tuple(process.share() for process in self._processes.values()),
            devices=tuple(device.share(self._seconds) for device in self._devices.values()),
            telemetry_cpus=self._cost_s / self._seconds,
            metrics=metrics,
            others={name: host.share() for name, host in self._others.items()},
            programs=tuple(
                program.share(self._seconds_looked(program.host))
                for program in sorted(self._programs.values(), key=lambda program: -program.weight)[:PROGRAMS_SHOWN]
            ),
        )

    def _seconds_looked(self, host: str) -> float:
        """In how many seconds it was looked at who used a host's CPUs, which its programs are divided by, too."""
        looked_at = self._others.get(host, self._host)
        return (looked_at.accounted_s if looked_at is not None else 0.0) or self._seconds


class _Sums(dict[str, float]):
    """Sums by name. What is None is never added; `rate` is None for what never was."""

    def take(self, use: object, *names: str) -> None:
        for name in names:
            value = getattr(use, name)
            if value is not None:
                self[name] = self.get(name, 0.0) + value

    def rate(self, name: str, seconds: float) -> float | None:
        return self[name] / seconds if name in self else None

    def per_s(self, name: str, seconds: float) -> float:
        return self.get(name, 0.0) / seconds


class _Host:
    def __init__(self, first: HostUse) -> None:
        self._sums = _Sums()
        self._seconds = 0.0
        self.accounted_s = 0.0
        self._resident_bytes_max = 0
        self._available_bytes_min = first.memory_available_bytes
        self._last = first

    def add(self, use: HostUse, seconds: float) -> None:
        self._seconds += seconds
        self._last = use
        self._available_bytes_min = min(self._available_bytes_min, use.memory_available_bytes)
        who = ("cpu_steal_s", "cpu_kernel_s", "control_cpu_s", "others_cpu_s", "unseen_cpu_s")
        others = ("others_read_bytes", "others_written_bytes")
        amounts = ("cpu_s", "loopback_bytes", "network_received_bytes", "network_sent_bytes")
        stalls = ("cpu_stall_s", "memory_stall_s", "io_stall_s")
        self._sums.take(use, *amounts, *who, *others, *stalls, "tcp_segments", "tcp_retransmits")
        self._resident_bytes_max = max(self._resident_bytes_max, use.others_resident_bytes or 0)
        if use.others_cpu_s is not None:
            self.accounted_s += seconds

    def share(self) -> HostShare:
        sums, seconds, cpus = self._sums, self._seconds, self._last.cpus
        others_by_way = [
            self._per_accounted_s(name) for name in ("others_read_bytes", "others_written_bytes") if name in self._sums
        ]
        return HostShare(
            cpus=cpus,
            cpu_share=sums.per_s("cpu_s", seconds) / cpus,
            loopback_bytes_per_s=sums.per_s("loopback_bytes", seconds),
            network_received_bytes_per_s=sums.per_s("network_received_bytes", seconds),
            tcp_segments=int(sums["tcp_segments"]),
            tcp_retransmits=int(sums["tcp_retransmits"]),
            cpu_stall_share=sums.rate("cpu_stall_s", seconds),
            memory_stall_share=sums.rate("memory_stall_s", seconds),
            io_stall_share=sums.rate("io_stall_s", seconds),
            network_sent_bytes_per_s=sums.per_s("network_sent_bytes", seconds),
            steal_cpus=sums.per_s("cpu_steal_s", seconds),
            kernel_cpus=sums.rate("cpu_kernel_s", seconds),
            others_bytes_per_s=sum(filter(None, others_by_way)) if others_by_way else None,
            others_resident_bytes=self._resident_bytes_max if self.accounted_s else None,
            memory_bytes=self._last.memory_bytes,
            memory_available_bytes_min=self._available_bytes_min,
            **{f"{who}_cpus": self._per_accounted_s(f"{who}_cpu_s") for who in ("control", "others", "unseen")},
        )

    def _per_accounted_s(self, name: str) -> float | None:
        """A sum a second, over the seconds in which it was looked at who used the CPUs.

        What is too much in one of them is too little in the next.
        """
        return max(0.0, self._sums[name] / self.accounted_s) if self.accounted_s else None


class _Process:
    def __init__(self, first: ProcessUse) -> None:
        self._sums = _Sums()
        self._seconds = 0.0
        self._last = first
        self._left_bytes_min: int | None = None
        self._threads: dict[tuple[int, str], _Thread] = {}

    def add(self, use: ProcessUse, seconds: float) -> None:
        self._seconds += seconds
        self._last = use
        self._sums.take(use, "cpu_s", "cpu_throttled_s", "cpu_wait_s", "read_bytes", "written_bytes")
        self._left_bytes_min = min(
            (number for number in (self._left_bytes_min, use.memory_left_bytes) if number is not None), default=None
        )
        # One may be among both.
        for thread in {thread.thread: thread for thread in (*use.busiest, *use.waiting)}.values():
            self._threads.setdefault((thread.thread, thread.name), _Thread()).add(thread)
        if len(self._threads) > THREADS_MAX:
            by_use = [
                sorted(self._threads.items(), key=most, reverse=True)[: THREADS_MAX // 4]
                for most in (lambda item: item[1].cpu_s, lambda item: (item[1].quota_cpus is not None, item[1].wait_s))
            ]
            self._threads = dict(by_use[0]) | dict(by_use[1])

    def share(self) -> ProcessShare:
        sums, seconds = self._sums, self._seconds
        moved_by_way = [sums.rate(name, seconds) for name in ("read_bytes", "written_bytes")]
        return ProcessShare(
            name=self._last.name,
            cpus=sums.per_s("cpu_s", seconds),
            cpus_allowed=self._last.cpus_allowed,
            throttled_share=sums.rate("cpu_throttled_s", seconds),
            memory_limit_bytes=self._last.memory_limit_bytes,
            memory_left_bytes_min=self._left_bytes_min,
            threads=self._threads_with_most(lambda thread: thread.cpu_share),
            host=self._last.host,
            waiting=self._threads_with_most(lambda thread: thread.wait_share),
            wait_share=sums.rate("cpu_wait_s", seconds),
            moved_bytes_per_s=None if None in moved_by_way else sum(filter(None, moved_by_way)),
            quota_group=self._last.quota_group,
        )

    def _threads_with_most(self, share: Callable[[ThreadShare], float]) -> tuple[ThreadShare, ...]:
        """The threads with the largest shares, the largest first, and those that a quota held back.

        In a second in which one was not among these it counts as idle: a share is never too large.
        """
        shares = [thread.share(name, self._seconds) for (_, name), thread in self._threads.items()]
        ordered = sorted(filter(share, shares), key=share, reverse=True)
        return tuple(
            thread for place, thread in enumerate(ordered) if place < THREADS_SHOWN or thread.quota_cpus is not None
        )


@dataclass(slots=True)
class _Thread:
    cpu_s: float = 0.0
    wait_s: float = 0.0
    quota_cpus: float | None = None

    def add(self, use: ThreadUse) -> None:
        self.cpu_s += use.cpu_s
        self.wait_s += use.wait_s
        self.quota_cpus = use.quota_cpus if use.quota_cpus is not None else self.quota_cpus

    def share(self, name: str, seconds: float) -> ThreadShare:
        return ThreadShare(name, self.cpu_s / seconds, self.wait_s / seconds, self.quota_cpus)


class _Program:
    def __init__(self, first: ProgramUse) -> None:
        self._first = first
        self._sums = _Sums()
        self._resident_bytes_max = 0
        self.host = first.host

    def add(self, use: ProgramUse) -> None:
        self._sums.take(use, "cpu_s", "read_bytes", "written_bytes")
        self._resident_bytes_max = max(self._resident_bytes_max, use.resident_bytes)

    @property
    def weight(self) -> float:
        """What decides which are kept as the worst: as if a second of CPU, 100 MB moved and 10 GB held were alike."""
        moved = self._sums.get("read_bytes", 0.0) + self._sums.get("written_bytes", 0.0)
        return self._sums["cpu_s"] + moved / 1e8 + self._resident_bytes_max / 1e10

    def share(self, seconds: float) -> Program:
        return Program(
            name=self._first.name,
            cgroup=self._first.cgroup,
            cpus=self._sums.per_s("cpu_s", seconds),
            read_bytes_per_s=self._sums.rate("read_bytes", seconds),
            written_bytes_per_s=self._sums.rate("written_bytes", seconds),
            resident_bytes=self._resident_bytes_max,
            host=self._first.host,
        )


class _Device:
    def __init__(self, first: DeviceUse) -> None:
        self._sums = _Sums()
        self._last = first
        self._busy_s = 0.0

    def add(self, use: DeviceUse, seconds: float) -> None:
        self._last = use
        if use.busy_s >= BUSY * seconds:
            self._busy_s += seconds
        self._sums.take(use, "busy_s", "read_bytes", "written_bytes", "writes", "flushes", "flush_s")

    def share(self, seconds: float) -> DeviceShare:
        sums, last = self._sums, self._last
        return DeviceShare(
            number=last.number,
            name=last.name,
            busy_share=min(1.0, sums.per_s("busy_s", seconds)),
            read_bytes_per_s=sums.per_s("read_bytes", seconds),
            written_bytes_per_s=sums.per_s("written_bytes", seconds),
            writes_per_s=sums.per_s("writes", seconds),
            flushes_per_s=sums.per_s("flushes", seconds),
            flush_ms=1e3 * sums["flush_s"] / sums["flushes"] if sums.get("flushes") else None,
            write_bytes_per_s_max=last.write_bytes_per_s_max,
            writes_per_s_max=last.writes_per_s_max,
            busy_s=self._busy_s,
            host=last.host,
        )
