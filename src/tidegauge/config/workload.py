"""A workload from a file or from the campaign that holds it, checked and frozen."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from tidegauge.config.fields import (
    Duration,
    Fields,
    Size,
    duration_between,
    member_of,
    quantity_between,
    size_between,
)
from tidegauge.config.message_files import LINES_SUFFIXES, find_file, kind_of_given, parse_key_file, sizes_of_given
from tidegauge.config.source import KeyPath, Source, validate
from tidegauge.config.units import parse_absolute_rate, parse_duration_s, parse_share, parse_size_bytes
from tidegauge.errors import did_you_mean
from tidegauge.model.message_sizes import (
    HEADER_BYTES,
    MESSAGE_BYTES_MAX,
    POOL_BYTES_MAX,
    SHARE_OFF_MAX,
    MessageSizes,
    SizeKind,
)
from tidegauge.model.processing import PROCESSING_S_MAX, Processing, ProcessingKind
from tidegauge.model.workload import (
    CHECKED_BYTES,
    IN_FLIGHT_BYTES_MAX,
    IN_FLIGHT_BYTES_MOST,
    NAMED_BYTES,
    Arrival,
    ClientSettings,
    Compression,
    KeyFile,
    Keys,
    Payload,
    SubscriptionType,
    Workload,
)
from tidegauge.numbers import percent, plural, size, trimmed

COUNT_MAX = 10_000_000
"""Only catches a slip of the pen: what a load generator and its host can hold decides (`campaign.plan`)."""
Count = Annotated[int, Field(ge=1, le=COUNT_MAX)]
TopicName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._/:-]{0,248}$")]
KEY_ORDER_BYTES_MAX = 64 << 20
"""What the worker may hold to check the order of each key: 8 bytes for each key, producer and consumer."""


_PROCESSING = re.compile(
    r"(?:(?P<kind>[a-z]+) +)?(?P<time>[\d.]+ *[a-z]+)(?: +p99 +(?P<p99>[\d.]+ *[a-z]+))?(?P<on_cpu> +on +(?:CPU|cpu))?"
)
_WITH_P99 = (ProcessingKind.LOGNORMAL, ProcessingKind.PARETO)


def parse_processing(value: object) -> Processing:
    """Processing times from "20ms", "exponential 20ms", "lognormal 5ms p99 100ms" or "pareto 5ms p99 100ms on CPU"."""
    words = _PROCESSING.fullmatch(value.strip()) if isinstance(value, str) else None
    if words is None:
        raise ValueError(
            "must be a time such as 20ms, 'exponential 20ms', 'lognormal 5ms p99 100ms' or 'pareto 5ms p99 100ms', for "
            "which consumers wait, or compute with ' on CPU' behind it"
        )
    kinds = [kind.value for kind in ProcessingKind]
    kind_word = words["kind"] or ProcessingKind.CONSTANT
    if kind_word not in kinds:
        raise ValueError(f"must begin with a time or one of {', '.join(kinds)}{did_you_mean(kind_word, kinds)}")
    kind = ProcessingKind(kind_word)
    if bool(words["p99"]) != (kind in _WITH_P99):
        raise ValueError(f"{kind} takes {'its median and a p99' if kind in _WITH_P99 else 'one time, its mean'}")
    p99_s = parse_duration_s(words["p99"]) if words["p99"] else 0.0
    processing = Processing(kind, parse_duration_s(words["time"]), p99_s, on_cpu=bool(words["on_cpu"]))
    if not 1e-6 <= processing.time_s <= (processing.p99_s or PROCESSING_S_MAX) <= PROCESSING_S_MAX:
        raise ValueError(f"takes times from 1us to {trimmed(PROCESSING_S_MAX)}s")
    if processing.p99_s and processing.p99_s < 1.01 * processing.time_s:
        raise ValueError("must have a p99 above its median")
    return processing


def parse_consumer_rate(value: object) -> float:
    """Messages a second that a consumer takes at most, no fewer than one that processes each as long as may be."""
    msgs_per_s = parse_absolute_rate(value)
    if msgs_per_s < 1 / PROCESSING_S_MAX:
        raise ValueError(f"must be {trimmed(1 / PROCESSING_S_MAX)} messages a second or more")
    return msgs_per_s


_LOGNORMAL = re.compile(r"lognormal +(?P<median>[\d.]+ *[a-z]+) +p99 +(?P<p99>[\d.]+ *[a-z]+)", re.IGNORECASE)
_SIZES_MAX = 100
_SIZE_RANGE = f"{HEADER_BYTES}B to {size(MESSAGE_BYTES_MAX).replace(' ', '')}"


def parse_message_size(value: object) -> int | MessageSizes:
    """A size such as "1KiB", or several: {100B: 70%, 1KiB: 30%}, "100B 70%, 1KiB 30%" or "lognormal 1KiB p99 64KiB"."""
    if isinstance(value, Mapping):
        return _mixed_sizes(list(value.items()))
    if isinstance(value, str) and "%" in value:
        return _mixed_sizes([tuple(part.rsplit(maxsplit=1)) for part in value.split(",")])
    if isinstance(value, str) and value.lower().startswith("lognormal"):
        words = _LOGNORMAL.fullmatch(value.strip())
        if words is None:
            raise ValueError("must have a median and a p99, such as 'lognormal 1KiB p99 64KiB'")
        median_bytes, p99_bytes = map(parse_size_bytes, (words["median"], words["p99"]))
        if not HEADER_BYTES <= median_bytes < p99_bytes <= MESSAGE_BYTES_MAX:
            raise ValueError(f"must have a p99 above its median, both of {_SIZE_RANGE}")
        return MessageSizes(SizeKind.LOGNORMAL, median_bytes=median_bytes, p99_bytes=p99_bytes)
    return quantity_between("1B", "20MiB", parse_size_bytes)(parse_size_bytes(value))


def _mixed_sizes(parts: Sequence[tuple[object, ...]]) -> MessageSizes:
    """Sizes with their shares, as people write them. Raises `ValueError`."""
    if not 1 <= len(parts) <= _SIZES_MAX or any(len(part) != 2 for part in parts):
        raise ValueError(f"must be sizes with their shares, such as {{100B: 70%, 1KiB: 30%}}, {_SIZES_MAX} at most")
    share_by_size = {parse_size_bytes(of_size): parse_share(share) for of_size, share in parts}
    if len(share_by_size) < len(parts):
        raise ValueError("names a size twice")
    return mixed_sizes(share_by_size)


def mixed_sizes(share_by_size: Mapping[int, float]) -> MessageSizes:
    """A mix of sizes in bytes, checked. Raises `ValueError` with the reason why there can be no such mix."""
    sizes_bytes = tuple(sorted(share_by_size))
    shares = tuple(share_by_size[size_bytes] for size_bytes in sizes_bytes)
    if abs(sum(shares) - 1) > 1e-6 or min(shares) <= 0:
        raise ValueError(f"shares must be above 0% and 100% together, and are {percent(sum(shares))}")
    if sizes_bytes[0] < HEADER_BYTES or sizes_bytes[-1] > MESSAGE_BYTES_MAX:
        raise ValueError(f"of several sizes each must be {_SIZE_RANGE}: a message says of itself what is checked")
    sizes = MessageSizes(SizeKind.MIXED, sizes_bytes, shares)
    if sizes.share_off_most() > SHARE_OFF_MAX:
        raise ValueError(
            f"only {plural(len(sizes.pool_bytes()), 'message')} of this mix fit in the {size(POOL_BYTES_MAX)} that a "
            "load generator keeps, too few for such a share; write a larger share or a smaller size"
        )
    return sizes


class WorkloadFields(Fields):
    """The keys of a workload. Producers are for each topic, consumers for each subscription of each topic."""

    topics: Count = 1
    partitions: Count = 1
    producers: Annotated[int, Field(ge=0, le=COUNT_MAX)] = 1
    subscriptions: Annotated[int, Field(ge=0, le=100)] = 1
    consumers: Count = 1
    message_size: Annotated[int | MessageSizes, BeforeValidator(parse_message_size)] = 1024
    random_share: Annotated[float, Field(ge=0, le=1)] = 1.0
    payload_file: str = ""
    payload_bodies: Annotated[int, Field(ge=1, le=65_536)] = 0
    keys: Annotated[Keys, member_of(Keys)] = Keys.NONE
    distinct_keys: Annotated[int, Field(ge=1, le=100_000_000)] = 10_000
    zipf_exponent: Annotated[float, Field(gt=0, le=10)] = 0.99
    key_file: str = ""
    arrival: Annotated[Arrival, member_of(Arrival, frozenset({"closed-loop"}))] = Arrival.UNIFORM
    batch_size: Annotated[Size, size_between("1B", "16MiB")] = 131_072
    batch_delay: Annotated[Duration, duration_between("0ms", "10s")] = 0.001
    compression: Annotated[Compression, member_of(Compression)] = Compression.NONE
    in_flight: Annotated[int, Field(ge=1, le=1_000_000)] = 5000
    receive_queue: Annotated[int, Field(ge=1, le=1_000_000)] = 5000
    connections: Annotated[int, Field(ge=1, le=64)] = 1
    subscription_type: Annotated[SubscriptionType, member_of(SubscriptionType)] = SubscriptionType.BY_PARTITION
    processing: Annotated[Processing | None, BeforeValidator(parse_processing)] = None
    consumer_rate: Annotated[float, BeforeValidator(parse_consumer_rate)] = 0.0
    existing_topics: Annotated[list[TopicName], Field(max_length=COUNT_MAX)] = Field(default_factory=list)


def parse_workload(data: Mapping[str, Any], source: Source, at: KeyPath, beside: Sequence[str] = ()) -> Workload | None:
    """The workload held by `data`, or None after noting what is wrong in `source`. `beside`: see `validate`."""
    fields = validate(WorkloadFields, data, source, at, beside=beside)
    if fields is None:
        return None
    before = len(source.problems)
    payload = _parse_payload(fields, data, source, at)
    key_file = parse_key_file(fields.key_file, source, (*at, "key-file")) if fields.key_file else None
    if key_file is not None:
        fields = fields.model_copy(update={"distinct_keys": key_file.distinct})
    check_roles(fields, data, source, at)
    if (
        payload is not None
        and fields.producers
        and (
            must_be := size_for_checks(
                payload.message_bytes, fields.existing_topics, fields.producers, fields.consumers
            )
        )
    ):
        source.complain((*at, "message-size"), f"'{payload.message_bytes}B': must be {must_be}")
    if payload is None or len(source.problems) > before:
        return None
    return _to_workload(fields, payload, key_file)


def _parse_payload(fields: WorkloadFields, data: Mapping[str, Any], source: Source, at: KeyPath) -> Payload | None:
    """Message values as the keys say them together; None after noting what is wrong in `source`."""
    path = find_file(fields.payload_file, source, (*at, "payload-file"), or_directory=True)
    if path is None:
        return None
    sizes = fields.message_size if isinstance(fields.message_size, MessageSizes) else None
    given = kind_of_given(path)
    if given is not None:
        for key in ("message-size", "random-share", "payload-bodies"):
            if key in data:
                source.complain(
                    (*at, key), f"can't be given beside a payload-file of {given}, which are messages as they are"
                )
        sizes = sizes_of_given(given, Path(path), source, (*at, "payload-file"))
        if sizes is None:
            return None
    elif sizes is not None and path:
        source.complain(
            (*at, "message-size"),
            f"several sizes take generated bodies, or a payload-file of lines ({LINES_SUFFIXES[0]}) or a directory",
        )
        return None
    message_bytes = round(sizes.mean_bytes) if sizes else fields.message_size
    assert isinstance(message_bytes, int)
    if fields.payload_bodies > (most := bodies_most(message_bytes)):
        source.complain(
            (*at, "payload-bodies"),
            f"'{fields.payload_bodies}': of messages of {size(message_bytes)} at most {most:,} are kept, which "
            f"are {size(POOL_BYTES_MAX)}",
        )
    return Payload(message_bytes, fields.random_share, path, fields.payload_bodies, sizes)


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
    if not (fields.producers and fields.subscriptions):
        if fields.processing is not None:
            source.complain((*at, "processing"), "needs producers and subscriptions: without them nothing is processed")
        if fields.consumer_rate:
            source.complain((*at, "consumer-rate"), "needs producers and subscriptions: without them it limits nobody")
    _check_keys(fields, data, source, at)
    _check_subscriptions(fields, data, source, at)


ZIPF_KEYS_MAX = 1_000_000
"""The worker keeps 12 bytes of each to draw from."""


def _check_keys(fields: WorkloadFields, data: Mapping[str, Any], source: Source, at: KeyPath) -> None:
    if fields.keys is not Keys.ZIPF and "zipf-exponent" in data:
        source.complain((*at, "zipf-exponent"), "needs 'keys: zipf'")
    if fields.keys is not Keys.FROM_FILE and fields.key_file:
        source.complain((*at, "key-file"), "needs 'keys: from-file'")
    if fields.keys is Keys.FROM_FILE and not fields.key_file:
        source.complain((*at, "keys"), "'from-file': name the file in 'key-file'; each of its lines is a message's key")
    if fields.keys is Keys.FROM_FILE and "distinct-keys" in data:
        source.complain((*at, "distinct-keys"), "can't be given beside a key-file, whose lines are the keys")
    if fields.keys is Keys.ZIPF and fields.distinct_keys > ZIPF_KEYS_MAX:
        source.complain((*at, "distinct-keys"), f"'{fields.distinct_keys}': zipf takes up to {ZIPF_KEYS_MAX:,}")


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
        source.complain(key, "'key-shared' needs messages with keys: 'keys: round-robin', 'random' or another")
    needed = 8 * fields.distinct_keys * fields.topics * fields.producers * fields.consumers * fields.subscriptions
    if needed > KEY_ORDER_BYTES_MAX:
        most = KEY_ORDER_BYTES_MAX // 8
        source.complain(
            (*at, "key-file" if fields.key_file else "distinct-keys"),
            f"'{fields.distinct_keys}': key-shared keeps the order of each key for each producer and consumer; keys "
            f"times producers times consumers may be {most:,} at most, and are {needed // 8:,}",
        )


def bodies_most(message_bytes: int) -> int:
    """How many different bodies a load generator keeps of messages of this size."""
    return max(1, POOL_BYTES_MAX // max(1, message_bytes - HEADER_BYTES))


_SAME = {"partitions", "producers", "subscriptions", "consumers", "keys", "distinct_keys", "arrival"}
"""What a workload has as it is written."""


def _to_workload(fields: WorkloadFields, payload: Payload, key_file: KeyFile | None) -> Workload:
    return Workload(
        **fields.model_dump(include=_SAME),
        topics=len(fields.existing_topics) or fields.topics,
        payload=payload,
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
        zipf_exponent=fields.zipf_exponent if fields.keys is Keys.ZIPF else 0.0,
        key_file=key_file,
        existing_topics=tuple(fields.existing_topics),
        processing=fields.processing,
        consumer_msgs_per_s_max=fields.consumer_rate,
    )
