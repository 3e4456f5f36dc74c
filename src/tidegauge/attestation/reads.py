"""What was found when a trial's partitions were read from their beginning: one pass, by the worker.

The file of a pass (docs/reference.md, "Read logs") holds each message in the order in which it was delivered.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tidegauge.attestation.history import Longs, read_records
from tidegauge.errors import RunFailedError
from tidegauge.model.message import Found, PartitionRead, ReadBack

MAGIC = b"TGREAD01"
RECORD = np.dtype(
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
COLUMNS = ("producer", "sequence", "topic", "partition", "position", "flags")


NEVER = (1 << 63) - 1
"""Later than any instant."""


@dataclass(frozen=True)
class Read:
    """One pass: its messages in the order of delivery, and how far each partition was read. Columns as in `Found`.

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


def read_of(name: str, found: Iterable[Found], partitions: tuple[PartitionRead, ...] = ()) -> Read:
    """A read of these messages, in this order; every partition of them complete unless `partitions` says otherwise."""
    rows = list(found)
    if not partitions:
        places = sorted({(row.topic, row.partition) for row in rows})
        partitions = tuple(
            PartitionRead(t, p, sum((row.topic, row.partition) == (t, p) for row in rows), True) for t, p in places
        )

    def column(field: str) -> Longs:
        return np.array([int(getattr(row, field)) for row in rows], dtype=np.int64)

    return Read(name=name, partitions=partitions, began_ns=NEVER, **{field: column(field) for field in COLUMNS})


def last_positions(reads: Iterable[Read]) -> dict[tuple[int, int], int]:
    """By topic and partition, the last position at which any of these reads found a message, damaged or not."""
    last: dict[tuple[int, int], int] = {}
    for read in reads:
        for topic, partition in {(p.topic, p.partition) for p in read.partitions}:
            there = read.position[(read.topic == topic) & (read.partition == partition)]
            if len(there):
                last[topic, partition] = max(int(there.max()), last.get((topic, partition), -1))
    return last


def load_read(name: str, read_back: ReadBack, trial_id: int) -> Read:
    """The pass that a worker has made. Raises `RunFailedError` if its file is damaged or of another trial."""
    header, records, rest = read_records(read_back.file, "read log", MAGIC, RECORD)
    if int(header["trial"]) != trial_id:
        raise RunFailedError(f"{read_back.file} was read for trial {int(header['trial']):x}, not for {trial_id:x}.")
    body = records.nbytes + rest
    expected = sum(p.messages for p in read_back.partitions) * RECORD.itemsize
    if body != expected:
        raise RunFailedError(f"{read_back.file} has {body:,} bytes of records; the worker says it wrote {expected:,}.")
    columns = {field: records[field].astype(np.int64) for field in COLUMNS}
    return Read(name=name, partitions=read_back.partitions, began_ns=read_back.began_mono_ns, **columns)
