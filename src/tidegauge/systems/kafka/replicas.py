"""Whether every broker and every replica takes part yet, and who leads. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tidegauge.model.server import Setting

NO_LEADER = "-1"
LEADERS = "leaders.by.partition"
"""The brokers' numbers in the order of partitions: "1, 2, 3"; not told of topics with very many."""


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


def leaders(settings: Sequence[Setting]) -> Mapping[str, int]:
    """By "topic-partition", the broker that leads it; without those that have no leader."""
    found: dict[str, int] = {}
    for setting in settings:
        if setting.name != LEADERS or not setting.scope.startswith("topic "):
            continue
        topic = setting.scope.removeprefix("topic ")
        for partition, leader in enumerate(setting.value.split(", ")):
            if leader.isdigit():
                found[f"{topic}-{partition}"] = int(leader)
    return found


def _value(settings: Sequence[Setting], scope: str, name: str) -> str:
    return next((s.value for s in settings if (s.scope, s.name) == (scope, name)), "")
