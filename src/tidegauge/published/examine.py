"""A report's claims examined in a run: for each a verdict, with our figures beside the published ones."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import inf
from pathlib import Path
from typing import TypeAlias

from tidegauge.config.source import raise_problems, read_source, validate
from tidegauge.errors import UserError, did_you_mean
from tidegauge.model.trial import TrialSpec
from tidegauge.published import BRIEF_MARGIN, PublishedScale
from tidegauge.published.across import of_different_runs, unequal_terms, unlike_rates, unlike_settings
from tidegauge.published.guarantee import cuts_as_published, judge_guarantee, judge_same_guarantee, observe_cuts
from tidegauge.published.model import (
    FIGURES,
    Bound,
    Claim,
    Factor,
    Growth,
    GrowthShape,
    Guarantee,
    LimitedRate,
    Operand,
    Ordering,
    Place,
    PublishedFigure,
    PublishedReport,
    Row,
    SameGuarantee,
)
from tidegauge.published.observe import ExaminedRun, ObservedFigure, has_no_forms, observe, settings_of
from tidegauge.published.verdict import (
    ABOVE,
    BELOW,
    ClaimAnswer,
    ClaimOutcome,
    ClaimPart,
    ClaimRatio,
    ClaimVerdict,
    Grade,
    Limits,
    PublishedOutcome,
    Side,
    answer_with_doubts,
    combine_answers,
    judge_bound,
    judge_limit,
    judge_ratio,
    ratio_across,
    ratio_of,
    size_of,
    with_other_limit,
    within_window,
)

_DATA = Path(__file__).parent / "data"


def report_names() -> list[str]:
    """Names of all reports, as campaigns write them."""
    return sorted(path.stem for path in _DATA.glob("*.yaml"))


@cache
def report_named(name: str) -> PublishedReport:
    """A report by its name. Raises `UserError` naming the nearest if there is none."""
    if name not in report_names():
        raise UserError(
            f"There is no published report '{name}'{did_you_mean(name, report_names())}.",
            f"There are: {', '.join(report_names())}.",
        )
    return read_report(_DATA / f"{name}.yaml")


def read_report(path: Path) -> PublishedReport:
    """A report's data file. Raises `UserError` with every problem and its line."""
    source = read_source(path, "published report")
    parsed = validate(PublishedReport, source.data, source, ())
    raise_problems([source], "published report")
    if parsed is None:
        raise UserError(f"{path}: the report could not be read.")
    return parsed


@dataclass(frozen=True)
class Question:
    """One ratio of a claim, or one absolute figure.

    Attributes:
        words: what distinguishes this part of the claim from the others.
        above, below: the ratio's sides; `below` None = an absolute figure.
        figure, below_figure: names of the figures.
        limits: the claimed side of 1, or what counts as alike; of an absolute figure its bounds.
        sized: whether a size is claimed: `stated` in words, or as by the published figures.
        shown: further places whose figures belong to the picture but decide nothing.
    """

    words: str
    figure: str
    above: Operand
    below: Operand | None
    below_figure: str
    limits: Limits
    sized: bool = False
    stated: Limits | None = None
    shown: tuple[Operand, ...] = ()

    @property
    def varied(self) -> set[str]:
        """What the claim sets for one of its sides or for both, by the names of `Place`."""
        return {*self.above.given(), *(self.below.given() if self.below else ())}


def questions(claim: Claim) -> tuple[Question, ...]:
    """All questions of a claim, in the order of its `for_each`."""
    asked: list[Question] = []
    for each in _places_of_claim(claim):
        around = each.within(claim.common)
        if isinstance(claim, Ordering):
            asked += _ordering_questions(claim, around, each)
        elif isinstance(claim, Factor):
            above, below = claim.a.within(around), claim.b.within(around)
            words = each.words() or _pair_words(claim.a, claim.b)
            claimed = _claimed_limits(claim.at_least, claim.at_most, ABOVE)
            asked.append(Question(words, claim.figure, above, below, claim.b_figure or claim.figure, *claimed))
        elif isinstance(claim, Growth):
            asked += _growth_questions(claim, around, each)
        elif isinstance(claim, SameGuarantee):
            a, b = claim.a.within(around), claim.b.within(around)
            words = each.words() or _pair_words(claim.a, claim.b)
            asked.append(Question(words, claim.figure, a, b, claim.figure, _NO_LIMITS))
        else:
            of = claim.of.within(around)
            limits = Limits(claim.at_least or 0.0, claim.at_most or inf) if isinstance(claim, Bound) else _NO_LIMITS
            asked.append(Question(each.words() or of.words(), claim.figure, of, None, claim.figure, limits))
    return tuple(asked)


