"""The topics of a run: recorded before they are created, deleted after it, and those that a dead run left behind.

One record a trial: `STATE/attached/ID.json`, replaced at every change and locked while the trial lives. It holds no
secret, only where it is.

On servers of our own they go with the servers. On a cluster of others each name is new, so that nobody's topic can be
meant, is recorded before the topic is made, and the topic is deleted with what belongs to it when the trial ends.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

from tidegauge.campaign.read.auth import read_secrets
from tidegauge.errors import RunFailedError, StartFailedError, UserError
from tidegauge.hosts import procfs
from tidegauge.hosts.locks import LockedRecord, try_lock
from tidegauge.hosts.procfs import Identity
from tidegauge.hosts.storage import state_directory
from tidegauge.model.level import LevelChoice
from tidegauge.model.server import Distribution, Setting
from tidegauge.model.trial import TrialSpec
from tidegauge.numbers import plural
from tidegauge.plain import plain_value, typed_value
from tidegauge.systems.api import System
from tidegauge.systems.attach import AttachChoice, first_addresses
from tidegauge.systems.attached import AttachedCluster, AttachRequest
from tidegauge.systems.metrics import Endpoint
from tidegauge.worker.api import LoadWorker
from tidegauge.worker.brief_worker import BriefWorkers

SCHEMA = 1
OWN_PREFIX = "tidegauge-"


@dataclass(frozen=True)
class TopicRecord:
    """Topics of one trial on a cluster of others, with all that is needed to reach it again.

    Attributes:
        label: the system's name in reports: "kafka@attached".
        run: the run's directory.
        boot, namespace: where `workers` mean processes.
        workers: the load generators whose clients use the topics; none at first.
        kept: others' topics, from which only what `trial_id` made on them is to be removed.
    """

    system: str
    label: str
    choice: AttachChoice
    level: LevelChoice
    run: str
    boot: str
    namespace: str
    workers: tuple[Identity, ...] = ()
    topics: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    trial_id: int = 0


class Topics:
    """The topics of a trial. On servers of our own they end with these, and nobody needs to know of them."""

    def __init__(self, prefix: str = OWN_PREFIX) -> None:
        self._prefix = prefix

    def names(self, count: int) -> tuple[str, ...]:
        """The topics to measure with. Raises `StartFailedError` if they can't be recorded."""
        names = tuple(f"{self._prefix}{index}" for index in range(count))
        self.add(*names)
        return names

    def probe(self) -> str:
        """A topic for a single message, another each time: a message in it would be taken for ours."""
        name = f"{self._prefix}probe-{time.time_ns()}"
        self.add(name)
        return name

    def add(self, *topics: str) -> None:
        """Record topics that are about to be made. Raises `StartFailedError`: then they must not be."""

    def keep(self, trial_id: int, *topics: str) -> None:
        """Record others' topics on which subscriptions are about to be made. Raises `StartFailedError`."""

    def drop(self, topic: str) -> None:
        """Take a topic off the record that the system refused to make. Raises `StartFailedError`."""

    def used_by(self, *pids: int) -> None:
        """Name the processes whose clients use the topics from now on. Raises `StartFailedError`."""

    def delete(self, worker: LoadWorker, driver: str, connection: Mapping[str, str]) -> str:
        """End the clients and delete the topics. "" or what remains where, and why. Never raises `RunFailedError`."""
        return ""

    def close(self) -> None:
        """No topic is made from now on."""


