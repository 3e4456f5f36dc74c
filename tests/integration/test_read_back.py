"""A history kept through a server's end by SIGKILL, and topics read back, on real servers.

SIGKILL is no power cut: the page cache survives, so whatever was acknowledged must be there again.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from deployments import Ready, ready
from live import await_ready
from loads import order_for
from patience import Patience

from tidegauge.attestation.classification import Anomalies, find_anomalies
from tidegauge.attestation.evidence import History, Read, load_read, read_history
from tidegauge.errors import RunFailedError
from tidegauge.model.level import LevelChoice
from tidegauge.model.message import CommittedPositions, Fate
from tidegauge.model.workload import ClientSettings, Payload, Workload
from tidegauge.worker.api import LoadOrder

pytestmark = pytest.mark.integration

LOAD = Workload(
    partitions=2,
    producers=2,
    subscriptions=2,
    payload=Payload(message_bytes=200),
    client=ClientSettings(in_flight_messages_max=200),
)
KEEPER = "sub-1"
"""Never consumes: what it has not acknowledged is kept, and its queue holds every message."""
READ_S = 60.0
BACK_S_MAX = 300.0
"""A restart takes seconds, and minutes on a machine that is busy with other tests."""


@dataclass
class Ledger:
    """A load with a history on a server, and what is found of it."""

    here: Ready
    order: LoadOrder
    directory: Path

    def history(self) -> History:
        return read_history(Path(self.order.history_directory), self.order.trial_number)

    def read(self, name: str) -> Read:
        answer = self.here.worker.read_back(self.order, KEEPER, self.directory / f"{name}.read", READ_S)
        assert [p.why for p in answer.partitions if not p.complete] == []
        return load_read(name, answer, self.order.trial_number)

    def positions(self) -> CommittedPositions:
        return self.here.worker.committed_positions(self.order)

    def begin(self) -> None:
        self.here.worker.prepare(self.order)
        self.here.worker.start()

    def end(self) -> None:
        self.here.worker.stop_producers(20.0)
        self.here.worker.finish(delete_topics=False)

    def await_acknowledged(self, after_ns: int) -> None:
        """Until a message that was sent after an instant is acknowledged."""
        patience = Patience(BACK_S_MAX)
        while self.history().first_acknowledged_after(after_ns) < 0:
            assert not patience.is_over(), self.here.worker.totals().errors
            time.sleep(0.2)

    def judged(self, *positions: tuple[CommittedPositions, CommittedPositions], cut_ns: int = 0) -> Anomalies:
        reads = [self.read("first"), self.read("second")]
        return find_anomalies(self.history(), reads, positions, [cut_ns] if cut_ns else [])


def ledger(
    here: Ready, name: str, directory: Path, settings: Mapping[str, str] | None = None, workload: Workload = LOAD
) -> Ledger:
    """A load on topics of its own whose history is kept."""
    histories = directory / name
    histories.mkdir(parents=True)
    order = replace(
        order_for(here, name, workload, 800.0),
        history_directory=str(histories),
        outcome_timeout_s=6.0,
        subscriptions_start_paused=1,
    )
    if settings is not None:
        order = replace(order, topic_settings=settings)
    return Ledger(here, order, histories)


def await_back(here: Ready) -> None:
    """Until a message goes there and back again."""
    patience = Patience(BACK_S_MAX)
    while True:
        try:
            await_ready(here.deployment, here.worker, here.system.driver)
            return
        except RunFailedError:
            if patience.is_over():
                raise


def through_a_kill(here: Ready, directory: Path) -> Anomalies:
    """Load, kill the server, start it again, go on until it serves, and judge."""
    kept = ledger(here, "killed", directory)
    kept.begin()
    kept.await_acknowledged(0)
    time.sleep(1.5)
    before = kept.positions()
    here.deployment.kill_node(1)
    killed_ns = time.monotonic_ns()
    here.deployment.start_node(1)
    await_back(here)
    kept.await_acknowledged(time.monotonic_ns())
    kept.end()
    found = kept.judged((before, kept.positions()), cut_ns=killed_ns)
    history = kept.history()
    assert history.in_flight_at(killed_ns) > 0
    assert history.acknowledged_between(killed_ns - 10**9, killed_ns) > 100
    assert history.doubts == ()
    assert_kept(found)
    # What an acknowledgement says of the place must be where the message is found.
    assert found.witness is None
    here.worker.delete_topics(here.system.driver, here.deployment.connection, list(kept.order.topic_names))
    return found


def assert_kept(found: Anomalies) -> None:
    """Everything acknowledged is there, undamaged, in both reads."""
    figures = found.figures()
    assert (found.broken, found.lost, found.phantom, found.corrupt) == (0, 0, 0, 0), figures
    assert found.unreadable == ()
    assert found.counts[Fate.KEPT] > 800, figures


@pytest.mark.slow
def test_kafka_keeps_what_it_acknowledged_through_a_kill(tmp_path: Path) -> None:
    with ready("kafka", LevelChoice(4), tmp_path) as here:
        found = through_a_kill(here, tmp_path)
        # The idempotent producer neither repeats nor reorders; its offsets are committed by acknowledged writes.
        assert found.duplicated == found.reordered == 0
        assert found.positions == ()


@pytest.mark.slow
def test_pulsar_keeps_what_it_acknowledged_through_a_kill(tmp_path: Path) -> None:
    with ready("pulsar", LevelChoice(4, "journal"), tmp_path) as here:
        found = through_a_kill(here, tmp_path)
        # Without deduplication on, what had no outcome yet is sent again: it may be there twice.
        assert found.counts[Fate.REFUSED_KEPT] == 0


@pytest.mark.slow
def test_rabbitmq_keeps_what_it_acknowledged_through_a_kill(tmp_path: Path) -> None:
    with ready("rabbitmq", LevelChoice(3), tmp_path) as here:
        through_a_kill(here, tmp_path)
        read_without_a_kill(here, tmp_path)


def read_without_a_kill(here: Ready, directory: Path) -> None:
    """Classic queues and streams are read twice alike, too; a read that exists already is refused."""
    for queue_type in ("classic", "stream"):
        kept = ledger(here, queue_type, directory, {"queue.type": queue_type}, replace(LOAD, partitions=1))
        kept.begin()
        kept.await_acknowledged(0)
        time.sleep(1.5)
        kept.end()
        found = kept.judged()
        assert_kept(found)
        assert found.is_clean, found.figures()
        # The keeper has come nowhere; a queue keeps no positions at all.
        assert {p.subscription for p in kept.positions().positions} <= ({"sub-0"} if queue_type == "stream" else set())
        with pytest.raises(RunFailedError, match="read log can't be written"):
            kept.read("first")
        here.worker.delete_topics(here.system.driver, here.deployment.connection, list(kept.order.topic_names))
