"""A worker, a deployment, a host and a store in memory: for the order of things only, never for what systems do.

The simulated worker lives on the real monotonic clock but its seconds are short (`SECOND_S`).
"""

from __future__ import annotations

import base64
import shutil
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hdrh.histogram import HdrHistogram
from pyroaring import BitMap64

from tidegauge.agent.api import ProcessSpec, ProcessStatus, ServersSeen
from tidegauge.attestation.data_files import Message
from tidegauge.campaign.run.resources import RunResources
from tidegauge.campaign.run.trial.result import Measuring, Observed, make_result
from tidegauge.errors import RunFailedError, StartFailedError, with_log
from tidegauge.fairness import Case, ClientFacts, Fact, Hazard, Property, neutral_facts
from tidegauge.hosts.fsync import Calm
from tidegauge.hosts.storage import free_space
from tidegauge.hosts.tracefs import NoTraceError
from tidegauge.model.attest import AttestOutcome
from tidegauge.model.events import Observer
from tidegauge.model.finding import Finding
from tidegauge.model.host import ClientKinds, FreeSpace, ProcessMemory
from tidegauge.model.level import LevelChoice, LevelFinding, SyncFinding
from tidegauge.model.load import (
    AckedMessage,
    SecondFigures,
    SubscriptionSecond,
    SubscriptionTotals,
    TotalFigures,
    WindowFigures,
    WorkerFacts,
)
from tidegauge.model.message import PartitionRead
from tidegauge.model.server import Distribution, Setting
from tidegauge.model.tilt import Tilt
from tidegauge.model.trial import LoadResult, LoadSpec, TrialResult, TrialSpec
from tidegauge.model.workload import Workload
from tidegauge.store.files import move_aside
from tidegauge.systems import registry
from tidegauge.systems.api import DeployRequest, TopicTerms
from tidegauge.worker.api import LeftResults, LoadOrder, OnProgress, Share, Trace, ignore_progress
from tidegauge.worker.sequences import Missing

SECOND_S = 0.02


def histogram(values_ms: Sequence[float], count_each: int = 1) -> bytes:
    recorded = HdrHistogram(1, 3600 * 10**9, 3)
    for value in values_ms:
        recorded.record_value(int(value * 1e6), count_each)
    return base64.b64decode(recorded.encode())


def window(from_ns: int, until_ns: int, rate: float, **changes: Any) -> WindowFigures:
    count = int(rate * (until_ns - from_ns) / 1e9)
    figures: dict[str, Any] = {
        "from_mono_ns": from_ns,
        "until_mono_ns": until_ns,
        "intended": count,
        "acked": count,
        "failed": 0,
        "acked_bytes": count * 1000,
        "acked_within": count,
        "response": histogram([4.0], 20_000),
        "service": histogram([3.0], 20_000),
        "delay": histogram([1.0], 20_000),
        "own_lag": histogram([0.01], 20_000),
        "own_lag_over_tolerance": 0,
        "blocked_ns": 0,
        "worker_cpu_ns": 10**9,
        "gc_pause_ns": 0,
        "cpu_wait_ns": 0,
    }
    return WindowFigures(**{**figures, **changes})


def subscription(**changes: Any) -> SubscriptionTotals:
    figures: dict[str, Any] = {
        "name": "sub-0",
        "received": 1000,
        "unique": 1000,
        "backlog": 0,
        "lost": 0,
        "duplicated": 0,
        "reordered": 0,
        "corrupt": 0,
        "corrupt_unattributed": 0,
        "foreign": 0,
        "negative_latency": 0,
        "end_to_end": histogram([5.0], 20_000),
        "window_received": 1000,
        "lost_examples": (),
    }
    return SubscriptionTotals(**{**figures, **changes})


