"""An attestation in words: sentences and the cells of its table. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

from tidegauge.attestation.judging import Judged, judge_scenarios
from tidegauge.durability import describe_choice, level_and_form
from tidegauge.model.attest import (
    CLEAN,
    AttestOutcome,
    AttestPlan,
    AttestVerdict,
    FileSystem,
    Means,
    Scenario,
    cut_label,
    not_modelled,
)
from tidegauge.model.level import LevelChoice
from tidegauge.numbers import join_first, of_all, plural

_SHOWN_MAX = 3
_CHECK_CHARS_MAX = 120


def attest_sentences(
    choice: LevelChoice, means: Means, file_system: FileSystem, judged: Sequence[Judged]
) -> tuple[str, ...]:
    """The verdict on each scenario, what is behind a loss, and what all this does not show."""
    texts = []
    named = _named(means, file_system)
    for result in judged:
        texts.append(f"{describe_choice(choice)}, {result.scenario.value}{named}: {result.judgement.sentence()}.")
        texts += [f"{result.scenario.value}: {sentence}" for sentence in _sentences_beside(choice, result)]
    return (*texts, not_modelled(means, file_system))


def _named(means: Means, file_system: FileSystem) -> str:
    """What is less than a power cut, as a clause to append."""
    named = cut_label(means, file_system)
    return f" ({named})" if named else ""


def _sentences_beside(choice: LevelChoice, result: Judged) -> Iterable[str]:
    if result.judgement.verdict is AttestVerdict.REFUTED:
        if result.promise.kept:
            yield f"level {choice.level} promises that nothing is lost here: {result.promise.why}."
        elif result.breaks_promise:
            yield (
                f"level {choice.level} allows losses here, but no level that {plural(result.damaged, 'message')} "
                "came back damaged."
            )
        else:
            yield f"level {choice.level} does not promise more: {result.promise.why}."
        if searched := [cycle for cycle in result.cycles if cycle.in_files is not None]:
            hits, lost = sum(cycle.in_files or 0 for cycle in searched), sum(cycle.lost for cycle in searched)
            files = join_first([place for cycle in searched for place in cycle.files], _SHOWN_MAX, "; ")
            if hits:
                yield f"of {lost:,} lost messages {hits:,} are in the servers' data files, but not served: {files}."
            else:
                yield f"none of the {lost:,} lost messages is in the servers' data files, which were searched for them."
    if result.judgement.verdict is AttestVerdict.NOT_REFUTED and result.judgement.reasons:
        yield _first_few("cuts that did not count", result.judgement.reasons)
    begun = [cut.files_begun for cycle in result.cycles for cut in cycle.cuts if cut.files_begun is not None]
    if any(begun):
        # What is made while the power goes is what file systems and servers have been seen to lose.
        yield (
            f"{plural(sum(begun), 'data file')} had been begun under load, as logs do that roll, before "
            f"{of_all(len([count for count in begun if count]), len(begun), 'cut')}."
        )
    others = [(name, result.figure(key)) for name, key in _OTHERS if result.figure(key)]
    if others:
        yield f"also seen: {', '.join(f'{count:,} {name}' for name, count in others)}."
    damaged = [
        f"{disk}: {' '.join(said.split())[:_CHECK_CHARS_MAX]}"
        for cycle in result.cycles
        for cut in cycle.cuts
        for disk, said in cut.checks.items()
        if said != CLEAN
    ]
    for subject, examples in (
        ("not readable", [why for cycle in result.cycles for why in cycle.unreadable]),
        ("file systems that a check found damaged after a cut", damaged),
        ("odd about the histories", [doubt for cycle in result.cycles for doubt in cycle.doubts]),
    ):
        if examples:
            yield _first_few(subject, examples)


def _first_few(subject: str, examples: Sequence[str]) -> str:
    """The first of them as a sentence, and how many there are beside."""
    return f"{subject}: {join_first(examples, _SHOWN_MAX, '; ')}."


_OTHERS = (
    ("duplicated", "duplicated"),
    ("reordered", "reordered"),
    ("never sent", "phantom"),
    ("corrupt", "corrupt_found"),
    ("different between reads", "different"),
    ("refused and yet kept", "refused_kept"),
    ("committed positions lost", "positions_lost"),
    ("committed positions moved back", "positions_moved_back"),
    ("of unknown outcome that survived (fine)", "unknown_kept"),
)


def attest_cells(choice: LevelChoice, result: Judged) -> dict[str, str | int | float | None]:
    """A row of the table: expected and observed side by side."""
    judgement = result.judgement
    cuts = [cut for cycle in result.cycles for cut in cycle.cuts]
    return {
        "level": level_and_form(choice),
        "scenario": result.scenario.value,
        "expected": "none lost" if result.promise.kept else "may lose",
        "observed": judgement.verdict.value.upper(),
        "cuts": judgement.cuts,
        "at risk": judgement.at_risk,
        "lost": result.figure("lost"),
        # With `CONFIDENCE`, of cuts that lost nothing.
        "cut loses": f"< {judgement.loss_per_cut_max:.1%}" if judgement.verdict is AttestVerdict.NOT_REFUTED else None,
        "serve, s": _median_of_known(cut.serve_s for cut in cuts),
        "publish, s": _median_of_known(cycle.first_publish_s for cycle in result.cycles if cycle.cuts),
    }


def _median_of_known(values: Iterable[float | None]) -> float | None:
    numbers = [value for value in values if value is not None]
    return median(numbers) if numbers else None


def attest_outcome(plan: AttestPlan, outcome: AttestOutcome) -> str:
    """One attestation trial in one line: what its cuts lost, whatever that means."""
    cuts = sum(len(cycle.cuts) for cycle in outcome.cycles)
    lost = sum(cycle.lost for cycle in outcome.cycles)
    damaged = sum(cycle.figures.get("broken", 0) for cycle in outcome.cycles) - lost
    acked = sum(cycle.acked for cycle in outcome.cycles)
    unread = sum(bool(cycle.unreadable) for cycle in outcome.cycles)
    more = f", {damaged:,} damaged or not in every read" if damaged > 0 else ""
    more += f"; after {plural(unread, 'cycle')} not everything could be read" if unread else ""
    return (
        f"{plural(cuts, 'cut')}{_named(plan.means, plan.file_system)}, {lost:,} of {acked:,} acknowledged messages lost"
        f"{more}"
    )


def until_then(level: int, nodes: int, plan: AttestPlan, outcome: AttestOutcome) -> str:
    """What an attestation trial had found when it was ended before its time.

    A loss refutes whatever would have followed; that nothing was lost says nothing before all controls were made.
    """
    sentence = f"until then {attest_outcome(plan, outcome)}"
    if plan.control:
        return sentence
    scenarios = dict.fromkeys(cycle.scenario for cycle in outcome.cycles if cycle.scenario is not Scenario.NONE)
    judged = judge_scenarios(level, nodes, tuple(scenarios), outcome, None)
    refuted = [result.judgement.sentence() for result in judged if result.judgement.verdict is AttestVerdict.REFUTED]
    return f"{sentence}; {'; '.join(refuted) or 'INCONCLUSIVE: not all cuts and controls were made'}"
