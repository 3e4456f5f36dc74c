"""Classification on small histories by hand, and what holds for all of them."""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from histories import history_of
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegauge.attestation.classification import Anomalies, find_anomalies, moved_back
from tidegauge.attestation.evidence import History, Read, RecordKind, read_history, read_of
from tidegauge.model.message import (
    LOST,
    CommittedPosition,
    CommittedPositions,
    Fate,
    Flag,
    FoundMessage,
    PartitionRead,
    PositionChange,
    SendOutcome,
    Sent,
)

ACKED, UNKNOWN, REFUSED = SendOutcome.ACKNOWLEDGED, SendOutcome.UNKNOWN, SendOutcome.REFUSED


def acked(*sequences: int, producer: int = 0, partition: int = 0) -> list[Sent]:
    return [Sent(producer, s, 10 * s, ACKED, 10 * s + 5, partition, s) for s in sequences]


def there(*sequences: int, producer: int = 0, partition: int = 0) -> list[FoundMessage]:
    return [FoundMessage(producer, s, partition, s) for s in sequences]


def fates(found: Anomalies) -> list[Fate]:
    return [Fate(int(fate)) for fate in found.fates]


def test_nothing_sent_and_nothing_found() -> None:
    found = find_anomalies(history_of([]), [read_of("r", [])])
    assert found.is_clean
    assert found.invoked == 0


def test_without_a_read_there_is_no_judgement() -> None:
    with pytest.raises(ValueError, match="nothing to judge without a read"):
        find_anomalies(history_of(acked(0)), [])


def test_the_places_of_losses_in_a_stream() -> None:
    found = find_anomalies(history_of(acked(*range(8))), [read_of("r", there(2, 3, 5, 6))])
    first, middle, last, kept = Fate.LOST_FIRST, Fate.LOST_MIDDLE, Fate.LOST_LAST, Fate.KEPT
    assert fates(found) == [first, first, kept, kept, middle, kept, kept, last]
    assert found.lost == found.broken == 4
    assert found.witness is not None
    assert found.witness.sentence() == (
        "message 0 of producer 0 was acknowledged to partition 0 at position 0, and is gone: "
        "what is left begins with message 2"
    )


def test_partitions_are_streams_of_their_own() -> None:
    sent = acked(0, 2, 4) + acked(1, 3, 5, partition=1)
    found = find_anomalies(history_of(sent), [read_of("r", there(0, 2, 4) + there(1, partition=1))])
    # By sequence alone, 3 would be in the middle.
    assert fates(found) == [Fate.KEPT] * 3 + [Fate.LOST_LAST, Fate.KEPT, Fate.LOST_LAST]


def test_without_partitions_a_producer_is_a_stream() -> None:
    sent = [Sent(0, s, s, ACKED, s + 1) for s in range(4)]
    found = find_anomalies(history_of(sent), [read_of("r", there(0, 3))])
    assert fates(found) == [Fate.KEPT, Fate.LOST_MIDDLE, Fate.LOST_MIDDLE, Fate.KEPT]


def test_cuts_part_a_stream() -> None:
    history = history_of(acked(*range(9)))
    reads = [read_of("r", there(0, 1, 3, 6, 7, 8))]
    found = find_anomalies(history, reads, cuts_ns=[58, 28])
    # Before 28: 0 to 2. Before 58: 3 to 5. After: the rest.
    assert fates(found)[2] is Fate.LOST_LAST
    assert fates(found)[4:6] == [Fate.LOST_LAST, Fate.LOST_LAST]
    assert found.witness is not None
    assert (found.witness.sent.sequence, found.witness.cut) == (4, 1)
    assert found.witness.before_cut_s == pytest.approx(13e-9)


