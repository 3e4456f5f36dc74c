"""The directory of one trial, written as it goes (see `tidegauge.store` for its layout)."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from tidegauge.errors import RunFailedError, with_log
from tidegauge.model.attest import AttestOutcome
from tidegauge.model.level import SyncFinding
from tidegauge.model.load import SecondFigures, TotalFigures, WorkerFacts
from tidegauge.model.server import Distribution, Setting
from tidegauge.model.trial import AnyResult, AnySpec
from tidegauge.plain import plain_value
from tidegauge.store import seconds
from tidegauge.store.envelopes import (
    RESULT_SCHEMA,
    CyclesFile,
    DistributionFile,
    MeasuringFile,
    ResultFile,
    SettingsFile,
    Status,
    TrialFile,
    WitnessFile,
)
from tidegauge.store.files import (
    CYCLES_FILE,
    MEASURING_FILE,
    make_directory,
    move_aside,
    with_reserve,
    write_json,
)
from tidegauge.store.hlog import IntervalLog
from tidegauge.store.reasons import reasons_to_store
from tidegauge.store.tables import Table
from tidegauge.store.telemetry import TelemetryLog


def now_text() -> str:
    """This moment in UTC, ISO 8601 with seconds."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass(eq=False)
class TrialStore:
    """Where one trial's files go. Every method leaves complete, readable files behind.

    Attributes:
        disks, journal_disks: its directories on the disks chosen for data and for journals; () if none were.
        earlier: the content of its trial.json, where it goes on with what is in the directory already.
    """

    directory: Path
    data_directory: Path
    reserve: Path
    spec: AnySpec
    disks: tuple[Path, ...] = ()
    journal_disks: tuple[Path, ...] = ()
    session: int = 1
    earlier: Mapping[str, Any] = field(default_factory=dict)
    ended: bool = False

    def __post_init__(self) -> None:
        """Begin it."""
        directory, earlier = self.directory, self.earlier
        self.log_directory = directory / "logs"
        self._session = int(earlier.get("session") or self.session)
        self._page_cache: dict[str, object] | None = earlier.get("page_cache")
        self._started_at = str(earlier.get("started_at") or now_text())
        make_directory(self.log_directory)
        self.make_data_directories()
        self._write_status("running", "", "")
        self._seconds = Table(directory, seconds.NAME, seconds.columns)
        self._seconds.begin()
        self._workers = Table(directory, seconds.WORKERS, seconds.worker_columns, seconds.WORKER_COLUMNS)
        self.telemetry = TelemetryLog(directory)
        self._logs = {
            name: IntervalLog(directory / f"{name}.hlog") for name in ("response", "service", "delay", "end-to-end")
        }

    def append_second(self, figures: SecondFigures, phase: str = "") -> None:
        """Append one second's figures and interval histograms. Raises `RunFailedError`."""
        span = (figures.from_mono_ns, figures.until_mono_ns)
        row = seconds.row_of_second(figures, phase)
        for series in ("response", "service", "delay"):
            self._logs[series].append(getattr(figures, series), *span, max_ms=row[f"{series}_max_ms"])
        for subscription, subscription_row in zip(figures.subscriptions, row["subscriptions"], strict=True):
            largest_ms = subscription_row["end_to_end_max_ms"]
            self._logs["end-to-end"].append(subscription.end_to_end, *span, subscription.name, largest_ms)
        # Before the second itself: whoever sees it finds the rows of all its load generators.
        self._workers.append(seconds.worker_rows(figures, phase))
        self._seconds.append([row])

    def write_settings(
        self,
        server: Sequence[Setting],
        client: Sequence[Setting],
        jvm_flags: Sequence[str],
        worker: WorkerFacts | None = None,
    ) -> None:
        """Effective settings as read back, and what the load generator said of itself."""
        content = SettingsFile(
            schema="tidegauge.settings/1", server=server, client=client, server_jvm_flags=jvm_flags, worker=worker
        )
        write_json(self.directory / "settings.json", content)

    def write_witness(self, finding: SyncFinding, evidence: Mapping[str, object]) -> None:
        """What the servers were seen to sync before they acknowledged. Raises `RunFailedError`."""
        content = {**WitnessFile(schema="tidegauge.witness/1", finding=finding), **evidence}
        write_json(self.directory / "witness.json", content)

    def make_evidence_directory(self, name: str) -> Path:
        """A new directory of the trial for what others write; an earlier one moves aside. Raises `RunFailedError`."""
        directory = self.directory / "evidence" / name
        if directory.exists():
            move_aside(directory, self.directory / "earlier-evidence")
        make_directory(directory)
        return directory

    def write_cycles(self, outcome: AttestOutcome) -> None:
        """What the cycles of an attestation found so far: each may have taken minutes. Raises `RunFailedError`."""
        content = CyclesFile(schema="tidegauge.cycles/1", outcome=outcome)
        write_json(self.directory / CYCLES_FILE, content, durable=True)

    def write_measuring(self, record: object) -> None:
        """What is needed for the trial's result beside its load generators' figures. Raises `RunFailedError`."""
        content = MeasuringFile(schema="tidegauge.measuring/1", measuring=plain_value(record))
        write_json(self.directory / MEASURING_FILE, content)

    def write_distribution(self, distribution: Distribution) -> None:
        """Which files were run."""
        content = DistributionFile(schema="tidegauge.distribution/1", distribution=distribution)
        write_json(self.directory / "distribution.json", content)

    def write_page_cache(self, dropped: bool, reason: str) -> None:
        """Whether the page cache was dropped before the trial, and why not. Raises `RunFailedError`."""
        self._page_cache = {"dropped": dropped, "reason": reason}
        self._write_status("running", "", "")

    def finish(self, result: AnyResult, totals: TotalFigures) -> None:
        """Window histograms, Parquet, result, and last the status: whoever reads in between finds whole files."""
        with_reserve(self.reserve, partial(self._write_windows, totals))
        self._close_logs(durable=True)
        # Make a Parquet file of each table; one that can't be stays as lines, read alike: no result is lost for it.
        for table in (self._seconds, self._workers, self.telemetry):
            try:
                table.finish()
            except (RunFailedError, OSError, ValueError, TypeError):  # pyarrow has ValueErrors and TypeErrors
                table.close()
        content = ResultFile(schema=RESULT_SCHEMA, result=result, totals=totals, remarks=reasons_to_store(result))
        write = partial(write_json, self.directory / "result.json", content, durable=True)
        with_reserve(self.reserve, write)
        for name in (CYCLES_FILE, MEASURING_FILE):
            (self.directory / name).unlink(missing_ok=True)
        with_reserve(self.reserve, partial(self._write_status, "finished", "", now_text()))
        self.ended = True

    def fail(
        self, cause: str, interrupted: bool, log_path: Path | None = None, *, settings_refused: bool = False
    ) -> None:
        """The trial ended without a result; what was measured stays. Does nothing after `finish`.

        Args:
            log_path: the log to look at, which is named behind the cause.
            settings_refused: whether a client refused its settings.
        """
        if self.ended:
            return
        with contextlib.suppress(RunFailedError):
            self._close_logs(durable=False)
            self._seconds.close()
            self._workers.close()
            self.telemetry.close()
        status: Status = "interrupted" if interrupted else "failed"
        write = partial(self._write_status, status, cause, now_text(), log_path, settings_refused=settings_refused)
        with_reserve(self.reserve, write)
        self.ended = True

    def choose_disks(self, disks: Sequence[Path], journal_disks: Sequence[Path]) -> None:
        """From now on the servers' data go there."""
        self.disks, self.journal_disks = tuple(disks), tuple(journal_disks)

    def make_data_directories(self) -> None:
        """Make those that servers write to; on other hosts they are made there. Raises `RunFailedError`."""
        for data in () if self.spec.elsewhere else self._data_directories():
            make_directory(data)

    def remove_data(self) -> None:
        """Remove the server data, once the servers have stopped. Never raises."""
        for data in self._data_directories():
            shutil.rmtree(data, ignore_errors=True)

    def _data_directories(self) -> set[Path]:
        return {self.data_directory, *self.disks, *self.journal_disks}

    def _write_status(
        self,
        status: Status,
        cause: str,
        ended_at: str,
        log_path: Path | None = None,
        *,
        settings_refused: bool = False,
    ) -> None:
        content = TrialFile(
            schema="tidegauge.trial/1",
            status=status,
            reason=with_log(cause, log_path),
            cause=cause,
            log_path=None if log_path is None else str(log_path),
            settings_refused=settings_refused,
            started_at=self._started_at,
            ended_at=ended_at,
            page_cache=self._page_cache,
            session=self._session,
            spec=self.spec,
        )
        write_json(self.directory / "trial.json", content, durable=status != "running")

    def _write_window(self, name: str, totals_by_prefix: Mapping[str, TotalFigures]) -> None:
        """Write histograms of the measured window, of one or several, by what their tags begin with."""
        path = self.directory / f"{name}.hlog"
        path.unlink(missing_ok=True)
        log = IntervalLog(path)
        for prefix, totals in totals_by_prefix.items():
            window = totals.window
            span = (window.from_mono_ns, max(window.until_mono_ns, window.from_mono_ns))
            for tag in ("response", "service", "delay", "own_lag"):
                log.append(getattr(window, tag), *span, f"{prefix}{tag.replace('_', '-')}")
            for subscription in totals.subscriptions:
                log.append(subscription.end_to_end, *span, f"{prefix}end-to-end/{subscription.name}")
        log.close(durable=True)

    def _write_windows(self, totals: TotalFigures) -> None:
        self._write_window("window", {"": totals})
        self._write_window("workers", {f"{worker.name}/": worker.totals for worker in totals.workers})

    def _close_logs(self, durable: bool) -> None:
        for log in self._logs.values():
            log.close(durable)