_NO_LIMITS = Limits()
"""Of claims on guarantees and on limits, which compare no figures."""


def _places_of_claim(claim: Claim) -> Iterator[Place]:
    """One place for each combination of the values that a claim is made for; one that says nothing without any."""
    names = [name.replace("-", "_") for name in claim.for_each]
    for around in claim.at or [Place()]:
        for values in itertools.product(*claim.for_each.values()):
            yield Place.model_validate(dict(zip(names, values, strict=True))).within(around)


def _claimed_limits(at_least: float | None, at_most: float | None, side: Limits) -> tuple[Limits, bool, Limits | None]:
    """The claimed side of 1 or likeness, whether a size is claimed, and the one that is stated in words."""
    if at_least is None and at_most is None:
        return side, True, None
    stated = Limits(at_least or 0.0, at_most or inf)
    if stated.at_least > 1 or stated.at_most < 1:
        return (ABOVE if stated.at_least > 1 else BELOW), True, stated
    return stated, False, None


def _ordering_questions(claim: Ordering, around: Place, each: Place) -> list[Question]:
    asked = []
    for higher, lower in itertools.pairwise(claim.from_highest):
        named = [operand.within(Place(system=each.system)).words() for operand in (higher, lower)]
        pair = f"{named[0]} above {named[1]}"
        others = Place(**{**each.given(), "system": ""}).words()
        compared = pair if len(claim.from_highest) > 2 or each.system else ""
        words = ", ".join(part for part in (others, compared) if part) or pair
        above, below = higher.within(around), lower.within(around)
        asked.append(Question(words, claim.figure, above, below, claim.figure, ABOVE))
    return asked


def _growth_questions(claim: Growth, around: Place, each: Place) -> list[Question]:
    (key, values), *_ = claim.over.items()
    name = key.replace("-", "_")
    points = [claim.of.within(Place.model_validate({name: value}).within(around)) for value in values]
    first, *others = points

    flat = claim.shape is GrowthShape.FLAT
    claimed: tuple[Limits, bool, Limits | None] = (Limits(1 / claim.within, claim.within), False, None)
    if not flat:
        claimed = _claimed_limits(claim.at_least, claim.at_most, ABOVE if claim.shape is GrowthShape.GROWS else BELOW)
    asked = []
    for last in others if flat else others[-1:]:
        point = Place.model_validate({name: getattr(last, name)})
        words = ", ".join(part for part in (each.words(), point.words()) if part)
        shown = () if flat else tuple(others[:-1])
        asked.append(Question(words, claim.figure, last, first, claim.figure, *claimed, shown))
    return asked


def _pair_words(a: Place, b: Place) -> str:
    return f"{a.words()} against {b.words()}" if a.words() != b.words() else a.words()


ACROSS = "the two figures come from different runs, and the interval does not cover what changed between them"


@dataclass(frozen=True)
class Choice:
    """What a campaign examines: some claims of one report, and what differs from it here."""

    report: str
    claims: tuple[str, ...]
    differs: tuple[str, ...] = ()
    scale: str = "shares"


def examine(report: PublishedReport, choice: Choice, run: ExaminedRun) -> PublishedOutcome:
    """The verdict on every claim chosen. Claims that the report doesn't have raise `KeyError`."""
    claims_by_id = {claim.id: claim for claim in report.claims}
    wider = BRIEF_MARGIN if choice.scale == PublishedScale.BRIEF else 1.0
    return PublishedOutcome(
        report=report.report,
        title=report.title,
        versions=tuple(f"{name} {version}" for name, version in report.versions.items()),
        hardware=report.hardware,
        setup=tuple(report.setup),
        scale=choice.scale,
        # Several runs say the same, and a run that `reproduce` made before 29 November 2026 said it twice.
        differs=tuple(dict.fromkeys(choice.differs)),
        claims=tuple(_claim_outcome(_ClaimCase(report, claims_by_id[name], run, wider)) for name in choice.claims),
        units=report.units_source,
    )


