"""What is found when messages are read back from their partitions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class PartitionRead:
    """How far one partition was read, from its very beginning.

    Attributes:
        topic: its place in the order's list.
        complete: whether all was read that was there when reading began; if not, `why` says what kept it from that.
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

    What was told before a cut had been acknowledged as committed: after it, nothing may be behind that. Empty for a
    system that keeps no positions (RabbitMQ's queues forget what was acknowledged instead).
    """

    asked_mono_ns: int
    told_mono_ns: int
    positions: tuple[CommittedPosition, ...]
