"""Servers with a known fault are classified right, and judged right."""

from __future__ import annotations

from dataclasses import replace

import pytest
from histories import cut_result
from wrong_servers import (
    AcknowledgesBeforeItWrites,
    AnswersFromOneReplica,
    Damages,
    Duplicates,
    Honest,
    KeepsWhatItRefused,
    LacksInOneCopy,
    LosesEverything,
    LosesTheBeginning,
    LosesTheMiddle,
    MakesThingsUp,
    Reorders,
    drive,
)

from tidegauge.attestation.classification import Anomalies, find_anomalies
from tidegauge.attestation.evidence import History, Read, last_positions
from tidegauge.attestation.judging import Criteria, CutResult, Judgement, judge_cuts
from tidegauge.model.attest import AttestVerdict
from tidegauge.model.message import LOST, Fate

SMALL = Criteria(at_risk_min=10, in_flight_min=0)


def judged(server: Honest) -> tuple[History, Anomalies, int]:
    history, cut_ns = drive(server)
    reads = [server.read("first read", 0), server.read("second read", 1)]
    return history, find_anomalies(history, reads, cuts_ns=[cut_ns]), cut_ns


def as_cut(server: Honest, number: int = 1) -> CutResult:
    history, found, cut_ns = judged(server)
    return cut_result(history, found, number=number, scenario="all", nodes=(1, 2, 3), cut_mono_ns=cut_ns)


def verdict_on(server: Honest, cuts: int = 1) -> Judgement:
    """With controls as they should be."""
    return judge_cuts(
        [replace(as_cut(server), number=n + 1) for n in range(cuts)],
        as_cut(Honest()).cycle,
        [as_cut(AcknowledgesBeforeItWrites())],
        SMALL,
    )


def test_an_honest_server_is_clean() -> None:
    history, found, _ = judged(Honest())
    assert found.is_clean
    assert found.counts[Fate.KEPT] == int(history.acknowledged.sum())
    assert found.counts[Fate.UNKNOWN_KEPT] > 0
    assert found.counts[Fate.UNKNOWN_GONE] > 0
    assert found.witness is None


@pytest.mark.parametrize(
    ("server", "fate"),
    [
        (AcknowledgesBeforeItWrites(), Fate.LOST_LAST),
        (LosesTheMiddle(), Fate.LOST_MIDDLE),
        (LosesTheBeginning(), Fate.LOST_FIRST),
        (LosesEverything(), Fate.LOST_ALL),
        (AnswersFromOneReplica(), Fate.DIFFERENT),
        (Damages(), Fate.CORRUPT),
    ],
)
def test_what_breaks_the_promise_is_named_and_refutes(server: Honest, fate: Fate) -> None:
    _, found, _ = judged(server)
    assert found.counts[fate] > 0
    assert [other for other in (*LOST, Fate.CORRUPT, Fate.DIFFERENT) if other != fate and found.counts[other]] in (
        [],
        # The message whose header is damaged too can't be told from one that is gone.
        [Fate.LOST_MIDDLE] if fate is Fate.CORRUPT else [],
    )
    assert found.witness is not None
    assert found.witness.fate in (fate, Fate.LOST_MIDDLE)


@pytest.mark.parametrize(
    "server",
    [AcknowledgesBeforeItWrites(), LosesTheMiddle(), LosesTheBeginning(), LosesEverything(), AnswersFromOneReplica()],
)
def test_the_verdict_on_a_wrong_server(server: Honest) -> None:
    judgement = verdict_on(server)
    assert judgement.verdict is AttestVerdict.REFUTED
    assert judgement.witness is not None
    assert judgement.cut is not None
    assert judgement.sentence().startswith("REFUTED: ")
    assert str(judgement.witness.sent.sequence) in judgement.sentence()


def test_a_server_that_acknowledges_before_it_writes_loses_the_newest_before_the_cut() -> None:
    server = AcknowledgesBeforeItWrites(unwritten=5)
    history, found, cut_ns = judged(server)
    lost = [history.row(i) for i, fate in enumerate(found.fates) if fate in LOST]
    assert lost
    assert all(message.resolved_ns < cut_ns for message in lost)
    assert found.lost == found.counts[Fate.LOST_LAST] == len(lost)
    assert found.witness is not None
    # The plainest: acknowledged longest before the cut, with what its log holds at its place now.
    assert found.witness.before_cut_s == max((cut_ns - m.resolved_ns) / 1e9 for m in lost)
    assert found.witness.previous is not None
    assert found.witness.instead is not None
    assert "is at that position now" in found.witness.sentence()


def of_each_copy(server: Honest) -> tuple[History, list[Read], int]:
    """Two reads of what serves, and one of the copy of each of three nodes."""
    history, cut_ns = drive(server)
    copies = [server.read(f"read from node {node}", node=node) for node in (1, 2, 3)]
    return history, [server.read("first read", 0), server.read("second read", 1), *copies], cut_ns


