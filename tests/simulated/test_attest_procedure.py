"""The procedure of an attestation on servers in memory, honest and known wrong ones: what is done in which order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from attest_doubles import DISK_BYTES, Deployment, Host, Rig, System, Worker
from attest_scenes import NONE, Stage, all_at, only_the_first, outcome_of, stage
from wrong_servers import (
    AcknowledgesBeforeItWrites,
    AnswersFromOneReplica,
    Duplicates,
    Honest,
    LacksInOneCopy,
    LosesTheMiddle,
)

from tidegauge.attestation.data_files import Copy
from tidegauge.attestation.evidence import History
from tidegauge.campaign.run import running_trial
from tidegauge.campaign.run.trial.attest import _AttestationTrial
from tidegauge.errors import AgentGoneError, GeneratorFailedError, RunFailedError, StartFailedError
from tidegauge.model.attest import Act, ActKind, AttestOutcome, Cycle, Means, Role, Scenario
from tidegauge.model.events import Note, PhaseProgress
from tidegauge.model.server import Setting
from tidegauge.model.trial import AttestResult
from tidegauge.plain import plain_value, typed_value
from tidegauge.worker.api import LoadOrder, OnProgress, ignore_progress

__all__ = ["stage"]


def test_an_honest_server_loses_nothing(stage: Stage) -> None:
    result = stage.run(NONE, all_at())
    negative, cut = outcome_of(result).cycles
    assert negative.figures["broken"] == cut.figures["broken"] == 0
    assert (negative.cuts, len(cut.cuts), cut.in_files) == ((), 1, None)
    assert cut.cuts[0].at_risk > 0
    assert cut.cuts[0].serve_s is not None
    assert cut.cuts[0].checks == {"disk-1": "clean"}
    assert cut.first_publish_s is not None
    assert result.level.level == 3
    assert typed_value(AttestOutcome, plain_value(outcome_of(result))) == outcome_of(result)


def test_each_step_has_its_place(stage: Stage) -> None:
    stage.run(all_at())
    order = [
        "disk disk-1 ext4",
        "deploy",
        "written back disk-1",
        "committed positions",
        "down 1",
        "cut kafka-1 on disk-1",
        "start 1",
        "rate 100",
        "stop producers",
        "read everything",
        "finish",
        "result stored",
        "deployment stopped",
        "removed disk-1",
    ]
    assert [entry for entry in stage.world.journal.entries if entry in order and entry != "committed positions"] == [
        *order[:3],
        *order[4:10],
        "read everything",
        *order[10:],
    ]
    assert stage.world.journal.index("committed positions") < stage.world.journal.index("down 1")


@pytest.mark.parametrize(
    ("server", "figure"),
    [
        (AcknowledgesBeforeItWrites(), "lost_last"),
        (LosesTheMiddle(), "lost_middle"),
        (Duplicates(), "duplicated"),
        (AnswersFromOneReplica(), "different"),
    ],
)
def test_known_wrong_servers_are_found_out(stage: Stage, server: Honest, figure: str) -> None:
    (cut,) = outcome_of(stage.run(all_at(), server=server)).cycles
    assert cut.figures[figure] > 0
    if cut.lost:
        assert cut.in_files == 0
        assert cut.witness is not None


@pytest.mark.parametrize(("nodes", "replicas", "found"), [(3, True, True), (3, False, False), (1, True, False)])
def test_each_nodes_copy_is_read_where_there_are_several_and_clients_choose(
    stage: Stage, nodes: int, replicas: bool, found: bool
) -> None:
    server = LacksInOneCopy()
    (cut,) = outcome_of(stage.run(all_at(), server=server, nodes=nodes, replicas=replicas)).cycles
    assert (cut.figures["different"] == 6) is found, cut.figures
    assert cut.figures["lost"] == 0
    entries = stage.world.journal.entries
    own = [entry for entry in entries if entry.startswith("read from node ")]
    assert len(own) == (nodes if found else 0)
    if found:
        ends = [((0, partition), len(log) - 1) for partition, log in enumerate(server.logs)]
        assert own == [f"read from node {node} up to {ends}" for node in (1, 2, 3)]
        # Last of all: after what it might change was read.
        assert entries.index(own[0]) > max(n for n, entry in enumerate(entries) if entry == "committed positions")
        assert cut.witness is not None
        assert cut.witness.read == "read from node 2"


def test_reads_are_given_where_the_last_messages_were_acknowledged_since_the_cut(stage: Stage) -> None:
    server = Honest()
    stage.run(NONE, server=server)
    assert stage.world.known == [{(0, partition): len(log) - 1 for partition, log in enumerate(server.logs)}] * 2


def test_what_is_lost_was_looked_for_in_the_data_files(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    sought: list[Any] = []

    def find(directories: Sequence[Path], trial_id: int, wanted: Any) -> Mapping[Any, Any]:
        sought.append((directories, wanted))
        return {wanted[0]: (Copy(directories[0] / "00.log", 64),)}

    stage.world.find = find
    (cut,) = outcome_of(stage.run(all_at(), server=AcknowledgesBeforeItWrites())).cycles
    ((directories, wanted),) = sought
    assert [directory.name for directory in directories] == ["kafka-1"]
    assert len(wanted) == cut.lost
    assert cut.in_files == 1
    assert cut.files[0].endswith("node 1, 00.log at byte 64")


def test_a_control_ends_with_its_first_loss(stage: Stage) -> None:
    cycles = [all_at(number=number) for number in range(1, 5)]
    found = outcome_of(stage.run(*cycles, server=AcknowledgesBeforeItWrites(), control=True))
    assert len(found.cycles) == 1


def test_held_nodes_are_released_whatever_happens(stage: Stage) -> None:
    lagging = Cycle(
        2,
        Scenario.LAGGING_MAJORITY,
        (
            Act(ActKind.HOLD, Role.FOLLOWER, 0.05, 1),
            Act(ActKind.HOLD, Role.FOLLOWER, 0.05, 2, when_acked=True),
            Act(ActKind.CUT, Role.LEADER, 0.0),
            Act(ActKind.RELEASE, Role.FOLLOWER, 0.0, 1),
        ),
    )
    (found,) = outcome_of(stage.run(lagging)).cycles
    assert stage.world.held == set()
    assert [cut.nodes for cut in found.cuts] == [(2,)]


def test_a_rolling_cycle_cuts_each_node_on_its_own_disk(stage: Stage) -> None:
    acts = tuple(Act(ActKind.CUT, Role.NODE, 0.1, number, until_complete=True) for number in (3, 1, 2))
    (found,) = outcome_of(stage.run(Cycle(2, Scenario.ROLLING, acts))).cycles
    cuts = [entry for entry in stage.world.journal.entries if entry.startswith("cut ")]
    assert cuts == [f"cut kafka-{number} on disk-{number}" for number in (3, 1, 2)]
    assert all(cut.serve_s is not None for cut in found.cuts)


@pytest.mark.parametrize(
    ("names", "begun"), [((), 0), (("64.log", "64.index", "64.timeindex", "128.log"), 2), (("00.index",), 0)]
)
def test_data_files_that_logs_begin_under_load_are_counted(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...], begun: int
) -> None:
    places: list[Path] = []
    start = Worker.start
    list_files = Host.list_data_files

    def list_and_note(host: Host, directories: Sequence[Path]) -> Sequence[str]:
        places[:] = directories
        for directory in directories:
            directory.mkdir(parents=True, exist_ok=True)
            (directory / "00.log").touch()
        return list_files(host, directories)

    def roll(worker: Worker, in_s: float = 0.1) -> int:
        for name in names:
            (places[0] / name).touch()
        return start(worker, in_s)

    monkeypatch.setattr(Host, "list_data_files", list_and_note)
    monkeypatch.setattr(Worker, "start", roll)
    (cycle,) = outcome_of(stage.run(all_at())).cycles
    assert [cut.files_begun for cut in cycle.cuts] == [begun]


def test_a_second_cut_comes_before_the_servers_serve(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    after_ns: list[int] = []
    monkeypatch.setattr(History, "last_positions", lambda _, at_ns: after_ns.append(at_ns) or {})
    monkeypatch.setattr(History, "first_acknowledged_after", lambda _, at_ns: after_ns.append(at_ns) or at_ns + 10**9)
    (found,) = outcome_of(stage.run(all_at(again_after_s=0.05))).cycles
    assert stage.world.journal.entries.count("cut kafka-1 on disk-1") == 2
    (cut,) = found.cuts
    assert cut.cuts == 2
    assert cut.frozen_mono_ns == stage.world.frozen_ns[0], "what was acknowledged is at risk in the first of the two"
    assert after_ns == [stage.world.frozen_ns[1]] * 2, "what was published between the two may be gone"
    assert found.first_publish_s == 1.0


@pytest.fixture
def late(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last acknowledgement before the first cut arrives only after it, before the disks are mounted again."""
    stop_producers = Worker.stop_producers

    def delay_the_last(worker: Worker, grace_s: float) -> int:
        worker.stopping.set()
        worker.thread.join()
        frozen_ns = worker.world.frozen_ns[0]
        last = max(place for place, (mono_ns, *_) in enumerate(worker.records) if mono_ns < frozen_ns)
        worker.records[last] = (frozen_ns + 500, *worker.records[last][1:])
        return stop_producers(worker, grace_s)

    monkeypatch.setattr(Worker, "stop_producers", delay_the_last)


