"""Files of records that the worker writes as evidence: a header, then records of one size, little endian."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tidegauge.errors import RunFailedError

Longs = NDArray[np.int64]

HEADER = np.dtype([("magic", "S8"), ("record_bytes", "<u4"), ("producer", "<u4"), ("trial", "<u8"), ("made", "<i8")])
"""As `io.tidegauge.worker.engine.history.RecordFile` writes it. `producer` is 0 where a file is of no single one."""


def read_records(
    file: Path, what: str, magic: bytes, layout: np.dtype[np.void]
) -> tuple[np.void, NDArray[np.void], int]:
    """The header of a file, its whole records, and how many bytes of another one follow.

    Args:
        what: what it should be, for people: "history".

    Raises `RunFailedError` if it is something else.
    """
    data = file.read_bytes()
    if len(data) < HEADER.itemsize:
        raise RunFailedError(f"{file} is no {what}: it has {len(data)} bytes, less than its header.")
    header = np.frombuffer(data, HEADER, count=1)[0]
    if bytes(header["magic"]) != magic or int(header["record_bytes"]) != layout.itemsize:
        raise RunFailedError(f"{file} is no {what}, or one of another version of Tidegauge.")
    whole, rest = divmod(len(data) - HEADER.itemsize, layout.itemsize)
    return header, np.frombuffer(data, layout, count=whole, offset=HEADER.itemsize), rest
