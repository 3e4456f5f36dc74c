"""What the page shows of a run now, read from its directory; cheap enough to be asked every second beside a trial."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tidegauge import store
from tidegauge.experiments.procedure import seconds_left
from tidegauge.model.trial import AnySpec, LoadResult, LoadSpec, MeasuredResult, ReadSpec
from tidegauge.numbers import in_unit, parse_time
from tidegauge.plain import plain_value
from tidegauge.report.envelopes import Live, LiveTrial
from tidegauge.report.html.answer import answer
from tidegauge.report.plots.timeline import MIB, Column, as_is, per_s
from tidegauge.report.summary import run_head
from tidegauge.statistics.figures import Shown, figures_shown
from tidegauge.store.seconds import WORKER, last_seconds, worker_rows_of
from tidegauge.store.tables import ROWS_MAX
from tidegauge.store.telemetry import last_hosts, last_use_rows, use_rows

SECONDS_MAX = 240
"""Seconds of the newest trial that are shown: as many as a chart on a page can show."""
PENDING_MAX = 20
"""Trials to come that are named; of more, how many there are."""
_RECEIVED = per_s("received_msgs")
_COLUMNS_OF_SECOND: Mapping[str, Column] = {
    "msgs_per_s": per_s("acked_msgs"),
    **{
        name: as_is(name)
        for name in ("response_p50_ms", "response_p99_ms", "end_to_end_p99_ms", "backlog_msgs", "in_flight_msgs")
    },
    "worker_cpu_cores": per_s("worker_cpu_s"),
}
_COLUMNS_OF_USE: Mapping[str, Column] = {
    "host_cpu_percent": as_is("host_cpu_percent"),
    "server_cpu_cores": per_s("server_cpu_s"),
    "server_memory_mib": as_is("server_resident_bytes", 1 / MIB),
    "disk_busy_percent": as_is("disk_busy_percent"),
    "disk_written_mb_per_s": per_s("disk_written_bytes", 1e6),
}
_COLUMNS_OF_WORKER: Mapping[str, Column] = {
    "msgs_per_s": per_s("acked_msgs"),
    "received_msgs_per_s": _RECEIVED,
    "own_lag_max_ms": as_is("own_lag_max_ms"),
}


class RunFollower:
    """A run that is asked about again and again: what has not changed is not read again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._mark: tuple[object, ...] = ()
        self._content: dict[str, Any] = {}
        self._done: LiveTrial | None = None
        self._before: LiveTrial | None = None
        self._chosen: LiveTrial | None = None
        self._run: store.StoredRun | None = None
        self._lock = threading.Lock()

    def state(self, trial_id: str = "") -> dict[str, Any]:
        """The run, its trials, and the last seconds of the newest one. Raises `UserError` if it is no run.

        `trial_id`: of a trial that is wanted beside it, with its figures; "" = none.
        """
        # Several readers may ask at once, each in a thread of its own.
        with self._lock:
            return self._read_state(trial_id)

    def _read_state(self, trial_id: str) -> dict[str, Any]:
        mark = _change_mark(self._path)
        if self._run is None or mark != self._mark:
            self._run, self._mark = store.load_run(self._path), mark
            self._content, self._done, self._before, self._chosen = _run_content(self._run), None, None, None
        left_s = run_seconds_left(self._run, datetime.now(UTC))
        # A resumed run makes trials again whose names come before others.
        by_age = sorted(self._run.trials, key=lambda trial: (trial.started_at, trial.trial_id))
        trial = self._newest_trial(by_age)
        before = self._trial_before(by_age) if trial is not None and not trial["seconds"] else None
        content: Live = {
            "schema": "tidegauge.live/1",
            "run": self._content["run"],
            "headline": self._content["headline"],
            "trials": self._content["trials"],
            "pending": self._content["pending"],
            "pending_more": self._content["pending_more"],
            "seconds_left": left_s,
            "trial": trial,
            "before": before,
            "chosen": self._chosen_trial(trial_id, by_age),
        }
        return {**content}

    def _newest_trial(self, by_age: Sequence[store.StoredTrial]) -> LiveTrial | None:
        """The newest trial's content. An ended one is read once: it may take long, and is asked for every second."""
        if self._done is not None or not by_age:
            return self._done
        content = _trial_content(by_age[-1])
        if by_age[-1].status != "running":
            self._done = content = {**content, "figures": _figures_of_trial(by_age[-1])}
        return content

    def _chosen_trial(self, trial_id: str, by_age: Sequence[store.StoredTrial]) -> LiveTrial | None:
        """The content of a trial that is asked for by its name, with its figures; None where there is no such."""
        trial = next((trial for trial in by_age if trial.trial_id == trial_id), None)
        if trial is None:
            return None
        if self._chosen is None or self._chosen["trial_id"] != trial_id or trial.status == "running":
            self._chosen = {**_trial_content(trial), "figures": _figures_of_trial(trial)}
        return self._chosen

    def _trial_before(self, by_age: Sequence[store.StoredTrial]) -> LiveTrial | None:
        """The last ended trial that has seconds, to be looked at until the newest one has some; None without any."""
        for trial in reversed(by_age[:-1]):
            if self._before is None or self._before["trial_id"] != trial.trial_id:
                self._before = _trial_content(trial)
            if self._before["seconds"]:
                return self._before
        return None


