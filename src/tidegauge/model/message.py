"""One message as it was sent, and one as it was found. Without numpy: plans and help load the words for anomalies."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, IntFlag


class Outcome(IntEnum):
    """What became of a message as far as its producer was told."""

    UNKNOWN = 0
    """Given up, or nothing told at all."""
    ACKNOWLEDGED = 1
    REFUSED = 2
    """It surely was not stored."""


@dataclass(frozen=True)
class Sent:
    """One message of a history, for whoever writes one by hand.

    Attributes:
        invoked_ns: before the client was given the message.
        resolved_ns: when its outcome was told; -1 if never.
        partition: where its client says it went; -1 if it does not say.
        position: likewise in that partition.
    """

    producer: int
    sequence: int
    invoked_ns: int
    outcome: Outcome = Outcome.UNKNOWN
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
class Found:
    """One message found, for whoever writes a read by hand. `position` and `within` (a batch) as the system has it."""

    producer: int
    sequence: int
    partition: int = 0
    position: int = -1
    topic: int = 0
    flags: Flag = INTACT
    within: int = 0
