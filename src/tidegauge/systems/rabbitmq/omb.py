"""OMB's driver file for RabbitMQ: addresses, the type of queues, whether messages are persistent. Pure."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import unquote, urlsplit

from pydantic import Field

from tidegauge.config.source import Source, validate
from tidegauge.durability import NODES_FOR_REPLICATION
from tidegauge.errors import did_you_mean
from tidegauge.model.level import LevelChoice
from tidegauge.model.workload import ClientSettings
from tidegauge.systems.omb import IN_FLIGHT_MESSAGES_MAX, DriverFields, DriverTerms, KeysOfForks, OmbDriver, secret_of

QUEUE_TYPES = ("CLASSIC", "QUORUM", "STREAM")
_USER = "guest"  # RabbitMQ's own default, which OMB's client uses where an address names nobody.
_PORTS = {"amqp": (5672, "http", 15672), "amqps": (5671, "https", 15671)}
_CREATION = ("producerCreationDelay", "producerCreationBatchSize", "consumerCreationDelay", "consumerCreationBatchSize")


OF_FORKS = KeysOfForks(
    noted={
        "exclusive": "queues are read by every load generator that has consumers of them",
        "routingKeyLength": "each queue is sent to by its own name",
        "singleNode": "queues are led by the nodes that the cluster chooses",
    },
    refused={
        "brokers": "hosts alone name no user: write 'amqpUris: [amqp://USER:PASSWORD@HOST]', each host once",
        "exchangeType": "messages go to queues by their names, whatever exchange a fork had: leave it out",
    },
)


class _RabbitDriverFile(DriverFields):
    amqp_uris: Annotated[list[str], Field(min_length=1)]
    topic_prefix: str = ""
    message_persistence: bool = False
    queue_type: Any = "CLASSIC"
    producer_creation_delay: Annotated[int, Field(ge=0)] = 100
    producer_creation_batch_size: Annotated[int, Field(ge=1)] = 5
    consumer_creation_delay: Annotated[int, Field(ge=0)] = 100
    consumer_creation_batch_size: Annotated[int, Field(ge=1)] = 5


def _read_driver_file(source: Source, managed: bool) -> DriverTerms | None:
    data, notes = OF_FORKS.take_from(source)
    if "brokerAddress" in data:
        address = data.pop("brokerAddress")
        data.setdefault("amqpUris", [f"amqp://{address}"])
        notes.append(
            f"brokerAddress, which OMB had before amqpUris, is one address: amqp://{_USER}@HOST, at the usual port."
            if "amqpUris" not in source.data
            else "brokerAddress has no effect beside amqpUris."
        )
    file = validate(_RabbitDriverFile, data, source, ())
    if file is None:
        return None
    if file.queue_type not in QUEUE_TYPES:
        near = did_you_mean(str(file.queue_type), list(QUEUE_TYPES))
        source.complain(("queueType",), f"'{file.queue_type}': must be one of {', '.join(QUEUE_TYPES)}{near}")
    addresses, management, user, password = _split_uris(file.amqp_uris, source)
    secret = secret_of(password)
    if file.queue_type == "STREAM" and not managed:
        source.complain(
            ("queueType",),
            "streams are read over their own protocol, whose address the file does not name: use a campaign with "
            "'attach.stream-uris', or --managed",
        )
    if source.problems:
        return None
    nodes = 1 if len(file.amqp_uris) < NODES_FOR_REPLICATION else len(file.amqp_uris)
    # The form of queue that the file asks for, at the level that it gives on so many nodes. A quorum queue of an
    # attached cluster has as many members as the cluster's nodes allow, up to three, as OMB's has.
    several = nodes >= NODES_FOR_REPLICATION or not managed
    if file.queue_type == "QUORUM":
        level = LevelChoice(1 if several else 3, "quorum", as_found=not managed)
    elif file.queue_type == "STREAM":
        level = LevelChoice(2 if several else 4, "stream", as_found=not managed)
    else:
        # What a persistent message in a classic queue waits for depends on the version, which the cluster reports.
        level = LevelChoice(4, "classic" if file.message_persistence else "transient", as_found=True)
    return DriverTerms(
        level=level,
        nodes=nodes,
        addresses={"uris": ",".join(addresses), "management-url": ",".join(management)},
        client=ClientSettings(in_flight_messages_max=IN_FLIGHT_MESSAGES_MAX),
        user=user,
        password="" if secret else password,
        auth={} if secret is None or managed else {"method": "password", "user": user, "password": secret},
        topic_prefix=file.topic_prefix,
        notes=(*notes, *_notes_on_file(file, source, management, managed)),
        kept={**data, "amqpUris": addresses},
    )


def _split_uris(uris: list[str], source: Source) -> tuple[list[str], list[str], str, str]:
    """Addresses without user and password, those of the management plugin, user and password (of the first)."""
    addresses, management, credentials = [], [], set()
    for index, uri in enumerate(uris):
        try:
            parts = urlsplit(uri)
            host, port = parts.hostname, parts.port
        except ValueError:
            host = None
        # A '/', '?' or '#' in a password ends the part that names user and host: the rest of it would be taken for
        # something else, and kept.
        if host is None or parts.scheme not in _PORTS or "@" in parts.path or parts.query or parts.fragment:
            # The address is not repeated: it may hold a password.
            source.complain(
                ("amqpUris", index),
                "must be an address such as amqp://host:5672; in a user's name or password '/', '?' and '#' are "
                "written %2F, %3F and %23",
            )
            continue
        usual, scheme, management_port = _PORTS[parts.scheme]
        host_text = f"[{host}]" if ":" in host else host
        addresses.append(f"{parts.scheme}://{host_text}:{port or usual}{parts.path}")
        management.append(f"{scheme}://{host_text}:{management_port}")
        credentials.add((unquote(parts.username or _USER), unquote(parts.password or _USER)))
    if len(credentials) > 1:
        source.complain(("amqpUris",), "must name the same user and password in every address")
    user, password = next(iter(credentials), (_USER, _USER))
    return addresses, management, user, password


def _notes_on_file(file: _RabbitDriverFile, source: Source, management: list[str], managed: bool) -> list[str]:
    notes = []
    creation_keys = [key for key in _CREATION if key in source.data]
    if creation_keys:
        notes.append(
            f"{', '.join(creation_keys)}: no effect here, clients are made one after the other before the load."
        )
    if not managed:
        notes.append(
            f"The management plugin is looked for at {', '.join(management)}, its usual port: without it there is "
            "no way to know what a queue really is."
        )
    if file.queue_type == "QUORUM" and not file.message_persistence:
        notes.append("messagePersistence: false has no effect: a quorum queue writes every message to disk.")
    return notes


OMB = OmbDriver("io.openmessaging.benchmark.driver.rabbitmq.RabbitMqBenchmarkDriver", "rabbitmq", _read_driver_file)
