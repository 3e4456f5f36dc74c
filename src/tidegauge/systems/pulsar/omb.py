"""OMB's driver file for Pulsar: addresses, a namespace's persistence, both clients' queues and batches. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from tidegauge.config.fields import one_of
from tidegauge.config.source import Source, validate
from tidegauge.durability import NODES_FOR_REPLICATION, is_majority
from tidegauge.model.level import LevelChoice
from tidegauge.model.workload import ClientSettings, SubscriptionType
from tidegauge.places import is_file
from tidegauge.systems.attach import TlsChoice
from tidegauge.systems.omb import (
    AUTH_ADVICE,
    IN_FLIGHT_MESSAGES_MAX,
    TOPICS_THAT_ARE_THERE,
    DriverFields,
    DriverTerms,
    KeysOfForks,
    OmbDriver,
    OmbFields,
    secret_of,
)
from tidegauge.systems.pulsar.level import BROKER_QUORUMS, COPIES_MAX, MAJORITY_OF_3

_INT_MAX = (1 << 31) - 1
"""Of Java, as the clients' settings have it."""
_DELAY_MS_MAX = _INT_MAX // 1000
"""The client has microseconds."""
_TOKEN_PLUGIN = "org.apache.pulsar.client.impl.auth.AuthenticationToken"


class _Persistence(OmbFields):
    ensemble_size: Annotated[int, Field(ge=1)] = 3
    write_quorum: Annotated[int, Field(ge=1)] = 3
    ack_quorum: Annotated[int, Field(ge=1)] = 2
    deduplication_enabled: bool = False


class _Authentication(OmbFields):
    plugin: str | None = None
    data: Any = None  # What is no text is refused without being repeated.


OF_FORKS = KeysOfForks(
    noted={
        "client.cluster": "no tenant is made, topics are in public/default",
        "client.createNamespace": "no namespace is made, topics are in public/default",
        "producer.maxPendingMessagesAcrossPartitions": "each producer has one window over all its partitions",
        "consumer.maxTotalReceiverQueueSizeAcrossPartitions": "the clients' queues are bounded over all consumers",
    },
    refused={
        "client.useMyTopic": TOPICS_THAT_ARE_THERE,
        "client.topics": TOPICS_THAT_ARE_THERE,
        "consumer.ackDelayInMs": "a message is acknowledged at once: leave it out",
        "enableTiering": "offloading is a policy of a namespace, and none is changed: set it there, and write false",
    },
)


class _Client(OmbFields):
    service_url: str = ""
    http_url: str = ""
    client_memory_limit_mb: int | None = Field(default=None, alias="clientMemoryLimitMB")
    io_threads: int | None = None
    connections_per_broker: Annotated[int, Field(ge=1, le=64)] = 8
    max_concurrent_lookup_requests: int | None = None
    namespace_prefix: str = ""
    cluster_name: str = ""
    topic_type: Annotated[str, one_of(["persistent", "non-persistent", "non_persistent"])] = "persistent"
    persistence: _Persistence = Field(default_factory=_Persistence)
    tls_allow_insecure_connection: bool = False
    tls_enable_hostname_verification: bool = False
    tls_trust_certs_file_path: str | None = None
    authentication: _Authentication = Field(default_factory=_Authentication)


class _Producer(OmbFields):
    batching_enabled: bool = True
    batching_max_publish_delay_ms: Annotated[int, Field(ge=0, le=_DELAY_MS_MAX)] = 1
    batching_max_bytes: Annotated[int, Field(ge=1, le=_INT_MAX)] = 1024 * 1024
    block_if_queue_full: bool = True
    pending_queue_size: Annotated[int, Field(ge=0, le=_INT_MAX)] = 0
    batching_partition_switch_frequency_by_publish_delay: Annotated[int, Field(ge=1, le=_INT_MAX)] | None = None


class _Consumer(OmbFields):
    receiver_queue_size: Annotated[int, Field(ge=0, le=_INT_MAX)] = 10_000
    subscription_type: Annotated[str, one_of(["Exclusive", "Failover", "Shared", "Key_Shared"])] = "Failover"


