"""What the page shows of a run now, read from its directory; cheap enough to be asked every second beside a trial."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tidegauge import store
from tidegauge.experiments.procedure import seconds_left
from tidegauge.model.trial import LoadResult, MeasuredResult
from tidegauge.plain import plain
from tidegauge.report.html.answer import answer
from tidegauge.report.summary import head
from tidegauge.store.seconds import WORKER, last_seconds, worker_rows_of
from tidegauge.store.telemetry import ROWS_MAX, last_hosts, last_use_rows, use_rows

SECONDS_MAX = 240
"""Of the newest trial: what a chart on a page can show."""
_NS_PER_S = 1e9
_WORKER_RATES = {"msgs_per_s": "acked", "received_msgs_per_s": "received"}
_USED = ("host_cpu_percent", "server_cpu_cores", "server_memory_mib", "disk_busy_percent", "disk_written_mb_per_s")


class Follower:
    """A run that is asked about again and again: what has not changed is not read again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._mark: tuple[object, ...] = ()
        self._content: dict[str, Any] = {}
        self._done: dict[str, Any] | None = None
        self._run: store.StoredRun | None = None

    def state(self) -> dict[str, Any]:
        """The run, its trials, and the last seconds of the newest one. Raises `UserError` if it is no run."""
        mark = _mark(self._path)
        if self._run is None or mark != self._mark:
            self._run, self._mark = store.load_run(self._path), mark
            self._content, self._done = _run_content(self._run), None
        left_s = run_seconds_left(self._run, datetime.now(UTC))
        trial = self._newest_trial(self._run)
        return {"schema": "tidegauge.live/1", **self._content, "seconds_left": left_s, "trial": trial}

    def _newest_trial(self, run: store.StoredRun) -> dict[str, Any] | None:
        """One that has ended is read once: what is in its place may take long, and is asked for every second."""
        # A resumed run makes trials again whose names come before others.
        newest = max(run.trials, key=lambda trial: (trial.started_at, trial.trial_id), default=None)
        if self._done is not None or newest is None:
            return self._done
        content = _trial(newest)
        if newest.status != "running":
            self._done = content
        return content


def run_seconds_left(run: store.StoredRun, now: datetime) -> float | None:
    """By the plan as it is now, less what has gone by of the trial that goes; None of a run that goes no more. Pure."""
    if run.status != "running":
        return None
    ended = {trial.trial_id for trial in run.trials if trial.status != "running"}
    going = next((trial for trial in run.trials if trial.trial_id not in ended and trial.spec is not None), None)
    if going is None or going.spec is None:
        return seconds_left(run.planned, ended, "", 0.0)
    # A search may make a trial that the plan of a moment ago did not have.
    others = [spec for spec in run.planned if spec.trial_id != going.trial_id]
    try:
        spent_s = (now - datetime.fromisoformat(going.started_at)).total_seconds()
    except ValueError:
        spent_s = 0.0
    return seconds_left([going.spec, *others], ended, going.trial_id, max(0.0, spent_s))


