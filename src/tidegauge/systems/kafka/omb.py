"""OMB's driver file for Kafka: replication, and four blocks of Java properties for topics and clients. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from tidegauge.config.fields import refuse_value
from tidegauge.config.properties import JAAS, PROPERTIES_MAX, jaas_options, parse_properties, write_property
from tidegauge.config.source import Source, validate
from tidegauge.durability import NODES_FOR_REPLICATION, is_majority, level_of
from tidegauge.errors import did_you_mean, nearest_names
from tidegauge.model.level import AS_FOUND, LevelChoice
from tidegauge.model.workload import ClientSettings, Compression
from tidegauge.systems import client_settings
from tidegauge.systems.attach import TlsChoice, holds_secret, names_secret
from tidegauge.systems.client_settings import ClientSettingRules, may_be_name, read_client_settings
from tidegauge.systems.kafka.clients import FILE, NO_ACKNOWLEDGEMENT
from tidegauge.systems.kafka.level import FLUSH_SCHEDULER, MIN_IN_SYNC, NEVER, REPLICAS_FOR_MAJORITY
from tidegauge.systems.omb import (
    AUTH_ADVICE,
    IN_FLIGHT_MESSAGES_MAX,
    NAMES_OF_TOPICS,
    TOPICS_THAT_ARE_THERE,
    DriverFields,
    DriverTerms,
    KeysOfForks,
    OmbDriver,
    secret_of,
)

TOPIC, COMMON, PRODUCER, CONSUMER = "topicConfig", "commonConfig", "producerConfig", "consumerConfig"
_BATCH_BYTES, _LINGER_MS = 16_384, 5
"""Defaults of the client where a file leaves them out (kafka-clients 4)."""

_OF_BOTH_CLIENTS = (
    "client.dns.lookup",
    "connections.max.idle.ms",
    "metadata.max.age.ms",
    "metadata.recovery.rebootstrap.trigger.ms",
    "metadata.recovery.strategy",
    "receive.buffer.bytes",
    "reconnect.backoff.max.ms",
    "reconnect.backoff.ms",
    "request.timeout.ms",
    "retry.backoff.max.ms",
    "retry.backoff.ms",
    "send.buffer.bytes",
    "socket.connection.setup.timeout.ms",
)
_RACK = "client.rack"
_OF_CONSUMERS = (_RACK, "default.api.timeout.ms")
_COMMON_KEYS = ["bootstrap.servers", "client.id", "group.id", "security.protocol", *_OF_BOTH_CLIENTS, *_OF_CONSUMERS]
_ROLES = {PRODUCER: client_settings.PRODUCER, CONSUMER: client_settings.CONSUMER}
_SET_HERE = {
    "bootstrap.servers": "it belongs into commonConfig",
    "key.serializer": "Tidegauge writes keys itself",
    "value.serializer": "Tidegauge writes values itself",
    "key.deserializer": "Tidegauge reads keys itself",
    "value.deserializer": "Tidegauge reads values itself",
    "transactional.id": "no transactions are measured: leave it out",
}
_NOT_HERE = {
    "client.id": "each client has a name of its own",
    "group.id": "each subscription has a group of its own",
}
OF_FORKS = KeysOfForks(
    noted={
        "reset": NAMES_OF_TOPICS,
        "batchSize": "each message is sent by itself, and the client makes its batches, by batch.size and linger.ms",
        "maxConcurrentTransactions": "each message is sent by itself, in no transaction",
    },
    refused={
        "requestsPerTransaction": "no transactions are measured: leave it out, and each message is sent by itself",
        "useTransactions": "no transactions are measured: leave it out, and each message is sent by itself",
        "skipCreateTopic": TOPICS_THAT_ARE_THERE,
        "useMyTopic": TOPICS_THAT_ARE_THERE,
        "topics": TOPICS_THAT_ARE_THERE,
        "useSharedConsumerGroup": "a subscription has a consumer group of its own: leave it out, or for one group "
        "write subscriptionsPerTopic: 1",
        "streamConfig": "no Kafka Streams are measured, but producers and consumers: leave it out for these",
    },
)
_KEYS_OF_FILES = {
    "batch-size": "batch.size in producerConfig",
    "batch-delay": "linger.ms in producerConfig",
    "compression": "compression.type in producerConfig",
    "producer": "producerConfig",
    "consumer": "consumerConfig",
    "topic-settings": "topicConfig",
}
_OF_LEVEL = (MIN_IN_SYNC, "flush.messages", "flush.ms")
_OF_TOPICS = (*_OF_LEVEL, "retention.bytes", "retention.ms", "segment.bytes", "segment.ms")
_OF_OTHER_CLUSTERS = {
    "diskless.enable": "Apache Kafka has no such setting",
    "remote.storage.enable": "brokers that are started here have no remote storage",
    "local.retention.bytes": "brokers that are started here have no remote storage",
    "local.retention.ms": "brokers that are started here have no remote storage",
    "redpanda.remote.read": "Apache Kafka has no such setting",
    "redpanda.remote.write": "Apache Kafka has no such setting",
    "write.caching": "Apache Kafka has no such setting",
}
"""Topic settings that a cluster of others may know, and why brokers of our own don't."""
_NUMBERS = re.compile(r"(messages|replicas|bytes|ms)$")
_RETENTION = re.compile(r"(local\.)?retention\.")
_SECURITY = re.compile(r"(sasl|ssl|security)\.")
_KEY_STORE, _TRUST_STORE, _HOST_CHECK = "ssl.keystore", "ssl.truststore", "ssl.endpoint.identification.algorithm"
_TLS_KEYS = (
    _HOST_CHECK,
    *(f"{store}.{part}" for store in (_KEY_STORE, _TRUST_STORE) for part in ("location", "type")),
)
"""Paths and switches of encryption that are no secrets, and so may stand in a file that is copied into the run."""
_ZONE = "{zone.id}"
_MECHANISM = "sasl.mechanism"
_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_WHOLE_NUMBER = re.compile(r"[0-9]{1,19}")
"""As Kafka's own settings have them, at most a long."""


