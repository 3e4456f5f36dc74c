"""A running Pulsar, how its standalone form is started, and which of its own figures matter.

Sources: https://pulsar.apache.org/docs/reference-metrics/, https://bookkeeper.apache.org/docs/admin/metrics
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

from tidegauge.agent.api import Host
from tidegauge.errors import UserError
from tidegauge.model.server import Setting
from tidegauge.numbers import whole_number
from tidegauge.systems.api import DeployRequest, Describe, Node
from tidegauge.systems.jvm import java_server, jvm_flags, log4j2_text, properties_text, quick_start_flags
from tidegauge.systems.logs import Cause, cause_pattern, find_cause
from tidegauge.systems.metrics import Combine, Endpoint, Metric, MetricKind
from tidegauge.systems.pulsar.bookie import read_bookie_at
from tidegauge.systems.pulsar.config import (
    QUIET_LOGGERS,
    Memory,
    Ports,
    pulsar_flags,
    standalone_arguments,
    standalone_conf,
    standalone_is_mute,
)
from tidegauge.systems.pulsar.level import owners_of_partitions
from tidegauge.systems.servers import Servers

_DONE = {"success": "true"}
_JOURNAL = r"bookie_journal_(journalIndex_\d+_)?JOURNAL_"
"""Pulsar's own provider of a bookie's figures puts the journal's number into the name, BookKeeper's into a label."""


def _mean_metric(name: str, base: str, meaning: str, is_sync_ms: bool = False) -> Metric:
    sums, counts = f"{base}_sum", f"{base}_count"
    return Metric(name, meaning, sums, MetricKind.MEAN, labels=_DONE, count_series=counts, is_sync_ms=is_sync_ms)


METRICS: tuple[Metric, ...] = (
    Metric(
        "journal_syncs_per_s",
        "syncs of the bookie's journal to disk",
        f"{_JOURNAL}SYNC_count",
        MetricKind.RATE,
        labels=_DONE,
    ),
    _mean_metric("journal_sync_ms", f"{_JOURNAL}SYNC", "mean time of such a sync", is_sync_ms=True),
    _mean_metric(
        "journal_add_ms", f"{_JOURNAL}ADD_ENTRY", "mean time of an entry through the journal, its sync included"
    ),
    _mean_metric(
        "add_entry_ms", "bookkeeper_server_ADD_ENTRY", "mean time of an entry in the bookie, from request to answer"
    ),
    Metric("journal_queue_entries", "entries waiting for the journal", f"{_JOURNAL}QUEUE_SIZE", combine=Combine.MAX),
    Metric(
        "journal_sync_queue_requests",
        "writes waiting for a sync",
        f"{_JOURNAL}FORCE_WRITE_QUEUE_SIZE",
        combine=Combine.MAX,
    ),
    Metric(
        "write_cache_bytes",
        "entries in the bookie's memory, not yet in its ledgers",
        r"bookie_(ledgerDir_.+_)?write_cache_size",
    ),
    Metric(
        "throttled_writes_per_s",
        "entries that had to wait because the write cache was full",
        r"bookie_(ledgerDir_.+_)?throttled_write_requests",
        MetricKind.RATE,
    ),
    Metric("backlog_msgs", "messages of all subscriptions that the broker still has to deliver", "pulsar_msg_backlog"),
    Metric("managed_ledger_cache_bytes", "entries that the broker keeps for readers", "pulsar_ml_cache_used_size"),
    Metric(
        "cache_misses_per_s",
        "reads of the broker that had to go to the bookies, over the last minute",
        "pulsar_ml_cache_misses_rate",
    ),
)


BAD_COOKIE = cause_pattern(
    r"Exception in parsing cookie|InvalidCookieException",
    "a bookie does not know its data directory: its cookie is empty, or another's.",
    "The power went before the cookie was on disk, or the directory is not this bookie's.",
)
PROCESS = "pulsar-1"
# It closes ledgers and threads one by one, which can take over 15 s under load.
STOP_GRACE_S = 30.0
PORT_MAX = 65535


@dataclass(frozen=True)
class PulsarDeployment(Servers):
    """A running Pulsar.

    Attributes:
        bookies: the processes that keep messages in order, with the address of their HTTP server
            ("http://127.0.0.1:8000").
        brokers: by "host:port" of its admin API, as brokers name each other, the number of a broker's node.
    """

    bookies: Mapping[str, str]
    brokers: Mapping[str, int]

    @property
    def storage_processes(self) -> tuple[str, ...]:
        """The bookies: brokers and the metadata store keep no messages."""
        return tuple(self.bookies)

    def cause_in(self, log: str) -> Cause | None:
        """See `Servers.cause_in`: also what only bookies say."""
        return find_cause(log, (BAD_COOKIE,))

    @property
    def stop_order(self) -> tuple[tuple[str, ...], ...]:
        """Brokers, then bookies, then the metadata store, so that each can still close what it holds."""
        of_nodes, of_none = super().stop_order
        return (tuple(name for name in of_nodes if name not in self.bookies), self.storage_processes, of_none)

    def read_back(self, describe: Describe, topics: list[str]) -> list[Setting]:
        """Broker and namespace settings through the admin API, the bookies' from the bookies themselves."""
        settings = describe(topics)
        for number, base in enumerate(self.bookies.values(), 1):
            settings = settings + read_bookie_at(number, base)
        return settings

    def leaders(self, settings: Sequence[Setting]) -> Mapping[str, int]:
        """See `Deployment.leaders`: the node of the broker that owns the partition."""
        return {
            partition: self.brokers[owner]
            for partition, owner in owners_of_partitions(settings).items()
            if owner in self.brokers
        }


