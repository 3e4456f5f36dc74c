"""The load of a trial: workload, rate schedule and late readers.

Terms: *before* is the time with the backlog still growing, *during* the time from the late readers' start until their
backlog is gone, *after* the time that is measured then. A second belongs to the phase in which its middle lies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import fsum

from tidegauge.model.message_sizes import MessageSizes
from tidegauge.model.processing import Processing
from tidegauge.numbers import size, trimmed

RECORDS_MAX = 100


@dataclass(frozen=True)
class RatePhase:
    """A stretch of time in which the total rate goes evenly from one value to another. `record`: see `RateSchedule`."""

    from_msgs_per_s: float
    to_msgs_per_s: float
    length_s: float
    record: int

    def messages(self, from_s: float, until_s: float) -> float:
        """Messages due in a part of the phase."""
        bend = (self.to_msgs_per_s - self.from_msgs_per_s) / self.length_s / 2
        return self.from_msgs_per_s * (until_s - from_s) + bend * (until_s**2 - from_s**2)


@dataclass(frozen=True)
class RateSchedule:
    """What the rate does from the beginning of the measured window on; `warm_up_msgs_per_s` holds before it.

    Attributes:
        records: names of the records that latencies are kept in, one for each step or kind of phase.
        repeat: whether it begins anew after its last phase; else that one's last rate goes on.
    """

    phases: tuple[RatePhase, ...]
    records: tuple[str, ...]
    repeat: bool = False

    @property
    def length_s(self) -> float:
        """The length of all phases once."""
        return sum(phase.length_s for phase in self.phases)

    @property
    def warm_up_msgs_per_s(self) -> float:
        """The rate of the warm-up: the first; of a schedule that begins at 0 its mean, since silence warms nothing."""
        return self.phases[0].from_msgs_per_s or self.mean_msgs_per_s(self.length_s)

    @property
    def most_msgs_per_s(self) -> float:
        """The highest rate of any instant."""
        return max(max(phase.from_msgs_per_s, phase.to_msgs_per_s) for phase in self.phases)

    @property
    def least_msgs_per_s(self) -> float:
        """The lowest."""
        return min(min(phase.from_msgs_per_s, phase.to_msgs_per_s) for phase in self.phases)

    def due(self, measure_s: float) -> tuple[tuple[float, float], ...]:
        """For each record, messages due in the first `measure_s` seconds, and for how many seconds it is in force."""
        messages = [0.0] * len(self.records)
        seconds = [0.0] * len(self.records)
        whole, rest_s = divmod(measure_s, self.length_s) if self.repeat else (0.0, measure_s)
        for phase in self.phases if whole else ():
            messages[phase.record] += whole * phase.messages(0.0, phase.length_s)
            seconds[phase.record] += whole * phase.length_s
        for place, phase in enumerate(self.phases):
            last = not self.repeat and place == len(self.phases) - 1
            lasts_s = min(rest_s, phase.length_s)
            messages[phase.record] += phase.messages(0.0, lasts_s)
            seconds[phase.record] += lasts_s
            rest_s -= lasts_s
            if last and rest_s > 0:
                messages[phase.record] += phase.to_msgs_per_s * rest_s
                seconds[phase.record] += rest_s
        return tuple(zip(messages, seconds, strict=True))

    def mean_msgs_per_s(self, measure_s: float) -> float:
        """The mean rate over the first `measure_s` seconds."""
        return sum(messages for messages, _ in self.due(measure_s)) / measure_s


BEFORE, DURING, AFTER = "before", "during", "after"
PHASES = (BEFORE, DURING, AFTER)
FROM_DEVICE_SHARE_MIN = 0.5
"""Below this share of the backlog read from the device, it was served from memory for the most part."""

FROM_DEVICE_BYTES_MIN = 16 << 20
"""Fewer bytes may be servers' own program code, read when it is first used (7 MB were seen)."""


