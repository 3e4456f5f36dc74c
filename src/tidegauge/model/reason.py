"""Why a trial's figures are in doubt, and what a reader should know of them: a kind to decide by, and words to show."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from tidegauge.plain import AsText


class ReasonKind(StrEnum):
    """What a reason or a warning is about. Whoever decides decides by this, and never by the words."""

    OWN_LAG = "own lag"
    """The load generator was late itself."""
    OWN_LAG_OF_TAIL = "own lag of the tail"
    """Only the latest of all messages are the load generator's."""
    HELD_BACK = "held back"
    """A load generator sent less than it was to, and its host decided that: others sent all, or the host was full."""
    FAR_AWAY = "far away"
    """One of several load generators waited for acknowledgements much longer than others."""
    BUSY_CONSUMER = "busy consumer"
    """The load generator's consumers decided end-to-end times and backlog."""
    CONSUMER_BUSY_AT_TIMES = "consumer busy at times"
    CATCHING_UP = "catching up"
    NO_MESSAGE = "no message"
    """Nothing was acknowledged in the window, or received."""
    LOST = "lost"
    DAMAGED = "damaged"
    DRAIN_CUT_OFF = "drain cut off"
    NOT_DELIVERED = "not delivered"
    """Acknowledged messages are late, or nobody knows where they are."""
    NO_OUTCOME = "no outcome"
    """Messages failed, or nobody knows what became of them."""
    LEVEL = "level"
    """The durability level is not known, or settings changed meanwhile."""
    DISTURBED = "disturbed"
    """Others used the machine."""
    COLLECTED = "collected"
    """Figures are what the load generators left."""
    FAULTS_MADE = "faults made"
    WARM_UP_TOO_SHORT = "warm-up too short"
    WARM_UP_UNSTEADY = "warm-up unsteady"
    UNSTEADY = "unsteady"
    BACKLOG_GREW = "backlog grew"
    RATE_NOT_REACHED = "rate not reached"
    """Less came through than was offered, and it was not the system that decided it."""
    NOT_KEPT_UP = "not kept up"
    GENERATOR_FIRST = "generator first"
    """A closed loop hardly waited for the system."""
    NEAR_GENERATOR = "near generator"
    """The rate was near what the load generators can do."""
    CPU_WAIT = "CPU wait"
    GARBAGE_COLLECTION = "garbage collection"
    COMPILING = "compiling"
    COLD = "cold"
    DELIVERY = "delivery"
    """Messages came twice, out of order, from elsewhere or too early."""
    DISK_SLOW = "disk slow"
    LATE_READERS = "late readers"
    """What weakens the figures of late readers."""
    SERVERS_MOVED = "servers moved"
    """Servers came, went or handed over what they lead while it was measured."""
    CLOCKS = "clocks"
    """What clocks of several hosts leave open."""
    BRIEF = "brief"
    ABORTED = "aborted"
    """A rule of `abort-on` ended the trial before its time: what it would have shown is not known."""
    OTHER = "other"
    """Of a run that was stored without kinds, or by a later Tidegauge that has more of them."""

    @classmethod
    def _missing_(cls, value: object) -> ReasonKind:
        return cls.OTHER


@dataclass(frozen=True)
class Reason(AsText):
    """A reason or a warning. As text, and so wherever a result is written: "text: conclusion (remedy)".

    Attributes:
        conclusion: what follows from it, where a short report leaves that out; "" if the text says all.
        remedy: what to do about it; "" if it doesn't say.
    """

    kind: ReasonKind
    text: str
    remedy: str = ""
    conclusion: str = ""

    @classmethod
    def from_text(cls, text: str) -> Self:
        """A reason of which only the text is known. Of stored runs `store.reasons` tells more."""
        return cls(ReasonKind.OTHER, text)

    def __str__(self) -> str:
        """The whole sentence, without a full stop."""
        return f"{self.without_remedy} ({self.remedy})" if self.remedy else self.without_remedy

    @property
    def without_remedy(self) -> str:
        """The sentence for a report that says itself what to do."""
        return f"{self.text}: {self.conclusion}" if self.conclusion else self.text
