"""What servers, worker and host used during a trial, as tables: a row a second for each process, device and the host.

Amounts are those of the row's own span (`from_mono_ns` to `until_mono_ns`, about a second); the clock is that of
`seconds.parquet`. Units stand last in the names of the columns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, get_type_hints

from tidegauge.model.use import DeviceUse, HostUse, ProcessUse, ProgramUse, Sample, ThreadUse
from tidegauge.store.tables import FLOAT, INT, TEXT, Row, Table, condense_stream, last_lines, parquet_schema, read_table

DIRECTORY = "telemetry"
PROCESSES, DEVICES, HOST, HOSTS, METRICS = "processes", "devices", "host", "hosts", "metrics"
PROGRAMS = "programs"
"""HOSTS is of a fleet's other hosts, whose spans are of their own clocks: a row is dated by when it was heard."""

_SPAN = {"from_mono_ns": INT, "until_mono_ns": INT}

_TYPES = {int: INT, int | None: INT, float: FLOAT, float | None: FLOAT, str: TEXT}


def _columns_of_thread(which: str) -> dict[str, str]:
    return {f"{which}_thread": TEXT, f"{which}_thread_cpu_s": FLOAT, f"{which}_thread_wait_s": FLOAT}


def _columns_of(kind: type, **instead: Mapping[str, str]) -> dict[str, str]:
    """A column for each field of a type, in order; `instead`: other columns in the place of some fields."""
    columns: dict[str, str] = {}
    for name, hint in get_type_hints(kind).items():
        columns |= instead[name] if name in instead else {name: _TYPES[hint]}
    return columns


COLUMNS: Mapping[str, Mapping[str, str]] = {
    PROCESSES: {
        **_SPAN,
        **_columns_of(
            ProcessUse,
            name={"process": TEXT},
            busiest=_columns_of_thread("busiest"),
            waiting=_columns_of_thread("waiting"),
        ),
    },
    PROGRAMS: {**_SPAN, **_columns_of(ProgramUse, name={"program": TEXT})},
    DEVICES: {**_SPAN, "device": TEXT, **_columns_of(DeviceUse, name={})},
    HOST: {**_SPAN, **_columns_of(HostUse), "telemetry_cpu_s": FLOAT},
    HOSTS: {**_SPAN, "host": TEXT, "seconds": FLOAT, **_columns_of(HostUse)},
    METRICS: {**_SPAN, "process": TEXT, "metric": TEXT, "value": FLOAT},
}
"""Of each table, by name: the type as pyarrow calls it."""


@dataclass(frozen=True)
class MetricRow:
    """One figure that a server reported about itself: over a span, or at its end."""

    from_mono_ns: int
    until_mono_ns: int
    process: str
    metric: str
    value: float


class TelemetryLog:
    """The tables of one trial. Files come into being with their first row."""

    def __init__(self, trial_directory: Path) -> None:
        self._directory = trial_directory / DIRECTORY
        self._tables = {
            name: Table(
                self._directory, name, partial(parquet_schema, f"tidegauge.telemetry-{name}/1", columns), tuple(columns)
            )
            for name, columns in COLUMNS.items()
        }

    def append_sample(self, sample: Sample) -> None:
        """Append one look. Raises `RunFailedError`."""
        self._directory.mkdir(exist_ok=True)
        span = {"from_mono_ns": sample.from_mono_ns, "until_mono_ns": sample.until_mono_ns}
        self._tables[PROCESSES].append({**span, **process_row(process)} for process in sample.processes)
        self._tables[DEVICES].append({**span, **asdict(device), "device": device.name} for device in sample.devices)
        self._tables[HOST].append([{**span, **asdict(sample.host), "telemetry_cpu_s": sample.cost_s}])
        self._tables[PROGRAMS].append(
            {**span, **asdict(program), "program": program.name} for program in sample.programs
        )
        if sample.others:
            self._tables[HOSTS].append(
                {**span, "host": other.host, "seconds": other.seconds, **asdict(other.use)} for other in sample.others
            )

    def append_metrics(self, rows: Sequence[MetricRow]) -> None:
        """Append what servers reported. Raises `RunFailedError`."""
        self._directory.mkdir(exist_ok=True)
        self._tables[METRICS].append(asdict(row) for row in rows)

    def close(self) -> None:
        """Keep what there is as it is."""
        for table in self._tables.values():
            table.close()

    def finish(self) -> None:
        """Turn all tables into Parquet. Raises `RunFailedError`."""
        for table in self._tables.values():
            table.finish()


