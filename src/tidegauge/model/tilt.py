"""What the fairness check found. Plain data, kept with the run as it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """UNEQUAL: the comparison is refused unless it was explicitly allowed, then marked. ADVICE: only reported."""

    UNEQUAL = "unequal"
    ADVICE = "advice"


class Stage(StrEnum):
    """WANTED: seen in the campaign, before anything ran. IN_FORCE: seen in what running systems report."""

    WANTED = "wanted"
    IN_FORCE = "in force"


@dataclass(frozen=True)
class Tilt:
    """Something that puts the systems of a comparison on unequal terms.

    Attributes:
        rule: the rule's name, as in docs/methodology.md: "batch-delay".
        systems: whom it concerns, as trials name them: "kafka@4.3.1".
        what: the settings that differ or tilt, with their values.
        why: what that does to the comparison.
        amount: by about how much, as far as anybody has measured it.
        source: where `amount`, or the rule, comes from.
        remedy: how to put it right.
    """

    rule: str
    severity: Severity
    stage: Stage
    systems: tuple[str, ...]
    what: str
    why: str
    amount: str
    source: str
    remedy: str

    def paragraph(self) -> str:
        """Says all of it in one paragraph."""
        seen = "" if self.stage is Stage.WANTED else " (as read back)"
        return (
            f"{self.rule}{seen}: {self.what}: {self.why}. By how much: {self.amount} ({self.source}). "
            f"To put it right: {self.remedy}."
        )


def only_unequal(tilts: Iterable[Tilt]) -> tuple[Tilt, ...]:
    """Tilts that make the comparison unequal."""
    return tuple(tilt for tilt in tilts if tilt.severity is Severity.UNEQUAL)


@dataclass(frozen=True)
class Terms:
    """What is known of the terms of a comparison. `allowed`: the user wants it although it is unequal."""

    unequal: tuple[Tilt, ...] = ()
    advice: tuple[Tilt, ...] = ()
    allowed: bool = False

    @classmethod
    def of_tilts(cls, tilts: Sequence[Tilt], allowed: bool) -> Terms:
        """Findings sorted into these two."""
        return cls(only_unequal(tilts), tuple(tilt for tilt in tilts if tilt.severity is Severity.ADVICE), allowed)

    @property
    def refused(self) -> bool:
        """Whether such a comparison must not run."""
        return bool(self.unequal) and not self.allowed


EQUAL_TERMS = Terms()


def new_among(tilts: Iterable[Tilt], earlier: Sequence[Tilt]) -> tuple[Tilt, ...]:
    """Tilts that say something not known yet: the same rule on the same systems is the same news at either stage."""
    seen = {(tilt.rule, tilt.systems, tilt.severity) for tilt in earlier}
    return tuple(tilt for tilt in tilts if (tilt.rule, tilt.systems, tilt.severity) not in seen)
