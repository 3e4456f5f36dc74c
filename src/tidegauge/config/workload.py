"""A workload from a file or from the campaign that holds it, checked and frozen."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from tidegauge.config.fields import Duration, Fields, Size, duration_between, member_of, size_between
from tidegauge.config.source import KeyPath, Source, validate
from tidegauge.config.units import parse_duration_s
from tidegauge.errors import did_you_mean
from tidegauge.model.processing import PROCESSING_S_MAX, Processing, ProcessingKind
from tidegauge.model.workload import (
    CHECKED_BYTES,
    HEADER_BYTES,
    IN_FLIGHT_BYTES_MAX,
    IN_FLIGHT_BYTES_MOST,
    NAMED_BYTES,
    POOL_BYTES_MAX,
    Arrival,
    ClientSettings,
    Compression,
    Keys,
    Payload,
    SubscriptionType,
    Workload,
)
from tidegauge.numbers import size
from tidegauge.places import is_file

COUNT_MAX = 10_000_000
"""Only catches a slip of the pen: what a load generator and its host can hold decides (`campaign.plan`)."""
Count = Annotated[int, Field(ge=1, le=COUNT_MAX)]
TopicName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._/:-]{0,248}$")]
KEY_ORDER_BYTES_MAX = 64 << 20
"""What the worker may hold to check the order of each key: 8 bytes for each key, producer and consumer."""


_PROCESSING = re.compile(r"(?:(?P<kind>[a-z]+) +)?(?P<time>[\d.]+ *[a-z]+)(?: +p99 +(?P<p99>[\d.]+ *[a-z]+))?")
_WITH_P99 = (ProcessingKind.LOGNORMAL, ProcessingKind.PARETO)


def parse_processing(value: object) -> Processing:
    """Processing times from "20ms", "exponential 20ms", "lognormal 5ms p99 100ms" or "pareto 5ms p99 100ms"."""
    words = _PROCESSING.fullmatch(value.strip()) if isinstance(value, str) else None
    if words is None:
        raise ValueError(
            "must be a time such as 20ms, 'exponential 20ms', 'lognormal 5ms p99 100ms' or 'pareto 5ms p99 100ms'"
        )
    kinds = [kind.value for kind in ProcessingKind]
    kind_word = words["kind"] or ProcessingKind.CONSTANT
    if kind_word not in kinds:
        raise ValueError(f"must begin with a time or one of {', '.join(kinds)}{did_you_mean(kind_word, kinds)}")
    kind = ProcessingKind(kind_word)
    if bool(words["p99"]) != (kind in _WITH_P99):
        raise ValueError(f"{kind} takes {'its median and a p99' if kind in _WITH_P99 else 'one time, its mean'}")
    processing = Processing(kind, *map(parse_duration_s, filter(None, (words["time"], words["p99"]))))
    if not 1e-6 <= processing.time_s <= (processing.p99_s or PROCESSING_S_MAX) <= PROCESSING_S_MAX:
        raise ValueError(f"takes times from 1us to {PROCESSING_S_MAX:g}s")
    if processing.p99_s and processing.p99_s < 1.01 * processing.time_s:
        raise ValueError("must have a p99 above its median")
    return processing


class WorkloadFields(Fields):
    """The keys of a workload. Producers are for each topic, consumers for each subscription of each topic."""

    topics: Count = 1
    partitions: Count = 1
    producers: Annotated[int, Field(ge=0, le=COUNT_MAX)] = 1
    subscriptions: Annotated[int, Field(ge=0, le=100)] = 1
    consumers: Count = 1
    message_size: Annotated[Size, size_between("1B", "20MiB")] = 1024
    random_share: Annotated[float, Field(ge=0, le=1)] = 1.0
    payload_file: str = ""
    payload_bodies: Annotated[int, Field(ge=1, le=65_536)] = 0
    keys: Annotated[Keys, member_of(Keys)] = Keys.NONE
    distinct_keys: Annotated[int, Field(ge=1, le=100_000_000)] = 10_000
    arrival: Annotated[Arrival, member_of(Arrival, frozenset({"closed-loop"}))] = Arrival.UNIFORM
    batch_size: Annotated[Size, size_between("1B", "16MiB")] = 131_072
    batch_delay: Annotated[Duration, duration_between("0ms", "10s")] = 0.001
    compression: Annotated[Compression, member_of(Compression)] = Compression.NONE
    in_flight: Annotated[int, Field(ge=1, le=1_000_000)] = 5000
    receive_queue: Annotated[int, Field(ge=1, le=1_000_000)] = 5000
    connections: Annotated[int, Field(ge=1, le=64)] = 1
    subscription_type: Annotated[SubscriptionType, member_of(SubscriptionType)] = SubscriptionType.BY_PARTITION
    processing: Annotated[Processing | None, BeforeValidator(parse_processing)] = None
    existing_topics: Annotated[list[TopicName], Field(max_length=COUNT_MAX)] = Field(default_factory=list)


def parse_workload(data: Mapping[str, Any], source: Source, at: KeyPath, beside: Sequence[str] = ()) -> Workload | None:
    """The workload held by `data`, or None after noting what is wrong in `source`. `beside`: see `validate`."""
    fields = validate(WorkloadFields, data, source, at, beside=beside)
    if fields is None:
        return None
    payload_file = _find_payload(fields.payload_file, source, at)
    before = len(source.problems)
    most = bodies_most(fields.message_size)
    if fields.payload_bodies > most:
        source.complain(
            (*at, "payload-bodies"),
            f"'{fields.payload_bodies}': of messages of {size(fields.message_size)} at most {most:,} are kept, which "
            f"are {size(POOL_BYTES_MAX)}",
        )
    check_roles(fields, data, source, at)
    if fields.producers and (
        must_be := size_for_checks(fields.message_size, fields.existing_topics, fields.producers, fields.consumers)
    ):
        source.complain((*at, "message-size"), f"'{fields.message_size}B': must be {must_be}")
    if payload_file is None or len(source.problems) > before:
        return None
    return _to_workload(fields, payload_file)


def parse_workload_file(source: Source) -> Workload | None:
    """The workload of a file that was read, or None after noting what is wrong in `source`."""
    of_file = ("name", "description")
    return parse_workload({key: value for key, value in source.data.items() if key not in of_file}, source, (), of_file)


def check_roles(fields: WorkloadFields, data: Mapping[str, Any], source: Source, at: KeyPath) -> None:
    """Notes in `source` what of producers, subscriptions and topics does not go together."""
    if not fields.producers and not fields.subscriptions:
        source.complain((*at, "producers"), "'0': without producers and subscriptions there is nothing to measure")
    elif not fields.producers and not fields.existing_topics:
        source.complain(
            (*at, "producers"), "'0': then consumers read topics that others fill: name them in 'existing-topics'"
        )
    for key in ("topics", "partitions"):
        if fields.existing_topics and key in data:
            source.complain((*at, key), "can't be given beside 'existing-topics', whose partitions are as they are")
    if len(set(fields.existing_topics)) < len(fields.existing_topics):
        source.complain((*at, "existing-topics"), "names a topic twice")
    if fields.processing is not None and not (fields.producers and fields.subscriptions):
        source.complain((*at, "processing"), "needs producers and subscriptions: without them nothing is processed")
    _check_subscriptions(fields, data, source, at)


def size_for_checks(message_bytes: int, existing_topics: Sequence[str], producers: int, consumers: int) -> str:
    """What size messages must have that so many clients send and receive, where these are too short; else "".

    What is sent with less than a whole header can't always be told from what others sent.
    """
    if existing_topics and message_bytes < CHECKED_BYTES:
        return f"{CHECKED_BYTES}B or more, else they can't be told from others' in topics that are there"
    if message_bytes < NAMED_BYTES and (producers > 1 or consumers > 1):
        return f"{NAMED_BYTES}B or more with several producers or consumers, since shorter ones name no producer"
    return ""


def _check_subscriptions(fields: WorkloadFields, data: Mapping[str, Any], source: Source, at: KeyPath) -> None:
    kind = fields.subscription_type
    key = (*at, "subscription-type")
    if not fields.subscriptions:
        for name in ("consumers", "subscription-type"):
            if name in data:
                source.complain((*at, name), "has no effect with 'subscriptions: 0': nobody reads; leave it out")
        return
    if kind is SubscriptionType.EXCLUSIVE and fields.consumers > 1:
        source.complain(key, "'exclusive': a subscription then has one consumer; write 'consumers: 1', or 'failover'")
    if kind is not SubscriptionType.KEY_SHARED or not fields.producers:
        return
    if fields.keys is Keys.NONE:
        source.complain(key, "'key-shared' needs messages with keys: 'keys: round-robin' or 'random'")
    needed = 8 * fields.distinct_keys * fields.topics * fields.producers * fields.consumers * fields.subscriptions
    if needed > KEY_ORDER_BYTES_MAX:
        most = KEY_ORDER_BYTES_MAX // 8
        source.complain(
            (*at, "distinct-keys"),
            f"'{fields.distinct_keys}': key-shared keeps the order of each key for each producer and consumer; keys "
            f"times producers times consumers may be {most:,} at most, and are {needed // 8:,}",
        )


def _find_payload(name: str, source: Source, at: KeyPath) -> str | None:
    """The payload file's absolute path; "" for none; None after a complaint."""
    if not name:
        return ""
    path = source.place_of((*at, "payload-file"), name)
    if path is None:
        return None
    if is_file(path) and path.stat().st_size > 0:
        return str(path)
    problem = "it is empty" if is_file(path) else "it is no file" if path.exists() else "there is no such file"
    source.complain((*at, "payload-file"), f"'{name}': {problem} (looked for {path})")
    return None


