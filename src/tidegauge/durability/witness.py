"""The second witness of a durability level: did the servers sync to disk before they acknowledged? Pure.

The first witness is what the servers say of their settings. This one is what they were seen to do: messages were sent
strictly one at a time, and the system calls by which a process makes data durable were recorded meanwhile, both on the
host's monotonic clock. A call counts for a message if it began after the message was sent, ended before its
acknowledgement arrived, and succeeded. With one message at a time no group commit can serve two of them, so at a level
with local sync every single acknowledgement must have a call of its own, on as many nodes as the level promises. One
that has none was acknowledged from memory, and is not excused: there is nothing to be averaged here.

Doubts. A call is not proof that it was this message's data that it made durable: servers also sync metadata. Where that
happens now and then it covers some messages by chance, never each of them. Seen from outside, a follower's call may
belong to the message before; the pause between messages is there to keep them apart. Data written through a file opened
with O_SYNC or O_DSYNC, or by io_uring, makes no such call: a system that does so would be accused wrongly. None of the
systems measured here does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tidegauge.durability.levels import level_named
from tidegauge.model.level import Agreement, LevelFinding, SyncFinding
from tidegauge.model.load import AckedMessage

SYNC_CALLS = ("fsync", "fdatasync", "msync", "sync", "syncfs")
"""System calls that return after the data is durable. Not sync_file_range(2): it leaves out metadata and the drive's
cache, as its manual page warns."""


@dataclass(frozen=True)
class SyncCall:
    """One call of `SYNC_CALLS` by a thread of a node's storage process. Times in ns of the monotonic clock."""

    node: str
    thread: int
    call: str
    entered_mono_ns: int
    left_mono_ns: int
    succeeded: bool


@dataclass(frozen=True)
class Watch:
    """What was seen while the messages were sent.

    Attributes:
        calls: of all nodes, in any order.
        lost: records that the kernel dropped for want of space; more than 0 and nothing can be concluded.
    """

    calls: tuple[SyncCall, ...]
    lost: int = 0


def not_watched(reason: str) -> SyncFinding:
    """The finding where nobody could look."""
    return SyncFinding(Agreement.UNKNOWN, f"not watched: {reason}")


def copies_needed(level: int, nodes: int) -> int:
    """On how many nodes an acknowledged message must be durable at a level, were it one with local sync."""
    return min(3, nodes) // 2 + 1 if level_named(level).replication_sync else 1


def judge(level: int, nodes: Sequence[str], messages: Sequence[AckedMessage], watch: Watch) -> SyncFinding:
    """Compare what was seen with what a level means.

    Args:
        level: the level that the settings in force give, 1 to 4.
        nodes: names of the storage processes, one for each node, whether they made a call or not.
    """
    needed = copies_needed(level, len(nodes))
    covered = [nodes_synced_for(message, watch.calls) for message in messages]
    synced = sum(len(found) >= needed for found in covered)
    calls = {node: dict(sorted(Counter(c.call for c in watch.calls if c.node == node).items())) for node in nodes}
    if watch.lost or not messages:
        why = f"the kernel lost {watch.lost} records" if watch.lost else "no message was sent"
        agreement, words = Agreement.UNKNOWN, f"inconclusive: {why}"
    else:
        agreement = _agreement(level_named(level).local_sync, synced, len(messages))
        words = _words(synced, len(messages), needed, len(nodes))
        if agreement is Agreement.MORE:
            words += f", more than level {level} asks for"
    return SyncFinding(
        agreement=agreement,
        words=words,
        messages=len(messages),
        synced=synced,
        nodes_needed=needed,
        synced_by_node={node: sum(node in found for found in covered) for node in nodes},
        calls_by_node=calls,
    )


def nodes_synced_for(message: AckedMessage, calls: Sequence[SyncCall]) -> frozenset[str]:
    """Nodes that began and ended a successful call between a message's sending and its acknowledgement."""
    return frozenset(
        call.node
        for call in calls
        if call.succeeded
        and call.call in SYNC_CALLS
        and message.sent_mono_ns <= call.entered_mono_ns
        and call.left_mono_ns <= message.acked_mono_ns
    )


def disagreement(level: LevelFinding) -> str:
    """Why the system can't be at a level with local sync although its settings say so; "" if nothing speaks against."""
    finding = level.syncs
    if finding is None or finding.agreement is not Agreement.CONTRADICTS:
        return ""
    nodes = finding.synced_by_node
    each = ", ".join(f"{node} before {count}" for node, count in nodes.items()) if len(nodes) > 1 else ""
    only = "only " if finding.synced else ""
    seen = sum(sum(counts.values()) for counts in finding.calls_by_node.values())
    return (
        f"the settings read back give level {level.level}, but {only}{finding.words}"
        f"{f' ({each})' if each else ''}; {seen} such calls were seen altogether"
    )


def _agreement(local_sync: bool, synced: int, messages: int) -> Agreement:
    if local_sync:
        return Agreement.AGREES if synced == messages else Agreement.CONTRADICTS
    return Agreement.MORE if synced == messages else Agreement.AGREES


def _words(synced: int, messages: int, needed: int, nodes: int) -> str:
    where = f" on at least {needed} of {nodes} nodes" if needed > 1 else f" on one of {nodes} nodes or more"
    count = "each" if synced == messages else synced or "none"
    return f"{count} of {messages} acknowledgements came after an fsync{where if nodes > 1 else ''}"


def evidence_of(watch: Watch, messages: Sequence[AckedMessage]) -> Mapping[str, object]:
    """The evidence itself, for the run's files: each message with the nodes that synced for it, and each call."""
    return {
        "lost": watch.lost,
        "messages": [
            {
                "sent_mono_ns": message.sent_mono_ns,
                "acked_mono_ns": message.acked_mono_ns,
                "nodes_synced": sorted(nodes_synced_for(message, watch.calls)),
            }
            for message in messages
        ],
        "calls": sorted(watch.calls, key=lambda call: call.entered_mono_ns),
    }
