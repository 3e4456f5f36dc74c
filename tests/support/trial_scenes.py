"""A trial on doubles: what a simulated test changes of it, and what it showed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from campaign_doubles import FakeHost, FakeResources, FakeSystem, FakeTrialStore, FakeWorker, Journal

from tidegauge.campaign.model import SystemChoice
from tidegauge.campaign.run.running_trial import Subject
from tidegauge.campaign.run.trial.run import run_trial
from tidegauge.model.events import Event
from tidegauge.model.level import LevelChoice
from tidegauge.model.trial import LoadResult, LoadSpec
from tidegauge.model.workload import Workload

SPEC = LoadSpec(
    trial_id="0001-latency-kafka",
    experiment="latency",
    system="kafka@4.3.1",
    choice=LevelChoice(3),
    nodes=1,
    block=0,
    seed=7,
    workload=Workload(),
    msgs_per_s=1000.0,
    warmup_s_min=0.2,
    warmup_s_max=0.6,
    measure_s=0.2,
    drain_s_max=2.0,
)


@dataclass
class Scene:
    """One trial with everything simulated."""

    path: Path
    journal: Journal = field(default_factory=Journal)
    events: list[Event] = field(default_factory=list)
    control_s: float = 0.0
    abort_on: Sequence[str] = ()

    def __post_init__(self) -> None:
        self.worker = FakeWorker(self.journal)
        self.system = FakeSystem(self.journal)
        self.host = FakeHost(self.journal)
        self.store = FakeTrialStore(self.path / "trial", self.journal)

    def start_worker(self, host: Any, driver: str, log_directory: Path, *_: Any) -> FakeWorker:
        self.journal.note("worker started")
        return self.worker

    def drop_page_cache(self, written: Sequence[Path]) -> str:
        on_disks = {*self.store.disks, *self.store.journal_disks} or {self.store.data_directory}
        assert set(written) == {self.store.directory, *on_disks}
        self.journal.note("page cache dropped")
        return "needs root"

    def control_cpu_s(self) -> float:
        self.control_s += 0.5
        return self.control_s

    def run(self, spec: LoadSpec = SPEC) -> LoadResult:
        resources = FakeResources(
            host=self.host,
            start_worker=self.start_worker,
            drop_page_cache=self.drop_page_cache,
            observer=self.events.append,
            control_cpu_s=self.control_cpu_s,
            abort_on=self.abort_on,
        )
        distribution = self.system.provision("4.3.1", None)
        return run_trial(spec, Subject(self.system, distribution, SystemChoice("kafka")), resources, self.store)

    def undone(self) -> bool:
        closed = self.journal.index("worker closed")
        return closed < self.journal.index("deployment stopped") and not self.store.data_directory.exists()
