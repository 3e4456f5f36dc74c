"""Whether every broker and every replica takes part yet. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from tidegauge.systems.api import Setting

NO_LEADER = "-1"


def incomplete(settings: Sequence[Setting], nodes: int) -> str:
    """What is still missing: brokers that have not joined, partitions without a leader, replicas out of sync."""
    brokers = _value(settings, "cluster", "brokers")
    if brokers.isdigit() and int(brokers) < nodes:
        return f"{brokers} of {nodes} brokers have joined"
    for scope in dict.fromkeys(s.scope for s in settings if s.scope.startswith("topic ")):
        leaders = _value(settings, scope, "leaders.by.broker").split(", ")
        leaderless = [entry.partition(": ")[2] for entry in leaders if entry.startswith(f"{NO_LEADER}:")]
        if leaderless:
            return f"{scope}: {leaderless[0]} partitions have no leader"
        in_sync, copies = (_value(settings, scope, name) for name in ("in.sync.replicas", "replication.factor"))
        lowest = copies.partition("-")[0]
        if in_sync.isdigit() and lowest.isdigit() and int(in_sync) < int(lowest):
            return f"{scope}: {in_sync} of {copies} replicas are in sync"
    return ""


def _value(settings: Sequence[Setting], scope: str, name: str) -> str:
    return next((s.value for s in settings if (s.scope, s.name) == (scope, name)), "")