@dataclass(frozen=True)
class LateReaders:
    """Which subscriptions read late, and when.

    Attributes:
        subscriptions: the last so many of each topic.
        backlog_msgs: acknowledged messages that wait for each of them when they begin to read.
        rule: the backlog as the campaign words it ("2GiB", "500k messages").
        drained_share: the backlog counts as gone when this share of it is.
        chase_s_max: how long they may take to get there.
    """

    subscriptions: int
    backlog_msgs: int
    rule: str
    drained_share: float
    chase_s_max: float


@dataclass(frozen=True)
class ServerLimits:
    """What servers of a trial may use, so that a backlog does not fit into memory on a large machine.

    Attributes:
        memory_bytes: of each server process, page cache included; None = no limit.
        direct_io: their data is on a disk of its own (a loop device) whose file this machine does not cache as well.
    """

    memory_bytes: int | None = None
    direct_io: bool = False


@dataclass(frozen=True)
class DeviceReads:
    """What the server processes read from block devices while the backlog was read, as the kernel counts it for each.

    Attributes:
        read_bytes: in the phase *during*; None where that can't be known, then `unknown` says why.
        usual_bytes_per_s: what they read in the phase *before*, which has nothing to do with the backlog.
        backlog_bytes: message values that waited when the readers began.
        seconds: length of the phase.
    """

    read_bytes: int | None
    usual_bytes_per_s: float
    backlog_bytes: int
    seconds: float
    unknown: str = ""

    @property
    def share(self) -> float | None:
        """Bytes read, without the usual ones, as a share of the backlog's bytes; it may be above 1. None if unknown."""
        if self.read_bytes is None or not self.backlog_bytes:
            return None
        return max(0.0, self.read_bytes - self.usual_bytes_per_s * self.seconds) / self.backlog_bytes

    @property
    def from_device(self) -> bool:
        """Whether the backlog was read from the device for the most part; of a very small one that is not known."""
        share = self.share
        if share is None:
            return False
        return share >= FROM_DEVICE_SHARE_MIN and share * self.backlog_bytes >= FROM_DEVICE_BYTES_MIN


def late_names(subscriptions: int, late: LateReaders | None) -> Sequence[str]:
    """Names of the subscriptions that read late, as the load generator calls them."""
    return [f"sub-{number}" for number in range(subscriptions - late.subscriptions, subscriptions)] if late else []


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
    ZIPF = "zipf"
    FROM_FILE = "from-file"


@dataclass(frozen=True)
class KeyFile:
    """A file whose lines are the keys of messages, in turn.

    Attributes:
        path: where it is on this host.
        lines: how many there are, but for empty ones.
        distinct: how many different keys stand on them.
        commonest_share: of all lines, those with the key that stands on most, 0 to 1.
    """

    path: str
    lines: int
    distinct: int
    commonest_share: float


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


CHECKED_BYTES = 16
"""Shorter messages have no time and no checksum."""
NAMED_BYTES = 8
"""Shorter ones don't name their producer, and have the lowest bytes of their sequence only."""
IN_FLIGHT_BYTES_MAX = 32 << 20
"""Values of messages in flight over all producers, where nobody says more; the same bound for every system."""
RECEIVE_QUEUE_BYTES_MAX = 32 << 20
"""Values that the consumers' clients hold before the worker takes them, over all consumers; for every system."""
IN_FLIGHT_BYTES_MOST = 8 << 30
"""The same where `in-flight` is said: the load generator's memory follows from it (`campaign.plan.memory`)."""
IN_FLIGHT_MESSAGES_MOST = 1 << 20
"""Messages in flight over all producers: the worker keeps a place for each."""


POOL_BODIES = 256
"""Different bodies that a load generator keeps, where nothing compresses them and all have one size."""


