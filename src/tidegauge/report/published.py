"""Claims of a published report for a terminal: verdicts, and our figures beside the published ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median

from rich.console import RenderableType
from rich.text import Text

from tidegauge.model.trial import AttestSpec, TrialSpec
from tidegauge.numbers import MISSING, capitalized, of_all, plural, precise
from tidegauge.published import BRIEF_MARK, BRIEF_WORDS, PublishedScale
from tidegauge.published.examine import Choice, count_decidable, report_named
from tidegauge.published.verdict import ClaimOutcome, ClaimVerdict, Grade, PublishedOutcome, Side
from tidegauge.report.fairness import MARK
from tidegauge.report.layout import ColumnGroup, FigureTable, Paragraph, bullet, columns, heading, indented
from tidegauge.statistics.intervals import BLOCKS_MIN

_STYLES = {
    ClaimVerdict.CONFIRMED: "green",
    ClaimVerdict.DIRECTION: "green",
    ClaimVerdict.CONTRADICTED: "bold red",
    ClaimVerdict.NOT_DECIDED: "yellow",
}
_GRADES = {
    Grade.ORDERING: "ordering",
    Grade.SIZE: "ordering and size",
    Grade.ABSOLUTE: "absolute value, never decided",
    Grade.GUARANTEE: "guarantee",
    Grade.LIMIT: "limiting resource",
}
_PLACE_CHARS_MAX = 40
CONTRADICTS = "the report contradicts itself here"


def published_plan(choice: Choice, trials: Sequence[TrialSpec]) -> Iterable[RenderableType]:
    """What a campaign will examine by its planned trials, before it runs."""
    whole = report_named(choice.report)
    claims_by_id = {claim.id: claim for claim in whole.claims}
    claims = [claims_by_id[name] for name in choice.claims]
    yield heading(f"Examines {plural(len(claims), 'claim')} of: {whole.title}")
    for claim in claims:
        remark = f". NOT EXAMINED: {claim.unreproducible}" if claim.unreproducible else ""
        yield bullet(f"{claim.text} [{claim.source}]{remark}")
        if claim.contradiction:
            yield Paragraph(f"{CONTRADICTS}: {claim.contradiction}", "", "    ", "    ")
    yield indented(decidable_words(choice, trials))
    rates_vary = not all(isinstance(trial, AttestSpec) for trial in trials)
    if choice.scale == PublishedScale.SHARES and rates_vary:
        rates_words = "Rates are found here, or shares of what was found; --scale original takes the report's own."
        yield indented(f"{rates_words} --scale brief is a first look.")
    if words := scale_words(choice.scale):
        yield indented(words, "bold yellow" if choice.scale == PublishedScale.BRIEF else "")
    yield from (indented(f"Differs: {sentence}") for sentence in choice.differs)


def decidable_words(choice: Choice, trials: Sequence[TrialSpec]) -> str:
    """How many claims planned trials decide at best, and what more repeats would do."""
    decidable = count_decidable(choice, trials)
    blocks = 1 + max(trial.block for trial in trials)
    sentence = f"If all came out as published, {decidable} of {plural(len(choice.claims), 'claim')} would be decided"
    more = count_decidable(choice, trials, BLOCKS_MIN) if blocks < BLOCKS_MIN else decidable
    return f"{sentence}; with --repeat {BLOCKS_MIN}, {more}." if more > decidable else f"{sentence}."


def scale_words(scale: str) -> str:
    """What is not usual about a scale; "" for the usual one."""
    original = "Rates and amounts are the report's own (--scale original)."
    return {PublishedScale.ORIGINAL.value: original, PublishedScale.BRIEF.value: BRIEF_WORDS}.get(scale, "")


def published_parts(outcome: PublishedOutcome, host: str, unequal: bool) -> Iterable[RenderableType]:
    """The report and its hardware, ours, then each claim with its verdict and figures."""
    yield heading(f"Published: {outcome.title}")
    brief = outcome.scale == PublishedScale.BRIEF
    for sentence in outcome_sentences(outcome, host):
        yield indented(sentence, "bold yellow" if brief and sentence == BRIEF_WORDS else "")
    for claim in outcome.claims:
        yield Text("")
        yield Paragraph(f"{claim_title(claim, outcome, unequal)} [{examined_in(claim)}]", _STYLES[claim.verdict])
        yield bullet(claim.reason)
        if claim.contradiction:
            yield bullet(f"{CONTRADICTS}: {claim.contradiction}")
        table = claim_table(claim)
        if table is not None:
            common, figures = table
            if common:
                yield bullet(f"{common}:")
            yield figures


def outcome_sentences(outcome: PublishedOutcome, host: str) -> list[str]:
    """What must be known before any verdict, last how many verdicts there are of each kind."""
    return [*terms_sentences(outcome, host), f"{counts(outcome)}. {meaning_of_verdicts(outcome)}."]


def terms_sentences(outcome: PublishedOutcome, host: str) -> list[str]:
    """Both hosts, units, rates, and what differs."""
    units = {side.unit for claim in outcome.claims for part in claim.parts for side in part.sides}
    in_bytes = any(unit.endswith("B/s") for unit in units)
    sentences = (
        f"Theirs: {outcome.hardware}; {', '.join(outcome.versions)}.",
        f"Here: {host}" if host else "",
        # Where no claim has a rate of bytes, nobody asks for its unit.
        f"Units of the report: {outcome.units}; both figures are shown in them." if outcome.units and in_bytes else "",
        scale_words(outcome.scale),
        *(f"Differs: {sentence}" for sentence in outcome.differs),
    )
    return [*filter(None, sentences)]


def meaning_of_verdicts(outcome: PublishedOutcome) -> str:
    """What a verdict is one of."""
    several = any(side.runs for claim in outcome.claims for part in claim.parts for side in part.sides)
    which = "these runs on the machine of each" if several else "this run on this machine"
    return f"A verdict is one of {which}; absolute values are never confirmed: hosts differ"


def claim_title(claim: ClaimOutcome, outcome: PublishedOutcome, unequal: bool) -> str:
    """ "CONFIRMED (BRIEF): Pulsar's p99 is below Kafka's": a claim with its verdict, and what must be read with it."""
    marks = [BRIEF_MARK] if outcome.scale == PublishedScale.BRIEF else []
    marks += ["DOUBTFUL"] if outcome.doubts and claim.over_runs else []
    marks += [f"{MARK} terms"] if unequal else []
    marks_words = f" ({', '.join(marks)})" if marks else ""
    return f"{claim.verdict.value.upper()}{marks_words}: {claim.text}"


def counts(outcome: PublishedOutcome) -> str:
    """ "Of 6 claims 2 confirmed, 1 contradicted, 3 not decided", "All 6 claims not decided"."""
    counted = [(sum(claim.verdict is verdict for claim in outcome.claims), verdict.value) for verdict in ClaimVerdict]
    parts = [f"{number} {word}" for number, word in counted if number]
    brief = f", {BRIEF_MARK}" if outcome.scale == PublishedScale.BRIEF else ""
    if len(parts) == 1:
        number, word = next((number, word) for number, word in counted if number)
        return f"{capitalized(of_all(number, number, 'claim'))} {word}{brief}"
    return f"Of {plural(len(outcome.claims), 'claim')} {', '.join(parts)}{brief}"


def examined_in(claim: ClaimOutcome) -> str:
    """ "table 1-1; ordering and size": where the report makes a claim, and what of it is examined."""
    return "; ".join(filter(None, (claim.source, _GRADES[claim.grade] if claim.grade else "")))


def claim_table(claim: ClaimOutcome) -> tuple[str, FigureTable] | None:
    """What all places have in common, and our figures beside the published ones; None where there are none."""
    sides = list(dict.fromkeys(side for part in claim.parts for side in part.sides))
    if not any(side.values or side.published is not None for side in sides):
        return None
    words = [side.place.split(", ") for side in sides]
    common = [word for word in words[0] if len(words) > 1 and all(word in words_of_side for words_of_side in words)]
    places = [", ".join(word for word in words_of_side if word not in common) or "the same" for words_of_side in words]
    figures = list(dict.fromkeys((side.figure, side.unit) for side in sides))
    one_figure = len(figures) == 1
    head = f"{figures[0][0]}, {figures[0][1]}" if one_figure else "figures"
    labels = tuple(
        place if one_figure else f"{place}: {side.figure}, {side.unit}"
        for place, side in zip(places, sides, strict=True)
    )
    several = any(side.runs for side in sides)
    cells: Mapping[str, Callable[[Side], str]] = {
        "here": lambda side: precise(median(side.values)) if side.values else MISSING,
        "range": lambda side: (
            f"{precise(min(side.values))} to {precise(max(side.values))}" if len(side.values) > 1 else MISSING
        ),
        "trials": lambda side: trials_words(len(side.values), side.doubtful),
        **({"run": lambda side: ", ".join(side.runs) or MISSING} if several else {}),
        "published": lambda side: precise(side.published),
    }
    sources = columns(sides, {"source": lambda side: side.published_source or MISSING}, words=True)
    groups = (ColumnGroup(head, columns(sides, cells)), ColumnGroup("", sources))
    return ", ".join(common), FigureTable("place", labels, groups, label_chars_max=_PLACE_CHARS_MAX)


def trials_words(count: int, doubtful: int) -> str:
    """ "3"; "3, 1 DOUBTFUL"; "3 DOUBTFUL" if all are."""
    if doubtful == count:
        return f"{count} DOUBTFUL" if count else "0"
    return f"{count}, {doubtful} DOUBTFUL" if doubtful else f"{count}"
