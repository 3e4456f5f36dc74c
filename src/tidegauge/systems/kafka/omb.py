"""OMB's driver file for Kafka: replication, and four blocks of Java properties for topics and clients. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from tidegauge.config.source import Source, validate
from tidegauge.durability import NODES_FOR_REPLICATION, level_of
from tidegauge.errors import nearest
from tidegauge.model.level import LevelChoice
from tidegauge.model.workload import ClientSettings, Compression
from tidegauge.systems.attach import TlsChoice
from tidegauge.systems.kafka.level import REPLICAS_FOR_MAJORITY
from tidegauge.systems.omb import AUTH_ADVICE, IN_FLIGHT_MESSAGES_MAX, DriverFields, DriverTerms, OmbDriver

TOPIC, COMMON, PRODUCER, CONSUMER = "topicConfig", "commonConfig", "producerConfig", "consumerConfig"
MIN_IN_SYNC = "min.insync.replicas"
_BATCH_BYTES, _LINGER_MS = 16_384, 5
"""Defaults of the client where a file leaves them out (kafka-clients 4)."""

_OF_BOTH_CLIENTS = (
    "client.dns.lookup",
    "connections.max.idle.ms",
    "metadata.max.age.ms",
    "receive.buffer.bytes",
    "reconnect.backoff.max.ms",
    "reconnect.backoff.ms",
    "request.timeout.ms",
    "retry.backoff.max.ms",
    "retry.backoff.ms",
    "send.buffer.bytes",
    "socket.connection.setup.timeout.ms",
)
_OF_CONSUMERS = ("default.api.timeout.ms",)
_COMMON_KEYS = ["bootstrap.servers", "client.id", "security.protocol", *_OF_BOTH_CLIENTS, *_OF_CONSUMERS]
_SET_HERE = {
    "bootstrap.servers": "it belongs into commonConfig",
    "key.serializer": "Tidegauge writes keys itself",
    "value.serializer": "Tidegauge writes values itself",
    "key.deserializer": "Tidegauge reads keys itself",
    "value.deserializer": "Tidegauge reads values itself",
    "group.id": "every subscription has a group of its own",
    "transactional.id": "no transactions are measured",
}
_SECURITY = re.compile(r"(sasl|ssl|security)\.")
_SEPARATOR = re.compile(r"\s*[=:]\s*|\s+")


class _File(DriverFields):
    replication_factor: Annotated[int, Field(ge=1, le=100)]
    topic_config: str = ""
    common_config: str = ""
    producer_config: str = ""
    consumer_config: str = ""


@dataclass
class _Reader:
    """One file while it is read. Methods note problems in the source and sentences in `notes`."""

    source: Source
    managed: bool
    notes: list[str]

    def block(self, name: str) -> dict[str, str]:
        """A block of Java properties; each gets its own line in the source."""
        found: dict[str, str] = {}
        first = self.source.line_of((name,)) + 1
        for offset, raw in enumerate(str(self.source.data.get(name) or "").splitlines()):
            line = raw.strip()
            if not line or line[0] in "#!":
                continue
            key, value = (*_SEPARATOR.split(line, maxsplit=1), "")[:2]
            self.source.lines.setdefault((name, key), first + offset)
            if key in found:
                self.refuse(name, key, "is given twice; keep one")
            found[key] = value.strip()
        return found

    def refuse(self, block: str, key: str, why: str) -> None:
        self.source.complain((block, key), why)

    def refuse_secret(self, block: str, key: str) -> None:
        self.refuse(block, key, f"must not come from a driver file, which is copied into the run: {AUTH_ADVICE}")

    def number(self, block: str, settings: dict[str, str], key: str, default: int) -> int:
        text = settings.pop(key, str(default))
        if not text.isdigit():
            self.refuse(block, key, f"'{text}': must be a whole number")
            return default
        return int(text)

    def topic(self, settings: dict[str, str], replication: int) -> tuple[bool, int | None]:
        """Whether each append is fsynced, and min.insync.replicas if given."""
        known = [MIN_IN_SYNC, "flush.messages", "flush.ms"]
        for key in settings:
            if key not in known:
                only = f"topics are made with the settings of a durability level only{nearest(key, known)}"
                self.refuse(TOPIC, key, f"{only}: {', '.join(known)}")
        flush = settings.get("flush.messages")
        if flush not in (None, "1"):
            self.refuse(TOPIC, "flush.messages", f"'{flush}': an fsync now and then is no level; 1, or leave it out")
        if settings.get("flush.ms", "0") != "0" or ("flush.ms" in settings and flush != "1"):
            self.refuse(TOPIC, "flush.ms", "must be 0 beside flush.messages=1: an fsync by time is no level")
        if MIN_IN_SYNC not in settings:
            return flush == "1", None
        in_sync = self.number(TOPIC, settings, MIN_IN_SYNC, 1)
        if in_sync not in (1, REPLICAS_FOR_MAJORITY):
            self.refuse(TOPIC, MIN_IN_SYNC, f"'{in_sync}': levels need 1, or 2 for a majority of three")
        elif in_sync > replication:
            self.refuse(TOPIC, MIN_IN_SYNC, f"'{in_sync}' is above replicationFactor ({replication})")
        return flush == "1", in_sync

    def common(self, settings: Mapping[str, str]) -> TlsChoice | None:
        """Checks commonConfig; encryption, if it asks for that."""
        if not settings.get("bootstrap.servers") and not self.managed:
            self.source.complain((COMMON,), "bootstrap.servers is missing: which cluster is to be measured?")
        for key in settings:
            if _SECURITY.match(key) and key != "security.protocol":
                self.refuse_secret(COMMON, key)
            elif key not in _COMMON_KEYS:
                near = nearest(key, _COMMON_KEYS)
                self.refuse(COMMON, key, f"put it into producerConfig or consumerConfig, whichever it is for{near}")
        if "client.id" in settings:
            self.notes.append("commonConfig: client.id has no effect here: each client has a name of its own.")
        protocol = settings.get("security.protocol", "PLAINTEXT")
        if protocol not in ("PLAINTEXT", "SSL"):
            self.refuse(COMMON, "security.protocol", f"'{protocol}' needs secrets: {AUTH_ADVICE}")
        return TlsChoice() if protocol == "SSL" else None

    def producer(self, settings: Mapping[str, str]) -> tuple[dict[str, str], ClientSettings, bool]:
        """The producer's own settings, the neutral ones, and whether it waits for all replicas in sync."""
        own = self.client(PRODUCER, settings)
        acks = own.pop("acks", "all")
        if acks not in ("all", "-1", "1"):
            why = "must be all, -1 or 1: without acknowledgement there is nothing to time"
            self.refuse(PRODUCER, "acks", f"'{acks}': {why}")
        compression = own.pop("compression.type", "none")
        if compression not in list(Compression):
            self.refuse(PRODUCER, "compression.type", f"'{compression}': must be one of {', '.join(Compression)}")
            compression = "none"
        client = ClientSettings(
            batch_bytes_max=max(1, self.number(PRODUCER, own, "batch.size", _BATCH_BYTES)),
            batch_delay_ms_max=float(self.number(PRODUCER, own, "linger.ms", _LINGER_MS)),
            compression=Compression(compression),
            in_flight_messages_max=IN_FLIGHT_MESSAGES_MAX,
        )
        return own, client, acks != "1"

    def consumer(self, settings: Mapping[str, str]) -> dict[str, str]:
        own = self.client(CONSUMER, settings)
        if own.get("enable.auto.commit") == "false":
            del own["enable.auto.commit"]
            self.notes.append(
                "consumerConfig: enable.auto.commit=false: OMB then commits after each poll; here the client commits "
                "by itself, every 5 s."
            )
        return own

    def client(self, block: str, settings: Mapping[str, str]) -> dict[str, str]:
        """The client's own settings, without those that are refused."""
        for key in settings:
            if key in _SET_HERE:
                self.refuse(block, key, f"can't be set: {_SET_HERE[key]}")
            elif _SECURITY.match(key):
                self.refuse_secret(block, key)
        if "client.id" in settings:
            self.notes.append(f"{block}: client.id has no effect here: each client has a name of its own.")
        return {key: value for key, value in settings.items() if key != "client.id"}


