"""Servers in memory that do one thing wrong, for the classification of what they do: never for what real ones do.

Each holds two partitions. What it acknowledges it puts into its log, except where its fault says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from histories import history_of

from tidegauge.attestation.evidence import History, Read, read_of
from tidegauge.model.message import Flag, FoundMessage, PartitionRead, SendOutcome, Sent

PARTITIONS = 2
STEP_NS = 1_000
"""Between one message and the next."""

Message = tuple[int, int]
"""Producer and sequence."""


@dataclass
class Honest:
    """Writes, then acknowledges; keeps everything through a cut."""

    logs: list[list[Message]] = field(default_factory=lambda: [[] for _ in range(PARTITIONS)])

    def publish(self, message: Message) -> tuple[int, int] | None:
        """The partition and position acknowledged; None if it gives none."""
        partition = message[1] % PARTITIONS
        self.logs[partition].append(message)
        return partition, len(self.logs[partition]) - 1

    def cut(self) -> None:
        """The power goes and comes back."""

    def found(self, partition: int, reading: int) -> Iterable[FoundMessage]:
        """What a reader finds in a partition, in the order of delivery."""
        del reading
        return [FoundMessage(p, s, partition, at) for at, (p, s) in enumerate(self.logs[partition])]

    def copy(self, partition: int, node: int) -> Iterable[FoundMessage]:
        """What of a partition is in a node's own copy."""
        del node
        return self.found(partition, 0)

    def read(self, name: str, reading: int = 0, node: int = 0) -> Read:
        """All partitions from their beginning, of whatever serves or of a node's copy."""
        rows = [
            list(self.copy(partition, node) if node else self.found(partition, reading))
            for partition in range(PARTITIONS)
        ]
        partitions = tuple(PartitionRead(0, p, len(found), True) for p, found in enumerate(rows))
        return read_of(name, [row for found in rows for row in found], partitions)


@dataclass
class AcknowledgesBeforeItWrites(Honest):
    """Holds the newest messages in memory, acknowledged: a cut loses them."""

    unwritten: int = 5

    def cut(self) -> None:
        for log in self.logs:
            del log[-self.unwritten :]


class LosesTheMiddle(Honest):
    """Some block in the middle of its log does not come back; what is behind it moves up."""

    def cut(self) -> None:
        for log in self.logs:
            middle = len(log) // 2
            del log[middle - 1 : middle + 2]


class LosesTheBeginning(Honest):
    """Its first segment is gone."""

    def cut(self) -> None:
        for log in self.logs:
            del log[:4]


class LosesEverything(Honest):
    """It comes back empty."""

    def cut(self) -> None:
        for log in self.logs:
            log.clear()


class Duplicates(Honest):
    """Writes every tenth message twice."""

    def publish(self, message: Message) -> tuple[int, int] | None:
        place = super().publish(message)
        if place and message[1] % 10 == 0:
            self.logs[place[0]].append(message)
        return place


class AnswersFromOneReplica(Honest):
    """Its second replica lacks the newest messages, and every second reader is sent there."""

    def found(self, partition: int, reading: int) -> Iterable[FoundMessage]:
        rows = list(super().found(partition, reading))
        return rows[:-6] if reading % 2 else rows


@dataclass
class LacksInOneCopy(Honest):
    """Readers are served by what has everything; after a cut node 2's copy has a hole."""

    was_cut: bool = False

    def cut(self) -> None:
        self.was_cut = True

    def copy(self, partition: int, node: int) -> Iterable[FoundMessage]:
        rows = list(super().copy(partition, node))
        # Early in the log: a busy machine sends few before the cut.
        return [*rows[:1], *rows[4:]] if node == 2 and self.was_cut else rows


@dataclass
class ReplicasPartInACut(AnswersFromOneReplica):
    """Its replicas are alike until the power goes: then one lacks what the other has."""

    was_cut: bool = False

    def cut(self) -> None:
        self.was_cut = True

    def found(self, partition: int, reading: int) -> Iterable[FoundMessage]:
        return super().found(partition, reading if self.was_cut else 0)


class Reorders(Honest):
    """Swaps neighbours of one producer in its log."""

    def cut(self) -> None:
        for log in self.logs:
            places = [i for i, (producer, _) in enumerate(log) if producer == 0]
            log[places[4]], log[places[5]] = log[places[5]], log[places[4]]


class MakesThingsUp(Honest):
    """After a cut its log holds messages that nobody sent."""

    def cut(self) -> None:
        self.logs[0].append((0, 1_000_000))
        self.logs[1].append((7, 3))


class Damages(Honest):
    """The body of one message, and the header of another, do not come back as they went."""

    def found(self, partition: int, reading: int) -> Iterable[FoundMessage]:
        for row in super().found(partition, reading):
            flags = {5: Flag.CORRUPT, 8: Flag.CORRUPT | Flag.UNATTRIBUTED}.get(row.position, row.flags)
            yield FoundMessage(row.producer, row.sequence, row.partition, row.position, flags=flags)


class KeepsWhatItRefused(Honest):
    """Says of every twentieth message that it was not stored, and stores it."""


def drive(server: Honest, messages: int = 60, producers: int = 2, after: int = 20) -> tuple[History, int]:
    """Send to a server, cut its power, send on: the history, and when the cut was.

    Every 15th message gets no answer, every second of them because it never arrived.
    """
    sent: list[Sent] = []
    cut_ns = 0
    for number in range((messages + after) * producers):
        producer, sequence = number % producers, number // producers
        now_ns = STEP_NS * (number + 1)
        if sequence == messages and producer == 0:
            cut_ns = now_ns - 1
            server.cut()
        if sequence % 15 == 14:
            if sequence % 2:
                server.publish((producer, sequence))
            sent.append(Sent(producer, sequence, now_ns))
            continue
        place = server.publish((producer, sequence))
        outcome = SendOutcome.ACKNOWLEDGED
        if isinstance(server, KeepsWhatItRefused) and sequence % 20 == 0:
            outcome = SendOutcome.REFUSED
        partition, position = place or (-1, -1)
        sent.append(Sent(producer, sequence, now_ns, outcome, now_ns + STEP_NS // 2, partition, position))
    return history_of(sent), cut_ns
