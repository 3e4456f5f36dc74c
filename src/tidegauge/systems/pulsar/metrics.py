"""What of Pulsar's own figures matters: the brokers' and the bookies', each told by the process that has them.

Sources: https://pulsar.apache.org/docs/reference-metrics/, https://bookkeeper.apache.org/docs/admin/metrics
"""

from __future__ import annotations

from tidegauge.systems.metrics import Combine, Kind, Metric

_DONE = {"success": "true"}
_JOURNAL = r"bookie_journal_(journalIndex_\d+_)?JOURNAL_"
"""Pulsar's own provider of a bookie's figures puts the journal's number into the name, BookKeeper's into a label."""


def _mean(name: str, base: str, meaning: str, is_sync_ms: bool = False) -> Metric:
    return Metric(
        name,
        meaning,
        f"{base}_sum",
        Kind.MEAN,
        labels=_DONE,
        count_series=f"{base}_count",
        is_sync_ms=is_sync_ms,
    )


METRICS: tuple[Metric, ...] = (
    Metric(
        "journal_syncs_per_s",
        "syncs of the bookie's journal to disk",
        f"{_JOURNAL}SYNC_count",
        Kind.RATE,
        labels=_DONE,
    ),
    _mean("journal_sync_ms", f"{_JOURNAL}SYNC", "mean time of such a sync", is_sync_ms=True),
    _mean(
        "journal_add_ms",
        f"{_JOURNAL}ADD_ENTRY",
        "mean time of an entry through the journal, its sync included",
    ),
    _mean(
        "add_entry_ms",
        "bookkeeper_server_ADD_ENTRY",
        "mean time of an entry in the bookie, from request to answer",
    ),
    Metric(
        "journal_queue_entries",
        "entries waiting for the journal",
        f"{_JOURNAL}QUEUE_SIZE",
        combine=Combine.MAX,
    ),
    Metric(
        "journal_sync_queue_requests",
        "writes waiting for a sync",
        f"{_JOURNAL}FORCE_WRITE_QUEUE_SIZE",
        combine=Combine.MAX,
    ),
    Metric(
        "write_cache_bytes",
        "entries in the bookie's memory, not yet in its ledgers",
        r"bookie_(ledgerDir_.+_)?write_cache_size",
    ),
    Metric(
        "throttled_writes_per_s",
        "entries that had to wait because the write cache was full",
        r"bookie_(ledgerDir_.+_)?throttled_write_requests",
        Kind.RATE,
    ),
    Metric("backlog_msgs", "messages of all subscriptions that the broker still has to deliver", "pulsar_msg_backlog"),
    Metric("managed_ledger_cache_bytes", "entries that the broker keeps for readers", "pulsar_ml_cache_used_size"),
    Metric(
        "cache_misses_per_s",
        "reads of the broker that had to go to the bookies, over the last minute",
        "pulsar_ml_cache_misses_rate",
    ),
)