def totals_of(figures: WindowFigures, *subscriptions: SubscriptionTotals) -> TotalFigures:
    return TotalFigures(
        sent=figures.acked,
        acked=figures.acked,
        failed=figures.failed,
        unresolved=0,
        window=figures,
        subscriptions=subscriptions or (subscription(),),
        errors=(),
        worker_cpu_ns=10**9,
        gc_pause_ns=0,
        resident_bytes=10**8,
    )


@dataclass
class Journal:
    """What happened, in order."""

    entries: list[str] = field(default_factory=list)

    def note(self, entry: str) -> None:
        self.entries.append(entry)

    def index(self, entry: str) -> int:
        return self.entries.index(entry)


@dataclass
class FakeWorker:
    journal: Journal
    rate: float = 1000.0
    dies_after_seconds: int | None = None
    dies_of: type[RunFailedError] = RunFailedError
    totals_script: list[TotalFigures] = field(default_factory=list)
    facts: Any = None
    processes: tuple[str, ...] = ("worker",)
    pids: tuple[int, ...] = ()
    left: Sequence[LeftResults] = ()
    present: list[Sequence[int]] = field(default_factory=list)
    """What a fresh reader finds, pass by pass; then nothing."""
    unread: str = ""
    """What keeps it from the end."""
    untraceable: str = ""
    """Why it can't begin."""
    gone: str = ""
    """How the servers say that they have the topic no more."""

    def __post_init__(self) -> None:
        self.window = (0, 0)
        self.window_set_at = 0
        self.order: LoadOrder | None = None
        self.finished = threading.Event()

    def probe(
        self,
        driver: str,
        connection: Mapping[str, str],
        timeout_s: float,
        topic: str = "",
        *,
        copies_of_cluster: bool = False,
    ) -> float:
        self.journal.note("probe")
        return 0.001

    def witness(self, order: LoadOrder, count: int, pause_s: float, timeout_s: float) -> tuple[AckedMessage, ...]:
        self.journal.note(f"witness {', '.join(order.topic_names)}")
        return tuple(AckedMessage(100 * index, 100 * index + 50) for index in range(count))

    def describe(self, driver: str, connection: Mapping[str, str], topics: list[str]) -> list[Setting]:
        return [Setting("topic", "flush.messages", "1")]

    def prepare(self, order: LoadOrder, on_progress: OnProgress = ignore_progress) -> list[Setting]:
        self.journal.note("prepare")
        self.finished = threading.Event()
        self.order = order
        return [Setting("producer", "acks", order.acks)]

    def start(self, in_s: float = 0.1) -> int:
        self.journal.note("load")
        return time.monotonic_ns()

    def set_rate(self, msgs_per_s: float, at_mono_ns: int = 0) -> None:
        raise AssertionError("not used by a trial")

    def set_window(self, from_mono_ns: int, until_mono_ns: int) -> None:
        self.journal.note("window")
        self.window_set_at = time.monotonic_ns()
        self.window = (from_mono_ns, until_mono_ns)

    def pause_consumers(self, subscriptions: list[str]) -> None:
        raise AssertionError("not used by a trial")

    resume_consumers = pause_consumers

    def watch(self, from_second: int = 0) -> Iterator[SecondFigures]:
        second = from_second
        while not self.finished.wait(SECOND_S):
            if self.dies_after_seconds is not None and second >= self.dies_after_seconds:
                raise self.dies_of("The worker was killed by signal 9.")
            yield self._second(second)
            second += 1

    def _second(self, second: int) -> SecondFigures:
        now = time.monotonic_ns()
        acked = int(self.rate * SECOND_S)
        return SecondFigures(
            second=second,
            from_mono_ns=now - round(SECOND_S * 1e9),
            until_mono_ns=now,
            scheduled_msgs_per_s=self.rate,
            sent=acked,
            acked=acked,
            failed=0,
            acked_bytes=acked * 1000,
            in_flight=1,
            blocked_ns=0,
            own_lag_ns_max=0,
            response=histogram([4.0]),
            service=histogram([3.0]),
            delay=b"",
            subscriptions=(SubscriptionSecond("sub-0", acked, acked * 1000, 0, 0, 0, 0, histogram([5.0])),),
            worker_cpu_ns=10**6,
            gc_pause_ns=0,
            heap_used_bytes=10**7,
        )

    def close_consumers(self, subscriptions: list[str]) -> None:
        self.journal.note(f"close consumers of {', '.join(subscriptions)}")

    def missing(self, subscriptions: Sequence[str]) -> Mapping[str, Missing]:
        lost = {sub.name: sub.lost for sub in self._figures().subscriptions}
        return {name: {0: BitMap64(range(lost[name]))} for name in subscriptions}

    def trace(self, order: LoadOrder, subscription: str, timeout_s: float, *, whole: bool) -> Trace:
        self.journal.note(f"trace {subscription} {'from the beginning' if whole else 'from its position'}")
        if self.untraceable:
            raise RunFailedError(self.untraceable)
        seen = self.present.pop(0) if self.present else ()
        return Trace({0: BitMap64(seen)}, (PartitionRead(0, 0, len(seen), not self.unread, self.unread or self.gone),))

    def stop_producers(self, grace_s: float) -> int:
        self.journal.note("stop producers")
        return 0

    def totals(self) -> TotalFigures:
        self.journal.note("totals")
        return self._figures()

    def counts(self) -> TotalFigures:
        self.journal.note("counts")
        return self._figures()

    def _figures(self) -> TotalFigures:
        if self.totals_script:
            return self.totals_script.pop(0) if len(self.totals_script) > 1 else self.totals_script[0]
        return totals_of(window(*self.window, self.rate))

    def left_results(self, trial_id: int, share: Share | None = None) -> list[LeftResults]:
        return list(self.left)

    def remove_left_results(self, trial_id: int, share: Share | None = None) -> None:
        self.journal.note("left results removed")
        self.left = ()

    def finish(self, delete_topics: bool) -> None:
        self.journal.note("finish")
        self.finished.set()

    def delete_topics(self, driver: str, connection: Mapping[str, str], topics: list[str]) -> None:
        self.journal.note(f"delete {len(topics)} topics")
        self.deleted = list(topics)

    def remove_subscriptions(
        self, driver: str, connection: Mapping[str, str], topics: list[str], trial_id: int
    ) -> None:
        self.journal.note(f"remove subscriptions of {', '.join(topics)}")

    def close(self) -> None:
        self.journal.note("worker closed")
        self.finished.set()


