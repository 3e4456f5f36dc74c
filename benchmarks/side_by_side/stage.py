"""What every contender is measured on: an agent, one Kafka node started as the product does, and eyes on both."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from side_by_side.rows import Row
from tidegauge.agent.local import LocalHost
from tidegauge.campaign.model import SystemChoice
from tidegauge.distribution.coordinates import Coordinate
from tidegauge.distribution.resolve import provision
from tidegauge.errors import DiskFullError, RunFailedError, StartFailedError
from tidegauge.hosts.fsync import await_calm, fsync_latency, usual_latency
from tidegauge.hosts.procfs import MARKER
from tidegauge.hosts.space import check_during
from tidegauge.hosts.storage import free_space
from tidegauge.model.disk_needs import FREE_BYTES_BEFORE
from tidegauge.model.level import LevelChoice
from tidegauge.model.server import Distribution, Setting
from tidegauge.model.use import ProcessUse, Sample
from tidegauge.numbers import size
from tidegauge.systems import registry
from tidegauge.systems.api import Deployment, DeployRequest
from tidegauge.systems.kafka import GROUP, recipe
from tidegauge.worker.api import LoadOrder
from tidegauge.worker.client import GrpcWorker
from tidegauge.worker.launch import start_worker

LEVEL = LevelChoice(4)
READY_S_MAX = 120.0
PROBE_S = 10.0
CALM_S_MAX = 5.0
TICK_S = 0.5
_MB = 1e6
Report = Callable[[str], None]
SERVER_SETTINGS = {
    # What one contender wrote is gone before the next one begins.
    "log.segment.delete.delay.ms": "500"
}


@dataclass(frozen=True)
class Timing:
    """Seconds of warm-up and of the measured window, the same for all."""

    warmup_s: float
    measure_s: float


@dataclass(frozen=True)
class Product:
    """How the product starts its worker for a row, and what it gives to clients."""

    java: Path
    jvm_flags: tuple[str, ...]
    environment: Mapping[str, str]
    settings: tuple[Setting, ...]


@dataclass
class Stage:
    """See `open_stage`. `peaks` holds the highest RSS of each client process by its name, bytes.

    `omb` is where OpenMessaging Benchmark was unpacked.
    """

    host: LocalHost
    logs: Path
    data: Path
    tools: Distribution | None
    deployment: Deployment | None
    usual_ms: float
    samples: list[Sample] = field(default_factory=list)
    products: dict[str, Product] = field(default_factory=dict)
    rates: dict[str, float] = field(default_factory=dict)
    peaks: dict[str, int] = field(default_factory=dict)
    topics: int = 0
    omb: Path | None = None

    @property
    def bootstrap(self) -> str:
        """Where Kafka listens."""
        assert self.deployment is not None
        return self.deployment.connection["bootstrap.servers"]

    def new_topic(self) -> str:
        """A name that was never used."""
        self.topics += 1
        return f"generator-{self.topics}"

    def look(self, processes: Mapping[str, int]) -> None:
        """See what is used and that everything lives; `processes` are the clients' by name. Raises `RunFailedError`."""
        self.samples += self.host.samples(self.samples[-1].number if self.samples else 0)
        for name, pid in processes.items():
            self.peaks[name] = peak_resident_bytes(pid) or self.peaks.get(name, 0)
        if self.deployment is not None:
            self.deployment.check_alive()
            check_during(free_space([self.data]))

    def wait_until(self, mono_ns: int, processes: Mapping[str, int]) -> None:
        """Look until an instant."""
        while (left_s := (mono_ns - time.monotonic_ns()) / 1e9) > 0:
            time.sleep(min(left_s, TICK_S))
            self.look(processes)

    def await_end(self, name: str, pid: int, seconds_max: float) -> None:
        """Until a process has ended by itself with exit code 0. Raises `RunFailedError` with the end of its log."""
        deadline_s = time.monotonic() + seconds_max
        while (status := self.host.status(name)).running:
            if time.monotonic() > deadline_s:
                raise RunFailedError(f"{name} did not end within {seconds_max:.0f} s{self.last_words(name)}.")
            time.sleep(TICK_S / 5)
            self.look({name: pid})
        if status.exit_code != 0:
            raise RunFailedError(f"{name} ended with exit code {status.exit_code}{self.last_words(name)}.")

    def log_of(self, name: str) -> str:
        """What a client process has printed."""
        path = self.logs / f"{name}.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def last_words(self, name: str) -> str:
        """The last line of its log, to follow other words."""
        lines = self.log_of(name).strip().splitlines()
        return f": {lines[-1][:200]}" if lines else ""

    def calm(self, row: Row, timing: Timing) -> None:
        """Wait for a disk that is still busy with what the contender before left, as the product does.

        Raises `DiskFullError` if it has no room for what is known to come.
        """
        if row.system != "kafka":
            return
        await_calm(self.usual_ms, CALM_S_MAX, lambda: fsync_latency(self.data))
        rate = row.msgs_per_s or self.rates.get(row.name, 0.0)
        needed = FREE_BYTES_BEFORE + round(rate * row.message_bytes * (timing.warmup_s + timing.measure_s))
        free = shutil.disk_usage(self.data).free
        if free < needed:
            raise DiskFullError(
                f"The disk of {self.data} has {size(free)} free, and {row.name} may need {size(needed)}.",
                "Free some room, name another disk with --directory, or fewer --seconds.",
            )

    def use(self, from_ns: int, until_ns: int, clients: Sequence[str]) -> dict[str, float]:
        """What machine, server and clients used in a window, as figures of tables."""
        self.look({})
        server = self.deployment.processes if self.deployment is not None else ()
        found = use_between(self.samples, from_ns, until_ns, server, clients)
        rss_mb = sum(self.peaks.get(name, 0) for name in clients) / _MB
        return {**found, **({"rss_peak_mb": rss_mb} if rss_mb else {})}


