"""Prometheus's JMX exporter: a jar (`-javaagent`) by which a Kafka server reports its own figures over HTTP.

It reads the beans named here and no others, inside the server, when it is asked: no JMX port is opened and nothing is
attached. Without it (no network and none in the cache) Kafka is measured all the same, and its own figures are absent.

Source: https://prometheus.github.io/jmx_exporter/1.0.1/java-agent/

Source: https://kafka.apache.org/documentation/#monitoring
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

from tidegauge.atomic import replacing
from tidegauge.distribution.cache import Progress, cache_directory, locked, make_directory
from tidegauge.distribution.coordinates import Coordinate
from tidegauge.distribution.fetch import AbsentError, UnreachableError, fetch_artifact
from tidegauge.errors import UserError
from tidegauge.systems.metrics import Combine, Metric, MetricKind

JMX_EXPORTER = Coordinate("io.prometheus.jmx", "jmx_prometheus_javaagent", "1.0.1")
JMX_EXPORTER_SHA512 = (
    "f81d876e8110cbabd4a9cb3fe1740ec2d896ec4bce5cb5049a2d74c40f437814"
    "18cea246f40e6afdfabbdf0e162cb837625f496dedcb76aebbba53b6ae7cacba"
)

BEANS = (
    "kafka.log:type=LogFlushStats,*",
    "kafka.network:type=RequestChannel,name=RequestQueueSize",
    "kafka.network:type=RequestMetrics,name=TotalTimeMs,request=Produce",
    "kafka.network:type=RequestMetrics,name=RequestQueueTimeMs,request=Produce",
    "kafka.network:type=RequestMetrics,name=LocalTimeMs,request=Produce",
    "kafka.network:type=RequestMetrics,name=RemoteTimeMs,request=Produce",
    "kafka.network:type=SocketServer,name=NetworkProcessorAvgIdlePercent",
    "kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec",
    "kafka.server:type=KafkaRequestHandlerPool,*",
    "kafka.server:type=ReplicaManager,name=IsrShrinksPerSec",
    "kafka.server:type=ReplicaManager,name=UnderMinIsrPartitionCount",
    "kafka.server:type=ReplicaManager,name=UnderReplicatedPartitions",
)


def fetch_jmx_exporter(report: Callable[[str], None]) -> None:
    """Fetch the exporter into the cache, if it is not there. Never raises: what is missing then is said."""
    path = _jmx_exporter_path()
    try:
        make_directory(path.parent)
        with locked(path.parent.parent, JMX_EXPORTER.artifact, report):
            if not _is_whole(path):
                report(Progress(f"Fetching the JMX exporter {JMX_EXPORTER.version} (1 MB), for Kafka's own figures."))
                with replacing(path) as part:
                    fetch_artifact(JMX_EXPORTER, part, report, sha512=JMX_EXPORTER_SHA512)
    except (AbsentError, UnreachableError, UserError, OSError) as error:
        report(f"Kafka's own figures will be missing: the JMX exporter is not available ({error}).")


def find_jmx_exporter() -> Path | None:
    """Returns the exporter's jar in the cache; None if it is not there, or not whole."""
    path = _jmx_exporter_path()
    return path if _is_whole(path) else None


def jmx_exporter_flag(jar: Path, address: str, port: int, configuration: Path) -> str:
    """Returns the flag with which a JVM starts the exporter, listening on this address only."""
    return f"-javaagent:{jar}={address}:{port}:{configuration}"


def configuration_text() -> str:
    """The exporter's configuration (YAML, of which JSON is a part)."""
    return json.dumps({"includeObjectNames": BEANS, "rules": [{"pattern": ".*"}]}, indent=2) + "\n"


def _jmx_exporter_path() -> Path:
    name = f"{JMX_EXPORTER.artifact}-{JMX_EXPORTER.version}"
    return cache_directory() / "tools" / name / f"{name}.jar"


def _is_whole(path: Path) -> bool:
    try:
        return hashlib.sha512(path.read_bytes()).hexdigest() == JMX_EXPORTER_SHA512
    except OSError:
        return False


_REQUESTS = "kafka_network_RequestMetrics_Mean"


def _produce_metric(name: str, bean: str, meaning: str) -> Metric:
    return Metric(name, meaning, _REQUESTS, combine=Combine.MAX, labels={"name": bean, "request": "Produce"})


METRICS: tuple[Metric, ...] = (
    Metric(
        "request_handler_idle_share",
        "share of the time for which request handlers had nothing to do; near 0 they are the bottleneck",
        "kafka_server_KafkaRequestHandlerPool_OneMinuteRate",
        combine=Combine.MIN,
        labels={"name": "RequestHandlerAvgIdlePercent"},
    ),
    Metric(
        "network_idle_share",
        "share of the time for which network threads had nothing to do",
        "kafka_network_SocketServer_Value",
        combine=Combine.MIN,
        labels={"name": "NetworkProcessorAvgIdlePercent"},
    ),
    Metric(
        "request_queue_requests",
        "requests waiting for a handler",
        "kafka_network_RequestChannel_Value",
        combine=Combine.MAX,
        labels={"name": "RequestQueueSize"},
    ),
    Metric(
        "log_flushes_per_s",
        "flushes of log segments to disk",
        "kafka_log_LogFlushStats_Count",
        MetricKind.RATE,
        labels={"name": "LogFlushRateAndTimeMs"},
    ),
    Metric(
        "log_flush_ms",
        "mean time of a flush, the newest counting most",
        "kafka_log_LogFlushStats_Mean",
        combine=Combine.MAX,
        labels={"name": "LogFlushRateAndTimeMs"},
        is_sync_ms=True,
    ),
    _produce_metric(
        "produce_total_ms", "TotalTimeMs", "mean time of a produce request in the broker, since it started"
    ),
    _produce_metric("produce_queue_ms", "RequestQueueTimeMs", "of it, waiting for a handler"),
    _produce_metric("produce_local_ms", "LocalTimeMs", "of it, appending to the leader's log, its flush included"),
    _produce_metric("produce_remote_ms", "RemoteTimeMs", "of it, waiting for followers"),
    Metric(
        "bytes_in_per_s",
        "bytes that producers sent to this broker",
        "kafka_server_BrokerTopicMetrics_Count",
        MetricKind.RATE,
        labels={"name": "BytesInPerSec"},
        combine=Combine.MAX,
    ),
    Metric(
        "under_replicated_partitions",
        "partitions led here with a replica out of sync",
        "kafka_server_ReplicaManager_Value",
        labels={"name": "UnderReplicatedPartitions"},
    ),
    Metric(
        "under_min_isr_partitions",
        "partitions led here that take no acknowledged writes for lack of replicas in sync",
        "kafka_server_ReplicaManager_Value",
        labels={"name": "UnderMinIsrPartitionCount"},
    ),
    Metric(
        "isr_shrinks_per_s",
        "replicas that fell out of sync",
        "kafka_server_ReplicaManager_Count",
        MetricKind.RATE,
        labels={"name": "IsrShrinksPerSec"},
    ),
)
