"""What the durability levels mean, and what the systems of a run really gave."""

from __future__ import annotations

from collections.abc import Sequence

from tidegauge.durability.levels import LEVELS
from tidegauge.experiments.api import TrialResult
from tidegauge.systems.api import LevelChoice, LevelFinding


def meaning(level: int | None) -> str:
    """What an acknowledgement means at a level."""
    for known in LEVELS:
        if known.number == level:
            return f"when a message is acknowledged, {known.meaning}"
    return "what an acknowledgement means could not be read back"


def level_name(choice: LevelChoice) -> str:
    """ "level 4" or "level 4 (bypass)"."""
    return f"level {choice.level}" + (f" ({choice.form})" if choice.form else "")


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
    return finding.level == choice.level and not finding.problems


def equal(results: Sequence[TrialResult]) -> bool:
    """Whether all systems gave one and the same known level. Trials of unequal levels must not be ranked."""
    levels = {finding.level for _, finding in findings(results).values()}
    return len(levels) == 1 and None not in levels


def headline(results: Sequence[TrialResult]) -> str:
    """One or two sentences on the durability of the compared systems."""
    found = findings(results)
    if not found:
        return ""
    if not equal(results):
        each = ", ".join(f"{system} {_given(finding)}" for system, (_, finding) in found.items())
        return f"Durability is NOT EQUAL ({each}): don't compare these figures."
    level = next(iter(found.values()))[1].level
    whom = "for every system" if len(found) > 1 else f"for {next(iter(found))}"
    kept = all(as_asked(*one) for one in found.values())
    asked = "as asked" if kept else "NOT AS ASKED, see below"
    return f"Durability: level {level} {whom}, {asked}, read back from the running servers: {meaning(level)}."


def details(results: Sequence[TrialResult]) -> list[str]:
    """For each system the reasoning from its effective settings, then each problem."""
    lines = []
    for system, (choice, finding) in findings(results).items():
        given = _given(finding) + (f" ({choice.form})" if choice.form else "")
        asked = "" if finding.level == choice.level else f", asked for level {choice.level}"
        lines.append(f"{system}: {given}{asked}: {'; '.join(finding.reasoning) or 'no reasoning recorded'}")
        lines += [f"{system}: differs from what was asked: {problem}" for problem in finding.problems]
    return lines


def _given(finding: LevelFinding) -> str:
    return "level unknown" if finding.level is None else f"level {finding.level}"