def _mark(path: Path) -> tuple[object, ...]:
    """Changes when a note, a trial, a result or the run's end is written, and not with every second.

    The minute is part of it, since that a run was killed leaves no trace in its files.
    """
    trials = [*(path / "trials").glob("*/")]
    newest = max(trials, key=lambda trial: _changed(trial / "trial.json"), default=path)
    files = (path / "run.json", path / "plan.json", newest / "trial.json", newest / "result.json")
    return (len(trials), *(_changed(file) for file in files), int(time.monotonic() // 60))


def _changed(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _run_content(run: store.StoredRun) -> dict[str, Any]:
    return {
        "run": head(run),
        "headline": answer(run).headline if run.results else "",
        "trials": [
            {
                "trial_id": trial.trial_id,
                "system": trial.spec.system if trial.spec else "",
                "status": trial.status,
                "validity": trial.result.validity.value if trial.result else "",
                "msgs_per_s": plain(trial.result.msgs_per_s) if isinstance(trial.result, MeasuredResult) else None,
                "response_p99_ms": trial.result.response.p99_ms if isinstance(trial.result, LoadResult) else None,
                "reason": trial.problem or trial.reason,
            }
            for trial in run.trials
        ],
    }


def _trial(trial: store.StoredTrial) -> dict[str, Any]:
    """The newest trial with its last seconds; its phase is that of the last second, or "starting" before the first."""
    rows = last_seconds(trial.directory, SECONDS_MAX)
    running = trial.status == "running"
    used = last_use_rows(trial.directory) if running else use_rows(trial.directory, ROWS_MAX)
    phase = (str(rows[-1].get("phase") or "load") if rows else "starting") if running else trial.status
    return {
        "trial_id": trial.trial_id,
        "system": trial.spec.system if trial.spec else "",
        "phase": phase,
        "seconds": _with_use([_second(row) for row in rows], rows, used),
        "workers": _workers(trial, rows[-1]["second"] if running and rows else None),
        "hosts": last_hosts(trial.directory) if running else [],
    }


def _workers(trial: store.StoredTrial, second: int | None) -> list[dict[str, Any]]:
    """Of several load generators each: in a second, or over the window of a trial that has a result."""
    if second is not None:
        return [
            {
                "worker": row[WORKER],
                "offered_msgs_per_s": row["scheduled_msgs_per_s"] or None,
                **_rates(row),
                "own_lag_max_ms": row["own_lag_max_ms"],
            }
            for row in worker_rows_of(trial.directory, second)
        ]
    return [
        {
            "worker": own.worker,
            "offered_msgs_per_s": own.offered_msgs_per_s,
            **{name: getattr(own, name) for name in _WORKER_RATES},
            "own_lag_max_ms": own.own_lag.max_ms,
        }
        for own in (trial.result.workers if isinstance(trial.result, MeasuredResult) else ())
    ]


def _rates(row: Mapping[str, Any]) -> dict[str, float]:
    length_ns: int = row["until_mono_ns"] - row["from_mono_ns"]
    return {name: row[f"{what}_msgs"] * _NS_PER_S / max(1, length_ns) for name, what in _WORKER_RATES.items()}


def _with_use(
    seconds: list[dict[str, Any]], rows: Sequence[Mapping[str, Any]], used: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Each second with what was used in it: of the look in which its middle lies; None where there is none."""
    place = 0
    for second, row in zip(seconds, rows, strict=True):
        middle_ns = (row["from_mono_ns"] + row["until_mono_ns"]) // 2
        while place < len(used) and used[place]["until_mono_ns"] <= middle_ns:
            place += 1
        found = used[place] if place < len(used) and used[place]["from_mono_ns"] <= middle_ns else None
        second.update(_used(found))
    return seconds


def _used(row: Mapping[str, Any] | None) -> dict[str, float | None]:
    if row is None:
        return dict.fromkeys(_USED)
    length_s = max(1e-3, (row["until_mono_ns"] - row["from_mono_ns"]) / _NS_PER_S)
    cpu_s, resident, written = row["server_cpu_s"], row["server_resident_bytes"], row["disk_written_bytes"]
    return {
        "host_cpu_percent": row["host_cpu_percent"],
        "server_cpu_cores": None if cpu_s is None else cpu_s / length_s,
        "server_memory_mib": None if resident is None else resident / (1 << 20),
        "disk_busy_percent": row["disk_busy_percent"],
        "disk_written_mb_per_s": None if written is None else written / length_s / 1e6,
    }


def _second(row: Mapping[str, Any]) -> dict[str, Any]:
    length_s = (row["until_mono_ns"] - row["from_mono_ns"]) / _NS_PER_S
    # The first and the last second of a load are pieces, whose rates would be noise.
    whole = length_s >= 0.2
    return {
        "second": row["second"],
        "phase": row.get("phase") or "",
        "msgs_per_s": row["acked_msgs"] / length_s if whole else None,
        "response_p50_ms": row["response_p50_ms"],
        "response_p99_ms": row["response_p99_ms"],
        "end_to_end_p99_ms": row["end_to_end_p99_ms"],
        "backlog_msgs": row["backlog_msgs"],
        "in_flight_msgs": row["in_flight_msgs"],
        "worker_cpu_cores": row["worker_cpu_s"] / length_s if whole else None,
    }