@dataclass
class FakeDeployment:
    journal: Journal
    dies_at: str = ""
    connection: Mapping[str, str] = field(default_factory=lambda: {"bootstrap.servers": "127.0.0.1:1"})
    processes: tuple[str, ...] = ("kafka-1",)
    storage_processes: tuple[str, ...] = ("kafka-1",)
    jvm_flags: tuple[str, ...] = ("-Xmx1g",)
    metrics_endpoints: tuple[Any, ...] = ()

    def check_alive(self) -> None:
        if self.dies_at and self.dies_at in self.journal.entries:
            raise StartFailedError("kafka-1 was killed by signal 9.")

    def last_words(self) -> str:
        return ""

    def read_back(self, describe: Any, topics: list[str]) -> list[Setting]:
        self.journal.note("read back")
        return list(describe(topics))

    def stop(self) -> None:
        self.journal.note("deployment stopped")


@dataclass
class FakeSystem:
    journal: Journal
    name: str = "kafka"
    title: str = "Apache Kafka"
    driver: str = "kafka"
    default_version: str = "4.3.1"
    finding: LevelFinding = field(default_factory=lambda: LevelFinding(3, ("fsync on each message",)))
    levels: tuple[LevelChoice, ...] = (LevelChoice(3), LevelChoice(4))
    dies_at: str = ""
    deploy_fails: bool = False
    tells_batch_size: int = 0
    metrics: tuple[Any, ...] = ()
    server_defaults: Mapping[str, str] = field(default_factory=dict)
    spaces_in_paths: bool = True
    has_servers: bool = True
    copies_setting: str = "replication.factor"

    def provision(self, version: str, report: Any) -> Distribution:
        self.journal.note(f"provision {self.name} {version}")
        return Distribution(self.name, version, Path("/nowhere"), None, "", "0" * 64, "test")

    def possible_levels(self, version: str, nodes: int) -> list[LevelChoice]:
        return list(self.levels)

    def topic_settings(self, choice: LevelChoice) -> Mapping[str, str]:
        return {"flush.messages": "1"}

    def topic_terms(self, case: Case, cluster: Sequence[Setting] | None = None) -> TopicTerms:
        return TopicTerms({**self.topic_settings(case.choice), **case.topic}, case.copies or min(3, case.nodes))

    def message_limit(self, case: Case) -> None:
        """Any size."""

    def client_acks(self, choice: LevelChoice, nodes: int) -> str:
        return "all"

    def deploy(self, request: DeployRequest, host: Any) -> FakeDeployment:
        self.journal.note("deploy")
        assert request.data_directory.is_dir()
        assert not list(request.data_directory.iterdir())
        (request.data_directory / "segment").write_text("data")
        if self.deploy_fails:
            raise StartFailedError("kafka-1 can't be started: port taken.")
        return FakeDeployment(self.journal, self.dies_at)

    attach_rules: Any = None

    def attach(self, request: Any) -> Any:
        self.journal.note("attach")
        return registry.system_named(self.name).attach(request)

    def shape_problem(self, shape: Mapping[str, str], nodes: int) -> str:
        return "double has no options of layout" if shape else ""

    def processes(
        self, version: str, nodes: int, heap_mb: int, direct_memory_mb: int, shape: Mapping[str, str]
    ) -> tuple[ProcessMemory, ...]:
        return ()

    def incomplete(self, settings: list[Setting], nodes: int) -> str:
        return ""

    def client_facts(self, case: Case) -> ClientFacts:
        facts = neutral_facts(case.workload)
        acks = case.client("producer", "acks")
        if self.tells_batch_size and acks is not None:
            facts[Property.BATCH_SIZE] = Fact(self.tells_batch_size, f"batch.size={self.tells_batch_size}")
        return ClientFacts(facts, frozenset())

    def hazards(self, case: Case) -> list[Hazard]:
        return []

    def clients(self, workload: Workload, choice: LevelChoice, nodes: int) -> ClientKinds:
        return ClientKinds()

    def derive_level(self, settings: list[Setting], choice: LevelChoice, nodes: int) -> LevelFinding:
        return self.finding


