"""A report's claims held against a run: for each a verdict, with our figures beside the published ones. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidegauge.published.figures import FIGURES
from tidegauge.published.model import Claim, Growth, Operand, Place, Report, Row
from tidegauge.published.observe import Measured, Observed, observe
from tidegauge.published.outcome import ClaimOutcome, Part, PublishedOutcome, Side
from tidegauge.published.questions import Question, questions
from tidegauge.published.ratio import Ratio, ratio_of
from tidegauge.published.scale import BRIEF_MARGIN, Scale
from tidegauge.published.verdict import Answer, Verdict, combine, doubted, judge_bound, judge_ratio


@dataclass(frozen=True)
class Choice:
    """What a campaign examines: some claims of one report, and what differs from it here."""

    report: str
    claims: tuple[str, ...]
    differs: tuple[str, ...] = ()
    scale: str = "shares"


def examine(report: Report, choice: Choice, run: Measured) -> PublishedOutcome:
    """The verdict on every claim chosen. Claims that the report doesn't have raise `KeyError`."""
    known = {claim.id: claim for claim in report.claims}
    return PublishedOutcome(
        report=report.report,
        title=report.title,
        versions=tuple(f"{name} {version}" for name, version in report.versions.items()),
        hardware=" ".join(report.hardware.split()),
        setup=tuple(" ".join(sentence.split()) for sentence in report.setup),
        scale=choice.scale,
        differs=choice.differs,
        claims=tuple(_claim(report, known[name], run, choice.scale) for name in choice.claims),
    )


def _claim(report: Report, claim: Claim, run: Measured, scale: str) -> ClaimOutcome:
    wider = BRIEF_MARGIN if scale == Scale.BRIEF else 1.0
    parts = tuple(_part(report, claim, question, run, wider) for question in questions(claim))
    answer = combine([(part.words, Answer(part.verdict, part.reason)) for part in parts])
    if claim.unreproducible:
        answer = Answer(Verdict.NOT_DECIDED, f"can't be examined here: {claim.unreproducible}")
    return ClaimOutcome(claim.id, claim.text, claim.source, claim.kind, answer.verdict, answer.reason, parts)


def _part(report: Report, claim: Claim, question: Question, run: Measured, wider: float) -> Part:
    above = observe(question.figure, question.above, run)
    below = observe(question.below_figure, question.below, run) if question.below is not None else None
    seen = [(question.figure, question.above, above)]
    seen += [(question.figure, place, observe(question.figure, place, run)) for place in question.shown]
    if below is not None and question.below is not None:
        seen.append((question.below_figure, question.below, below))
    if isinstance(claim, Growth):
        seen = [seen[-1], *seen[1:-1], seen[0]]  # From the first point of the axis to the last.
    sides = [_side(report, claim, *one) for one in seen]
    answer, ratio = _answer(question, above, below, wider)
    return Part(question.words, answer.verdict, answer.reason, ratio, tuple(sides))


def _answer(question: Question, above: Observed, below: Observed | None, wider: float) -> tuple[Answer, Ratio | None]:
    """The verdict on one question. `wider`: by how much more than usual single trials must differ."""
    missing = above.missing or (below.missing if below is not None else "")
    if missing:
        return Answer(Verdict.NOT_DECIDED, missing), None
    figure = FIGURES[question.figure]
    if below is None:
        return judge_bound(tuple(above.values.values()), figure.unit, question.limits), None
    ratio = ratio_of(above.values, below.values, figure.margin * wider, max(above.resolution, below.resolution))
    if ratio is None:
        left_out = next(iter((*above.problems, *below.problems)), "no block has both figures")
        return Answer(Verdict.NOT_DECIDED, f"no block has both figures: {left_out}"), None
    doubts = [one for side in (above, below) for block, one in sorted(side.doubts.items()) if block in side.values]
    answer = doubted(judge_ratio(ratio, question.limits), ratio, doubts)
    problems = (*above.problems, *below.problems)
    if problems and answer.verdict is Verdict.NOT_DECIDED:
        answer = Answer(answer.verdict, f"{answer.reason}; left out: {problems[0]}")
    return answer, ratio


def _side(report: Report, claim: Claim, figure_name: str, place: Operand, seen: Observed) -> Side:
    figure = FIGURES[figure_name]
    published, source = published_figure(report, claim, figure_name, place)
    return Side(
        place=place.words(),
        figure=figure.words,
        unit=figure.unit,
        values=tuple(value for _, value in sorted(seen.values.items())),
        missing=seen.missing,
        published=published,
        published_source=source,
        doubtful=len(seen.doubts),
    )


def published_figure(report: Report, claim: Claim, figure_name: str, place: Operand) -> tuple[float | None, str]:
    """The report's own number for a side of a claim, and its source; None and "" where it gave none."""
    theirs = place.theirs.within(place) if place.theirs else place
    found = published_rows(report, claim, figure_name, theirs)
    if not found:
        return None, ""
    source, value = found[0]
    different = f", at {place.theirs.words()}" if place.theirs else ""
    return value, f"{source}{different}"


def published_rows(report: Report, claim: Claim, figure_name: str, place: Place) -> list[tuple[str, float]]:
    """Source and value of every published figure that fits a place."""
    found = []
    for table in report.tables:
        if figure_name not in table.figures or (claim.table is not None and table.id not in claim.table):
            continue
        index = table.figures.index(figure_name)
        found += [(table.source, row.values[index]) for row in table.rows if _same(row, table.common, place)]
    return found


def _same(row: Row, common: Place, place: Place) -> bool:
    wanted = place.given()
    return all(wanted.get(name, value) == value for name, value in Place.within(row, common).given().items())


def claim_ids(report: Report) -> Sequence[str]:
    """All claims of a report, in its order."""
    return [claim.id for claim in report.claims]
