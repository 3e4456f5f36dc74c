"""Deleting what crashed runs left on clusters of others."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path

from tidegauge.campaign.secrets import read_secrets
from tidegauge.campaign.topic_ledger import TopicLedger, TopicRecord, forget_record, left_records, worker_lives
from tidegauge.campaign.topics import FORGOTTEN, TRIED_AGAIN, delete_recorded, remaining
from tidegauge.errors import RunFailedError, TidegaugeError, UserError
from tidegauge.fleet.api import Host
from tidegauge.systems.api import System
from tidegauge.systems.attach import shown
from tidegauge.systems.attached import AttachRequest
from tidegauge.worker.api import LoadWorker


@dataclass(frozen=True)
class Tools:
    """What is needed to reach a cluster again: the systems by name, a host, and a load generator on it."""

    systems: Mapping[str, System]
    open_host: Callable[[], AbstractContextManager[Host]]
    start_worker: Callable[[Host, str, Path], LoadWorker]


@dataclass(frozen=True)
class Cleaned:
    """For the user: what was deleted, and which topics remain where and why."""

    deleted: tuple[str, ...] = ()
    remaining: tuple[str, ...] = ()


def delete_leftover_topics(tools: Tools, run: Path | None = None, forget: bool = False) -> Cleaned:
    """Delete the topics that trials recorded and did not delete. Living trials are never touched. Never raises.

    The secrets are read again from where the campaign said they are. `run`: only what this run left.
    `forget`: what can't be deleted is told for the last time.
    """
    try:
        records = left_records()
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
                forget_record(record_id)
            continue
        if ledger is None:
            continue
        with ledger:
            if run is not None and ledger.record.run != str(run):
                continue
            failure = _delete(ledger.record, tools)
            if failure:
                remain.append(remaining(ledger, failure, FORGOTTEN if forget else TRIED_AGAIN))
            else:
                deleted.append(_deleted(ledger.record))
            if forget or not failure:
                ledger.forget()
    return Cleaned(tuple(deleted), tuple(remain))


def _delete(record: TopicRecord, tools: Tools) -> str:
    """Delete one trial's topics. "" or why they remain."""
    if worker_lives(record):
        return "the load generator of that run still runs"
    system = tools.systems.get(record.system)
    if system is None or system.attach_rules is None:
        return f"this Tidegauge has no system '{record.system}'"
    try:
        cluster = system.attach(AttachRequest(record.choice, record.level, read_secrets(record.choice, record.label)))
        with ExitStack() as ending:
            logs = ending.enter_context(tempfile.TemporaryDirectory(prefix="tidegauge-clean-"))
            host = ending.enter_context(tools.open_host())
            worker = tools.start_worker(host, system.driver, Path(logs))
            ending.callback(worker.close)
            delete_recorded(record, worker, system.driver, cluster.connection)
    except (UserError, RunFailedError) as error:
        return _why(error)
    return ""


def _why(error: TidegaugeError) -> str:
    # A hint of one of our own errors says what to set; it is worth more than a second look.
    return f"{error.message} {error.hint}".strip() if isinstance(error, UserError) else error.message


def _deleted(record: TopicRecord) -> str:
    count = "1 topic" if len(record.topics) == 1 else f"{len(record.topics)} topics"
    return f"Deleted {count} of the run {Path(record.run).name} on {record.label} ({shown(record.choice)})."