class FakeResources(RunResources):
    """What trials are made with, of functions."""

    def __init__(
        self,
        host: Any,
        start_worker: Callable[..., Any],
        drop_page_cache: Callable[..., str],
        observer: Observer,
        control_cpu_s: Callable[[], float] = time.process_time,
        *,
        abort_on: Sequence[str] = (),
    ) -> None:
        super().__init__(host=host, observer=observer, abort_on=abort_on)
        self._start, self._drop, self._control_cpu_s = start_worker, drop_page_cache, control_cpu_s

    def start_worker(self, driver: str, logs: Path, spec: TrialSpec) -> Any:
        return self._start(self.host, driver, logs, spec)

    def drop_page_caches(self, written: Sequence[Path]) -> str:
        return self._drop(written)

    def drop_page_cache(self, written: Sequence[Path]) -> str:
        """Nothing is said of it."""
        return self.drop_page_caches(written)

    def control_cpu_s(self) -> float:
        return self._control_cpu_s()

    def provision(self, distribution: Distribution) -> None:
        pass

    def end_provisioning(self) -> None:
        pass

    def attestations_of(self, system: str, choice: LevelChoice, settings_digest: str) -> tuple[()]:
        return ()


@dataclass
class FakeHost:
    journal: Journal
    name: str = "local"
    cpu_s: float = 0.0
    agent_s: float = 0.0

    def start(self, spec: ProcessSpec) -> ProcessStatus:
        raise AssertionError("not used")

    def status(self, name: str) -> ProcessStatus:
        self.cpu_s += 1.5
        return ProcessStatus(name, 1, True, None, self.cpu_s, 0)

    def stop(self, name: str) -> ProcessStatus:
        raise AssertionError("not used")

    def signal(self, name: str, signal_number: int) -> None:
        raise AssertionError("not used")

    def free_ports(self, count: int) -> list[int]:
        return []

    def release_ports(self, ports: Sequence[int]) -> None:
        pass

    def track_directory(self, path: Path) -> None:
        self.journal.note("tracked")

    def remove_directory(self, path: Path) -> None:
        shutil.rmtree(path, ignore_errors=True)

    def write(self, path: Path, text: str, mode: int | None = None) -> Path:
        raise AssertionError("not used")

    def make_directories(self, *paths: Path, mode: int | None = None) -> None:
        raise AssertionError("not used")

    def read_end(self, path: Path, bytes_max: int) -> str:
        raise AssertionError("not used")

    def write_back(self, directories: Sequence[Path]) -> str:
        raise AssertionError("not used")

    def free_space(self, places: Sequence[Path]) -> list[FreeSpace]:
        return free_space(places)

    def calm_disk(self, directory: Path) -> Calm:
        raise RunFailedError("not measured")

    def find_copies(self, directories: Sequence[Path], trial_id: int, wanted: Collection[Message]) -> Any:
        raise AssertionError("not used")

    def list_data_files(self, directories: Sequence[Path]) -> Sequence[str]:
        raise AssertionError("not used")

    def watch_syncs(self, processes: Sequence[str]) -> Any:
        raise NoTraceError("nobody was asked to")

    def agent_cpu_s(self) -> float:
        self.agent_s += 0.25
        return self.agent_s

    def follow_servers(self, clients: Sequence[str]) -> ServersSeen:
        return ServersSeen.ALL

    def samples(self, after: int) -> list[Any]:
        return []


