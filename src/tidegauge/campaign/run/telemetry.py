"""Follows what servers, worker and host use during a trial: stored second by second, summed up over the window.

A thread of its own asks the host's agent once a second, another one asks servers for their own figures once in
`METRICS_EVERY_S`. Neither ever ends a trial: what is not available is reported once, and missing.

What servers of others and their hosts used is known by their own endpoints alone: the mean of the last seconds between
two answers counts for each second until the next answer.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from tidegauge.agent.api import Host, ServersSeen
from tidegauge.errors import RunFailedError
from tidegauge.limiting.window_use import Tally, WindowUse
from tidegauge.model.events import Note, Observer, UseNow
from tidegauge.model.use import Sample
from tidegauge.store.telemetry import MetricRow
from tidegauge.store.trial import TrialStore
from tidegauge.systems.api import Deployment
from tidegauge.systems.exported import Exported, ExportedUse, exported_use, read_exported
from tidegauge.systems.metrics import Endpoint, Metric, Reported, fetch_text, figures_of_span, read_text

METRICS_EVERY_S = 5.0
_LOOK_S = 1.0
_END_S_MAX = 10.0
_EDGE_NS = 500_000_000
"""A look belongs to the window if most of its second does."""


@dataclass
class _Window:
    """The span that is summed up; `until_ns` 0 = open."""

    from_ns: int = 0
    until_ns: int = 0
    tally: Tally = field(default_factory=Tally)

    def holds(self, from_ns: int, until_ns: int) -> bool:
        """Whether a span lies in it."""
        if not self.from_ns or from_ns < self.from_ns - _EDGE_NS:
            return False
        return not self.until_ns or until_ns <= self.until_ns + _EDGE_NS


@dataclass
class UseRecorder:
    """One trial's recording.

    Attributes:
        metrics: the figures that servers report of themselves.
        devices: numbers of those that matter ("254:0"), reported even when they are idle.
        latest: the newest look, for whoever shows it.
    """

    host: Host
    store: TrialStore
    observer: Observer
    deployment: Deployment
    metrics: Sequence[Metric]
    devices: frozenset[str]
    workers: Sequence[str] = ("worker",)
    """Names of the load generators' processes; all others are servers."""
    servers_seen: ServersSeen = ServersSeen.ALL
    """Of a cluster that others run."""
    latest: UseNow | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _window: _Window = field(default_factory=_Window)
    _ended: threading.Event = field(default_factory=threading.Event)
    _problems: set[str] = field(default_factory=set)
    _exported: dict[str, ExportedUse] = field(default_factory=dict)
    """By URL the newest that an endpoint of others' servers and hosts reported."""

    def __post_init__(self) -> None:
        """Begin to record."""
        loops: list[Callable[[], None]] = [self._follow_host]
        if self.deployment.metrics_endpoints and (self.metrics or self._reads_exported):
            loops.append(self._follow_servers)
        self._threads = [threading.Thread(target=loop, name="telemetry", daemon=True) for loop in loops]
        for thread in self._threads:
            thread.start()

    @property
    def _reads_exported(self) -> bool:
        """Whether what servers used is known by their endpoints only."""
        return not self.deployment.processes

    def set_window(self, from_ns: int, until_ns: int) -> None:
        """Sum up from an instant until another one (0 = open). Another beginning forgets what was summed up before."""
        with self._lock:
            if self._window.from_ns != from_ns:
                self._window = _Window(from_ns)
            self._window.until_ns = until_ns

    def window_use(self) -> WindowUse | None:
        """What was used in the window; None if nothing of it was seen."""
        with self._lock:
            return self._window.tally.result()

    def close(self) -> None:
        """End the recording and say what of it was missing. Never raises; twice is fine."""
        self._ended.set()
        for thread in self._threads:
            thread.join(_END_S_MAX)
        for problem in sorted(self._problems):
            self.observer(Note(problem))
        self._problems.clear()

    # The host's agent

    def _follow_host(self) -> None:
        seen = -1
        try:
            while True:
                ended = self._ended.is_set()
                # The first call begins the looking; what was kept from before this trial is no part of it.
                samples = self.host.samples(max(0, seen))
                for sample in samples if seen >= 0 else ():
                    self._take_sample(sample)
                seen = max([max(0, seen), *(sample.number for sample in samples)])
                if ended:
                    return
                self._ended.wait(_LOOK_S)
        except RunFailedError as error:
            # If it is the agent that is gone, or the disk that is full, the trial itself meets it too.
            self._problems.add(f"What is used is no longer recorded: {error.message}")

    def _take_sample(self, sample: Sample) -> None:
        devices = [
            device for device in sample.devices if device.number in self.devices or device.reads or device.writes
        ]
        sample = self._with_exported(replace(sample, devices=tuple(devices)))
        self.store.telemetry.append_sample(sample)
        with self._lock:
            if self._window.holds(sample.from_mono_ns, sample.until_mono_ns):
                self._window.tally.add(sample)
        self.latest = self._use_now(sample)

    def _with_exported(self, sample: Sample) -> Sample:
        """The look with what others' servers and hosts reported last."""
        parts = [use.part_of(sample.length_s) for use in list(self._exported.values())]
        # A server may have two endpoints; where servers can be seen, what is seen of them counts.
        sees_servers = any(process.name not in self.workers for process in sample.processes)
        processes = {process.name: process for part in parts for process in part.processes}
        return replace(
            sample,
            processes=(*sample.processes, *(() if sees_servers else processes.values())),
            devices=(*sample.devices, *(device for part in parts for device in part.devices)),
            others=(*sample.others, *(host for part in parts for host in part.hosts)),
        )

    def _use_now(self, sample: Sample) -> UseNow:
        """What a sample says is being used now, as a few rates."""
        seconds, host = sample.length_s, sample.host
        # Coarse: the kernel's clock ticks are.
        busiest = max(
            host.cpu_s / host.cpus / seconds,
            *(other.use.cpu_s / other.use.cpus / other.seconds for other in sample.others),
            0.0,
        )
        servers = [process for process in sample.processes if process.name not in self.workers]
        worker = [process for process in sample.processes if process.name in self.workers]
        devices = [device for device in sample.devices if not self.devices or device.number in self.devices]
        return UseNow(
            host_cpu_share=min(1.0, busiest),
            server_cpus=sum(server.cpu_s for server in servers) / seconds,
            worker_cpus=sum(process.cpu_s for process in worker) / seconds,
            server_resident_bytes=sum(server.resident_bytes for server in servers),
            disk_written_bytes_per_s=sum(device.written_bytes for device in devices) / seconds,
            disk_read_bytes_per_s=sum(device.read_bytes for device in devices) / seconds,
            disk_busy_share=min(1.0, max((device.busy_s for device in devices), default=0.0) / seconds),
            loopback_bytes_per_s=host.loopback_bytes / seconds,
            gc_pause_s=sum(server.gc_pause_s or 0.0 for server in servers),
        )

    # Servers' own figures

    def _follow_servers(self) -> None:
        last: dict[str, tuple[int, Reported, Exported]] = {}
        asked = list(self.deployment.metrics_endpoints)
        while True:
            for endpoint in list(asked):
                try:
                    self._ask_server(endpoint, last)
                except (OSError, ValueError) as error:
                    self._exported.pop(endpoint.url, None)  # What is not reported any more is not known.
                    if isinstance(error, OSError):
                        words = f"{endpoint.process} could not always be asked for its own figures: {error}."
                    else:
                        asked.remove(endpoint)
                        words = f"{endpoint.process} is not asked for its own figures any more: {error}."
                    self._problems.add(words)
                except RunFailedError as error:
                    self._problems.add(f"Servers' own figures are no longer recorded: {error.message}")
                    return
            if self._ended.wait(METRICS_EVERY_S):
                return

    def _ask_server(self, endpoint: Endpoint, last: dict[str, tuple[int, Reported, Exported]]) -> None:
        text = fetch_text(endpoint.url)
        now_ns = time.monotonic_ns()
        now = read_text(text, self.metrics)
        exported = read_exported(text) if self._reads_exported else Exported()
        if self._reads_exported and not (now or exported.server or exported.host):
            raise ValueError("it reports nothing that is known of a server, and is no node exporter")
        before = last.get(endpoint.url)
        last[endpoint.url] = (now_ns, now, exported)
        if before is None:
            return
        before_ns, reported_before, exported_before = before
        seconds = max(1e-3, (now_ns - before_ns) / 1e9)
        use = exported_use(endpoint.url, exported_before, exported, seconds) if self._reads_exported else None
        if use is not None:
            self._exported[endpoint.url] = use
        value_by_metric = figures_of_span(reported_before, now, seconds, self.metrics)
        rows = [MetricRow(before_ns, now_ns, endpoint.process, name, value) for name, value in value_by_metric.items()]
        self.store.telemetry.append_metrics(rows)
        with self._lock:
            # A span of some seconds belongs to the window in which its middle lies.
            middle_ns = (before_ns + now_ns) // 2
            if self._window.holds(middle_ns, middle_ns):
                for row in rows:
                    self._window.tally.metric(row.process, row.metric, row.value)
