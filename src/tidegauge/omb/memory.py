"""How much memory the load generator gets for a workload of OMB's, whose files say nothing of it. Pure.

What fills a heap is what consumers' clients hold when they are behind (a backlog, a stall) and the clients themselves;
producers hold 32 MiB together, however many they are. The estimate is what all of that takes at most, so that a run
ends with a refusal before anything is started, and not with a worker out of memory in the middle.
"""

from __future__ import annotations

from tidegauge.campaign.model import WorkerChoice
from tidegauge.workload.model import IN_FLIGHT_BYTES_MAX, Workload

HEAP_MB_MIN, DIRECT_MEMORY_MB = 512, 256
"""More than campaigns have by default: OMB's batches and queues are large."""
_BASE_MB = 256
"""The worker's own, and what all producers hold together."""
_CLIENT_BYTES = 1 << 20
"""A client without messages: its metadata, buffers of its connections, statistics."""
_PARTITION_MESSAGES = 100
"""Of each partition a consumer may hold so many, however many partitions share its queue (the drivers' rule)."""
_FETCH_BYTES = (1 << 20, 50 << 20)
"""The least and the most that Kafka's client holds of one server; other clients hold what the queue says."""
_RECORD_OVERHEAD_BYTES = 128
_SERVERS_MAX = 3
"""A consumer holds messages of so many servers; of how many others' cluster consists, nobody has told yet."""
_MIB = 1 << 20


def worker_for(workload: Workload, heap_mb: int = 0) -> WorkerChoice:
    """The memory of the load generator. `heap_mb` is what the user asked for; 0 = what the workload needs."""
    return WorkerChoice(heap_mb or max(HEAP_MB_MIN, _heap_mb(workload)), DIRECT_MEMORY_MB)


def _heap_mb(workload: Workload) -> int:
    consumers = workload.topics * workload.subscriptions * workload.consumers
    producers = workload.topics * workload.producers
    held = consumers * _held_bytes(workload, consumers) if consumers else 0
    return _BASE_MB + -(-(held + (consumers + producers) * _CLIENT_BYTES) // _MIB)


def _held_bytes(workload: Workload, consumers: int) -> int:
    """What one of the consumers may hold."""
    message_bytes = workload.payload.message_bytes
    fit = max(1, IN_FLIGHT_BYTES_MAX // (consumers * message_bytes))
    queue = min(workload.client.receive_queue_messages, fit)
    messages = max(queue, workload.partitions * min(queue, _PARTITION_MESSAGES))
    least, most = _FETCH_BYTES
    servers = min(_SERVERS_MAX, workload.partitions)
    return servers * min(most, max(least, messages * (message_bytes + _RECORD_OVERHEAD_BYTES)))
