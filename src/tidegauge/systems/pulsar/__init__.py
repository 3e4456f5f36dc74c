"""Apache Pulsar with BookKeeper: standalone (broker and bookie in one process) or a cluster; of our own or others'."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from tidegauge.agent.api import Host
from tidegauge.distribution.coordinates import Coordinate, Recipe, is_before
from tidegauge.distribution.resolve import fetched_jars, jars_in, provision, provision_directory
from tidegauge.durability import levels_for_nodes
from tidegauge.errors import RunFailedError
from tidegauge.fairness import Case
from tidegauge.model.host import UNBOUNDED, ClientKind, ClientKinds, ProcessMemory
from tidegauge.model.level import LevelChoice
from tidegauge.model.server import Distribution, Handles, Setting, by_scope
from tidegauge.model.workload import SubscriptionType, Workload
from tidegauge.places import expand_path
from tidegauge.systems.api import Deployment, DeployRequest, MessageLimit, System, refuse_impossible
from tidegauge.systems.attach import AddressKey, AttachRules, split_addresses
from tidegauge.systems.attached import (
    UNKNOWN,
    AttachedCluster,
    AttachRequest,
    connection_settings,
    settings_of_addresses,
)
from tidegauge.systems.pulsar import clients, fairness, level, settings
from tidegauge.systems.pulsar.bookie import read_bookie_at
from tidegauge.systems.pulsar.cluster import deploy_cluster
from tidegauge.systems.pulsar.config import BROKER_DEFAULTS, Memory, shape_of, shape_problem
from tidegauge.systems.pulsar.deployment import METRICS, deploy_standalone
from tidegauge.systems.server_settings import ServerSettings

DEFAULT_VERSION = "4.2.4"
_METADATA_BYTES = 10 << 10
"""What Pulsar itself leaves for a message's metadata between its own limits."""
VERIFIED = ("4.2.4", "4.0.8")
GROUP = "org.apache.pulsar"
# What standalone, bookies, brokers and the set-up tool never load (seen with -Xlog:class+load; 4.2.4: 327 jars and
# 242 MB without these exclusions, 263 and 170 MB with them). A group that a version does not have excludes nothing.
EXCLUSIONS = (
    # Functions on Kubernetes, and clients of the state store behind functions. (The store itself stays: it brings the
    # bookie's HTTP server, which reports the bookie's settings, and the tool that sets up a cluster links to it, to
    # DistributedLog and to Curator.)
    "io.grpc:*",
    "io.kubernetes:*",
    "org.apache.bookkeeper:stream-storage-java-client",
    "com.google.auth:*",
    "com.google.http-client:*",
    "io.opencensus:*",
    # Metadata in etcd or Oxia.
    "io.github.oxia-db:*",
    "io.streamnative.oxia:*",
    "io.etcd:*",
    f"{GROUP}:jetcd-core-shaded",
    # Native TLS: nothing here is encrypted.
    "org.conscrypt:*",
    "io.netty:netty-tcnative-boringssl-static",
    "io.netty:netty-resolver-dns-native-macos",
    # HTTP client of the telemetry exporter, which is off.
    "com.squareup.okhttp3:*",
    "com.squareup.okio:*",
    "org.jetbrains.kotlin:*",
    "io.reactivex.rxjava3:*",
    "net.bytebuddy:*",
)
JAR_PATTERN = rf"(?:{GROUP}\.|{GROUP}-)?pulsar-broker-(\d[\w.\-]*?)\.jar"
JAVA_MIN = 17
JAVA_MAX_BEFORE_4 = 21


def recipe(version: str) -> Recipe:
    """The recipe of a version; whether it exists is not known here.

    Pulsar's parent project pins the versions of Jackson, gRPC and Netty; without it they mix. Versions whose single
    jars are incomplete on the repository may still be there as the vendor's archive.
    """
    return Recipe(
        system="pulsar",
        version=version,
        root=Coordinate(GROUP, "pulsar-broker", version),
        managed_by=(Coordinate(GROUP, "pulsar", version, "pom"),),
        exclusions=EXCLUSIONS,
        archive=Coordinate(GROUP, "pulsar-server-distribution", version, "tar.gz", "bin"),
        java_min=JAVA_MIN,
        java_max=JAVA_MAX_BEFORE_4 if is_before(version, (4, 0)) else None,
        verified=VERIFIED,
    )


BOOKIES = AddressKey(
    "bookie-http-urls", "http://bookie1:8000,http://bookie2:8000", "", required=False, schemes=("http", "https")
)
RULES = AttachRules(
    keys=(
        AddressKey(
            "service-url",
            "pulsar+ssl://host1:6651,host2:6651",
            "serviceUrl",
            schemes=("pulsar", "pulsar+ssl"),
            secure_schemes=("pulsar+ssl",),
            one_scheme=True,
            ports={"pulsar": 6650, "pulsar+ssl": 6651},
        ),
        AddressKey(
            "admin-url",
            "https://host:8443",
            "adminUrl",
            schemes=("http", "https"),
            secure_schemes=("https",),
            alone=True,
            ports={"http": 8080, "https": 8443},
        ),
        BOOKIES,
    ),
    methods=("token", "tls", "oauth2"),
    endpoint_key="issuer-url",
)
NOT_GIVEN = "bookies report their settings over their own HTTP servers only, and no bookie-http-urls were given"


def attach(request: AttachRequest) -> AttachedCluster:
    """The cluster as a deployment. Nothing is asked of it yet."""
    urls = split_addresses(request.choice.addresses, BOOKIES)
    return AttachedCluster(
        connection=connection_settings(request.choice, RULES, request.secrets),
        nodes_in=_count_bookies,
        decides=lambda setting: setting.scope.startswith(("bookie", "broker", "cluster", "topic ")),
        read_more=partial(_read_bookies, urls),
        conclude=_conclude_from,
    )


