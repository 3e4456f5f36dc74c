"""What each of several load generators had of each second: a row for each, beside those of all together.

Columns and units are those of the seconds (`store.seconds`). No table of a trial that one alone carried out.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegauge.model.load import SecondFigures
from tidegauge.store import seconds
from tidegauge.store.tables import INT, TEXT, last_lines, parquet_schema, read_table

if TYPE_CHECKING:
    import pyarrow as pa

NAME = "workers"
WORKER = "worker"
"""The load generator's number, from 1."""
_OF_SECOND = ("second", "from_mono_ns", "until_mono_ns")
_COUNTED = ("scheduled_msgs_per_s", "sent_msgs", "acked_msgs", "received_msgs")
COLUMNS = (*_OF_SECOND, WORKER, *_COUNTED, *seconds.OF_GENERATOR, "phase")
_LAST_BYTES = 512 * 1024
"""Of a growing table, read for its newest second: that of two thousand load generators."""


def schema() -> pa.Schema:
    """Names and types."""
    known = {**seconds.COLUMNS, WORKER: INT, "phase": TEXT}
    return parquet_schema("tidegauge.workers/1", {name: known[name] for name in COLUMNS})


def rows(figures: SecondFigures, phase: str = "") -> list[dict[str, Any]]:
    """A row for each load generator that had anything of a second; [] where there is one only."""
    return [
        {
            **{name: getattr(figures, name) for name in _OF_SECOND},
            WORKER: own.worker,
            "scheduled_msgs_per_s": own.scheduled_msgs_per_s,
            "sent_msgs": own.sent,
            "acked_msgs": own.acked,
            "received_msgs": own.received,
            **seconds.generator_row(own),
            "phase": phase,
        }
        for own in figures.workers
    ]


def read_worker_seconds(trial_directory: Path) -> list[dict[str, Any]]:
    """All rows of a trial, finished or not, oldest first. Raises `OSError`, `ValueError`."""
    return list(read_table(trial_directory, NAME))


def worker_rows_of(trial_directory: Path, second: int) -> list[Mapping[str, Any]]:
    """Those of one of the newest seconds of a trial that goes on; [] of any other."""
    try:
        newest = last_lines(trial_directory / f"{NAME}.jsonl", _LAST_BYTES)
        return [row for row in newest if row["second"] == second]
    except (OSError, ValueError):
        return []
