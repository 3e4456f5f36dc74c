"""How a Pulsar cluster is laid out: how many brokers, and whether they share a node and its memory with a bookie. Pure.

Co-located: a node is a bookie and, on as many nodes as there are brokers, a broker beside it; the two share the node's
memory, a third for the bookie unless `bookie-share` says otherwise. Tiered: brokers and bookies have nodes of their
own, so each has a node's whole memory to itself.

Broker and bookie read the same file; each takes the settings that it knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from pathlib import Path
from types import MappingProxyType

from tidegauge.distribution.coordinates import is_before
from tidegauge.errors import UserError, did_you_mean
from tidegauge.model.host import ProcessMemory
from tidegauge.model.level import LevelChoice
from tidegauge.numbers import whole_number
from tidegauge.systems.api import LOOPBACK, DeployRequest, Seat
from tidegauge.systems.pulsar.level import journal_settings, quorum_settings

BROKERS, LAYOUT, BOOKIE_SHARE = "brokers", "layout", "bookie-share"
CO_LOCATED, TIERED = "co-located", "tiered"
OPTIONS = [BROKERS, LAYOUT, BOOKIE_SHARE]
LAYOUTS = [CO_LOCATED, TIERED]
# A broker holds what it dispatches and caches, a bookie mostly uses the kernel's page cache.
BOOKIE_SHARE_USUAL = Fraction(1, 3)
BOOKIE_PERCENT_MIN, BOOKIE_PERCENT_MAX = 10, 90
# Class data, code, threads and, of bookies, RocksDB (MiB; see docs/reference.md).
BROKER_OUTSIDE_MB, BOOKIE_OUTSIDE_MB = 350, 250
STANDALONE_OUTSIDE_MB, ZOOKEEPER_OUTSIDE_MB = 500, 120


@dataclass(frozen=True)
class Memory:
    """The memory of one JVM, MiB."""

    heap_mb: int
    direct_mb: int


ZOOKEEPER_MEMORY = Memory(128, 32)


@dataclass(frozen=True)
class Shape:
    """A layout in force. `bookie_share`: of a node's memory, of a bookie with a broker beside it."""

    nodes: int
    brokers: int
    layout: str
    bookie_share: Fraction = BOOKIE_SHARE_USUAL

    @property
    def machines(self) -> int:
        """How many nodes there are, with those of brokers that have nodes of their own."""
        return self.nodes + (self.brokers if self.layout == TIERED else 0)

    def bookie_memory(self, node: Memory) -> Memory:
        """A bookie's part of a node's memory. Bookies are alike, also those without a broker beside them."""
        return node if self.layout == TIERED else _part_of_memory(node, self.bookie_share)

    def broker_memory(self, node: Memory) -> Memory:
        """A broker's part of a node's memory."""
        return node if self.layout == TIERED else _part_of_memory(node, 1 - self.bookie_share)

    def processes(self, node: Memory) -> tuple[ProcessMemory, ...]:
        """All server processes, with what each needs of a node with this memory."""
        if self.nodes == 1:
            return (ProcessMemory("node", 1, node.heap_mb, node.direct_mb, STANDALONE_OUTSIDE_MB),)
        bookie, broker, keeper = self.bookie_memory(node), self.broker_memory(node), ZOOKEEPER_MEMORY
        return (
            ProcessMemory("bookie", self.nodes, bookie.heap_mb, bookie.direct_mb, BOOKIE_OUTSIDE_MB),
            ProcessMemory("broker", self.brokers, broker.heap_mb, broker.direct_mb, BROKER_OUTSIDE_MB),
            ProcessMemory("ZooKeeper", 1, keeper.heap_mb, keeper.direct_mb, ZOOKEEPER_OUTSIDE_MB, of_nodes=False),
        )


def shape_problem(shape: Mapping[str, str], nodes: int) -> str:
    """Why these options can't be, with what is allowed; "" if they can."""
    for key in shape:
        if key not in OPTIONS:
            return f"unknown key '{key}'{did_you_mean(key, OPTIONS)}; allowed: {', '.join(OPTIONS)}"
    brokers = shape.get(BROKERS, str(nodes))
    if not 1 <= (whole_number(brokers) or 0) <= nodes:
        most = f"a number from 1 to {nodes}, the number of nodes" if nodes > 1 else "1, since there is one node"
        return f"{BROKERS}: '{brokers}': must be {most}"
    layout = shape.get(LAYOUT, CO_LOCATED)
    if layout not in LAYOUTS:
        return f"{LAYOUT}: '{layout}': must be one of {', '.join(LAYOUTS)}{did_you_mean(layout, LAYOUTS)}"
    if layout == TIERED and nodes == 1:
        return f"{LAYOUT}: '{TIERED}' needs several nodes: on one node, broker and bookie are one process"
    if BOOKIE_SHARE in shape and not _parse_bookie_share(shape[BOOKIE_SHARE]):
        allowed = f"{BOOKIE_PERCENT_MIN}% to {BOOKIE_PERCENT_MAX}% of a node's memory, in whole percent"
        return f"{BOOKIE_SHARE}: '{shape[BOOKIE_SHARE]}': must be {allowed}"
    return ""


