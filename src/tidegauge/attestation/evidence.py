"""What attestations read as evidence: files that the worker writes of what was sent and found.

They have a header, then records of one size, little endian (docs/reference.md, "Histories and read logs").

A history is kept by the worker outside what is cut, one file a producer. A message is *invoked* before its client is
given it. Its outcome is *acknowledged*, *refused* (it surely was not stored), or *unknown*: its client gave it up, or
nothing was reported before the worker ended. An unknown message may be there or not; both are fine.

A read log is what one pass over a trial's partitions found, read from their beginning: each message in the order in
which it was delivered.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidegauge.errors import RunFailedError
from tidegauge.model.message import FoundMessage, PartitionRead, ReadBack, SendOutcome, Sent

Longs = NDArray[np.int64]

HEADER = np.dtype([("magic", "S8"), ("record_bytes", "<u4"), ("producer", "<u4"), ("trial", "<u8"), ("made", "<i8")])
"""As `io.tidegauge.worker.engine.history.RecordFile` writes it. `producer` is 0 where a file is of no single one."""


def read_records(
    file: Path, kind: str, magic: bytes, layout: np.dtype[np.void]
) -> tuple[np.void, NDArray[np.void], int]:
    """The header of a file, its whole records, and how many bytes of another one follow.

    Args:
        kind: what it should be, for people: "history".

    Raises `RunFailedError` if it is something else.
    """
    data = file.read_bytes()
    if len(data) < HEADER.itemsize:
        raise RunFailedError(f"{file} is no {kind}: it has {len(data)} bytes, less than its header.")
    header = np.frombuffer(data, HEADER, count=1)[0]
    if bytes(header["magic"]) != magic or int(header["record_bytes"]) != layout.itemsize:
        raise RunFailedError(f"{file} is no {kind}, or one of another version of Tidegauge.")
    whole, rest = divmod(len(data) - HEADER.itemsize, layout.itemsize)
    return header, np.frombuffer(data, layout, count=whole, offset=HEADER.itemsize), rest


HISTORY_MAGIC = b"TGHIST01"
HISTORY_RECORD = np.dtype(
    [("mono_ns", "<i8"), ("sequence", "<i8"), ("position", "<i8"), ("partition", "<i4"), ("kind", "u1"), ("_", "V3")]
)
"""As `io.tidegauge.worker.engine.history.HistoryFile` writes it, little endian."""
FILES = "producer-*.history"
HISTORY_COLUMNS = ("producer", "sequence", "invoked_ns", "resolved_ns", "outcome", "partition", "position")


class RecordKind(IntEnum):
    """What a record of a history says."""

    INVOKED = 1
    ACKNOWLEDGED = 2
    UNKNOWN = 3
    REFUSED = 4


@dataclass(frozen=True)
class History:
    """All messages of a trial, one row each, ordered by producer and sequence. The columns are those of `Sent`.

    Attributes:
        doubts: what is odd about the files themselves (a record cut short where the worker was killed, an outcome
            reported twice), in words.
    """

    producer: Longs
    sequence: Longs
    invoked_ns: Longs
    resolved_ns: Longs
    outcome: Longs
    partition: Longs
    position: Longs
    doubts: tuple[str, ...] = ()

    def __len__(self) -> int:
        """Messages invoked."""
        return len(self.sequence)

    @property
    def acknowledged(self) -> NDArray[np.bool_]:
        """Which rows were acknowledged."""
        acknowledged: NDArray[np.bool_] = self.outcome == SendOutcome.ACKNOWLEDGED
        return acknowledged

    def row(self, index: int) -> Sent:
        """One message."""
        values: dict[str, Any] = {name: int(getattr(self, name)[index]) for name in HISTORY_COLUMNS}
        return Sent(**{**values, "outcome": SendOutcome(values["outcome"])})

    def acknowledged_between(self, from_ns: int, until_ns: int) -> int:
        """How many acknowledgements arrived in a stretch of time: those at risk in a cut that ends it."""
        within = self.acknowledged & (self.resolved_ns >= from_ns) & (self.resolved_ns <= until_ns)
        return int(np.count_nonzero(within))

    def in_flight_at(self, at_ns: int) -> int:
        """How many messages had been invoked and had no outcome at an instant."""
        open_then = (self.invoked_ns <= at_ns) & ((self.resolved_ns < 0) | (self.resolved_ns > at_ns))
        return int(np.count_nonzero(open_then))

    def newest_before(self, at_ns: int) -> int:
        """When the newest message before an instant was invoked, or acknowledged if that was later; -1 if none was.

        Raises nothing: a cut before the first message has nothing at risk.
        """
        times = np.concatenate([self.invoked_ns, self.resolved_ns[self.acknowledged]])
        before = times[(times >= 0) & (times <= at_ns)]
        return int(before.max()) if len(before) else -1

    def last_positions(self, after_ns: int) -> dict[tuple[int, int], int]:
        """Where the last of what was sent after an instant was acknowledged, by topic (the first) and partition.

        Of nothing, if clients get no positions. What was sent before a cut of that instant may be gone.
        """
        rows = self.acknowledged & (self.invoked_ns > after_ns) & (self.position >= 0)
        highest = {int(p): int(self.position[rows & (self.partition == p)].max()) for p in set(self.partition[rows])}
        return {(0, partition): position for partition, position in highest.items()}

    def first_acknowledged_after(self, at_ns: int) -> int:
        """When the first message that was invoked after an instant was acknowledged; -1 if none was."""
        after = self.resolved_ns[self.acknowledged & (self.invoked_ns > at_ns)]
        return int(after.min()) if len(after) else -1


def read_history(directory: Path, trial_id: int) -> History:
    """The history that a trial's producers wrote.

    Raises `RunFailedError` if there is none, or a file is not one, or of another trial.
    """
    files = sorted(directory.glob(FILES))
    if not files:
        raise RunFailedError(
            f"There is no history in {directory}.", "The worker writes one only if the trial asks for it."
        )
    parts = []
    for file in files:
        header, records, rest = read_records(file, "history", HISTORY_MAGIC, HISTORY_RECORD)
        if int(header["trial"]) != trial_id:
            raise RunFailedError(f"{file} is the history of trial {int(header['trial']):x}, not of {trial_id:x}.")
        doubts = [f"{file.name}: the last {rest} bytes are part of a record only, and left out"] if rest else []
        parts.append(_join_outcomes(int(header["producer"]), records, file.name, doubts))
    order = np.argsort(np.concatenate([part.producer for part in parts]), kind="stable")

    columns = {name: np.concatenate([getattr(part, name) for part in parts])[order] for name in HISTORY_COLUMNS}
    return History(**columns, doubts=tuple(doubt for part in parts for doubt in part.doubts))


def _join_outcomes(producer: int, records: NDArray[np.void], name: str, doubts: list[str]) -> History:
    """Joins what was invoked with what became of it."""
    invoked = records[records["kind"] == RecordKind.INVOKED]
    invoked = invoked[np.argsort(invoked["sequence"], kind="stable")]
    reported = records[records["kind"] != RecordKind.INVOKED]
    count = len(invoked)
    sequence = invoked["sequence"].astype(np.int64)
    places = np.searchsorted(sequence, reported["sequence"])
    # A place past the end would be that of a message larger than all.
    was_invoked = np.append(sequence, -1)[places] == reported["sequence"]
    if not was_invoked.all():
        doubts.append(f"{name}: outcomes of messages that were never invoked")
    rows, reported = places[was_invoked], reported[was_invoked]
    if len(np.unique(rows)) < len(rows):
        doubts.append(f"{name}: outcomes reported twice; the first counts")
    rows, first = np.unique(rows, return_index=True)
    reported = reported[first]
    columns = {field: np.full(count, -1, dtype=np.int64) for field in ("resolved_ns", "partition", "position")}
    outcome = np.full(count, SendOutcome.UNKNOWN, dtype=np.int64)
    columns["resolved_ns"][rows] = reported["mono_ns"]
    columns["partition"][rows] = reported["partition"]
    columns["position"][rows] = reported["position"]
    outcome[rows[reported["kind"] == RecordKind.ACKNOWLEDGED]] = SendOutcome.ACKNOWLEDGED
    outcome[rows[reported["kind"] == RecordKind.REFUSED]] = SendOutcome.REFUSED
    return History(
        producer=np.full(count, producer, dtype=np.int64),
        sequence=sequence,
        invoked_ns=invoked["mono_ns"].astype(np.int64),
        outcome=outcome,
        doubts=tuple(doubts),
        **columns,
    )


READ_MAGIC = b"TGREAD01"
READ_RECORD = np.dtype(
    [
        ("sequence", "<i8"),
        ("position", "<i8"),
        ("producer", "<u4"),
        ("within", "<u4"),
        ("topic", "<u4"),
        ("partition", "<u4"),
        ("flags", "<u4"),
        ("_", "V4"),
    ]
)
"""As `io.tidegauge.worker.engine.history.ReadLog` writes it, little endian."""
READ_COLUMNS = ("producer", "sequence", "topic", "partition", "position", "flags")


NEVER = (1 << 63) - 1
"""Later than any instant."""


@dataclass(frozen=True)
class Read:
    """One pass: its messages in the order of delivery, and how far each partition was read. Columns as in
    `FoundMessage`.

    Attributes:
        name: which pass it is, for people: "first read", "second read", "read from node 2".
        began_ns: when it began; what was acknowledged later it need not have found.
    """

    name: str
    producer: Longs
    sequence: Longs
    topic: Longs
    partition: Longs
    position: Longs
    flags: Longs
    partitions: tuple[PartitionRead, ...]
    began_ns: int = NEVER

    def __len__(self) -> int:
        """Messages found."""
        return len(self.sequence)

    @property
    def intact(self) -> NDArray[np.bool_]:
        """Which messages are this trial's and undamaged."""
        intact: NDArray[np.bool_] = self.flags == 0
        return intact

    @property
    def incomplete(self) -> tuple[PartitionRead, ...]:
        """Partitions that were not read to their end: nothing can be said lost there."""
        return tuple(p for p in self.partitions if not p.complete)


