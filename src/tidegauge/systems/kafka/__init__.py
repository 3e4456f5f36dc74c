"""Apache Kafka: the artifacts of a version, clusters that others run, what is asked of each deployment."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType

from tidegauge.agent.api import Host
from tidegauge.distribution.coordinates import Coordinate, Recipe, is_before
from tidegauge.distribution.resolve import fetched_jars, jars_in, provision, provision_directory
from tidegauge.durability import levels_for_nodes
from tidegauge.fairness import Case
from tidegauge.model.host import UNBOUNDED, ClientKind, ClientKinds, ProcessMemory
from tidegauge.model.level import LevelChoice
from tidegauge.model.server import Distribution, Handles, Setting, by_scope, number_of
from tidegauge.model.workload import Workload
from tidegauge.places import expand_path
from tidegauge.systems.api import Deployment, DeployRequest, MessageLimit, System, refuse_impossible
from tidegauge.systems.attach import AddressKey, AttachRules
from tidegauge.systems.attached import AttachedCluster, AttachRequest, connection_settings, settings_of_addresses
from tidegauge.systems.kafka import clients, deployment, fairness, level, settings, topics
from tidegauge.systems.kafka.deployment import ZOOKEEPER_HEAP_MB, ZOOKEEPER_OUTSIDE_HEAP_MB, needs_zookeeper
from tidegauge.systems.kafka.metrics import METRICS, fetch_jmx_exporter, find_jmx_exporter
from tidegauge.systems.kafka.products import product_names, settings_naming
from tidegauge.systems.kafka.properties import translate_client_properties
from tidegauge.systems.server_settings import ServerSettings

DEFAULT_VERSION = "4.3.1"
VERIFIED = ("4.3.1", "4.4.0", "3.9.2")
GROUP = "org.apache.kafka"
# Every Kafka from 2.x to 4.4 is compiled against SLF4J 1.7, for which slf4j-simple writes plain lines to a stream.
SLF4J_BINDING = Coordinate("org.slf4j", "slf4j-simple", "1.7.36")
EXCLUSIONS = (
    # For tools that dump log files only, and absent from Maven Central for some versions (4.4.0).
    f"{GROUP}:kafka-tools-api",
    # Other bindings of SLF4J: two on one class path and it is chance which one logs.
    "ch.qos.reload4j:*",
    "org.slf4j:slf4j-reload4j",
    "org.slf4j:slf4j-log4j12",
    "org.apache.logging.log4j:log4j-slf4j-impl",
)
JAR_PATTERN = r"kafka_2\.1[23]-(\d[\w.\-]*?)\.jar"
JAVA_MIN = 17
# Kafka before 3.9 uses parts of the security manager that newer Java removed.
JAVA_MAX_BEFORE_3_9 = 21


def recipe(version: str) -> Recipe:
    """The recipe of a version; whether it exists is not known here."""
    return Recipe(
        system="kafka",
        version=version,
        root=Coordinate(GROUP, "kafka_2.13", version),
        extra=(SLF4J_BINDING,),
        exclusions=EXCLUSIONS,
        java_min=JAVA_MIN,
        java_max=JAVA_MAX_BEFORE_3_9 if is_before(version, (3, 9)) else None,
        verified=VERIFIED,
    )


MSK_IAM = "aws-msk-iam"
MSK_IAM_LIBRARY = Recipe(
    system=MSK_IAM,
    version="2.3.9",
    root=Coordinate("software.amazon.msk", "aws-msk-iam-auth", "2.3.9"),
    # The driver and the worker have these.
    exclusions=(f"{GROUP}:*", "org.slf4j:*", "com.fasterxml.jackson.core:*"),
)
"""Amazon's, by which its clusters know who a client is."""
RULES = AttachRules(
    keys=(AddressKey("bootstrap-servers", "host1:9092,host2:9092", "bootstrap.servers", ports={"": 9092}),),
    methods=("plain", "scram-sha-256", "scram-sha-512", "tls", "oauthbearer", "kerberos", MSK_IAM),
    token_keys=("scope", "extensions"),
    products=product_names(),
)


def attach(request: AttachRequest) -> AttachedCluster:
    """The cluster as a deployment. Nothing is asked of it yet."""
    return AttachedCluster(
        connection=connection_settings(request.choice, RULES, request.secrets),
        nodes_in=partial(number_of, scope="cluster", name="brokers"),
        # A topic's configuration contains what its brokers set for all topics.
        decides=lambda setting: setting.scope.startswith("topic "),
        conclude=partial(_conclude_from, request.choice.product),
    )


def _conclude_from(product: str, settings: Sequence[Setting]) -> list[Setting]:
    """Which product it is, where somebody says so or it shows, and whether its brokers share an address."""
    of_brokers = [values.get("address", "") for values in by_scope(settings, "broker ").values()]
    hosts = [address.rpartition(":")[0] for address in of_brokers if address]
    return [*settings_naming(product, settings), *settings_of_addresses(hosts if len(hosts) > 1 else [])]


