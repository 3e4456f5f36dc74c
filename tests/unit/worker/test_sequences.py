"""Sets of sequences of several workers added up: what is lost, repeated and unknown follows from the sets alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap64

from tidegauge.model.load import ReceivedSequences, SentSequences, Traced
from tidegauge.worker.sequences import (
    FiguresError,
    Received,
    SequencesPart,
    account_for_missing,
    count_sequences,
    missing_sequences,
    present_sequences,
    union_of_missing,
)


def packed(sequences: Iterable[int]) -> bytes:
    chosen = BitMap64(sequences)
    return chosen.serialize() if chosen else b""


def sent(producer: int, count: int, unknown: Iterable[int] = ()) -> SentSequences:
    return SentSequences(producer, count, packed(unknown))


def received(subscription: str, producer: int, sequences: Iterable[int]) -> ReceivedSequences:
    return ReceivedSequences(subscription, producer, packed(sequences))


def test_what_each_worker_lacks_another_has() -> None:
    first = [sent(0, 10), received("sub-0", 0, range(6)), received("sub-0", 1, range(5, 10))]
    second = [sent(1, 10), received("sub-0", 0, range(6, 10)), received("sub-0", 1, range(5))]
    counts = count_sequences([first, second], ["sub-0"], 2)
    assert counts.subscriptions["sub-0"] == Received(unique=20, missing=0, repeated=0, examples=())
    assert (counts.sent, counts.unknown) == ((10, 10), (0, 0))
    assert [own["sub-0"] for own in counts.received] == [11, 9]


def test_lost_repeated_and_unknown_are_counted_for_each_subscription() -> None:
    """Of producer 1's messages 3 failed and 4 has no outcome; sub-0 lost 7 and got 2 twice; sub-1 lost 0 and 9."""
    first = [sent(0, 5), received("sub-0", 1, [0, 1, 2, 4]), received("sub-1", 0, range(5))]
    second = [
        sent(1, 10, unknown=[3, 4]),
        received("sub-0", 0, range(5)),
        received("sub-0", 1, [2, 5, 6, 8, 9]),
        received("sub-1", 1, [1, 2, 5, 6, 7, 8]),
    ]
    counts = count_sequences([first, second], ["sub-0", "sub-1"], 2)
    assert counts.subscriptions["sub-0"] == Received(13, 1, 1, ("producer 1 sequence 7",), ("producer 1 sequence 2",))
    assert counts.subscriptions["sub-1"] == Received(11, 2, 0, ("producer 1 sequence 0", "producer 1 sequence 9"))
    assert counts.unknown == (0, 2)


def test_of_a_producer_that_no_part_names_nothing_was_received() -> None:
    counts = count_sequences([[sent(0, 3), sent(1, 2, [0])], [sent(2, 20)]], ["sub-0", "sub-1"], 3)
    for name in ("sub-0", "sub-1"):
        assert counts.subscriptions[name].missing == 3 + 1 + 20
        # The first ten, in the producers' order.
        assert counts.subscriptions[name].examples[3:5] == ("producer 1 sequence 1", "producer 2 sequence 0")
        assert len(counts.subscriptions[name].examples) == 10


def test_a_large_set_may_come_in_parts() -> None:
    stretch = 1 << 26
    parts = [
        *(sent(0, 2 * stretch, unknown) for unknown in ([], [7], [stretch])),
        received("sub-0", 0, range(6)),
        received("sub-0", 0, range(stretch, stretch + 6)),
    ]
    other = [received("sub-0", 0, [5, 6]), received("sub-0", 0, [stretch + 6])]
    counts = count_sequences([parts, other], ["sub-0"], 1)
    found = counts.subscriptions["sub-0"]
    # Of the unknown ones, one was received.
    assert (counts.unknown, found.unique, found.repeated) == ((2, 0), 14, 1)
    assert found.missing == 2 * stretch - 14 - 1
    assert found.examples[:2] == ("producer 0 sequence 8", "producer 0 sequence 9")


def test_subscriptions_come_in_their_own_order_and_not_by_their_letters() -> None:
    names = [f"sub-{number}" for number in range(12)]
    stream = [sent(0, 1), *(received(name, 0, [0]) for name in names)]
    counts = count_sequences([stream, []], names, 1)
    assert all(counts.subscriptions[name].unique == 1 for name in names)


@dataclass(frozen=True)
class Scene:
    """What was received by whom: worker by (subscription, producer, sequence), any number of times."""

    producers: tuple[tuple[int, frozenset[int]], ...]
    receipts: frozenset[tuple[int, int, int, int]]


