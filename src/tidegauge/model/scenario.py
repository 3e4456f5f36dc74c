"""What is cut off in an attestation, when, and in which order."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Scenario(StrEnum):
    """Which nodes lose their power, and when."""

    NONE = "none"
    """The negative control: the same procedure without a cut."""
    ALL = "all"
    ONE = "one"
    LEADER = "leader"
    ROLLING = "rolling"
    LAGGING_MAJORITY = "lagging-majority"


class Kind(StrEnum):
    """What an act does to its target."""

    CUT = "cut"
    """Power off and, once the disks are mounted again, on."""
    HOLD = "hold"
    """Stop every thread; nothing is lost by it."""
    RELEASE = "release"


class Role(StrEnum):
    """Who an act is done to. Followers are the nodes but the leader, in order of their numbers."""

    ALL = "all"
    NODE = "node"
    LEADER = "leader"
    FOLLOWER = "follower"


@dataclass(frozen=True)
class Act:
    """One thing done in a cycle.

    Attributes:
        after_s: since the act before it, or since the load began; where `when_acked`, since an acknowledgement came
            after the act before it.
        number: of the node for `Role.NODE`, of the follower (from 1) for `Role.FOLLOWER`.
        again_after_s: of a cut, the same once more so long after the servers were started again; None = no second cut.
        when_acked: wait until messages are acknowledged again before the time counts: a system may take a while to go
            on without a node that is held back.
        until_complete: of a cut, go on only once all nodes serve and are in sync again.
    """

    kind: Kind
    role: Role
    after_s: float
    number: int = 0
    again_after_s: float | None = None
    when_acked: bool = False
    until_complete: bool = False


@dataclass(frozen=True)
class Cycle:
    """One load with what is done to the servers meanwhile. `tail_s`: load after the last act where nothing is cut."""

    number: int
    scenario: Scenario
    acts: tuple[Act, ...]
    tail_s: float = 0.0

    @property
    def cuts(self) -> int:
        """Cuts of power in it. One with a second in its recovery counts once: the two are about the same messages."""
        return sum(act.kind is Kind.CUT for act in self.acts)