def examine_at_best(report: PublishedReport, choice: Choice, trials: Sequence[TrialSpec]) -> PublishedOutcome:
    """The verdicts if planned trials repeated what was published exactly, and without any spread: what they can decide.

    Where the report gave no number, its claim is taken to hold by far.
    """
    return examine(report, choice, ExaminedRun(trials, (), unequal_allowed=True, as_published=True))


def count_decidable(choice: Choice, trials: Sequence[TrialSpec], repeat: int = 1) -> int:
    """How many claims planned trials decide at best, each made so many times."""
    blocks = 1 + max((trial.block for trial in trials), default=0)
    repeated = [
        replace(trial, trial_id=f"{trial.trial_id}-{number}", block=trial.block + number * blocks)
        for number in range(repeat)
        for trial in trials
    ]
    return len(examine_at_best(report_named(choice.report), choice, repeated).decided)


@dataclass(frozen=True)
class _ClaimCase:
    """A claim and where it is examined. `wider`: by how much more than usual single trials must differ."""

    report: PublishedReport
    claim: Claim
    run: ExaminedRun
    wider: float


def _claim_outcome(case: _ClaimCase) -> ClaimOutcome:
    claim = case.claim
    asked = questions(claim)
    grade = claim.grade
    parts, answers = [], []
    for question in asked:
        part, answer = _part_and_answer(case, question)
        parts.append(part)
        if _size_limits(question, part.published_ratio) is not None:
            grade = Grade.SIZE
        several = part.words if len(asked) > 1 else ""
        answers.append((", ".join(filter(None, (several, part.conditions))), answer))
    answer = combine_answers(answers)
    if claim.unreproducible:
        answer = ClaimAnswer(ClaimVerdict.NOT_DECIDED, f"can't be examined here: {claim.unreproducible}")
    return ClaimOutcome(
        claim.id,
        claim.text,
        claim.source,
        claim.kind,
        answer.verdict,
        answer.reason,
        tuple(parts),
        grade,
        claim.contradiction,
    )


def _part_and_answer(case: _ClaimCase, question: Question) -> tuple[ClaimPart, ClaimAnswer]:
    report, claim, run = case.report, case.claim, case.run
    if isinstance(claim, Guarantee | SameGuarantee):
        return _part_of_guarantee(case, claim, question)
    figures, (above, below) = _figures_and_sides(question, run)
    if run.as_published:
        above, below = _sides_as_published(case, question, above, below)
    seen = [(question.figure, figures[0], question.above, above)]
    seen += [(question.figure, figures[0], place, observe(figures[0], place, run)) for place in question.shown]
    if below is not None and question.below is not None:
        seen.append((question.below_figure, figures[1], question.below, below))
    if isinstance(claim, Growth):
        seen = [seen[-1], *seen[1:-1], seen[0]]  # From the first point of the axis to the last.
    sides = tuple(_side_at_place(case, *place) for place in seen)
    published = _published_ratio(report, claim, question)
    answer, ratio = _answer_to_question(case, question, above, below, published)
    conditions = _conditions_words(question, above, below)
    part = ClaimPart(question.words, answer.verdict, answer.reason, ratio, sides, published, answer.size, conditions)
    return part, answer


def _part_of_guarantee(
    case: _ClaimCase, claim: Guarantee | SameGuarantee, question: Question
) -> tuple[ClaimPart, ClaimAnswer]:
    """The verdict by what attestations lost, with the cuts that lost something at each place."""
    places = [place for place in (question.above, question.below) if place is not None]
    observed = [observe_cuts(place, case.run) for place in places]
    if case.run.as_published:
        kept = isinstance(claim, Guarantee) and claim.kept
        observed = [cuts_as_published(cuts, kept) for cuts in observed]
    if isinstance(claim, Guarantee):
        answer = judge_guarantee(observed[0], claim.kept)
    else:
        answer = judge_same_guarantee(*observed)
        one, other = (cuts.seen for cuts in observed)
        if one.values and other.values and (unlike := _why_not_compared(question, one, other, case.run)):
            answer = ClaimAnswer(ClaimVerdict.NOT_DECIDED, unlike)
    sides = tuple(
        _side_at_place(case, question.figure, FIGURES[question.figure], place, cuts.seen)
        for place, cuts in zip(places, observed, strict=True)
    )
    return ClaimPart(question.words, answer.verdict, answer.reason, None, sides), answer