OUTSIDE_HEAP_MB = 380
"""Class data, threads and buffers of a loaded node, MiB (measured: 620 to 850 MB resident with a 512 MB heap)."""


class KafkaSystem(System):
    """Apache Kafka, KRaft mode, each node broker and controller."""

    name = "kafka"
    title = "Apache Kafka"
    short_title = "Kafka"
    runs_on_jvm = True
    spoken_by = product_names()
    driver = "kafka"
    default_version = DEFAULT_VERSION
    attach_rules = RULES
    login_libraries = MappingProxyType({MSK_IAM: MSK_IAM_LIBRARY})
    metrics = METRICS
    spaces_in_paths = True
    reserved_settings = settings.RESERVED
    copies_setting = level.COPIES

    # What the folder's other modules know, as `System` asks it.
    attach = staticmethod(attach)
    topic_settings = staticmethod(level.topic_settings)
    topic_problems = staticmethod(settings.topic_problems)
    partitions_by_default = staticmethod(level.partitions_by_default)
    topic_terms = staticmethod(topics.topic_terms)
    expected_settings = staticmethod(topics.expected_settings)
    client_acks = staticmethod(level.client_acks)
    incomplete = staticmethod(deployment.incomplete)
    derive_level = staticmethod(level.derive_level)
    client_facts = staticmethod(fairness.client_facts)
    client_settings = staticmethod(clients.client_settings)
    client_properties = staticmethod(translate_client_properties)
    hazards = staticmethod(fairness.hazards)
    subscription_problem = staticmethod(fairness.subscription_problem)

    def server_settings(self, version: str) -> ServerSettings | None:
        """See `System.server_settings`."""
        jars = jars_in(expand_path(version)) if "/" in version else fetched_jars(recipe(version))
        return settings.server_settings(jars) if jars else None

    def tools(self) -> Sequence[Path]:
        """See `System.tools`."""
        jar = find_jmx_exporter()
        return [jar.parent] if jar else []

    def provision(self, version: str, report: Callable[[str], None]) -> Distribution:
        """See `System.provision`."""
        fetch_jmx_exporter(report)
        if "/" in version:
            return provision_directory(self.name, expand_path(version), JAR_PATTERN, JAVA_MIN)
        return provision(recipe(version), report)

    def possible_levels(self, version: str, nodes: int) -> list[LevelChoice]:
        """See `System.possible_levels`."""
        return [LevelChoice(number) for number in levels_for_nodes(nodes)]

    def message_limit(self, case: Case) -> MessageLimit | None:
        """See `System.message_limit`. Topics are made with room for every size, where a campaign gives no limit."""
        value = case.topic.get("max.message.bytes", "")
        if not value.isdecimal():
            return None
        return MessageLimit(
            int(value) - fairness.RECORD_OVERHEAD_BYTES,
            f"topic setting max.message.bytes={value}",
            f"raise max.message.bytes in {case.block('topic-settings')}, or leave it out",
        )

    def copies_problem(self, choice: LevelChoice) -> str:
        """See `System.copies_problem`."""
        return ""

    def network_problem(self, version: str) -> str:
        """See `System.network_problem`."""
        return ""

    def clients(self, workload: Workload, choice: LevelChoice, nodes: int) -> ClientKinds:
        """See `System.clients`. A consumer is a member of one group, and each topic has groups of its own."""
        # Connections to each broker, to the first one under its bootstrap address, of a consumer to its coordinator;
        # and two files of its selector. A consumer has a thread that polls and one for its heartbeat.
        return ClientKinds(
            ClientKind(files=nodes + 3, threads=1, connections=nodes + 1, users_max=UNBOUNDED),
            ClientKind(files=nodes + 4, threads=2, connections=nodes + 2),
        )

    def serves_replicas(self, choice: LevelChoice, workload: Workload) -> bool:
        """See `System.serves_replicas`. Consumers are given what leaders have, and any copy in sync can lead."""
        return True

    def processes(
        self, version: str, nodes: int, heap_mb: int, direct_memory_mb: int, shape: Mapping[str, str]
    ) -> Sequence[ProcessMemory]:
        """See `System.processes`. A node's buffers are few, and are counted outside of its heap."""
        keeper = ProcessMemory("ZooKeeper", 1, ZOOKEEPER_HEAP_MB, 0, ZOOKEEPER_OUTSIDE_HEAP_MB, of_nodes=False)
        beside = (keeper,) if needs_zookeeper(version) else ()
        return (ProcessMemory("node", nodes, heap_mb, 0, OUTSIDE_HEAP_MB), *beside)

    def handles(self, partitions: int) -> Handles:
        """See `System.handles`. A log is one open file and two mapped indexes (4.3.1: 10,106 files, 20,422 maps)."""
        return Handles(partitions + 300, 2 * partitions + 1000)

    def deploy(self, request: DeployRequest, host: Host) -> Deployment:
        """See `System.deploy`. Raises `UserError` if the level is impossible in this shape."""
        refuse_impossible(self, request.choice, request.distribution.version, request.nodes)
        return deployment.deploy(request, host)


SYSTEM: System = KafkaSystem()
