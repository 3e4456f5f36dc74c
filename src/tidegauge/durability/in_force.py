"""The levels that the systems of a run really gave, from its results. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from tidegauge.model.level import LevelChoice, LevelFinding
from tidegauge.model.trial import TrialResult, point_words


def findings(results: Sequence[TrialResult]) -> dict[str, tuple[LevelChoice, LevelFinding]]:
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


def equal(results: Sequence[TrialResult]) -> bool:
    """Whether all systems gave one and the same known level, at each point of a sweep.

    Trials of unequal levels must not be ranked.
    """
    points = _points(results)
    return bool(points) and all(map(_equal_here, points.values()))


def _points(results: Sequence[TrialResult]) -> dict[str, list[TrialResult]]:
    """Results by the point of the sweep at which they were measured, in words."""
    points: dict[str, list[TrialResult]] = {}
    for result in results:
        points.setdefault(point_words(result.spec.point), []).append(result)
    return points


def _equal_here(results: Sequence[TrialResult]) -> bool:
    levels = {finding.level for _, finding in findings(results).values()}
    return len(levels) == 1 and None not in levels
