"""Every sentence of attestations, in one in which it is true and in one in which it would be false."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from attest_doubles import DISK_BYTES, Worker
from attest_scenes import NONE, Stage, all_at, only_the_first, outcome_of, staged
from attestation_samples import SPEC, attestation, cut, cycle, outcome, witness
from cut_samples import cut as read_after
from history_files import TRIAL, record, write
from sentence_scenes import Scene, Texts, make_tests
from sentence_scenes import Stage as Place
from sentence_templates import Claim, claims_of, modules_of
from wrong_servers import AcknowledgesBeforeItWrites, Honest, LacksInOneCopy

from tidegauge.attestation.data_files import Copy
from tidegauge.attestation.evidence import RecordKind, read_history
from tidegauge.attestation.judging import judge_scenarios, promise_of_level
from tidegauge.attestation.record import attestation_of, earlier_cuts
from tidegauge.attestation.scenario import describe_scenario, why_impossible
from tidegauge.attestation.words import attest_outcome, attest_sentences
from tidegauge.campaign.run import running_trial
from tidegauge.errors import GeneratorFailedError, StartFailedError
from tidegauge.model.attest import (
    Attestation,
    AttestOutcome,
    AttestPlan,
    AttestVerdict,
    CycleOutcome,
    FileSystem,
    Means,
    Scenario,
)
from tidegauge.model.level import LevelChoice
from tidegauge.model.server import Setting
from tidegauge.worker.api import LoadOrder, OnProgress, ignore_progress

MODULES = [*modules_of("attestation"), "campaign/run/trial/attest_cycle.py", "campaign/run/trial/attest.py"]

LOSING = outcome(cycle(lost=300))


def said(subject: AttestOutcome, control: AttestOutcome | None = LOSING, level: int = 1) -> Scene:
    """What is said of an attestation of three nodes that all lose their power."""

    def scene(_: Place) -> Sequence[str]:
        judged = judge_scenarios(level, 3, [Scenario.ALL], subject, control)
        return attest_sentences(LevelChoice(level), Means.POWER, FileSystem.EXT4, judged)

    return scene


def promised(level: int, scenario: Scenario, nodes: int) -> Scene:
    return lambda _: promise_of_level(level, scenario, nodes).why


def counted(**figures: int) -> Scene:
    """Nothing broken, and this beside."""
    return said(outcome(cycle(figures={"broken": 0, "kept": 4000, **figures})))


def negative(**changes: Any) -> Scene:
    return said(AttestOutcome("", (cycle(Scenario.NONE, cuts=0, **changes), cycle())))


GONE = {"figures": {}, "unreadable": ("kafka-1 never served again",)}
JUDGED: dict[str, Scene] = {
    "nothing is lost": said(outcome(cycle())),
    "1 message is lost": said(outcome(cycle(), cycle(lost=1))),
    "1 message is lost as the level allows": said(outcome(cycle(lost=1)), None, 2),
    "1 message is damaged where the level allows losses": said(
        outcome(cycle(figures={"kept": 3999, "corrupt": 1, "broken": 1}, witness=witness())), None, 2
    ),
    "the lost are in data files": said(outcome(cycle(lost=3, in_files=2, files=("node 1, log at byte 7",)))),
    "a cut before the first message": said(outcome(cycle(cuts=(cut(write_age_s=math.inf),)))),
    "a cut after half a minute": said(outcome(cycle(cuts=(cut(write_age_s=31.0),)))),
    "3 messages at risk": said(outcome(cycle(cuts=(cut(at_risk=3),)))),
    "100 messages at risk": said(outcome(cycle(cuts=(cut(at_risk=100),)))),
    "a cut that did not count beside one that did": said(outcome(cycle(), cycle(cuts=(cut(at_risk=3),)))),
    "servers that do not come back": said(outcome(cycle(), cycle(**GONE))),
    "no cut": said(outcome()),
    "a negative control that loses": negative(lost=1),
    "a negative control that can't be read": negative(**GONE),
    "no negative control": said(AttestOutcome("", (cycle(),))),
    "no positive control": said(outcome(cycle()), outcome()),
    "a positive control that loses nothing": said(outcome(cycle()), outcome(cycle(), cycle())),
    "a positive control that can't be read": said(outcome(cycle()), outcome(cycle(), cycle(**GONE))),
    "an unknown outcome that survived": counted(unknown_kept=1),
    "an unknown outcome that is gone": counted(unknown_gone=1),
    "a refused message that is kept": counted(refused_kept=1),
    "a refused message that is gone": counted(refused_gone=1),
    "a position that moved back": counted(positions_moved_back=1),
    "a position that is lost": counted(positions_lost=1),
    "a damaged file system": said(outcome(cycle(cuts=(cut(checks={"disk-1": "inode 12 is wrong"}),)))),
    "a cut of a log that rolled": said(outcome(cycle(cuts=(cut(files_begun=2),)))),
    "a cut of a log that did not roll": said(outcome(cycle(cuts=(cut(files_begun=0),)))),
    "an odd history": said(outcome(cycle(doubts=("cut short",)))),
}


def carrying(**changes: Any) -> Scene:
    return lambda _: str(earlier_cuts([attestation(**changes)]))


MIXED = (cycle(lost=7), cycle(figures={"lost": 7, "corrupt": 2, "broken": 9}, witness=witness()))


def kept_of(cycles: Sequence[CycleOutcome]) -> Attestation:
    """What is kept of these cycles of all nodes."""
    (judged,) = judge_scenarios(1, 3, [Scenario.ALL], outcome(*cycles), LOSING)
    return attestation_of(SPEC, judged, outcome(*cycles))


def possible(scenario: Scenario, nodes: int) -> Scene:
    return lambda _: why_impossible(scenario, nodes) or "possible"


def line(*cycles: Any) -> Scene:
    plan = AttestPlan((), Means.POWER, FileSystem.EXT4, 1 << 30, 5.0)
    return lambda _: attest_outcome(plan, outcome(*cycles))


def written(*records: bytes, cut_bytes: int = 0) -> Scene:
    """Doubts about a history of these records, which lacks its last bytes."""

    def scene(place: Place) -> Sequence[str]:
        path = write(place.path, 0, record(RecordKind.INVOKED, 0, 100), *records)
        path.write_bytes(path.read_bytes()[: len(path.read_bytes()) - cut_bytes])
        return read_history(place.path, TRIAL).doubts

    return scene


ACKNOWLEDGED = record(RecordKind.ACKNOWLEDGED, 0, 110)
PURE: dict[str, Scene] = {
    **{
        f"level {level}, {scenario.value}, {nodes} nodes": promised(level, scenario, nodes)
        for level, scenario, nodes in (
            *((1, Scenario.ALL, 3), (2, Scenario.ALL, 3), (2, Scenario.ONE, 3), (2, Scenario.LAGGING_MAJORITY, 3)),
            *((3, Scenario.ALL, 1), (3, Scenario.ALL, 3), (3, Scenario.ONE, 3), (4, Scenario.ALL, 1)),
        )
    },
    **{
        f"{means.value}: {scenario.value}": (
            lambda _, scenario=scenario, means=means: describe_scenario(scenario, means)
        )
        for scenario in Scenario
        for means in Means
    },
    "refuted by a loss": carrying(verdict=AttestVerdict.REFUTED, lost=7, losing_cuts=1),
    "refuted by damage": carrying(verdict=AttestVerdict.REFUTED, lost=0, losing_cuts=1),
    "refuted by a loss and by damage": lambda _: str(
        earlier_cuts(
            [
                attestation(verdict=AttestVerdict.REFUTED, lost=7, losing_cuts=1),
                attestation(verdict=AttestVerdict.REFUTED, scenario=Scenario.ONE, losing_cuts=2),
            ]
        )
    ),
    "refuted by a loss and by damage in one scenario": lambda _: str(earlier_cuts([kept_of(MIXED)])),
    "a loss that the level allows": carrying(verdict=AttestVerdict.REFUTED, lost=7, losing_cuts=1, promised=False),
    "a lagging majority of 2 nodes": possible(Scenario.LAGGING_MAJORITY, 2),
    "a lagging majority of 3 nodes": possible(Scenario.LAGGING_MAJORITY, 3),
    "the leader of 1 node": possible(Scenario.LEADER, 1),
    "the leader of 3 nodes": possible(Scenario.LEADER, 3),
    "a line on cuts that were read after": line(cycle()),
    "a line on a cut that was not read after": line(cycle(**GONE)),
    "a line on a cut that lost and damaged": line(*MIXED),
    "a record cut short": written(ACKNOWLEDGED, cut_bytes=3),
    "an outcome of what was never sent": written(ACKNOWLEDGED, record(RecordKind.ACKNOWLEDGED, 9, 50)),
    "two outcomes": written(ACKNOWLEDGED, record(RecordKind.UNKNOWN, 0, 120)),
    "a partition that is not read to its end": lambda _: read_after(unreadable=True, kept=3),
    "a partition that lacks its last message": lambda _: read_after(kept=3),
}


def carried_out(
    run: Callable[[Stage], Any], find: Callable[..., Mapping[Any, Any]] | None = None, **changes: Any
) -> Scene:
    """What an attestation of servers in memory came to, and what was shown meanwhile."""

    def scene(place: Place) -> Any:
        stage = staged(place.path, place.patch)
        stage.world.find = find or stage.world.find
        for name, value in changes.items():
            place.patch.setattr(name.replace("__", "."), value)
        try:
            found: Any = outcome_of(run(stage))
        except StartFailedError as error:
            found = error
        return found, stage.events

    return scene


def in_first_file(directories: Sequence[Path], _: int, wanted: Sequence[Any]) -> Mapping[Any, Any]:
    return {wanted[0]: (Copy(directories[0] / "00.log", 64),)}


def refuse(*_: Any) -> Any:
    raise StartFailedError("kafka-1 can't be started: port taken.")


def start_once() -> Callable[..., Any]:
    """Starts servers the first time only."""
    left = [running_trial.start_servers]
    return lambda *arguments: left.pop()(*arguments) if left else refuse()


def with_disk_that_fills(stage: Stage) -> Any:
    stage.world.free_after_cycles[1] = DISK_BYTES // 3
    return stage.run(NONE, all_at())


def with_load_generator_that_fails_once(stage: Stage) -> Any:
    prepare, errors = Worker.prepare, [GeneratorFailedError("Killed by signal 9.")]

    def fails(worker: Worker, order: LoadOrder, on_progress: OnProgress = ignore_progress) -> list[Setting]:
        if order.history_directory.endswith("0002") and errors:
            raise errors.pop()
        return prepare(worker, order, on_progress)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Worker, "prepare", fails)
        return stage.run(NONE, all_at())


PROCEDURES: dict[str, Scene] = {
    "an attestation": carried_out(lambda stage: stage.run(NONE, all_at())),
    "an attestation whose servers do not start": carried_out(
        lambda stage: stage.run(NONE, all_at()), tidegauge__campaign__run__running_trial__start_servers=refuse
    ),
    "an attestation that goes on": carried_out(
        lambda stage: stage.run(NONE, all_at(), all_at(number=3), before=outcome_before(stage))
    ),
    "lost messages in a data file": carried_out(
        lambda stage: stage.run(all_at(), server=AcknowledgesBeforeItWrites()), in_first_file
    ),
    "lost messages in no data file": carried_out(
        lambda stage: stage.run(all_at(), server=AcknowledgesBeforeItWrites())
    ),
    "a copy that lacks messages": carried_out(
        lambda stage: stage.run(all_at(), server=LacksInOneCopy(), nodes=3, replicas=True)
    ),
    "copies that clients can't choose": carried_out(
        lambda stage: stage.run(all_at(), server=LacksInOneCopy(), nodes=3, replicas=False)
    ),
    "servers that never serve again": carried_out(
        lambda stage: stage.run(all_at(), server=Honest(), never_again=True), only_the_first
    ),
    "servers that new ones replace": carried_out(
        lambda stage: stage.run(all_at(), all_at(number=3), server=Honest(), never_again=True)
    ),
    "servers that no new ones replace": carried_out(
        lambda stage: stage.run(all_at(), all_at(number=3), server=Honest(), never_again=True),
        tidegauge__campaign__run__running_trial__start_servers=start_once(),
    ),
    "a disk that is nearly full": carried_out(with_disk_that_fills),
    "a load generator that fails once": carried_out(with_load_generator_that_fails_once),
}


def outcome_before(stage: Stage) -> AttestOutcome:
    """What the first cycle found in an earlier session."""
    before = outcome_of(stage.run(NONE))
    stage.store.data_directory.mkdir(exist_ok=True)
    stage.events.clear()
    for left in (stage.store.directory / "evidence").iterdir():
        left.rename(left.with_name(f"{left.name}-before"))
    return before


SCENES = {**JUDGED, **PURE, **PROCEDURES}
CLAIMS = [
    # attestation/judging.py
    Claim("a majority has each acknowledged", "level 1, all, 3 nodes", "level 2, all, 3 nodes"),
    Claim("the one copy is on disk before", "level 3, all, 1 nodes", "level 4, all, 1 nodes"),
    Claim("an acknowledged message may be in the memory", "level 4, all, 1 nodes", "level 3, all, 1 nodes"),
    Claim("a second copy is on a node that keeps", "level 2, one, 3 nodes", "level 2, all, 3 nodes"),
    Claim("all copies may be in memory only", "level 2, all, 3 nodes", "level 2, one, 3 nodes"),
    Claim("the majority that elects may be", "level 2, lagging-majority, 3 nodes", "level 2, one, 3 nodes"),
    Claim("the one copy on disk survives, but", "level 3, all, 3 nodes", "level 3, one, 3 nodes"),
    Claim("another node, which may not have", "level 3, one, 3 nodes", "level 3, all, 3 nodes"),
    Claim("REFUTED: {} broken in {} of {}; cut", "1 message is lost", "nothing is lost"),
    Claim("NOT REFUTED in {} with {} at risk", "nothing is lost", "1 message is lost"),
    Claim("cut {} came before the first message", "a cut before the first message", "a cut after half a minute"),
    Claim("cut {} came {} s after the newest write", "a cut after half a minute", "a cut before the first message"),
    Claim("cut {} had {}; at least {}", "3 messages at risk", "100 messages at risk"),
    Claim("after cut {} not everything", "servers that do not come back", "nothing is lost"),
    Claim("the negative control, without a cut, broke", "a negative control that loses", "1 message is lost"),
    Claim("the negative control (the same without", "no negative control", "nothing is lost"),
    Claim(
        "in the negative control not everything",
        "a negative control that can't be read",
        "servers that do not come back",
    ),
    Claim("the positive control (the same cut", "no positive control", "a positive control that loses nothing"),
    Claim("there was no cut", "no cut", "3 messages at risk"),
    Claim(
        "the positive control, with local sync off, could",
        "a positive control that can't be read",
        "a positive control that loses nothing",
    ),
    Claim(
        "the positive control lost nothing",
        "a positive control that loses nothing",
        "a positive control that can't be read",
    ),
    # attestation/classification.py
    Claim(
        "{}: partition {} of topic {}",
        "a partition that is not read to its end",
        "a partition that lacks its last message",
    ),
    # attestation/evidence.py
    Claim("{}: the last {} bytes are part", "a record cut short", "two outcomes"),
    Claim("{}: outcomes of messages that were never", "an outcome of what was never sent", "two outcomes"),
    Claim("{}: outcomes reported twice", "two outcomes", "an outcome of what was never sent"),
    # attestation/record.py
    Claim("damaged or not in every read after", "refuted by damage", "refuted by a loss"),
    Claim("{} lost in {} ({}{})", "refuted by a loss", "refuted by damage"),
    Claim(", and damaged or not in every read after", "refuted by a loss and by damage", "refuted by a loss"),
    Claim(
        ", and damaged or not in every read after",
        "refuted by a loss and by damage in one scenario",
        "refuted by a loss",
    ),
    Claim("; as the level allows, {}", "a loss that the level allows", "refuted by a loss"),
    # attestation/scenario.py
    Claim("no cut: the same procedure", "power: none", "crash: none"),
    Claim("all nodes lose their power", "power: all", "crash: all"),
    Claim("one node, drawn at random, loses", "power: one", "crash: one"),
    Claim("the node that leads the partition", "power: leader", "crash: leader"),
    Claim("each node in turn loses its power", "power: rolling", "crash: rolling"),
    Claim("one node is held back while", "power: lagging-majority", "crash: lagging-majority"),
    Claim("'{}' needs {} nodes", "a lagging majority of 2 nodes", "a lagging majority of 3 nodes"),
    Claim("'{}' needs several nodes", "the leader of 1 node", "the leader of 3 nodes"),
    # attestation/words.py
    Claim("level {} promises that nothing", "1 message is lost", "1 message is lost as the level allows"),
    Claim("level {} does not promise more", "1 message is lost as the level allows", "1 message is lost"),
    *claims_of(
        "1 message is lost as the level allows",
        "1 message is damaged where the level allows losses",
        "level {} does not promise more",
    ),
    *claims_of(
        "1 message is damaged where the level allows losses",
        "1 message is lost as the level allows",
        "level {} allows losses here, but no level",
    ),
    Claim("cuts that did not count", "a cut that did not count beside one that did", "100 messages at risk"),
    Claim("refused and yet kept", "a refused message that is kept", "a refused message that is gone"),
    Claim("committed positions moved back", "a position that moved back", "a position that is lost"),
    Claim("of unknown outcome that survived", "an unknown outcome that survived", "an unknown outcome that is gone"),
    Claim("file systems that a check found damaged", "a damaged file system", "an odd history"),
    Claim("odd about the histories", "an odd history", "a damaged file system"),
    Claim("{} had been begun under load, as logs", "a cut of a log that rolled", "a cut of a log that did not roll"),
    Claim("of {} lost messages {} are in", "the lost are in data files", "1 message is lost"),
    Claim("none of the {} lost messages", "1 message is lost", "the lost are in data files"),
    Claim("{}{}, {} of {} acknowledged messages lost", "a line on cuts that were read after", "nothing is lost"),
    Claim(
        ", {} damaged or not in every read",
        "a line on a cut that lost and damaged",
        "a line on cuts that were read after",
    ),
    Claim(
        "; after {} not everything could be read",
        "a line on a cut that was not read after",
        "a line on cuts that were read after",
    ),
    # campaign/run/trial/attest_cycle.py
    Claim("message {} of producer {}: {}", "lost messages in a data file", "lost messages in no data file"),
    Claim("node {}, {} at byte {}", "lost messages in a data file", "lost messages in no data file"),
    Claim("read from node {}", "a copy that lacks messages", "copies that clients can't choose"),
    # campaign/run/trial/attest.py
    Claim("{} of {} cycles were carried out before", "an attestation that goes on", "an attestation"),
    Claim("cycle {} could not be finished ({})", "servers that new ones replace", "an attestation"),
    Claim("in cycle {} the load generator failed ({})", "a load generator that fails once", "an attestation"),
    Claim("after cycle {} a disk is nearly full", "a disk that is nearly full", "an attestation"),
    Claim("{}: {}; new servers go on.", "servers that new ones replace", "servers that never serve again"),
    Claim(
        "{}: {}, and new servers could not go on: {}",
        "servers that no new ones replace",
        "servers that new ones replace",
    ),
]
texts, test_every_sentence_is_listed, test_a_sentence_is_said_where_it_is_true_and_not_beside = make_tests(
    MODULES, SCENES, CLAIMS
)


def test_a_crash_takes_nobodys_power(texts: Texts) -> None:
    for scenario in Scenario:
        (words,) = texts.of(f"crash: {scenario.value}")
        assert "power" not in words and "cut" not in words
    assert texts.of("crash: leader") == ("the node that leads the partition (of several the last) is killed",)


def test_servers_that_start_are_waited_for_as_those_of_other_trials_are(texts: Texts) -> None:
    waits = "until kafka@4.3.1 accepts and delivers"
    assert any(waits in text for text in texts.of("an attestation"))
    assert not any(waits in text for text in texts.of("an attestation whose servers do not start"))


def test_what_no_server_serves_is_not_said_to_be_kept(texts: Texts) -> None:
    assert any("kafka-1 was killed by signal 9" in text for text in texts.of("servers that never serve again"))


def test_damage_is_counted_beside_what_was_lost(texts: Texts) -> None:
    assert texts.of("refuted by a loss and by damage in one scenario") == (
        "REFUTED: 14 lost in 2 cuts (all), and damaged or not in every read after 1 of them",
    )
    (trial_line,) = texts.of("a line on a cut that lost and damaged")
    assert trial_line.endswith("14 of 12,000 acknowledged messages lost, 2 damaged or not in every read")