def _is_whole_number(text: str) -> bool:
    return _WHOLE_NUMBER.fullmatch(text) is not None


_COPIES_MAX = 100


def _check_block(value: object) -> object:
    if isinstance(value, str):
        return value
    raise refuse_value("must be text: write '|' after the name, and below it a line for each setting, name=value")


_Block = Annotated[str, BeforeValidator(_check_block)]


class _KafkaDriverFile(DriverFields):
    replication_factor: Annotated[int, Field(ge=1, le=_COPIES_MAX)]
    topic_config: _Block = ""
    common_config: _Block = ""
    producer_config: _Block = ""
    consumer_config: _Block = ""
    topic_prefix: str = ""


@dataclass
class _Reader:
    """One file while it is read. Methods note problems in the source and sentences in `notes`."""

    source: Source
    managed: bool
    notes: list[str]
    level_sentences: list[str] = field(default_factory=list)
    """Sentences on what settings do to the level."""
    left_out: set[tuple[str, str]] = field(default_factory=set)
    """Block and name of each setting that no client has, or that says who it is."""

    def block(self, name: str) -> dict[str, str]:
        """A block of Java properties; each gets its own line in the source."""
        properties: dict[str, str] = {}
        before = self.source.line_of((name,))
        text = self.source.data.get(name)
        given = list(islice(parse_properties(text if isinstance(text, str) else ""), PROPERTIES_MAX + 1))
        if len(given) > PROPERTIES_MAX:
            self.source.complain((name,), f"has more than {PROPERTIES_MAX} settings, which is more than clients have")
            return {}
        for one in given:
            self.source.lines.setdefault((name, one.key), before + one.line)
            if one.key in properties:
                self.refuse(name, one.key, "is given twice; keep one")
            properties[one.key] = one.value.strip()
        return properties

    def refuse(self, block: str, key: str, why: str) -> None:
        self.source.complain((block, key), why)

    def refuse_secret(self, block: str, key: str) -> None:
        self.refuse(block, key, f"must not come from a driver file, which is copied into the run: {AUTH_ADVICE}")

    def number(self, settings: dict[str, str], key: str, default: int) -> int:
        text = settings.pop(key, str(default))
        # Anything else is refused already.
        return int(text) if _is_whole_number(text) else default

    def topic(self, settings: dict[str, str], replication: int) -> dict[str, str]:
        """Checks topicConfig: what topics are made with, each a whole number but the two that switch something on."""
        setting_names = [*_OF_TOPICS, *_OF_OTHER_CLUSTERS]
        for key, value in settings.items():
            if key not in setting_names:
                self.refuse(
                    TOPIC,
                    key,
                    f"is none of the settings that topics are made with{did_you_mean(key, setting_names)}: "
                    f"{setting_names}",
                )
            elif self.managed and key in _OF_OTHER_CLUSTERS:
                self.refuse(TOPIC, key, f"{_OF_OTHER_CLUSTERS[key]}: attach to a cluster that has, without --managed")
            elif _NUMBERS.search(key) and not _is_whole_number(value.removeprefix("-")):
                self.refuse(TOPIC, key, f"'{value}': must be a whole number")
            elif not _NUMBERS.search(key) and value not in ("true", "false"):
                self.refuse(TOPIC, key, f"'{value}': must be true or false")
        in_sync = settings.get(MIN_IN_SYNC, "1")
        if _is_whole_number(in_sync) and not 1 <= int(in_sync) <= replication:
            bound = f"is above replicationFactor ({replication})" if int(in_sync) else "must be at least 1"
            self.refuse(TOPIC, MIN_IN_SYNC, f"'{in_sync}' {bound}")
        return settings

    def topic_notes(self, topic: Mapping[str, str], copies: int, acks_all: bool) -> None:
        """Notes what a topic's settings make of its level, and what they do to those who read it."""
        if topic.get("diskless.enable") == "true":
            # And by none of the settings that would decide it.
            self.level_sentences.append(
                "diskless.enable=true: messages are acknowledged from object storage, so the level is unknown, and "
                "these figures are not comparable with others' without saying so."
            )
        else:
            self.level_notes(topic, copies, acks_all)
        if topic.get("remote.storage.enable") == "true":
            self.notes.append("remote.storage.enable=true: what share is read from remote storage is not known here.")
        if any(_RETENTION.match(key) and not value.startswith("-") for key, value in topic.items()):
            self.notes.append("topicConfig: messages that retention deletes are missed by readers that are far behind.")

    def level_notes(self, topic: Mapping[str, str], copies: int, acks_all: bool) -> None:
        """Notes what copies in sync and flushes make of the level."""
        in_sync = int(topic.get(MIN_IN_SYNC, "1"))
        if acks_all and in_sync >= REPLICAS_FOR_MAJORITY and not is_majority(in_sync, copies):
            self.level_sentences.append(
                f"{MIN_IN_SYNC}={in_sync} of {copies} copies is no majority, so it is no level 1 or 2."
            )
        if acks_all and 1 < in_sync == copies:
            self.level_sentences.append(
                f"{MIN_IN_SYNC}={in_sync} of {copies} copies: one node that is lost stops writes."
            )
        messages, interval_ms = (int(topic.get(key, NEVER)) for key in ("flush.messages", "flush.ms"))
        if 1 < messages < NEVER:
            self.level_sentences.append(
                f"flush.messages={messages}: at most {messages:,} acknowledged messages of a partition are in "
                "memory only, so the level is one without fsync, with that bound."
            )
        if interval_ms < NEVER and messages != 1:
            self.level_sentences.append(
                f"flush.ms={interval_ms}: the level is one without fsync; the time bounds what is in memory only where "
                f"brokers look for it ({FLUSH_SCHEDULER}), which they never do by default."
            )

    def common(self, settings: Mapping[str, str]) -> TlsChoice | None:
        """Checks commonConfig; encryption, if it asks for that."""
        # Of a block whose name is mistyped that is said.
        is_there = COMMON in self.source.data or not self.source.problems
        if not settings.get("bootstrap.servers") and not self.managed and is_there:
            self.source.complain((COMMON,), "bootstrap.servers is missing: which cluster is to be measured?")
        if holds_secret(settings.get("bootstrap.servers", "")) or "@" in settings.get("bootstrap.servers", ""):
            self.refuse_secret(COMMON, "bootstrap.servers")
        for key in settings:
            if key in _TLS_KEYS:
                continue
            if _SECURITY.match(key) and key not in ("security.protocol", _MECHANISM, JAAS):
                self.refuse_secret(COMMON, key)
            elif key in (_MECHANISM, JAAS):
                continue
            elif key in _COMMON_KEYS:
                self.check_value(COMMON, key, settings[key])
            elif any(key in settings_of_role for settings_of_role in _rules().by_role.values()):
                self.refuse(COMMON, key, "put it into producerConfig or consumerConfig, whichever it is for")
            else:
                self.leave_out(COMMON, key, "clients", _COMMON_KEYS)
        self.note_without_effect(COMMON, settings)
        protocol = settings.get("security.protocol", "PLAINTEXT")
        if protocol not in _PROTOCOLS:
            self.refuse(COMMON, "security.protocol", f"'{protocol}': must be one of {', '.join(_PROTOCOLS)}")
        if not protocol.endswith("SSL"):
            self.note_unused(settings)
            return None
        certificate = self.path_of_pem(settings, _KEY_STORE)
        # One PEM file holds both, and who reads it takes what it is asked for.
        return TlsChoice(
            self.path_of_pem(settings, _TRUST_STORE), certificate, certificate, settings.get(_HOST_CHECK) != ""
        )

    def note_unused(self, settings: Mapping[str, str]) -> None:
        """Says which settings of encryption do nothing, since the connections are plain."""
        if unused := [key for key in settings if key in _TLS_KEYS]:
            self.notes.append(f"commonConfig: without security.protocol=SSL no effect have {', '.join(unused)}.")

    def login(self, settings: Mapping[str, str]) -> dict[str, Any]:
        """Who the clients are, as `attach.auth` has it; {} = nobody. A password stands in a variable, never here."""
        protocol, given = settings.get("security.protocol", ""), [key for key in (_MECHANISM, JAAS) if key in settings]
        if not protocol.startswith("SASL"):
            self.left_out.add((COMMON, JAAS))
            if given:
                self.notes.append(
                    f"commonConfig: without security.protocol=SASL_SSL or SASL_PLAINTEXT no effect have "
                    f"{', '.join(given)}."
                )
            return {}
        mechanism, options = settings.get(_MECHANISM, "GSSAPI"), jaas_options(settings.get(JAAS, ""))
        secret = secret_of(options.get("password", ""))
        if mechanism not in _MECHANISMS:
            at = _MECHANISM if _MECHANISM in settings else "security.protocol"
            self.refuse(COMMON, at, f"'{mechanism}': taken over are {', '.join(_MECHANISMS)}; for others {AUTH_ADVICE}")
        elif not options.get("username") or secret is None:
            self.refuse(
                COMMON,
                JAAS if JAAS in settings else "security.protocol",
                f'needs a username, and as the password "${{env:VARIABLE}}", in {JAAS}: a driver file is copied into '
                "the run, and so must hold no password",
            )
        self.left_out.add((COMMON, JAAS))
        return {"method": mechanism.lower(), "user": options.get("username", ""), "password": secret}

    def path_of_pem(self, settings: Mapping[str, str], store: str) -> str:
        """The file that a store's `location` names; "" if none. Nothing but PEM is read, which needs no password."""
        path, kind = settings.get(f"{store}.location", ""), settings.get(f"{store}.type", "JKS")
        if not path:
            return ""
        if kind.upper() != "PEM":
            self.refuse(
                COMMON,
                f"{store}.type" if f"{store}.type" in settings else f"{store}.location",
                f"'{kind}': only PEM is read, which needs no password: convert it (keytool, openssl) and say "
                f"{store}.type=PEM",
            )
        if not path.startswith("/"):
            self.refuse(COMMON, f"{store}.location", f"'{path}': must be an absolute path")
        return path

    def rack_of(self, common: Mapping[str, str]) -> dict[str, str]:
        """Where consumers are, as the cluster names it. OMB's word for the zone of its worker means nothing here."""
        if _ZONE not in common.get(_RACK, ""):
            return {key: common[key] for key in (_RACK,) if key in common}
        self.notes.append(
            f"commonConfig: {_RACK}={common[_RACK]} is left out, since no zone is known here that OMB would put for "
            f"{_ZONE}: consumers read from leaders, wherever these are."
        )
        return {}

    def producer(self, settings: Mapping[str, str]) -> tuple[dict[str, str], ClientSettings, bool]:
        """The producer's own settings, the neutral ones, and whether it waits for all replicas in sync."""
        properties = self.client(PRODUCER, settings)
        self.note_defaults(properties)
        acks = properties.pop("acks", "all")
        if acks == "0":
            self.refuse(PRODUCER, "acks", f"'{acks}': {NO_ACKNOWLEDGEMENT}")
        compression = properties.pop("compression.type", "none")
        client = ClientSettings(
            batch_bytes_max=max(1, self.number(properties, "batch.size", _BATCH_BYTES)),
            batch_delay_ms_max=float(self.number(properties, "linger.ms", _LINGER_MS)),
            compression=Compression(compression) if compression in list(Compression) else Compression.NONE,
            in_flight_messages_max=IN_FLIGHT_MESSAGES_MAX,
        )
        return properties, client, acks != "1"

    def note_defaults(self, properties: Mapping[str, str]) -> None:
        """Where a file leaves a setting to the client, the client of here decides, whose default may be another."""
        if "linger.ms" not in properties and properties.get("batch.size") != "0":
            self.notes.append(
                f"producerConfig: linger.ms is left out, and the default of the client decides: {_LINGER_MS} ms since "
                "kafka-clients 4.0, which Tidegauge has, and 0 in those before, such as OMB's. So each message may "
                f"wait {_LINGER_MS} ms for its batch, which OMB's did not: give linger.ms=0 for the same."
            )
        if "acks" not in properties:
            self.notes.append(
                "producerConfig: acks is left out, and the default of the client decides: all since kafka-clients 3.0, "
                "which Tidegauge's is newer than, and 1 in those before."
            )

    def consumer(self, settings: Mapping[str, str]) -> dict[str, str]:
        properties = self.client(CONSUMER, settings)
        if properties.get("enable.auto.commit") == "false":
            del properties["enable.auto.commit"]
            self.notes.append(
                "consumerConfig: enable.auto.commit=false: OMB then commits after each poll; here the client commits "
                "by itself, every 5 s."
            )
        return properties

    def client(self, block: str, settings: Mapping[str, str]) -> dict[str, str]:
        """The client's own settings, without those that are refused or that it does not have."""
        names = list(_rules().by_role[_ROLES[block]])
        for key, value in settings.items():
            if key in _SET_HERE:
                self.refuse(block, key, f"can't be set: {_SET_HERE[key]}")
            elif key in _NOT_HERE:
                continue
            elif _SECURITY.match(key) or names_secret(key) or holds_secret(value):
                self.refuse_secret(block, key)
            elif key in names:
                self.check_value(block, key, value)
            else:
                self.leave_out(block, key, f"{_ROLES[block]}s", names)
        self.note_without_effect(block, settings)
        return {
            key: value for key, value in settings.items() if key not in _NOT_HERE and (block, key) not in self.left_out
        }

    def note_without_effect(self, block: str, settings: Mapping[str, str]) -> None:
        """Notes settings that say what each client has of its own here."""
        for key in (key for key in _NOT_HERE if key in settings):
            self.notes.append(f"{block}: {key} has no effect here: {_NOT_HERE[key]}.")

    def check_value(self, block: str, key: str, value: str) -> None:
        """Refuses a value that the client would refuse. What both clients have, both have with the same values."""
        settings = _rules().by_role[_ROLES.get(block, client_settings.CONSUMER)]
        if key in settings and (problem := settings[key].problem_of(value)):
            self.refuse(block, key, f"'{value[:40]}': {problem}")

    def leave_out(self, block: str, key: str, whose: str, names: Sequence[str]) -> None:
        """Notes a setting that the client does not have: it would say so in its log and go on, and so is it here."""
        self.left_out.add((block, key))
        nearest = nearest_names(key, names, 1)
        is_known = any(key in settings_of_role for settings_of_role in _rules().by_role.values())
        shown = f".{key}" if nearest or is_known or may_be_name(key) else ": what stands here"
        self.notes.append(
            f"{self.source.where((block, key))}: {block}{shown} is left out: {whose} of "
            f"{read_client_settings(FILE)[1]['library']}, which Tidegauge has, have no such setting"
            f"{did_you_mean(key, nearest)}, and ignore it."
        )


