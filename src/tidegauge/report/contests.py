"""Alternatives of a run against each other, in words and as tables for every kind of report. Pure.

The first line says what differs, then each contest who is first, by how much, and what that is worth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from rich.console import RenderableType

from tidegauge.comparison.contests import Alternative, Contest
from tidegauge.model.trial import point_words
from tidegauge.model.variant import VARIANT, SameWithin, Variant
from tidegauge.numbers import MISSING, factor, in_unit, join_with_and, percent, plural, trimmed
from tidegauge.plain import plain_value
from tidegauge.report.compare import REPEATS_FIRST, REPEATS_SUGGESTED_MAX, too_few_words
from tidegauge.report.facts import RunFacts
from tidegauge.report.layout import Column, ColumnGroup, FigureTable, Paragraph, bullet, heading
from tidegauge.statistics.contrasts import Contrast
from tidegauge.statistics.intervals import BLOCKS_MAX, BLOCKS_MIN, CONFIDENCE, ComparisonVerdict
from tidegauge.store.read import StoredRun

POINTS_MAX = 12
"""Contests of a sweep that a terminal shows; the page has all of them."""


def variants_line(run: StoredRun) -> str:
    """What the variants differ in: "linger-0 (producer linger.ms 0) against linger-20 (producer linger.ms 20)".

    What a variant's name says already, as that of one without a name of its own does, is not said again.
    """
    if not run.variants:
        return ""
    if not any(variant.sets for variant in run.variants):
        names = join_with_and([variant.name for variant in run.variants])
        return f"{names} have the same settings (A/A): any difference between them is chance"
    first, *others = map(_variant_words, run.variants)
    return f"{first} against {join_with_and(others)}"


def _variant_words(variant: Variant) -> str:
    name_parts = variant.name.split()
    unsaid = {
        key: value for key, value in variant.sets.items() if f"{key.rpartition(' ')[2]}={value}" not in name_parts
    }
    sets = ", ".join(f"{key} {value}" for key, value in unsaid.items())
    return f"{variant.name} ({sets})" if sets else variant.name


def margin_words(same_within: SameWithin, widened_share: float | None = None) -> str:
    """ "within 3%" or "within 1 ms". `widened_share`: for ratios, by the steps in which the figure comes."""
    if same_within.ms is not None and widened_share is None:
        return f"within {trimmed(same_within.ms)} ms"
    return f"within {percent(same_within.share if widened_share is None else widened_share)}"


def verdict_words(contrast: Contrast) -> str:
    """The verdict: better, worse, the same within a margin, or what it would take to decide."""
    if contrast.verdict is ComparisonVerdict.SAME:
        return f"the same {margin_words(contrast.same_within, contrast.share)}"
    if contrast.verdict is not ComparisonVerdict.NOT_DECIDED:
        return contrast.verdict.value
    return f"not decided, {_what_decides(contrast)}"


def _what_decides(contrast: Contrast) -> str:
    if contrast.blocks < BLOCKS_MIN:
        return f"since {too_few_words(contrast.blocks)}"
    more = contrast.more_blocks
    if more is None:
        return "the difference is within the steps in which the figure comes"
    if contrast.blocks + more > BLOCKS_MAX:
        return f"more than {BLOCKS_MAX:,} repeats would be needed"
    return f"about {plural(more, 'more repeat')} may decide"


def ratio_words(contrast: Contrast) -> str:
    """ "7.25x [6.80, 7.70]"."""
    interval = contrast.ratio_interval
    ends = f" [{factor(interval.low)}, {factor(interval.high)}]" if interval else ""
    return f"{factor(contrast.ratio)}x{ends}"


def difference_words(contrast: Contrast, unit: str) -> str:
    """ "+18.9 ms [+18.4, +19.3]"."""
    return f"{signed(contrast.difference, unit)} {unit}".rstrip() + _ends_of_difference(contrast, unit)


def _ends_of_difference(contrast: Contrast, unit: str) -> str:
    interval = contrast.difference_interval
    return f" [{signed(interval.low, unit)}, {signed(interval.high, unit)}]" if interval else ""


def signed(value: float, unit: str) -> str:
    """A difference with its sign: "+18.9", "-0.31", "0"."""
    if value == 0:
        return "0"
    return f"{'-' if value < 0 else '+'}{in_unit(abs(value), unit)}"


def contest_title(contest: Contest) -> str:
    """What was asked: "latency at 500 msg/s: response p99"; of a sweep with the other axes' values."""
    load = f" at {contest.load}" if contest.load.endswith("msg/s") else f", {contest.load}" if contest.load else ""
    at = f", at {point_words(contest.at)}" if contest.at else ""
    return f"{contest.experiment}{load}{at}: {contest.figure}"


