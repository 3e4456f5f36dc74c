"""What became of each message that was sent, by its outcome at the producer and by what was found afterwards. Pure.

The promise of an acknowledgement is that the message is there, undamaged, whenever its partition is read from the
beginning. So: everything acknowledged is looked for in every read. A read that did not come to the end of a partition
says nothing about what it did not find there. What is found and was never sent, found twice, or found in another order
than sent, is counted apart: it may break other promises, but not this one.

Doubts. A message whose outcome is unknown may be there or not, and may even appear between reads: only that it goes
again is counted. Order is judged within a producer and partition, as all three systems promise it; a client
that sends again what has no outcome yet may reorder by itself. Nothing here knows why something is gone: who says so
must have looked into the servers' files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidegauge.attestation.evidence import READ_COLUMNS, History, Longs, Read
from tidegauge.model.message import (
    BROKEN,
    LOST,
    CommittedPositions,
    Fate,
    Flag,
    FoundMessage,
    PositionChange,
    SendOutcome,
    Sent,
    Witness,
)

Booleans = NDArray[np.bool_]
_SEQUENCES = 1 << 40
"""More than a producer ever sends: producer and sequence make one number."""


_COUNTED = ("invoked", "lost", "broken", "duplicated", "copies", "reordered", "phantom")


@dataclass(frozen=True)
class Anomalies:
    """What `find_anomalies` found. Figures count messages unless they say otherwise.

    Attributes:
        fates: of each row of the history.
        counts: how many messages had each fate; all of `Fate` are there.
        duplicated: messages found more than once in one read; the read with most counts.
        copies: how many more than one of each, likewise.
        reordered: messages found after a later one of the same producer in the same partition; likewise.
        phantom: messages found that nobody sent, or of another trial; likewise. Not counted: REFUSED_KEPT.
        corrupt: damaged messages found, whether or not there is an undamaged copy; likewise.
        positions: committed positions that are lost or moved back.
        unreadable: partitions that were not read to their end, with the reason, in words.
        broken: acknowledged messages that are gone, damaged, or not there in every read.
        witness: the plainest of the broken promises: the one acknowledged longest before its cut.
    """

    fates: NDArray[np.int8] = field(compare=False, repr=False)
    counts: Mapping[Fate, int]
    duplicated: int
    copies: int
    reordered: int
    phantom: int
    corrupt: int
    positions: tuple[PositionChange, ...]
    unreadable: tuple[str, ...]
    broken: int
    witness: Witness | None

    @property
    def invoked(self) -> int:
        """Messages sent."""
        return sum(self.counts.values())

    @property
    def lost(self) -> int:
        """Messages acknowledged and gone."""
        return sum(self.counts[fate] for fate in LOST)

    @property
    def is_clean(self) -> bool:
        """Whether nothing at all is wrong, durability or not."""
        odd = self.duplicated + self.reordered + self.phantom + self.corrupt + self.counts[Fate.REFUSED_KEPT]
        different = self.counts[Fate.DIFFERENT]
        return not (self.broken or different or odd or self.positions or self.unreadable)

    def figures(self) -> dict[str, int]:
        """All counts by name, for records and tables."""
        return {
            **{fate.name.lower(): self.counts[fate] for fate in Fate},
            **{name: getattr(self, name) for name in _COUNTED},
            "corrupt_found": self.corrupt,
            "positions_lost": sum(change.is_lost for change in self.positions),
            "positions_moved_back": sum(not change.is_lost for change in self.positions),
            "unreadable_partitions": len(self.unreadable),
        }


def find_anomalies(
    history: History,
    reads: Sequence[Read],
    positions: Sequence[tuple[CommittedPositions, CommittedPositions]] = (),
    cuts_ns: Sequence[int] = (),
    back_ns: Sequence[int] = (),
) -> Anomalies:
    """What became of the messages of a history.

    Args:
        history: what was sent, and the outcomes that producers saw.
        reads: passes over all its partitions, made after what is judged; at least one.
        positions: committed positions reported before and after.
        cuts_ns: when something was cut, in monotonic ns: what was acknowledged between two of them is judged as one.
        back_ns: for each cut, until when acknowledgements that arrive were sent before it: where all nodes were cut,
            until they are about to be started again. The cuts themselves if left out.

    Raises `ValueError` without a read.
    """
    if not reads:
        raise ValueError("there is nothing to judge without a read")
    pairs = sorted(zip(cuts_ns, back_ns or cuts_ns, strict=True))
    look = _ReadsAgainstHistory.from_reads(history, reads, np.array(pairs, dtype=np.int64).reshape(-1, 2))
    fates = _fates_of_messages(look)
    _place_losses(look, fates)
    broken = np.isin(fates, BROKEN) & history.acknowledged
    passes = list(zip(look.rows, reads, strict=True))
    # How many more than one there are of each message that a read has.
    copies = [np.unique(rows[read.intact & (rows >= 0)], return_counts=True)[1] - 1 for rows, read in passes]
    return Anomalies(
        fates=fates,
        counts={fate: int(np.count_nonzero(fates == fate)) for fate in Fate},
        duplicated=max(int(np.count_nonzero(c)) for c in copies),
        copies=max(int(c.sum()) for c in copies),
        reordered=max(_count_reordered(rows, read) for rows, read in passes),
        phantom=max(int(np.count_nonzero((rows < 0) & ((read.flags & Flag.CORRUPT) == 0))) for rows, read in passes),
        corrupt=max(int(np.count_nonzero(read.flags & Flag.CORRUPT)) for read in reads),
        positions=tuple(change for before, after in positions for change in moved_back(before, after)),
        unreadable=tuple(
            f"{read.name}: partition {p.partition} of topic {p.topic} after {p.messages:,} messages: {p.why}"
            for read in reads
            for p in read.incomplete
        ),
        broken=int(np.count_nonzero(broken)),
        witness=_plainest_witness(look, fates, broken) if broken.any() else None,
    )


def moved_back(before: CommittedPositions, after: CommittedPositions) -> tuple[PositionChange, ...]:
    """Committed positions that were reported before and are gone, or behind, after."""
    now = {(p.subscription, p.topic, p.partition): p.position for p in after.positions}
    changes = (
        PositionChange(
            p.subscription, p.topic, p.partition, p.position, now.get((p.subscription, p.topic, p.partition), -1)
        )
        for p in before.positions
    )
    return tuple(change for change in changes if change.after < change.before)


@dataclass(frozen=True)
class _ReadsAgainstHistory:
    """The history and the reads side by side.

    Attributes:
        rows: for each read, the history's row of each of its messages; -1 for those that nobody sent.
        found: for each read, which messages of the history it found undamaged.
        decided: for each read, which of them it decides about.
        streams: a number for each message's stream (see `Fate`).
        cuts: in their order; one column of instants, one of those at which it was over.
        cuts_before: how many cuts were over when a message's outcome was known.
    """

    history: History
    reads: Sequence[Read]
    cuts: Longs
    rows: Sequence[Longs]
    found: Booleans
    decided: Booleans
    cuts_before: Longs
    streams: Longs

    @classmethod
    def from_reads(cls, history: History, reads: Sequence[Read], cuts: Longs) -> _ReadsAgainstHistory:
        """Puts a history and reads side by side."""
        rows = [_rows_of(history, read) for read in reads]
        found_in_reads = np.stack(
            [_mask_of_rows(len(history), of, read.intact) for of, read in zip(rows, reads, strict=True)]
        )
        decided = np.stack([_messages_decided(history, read) for read in reads]) | found_in_reads
        # What has no outcome may still appear, so a read decides nothing about it unless an earlier one has found it.
        order = np.argsort([read.began_ns for read in reads], kind="stable")
        decided[order] &= (history.outcome != SendOutcome.UNKNOWN) | np.logical_or.accumulate(
            found_in_reads[order], axis=0
        )
        cuts_before = np.searchsorted(cuts[:, 1], history.resolved_ns)
        key = np.stack([history.producer, history.partition, cuts_before])
        streams = np.unique(key, axis=1, return_inverse=True)[1].reshape(-1)
        return cls(history, reads, cuts, rows, found_in_reads, decided, cuts_before, streams)

    @property
    def anywhere(self) -> Booleans:
        """Which messages at least one read found."""
        anywhere: Booleans = np.asarray(self.found.any(axis=0))
        return anywhere

    def damaged(self) -> Booleans:
        """Which messages were found damaged, with their header whole."""
        damaged = np.zeros(len(self.history), dtype=np.bool_)
        for rows, read in zip(self.rows, self.reads, strict=True):
            damaged |= _mask_of_rows(len(self.history), rows, (read.flags & Flag.CORRUPT) != 0)
        return damaged


def _message_keys(producer: Longs, sequence: Longs) -> Longs:
    keys: Longs = producer * _SEQUENCES + sequence
    return keys


def _rows_of(history: History, read: Read) -> Longs:
    """The history's row of each message of a read; -1 for those that nobody sent or whose header is damaged."""
    if not len(history):
        return np.full(len(read), -1, dtype=np.int64)
    keys = _message_keys(history.producer, history.sequence)
    sought = _message_keys(read.producer, read.sequence)
    places = np.minimum(np.searchsorted(keys, sought), len(keys) - 1)
    is_known = (keys[places] == sought) & ((read.flags & (Flag.UNATTRIBUTED | Flag.FOREIGN)) == 0)
    return np.where(is_known, places, -1)


