"""What a worker tells of a trial's topics when it is asked to read them back, as plain data. Times in monotonic ns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tidegauge.worker.api import LoadOrder


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


Positions = Mapping[tuple[int, int], int]
"""By topic and partition."""
NOWHERE: Positions = {}


class ReadingWorker(Protocol):
    """The part of a worker that reads back. Every call raises `RunFailedError`, also if it is gone, with its log."""

    def read_back(
        self,
        order: LoadOrder,
        subscription: str,
        file: Path,
        timeout_s: float,
        *,
        node: int = 0,
        last: Positions = NOWHERE,
    ) -> ReadBack:
        """Read all partitions of the order's topics through the official client; changes no message.

        Args:
            order: the trial's own order, which may be running, finished with its topics kept, or of another worker.
            subscription: whose copy is read where each has one of its own ("sub-1"). It must not have consumed
                anything: let the last subscription start paused and leave it so. Where messages are kept only as long
                as a subscription needs them (Pulsar), it is the one that keeps them.
            file: is made; must not exist yet. What it holds: `tidegauge.attestation.reads`.
            timeout_s: for all partitions together. What is not read by then is told, as not complete.
            node: whose copy is read, by number from 1, where a system lets clients choose (`System.serves_replicas`); 0
                is whatever serves. Kafka's partitions are led by that node afterwards.
            last: where the last messages are known to be, acknowledged there or found by another read. They are given
                some seconds to show up, for servers that have a message may learn a little later that they may show it.
        """
        ...

    def committed_positions(self, order: LoadOrder) -> CommittedPositions:
        """How far the order's subscriptions have come, by what the servers say."""
        ...
