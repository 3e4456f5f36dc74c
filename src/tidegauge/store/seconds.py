"""Per-second figures as rows: a line of JSON each second while a trial runs, one Parquet file when it is done.

Units stand last in the names of the columns. Histograms are not in here but in the .hlog files; their p50, p99 and
maximum are. Columns without "subscription" sum over subscriptions, `backlog_msgs` is the largest of them.

Beside it a second table with a row for each of several load generators; none of a trial that one alone carried out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegauge.model.load import SecondFigures, SubscriptionSecond, WorkerSecond
from tidegauge.statistics.histograms import decode_histogram
from tidegauge.store.hlog import NS_PER_MS
from tidegauge.store.tables import EDGES, FLOAT, INT, TEXT, ColumnKinds, last_lines, parquet_schema, read_table

if TYPE_CHECKING:
    import pyarrow as pa


NAME = "seconds"
_ROW_BYTES_MAX = 4096
"""Of a row as JSON, with a few subscriptions; where rows are longer, fewer of them are read at once."""
_STATISTICS = ("p50", "p99", "max")
_COUNTED = ("received_msgs", "received_bytes", "backlog_msgs", "duplicated_msgs", "reordered_msgs", "corrupt_msgs")


def _time_columns(*series: str) -> dict[str, str]:
    return {f"{name}_{statistic}_ms": FLOAT for name in series for statistic in _STATISTICS}


OF_GENERATOR: Mapping[str, str] = {
    **dict.fromkeys(("own_lag_max_ms", "worker_cpu_s", "gc_pause_s"), FLOAT),
    "heap_used_bytes": INT,
    "busiest_consumer": TEXT,
    **dict.fromkeys(("busiest_consumer_busy_s", "jit_s"), FLOAT),
}
COLUMNS: Mapping[str, str] = {
    **dict.fromkeys(EDGES, INT),
    "scheduled_msgs_per_s": FLOAT,
    **dict.fromkeys(("sent_msgs", "acked_msgs", "failed_msgs", "acked_bytes", "received_msgs", "received_bytes"), INT),
    **dict.fromkeys(("in_flight_msgs", "backlog_msgs", "duplicated_msgs", "reordered_msgs", "corrupt_msgs"), INT),
    **_time_columns("response", "service", "delay", "end_to_end"),
    "blocked_s": FLOAT,
    **OF_GENERATOR,
}
"""The type of each, but for the subscriptions and the phase, which come last."""
_OF_SUBSCRIPTION: Mapping[str, str] = {"name": TEXT, **dict.fromkeys(_COUNTED, INT), **_time_columns("end_to_end")}
KINDS: ColumnKinds = {**COLUMNS, "subscriptions": _OF_SUBSCRIPTION, "phase": TEXT}
_ROWS_MAX = 1_000_000
"""Of a trial's seconds, which is eleven days."""


@cache
def columns() -> pa.Schema:
    """Names and types of the columns of per-second figures."""
    import pyarrow as pa

    subscriptions = pa.list_(pa.struct([pa.field(name, kind) for name, kind in _OF_SUBSCRIPTION.items()]))
    return parquet_schema("tidegauge.seconds/1", {**COLUMNS, "subscriptions": subscriptions, "phase": TEXT})


Times = dict[str, float | None]


def percentile_columns(series: str, encoded: bytes) -> Times:
    """The columns with p50, p99 and maximum of an encoded histogram, in ms; None where nothing was recorded."""
    names, histogram = _time_columns(series), decode_histogram(encoded)
    if not histogram.count:
        return dict.fromkeys(names)
    ends_ns = histogram.percentiles_ns(50, 99, 100)
    return {name: end_ns / NS_PER_MS for name, end_ns in zip(names, ends_ns, strict=True)}


def row_of_second(figures: SecondFigures, phase: str = "") -> dict[str, Any]:
    """The columns of one second; `phase` is what of its trial it belongs to, "" if nobody said."""
    subscriptions = list(map(_subscription_row, figures.subscriptions))
    # The slowest subscription's end-to-end times: percentiles are never averaged.
    seen = (subscription for subscription in subscriptions if subscription["end_to_end_p99_ms"] is not None)
    slowest = max(seen, key=lambda subscription: float(subscription["end_to_end_p99_ms"]), default={})
    return {
        **{name: getattr(figures, name) for name in EDGES},
        "scheduled_msgs_per_s": figures.scheduled_msgs_per_s,
        "sent_msgs": figures.sent,
        "acked_msgs": figures.acked,
        "failed_msgs": figures.failed,
        "acked_bytes": figures.acked_bytes,
        "in_flight_msgs": figures.in_flight,
        **{column: sum(subscription[column] for subscription in subscriptions) for column in _COUNTED},
        # What waits does not add up: it may be the same messages.
        "backlog_msgs": max((subscription["backlog_msgs"] for subscription in subscriptions), default=0),
        **percentile_columns("response", figures.response),
        **percentile_columns("service", figures.service),
        **percentile_columns("delay", figures.delay),
        **{column: slowest.get(column) for column in _time_columns("end_to_end")},
        "blocked_s": figures.blocked_ns / 1e9,
        **generator_row(figures),
        "subscriptions": subscriptions,
        "phase": phase,
    }