def _mask_of_rows(count: int, rows: Longs, selected: Booleans) -> Booleans:
    seen = np.zeros(count, dtype=np.bool_)
    seen[rows[selected & (rows >= 0)]] = True
    return seen


def _messages_decided(history: History, read: Read) -> Booleans:
    """Which messages a read must find if they are there: acknowledged when it began, and in a partition read whole."""
    in_time: Booleans = ~history.acknowledged | (history.resolved_ns <= read.began_ns)
    short = {p.partition for p in read.incomplete}
    if not short:
        return in_time
    # Where a client does not say the partition, any of those not read to the end may hold the message.
    return in_time & ~np.isin(history.partition, list(short)) & (history.partition >= 0)


def _fates_of_messages(look: _ReadsAgainstHistory) -> NDArray[np.int8]:
    """The fate of each message; all that is lost is LOST_LAST until its place is known."""
    history, anywhere = look.history, look.anywhere
    fates = np.select(
        [
            history.outcome == SendOutcome.REFUSED,
            anywhere & ~(look.found == look.decided).all(axis=0),
            history.outcome == SendOutcome.UNKNOWN,
            anywhere,
            look.damaged(),
            ~look.decided.any(axis=0),
        ],
        [
            np.where(anywhere, Fate.REFUSED_KEPT, Fate.REFUSED_GONE),
            np.full(len(history), Fate.DIFFERENT),
            np.where(anywhere, Fate.UNKNOWN_KEPT, Fate.UNKNOWN_GONE),
            np.full(len(history), Fate.KEPT),
            np.full(len(history), Fate.CORRUPT),
            np.full(len(history), Fate.UNREADABLE),
        ],
        default=Fate.LOST_LAST,
    )
    return fates.astype(np.int8)