def deploy_standalone(request: DeployRequest, host: Host) -> PulsarDeployment:
    """Write the configuration and start the one process. Raises `UserError` for a setting or disk that can't be."""
    _refuse_standalone(request)
    seat = request.seat(1)
    # Metadata beside the data: a node that loses power loses what it had not synced of both.
    bookkeeper, metadata = request.node_directory(1, "bookkeeper"), request.node_directory(1, "metadata")
    ports = Ports(*host.free_ports(4))
    settings = standalone_conf(request, ports)
    bookie_http = f"http://{seat.address}:{_port_among_settings(settings, 'httpServerPort')}"
    admin = f"{seat.address}:{settings['webServicePort']}"
    host.make_directories(request.data_directory / "tmp", bookkeeper, request.log_directory)
    logging = host.write(request.log_directory / f"{PROCESS}-log4j2.xml", log4j2_text(QUIET_LOGGERS))
    configuration = host.write(request.log_directory / f"{PROCESS}.conf", properties_text(settings))
    flags = server_flags(request, Memory(request.heap_mb, request.direct_memory_mb), request.data_directory, logging)
    main = standalone_arguments(configuration, bookkeeper, metadata, ports, seat)
    deployment = PulsarDeployment(
        title=f"Pulsar {request.distribution.version}",
        host=host,
        connection={
            "serviceUrl": f"pulsar://{seat.address}:{settings['brokerServicePort']}",
            "adminUrl": f"http://{admin}",
        },
        processes=(PROCESS,),
        jvm_flags=flags,
        bookies={PROCESS: bookie_http},
        brokers={admin: 1},
        ports=astuple(ports),
        metrics_endpoints=endpoints_of_servers((PROCESS, f"http://{admin}"), (PROCESS, bookie_http)),
        nodes=(Node(1, (PROCESS,), (bookkeeper, metadata)),),
    )
    with deployment.starting():
        deployment.start_process(java_server(request, PROCESS, flags, main, seat=seat, usual_grace_s=STOP_GRACE_S))
    return deployment


def _refuse_standalone(request: DeployRequest) -> None:
    """Raise `UserError` for what one process can't be."""
    version = request.distribution.version
    if standalone_is_mute(version):
        raise UserError(
            f"Pulsar {version} on one node can't be measured: the bookie inside a standalone before 2.11 does not "
            "report its settings, so nobody could know which durability level it gives.",
            "Use 2.11 or newer.",
        )
    if request.journal_disks:
        raise UserError(
            "pulsar: on one node, journal and ledgers can't be on different disks: standalone keeps them together.",
            "Leave out 'journal-directories', or ask for several nodes.",
        )


def server_flags(request: DeployRequest, memory: Memory, directory: Path, logging: Path) -> tuple[str, ...]:
    """Flags of a process with so much memory, whose temporary files are in `directory`."""
    memory_flags = jvm_flags(request, memory.heap_mb, memory.direct_mb, directory)
    return (*memory_flags, *quick_start_flags(request), *pulsar_flags(logging))


def endpoints_of_servers(*servers: tuple[str, str]) -> tuple[Endpoint, ...]:
    """Where brokers and bookies report their figures: by process, the address of its HTTP server."""
    return tuple(Endpoint(process, f"{base}/metrics") for process, base in servers)


def _port_among_settings(settings: Mapping[str, str], name: str) -> int:
    """A port among the settings, which the campaign may have chosen. Raises `UserError` if it is none."""
    text = settings[name]
    port = whole_number(text)
    if port is None or not 1 <= port <= PORT_MAX:
        raise UserError(
            f"pulsar: settings: {name}: '{text}' is no port.",
            f"Give a number from 1 to {PORT_MAX}, or leave it out: free ports are chosen.",
        )
    return int(text)