class TopicLedger(Topics):
    """Topics on a cluster of others, with their record, which is held by its lock until `forget` or `close`."""

    def __init__(self, files: LockedRecord, record: TopicRecord, lock: int, prefix: str = OWN_PREFIX) -> None:
        super().__init__(prefix)
        self.record = record
        self._files = files
        self._lock = lock

    @staticmethod
    def open(
        system: str, label: str, choice: AttachChoice, level: LevelChoice, run: str, *, prefix: str = OWN_PREFIX
    ) -> TopicLedger:
        """Begin a record. Nothing is on disk but its lock. Raises `StartFailedError`."""
        record = TopicRecord(system, label, choice, level, run, procfs.boot_id(), procfs.pid_namespace())
        try:
            files = _record_files(secrets.token_hex(8))
            lock = try_lock(files.lock_path)
        except OSError as error:
            raise _unwritable_error(error) from error
        if lock is None:
            raise StartFailedError(f"The record {files.lock_path} exists already.")
        return TopicLedger(files, record, lock, prefix)

    @staticmethod
    def reopen(record_id: str) -> TopicLedger | None:
        """The record of a trial that is over; None if it lives, or is gone. Raises `OSError`, `ValueError`."""
        files = _record_files(record_id)
        lock = files.take_left()
        if lock is None:
            return None
        try:
            content = json.loads(files.path.read_text(encoding="utf-8"))
            if content.get("worker"):  # Of a version that knew one load generator only.
                content["workers"] = [content["worker"]]
            return TopicLedger(
                files, typed_value(TopicRecord, {key: value for key, value in content.items() if key != "schema"}), lock
            )
        except BaseException:
            os.close(lock)
            raise

    @property
    def path(self) -> Path:
        """The record's file."""
        return self._files.path

    def used_by(self, *pids: int) -> None:
        """See `Topics.used_by`."""
        stats = [procfs.read_stat(pid) for pid in pids]
        self._write_record(replace(self.record, workers=tuple(stat.identity for stat in stats if stat)))

    def add(self, *topics: str) -> None:
        """See `Topics.add`."""
        self._write_record(replace(self.record, topics=(*self.record.topics, *topics)))

    def keep(self, trial_id: int, *topics: str) -> None:
        """See `Topics.keep`."""
        self._write_record(replace(self.record, kept=topics, trial_id=trial_id))

    def drop(self, topic: str) -> None:
        """See `Topics.drop`."""
        self._write_record(replace(self.record, topics=tuple(name for name in self.record.topics if name != topic)))

    def delete(self, worker: LoadWorker, driver: str, connection: Mapping[str, str]) -> str:
        """See `Topics.delete`. Does nothing the second time."""
        if self._lock < 0 or not (self.record.topics or self.record.kept):
            return ""
        with contextlib.closing(self):
            try:
                # Clients first: one that still sends would make its topic anew, and a group in use can't be deleted.
                worker.finish(delete_topics=False)
                delete_recorded(self.record, worker, driver, connection)
            except RunFailedError as error:
                return topics_remaining(self, error.message)
            self.forget()
        return ""

    def forget(self) -> None:
        """End the record, since all topics are deleted. Does nothing the second time."""
        if self._lock < 0:
            return
        with contextlib.suppress(OSError):
            self._files.remove()
        self._release_lock()

    def close(self) -> None:
        """See `Topics.close`. The record is left to `tidegauge clean` and the next start, unless it names no topic."""
        if not self.record.topics and not self.record.kept:
            self.forget()
        self._release_lock()

    def _release_lock(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def _write_record(self, record: TopicRecord) -> None:
        try:
            # A topic outlives a power cut of this machine, so its record must too.
            self._files.write(SCHEMA, plain_value(record), durable=True)
        except OSError as error:
            raise _unwritable_error(error) from error
        self.record = record


def worker_lives(record: TopicRecord) -> bool:
    """Whether a load generator still runs that would make the topics anew by sending to them."""
    is_same_boot = (record.boot, record.namespace) == (procfs.boot_id(), procfs.pid_namespace())
    return is_same_boot and any(procfs.is_running(worker) for worker in record.workers)


def _records_directory() -> Path:
    directory = state_directory() / "attached"
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    return directory


def _record_files(record_id: str) -> LockedRecord:
    return LockedRecord(_records_directory(), record_id)


def _unwritable_error(error: OSError) -> StartFailedError:
    return StartFailedError(
        f"The state directory {state_directory()} can't be written ({error.strerror}), so no topic is made on "
        "a cluster of others: nobody would know of it after a crash.",
        "Make it writable, with some space left, or set TIDEGAUGE_STATE to another directory.",
    )


_SECRET_CHARS_MIN = 4
_TOPICS_SHOWN_MAX = 10
TRIED_AGAIN = (
    "`tidegauge clean` tries again, and so does the next start; "
    "`tidegauge clean --forget` stops tracking them: delete them yourself."
)
FORGOTTEN = "They are forgotten now: delete them yourself."


@dataclass(frozen=True)
class Attachment:
    """A run's way to a cluster of others. `prefix` begins the names of all its topics there."""

    choice: AttachChoice
    prefix: str
    run: str
    secrets: Mapping[str, str] = field(repr=False)

    def cluster(self, system: System, level: LevelChoice) -> AttachedCluster:
        """The cluster as a deployment at a level."""
        endpoints = tuple(Endpoint(urlsplit(url).netloc, url) for url in self.choice.metrics)
        return replace(system.attach(AttachRequest(self.choice, level, self.secrets)), metrics_endpoints=endpoints)

    def distribution(self, system: System) -> Distribution:
        """Stands for files that others have: none are here."""
        return Distribution(
            system.name, self.choice.label, Path("/"), None, "", "", f"attached: {first_addresses(self.choice)}"
        )

    def without_secrets(self, settings: list[Setting]) -> list[Setting]:
        """Settings fit to be stored: whatever a client or server reports, a secret is not among it."""
        hidden = [secret for secret in self.secrets.values() if len(secret) >= _SECRET_CHARS_MIN]
        return [replace(s, value="(hidden)") if any(secret in s.value for secret in hidden) else s for s in settings]


def attachment_of_run(choice: AttachChoice, label: str, run: Path) -> Attachment:
    """The way of a run to a cluster. Raises `UserError` if a secret can't be read."""
    prefix = choice.topic_prefix or f"{OWN_PREFIX}{run.name}-"
    return Attachment(choice, prefix, str(run), read_secrets(choice, label))


def delete_recorded(record: TopicRecord, worker: LoadWorker, driver: str, connection: Mapping[str, str]) -> None:
    """Delete a record's topics, and what its trial made on those that stay. Raises `RunFailedError`."""
    if record.topics:
        worker.delete_topics(driver, connection, list(record.topics))
    if record.kept:
        worker.remove_subscriptions(driver, connection, list(record.kept), record.trial_id)


def topics_for(spec: TrialSpec, system: System, attachment: Attachment | None) -> Topics:
    """The topics of a trial. Raises `StartFailedError` if they can't be recorded."""
    if attachment is None:
        # On shared servers they carry the trial's name: no trial meets what another left.
        return Topics(f"{OWN_PREFIX}{spec.trial_id}-" if spec.leaves_servers else OWN_PREFIX)
    prefix = f"{attachment.prefix}{secrets.token_hex(4)}-"
    return TopicLedger.open(system.name, spec.system, attachment.choice, spec.choice, attachment.run, prefix=prefix)


def topics_remaining(ledger: TopicLedger, why: str, next_step: str = TRIED_AGAIN) -> str:
    """Which topics were not deleted, where they are, why, and what to do."""
    record = ledger.record
    where, run = f"{record.label} ({first_addresses(record.choice)})", Path(record.run).name
    sentences = []
    if record.topics:
        # What is forgotten is named nowhere else.
        most = _TOPICS_SHOWN_MAX if next_step != FORGOTTEN else len(record.topics)
        listed, more = ", ".join(record.topics[:most]), len(record.topics) - most
        names = f"{listed} and {more} more, named in {ledger.path}," if more > 0 else listed
        sentences.append(f"Topics may remain on {where}: {names} of the run {run}.")
    if record.kept:
        sentences.append(
            f"Consumer groups or subscriptions of ours may remain on {where}, topics {', '.join(record.kept)}, of the "
            f"run {run}."
        )
    return f"{' '.join(sentences)} They were not deleted: {why.rstrip('.')}. {next_step}"


@dataclass(frozen=True)
class Cleaned:
    """What was deleted, and which topics remain where and why, in sentences for the user."""

    deleted: tuple[str, ...] = ()
    remaining: tuple[str, ...] = ()


def delete_leftover_topics(
    systems: Mapping[str, System], workers: BriefWorkers, run: Path | None = None, forget: bool = False
) -> Cleaned:
    """Delete the topics that trials recorded and did not delete. Living trials are never touched. Never raises.

    The secrets are read again from where the campaign said they are. `run`: only what this run left.
    `forget`: what can't be deleted is reported for the last time.
    """
    try:
        records = [path.stem for path in sorted(_records_directory().glob("*.json"))]
    except OSError as error:
        return Cleaned(remaining=(f"The records of topics on attached clusters can't be read: {error.strerror}.",))
    deleted: list[str] = []
    remain: list[str] = []
    for record_id in records:
        try:
            ledger = TopicLedger.reopen(record_id)
        except (OSError, ValueError) as error:
            remain.append(f"The record {record_id} of topics on an attached cluster can't be read: {error}.")
            if forget:
                with contextlib.suppress(OSError):
                    _record_files(record_id).remove()
            continue
        if ledger is None:
            continue
        with contextlib.closing(ledger):
            if run is not None and ledger.record.run != str(run):
                continue
            if not ledger.record.topics and not ledger.record.kept:
                ledger.forget()
                continue
            failure = _delete_topics_left(ledger.record, systems, workers)
            if failure:
                remain.append(topics_remaining(ledger, failure, FORGOTTEN if forget else TRIED_AGAIN))
            else:
                parts = [plural(len(ledger.record.topics), "topic")] if ledger.record.topics else []
                if ledger.record.kept:
                    parts.append(f"what it had made on {', '.join(ledger.record.kept)}")
                deleted.append(
                    f"Deleted {' and '.join(parts)} of the run {Path(ledger.record.run).name} on {ledger.record.label} "
                    f"({first_addresses(ledger.record.choice)})."
                )
            if forget or not failure:
                ledger.forget()
    return Cleaned(tuple(deleted), tuple(remain))


def _delete_topics_left(record: TopicRecord, systems: Mapping[str, System], workers: BriefWorkers) -> str:
    """Delete one trial's topics. "" or why they remain."""
    if worker_lives(record):
        return "the load generator of that run still runs"
    system = systems.get(record.system)
    if system is None or system.attach_rules is None:
        return f"this Tidegauge has no system '{record.system}'"
    try:
        cluster = system.attach(AttachRequest(record.choice, record.level, read_secrets(record.choice, record.label)))
        with workers.open_worker(system.driver) as worker:
            delete_recorded(record, worker, system.driver, cluster.connection)
    except UserError as error:
        # The hint says what to set; it is worth more than a second look.
        return f"{error.message} {error.hint}".strip()
    except RunFailedError as error:
        return error.message
    return ""