@pytest.mark.usefixtures("late")
@pytest.mark.parametrize(
    ("scenario", "act", "judged_after"),
    [
        (Scenario.ALL, Act(ActKind.CUT, Role.ALL, 0.1), 0),
        (Scenario.ALL, Act(ActKind.CUT, Role.ALL, 0.1, again_after_s=0.05), 0),
        # It may be of a node that goes on.
        (Scenario.ONE, Act(ActKind.CUT, Role.NODE, 0.1, 1), 1),
    ],
)
def test_what_arrives_while_all_nodes_are_down_was_acknowledged_before_the_cut(
    stage: Stage, scenario: Scenario, act: Act, judged_after: int
) -> None:
    (cut,) = outcome_of(stage.run(Cycle(2, scenario, (act,)), server=AcknowledgesBeforeItWrites())).cycles
    assert cut.figures["lost_first"] == judged_after
    assert cut.figures["lost_last"] > 0


@pytest.mark.usefixtures("late")
def test_what_arrives_while_all_nodes_are_down_is_looked_for_in_data_files_too(stage: Stage) -> None:
    stage.world.find = only_the_first
    (cut,) = outcome_of(stage.run(all_at(0.1), never_again=True)).cycles
    assert cut.lost == cut.cuts[0].at_risk, "all but the first, and of those at risk all but the late one"


