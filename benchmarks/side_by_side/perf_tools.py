"""Kafka's own ProducerPerformance and ConsumerPerformance: what they are given, and what their output says. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from side_by_side.rows import Row
from tidegauge.model.server import Setting

PRODUCER = "org.apache.kafka.tools.ProducerPerformance"
CONSUMER = "org.apache.kafka.tools.ConsumerPerformance"
TOPICS = "org.apache.kafka.tools.TopicCommand"
REPORTING_MS = 1000
CONSUMED_MAX = 10**12
"""Never reached: consumers are ended once producers have."""
JVM_FLAGS = (
    # As Kafka's scripts start them (kafka-run-class.sh, kafka-producer-perf-test.sh).
    "-Xmx512M",
    *("-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35"),
    *("-XX:+ExplicitGCInvokesConcurrent", "-XX:MaxInlineLevel=15", "-Djava.awt.headless=true"),
    # Else each prints all of its settings.
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
)
_PRODUCER_SETTINGS = (
    *("acks", "linger.ms", "batch.size", "compression.type", "max.in.flight.requests.per.connection"),
    *("buffer.memory", "max.request.size", "enable.idempotence"),
)
STEADY = "In steady state."
_INTERVAL = re.compile(r"^(\d+) records sent, [\d.]+ records/sec .* max latency\.$", re.MULTILINE)
_STEADY_SUMMARY = re.compile(
    r"^\d+ steady state records sent, .* (\d+) ms 50th, (\d+) ms 95th, (\d+) ms 99th, (\d+) ms 99\.9th\.$", re.MULTILINE
)
_CONSUMED = re.compile(r"^\d{4}-\d\d-\d\d [\d:]+, \d+, [\d.]+, [\d.]+, (\d+), ", re.MULTILINE)


@dataclass(frozen=True)
class Mark:
    """A tool's line, when it was seen: messages up to it (from any origin), and CPU seconds of the process."""

    mono_ns: int
    messages: int
    cpu_s: float


@dataclass(frozen=True)
class Span:
    """What a process did between two of its lines."""

    seconds: float
    messages: int
    cpu_s: float

    @property
    def msgs_per_s(self) -> float:
        """Messages over time."""
        return self.messages / self.seconds

    @property
    def cpus(self) -> float:
        """CPU seconds over time."""
        return self.cpu_s / self.seconds


def chosen(settings: Iterable[Setting], scope: str, names: Sequence[str]) -> dict[str, str]:
    """These of a client's settings in force."""
    found = {setting.name: setting.value for setting in settings if setting.scope == scope}
    return {name: found[name] for name in names if name in found}


@dataclass(frozen=True)
class Records:
    """Of one producer: all, and those of the warm-up. It takes no times."""

    total: int
    warmup: int


def producer_arguments(
    row: Row, bootstrap: str, topic: str, records: Records, settings: Sequence[Setting]
) -> tuple[str, ...]:
    """One of the row's producers, set as Tidegauge's are."""
    own = chosen(settings, "producer", _PRODUCER_SETTINGS)
    rate = row.msgs_per_s // row.producers if row.msgs_per_s else -1
    return (
        *("--bootstrap-server", bootstrap, "--topic", topic, "--record-size", str(row.message_bytes)),
        *("--num-records", str(records.total), "--warmup-records", str(records.warmup), "--throughput", str(rate)),
        *("--reporting-interval", str(REPORTING_MS)),
        *("--command-property", *(f"{name}={value}" for name, value in own.items())),
    )


def consumer_arguments(bootstrap: str, topic: str, settings: Sequence[Setting]) -> tuple[str, ...]:
    """One of the row's consumers, which share a group, set as Tidegauge's are."""
    own: Mapping[str, str] = chosen(settings, "consumer", ("fetch.max.bytes", "max.partition.fetch.bytes"))
    return (
        *("--bootstrap-server", bootstrap, "--topic", topic, "--group", topic, "--num-records", str(CONSUMED_MAX)),
        *("--show-detailed-stats", "--reporting-interval", str(REPORTING_MS), "--timeout", "600000"),
        *("--fetch-size", own.get("max.partition.fetch.bytes", str(1 << 20))),
        *(("--command-property", f"fetch.max.bytes={own['fetch.max.bytes']}") if "fetch.max.bytes" in own else ()),
    )


def produced(log: str) -> tuple[int, int]:
    """Lines and messages that a producer has reported since its warm-up; whole lines only.

    Its lines before that are about the warm-up, and leave out the warm-up's last part.
    """
    _, steady, after = log.partition(STEADY)
    counts = [int(count) for count in _INTERVAL.findall(after)] if steady else []
    return len(counts), sum(counts)


def consumed(log: str) -> tuple[int, int]:
    """Lines that a consumer has printed, and messages up to the last one; whole lines only."""
    totals = [int(total) for total in _CONSUMED.findall(log)]
    return len(totals), totals[-1] if totals else 0


def steady_percentiles_ms(log: str) -> Mapping[str, float]:
    """Latencies from `send` to acknowledgement after the warm-up, in whole ms; empty until the producer has ended."""
    found = _STEADY_SUMMARY.search(log)
    return dict(zip(("p50", "p95", "p99", "p999"), map(float, found.groups()), strict=True)) if found else {}


def span(marks: Sequence[Mark], from_ns: int, until_ns: int) -> Span | None:
    """Between the first line at or after one instant and the first at or after another, or the last line there is.

    None with fewer than two lines.
    """
    later = [mark for mark in marks if mark.mono_ns >= from_ns]
    if len(later) < 2:
        return None
    first = later[0]
    last = next((mark for mark in later[1:] if mark.mono_ns >= until_ns), later[-1])
    return Span((last.mono_ns - first.mono_ns) / 1e9, last.messages - first.messages, last.cpu_s - first.cpu_s)


def cpu_s_per_million(spans: Sequence[Span]) -> float | None:
    """Of several processes that did the same work side by side, each over its own span; None if they did none."""
    rate = sum(one.msgs_per_s for one in spans)
    return sum(one.cpus for one in spans) / rate * 1e6 if rate else None
