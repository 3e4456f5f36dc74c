"""The second witness within a trial: when it is called, what it changes, and that it never fails a trial by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from trial_scenes import SPEC
from witness_scenes import Stage

from tidegauge.campaign.run.witnessing import LevelMismatchError
from tidegauge.errors import RunFailedError
from tidegauge.hosts.tracefs import NoTraceError
from tidegauge.model.level import Agreement, LevelChoice, LevelFinding
from tidegauge.model.server import Setting


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
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


@pytest.mark.parametrize(("copies", "needed"), [("5", 3), ("3-4", 3), ("3", 2), ("", 1)])
def test_a_majority_is_that_of_the_copies_that_servers_report(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, copies: str, needed: int
) -> None:
    settings = [Setting("topic tidegauge-0", "replication.factor", copies)]
    monkeypatch.setattr(stage.worker, "describe", lambda *_: settings)
    stage.system.finding = LevelFinding(2, ("acks=all",))
    result = stage.run(spec=replace(SPEC, choice=LevelChoice(2)))
    assert result.level.syncs is not None
    assert result.level.syncs.nodes_needed == needed


@pytest.mark.parametrize(("attached", "why"), [(True, "others run the servers"), (False, "there are no servers")])
def test_nobody_runs_the_servers_of_a_system_that_has_none(stage: Stage, attached: bool, why: str) -> None:
    result = stage.without_servers().run(spec=replace(SPEC, attached=attached))
    assert result.level.syncs is not None
    assert result.level.syncs.words == f"not watched: {why}"