def use_between(
    samples: Sequence[Sample], from_ns: int, until_ns: int, server: Sequence[str], clients: Sequence[str]
) -> dict[str, float]:
    """From the looks whose middle lies in the window. CPU is a share of what our processes may use. Pure."""
    inside = [sample for sample in samples if from_ns <= (sample.from_mono_ns + sample.until_mono_ns) / 2 <= until_ns]
    seconds = sum(one.length_s for one in inside)
    if not seconds:
        return {}
    ours = [process for one in inside for process in one.processes if process.name in (*server, *clients)]
    host_cpus = sum(one.host.cpu_s for one in inside) / seconds
    server_cpus = sum(one.cpu_s for one in ours if one.name in server) / seconds
    own_cpus = sum(one.cpu_s for one in ours) / seconds
    found = {
        "host_cpu_percent": 100 * max(host_cpus / inside[0].host.cpus, own_cpus / cpus_allowed(ours)),
        "other_cpus": max(0.0, host_cpus - own_cpus),
    }
    if server:
        found["server_cpus"] = server_cpus
    pauses_s = [one.gc_pause_s for one in ours if one.name in clients and one.gc_pause_s is not None]
    if pauses_s:
        found["gc_percent"] = 100 * sum(pauses_s) / seconds
    return found


def cpus_allowed(processes: Sequence[ProcessUse]) -> float:
    """CPUs that our processes may use: fewer than the host has where a cgroup or an affinity limits them."""
    return min((process.cpus_allowed or available_cpus() for process in processes), default=float(available_cpus()))


def available_cpus() -> int:
    """CPUs that this process may use."""
    return len(os.sched_getaffinity(0))


