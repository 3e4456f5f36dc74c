"""The digest that carries attestations to later runs: equal where settings are, and only there."""

from __future__ import annotations

import pytest

from tidegauge.attestation.record import DIGEST_CHARS, settings_digest
from tidegauge.model.server import Setting

RUN = "/runs/2026-11-21-attest/data/0001-attest-kafka"
IN_FORCE = {
    ("cluster", "cluster.id"): "AUk9ybYBQJyqp9wWQ5e0mA",
    ("broker 1", "log.dirs"): f"{RUN}/disk-1/kafka-1",
    ("broker 1", "listeners"): "PLAINTEXT://127.0.0.1:20345",
    ("broker 1", "unclean.leader.election.enable"): "false",
    ("broker 1", "min.insync.replicas"): "2",
    ("broker 1", "managedLedgerForceRecovery"): "false",
    ("topic tidegauge-0001-attest-kafka-0-1", "flush.messages"): "1",
    ("topic tidegauge-0001-attest-kafka-0-1", "partitions"): "1",
    ("topic tidegauge-0001-attest-kafka-0-1", "in.sync.replicas"): "3",
    ("topic tidegauge-0001-attest-kafka-0-1", "leaders.by.broker"): "1: 1",
    ("topic tidegauge-0001-attest-kafka-0-1", "leaders.by.partition"): "1",
    ("topic tidegauge-0001-attest-kafka-0-1", "ledger.ackQuorumSize"): "2",
    ("topic tidegauge-0001-attest-kafka-0-1", "queue.leaders.by.queue"): "orders=tidegauge1@localhost",
}


def digest(changed: dict[str, str] | None = None, topic: str = "tidegauge-0001-attest-kafka-0-1") -> str:
    settings = [
        Setting(scope.replace("tidegauge-0001-attest-kafka-0-1", topic), name, (changed or {}).get(name, value), None)
        for (scope, name), value in IN_FORCE.items()
    ]
    return settings_digest(settings)


def test_another_run_of_the_same_settings_has_the_same_digest() -> None:
    moved = {
        "cluster.id": "another",
        "log.dirs": "/elsewhere/runs/2026-11-22-quick/data/0002-peak-kafka/kafka-1",
        "listeners": "PLAINTEXT://127.0.0.1:31001",
        "partitions": "12",
        "leaders.by.broker": "1: 4, 2: 4, 3: 4",
        "leaders.by.partition": "3, 1, 2",
        "queue.leaders.by.queue": "orders=tidegauge3@localhost",
    }
    assert digest(moved, topic="tidegauge-0002-peak-kafka-3") == digest()
    assert len(digest()) == DIGEST_CHARS


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("unclean.leader.election.enable", "true"),
        ("min.insync.replicas", "1"),
        ("flush.messages", "10000"),
        ("managedLedgerForceRecovery", "true"),
        ("ledger.ackQuorumSize", "1"),
    ],
)
def test_a_setting_that_decides_changes_it(name: str, value: str) -> None:
    assert digest({name: value}) != digest()
