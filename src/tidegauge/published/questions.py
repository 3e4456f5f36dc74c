"""A claim as the questions it comes down to: which figure, at which places, related how. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from tidegauge.published.model import Bound, Claim, Factor, Growth, Operand, Ordering, Place, Shape
from tidegauge.published.verdict import Limits


@dataclass(frozen=True)
class Question:
    """One ratio of a claim, or one absolute figure.

    Attributes:
        words: what tells this part of the claim from the others.
        above, below: the ratio's sides; `below` None = an absolute figure.
        figure, below_figure: names of the figures.
        shown: further places whose figures belong to the picture but decide nothing.
    """

    words: str
    figure: str
    above: Operand
    below: Operand | None
    below_figure: str
    limits: Limits
    shown: tuple[Operand, ...] = ()


def questions(claim: Claim) -> tuple[Question, ...]:
    """All questions of a claim, in the order of its `for_each`."""
    found: list[Question] = []
    for each in _each(claim):
        around = each.within(claim.common)
        if isinstance(claim, Ordering):
            found += _ordering(claim, around, each)
        elif isinstance(claim, Factor):
            limits = Limits(claim.at_least or 0.0, claim.at_most or float("inf"))
            above, below = _at(claim.a, around), _at(claim.b, around)
            words = each.words() or _against(claim.a, claim.b)
            found.append(Question(words, claim.figure, above, below, claim.b_figure or claim.figure, limits))
        elif isinstance(claim, Growth):
            found += _growth(claim, around, each)
        else:
            found.append(_bound(claim, around, each))
    return tuple(found)


def _each(claim: Claim) -> Iterator[Place]:
    """One place for each combination of the values that a claim is made for; one that says nothing without any."""
    names = [name.replace("-", "_") for name in claim.for_each]
    for values in itertools.product(*claim.for_each.values()):
        yield Place.model_validate(dict(zip(names, values, strict=True)))


def _at(operand: Operand, around: Place) -> Operand:
    """The operand with what holds around it; the claim's own words about an operand win."""
    return Operand(**operand.within(around).given(), theirs=operand.theirs)


def _ordering(claim: Ordering, around: Place, each: Place) -> list[Question]:
    found = []
    for higher, lower in itertools.pairwise(claim.from_highest):
        pair = f"{higher.words()} above {lower.words()}"
        words = ", ".join(part for part in (each.words(), pair if len(claim.from_highest) > 2 else "") if part) or pair
        above, below = _at(higher, around), _at(lower, around)
        found.append(Question(words, claim.figure, above, below, claim.figure, Limits(1.0, strict=True)))
    return found


def _growth(claim: Growth, around: Place, each: Place) -> list[Question]:
    (key, values), *_ = claim.over.items()
    name = key.replace("-", "_")
    points = [_at(claim.of, Place.model_validate({name: value}).within(around)) for value in values]
    first, *others = points

    def question(last: Operand, limits: Limits, shown: tuple[Operand, ...] = ()) -> Question:
        told = Place.model_validate({name: getattr(last, name)})
        words = ", ".join(part for part in (each.words(), told.words()) if part)
        return Question(words, claim.figure, last, first, claim.figure, limits, shown)

    if claim.shape is Shape.FLAT:
        return [question(point, Limits(1 / claim.within, claim.within)) for point in others]
    limits = Limits(at_most=claim.at_most)
    if claim.shape is Shape.GROWS:
        limits = Limits(claim.at_least, strict=claim.at_least == 1.0)
    return [question(others[-1], limits, tuple(others[:-1]))]


def _bound(claim: Bound, around: Place, each: Place) -> Question:
    limits = Limits(claim.at_least or 0.0, claim.at_most or float("inf"))
    at = _at(claim.of, around)
    return Question(each.words() or at.words(), claim.figure, at, None, claim.figure, limits)


def _against(a: Place, b: Place) -> str:
    return f"{a.words()} against {b.words()}" if a.words() != b.words() else a.words()
