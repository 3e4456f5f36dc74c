"""Attestations that are interrupted: what their cycles found is kept and reported, and they are resumed."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import Any

import pytest
from attest_scenes import NONE, Stage, all_at, outcome_of, stage
from wrong_servers import AcknowledgesBeforeItWrites, Honest

from tidegauge.attestation.words import until_then
from tidegauge.campaign.run import running_trial
from tidegauge.campaign.run.recorded import OtherwiseError
from tidegauge.campaign.run.trial import attest
from tidegauge.model.attest import AttestOutcome, AttestPlan, FileSystem, Means
from tidegauge.model.events import Note, PhaseProgress

__all__ = ["stage"]
CYCLES = (NONE, all_at(), all_at(number=3), all_at(number=4))


def interrupted(stage: Stage, monkeypatch: pytest.MonkeyPatch, in_cycle: int, server: Honest) -> AttestOutcome:
    """What is stored of an attestation with a Ctrl-C in this cycle."""
    run_cycle = attest.run_cycle

    def stops(context: Any, cycle: Any, prepared: Any) -> Any:
        if cycle.number == in_cycle:
            raise KeyboardInterrupt
        return run_cycle(context, cycle, prepared)

    with monkeypatch.context() as patched:
        patched.setattr(attest, "run_cycle", stops)
        with pytest.raises(KeyboardInterrupt):
            stage.run(*CYCLES, server=server)
    # The next session has a directory of its own.
    stage.store.make_data_directories()
    shutil.rmtree(stage.store.directory / "evidence")
    return stage.store.cycles_stored


def plan_of(control: bool = False) -> AttestPlan:
    return AttestPlan(CYCLES, Means.POWER, FileSystem.EXT4, 1 << 30, 5.0, control)


def test_what_whole_cycles_found_is_stored_before_the_next_begins(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = interrupted(stage, monkeypatch, 3, Honest())
    assert [cycle.number for cycle in stored.cycles] == [1, 2]
    words = until_then(3, 1, plan_of(), stored)
    assert words.startswith("until then 1 cut, 0 of ")
    assert words.endswith("; INCONCLUSIVE: not all cuts and controls were made")


def test_a_loss_refutes_although_it_was_interrupted(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = interrupted(stage, monkeypatch, 3, AcknowledgesBeforeItWrites())
    assert stored.cycles[1].lost > 0
    assert "; REFUTED: " in until_then(3, 1, plan_of(), stored)
    fuse = replace(plan_of(), file_system=FileSystem.FUSE)
    assert "less than a power cut" in until_then(3, 1, fuse, stored)
    # Of a positive control it is what it is made for.
    assert "REFUTED" not in until_then(4, 1, plan_of(control=True), stored)


def test_it_goes_on_after_its_last_whole_cycle(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = interrupted(stage, monkeypatch, 3, Honest())
    stage.events.clear()
    cuts = stage.world.journal.entries.count("cut kafka-1 on disk-1")
    cycles = outcome_of(stage.run(*CYCLES, before=stored)).cycles
    assert [cycle.number for cycle in cycles] == [1, 2, 3, 4]
    assert cycles[:2] == stored.cycles
    assert stage.world.journal.entries.count("cut kafka-1 on disk-1") == cuts + 2
    notes = [event.text for event in stage.events if isinstance(event, Note)]
    assert notes == [f"{stage.store.result.spec.trial_id}: 2 of 4 cycles were carried out before and are kept."]
    progress = [event for event in stage.events if isinstance(event, PhaseProgress)]
    assert [(event.done, event.seconds_left is None) for event in progress] == [(2, True), (3, False)]


def test_a_cycle_after_which_nothing_served_is_kept(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = interrupted(stage, monkeypatch, 4, Honest())
    without = replace(stored.cycles[1], figures={}, unreadable=("kafka-1 ended with exit code 1.",), served=False)
    before = replace(stored, cycles=(stored.cycles[0], without))
    cycles = outcome_of(stage.run(*CYCLES, before=before)).cycles
    assert [cycle.served for cycle in cycles] == [True, False, True, True], "made again, it might hide a loss"


def test_what_all_cycles_found_before_is_kept_though_the_last_is_made_again_for_its_totals(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = interrupted(stage, monkeypatch, 4, AcknowledgesBeforeItWrites())
    whole = replace(stored, cycles=(*stored.cycles, replace(stored.cycles[-1], number=4)))
    cuts = stage.world.journal.entries.count("cut kafka-1 on disk-1")
    result = stage.run(*CYCLES, before=whole, server=Honest())
    assert outcome_of(result).cycles == whole.cycles
    assert stage.world.journal.entries.count("cut kafka-1 on disk-1") == cuts + 1


def test_a_session_that_comes_to_nothing_costs_no_cycle(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = interrupted(stage, monkeypatch, 3, Honest())
    del stage.store.cycles_stored
    monkeypatch.setattr(running_trial, "start_servers", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        stage.run(*CYCLES, before=stored)
    assert stage.store.cycles_stored == stored


def test_other_settings_than_before_are_not_gone_on_with(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = interrupted(stage, monkeypatch, 3, Honest())
    with pytest.raises(OtherwiseError, match="The settings now in force are not those that"):
        stage.run(*CYCLES, before=replace(stored, settings_digest="another"))
    assert stage.store.result is None