_KEYS_OF_FILES = {
    "batch-size": "batchingMaxBytes in producer",
    "batch-delay": "batchingMaxPublishDelayMs in producer",
    "subscription-type": "subscriptionType in consumer",
    "producer": "producer",
    "consumer": "consumer",
}


class _PulsarDriverFile(DriverFields):
    client: _Client = Field(default_factory=_Client)
    producer: _Producer = Field(default_factory=_Producer)
    consumer: _Consumer = Field(default_factory=_Consumer)


def _read_driver_file(source: Source, managed: bool) -> DriverTerms | None:
    data, notes_on_keys = OF_FORKS.take_from(source)
    file = validate(_PulsarDriverFile, data, source, ())
    if file is None:
        return None
    client = file.client
    quorums = client.persistence
    level = _level_of_quorums(quorums, source, managed)
    token_file, auth = _token_of(client.authentication, source)
    if client.topic_type != "persistent":
        source.complain(("client", "topicType"), "topics that are kept nowhere have no durability level to compare at")
    if client.tls_allow_insecure_connection:
        source.complain(
            ("client", "tlsAllowInsecureConnection"),
            "servers are always verified: name the authority's file in tlsTrustCertsFilePath",
        )
    for key, value in (("serviceUrl", client.service_url), ("httpUrl", client.http_url)):
        if not value and not managed:
            source.complain(("client",), f"{key} is missing: which cluster is to be measured?")
        elif set("@?#").intersection(value):
            source.complain(
                ("client", key),
                "must hold no user, no password and nothing after '?' or '#', since it is copied into the run: "
                f"{AUTH_ADVICE}",
            )
    if source.problems or level is None:
        return None
    return DriverTerms(
        level=level,
        nodes=_bookies_needed(quorums),
        addresses={"service-url": client.service_url, "admin-url": client.http_url},
        client=ClientSettings(
            batch_bytes_max=file.producer.batching_max_bytes if file.producer.batching_enabled else 1,
            batch_delay_ms_max=float(file.producer.batching_max_publish_delay_ms),
            in_flight_messages_max=IN_FLIGHT_MESSAGES_MAX,
            connections_per_broker=client.connections_per_broker,
        ),
        tls=_tls_choice(client, source),
        token_file=token_file,
        auth={} if managed else auth,
        producer={
            "blockIfQueueFull": str(file.producer.block_if_queue_full).lower(),
            "maxPendingMessages": str(file.producer.pending_queue_size),
            **_switch_frequency(file.producer),
        },
        consumer={"receiverQueueSize": str(file.consumer.receiver_queue_size)},
        subscription_type=SubscriptionType(file.consumer.subscription_type.lower().replace("_", "-")),
        settings=_broker_settings(quorums) if managed else {},
        blocks={"producer": "producer", "consumer": "consumer"},
        file_keys=_KEYS_OF_FILES,
        of_level=BROKER_QUORUMS,
        notes=(*notes_on_keys, *_notes_on_client(client, managed)),
        kept=_file_without_secrets(source.data, bool(token_file)),
    )


def _file_without_secrets(data: Mapping[str, Any], by_token_file: bool) -> dict[str, Any]:
    """The file without what says who the client is, unless that is the name of a file only."""
    client = data.get("client") or {}
    left_out = () if by_token_file else ("authentication",)
    return {**data, "client": {key: value for key, value in client.items() if key not in left_out}}


def _level_of_quorums(persistence: _Persistence, source: Source, managed: bool) -> LevelChoice | None:
    """What an acknowledgement waits for. Whether bookies sync is theirs to say; the file does not name it."""
    at = ("client", "persistence")
    ensemble, copies, awaited = persistence.ensemble_size, persistence.write_quorum, persistence.ack_quorum
    if copies > ensemble:
        source.complain((*at, "writeQuorum"), f"'{copies}' is above ensembleSize ({ensemble})")
    if awaited > copies:
        source.complain((*at, "ackQuorum"), f"'{awaited}' is above writeQuorum ({copies})")
    if persistence.deduplication_enabled and not managed:
        source.complain(
            (*at, "deduplicationEnabled"),
            "is a policy of a namespace, and no policy of an attached cluster is changed: enable it there and write "
            "false here, or run with --managed",
        )
    if source.problems:
        return None
    return LevelChoice(2 if is_majority(awaited, copies) else 4, as_found=not managed)