def _rules() -> ClientSettingRules:
    return read_client_settings(FILE)[0]


def _read_driver_file(source: Source, managed: bool) -> DriverTerms | None:
    data, notes = OF_FORKS.take_from(source)
    file = validate(_KafkaDriverFile, data, source, ())
    reader = _Reader(source, managed, notes)
    blocks = {name: reader.block(name) for name in (TOPIC, COMMON, PRODUCER, CONSUMER)}
    common = blocks[COMMON]
    topic = reader.topic(blocks[TOPIC], file.replication_factor if file else _COPIES_MAX)
    tls, auth = reader.common(common), reader.login(common)
    producer, client, acks_all = reader.producer(blocks[PRODUCER])
    consumer = reader.consumer(blocks[CONSUMER])
    if file is None or source.problems:
        return None
    kept_blocks = {
        name: "".join(write_property(key, block[key]) for key in block if (name, key) not in reader.left_out)
        for name, block in blocks.items()
    }
    copies, in_sync = file.replication_factor, int(topic.get(MIN_IN_SYNC, "1"))
    reader.topic_notes(topic, copies, acks_all)
    replicated = acks_all and is_majority(in_sync, copies)
    # Where the file does not say how many copies "all" waits for, the cluster's own default does.
    open_question = acks_all and MIN_IN_SYNC not in topic and copies > 1 and not managed
    level = LevelChoice(
        level_of(replication_sync=replicated, local_sync=topic.get("flush.messages") == "1"), as_found=open_question
    )
    if topic.get("diskless.enable") == "true":
        # What Kafka's own settings would mean is not to be expected then.
        level = AS_FOUND
    # Brokers of our own would ask for two in sync, which "all" waits for: the file's level may be another one.
    other_in_sync = managed and acks_all and copies > 1 and in_sync != REPLICAS_FOR_MAJORITY
    shared = {key: common[key] for key in _OF_BOTH_CLIENTS if key in common}
    for_consumers = {key: common[key] for key in _OF_CONSUMERS if key in common and key != _RACK}
    for_consumers |= reader.rack_of(common)
    return DriverTerms(
        level=level,
        nodes=1 if copies == 1 else max(NODES_FOR_REPLICATION, copies),
        copies=copies,
        addresses={"bootstrap-servers": common.get("bootstrap.servers", "")},
        client=client,
        tls=tls,
        auth={} if managed else auth,
        # At levels with copies Tidegauge asks for the same.
        producer={**shared, **producer, **({} if replicated else {"acks": "all" if acks_all else "1"})},
        consumer={**shared, **for_consumers, **consumer},
        settings={MIN_IN_SYNC: str(in_sync)} if other_in_sync else {},
        topic=topic,
        blocks={role: block for block, role in _ROLES.items()},
        file_keys=_KEYS_OF_FILES,
        of_level=("acks", *_OF_LEVEL),
        topic_prefix=file.topic_prefix,
        notes=tuple(reader.notes),
        level_notes=tuple(reader.level_sentences),
        kept={key: kept_blocks.get(key, "") if key in blocks else value for key, value in source.data.items()},
    )


_DRIVERS = "io.openmessaging.benchmark.driver"
OMB = OmbDriver(
    f"{_DRIVERS}.kafka.KafkaBenchmarkDriver",
    "kafka",
    _read_driver_file,
    products={
        f"{_DRIVERS}.redpanda": "Redpanda",
        f"{_DRIVERS}.redpanda.swarm": "Redpanda",
        f"{_DRIVERS}.gateway": "Conduktor Gateway",
    },
    refused={
        f"{_DRIVERS}.redpanda.tx": "sends in transactions, which are not measured: write "
        f"{_DRIVERS}.redpanda.RedpandaBenchmarkDriver for the same load without them",
        f"{_DRIVERS}.kop": "sends and reads over two protocols: write one file for Kafka's driver and one for Pulsar's",
    },
)
