"""What a Pulsar cluster reports of its settings."""

from __future__ import annotations

import json
from dataclasses import replace

from tidegauge.model.server import Setting

TOPIC = "topic tidegauge-0"
NAMESPACE = "namespace public/default"


def broker(number: int, awaited: str = "2") -> list[Setting]:
    scope = f"broker 127.0.0.1:808{number}"
    return [
        Setting(scope, "managedLedgerDefaultEnsembleSize", "3"),
        Setting(scope, "managedLedgerDefaultWriteQuorum", "3"),
        Setting(scope, "managedLedgerDefaultAckQuorum", awaited),
    ]


def bookie(number: int, sync: str = "true", read_only: str = "false") -> list[Setting]:
    scope = f"bookie {number}"
    return [
        Setting(scope, "journalWriteData", "true"),
        Setting(scope, "journalSyncData", sync),
        Setting(scope, "state.running", "true"),
        Setting(scope, "state.readOnly", read_only),
    ]


def topic(awaited: str = "2", ledger: str = "2") -> list[Setting]:
    return [
        Setting(TOPIC, "bookkeeperEnsemble", "3"),
        Setting(TOPIC, "bookkeeperWriteQuorum", "3"),
        Setting(TOPIC, "bookkeeperAckQuorum", awaited),
        Setting(TOPIC, "ledger.ensembleSize", "3"),
        Setting(TOPIC, "ledger.writeQuorumSize", "3"),
        Setting(TOPIC, "ledger.ackQuorumSize", ledger),
        Setting(TOPIC, "partitions.unowned", "0"),
    ]


def namespace(awaited: int) -> Setting:
    policy = {"bookkeeperEnsemble": 3, "bookkeeperWriteQuorum": 3, "bookkeeperAckQuorum": awaited}
    return Setting(NAMESPACE, "persistence", json.dumps(policy))


CLUSTER = [Setting("cluster", "brokers", "3"), Setting("cluster", "brokers.started", "3")]
BROKERS = [*broker(1), *broker(2), *broker(3)]
BOOKIES = [*bookie(1), *bookie(2), *bookie(3)]
GOOD = [*CLUSTER, *BROKERS, *BOOKIES, *topic()]


def changed(settings: list[Setting], scope: str, name: str, value: str) -> list[Setting]:
    assert any((s.scope, s.name) == (scope, name) for s in settings)
    return [replace(s, value=value) if (s.scope, s.name) == (scope, name) else s for s in settings]
