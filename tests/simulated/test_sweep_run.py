"""A sweep carried out with simulated parts: points know only of themselves, servers go on where they can."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from campaign_doubles import FakeHost
from run_scenes import Scene

from tidegauge.campaign.model import Campaign, Point, SystemChoice
from tidegauge.campaign.plan.plan import plan_campaign
from tidegauge.campaign.run import execute as execute_module
from tidegauge.campaign.run import resources as resources_module
from tidegauge.campaign.run.trial import load as trial
from tidegauge.errors import RunFailedError
from tidegauge.experiments.procedure import Experiment, Lab
from tidegauge.model.events import TrialEnded
from tidegauge.model.finding import Finding
from tidegauge.model.level import LevelChoice, LevelFinding
from tidegauge.model.trial import LoadResult, LoadSpec, ServerReuse
from tidegauge.systems import registry
from tidegauge.worker.launch import WorkerOptions


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    return Scene(tmp_path)


def swept(campaign: Campaign, **changes: Any) -> Campaign:
    """Two points of `partitions`, with changes of everything beside."""
    campaign = replace(campaign, **changes)
    points = tuple(
        Point({"partitions": str(n)}, replace(campaign, workload=replace(campaign.workload, partitions=n)))
        for n in (1, 100)
    )
    return replace(points[0].campaign, points=points)


def test_every_point_is_measured_with_its_own_values(scene: Scene) -> None:
    scene.campaign = swept(scene.campaign)
    results = scene.run()
    assert len(results) == 8
    assert all(result.spec.workload.partitions == int(result.spec.point["partitions"]) for result in results)
    assert all(result.spec.trial_id.endswith(f"-partitions-{result.spec.workload.partitions}") for result in results)
    assert scene.journal.entries.count("deploy") == 8
    assert scene.store.ended == ("finished", "")


def test_a_system_that_can_have_no_point_is_not_fetched(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scene.systems["pulsar"], "shape_problem", lambda *_: "it takes 3 nodes")
    scene.campaign = swept(scene.campaign, skip_impossible=True)
    assert {result.spec.system for result in scene.run()} == {"kafka@4.3.1"}
    assert [entry for entry in scene.journal.entries if entry.startswith("provision")] == ["provision kafka 4.3.1"]


def test_load_generators_are_alike_by_the_systems_of_all_points(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.systems["pulsar"].driver = "pulsar"
    monkeypatch.setattr(registry, "system_named", scene.systems.__getitem__)
    monkeypatch.setattr(resources_module, "drop_page_cache", lambda _: "")
    asked: list[WorkerOptions] = []

    def start(host: Any, driver: str, log_directory: Path, options: WorkerOptions, _count: int, **_: Any) -> Any:
        asked.append(options)
        return scene.start_worker(host, driver, log_directory)

    monkeypatch.setattr(resources_module, "start_workers", start)
    first, second = swept(scene.campaign, experiments=scene.campaign.experiments[:1]).points
    # What does not fit into memory at a point may fit at another.
    first = replace(first, campaign=replace(first.campaign, systems=first.campaign.systems[:1]))
    campaign = replace(first.campaign, points=(first, second))
    plan = plan_campaign(campaign, scene.systems.__getitem__)
    execute_module.execute(plan, scene.store, FakeHost(scene.journal), scene.events.append)
    assert [set(options.archives.drivers) for options in asked if options.archives] == [{"kafka", "pulsar"}] * 3


def test_a_share_of_a_peak_is_one_of_the_peak_at_that_point(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    real = trial.make_result

    def by_partitions(spec: LoadSpec, *rest: Any) -> LoadResult:
        return replace(real(spec, *rest), msgs_per_s=1000.0 * spec.workload.partitions)

    monkeypatch.setattr(trial, "make_result", by_partitions)
    scene.campaign = swept(scene.campaign)
    rates = {
        one.spec.point["partitions"]: one.spec.msgs_per_s for one in scene.run() if one.spec.experiment == "latency"
    }
    assert rates == {"1": 500.0, "100": 50_000.0}


def test_shared_servers_go_on_from_point_to_point_of_one_system(scene: Scene) -> None:
    scene.campaign = swept(scene.campaign, deployment=ServerReuse.SHARED)
    results = scene.run()
    assert len(results) == 8
    assert {result.spec.servers for result in results} == {ServerReuse.SHARED}
    entries = scene.journal.entries
    starts = entries.count("deploy")
    assert starts == entries.count("deployment stopped")
    assert starts in (3, 4), "once for each of 2 experiments on 2 systems, or less where one is last and then first"
    running = 0
    for entry in entries:
        running += {"deploy": 1, "deployment stopped": -1}.get(entry, 0)
        assert running <= 1, "never the servers of two systems at once"
    dropped = [store.page_cache_dropped for store in scene.store.trials.values()]
    assert sum(one is not None and one[0] for one in dropped) == starts, (
        "the page cache is dropped before servers start"
    )


def at_levels(scene: Scene, *levels: LevelChoice, **changes: Any) -> Campaign:
    """A sweep over durability levels. The doubles report level 3, whatever is asked for."""
    campaign = replace(scene.campaign, experiments=scene.campaign.experiments[:1], **changes)
    points = tuple(Point({"durability": str(choice.level)}, replace(campaign, durability=choice)) for choice in levels)
    return replace(points[0].campaign, points=points)


def test_shared_servers_end_where_other_ones_are_wanted(scene: Scene) -> None:
    levels = LevelChoice(3), LevelChoice(4)
    scene.campaign = at_levels(scene, *levels, systems=(SystemChoice("kafka"),), deployment=ServerReuse.SHARED)
    scene.run()
    assert scene.journal.entries.count("deploy") == scene.journal.entries.count("deployment stopped") == 2


def test_a_system_that_is_not_at_the_level_of_a_point_is_measured_at_the_others(scene: Scene) -> None:
    scene.campaign = at_levels(scene, LevelChoice(4), LevelChoice(3), repeat=3)
    results = scene.run()
    assert [result.spec.point["durability"] for result in results] == ["3"] * 6, "both systems, three times each"
    failed = [text for text in scene.ended().values() if text]
    assert len(failed) == 6
    assert all("is not at durability level 4" in text for text in failed), "each says why"
    assert sum(text.startswith("skipped: ") for text in failed) == 4, "tried once for each system"
    assert scene.journal.entries.count("deploy") == 8
    assert scene.store.ended is not None
    assert scene.store.ended[0] == "failed"
    assert scene.store.ended[1].startswith("6 of 12 trials failed")


def test_a_system_that_is_at_no_level_of_a_sweep_ends_without_result(scene: Scene) -> None:
    for system in scene.systems.values():
        system.finding = LevelFinding(2, (), ("acks is 2",))
    scene.campaign = at_levels(scene, LevelChoice(4), LevelChoice(3))
    with pytest.raises(RunFailedError, match=r"No trial gave a result: .* is not at durability level"):
        scene.run()


def test_a_failure_on_shared_servers_costs_one_trial(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.campaign = swept(
        scene.campaign,
        systems=(SystemChoice("kafka"),),
        experiments=scene.campaign.experiments[:1],
        deployment=ServerReuse.SHARED,
        repeat=2,
    )
    real, calls = trial.make_result, []

    def second_fails(spec: LoadSpec, *rest: Any) -> LoadResult:
        calls.append(spec)
        if len(calls) == 2:
            raise RunFailedError("It broke.")
        return real(spec, *rest)

    monkeypatch.setattr(trial, "make_result", second_fails)
    assert len(scene.run()) == 3
    assert scene.journal.entries.count("deploy") == scene.journal.entries.count("deployment stopped") == 2
    assert [event.failure for event in scene.events if isinstance(event, TrialEnded)] == ["", "It broke.", "", ""]


def test_findings_are_kept_with_their_point_and_seen_there_only(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[dict[str, str], list[dict[str, str]]]] = []

    def run(_options: Any, trials: tuple[LoadSpec, ...], lab: Lab) -> None:
        lab.run_trial(trials[0])
        lab.record_finding(Finding(trials[0].trial_id, "peak", trials[0].system, 0, True, ("found",)))
        seen.append((dict(trials[0].point), [dict(finding.point) for finding in lab.findings]))

    from tidegauge.experiments.peak import EXPERIMENT

    stepwise: Experiment[Any, Any, Any] = replace(EXPERIMENT, run=run)
    monkeypatch.setattr("tidegauge.campaign.plan.plan.experiments", lambda: {"peak": stepwise})
    scene.campaign = swept(scene.campaign, systems=(SystemChoice("kafka"),), experiments=scene.campaign.experiments[:1])
    scene.run()
    assert all(points == [here] for here, points in seen)
    assert [finding.point for finding in scene.store.findings] == [here for here, _ in seen]