def _subscription_row(subscription: SubscriptionSecond) -> dict[str, Any]:
    return {
        "name": subscription.name,
        "received_msgs": subscription.received,
        "received_bytes": subscription.received_bytes,
        "backlog_msgs": subscription.backlog,
        "duplicated_msgs": subscription.duplicated,
        "reordered_msgs": subscription.reordered,
        "corrupt_msgs": subscription.corrupt,
        **percentile_columns("end_to_end", subscription.end_to_end),
    }


def each_second(trial_directory: Path) -> Iterator[dict[str, Any]]:
    """Per-second rows of a trial, finished or not, oldest first; none when there are none yet.

    Raises `OSError`, `ValueError`.
    """
    return read_table(trial_directory, NAME, KINDS, _ROWS_MAX)


def read_seconds(trial_directory: Path) -> list[dict[str, Any]]:
    """All per-second rows of a trial at once. Raises `OSError`, `ValueError`."""
    return list(each_second(trial_directory))


def last_seconds(trial_directory: Path, rows_max: int) -> list[dict[str, Any]]:
    """The newest rows of a trial, without reading all of a long one that goes on; empty when there are none yet."""
    try:
        return list(last_lines(trial_directory / f"{NAME}.jsonl", KINDS, rows_max * _ROW_BYTES_MAX, rows_max))
    except (OSError, ValueError):
        pass
    try:
        return list(deque(each_second(trial_directory), rows_max))
    except (OSError, ValueError):
        return []


def generator_row(second: SecondFigures | WorkerSecond) -> dict[str, Any]:
    """What a second says of the load generator itself: the one, all of them, or one of several."""
    return {
        "own_lag_max_ms": second.own_lag_ns_max / NS_PER_MS,
        "worker_cpu_s": second.worker_cpu_ns / 1e9,
        "gc_pause_s": second.gc_pause_ns / 1e9,
        "heap_used_bytes": second.heap_used_bytes,
        "busiest_consumer": second.busiest_consumer,
        "busiest_consumer_busy_s": second.busiest_consumer_busy_ns / 1e9,
        "jit_s": second.jit_ns / 1e9,
    }


WORKERS = "workers"
WORKER = "worker"
"""The load generator's number, from 1."""
_COUNTED_OF_WORKER = ("scheduled_msgs_per_s", "sent_msgs", "acked_msgs", "received_msgs")
WORKER_COLUMNS = (*EDGES, WORKER, *_COUNTED_OF_WORKER, *OF_GENERATOR, "phase")
_LAST_BYTES = 512 * 1024
"""Of a growing table, read for its newest second: that of two thousand load generators."""


WORKER_KINDS: ColumnKinds = {name: {**COLUMNS, WORKER: INT, "phase": TEXT}[name] for name in WORKER_COLUMNS}


def worker_columns() -> pa.Schema:
    """Names and types of the columns of load generators' seconds."""
    return parquet_schema("tidegauge.workers/1", WORKER_KINDS)


def worker_rows(figures: SecondFigures, phase: str = "") -> list[dict[str, Any]]:
    """A row for each load generator that had anything of a second; [] where there is one only."""
    return [
        {
            **{name: getattr(figures, name) for name in EDGES},
            WORKER: worker.worker,
            "scheduled_msgs_per_s": worker.scheduled_msgs_per_s,
            "sent_msgs": worker.sent,
            "acked_msgs": worker.acked,
            "received_msgs": worker.received,
            **generator_row(worker),
            "phase": phase,
        }
        for worker in figures.workers
    ]


def worker_rows_of(trial_directory: Path, second: int) -> list[Mapping[str, Any]]:
    """Rows of the load generators in one of the newest seconds of a trial that goes on; [] of any other second."""
    try:
        newest = last_lines(trial_directory / f"{WORKERS}.jsonl", WORKER_KINDS, _LAST_BYTES)
        return [row for row in newest if row["second"] == second]
    except (OSError, ValueError):
        return []