def _read(source: Source, managed: bool) -> DriverTerms | None:
    file = validate(_File, source.data, source, ())
    if file is None:
        return None
    reader = _Reader(source, managed, [])
    common = reader.block(COMMON)
    synced, in_sync = reader.topic(reader.block(TOPIC), file.replication_factor)
    tls = reader.common(common)
    producer, client, acks_all = reader.producer(reader.block(PRODUCER))
    consumer = reader.consumer(reader.block(CONSUMER))
    if source.problems:
        return None
    copies = file.replication_factor
    replicated = acks_all and (in_sync or 1) >= REPLICAS_FOR_MAJORITY
    # Where the file does not say how many copies "all" waits for, the cluster's own default does.
    open_question = acks_all and in_sync is None and copies > 1 and not managed
    level = LevelChoice(level_of(replication_sync=replicated, local_sync=synced), as_found=open_question)
    # Brokers of our own would ask for two in sync, which "all" waits for: the file's level is another one.
    one_in_sync = managed and acks_all and not replicated and copies > 1
    shared = {key: common[key] for key in _OF_BOTH_CLIENTS if key in common}
    for_consumers = {key: common[key] for key in _OF_CONSUMERS if key in common}
    return DriverTerms(
        level=level,
        nodes=1 if copies == 1 else max(NODES_FOR_REPLICATION, copies),
        copies=copies,
        addresses={"bootstrap-servers": common.get("bootstrap.servers", "")},
        client=client,
        tls=tls,
        # At levels with copies Tidegauge asks for the same.
        producer={**shared, **producer, **({} if replicated else {"acks": "all" if acks_all else "1"})},
        consumer={**shared, **for_consumers, **consumer},
        settings={MIN_IN_SYNC: "1"} if one_in_sync else {},
        of_level=("acks", MIN_IN_SYNC),
        notes=tuple(reader.notes),
    )


OMB = OmbDriver("io.openmessaging.benchmark.driver.kafka.KafkaBenchmarkDriver", "kafka", _read)
