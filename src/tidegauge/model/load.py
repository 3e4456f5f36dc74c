"""What a load generator reports: of a second, of the measured window, of the whole trial."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class WorkerFacts:
    """The worker process as it introduced itself."""

    pid: int
    worker_version: str
    java_version: str
    java_home: str
    jvm_flags: tuple[str, ...]
    heap_bytes_max: int
    drivers: Mapping[str, str]


@dataclass(frozen=True)
class AckedMessage:
    """When a message was given to the client, and when the client reported its acknowledgement; monotonic ns."""

    sent_mono_ns: int
    acked_mono_ns: int


@dataclass(frozen=True)
class SubscriptionSecond:
    """One second of one subscription. `end_to_end` is an encoded HdrHistogram (V2 compressed).

    `unique` are those that this worker received for the first time.
    """

    name: str
    received: int
    received_bytes: int
    backlog: int
    duplicated: int
    reordered: int
    corrupt: int
    end_to_end: bytes
    unique: int = 0


def worker_name(worker: int, workers: int) -> str:
    """What users read of one of several workers: "load generator 2 of 3", by its number from 0."""
    return f"load generator {worker + 1} of {workers}"


@dataclass(frozen=True)
class WorkerSecond:
    """What one of several workers had of a second; `worker` is its number from 1, the rest as in `SecondFigures`.

    `received`: by its consumers, of all subscriptions.
    """

    worker: int
    scheduled_msgs_per_s: float
    sent: int
    acked: int
    received: int
    own_lag_ns_max: int
    worker_cpu_ns: int
    gc_pause_ns: int
    heap_used_bytes: int
    busiest_consumer: str
    busiest_consumer_busy_ns: int
    jit_ns: int


@dataclass(frozen=True)
class SecondFigures:
    """What happened in one second of a trial, by the time it happened. Histograms encoded as above.

    `busiest_consumer`: "sub-0 consumer 1", whose receiving thread ran or waited for a CPU for longest; "" if none ran.
    Of several workers "sub-0 consumer 1 (load generator 2 of 3)".
    `jit_ns`: CPU time of the worker's JIT compiler, over all of its threads.
    `workers`: where several carry out the trial, what each had that had anything.
    """

    second: int
    from_mono_ns: int
    until_mono_ns: int
    scheduled_msgs_per_s: float
    sent: int
    acked: int
    failed: int
    acked_bytes: int
    in_flight: int
    blocked_ns: int
    own_lag_ns_max: int
    response: bytes
    service: bytes
    delay: bytes
    subscriptions: tuple[SubscriptionSecond, ...]
    worker_cpu_ns: int
    gc_pause_ns: int
    heap_used_bytes: int
    busiest_consumer: str = ""
    busiest_consumer_busy_ns: int = 0
    jit_ns: int = 0
    workers: tuple[WorkerSecond, ...] = ()


@dataclass(frozen=True)
class ClockBound:
    """By how much the clock of load generator `other` was ahead of that of `one`, by numbers from 1, on two hosts.

    It lies between `low_ns` and `high_ns` in all of the measured window (CLOCK_MONOTONIC; `statistics.clocks`).
    """

    one: int
    other: int
    low_ns: float
    high_ns: float

    @property
    def half_width_us(self) -> float:
        """How far the truth can be from the middle."""
        return (self.high_ns - self.low_ns) / 2e3


@dataclass(frozen=True)
class ApartLatency:
    """End to end of what one worker received in the window from the producers of another, which is on another host.

    By clocks as they were estimated to be apart when the trial began. `before`: by how much messages were received
    before they were intended by that. Encoded as above; `worker` is the other's number, from 0.
    """

    worker: int
    end_to_end: bytes
    before: bytes


@dataclass(frozen=True)
class SubscriptionTotals:
    """One subscription over the whole trial; `end_to_end` and `window_received` over the measured window.

    `record_end_to_end` is that of each record of a schedule. The four from `first_received_mono_ns` on matter where
    nothing was sent: first and last receipt in the window (0 = none), messages of an earlier trial whose checksums were
    verified, bytes received. Examples: "producer 0 sequence 17".

    `lost` is what is missing, wherever it is: `Traced` says what became of it. Of that, up to `discarded_max` messages
    can have been in what clients threw away as it was delivered, since it came damaged.

    Where consumers process messages, `in_consumer` has the times from receipt to the end of processing, `processed`
    those from the intended time to it (of one clock only), and they spent `processing_ns` of the window on it in all,
    and `processing_cpu_ns` of the load generator's CPU time.

    Of messages that cross hosts `end_to_end` has the most likely times, and `end_to_end_low` and `end_to_end_high` the
    least and the most that they can have been, together with all others; b"" where nothing does. `apart`: see there, of
    what one worker received.
    """

    name: str
    received: int
    unique: int
    backlog: int
    lost: int
    duplicated: int
    reordered: int
    corrupt: int
    corrupt_unattributed: int
    foreign: int
    negative_latency: int
    end_to_end: bytes
    window_received: int
    lost_examples: tuple[str, ...]
    record_end_to_end: tuple[bytes, ...] = field(default=(), metadata={"if_any": True})
    first_received_mono_ns: int = 0
    last_received_mono_ns: int = 0
    verified: int = 0
    received_bytes: int = 0
    duplicated_examples: tuple[str, ...] = ()
    reordered_examples: tuple[str, ...] = ()
    corrupt_examples: tuple[str, ...] = ()
    apart: tuple[ApartLatency, ...] = ()
    discarded_max: int = 0
    in_consumer: bytes = b""
    processed: bytes = b""
    processing_ns: int = 0
    processing_cpu_ns: int = 0
    end_to_end_low: bytes = b""
    end_to_end_high: bytes = b""


RECEIVING = "receive"
"""Where errors that consumers met are counted (`TotalFigures.errors`)."""


@dataclass(frozen=True)
class Traced:
    """What became of the acknowledged messages that a subscription did not receive, by what a fresh reader found.

    `lost` are in no topic that could be read to its end, `late` are there, and of the `untraced` nobody knows, since
    `why`. `gone`: how the servers say that they have a topic, or a part of it, no more; "" if they do not, or nothing
    is lost. Examples: "producer 0 sequence 17".
    """

    lost: int = 0
    late: int = 0
    untraced: int = 0
    why: str = ""
    gone: str = ""
    lost_examples: tuple[str, ...] = ()
    late_examples: tuple[str, ...] = ()


@dataclass(frozen=True)
class RecordFigures:
    """One record of a schedule: messages of the window by intended time; `acked_within` by when it was acknowledged."""

    intended: int
    acked: int
    failed: int
    acked_within: int
    response: bytes
    service: bytes
    delay: bytes


@dataclass(frozen=True)
class WindowFigures:
    """The measured window, by intended time. `acked_within` counts acknowledgements by when they arrived.

    `last_outcome_mono_ns`: when the last of its messages was acknowledged, or failed; 0 if none was.
    """

    from_mono_ns: int
    until_mono_ns: int
    intended: int
    acked: int
    failed: int
    acked_bytes: int
    acked_within: int
    response: bytes
    service: bytes
    delay: bytes
    own_lag: bytes
    own_lag_over_tolerance: int
    blocked_ns: int
    worker_cpu_ns: int
    gc_pause_ns: int
    cpu_wait_ns: int
    records: tuple[RecordFigures, ...] = ()
    last_outcome_mono_ns: int = 0


@dataclass(frozen=True)
class TotalFigures:
    """Everything the worker knows about a trial; of several workers what they know together, and `workers` each."""

    sent: int
    acked: int
    failed: int
    unresolved: int
    window: WindowFigures
    subscriptions: tuple[SubscriptionTotals, ...]
    errors: tuple[tuple[str, str, int], ...]
    worker_cpu_ns: int
    gc_pause_ns: int
    resident_bytes: int
    workers: tuple[WorkerTotals, ...] = ()
    clocks: tuple[ClockBound, ...] = ()


@dataclass(frozen=True)
class WorkerTotals:
    """What one of several workers knows of a trial by itself: nothing of what is lost, and of `backlog`.

    `name` is that of its process. Its producers' schedules really began at `started_mono_ns`, and after
    `stopped_mono_ns` they intended nothing more; 0 where that is not known.
    """

    name: str
    started_mono_ns: int
    totals: TotalFigures
    stopped_mono_ns: int = 0


@dataclass(frozen=True)
class SentSequences:
    """A worker's producer sent the sequences 0 to `sent` - 1; `unknown` (Roaring) failed, or have no outcome."""

    producer: int
    sent: int
    unknown: bytes


@dataclass(frozen=True)
class ReceivedSequences:
    """What a worker's consumers of a subscription received of a producer, whosever it is. `received`: Roaring."""

    subscription: str
    producer: int
    received: bytes