def contest_sentence(contest: Contest) -> str:
    """The figures, the best first, then what each is worth against the first, then what must be read with them."""
    measured = [alternative for alternative in contest.ranked if alternative.value is not None]
    if not measured:
        return "; ".join(["no figure that may be used", *contest.beside])
    names = _names_of_alternatives(contest)
    figures = []
    for place, alternative in enumerate(measured):
        unit = f" {contest.unit}" if place == 0 else ""
        doubt = " (DOUBTFUL)" if alternative.doubtful else ""
        value = in_unit(alternative.value, contest.unit)
        figures.append(f"{value}{unit} with {names[alternative.label]}{doubt}")
    verdicts, blocks_of = [], {alternative.label: alternative.blocks for alternative in contest.alternatives}
    for each in contest.against_first:
        if each.contrast is not None:
            relation = f"{ratio_words(each.contrast)}, {difference_words(each.contrast, contest.unit)}"
            if each.contrast.paired and blocks_of[each.label] != contest.baseline.blocks:
                relation += f", over the {plural(each.contrast.blocks, 'block')} that both have"
            verdicts.append(f"{names[each.label]} {verdict_words(each.contrast)} ({relation})")
    base = names[contest.baseline.label]
    against = f"against {base}: {'; '.join(verdicts)}" if verdicts else "not compared"
    return "; ".join([join_with_and(figures), against, *contest.beside])


def contest_line(contest: Contest) -> str:
    """A contest in one line, with what was asked. What stands beside it is said once, with the leading figure."""
    shown = contest if contest.lead else replace(contest, beside=())
    return f"{contest_title(contest)}: {contest_sentence(shown)}."


def _names_of_alternatives(contest: Contest) -> dict[str, str]:
    """A variant by its name; a point of a sweep by its axis and value."""
    labels = [alternative.label for alternative in contest.alternatives]
    return {label: label if contest.axis == VARIANT else f"{contest.axis}={label}" for label in labels}


def experiment_sentence(contests: Sequence[Contest]) -> str:
    """All leading contests of one experiment's variants as one text."""
    sentences = []
    for contest in contests:
        at = f"At {point_words(contest.at)}: " if contest.at else ""
        lead = f"at {contest.load} the" if contest.load.endswith("msg/s") else f"{contest.load}, the".lstrip(", ")
        is_known = any(alternative.value is not None for alternative in contest.alternatives)
        words = f"{at}{lead} {contest.figure} {'was' if is_known else 'is not known:'} {contest_sentence(contest)}"
        sentences.append(f"{words[:1].upper()}{words[1:].rstrip('.')}.")
    return " ".join(sentences)


def contest_table(contest: Contest) -> FigureTable:
    """A row for each alternative, the best first: its figure, and how it stands against the first of the campaign."""
    ranked = contest.ranked
    names = _names_of_alternatives(contest)

    def cells(of: Callable[[Contrast], str]) -> tuple[str, ...]:
        return tuple(
            of(contrast) if (contrast := contest.contrast_of(alternative.label)) is not None else MISSING
            for alternative in ranked
        )

    def bare_difference(contrast: Contrast) -> str:
        return signed(contrast.difference, contest.unit) + _ends_of_difference(contrast, contest.unit)

    unit = f", {contest.unit}" if contest.unit else ""
    figures_of_each = (
        Column(f"{contest.figure}{unit}", tuple(in_unit(each.value, contest.unit) for each in ranked)),
        Column("interval", tuple(_span_words(each, contest.unit) for each in ranked)),
    )
    against = (
        Column("ratio", cells(ratio_words)),
        Column(f"difference{unit}", cells(bare_difference)),
    )
    words = tuple(
        "the baseline" if each.label == contest.baseline.label else word
        for each, word in zip(ranked, cells(verdict_words), strict=True)
    )
    return FigureTable(
        "variant" if contest.axis == VARIANT else contest.axis,
        tuple(f"{each.label}{' (DOUBTFUL)' if each.doubtful else ''}" for each in ranked),
        (
            ColumnGroup("", figures_of_each),
            ColumnGroup("", (Column("verdict", words, words=True),)),
            ColumnGroup(f"against {names[contest.baseline.label]}", against),
        ),
    )


def _span_words(alternative: Alternative, unit: str) -> str:
    if alternative.low is None or len(alternative.values) < 2:
        return MISSING
    low, high = in_unit(alternative.low, unit), in_unit(alternative.high, unit)
    return f"[{low}, {high}]" if len(alternative.values) >= BLOCKS_MIN else f"{low} to {high}"


def contest_notes(contest: Contest) -> list[str]:
    """What must be read with the table: other differences, and what the intervals are."""
    notes = [f"{words[:1].upper()}{words[1:]}." for words in contest.beside]
    contrasts = [each.contrast for each in contest.against_first if each.contrast is not None]
    if any(len(each.values) > 1 for each in contest.alternatives):
        means = "Figures are geometric means over blocks; ratio and difference are those of these means"
        several = {each.blocks for each in contest.alternatives if each.values}
        if len(several) > 1 and any(contrast.paired for contrast in contrasts):
            means += ", over the blocks that both have"
        notes.append(f"{means}.")
    notes += _notes_on_intervals(contest, sum(contrast.ratio_interval is not None for contrast in contrasts))
    notes.append(f"The same: the whole interval lies {same_words(contest)}." if contest.lead else "")
    return [note for note in notes if note]