@st.composite
def scenes(draw: st.DrawFn) -> Scene:
    lengths = draw(st.lists(st.integers(0, 12), min_size=1, max_size=4))
    unknown = [draw(st.frozensets(st.integers(0, length - 1))) if length else frozenset() for length in lengths]
    receipts = draw(
        st.frozensets(
            st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 3), st.integers(0, 11)), max_size=60
        )
    )
    kept = frozenset(each for each in receipts if each[2] < len(lengths) and each[3] < lengths[each[2]])
    return Scene(tuple(zip(lengths, unknown, strict=True)), kept)


def streams(scene: Scene) -> list[list[SequencesPart]]:
    found: list[list[SequencesPart]] = []
    for worker in range(3):
        own: list[SequencesPart] = [
            sent(number, *producer) for number, producer in enumerate(scene.producers) if number % 3 == worker
        ]
        for sub in range(2):
            for producer in range(len(scene.producers)):
                chosen = {each[3] for each in scene.receipts if each[:3] == (worker, sub, producer)}
                own += [received(f"sub-{sub}", producer, chosen)] if chosen else []
        found.append(own)
    return found


@given(scenes())
def test_any_division_gives_what_plain_sets_give(scene: Scene) -> None:
    counts = count_sequences(streams(scene), ["sub-0", "sub-1"], len(scene.producers))
    for sub in range(2):
        own = [each for each in scene.receipts if each[1] == sub]
        union = {(producer, sequence) for _, _, producer, sequence in own}
        acked = {
            (number, sequence)
            for number, (length, unknown) in enumerate(scene.producers)
            for sequence in set(range(length)) - unknown
        }
        found = counts.subscriptions[f"sub-{sub}"]
        assert found.unique == len(union)
        assert found.missing == len(acked - union)
        assert found.repeated == len(own) - len(union)
        lost = sorted(acked - union)[:10]
        assert found.examples == tuple(f"producer {number} sequence {sequence}" for number, sequence in lost)
        receipts = Counter((producer, sequence) for _, _, producer, sequence in own)
        again = {
            f"producer {number} sequence {sequence}" for (number, sequence), times in receipts.items() if times > 1
        }
        assert len(found.repeated_examples) == min(10, found.repeated)
        assert set(found.repeated_examples) <= again


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        pytest.param([sent(1, 5), sent(0, 5)], "names producer 0 out of order", id="order"),
        pytest.param([sent(0, 5, [1, 2]), sent(0, 5, [2])], "names producer 0 twice", id="twice"),
        pytest.param([sent(0, 5), sent(0, 6)], "says twice how much producer 0 sent, and not the same", id="counts"),
        pytest.param(
            [sent(0, 5), received("sub-0", 0, [1]), received("sub-0", 0, [1])],
            "names what sub-0 received of producer 0 twice",
            id="received twice",
        ),
        pytest.param([sent(0, 5), sent(2, 5)], "names producer 2, which the trial does not have", id="stranger"),
        pytest.param(
            [sent(0, 5), received("sub-7", 0, [1])], "received of producer 0, which the trial does", id="subscription"
        ),
        pytest.param([sent(0, 5, [5])], "producer 0 sent 5 messages, but not sequence 5", id="unknown"),
        pytest.param([sent(0, 5), received("sub-0", 0, [7])], "include sequence 7, but only 5 were sent", id="unsent"),
        pytest.param([SentSequences(0, 5, b"rubbish")], "its set for producer 0 can't be read", id="damaged"),
    ],
)
def test_what_cannot_be_is_an_error_that_names_the_worker(parts: list[SequencesPart], said: str) -> None:
    with pytest.raises(FiguresError, match=f"load generator 2 of 2: .*{said}"):
        count_sequences([[sent(1, 3)] if parts[0] != sent(1, 5) else [], parts], ["sub-0"], 2)


def test_a_producer_of_two_workers_or_of_none_is_an_error() -> None:
    with pytest.raises(FiguresError, match=r"generator 1 of 3 and load generator 3 of 3 both had producer 0"):
        count_sequences([[sent(0, 1)], [], [sent(0, 1)]], [], 1)
    with pytest.raises(FiguresError, match="no load generator reports producer 1"):
        count_sequences([[sent(0, 1)], [sent(2, 1)]], [], 3)