_Figures: TypeAlias = tuple[PublishedFigure, PublishedFigure]
_Sides: TypeAlias = tuple[ObservedFigure, ObservedFigure | None]


def _figures_and_sides(question: Question, run: ExaminedRun) -> tuple[_Figures, _Sides]:
    """Both sides with their figures, or what stands in for these: for both, so that like is compared with like."""
    asked = above, below = FIGURES[question.figure], FIGURES[question.below_figure]
    sides = _observed_sides(question, asked, run)
    if above.stand_in is not None and below.stand_in is not None and _lacks_a_side(sides):
        stand_ins = above.stand_in, below.stand_in
        others = _observed_sides(question, stand_ins, run)
        if not _lacks_a_side(others):
            return stand_ins, others
    return asked, sides


def _lacks_a_side(sides: _Sides) -> bool:
    return any(side.missing for side in sides if side is not None)


def _observed_sides(question: Question, figures: _Figures, run: ExaminedRun) -> _Sides:
    """Both sides; at the same point of a sweep if several points have one of them."""
    if question.below is None:
        return observe(figures[0], question.above, run), None
    other = settings_of(figures[1], question.below, run)
    shared = [setting for setting in settings_of(figures[0], question.above, run) if setting in other]
    return observe(figures[0], question.above, run, shared), observe(figures[1], question.below, run, shared)


def _sides_as_published(
    case: _ClaimCase, question: Question, above: ObservedFigure, below: ObservedFigure | None
) -> tuple[ObservedFigure, ObservedFigure | None]:
    """Both sides with the report's own figures in each block, or with such as the claim holds for by far."""

    def side(seen: ObservedFigure, value: float) -> ObservedFigure:
        return replace(seen, values=dict.fromkeys(seen.values, value))

    value, _ = published_figure(case.report, case.claim, question.figure, question.above)
    if isinstance(case.claim, LimitedRate):
        return replace(above, limits=frozenset({case.claim.limit})), None
    if below is None or question.below is None:
        return side(above, value or question.limits.example()), None
    value_below, _ = published_figure(case.report, case.claim, question.below_figure, question.below)
    if value and value_below:
        return side(above, value), side(below, value_below)
    return side(above, (question.stated or question.limits).example()), side(below, 1.0)


def _published_ratio(report: PublishedReport, claim: Claim, question: Question) -> float | None:
    if question.below is None:
        return None
    above, _ = published_figure(report, claim, question.figure, question.above)
    below, _ = published_figure(report, claim, question.below_figure, question.below)
    return above / below if above and below else None


def _size_limits(question: Question, published: float | None) -> Limits | None:
    """What counts as of the claimed size; None where none is claimed, or the report gives none."""
    return question.stated or (size_of(published) if question.sized and published else None)


def _conditions_words(question: Question, above: ObservedFigure, below: ObservedFigure | None) -> str:
    """Where it was measured here, as far as the claim leaves it open: "at 24 partitions"."""
    stated = question.above.partitions
    partitions = dict.fromkeys(spec.workload.partitions for seen in (below, above) if seen for spec in seen.specs)
    if stated is not None or not partitions:
        return ""
    return (
        f"at {' and '.join(f'{number:,}' for number in partitions)} partition{'s' if list(partitions) != [1] else ''}"
    )