def test_servers_that_never_serve_again_are_reported_and_replaced_until_the_third_in_a_row(stage: Stage) -> None:
    cycles = [NONE, *(all_at(number=number) for number in range(2, 7)), Cycle(7, Scenario.NONE, (), tail_s=0.1)]
    found = outcome_of(stage.run(*cycles, never_again=True)).cycles
    assert [(cycle.number, cycle.served) for cycle in found] == [
        (1, True),
        (2, False),
        (3, False),
        (4, False),
        (7, True),
    ]
    assert found[1].figures == {}
    assert "killed by signal 9" in found[1].unreadable[0]
    assert stage.world.journal.entries.count("deploy") == stage.world.journal.entries.count("deployment stopped") == 4
    assert stage.world.journal.entries.count("disk disk-1 ext4") == stage.world.journal.entries.count("removed disk-1")
    assert stage.world.journal.entries.count("result stored") == 1
    notes = [event.text for event in stage.events if isinstance(event, Note)]
    name = "0001-attest-kafka-cuts"
    assert notes == [
        f"{name}: cycle {number} could not be finished (kafka-1 was killed by signal 9); new servers go on."
        for number in (2, 3, 4)
    ]


def test_new_servers_that_serve_again_go_on_with_the_same_scenario(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    start_node = Deployment.start_node

    def first_dies(deployment: Deployment, number: int) -> None:
        deployment.never_again = stage.world.journal.entries.count("deploy") == 1
        start_node(deployment, number)

    monkeypatch.setattr(Deployment, "start_node", first_dies)
    result = stage.run(NONE, *(all_at(number=number) for number in range(2, 6)))
    assert [(cycle.number, cycle.served) for cycle in outcome_of(result).cycles] == [
        (1, True),
        (2, False),
        (3, True),
        (4, True),
        (5, True),
    ]
    assert stage.store.cycles_stored == outcome_of(result)


def test_what_was_found_is_the_result_where_no_new_servers_can_be_had(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    deploy = System.deploy

    def only_once(system: System, *order: Any) -> Deployment:
        if "deploy" in stage.world.journal.entries:
            raise StartFailedError("kafka-1 ended with exit code 1: no port is free.")
        return deploy(system, *order)

    monkeypatch.setattr(System, "deploy", only_once)
    result = stage.run(NONE, all_at(), all_at(number=3), never_again=True)
    assert [cycle.number for cycle in outcome_of(result).cycles] == [1, 2]
    assert stage.store.result == result
    notes = [event.text for event in stage.events if isinstance(event, Note)]
    assert notes[-1].endswith(", and new servers could not go on: kafka-1 ended with exit code 1: no port is free.")


def fail_to_remove_disk(monkeypatch: pytest.MonkeyPatch, time: int) -> None:
    """The end of the servers fails this time, counted from 1."""
    remove_disk, times = Rig.remove_disk, [0]

    def fails_once(rig: Rig, place: Path) -> None:
        remove_disk(rig, place)
        times[0] += 1
        if times[0] == time:
            raise RunFailedError("disk-1 is busy.")

    monkeypatch.setattr(Rig, "remove_disk", fails_once)


def test_what_was_found_is_the_result_where_the_end_of_servers_that_are_gone_fails(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_to_remove_disk(monkeypatch, 1)
    result = stage.run(NONE, all_at(), all_at(number=3), never_again=True)
    assert [cycle.number for cycle in outcome_of(result).cycles] == [1, 2]
    assert stage.store.result == result


def test_no_shorter_result_takes_the_place_of_a_whole_one(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_to_remove_disk(monkeypatch, 2)
    start_node = Deployment.start_node

    def first_dies(deployment: Deployment, number: int) -> None:
        deployment.never_again = stage.world.journal.entries.count("deploy") == 1
        start_node(deployment, number)

    monkeypatch.setattr(Deployment, "start_node", first_dies)
    with pytest.raises(RunFailedError, match="disk-1 is busy"):
        stage.run(NONE, all_at(), all_at(number=3))
    assert isinstance(stage.store.result, AttestResult)
    assert [cycle.number for cycle in outcome_of(stage.store.result).cycles] == [1, 2, 3]


def test_a_cycle_that_fails_first_on_new_servers_is_kept_like_any_other(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare = Worker.prepare

    def fails_in_third(worker: Worker, order: LoadOrder, on_progress: OnProgress = ignore_progress) -> list[Setting]:
        if order.history_directory.endswith(("0002", "0003")):
            raise RunFailedError("The topic could not be made.")
        return prepare(worker, order, on_progress)

    monkeypatch.setattr(Worker, "prepare", fails_in_third)
    result = stage.run(NONE, all_at(), all_at(number=3), all_at(number=4))
    assert [(cycle.number, cycle.served) for cycle in outcome_of(result).cycles] == [
        (1, True),
        (2, False),
        (3, False),
        (4, True),
    ]
    assert stage.world.journal.entries.count("deploy") == 3
    assert result.level.level == 3


def test_the_level_is_known_though_the_last_servers_came_to_no_cycle(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare = Worker.prepare

    def fails_later(worker: Worker, order: LoadOrder, on_progress: OnProgress = ignore_progress) -> list[Setting]:
        if not order.history_directory.endswith("0001"):
            raise RunFailedError("The topic could not be made.")
        return prepare(worker, order, on_progress)

    monkeypatch.setattr(Worker, "prepare", fails_later)
    result = stage.run(NONE, all_at(), all_at(number=3))
    assert [cycle.served for cycle in outcome_of(result).cycles] == [True, False, False]
    assert result.level.level == 3


def test_what_is_in_no_data_file_is_lost_though_nothing_serves(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    stage.world.find = only_the_first
    (cut,) = outcome_of(stage.run(all_at(), never_again=True)).cycles
    assert not cut.served
    assert "killed by signal 9" in cut.unreadable[0]
    assert (cut.figures["kept"], cut.in_files) == (0, 0)
    assert cut.figures["broken"] == cut.lost > 0
    # One is in a file that nobody serves, and what was acknowledged after the cut is not judged by it.
    assert cut.figures["unreadable"] == cut.acked - cut.lost >= 1
    assert cut.witness is not None
    assert cut.witness.cut == 0


def test_nothing_is_lost_while_a_node_that_kept_its_power_may_hold_it(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.world.find = only_the_first
    one = Cycle(2, Scenario.ONE, (Act(ActKind.CUT, Role.NODE, 0.3, 1),))
    (cut,) = outcome_of(stage.run(one, never_again=True)).cycles
    assert (cut.served, cut.figures, cut.witness) == (False, {}, None)


def test_servers_that_can_not_be_started_again_were_cut_all_the_same(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> None:
        raise StartFailedError("kafka-1 ended with exit code 1.")

    monkeypatch.setattr(Deployment, "start_node", fails)
    (found,) = outcome_of(stage.run(all_at())).cycles
    assert found.unreadable == ("kafka-1 ended with exit code 1.",)
    (cut,) = found.cuts
    assert cut.at_risk > 0
    assert cut.restart_s is None


def test_a_cycle_that_can_not_be_carried_out_costs_none_before_it(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare = Worker.prepare

    def fails_later(worker: Worker, order: LoadOrder, on_progress: OnProgress = ignore_progress) -> list[Setting]:
        if order.history_directory.endswith("0003"):
            raise RunFailedError("The topic could not be made.")
        return prepare(worker, order, on_progress)

    monkeypatch.setattr(Worker, "prepare", fails_later)
    cycles = outcome_of(stage.run(NONE, all_at(), all_at(number=3), all_at(number=4))).cycles
    assert [(cycle.number, len(cycle.cuts), cycle.unreadable) for cycle in cycles] == [
        (1, 0, ()),
        (2, 1, ()),
        (3, 0, ("The topic could not be made.",)),
        (4, 1, ()),
    ]


def fail_in_cycle(monkeypatch: pytest.MonkeyPatch, number: int, error: RunFailedError, times: int) -> None:
    """The load generator fails so many times in this cycle."""
    prepare, left = Worker.prepare, [times]

    def fails(worker: Worker, order: LoadOrder, on_progress: OnProgress = ignore_progress) -> list[Setting]:
        if order.history_directory.endswith(f"{number:04d}") and left[0] > 0:
            left[0] -= 1
            raise error
        return prepare(worker, order, on_progress)

    monkeypatch.setattr(Worker, "prepare", fails)


def test_a_load_generator_that_failed_says_nothing_of_the_servers_and_the_cycle_is_made_again(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_in_cycle(monkeypatch, 3, GeneratorFailedError("The load generator was killed by signal 9."), 2)
    result = stage.run(NONE, all_at(), all_at(number=3), all_at(number=4))
    assert [(cycle.number, len(cycle.cuts), cycle.unreadable) for cycle in outcome_of(result).cycles] == [
        (1, 0, ()),
        (2, 1, ()),
        (3, 1, ()),
        (4, 1, ()),
    ]
    notes = [event.text for event in stage.events if isinstance(event, Note)]
    why = "in cycle 3 the load generator failed (The load generator was killed by signal 9)"
    assert notes == [f"0001-attest-kafka-cuts: {why}; new servers go on."] * 2


@pytest.mark.parametrize(
    ("error", "times"), [(GeneratorFailedError("Killed by signal 9."), 3), (AgentGoneError("The agent has ended."), 1)]
)
def test_where_nothing_goes_on_cycles_stay_for_the_run_that_resumes(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, error: RunFailedError, times: int
) -> None:
    fail_in_cycle(monkeypatch, 3, error, times)
    cycles = [NONE, all_at(), all_at(number=3), all_at(number=4)]
    with pytest.raises(RunFailedError, match=error.message):
        stage.run(*cycles)
    assert stage.store.result is None, "no shorter result is taken for the whole one"
    before = stage.store.cycles_stored
    assert before is not None
    assert [cycle.number for cycle in before.cycles] == [1, 2]
    # The next session has a directory of its own.
    stage.store.make_data_directories()
    resumed = outcome_of(stage.run(*cycles, before=before))
    assert [(cycle.number, cycle.served) for cycle in resumed.cycles] == [(number, True) for number in (1, 2, 3, 4)]


def test_new_servers_take_over_before_a_disk_is_full(stage: Stage) -> None:
    free_after = stage.world.free_after_cycles
    free_after.update({1: DISK_BYTES // 2, 2: DISK_BYTES // 3})
    result = stage.run(NONE, all_at(), all_at(number=3), all_at(number=4))
    assert [cycle.served for cycle in outcome_of(result).cycles] == [True] * 4
    assert stage.world.journal.entries.count("deploy") == 2
    notes = [event.text for event in stage.events if isinstance(event, Note)]
    assert notes == ["0001-attest-kafka-cuts: after cycle 2 a disk is nearly full; new servers go on."]


def test_nobody_takes_over_where_no_cycle_is_left(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []
    has_full_disk = _AttestationTrial._has_full_disk
    monkeypatch.setattr(_AttestationTrial, "_has_full_disk", lambda trial: looked.append(1) or has_full_disk(trial))
    stage.world.free_after_cycles[2] = DISK_BYTES // 3
    stage.run(NONE, all_at())
    assert stage.world.journal.entries.count("deploy") == 1
    assert len(looked) == 1, "a disk that can't be asked any more costs no whole trial"


def test_a_node_that_does_not_answer_yet_is_asked_again(stage: Stage) -> None:
    (cut,) = outcome_of(stage.run(all_at(), mute=3)).cycles
    assert cut.unreadable == ()
    assert cut.figures["broken"] == 0


def test_one_that_never_answers_is_reported_with_its_reason(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running_trial, "READY_S_MAX", 0.5)
    (cut,) = outcome_of(stage.run(all_at(), mute=1_000_000, serve_s_max=0.5)).cycles
    assert cut.figures == {}
    assert "within 0 s: The bookie's settings could not be read back: connection refused" in cut.unreadable[0]


def test_a_crash_makes_no_disks_and_cuts_nothing(stage: Stage) -> None:
    stage.run(all_at(), means=Means.CRASH)
    entries = stage.world.journal.entries
    assert "killed kafka-1" in entries
    assert not any(entry.startswith(("disk", "cut")) for entry in entries)


def test_a_level_that_is_not_in_force_is_not_attested(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any) -> None:
        raise RunFailedError("kafka@4.3.1 is not at durability level 3.")

    monkeypatch.setattr("tidegauge.campaign.run.trial.attest.checked_level", refused)
    with pytest.raises(RunFailedError, match="not at durability level"):
        stage.run(all_at())
    assert not any(entry.startswith("cut") for entry in stage.world.journal.entries)
    assert "removed disk-1" in stage.world.journal.entries


def test_progress_says_how_many_cycles_and_how_long_yet(stage: Stage) -> None:
    stage.run(NONE, all_at(), all_at(number=3))
    progress = [event for event in stage.events if isinstance(event, PhaseProgress)]
    assert [(event.done, event.total) for event in progress] == [(0, 3), (1, 3), (2, 3)]
    assert progress[0].seconds_left is None
    assert progress[2].seconds_left is not None
