"""What of RabbitMQ's own figures matters, as its Prometheus plugin tells them summed over queues.

Source: https://github.com/rabbitmq/rabbitmq-server/blob/main/deps/rabbitmq_prometheus/metrics.md
"""

from __future__ import annotations

from tidegauge.systems.metrics import Combine, Kind, Metric

METRICS: tuple[Metric, ...] = (
    Metric("ready_msgs", "messages that wait for a consumer", "rabbitmq_queue_messages_ready"),
    Metric(
        "unacknowledged_msgs", "messages that consumers have and did not acknowledge", "rabbitmq_queue_messages_unacked"
    ),
    Metric("queue_process_bytes", "memory of the queues' processes", "rabbitmq_queue_process_memory_bytes"),
    Metric(
        "memory_alarm",
        "1 while publishers are blocked because the node uses too much memory",
        "rabbitmq_alarms_memory_used_watermark",
        combine=Combine.MAX,
    ),
    Metric(
        "disk_alarm",
        "1 while publishers are blocked because the disk is nearly full",
        "rabbitmq_alarms_free_disk_space_watermark",
        combine=Combine.MAX,
    ),
    Metric("node_resident_bytes", "memory of the node as it counts it", "rabbitmq_process_resident_memory_bytes"),
    Metric("memory_limit_bytes", "above it publishers are blocked", "rabbitmq_resident_memory_limit_bytes"),
    Metric(
        "run_queue_processes",
        "Erlang processes ready to run that wait for a scheduler",
        "erlang_vm_statistics_run_queues_length",
    ),
    Metric("io_syncs_per_s", "syncs of classic queues (3.x tells them)", "rabbitmq_io_sync_ops_total", Kind.RATE),
    Metric(
        "io_sync_ms",
        "mean time of such a sync",
        "rabbitmq_io_sync_time_seconds_total",
        Kind.MEAN,
        count_series="rabbitmq_io_sync_ops_total",
        factor=1e3,
        is_sync_ms=True,
    ),
    Metric(
        "raft_commit_ms",
        "time from writing an entry of a quorum queue to its commit, over queues the largest",
        "rabbitmq_raft_(entry_commit|max_commit)_latency_seconds",
        combine=Combine.MAX,
        factor=1e3,
    ),
    Metric(
        "garbage_collections_per_s",
        "collections of Erlang processes' heaps",
        "erlang_vm_statistics_garbage_collection_number_of_gcs(_total)?",
        Kind.RATE,
    ),
)
