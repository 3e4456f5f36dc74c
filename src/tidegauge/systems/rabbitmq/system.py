"""RabbitMQ as a `System`, of its own nodes or of a cluster that others run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tidegauge.fairness.case import Case, ClientFacts, Hazard
from tidegauge.fleet.api import Host
from tidegauge.model.host import ProcessMemory
from tidegauge.model.level import LevelChoice, LevelFinding
from tidegauge.model.server import Distribution, Handles, Setting
from tidegauge.model.workload import SubscriptionType, Workload
from tidegauge.systems.api import Deployment, DeployRequest, System, refuse_impossible
from tidegauge.systems.attach import AddressKey, AttachRules
from tidegauge.systems.attached import AttachedCluster, AttachRequest, connection_settings, number_of
from tidegauge.systems.rabbitmq import fairness, level
from tidegauge.systems.rabbitmq.config import find_server, version_numbers, version_of
from tidegauge.systems.rabbitmq.deployment import METRICS, deploy
from tidegauge.systems.rabbitmq.fairness import subscription_problem
from tidegauge.systems.rabbitmq.level import form_of
from tidegauge.systems.rabbitmq.provision import DEBIAN_PACKAGES, DEFAULT_VERSION, provision

RULES = AttachRules(
    keys=(
        AddressKey("uris", "amqps://host:5671", "uri", schemes=("amqp", "amqps"), secure_schemes=("amqps",)),
        # Without it there is no way to know what a queue really is, nor which queues of a crashed run are left.
        AddressKey(
            "management-url",
            "https://host:15671",
            "managementUrl",
            schemes=("http", "https"),
            secure_schemes=("https",),
        ),
        AddressKey(
            "stream-uris",
            "rabbitmq-stream+tls://host:5551",
            "streamUri",
            required=False,
            schemes=("rabbitmq-stream", "rabbitmq-stream+tls"),
            secure_schemes=("rabbitmq-stream+tls",),
        ),
    ),
    methods=("password",),
)


def attach(request: AttachRequest) -> AttachedCluster:
    """The cluster as a deployment. Nothing is asked of it yet."""
    connection = connection_settings(request.choice, RULES, request.secrets)
    connection["queueType"] = form_of(request.level).queue_type
    return AttachedCluster(
        connection=connection,
        topic_settings={},
        nodes_in=_nodes,
        decides=_decides,
    )


def _decides(setting: Setting) -> bool:
    # What policies do to a queue stands with the queue.
    return setting.scope.startswith("topic ") or (setting.scope == "cluster" and setting.name in ("version", "queues"))


def _nodes(settings: Sequence[Setting]) -> int | None:
    return number_of(settings, "cluster", "nodes")


OUTSIDE_WATERMARK_MB = 150
"""What a node uses beside what its memory watermark counts, MiB."""


class RabbitmqSystem(System):
    """RabbitMQ, one node or a cluster."""

    name = "rabbitmq"
    title = "RabbitMQ"
    driver = "rabbitmq"
    default_version = DEFAULT_VERSION
    attach_rules = RULES
    metrics = METRICS
    host_needs = (DEBIAN_PACKAGES,)

    def provision(self, version: str, report: Callable[[str], None]) -> Distribution:
        """See `System.provision`."""
        return provision(version, report)

    def possible_levels(self, version: str, nodes: int) -> list[LevelChoice]:
        """See `System.possible_levels`. Most levels have several forms, by queue type."""
        return level.possible_levels(_numbers_of(version), nodes)

    def network_problem(self, version: str) -> str:
        """See `System.network_problem`."""
        return ""

    def subscription_problem(self, kind: SubscriptionType, version: str, choice: LevelChoice, existing: bool) -> str:
        """See `System.subscription_problem`."""
        stream = level.topic_settings(choice).get("queue.type", "") == "stream"
        return subscription_problem(kind, version, stream, existing)

    def serves_replicas(self, choice: LevelChoice, workload: Workload) -> bool:
        """See `System.serves_replicas`. Queues are read from their leader; each node hands out its copy of a stream."""
        return level.serves_replicas(choice, workload)

    def processes(
        self, version: str, nodes: int, heap_mb: int, direct_memory_mb: int, shape: Mapping[str, str]
    ) -> Sequence[ProcessMemory]:
        """See `System.processes`. A node's watermark is both together."""
        return (ProcessMemory("node", nodes, heap_mb, direct_memory_mb, OUTSIDE_WATERMARK_MB),)

    def handles(self, partitions: int) -> Handles:
        """See `System.handles`. A stream is a segment and its index, a queue at most as much."""
        return Handles(2 * partitions + 500, 1000)

    def topic_settings(self, choice: LevelChoice) -> Mapping[str, str]:
        """See `System.topic_settings`."""
        return level.topic_settings(choice)

    def deploy(self, request: DeployRequest, host: Host) -> Deployment:
        """See `System.deploy`. Raises `UserError` if the level is impossible in this shape."""
        refuse_impossible(self, request.choice, request.distribution.version, request.nodes)
        return deploy(request, host)

    def attach(self, request: AttachRequest) -> AttachedCluster:
        """See `System.attach`."""
        return attach(request)

    def incomplete(self, settings: list[Setting], nodes: int) -> str:
        """See `System.incomplete`."""
        return level.incomplete(settings, nodes)

    def derive_level(self, settings: list[Setting], choice: LevelChoice, nodes: int) -> LevelFinding:
        """See `System.derive_level`."""
        return level.derive_level(settings, choice, nodes)

    def client_facts(self, case: Case) -> ClientFacts:
        """See `System.client_facts`."""
        return fairness.client_facts(case)

    def hazards(self, case: Case) -> list[Hazard]:
        """See `System.hazards`."""
        return fairness.hazards(case, self.possible_levels(case.version, case.nodes))


def _numbers_of(version: str) -> tuple[int, int, int]:
    """Of a version, or of the server in a directory. A directory without one is refused when it is provisioned."""
    if "/" not in version:
        return version_numbers(version)
    server = find_server(Path(version).expanduser())
    return version_numbers(version_of(server) if server else DEFAULT_VERSION)
