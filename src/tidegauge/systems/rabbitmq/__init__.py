"""RabbitMQ, of its own nodes or a cluster that others run: classic, quorum and mirrored classic queues, streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from urllib.parse import urlsplit

from tidegauge.agent.api import Host
from tidegauge.distribution.coordinates import version_numbers
from tidegauge.fairness import Case, Hazard
from tidegauge.model.host import UNBOUNDED, ClientKind, ClientKinds, ProcessMemory
from tidegauge.model.level import LevelChoice
from tidegauge.model.server import Handles, Setting, number_of
from tidegauge.model.workload import Workload
from tidegauge.places import expand_path
from tidegauge.systems.api import Deployment, DeployRequest, MessageLimit, System, refuse_impossible
from tidegauge.systems.attach import AddressKey, AttachRules, split_addresses
from tidegauge.systems.attached import AttachedCluster, AttachRequest, connection_settings, settings_of_addresses
from tidegauge.systems.rabbitmq import clients, fairness, level, provision, settings
from tidegauge.systems.rabbitmq.config import find_server, version_of
from tidegauge.systems.rabbitmq.deployment import METRICS, deploy
from tidegauge.systems.rabbitmq.level import form_of
from tidegauge.systems.rabbitmq.provision import DEBIAN_PACKAGES, DEFAULT_VERSION

RULES = AttachRules(
    keys=(
        AddressKey(
            "uris",
            "amqps://host:5671",
            "uri",
            schemes=("amqp", "amqps"),
            secure_schemes=("amqps",),
            ports={"amqp": 5672, "amqps": 5671},
        ),
        # Without it there is no way to know what a queue really is, nor which queues of a crashed run are left.
        AddressKey(
            "management-url",
            "https://host:15671",
            "managementUrl",
            schemes=("http", "https"),
            secure_schemes=("https",),
            ports={"http": 15672, "https": 15671},
        ),
        AddressKey(
            "stream-uris",
            "rabbitmq-stream+tls://host:5551",
            "streamUri",
            required=False,
            schemes=("rabbitmq-stream", "rabbitmq-stream+tls"),
            secure_schemes=("rabbitmq-stream+tls",),
            ports={"rabbitmq-stream": 5552, "rabbitmq-stream+tls": 5551},
        ),
    ),
    methods=("password", "external", "oauth2"),
)


_FRAME_BYTES = 256
"""What a frame of a stream has beside one message, rounded up."""


def attach(request: AttachRequest) -> AttachedCluster:
    """The cluster as a deployment. Nothing is asked of it yet."""
    connection = connection_settings(request.choice, RULES, request.secrets)
    connection["queueType"] = form_of(request.level).queue_type
    nodes_in = partial(number_of, scope="cluster", name="nodes")
    hosts = [urlsplit(uri).hostname or "" for uri in split_addresses(request.choice.addresses, RULES.keys[0])]

    def conclude(settings: Sequence[Setting]) -> list[Setting]:
        return settings_of_addresses(hosts) if (nodes_in(settings) or 1) > 1 else []

    return AttachedCluster(connection=connection, nodes_in=nodes_in, decides=_is_deciding_setting, conclude=conclude)


def _is_deciding_setting(setting: Setting) -> bool:
    # What policies do to a queue stands with the queue.
    return setting.scope.startswith("topic ") or (setting.scope == "cluster" and setting.name in ("version", "queues"))


CHANNELS_MAX = 2047
"""Of a connection, by the server's default (channel_max)."""
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
    reserved_settings = settings.RESERVED
    copies_setting = level.MEMBERS
    host_needs = (DEBIAN_PACKAGES,)
    found_forms = level.FOUND_FORMS

    # What the folder's other modules know, as `System` asks it.
    provision = staticmethod(provision.provision)
    server_settings = staticmethod(settings.of_version)
    attach = staticmethod(attach)
    topic_settings = staticmethod(level.topic_settings)
    topic_problems = staticmethod(level.topic_problems)
    expected_settings = staticmethod(level.expected_settings)
    serves_replicas = staticmethod(level.serves_replicas)
    incomplete = staticmethod(level.incomplete)
    derive_level = staticmethod(level.derive_level)
    client_facts = staticmethod(fairness.client_facts)
    client_settings = staticmethod(clients.client_settings)
    subscription_problem = staticmethod(fairness.subscription_problem)

    def possible_levels(self, version: str, nodes: int) -> list[LevelChoice]:
        """See `System.possible_levels`. Most levels have several forms, by queue type."""
        return level.possible_levels(_numbers_of(version), nodes)

    def copies_problem(self, choice: LevelChoice) -> str:
        """See `System.copies_problem`."""
        form = form_of(choice)
        return "a classic queue has one copy" if form.queue_type == "classic" else ""

    def network_problem(self, version: str) -> str:
        """See `System.network_problem`."""
        return ""

    def clients(self, workload: Workload, choice: LevelChoice, nodes: int) -> ClientKinds:
        """See `System.clients`. A producer or consumer of queues has a channel, one of streams no bound of its own.

        A connection has a thread that reads, one for its heartbeat and, of consumers, one that delivers.
        """
        if form_of(choice).queue_type == "stream":
            # One connection finds out where streams are.
            of_streams = ClientKind(files=3, threads=3, connections=2, users_max=UNBOUNDED)
            return ClientKinds(of_streams, of_streams)
        rule = "channel_max, by default"
        return ClientKinds(
            ClientKind(files=1, threads=2, connections=1, users_max=CHANNELS_MAX, rule=rule),
            ClientKind(files=1, threads=3, connections=1, users_max=CHANNELS_MAX, rule=rule),
        )

    def processes(
        self, version: str, nodes: int, heap_mb: int, direct_memory_mb: int, shape: Mapping[str, str]
    ) -> Sequence[ProcessMemory]:
        """See `System.processes`. A node's watermark is both together."""
        return (ProcessMemory("node", nodes, heap_mb, direct_memory_mb, OUTSIDE_WATERMARK_MB),)

    def handles(self, partitions: int) -> Handles:
        """See `System.handles`. A stream is a segment and its index, a queue at most as much."""
        return Handles(2 * partitions + 500, 1000)

    def deploy(self, request: DeployRequest, host: Host) -> Deployment:
        """See `System.deploy`. Raises `UserError` if the level is impossible in this shape."""
        refuse_impossible(self, request.choice, request.distribution.version, request.nodes)
        return deploy(request, host)

    def message_limit(self, case: Case) -> MessageLimit | None:
        """See `System.message_limit`."""
        if form_of(case.choice).queue_type == fairness.STREAM:
            return MessageLimit.of(case, "stream.frame_max", 1 << 20, _FRAME_BYTES)
        numbers = version_numbers(case.version)
        return MessageLimit.of(case, "max_message_size", (128 if numbers and numbers[0] < 4 else 16) << 20)

    def hazards(self, case: Case) -> list[Hazard]:
        """See `System.hazards`."""
        return fairness.hazards(case, self.possible_levels(case.version, case.nodes))


def _numbers_of(version: str) -> tuple[int, int, int]:
    """The three numbers of a version, or of the server in a directory.

    A directory without one is refused when it is provisioned.
    """
    if "/" not in version:
        return version_numbers(version)
    server = find_server(expand_path(version))
    return version_numbers(version_of(server) if server else DEFAULT_VERSION)


SYSTEM: System = RabbitmqSystem()
