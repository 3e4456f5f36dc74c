"""The four durability levels as data, and what a deployment of a given shape can claim. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidegauge.errors import UserError
from tidegauge.model.level import LevelChoice, LevelFinding

NODES_FOR_REPLICATION = 3


@dataclass(frozen=True)
class Level:
    """A level: how far a message has come when it is acknowledged."""

    number: int
    replication_sync: bool
    local_sync: bool
    name: str
    meaning: str


LEVELS: tuple[Level, ...] = (
    Level(
        1, True, True, "replicated and on disk", "a majority (at least 2 of 3) has it, and each of those has fsynced it"
    ),
    Level(2, True, False, "replicated, in memory", "a majority has it, perhaps only in memory"),
    Level(3, False, True, "one copy on disk", "one replica has fsynced it"),
    Level(4, False, False, "one copy in memory", "one replica has it, perhaps only in memory"),
)


def level_named(number: int) -> Level:
    """The level of a number. Raises `UserError` for a number that is none."""
    for level in LEVELS:
        if level.number == number:
            return level
    raise UserError(f"There is no durability level {number}.", "Levels are 1 (safest) to 4.")


def level_of(replication_sync: bool, local_sync: bool) -> int:
    """The number of the level with these two properties."""
    return next(x.number for x in LEVELS if (x.replication_sync, x.local_sync) == (replication_sync, local_sync))


def levels_for_nodes(nodes: int) -> list[int]:
    """Numbers that a shape can claim, best first: fewer than 3 nodes have no majority that survives the loss of one."""
    return [level.number for level in LEVELS if nodes >= NODES_FOR_REPLICATION or not level.replication_sync]


def finding_of(
    level: int, choice: LevelChoice, reasoning: Sequence[str], culprits: Sequence[str], form_problem: str = ""
) -> LevelFinding:
    """A finding, with problems if the level is not the one asked for. `culprits` are the settings at fault."""
    problems: list[str] = []
    if level != choice.level:
        named = "; ".join(culprits) or "the settings above"
        direction = "less" if level > choice.level else "more"
        problems.append(f"level {choice.level} was asked for, level {level} ({direction} durable) is in force: {named}")
    elif form_problem:
        problems.append(form_problem)
    return LevelFinding(level, tuple(reasoning), tuple(problems))


def describe_choice(choice: LevelChoice) -> str:
    """ "level 4 (journal)"."""
    return f"level {choice.level}" + (f" ({choice.form})" if choice.form else "")