def _place_losses(look: _ReadsAgainstHistory, fates: NDArray[np.int8]) -> None:
    """Says of each loss where in its stream it is."""
    lost = fates == Fate.LOST_LAST
    if not lost.any():
        return
    sequence, streams = look.history.sequence, look.streams
    count = int(streams.max()) + 1
    first, last = np.full(count, np.iinfo(np.int64).max), np.full(count, -1, dtype=np.int64)
    remaining = look.history.acknowledged & look.anywhere
    np.minimum.at(first, streams[remaining], sequence[remaining])
    np.maximum.at(last, streams[remaining], sequence[remaining])
    first, last = first[streams], last[streams]
    fates[lost & (last < 0)] = Fate.LOST_ALL
    fates[lost & (last >= 0) & (sequence < first)] = Fate.LOST_FIRST
    fates[lost & (sequence > first) & (sequence < last)] = Fate.LOST_MIDDLE


def _count_reordered(rows: Longs, read: Read) -> int:
    """Messages that come after a later one of their producer in their partition; of copies the first counts."""
    places = np.flatnonzero(read.intact & (rows >= 0))
    _, first = np.unique(rows[places], return_index=True)
    places = places[np.sort(first)]
    if len(places) == 0:
        return 0
    key = np.stack([read.producer[places], read.topic[places], read.partition[places]])
    lanes = np.unique(key, axis=1, return_inverse=True)[1].reshape(-1)
    order = np.argsort(lanes, kind="stable")
    lanes, sequence = lanes[order], read.sequence[places][order]
    # Lanes one above the other, so that one running maximum serves them all.
    raised = sequence + lanes * _SEQUENCES
    return int(np.count_nonzero(raised < np.maximum.accumulate(raised)))


