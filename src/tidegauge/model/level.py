"""Durability levels as they are chosen and as they are found in force."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Self

from tidegauge.plain import AsText

ANY_LEVEL = 0
"""In the place of a level, where none is asked for and none expected."""


@dataclass(frozen=True)
class LevelChoice:
    """A durability level and, where a system has several ways to give it, which ("journal", "bypass").

    Attributes:
        level: 1 to 4; `ANY_LEVEL` = a cluster of others decides it, and nothing is known of it before.
        form: of such a level the way in which topics are made ("quorum").
        as_found: the level is only expected, because a cluster of others decides; what is found is reported and nothing
            refused.
    """

    level: int
    form: str = ""
    as_found: bool = False

    @property
    def is_open(self) -> bool:
        """Whether no level is asked for and none expected."""
        return self.level == ANY_LEVEL


AS_FOUND = LevelChoice(ANY_LEVEL, as_found=True)
"""The choice to measure a cluster of others at the level that it has."""


class Agreement(StrEnum):
    """What the system calls seen say to the level that the settings give."""

    AGREES = "agrees"
    CONTRADICTS = "contradicts"
    MORE = "more"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class SyncFinding:
    """The second witness of a level: what the servers were seen to do before they acknowledged.

    Attributes:
        words: one clause for the report: what was seen, or why nothing could be.
        messages: sent one at a time while the servers were watched.
        synced: those acknowledged after a sync to disk of their own on at least `nodes_needed` nodes.
        synced_by_node: by storage process, before how many acknowledgements it synced.
        calls_by_node: by storage process, how many calls of each kind were seen at all.
    """

    agreement: Agreement
    words: str
    messages: int = 0
    synced: int = 0
    nodes_needed: int = 0
    synced_by_node: Mapping[str, int] = field(default_factory=dict)
    calls_by_node: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class SettingChange:
    """A setting that was another one at the end of a trial than at its start; "" = not reported then."""

    scope: str
    name: str
    before: str
    after: str


class CutsStanding(StrEnum):
    """How settings stand after cuts of the power that were made before."""

    NOT_ASKED = ""
    REFUTED = "REFUTED"
    ATTESTED = "attested"
    CLAIMED_ONLY = "claimed only"
    """There was no cut, or none that says more than what the level allows."""


@dataclass(frozen=True)
class EarlierCuts(AsText):
    """What cuts of the power said of settings before. As text: "attested: 0 lost in 60 cuts (all, one)".

    Attributes:
        details: what follows the standing, from the mark that parts them.
    """

    standing: CutsStanding = CutsStanding.NOT_ASKED
    details: str = ""

    @classmethod
    def from_text(cls, text: str) -> Self:
        """What was written so; what begins with no standing says nothing that decides."""
        standings = (standing for standing in CutsStanding if standing and text.startswith(standing))
        standing = next(standings, CutsStanding.NOT_ASKED)
        return cls(standing, text.removeprefix(standing))

    def __str__(self) -> str:
        """In words; "" where nobody asked."""
        return f"{self.standing}{self.details}"


NO_CUTS = EarlierCuts()
"""Nobody asked."""


@dataclass(frozen=True)
class LevelFinding:
    """The durability level that the effective settings really give, with the reasoning in words.

    Attributes:
        level: None where no level follows from what was reported.
        problems: each setting that makes it differ from what was asked; empty when it is as asked.
        syncs: the second witness; None if it was never called.
        attested: what cuts of the power said of these settings before.
        undecided: why no level follows: settings that were not reported, or that mean something else there. () where
            a level does, or where none is given at all.
        caveats: what must be read with the level although it does not change it, a clause each.
        changes: settings that somebody changed while it was measured.
        end_problem: why settings could not be read back again at the end; "" if they were.
        moves: which servers came or went meanwhile, and how many leaders moved, a clause each.
    """

    level: int | None
    reasoning: tuple[str, ...]
    problems: tuple[str, ...] = ()
    syncs: SyncFinding | None = None
    attested: EarlierCuts = NO_CUTS
    undecided: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()
    changes: tuple[SettingChange, ...] = ()
    end_problem: str = ""
    moves: tuple[str, ...] = field(default=(), metadata={"if_any": True})
