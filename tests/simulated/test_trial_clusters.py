"""What a trial does for several nodes: a disk for each, waiting until replication is complete, optional systems."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from run_scenes import Scene as RunScene
from trial_scenes import SPEC, Scene

from tidegauge.campaign.run import running_trial
from tidegauge.campaign.run.trial import load as trial
from tidegauge.errors import DiskFullError, RunFailedError, StartFailedError, UserError
from tidegauge.hosts import storage
from tidegauge.hosts.fsync import Calm, FsyncLatency, slowest_disk
from tidegauge.model import disk_needs
from tidegauge.model.events import Note
from tidegauge.systems.api import DeployRequest

THREE = replace(SPEC, nodes=3)
Usage = namedtuple("Usage", "total used free")


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    monkeypatch.setattr(trial, "_IDLE_S", 0.2)
    scene = Scene(tmp_path)
    scene.store.disks = tuple(tmp_path / name / "trial" for name in ("a", "b"))
    scene.store.journal_disks = (tmp_path / "j" / "trial",)
    for place in (*scene.store.disks, *scene.store.journal_disks):
        place.mkdir(parents=True)
    return scene


def answers(scene: Scene, monkeypatch: pytest.MonkeyPatch, *missing: str) -> None:
    """What is missing, time after time; then nothing."""
    left = list(missing)
    monkeypatch.setattr(scene.system, "incomplete", lambda _settings, _nodes: left.pop(0) if left else "")


def test_every_node_has_its_disk_by_turns_and_nothing_stays_on_it(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests: list[DeployRequest] = []
    deploy = scene.system.deploy
    monkeypatch.setattr(scene.system, "deploy", lambda request, host: requests.append(request) or deploy(request, host))
    scene.run(THREE)
    (request,) = requests
    a, b = scene.store.disks
    assert [request.node_directory(n, f"kafka-{n}") for n in (1, 2, 3)] == [a / "kafka-1", b / "kafka-2", a / "kafka-3"]
    assert request.journal_directory(2, "journal") == scene.store.journal_disks[0] / "journal"
    assert scene.journal.entries.count("tracked") == 4, "a crash must leave none of them behind"
    assert not any(place.exists() for place in (a, b, *scene.store.journal_disks))


def test_a_disk_must_have_room_for_all_its_nodes(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    needed = disk_needs.bytes_needed(THREE, 3)
    assert needed > disk_needs.bytes_needed(THREE, 2)
    monkeypatch.setattr(storage.shutil, "disk_usage", lambda _path: Usage(0, 0, needed - 1))
    with pytest.raises(DiskFullError, match="Not enough room"):
        scene.run(THREE)  # Three nodes and their journals, all on the one disk of this test.


def test_a_disk_of_a_node_without_room_is_refused(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage.shutil, "disk_usage", lambda _path: Usage(0, 0, 1 << 20))
    with pytest.raises(DiskFullError, match="Not enough room"):
        scene.run(THREE)


def test_one_disk_is_waited_for_once_and_the_slowest_is_recorded(scene: Scene) -> None:
    slow, fast = (Calm(FsyncLatency(9, mean_ms, mean_ms), 1.0, 0.0, True) for mean_ms in (5.0, 2.0))
    waited_for: list[Path] = []

    def calm(directory: Path) -> Calm:
        waited_for.append(directory)
        return slow if len(waited_for) == 1 else fast

    scene.host.calm_disk = calm  # type: ignore[method-assign]
    assert len({*scene.store.disks, *scene.store.journal_disks}) > 1
    assert scene.run(THREE).disk_fsync_ms == 5.0
    assert len(waited_for) == 1
    assert slowest_disk([fast, slow]) is slow
    assert slowest_disk([replace(fast, is_calm=False), slow]).is_calm is False


def test_nothing_is_prepared_before_all_nodes_take_part(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    answers(scene, monkeypatch, "2 of 3 brokers have joined", "", "topic t: 2 of 3 replicas are in sync")
    scene.run(THREE)
    entries = [entry for entry in scene.journal.entries if entry in ("probe", "read back", "prepare", "load")]
    assert entries == [
        "probe",
        "read back",
        "probe",
        "read back",
        "prepare",
        "read back",
        "read back",
        "load",
        "read back",
    ]


def test_a_server_that_ended_is_reported_before_who_could_not_ask_it(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unanswered(*_args: Any) -> list[Any]:
        raise RunFailedError("Kafka could not describe broker 3")

    scene.system.dies_at = "prepare"
    monkeypatch.setattr(scene.worker, "describe", unanswered)
    with pytest.raises(StartFailedError, match="kafka-1 was killed by signal 9"):
        scene.run()
    assert scene.undone()


@pytest.mark.parametrize(
    ("limit", "missing", "message"),
    [
        ("READY_S_MAX", ["2 of 3 brokers have joined"] * 99, r"not ready within 0 s: 2 of 3 brokers have joined"),
        ("COMPLETE_S_MAX", ["", *["topic t: 1 of 3 replicas are in sync"] * 99], r"not fully replicated .*1 of 3"),
    ],
)
def test_what_is_missing_for_good_is_reported(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, limit: str, missing: list[str], message: str
) -> None:
    monkeypatch.setattr(running_trial, limit, 0.3)
    monkeypatch.setattr(running_trial, "READY_S_MAX_NEXT_NODE", 0.0)
    answers(scene, monkeypatch, *missing)
    with pytest.raises(StartFailedError, match=message):
        scene.run(THREE)
    assert scene.undone()


def refuse(*_args: Any) -> None:
    raise UserError("Debian's archive can't be reached\n  (timeout).")


@pytest.fixture
def run_scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunScene:
    scene = RunScene(tmp_path)
    kafka, pulsar = scene.campaign.systems
    scene.campaign = replace(scene.campaign, systems=(kafka, replace(pulsar, optional=True)))
    return scene


def test_an_optional_system_that_cant_be_had_is_left_out_in_one_line(
    run_scene: RunScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_scene.systems["pulsar"], "provision", refuse)
    results = run_scene.run()
    assert [result.spec.system for result in results] == ["kafka@4.3.1", "kafka@4.3.1"]
    assert [spec.system for spec in run_scene.store.planned] == ["kafka@4.3.1", "kafka@4.3.1"]
    assert run_scene.store.ended == ("finished", "")
    notes = [event.text for event in run_scene.events if isinstance(event, Note)]
    assert "pulsar@4.2.4 is left out: Debian's archive can't be reached (timeout)." in notes


def test_a_run_without_any_system_fails_with_the_reason(run_scene: RunScene, monkeypatch: pytest.MonkeyPatch) -> None:
    run_scene.campaign = replace(run_scene.campaign, systems=run_scene.campaign.systems[1:])
    monkeypatch.setattr(run_scene.systems["pulsar"], "provision", refuse)
    with pytest.raises(UserError, match="can't be reached"):
        run_scene.run()


def test_a_system_is_left_out_below_a_path_that_it_cant_run_with(
    run_scene: RunScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDEGAUGE_CACHE", "/home/ann b/cache")
    monkeypatch.setattr(run_scene.systems["pulsar"], "spaces_in_paths", False)
    assert {result.spec.system for result in run_scene.run()} == {"kafka@4.3.1"}
    notes = [event.text for event in run_scene.events if isinstance(event, Note)]
    assert any("pulsar@4.2.4 is left out" in note and "there is a space in it" in note for note in notes)
    assert "provision pulsar 4.2.4" not in run_scene.journal.entries


def test_an_optional_system_that_can_be_had_is_measured(run_scene: RunScene) -> None:
    assert len(run_scene.run()) == 4
