"""What old versions need besides, and those that are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tidegauge.errors import UserError
from tidegauge.model.level import LevelChoice
from tidegauge.model.server import Distribution
from tidegauge.systems.api import DeployRequest
from tidegauge.systems.kafka.deployment import KafkaNode, broker_properties, needs_zookeeper, server_properties
from tidegauge.systems.pulsar.config import standalone_is_mute
from tidegauge.systems.pulsar.deployment import deploy_standalone

NODES = [KafkaNode(n, 9091 + n, 9191 + n, 9291 + n, (Path(f"/data/{n}"),)) for n in (1, 2, 3)]
UNUSED: Any = None


@pytest.mark.parametrize(
    ("version", "needed"), [("2.6.3", True), ("2.8.2", True), ("3.0.2", False), ("4.3.1", False), ("trunk", False)]
)
def test_kafka_needs_a_zookeeper_until_kraft_is_complete(version: str, needed: bool) -> None:
    assert needs_zookeeper(version) is needed


def test_a_broker_of_a_zookeeper_has_nothing_of_kraft() -> None:
    kraft = server_properties(NODES[1], NODES, {"log.retention.ms": "5"})
    settings = broker_properties(kraft, "127.0.0.1:2181", {"log.retention.ms": "5"})
    assert not [name for name in settings if name.startswith(("process.", "controller.", "node."))]
    assert settings["broker.id"] == "2"
    assert settings["zookeeper.connect"] == "127.0.0.1:2181"
    assert settings["listeners"] == settings["advertised.listeners"] == "PLAINTEXT://127.0.0.1:9093"
    assert settings["log.retention.ms"] == "5"
    assert settings["min.insync.replicas"] == kraft["min.insync.replicas"]


@pytest.mark.parametrize(("version", "mute"), [("2.6.0", True), ("2.10.5", True), ("2.11.0", False), ("4.2.4", False)])
def test_a_standalone_pulsar_that_cannot_be_read_back_is_refused(tmp_path: Path, version: str, mute: bool) -> None:
    assert standalone_is_mute(version) is mute
    files = Distribution("pulsar", version, tmp_path, None, "17", "", "test")
    request = DeployRequest(files, 1, LevelChoice(3), tmp_path, tmp_path, heap_mb=512, direct_memory_mb=512)
    if mute:
        with pytest.raises(UserError, match=rf"{version} on one node can't be measured"):
            deploy_standalone(request, UNUSED)
