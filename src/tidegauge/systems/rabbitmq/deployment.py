"""Starts RabbitMQ nodes with an Erlang port mapper of their own; which figures matter, and why one failed.

Source: https://github.com/rabbitmq/rabbitmq-server/blob/main/deps/rabbitmq_prometheus/metrics.md
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tidegauge.agent.api import Host, ProcessSpec
from tidegauge.distribution.coordinates import version_numbers
from tidegauge.errors import StartFailedError
from tidegauge.systems import logs
from tidegauge.systems.api import LOOPBACK, DeployRequest, Seat
from tidegauge.systems.api import Node as Machine
from tidegauge.systems.logs import Cause, cause_pattern
from tidegauge.systems.metrics import Combine, Endpoint, Metric, MetricKind
from tidegauge.systems.rabbitmq.config import (
    Layout,
    RabbitNode,
    connection_of_nodes,
    enabled_plugins,
    epmd_environment,
    find_layout,
    has_streams,
    node_environment,
    rabbitmq_conf,
)
from tidegauge.systems.rabbitmq.level import form_of, leaders
from tidegauge.systems.servers import Servers, is_listening

METRICS: tuple[Metric, ...] = (
    Metric("ready_msgs", "messages that wait for a consumer", "rabbitmq_queue_messages_ready"),
    Metric(
        "unacknowledged_msgs", "messages that consumers have and did not acknowledge", "rabbitmq_queue_messages_unacked"
    ),
    Metric("queue_process_bytes", "memory of the queues' processes", "rabbitmq_queue_process_memory_bytes"),
    Metric(
        "memory_alarm",
        "1 while publishers are blocked because the node uses too much memory",
        "rabbitmq_alarms_memory_used_watermark",
        combine=Combine.MAX,
    ),
    Metric(
        "disk_alarm",
        "1 while publishers are blocked because the disk is nearly full",
        "rabbitmq_alarms_free_disk_space_watermark",
        combine=Combine.MAX,
    ),
    Metric("node_resident_bytes", "memory of the node as it counts it", "rabbitmq_process_resident_memory_bytes"),
    Metric("memory_limit_bytes", "above it publishers are blocked", "rabbitmq_resident_memory_limit_bytes"),
    Metric(
        "run_queue_processes",
        "Erlang processes ready to run that wait for a scheduler",
        "erlang_vm_statistics_run_queues_length",
    ),
    Metric(
        "io_syncs_per_s", "syncs of classic queues (3.x reports them)", "rabbitmq_io_sync_ops_total", MetricKind.RATE
    ),
    Metric(
        "io_sync_ms",
        "mean time of such a sync",
        "rabbitmq_io_sync_time_seconds_total",
        MetricKind.MEAN,
        count_series="rabbitmq_io_sync_ops_total",
        factor=1e3,
        is_sync_ms=True,
    ),
    Metric(
        "raft_commit_ms",
        "time from writing an entry of a quorum queue to its commit, over queues the largest",
        "rabbitmq_raft_(entry_commit|max_commit)_latency_seconds",
        combine=Combine.MAX,
        factor=1e3,
    ),
    Metric(
        "garbage_collections_per_s",
        "collections of Erlang processes' heaps",
        "erlang_vm_statistics_garbage_collection_number_of_gcs(_total)?",
        MetricKind.RATE,
    ),
)


STAMP = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+\S* \[\w+\] <[\d.]+>\s*")


# What the groups of an expression hold is shown.
# Nodes end so soon after this that the lines which say more may be missing from their log.
_BAD_SETTING = cause_pattern(
    "failed_to_prepare_configuration",
    "a setting is not valid.",
    "Correct the setting given for this system in the campaign.",
)
_KNOWN = (
    cause_pattern(r"\benospc\b", "the disk is full.", "Free space, or put the data on another disk."),
    cause_pattern(
        r"(?:eheap_alloc|\w+_alloc): (Cannot \w+ \d+ bytes of memory)|\benomem\b",
        "it ran out of memory.",
        "Free memory on this machine.",
    ),
    cause_pattern(
        r"attempted to set unknown variable: (\S+)",
        "there is no setting named",
        "Correct the setting given for this system in the campaign.",
    ),
    cause_pattern(
        r"Error transforming datatype for: (\S+)(?:\n[^\n]*?- (\"[^\n]+))?|Invalid value for: (.+)",
        "a setting is not valid.",
        "Correct the setting given for this system in the campaign.",
    ),
    _BAD_SETTING,
    cause_pattern(
        r"\{acceptor,\{[\d,]+\},(\d+)\}[^\n]*eaddrinuse|port (\d+)[^\n]*in use|\beaddrinuse\b",
        "a port that it needs is taken:",
        "End the other process (`ss -ltnp` shows it), or run again: ports are chosen anew.",
    ),
    cause_pattern(r"\b(eacces|eperm)\b", "it may not use a file.", "Check the owner of the data directory."),
    cause_pattern(r"\bemfile\b", "it ran out of file descriptors.", "Raise the limit: `ulimit -n 65536`."),
    cause_pattern(
        r"(memory|disk free space?) resource limit alarm set on node",
        "it blocks publishers because of its alarm:",
        "Give it more memory (heap) in the campaign, or free disk space.",
    ),
    cause_pattern(
        r"(?i)(Timeout\w* while waiting for.+|inconsistent_cluster.+|failed to cluster with.+)",
        "its nodes did not form a cluster.",
        "See the logs of the other nodes.",
    ),
    cause_pattern(r"Error during startup: (\{error,\s*\S.*)", "it could not start.", "Look at the log."),
)


def find_cause(log: str, given_settings: Sequence[str] = ()) -> Cause | None:
    """The likeliest cause of a failure, None if no line looks like one.

    `given_settings`: names of the settings that the user gave, shown where the log says only that one is not valid.
    """
    text = "\n".join(STAMP.sub("", line) for line in log.splitlines())
    for known_cause in _KNOWN:
        match = known_cause.expression.search(text)
        if match:
            detail = ": ".join(group.strip() for group in match.groups() if group)
            if known_cause is _BAD_SETTING and given_settings:
                detail = f"Given were: {', '.join(given_settings)}"
            return Cause(known_cause.summary, detail[: logs.LINE_LENGTH_MAX], known_cause.hint)
    return logs.find_cause(text)


EPMD = "rabbitmq-epmd"
EPMD_S_MAX = 10.0
PORTS_PER_NODE = 5
# A node writes its queues' state back when it ends; with a large backlog that takes its time.
STOP_GRACE_S = 30.0


@dataclass(frozen=True)
class Mapper:
    """A port mapper: the name of its process, where it is, and its port."""

    name: str
    seat: Seat
    port: int


@dataclass(frozen=True)
class RabbitmqDeployment(Servers):
    """A running RabbitMQ. `given`: names of the settings that the user gave."""

    given: tuple[str, ...] = ()

    leaders = staticmethod(leaders)

    def cause_in(self, log: str) -> Cause | None:
        """See `Servers.cause_in`: Erlang words its failures in its own way."""
        return find_cause(log, self.given)


def deploy(request: DeployRequest, host: Host) -> RabbitmqDeployment:
    """Write the configuration and start port mappers and all nodes, the nodes at the same time."""
    layout = find_layout(request.distribution.directory)
    streams = has_streams(version_numbers(layout.version))
    ports = host.free_ports(1 + PORTS_PER_NODE * request.nodes)
    epmd_port = ports[0]
    nodes = _nodes_with_ports(request, ports[1:])
    home = request.data_directory / "rabbitmq-home"
    memory_mb = request.heap_mb + request.direct_memory_mb
    host.make_directories(home, request.log_directory)
    # The secret that nodes show each other. In a file, where Erlang looks for it: process lists are public.
    host.write(home / ".erlang.cookie", secrets.token_hex(16), 0o400)
    for node in nodes:
        settings = rabbitmq_conf(node, nodes, memory_mb, streams, request.settings)
        host.make_directories(node.directory / "data", node.directory / "log")
        host.write(node.directory / "rabbitmq.conf", settings)
        host.write(node.directory / "enabled_plugins", enabled_plugins(streams))
        # The data directory goes with the trial; the node's settings are kept with its log.
        host.write(request.log_directory / f"{node.process}.conf", settings)
    # A node asks the port mapper at the address in the name of the node that it looks for: one for each address.
    first_at = {node.seat.address: node for node in reversed(nodes) if node.seat.link}
    mappers_apart = [Mapper(f"{EPMD}-{node.number}", node.seat, epmd_port) for node in reversed(first_at.values())]
    mappers = mappers_apart or [Mapper(EPMD, LOOPBACK, epmd_port)]
    deployment = RabbitmqDeployment(
        title=f"RabbitMQ {layout.version}",
        host=host,
        connection=connection_of_nodes(nodes, form_of(request.choice).queue_type, streams),
        processes=(*(node.process for node in nodes), *(mapper.name for mapper in mappers)),
        jvm_flags=(f"vm_memory_high_watermark.absolute={memory_mb}MiB",),
        ports=tuple(ports),
        metrics_endpoints=tuple(
            Endpoint(node.process, f"http://{node.address}:{node.metrics_port}/metrics") for node in nodes
        ),
        nodes=tuple(Machine(node.number, (node.process,), (node.directory,)) for node in nodes),
        given=tuple(request.settings),
    )
    with deployment.starting():
        for mapper in mappers:
            # In the foreground: as a daemon it would leave the deployment's hands.
            deployment.start_process(
                ProcessSpec(
                    name=mapper.name,
                    argv=(str(layout.epmd), "-port", str(mapper.port), "-address", mapper.seat.address),
                    env=epmd_environment(layout, home, mapper.port, mapper.seat.address),
                    cwd=str(home),
                    log_path=str(request.log_path(mapper.name)),
                    stop_grace_s=5.0,
                    network_node=mapper.seat.link,
                )
            )
        for mapper in mappers:
            _await_epmd(deployment, mapper)
        for node in nodes:
            environment = node_environment(layout, node, home, epmd_port)
            deployment.start_process(_server_process(layout, node, environment, request.log_path(node.process)))
    return deployment


def _nodes_with_ports(request: DeployRequest, ports: Sequence[int]) -> list[RabbitNode]:
    nodes = []
    for number in range(1, request.nodes + 1):
        amqp, stream, management, distribution, metrics = ports[PORTS_PER_NODE * (number - 1) :][:PORTS_PER_NODE]
        directory = request.node_directory(number, f"rabbitmq-{number}")
        nodes.append(
            RabbitNode(number, amqp, stream, management, distribution, metrics, directory, request.seat(number))
        )
    return nodes


def _server_process(layout: Layout, node: RabbitNode, environment: Mapping[str, str], log_path: Path) -> ProcessSpec:
    return ProcessSpec(
        name=node.process,
        argv=(str(layout.start_script),),
        env=environment,
        cwd=str(node.directory),
        log_path=str(log_path),
        stop_grace_s=STOP_GRACE_S,
        network_node=node.seat.link,
    )


def _await_epmd(deployment: RabbitmqDeployment, mapper: Mapper) -> None:
    """A node that finds no port mapper ends at once. Raises `StartFailedError`."""
    deadline_s, log_path = time.monotonic() + EPMD_S_MAX, deployment.log_path(mapper.name)
    while True:
        if not deployment.host.status(mapper.name).running:
            raise StartFailedError("Erlang's port mapper (epmd) ended at once.", "Look at its log.", log_path)
        if is_listening(mapper.seat.address, mapper.port):
            return
        if time.monotonic() > deadline_s:
            words = f"Erlang's port mapper (epmd) did not listen within {EPMD_S_MAX:.0f} s."
            raise StartFailedError(words, log_path=log_path)
        time.sleep(0.02)
