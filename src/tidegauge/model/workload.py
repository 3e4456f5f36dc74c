"""The workload: what is sent, by whom, to whom, and how the clients are set. Parsed once, never changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Arrival(StrEnum):
    """How intended send times are spaced."""

    UNIFORM = "uniform"
    POISSON = "poisson"
    CLOSED_LOOP = "closed-loop"


class Keys(StrEnum):
    """How message keys are chosen."""

    NONE = "none"
    ROUND_ROBIN = "round-robin"
    RANDOM = "random"


class SubscriptionType(StrEnum):
    """Who receives a subscription's messages, and in which order (docs/methodology.md says what is checked)."""

    BY_PARTITION = "by-partition"
    """Each partition is read by one consumer, in order: what users of each system have by default."""
    EXCLUSIVE = "exclusive"
    FAILOVER = "failover"
    SHARED = "shared"
    KEY_SHARED = "key-shared"


class Compression(StrEnum):
    """Batch compression by the producer's client."""

    NONE = "none"
    LZ4 = "lz4"
    ZSTD = "zstd"
    SNAPPY = "snappy"
    GZIP = "gzip"


HEADER_BYTES = 48
MESSAGE_BYTES_MAX = 1 << 20
IN_FLIGHT_BYTES_MAX = 32 << 20
"""Values of messages in flight over all producers, where nobody says more; the same bound for every system."""
IN_FLIGHT_BYTES_MOST = 8 << 30
"""The same where `in-flight` is said: the load generator's memory follows from it (`campaign.worker_memory`)."""
IN_FLIGHT_MESSAGES_MOST = 1 << 20
"""Messages in flight over all producers: the worker keeps a place for each."""


@dataclass(frozen=True)
class Payload:
    """Message values. `message_bytes` counts the header; `random_share` 0..1 of the body can't be compressed."""

    message_bytes: int = 1024
    random_share: float = 1.0
    file: str = ""
    pool_bodies: int = 256


@dataclass(frozen=True)
class ClientSettings:
    """The neutral block: the same client behaviour for every system compared.

    `in_flight_bytes_max` bounds the values of messages in flight over all producers.
    """

    batch_bytes_max: int = 131072
    batch_delay_ms_max: float = 1.0
    compression: Compression = Compression.NONE
    in_flight_messages_max: int = 5000
    receive_queue_messages: int = 5000
    connections_per_broker: int = 1
    in_flight_bytes_max: int = IN_FLIGHT_BYTES_MAX


@dataclass(frozen=True)
class Workload:
    """Topics, partitions, subscriptions, producers, consumers (the last two for each topic / subscription).

    Without producers consumers read `existing_topics`, which others made and keep; without subscriptions nobody reads.
    """

    topics: int = 1
    partitions: int = 1
    producers: int = 1
    subscriptions: int = 1
    consumers: int = 1
    payload: Payload = field(default_factory=Payload)
    keys: Keys = Keys.NONE
    distinct_keys: int = 10_000
    arrival: Arrival = Arrival.UNIFORM
    client: ClientSettings = field(default_factory=ClientSettings)
    producer_overrides: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By system name: the client's own settings, which win over the neutral block."""
    consumer_overrides: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    subscription_type: SubscriptionType = SubscriptionType.BY_PARTITION
    existing_topics: tuple[str, ...] = ()

    def in_flight_messages(self) -> int:
        """Unacknowledged messages of each producer, at most: as set, within the bounds over all of them."""
        producers = max(1, self.topics * self.producers)
        fit = self.client.in_flight_bytes_max // (producers * self.payload.message_bytes)
        return max(1, min(self.client.in_flight_messages_max, fit, IN_FLIGHT_MESSAGES_MOST // producers))

    def window_messages(self) -> int:
        """The same of all producers together: at a rate of R msg/s it is full once acknowledgements take this / R s."""
        return self.in_flight_messages() * max(1, self.topics * self.producers)

    def window_bytes(self) -> int:
        """Values of these messages."""
        return self.window_messages() * self.payload.message_bytes