def same_words(contest: Contest) -> str:
    """The margin by which its alternatives are judged, as wide as the figure's steps make it."""
    return margin_words(
        contest.same_within, next((each.contrast.share for each in contest.against_first if each.contrast), None)
    )


def _notes_on_intervals(contest: Contest, intervals: int) -> list[str]:
    """Over how many blocks figures are, of what their intervals are, and where there are none.

    `intervals`: how many alternatives have one against the first.
    """
    blocks = [len(each.values) for each in contest.alternatives if each.values] or [0]
    fewest, most = min(blocks), max(blocks)
    if most < 2:
        return []
    over = f"Over {plural(most, 'block')}" if fewest == most else f"Over {fewest:,} to {plural(most, 'block')}"
    first = _names_of_alternatives(contest)[contest.baseline.label]
    if intervals > 1:
        words = (
            f"{over}; the {intervals} intervals against {first} hold together in {CONFIDENCE:.0%} of cases (each "
            f"{contest.confidence:.1%})"
        )
    elif intervals and len(contest.against_first) > 1:
        words = f"{over}; the interval against {first} is of {contest.confidence:.1%}"
    else:
        words = f"{over}; intervals of {CONFIDENCE:.0%}" if most >= BLOCKS_MIN else over
    few = max((number for number in blocks if number < BLOCKS_MIN), default=0)
    words += f"; {too_few_words(few)}" if few else ""
    words += ", so the range of the blocks is shown instead" if few > 1 else ""
    return [f"{words}."]


def points_clause(compared: Sequence[Contest]) -> str:
    """How points stand against the first of their axis, in a clause: "against partitions=1: 100 worse, 2000 worse".

    "" where nothing was repeated. Of several axes, each compared by itself, only whether repeats are too few.
    """
    if len(compared) != 1:
        all_contrasts = (each.contrast for contest in compared for each in contest.against_first)
        blocks = max((contrast.blocks for contrast in all_contrasts if contrast is not None), default=0)
        return f"no point is compared with another, since {too_few_words(blocks)}" if 1 < blocks < BLOCKS_MIN else ""
    (contest,) = compared
    contrasts = [(each.label, each.contrast) for each in contest.against_first if each.contrast is not None]
    if not any(contrast.blocks > 1 for _, contrast in contrasts):
        return ""
    words = "; ".join(f"{label} {verdict_words(contrast)}" for label, contrast in contrasts)
    return f"against {contest.axis}={contest.baseline.label}: {words}"


def leading_contests(contests: Iterable[Contest], experiment: str) -> list[Contest]:
    """Those that an experiment is summed up by."""
    return [contest for contest in contests if contest.lead and contest.experiment == experiment]


def parts(facts: RunFacts) -> list[RenderableType]:
    """What a terminal shows of all contests; [] of a run without any."""
    shown: list[RenderableType] = []
    leading = [contest for contest in facts.variant_contests if contest.lead]
    if leading:
        shown.append(heading(f"Variants compared: {variants_line(facts.run)}"))
        for contest in leading:
            shown += [Paragraph(contest_title(contest)), contest_table(contest)]
            shown += [bullet(note) for note in contest_notes(contest)]
        shown += [bullet(contest_line(contest)) for contest in facts.variant_contests if not contest.lead]
    swept = [contest for contest in facts.sweep_contests if contest.lead]
    if swept:
        shown.append(heading("Points of the sweep compared, each value of an axis with its first"))
        shown += [bullet(contest_line(contest)) for contest in swept[:POINTS_MAX]]
        if len(swept) > POINTS_MAX:
            shown.append(bullet(f"... and {len(swept) - POINTS_MAX} more in the report and in --json"))
    return shown


def repeats_needed(contests: Iterable[Contest]) -> int | None:
    """How many blocks would decide most of what is open; None where nothing is, or nobody would make so many."""
    against_first = [each for contest in contests if contest.lead for each in contest.against_first]
    contrasts = [each.contrast for each in against_first if each.contrast is not None]
    if any(contrast.blocks < BLOCKS_MIN for contrast in contrasts):
        return REPEATS_FIRST
    needed = [contrast.blocks_needed for contrast in contrasts if contrast.blocks_needed is not None]
    return max((blocks for blocks in needed if blocks <= REPEATS_SUGGESTED_MAX), default=None)


def contest_contents(contests: Iterable[Contest]) -> list[dict[str, Any]]:
    """Contests for --json: every figure, with its verdict in words."""
    return [
        {
            **plain_value(contest),
            "ranking": [alternative.label for alternative in contest.ranked if alternative.value is not None],
            "verdicts": {each.label: verdict_words(each.contrast) for each in contest.against_first if each.contrast},
            "sentence": contest_sentence(contest),
        }
        for contest in contests
    ]