def shape_of(options: Mapping[str, str], nodes: int) -> Shape:
    """The layout that these options mean. Raises `UserError` if they can't be."""
    problem = shape_problem(options, nodes)
    if problem:
        raise UserError(f"pulsar: shape: {problem}.")
    share = _parse_bookie_share(options[BOOKIE_SHARE]) if BOOKIE_SHARE in options else BOOKIE_SHARE_USUAL
    return Shape(nodes, int(options.get(BROKERS, nodes)), options.get(LAYOUT, CO_LOCATED), share)


def _parse_bookie_share(text: str) -> Fraction:
    """ "50%" as a half; 0 if it is no share that a bookie can have."""
    number, sign, rest = text.partition("%")
    percent = whole_number(number)
    if not sign or rest or percent is None:
        return Fraction(0)
    return Fraction(percent, 100) if BOOKIE_PERCENT_MIN <= percent <= BOOKIE_PERCENT_MAX else Fraction(0)


def _part_of_memory(node: Memory, share: Fraction) -> Memory:
    return Memory(int(node.heap_mb * share), int(node.direct_mb * share))


CACHE_SHARE = 8
CACHE_MB_MIN = 16


@dataclass(frozen=True)
class Ports:
    """Ports: clients, admin REST, bookie, and the bookie's HTTP server (its settings and counters)."""

    client: int
    admin: int
    bookie: int
    bookie_http: int


def standalone_conf(request: DeployRequest, ports: Ports) -> dict[str, str]:
    """standalone.conf. The campaign's settings win."""
    # Standalone forces the bookie's buffers onto the heap, so the caches must fit into both kinds of memory.
    cache_mb, seat = _cache_mb(min(request.heap_mb, request.direct_memory_mb), CACHE_SHARE), request.seat(1)
    return {
        **broker_settings(ports.client, ports.admin, cache_mb, seat.address),
        **bookie_settings(ports.bookie_http, cache_mb, cache_mb, seat),
        "clusterName": "standalone",
        # One broker has nothing to balance.
        "loadManagerClassName": "org.apache.pulsar.broker.loadbalance.NoopLoadManager",
        "loadBalancerEnabled": "false",
        # Without this the bookie ignores the port given and takes a random one.
        "allowEphemeralPorts": "true",
        **quorum_settings(request.choice, 1),
        **journal_settings(request.choice),
        **request.settings,
    }


BROKER_DEFAULTS: Mapping[str, str] = MappingProxyType(
    {
        # The default of 10 ms adds up to that to every read at the tail.
        "managedLedgerNewEntriesCheckDelayInMillis": "0",
        "bookkeeperUseV2WireProtocol": "true",
        "functionsWorkerEnabled": "false",
        "webSocketServiceEnabled": "false",
        # A topic that a trial forgot to create must fail, and a quiet one must not vanish.
        "allowAutoTopicCreation": "false",
        "brokerDeleteInactiveTopicsEnabled": "false",
        # No limit may stop a producer while a slow consumer builds up a backlog.
        "backlogQuotaDefaultLimitGB": "-1",
    }
)
"""The settings of every broker, whatever the deployment."""


def broker_settings(client_port: int, admin_port: int, cache_mb: str, address: str) -> dict[str, str]:
    """The settings of every broker, alone or in a cluster."""
    return {
        "brokerServicePort": str(client_port),
        "webServicePort": str(admin_port),
        "bindAddress": address,
        "advertisedAddress": address,
        "managedLedgerCacheSizeMB": cache_mb,
        **BROKER_DEFAULTS,
    }


