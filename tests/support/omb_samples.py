"""Files of OMB as texts, and what it writes as a result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

WORKLOAD = """\
name: a workload
topics: 1
partitionsPerTopic: 2
messageSize: 100
useRandomizedPayloads: true
randomBytesRatio: 0.5
randomizedPayloadPoolSize: 10
subscriptionsPerTopic: 1
producersPerTopic: 1
consumerPerSubscription: 1
producerRate: 1000
consumerBacklogSizeGB: 0
warmupDurationMinutes: 2
testDurationMinutes: 4
"""
DRIVER = """\
name: My Kafka
driverClass: io.openmessaging.benchmark.driver.kafka.KafkaBenchmarkDriver
replicationFactor: 1
commonConfig: |
  bootstrap.servers=localhost:9092
producerConfig: |
  acks=all
"""


GOOD: dict[str, Any] = {
    "name": "a workload",
    "topics": 2,
    "partitionsPerTopic": 3,
    "keyDistributor": "KEY_ROUND_ROBIN",
    "messageSize": 1024,
    "useRandomizedPayloads": "true",
    "randomBytesRatio": 0.5,
    "randomizedPayloadPoolSize": 1000,
    "subscriptionsPerTopic": 1,
    "producersPerTopic": 4,
    "consumerPerSubscription": 5,
    "producerRate": 50000,
    "consumerBacklogSizeGB": 0,
    "testDurationMinutes": 15,
}


def write(tmp_path: Path, **changes: Any) -> Path:
    path = tmp_path / "w.yaml"
    kept = {key: value for key, value in {**GOOD, **changes}.items() if value is not None}
    path.write_text("".join(f"{key}: {value}\n" for key, value in kept.items()))
    return path


LATENCY = ("publishLatency", "publishDelayLatency", "endToEndLatency")
ENDS = ("Avg", "50pct", "75pct", "95pct", "99pct", "999pct", "9999pct", "Max")
FIELDS = {
    *("workload", "driver", "messageSize", "topics", "partitions", "producersPerTopic", "consumersPerTopic"),
    *("publishRate", "publishErrorRate", "consumeRate", "backlog"),
    *(f"{name}{end}" for name in LATENCY for end in ENDS),
    *(f"aggregated{name[0].upper()}{name[1:]}{end}" for name in LATENCY for end in (*ENDS, "Quantiles")),
}
"""Every field of OMB's class TestResult."""
