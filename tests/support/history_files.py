"""Histories and read logs as the worker writes them."""

from __future__ import annotations

import struct
from pathlib import Path

from tidegauge.attestation.evidence import RecordKind

TRIAL = 0xFEDC_BA98_7654_3210


def header(magic: bytes, record_bytes: int, producer: int = 0, trial: int = TRIAL) -> bytes:
    return struct.pack("<8sIIQq", magic, record_bytes, producer, trial, 5)


def record(kind: RecordKind, sequence: int, ns: int, partition: int = -1, position: int = -1) -> bytes:
    return struct.pack("<qqqiI", ns, sequence, position, partition, kind)


def write(directory: Path, producer: int, *records: bytes, trial: int = TRIAL) -> Path:
    path = directory / f"producer-{producer:05d}.history"
    path.write_bytes(header(b"TGHIST01", 32, producer, trial) + b"".join(records))
    return path
