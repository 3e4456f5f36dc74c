"""What several workers sent and received, added up from sets of sequences. Pure.

A subscription's consumers may sit in several workers, and one of them alone can't know whether a message that it did
not receive was lost, or received by another; nor whether one that it received for the first time had been before.
Sets of sequences can be united, counts can't. Of each producer and subscription:

    unique      what any worker received: the union of its sets
    missing     acknowledged (sent, and not failed or without an outcome) and in no worker's set
    repeated    received for the first time by more than one worker: the sizes of the sets less that of their union

The streams of all workers are merged by key: at any time one set is in memory, and a part of one of each worker, and
beside them what of each producer has no outcome. A set takes, for each million messages, 242 bytes where all were
received in order, 40 KB with 1 % of random gaps, and at most 131 KB (`benchmarks/merging.py`).
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from operator import itemgetter

from pyroaring import BitMap64

from tidegauge.errors import RunFailedError
from tidegauge.model.load import ReceivedSequences, SentSequences, Traced, worker_name

SequencesPart = SentSequences | ReceivedSequences
EXAMPLES_MAX = 10
_Key = tuple[int, int]
"""Subscription by its place, from 0, and producer; what was sent comes first, at place -1."""
_SENT = -1
_NONE = BitMap64()


class FiguresError(RunFailedError):
    """What workers report does not add up, so nothing of it can be trusted."""

    def __init__(self, message: str) -> None:
        super().__init__(
            f"The figures of the load generators do not add up: {message}.",
            "This is a mistake of Tidegauge's, not of the system under test; the figures of each are kept.",
        )


@dataclass
class Received:
    """What a subscription received of all producers together, over all workers. `examples` are of what is missing."""

    unique: int = 0
    missing: int = 0
    repeated: int = 0
    examples: tuple[str, ...] = ()
    repeated_examples: tuple[str, ...] = ()


@dataclass(frozen=True)
class SequenceCounts:
    """What each worker's producers sent, what of that has no known success, and what its subscriptions received once.

    `subscriptions`: over all workers, by name.
    """

    sent: tuple[int, ...]
    unknown: tuple[int, ...]
    received: tuple[Mapping[str, int], ...]
    subscriptions: Mapping[str, Received]


def count_sequences(
    streams: Sequence[Iterable[SequencesPart]], subscriptions: Sequence[str], producers: int
) -> SequenceCounts:
    """Add up the streams of all workers, each in the order of subscriptions and producers.

    Raises `FiguresError`, or whatever a stream raises.
    """
    tally = _Tally(len(streams), tuple(subscriptions), producers)
    ordered = [tally.in_order(worker, stream) for worker, stream in enumerate(streams)]
    merged = groupby(heapq.merge(*ordered, key=itemgetter(0)), key=itemgetter(0))
    for (place, producer), group in merged:
        parts = [(worker, part) for _, worker, part in group]
        if place == _SENT:
            tally.take_sent(producer, parts)
        else:
            tally.take_received(place, producer, parts)
    return tally.counts()


Missing = Mapping[int, BitMap64]
"""Sequences by producer."""


def missing_sequences(streams: Iterable[Iterable[SequencesPart]], subscriptions: Collection[str]) -> dict[str, Missing]:
    """The acknowledged sequences that no worker received, by subscription. Raises whatever a stream raises."""
    acked: dict[int, BitMap64] = {}
    received: dict[tuple[str, int], BitMap64] = {}
    for stream in streams:
        for part in stream:
            if isinstance(part, ReceivedSequences):
                if part.subscription in subscriptions:
                    received.setdefault((part.subscription, part.producer), BitMap64()).update(_set_of(part.received))
                continue
            if part.producer not in acked:
                acked[part.producer] = BitMap64()
                acked[part.producer].add_range(0, part.sent)
            acked[part.producer] -= _set_of(part.unknown)
    return {
        name: {
            producer: gone for producer, sent in acked.items() if (gone := sent - received.get((name, producer), _NONE))
        }
        for name in subscriptions
    }


def present_sequences(parts: Iterable[ReceivedSequences]) -> Missing:
    """What a reader found, by producer."""
    present: dict[int, BitMap64] = {}
    for part in parts:
        present.setdefault(part.producer, BitMap64()).update(_set_of(part.received))
    return present


def union_of_missing(first: Missing, second: Missing) -> Missing:
    """The sequences that are in either, by producer."""
    return {
        producer: first.get(producer, _NONE) | second.get(producer, _NONE) for producer in sorted({*first, *second})
    }


def account_for_missing(
    missing: Missing, present: Missing, *, unattributed: int, why: str, gone: str = "", discarded_max: int = 0
) -> Traced:
    """What became of what a subscription misses.

    Args:
        present: all that readers found.
        unattributed: messages that arrived damaged, and nobody can say which they were: of what can't be found, as
            many may be these.
        why: "" if topics were read to their end; else what kept readers from it.
        gone: "" if all topics are there; else how the servers say that one is not.
        discarded_max: messages that clients may have thrown away as they were delivered: of what can't be found, as
            many may have been there until they were acknowledged, and are untraced.
    """
    late, lost = 0, 0
    late_examples: tuple[str, ...] = ()
    absent_examples: tuple[str, ...] = ()
    for producer, missed in sorted(missing.items()):
        present_of_missed = missed & present.get(producer, _NONE)
        absent = missed - present_of_missed
        late, lost = late + len(present_of_missed), lost + len(absent)
        late_examples += _example_texts(producer, present_of_missed, EXAMPLES_MAX - len(late_examples))
        absent_examples += _example_texts(producer, absent, EXAMPLES_MAX - len(absent_examples))
    nameless = max(0, unattributed - lost)
    lost, late = max(0, lost - unattributed), max(0, late - nameless)
    if why:
        return Traced(late=late, late_examples=late_examples[:late], untraced=lost, why=why if lost else "")
    untraced = min(lost, discarded_max)
    lost -= untraced
    return Traced(
        lost=lost,
        # Which of the absent ones they are, nobody knows where others may have been thrown away.
        lost_examples=() if untraced else absent_examples[:lost],
        gone=gone if lost else "",
        late=late,
        late_examples=late_examples[:late],
        untraced=untraced,
    )


def _set_of(packed: bytes) -> BitMap64:
    return BitMap64.deserialize(packed) if packed else _NONE


class _Tally:
    """Takes in what was sent and received key by key."""

    def __init__(self, workers: int, subscriptions: tuple[str, ...], producers: int) -> None:
        self._workers = workers
        self._names = subscriptions
        self._places = {name: place for place, name in enumerate(subscriptions)}
        self._producers = producers
        self._sent: dict[int, int] = {}
        self._unknown: dict[int, BitMap64] = {}
        self._sent_by = [0] * workers
        self._unknown_by = [0] * workers
        self._received_by = [dict.fromkeys(subscriptions, 0) for _ in range(workers)]
        self._subscriptions = [Received() for _ in subscriptions]
        self._next_producer = [0] * len(subscriptions)

    def in_order(self, worker: int, stream: Iterable[SequencesPart]) -> Iterator[tuple[_Key, int, SequencesPart]]:
        """A worker's parts with their keys, which must grow."""
        last: _Key = (_SENT, -1)
        for part in stream:
            sent = isinstance(part, SentSequences)
            place = _SENT if sent else self._places.get(part.subscription)  # type: ignore[union-attr]
            if place is None or not 0 <= part.producer < self._producers:
                raise self._figures_error(worker, f"it names {_words_of_part(part)}, which the trial does not have")
            key = (place, part.producer)
            if key < last:
                raise self._figures_error(worker, f"it names {_words_of_part(part)} out of order")
            last = key
            yield key, worker, part

    def take_sent(self, producer: int, parts: Sequence[tuple[int, SequencesPart]]) -> None:
        """What a producer sent, which is one worker's, perhaps in several parts."""
        worker, part = parts[0]
        other = next((other for other, _ in parts if other != worker), None)
        if other is not None:
            both = f"{worker_name(worker, self._workers)} and {worker_name(other, self._workers)}"
            raise FiguresError(f"{both} both had producer {producer}")
        assert isinstance(part, SentSequences)
        if any(isinstance(more, SentSequences) and more.sent != part.sent for _, more in parts):
            raise self._figures_error(worker, f"it says twice how much producer {producer} sent, and not the same")
        unknown = BitMap64()
        for _, more in parts:
            assert isinstance(more, SentSequences)
            self._add_to_set(worker, unknown, more, more.unknown)
        if unknown and unknown.max() >= part.sent:
            raise self._figures_error(
                worker, f"producer {producer} sent {part.sent:,} messages, but not sequence {unknown.max()}"
            )
        self._sent[producer] = part.sent
        self._sent_by[worker] += part.sent
        self._unknown_by[worker] += len(unknown)
        if unknown:
            self._unknown[producer] = unknown

    def take_received(self, place: int, producer: int, parts: Sequence[tuple[int, SequencesPart]]) -> None:
        """What a subscription received of a producer, by each worker that received any."""
        self._none_received(place, producer)
        union = BitMap64()
        for worker, group in groupby(parts, key=itemgetter(0)):
            received = BitMap64()
            for _, part in group:
                assert isinstance(part, ReceivedSequences)
                self._add_to_set(worker, received, part, part.received)
            self._received_by[worker][self._names[place]] += len(received)
            sent = self._sent.get(producer, 0)
            if received and received.max() >= sent:
                raise self._figures_error(
                    worker,
                    f"{_words_of_part(part)} is said to include sequence {received.max()}, but only {sent:,} were sent",
                )
            if again := union.intersection_cardinality(received):
                subscription = self._subscriptions[place]
                subscription.repeated += again
                subscription.repeated_examples += _example_texts(
                    producer, union & received, EXAMPLES_MAX - len(subscription.repeated_examples)
                )
            union |= received
        self._settle_producer(place, producer, union)

    def counts(self) -> SequenceCounts:
        """The counts of all workers, once every stream has ended."""
        absent = next((number for number in range(self._producers) if number not in self._sent), None)
        if absent is not None:
            raise FiguresError(f"no load generator reports producer {absent}")
        for place in range(len(self._names)):
            self._none_received(place, self._producers)
        received_by_name = dict(zip(self._names, self._subscriptions, strict=True))
        return SequenceCounts(tuple(self._sent_by), tuple(self._unknown_by), tuple(self._received_by), received_by_name)

    def _none_received(self, place: int, until: int) -> None:
        """Take it that nothing was received of the producers before `until` that nobody has named."""
        for producer in range(self._next_producer[place], until):
            self._settle_producer(place, producer, _NONE)

    def _settle_producer(self, place: int, producer: int, received: BitMap64) -> None:
        subscription = self._subscriptions[place]
        self._next_producer[place] = producer + 1
        subscription.unique += len(received)
        sent, unknown = self._sent.get(producer, 0), self._unknown.get(producer, _NONE)
        missing = sent - unknown.union_cardinality(received)
        if not missing:
            return
        subscription.missing += missing
        if len(subscription.examples) < EXAMPLES_MAX:
            lost = BitMap64()
            lost.add_range(0, sent)
            lost -= received
            lost -= unknown
            subscription.examples += _example_texts(producer, lost, EXAMPLES_MAX - len(subscription.examples))

    def _add_to_set(self, worker: int, whole: BitMap64, part: SequencesPart, packed: bytes) -> None:
        """Add what a worker says in one part, of which no other has anything."""
        try:
            sequences = BitMap64.deserialize(packed) if packed else _NONE
        except (ValueError, IndexError) as error:
            raise self._figures_error(worker, f"its set for {_words_of_part(part)} can't be read") from error
        if whole.intersect(sequences):
            raise self._figures_error(worker, f"it names {_words_of_part(part)} twice")
        whole |= sequences

    def _figures_error(self, worker: int, problem: str) -> FiguresError:
        return FiguresError(f"{worker_name(worker, self._workers)}: {problem}")


def _example_texts(producer: int, sequences: BitMap64, count: int) -> tuple[str, ...]:
    return tuple(f"producer {producer} sequence {sequence}" for sequence in islice(sequences, count))


def _words_of_part(part: SequencesPart) -> str:
    if isinstance(part, SentSequences):
        return f"producer {part.producer}"
    return f"what {part.subscription} received of producer {part.producer}"