def _conclude_from(settings: Sequence[Setting]) -> list[Setting]:
    """Whether its brokers share an address. One service URL says nothing of that: clients look brokers up by it."""
    brokers = [scope.removeprefix("broker ") for scope in by_scope(settings, "broker ")]
    return settings_of_addresses([broker.rpartition(":")[0] for broker in brokers] if len(brokers) > 1 else [])


def _read_bookies(urls: Sequence[str]) -> list[Setting]:
    """What each bookie reports; for one that does not, why. Never raises."""
    if not urls:
        return [Setting("bookies", "settings", f"{UNKNOWN}{NOT_GIVEN}")]
    bookie_settings: list[Setting] = []
    for number, url in enumerate(urls, 1):
        try:
            bookie_settings += read_bookie_at(number, url)
        except RunFailedError as error:
            bookie_settings.append(Setting(f"bookie {number}", "settings", f"{UNKNOWN}{error.message}"))
    return bookie_settings


def _count_bookies(settings: Sequence[Setting]) -> int | None:
    """Copies are on bookies: as many nodes as reported their settings, if all did."""
    if any(s.scope.startswith("bookie") and s.value.startswith(UNKNOWN) for s in settings):
        return None
    return len({s.scope for s in settings if s.scope.startswith("bookie ")}) or None


class PulsarSystem(System):
    """Apache Pulsar with BookKeeper: one process on one node, a cluster on several."""

    name = "pulsar"
    title = "Apache Pulsar"
    short_title = "Pulsar"
    runs_on_jvm = True
    spoken_by = ("streamnative",)
    driver = "pulsar"
    default_version = DEFAULT_VERSION
    attach_rules = RULES
    metrics = METRICS
    reserved_settings = settings.RESERVED
    copies_setting = level.BROKER_QUORUMS[1]
    server_defaults = BROKER_DEFAULTS

    # What the folder's other modules know, as `System` asks it.
    shape_problem = staticmethod(shape_problem)
    attach = staticmethod(attach)
    incomplete = staticmethod(level.incomplete)
    derive_level = staticmethod(level.derive_level)
    client_facts = staticmethod(fairness.client_facts)
    client_settings = staticmethod(clients.client_settings)
    hazards = staticmethod(fairness.hazards)

    def message_limit(self, case: Case) -> MessageLimit | None:
        """See `System.message_limit`. Its client counts metadata, too; bookies have a limit of their own."""
        return MessageLimit.of(
            case, "maxMessageSize", 5 << 20, _METADATA_BYTES, with_names="nettyMaxFrameSizeBytes (of bookies)"
        )

    def server_settings(self, version: str) -> ServerSettings | None:
        """See `System.server_settings`."""
        jars = jars_in(expand_path(version)) if "/" in version else fetched_jars(recipe(version))
        return settings.server_settings(jars) if jars else None

    def provision(self, version: str, report: Callable[[str], None]) -> Distribution:
        """See `System.provision`."""
        if "/" in version:
            return provision_directory(self.name, expand_path(version), JAR_PATTERN, JAVA_MIN)
        return provision(recipe(version), report)

    def possible_levels(self, version: str, nodes: int) -> list[LevelChoice]:
        """See `System.possible_levels`. Local async has two forms, of which old versions have one."""
        choices: list[LevelChoice] = []
        for number in levels_for_nodes(nodes):
            forms = ("",) if number in (1, 3) else level.forms_of_version(version)
            choices.extend(LevelChoice(number, form) for form in forms)
        return choices

    def machines(self, nodes: int, shape: Mapping[str, str]) -> int:
        """See `System.machines`: tiered brokers are nodes of their own."""
        return shape_of(shape, nodes).machines

    def copies_problem(self, choice: LevelChoice) -> str:
        """See `System.copies_problem`."""
        return "copies follow from the quorums of broker and namespace, not from the topic"

    def network_problem(self, version: str) -> str:
        """See `System.network_problem`."""
        return ""

    def subscription_problem(self, kind: SubscriptionType, version: str, choice: LevelChoice, existing: bool) -> str:
        """See `System.subscription_problem`: it has all of them."""
        return ""

    def clients(self, workload: Workload, choice: LevelChoice, nodes: int) -> ClientKinds:
        """See `System.clients`. All clients share the threads of their sockets; a consumer is called by its own."""
        connections = nodes * workload.client.connections_per_broker
        return ClientKinds(
            ClientKind(files=connections, threads=1, connections=connections, users_max=UNBOUNDED),
            ClientKind(files=connections, threads=2, connections=connections, users_max=UNBOUNDED),
        )

    def processes(
        self, version: str, nodes: int, heap_mb: int, direct_memory_mb: int, shape: Mapping[str, str]
    ) -> Sequence[ProcessMemory]:
        """See `System.processes`."""
        return shape_of(shape, nodes).processes(Memory(heap_mb, direct_memory_mb))

    def handles(self, partitions: int) -> Handles:
        """See `System.handles`. Bookies keep ledgers in common files (4.2.4: 370, whatever the partitions)."""
        return Handles(600, 1500)

    def deploy(self, request: DeployRequest, host: Host) -> Deployment:
        """See `System.deploy`. Raises `UserError` if the level or the shape is impossible."""
        refuse_impossible(self, request.choice, request.distribution.version, request.nodes)
        shape_of(request.shape, request.nodes)
        return deploy_standalone(request, host) if request.nodes == 1 else deploy_cluster(request, host)


SYSTEM: System = PulsarSystem()
