"""What a trial makes on a cluster that others run, on disk before it is made, so that a crash leaves no topic unknown.

One record a trial: `STATE/attached/ID.json`, replaced whole at every change, and `ID.lock`, locked while the trial
lives. The kernel drops the lock when its process dies, however it dies. A record holds no secret, only where it is.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType

from tidegauge.errors import StartFailedError
from tidegauge.fleet import registry
from tidegauge.hosts import procfs
from tidegauge.hosts.procfs import Identity
from tidegauge.hosts.state import state_directory
from tidegauge.model.level import LevelChoice
from tidegauge.plain import plain, typed
from tidegauge.systems.attach import AttachChoice

SCHEMA = 1


@dataclass(frozen=True)
class TopicRecord:
    """Topics of one trial on a cluster of others, with all that is needed to reach it again.

    Attributes:
        label: the system's name in reports: "kafka@attached".
        run: the run's directory.
        boot, namespace: where `worker` means a process.
        worker: the load generator whose clients use the topics; None while there is none.
        kept: others' topics, from which only what `trial_id` made on them is to be removed.
    """

    system: str
    label: str
    choice: AttachChoice
    level: LevelChoice
    run: str
    boot: str
    namespace: str
    worker: Identity | None = None
    topics: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    trial_id: int = 0


class TopicLedger:
    """One trial's record, held by its lock until `forget` or `close`."""

    def __init__(self, record_id: str, record: TopicRecord, lock: int) -> None:
        self.record = record
        self._id = record_id
        self._lock = lock

    @staticmethod
    def open(system: str, label: str, choice: AttachChoice, level: LevelChoice, run: str) -> TopicLedger:
        """Begin a record. Nothing is on disk but its lock. Raises `StartFailedError`."""
        record_id = secrets.token_hex(8)
        record = TopicRecord(system, label, choice, level, run, procfs.boot_id(), procfs.pid_namespace())
        try:
            lock = registry.try_lock(_lock_path(record_id))
        except OSError as error:
            raise _unwritable(error) from error
        if lock is None:
            raise StartFailedError(f"The record {_lock_path(record_id)} exists already.")
        return TopicLedger(record_id, record, lock)

    @staticmethod
    def reopen(record_id: str) -> TopicLedger | None:
        """The record of a trial that is over; None if it lives, or is gone. Raises `OSError`, `ValueError`."""
        lock = registry.try_lock(_lock_path(record_id))
        if lock is None:
            return None
        try:
            # Holding the lock: nobody else is at work on it, but somebody may have finished just before.
            if not _path(record_id).exists():
                _lock_path(record_id).unlink(missing_ok=True)
                os.close(lock)
                return None
            return TopicLedger(record_id, _read(_path(record_id)), lock)
        except BaseException:
            with contextlib.suppress(OSError):
                os.close(lock)
            raise

    def __enter__(self) -> TopicLedger:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @property
    def path(self) -> Path:
        """The record's file."""
        return _path(self._id)

    @property
    def held(self) -> bool:
        """Whether it is neither forgotten nor closed."""
        return self._lock >= 0

    def used_by(self, pid: int) -> None:
        """Name the process whose clients use the topics from now on. Raises `StartFailedError`."""
        stat = procfs.read_stat(pid)
        self._write(replace(self.record, worker=stat.identity if stat else None))

    def add(self, *topics: str) -> None:
        """Record topics that are about to be made. Raises `StartFailedError`: then they must not be."""
        self._write(replace(self.record, topics=(*self.record.topics, *topics)))

    def keep(self, trial_id: int, *topics: str) -> None:
        """Record others' topics on which subscriptions are about to be made. Raises `StartFailedError`."""
        self._write(replace(self.record, kept=topics, trial_id=trial_id))

    def drop(self, topic: str) -> None:
        """A topic that was recorded was not made. Raises `StartFailedError`."""
        self._write(replace(self.record, topics=tuple(name for name in self.record.topics if name != topic)))

    def forget(self) -> None:
        """All topics are deleted. Does nothing the second time."""
        if self._lock < 0:
            return
        with contextlib.suppress(OSError):
            self.path.unlink(missing_ok=True)
            _lock_path(self._id).unlink(missing_ok=True)
        self._release()

    def close(self) -> None:
        """Leave the record to `tidegauge clean` and the next start; without topics there is nothing to leave."""
        if not self.record.topics and not self.record.kept:
            self.forget()
        self._release()

    def _release(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def _write(self, record: TopicRecord) -> None:
        draft = self.path.with_suffix(".draft")
        try:
            with draft.open("w", encoding="utf-8") as file:
                file.write(json.dumps({"schema": SCHEMA, **plain(record)}))
                file.flush()
                # A topic outlives a power cut of this machine, so its record must too.
                os.fsync(file.fileno())
            draft.replace(self.path)
        except OSError as error:
            raise _unwritable(error) from error
        self.record = record


def left_records() -> list[str]:
    """Identifiers of all records, of living trials too. Raises `OSError`."""
    return [path.stem for path in sorted(_directory().glob("*.json"))]


def forget_record(record_id: str) -> None:
    """Remove a record that can't be read. Never raises."""
    with contextlib.suppress(OSError):
        _path(record_id).unlink(missing_ok=True)
        _lock_path(record_id).unlink(missing_ok=True)


def worker_lives(record: TopicRecord) -> bool:
    """Whether the load generator still runs that would make the topics anew by sending to them."""
    here = (record.boot, record.namespace) == (procfs.boot_id(), procfs.pid_namespace())
    return here and record.worker is not None and procfs.is_running(record.worker)


def _read(path: Path) -> TopicRecord:
    content = json.loads(path.read_text(encoding="utf-8"))
    return typed(TopicRecord, {key: value for key, value in content.items() if key != "schema"})


def _directory() -> Path:
    directory = state_directory() / "attached"
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    return directory


def _path(record_id: str) -> Path:
    return _directory() / f"{record_id}.json"


def _lock_path(record_id: str) -> Path:
    return _directory() / f"{record_id}.lock"


def _unwritable(error: OSError) -> StartFailedError:
    return StartFailedError(
        f"The state directory {state_directory()} can't be written ({error.strerror}), so no topic is made on "
        "a cluster of others: nobody would know of it after a crash.",
        "Free some space there, or set TIDEGAUGE_STATE to another directory.",
    )