def process_row(use: ProcessUse) -> dict[str, Any]:
    """The columns of one process."""
    return {
        **{name: value for name, value in asdict(use).items() if name not in ("name", "busiest", "waiting")},
        "process": use.name,
        **_thread_row("busiest", use.busiest),
        **_thread_row("waiting", use.waiting),
    }


def _thread_row(which: str, threads: Sequence[ThreadUse]) -> dict[str, Any]:
    """The columns of the first of these threads."""
    first = threads[0] if threads else None
    figures = (first.name, first.cpu_s, first.wait_s) if first else (None, None, None)
    return dict(zip(_columns_of_thread(which), figures, strict=True))


def last_telemetry(trial_directory: Path, table: str, bytes_max: int) -> Iterator[dict[str, Any]]:
    """The newest rows of a trial that goes on; none of one that is done. Raises `OSError`, `ValueError`."""
    path = trial_directory / DIRECTORY / f"{table}.jsonl"
    return last_lines(path, COLUMNS[table], bytes_max) if path.exists() else iter(())


def read_telemetry(trial_directory: Path, table: str) -> Iterator[dict[str, Any]]:
    """The rows of one table of a trial, finished or not. Raises `OSError`, `ValueError`."""
    return read_table(trial_directory / DIRECTORY, table, COLUMNS[table])


WORKER = re.compile(r"worker(-\d+)?")
"""Names of the load generators' processes; all others are servers."""
LAST_BYTES = 256 * 1024
"""Of each table, read for the newest rows: four minutes of a cluster, more of one server."""

OF_HOST = "host_cpu_percent of "
"""With its address, the column of a fleet's other host."""
SENT_BY, RECEIVED_BY = "sent_bytes_per_s of ", "received_bytes_per_s of "
"""Likewise the columns of its network."""
WRITTEN_TO = "disk_written_bytes of "
"""With its name, the column of one of several disks."""
_END = 1 << 63


def use_rows(trial_directory: Path, rows_max: int) -> tuple[Row, ...]:
    """A row for each look, oldest first, at most `rows_max`; () where nothing was recorded or can be read."""
    try:
        return tuple(condense_stream(_join_tables(trial_directory), rows_max))
    except (OSError, ValueError, KeyError, TypeError, ArithmeticError):  # pyarrow's own errors are ValueErrors
        return ()


def metric_rows(trial_directory: Path, rows_max: int) -> tuple[Row, ...]:
    """A row for each look at what servers report of themselves, a column for each metric and process; () without."""
    try:
        looks = groupby(
            read_telemetry(trial_directory, METRICS), key=lambda row: (row["from_mono_ns"], row["until_mono_ns"])
        )
        rows = (
            {
                "from_mono_ns": from_ns,
                "until_mono_ns": until_ns,
                **{metric_column(row["metric"], row["process"]): row["value"] for row in rows_of_look},
            }
            for (from_ns, until_ns), rows_of_look in looks
        )
        return tuple(condense_stream(rows, rows_max))
    except (OSError, ValueError, KeyError, TypeError, ArithmeticError):  # pyarrow's own errors are ValueErrors
        return ()


def metric_column(metric: str, process: str) -> str:
    """The column of `metric_rows` with what a process reported."""
    return f"{metric} of {process}"


def last_use_rows(trial_directory: Path) -> list[Row]:
    """The newest rows of a trial that goes on, some minutes of them at most; [] once it is done."""
    try:
        return list(
            _join_tables(trial_directory, lambda directory, table: last_telemetry(directory, table, LAST_BYTES))
        )
    except (OSError, ValueError, KeyError, TypeError, ArithmeticError):
        return []


def last_hosts(trial_directory: Path) -> list[Row]:
    """What each of a fleet's other hosts used when it was heard last, while a trial goes on; [] once it is done.

    A row is `host`, `cpu_percent` of its CPUs, `io_stall_percent`, `sent_mb_per_s` and `received_mb_per_s`.
    """
    try:
        newest = {str(row["host"]): row for row in last_telemetry(trial_directory, HOSTS, LAST_BYTES)}
        return [_use_of(newest[host]) for host in sorted(newest)]
    except (OSError, ValueError, KeyError, TypeError, ArithmeticError):
        return []


