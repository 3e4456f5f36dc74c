"""Kafka's settings for each durability level, and the level that settings in force really give. Pure.

Source: Kafka's broker and topic configuration. A broker acknowledges a produce request after its leader has appended
the batch and, with acks=all, every in-sync replica has it. `flush.messages=1` makes each append fsync the segment
before that; by default nothing is fsynced before an acknowledgement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tidegauge.durability import finding_of, level_of
from tidegauge.model.level import LevelChoice, LevelFinding
from tidegauge.model.server import Setting, scopes_of

SYNC_TOPIC_SETTINGS: Mapping[str, str] = {"flush.messages": "1", "flush.ms": "0"}
REPLICAS_FOR_MAJORITY = 2


def topic_settings(choice: LevelChoice) -> Mapping[str, str]:
    """Local sync is a topic's own setting in Kafka; local async is the default."""
    return SYNC_TOPIC_SETTINGS if choice.level in (1, 3) else {}


def client_acks(choice: LevelChoice, nodes: int) -> str:
    """ "all" for replication sync. On one node "all" waits for nothing more than "one", and keeps idempotence."""
    return "all" if choice.level in (1, 2) or nodes == 1 else "one"


def derive_level(settings: Sequence[Setting], choice: LevelChoice, nodes: int) -> LevelFinding:
    """What level these effective settings give."""
    topics = scopes_of(settings)
    if not topics:
        return LevelFinding(None, (), ("no settings of any topic were read back, so the level is unknown",))
    reasons, unsynced = _local_sync(settings, topics)
    replicated, replication_reason = _replication(settings, topics, choice, nodes)
    if any(s.name == "acks" and s.value == "0" for s in settings):
        return LevelFinding(None, (), ("acks=0: the producer waits for no acknowledgement at all",))
    level = level_of(replication_sync=replicated, local_sync=not unsynced)
    culprits = [*unsynced] if choice.level in (1, 3) else [] if unsynced else ["flush.messages=1 on every topic"]
    if replicated != (choice.level in (1, 2)):
        culprits.append(replication_reason)
    return finding_of(level, choice, (*reasons, replication_reason), culprits)


def _local_sync(settings: Sequence[Setting], topics: Sequence[str]) -> tuple[list[str], list[str]]:
    """Of each topic whether it is fsynced before the acknowledgement, and the settings that prevent it."""
    reasons, culprits = [], []
    for topic in topics:
        value = next((s.value for s in settings if s.scope == topic and s.name == "flush.messages"), None)
        if value == "1":
            reasons.append(f"{topic}: flush.messages=1, so each append is fsynced before it is acknowledged")
        else:
            reasons.append(f"{topic}: flush.messages={value}, so an acknowledged message may be in memory only")
            culprits.append(f"{topic}: flush.messages={value}")
    return reasons, culprits


def _replication(
    settings: Sequence[Setting], topics: Sequence[str], choice: LevelChoice, nodes: int
) -> tuple[bool, str]:
    """Whether an acknowledgement waits for a second copy on every topic, and the settings that say so."""
    if nodes < REPLICAS_FOR_MAJORITY:
        return False, "one node: there is no second copy"
    in_sync, copies = _lowest(settings, topics, "min.insync.replicas"), _lowest(settings, topics, "replication.factor")
    given = {s.value for s in settings if s.scope == "producer" and s.name == "acks"}
    acks = "one" if "1" in given else "all" if given else client_acks(choice, nodes)
    reason = f"acks={acks}, min.insync.replicas={in_sync}, replication.factor={copies} over {nodes} nodes"
    enough = (in_sync or 1) >= REPLICAS_FOR_MAJORITY and (copies is None or copies >= REPLICAS_FOR_MAJORITY)
    return acks == "all" and enough, reason


def _lowest(settings: Sequence[Setting], topics: Sequence[str], name: str) -> int | None:
    """The lowest value of a setting over the topics; None if it was not read back for any."""
    values = [s.value.partition("-")[0] for s in settings if s.name == name and s.scope in topics]
    return min((int(value) for value in values if value.isdigit()), default=None)