@dataclass
class FakeTrialStore:
    directory: Path
    journal: Journal
    seconds: int = 0
    result: TrialResult | None = None
    failure: tuple[str, bool] | None = None
    settings_refused: bool = False
    page_cache_dropped: tuple[bool, str] | None = None
    phases: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.log_directory = self.directory / "logs"
        self.data_directory = self.directory / "data"
        self.disks: tuple[Path, ...] = ()
        self.journal_disks: tuple[Path, ...] = ()
        self.log_directory.mkdir(parents=True)
        self.make_data_directories()

    def choose_disks(self, disks: Sequence[Path], journal_disks: Sequence[Path]) -> None:
        self.disks, self.journal_disks = tuple(disks), tuple(journal_disks)

    def make_data_directories(self) -> None:
        for place in (self.data_directory, *self.disks, *self.journal_disks):
            place.mkdir(exist_ok=True)

    def append_second(self, figures: SecondFigures, phase: str = "") -> None:
        self.seconds += 1
        self.phases.append(phase)

    def write_settings(
        self,
        server: Sequence[Setting],
        client: Sequence[Setting],
        jvm_flags: Sequence[str],
        worker: WorkerFacts | None = None,
    ) -> None:
        self.journal.note("settings stored")

    def write_witness(self, finding: SyncFinding, evidence: Mapping[str, object]) -> None:
        self.witnessed = (finding, evidence)

    def make_evidence_directory(self, name: str) -> Path:
        directory = self.directory / "evidence" / name
        if directory.exists():
            move_aside(directory, self.directory / "earlier-evidence")
        directory.mkdir(parents=True)
        return directory

    def write_cycles(self, outcome: AttestOutcome) -> None:
        self.cycles_stored = outcome

    def write_measuring(self, record: object) -> None:
        self.measuring_stored = record

    def write_distribution(self, distribution: Distribution) -> None:
        pass

    def write_page_cache(self, dropped: bool, reason: str) -> None:
        self.page_cache_dropped = (dropped, reason)

    def finish(self, result: TrialResult, totals: TotalFigures) -> None:
        self.journal.note("result stored")
        self.result = result

    def fail(
        self, cause: str, interrupted: bool, log_path: Path | None = None, *, settings_refused: bool = False
    ) -> None:
        self.failure = (with_log(cause, log_path), interrupted)
        self.settings_refused = settings_refused