def peak_resident_bytes(pid: int) -> int:
    """VmHWM; 0 once the process is gone."""
    try:
        found = re.search(r"^VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    except OSError:
        return 0
    return int(found.group(1)) * 1024 if found else 0


def order_for(stage: Stage, row: Row, topic: str) -> LoadOrder:
    """What Tidegauge's worker is given for a row."""
    kafka = row.system == "kafka"
    system = registry.system_named("kafka")
    return LoadOrder(
        connection=stage.deployment.connection if kafka and stage.deployment else {},
        driver=row.system,
        system=row.system,
        topic_names=(topic,),
        replication_factor=1,
        topic_settings=system.topic_settings(LEVEL) if kafka else {},
        acks=system.client_acks(LEVEL, 1),
        workload=row.workload,
        msgs_per_s=float(row.msgs_per_s),
        trial_number=time.time_ns(),
        seed=1,
        own_lag_tolerance_ms=1.0,
    )


def product_of(worker: GrpcWorker, settings: Sequence[Setting]) -> Product:
    """How this worker was started: read from the running process, so that it is what the product really does."""
    process = Path(f"/proc/{worker.facts.pid}")
    argv = process.joinpath("cmdline").read_text().split("\0")
    pairs = (one.split("=", 1) for one in process.joinpath("environ").read_text().split("\0") if "=" in one)
    # Its temporary directory goes with it.
    flags = [flag for flag in argv[1 : argv.index("-cp")] if not flag.startswith("-Djava.io.tmpdir=")]
    environment = {name: value for name, value in pairs if name != MARKER}
    return Product(Path(argv[0]), tuple(flags), environment, tuple(settings))


def ensure_product(stage: Stage, row: Row) -> Product:
    """How the product starts its worker for a row; looked up with a short start where it has not run yet."""
    if row.name not in stage.products:
        system = "kafka" if row.system == "kafka" else "null"
        worker = start_worker(stage.host, system, stage.logs)
        try:
            settings: list[Setting] = []
            if system == "kafka":
                settings = worker.prepare(order_for(stage, row, stage.new_topic()))
                worker.finish(True)
            stage.products[row.name] = product_of(worker, settings)
        finally:
            worker.close()
    return stage.products[row.name]


@contextlib.contextmanager
def open_stage(directory: Path, kafka: bool, version: str, report: Report) -> Iterator[Stage]:
    """Start an agent and, if a row needs it, a Kafka node with the product's defaults; all of it ends with the block.

    `directory` is removed even if this process is killed.
    """
    logs, data = directory / "logs", directory / "data"
    with LocalHost.open() as host:
        host.track_directory(directory)
        for place in (logs, data):
            place.mkdir()
        if not kafka:
            yield Stage(host, logs, data, None, None, 0.0)
            return
        system = registry.system_named("kafka")
        wanted = recipe(version or system.default_version)
        server = system.provision(wanted.version, report)
        root = Coordinate(GROUP, "kafka-tools", wanted.version)
        tools = provision(replace(wanted, system="kafka-tools", root=root), report)
        report(f"Starting Kafka {server.version} ...")
        usual_ms = usual_latency(data)
        choice = SystemChoice("kafka")
        memory = (choice.heap_mb, choice.direct_memory_mb)
        deployment = system.deploy(DeployRequest(server, 1, LEVEL, data, logs, *memory, SERVER_SETTINGS), host)
        try:
            _await_ready(host, deployment, logs)
            yield Stage(host, logs, data, tools, deployment, usual_ms)
        finally:
            deployment.stop()


def _await_ready(host: LocalHost, deployment: Deployment, logs: Path) -> None:
    """Until a message goes there and back."""
    worker = start_worker(host, "kafka", logs, name="probe")
    try:
        deadline_s = time.monotonic() + READY_S_MAX
        while True:
            deployment.check_alive()
            try:
                worker.probe("kafka", deployment.connection, PROBE_S)
                return
            except RunFailedError as error:
                if time.monotonic() > deadline_s:
                    raise StartFailedError(
                        f"Kafka was not ready within {READY_S_MAX:.0f} s: {error.message}"
                    ) from error
                time.sleep(TICK_S)
    finally:
        worker.close()
