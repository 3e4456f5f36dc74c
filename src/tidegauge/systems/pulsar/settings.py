"""Which settings brokers and bookies of a version have: the fields of their own classes of settings."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tidegauge.distribution.class_files import ClassField, classes_in
from tidegauge.systems.server_settings import DATA, FILES, MEMBERS, PORTS, ServerSettings

RESERVED = {
    r"(journal|ledger|index)Director(y|ies)|gcEntryLogMetadataCachePath": DATA,
    r"dbStorage_rocksDB_logPath|narExtractionDirectory|statusFilePath": FILES,
    r"(brokerService|webService|bookie|httpServer|prometheusStatsHttp)Port(Tls)?|bindAddress(es)?|listeningInterface|"
    r"advertised(Address|Listeners)|internalListenerName|httpServerHost": PORTS,
    r"(metadataStore|configurationMetadataStore|configurationStore)(Url|Servers)|(global)?[zZ]ookeeperServers|"
    r"zkServers|metadataServiceUri|bookkeeperMetadataServiceUri|clusterName|bookieId": MEMBERS,
}
PATTERNS = (
    # Passed on to the broker's client of bookies, and to plug-ins, which have settings of their own.
    r"bookkeeper_.+",
    r"(sasl|jute|prometheus|stats|opentelemetry|otel|kafka|mqtt|amqp).+",
)
_BROKER = ("*pulsar-broker-common-*.jar", "org/apache/pulsar/broker/ServiceConfiguration.class")
_BOOKIE = "*bookkeeper-server-*.jar"
_OF_BOOKIES = (
    "org/apache/bookkeeper/conf/*Configuration.class",
    # Each kind of storage names its own.
    "org/apache/bookkeeper/bookie/storage/ldb/*.class",
)


@cache
def server_settings(jars: Path) -> ServerSettings | None:
    """The settings of brokers and bookies in these jars: both read one file. None if the jars don't say."""
    broker = {field.name for each in _fields_by_class(jars, *_BROKER) for field in each if not field.static}
    bookie = {
        field.constant
        for classes in _OF_BOOKIES
        for each in _fields_by_class(jars, _BOOKIE, classes)
        for field in each
        if field.static and field.constant and field.constant.isidentifier()
    }
    return ServerSettings(frozenset(broker | bookie), PATTERNS) if broker and bookie else None


def _fields_by_class(jars: Path, jar: str, classes: str) -> Iterator[list[ClassField]]:
    return (fields for path in sorted(jars.glob(jar)) for fields in classes_in(path, classes))
