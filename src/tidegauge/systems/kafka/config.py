"""The configuration of Kafka nodes, as text. Pure."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

LOOPBACK = "127.0.0.1"
REPLICAS_OF_CLUSTER = 3
INTERNAL_TOPIC_PARTITIONS = "4"


@dataclass(frozen=True)
class Node:
    """One node: broker and controller in one process. Its ports are on `address`; partitions share its directories."""

    number: int
    client_port: int
    controller_port: int
    data_directories: tuple[Path, ...]
    address: str = LOOPBACK

    @property
    def name(self) -> str:
        """Of its process and its files."""
        return f"kafka-{self.number}"


def server_properties(node: Node, nodes: Sequence[Node], overrides: Mapping[str, str]) -> dict[str, str]:
    """server.properties of one node of a cluster with static voters. `overrides` win.

    Durability is left at the defaults here: Kafka sets it by topic (see `level.topic_settings`).
    """
    replicas = REPLICAS_OF_CLUSTER if len(nodes) >= REPLICAS_OF_CLUSTER else 1
    in_sync_min = 2 if replicas == REPLICAS_OF_CLUSTER else 1
    client = f"PLAINTEXT://{node.address}:{node.client_port}"
    settings = {
        "process.roles": "broker,controller",
        "node.id": str(node.number),
        "controller.quorum.voters": ",".join(f"{n.number}@{n.address}:{n.controller_port}" for n in nodes),
        "listeners": f"{client},CONTROLLER://{node.address}:{node.controller_port}",
        "advertised.listeners": client,
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "PLAINTEXT",
        "log.dirs": ",".join(map(str, node.data_directories)),
        "num.partitions": "1",
        "default.replication.factor": str(replicas),
        "min.insync.replicas": str(in_sync_min),
        "offsets.topic.replication.factor": str(replicas),
        "offsets.topic.num.partitions": INTERNAL_TOPIC_PARTITIONS,
        "transaction.state.log.replication.factor": str(replicas),
        "transaction.state.log.min.isr": str(in_sync_min),
        "transaction.state.log.num.partitions": INTERNAL_TOPIC_PARTITIONS,
        "share.coordinator.state.topic.replication.factor": str(replicas),
        "share.coordinator.state.topic.min.isr": str(in_sync_min),
        "share.coordinator.state.topic.num.partitions": INTERNAL_TOPIC_PARTITIONS,
        # Waiting for more consumers before the first assignment is useful in production and only delay here.
        "group.initial.rebalance.delay.ms": "0",
        # A topic that a trial forgot to create must fail, not appear with the wrong settings.
        "auto.create.topics.enable": "false",
        # Retention must not delete what a slow consumer still has to read.
        "log.retention.ms": "-1",
    }
    return {**settings, **overrides}


def cluster_id(number: UUID) -> str:
    """A cluster's id in Kafka's form: 22 characters of URL-safe base 64, not beginning with "-" like an option."""
    text = base64.urlsafe_b64encode(number.bytes).decode().rstrip("=")
    return f"A{text[1:]}" if text.startswith("-") else text


def logging_flags(log4j1: Path, log4j2: Path) -> tuple[str, ...]:
    """Flags for each of the logging back ends that a version or a local directory may bring."""
    return (
        "-Dorg.slf4j.simpleLogger.defaultLogLevel=info",
        "-Dorg.slf4j.simpleLogger.showDateTime=true",
        "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd'T'HH:mm:ss,SSS",
        "-Dorg.slf4j.simpleLogger.logFile=System.out",
        f"-Dlog4j.configuration=file:{log4j1}",
        f"-Dlog4j2.configurationFile={log4j2}",
    )


LOG4J1_TEXT = """\
log4j.rootLogger=INFO, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%d{ISO8601} %-5p %c{1} [%t] %m%n
"""