def test_one_set_of_each_worker_is_taken_at_a_time() -> None:
    """However many messages there were: what is read ahead of each stream is one part."""
    taken = [0, 0]

    def stream(worker: int) -> Iterator[SequencesPart]:
        for producer in range(worker, 100, 2):
            yield sent(producer, 10)
        for producer in range(100):
            taken[worker] += 1
            assert abs(taken[0] - taken[1]) <= 1
            yield received("sub-0", producer, range(worker, 10, 2))

    counts = count_sequences([stream(0), stream(1)], ["sub-0"], 100)
    assert counts.subscriptions["sub-0"] == Received(1000, 0, 0, ())
    assert taken == [100, 100]


def test_missing_is_what_was_acknowledged_and_no_worker_received() -> None:
    one = [sent(0, 6, [5]), received("sub-0", 0, [0, 1]), received("sub-1", 0, [4])]
    other = [sent(1, 2), received("sub-0", 0, [3]), received("sub-0", 1, [0, 1])]
    missing = missing_sequences([one, other], ["sub-0", "sub-1"])
    assert {name: {producer: set(gone) for producer, gone in of.items()} for name, of in missing.items()} == {
        "sub-0": {0: {2, 4}},
        "sub-1": {0: {0, 1, 2, 3}, 1: {0, 1}},
    }


def test_what_readers_find_is_united() -> None:
    parts = [received("sub-0", 0, [1]), received("sub-0", 0, [2]), received("sub-0", 3, [0])]
    both = union_of_missing(present_sequences(parts), {0: BitMap64([7]), 1: BitMap64([8])})
    assert {producer: set(there) for producer, there in both.items()} == {0: {1, 2, 7}, 1: {8}, 3: {0}}


@pytest.mark.parametrize(
    ("present", "unattributed", "why", "counts"),
    [
        ([], 0, "", (4, 0, 0)),
        ([1, 2, 9], 0, "", (2, 2, 0)),
        ([0, 1, 2, 3], 0, "", (0, 4, 0)),
        ([1], 0, "too slow", (0, 1, 3)),
        ([0, 1, 2, 3], 0, "too slow", (0, 4, 0)),
        ([1, 2], 1, "", (1, 2, 0)),
        ([1, 2], 3, "", (0, 1, 0)),
        ([], 9, "", (0, 0, 0)),
    ],
)
def test_nothing_is_lost_that_is_there_or_arrived_without_a_name(
    present: list[int], unattributed: int, why: str, counts: tuple[int, int, int]
) -> None:
    found = account_for_missing({5: BitMap64(range(4))}, {5: BitMap64(present)}, unattributed=unattributed, why=why)
    assert (found.lost, found.late, found.untraced) == counts
    assert found.why == (why if found.untraced else "")
    assert len(found.lost_examples) == found.lost
    assert len(found.late_examples) == found.late
    assert account_for_missing({}, {}, unattributed=0, why="") == Traced()


@pytest.mark.parametrize(("present", "words"), [([0, 1], "no such topic"), ([0, 1, 2, 3], "")])
def test_a_topic_that_is_gone_is_why_messages_are_lost(present: list[int], words: str) -> None:
    sets = {5: BitMap64(range(4))}, {5: BitMap64(present)}
    assert account_for_missing(*sets, unattributed=0, why="", gone="no such topic").gone == words
    assert account_for_missing(*sets, unattributed=0, why="too slow", gone="no such topic").gone == ""


@pytest.mark.parametrize(
    ("present", "discarded_max", "unattributed", "counts"),
    [
        ([1], 0, 0, (3, 1, 0)),
        ([1], 2, 0, (1, 1, 2)),
        ([1], 3, 0, (0, 1, 3)),
        ([1], 300, 0, (0, 1, 3)),
        ([1], 2, 1, (0, 1, 2)),
        ([0, 1, 2, 3], 2, 0, (0, 4, 0)),
    ],
)
def test_of_what_clients_threw_away_nobody_knows_and_no_more(
    present: list[int], discarded_max: int, unattributed: int, counts: tuple[int, int, int]
) -> None:
    sets = {5: BitMap64(range(4))}, {5: BitMap64(present)}
    traced = account_for_missing(*sets, unattributed=unattributed, why="", gone="gone", discarded_max=discarded_max)
    assert (traced.lost, traced.late, traced.untraced) == counts
    assert traced.gone == ("gone" if traced.lost else "")
    assert len(traced.lost_examples) == (0 if traced.untraced else traced.lost)
    kept = account_for_missing(*sets, unattributed=unattributed, why="too slow", discarded_max=discarded_max)
    assert kept.why == ("too slow" if kept.untraced else "")
    assert kept.lost == 0
