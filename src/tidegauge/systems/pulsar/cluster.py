"""Starts a Pulsar cluster on this host: ZooKeeper, the cluster's metadata, bookies, brokers."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tidegauge.agent.api import Host, ProcessSpec
from tidegauge.errors import StartFailedError
from tidegauge.systems.api import KEEPER, LOOPBACK, DeployRequest, Node, Seat
from tidegauge.systems.jvm import java_server, log4j2_text, properties_text, zookeeper_settings
from tidegauge.systems.logs import find_cause
from tidegauge.systems.pulsar.bookie import is_writable
from tidegauge.systems.pulsar.config import (
    DRIVER_FLAGS,
    QUIET_LOGGERS,
    TIERED,
    ZOOKEEPER_MEMORY,
    Bookie,
    Broker,
    Memory,
    Shape,
    bookie_conf,
    broker_conf,
    connection_of_brokers,
    refuse_shared,
    setup_arguments,
    shape_of,
)
from tidegauge.systems.pulsar.deployment import STOP_GRACE_S, PulsarDeployment, endpoints_of_servers, server_flags
from tidegauge.systems.servers import LOG_END_BYTES, ended_error, is_listening

ZOOKEEPER, SETUP = "pulsar-zookeeper", "pulsar-setup"
ZOOKEEPER_FLAGS = ("-Dzookeeper.admin.enableServer=false",)
# How long each step may take on a machine that is busy with other things.
ZOOKEEPER_S_MAX, SETUP_S_MAX, BOOKIES_S_MAX, BROKERS_S_MAX = 60.0, 240.0, 180.0, 240.0
MEMORY_FLAGS = ("-Xms", "-Xmx", "-XX:MaxDirectMemorySize")
MAIN_DIED = 'Exception in thread "main"'
_POLL_S = 0.05


@dataclass(frozen=True)
class ClusterPlan:
    """Who will run where. `ports`: all that the host gave."""

    request: DeployRequest
    shape: Shape
    zookeeper_port: int
    bookies: tuple[Bookie, ...]
    brokers: tuple[Broker, ...]
    ports: tuple[int, ...]

    @property
    def memory(self) -> Mapping[str, Memory]:
        """The memory of a process of each kind: its part of what the campaign gives each node."""
        node = Memory(self.request.heap_mb, self.request.direct_memory_mb)
        broker, bookie = self.shape.broker_memory(node), self.shape.bookie_memory(node)
        return {"broker": broker, "bookie": bookie, "zookeeper": ZOOKEEPER_MEMORY}

    def node_of(self, broker: Broker) -> int:
        """The number of the node that a broker is on: that of the bookie beside it, or one after all bookies'."""
        return broker.number + (len(self.bookies) if self.shape.layout == TIERED else 0)

    @property
    def machines(self) -> tuple[Node, ...]:
        """What goes down together. The ZooKeeper stands for one that is apart, and is no node's."""
        processes = {bookie.number: (bookie.process,) for bookie in self.bookies}
        for broker in self.brokers:
            number = self.node_of(broker)
            processes[number] = (*processes.get(number, ()), broker.process)
        directories = {bookie.number: (*bookie.ledger_directories, bookie.journal_directory) for bookie in self.bookies}
        return tuple(Node(number, names, directories.get(number, ())) for number, names in sorted(processes.items()))

    @property
    def metadata(self) -> str:
        """Where the cluster's metadata are, as its processes name the ZooKeeper."""
        return f"zk:{self.request.seat(KEEPER).address}:{self.zookeeper_port}"

    def working_directory(self, process: str) -> Path:
        """The working directory of a process, with its temporary files."""
        return self.request.data_directory / "work" / process


def deploy_cluster(request: DeployRequest, host: Host) -> PulsarDeployment:
    """Write the configuration and start all processes, those of one kind at the same time.

    Returns when the bookies take writes and the brokers listen. Nothing is left running if it fails.

    Raises:
        UserError: a setting or the shape can't be.
        StartFailedError: a process ended or a step took too long; with the cause from its log.
    """
    refuse_shared(request.settings)
    plan = plan_of(request, host)
    deployment = _deployment_of_plan(plan, host)
    with deployment.starting():
        _start_zookeeper(plan, deployment)
        _set_up(plan, deployment)
        _start_bookies(plan, deployment)
        _start_brokers(plan, deployment)
    return deployment