def _answer_to_question(
    case: _ClaimCase, question: Question, above: ObservedFigure, below: ObservedFigure | None, published: float | None
) -> tuple[ClaimAnswer, ClaimRatio | None]:
    """The verdict on one question. `published`: the ratio of the published figures."""
    for side in filter(None, (above, below)):
        if side.missing:
            return ClaimAnswer(ClaimVerdict.NOT_DECIDED, side.missing, side.absence or side.missing), None
    figure = FIGURES[question.figure]
    if isinstance(case.claim, LimitedRate):
        doubts = [doubt for block, doubt in sorted(above.doubts.items()) if block in above.values]
        return judge_limit(case.claim.limit, above.limits, doubts), None
    if below is None:
        unit, scale = case.report.unit_of(question.figure)
        return judge_bound([value / scale for value in above.values.values()], unit, question.limits), None
    across = of_different_runs(above, below, case.run)
    if other := _why_not_compared(question, above, below, case.run):
        return ClaimAnswer(ClaimVerdict.NOT_DECIDED, other), None
    ratio_by = ratio_across if across else ratio_of
    resolution = max(above.resolution, below.resolution)
    ratio = ratio_by(above.values, below.values, figure.margin * case.wider, resolution)
    if ratio is None:
        left_out = next((f": {problem}" for problem in (*above.problems, *below.problems)), "")
        return ClaimAnswer(ClaimVerdict.NOT_DECIDED, f"no block has both figures{left_out}"), None
    answer = judge_ratio(ratio, question.limits, _size_limits(question, published), published)
    doubts = [doubt for side in (above, below) for block, doubt in sorted(side.doubts.items()) if block in side.values]
    answer = within_window(
        answer_with_doubts(answer, ratio, doubts), [limited for side in (above, below) for limited in side.window]
    )
    if across:
        terms = unequal_terms(above.specs, below.specs, question.varied, case.run)
        answer = answer.with_remark("; ".join(filter(None, (f"UNEQUAL: {terms}" if terms else "", ACROSS))))
    answer = with_other_limit(answer, case.claim.limit, above.limits | below.limits)
    problems = (*above.problems, *below.problems)
    if problems and answer.verdict is ClaimVerdict.NOT_DECIDED:
        answer = answer.with_remark(f"left out: {problems[0]}")
    return answer, ratio


def _why_not_compared(question: Question, above: ObservedFigure, below: ObservedFigure, run: ExaminedRun) -> str:
    """Why the two sides are not compared: what was not the same around them; "" if they are."""
    if not of_different_runs(above, below, run):
        return unlike_rates(above.specs, below.specs, question.varied)
    terms = "" if run.unequal_allowed else unequal_terms(above.specs, below.specs, question.varied, run)
    return unlike_settings(above.specs, below.specs, question.varied) or terms


def _side_at_place(
    case: _ClaimCase, figure_name: str, measured: PublishedFigure, place: Operand, seen: ObservedFigure
) -> Side:
    """A side of a claim. `measured`: the figure that was observed, or what stands in for it."""
    report, claim, run = case.report, case.claim, case.run
    published, source = published_figure(report, claim, figure_name, place)
    unit, scale = report.unit_of(figure_name)
    shown = place.model_copy(update={"form": ""}) if has_no_forms(place.system, run) else place
    return Side(
        place=shown.words(),
        figure=measured.words,
        unit=unit,
        values=tuple(value / scale for _, value in sorted(seen.values.items())),
        missing=seen.missing,
        published=published,
        published_source=source,
        doubtful=len(seen.doubts),
        runs=tuple(sorted({run.run_of[spec.trial_id] for spec in seen.specs if spec.trial_id in run.run_of})),
    )


def published_figure(
    report: PublishedReport, claim: Claim, figure_name: str, place: Operand
) -> tuple[float | None, str]:
    """The report's own number for a side of a claim, and its source; None and "" where it gave none."""
    theirs = place.theirs.within(place) if place.theirs else place
    rows = published_rows(report, claim, figure_name, theirs)
    if not rows:
        return None, ""
    source, value = rows[0]
    different = f", at {place.theirs.words()}" if place.theirs else ""
    return value, f"{source}{different}"


def published_rows(report: PublishedReport, claim: Claim, figure_name: str, place: Place) -> list[tuple[str, float]]:
    """Source and value of every published figure that fits a place."""
    rows = []
    for table in report.tables:
        if figure_name not in table.figures or (claim.table is not None and table.id not in claim.table):
            continue
        index = table.figures.index(figure_name)
        rows += [
            (", ".join(filter(None, (table.source, row.note))), row.values[index])
            for row in table.rows
            if _is_row_of_place(row, table.common, place)
        ]
    return rows


def _is_row_of_place(row: Row, common: Place, place: Place) -> bool:
    asked = place.given()
    return all(asked.get(name, value) == value for name, value in row.within(common).given().items())


def claim_ids(report: PublishedReport) -> Sequence[str]:
    """All claims of a report, in its order."""
    return [claim.id for claim in report.claims]
