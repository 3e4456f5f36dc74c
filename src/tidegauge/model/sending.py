"""How the producers of a system batch and compress, as planned or as they themselves reported it. Plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil

from tidegauge.model.message_sizes import is_prime
from tidegauge.model.workload import POOL_BODIES, Payload

WINDOW_BYTES_MAX = 8 << 20
"""No codec of a client finds again what it saw longer ago, at the levels that clients use (zstd, up to its 19th)."""
SHARE_MIN = 1 / 16
"""Clients fill a batch by its compressed size, as they expect it; with fewer random bytes little is left to repeat."""


@dataclass(frozen=True)
class Sending:
    """How a system's producers send, with what the campaign gives this system alone.

    Attributes:
        batch_bytes: of the largest batch; 0 = without batches; None = the system has no such bound.
        batch_delay_ms: how long a message waits for its batch at most; None = the system has no such bound.
        compression: "none", "lz4".
        in_flight_messages: sent and not yet acknowledged, of each producer.
        instead: what the system does where it has no such bound, in words.
        library: the client library and its version: "kafka-clients 4.3.1"; "" where that is not known (yet).
        read_back: whether the clients of a trial reported this. Else it is what was asked for.
    """

    batch_bytes: float | None
    batch_delay_ms: float | None
    compression: str
    in_flight_messages: float
    instead: str = field(default="", metadata={"if_any": True})
    library: str = field(default="", metadata={"if_any": True})
    read_back: bool = False

    @property
    def compresses(self) -> bool:
        """Whether values are made smaller, and more so where they repeat."""
        return self.compression != "none"


def bodies_needed(payload: Payload, sending: Sending | None) -> int:
    """How many different bodies it takes so that none comes twice to where a codec can find it again.

    A prime, so that producers who deal their messages out to partitions do not use the same few of them for each.
    """
    if sending is None or not sending.compresses:
        return POOL_BODIES
    batch_bytes = (sending.batch_bytes or 0) / max(SHARE_MIN, payload.random_share if not payload.file else SHARE_MIN)
    number = max(POOL_BODIES, ceil(min(WINDOW_BYTES_MAX, batch_bytes) / payload.message_bytes)) + 1
    while not is_prime(number):
        number += 1
    return number


def codec_of_random_bytes(payload: Payload, sending: Sending | None) -> str:
    """The codec that is given random bytes only, which it can't make smaller; "" if there is none, or they are not."""
    is_random = not payload.file and payload.random_share >= 1
    return sending.compression if is_random and sending is not None and sending.compresses else ""


def values_repeat(payload: Payload, sending: Sending | None) -> bool:
    """Whether so few bodies were asked for that a codec makes values smaller than their random share says."""
    compresses = sending is not None and sending.compresses
    return compresses and 0 < payload.pool_bodies < bodies_needed(payload, sending) - 1