def plan_of(request: DeployRequest, host: Host) -> ClusterPlan:
    """What is to be started, with free ports and each bookie's directories."""
    shape = shape_of(request.shape, request.nodes)
    all_ports = tuple(host.free_ports(1 + 2 * shape.nodes + 2 * shape.brokers))
    ports = iter(all_ports)
    zookeeper_port = next(ports)
    bookies = tuple(
        _plan_bookie(number, shape, request, next(ports), next(ports)) for number in range(1, shape.nodes + 1)
    )
    first = shape.nodes if shape.layout == TIERED else 0
    brokers = tuple(
        Broker(number, next(ports), next(ports), request.seat(first + number)) for number in range(1, shape.brokers + 1)
    )
    return ClusterPlan(request, shape, zookeeper_port, bookies, brokers, all_ports)


def _plan_bookie(number: int, shape: Shape, request: DeployRequest, port: int, http_port: int) -> Bookie:
    node = f"pulsar-bookie-{number}" if shape.layout == TIERED else f"pulsar-{number}"
    journal = request.journal_directory(number, node) / "journal"
    data = request.node_directories(number, node)
    if len(data) > 1 and not request.journal_disks:
        data = data[:-1]  # The last one is the journal's.
    ledgers = tuple(directory / "ledgers" for directory in data)
    return Bookie(number, port, http_port, journal, ledgers, request.seat(number))


def _deployment_of_plan(plan: ClusterPlan, host: Host) -> PulsarDeployment:
    # Flags by kind of process, since they have different memory.
    flags = {kind: _flags_of_process(plan, f"pulsar-{kind}", memory) for kind, memory in plan.memory.items()}
    common = tuple(flag for flag in flags["broker"] if all(flag in others for others in flags.values()))
    memory_flags = tuple(
        f"{kind}: {flag}"
        for kind, flags_of_kind in flags.items()
        for flag in flags_of_kind
        if flag.startswith(MEMORY_FLAGS)
    )
    return PulsarDeployment(
        title=f"Pulsar {plan.request.distribution.version}",
        host=host,
        connection=connection_of_brokers(plan.brokers),
        processes=(
            *(broker.process for broker in plan.brokers),
            *(bookie.process for bookie in plan.bookies),
            ZOOKEEPER,
        ),
        jvm_flags=(*memory_flags, *common),
        bookies={bookie.process: bookie.http for bookie in plan.bookies},
        brokers={f"{broker.seat.address}:{broker.admin_port}": plan.node_of(broker) for broker in plan.brokers},
        ports=plan.ports,
        metrics_endpoints=endpoints_of_servers(
            *((broker.process, f"http://{broker.seat.address}:{broker.admin_port}") for broker in plan.brokers),
            *((bookie.process, bookie.http) for bookie in plan.bookies),
        ),
        nodes=plan.machines,
    )


def _flags_of_process(plan: ClusterPlan, process: str, memory: Memory) -> tuple[str, ...]:
    logging = plan.request.log_directory / "pulsar-log4j2.xml"
    return server_flags(plan.request, memory, plan.working_directory(process), logging)


def _process_spec(
    host: Host, plan: ClusterPlan, name: str, memory: Memory, arguments: Sequence[str], *, seat: Seat = LOOPBACK
) -> ProcessSpec:
    directory = plan.working_directory(name)
    host.make_directories(directory / "tmp")
    return java_server(
        plan.request,
        name,
        _flags_of_process(plan, name, memory),
        arguments,
        seat=seat,
        directory=directory,
        usual_grace_s=STOP_GRACE_S,
    )


