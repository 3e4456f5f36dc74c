"""Starts Kafka nodes: configures them, formats their directories, runs them; old versions with a ZooKeeper.

Kafka can do without since 2.8 (KIP-500), but as a preview that lacks the identifiers idempotent producers need, so
versions before 3.0 get a ZooKeeper: one process beside however many brokers, since it is no part of what is measured.
"""

from __future__ import annotations

import base64
import contextlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import UUID, uuid4

from tidegauge.agent.api import Host
from tidegauge.distribution.coordinates import is_before
from tidegauge.errors import StartFailedError, TidegaugeError
from tidegauge.model.server import Setting, listed_entries, value_of
from tidegauge.numbers import whole_number
from tidegauge.systems.api import KEEPER, LOOPBACK, DeployRequest, Seat
from tidegauge.systems.api import Node as Machine
from tidegauge.systems.jvm import (
    java_server,
    jvm_flags,
    log4j2_text,
    properties_text,
    quick_start_flags,
    zookeeper_settings,
)
from tidegauge.systems.kafka.metrics import configuration_text, find_jmx_exporter, jmx_exporter_flag
from tidegauge.systems.logs import find_cause
from tidegauge.systems.metrics import Endpoint
from tidegauge.systems.servers import LOG_END_BYTES, Servers, ended_error

REPLICAS_OF_CLUSTER = 3
INTERNAL_TOPIC_PARTITIONS = "4"
PORTS_PER_NODE = 3


@dataclass(frozen=True)
class KafkaNode:
    """One node: broker and controller in one process, with its ports at its seat's address; `metrics_port` is for its
    own figures. Partitions share its directories."""

    number: int
    client_port: int
    controller_port: int
    metrics_port: int
    data_directories: tuple[Path, ...]
    seat: Seat = LOOPBACK

    @property
    def name(self) -> str:
        """The name of its process and of its files."""
        return f"kafka-{self.number}"

    @property
    def address(self) -> str:
        """Where it listens."""
        return self.seat.address


def server_properties(node: KafkaNode, nodes: Sequence[KafkaNode], overrides: Mapping[str, str]) -> dict[str, str]:
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


ZOOKEEPER = "kafka-zookeeper"
ZOOKEEPER_HEAP_MB = 128
ZOOKEEPER_OUTSIDE_HEAP_MB = 100
"""Class data, threads and buffers, MiB (measured: about 125 MB resident in all, loaded)."""
ZOOKEEPER_FLAGS = (f"-Xmx{ZOOKEEPER_HEAP_MB}m", "-XX:+UseSerialGC", "-Djava.net.preferIPv4Stack=true")
KRAFT_SINCE = (3, 0)
OF_KRAFT = (
    "process.roles",
    "node.id",
    "controller.quorum.voters",
    "controller.listener.names",
    "listener.security.protocol.map",
)


def needs_zookeeper(version: str) -> bool:
    """Whether this version keeps its metadata in ZooKeeper. Pure."""
    return is_before(version, KRAFT_SINCE)


def broker_properties(kraft: Mapping[str, str], zookeeper: str, overrides: Mapping[str, str]) -> dict[str, str]:
    """server.properties for the ZooKeeper at "host:port", from those for KRaft. `overrides` win. Pure."""
    remaining = {name: value for name, value in kraft.items() if name not in OF_KRAFT}
    return {
        **remaining,
        "broker.id": kraft["node.id"],
        "listeners": kraft["advertised.listeners"],
        "zookeeper.connect": zookeeper,
        # Both are started at the same time.
        "zookeeper.connection.timeout.ms": "60000",
        **overrides,
    }


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


NO_LEADER = "-1"
LEADERS = "leaders.by.partition"
"""The brokers' numbers in the order of partitions: "1, 2, 3"; left out for topics with very many."""


def incomplete(settings: Sequence[Setting], nodes: int) -> str:
    """What is still missing: brokers that have not joined, partitions without a leader, replicas out of sync."""
    brokers = value_of(settings, "cluster", "brokers")
    joined = whole_number(brokers)
    if joined is not None and joined < nodes:
        return f"{brokers} of {nodes} brokers have joined"
    for scope in dict.fromkeys(s.scope for s in settings if s.scope.startswith("topic ")):
        leaders = value_of(settings, scope, "leaders.by.broker").split(", ")
        leaderless = [entry.partition(": ")[2] for entry in leaders if entry.startswith(f"{NO_LEADER}:")]
        if leaderless:
            return f"{scope}: {leaderless[0]} partitions have no leader"
        in_sync, copies = (value_of(settings, scope, name) for name in ("in.sync.replicas", "replication.factor"))
        numbers = whole_number(in_sync), whole_number(copies.partition("-")[0])
        if numbers[0] is not None and numbers[1] is not None and numbers[0] < numbers[1]:
            return f"{scope}: {in_sync} of {copies} replicas are in sync"
    return ""


def leaders(settings: Sequence[Setting]) -> Mapping[str, int]:
    """The broker that leads each "topic-partition"; partitions without a leader are left out."""
    numbers = ((place, whole_number(leader)) for place, leader in listed_entries(settings, LEADERS))
    return {place: leader for place, leader in numbers if leader is not None}


