"""Starts RabbitMQ nodes with an Erlang port mapper of their own."""

from __future__ import annotations

import secrets
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tidegauge.errors import StartFailedError
from tidegauge.fleet.api import Host, ProcessSpec
from tidegauge.systems.api import DeployRequest, Describe, Setting
from tidegauge.systems.files import make_directories, write_text
from tidegauge.systems.logs import Cause
from tidegauge.systems.metrics import Endpoint
from tidegauge.systems.nodes import Node as Machine
from tidegauge.systems.rabbitmq.config import (
    LOOPBACK,
    Node,
    connection,
    enabled_plugins,
    epmd_environment,
    has_streams,
    node_environment,
    rabbitmq_conf,
)
from tidegauge.systems.rabbitmq.layout import Layout, find_layout, version_numbers
from tidegauge.systems.rabbitmq.level import form_of, leaders
from tidegauge.systems.rabbitmq.logs import find_cause
from tidegauge.systems.servers import Servers

EPMD = "rabbitmq-epmd"
EPMD_S_MAX = 10.0
PORTS_PER_NODE = 5
# A node writes its queues' state back when it ends; with a large backlog that takes its time.
STOP_GRACE_S = 30.0


@dataclass(frozen=True)
class RabbitmqDeployment(Servers):
    """A running RabbitMQ. `given`: names of the settings that the user gave."""

    given: tuple[str, ...] = ()

    @property
    def storage_processes(self) -> tuple[str, ...]:
        """The nodes; the port mapper keeps nothing."""
        return tuple(name for name in self.processes if name != EPMD)

    def read_back(self, describe: Describe, topics: list[str]) -> list[Setting]:
        """Version, nodes, policies and queues as the management API tells them."""
        return describe(topics)

    def leaders(self, settings: Sequence[Setting]) -> Mapping[str, int]:
        """See `Deployment.leaders`, by queue."""
        return leaders(settings)

    def cause_in(self, log: str) -> Cause | None:
        """See `Servers.cause_in`: Erlang words its failures in its own way."""
        return find_cause(log, self.given)

    @property
    def stop_order(self) -> tuple[tuple[str, ...], ...]:
        """See `Servers.stop_order`: the port mapper after the nodes that are registered with it."""
        return (self.storage_processes, (EPMD,))


def deploy(request: DeployRequest, host: Host) -> RabbitmqDeployment:
    """Write the configuration and start the port mapper and all nodes, the nodes at the same time."""
    layout = find_layout(request.distribution.directory)
    streams = has_streams(version_numbers(layout.version))
    ports = host.free_ports(1 + PORTS_PER_NODE * request.nodes)
    epmd_port = ports[0]
    nodes = _nodes(request, ports[1:])
    home = request.data_directory / "rabbitmq-home"
    memory_mb = request.heap_mb + request.direct_memory_mb
    make_directories(home, request.log_directory)
    _write_cookie(home)
    for node in nodes:
        _write_node(node, nodes, memory_mb, streams, request)
    names = tuple(f"rabbitmq-{node.number}" for node in nodes)
    deployment = RabbitmqDeployment(
        title=f"RabbitMQ {layout.version}",
        host=host,
        connection=connection(nodes, form_of(request.choice).queue_type, streams),
        processes=(*names, EPMD),
        log_paths={name: request.log_directory / f"{name}.log" for name in (*names, EPMD)},
        jvm_flags=(f"vm_memory_high_watermark.absolute={memory_mb}MiB",),
        ports=tuple(ports),
        metrics_endpoints=tuple(
            Endpoint(name, f"http://{LOOPBACK}:{node.metrics_port}/metrics")
            for name, node in zip(names, nodes, strict=True)
        ),
        nodes=tuple(Machine(node.number, (name,), (node.directory,)) for name, node in zip(names, nodes, strict=True)),
        given=tuple(request.settings),
    )
    try:
        deployment.start_process(_epmd(layout, home, epmd_port, deployment.log_paths[EPMD]))
        _await_epmd(deployment, epmd_port)
        for name, node in zip(names, nodes, strict=True):
            environment = node_environment(layout, node, home, epmd_port)
            deployment.start_process(_server(layout, node, name, environment, deployment.log_paths[name]))
    except BaseException:
        deployment.stop()
        raise
    return deployment


def _nodes(request: DeployRequest, ports: Sequence[int]) -> list[Node]:
    nodes = []
    for number in range(1, request.nodes + 1):
        first = PORTS_PER_NODE * (number - 1)
        amqp, stream, management, distribution, metrics = ports[first : first + PORTS_PER_NODE]
        directory = request.node_directory(number, f"rabbitmq-{number}")
        nodes.append(Node(number, amqp, stream, management, distribution, metrics, directory))
    return nodes


def _write_cookie(home: Path) -> None:
    """The secret that nodes show each other. In a file, where Erlang looks for it: process lists are public."""
    path = home / ".erlang.cookie"
    path.touch(mode=0o600)
    write_text(path, secrets.token_hex(16))
    path.chmod(0o400)


def _write_node(node: Node, nodes: Sequence[Node], memory_mb: int, streams: bool, request: DeployRequest) -> None:
    make_directories(node.directory / "data", node.directory / "log")
    text = rabbitmq_conf(node, nodes, memory_mb, streams, request.settings)
    write_text(node.directory / "rabbitmq.conf", text)
    write_text(node.directory / "enabled_plugins", enabled_plugins(streams))
    # The data directory goes with the trial; what the node was told is kept with its log.
    write_text(request.log_directory / f"rabbitmq-{node.number}.conf", text)


def _epmd(layout: Layout, home: Path, port: int, log_path: Path) -> ProcessSpec:
    """In the foreground: as a daemon it would leave the deployment's hands."""
    return ProcessSpec(
        name=EPMD,
        argv=(str(layout.epmd), "-port", str(port), "-address", LOOPBACK),
        env=epmd_environment(layout, home, port),
        cwd=str(home),
        log_path=str(log_path),
        stop_grace_s=5.0,
    )


def _server(layout: Layout, node: Node, name: str, environment: Mapping[str, str], log_path: Path) -> ProcessSpec:
    return ProcessSpec(
        name=name,
        argv=(str(layout.start_script),),
        env=environment,
        cwd=str(node.directory),
        log_path=str(log_path),
        stop_grace_s=STOP_GRACE_S,
    )


def _await_epmd(deployment: RabbitmqDeployment, port: int) -> None:
    """A node that finds no port mapper ends at once. Raises `StartFailedError`."""
    deadline_s = time.monotonic() + EPMD_S_MAX
    while True:
        if not deployment.host.status(EPMD).running:
            raise StartFailedError(
                "Erlang's port mapper (epmd) ended at once.", "Look at its log.", deployment.log_paths[EPMD]
            )
        try:
            socket.create_connection((LOOPBACK, port), timeout=1.0).close()
            return
        except OSError:
            if time.monotonic() > deadline_s:
                raise StartFailedError(
                    f"Erlang's port mapper (epmd) did not listen within {EPMD_S_MAX:.0f} s.",
                    log_path=deployment.log_paths[EPMD],
                ) from None
        time.sleep(0.02)
