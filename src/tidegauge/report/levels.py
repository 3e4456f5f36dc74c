"""What the durability levels mean, and what the systems of a run really gave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum

from tidegauge.durability import LEVELS, as_asked, equal_at_point, levels_found, results_by_point
from tidegauge.model.level import NO_CUTS, Agreement, CutsStanding, LevelChoice, LevelFinding
from tidegauge.model.trial import AttestSpec, TrialResult, point_words
from tidegauge.numbers import join_with_and

AS_FOUND_WORDS = "as found"
"""How the level of a cluster is called that others decide."""


class Standing(StrEnum):
    """What is to be said of the durability of all systems together, the best first."""

    KEPT = "as asked"
    NOT_AS_ASKED = "one level for all, but not as asked"
    NOT_EQUAL = "levels differ"
    PARTLY_UNKNOWN = "the level of some is not known"
    UNKNOWN = "no level is known"


def standing(results: Sequence[TrialResult]) -> Standing:
    """The standing of the worst point of a sweep. Anything but KEPT must be read with every figure."""
    return max(
        map(_standing_at_point, results_by_point(results).values()), key=list(Standing).index, default=Standing.UNKNOWN
    )


def _standing_at_point(results: Sequence[TrialResult]) -> Standing:
    levels = levels_found(results)
    if all(finding.level is None for _, finding in levels.values()):
        return Standing.UNKNOWN
    if not equal_at_point(results):
        # Of one that is not known nobody can say that it differs.
        numbers = {result.level.level for result in results if not result.spec.serverless}
        return Standing.PARTLY_UNKNOWN if None in numbers and len(numbers) == 2 else Standing.NOT_EQUAL
    is_kept = all(as_asked(choice, finding) for choice, finding in levels.values())
    return Standing.KEPT if is_kept else Standing.NOT_AS_ASKED


def level_meaning(level: int | None) -> str:
    """What an acknowledgement means at a level; another version of Tidegauge may have others."""
    meanings = (f"when a message is acknowledged, {defined.meaning}" for defined in LEVELS if defined.number == level)
    return next(meanings, "what this level promises is not known")


def short_name(level: int | None) -> str:
    """A level in a few words: "one copy on disk"."""
    return next((defined.name for defined in LEVELS if defined.number == level), "unknown")


def has_servers(results: Sequence[TrialResult]) -> bool:
    """Whether any of these trials had servers, whoever ran them."""
    return not all(result.spec.serverless for result in results)


def witness_words(results: Sequence[TrialResult]) -> str:
    """How the levels are known: "settings read back", and where all systems agree "and seen in system calls"."""
    if not has_servers(results):
        return "there are no servers"
    points = results_by_point([result for result in results if not result.spec.serverless]).values()
    seen = all(_has_agreeing_syncs(finding) for at_point in points for _, finding in levels_found(at_point).values())
    return "settings read back" + (" and seen in system calls" if seen else "")


def level_words(choice: LevelChoice) -> str:
    """ "4", "4 bypass" or "as found", for the column of a table."""
    if choice.is_open:
        return f"{AS_FOUND_WORDS} {choice.form}".strip()
    return f"{choice.level}" if choice.as_found else f"{choice.level} {choice.form}".strip()


def _form_words(choice: LevelChoice) -> str:
    """ " (bypass)", or "" where the system has one way only, or the cluster decides it."""
    return f" ({choice.form})" if choice.form and (choice.is_open or not choice.as_found) else ""


def _declared_words(choice: LevelChoice) -> str:
    """ ", declared 3", of a level that is not known; "" where none was asked for."""
    return "" if choice.is_open else f", declared {choice.level}"


def by_point(results: Sequence[TrialResult]) -> list[tuple[str, list[TrialResult]]]:
    """Results by what is to be said of their durability, each with the swept values that decided it, in words.

    One group without words where it is the same at all points.
    """
    groups: dict[str, list[TrialResult]] = {}
    for at_point in results_by_point(results).values():
        groups.setdefault(_headline_of_results(at_point), []).extend(at_point)
    if len(groups) < 2:
        return [("", list(results))]
    return [(_in_common([result.spec.point for result in group]), group) for group in groups.values()]


def _in_common(points: Sequence[Mapping[str, str]]) -> str:
    """The values that all points share; where there are none, the points themselves."""
    shared = {axis: value for axis, value in points[0].items() if all(point.get(axis) == value for point in points)}
    return point_words(shared) or "; ".join(dict.fromkeys(map(point_words, points)))


def headline(results: Sequence[TrialResult]) -> str:
    """One or two sentences on the durability of the compared systems; of a sweep over levels, for each of these."""
    return " ".join(words for words, _ in headlines_by_point(results))


def headlines_by_point(results: Sequence[TrialResult]) -> list[tuple[str, list[TrialResult]]]:
    """A headline for each group of points that share it, with their results."""
    return [
        (f"At {where}: {_headline_of_results(group)}" if where else _headline_of_results(group), group)
        for where, group in by_point(results)
    ]


def _headline_of_results(results: Sequence[TrialResult]) -> str:
    levels = levels_found(results)
    if not levels:
        return ""
    stands = _standing_at_point(results)
    if stands is Standing.UNKNOWN:
        each = ", ".join(f"{system}{_declared_words(choice)}" for system, (choice, _) in levels.items())
        why = "; ".join(dict.fromkeys(_why_unknown(finding) for _, finding in levels.values()))
        return f"Durability is UNKNOWN ({each}): {why}."
    if stands in (Standing.NOT_EQUAL, Standing.PARTLY_UNKNOWN):
        each = ", ".join(
            f"{system} {_given_level_words(choice, finding)}{_form_words(choice)}"
            for system, (choice, finding) in levels.items()
        )
        if stands is Standing.PARTLY_UNKNOWN:
            return f"Durability is UNKNOWN of some ({each}): don't compare these figures."
        return f"Durability is NOT EQUAL ({each}): don't compare these figures."
    meaning = level_meaning(next(iter(levels.values()))[1].level)
    promise = f"Durability: {promised_words(levels)}, {_long_witness_words(results)}: {meaning}."
    return f"{promise}{refuted_words(levels)}{caveat_words(results)}"


def _long_witness_words(results: Sequence[TrialResult]) -> str:
    """How the levels are known, as a part of a sentence."""
    serverless = sorted({result.spec.system for result in results if result.spec.serverless})
    none = f"{join_with_and(serverless)} has none" if len(serverless) == 1 else f"{join_with_and(serverless)} have none"
    findings = levels_found([result for result in results if not result.spec.serverless]).values()
    if not findings:
        return "without servers, since the load generator itself keeps the messages"
    seen = " and seen in their system calls" if all(_has_agreeing_syncs(finding) for _, finding in findings) else ""
    return f"read back from the running servers{seen}" + (f" ({none})" if serverless else "")


def _why_unknown(finding: LevelFinding) -> str:
    if not finding.changes:
        return "what was reported does not decide it"
    levels_in_force = f" ({finding.undecided[0]})" if finding.undecided else ""
    return f"settings changed while it was measured{levels_in_force}"


def refuted_words(levels: Mapping[str, tuple[LevelChoice, LevelFinding]]) -> str:
    """As a sentence, which systems lost in earlier cuts what their level promises to keep; "" without any."""
    lost = {
        system: finding.attested.details
        for system, (_, finding) in levels.items()
        if finding.attested.standing is CutsStanding.REFUTED
    }
    cuts = "; ".join(f"{system}{words}" for system, words in lost.items())
    return f" But earlier cuts with these settings REFUTED it: {cuts}." if lost else ""


def promised_words(levels: Mapping[str, tuple[LevelChoice, LevelFinding]]) -> str:
    """The one level of all systems: "level 3 for every measured system (pulsar@4.2.4: bypass), as asked".

    "as found" where a cluster of others decides any of them.
    """
    level = next(iter(levels.values()))[1].level
    whom = "every measured system" if len(levels) > 1 else next(iter(levels))
    asked = AS_FOUND_WORDS if any(choice.as_found for choice, _ in levels.values()) else "as asked"
    kept = all(as_asked(choice, finding) for choice, finding in levels.values())
    # In which form each system gives its level, of those that have several: " (pulsar@4.2.4: bypass)". Without its name
    # where there is one system only: " (bypass)".
    named = {
        system: choice.form
        for system, (choice, finding) in levels.items()
        if as_asked(choice, finding) and _form_words(choice)
    }
    words = [form if len(levels) == 1 else f"{system}: {form}" for system, form in named.items()]
    forms_in_words = f" ({', '.join(words)})" if words else ""
    return f"level {level} for {whom}{forms_in_words}, {asked if kept else 'NOT AS ASKED'}"


def caveats(results: Sequence[TrialResult]) -> dict[str, list[str]]:
    """What must be read with the level of each system, in any of its trials but controls, which have another level."""
    by_system: dict[str, dict[str, None]] = {}
    for result in results:
        if isinstance(result.spec, AttestSpec) and result.spec.attest.control:
            continue
        by_system.setdefault(result.spec.system, {}).update(dict.fromkeys(result.level.caveats))
    return {system: list(words) for system, words in sorted(by_system.items()) if words}


def caveat_words(results: Sequence[TrialResult]) -> str:
    """All caveats as a sentence: " But kafka@attached, topic a: ..."; "" without any."""
    by_system = caveats(results)
    return (
        f" But {'; '.join(f'{system}, {words}' for system, each in by_system.items() for words in each)}."
        if by_system
        else ""
    )


def details(results: Sequence[TrialResult]) -> list[str]:
    """For each system both witnesses of its level, settings read back and system calls seen; then each problem."""
    groups = by_point(results)
    return [f"at {where}: {line}" if where else line for where, group in groups for line in _detail_lines(group)]


def _detail_lines(results: Sequence[TrialResult]) -> list[str]:
    lines = []
    serverless = {result.spec.system for result in results if result.spec.serverless}
    for system, (choice, finding) in levels_found(results).items():
        level_text = _given_level_words(choice, finding) + (_form_words(choice) if finding.level else "")
        level_text += f", {finding.attested}" if finding.attested != NO_CUTS and system not in serverless else ""
        same = choice.is_open or finding.level in (choice.level, None)
        expectation = "as the cluster decides, instead of the expected" if choice.as_found else "asked for"
        asked = "" if same else f", {expectation} level {choice.level}"
        # What the settings say, and beside it what was seen, where a second witness was called.
        reasoning = "; ".join(finding.reasoning) or "no reasoning recorded"
        if finding.syncs is None or system in serverless:
            witness_words = f": {reasoning}"
        else:
            agrees = ", as the settings say" if finding.syncs.agreement is Agreement.AGREES else ""
            witness_words = f"; settings read back: {reasoning}; system calls: {finding.syncs.words}{agrees}"
        lines.append(f"{system}: {level_text}{asked}{witness_words}")
        lines += [f"{system}: differs from what was asked: {problem}" for problem in finding.problems]
    lines += [
        f"{system}: to be read with its level: {words}" for system, each in caveats(results).items() for words in each
    ]
    return lines


def _has_agreeing_syncs(finding: LevelFinding) -> bool:
    return finding.syncs is not None and finding.syncs.agreement is Agreement.AGREES


def _given_level_words(choice: LevelChoice, finding: LevelFinding) -> str:
    return f"level unknown{_declared_words(choice)}" if finding.level is None else f"level {finding.level}"
