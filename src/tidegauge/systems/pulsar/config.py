"""The configuration of Pulsar standalone, as text. Pure.

Broker and bookie read the same file; each takes the settings that it knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from tidegauge.model.level import LevelChoice
from tidegauge.systems.nodes import LOOPBACK, NODE_INTERFACE, Seat
from tidegauge.systems.pulsar.level import journal_settings, quorum_settings

CACHE_SHARE = 8
CACHE_MB_MIN = 16


@dataclass(frozen=True)
class Ports:
    """Ports: clients, admin REST, bookie, and the bookie's HTTP server (its settings and counters)."""

    client: int
    admin: int
    bookie: int
    bookie_http: int


def standalone_conf(
    ports: Ports,
    choice: LevelChoice,
    heap_mb: int,
    direct_memory_mb: int,
    overrides: Mapping[str, str],
    *,
    seat: Seat = LOOPBACK,
) -> dict[str, str]:
    """standalone.conf. `overrides` win."""
    # Standalone forces the bookie's buffers onto the heap, so the caches must fit into both kinds of memory.
    cache_mb = str(max(CACHE_MB_MIN, min(heap_mb, direct_memory_mb) // CACHE_SHARE))
    return {
        **broker_settings(ports.client, ports.admin, cache_mb, seat.address),
        **bookie_settings(ports.bookie_http, cache_mb, cache_mb, seat),
        "clusterName": "standalone",
        # One broker has nothing to balance.
        "loadManagerClassName": "org.apache.pulsar.broker.loadbalance.NoopLoadManager",
        "loadBalancerEnabled": "false",
        # Without this the bookie ignores the port given and takes a random one.
        "allowEphemeralPorts": "true",
        **quorum_settings(choice, 1),
        **journal_settings(choice),
        **overrides,
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
"""What every broker is told, whatever the deployment."""


def broker_settings(client_port: int, admin_port: int, cache_mb: str, address: str) -> dict[str, str]:
    """What every broker is told, alone or in a cluster."""
    return {
        "brokerServicePort": str(client_port),
        "webServicePort": str(admin_port),
        "bindAddress": address,
        "advertisedAddress": address,
        "managedLedgerCacheSizeMB": cache_mb,
        **BROKER_DEFAULTS,
    }


def bookie_settings(http_port: int, write_cache_mb: str, read_cache_mb: str, seat: Seat) -> dict[str, str]:
    """What every bookie is told, alone or in a cluster."""
    return {
        # Without these two the bookie listens on every interface.
        "listeningInterface": NODE_INTERFACE if seat.link else "lo",
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
    opened = tuple(f"--add-opens={module}=ALL-UNNAMED" for module in OPENED_MODULES)
    return (
        "-Dio.netty.tryReflectionSetAccessible=true",
        "-Dio.netty.leakDetection.level=disabled",
        "-Dio.netty.recycler.maxCapacityPerThread=4096",
        "-Dpulsar.allocator.exit_on_oom=true",
        f"-Dlog4j2.configurationFile={logging}",
        *opened,
    )


def standalone_is_mute(version: str) -> bool:
    """Whether the bookie inside a standalone of this version serves no HTTP, so that nobody can ask for its settings.

    Seen with 2.6.0, 2.9.1 and 2.10.5; 2.11, which also moved the metadata from a ZooKeeper to RocksDB, answers.
    """
    parts = version.split(".")
    return parts[0] == "2" and len(parts) > 1 and parts[1].isdecimal() and int(parts[1]) < 11


def standalone_arguments(
    configuration: Path, bookkeeper: Path, metadata: Path, ports: Ports, seat: Seat = LOOPBACK
) -> tuple[str, ...]:
    """Main class and arguments: no functions worker, no stream storage, metadata in RocksDB in the same process."""
    return (
        "org.apache.pulsar.PulsarStandaloneStarter",
        "--config",
        str(configuration),
        "--no-functions-worker",
        "--no-stream-storage",
        "--bookkeeper-dir",
        str(bookkeeper),
        "--metadata-dir",
        str(metadata),
        "--bookkeeper-port",
        str(ports.bookie),
        "--advertised-address",
        seat.address,
    )
