"""What was used in each second of a trial as one row: servers taken together, their disks, the host."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from tidegauge.store.telemetry import DEVICES, HOST, PROCESSES, last_telemetry, read_telemetry

WORKER = "worker"
"""Name of the load generator's process; all others are servers."""
ROWS_MAX = 7200
"""In memory at once; beyond it, neighbours are merged (`condense`)."""

LAST_BYTES = 256 * 1024
"""Of each table, read for the newest rows: four minutes of a cluster, more of one server."""

Row = dict[str, Any]


def use_rows(trial_directory: Path, rows_max: int) -> tuple[Row, ...]:
    """A row for each look, oldest first, at most `rows_max`; () where nothing was recorded or can be read."""
    try:
        return tuple(_bounded(_rows(trial_directory), rows_max))
    except (OSError, ValueError, KeyError, TypeError):  # pyarrow's own errors are ValueErrors
        return ()


def last_use_rows(trial_directory: Path) -> list[Row]:
    """The newest rows of a trial that goes on, some minutes of them at most; [] once it is done."""
    try:
        return list(_rows(trial_directory, lambda directory, table: last_telemetry(directory, table, LAST_BYTES)))
    except (OSError, ValueError, KeyError, TypeError):
        return []


Read = Callable[[Path, str], Iterator[Row]]


def _rows(directory: Path, read: Read = read_telemetry) -> Iterator[Row]:
    """The three tables joined by their spans. They were written look by look, so they are in the same order."""
    processes = _looks(read(directory, PROCESSES))
    devices = _looks(read(directory, DEVICES))
    of_process, of_device = next(processes, None), next(devices, None)
    for host in read(directory, HOST):
        at = host["from_mono_ns"]
        while of_process is not None and of_process[0] < at:
            of_process = next(processes, None)
        while of_device is not None and of_device[0] < at:
            of_device = next(devices, None)
        servers = (
            [row for row in of_process[1] if row["process"] != WORKER] if of_process and of_process[0] == at else []
        )
        yield _row(host, servers, of_device[1] if of_device and of_device[0] == at else [])


def _looks(rows: Iterator[Row]) -> Iterator[tuple[int, list[Row]]]:
    for at, alike in groupby(rows, key=lambda row: int(row["from_mono_ns"])):
        yield at, list(alike)


def _row(host: Mapping[str, Any], servers: list[Row], devices: list[Row]) -> Row:
    def total(rows: list[Row], column: str) -> float | None:
        known = [row[column] for row in rows if row[column] is not None]
        return float(sum(known)) if known else None

    length_s = max(1e-3, (host["until_mono_ns"] - host["from_mono_ns"]) / 1e9)
    return {
        "from_mono_ns": host["from_mono_ns"],
        "until_mono_ns": host["until_mono_ns"],
        "host_cpu_percent": min(100.0, 100 * host["cpu_s"] / host["cpus"] / length_s),
        "server_cpu_s": total(servers, "cpu_s"),
        "server_resident_bytes": total(servers, "resident_bytes"),
        "server_gc_pause_s": total(servers, "gc_pause_s"),
        "server_context_switches": total(servers, "context_switches"),
        "disk_written_bytes": total(devices, "written_bytes"),
        "disk_read_bytes": total(devices, "read_bytes"),
        "disk_flushes": total(devices, "flushes"),
        "disk_busy_percent": max((min(100.0, 100 * row["busy_s"] / length_s) for row in devices), default=None),
        "loopback_bytes": float(host["loopback_bytes"]),
        **{f"{what}_stall_percent": _percent(host[f"{what}_stall_s"], length_s) for what in ("cpu", "io")},
    }


def _percent(spent_s: float | None, length_s: float) -> float | None:
    return None if spent_s is None else min(100.0, 100 * spent_s / length_s)


def _bounded(rows: Iterator[Row], rows_max: int) -> list[Row]:
    kept: list[Row] = []
    for row in rows:
        kept.append(row)
        if len(kept) >= max(ROWS_MAX, 2 * rows_max):
            kept = [_larger(*pair) for pair in zip(kept[::2], kept[1::2], strict=False)]
    while len(kept) > rows_max:
        kept = [_larger(*kept[place : place + 2]) for place in range(0, len(kept), 2)]
    return kept


def _larger(first: Row, second: Row | None = None) -> Row:
    """Two neighbours as one, with the larger of each figure: peaks are what a long line must not hide."""
    if second is None:
        return first
    return {
        name: value
        if name.endswith("_mono_ns")
        else max((one for one in (value, second[name]) if one is not None), default=None)
        for name, value in first.items()
    }
