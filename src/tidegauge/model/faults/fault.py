"""A fault that is made on purpose while a trial measures, as plain data."""

from __future__ import annotations

from dataclasses import dataclass

from tidegauge.model.faults.extent import BOTH, EVERYBODY, FaultExtent
from tidegauge.model.faults.kinds import FaultKind
from tidegauge.numbers import trimmed

LEADER, RANDOM, ALL = "leader", "random", "all"
TARGETS = (LEADER, RANDOM, ALL)
"""Beside the numbers of nodes. The leader is the node that leads the first partition when the fault begins."""


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
        lasts = f" for {trimmed(self.duration_s)} s" if self.kind.procedure.lasts else ""
        return f"{self.what}{lasts}, at {trimmed(self.at_s)} s"

    @property
    def what(self) -> str:
        """Kind and target: "kill of the leader"."""
        whom = {LEADER: "the leader", RANDOM: "a random node", ALL: "all nodes"}.get(self.target, f"node {self.target}")
        parts = self.kind.procedure.describe_extent(self.extent)
        extent = f" ({', '.join(parts)})" if parts else ""
        return f"{self.name}{extent} {self.kind.procedure.preposition} {whom}"

    @property
    def name(self) -> str:
        """The kind in words: "power cut"."""
        return self.kind.value.replace("-", " ")

    @property
    def extent(self) -> FaultExtent:
        """How far it goes."""
        return FaultExtent(self.bytes_per_s, self.ops_per_s, self.share, self.peers, self.ways)