def test_a_copy_that_lacks_what_the_others_have_is_named() -> None:
    history, reads, cut_ns = of_each_copy(LacksInOneCopy())
    found = find_anomalies(history, reads, cuts_ns=[cut_ns])
    # Whoever reads only what serves sees nothing wrong.
    assert find_anomalies(history, reads[:2], cuts_ns=[cut_ns]).is_clean
    # Three of each partition, those without an outcome among them too: they were found before.
    assert found.counts[Fate.DIFFERENT] == 6
    assert (found.lost, found.broken) == (0, sum(history.acknowledged[found.fates == Fate.DIFFERENT]))
    assert found.witness is not None
    assert found.witness.read == "read from node 2"
    assert "and the read from node 2 does not find it" in found.witness.sentence()


def test_a_message_that_only_one_copy_has_is_not_called_lost() -> None:
    history, reads, cut_ns = of_each_copy(LacksInOneCopy())
    found = find_anomalies(history, [reads[3], reads[2]], cuts_ns=[cut_ns])
    assert found.counts[Fate.DIFFERENT] == 6
    assert found.lost == 0


def test_a_copy_that_could_not_be_read_to_its_end_is_a_doubt_and_no_loss() -> None:
    history, reads, cut_ns = of_each_copy(LacksInOneCopy())
    short = tuple(replace(p, complete=False, why="broker 2 does not lead partition 0") for p in reads[3].partitions)
    reads[3] = replace(reads[3], partitions=short)
    found = find_anomalies(history, reads, cuts_ns=[cut_ns])
    assert found.broken == 0
    assert len(found.unreadable) == 2
    assert found.unreadable[0].startswith("read from node 2: partition 0 of topic 0 after ")
    assert not found.is_clean


def test_more_reads_count_nothing_twice() -> None:
    for server in (Honest(), Duplicates(), Reorders(), MakesThingsUp(), Damages()):
        history, reads, cut_ns = of_each_copy(server)
        several = find_anomalies(history, reads, cuts_ns=[cut_ns])
        assert several.figures() == find_anomalies(history, reads[:2], cuts_ns=[cut_ns]).figures(), server


def test_where_the_last_message_known_is() -> None:
    _, reads, _ = of_each_copy(server := AnswersFromOneReplica())
    assert last_positions(reads[1:2]) == {(0, p): len(server.logs[p]) - 7 for p in range(2)}
    assert last_positions(reads) == {(0, p): len(server.logs[p]) - 1 for p in range(2)}
    assert last_positions([Honest().read("first read")]) == {}


def test_a_loss_before_the_cut_is_the_last_part_although_producers_went_on() -> None:
    history, cut_ns = drive(server := AcknowledgesBeforeItWrites())
    reads = [server.read("first read")]
    assert find_anomalies(history, reads, cuts_ns=[cut_ns]).counts[Fate.LOST_LAST] > 0
    # Without knowing of the cut, there is something behind it.
    assert find_anomalies(history, reads).counts[Fate.LOST_MIDDLE] > 0


@pytest.mark.parametrize(
    ("server", "figure"),
    [
        (Duplicates(), "duplicated"),
        (Reorders(), "reordered"),
        (MakesThingsUp(), "phantom"),
        (KeepsWhatItRefused(), "refused_kept"),
    ],
)
def test_what_breaks_another_promise_is_counted_and_does_not_refute(server: Honest, figure: str) -> None:
    _, found, _ = judged(server)
    odd = {name: count for name, count in found.figures().items() if count and name in ODD}
    assert set(odd) == {figure} | ({"copies"} if figure == "duplicated" else set())
    assert not found.is_clean
    assert found.broken == 0
    assert verdict_on(server).verdict is AttestVerdict.NOT_REFUTED


ODD = ("lost", "different", "corrupt", "duplicated", "copies", "reordered", "phantom", "corrupt_found", "refused_kept")


def test_figures_of_a_duplicating_server() -> None:
    _, found, _ = judged(Duplicates())
    # Of 80 messages of each of two producers every tenth.
    assert found.duplicated == found.copies == 16


def test_figures_of_a_reordering_server() -> None:
    _, found, _ = judged(Reorders())
    assert found.reordered == 2


def test_figures_of_a_damaging_server() -> None:
    _, found, _ = judged(Damages())
    assert found.corrupt == 4
    assert found.counts[Fate.CORRUPT] == 2
    assert found.counts[Fate.LOST_MIDDLE] == 2


def test_many_cuts_of_an_honest_server() -> None:
    judgement = verdict_on(Honest(), cuts=60)
    assert judgement.verdict is AttestVerdict.NOT_REFUTED
    assert judgement.cuts == 60
    assert judgement.loss_per_cut_max == pytest.approx(1 - 0.05 ** (1 / 60))
    assert "NOT REFUTED in 60 cuts" in judgement.sentence()
    assert "4.9%" in judgement.sentence()
