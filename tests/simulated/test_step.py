"""Steps whose experiment makes trials on the fly, on shared servers, and comes to a finding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from campaign_doubles import FakeHost, FakeResources, FakeRunStore, FakeSystem, FakeWorker, Journal

from tidegauge.campaign.model import Campaign, ExperimentChoice, SystemChoice
from tidegauge.campaign.plan.plan import plan_campaign
from tidegauge.campaign.run.execute import run_plan
from tidegauge.campaign.run.topics import topics_for
from tidegauge.config.fields import Fields
from tidegauge.errors import RunFailedError, StartFailedError
from tidegauge.experiments import procedure
from tidegauge.experiments.peak import EXPERIMENT as PEAK
from tidegauge.experiments.procedure import Experiment, Lab
from tidegauge.model.events import Decided, Event, FindingReached, TrialEnded
from tidegauge.model.finding import Finding
from tidegauge.model.level import LevelChoice
from tidegauge.model.trial import LoadSpec, ServerReuse, TrialSpec
from tidegauge.model.workload import Workload


class NoOptions(Fields):
    pass


def stepwise(run: Callable[[LoadSpec, Lab], None]) -> Experiment[Any, Any, Any]:
    """An experiment that expects three trials on shared servers and makes those of `run`."""

    def plan(_options: Fields, base: TrialSpec) -> tuple[LoadSpec, ...]:
        base = replace(base, measure_s=0.2, servers=ServerReuse.SHARED, exploratory=True)
        shared = LoadSpec(**base.shared, msgs_per_s=1000.0, warmup_s_min=0.2, warmup_s_max=0.4, drain_s_max=1.0)
        return tuple(named(shared, number) for number in (1, 2, 3))

    return replace(
        PEAK,
        name="stepwise",
        options=NoOptions,
        plan=plan,
        run=lambda _options, trials, lab: run(trials[0], lab),
    )


def named(spec: LoadSpec, number: int) -> LoadSpec:
    return replace(spec, trial_id=f"{spec.trial_id.partition('-s0')[0]}-s0{number}")


class Scene:
    def __init__(self, path: Path, run: Callable[[LoadSpec, Lab], None], monkeypatch: pytest.MonkeyPatch) -> None:
        self.journal = Journal()
        self.events: list[Event] = []
        self.store = FakeRunStore(path, self.journal)
        self.system = FakeSystem(self.journal, "kafka")
        known = {"stepwise": stepwise(run)}
        monkeypatch.setattr("tidegauge.campaign.plan.plan.experiments", lambda: known)
        self.campaign = Campaign(
            name="example",
            description="",
            systems=(SystemChoice("kafka"),),
            durability=LevelChoice(3),
            nodes=1,
            workload=Workload(),
            experiments=(ExperimentChoice("stepwise", NoOptions()),),
            repeat=1,
            seed=1,
            data_directory="",
            source_path=Path("campaign.yaml"),
        )

    def run(self) -> Any:
        plan = plan_campaign(self.campaign, lambda _: self.system)
        resources = FakeResources(
            FakeHost(self.journal),
            lambda _host, _driver, _logs, _spec: FakeWorker(self.journal),
            lambda _: "",
            self.events.append,
        )
        return run_plan(plan, self.store, resources, lambda _: self.system)

    def times(self, entry: str) -> int:
        return self.journal.entries.count(entry)


def test_the_registry_is_left_alone_by_these_tests() -> None:
    assert "stepwise" not in procedure.experiments()


def test_shared_servers_are_started_once_and_a_fresh_trial_gets_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(first: LoadSpec, lab: Lab) -> None:
        lab.run_trial(first)
        lab.run_trial(named(first, 2))
        assert [result.spec.trial_id[-3:] for result in lab.results] == ["s01", "s02"]
        lab.run_trial(replace(named(first, 3), servers=ServerReuse.FRESH))

    scene = Scene(tmp_path, run, monkeypatch)
    assert len(scene.run()) == 3
    assert scene.times("deploy") == 2
    assert scene.times("deployment stopped") == 2
    entries = scene.journal.entries
    assert entries.index("deployment stopped") < len(entries) - 1 - entries[::-1].index("deploy")
    assert scene.store.trials["0001-stepwise-kafka-s02"].page_cache_dropped == (
        False,
        "the servers of 0001-stepwise-kafka-s01 go on, and their logs are there",
    )
    assert scene.store.ended == ("finished", "")


def test_shared_servers_end_with_their_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene(tmp_path, lambda first, lab: void(lab.run_trial(first)), monkeypatch)
    scene.run()
    assert scene.times("deployment stopped") == scene.times("worker closed") == 1
    assert not scene.store.trials["0001-stepwise-kafka-s01"].data_directory.exists()


def void(_value: object) -> None:
    pass


def test_a_server_that_ends_between_two_trials_is_named_by_the_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(first: LoadSpec, lab: Lab) -> None:
        scene.system.dies_at = "finish"
        lab.run_trial(first)
        with pytest.raises(StartFailedError, match="killed by signal 9"):
            lab.run_trial(named(first, 2))

    scene = Scene(tmp_path, run, monkeypatch)
    assert len(scene.run()) == 1
    assert scene.times("prepare") == scene.times("deployment stopped") == 1


def names(spec: LoadSpec) -> tuple[str, ...]:
    return topics_for(spec, FakeSystem(Journal()), None).names(1)


def test_topics_of_shared_servers_are_each_trials_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    specs: list[LoadSpec] = []

    def run(first: LoadSpec, lab: Lab) -> None:
        for number in (1, 2):
            specs.append(named(first, number))
            lab.run_trial(specs[-1])

    Scene(tmp_path, run, monkeypatch).run()
    assert names(specs[0]) == ("tidegauge-0001-stepwise-kafka-s01-0",)
    assert names(replace(specs[0], servers=ServerReuse.FRESH)) == ("tidegauge-0",)
    assert names(specs[0]) != names(specs[1])


def test_a_trial_that_fails_ends_the_shared_servers_and_keeps_what_was_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(first: LoadSpec, lab: Lab) -> None:
        lab.run_trial(first)
        scene.system.deploy_fails = True
        with pytest.raises(RunFailedError):
            lab.run_trial(replace(named(first, 2), servers=ServerReuse.FRESH))
        raise RunFailedError("It broke.")

    scene = Scene(tmp_path, run, monkeypatch)
    results = scene.run()
    assert [result.spec.trial_id for result in results] == ["0001-stepwise-kafka-s01"]
    assert scene.times("deployment stopped") == 1
    # The third was only expected: it is no failure of its own.
    assert sorted(scene.store.trials) == ["0001-stepwise-kafka-s01", "0001-stepwise-kafka-s02"]
    assert [spec.trial_id[-3:] for spec in scene.store.planned] == ["s01", "s02"]
    assert scene.store.ended is not None
    assert scene.store.ended[0] == "failed"


def test_a_step_that_never_began_is_one_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(_first: LoadSpec, _lab: Lab) -> None:
        raise RunFailedError("It can't begin.")

    scene = Scene(tmp_path, run, monkeypatch)
    with pytest.raises(RunFailedError, match="can't begin"):
        scene.run()
    ended = [event for event in scene.events if isinstance(event, TrialEnded)]
    assert [event.spec.trial_id for event in ended] == ["0001-stepwise-kafka-s01"]


def test_decisions_tell_what_is_left_and_findings_are_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    finding = Finding("0001-stepwise-kafka", "stepwise", "kafka@4.3.1", 0, True, ("it works",))

    def run(first: LoadSpec, lab: Lab) -> None:
        lab.run_trial(first)
        lab.announce_decision("one done", [named(first, 2), named(first, 7)])
        lab.run_trial(named(first, 2))
        lab.announce_decision("all done")
        lab.record_finding(finding)
        assert list(lab.findings) == [finding]

    scene = Scene(tmp_path, run, monkeypatch)
    scene.run()
    decided = next(event for event in scene.events if isinstance(event, Decided))
    assert [spec.trial_id[-3:] for spec in decided.trials] == ["s01", "s02", "s07"]
    assert decided.trials_left == 2
    assert decided.seconds_left > 0
    assert FindingReached(finding) in scene.events
    assert scene.store.findings == [finding]
    assert [spec.trial_id[-3:] for spec in scene.store.planned] == ["s01", "s02"]
