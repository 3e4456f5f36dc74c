"""NATS JetStream: of servers of its own or a cluster that others run, streams in files or in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from tidegauge.agent.api import Host
from tidegauge.fairness import Case
from tidegauge.model.host import UNBOUNDED, ClientKind, ClientKinds, ProcessMemory
from tidegauge.model.level import LevelChoice
from tidegauge.model.server import Handles, number_of
from tidegauge.model.workload import Workload
from tidegauge.systems.api import Deployment, DeployRequest, MessageLimit, System, refuse_impossible
from tidegauge.systems.attach import AddressKey, AttachRules
from tidegauge.systems.attached import AttachedCluster, AttachRequest, connection_settings
from tidegauge.systems.nats import clients, config, fairness, level, provision
from tidegauge.systems.nats.deployment import METRICS, deploy

MONITORING_PORT = 8222
RULES = AttachRules(
    keys=(
        AddressKey(
            "servers",
            "nats://host:4222",
            "servers",
            schemes=("nats", "tls"),
            secure_schemes=("tls",),
            ports={"nats": 4222, "tls": 4222},
        ),
        # Without it nobody knows how often servers sync. Where it isn't given, the usual port is asked.
        AddressKey(
            "monitoring-url",
            "http://host:8222",
            "monitoringUrl",
            required=False,
            schemes=("http", "https"),
            secure_schemes=("https",),
            ports={"http": MONITORING_PORT, "https": MONITORING_PORT},
        ),
    ),
    methods=("password", "token", "nkey", "tls"),
    secret_methods=("nkey",),
)
OUTSIDE_LIMIT_MB = 100
"""What a server uses beside what its memory limit counts, MiB."""


def attach(request: AttachRequest) -> AttachedCluster:
    """The cluster as a deployment. Nothing is asked of it yet."""
    connection = connection_settings(request.choice, RULES, request.secrets)
    usual = (f"http://{_host_of(address)}:{MONITORING_PORT}" for address in connection["servers"].split(","))
    connection.setdefault("monitoringUrl", ",".join(usual))
    return AttachedCluster(
        connection=connection,
        nodes_in=partial(number_of, scope="cluster", name="nodes"),
        decides=lambda setting: setting.scope.startswith(("topic ", "server ")) or setting.name == level.SYNC,
    )


def _host_of(address: str) -> str:
    """A server's host without its port, an IPv6 address in its brackets."""
    return address.partition("://")[2].rstrip("/").rpartition(":")[0]


class NatsSystem(System):
    """NATS with JetStream, one server or a cluster."""

    name = "nats"
    title = "NATS JetStream"
    short_title = "NATS"
    driver = "nats"
    default_version = provision.DEFAULT_VERSION
    attach_rules = RULES
    metrics = METRICS
    reserved_settings = config.RESERVED
    spaces_in_paths = True
    copies_setting = level.COPIES
    found_forms = (level.FILE, level.MEMORY)

    # What the folder's other modules know, as `System` asks it.
    provision = staticmethod(provision.provision)
    attach = staticmethod(attach)
    topic_settings = staticmethod(level.topic_settings)
    topic_problems = staticmethod(level.topic_problems)
    expected_settings = staticmethod(level.expected_settings)
    incomplete = staticmethod(level.incomplete)
    derive_level = staticmethod(level.derive_level)
    client_facts = staticmethod(fairness.client_facts)
    client_settings = staticmethod(clients.client_settings)
    hazards = staticmethod(fairness.hazards)
    subscription_problem = staticmethod(fairness.subscription_problem)

    def possible_levels(self, version: str, nodes: int) -> list[LevelChoice]:
        """See `System.possible_levels`."""
        return level.possible_levels(nodes)

    def copies_problem(self, choice: LevelChoice) -> str:
        """See `System.copies_problem`."""
        return ""

    def network_problem(self, version: str) -> str:
        """See `System.network_problem`."""
        return ""

    def clients(self, workload: Workload, choice: LevelChoice, nodes: int) -> ClientKinds:
        """See `System.clients`. A connection has a thread that reads, one that writes and one that hands over."""
        client = ClientKind(files=1, threads=4, connections=1, users_max=UNBOUNDED)
        return ClientKinds(client, client)

    def processes(
        self, version: str, nodes: int, heap_mb: int, direct_memory_mb: int, shape: Mapping[str, str]
    ) -> Sequence[ProcessMemory]:
        """See `System.processes`. The limit of Go's memory is both together."""
        return (ProcessMemory("node", nodes, heap_mb, direct_memory_mb, OUTSIDE_LIMIT_MB),)

    def handles(self, partitions: int) -> Handles:
        """See `System.handles`. A stream has a block that is written and, of several copies, its Raft log another."""
        return Handles(4 * partitions + 100, 1000)

    def message_limit(self, case: Case) -> MessageLimit | None:
        """See `System.message_limit`."""
        return MessageLimit.of(case, "max_payload", 1 << 20)

    def deploy(self, request: DeployRequest, host: Host) -> Deployment:
        """See `System.deploy`. Raises `UserError` if the level is impossible in this shape."""
        refuse_impossible(self, request.choice, request.distribution.version, request.nodes)
        return deploy(request, host)


SYSTEM: System = NatsSystem()
