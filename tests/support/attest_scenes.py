"""An attestation on doubles that lose what a test says."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from attest_doubles import DISK_BYTES, Host, Rig, System, Worker, World, spec_of
from campaign_doubles import FakeResources, FakeTrialStore, Journal
from wrong_servers import Honest

from tidegauge.attestation.data_files import Copy, Message
from tidegauge.campaign.model import SystemChoice
from tidegauge.campaign.run.running_trial import Subject
from tidegauge.campaign.run.trial import attest_cycle
from tidegauge.campaign.run.trial.run import run_trial
from tidegauge.model.attest import Act, ActKind, AttestOutcome, AttestPlan, Cycle, FileSystem, Means, Role, Scenario
from tidegauge.model.events import Event
from tidegauge.model.trial import AttestResult

NONE = Cycle(1, Scenario.NONE, (), tail_s=0.1)


@dataclass
class Stage:
    world: World
    store: FakeTrialStore
    events: list[Event]
    run: Callable[..., AttestResult]


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    return staged(tmp_path, monkeypatch)


def staged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    """Servers in memory, with a trial's directory."""
    monkeypatch.setattr(attest_cycle, "_SETTLE_S", 0.02)
    world = World(Journal(), Honest())

    store = FakeTrialStore(tmp_path / "trial", world.journal)
    events: list[Event] = []

    def run(
        *cycles: Cycle,
        server: Honest | None = None,
        never_again: bool = False,
        mute: int = 0,
        nodes: int = 0,
        replicas: bool = False,
        before: AttestOutcome | None = None,
        **plan: Any,
    ) -> AttestResult:
        world.server = server or world.server
        nodes = nodes or (3 if any(cycle.scenario not in (Scenario.NONE, Scenario.ALL) for cycle in cycles) else 1)
        system = System(world.journal, world=world, never_again=never_again, mute=mute, replicas=replicas)
        host = Host(world.journal, rig=Rig(world))
        resources = FakeResources(host, lambda *_: Worker(world), lambda _: "", events.append)
        choice = SystemChoice("kafka")
        subject = Subject(system, system.provision("4.3.1", None), choice)
        wanted = {"means": Means.POWER, "serve_s_max": 5.0, **plan}
        attest = AttestPlan(cycles=cycles, file_system=FileSystem.EXT4, disk_bytes=DISK_BYTES, **wanted)
        result = run_trial(spec_of(nodes, attest), subject, resources, store, before=before)
        assert isinstance(result, AttestResult)
        return result

    return Stage(world, store, events, run)


def all_at(after_s: float = 0.3, number: int = 2, **more: Any) -> Cycle:
    return Cycle(number, Scenario.ALL, (Act(ActKind.CUT, Role.ALL, after_s, **more),))


def outcome_of(result: AttestResult) -> AttestOutcome:
    return result.attest


def only_the_first(_: Sequence[Path], __: int, wanted: Collection[Message]) -> Mapping[Message, tuple[Copy, ...]]:
    """What a search of data files finds where all that came later is gone."""
    return {message: (Copy(Path("/disk-1/journal"), 0),) for message in wanted if message[1] == 0}
