"""When replication is complete, judged from what is read back."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import pytest

from tidegauge.agent.api import Host
from tidegauge.model.server import Setting
from tidegauge.systems.kafka.deployment import incomplete as kafka_incomplete
from tidegauge.systems.kafka.deployment import leaders as kafka_leaders
from tidegauge.systems.pulsar.deployment import PulsarDeployment
from tidegauge.systems.rabbitmq.level import incomplete as rabbitmq_incomplete
from tidegauge.systems.rabbitmq.level import leaders as rabbitmq_leaders

KAFKA = [
    Setting("cluster", "brokers", "3"),
    Setting("topic t", "replication.factor", "3"),
    Setting("topic t", "in.sync.replicas", "3"),
    Setting("topic t", "leaders.by.broker", "1: 2, 2: 2, 3: 2"),
]
RABBITMQ = [
    *(Setting(f"node tidegauge{number}@localhost", "running", "true") for number in (1, 2, 3)),
    Setting("topic t", "queue.type", "quorum"),
    Setting("topic t", "queue.members", "3"),
    Setting("topic t", "queue.members.online", "3"),
]


def changed(settings: list[Setting], scope: str, name: str, value: str) -> list[Setting]:
    assert any((s.scope, s.name) == (scope, name) for s in settings)
    return [replace(s, value=value) if (s.scope, s.name) == (scope, name) else s for s in settings]


def test_complete_clusters() -> None:
    assert kafka_incomplete(KAFKA, 3) == ""
    assert kafka_incomplete(KAFKA[:1], 3) == "", "without topics the brokers alone count"
    assert rabbitmq_incomplete(RABBITMQ, 3) == ""
    assert rabbitmq_incomplete(RABBITMQ[:3], 3) == ""


@pytest.mark.parametrize(
    ("scope", "name", "value", "missing"),
    [
        ("cluster", "brokers", "2", "2 of 3 brokers have joined"),
        ("topic t", "in.sync.replicas", "1", "topic t: 1 of 3 replicas are in sync"),
        ("topic t", "leaders.by.broker", "-1: 4, 1: 2", "topic t: 4 partitions have no leader"),
    ],
)
def test_what_kafka_lacks_is_reported(scope: str, name: str, value: str, missing: str) -> None:
    assert kafka_incomplete(changed(KAFKA, scope, name, value), 3) == missing


def test_a_topic_with_fewer_copies_than_nodes_is_complete_with_those() -> None:
    one = changed(changed(KAFKA, "topic t", "replication.factor", "1"), "topic t", "in.sync.replicas", "1")
    assert kafka_incomplete(one, 3) == ""


def test_what_rabbitmq_lacks_is_reported() -> None:
    down = changed(RABBITMQ, "node tidegauge2@localhost", "running", "false")
    assert rabbitmq_incomplete(down, 3) == "2 of 3 nodes are running"
    offline = changed(RABBITMQ, "topic t", "queue.members.online", "2")
    assert rabbitmq_incomplete(offline, 3) == "topic t: 2 of 3 members are online"
    alone = [*RABBITMQ, Setting("topic t queue t.4", "queue.members.online", "1")]
    assert rabbitmq_incomplete(alone, 3) == "topic t queue t.4: 1 of 3 members are online"


def test_leaders_by_partition_or_queue() -> None:
    kafka = [Setting("topic t", "leaders.by.partition", "3, -1, 1"), Setting("broker 1", "leaders.by.partition", "1")]
    assert kafka_leaders(kafka) == {"t-0": 3, "t-2": 1}
    assert kafka_leaders(KAFKA) == {}, "of large topics nobody is listed"
    queues = "t.0=tidegauge2@localhost, t.1=, t.2=tidegauge1@localhost, t.3=rabbit@other"
    assert rabbitmq_leaders([Setting("topic t", "queue.leaders.by.queue", queues)]) == {"t.0": 2, "t.2": 1}


def test_owners_of_pulsar_are_nodes_by_their_brokers_addresses() -> None:
    known = {"127.0.0.1:8081": 1, "127.0.0.1:8082": 2}
    deployment = PulsarDeployment(
        title="",
        host=cast(Host, None),
        connection={},
        processes=(),
        jvm_flags=(),
        bookies={},
        brokers=known,
    )
    owners = "127.0.0.1:8082, none, 127.0.0.1:8081, 127.0.0.1:9999"
    settings = [Setting("topic t", "partition.owners.by.partition", owners)]
    assert deployment.leaders(settings) == {"t-0": 2, "t-2": 1}


def test_every_topic_is_asked_for_replicas_out_of_sync() -> None:
    settings = [
        Setting(f"topic {name}", key, value)
        for name, in_sync in (("a", "3"), ("b", "2"))
        for key, value in (("in.sync.replicas", in_sync), ("replication.factor", "3"))
    ]
    assert kafka_incomplete(settings, 3) == "topic b: 2 of 3 replicas are in sync"