def bookie_settings(http_port: int, write_cache_mb: str, read_cache_mb: str, seat: Seat) -> dict[str, str]:
    """The settings of every bookie, alone or in a cluster."""
    return {
        # Without these two the bookie listens on every interface.
        "listeningInterface": seat.interface,
        "allowLoopback": "true",
        "ledgerStorageClass": "org.apache.bookkeeper.bookie.storage.ldb.DbLedgerStorage",
        "dbStorage_writeCacheMaxSizeMb": write_cache_mb,
        "dbStorage_readAheadCacheMaxSizeMb": read_cache_mb,
        "autoRecoveryDaemonEnabled": "false",
        # A nearly full disk is the user's business: fail when it is full, not at 95 %.
        "diskUsageThreshold": "0.9999",
        "diskUsageWarnThreshold": "0.9998",
        "diskUsageLwmThreshold": "0.9998",
        "minUsableSizeForEntryLogCreation": str(64 << 20),
        "minUsableSizeForIndexFileCreation": str(64 << 20),
        "minUsableSizeForHighPriorityWrites": str(64 << 20),
        # How its settings and its journal's counters are read back.
        "httpServerEnabled": "true",
        "httpServerHost": seat.address,
        "httpServerPort": str(http_port),
        "httpServerClass": "org.apache.bookkeeper.http.vertx.VertxHttpServer",
        "enableStatistics": "true",
        "statsProviderClass": "org.apache.pulsar.broker.stats.prometheus.metrics.PrometheusMetricsProvider",
    }


OPENED_MODULES = (
    "java.base/java.io",
    "java.base/java.util.zip",
    "java.base/java.nio",
    "java.base/jdk.internal.misc",
    "java.base/jdk.internal.platform",
    "java.management/sun.management",
    "jdk.management/com.sun.management.internal",
)
# A line for every admin request, and the store's own chatter, would hide what matters.
QUIET_LOGGERS = {
    "org.eclipse.jetty": "warn",
    "org.apache.pulsar.broker.web.RequestLog": "off",
    "org.asynchttpclient": "warn",
    "io.netty": "warn",
}


def pulsar_flags(logging: Path) -> tuple[str, ...]:
    """Flags as in Pulsar's own start script, for any Java since 17."""
    return (
        "-Dio.netty.tryReflectionSetAccessible=true",
        "-Dio.netty.leakDetection.level=disabled",
        "-Dio.netty.recycler.maxCapacityPerThread=4096",
        "-Dpulsar.allocator.exit_on_oom=true",
        f"-Dlog4j2.configurationFile={logging}",
        *(f"--add-opens={module}=ALL-UNNAMED" for module in OPENED_MODULES),
    )


def standalone_is_mute(version: str) -> bool:
    """Whether the bookie inside a standalone of this version serves no HTTP, so that nobody can ask for its settings.

    Seen with 2.6.0, 2.9.1 and 2.10.5; 2.11, which also moved the metadata from a ZooKeeper to RocksDB, answers.
    """
    return is_before(version, (2, 11))


def standalone_arguments(
    configuration: Path, bookkeeper: Path, metadata: Path, ports: Ports, seat: Seat = LOOPBACK
) -> tuple[str, ...]:
    """Main class and arguments: no functions worker, no stream storage, metadata in RocksDB in the same process."""
    options = {
        "--bookkeeper-dir": str(bookkeeper),
        "--metadata-dir": str(metadata),
        "--bookkeeper-port": str(ports.bookie),
        "--advertised-address": seat.address,
    }
    main = ("org.apache.pulsar.PulsarStandaloneStarter", "--config", str(configuration))
    return (*main, "--no-functions-worker", "--no-stream-storage", *chain.from_iterable(options.items()))


CLUSTER = "tidegauge"
# With many bundles, two partitions seldom fall into one, which can't be on two brokers.
BUNDLES = 128
WRITE_CACHE_SHARE, READ_CACHE_SHARE = 4, 8
# Given once for all processes, these would make each of them claim the same.
ONE_FOR_EACH = (
    "bookiePort",
    "brokerServicePort",
    "httpServerPort",
    "journalDirectories",
    "journalDirectory",
    "ledgerDirectories",
    "webServicePort",
)
DRIVER_FLAGS = (
    "-Dbookkeeper.metadata.bookie.drivers=org.apache.pulsar.metadata.bookkeeper.PulsarMetadataBookieDriver",
    "-Dbookkeeper.metadata.client.drivers=org.apache.pulsar.metadata.bookkeeper.PulsarMetadataClientDriver",
)
"""How broker, bookie and set-up tool find each other's metadata through Pulsar's own abstraction."""


@dataclass(frozen=True)
class Bookie:
    """A bookie: its number, its ports at its seat's address, and where it keeps journal and ledgers.

    `main`: its class, and the option that names its configuration.
    """

    number: int
    port: int
    http_port: int
    journal_directory: Path
    ledger_directories: tuple[Path, ...]
    seat: Seat = LOOPBACK
    main = ("org.apache.bookkeeper.server.Main", "--conf")

    @property
    def process(self) -> str:
        """Name on the host."""
        return f"pulsar-bookie-{self.number}"

    @property
    def http(self) -> str:
        """The address of its HTTP server."""
        return f"http://{self.seat.address}:{self.http_port}"


