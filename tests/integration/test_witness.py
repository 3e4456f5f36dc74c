"""The second witness on real servers: what their settings say, and what they were seen to do. Root only."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from deployments import Ready, ready
from live import order_on

from tidegauge.campaign.run.running_trial import RunningTrial
from tidegauge.campaign.run.witnessing import MESSAGES, with_witness
from tidegauge.durability import disagreement
from tidegauge.hosts.syscalls import watch_syncs
from tidegauge.hosts.tracefs import NoTraceError
from tidegauge.model.level import Agreement, LevelChoice, LevelFinding, SyncFinding


@cache
def why_not() -> str:
    """Why system calls can't be watched here; "" if they can."""
    try:
        with watch_syncs({"self": os.getpid()}):
            return ""
    except NoTraceError as error:
        return str(error)


pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(bool(why_not()), reason=f"system calls can't be watched here: {why_not()}"),
]


@dataclass
class Kept:
    """Where the evidence goes."""

    evidence: Mapping[str, object] = field(default_factory=dict)

    def write_witness(self, finding: SyncFinding, evidence: Mapping[str, object]) -> None:
        self.evidence = evidence


@dataclass
class Watched:
    """A system at a level, ready to be looked at."""

    ready: Ready

    def witnessed(self, topic: str, claimed: int, topic_settings: Mapping[str, str] | None = None) -> LevelFinding:
        """Look at it on behalf of a level; the topic's settings are those of the level it was started at by default."""
        here = self.ready
        own: dict[str, Any] = {} if topic_settings is None else {"topic_settings": topic_settings}
        own |= {"topic_names": (topic,), "msgs_per_s": 100.0, "trial_number": 1}
        order = order_on(here.deployment, here.system, here.choice, **own)
        self.kept = Kept()
        resources = SimpleNamespace(host=here.host)
        subject = SimpleNamespace(system=here.system)
        trial = SimpleNamespace(
            resources=resources,
            deployment=here.deployment,
            worker=here.worker,
            store=self.kept,
            subject=subject,
            began_with=None,
        )
        return with_witness(cast(RunningTrial, trial), order, LevelFinding(claimed, ("claimed by the test",)))


@contextmanager
def watched(name: str, choice: LevelChoice, directory: Path) -> Iterator[Watched]:
    with ready(name, choice, directory) as found:
        yield Watched(found)


@pytest.mark.slow
def test_kafka_at_level_3_fsyncs_before_each_acknowledgement(tmp_path: Path) -> None:
    with watched("kafka", LevelChoice(3), tmp_path) as kafka:
        found = kafka.witnessed("synced", 3).syncs
        assert found is not None
        assert (found.agreement, found.synced, found.messages) == (Agreement.AGREES, MESSAGES, MESSAGES)
        assert found.calls_by_node["kafka-1"]["fsync"] >= MESSAGES
        recorded = kafka.kept.evidence["messages"]
        assert isinstance(recorded, list)
        assert all(message["nodes_synced"] == ["kafka-1"] for message in recorded)
        assert kafka.ready.load("and-it-still-works", {}) > 0

        # The same broker, but topics without a flush: as if it had ignored what its settings say.
        lied = kafka.witnessed("unsynced", 3, {})
        assert lied.syncs is not None
        assert lied.syncs.agreement is Agreement.CONTRADICTS
        assert "the settings read back give level 3, but" in disagreement(lied)
        assert f"of {MESSAGES} acknowledgements came after an fsync" in disagreement(lied)


def test_kafka_at_level_4_acknowledges_from_memory_and_level_3_would_be_refuted(tmp_path: Path) -> None:
    with watched("kafka", LevelChoice(4), tmp_path) as kafka:
        found = kafka.witnessed("unsynced", 4)
        assert found.syncs is not None
        assert found.syncs.agreement is Agreement.AGREES
        assert disagreement(found) == ""
        assert disagreement(kafka.witnessed("unsynced-too", 3))
        more = kafka.witnessed("synced-unasked", 4, {"flush.messages": "1", "flush.ms": "0"}).syncs
        assert more is not None
        assert more.agreement is Agreement.MORE


# In `make test`: what is synced and what is not shows on Kafka above.
@pytest.mark.slow
@pytest.mark.often
@pytest.mark.parametrize(("form", "level", "synced"), [("quorum", 3, True), ("classic", 4, False)])
def test_rabbitmq_does_what_its_queue_type_promises(tmp_path: Path, form: str, level: int, synced: bool) -> None:
    with watched("rabbitmq", LevelChoice(level, form), tmp_path) as rabbit:
        found = rabbit.witnessed("queue", level).syncs
        assert found is not None
        assert found.agreement is Agreement.AGREES
        assert (found.synced == MESSAGES) is synced
        if synced:
            assert found.calls_by_node["rabbitmq-1"]["fdatasync"] >= MESSAGES


@pytest.mark.slow
@pytest.mark.parametrize("level", [3, 4])
def test_pulsar_syncs_its_journal_as_configured(tmp_path: Path, level: int) -> None:
    choice = LevelChoice(level, "journal" if level == 4 else "")
    with watched("pulsar", choice, tmp_path) as pulsar:
        found = pulsar.witnessed("topic", level).syncs
        assert found is not None
        assert found.agreement is Agreement.AGREES
        assert (found.synced == MESSAGES) is (level == 3)