def _start_zookeeper(plan: ClusterPlan, deployment: PulsarDeployment) -> None:
    request, host, seat = plan.request, deployment.host, plan.request.seat(KEEPER)
    host.write(request.log_directory / "pulsar-log4j2.xml", log4j2_text(QUIET_LOGGERS))
    host.make_directories(request.data_directory / "zookeeper")
    settings = zookeeper_settings(plan.zookeeper_port, request.data_directory / "zookeeper", seat.address)
    configuration = host.write(request.log_directory / f"{ZOOKEEPER}.conf", properties_text(settings))
    main = (*ZOOKEEPER_FLAGS, "org.apache.zookeeper.server.quorum.QuorumPeerMain", str(configuration))
    deployment.start_process(_process_spec(host, plan, ZOOKEEPER, ZOOKEEPER_MEMORY, main, seat=seat))
    ready = partial(is_listening, seat.address, plan.zookeeper_port)
    _await_condition(deployment, "ZooKeeper did not listen", ready, ZOOKEEPER_S_MAX, request.log_path(ZOOKEEPER))


def _set_up(plan: ClusterPlan, deployment: PulsarDeployment) -> None:
    """Run Pulsar's own tool: it writes metadata of the cluster and of BookKeeper, tenants and namespaces."""
    host, log_path = deployment.host, plan.request.log_path(SETUP)
    arguments = (*DRIVER_FLAGS, *setup_arguments(plan.metadata, plan.brokers))
    host.start(_process_spec(host, plan, SETUP, ZOOKEEPER_MEMORY, arguments))
    try:
        _await_condition(
            deployment,
            f"{SETUP} did not end",
            lambda: not host.status(SETUP).running or MAIN_DIED in host.read_end(log_path, LOG_END_BYTES),
            SETUP_S_MAX,
            log_path,
        )
    finally:
        status = host.stop(SETUP)
    log = host.read_end(log_path, LOG_END_BYTES)
    failed = MAIN_DIED in log
    if failed or status.exit_code != 0:
        program = f"{deployment.title}'s set-up tool"
        raise ended_error(program, 1 if failed else status.exit_code, find_cause(log), log_path)


def _start_bookies(plan: ClusterPlan, deployment: PulsarDeployment) -> None:
    memory = plan.memory["bookie"]
    for bookie in plan.bookies:
        deployment.host.make_directories(bookie.journal_directory, *bookie.ledger_directories)
        settings = bookie_conf(bookie, plan.metadata, plan.request.choice, memory)
        _start_server(plan, deployment, bookie, memory, settings)
    for bookie in plan.bookies:
        log_path = plan.request.log_path(bookie.process)
        failure = f"{bookie.process} did not take writes"
        _await_condition(deployment, failure, partial(is_writable, bookie.http), BOOKIES_S_MAX, log_path)


def _start_brokers(plan: ClusterPlan, deployment: PulsarDeployment) -> None:
    memory = plan.memory["broker"]
    for broker in plan.brokers:
        settings = broker_conf(broker, plan.metadata, plan.request.choice, plan.shape.nodes, memory)
        _start_server(plan, deployment, broker, memory, settings)
    for broker in plan.brokers:
        log_path = plan.request.log_path(broker.process)
        failure = f"{broker.process} did not listen"
        _await_condition(
            deployment, failure, partial(is_listening, broker.seat.address, broker.admin_port), BROKERS_S_MAX, log_path
        )


def _start_server(
    plan: ClusterPlan,
    deployment: PulsarDeployment,
    server: Bookie | Broker,
    memory: Memory,
    settings: Mapping[str, str],
) -> None:
    """Start a server with these settings, over which the campaign's win."""
    text = properties_text({**settings, **plan.request.settings})
    configuration = deployment.host.write(plan.request.log_directory / f"{server.process}.conf", text)
    arguments = (*DRIVER_FLAGS, *server.main, str(configuration))
    deployment.start_process(_process_spec(deployment.host, plan, server.process, memory, arguments, seat=server.seat))


def _await_condition(
    deployment: PulsarDeployment, failure: str, reached: Callable[[], bool], seconds_max: float, log_path: Path
) -> None:
    """Wait until something is so. Raises `StartFailedError` if a process that was started ends, or if it never is."""
    deadline_s = time.monotonic() + seconds_max
    while not reached():
        deployment.check_alive()
        if time.monotonic() > deadline_s:
            cause = deployment.cause_in(deployment.host.read_end(log_path, LOG_END_BYTES))
            raise StartFailedError(
                f"{deployment.title}: {failure} within {seconds_max:.0f} s: {cause or 'its log does not say why'}",
                "See the log; a slow machine may need fewer things running beside.",
                log_path,
            )
        time.sleep(_POLL_S)
