"""Faults that are made on purpose while a trial measures, and what each did, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tidegauge.numbers import size


class FaultKind(StrEnum):
    """What is done to nodes."""

    KILL = "kill"
    PAUSE = "pause"
    POWER_CUT = "power-cut"
    SLOW_DISK = "slow-disk"
    HUNG_DISK = "hung-disk"
    PARTITION = "partition"
    PACKET_LOSS = "packet-loss"
    RATE_LIMIT = "rate-limit"
    RESTART = "restart"
    ROLLING_RESTART = "rolling-restart"

    @property
    def lasts(self) -> bool:
        """Whether it lasts for its given duration; the others are over when the node is back."""
        return self not in (FaultKind.RESTART, FaultKind.ROLLING_RESTART)

    @property
    def needs_disk(self) -> bool:
        """Whether each node must have a disk of its own that can be cut off, slowed or hung."""
        return self in (FaultKind.POWER_CUT, FaultKind.SLOW_DISK, FaultKind.HUNG_DISK)

    @property
    def needs_network(self) -> bool:
        """Whether each node must have a network of its own."""
        return self in (FaultKind.PARTITION, FaultKind.PACKET_LOSS, FaultKind.RATE_LIMIT)


LEADER, RANDOM, ALL = "leader", "random", "all"
TARGETS = (LEADER, RANDOM, ALL)
"""Beside the numbers of nodes. The leader is the node that leads the first partition when the fault begins."""

SERVERS, CLIENTS, EVERYBODY = "servers", "clients", "everybody"
PEERS = (SERVERS, CLIENTS, EVERYBODY)
BOTH, INTO, OUT_OF = "both", "in", "out"
WAYS = (BOTH, INTO, OUT_OF)


@dataclass(frozen=True)
class Fault:
    """One fault as a campaign asks for it.

    Attributes:
        at_s: after the measured window has begun.
        target: a node's number, "leader", "random" (drawn from the trial's seed) or "all".
        duration_s: until it is lifted or the node is started again; 0 for kinds that last by themselves.
        bytes_per_s, ops_per_s: of a slow disk, reads and writes each; None = not limited. `bytes_per_s` also of a rate
            limit, each way.
        share: of packets that are lost.
        peers, ways: whom a partition separates the node from, and which way; "in": nothing reaches the node.
    """

    kind: FaultKind
    at_s: float
    target: str
    duration_s: float = 0.0
    bytes_per_s: int | None = None
    ops_per_s: int | None = None
    share: float | None = None
    peers: str = EVERYBODY
    ways: str = BOTH

    @property
    def ends_s(self) -> float:
        """When it is to be over, after the window has begun; of a kind that lasts by itself, when it begins."""
        return self.at_s + self.duration_s

    def words(self) -> str:
        """ "kill of the leader for 5 s, at 10 s"."""
        lasts = f" for {self.duration_s:g} s" if self.kind.lasts else ""
        return f"{self.what}{lasts}, at {self.at_s:g} s"

    @property
    def what(self) -> str:
        """Kind and target: "kill of the leader"."""
        whom = {LEADER: "the leader", RANDOM: "a random node", ALL: "all nodes"}.get(self.target, f"node {self.target}")
        joint = "around" if self.kind is FaultKind.PARTITION else "of"
        return f"{self.name}{self._extent_in_words()} {joint} {whom}"

    @property
    def name(self) -> str:
        """The kind in words: "power cut"."""
        return self.kind.value.replace("-", " ")

    def _extent_in_words(self) -> str:
        parts = []
        if self.bytes_per_s is not None:
            parts.append(f"{size(self.bytes_per_s)}/s")
        if self.ops_per_s is not None:
            parts.append(f"{self.ops_per_s:,} operations/s")
        if self.share is not None:
            parts.append(f"{self.share:.3g} of packets" if self.share < 0.01 else f"{self.share:.0%} of packets")
        if self.kind is FaultKind.PARTITION:
            whom = "servers and clients" if self.peers == EVERYBODY else self.peers
            parts.append(
                {BOTH: f"from {whom}", INTO: f"of what {whom} send", OUT_OF: f"of what goes to {whom}"}[self.ways]
            )
        return f" ({', '.join(parts)})" if parts else ""


@dataclass(frozen=True)
class FaultResult:
    """A fault as it really went, and what it did to the load.

    Figures are of the seconds from the one in which the fault began until the next fault begins or, of the last one,
    the window ends; counts of messages until the trial ends. Nothing shorter than a second is seen, so that a gap is up
    to a second longer at either end than reported.

    Attributes:
        nodes: numbers of those that were hit.
        from_s, until_s: when it was in force and when it had been lifted (a node: when it was started again), after the
            window had begun.
        publish_gap_s, delivery_gap_s: of the seconds without any acknowledgement, and without any message received by
            some subscription.
        p99_before_ms: median over the seconds before the first fault of each second's p99 response.
        p99_worst_ms: the worst second's.
        normal_after_s: from the fault's beginning until rate, deliveries and p99 are as before, and stay so for a while
            after it was lifted; None if that was not seen.
        failed, duplicated, reordered, corrupt: messages in that time.
        lost: acknowledged messages; None where there were several faults and nobody knows which of them did it.
    """

    fault: Fault
    nodes: tuple[int, ...]
    from_s: float
    until_s: float
    publish_gap_s: float
    delivery_gap_s: float
    p99_before_ms: float | None
    p99_worst_ms: float | None
    normal_after_s: float | None
    failed: int
    duplicated: int
    reordered: int
    corrupt: int
    lost: int | None
