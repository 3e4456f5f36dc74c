"""The topics of a trial: what they are called, and what becomes of them after it.

On servers of our own they go with the servers. On a cluster of others each name is new, so that nobody's topic can be
meant, is recorded before the topic is made, and the topic is deleted with what belongs to it when the trial ends.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tidegauge.campaign.secrets import read_secrets
from tidegauge.campaign.topic_ledger import TopicLedger, TopicRecord
from tidegauge.errors import RunFailedError
from tidegauge.model.level import LevelChoice
from tidegauge.model.server import Distribution, Setting
from tidegauge.model.trial import Servers, TrialSpec
from tidegauge.systems.api import System
from tidegauge.systems.attach import AttachChoice, shown
from tidegauge.systems.attached import AttachedCluster, AttachRequest
from tidegauge.worker.api import LoadWorker

OWN_PREFIX = "tidegauge-"
_SECRET_CHARS_MIN = 4
_TOPICS_SHOWN_MAX = 10
TRIED_AGAIN = (
    "`tidegauge clean` tries again, and so does the next start; `tidegauge clean --forget` gives them up to you."
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
        return system.attach(AttachRequest(self.choice, level, self.secrets))

    def distribution(self, system: System) -> Distribution:
        """Stands for files that others have: none are here."""
        return Distribution(system.name, self.choice.label, Path("/"), None, "", "", f"attached: {shown(self.choice)}")

    def without_secrets(self, settings: list[Setting]) -> list[Setting]:
        """Settings fit to be stored: whatever a client or server tells, a secret is not among it."""
        hidden = [secret for secret in self.secrets.values() if len(secret) >= _SECRET_CHARS_MIN]
        return [
            Setting(s.scope, s.name, "(hidden)", s.is_default) if any(secret in s.value for secret in hidden) else s
            for s in settings
        ]


def attach(choice: AttachChoice, label: str, run: Path) -> Attachment:
    """The way of a run to a cluster. Raises `UserError` if a secret can't be read."""
    prefix = choice.topic_prefix or f"{OWN_PREFIX}{run.name}-"
    return Attachment(choice, prefix, str(run), read_secrets(choice, label))


class OwnTopics:
    """Topics on servers that end with the trial."""

    def __init__(self, prefix: str = OWN_PREFIX) -> None:
        self._prefix = prefix

    def names(self, count: int) -> tuple[str, ...]:
        """The topics to measure with. Raises `StartFailedError` if they can't be recorded."""
        return tuple(f"{self._prefix}{index}" for index in range(count))

    def others(self, names: Sequence[str], trial_id: int) -> None:
        """Topics that others made and keep are about to be used. Raises `StartFailedError`."""

    def probe(self) -> str:
        """A topic for a single message, another each time: a message in it would be taken for ours."""
        return f"{self._prefix}probe-{time.time_ns()}"

    def never_made(self, topic: str) -> None:
        """The topic of a probe was refused by the system."""

    def used_by(self, worker: LoadWorker) -> None:
        """The load generator whose clients use them."""

    def delete(self, worker: LoadWorker, driver: str, connection: Mapping[str, str]) -> str:
        """End the clients and delete the topics. "" or what remains where, and why. Never raises `RunFailedError`."""
        return ""

    def close(self) -> None:
        """No topic is made from now on."""


class BorrowedTopics(OwnTopics):
    """Topics on a cluster of others."""

    def __init__(self, attachment: Attachment, ledger: TopicLedger) -> None:
        super().__init__(f"{attachment.prefix}{secrets.token_hex(4)}-")
        self._ledger = ledger

    def names(self, count: int) -> tuple[str, ...]:
        """See `OwnTopics.names`."""
        names = super().names(count)
        self._ledger.add(*names)
        return names

    def others(self, names: Sequence[str], trial_id: int) -> None:
        """See `OwnTopics.others`."""
        self._ledger.keep(trial_id, *names)

    def probe(self) -> str:
        """See `OwnTopics.probe`."""
        name = super().probe()
        self._ledger.add(name)
        return name

    def never_made(self, topic: str) -> None:
        """See `OwnTopics.never_made`."""
        self._ledger.drop(topic)

    def used_by(self, worker: LoadWorker) -> None:
        """See `OwnTopics.used_by`."""
        self._ledger.used_by(worker.facts.pid)

    def delete(self, worker: LoadWorker, driver: str, connection: Mapping[str, str]) -> str:
        """See `OwnTopics.delete`."""
        record = self._ledger.record
        if not self._ledger.held or not (record.topics or record.kept):
            return ""
        with self._ledger:
            try:
                # Clients first: one that still sends would make its topic anew, and a group in use can't be deleted.
                worker.finish(delete_topics=False)
                delete_recorded(record, worker, driver, connection)
            except RunFailedError as error:
                return remaining(self._ledger, error.message)
            self._ledger.forget()
        return ""

    def close(self) -> None:
        """See `OwnTopics.close`. What is recorded stays so."""
        self._ledger.close()


def delete_recorded(record: TopicRecord, worker: LoadWorker, driver: str, connection: Mapping[str, str]) -> None:
    """Delete a record's topics, and what its trial made on those that stay. Raises `RunFailedError`."""
    if record.topics:
        worker.delete_topics(driver, connection, list(record.topics))
    if record.kept:
        worker.remove_subscriptions(driver, connection, list(record.kept), record.trial_id)


def topics_for(spec: TrialSpec, system: System, attachment: Attachment | None) -> OwnTopics:
    """The topics of a trial. Raises `StartFailedError` if they can't be recorded."""
    if attachment is None:
        # On shared servers they carry the trial's name: no trial meets what another left.
        return OwnTopics(f"{OWN_PREFIX}{spec.trial_id}-" if spec.servers is Servers.SHARED else OWN_PREFIX)
    ledger = TopicLedger.open(system.name, spec.system, attachment.choice, spec.choice, attachment.run)
    return BorrowedTopics(attachment, ledger)


def remaining(ledger: TopicLedger, why: str, next_step: str = TRIED_AGAIN) -> str:
    """Which topics were not deleted, where they are, why, and what to do."""
    record = ledger.record
    if record.kept and not record.topics:
        return (
            f"Consumer groups or subscriptions of ours may remain on {record.label} ({shown(record.choice)}), topics "
            f"{', '.join(record.kept)}, of the run {Path(record.run).name}: {why.rstrip('.')}. {next_step}"
        )
    listed = ", ".join(record.topics[:_TOPICS_SHOWN_MAX])
    more = len(record.topics) - _TOPICS_SHOWN_MAX
    names = f"{listed} and {more} more, named in {ledger.path}," if more > 0 else listed
    return (
        f"Topics may remain on {record.label} ({shown(record.choice)}): {names} of the run {Path(record.run).name}. "
        f"They were not deleted: {why.rstrip('.')}. {next_step}"
    )