def read_of(name: str, messages: Iterable[FoundMessage], partitions: tuple[PartitionRead, ...] = ()) -> Read:
    """A read of these messages, in this order; every partition of them complete unless `partitions` says otherwise."""
    rows = list(messages)
    if not partitions:
        places = sorted({(row.topic, row.partition) for row in rows})
        partitions = tuple(
            PartitionRead(t, p, sum((row.topic, row.partition) == (t, p) for row in rows), True) for t, p in places
        )

    def column(field: str) -> Longs:
        return np.array([int(getattr(row, field)) for row in rows], dtype=np.int64)

    return Read(name=name, partitions=partitions, began_ns=NEVER, **{field: column(field) for field in READ_COLUMNS})


def last_positions(reads: Iterable[Read]) -> dict[tuple[int, int], int]:
    """The last position at which any of these reads found a message, damaged or not, by topic and partition."""
    last: dict[tuple[int, int], int] = {}
    for read in reads:
        for topic, partition in {(p.topic, p.partition) for p in read.partitions}:
            positions = read.position[(read.topic == topic) & (read.partition == partition)]
            if len(positions):
                last[topic, partition] = max(int(positions.max()), last.get((topic, partition), -1))
    return last


def load_read(name: str, read_back: ReadBack, trial_id: int) -> Read:
    """The pass that a worker has made. Raises `RunFailedError` if its file is damaged or of another trial."""
    header, records, rest = read_records(read_back.file, "read log", READ_MAGIC, READ_RECORD)
    if int(header["trial"]) != trial_id:
        raise RunFailedError(f"{read_back.file} was read for trial {int(header['trial']):x}, not for {trial_id:x}.")
    body = records.nbytes + rest
    expected = sum(p.messages for p in read_back.partitions) * READ_RECORD.itemsize
    if body != expected:
        raise RunFailedError(f"{read_back.file} has {body:,} bytes of records; the worker says it wrote {expected:,}.")
    columns = {field: records[field].astype(np.int64) for field in READ_COLUMNS}
    return Read(name=name, partitions=read_back.partitions, began_ns=read_back.began_mono_ns, **columns)
