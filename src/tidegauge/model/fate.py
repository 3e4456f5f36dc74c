"""What became of a message that was sent, and of a committed position."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from tidegauge.model.message import Found, Sent


class Fate(IntEnum):
    """What became of a message that was sent. Every message has exactly one.

    A *stream* is what one producer had acknowledged into one partition between two cuts. Where a client does not say
    which partition a message went to, all of its producer's between two cuts are one stream.
    """

    KEPT = 0
    """Acknowledged, and found in every read that could tell."""
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
    """Its producer was told that it was not stored, and it was not."""
    REFUSED_KEPT = 11
    """Its producer was told that it was not stored, and it was."""


LOST = (Fate.LOST_FIRST, Fate.LOST_MIDDLE, Fate.LOST_LAST, Fate.LOST_ALL)
"""Acknowledged and gone."""
BROKEN = (*LOST, Fate.CORRUPT, Fate.DIFFERENT)
"""What an acknowledged message must not suffer."""


@dataclass(frozen=True)
class PositionChange:
    """A committed position that is behind what the servers had told before. `after` is -1 if it is gone."""

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
        cut: which cut it was acknowledged before, from 0, by the instants given to `classify`; -1 without a cut.
        before_cut_s: how long before that cut its acknowledgement had arrived; 0 without a cut.
        previous: the last message of its stream before it that is left, where the first read found it.
        following: the first one after it that is left.
        instead: another message that was found at the position it was acknowledged at.
        read: for DIFFERENT: the read that did not find it.
    """

    sent: Sent
    fate: Fate
    cut: int = -1
    before_cut_s: float = 0.0
    previous: Found | None = None
    following: Found | None = None
    instead: Found | None = None
    read: str = ""

    def sentence(self) -> str:
        """What happened to it, for people, in one sentence."""
        sent = self.sent
        where = f" to partition {sent.partition}" if sent.partition >= 0 else ""
        at = f" at position {sent.position}" if sent.position >= 0 else ""
        when = f", {self.before_cut_s * 1e3:,.0f} ms before the cut" if self.cut >= 0 else ""
        said = {
            Fate.CORRUPT: "and is there only damaged",
            Fate.DIFFERENT: f"and the {self.read or 'other read'} does not find it",
        }.get(self.fate, "and is gone")
        return (
            f"message {sent.sequence} of producer {sent.producer} was acknowledged{where}{at}{when}, {said}"
            f"{self._around()}"
        )

    def _around(self) -> str:
        if self.instead is not None:
            there = self.instead
            return f": message {there.sequence} of producer {there.producer} is at that position now"
        if self.fate not in LOST:
            return ""
        if self.previous is None and self.following is None:
            return ": nothing of its stream is left"
        left = f"ends with message {self.previous.sequence}" if self.previous else "has nothing before it"
        more = f" and goes on with {self.following.sequence}" if self.following else ""
        return f": what is left {left}{more}"
