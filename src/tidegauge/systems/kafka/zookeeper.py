"""The ZooKeeper of Kafka versions that keep their metadata there.

Kafka can do without since 2.8 (KIP-500), but as a preview that lacks the identifiers idempotent producers need, so
versions before 3.0 get a ZooKeeper: one process beside however many brokers, since it is no part of what is measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tidegauge.distribution.coordinates import is_before
from tidegauge.fleet.api import Host, ProcessSpec
from tidegauge.systems.api import LOOPBACK, DeployRequest, Seat
from tidegauge.systems.jvm import java_process, properties_text, zookeeper_settings

PROCESS = "kafka-zookeeper"
HEAP_MB = 128
OUTSIDE_HEAP_MB = 100
"""Class data, threads and buffers, MiB (measured: about 125 MB resident in all, loaded)."""
_FLAGS = (f"-Xmx{HEAP_MB}m", "-XX:+UseSerialGC", "-Djava.net.preferIPv4Stack=true")
_KRAFT_SINCE = (3, 0)
_OF_KRAFT = (
    "process.roles",
    "node.id",
    "controller.quorum.voters",
    "controller.listener.names",
    "listener.security.protocol.map",
)


@dataclass(frozen=True)
class Zookeeper:
    """Where it listens and what it keeps."""

    port: int
    data_directory: Path
    seat: Seat = LOOPBACK


def needs_zookeeper(version: str) -> bool:
    """Whether this version keeps its metadata in ZooKeeper. Pure."""
    return is_before(version, _KRAFT_SINCE)


def broker_properties(kraft: Mapping[str, str], zookeeper: Zookeeper, overrides: Mapping[str, str]) -> dict[str, str]:
    """server.properties for ZooKeeper, from those for KRaft. `overrides` win. Pure."""
    kept = {name: value for name, value in kraft.items() if name not in _OF_KRAFT}
    return {
        **kept,
        "broker.id": kraft["node.id"],
        "listeners": kraft["advertised.listeners"],
        "zookeeper.connect": f"{zookeeper.seat.address}:{zookeeper.port}",
        # Both are started at the same time.
        "zookeeper.connection.timeout.ms": "60000",
        **overrides,
    }


def process(host: Host, zookeeper: Zookeeper, request: DeployRequest, logging: tuple[str, ...]) -> ProcessSpec:
    """Write its configuration; what to start."""
    host.make_directories(zookeeper.data_directory)
    settings = zookeeper_settings(zookeeper.port, zookeeper.data_directory, zookeeper.seat.address)
    path = host.write(request.log_directory / f"{PROCESS}.properties", properties_text(settings))
    main = ("org.apache.zookeeper.server.ZooKeeperServerMain", str(path))
    arguments = (*_FLAGS, *logging, "-cp", f"{request.distribution.directory}/*", *main)
    java_home, log_path = request.distribution.java_home, request.log_path(PROCESS)
    spec = java_process(PROCESS, java_home, arguments, cwd=request.data_directory, log_path=log_path)
    return replace(spec, network_node=zookeeper.seat.link)
