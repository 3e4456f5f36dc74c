"""What a worker tells of a trial's topics when it is asked to read them back, as plain data. Times in monotonic ns."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from tidegauge.model.read_back import CommittedPositions, ReadBack
from tidegauge.worker.api import LoadOrder

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
