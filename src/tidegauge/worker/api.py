"""What the load generator reports, as plain data: times in ns of the host's monotonic clock, histograms in ns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from tidegauge.errors import GeneratorFailedError, RunFailedError, StartFailedError
from tidegauge.model.load import (
    AckedMessage,
    ReceivedSequences,
    SecondFigures,
    SentSequences,
    TotalFigures,
    WorkerFacts,
)
from tidegauge.model.message import CommittedPositions, PartitionRead, ReadBack
from tidegauge.model.server import Setting
from tidegauge.model.workload import RateSchedule, Workload
from tidegauge.worker.sequences import Missing

HEAP_MB_LEAST, DIRECT_MEMORY_MB_LEAST = 256, 128
"""Of a worker: enough for a few clients at a low rate. `campaign.plan.memory` says what a load needs beyond it."""


@dataclass(frozen=True)
class Share:
    """Which part of a trial's producers, consumers and topics is one worker's (`worker`, from 0, of `workers`).

    Topics, producers by their numbers, and after these consumers are dealt out one by one (see `worker.proto`).
    """

    worker: int
    workers: int
    clock_ahead_ns: tuple[int, ...] = ()
    """By how much the clock of each worker's host is ahead of this one's, 0 = the same; () = all are on one clock."""


@dataclass(frozen=True)
class LoadOrder:
    """What a worker is to prepare: the workload on one system."""

    connection: Mapping[str, str] = field(repr=False)
    """May hold secrets."""
    driver: str
    system: str
    topic_names: tuple[str, ...]
    replication_factor: int
    topic_settings: Mapping[str, str]
    acks: str
    workload: Workload
    msgs_per_s: float
    trial_number: int
    seed: int
    own_lag_tolerance_ms: float
    consumers_start_paused: bool = False
    subscriptions_start_paused: int = 0
    """The last so many subscriptions of each topic do not read until they are resumed."""
    schedule: RateSchedule | None = None
    window_messages: int = 0
    """So many are sent in the measured window, and none after them; 0 = as many as are due."""
    history_directory: str = ""
    """Where each producer writes what it sent and what became of it (`tidegauge.attestation.evidence`); "" = nowhere.

    Must exist, on this host, on a disk whose power is not cut."""
    outcome_timeout_s: float = 0.0
    """A message without an outcome for so long is given up, its outcome unknown; 0 = when the client does by itself."""
    share: Share | None = None
    """Of several workers that carry it out together, each gets its own; None = one worker does everything."""


@dataclass(frozen=True)
class LeftResults:
    """What a worker left on its host of a trial that was measured.

    Attributes:
        started_mono_ns: when its schedule began.
        reason: why it was written, in the worker's words.
        seconds: the oldest of a long trial may be missing.
    """

    started_mono_ns: int
    reason: str
    seconds: tuple[SecondFigures, ...]
    sequences: tuple[SentSequences | ReceivedSequences, ...]
    totals: TotalFigures


@dataclass(frozen=True)
class Trace:
    """The sequences that a reader found, and how far it could read."""

    present: Missing
    partitions: tuple[PartitionRead, ...]

    @property
    def why_incomplete(self) -> str:
        """What kept the reader from the end of a partition; "" if nothing did."""
        return next((read.why or "it could not be read" for read in self.partitions if not read.complete), "")

    @property
    def gone(self) -> str:
        """How the servers say that they have a partition no more; "" if they have all."""
        return next((read.why for read in self.partitions if read.complete and read.why), "")


OnProgress = Callable[[str, int, int], None]
"""Receives how far a preparation has come: so many of so many, of what ("partitions", "consumers", "producers")."""


def ignore_progress(_what: str, _done: int, _total: int) -> None:
    """Ignores progress, for whoever does not care."""


class NoAnswerError(RunFailedError):
    """A worker has ended, or did not answer in time: asking it again would only take as long again."""


class WorkerLostError(NoAnswerError, GeneratorFailedError):
    """A worker or its host failed: it has ended, or did not answer what it answers by itself."""


class WorkerStartError(StartFailedError, GeneratorFailedError):
    """A worker did not start."""


_ASK_SYSTEM = frozenset(
    (
        "Probe",
        "Witness",
        "Describe",
        "CreateTopics",
        "Prepare",
        "StopProducers",
        "Finish",
        "DeleteTopics",
        "ReadBack",
        "CloseConsumers",
        "Trace",
        "CommittedPositions",
    )
)
"""Calls that take as long as the system under test takes to answer: who is late is not known."""


def no_answer_error(subject: str, call: str, seconds: float, log_path: Path) -> NoAnswerError:
    """The error of a worker that did not answer a call within so many seconds."""
    kind = NoAnswerError if call in _ASK_SYSTEM else WorkerLostError
    return kind(
        f"{subject} did not answer {call} within {seconds:.0f} s.",
        "It may be starved of CPU, or the system under test does not answer.",
        log_path,
    )


Positions = Mapping[tuple[int, int], int]
"""Positions by topic and partition."""
NOWHERE: Positions = {}
FILE_KEY_END = ".path"
"""How the name of a connection setting ends whose value is a file of this host."""


class LoadWorker(Protocol):
    """A load generator that is up. Every call raises `RunFailedError` if it is gone, with its log."""

    facts: WorkerFacts
    processes: tuple[str, ...]
    """Names of its processes on its host: "worker"; of several "worker-1", "worker-2" and so on."""
    pids: tuple[int, ...]
    """The process ids of these, as far as they run on this host."""

    def probe(
        self,
        driver: str,
        connection: Mapping[str, str],
        timeout_s: float,
        topic: str = "",
        *,
        copies_of_cluster: bool = False,
    ) -> float:
        """Seconds for one message there and back on a throw-away topic, which must be new ("" = any name that is).

        `copies_of_cluster`: the cluster decides how many copies it has; else it has one.
        Raises `RunFailedError` with the cause if it can't.
        """

    def witness(self, order: LoadOrder, count: int, pause_s: float, timeout_s: float) -> tuple[AckedMessage, ...]:
        """Send `count` messages one at a time on the order's one topic, which is created for it and deleted.

        `RunFailedError` if one is not acknowledged within `timeout_s`.
        """

    def describe(self, driver: str, connection: Mapping[str, str], topics: list[str]) -> list[Setting]:
        """Effective settings through the official client."""

    def prepare(self, order: LoadOrder, on_progress: OnProgress = ignore_progress) -> list[Setting]:
        """Create topics and clients. Returns what the clients were really given. `on_progress` hears how far it is."""

    def start(self, in_s: float = 0.1) -> int:
        """Begin the schedule shortly; returns its first instant (monotonic ns)."""

    def set_rate(self, msgs_per_s: float, at_mono_ns: int = 0) -> None:
        """New total rate from an instant on (0 = now)."""

    def set_window(self, from_mono_ns: int, until_mono_ns: int) -> None:
        """Set the measured window, by intended time (until 0 = open)."""

    def pause_consumers(self, subscriptions: list[str]) -> None:
        """Stop delivery to these subscriptions (empty = all)."""

    def resume_consumers(self, subscriptions: list[str]) -> None:
        """Undo `pause_consumers`."""

    def close_consumers(self, subscriptions: list[str]) -> None:
        """Close the consumers of these subscriptions for good: servers take back what they have not acknowledged."""

    def missing(self, subscriptions: Sequence[str]) -> Mapping[str, Missing]:
        """What each of these subscriptions has not received of what was acknowledged. Asking changes nothing."""

    def trace(self, order: LoadOrder, subscription: str, timeout_s: float, *, whole: bool) -> Trace:
        """Look, by a fresh reader, which messages of the order's trial are in its topics; changes no message.

        Args:
            subscription: whose copy is read where each has one of its own; its consumers must be closed.
            timeout_s: for all partitions together.
            whole: read from the beginning, not from where the servers say that the subscription has come.
        """

    def watch(self, from_second: int = 0) -> Iterator[SecondFigures]:
        """Per-second figures as they come; ends when the trial is finished."""

    def stop_producers(self, grace_s: float) -> int:
        """No more messages; returns how many still have no outcome after the grace period."""

    def totals(self) -> TotalFigures:
        """Totals so far. Asking changes nothing. Raises `RunFailedError` if those of several workers don't add up."""

    def counts(self) -> TotalFigures:
        """Totals by counts alone, which cost less: of several workers, backlogs may be too small and nothing lost."""

    def finish(self, delete_topics: bool) -> None:
        """Close the clients of this trial."""

    def left_results(self, trial_id: int, share: Share | None = None) -> list[LeftResults]:
        """What each worker of a trial left on its host, these or others before them; [] if one left nothing.

        Asking changes nothing. `share`: that of one of several.
        """

    def remove_left_results(self, trial_id: int, share: Share | None = None) -> None:
        """Remove what each worker of a trial left on its host (`left_results`); none is no error."""

    def delete_topics(self, driver: str, connection: Mapping[str, str], topics: list[str]) -> None:
        """Delete these topics and all that belongs to them, whoever made them; those that do not exist are no error."""

    def remove_subscriptions(
        self, driver: str, connection: Mapping[str, str], topics: list[str], trial_id: int
    ) -> None:
        """Remove from topics that stay what a trial's consumers made there; what does not exist is no error."""

    def read_back(
        self,
        order: LoadOrder,
        subscription: str,
        file: Path,
        timeout_s: float,
        *,
        node: int = 0,
        last: Positions = NOWHERE,
    ) -> ReadBack:
        """Read all partitions of the order's topics through the official client; changes no message.

        Args:
            order: the trial's own order, which may be running, finished with its topics kept, or of another worker.
            subscription: whose copy is read where each has one of its own ("sub-1"). It must not have consumed
                anything: let the last subscription start paused and leave it so. Where messages are kept only as long
                as a subscription needs them (Pulsar), it is the one that keeps them.
            file: is made; must not exist yet. What it holds: `tidegauge.attestation.evidence`.
            timeout_s: for all partitions together. What is not read by then is reported as not complete.
            node: whose copy is read, by number from 1, where a system lets clients choose (`System.serves_replicas`); 0
                is whatever serves. Kafka's partitions are led by that node afterwards.
            last: where the last messages are known to be, acknowledged there or found by another read. They are given
                some seconds to show up, for servers that have a message may learn a little later that they may show it.
        """

    def committed_positions(self, order: LoadOrder) -> CommittedPositions:
        """How far the order's subscriptions have come, by what the servers say."""

    def close(self) -> None:
        """End the worker process. Never raises."""
