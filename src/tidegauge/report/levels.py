"""What the durability levels mean, and what the systems of a run really gave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tidegauge.durability.levels import LEVELS
from tidegauge.experiments.api import TrialResult, point_words
from tidegauge.systems.api import Agreement, LevelChoice, LevelFinding


def meaning(level: int | None) -> str:
    """What an acknowledgement means at a level."""
    for known in LEVELS:
        if known.number == level:
            return f"when a message is acknowledged, {known.meaning}"
    return "what an acknowledgement means could not be read back"


def level_name(choice: LevelChoice) -> str:
    """ "level 4" or "level 4 (bypass)"."""
    form = f" ({choice.form})" if choice.form else ""
    return f"level {choice.level}{form}" + (", as found" if choice.as_found else "")


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
    points: dict[str, list[TrialResult]] = {}
    for result in results:
        points.setdefault(point_words(result.spec.point), []).append(result)
    return bool(points) and all(map(_equal_here, points.values()))


def _equal_here(results: Sequence[TrialResult]) -> bool:
    levels = {finding.level for _, finding in findings(results).values()}
    return len(levels) == 1 and None not in levels


def by_point(results: Sequence[TrialResult]) -> list[tuple[str, list[TrialResult]]]:
    """Results by what is to be said of their durability, each with the swept values that decided it, in words.

    One group without words where it is the same at all points.
    """
    points: dict[str, list[TrialResult]] = {}
    for result in results:
        points.setdefault(point_words(result.spec.point), []).append(result)
    groups: dict[str, list[TrialResult]] = {}
    for own in points.values():
        groups.setdefault(_headline(own), []).extend(own)
    if len(groups) < 2:
        return [("", list(results))]
    return [(_in_common([result.spec.point for result in own]), own) for own in groups.values()]


def _in_common(points: Sequence[Mapping[str, str]]) -> str:
    """The values that all points share; where there are none, the points themselves."""
    shared = {axis: value for axis, value in points[0].items() if all(point.get(axis) == value for point in points)}
    return point_words(shared) or "; ".join(dict.fromkeys(map(point_words, points)))


def headline(results: Sequence[TrialResult]) -> str:
    """One or two sentences on the durability of the compared systems; of a sweep over levels, for each of these."""
    return " ".join(f"At {where}: {_headline(own)}" if where else _headline(own) for where, own in by_point(results))


def _headline(results: Sequence[TrialResult]) -> str:
    found = findings(results)
    if not found:
        return ""
    if all(finding.level is None for _, finding in found.values()):
        return f"Durability is UNKNOWN ({', '.join(found)}): the settings that decide it could not be read, see below."
    if not equal(results):
        each = ", ".join(f"{system} {_given(finding)}" for system, (_, finding) in found.items())
        return f"Durability is NOT EQUAL ({each}): don't compare these figures."
    level = next(iter(found.values()))[1].level
    whom = "for every system" if len(found) > 1 else f"for {next(iter(found))}"
    kept = all(as_asked(*one) for one in found.values())
    decided_there = any(choice.as_found for choice, _ in found.values())
    asked = ("as found" if decided_there else "as asked") if kept else "NOT AS ASKED, see below"
    seen = all(_agrees(finding) for _, finding in found.values())
    witnesses = "read back from the running servers" + (" and seen in their system calls" if seen else "")
    return f"Durability: level {level} {whom}, {asked}, {witnesses}: {meaning(level)}."


def details(results: Sequence[TrialResult]) -> list[str]:
    """For each system both witnesses of its level, settings read back and system calls seen; then each problem."""
    groups = by_point(results)
    return [f"at {where}: {line}" if where else line for where, own in groups for line in _details(own)]


def _details(results: Sequence[TrialResult]) -> list[str]:
    lines = []
    for system, (choice, finding) in findings(results).items():
        given = _given(finding) + (f" ({choice.form})" if choice.form else "")
        given += f", {finding.attested}" if finding.attested else ""
        asked = "" if finding.level == choice.level else f", {_wanted(choice)} level {choice.level}"
        lines.append(f"{system}: {given}{asked}{_witnesses(finding)}")
        lines += [f"{system}: differs from what was asked: {problem}" for problem in finding.problems]
    return lines


def _agrees(finding: LevelFinding) -> bool:
    return finding.syncs is not None and finding.syncs.agreement is Agreement.AGREES


def _witnesses(finding: LevelFinding) -> str:
    """What the settings say, and beside it what was seen, where a second witness was called."""
    reasoning = "; ".join(finding.reasoning) or "no reasoning recorded"
    if finding.syncs is None:
        return f": {reasoning}"
    agrees = ", as the settings say" if finding.syncs.agreement is Agreement.AGREES else ""
    return f"; settings read back: {reasoning}; system calls: {finding.syncs.words}{agrees}"


def _wanted(choice: LevelChoice) -> str:
    return "where the cluster decides and one would expect" if choice.as_found else "asked for"


def _given(finding: LevelFinding) -> str:
    return "level unknown" if finding.level is None else f"level {finding.level}"