def test_an_acknowledgement_that_arrives_while_all_is_down_was_sent_before_the_cut() -> None:
    history = history_of(acked(*range(6)))
    reads = [read_of("r", there(0, 4, 5))]
    # Cut after the acknowledgement of 1 (15), started again before that of 4 (45).
    assert fates(find_anomalies(history, reads, cuts_ns=[20]))[2] is Fate.LOST_FIRST
    found = find_anomalies(history, reads, cuts_ns=[20], back_ns=[40])
    assert fates(found)[1:4] == [Fate.LOST_LAST] * 3
    assert found.witness is not None
    assert found.witness.sent.sequence == 1
    assert found.witness.before_cut_s == pytest.approx(5e-9)
    with pytest.raises(ValueError, match="zip"):
        find_anomalies(history, reads, cuts_ns=[20, 50], back_ns=[40])


def test_unknown_and_refused_messages() -> None:
    sent = [
        *acked(0, 1),
        Sent(0, 2, 20),
        Sent(0, 3, 30, UNKNOWN, 35),
        Sent(0, 4, 40, REFUSED, 41),
        Sent(0, 5, 50, REFUSED),
    ]
    found = find_anomalies(history_of(sent), [read_of("r", there(0, 1, 3, 5))])
    assert fates(found)[2:] == [Fate.UNKNOWN_GONE, Fate.UNKNOWN_KEPT, Fate.REFUSED_GONE, Fate.REFUSED_KEPT]
    assert found.broken == 0
    assert not found.is_clean


def test_reads_that_differ() -> None:
    sent = [*acked(0, 1), Sent(0, 2, 20)]
    found = find_anomalies(history_of(sent), [read_of("leader", there(0, 1, 2)), read_of("replica 2", there(0))])
    assert fates(found) == [Fate.KEPT, Fate.DIFFERENT, Fate.DIFFERENT]
    # A message of unknown outcome that comes and goes is odd, but nobody was promised anything.
    assert found.broken == 1
    assert found.witness is not None
    assert "and the replica 2 does not find it" in found.witness.sentence()


def test_reads_owe_nothing_that_came_after_they_began() -> None:
    sent = [*acked(0, 1, 2), Sent(0, 3, 30)]
    early, late = there(0, 1), there(0, 1, 2, 3)
    first = replace(read_of("first", early), began_ns=20)
    second = replace(read_of("second", late), began_ns=50)
    # Message 2 was acknowledged at 25; message 3 has no outcome, and may appear at any time.
    assert fates(find_anomalies(history_of(sent), [first, second])) == [Fate.KEPT] * 3 + [Fate.UNKNOWN_KEPT]
    assert fates(find_anomalies(history_of(sent), [second, first])) == [Fate.KEPT] * 3 + [Fate.UNKNOWN_KEPT]
    later = replace(first, began_ns=60)
    assert fates(find_anomalies(history_of(sent), [second, later]))[2:] == [Fate.DIFFERENT, Fate.DIFFERENT]
    # No read was late enough to tell.
    assert fates(find_anomalies(history_of(sent), [first]))[2] is Fate.UNREADABLE


def test_a_read_that_did_not_come_to_the_end_says_nothing_of_what_it_lacks() -> None:
    history = history_of(acked(0, 1) + acked(2, 3, partition=1))
    cut_short = (PartitionRead(0, 0, 2, True), PartitionRead(0, 1, 1, False, "no time"))
    short = read_of("short", there(0, 1) + there(2, partition=1), cut_short)
    found = find_anomalies(history, [short])
    assert fates(found) == [Fate.KEPT] * 3 + [Fate.UNREADABLE]
    assert found.broken == 0
    assert found.unreadable == ("short: partition 1 of topic 0 after 1 messages: no time",)
    whole = read_of("whole", there(0, 1) + there(2, 3, partition=1))
    assert fates(find_anomalies(history, [short, whole])) == [Fate.KEPT] * 4
    # A whole read that lacks it knows.
    assert (
        fates(find_anomalies(history, [short, read_of("r", there(0, 1) + there(2, partition=1))]))[3] is Fate.LOST_LAST
    )
    # A partition of which nothing could be read says the least of all.
    unread = (PartitionRead(0, 0, 2, True), PartitionRead(0, 1, 0, False, "no leader"))
    found = find_anomalies(history, [read_of("unread", there(0, 1), unread)])
    assert fates(found) == [Fate.KEPT] * 2 + [Fate.UNREADABLE] * 2