def bodies_most(message_bytes: int) -> int:
    """How many different bodies a load generator keeps of messages of this size."""
    return max(1, POOL_BYTES_MAX // max(1, message_bytes - HEADER_BYTES))


_SAME = {"partitions", "producers", "subscriptions", "consumers", "keys", "distinct_keys", "arrival"}
"""What a workload has as it is written."""


def _to_workload(fields: WorkloadFields, payload_file: str) -> Workload:
    return Workload(
        **fields.model_dump(include=_SAME),
        topics=len(fields.existing_topics) or fields.topics,
        payload=Payload(
            message_bytes=fields.message_size,
            random_share=fields.random_share,
            file=payload_file,
            pool_bodies=fields.payload_bodies,
        ),
        client=ClientSettings(
            batch_bytes_max=fields.batch_size,
            batch_delay_ms_max=fields.batch_delay * 1000,
            compression=fields.compression,
            in_flight_messages_max=fields.in_flight,
            receive_queue_messages=fields.receive_queue,
            connections_per_broker=fields.connections,
            in_flight_bytes_max=IN_FLIGHT_BYTES_MOST if "in_flight" in fields.model_fields_set else IN_FLIGHT_BYTES_MAX,
        ),
        subscription_type=fields.subscription_type,
        existing_topics=tuple(fields.existing_topics),
        processing=fields.processing,
    )
