"""The configuration of a Pulsar cluster, as text: ZooKeeper, bookies, brokers. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tidegauge.errors import UserError
from tidegauge.model.level import LevelChoice
from tidegauge.systems.nodes import LOOPBACK, Seat
from tidegauge.systems.pulsar.config import CACHE_MB_MIN, CACHE_SHARE, bookie_settings, broker_settings
from tidegauge.systems.pulsar.level import journal_settings, quorum_settings
from tidegauge.systems.pulsar.shape import Memory

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
    """A bookie: its number, its ports at its seat's address, and where it keeps journal and ledgers."""

    number: int
    port: int
    http_port: int
    journal_directory: Path
    ledger_directories: tuple[Path, ...]
    seat: Seat = LOOPBACK

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
    """A broker: its number and its ports at its seat's address."""

    number: int
    client_port: int
    admin_port: int
    seat: Seat = LOOPBACK

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


def bookie_conf(bookie: Bookie, zookeeper: str, choice: LevelChoice, memory: Memory) -> dict[str, str]:
    """bookkeeper.conf, to which the campaign's settings are added."""
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
        "metadataServiceUri": f"metadata-store:{metadata_url(zookeeper)}",
        **journal_settings(choice),
    }


def broker_conf(broker: Broker, zookeeper: str, choice: LevelChoice, nodes: int, memory: Memory) -> dict[str, str]:
    """broker.conf, to which the campaign's settings are added."""
    return {
        **broker_settings(
            broker.client_port, broker.admin_port, _cache_mb(memory.direct_mb, CACHE_SHARE), broker.seat.address
        ),
        "clusterName": CLUSTER,
        "metadataStoreUrl": metadata_url(zookeeper),
        "configurationMetadataStoreUrl": metadata_url(zookeeper),
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


def setup_arguments(zookeeper: str, brokers: Sequence[Broker]) -> tuple[str, ...]:
    """Main class and arguments of the tool that writes a new cluster's metadata."""
    return (
        "org.apache.pulsar.PulsarClusterMetadataSetup",
        "--cluster",
        CLUSTER,
        "--metadata-store",
        metadata_url(zookeeper),
        "--configuration-metadata-store",
        metadata_url(zookeeper),
        "--default-namespace-bundle-number",
        str(BUNDLES),
        # Functions keep their state there; nothing here has any.
        "--initial-num-stream-storage-containers",
        "0",
        "--web-service-url",
        f"http://{_addresses((broker.seat, broker.admin_port) for broker in brokers)}/",
        "--broker-service-url",
        f"pulsar://{_addresses((broker.seat, broker.client_port) for broker in brokers)}/",
    )


def connection(brokers: Sequence[Broker]) -> dict[str, str]:
    """How clients reach the cluster, and over how many brokers its topics are to be spread."""
    return {
        "serviceUrl": f"pulsar://{_addresses((broker.seat, broker.client_port) for broker in brokers)}",
        "adminUrl": f"http://{brokers[0].seat.address}:{brokers[0].admin_port}",
        "brokers": str(len(brokers)),
    }


def metadata_url(zookeeper: str) -> str:
    """As brokers name the metadata store at "host:port"."""
    return f"zk:{zookeeper}"


def _addresses(places: Iterable[tuple[Seat, int]]) -> str:
    return ",".join(f"{seat.address}:{port}" for seat, port in places)


def _cache_mb(direct_mb: int, share: int) -> str:
    return str(max(CACHE_MB_MIN, direct_mb // share))