FORMAT_S_MAX = 120.0
FORMAT_FLAGS = ("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


@dataclass(frozen=True)
class KafkaDeployment(Servers):
    """A running Kafka. A broker's id is its node's number."""

    leaders = staticmethod(leaders)


def deploy(request: DeployRequest, host: Host) -> KafkaDeployment:
    """Write the configuration, format the directories and start all nodes."""
    ports = host.free_ports(1 + PORTS_PER_NODE * request.nodes)
    zookeeper_port, nodes = ports[0], nodes_of(request, ports[1:])
    keeper = f"{request.seat(KEEPER).address}:{zookeeper_port}" if needs_zookeeper(request.distribution.version) else ""
    flags = jvm_flags(request, request.heap_mb, request.direct_memory_mb, request.data_directory)
    host.make_directories(request.data_directory / "tmp", request.log_directory)
    log4j1 = host.write(request.log_directory / "kafka-log4j.properties", LOG4J1_TEXT)
    log4j2 = host.write(request.log_directory / "kafka-log4j2.xml", log4j2_text({}))
    logging = logging_flags(log4j1, log4j2)
    files = {node.number: _write_properties(host, node, nodes, request, keeper) for node in nodes}
    if not keeper:
        _format_all(request, host, nodes, files)
    brokers = tuple(node.name for node in nodes)
    metrics_flags = _metrics_flags_by_broker(request, host, nodes)
    deployment = KafkaDeployment(
        title=f"Kafka {request.distribution.version}",
        host=host,
        connection={"bootstrap.servers": ",".join(f"{node.address}:{node.client_port}" for node in nodes)},
        processes=(*brokers, ZOOKEEPER) if keeper else brokers,
        jvm_flags=(*flags, *quick_start_flags(request), *logging),
        ports=tuple(ports),
        metrics_endpoints=tuple(
            Endpoint(node.name, f"http://{node.address}:{node.metrics_port}/metrics")
            for node in nodes
            if node.name in metrics_flags
        ),
        nodes=tuple(Machine(node.number, (node.name,), node.data_directories) for node in nodes),
    )
    with deployment.starting():
        if keeper:
            seat, data_directory = request.seat(KEEPER), request.data_directory / ZOOKEEPER
            host.make_directories(data_directory)
            settings = zookeeper_settings(zookeeper_port, data_directory, seat.address)
            path = host.write(request.log_directory / f"{ZOOKEEPER}.properties", properties_text(settings))
            zookeeper_main = ("org.apache.zookeeper.server.ZooKeeperServerMain", str(path))
            # It is of no node, so no fault ends it.
            unhurt = replace(request, starts_often=False)
            flags = (*ZOOKEEPER_FLAGS, *logging)
            deployment.start_process(java_server(unhurt, ZOOKEEPER, flags, zookeeper_main, seat=seat))
        for node in nodes:
            all_flags = (*deployment.jvm_flags, *metrics_flags.get(node.name, ()))
            main = ("kafka.Kafka", str(files[node.number]))
            deployment.start_process(java_server(request, node.name, all_flags, main, seat=node.seat))
    return deployment


def _metrics_flags_by_broker(request: DeployRequest, host: Host, nodes: Sequence[KafkaNode]) -> dict[str, tuple[str]]:
    """The flag by which a broker reports its own figures, by broker; {} without the JMX exporter, a delay at starts."""
    jar = None if request.starts_often else find_jmx_exporter()
    if jar is None:
        return {}
    configuration = host.write(request.log_directory / "kafka-jmx.yaml", configuration_text())
    return {node.name: (jmx_exporter_flag(jar, node.address, node.metrics_port, configuration),) for node in nodes}


def nodes_of(request: DeployRequest, ports: Sequence[int]) -> list[KafkaNode]:
    """The nodes with their ports, and each with all directories that are its own."""
    nodes = []
    for number in range(1, request.nodes + 1):
        client, controller, metrics = ports[PORTS_PER_NODE * (number - 1) :][:PORTS_PER_NODE]
        directories = request.node_directories(number, f"kafka-{number}")
        nodes.append(KafkaNode(number, client, controller, metrics, directories, request.seat(number)))
    return nodes


def _write_properties(
    host: Host, node: KafkaNode, nodes: Sequence[KafkaNode], request: DeployRequest, keeper: str
) -> Path:
    """Write a node's server.properties. `keeper`: the ZooKeeper's "host:port", "" without one."""
    settings = server_properties(node, nodes, request.settings)
    if keeper:
        settings = broker_properties(settings, keeper, request.settings)
    return host.write(request.log_directory / f"{node.name}.properties", properties_text(settings))


def _format_all(request: DeployRequest, host: Host, nodes: Sequence[KafkaNode], files: Mapping[int, Path]) -> None:
    """Run Kafka's own tool, for all nodes at once: it also records the features that a new cluster of this version has.

    Raises `StartFailedError` with the cause from the tool's log.
    """
    identity, request_without_restarts = cluster_id(uuid4()), replace(request, starts_often=False)
    names = [f"{node.name}-format" for node in nodes]
    try:
        for name, node in zip(names, nodes, strict=True):
            host.make_directories(*node.data_directories)
            tool = ("kafka.tools.StorageTool", "format", "--cluster-id", identity, "--config", str(files[node.number]))
            host.start(java_server(request_without_restarts, name, FORMAT_FLAGS, tool, seat=node.seat, follow_gc=False))
        deadline_s = time.monotonic() + FORMAT_S_MAX
        for name in names:
            log_path = request.log_path(name)
            while (status := host.status(name)).running:
                if time.monotonic() > deadline_s:
                    raise StartFailedError(
                        f"Formatting Kafka's directory took over {FORMAT_S_MAX:.0f} s.", log_path=log_path
                    )
                time.sleep(0.02)
            if status.exit_code != 0:
                program = f"Kafka {request.distribution.version}'s storage tool"
                raise ended_error(
                    program, status.exit_code, find_cause(host.read_end(log_path, LOG_END_BYTES)), log_path
                )
    finally:
        for name in names:
            with contextlib.suppress(TidegaugeError):
                host.stop(name)
