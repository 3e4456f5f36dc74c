"""A trial with a second witness, on doubles."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from campaign_doubles import FakeHost, FakeResources, FakeSystem, FakeTrialStore, FakeWorker, Journal
from trial_scenes import SPEC

from tidegauge.campaign.model import SystemChoice
from tidegauge.campaign.run import witnessing
from tidegauge.campaign.run.running_trial import Subject
from tidegauge.campaign.run.trial.run import run_trial
from tidegauge.durability import SyncCall, WatchedSyncs
from tidegauge.model.trial import LoadResult, LoadSpec


@dataclass
class Watched(FakeHost):
    """A host whose processes are watched by `watch`."""

    watch: Callable[..., Any] = NotImplemented

    def watch_syncs(self, processes: Sequence[str]) -> Any:
        return self.watch(processes)


@dataclass
class Stage:
    """A simulated trial with a simulated recording of the messages that `FakeWorker.witness` reports."""

    path: Path
    synced: int = witnessing.MESSAGES
    journal: Journal = field(default_factory=Journal)

    def __post_init__(self) -> None:
        self.worker = FakeWorker(self.journal)
        self.system = FakeSystem(self.journal)
        self.store = FakeTrialStore(self.path / "trial", self.journal)

    @contextmanager
    def watch(self, processes: Sequence[str]) -> Iterator[Any]:
        self.journal.note(f"watch {', '.join(processes)}")
        calls = (SyncCall("kafka-1", 5, "fsync", 100 * n + 1, 100 * n + 9, True) for n in range(self.synced))
        seen = WatchedSyncs(tuple(calls))
        yield lambda: seen
        self.journal.note("watched")

    def without_servers(self) -> Stage:
        """The same trial with none that could be watched."""
        deploy = self.system.deploy
        self.system.deploy = lambda *given: replace(deploy(*given), storage_processes=())  # type: ignore[method-assign]
        return self

    def run(self, watch: Any = None, spec: LoadSpec = SPEC) -> LoadResult:
        resources = FakeResources(
            host=Watched(self.journal, watch=watch or self.watch),
            start_worker=lambda *_: self.worker,
            drop_page_cache=lambda _: "",
            observer=lambda _: None,
        )
        subject = Subject(self.system, self.system.provision("4.3.1", None), SystemChoice("kafka"))
        return run_trial(spec, subject, resources, self.store)
