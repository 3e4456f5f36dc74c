"""What processes, devices and the host used over a window, summed up look by look in bounded memory. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tidegauge.model.use import DeviceUse, HostUse, ProcessUse, Sample

BUSY = 0.95
"""Share of a look from which on a device counts as busy for the whole of it."""
THREADS_MAX = 64
"""Threads of a process that are followed over the window; beyond it, those that used least are forgotten."""

THREADS_SHOWN = 8


@dataclass(frozen=True)
class ThreadShare:
    """A thread over the window: the share of it that it ran."""

    name: str
    cpu_share: float


@dataclass(frozen=True)
class ProcessShare:
    """A process over the window.

    Attributes:
        cpus: used on average.
        cpus_allowed: that it might use, by affinity and quota.
        throttled_share: seconds a second that a quota held it back, summed over CPUs; None without a quota.
        threads: the few that used most CPU, the busiest first; () if threads were not seen.
        memory_left_bytes_min: below the limit `memory_limit_bytes`; None without one.
        host: of a fleet's, on which it ran; "" = the one that ran the trial.
    """

    name: str
    cpus: float
    cpus_allowed: float
    throttled_share: float | None
    memory_limit_bytes: int | None
    memory_left_bytes_min: int | None
    threads: tuple[ThreadShare, ...] = ()
    host: str = ""


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
    """The host over the window. Stalls are shares of the time; None where the kernel doesn't report them."""

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

    def on(self, host: str) -> HostShare:
        """The host on which a process or device was; "" = the one that ran the trial."""
        return self.others.get(host, self.host)

    def process(self, name: str) -> ProcessShare | None:
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
        self._metrics: dict[tuple[str, str], tuple[float, int]] = {}

    def add(self, sample: Sample) -> None:
        """One more look."""
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

    def metric(self, process: str, name: str, value: float) -> None:
        """One more figure of a server's own."""
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
        )


class _Sums(dict[str, float]):
    """Sums by name. What is None is never added; `rate` is None for what never was."""

    def take(self, found: object, *names: str) -> None:
        for name in names:
            value = getattr(found, name)
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
        self._last = first

    def add(self, use: HostUse, seconds: float) -> None:
        self._seconds += seconds
        self._last = use
        amounts = ("cpu_s", "loopback_bytes", "network_received_bytes", "network_sent_bytes")
        stalls = ("cpu_stall_s", "memory_stall_s", "io_stall_s")
        self._sums.take(use, *amounts, *stalls, "tcp_segments", "tcp_retransmits")

    def share(self) -> HostShare:
        sums, seconds, cpus = self._sums, self._seconds, self._last.cpus
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
        )


class _Process:
    def __init__(self, first: ProcessUse) -> None:
        self._sums = _Sums()
        self._seconds = 0.0
        self._last = first
        self._left_bytes_min: int | None = None
        self._threads: dict[tuple[int, str], float] = {}

    def add(self, use: ProcessUse, seconds: float) -> None:
        self._seconds += seconds
        self._last = use
        self._sums.take(use, "cpu_s", "cpu_throttled_s")
        self._left_bytes_min = _least(self._left_bytes_min, use.memory_left_bytes)
        for thread in use.busiest:
            known_s = self._threads.get((thread.thread, thread.name), 0.0)
            self._threads[thread.thread, thread.name] = known_s + thread.cpu_s
        if len(self._threads) > THREADS_MAX:
            kept = sorted(self._threads.items(), key=lambda thread: -thread[1])[: THREADS_MAX // 2]
            self._threads = dict(kept)

    def share(self) -> ProcessShare:
        sums, seconds = self._sums, self._seconds
        return ProcessShare(
            name=self._last.name,
            cpus=sums.per_s("cpu_s", seconds),
            cpus_allowed=self._last.cpus_allowed,
            throttled_share=sums.rate("cpu_throttled_s", seconds),
            memory_limit_bytes=self._last.memory_limit_bytes,
            memory_left_bytes_min=self._left_bytes_min,
            threads=self._busiest(),
            host=self._last.host,
        )

    def _busiest(self) -> tuple[ThreadShare, ...]:
        """In a second in which one was not among the busiest it counts as idle: a share is never too large."""
        found = sorted(self._threads.items(), key=lambda thread: -thread[1])[:THREADS_SHOWN]
        return tuple(ThreadShare(name, cpu_s / self._seconds) for (_, name), cpu_s in found)


def _least(one: int | None, other: int | None) -> int | None:
    return min((number for number in (one, other) if number is not None), default=None)


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