@dataclass(frozen=True)
class Broker:
    """A broker: its number and its ports at its seat's address. `main`: as of `Bookie`."""

    number: int
    client_port: int
    admin_port: int
    seat: Seat = LOOPBACK
    main = ("org.apache.pulsar.PulsarBrokerStarter", "--broker-conf")

    @property
    def process(self) -> str:
        """Name on the host."""
        return f"pulsar-broker-{self.number}"


def refuse_shared(settings: Mapping[str, str]) -> None:
    """Raise `UserError` for a setting that several processes can't have alike."""
    for name in ONE_FOR_EACH:
        if name in settings:
            raise UserError(
                f"pulsar: settings: {name}: can't be one and the same for several nodes.",
                "Leave it out: free ports and directories of their own are chosen.",
            )


def bookie_conf(bookie: Bookie, metadata: str, choice: LevelChoice, memory: Memory) -> dict[str, str]:
    """bookkeeper.conf, to which the campaign's settings are added. `metadata`: the URL of the cluster's metadata."""
    return {
        **bookie_settings(
            bookie.http_port,
            _cache_mb(memory.direct_mb, WRITE_CACHE_SHARE),
            _cache_mb(memory.direct_mb, READ_CACHE_SHARE),
            bookie.seat,
        ),
        "advertisedAddress": bookie.seat.address,
        "bookiePort": str(bookie.port),
        "journalDirectories": str(bookie.journal_directory),
        "ledgerDirectories": ",".join(map(str, bookie.ledger_directories)),
        "metadataServiceUri": f"metadata-store:{metadata}",
        **journal_settings(choice),
    }


def broker_conf(broker: Broker, metadata: str, choice: LevelChoice, nodes: int, memory: Memory) -> dict[str, str]:
    """broker.conf, to which the campaign's settings are added. `metadata`: as of `bookie_conf`."""
    return {
        **broker_settings(
            broker.client_port, broker.admin_port, _cache_mb(memory.direct_mb, CACHE_SHARE), broker.seat.address
        ),
        "clusterName": CLUSTER,
        "metadataStoreUrl": metadata,
        "configurationMetadataStoreUrl": metadata,
        # All bookies are on one machine: racks say nothing.
        "bookkeeperClientRackawarePolicyEnabled": "false",
        # Nothing here sets a policy of a single topic. With them, each broker's first topic waits for a system topic to
        # be made and read, which takes a minute on a busy machine.
        "topicLevelPoliciesEnabled": "false",
        # Partitions are spread when topics are created. Moving one while it is measured would be measured too.
        "loadBalancerEnabled": "true",
        "loadBalancerSheddingEnabled": "false",
        "loadBalancerAutoBundleSplitEnabled": "false",
        "defaultNumberOfNamespaceBundles": str(BUNDLES),
        **quorum_settings(choice, nodes),
    }


def setup_arguments(metadata: str, brokers: Sequence[Broker]) -> tuple[str, ...]:
    """Main class and arguments of the tool that writes a new cluster's metadata. `metadata`: as of `bookie_conf`."""
    options = {
        "--cluster": CLUSTER,
        "--metadata-store": metadata,
        "--configuration-metadata-store": metadata,
        "--default-namespace-bundle-number": str(BUNDLES),
        # Functions keep their state there; nothing here has any.
        "--initial-num-stream-storage-containers": "0",
        "--web-service-url": f"http://{_join_addresses((broker.seat, broker.admin_port) for broker in brokers)}/",
        "--broker-service-url": f"pulsar://{_join_addresses((broker.seat, broker.client_port) for broker in brokers)}/",
    }
    return ("org.apache.pulsar.PulsarClusterMetadataSetup", *chain.from_iterable(options.items()))


def connection_of_brokers(brokers: Sequence[Broker]) -> dict[str, str]:
    """How clients reach the cluster, and over how many brokers its topics are to be spread."""
    return {
        "serviceUrl": f"pulsar://{_join_addresses((broker.seat, broker.client_port) for broker in brokers)}",
        "adminUrl": f"http://{brokers[0].seat.address}:{brokers[0].admin_port}",
        "brokers": str(len(brokers)),
    }


def _join_addresses(places: Iterable[tuple[Seat, int]]) -> str:
    return ",".join(f"{seat.address}:{port}" for seat, port in places)


def _cache_mb(memory_mb: int, share: int) -> str:
    return str(max(CACHE_MB_MIN, memory_mb // share))