def _plainest_witness(look: _ReadsAgainstHistory, fates: NDArray[np.int8], broken: Booleans) -> Witness:
    """The broken promise that is plainest: acknowledged longest before its cut; without cuts the first acknowledged."""
    history = look.history
    candidates = np.flatnonzero(broken)
    resolved, cut_of = history.resolved_ns[candidates], look.cuts_before[candidates]
    followed = cut_of < len(look.cuts)
    next_cut = np.append(look.cuts[:, 0], 0)[cut_of]
    ages = np.where(followed, np.maximum(0, next_cut - resolved), -1)
    chosen = int(np.lexsort((resolved, -ages))[0])
    row = int(candidates[chosen])
    fate = Fate(int(fates[row]))
    missing = [read.name for read, seen in zip(look.reads, look.found, strict=True) if not seen[row]]
    # The rows of a stream before and after a row that are left; -1 where there is none.
    same = np.flatnonzero((look.streams == look.streams[row]) & look.anywhere & look.history.acknowledged)
    before, after = same[same < row], same[same > row]
    previous, following = (int(before[-1]) if len(before) else -1, int(after[0]) if len(after) else -1)
    return Witness(
        sent=history.row(row),
        fate=fate,
        cut=int(cut_of[chosen]) if followed[chosen] else -1,
        before_cut_s=float(ages[chosen]) / 1e9 if followed[chosen] else 0.0,
        previous=_where_found(look, previous),
        following=_where_found(look, following),
        instead=_message_instead(history.row(row), look.reads[0]),
        read=missing[0] if fate is Fate.DIFFERENT and missing else "",
    )


def _where_found(look: _ReadsAgainstHistory, row: int) -> FoundMessage | None:
    """Where the first read that has it found a message of the history."""
    for rows, read in zip(look.rows, look.reads, strict=True):
        places = np.flatnonzero((rows == row) & read.intact)
        if row >= 0 and len(places):
            return _message_found(read, int(places[0]))
    return None


def _message_instead(sent: Sent, read: Read) -> FoundMessage | None:
    """What a read found at the position that a message was acknowledged at."""
    if sent.position < 0:
        return None
    places = np.flatnonzero((read.partition == sent.partition) & (read.position == sent.position) & read.intact)
    messages = [_message_found(read, int(place)) for place in places]
    # A batch shares a position: if the message itself is there, nothing took its place.
    if any((f.producer, f.sequence) == (sent.producer, sent.sequence) for f in messages):
        return None
    return messages[0] if messages else None


def _message_found(read: Read, place: int) -> FoundMessage:
    values: dict[str, Any] = {name: int(getattr(read, name)[place]) for name in READ_COLUMNS}
    return FoundMessage(**{**values, "flags": Flag(values["flags"])})
