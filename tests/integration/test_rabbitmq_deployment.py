"""A real RabbitMQ node: every level it offers, read back; tampering; alarms; how it ends and why it does not start."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from deployments import Ready, failure_of, taken_port
from patience import Patience
from rabbitmq_servers import LOOPBACK, OLD_VERSION, distribution_of, listening, manage, processes_of, rabbitmq

from tidegauge.errors import RunFailedError, StartFailedError
from tidegauge.model.level import LevelChoice
from tidegauge.systems.rabbitmq.config import find_layout
from tidegauge.systems.rabbitmq.provision import DEFAULT_VERSION

pytestmark = pytest.mark.integration

LEVEL_3 = LevelChoice(3, "quorum")


def control(rabbit: Ready, directory: Path, *arguments: str) -> None:
    """Run rabbitmqctl against the node, with the node's own environment."""
    environment = psutil.Process(rabbit.pid).environ()
    for name in ("RABBITMQ_DIST_PORT", "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS"):
        environment.pop(name)
    program = find_layout(directory).server / "sbin/rabbitmqctl"
    subprocess.run([program, *arguments], env=environment, check=True, capture_output=True)


def node_hands_out_its_copy_of_streams(rabbit: Ready, topic: str, messages: int, file: Path) -> None:
    if rabbit.choice.form == "stream":
        copy = rabbit.copy_of(1, topic, messages, file)
        assert copy.incomplete == ()
        # What the native client stored comes as it was sent.
        assert sorted(copy.sequence[copy.intact]) == list(range(messages))
    else:
        with pytest.raises(RunFailedError, match="queues are read from their leaders"):
            rabbit.copy_of(1, topic, messages, file)


@pytest.mark.slow
@pytest.mark.parametrize("version", [DEFAULT_VERSION, OLD_VERSION])
def test_every_level_it_offers_holds_and_nothing_is_left(tmp_path: Path, version: str) -> None:
    with rabbitmq(version, LEVEL_3, tmp_path) as rabbit:
        for choice in rabbit.system.possible_levels(version, 1):
            topic = f"level-{choice.level}-{choice.form}"
            messages = rabbit.load(topic, rabbit.system.topic_settings(choice))
            assert messages > 0
            node_hands_out_its_copy_of_streams(replace(rabbit, choice=choice), topic, messages, tmp_path / topic)
            finding = rabbit.system.derive_level(rabbit.read_back(topic), choice, 1)
            assert (finding.level, finding.problems) == (choice.level, ())
        values = {(s.scope, s.name): s.value for s in rabbit.read_back()}
        assert values[("cluster", "version")] == version
        assert values[("node tidegauge1@localhost", "mem_limit")] == str(1024 << 20)
        processes = processes_of(rabbit)
        assert {"epmd", "beam.smp"} <= {process.name() for process in processes}
        assert listening(processes) <= LOOPBACK
        assert rabbit.deployment.last_words() == ""
        rabbit.deployment.check_alive()
        if version == DEFAULT_VERSION:
            tampering_is_caught(rabbit)
            an_alarm_is_reported(rabbit)

        rabbit.deployment.stop()
        assert not [process for process in processes if process.is_running() and process.status() != "zombie"]
        rabbit.deployment.stop()


def tampering_is_caught(rabbit: Ready) -> None:
    topic = "tampered"
    assert rabbit.load(topic, rabbit.system.topic_settings(LEVEL_3)) > 0
    assert rabbit.level(topic).problems == ()
    queue = f"/api/queues/%2F/{topic}.0"
    manage(rabbit.deployment, "DELETE", queue)
    assert rabbit.level(topic).level is None
    manage(rabbit.deployment, "PUT", queue, {"durable": True, "arguments": {"x-queue-type": "classic"}})
    manage(rabbit.deployment, "POST", f"/api/bindings/%2F/e/{topic}/q/{topic}.0", {"routing_key": "0"})
    finding = rabbit.level(topic)
    assert finding.level == 4
    assert f"topic {topic}: queue.type=classic" in finding.problems[0]


def an_alarm_is_reported(rabbit: Ready) -> None:
    control(rabbit, distribution_of(DEFAULT_VERSION).directory, "set_vm_memory_high_watermark", "absolute", "1MiB")
    with pytest.raises(AssertionError):
        rabbit.load("blocked", rabbit.system.topic_settings(LEVEL_3))
    errors = [message for where, message, _ in rabbit.worker.totals().errors if where == "send"]
    assert any("RabbitMQ blocks publishing: low on memory" in message for message in errors)
    rabbit.worker.finish(delete_topics=False)
    assert "blocks publishers because of its alarm: memory" in rabbit.deployment.last_words()


@pytest.mark.slow
def test_a_killed_node_is_reported_and_takes_everything_with_it(tmp_path: Path) -> None:
    with rabbitmq(DEFAULT_VERSION, LEVEL_3, tmp_path) as rabbit:
        processes = processes_of(rabbit)
        os.kill(rabbit.pid, signal.SIGKILL)
        patience = Patience(20)
        with pytest.raises(StartFailedError, match="killed by signal 9"):
            while not patience.is_over():
                rabbit.deployment.check_alive()
                time.sleep(0.02)
        rabbit.deployment.stop()
        assert not [process for process in processes if process.is_running() and process.status() != "zombie"]


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["listeners.tcp.default", "stream.listeners.tcp.1"])
def test_a_taken_port_is_named(tmp_path: Path, setting: str) -> None:
    distribution_of(DEFAULT_VERSION)
    with taken_port() as port:
        error = failure_of("rabbitmq", tmp_path, {setting: f"127.0.0.1:{port}"})
    assert f"a port that it needs is taken: {port}" in error.message
    assert error.log_path is not None
    assert error.log_path.exists()


# In `make test`: test_kafka_deployment.py has one; RabbitMQ's words are in tests/unit/systems/test_rabbitmq_config.py.
@pytest.mark.slow
def test_a_wrong_setting_is_named(tmp_path: Path) -> None:
    distribution_of(DEFAULT_VERSION)
    assert (
        "there is no setting named no.such.key" in failure_of("rabbitmq", tmp_path / "a", {"no.such.key": "1"}).message
    )
    assert "heartbeat" in failure_of("rabbitmq", tmp_path / "b", {"heartbeat": "often"}).message


@pytest.mark.slow
def test_a_directory_with_the_files_runs_as_well(tmp_path: Path) -> None:
    directory = distribution_of(DEFAULT_VERSION).directory
    with rabbitmq(str(directory), LEVEL_3, tmp_path) as rabbit:
        assert rabbit.load("topic", rabbit.system.topic_settings(LEVEL_3)) > 0