def _bookies_needed(quorums: _Persistence) -> int:
    """How many bookies of our own it takes: as many as an ensemble, and three where there are copies at all."""
    return quorums.ensemble_size if quorums.ensemble_size == 1 else max(NODES_FOR_REPLICATION, quorums.ensemble_size)


def _broker_settings(quorums: _Persistence) -> dict[str, str]:
    """What brokers of our own are told. Others' are told nothing, and what they do is not known before it is read."""
    deduplication = {"brokerDeduplicationEnabled": "true"} if quorums.deduplication_enabled else {}
    quorums_of_file = (quorums.ensemble_size, quorums.write_quorum, quorums.ack_quorum)
    usual = min(_bookies_needed(quorums), COPIES_MAX)
    # For the file's level they are told these anyway.
    if quorums_of_file in ((usual, usual, 1), (usual, usual, min(MAJORITY_OF_3, usual))):
        return deduplication
    return {**dict(zip(BROKER_QUORUMS, map(str, quorums_of_file), strict=True)), **deduplication}


def _switch_frequency(producer: _Producer) -> dict[str, str]:
    """How often a producer goes on to the next partition, of a file that says it."""
    frequency = producer.batching_partition_switch_frequency_by_publish_delay
    return {} if frequency is None else {"batchingPartitionSwitchFrequencyByPublishDelay": str(frequency)}


def _token_of(authentication: _Authentication, source: Source) -> tuple[str, dict[str, Any]]:
    """The file that holds the token, or the variable as `attach.auth` has it; "" and {} where nobody is to be known.

    What else stands in `data` may be a secret, so it is never repeated.
    """
    if not authentication.plugin:
        return "", {}
    data = authentication.data
    if authentication.plugin == _TOKEN_PLUGIN and isinstance(data, str):
        if data.startswith("file://"):
            return str(Path(data.removeprefix("file://")).absolute()), {}
        if secret := secret_of(data.removeprefix("token:")):
            return "", {"method": "token", "token": secret}
    source.complain(
        ("client", "authentication"),
        "only the token plugin with data 'file:///PATH' or 'token:${env:VARIABLE}' is taken over, since the driver "
        f"file is copied into the run; for all else {AUTH_ADVICE}",
    )
    return "", {}


def _tls_choice(client: _Client, source: Source) -> TlsChoice | None:
    if not client.service_url.startswith("pulsar+ssl://"):
        return None
    ca = client.tls_trust_certs_file_path
    at = ("client", "tlsTrustCertsFilePath")
    path = source.place_of(at, ca) if ca else None
    if path is not None and not is_file(path):
        source.complain(at, f"'{ca}': there is no such file (looked for {path})")
    return TlsChoice(ca=str(path or ""), verify_host=client.tls_enable_hostname_verification)


def _notes_on_client(client: _Client, managed: bool) -> list[str]:
    """What has no effect here, or another one."""
    notes = [
        f"client.{key} has no effect here: {why}."
        for key, value, why in (
            ("ioThreads", client.io_threads, "the client has its own default, as for every run"),
            ("maxConcurrentLookupRequests", client.max_concurrent_lookup_requests, "topics are opened before the load"),
            ("clientMemoryLimitMB", client.client_memory_limit_mb, "the window of messages in flight bounds memory"),
        )
        if value is not None
    ]
    if client.namespace_prefix or client.cluster_name:
        notes.append(
            "client.namespacePrefix and client.clusterName have no effect here: no tenant and no namespace is made, "
            "topics are in public/default, whose backlog quota holds."
        )
    if not managed:
        notes.append(
            "client.persistence is not imposed on an attached cluster: what its topics have in force is read back and "
            "reported."
        )
    if not client.service_url.startswith("pulsar+ssl://") and client.tls_trust_certs_file_path:
        notes.append("client.tlsTrustCertsFilePath has no effect: serviceUrl is not encrypted.")
    return notes


OMB = OmbDriver("io.openmessaging.benchmark.driver.pulsar.PulsarBenchmarkDriver", "pulsar", _read_driver_file)
