"""A real Kafka node: the level read back from it, where it listens, how it ends, what it says when it can't start."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import psutil
import pytest
from command import KAFKA_CAMPAIGN, Place
from deployments import failure_of, listening_addresses, ready, taken_port
from patience import Patience

from tidegauge.errors import RunFailedError, StartFailedError
from tidegauge.model.level import LevelChoice
from tidegauge.systems.kafka.level import SYNC_TOPIC_SETTINGS

pytestmark = pytest.mark.integration


@pytest.mark.slow
def test_level_3_holds_and_a_topic_without_flush_is_noticed(tmp_path: Path) -> None:
    with ready("kafka", LevelChoice(3), tmp_path) as kafka:
        messages = kafka.load("synced", kafka.system.topic_settings(kafka.choice))
        assert messages > 0
        copy = kafka.copy_of(1, "synced", messages, tmp_path / "copy")
        assert copy.incomplete == ()
        assert sorted(copy.sequence[copy.intact]) == list(range(messages))
        with pytest.raises(RunFailedError, match="broker 7 has no copy of synced-0"):
            kafka.copy_of(7, "synced", messages, tmp_path / "none")
        finding = kafka.level("synced")
        assert (finding.level, finding.problems) == (3, ())

        assert kafka.load("unsynced-topic", {}) > 0
        tampered = kafka.level("synced", "unsynced-topic")
        assert tampered.level == 4
        assert "topic unsynced-topic: flush.messages=" in tampered.problems[0]
        assert "topic synced:" not in tampered.problems[0]

        values = {(s.scope, s.name): s.value for s in kafka.read_back("synced")}
        assert values[("broker 1", "group.initial.rebalance.delay.ms")] == "0"
        for name, value in SYNC_TOPIC_SETTINGS.items():
            assert values[("topic synced", name)] == value
        assert listening_addresses(kafka.pid) == {"127.0.0.1"}
        assert kafka.deployment.last_words() == ""
        assert "-Xmx512m" in kafka.deployment.jvm_flags
        assert (tmp_path / "data/kafka-1/meta.properties").exists()

        kafka.deployment.stop()
        assert not psutil.pid_exists(kafka.pid)
        kafka.deployment.stop()


# In `make test`: test_interruptions.py kills the broker of a run, whose message names it and its log.
@pytest.mark.slow
def test_a_killed_broker_is_reported(tmp_path: Path) -> None:
    with ready("kafka", LevelChoice(4), tmp_path) as kafka:
        assert kafka.level().level is None
        os.kill(kafka.pid, signal.SIGKILL)
        patience = Patience(20)
        with pytest.raises(StartFailedError, match="killed by signal 9"):
            while not patience.is_over():
                kafka.deployment.check_alive()
                time.sleep(0.02)


@pytest.mark.slow
def test_a_taken_port_is_named(tmp_path: Path) -> None:
    with taken_port() as port, taken_port() as controller:
        settings = {
            "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        }
        error = failure_of("kafka", tmp_path, settings)
    assert "a port that it needs is taken" in error.message
    assert error.hint
    assert error.log_path is not None
    assert error.log_path.exists()


def test_a_wrong_value_names_the_setting(tmp_path: Path) -> None:
    error = failure_of("kafka", tmp_path, {"num.io.threads": "many"})
    assert "num.io.threads" in error.message


# In `make test`: a worker in test_worker_failures.py, and what servers say of it in tests/unit/systems/test_logs.py.
@pytest.mark.slow
@pytest.mark.often
def test_too_little_heap_is_reported(tmp_path: Path) -> None:
    assert "ran out of memory" in failure_of("kafka", tmp_path, {}, heap_mb=12).message


def test_a_version_that_nobody_has_leaves_no_run(tmp_path: Path) -> None:
    place = Place(tmp_path)
    done = place.run("run", str(place.write(KAFKA_CAMPAIGN)), "--systems", "kafka@9.9.9")
    assert done.returncode == 2, done.printed
    assert "Nearest that do" in done.printed
    assert "--resume" not in done.printed
    assert not list(place.runs.iterdir())
