"""The second witness within a trial: when it is called, what it changes, and that it never fails a trial by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from campaign_doubles import FakeHost, FakeSystem, FakeTrialStore, FakeWorker, Journal
from test_trial_procedure import SPEC

from tidegauge.campaign.model import SystemChoice
from tidegauge.campaign.run import witnessing
from tidegauge.campaign.run.session import RunResources, Subject
from tidegauge.campaign.run.trial import run_trial
from tidegauge.campaign.run.witnessing import LevelMismatchError
from tidegauge.durability import SyncCall, WatchedSyncs
from tidegauge.errors import RunFailedError
from tidegauge.hosts.tracefs import NoTraceError
from tidegauge.model.level import Agreement, LevelChoice, LevelFinding
from tidegauge.model.trial import LoadResult, LoadSpec
from tidegauge.worker import group


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

    def run(self, watch: Any = None, spec: LoadSpec = SPEC) -> LoadResult:
        resources = RunResources(
            host=Watched(self.journal, watch=watch or self.watch),
            start_worker=lambda *_: self.worker,
            drop_page_cache=lambda _: "",
            observer=lambda _: None,
        )
        subject = Subject(self.system, self.system.provision("4.3.1", None), SystemChoice("kafka"))
        return run_trial(spec, subject, resources, self.store)


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    monkeypatch.setattr(group, "_LEAD_S", 0.05)
    return Stage(tmp_path)


def test_it_is_called_between_the_settings_and_the_load_on_a_topic_of_its_own(stage: Stage) -> None:
    result = stage.run()
    steps = ("settings stored", "watch kafka-1", "witness tidegauge-0-witness", "watched", "load")
    assert [entry for entry in stage.journal.entries if entry in steps] == list(steps)
    assert result.level.syncs is not None
    assert result.level.syncs.agreement is Agreement.AGREES
    assert result.level.syncs.synced_by_node == {"kafka-1": 20}
    finding, evidence = stage.store.witnessed
    assert finding == result.level.syncs
    assert len(evidence["messages"]) == 20


def test_a_contradiction_ends_the_trial_before_any_load_and_is_kept(stage: Stage) -> None:
    stage.synced = 19
    with pytest.raises(LevelMismatchError, match="only 19 of 20 acknowledgements came after an fsync") as raised:
        stage.run()
    assert "kafka@4.3.1 is not at durability level 3: the settings read back give level 3, but" in raised.value.message
    assert "load" not in stage.journal.entries
    assert stage.store.witnessed[0].agreement is Agreement.CONTRADICTS


def test_syncs_nobody_asked_for_are_reported_and_the_trial_goes_on(stage: Stage) -> None:
    stage.system.finding = LevelFinding(4, ("no fsync",))
    result = stage.run(spec=replace(SPEC, choice=LevelChoice(4)))
    assert result.level.syncs is not None
    assert result.level.syncs.agreement is Agreement.MORE


def test_where_nobody_can_look_the_reason_is_reported_and_the_trial_goes_on(stage: Stage) -> None:
    def refuse(processes: Sequence[str]) -> Any:
        raise NoTraceError("needs root")

    result = stage.run(refuse)
    assert result.level.syncs is not None
    assert (result.level.syncs.agreement, result.level.syncs.words) == (Agreement.UNKNOWN, "not watched: needs root")
    assert stage.store.witnessed[1] == {}
    assert "witness tidegauge-0-witness" not in stage.journal.entries


def test_messages_that_are_not_acknowledged_are_reported(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> Any:
        raise RunFailedError("message 3 was not acknowledged within 10000 ms")

    monkeypatch.setattr(stage.worker, "witness", fail)
    result = stage.run()
    assert result.level.syncs is not None
    assert result.level.syncs.words.endswith("message 3 was not acknowledged within 10000 ms")
