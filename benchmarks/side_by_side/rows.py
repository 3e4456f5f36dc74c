"""What is measured: one row is one load, with everybody who carries it out."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tidegauge.model.workload import Arrival, Payload, Workload

TIDEGAUGE = "Tidegauge"
BARE = "bare loop"
KAFKA_TOOLS = "Kafka's tools"
OMB = "OMB"
"""OpenMessaging Benchmark, where somebody says where it is; on rows with a rate."""
ALL = (TIDEGAUGE, BARE, KAFKA_TOOLS)
ENGINE_THREADS = (1, 2, 4, 8)
SERVER_THREADS = 2
"""Of a Kafka node at full speed at least one thread takes messages and another gives them out."""


@dataclass(frozen=True)
class Row:
    """One load.

    Attributes:
        name: for `--rows`.
        system: "kafka", "null" (Tidegauge's own system that does nothing), or "inline" (the engine alone).
        msgs_per_s: of all producers together; 0 = as fast as it goes.
        busy_threads: that never wait while it runs; 0 where threads mostly wait for the schedule, so that cores can be
            shared.
    """

    name: str
    title: str
    contenders: tuple[str, ...] = ALL
    system: str = "kafka"
    message_bytes: int = 1024
    partitions: int = 1
    producers: int = 1
    consumers: int = 1
    msgs_per_s: int = 0
    busy_threads: int = 0

    @property
    def workload(self) -> Workload:
        """As Tidegauge's worker is given it; everything not named here is the product's default."""
        return Workload(
            partitions=self.partitions,
            producers=self.producers,
            consumers=self.consumers,
            payload=Payload(message_bytes=self.message_bytes),
            arrival=Arrival.UNIFORM if self.msgs_per_s else Arrival.CLOSED_LOOP,
        )

    def threads(self, contender: str) -> int:
        """Busy threads with this contender, those of the server included."""
        return engine_threads(contender) or self.busy_threads


def engine_threads(contender: str) -> int:
    """4 of "4 threads"; 0 if it is no number of threads of the engine."""
    number, _, word = contender.partition(" ")
    return int(number) if word.startswith("thread") and number.isdigit() else 0


def _full_speed(name: str, title: str, partitions: int, clients: int) -> Row:
    # A producer's load thread, the Kafka client's own sending thread, and a consumer's thread.
    busy = 3 * clients + SERVER_THREADS
    return Row(name, title, partitions=partitions, producers=clients, consumers=clients, busy_threads=busy)


_RATE = Row("rate-20k", "20,000 msg/s, 1 KiB, 1 partition", msgs_per_s=20_000)

ROWS = (
    _full_speed("full-1", "full speed, 1 KiB, 1 partition, 1 producer, 1 consumer", 1, 1),
    _full_speed("full-16", "full speed, 1 KiB, 16 partitions, 4 producers, 4 consumers", 16, 4),
    _RATE,
    replace(_RATE, name="rate-100k", title="100,000 msg/s, 1 KiB, 1 partition", msgs_per_s=100_000),
    replace(_RATE, name="rate-500k", title="500,000 msg/s, 200 B, 1 partition", msgs_per_s=500_000, message_bytes=200),
    Row(
        "null-1m",
        "null system, 1,000,000 msg/s, 1 KiB, 4 producers, 1 consumer",
        contenders=(TIDEGAUGE,),
        system="null",
        producers=4,
        msgs_per_s=1_000_000,
        busy_threads=5,
    ),
    Row(
        "engine",
        "the engine alone, full speed, 1 KiB",
        contenders=tuple(f"{number} thread{'s' if number > 1 else ''}" for number in ENGINE_THREADS),
        system="inline",
    ),
)
BY_NAME = {row.name: row for row in ROWS}


def turns(row: Row, round_number: int) -> tuple[str, ...]:
    """The order of a round (from 1): whoever began the last one comes last."""
    first = (round_number - 1) % len(row.contenders)
    return (*row.contenders[first:], *row.contenders[:first])