@dataclass(frozen=True)
class Payload:
    """Message values. `random_share` 0..1 of the body can't be compressed.

    Attributes:
        message_bytes: with the header; the mean where `sizes` says that they differ.
        file: what bodies are cut from, or, where `sizes` are those of its lines, whose lines they are; "" = neither.
        pool_bodies: how many different ones are kept; 0 = as many as it takes (`bodies_needed`).
        sizes: None = all messages have one size.
    """

    message_bytes: int = 1024
    random_share: float = 1.0
    file: str = ""
    pool_bodies: int = 0
    sizes: MessageSizes | None = field(default=None, metadata={"if_any": True})

    @property
    def message_bytes_min(self) -> int:
        """The smallest message, or a bound."""
        return self.sizes.least_bytes if self.sizes else self.message_bytes

    @property
    def message_bytes_max(self) -> int:
        """The largest message."""
        return self.sizes.most_bytes if self.sizes else self.message_bytes

    def __str__(self) -> str:
        """ "1 KiB messages", "messages of mixed sizes (70% 100 B, 30% 1 KiB; 377 B on average)"."""
        return f"messages of {self.sizes}" if self.sizes else f"{size(self.message_bytes)} messages"

    def __post_init__(self) -> None:
        """Raise `ValueError` for messages without a byte, by which whatever is counted in bytes would be divided."""
        if self.message_bytes < 1:
            raise ValueError(f"message_bytes: {self.message_bytes} is less than 1")


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
    zipf_exponent: float = field(default=0.0, metadata={"if_any": True})
    """By which power of its rank a key is rarer; of `Keys.ZIPF` only."""
    key_file: KeyFile | None = field(default=None, metadata={"if_any": True})
    """Of `Keys.FROM_FILE` only; `distinct_keys` are those on its lines."""
    arrival: Arrival = Arrival.UNIFORM
    client: ClientSettings = field(default_factory=ClientSettings)
    producer_overrides: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By system name: the client's own settings, which win over the neutral block."""
    consumer_overrides: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    subscription_type: SubscriptionType = SubscriptionType.BY_PARTITION
    existing_topics: tuple[str, ...] = ()
    processing: Processing | None = field(default=None, metadata={"if_any": True})
    """What consumers do with each message; None = nothing."""
    consumer_msgs_per_s_max: float = field(default=0.0, metadata={"if_any": True})
    """Each consumer takes no more; 0 = as many as there are."""

    @property
    def checks_damage(self) -> bool:
        """Whether its messages have room for checksums."""
        return self.payload.message_bytes >= CHECKED_BYTES

    @property
    def checks_order(self) -> bool:
        """Whether its subscriptions promise an order, of a partition or of a key, so that it can be checked."""
        return self.subscription_type is not SubscriptionType.SHARED

    def unchecked(self) -> str:
        """What of its messages is not checked since they have no room for the header, in words; "" if nothing."""
        message_bytes = self.payload.message_bytes
        if self.checks_damage or not self.producers:
            return ""
        if message_bytes >= NAMED_BYTES:
            return "loss, repeats and order are checked, damage is not, and end-to-end times are not known"
        told_apart = 1 << (8 * message_bytes)
        return (
            f"every {told_apart:,}th message looks alike: loss, repeats and order are checked among so many, damage is "
            "not, and end-to-end times are not known"
        )

    def most_frequent_key_share(self) -> float:
        """Of all messages, those with the commonest key; 0 without keys."""
        if self.keys is Keys.NONE:
            return 0.0
        if self.key_file is not None:
            return self.key_file.commonest_share
        if self.keys is not Keys.ZIPF:
            return 1 / self.distinct_keys
        return 1 / fsum(rank**-self.zipf_exponent for rank in range(1, self.distinct_keys + 1))

    def neutral(self) -> Workload:
        """This workload without the systems' own client settings, which differ by their nature."""
        return replace(self, producer_overrides={}, consumer_overrides={})

    def in_flight_messages(self) -> int:
        """Unacknowledged messages of each producer, at most: as set, within the bounds over all of them."""
        producers = max(1, self.topics * self.producers)
        fit = self.client.in_flight_bytes_max // (producers * self.payload.message_bytes)
        return max(1, min(self.client.in_flight_messages_max, fit, IN_FLIGHT_MESSAGES_MOST // producers))

    def receive_queue_messages(self) -> int:
        """Messages that each consumer's client may hold, at most: as set, within the bound over all of them."""
        consumers = max(1, self.topics * self.subscriptions * self.consumers)
        fit = RECEIVE_QUEUE_BYTES_MAX // (consumers * self.payload.message_bytes)
        return max(1, min(self.client.receive_queue_messages, fit))

    def window_messages(self) -> int:
        """The same of all producers together: at a rate of R msg/s it is full once acknowledgements take this / R s."""
        return self.in_flight_messages() * max(1, self.topics * self.producers)

    def processed_msgs_per_s(self) -> float:
        """What the consumers of each subscription can process together, at most; infinite where nothing bounds them."""
        processed = 1 / self.processing.mean_s if self.processing is not None else float("inf")
        return self.topics * self.busy_consumers() * min(processed, self.consumer_msgs_per_s_max or float("inf"))

    def busy_consumers(self) -> int:
        """Returns how many of a subscription's consumers of a topic receive messages, at most.

        A partition may have one only; of topics of others nobody knows how many partitions they have.
        """
        every = self.shares_messages or self.existing_topics
        return self.consumers if every else min(self.consumers, self.partitions)

    @property
    def shares_messages(self) -> bool:
        """Whether consumers of a subscription share the messages of a partition."""
        return self.subscription_type in (SubscriptionType.SHARED, SubscriptionType.KEY_SHARED)

    def processing_cpus(self, msgs_per_s: float | None) -> float:
        """Returns the CPUs that processing takes on average at a rate, None = as much as there is; 0 where it waits."""
        if self.processing is None or not self.processing.on_cpu:
            return 0.0
        most = self.processed_msgs_per_s()
        processed = most if msgs_per_s is None else min(msgs_per_s, most)
        return self.subscriptions * processed * self.processing.mean_s

    def consumers_words(self) -> str:
        """Returns "20ms of processing, 100 msg/s each at most"; "" where consumers take the next message at once."""
        processing = f"{self.processing} of processing" if self.processing is not None else ""
        rate = f"{trimmed(self.consumer_msgs_per_s_max)} msg/s each at most" if self.consumer_msgs_per_s_max else ""
        return ", ".join(filter(None, (processing, rate)))

    def window_bytes(self) -> int:
        """Values of these messages."""
        return self.window_messages() * self.payload.message_bytes


WORKERS_MAX = 1000
"""Of one trial."""
GENERATOR_SHARE_MAX = 0.70
"""Of what load generators make and check without a system: beyond it they take long to catch up after a pause."""
GENERATOR_SHARE_WRONG = 1.25
"""A trial that reached more than this share of it shows that what is known of them is too low."""


@dataclass(frozen=True)
class ShareSize:
    """How many producers, consumers and topics a worker has. Of a rate it has what its producers are of all."""

    producers: int
    consumers: int
    topics: int


def share_sizes(workload: Workload, workers: int) -> tuple[ShareSize, ...]:
    """The share of each worker."""
    producers = workload.topics * workload.producers
    consumers = workload.topics * workload.subscriptions * workload.consumers
    return tuple(
        ShareSize(
            producers=_count_dealt(producers, worker, workers),
            # They go on where the producers ended.
            consumers=_count_dealt(producers + consumers, worker, workers) - _count_dealt(producers, worker, workers),
            topics=_count_dealt(workload.topics, worker, workers),
        )
        for worker in range(workers)
    )


def _count_dealt(things: int, worker: int, workers: int) -> int:
    """How many of so many things a worker gets that are dealt out one by one."""
    return (things - worker + workers - 1) // workers
