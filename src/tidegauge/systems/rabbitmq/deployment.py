"""Starts RabbitMQ nodes with an Erlang port mapper of their own, or one each where each has a network of its own."""

from __future__ import annotations

import secrets
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tidegauge.errors import StartFailedError
from tidegauge.fleet.api import Host, ProcessSpec
from tidegauge.model.server import Setting
from tidegauge.systems.api import DeployRequest, Describe
from tidegauge.systems.files import make_directories, write_text
from tidegauge.systems.logs import Cause
from tidegauge.systems.metrics import Endpoint
from tidegauge.systems.nodes import LOOPBACK, Seat
from tidegauge.systems.nodes import Node as Machine
from tidegauge.systems.rabbitmq.config import (
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
class Mapper:
    """A port mapper: the name of its process, where it is, and its port."""

    name: str
    seat: Seat
    port: int


@dataclass(frozen=True)
class RabbitmqDeployment(Servers):
    """A running RabbitMQ. `given`: names of the settings that the user gave."""

    given: tuple[str, ...] = ()

    @property
    def storage_processes(self) -> tuple[str, ...]:
        """The nodes; port mappers keep nothing."""
        return tuple(name for name in self.processes if not name.startswith(EPMD))

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
        """See `Servers.stop_order`: port mappers after the nodes that are registered with them."""
        return (self.storage_processes, tuple(name for name in self.processes if name.startswith(EPMD)))


def deploy(request: DeployRequest, host: Host) -> RabbitmqDeployment:
    """Write the configuration and start port mappers and all nodes, the nodes at the same time."""
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
    mappers = _mappers(nodes, epmd_port)
    processes = (*names, *(mapper.name for mapper in mappers))
    deployment = RabbitmqDeployment(
        title=f"RabbitMQ {layout.version}",
        host=host,
        connection=connection(nodes, form_of(request.choice).queue_type, streams),
        processes=processes,
        log_paths={name: request.log_directory / f"{name}.log" for name in processes},
        jvm_flags=(f"vm_memory_high_watermark.absolute={memory_mb}MiB",),
        ports=tuple(ports),
        metrics_endpoints=tuple(
            Endpoint(name, f"http://{node.address}:{node.metrics_port}/metrics")
            for name, node in zip(names, nodes, strict=True)
        ),
        nodes=tuple(Machine(node.number, (name,), (node.directory,)) for name, node in zip(names, nodes, strict=True)),
        given=tuple(request.settings),
    )
    try:
        for mapper in mappers:
            deployment.start_process(_epmd(layout, home, mapper, deployment.log_paths[mapper.name]))
        for mapper in mappers:
            _await_epmd(deployment, mapper)
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
        seat = request.seats.get(number, LOOPBACK)
        nodes.append(Node(number, amqp, stream, management, distribution, metrics, directory, seat))
    return nodes


def _mappers(nodes: Sequence[Node], port: int) -> list[Mapper]:
    """A node asks the port mapper at the address in the name of the node that it looks for."""
    apart = [Mapper(f"{EPMD}-{node.number}", node.seat, port) for node in nodes if node.seat.link]
    return apart or [Mapper(EPMD, LOOPBACK, port)]


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


def _epmd(layout: Layout, home: Path, mapper: Mapper, log_path: Path) -> ProcessSpec:
    """In the foreground: as a daemon it would leave the deployment's hands."""
    return ProcessSpec(
        name=mapper.name,
        argv=(str(layout.epmd), "-port", str(mapper.port), "-address", mapper.seat.address),
        env=epmd_environment(layout, home, mapper.port, mapper.seat.address),
        cwd=str(home),
        log_path=str(log_path),
        stop_grace_s=5.0,
        network_node=mapper.seat.link,
    )


def _server(layout: Layout, node: Node, name: str, environment: Mapping[str, str], log_path: Path) -> ProcessSpec:
    return ProcessSpec(
        name=name,
        argv=(str(layout.start_script),),
        env=environment,
        cwd=str(node.directory),
        log_path=str(log_path),
        stop_grace_s=STOP_GRACE_S,
        network_node=node.seat.link,
    )


def _await_epmd(deployment: RabbitmqDeployment, mapper: Mapper) -> None:
    """A node that finds no port mapper ends at once. Raises `StartFailedError`."""
    deadline_s = time.monotonic() + EPMD_S_MAX
    while True:
        if not deployment.host.status(mapper.name).running:
            raise StartFailedError(
                "Erlang's port mapper (epmd) ended at once.", "Look at its log.", deployment.log_paths[mapper.name]
            )
        try:
            socket.create_connection((mapper.seat.address, mapper.port), timeout=1.0).close()
            return
        except OSError:
            if time.monotonic() > deadline_s:
                raise StartFailedError(
                    f"Erlang's port mapper (epmd) did not listen within {EPMD_S_MAX:.0f} s.",
                    log_path=deployment.log_paths[mapper.name],
                ) from None
        time.sleep(0.02)
