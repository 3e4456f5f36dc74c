"""What of Kafka's own figures matters. Names of series are those of the JMX exporter's default format.

Source: https://kafka.apache.org/documentation/#monitoring
"""

from __future__ import annotations

from tidegauge.systems.metrics import Combine, Kind, Metric

_REQUESTS = "kafka_network_RequestMetrics_Mean"


def _produce(name: str, bean: str, meaning: str) -> Metric:
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
        Kind.RATE,
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
    _produce("produce_total_ms", "TotalTimeMs", "mean time of a produce request in the broker, since it started"),
    _produce("produce_queue_ms", "RequestQueueTimeMs", "of it, waiting for a handler"),
    _produce("produce_local_ms", "LocalTimeMs", "of it, appending to the leader's log, its flush included"),
    _produce("produce_remote_ms", "RemoteTimeMs", "of it, waiting for followers"),
    Metric(
        "bytes_in_per_s",
        "bytes that producers sent to this broker",
        "kafka_server_BrokerTopicMetrics_Count",
        Kind.RATE,
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
        Kind.RATE,
        labels={"name": "IsrShrinksPerSec"},
    ),
)