def run_seconds_left(run: store.StoredRun, now: datetime) -> float | None:
    """By the plan as it is now, less what has gone by of the trial that goes; None of a run that goes no more. Pure.

    None too before there is a plan, and as long as a trial of it is of unknown length.
    """
    if run.status != "running" or not run.planned:
        return None
    ended = {trial.trial_id for trial in run.trials if trial.status != "running"}
    running_trial = next(
        (trial for trial in run.trials if trial.trial_id not in ended and trial.spec is not None), None
    )
    if running_trial is None or running_trial.spec is None:
        return seconds_left(run.planned, ended, "", 0.0)
    # A search may make a trial that the plan of a moment ago did not have.
    others = [spec for spec in run.planned if spec.trial_id != running_trial.trial_id]
    try:
        spent_s = (now - parse_time(running_trial.started_at)).total_seconds()
    except ValueError:
        spent_s = 0.0
    return seconds_left([running_trial.spec, *others], ended, running_trial.trial_id, max(0.0, spent_s))


def _change_mark(path: Path) -> tuple[object, ...]:
    """A value that changes when a note, a trial, a result or the run's end is written, and not with every second.

    The minute is part of it, since that a run was killed leaves no trace in its files.
    """
    trials = [*(path / "trials").glob("*/")]
    newest = max(trials, key=lambda trial: _modified_ns(trial / "trial.json"), default=path)
    files = (path / "run.json", path / "plan.json", newest / "trial.json", newest / "result.json")
    return (len(trials), *(_modified_ns(file) for file in files), int(time.monotonic() // 60))


def _modified_ns(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _run_content(run: store.StoredRun) -> dict[str, Any]:
    begun = {trial.trial_id for trial in run.trials}
    # As far as the plan of a run which goes knows them.
    pending = [spec for spec in run.planned if spec.trial_id not in begun] if run.status == "running" else []
    return {
        "run": plain_value(run_head(run)),
        "headline": answer(run).headline if run.results else "",
        "trials": [
            {
                "trial_id": trial.trial_id,
                "system": trial.spec.system if trial.spec else "",
                "status": trial.status,
                "validity": trial.result.validity.value if trial.result else "",
                "msgs_per_s": plain_value(trial.result.msgs_per_s)
                if isinstance(trial.result, MeasuredResult)
                else None,
                "response_p99_ms": trial.result.response.p99_ms if isinstance(trial.result, LoadResult) else None,
                "reason": trial.problem or trial.reason,
            }
            for trial in run.trials
        ],
        "pending": [
            {"trial_id": spec.trial_id, "system": spec.system, "target_msgs_per_s": _target_msgs_per_s(spec)}
            for spec in pending[:PENDING_MAX]
        ],
        "pending_more": max(0, len(pending) - PENDING_MAX),
    }


def _target_msgs_per_s(spec: AnySpec | None) -> float | None:
    """The rate that is offered all the time; None in a closed loop, with a schedule, or where nobody knows it yet."""
    return spec.msgs_per_s if isinstance(spec, LoadSpec) and spec.schedule is None else None


def _trial_content(trial: store.StoredTrial) -> LiveTrial:
    """The newest trial with its last seconds; its phase is that of the last second, or "starting" before the first."""
    rows = last_seconds(trial.directory, SECONDS_MAX)
    running = trial.status == "running"
    used = last_use_rows(trial.directory) if running else use_rows(trial.directory, ROWS_MAX)
    phase = (str(rows[-1].get("phase") or "load") if rows else "starting") if running else trial.status
    # What is read counts where nothing is sent, and how much of it is left nobody knows.
    reads: Mapping[str, Column] = {
        "msgs_per_s": _RECEIVED,
        "backlog_msgs": lambda _: None,
        "in_flight_msgs": lambda _: None,
    }
    columns = {**_COLUMNS_OF_SECOND, **reads} if isinstance(trial.spec, ReadSpec) else _COLUMNS_OF_SECOND
    seconds = [
        {"second": row["second"], "phase": row.get("phase") or "", **_figures_of_row(columns, row)} for row in rows
    ]
    return LiveTrial(
        trial_id=trial.trial_id,
        system=trial.spec.system if trial.spec else "",
        phase=phase,
        target_msgs_per_s=_target_msgs_per_s(trial.spec),
        seconds=_with_use(seconds, rows, used),
        workers=_worker_figures(trial, rows[-1]["second"] if running and rows else None),
        hosts=last_hosts(trial.directory) if running else [],
    )


def _figures_of_trial(trial: store.StoredTrial) -> list[dict[str, Any]]:
    """What became of a trial, by name: its figures as its report has them, and why it is not valid."""
    result = trial.result
    if not isinstance(result, MeasuredResult):
        return []
    figures = [
        {"name": figure.head, "value": in_unit(figure.value_in(result), figure.unit)}
        for figure in figures_shown(Shown.TRIALS)
    ]
    reasons = [{"name": "why", "value": str(reason)} for reason in result.reasons]
    return [{"name": "validity", "value": result.validity.shown}, *reasons, *figures]


def _worker_figures(trial: store.StoredTrial, second: int | None) -> list[dict[str, Any]]:
    """Figures of each of several load generators: in a second, or over the window of a trial that has a result."""
    if second is not None:
        return [
            {
                "worker": row[WORKER],
                "offered_msgs_per_s": row["scheduled_msgs_per_s"] or None,
                **_figures_of_row(_COLUMNS_OF_WORKER, row),
            }
            for row in worker_rows_of(trial.directory, second)
        ]
    return [
        {
            "worker": worker.worker,
            "offered_msgs_per_s": worker.offered_msgs_per_s,
            "msgs_per_s": worker.msgs_per_s,
            "received_msgs_per_s": worker.received_msgs_per_s,
            "own_lag_max_ms": worker.own_lag.max_ms,
        }
        for worker in (trial.result.workers if isinstance(trial.result, MeasuredResult) else ())
    ]


def _figures_of_row(columns: Mapping[str, Column], row: Mapping[str, Any]) -> dict[str, float | None]:
    return {name: column(row) for name, column in columns.items()}


def _with_use(
    seconds: list[dict[str, Any]], rows: Sequence[Mapping[str, Any]], used: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """The seconds, each with what was used in the look in which its middle lies; None where there is no such look."""
    place = 0
    for second, row in zip(seconds, rows, strict=True):
        middle_ns = (row["from_mono_ns"] + row["until_mono_ns"]) // 2
        while place < len(used) and used[place]["until_mono_ns"] <= middle_ns:
            place += 1
        used_row = used[place] if place < len(used) and used[place]["from_mono_ns"] <= middle_ns else None
        second.update(
            dict.fromkeys(_COLUMNS_OF_USE) if used_row is None else _figures_of_row(_COLUMNS_OF_USE, used_row)
        )
    return seconds
