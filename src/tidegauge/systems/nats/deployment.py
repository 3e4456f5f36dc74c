"""Starts NATS servers; which of their figures matter, and why one failed.

Source: https://docs.nats.io/running-a-nats-service/nats_admin/monitoring
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tidegauge.agent.api import Host, ProcessSpec
from tidegauge.model.server import Setting, listed_entries
from tidegauge.numbers import whole_number
from tidegauge.systems.api import DeployRequest
from tidegauge.systems.api import Node as Machine
from tidegauge.systems.logs import Cause, cause_pattern, find_cause
from tidegauge.systems.metrics import Endpoint, Metric, MetricKind
from tidegauge.systems.nats.config import NatsNode, connection_of_nodes, server_config
from tidegauge.systems.nats.level import LEADERS, SYNCED_LEVELS
from tidegauge.systems.nats.provision import PROGRAM
from tidegauge.systems.servers import Servers

PORTS_PER_NODE = 3
STOP_GRACE_S = 15.0
METRICS = (
    Metric("resident_bytes", "memory of the server as it counts it", "mem"),
    Metric("stored_bytes", "streams in files", "jetstream.stats.storage"),
    Metric("stored_in_memory_bytes", "streams in memory", "jetstream.stats.memory"),
    Metric("raft_groups", "streams and consumers of several copies", "jetstream.stats.ha_assets"),
    Metric("received_msgs_per_s", "messages from clients and other servers", "in_msgs", MetricKind.RATE),
    Metric("api_errors_per_s", "calls of JetStream's API that failed", "jetstream.stats.api.errors", MetricKind.RATE),
    Metric("slow_consumers", "connections that were closed since they read too slowly", "slow_consumers"),
    Metric("stalled_clients", "publishers that were held back since a reader is slow", "stalled_clients"),
    Metric(
        "disk_waiters", "goroutines that wait for one of the few that may use the disk", "disk_io_wait_stats.waiters"
    ),
    Metric(
        "disk_wait_ms",
        "mean time that they waited",
        "disk_io_wait_stats.wait_time",
        MetricKind.MEAN,
        count_series="disk_io_wait_stats.waits",
        factor=1e-6,
    ),
)
_CAUSES = (
    cause_pattern(r"unknown field", "there is no such setting:", "Correct the setting given for this system."),
    cause_pattern(
        r"\.conf:\d+:\d+:|error parsing|invalid value|could not parse",
        "a setting is not valid.",
        "Correct the setting given for this system in the campaign.",
    ),
    cause_pattern(
        r"insufficient (storage|memory) resources|JetStream out of",
        "JetStream has no room.",
        "Free space, or put the data on another disk.",
    ),
    cause_pattern(
        "address already in use",
        "a port that it needs is taken.",
        "End the other process (`ss -ltnp` shows it), or run again: ports are chosen anew.",
    ),
    cause_pattern("no space left on device", "the disk is full.", "Free space, or put the data on another disk."),
    cause_pattern("permission denied", "it may not use a file.", "Check the owner of the data directory."),
    cause_pattern(r"\[FTL\]", "", "Look at the log."),
)


@dataclass(frozen=True)
class NatsDeployment(Servers):
    """A running NATS."""

    def cause_in(self, log: str) -> Cause | None:
        """See `Servers.cause_in`."""
        return find_cause(log, _CAUSES)

    def leaders(self, settings: Sequence[Setting]) -> Mapping[str, int]:
        """See `Deployment.leaders`."""
        numbered = (
            (partition, whole_number(leader.removeprefix("nats-")))
            for partition, leader in listed_entries(settings, LEADERS)
        )
        return {partition: number for partition, number in numbered if number}


def deploy(request: DeployRequest, host: Host) -> NatsDeployment:
    """Write the configuration and start all servers at the same time."""
    ports = host.free_ports(PORTS_PER_NODE * request.nodes)
    nodes = _nodes_with_ports(request, ports)
    memory_mb = request.heap_mb + request.direct_memory_mb
    deployment = NatsDeployment(
        title=f"NATS {request.distribution.version}",
        host=host,
        connection=connection_of_nodes(nodes),
        processes=tuple(node.name for node in nodes),
        jvm_flags=(f"GOMEMLIMIT={memory_mb}MiB",),
        ports=tuple(ports),
        metrics_endpoints=tuple(Endpoint(node.name, f"{node.monitoring_url}/varz") for node in nodes),
        nodes=tuple(Machine(node.number, (node.name,), (node.directory,)) for node in nodes),
    )
    host.make_directories(request.log_directory, *(node.directory for node in nodes))
    always_syncs = request.choice.level in SYNCED_LEVELS
    with deployment.starting():
        for node in nodes:
            text = server_config(node, nodes, always_syncs, memory_mb, request.settings)
            path = host.write(request.log_directory / f"{node.name}.conf", text)
            deployment.start_process(
                ProcessSpec(
                    name=node.name,
                    argv=(str(request.distribution.directory / PROGRAM), "--config", str(path)),
                    # Above it Go collects its garbage more often.
                    env={"PATH": "/usr/bin:/bin", "GOMEMLIMIT": f"{memory_mb}MiB"},
                    cwd=str(node.directory),
                    log_path=str(request.log_path(node.name)),
                    stop_grace_s=STOP_GRACE_S,
                    network_node=node.seat.link,
                )
            )
    return deployment


def _nodes_with_ports(request: DeployRequest, ports: Sequence[int]) -> list[NatsNode]:
    nodes = []
    for number in range(1, request.nodes + 1):
        client, monitoring, cluster = ports[PORTS_PER_NODE * (number - 1) :][:PORTS_PER_NODE]
        directory = request.node_directory(number, f"nats-{number}")
        nodes.append(NatsNode(number, client, monitoring, cluster, directory, request.seat(number)))
    return nodes
