"""The four durability levels as data, what a deployment can claim, and what the systems of a run really gave. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidegauge.errors import UserError
from tidegauge.model.level import LevelChoice, LevelFinding
from tidegauge.model.trial import TrialResult, point_words

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


def levels_found(results: Sequence[TrialResult]) -> dict[str, tuple[LevelChoice, LevelFinding]]:
    """By system: what was asked and what was found; of several trials the first that has a problem, else the first."""
    found: dict[str, tuple[LevelChoice, LevelFinding]] = {}
    for result in results:
        name = result.spec.system
        if name not in found or (as_asked(*found[name]) and not as_asked(result.spec.choice, result.level)):
            found[name] = (result.spec.choice, result.level)
    return dict(sorted(found.items()))


def as_asked(choice: LevelChoice, finding: LevelFinding) -> bool:
    """Whether the settings in force give the level that was asked for."""
    return (choice.as_found or finding.level == choice.level) and not finding.problems


def levels_equal(results: Sequence[TrialResult]) -> bool:
    """Whether all systems gave one and the same known level, at each point of a sweep.

    Trials of unequal levels must not be ranked.
    """
    points = results_by_point(results)
    return bool(points) and all(map(equal_at_point, points.values()))


def results_by_point(results: Sequence[TrialResult]) -> dict[str, list[TrialResult]]:
    """Results by the point of the sweep at which they were measured, in words."""
    points: dict[str, list[TrialResult]] = {}
    for result in results:
        points.setdefault(point_words(result.spec.point), []).append(result)
    return points


def equal_at_point(results: Sequence[TrialResult]) -> bool:
    """`levels_equal` of the trials of one point."""
    levels = {finding.level for _, finding in levels_found(results).values()}
    return len(levels) == 1 and None not in levels
