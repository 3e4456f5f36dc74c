"""A claim as the questions it comes down to: which figure, at which places, related how. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from tidegauge.published.model import Bound, Claim, Factor, Growth, Operand, Ordering, Place, Shape
from tidegauge.published.verdict import ABOVE, BELOW, Limits


@dataclass(frozen=True)
class Question:
    """One ratio of a claim, or one absolute figure.

    Attributes:
        words: what tells this part of the claim from the others.
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
    found: list[Question] = []
    for each in _each(claim):
        around = each.within(claim.common)
        if isinstance(claim, Ordering):
            found += _ordering(claim, around, each)
        elif isinstance(claim, Factor):
            above, below = _at(claim.a, around), _at(claim.b, around)
            words = each.words() or _against(claim.a, claim.b)
            claimed = _claimed(claim.at_least, claim.at_most, ABOVE)
            found.append(Question(words, claim.figure, above, below, claim.b_figure or claim.figure, *claimed))
        elif isinstance(claim, Growth):
            found += _growth(claim, around, each)
        else:
            found.append(_bound(claim, around, each))
    return tuple(found)


def _each(claim: Claim) -> Iterator[Place]:
    """One place for each combination of the values that a claim is made for; one that says nothing without any."""
    names = [name.replace("-", "_") for name in claim.for_each]
    for around in claim.at or [Place()]:
        for values in itertools.product(*claim.for_each.values()):
            yield Place.model_validate(dict(zip(names, values, strict=True))).within(around)


def _claimed(at_least: float | None, at_most: float | None, side: Limits) -> tuple[Limits, bool, Limits | None]:
    """The claimed side of 1 or likeness, whether a size is claimed, and the one that is stated in words."""
    if at_least is None and at_most is None:
        return side, True, None
    stated = Limits(at_least or 0.0, at_most or float("inf"))
    if stated.at_least > 1 or stated.at_most < 1:
        return (ABOVE if stated.at_least > 1 else BELOW), True, stated
    return stated, False, None


def _at(operand: Operand, around: Place) -> Operand:
    """The operand with what holds around it; the claim's own words about an operand win."""
    return Operand(**operand.within(around).given(), theirs=operand.theirs)


def _ordering(claim: Ordering, around: Place, each: Place) -> list[Question]:
    found = []
    for higher, lower in itertools.pairwise(claim.from_highest):
        named = [one.within(Place(system=each.system)).words() for one in (higher, lower)]
        pair = f"{named[0]} above {named[1]}"
        others = Place(**{**each.given(), "system": ""}).words()
        told = pair if len(claim.from_highest) > 2 or each.system else ""
        words = ", ".join(part for part in (others, told) if part) or pair
        above, below = _at(higher, around), _at(lower, around)
        found.append(Question(words, claim.figure, above, below, claim.figure, ABOVE))
    return found


def _growth(claim: Growth, around: Place, each: Place) -> list[Question]:
    (key, values), *_ = claim.over.items()
    name = key.replace("-", "_")
    points = [_at(claim.of, Place.model_validate({name: value}).within(around)) for value in values]
    first, *others = points

    flat = claim.shape is Shape.FLAT
    claimed: tuple[Limits, bool, Limits | None] = (Limits(1 / claim.within, claim.within), False, None)
    if not flat:
        claimed = _claimed(claim.at_least, claim.at_most, ABOVE if claim.shape is Shape.GROWS else BELOW)
    found = []
    for last in others if flat else others[-1:]:
        told = Place.model_validate({name: getattr(last, name)})
        words = ", ".join(part for part in (each.words(), told.words()) if part)
        shown = () if flat else tuple(others[:-1])
        found.append(Question(words, claim.figure, last, first, claim.figure, *claimed, shown))
    return found


def _bound(claim: Bound, around: Place, each: Place) -> Question:
    limits = Limits(claim.at_least or 0.0, claim.at_most or float("inf"))
    at = _at(claim.of, around)
    return Question(each.words() or at.words(), claim.figure, at, None, claim.figure, limits)


def _against(a: Place, b: Place) -> str:
    return f"{a.words()} against {b.words()}" if a.words() != b.words() else a.words()