@dataclass
class FakeRunStore:
    path: Path
    journal: Journal
    trials: dict[str, FakeTrialStore] = field(default_factory=dict)
    planned: tuple[TrialSpec, ...] = ()
    findings: list[Finding] = field(default_factory=list)
    ended: tuple[str, str] | None = None
    reason_trials: tuple[str, ...] = ()
    tilts: tuple[Tilt, ...] = ()
    aside: list[FakeTrialStore] = field(default_factory=list)

    def write_plan(self, trials: Sequence[TrialSpec]) -> None:
        self.planned = tuple(trials)

    def write_environment(self, facts: Mapping[str, object]) -> None:
        pass

    def add_note(self, text: str, left_out: str = "") -> None:
        pass

    def write_tilts(self, tilts: Sequence[Tilt]) -> None:
        self.tilts = tuple(tilts)

    def open_trial(self, spec: TrialSpec) -> FakeTrialStore:
        self.trials[spec.trial_id] = FakeTrialStore(self.path / spec.trial_id, self.journal)
        return self.trials[spec.trial_id]

    def reopen_trial(self, spec: TrialSpec) -> FakeTrialStore:
        return self.open_trial(spec)

    def set_trial_aside(self, trial_id: str) -> str:
        self.aside.append(self.trials.pop(trial_id))
        (self.path / trial_id).rename(self.path / f"earlier-{len(self.aside)}")
        return f"earlier-{len(self.aside)}"

    def write_finding(self, finding: Finding) -> None:
        self.findings.append(finding)

    def finish(self, status: str, reason: str = "", reason_trials: Sequence[str] = ()) -> None:
        self.ended = (status, reason)
        self.reason_trials = tuple(reason_trials)


@dataclass
class FakeLab:
    """Measures with a function, and keeps everything."""

    measures: Callable[[LoadSpec], LoadResult]
    results: list[LoadResult] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    decisions: list[tuple[str, int]] = field(default_factory=list)

    def run_trial(self, spec: LoadSpec) -> LoadResult:
        self.results.append(self.measures(spec))
        return self.results[-1]

    def announce_decision(self, text: str, left: Sequence[TrialSpec] = ()) -> None:
        self.decisions.append((text, len(left)))

    def record_finding(self, finding: Finding) -> None:
        self.findings.append(finding)


def spec_of(experiment: str, system: str, **changes: Any) -> LoadSpec:
    spec = LoadSpec(
        trial_id=f"0001-{experiment}-{system.partition('@')[0]}",
        experiment=experiment,
        system=system,
        choice=LevelChoice(3),
        nodes=1,
        block=0,
        seed=7,
        workload=Workload(),
        msgs_per_s=None,
        warmup_s_min=0.2,
        warmup_s_max=0.6,
        measure_s=0.2,
        drain_s_max=2.0,
    )
    return replace(spec, **changes)


def result_of(spec: LoadSpec, **changes: Any) -> LoadResult:
    """A clean result of a trial."""
    level, ns = LevelFinding(3, ()), 10**9
    known = Measuring(1, ("worker",), "2026-01-01T00:00:00", 0, ns, 2 * ns, "", "", level, None)
    observed = Observed(known, (), "drained", 1.0)
    return replace(make_result(spec, totals_of(window(0, ns, 1000.0)), observed), **changes)
