"""Messages: what was sent and acknowledged, what was read back, and what became of each."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, IntFlag
from pathlib import Path


class SendOutcome(IntEnum):
    """What became of a message as far as its producer was informed."""

    UNKNOWN = 0
    """Given up, or never answered."""
    ACKNOWLEDGED = 1
    REFUSED = 2
    """It surely was not stored."""


@dataclass(frozen=True)
class Sent:
    """One message of a history, for whoever writes one by hand.

    Attributes:
        invoked_ns: before the client was given the message.
        resolved_ns: when its outcome was known; -1 if never.
        partition: where its client says it went; -1 if it does not say.
        position: likewise in that partition.
    """

    producer: int
    sequence: int
    invoked_ns: int
    outcome: SendOutcome = SendOutcome.UNKNOWN
    resolved_ns: int = -1
    partition: int = -1
    position: int = -1


class Flag(IntFlag):
    """What is wrong with a message found."""

    CORRUPT = 1
    """Its checksums do not fit what was sent."""
    UNATTRIBUTED = 2
    """Its header is damaged too: `producer` and `sequence` mean nothing."""
    FOREIGN = 4
    """An undamaged message of another trial, or none of ours at all."""


INTACT = Flag(0)
"""Nothing is wrong with it."""


@dataclass(frozen=True)
class FoundMessage:
    """One message found, for whoever writes a read by hand. `position` and `within` (a batch) as the system has it."""

    producer: int
    sequence: int
    partition: int = 0
    position: int = -1
    topic: int = 0
    flags: Flag = INTACT
    within: int = 0


@dataclass(frozen=True)
class PartitionRead:
    """How far one partition was read, from its very beginning.

    Attributes:
        topic: its place in the order's list.
        complete: whether all was read that was there when reading began; if not, `why` says what kept it from that.
            If it is, since the servers have the partition no more, `why` says how they say so.
        first: where reading began, in the system's own words ("offset 0"); "" if it has none.
        end: where the partition ended when reading began, likewise.
    """

    topic: int
    partition: int
    messages: int
    complete: bool
    why: str = ""
    first: str = ""
    end: str = ""


@dataclass(frozen=True)
class ReadBack:
    """One pass over all partitions of a trial's topics. `file` holds each message found (see docs/reference.md)."""

    file: Path
    began_mono_ns: int
    ended_mono_ns: int
    partitions: tuple[PartitionRead, ...]


@dataclass(frozen=True)
class CommittedPosition:
    """How far a subscription has come in a partition by what the servers say. Larger is further, there only."""

    subscription: str
    topic: int
    partition: int
    position: int


@dataclass(frozen=True)
class CommittedPositions:
    """The answers to one question, which was asked and answered at these instants.

    What was reported before a cut had been acknowledged as committed: after it, nothing may be behind that. Empty for a
    system that keeps no positions (RabbitMQ's queues forget what was acknowledged instead).
    """

    asked_mono_ns: int
    answered_mono_ns: int
    positions: tuple[CommittedPosition, ...]


class Fate(IntEnum):
    """What became of a message that was sent. Every message has exactly one.

    A *stream* is what one producer had acknowledged into one partition between two cuts. Where a client does not say
    which partition a message went to, all of its producer's between two cuts are one stream.
    """

    KEPT = 0
    """Acknowledged, and found in every read that could show it."""
    LOST_FIRST = 1
    """Acknowledged and gone, before all that is left of its stream."""
    LOST_MIDDLE = 2
    """Acknowledged and gone, with messages of its stream before and after it left."""
    LOST_LAST = 3
    """Acknowledged and gone, after all that is left of its stream: what an unsynced log loses."""
    LOST_ALL = 4
    """Acknowledged and gone, with its whole stream."""
    CORRUPT = 5
    """Acknowledged, and found damaged only."""
    DIFFERENT = 6
    """Acknowledged: found in one read, and not in another that should have. Unknown: found, and not any more later."""
    UNREADABLE = 7
    """Acknowledged, and not found; no read came to the end of its partition and began after it was acknowledged."""
    UNKNOWN_KEPT = 8
    """Its outcome was unknown, and it is there: fine."""
    UNKNOWN_GONE = 9
    """Its outcome was unknown, and it is not there: fine."""
    REFUSED_GONE = 10
    """Reported to its producer as not stored, and it was not."""
    REFUSED_KEPT = 11
    """Reported to its producer as not stored, and it was."""


LOST = (Fate.LOST_FIRST, Fate.LOST_MIDDLE, Fate.LOST_LAST, Fate.LOST_ALL)
"""Acknowledged and gone."""
BROKEN = (*LOST, Fate.CORRUPT, Fate.DIFFERENT)
"""What an acknowledged message must not suffer."""


@dataclass(frozen=True)
class PositionChange:
    """A committed position that is behind what the servers had reported before. `after` is -1 if it is gone."""

    subscription: str
    topic: int
    partition: int
    before: int
    after: int

    @property
    def is_lost(self) -> bool:
        """Whether there is no position any more."""
        return self.after < 0


@dataclass(frozen=True)
class Witness:
    """One acknowledged message that broke the promise, with what is left around it.

    Attributes:
        cut: which cut it was acknowledged before, from 0, by the instants given to `find_anomalies`; -1 without a cut.
        before_cut_s: how long before that cut its acknowledgement had arrived; 0 without a cut, or if it arrived while
            all nodes were down.
        previous: the last message of its stream before it that is left, where the first read found it.
        following: the first one after it that is left.
        instead: another message that was found at the position it was acknowledged at.
        read: for DIFFERENT: the read that did not find it.
    """

    sent: Sent
    fate: Fate
    cut: int = -1
    before_cut_s: float = 0.0
    previous: FoundMessage | None = None
    following: FoundMessage | None = None
    instead: FoundMessage | None = None
    read: str = ""

    def sentence(self) -> str:
        """What happened to it, for people, in one sentence."""
        sent = self.sent
        where = f" to partition {sent.partition}" if sent.partition >= 0 else ""
        at = f" at position {sent.position}" if sent.position >= 0 else ""
        fate_words = {
            Fate.CORRUPT: "and is there only damaged",
            Fate.DIFFERENT: f"and the {self.read or 'other read'} does not find it",
        }.get(self.fate, "and is gone")
        return (
            f"message {sent.sequence} of producer {sent.producer} was acknowledged{where}{at}{self._when_in_words()}, "
            f"{fate_words}{self._around_in_words()}"
        )

    def _when_in_words(self) -> str:
        if self.cut < 0:
            return ""
        before_ms = self.before_cut_s * 1e3
        return f", {before_ms:,.0f} ms before the cut" if before_ms >= 1 else ", just before the cut or during it"

    def _around_in_words(self) -> str:
        if self.instead is not None:
            other = self.instead
            return f": message {other.sequence} of producer {other.producer} is at that position now"
        if self.fate not in LOST:
            return ""
        if self.previous and self.following:
            return f": what is left goes from message {self.previous.sequence} to {self.following.sequence}"
        if self.previous:
            return f": what is left ends with message {self.previous.sequence}"
        if self.following:
            return f": what is left begins with message {self.following.sequence}"
        return ": nothing of its stream is left"