def test_damage() -> None:
    found_rows = [
        FoundMessage(0, 0),
        FoundMessage(0, 1, flags=Flag.CORRUPT),
        FoundMessage(0, 2, flags=Flag.CORRUPT),
        FoundMessage(0, 2),
    ]
    found = find_anomalies(history_of(acked(0, 1, 2)), [read_of("r", found_rows)])
    assert fates(found) == [Fate.KEPT, Fate.CORRUPT, Fate.KEPT]
    assert (found.corrupt, found.broken, found.phantom) == (2, 1, 0)
    assert found.witness is not None
    assert found.witness.sentence().endswith("and is there only damaged")


def test_foreign_messages_are_phantoms_and_never_taken_for_ours() -> None:
    found = find_anomalies(history_of(acked(0, 1)), [read_of("r", [*there(0), FoundMessage(0, 1, flags=Flag.FOREIGN)])])
    assert found.phantom == 1
    assert fates(found)[1] is Fate.LOST_LAST


def test_order_is_judged_within_producer_and_partition() -> None:
    sent = acked(0, 1, 2, 3) + acked(0, 1, producer=1)
    mixed = [*there(1, 0), *there(0, producer=1), *there(3, 2), *there(1, producer=1), *there(3)]
    found = find_anomalies(history_of(sent), [read_of("r", mixed)])
    assert (found.reordered, found.duplicated, found.copies) == (2, 1, 1)
    apart = there(1, partition=1) + there(0)
    assert find_anomalies(history_of(sent), [read_of("r", apart)]).reordered == 0


def positions_at(*positions: tuple[int, int]) -> CommittedPositions:
    return CommittedPositions(1, 2, tuple(CommittedPosition("sub-0", 0, p, at) for p, at in positions))


def test_committed_positions() -> None:
    before, after = positions_at((0, 10), (1, 20), (2, 30), (3, 0)), positions_at((0, 11), (1, 19), (3, 0))
    changes = moved_back(before, after)
    assert changes == (PositionChange("sub-0", 0, 1, 20, 19), PositionChange("sub-0", 0, 2, 30, -1))
    assert [change.is_lost for change in changes] == [False, True]
    found = find_anomalies(history_of(acked(0)), [read_of("r", there(0))], [(before, after)])
    assert found.figures()["positions_lost"] == found.figures()["positions_moved_back"] == 1
    assert found.broken == 0
    assert not found.is_clean


@st.composite
def trials(draw: st.DrawFn) -> tuple[list[Sent], list[list[FoundMessage]], list[int]]:
    """A few producers, any outcomes, and reads that find anything."""
    sent = []
    for producer in range(draw(st.integers(1, 3))):
        for sequence in range(draw(st.integers(0, 12))):
            outcome = draw(st.sampled_from(SendOutcome))
            at_ns = 100 * sequence + producer
            partition = draw(st.integers(-1, 1))
            resolved_ns = at_ns + draw(st.integers(1, 300)) if outcome is ACKED else -1
            sent.append(Sent(producer, sequence, at_ns, outcome, resolved_ns, partition, sequence))
    one = st.builds(
        FoundMessage,
        producer=st.integers(0, 3),
        sequence=st.integers(0, 13),
        partition=st.integers(0, 1),
        position=st.integers(0, 50),
        flags=st.sampled_from([Flag(0), Flag(0), Flag.CORRUPT, Flag.FOREIGN, Flag.CORRUPT | Flag.UNATTRIBUTED]),
    )
    reads = draw(st.lists(st.lists(one, max_size=40), min_size=1, max_size=3))
    return sent, reads, draw(st.lists(st.integers(0, 1500), max_size=2))


