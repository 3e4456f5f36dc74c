"""A whole campaign with simulated parts: what fails is recorded, the rest goes on, interruptions unwind."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from campaign_doubles import FakeHost, FakeResources, FakeWorker
from run_scenes import Losing, Scene, refuse_settings

from tidegauge.agent.api import Host
from tidegauge.campaign.model import Campaign, Point, SystemChoice, WorkerChoice
from tidegauge.campaign.plan.plan import plan_campaign
from tidegauge.campaign.run import resources as resources_module
from tidegauge.campaign.run.execute import execute, run_plan
from tidegauge.campaign.run.resources import HostResources
from tidegauge.campaign.run.witnessing import LevelMismatchError
from tidegauge.errors import DiskFullError, RunFailedError, SettingsRefusedError, UserError
from tidegauge.model import disk_needs
from tidegauge.model.events import Event, Note, RunStarted, TrialEnded, UnequalFound
from tidegauge.model.level import LevelFinding
from tidegauge.model.tilt import Severity, Stage
from tidegauge.systems import registry
from tidegauge.systems.api import DeployRequest
from tidegauge.worker.launch import WorkerOptions


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    return Scene(tmp_path)


def test_all_trials_are_made_and_the_run_is_finished(scene: Scene) -> None:
    results = scene.run()
    assert [result.spec.experiment for result in results] == ["peak", "peak", "latency", "latency"]
    assert scene.store.ended == ("finished", "")
    assert len(scene.store.planned) == 4
    assert [event.trials for event in scene.events if isinstance(event, RunStarted)] == [scene.store.planned]
    assert set(scene.ended().values()) == {""}


def test_all_systems_get_the_same_rate(scene: Scene) -> None:
    latencies = scene.run()[2:]
    assert {result.spec.msgs_per_s for result in latencies} == {500.0}


def test_everything_is_fetched_before_anything_is_measured(scene: Scene) -> None:
    scene.run()
    assert scene.journal.entries[:2] == ["provision kafka 4.3.1", "provision pulsar 4.2.4"]


def test_a_version_that_does_not_exist_ends_the_run_at_once(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_args: Any) -> None:
        raise UserError("There is no kafka 9.9.9.")

    monkeypatch.setattr(scene.systems["kafka"], "provision", missing)
    with pytest.raises(UserError, match=r"no kafka 9\.9\.9"):
        scene.run()
    assert scene.store.ended == ("failed", "There is no kafka 9.9.9.")
    assert scene.workers == 0


def test_a_system_that_fails_is_recorded_and_the_other_goes_on(scene: Scene) -> None:
    scene.systems["kafka"].deploy_fails = True
    results = scene.run()
    assert [result.spec.system for result in results] == ["pulsar@4.2.4", "pulsar@4.2.4"]
    failures = {name: text for name, text in scene.ended().items() if text}
    assert len(failures) == 2
    peak, latency = (failures[name] for name in sorted(failures))
    assert "port taken" in peak
    assert "has no measured peak" in latency
    assert scene.store.ended is not None
    status, reason = scene.store.ended
    assert status == "failed"
    assert reason.startswith("2 of 4 trials failed")
    for name, text in failures.items():
        assert scene.store.trials[name].failure == (text, False)


@pytest.fixture
def losing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Losing:
    scene = Losing(tmp_path)
    scene.campaign = Campaign(**{**vars(scene.campaign), "experiments": scene.campaign.experiments[:1], "retry": 1})
    return scene


def test_a_trial_whose_load_generator_failed_is_made_again(losing: Losing) -> None:
    results = losing.run()
    assert losing.store.ended == ("finished", "")
    assert [result.spec.trial_id for result in results] == list(losing.ended()), "in the same order"
    (void,) = losing.store.aside
    assert void.seconds >= 3, "what was measured before stays"
    assert void.failure == ("The worker was killed by signal 9.", False)
    (note,) = [event.text for event in losing.events if isinstance(event, Note) and "made again" in event.text]
    name = results[0].spec.trial_id
    assert note == (f"{name} is made again: The worker was killed by signal 9. What it had measured is in earlier-1.")


def test_it_is_not_made_again_for_ever(losing: Losing) -> None:
    losing.lost = 2
    assert len(losing.run()) == 1
    first, second = losing.ended().values()
    assert (first, second) == ("The worker was killed by signal 9.", "")
    assert losing.workers == 3


def test_by_default_it_is_void(losing: Losing) -> None:
    losing.campaign = Campaign(**{**vars(losing.campaign), "retry": 0})
    assert len(losing.run()) == 1
    assert losing.store.ended is not None
    assert "1 of 2 trials failed" in losing.store.ended[1]
    assert losing.store.reason_trials == tuple(name for name, text in losing.ended().items() if text)
    assert losing.store.aside == []


def test_what_else_fails_is_not_made_again(losing: Losing) -> None:
    losing.dies_of = RunFailedError
    assert len(losing.run()) == 1
    assert losing.workers == 2


def test_a_server_that_ended_is_the_cause_even_if_the_load_generator_is_gone_too(losing: Losing) -> None:
    for system in losing.systems.values():
        system.dies_at = "load"
    losing.lost = 9
    with pytest.raises(RunFailedError, match="kafka-1 was killed"):
        losing.run()
    assert losing.store.aside == []


def test_a_system_that_keeps_failing_is_not_tried_for_ever(scene: Scene) -> None:
    scene.systems["kafka"].deploy_fails = True
    scene.campaign = Campaign(**{**vars(scene.campaign), "experiments": scene.campaign.experiments[:1], "repeat": 4})
    scene.run()
    failures = [text for text in scene.ended().values() if text]
    assert sum("port taken" in text for text in failures) == 2
    assert sum("skipped: the last 2 steps on kafka@4.3.1 failed" in text for text in failures) == 2


def test_failures_with_a_success_between_them_are_not_in_a_row(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    kafka = scene.systems["kafka"]
    deploy, turns = kafka.deploy, itertools.count()

    def every_other(request: DeployRequest, host: Host) -> Any:
        kafka.deploy_fails = next(turns) % 2 == 0
        return deploy(request, host)

    monkeypatch.setattr(kafka, "deploy", every_other)
    scene.campaign = Campaign(**{**vars(scene.campaign), "experiments": scene.campaign.experiments[:1], "repeat": 5})
    scene.run()
    endings = [text for trial_id, text in scene.ended().items() if trial_id.endswith("kafka")]
    assert ["port taken" in text for text in endings] == [True, False, True, False, True]


def test_settings_that_a_client_refuses_are_named_and_not_tried_again(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("campaign_doubles.FakeWorker.prepare", refuse_settings)
    kafka = SystemChoice("kafka", producer={"linger.ms": "1", "acks": "1"}, locate=lambda *at: f"c.yaml:{at[1]}")
    only_peak = replace(scene.campaign, experiments=scene.campaign.experiments[:1], repeat=3)
    scene.campaign = replace(only_peak, systems=(kafka, SystemChoice("pulsar")))
    assert {result.spec.system for result in scene.run()} == {"pulsar@4.2.4"}
    failures = [trial for trial in scene.store.trials.values() if trial.failure is not None]
    assert [trial.settings_refused for trial in failures] == [True] * 3
    texts = sorted(text for text in scene.ended().values() if text)
    assert texts == [
        "Kafka could not create a producer: acks must be all. Given to producers: linger.ms '1' (c.yaml:linger.ms), "
        "acks '1' (c.yaml:acks).",
        *["skipped: the client refuses these settings"] * 2,
    ]


def test_a_run_whose_clients_refuse_their_settings_fails_by_its_users_input(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("campaign_doubles.FakeWorker.prepare", refuse_settings)
    scene.campaign = replace(scene.campaign, systems=(SystemChoice("kafka", producer={"acks": "1"}),))
    with pytest.raises(SettingsRefusedError, match="acks must be all") as caught:
        scene.run()
    assert caught.value.exit_code == UserError.exit_code


def test_settings_that_are_refused_at_one_point_are_tried_at_another(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("campaign_doubles.FakeWorker.prepare", refuse_settings)
    one = replace(scene.campaign, experiments=scene.campaign.experiments[:1], repeat=2)
    kafka = {acks: SystemChoice("kafka", producer={"acks": acks} if acks else {}) for acks in ("", "0", "1", "2")}
    points = [Point({"acks": acks}, replace(one, systems=(choice,)), "c.yaml:3") for acks, choice in kafka.items()]
    scene.campaign = replace(one, systems=(kafka[""],), points=tuple(points))
    results = scene.run()
    assert [result.spec.point["acks"] for result in results] == ["", ""], "others are refused in a row"


def test_a_run_without_any_result_fails(scene: Scene) -> None:
    for system in scene.systems.values():
        system.deploy_fails = True
    with pytest.raises(RunFailedError, match="No trial gave a result"):
        scene.run()
    assert scene.store.ended is not None
    assert scene.store.ended[0] == "failed"
    first, *others = scene.ended()
    assert scene.store.reason_trials[0] == first
    assert len(scene.store.reason_trials) <= len(others), "other systems' trials have reasons of their own"


def test_another_level_than_asked_for_stops_the_run(scene: Scene) -> None:
    for system in scene.systems.values():
        system.finding = LevelFinding(4, (), ("flush.messages is 100",))
    with pytest.raises(LevelMismatchError, match=r"flush\.messages is 100"):
        scene.run()
    assert scene.workers == 1
    assert scene.store.ended is not None
    assert scene.store.ended[0] == "failed"


def test_a_full_disk_stops_the_run(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_needs, "FREE_BYTES_BEFORE", 1 << 60)
    with pytest.raises(DiskFullError, match="Not enough room"):
        scene.run()
    assert scene.workers == 0
    assert scene.store.reason_trials == tuple(scene.store.trials)
    assert len(scene.store.trials) == 1
    assert scene.store.ended is not None
    assert scene.store.ended[0] == "failed"


def test_an_interruption_marks_the_trial_and_the_run(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_args: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(FakeWorker, "stop_producers", interrupt)
    with pytest.raises(KeyboardInterrupt):
        scene.run()
    assert scene.store.ended == ("interrupted", "interrupted by the user")
    (only,) = scene.store.trials.values()
    assert only.failure == ("interrupted", True)
    assert scene.store.reason_trials == tuple(scene.store.trials)
    assert only.seconds > 0
    assert scene.journal.entries[-1] == "deployment stopped"


def test_a_server_that_dies_fails_its_trial_with_the_cause(scene: Scene) -> None:
    scene.systems["kafka"].dies_at = "load"
    scene.systems["pulsar"].dies_at = "load"
    with pytest.raises(RunFailedError, match=r"killed by signal 9|no measured peak"):
        scene.run()
    assert any("killed by signal 9" in text for text in scene.ended().values())


def test_a_page_cache_that_stays_is_reported_once(monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[Event] = []
    monkeypatch.setattr(resources_module, "drop_page_cache", lambda _: "needs root")
    nobody: Any = None
    resources = HostResources(host=nobody, observer=events.append, starter=nobody)
    resources.drop_page_cache([])
    resources.drop_page_cache([])
    assert len(events) == 1
    assert isinstance(events[0], Note)
    assert "needs root" in events[0].text


def test_the_campaigns_worker_memory_reaches_the_worker(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[WorkerOptions] = []
    counts: list[int] = []

    def start(host: Any, driver: str, log_directory: Path, options: WorkerOptions, count: int, **_: Any) -> Any:
        asked.append(options)
        counts.append(count)
        return scene.start_worker(host, driver, log_directory)

    monkeypatch.setattr(resources_module, "start_workers", start)
    monkeypatch.setattr(resources_module, "drop_page_cache", lambda _: "")
    monkeypatch.setattr(registry, "system_named", scene.systems.__getitem__)
    scene.campaign = Campaign(**{**vars(scene.campaign), "worker": WorkerChoice(300, 70, 0.5, 20_000, count=2)})
    plan = plan_campaign(scene.campaign)
    results = execute(plan, scene.store, FakeHost(scene.journal), scene.events.append)
    assert all(result.control_cpu_s and result.control_cpu_s > 0.2 for result in results), "of the agent too"
    assert {(o.heap_mb, o.direct_memory_mb, o.spin_share_max, o.grain_ns) for o in asked} == {(300, 70, 0.5, 20_000)}
    assert set(counts) == {2}


def test_settings_in_force_that_differ_mark_the_run(scene: Scene) -> None:
    scene.systems["pulsar"].tells_batch_size = 1024
    scene.run()
    (tilt,) = scene.store.tilts
    assert (tilt.rule, tilt.stage, tilt.severity) == ("batch-size", Stage.IN_FORCE, Severity.UNEQUAL)
    assert "pulsar@4.2.4 batch.size=1024" in tilt.what
    assert [event.tilt for event in scene.events if isinstance(event, UnequalFound)] == [tilt], "reported once"
    first, second = [number for number, event in enumerate(scene.events) if isinstance(event, TrialEnded)][:2]
    reported = next(number for number, event in enumerate(scene.events) if isinstance(event, UnequalFound))
    assert first < reported < second, "as soon as there are two to compare"


def test_equal_settings_in_force_mark_nothing(scene: Scene) -> None:
    scene.run()
    assert scene.store.tilts == ()
    assert not any(isinstance(event, UnequalFound) for event in scene.events)


def test_a_page_cache_dropped_for_one_system_only_marks_the_run(scene: Scene) -> None:
    drops = iter(["", "no right", "", ""])
    plan = plan_campaign(scene.campaign, scene.systems.__getitem__)
    resources = FakeResources(FakeHost(scene.journal), scene.start_worker, lambda _: next(drops), scene.events.append)
    run_plan(plan, scene.store, resources, scene.systems.__getitem__)
    assert [tilt.rule for tilt in scene.store.tilts] == ["page-cache"]


def test_trials_of_different_experiments_are_not_held_against_each_other(scene: Scene) -> None:
    drops = iter(["", "", "lost", "lost"])
    plan = plan_campaign(scene.campaign, scene.systems.__getitem__)
    resources = FakeResources(FakeHost(scene.journal), scene.start_worker, lambda _: next(drops), scene.events.append)
    run_plan(plan, scene.store, resources, scene.systems.__getitem__)
    assert scene.store.tilts == ()
