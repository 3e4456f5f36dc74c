"""OpenMessaging Benchmark as a contender: the files that it is given, and what its lines say. Pure."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from side_by_side.perf_tools import chosen
from side_by_side.rows import Row
from tidegauge.model.server import Setting

MAIN = "io.openmessaging.benchmark.Benchmark"
JVM_FLAGS = ("-server", "-Xms4G", "-Xmx4G", "-XX:+UseG1GC")
"""As its own script `bin/benchmark` starts it."""
LINE_S = 10.0
"""It prints a line this often, in its warm-up, too."""
TOPICS = "test-topic-.*"
_PRODUCER_SETTINGS = ("acks", "linger.ms", "batch.size", "compression.type", "buffer.memory", "enable.idempotence")
_CONSUMER_SETTINGS = ("fetch.max.bytes", "max.partition.fetch.bytes")
_LINE = re.compile(
    r"Pub rate +([\d.]+) msg/s .*Pub Latency \(ms\) (.*) \| Pub Delay Latency \(us\) (.*)$", re.MULTILINE
)
_PERCENTILE = re.compile(r"([\d.]+)%: +([\d.]+)")
_KEYS = {"50": "p50", "99": "p99", "99.9": "p999"}


@dataclass(frozen=True)
class IntervalLine:
    """What one of its lines says about the seconds since the line before: a rate, and percentiles as figures."""

    msgs_per_s: float
    figures: Mapping[str, float]


def read_interval_lines(log: str) -> list[IntervalLine]:
    """Return its whole lines so far, those of the warm-up first."""
    lines = _LINE.findall(log[: log.rfind("\n") + 1])
    return [
        IntervalLine(float(rate), {**_percentiles("service_ms", service), **_percentiles("delay_us", delay)})
        for rate, service, delay in lines
    ]


def _percentiles(name: str, text: str) -> dict[str, float]:
    return {f"{name}_{_KEYS[share]}": float(value) for share, value in _PERCENTILE.findall(text) if share in _KEYS}


def count_interval_lines(seconds: float) -> int:
    """Return how many of its lines cover a time."""
    return math.ceil(seconds / LINE_S)


def driver_file(bootstrap: str, settings: Sequence[Setting], topic_settings: Mapping[str, str]) -> str:
    """Return a driver file (JSON is YAML) with the settings that Tidegauge's clients were really given."""
    return json.dumps(
        {
            "name": "Kafka",
            "driverClass": "io.openmessaging.benchmark.driver.kafka.KafkaBenchmarkDriver",
            "replicationFactor": 1,
            "topicConfig": _properties(topic_settings),
            "commonConfig": _properties({"bootstrap.servers": bootstrap}),
            "producerConfig": _properties(chosen(settings, "producer", _PRODUCER_SETTINGS)),
            "consumerConfig": _properties(
                {"auto.offset.reset": "earliest", **chosen(settings, "consumer", _CONSUMER_SETTINGS)}
            ),
        }
    )


def _properties(values: Mapping[str, str]) -> str:
    return "".join(f"{name}={value}\n" for name, value in values.items())


def workload_file(row: Row, seconds: float, payload_path: str) -> str:
    """Return a workload file that lasts longer than the seconds to be seen; its times are whole minutes."""
    return json.dumps(
        {
            "name": row.name,
            "topics": 1,
            "partitionsPerTopic": row.partitions,
            "keyDistributor": "NO_KEY",
            "messageSize": row.message_bytes,
            "payloadFile": payload_path,
            "subscriptionsPerTopic": 1,
            "consumerPerSubscription": row.consumers,
            "producersPerTopic": row.producers,
            "producerRate": row.msgs_per_s,
            "consumerBacklogSizeGB": 0,
            "warmupDurationMinutes": 1 + math.ceil(seconds / 60),
            "testDurationMinutes": 1,
        }
    )