def _use_of(host: Row) -> Row:
    seconds = max(1e-3, host["seconds"])
    return {
        "host": host["host"],
        "cpu_percent": _cpu_percent(host, seconds),
        "io_stall_percent": _percent_of_time(host["io_stall_s"], seconds),
        "sent_mb_per_s": host["network_sent_bytes"] / seconds / 1e6,
        "received_mb_per_s": host["network_received_bytes"] / seconds / 1e6,
    }


Read = Callable[[Path, str], Iterator[Row]]


def _join_tables(directory: Path, read: Read = read_telemetry) -> Iterator[Row]:
    """The tables joined by their spans. They were written look by look, so they are in the same order."""
    processes, devices, hosts = (_Looks(read(directory, table)) for table in (PROCESSES, DEVICES, HOSTS))
    for host in read(directory, HOST):
        at = host["from_mono_ns"]
        servers = [row for row in processes.rows_at(at) if not WORKER.fullmatch(row["process"])]
        # Of a fleet's other hosts the larger where one was heard twice.
        use_by_host: Row = {}
        for row in hosts.rows_at(at):
            seconds = max(1e-3, row["seconds"])
            for kind, used in (
                (OF_HOST, _cpu_percent(row, seconds)),
                (SENT_BY, row["network_sent_bytes"] / seconds),
                (RECEIVED_BY, row["network_received_bytes"] / seconds),
            ):
                name = f"{kind}{row['host']}"
                use_by_host[name] = max(use_by_host.get(name, 0.0), used)
        yield _row_of_look(host, servers, devices.rows_at(at)) | use_by_host


class _Looks:
    """The rows of one table, look by look; asked for later ones only."""

    def __init__(self, rows: Iterator[Row]) -> None:
        self._looks = groupby(rows, key=lambda row: int(row["from_mono_ns"]))
        self._at, self._rows = -1, list[Row]()

    def rows_at(self, from_mono_ns: int) -> list[Row]:
        """The rows of one look; [] if there are none."""
        while self._at < from_mono_ns:
            self._at, rows_of_look = next(self._looks, (_END, iter(())))
            self._rows = list(rows_of_look)
        return self._rows if self._at == from_mono_ns else []


_OF_SERVERS = ("cpu_s", "resident_bytes", "gc_pause_s", "context_switches")


def _row_of_look(host: Mapping[str, Any], servers: list[Row], devices: list[Row]) -> Row:
    def total(rows: list[Row], column: str) -> float | None:
        values = [row[column] for row in rows if row[column] is not None]
        return float(sum(values)) if values else None

    length_s = max(1e-3, (host["until_mono_ns"] - host["from_mono_ns"]) / 1e9)
    return {
        "from_mono_ns": host["from_mono_ns"],
        "until_mono_ns": host["until_mono_ns"],
        "host_cpu_percent": _cpu_percent(host, length_s),
        # Runs of earlier versions have none.
        "others_cpu_percent": _percent_of_time(host.get("others_cpu_s"), length_s * int(host["cpus"])),
        **{f"server_{figure}": total(servers, figure) for figure in _OF_SERVERS},
        **{f"disk_{figure}": total(devices, figure) for figure in ("written_bytes", "read_bytes", "flushes")},
        "disk_busy_percent": max((min(100.0, 100 * row["busy_s"] / length_s) for row in devices), default=None),
        "loopback_bytes": float(host["loopback_bytes"]),
        **{f"network_{way}_bytes": float(host[f"network_{way}_bytes"]) for way in ("sent", "received")},
        # Each of several disks, those of a fleet's hosts with their host.
        **{
            f"{WRITTEN_TO}{' on '.join(filter(None, (row['device'], row.get('host'))))}": float(row["written_bytes"])
            for row in devices
            if len(devices) > 1
        },
        **{
            f"{figure}_stall_percent": _percent_of_time(host[f"{figure}_stall_s"], length_s) for figure in ("cpu", "io")
        },
    }


def _cpu_percent(host: Mapping[str, Any], length_s: float) -> float:
    used_s: float = host["cpu_s"]
    return min(100.0, 100 * used_s / int(host["cpus"]) / length_s)


def _percent_of_time(spent_s: float | None, length_s: float) -> float | None:
    return None if spent_s is None else min(100.0, 100 * spent_s / length_s)