def reads_of(reads: Sequence[Sequence[FoundMessage]]) -> list[Read]:
    complete = (PartitionRead(0, 0, 0, True), PartitionRead(0, 1, 0, True))
    return [replace(read_of(f"read {i}", rows, complete), began_ns=10_000 + i) for i, rows in enumerate(reads)]


@given(trials())
def test_every_message_has_exactly_one_fate_that_fits_what_was_reported(
    trial: tuple[list[Sent], list[list[FoundMessage]], list[int]],
) -> None:
    sent, reads, cuts = trial
    history = history_of(sent)
    found = find_anomalies(history, reads_of(reads), cuts_ns=cuts)
    assert sum(found.counts.values()) == len(sent) == found.invoked
    of_acked = {*LOST, Fate.KEPT, Fate.CORRUPT, Fate.DIFFERENT, Fate.UNREADABLE}
    for row, fate in zip(map(history.row, range(len(history))), fates(found), strict=True):
        copies = [
            [f for f in rows if (f.producer, f.sequence, f.flags) == (row.producer, row.sequence, 0)] for rows in reads
        ]
        if row.outcome is ACKED:
            assert fate in of_acked
        assert (fate in LOST) <= (row.outcome is ACKED and not any(copies))
        assert (fate is Fate.KEPT) == (row.outcome is ACKED and all(copies))
    assert found.broken == sum(
        1 for i, fate in enumerate(fates(found)) if history.acknowledged[i] and fate not in (Fate.KEPT, Fate.UNREADABLE)
    )
    assert (found.witness is None) == (found.broken == 0)


@given(trials(), st.randoms(use_true_random=False))
def test_the_order_in_which_messages_and_reads_are_given_does_not_matter(
    trial: tuple[list[Sent], list[list[FoundMessage]], list[int]], random: object
) -> None:
    sent, reads, cuts = trial
    found = find_anomalies(history_of(sent), reads_of(reads), cuts_ns=cuts)
    mixed = sent[:]
    random.shuffle(mixed)  # type: ignore[attr-defined]
    again = find_anomalies(history_of(mixed), reads_of(reads)[::-1], cuts_ns=cuts[::-1])
    assert again.figures() == found.figures()
    assert np.array_equal(again.fates, found.fates)


def write_files(directory: Path, sent: Sequence[Sent], names: Sequence[int]) -> None:
    kinds = {ACKED: RecordKind.ACKNOWLEDGED, UNKNOWN: RecordKind.UNKNOWN, REFUSED: RecordKind.REFUSED}
    for producer, name in enumerate(names):
        rows = [m for m in sent if m.producer == producer]
        body = b"".join(struct.pack("<qqqiI", m.invoked_ns, m.sequence, -1, -1, RecordKind.INVOKED) for m in rows)
        body += b"".join(
            struct.pack("<qqqiI", m.resolved_ns, m.sequence, m.position, m.partition, kinds[m.outcome]) for m in rows
        )
        head = struct.pack("<8sIIQq", b"TGHIST01", 32, producer, 77, 0)
        (directory / f"producer-{name:05d}.history").write_bytes(head + body)


@settings(max_examples=25)
@given(trials(), st.permutations(range(3)))
def test_the_order_of_producers_files_does_not_matter(
    trial: tuple[list[Sent], list[list[FoundMessage]], list[int]], names: list[int]
) -> None:
    sent, _, _ = trial
    with tempfile.TemporaryDirectory() as plain, tempfile.TemporaryDirectory() as shuffled:
        write_files(Path(plain), sent, (0, 1, 2))
        write_files(Path(shuffled), sent, names)
        first, second = read_history(Path(plain), 77), read_history(Path(shuffled), 77)
    assert rows_of(first) == rows_of(second) == rows_of(history_of(sent))


def rows_of(history: History) -> list[Sent]:
    return [history.row(i) for i in range(len(history))]
