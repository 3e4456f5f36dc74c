"""Causes found in logs of real failures (Kafka 4.3.1 and Pulsar 4.2.4, provoked; stack frames removed)."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tidegauge.agent.api import ProcessSpec
from tidegauge.errors import StartFailedError
from tidegauge.systems.api import Node
from tidegauge.systems.logs import find_cause
from tidegauge.systems.pulsar.deployment import BAD_COOKIE
from tidegauge.systems.servers import Servers, ended_error

SAMPLES = Path(__file__).parent / "logs"


@pytest.mark.parametrize(
    ("sample", "summary", "in_line"),
    [
        ("kafka-port-taken", "a port that it needs is taken.", "127.0.0.1:29321"),
        ("pulsar-port-taken", "a port that it needs is taken.", "127.0.0.1:29321"),
        ("kafka-small-heap", "it ran out of memory.", "Java heap space"),
        ("pulsar-small-heap", "it ran out of memory.", "Java heap space"),
        ("pulsar-bookie-small-direct-memory", "it ran out of memory.", "of direct memory (used"),
        ("pulsar-disk-full", "the disk is full.", "No space left on device"),
        ("pulsar-bad-value", "a setting is not valid.", "managedLedgerDefaultEnsembleSize"),
        ("pulsar-bad-bookie-value", "a setting is not valid.", '"soon"'),
        (
            "pulsar-empty-cookie",
            "a bookie does not know its data directory: its cookie is empty, or another's.",
            "Exception in parsing cookie",
        ),
        ("java-too-old", "this Java is too old for it.", "class file version 69.0"),
        ("java-bad-option", "Java refused its options.", "Too small maximum heap"),
    ],
)
def test_known_causes(sample: str, summary: str, in_line: str) -> None:
    cause = find_cause((SAMPLES / f"{sample}.log").read_text(), (BAD_COOKIE,))
    assert cause is not None
    assert cause.summary == summary
    assert in_line in cause.line
    assert "\n" not in cause.line
    assert cause.hint


def test_a_healthy_log_has_no_cause() -> None:
    assert find_cause((SAMPLES / "kafka-healthy.log").read_text()) is None
    assert find_cause("") is None


def test_printed_settings_are_no_cause() -> None:
    log = '\tlog.dir = /x/java.net.BindException\n  "diskUsage" : "No space left on device",\n'
    assert find_cause(log) is None


def test_the_kafka_value_error_names_the_setting() -> None:
    log = (
        'Exception in thread "main" org.apache.kafka.common.config.ConfigException: '
        "Invalid value many for configuration num.io.threads: Not a number of type INT\n"
        "\tat org.apache.kafka.common.config.ConfigDef.parseType(ConfigDef.java:1)\n"
    )
    cause = find_cause(log)
    assert cause is not None
    assert cause.summary == "a setting is not valid."
    assert cause.line.startswith("org.apache.kafka.common.config.ConfigException: Invalid value many")


def test_an_unknown_error_is_shown_as_it_is() -> None:
    cause = find_cause("2026-11-21T04:09:08,469 ERROR Broker [main] The moon is in the wrong house\nmore\n")
    assert cause is not None
    assert cause.summary == ""
    assert "wrong house" in cause.line


def test_long_lines_are_cut() -> None:
    cause = find_cause("ERROR " + "x" * 5000)
    assert cause is not None
    assert len(cause.line) <= 300


def test_the_message_names_the_signal_or_the_code(tmp_path: Path) -> None:
    assert "signal 9" in ended_error("Kafka", -9, None, tmp_path).message
    error = ended_error("Kafka", 1, find_cause("java.net.BindException: Address already in use"), tmp_path)
    assert "code 1" in error.message
    assert "port" in error.message
    assert error.log_path == tmp_path


def test_escape_sequences_of_a_log_do_not_reach_the_terminal() -> None:
    cause = find_cause("\x1b[31m2026-11-21 ERROR\x1b[0m \x1b]0;owned\x07the \x9b2Jmoon\b is\tlate\r\n")
    assert cause is not None
    assert cause.line == "2026-11-21 ERROR the 2Jmoon is late"
    assert str(cause).isprintable()
    begun = find_cause("2026-11-21 ERROR \x1b]0;the moon is late")
    assert begun is not None
    assert begun.line == "2026-11-21 ERROR 0;the moon is late"


class Staged(Servers):
    """Brokers go before the bookies that they write to."""

    @property
    def stop_order(self) -> tuple[tuple[str, ...], ...]:
        return (("broker-1", "broker-2"), ("bookie-1",))


def test_nodes_end_before_what_serves_them_and_alone_keep_copies() -> None:
    names, nodes = ("kafka-1", "kafka-2", "kafka-zookeeper"), (Node(1, ("kafka-1",), ()), Node(2, ("kafka-2",), ()))
    host: Any = None
    deployment = Servers("Kafka", host, {}, names, (), nodes=nodes)
    assert deployment.stop_order == (("kafka-1", "kafka-2"), ("kafka-zookeeper",))
    assert deployment.storage_processes == ("kafka-1", "kafka-2")
    unknown = Servers("Kafka", host, {}, names, ())
    assert [name for stage in unknown.stop_order for name in stage] == list(names)
    assert unknown.storage_processes == names


def test_what_was_started_is_ended_if_the_next_can_not_be_started(tmp_path: Path) -> None:
    calls: list[str] = []

    def start(spec: ProcessSpec) -> None:
        if spec.name == "broker-2":
            raise StartFailedError("no memory")
        calls.append(f"start {spec.name}")

    host: Any = SimpleNamespace(
        start=start, stop=lambda name: calls.append(f"stop {name}"), release_ports=lambda _: calls.append("ports")
    )
    deployment = Servers("Kafka", host, {}, ("broker-1", "broker-2"), ())
    with pytest.raises(StartFailedError, match="no memory"), deployment.starting():
        for name in deployment.processes:
            deployment.start_process(ProcessSpec(name, (), {}, str(tmp_path), str(tmp_path / f"{name}.log")))
    assert calls[0] == "start broker-1"
    assert sorted(calls[1:3]) == ["stop broker-1", "stop broker-2"]
    assert calls[3:] == ["ports"]


def test_every_stage_is_ended_before_ports_are_given_back() -> None:
    calls: list[str] = []
    host: Any = SimpleNamespace(stop=calls.append, release_ports=lambda ports: calls.append(f"ports {ports}"))
    names = ("bookie-1", "broker-1", "broker-2")
    Staged("Pulsar", host, {}, names, (), ports=(7,)).stop()
    assert sorted(calls[:2]) == ["broker-1", "broker-2"]
    assert calls[2:] == ["bookie-1", "ports (7,)"]
