"""Messages and the syncs that a witness saw of them."""

from __future__ import annotations

from tidegauge.durability import SyncCall
from tidegauge.model.load import AckedMessage

ONE = ("kafka-1",)
THREE = ("a-1", "a-2", "a-3")
MESSAGES = tuple(AckedMessage(1000 * n, 1000 * n + 500) for n in range(1, 5))


def call(node: str, entered: int, left: int, name: str = "fsync", succeeded: bool = True) -> SyncCall:
    return SyncCall(node, 7, name, entered, left, succeeded)


def for_each(*nodes: str, messages: tuple[AckedMessage, ...] = MESSAGES) -> tuple[SyncCall, ...]:
    """One call on each node, well inside each message's time."""
    return tuple(call(node, m.sent_mono_ns + 100, m.sent_mono_ns + 200) for m in messages for node in nodes)
