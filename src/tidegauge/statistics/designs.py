"""Which points of a sweep are measured, where all of them would be too many.

  * full: every combination of values.
  * one-at-a-time: a base point, the first value of each axis, and from there each other value of each axis alone. It
    shows what each value does at the base, and nothing of values together.
  * pairwise: so few points that every pair of values of any two axes still occurs in one of them (a covering array of
    strength 2; D. M. Cohen et al., "The AETG system", IEEE Transactions on Software Engineering 23(7), 1997).

A point is a tuple of the places of its values, one for each axis.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum
from itertools import combinations, product

Places = tuple[int, ...]
ValuePair = tuple[tuple[int, int], tuple[int, int]]
"""Two values that occur together: each an axis and the place of a value on it."""


class Design(StrEnum):
    """How the points of a sweep are chosen, as campaigns write it."""

    FULL = "full"
    ONE_AT_A_TIME = "one-at-a-time"
    PAIRWISE = "pairwise"


def points_at_least(design: Design, sizes: Sequence[int]) -> int:
    """How many points a design has, pairwise at the least, for axes with so many values: quick to know."""
    if design is Design.ONE_AT_A_TIME:
        return 1 + sum(size - 1 for size in sizes)
    if design is Design.PAIRWISE and len(sizes) > 1:
        return math.prod(sorted(sizes)[-2:])
    return math.prod(sizes)


def design_points(design: Design, sizes: Sequence[int]) -> list[Places]:
    """The points, always the same ones for the same numbers of values; the base of one-at-a-time first."""
    if design is Design.ONE_AT_A_TIME:
        base = (0,) * len(sizes)
        others = (
            (*base[:axis], place, *base[axis + 1 :]) for axis, size in enumerate(sizes) for place in range(1, size)
        )
        return [base, *others]
    if design is Design.PAIRWISE and len(sizes) > 2:
        from allpairspy import AllPairs  # Only who asks for such a design needs it.

        return _balance([list(point) for point in AllPairs([list(range(size)) for size in sizes])], sizes)
    return list(product(*(range(size) for size in sizes)))


def _balance(points: list[list[int]], sizes: Sequence[int]) -> list[Places]:
    """The points with each value that no pair needs replaced by the one that its axis has least often.

    The library fills such places with one and the same value, and then little is known of the others.
    """
    pairs = Counter(pair for point in points for pair in combinations(enumerate(point), 2))
    used = [Counter(point[axis] for point in points) for axis in range(len(sizes))]
    for point in points:
        for axis, size in enumerate(sizes):
            own_pairs = [pair for pair in combinations(enumerate(point), 2) if (axis, point[axis]) in pair]
            rarest = min(range(size), key=lambda place, axis=axis: used[axis][place])  # type: ignore[misc]
            if used[axis][rarest] + 1 >= used[axis][point[axis]] or any(pairs[pair] < 2 for pair in own_pairs):
                continue
            pairs.subtract(own_pairs)
            used[axis].subtract([point[axis]])
            point[axis] = rarest
            pairs.update(pair for pair in combinations(enumerate(point), 2) if (axis, rarest) in pair)
            used[axis].update([rarest])
    return [tuple(point) for point in points]


def pairs_of_points(points: Iterable[Places]) -> set[ValuePair]:
    """Every two values that occur together in a point."""
    return {pair for point in points for pair in combinations(enumerate(point), 2)}


def pairs_count(sizes: Sequence[int]) -> int:
    """How many pairs of values of two axes there are."""
    return sum(first * second for first, second in combinations(sizes, 2))


PAIRS_SHARE_MIN = 0.8
"""Of all pairs, the share from which on points are called pairwise though some could not be measured."""
AXES_MIN = 3
"""Axes from which on a design has fewer points than all combinations, and is not all of them but a few."""


def design_of_points(points: Sequence[Places], sizes: Sequence[int]) -> Design | None:
    """Which design points are of, by what they are; None of a mere part of all combinations."""
    different = set(points)
    if len(different) == math.prod(sizes):
        return Design.FULL
    if len(sizes) < AXES_MIN:
        return None
    for base in different:
        apart = (sum(mine != other for mine, other in zip(base, point, strict=True)) for point in different)
        if max(apart) <= 1:
            return Design.ONE_AT_A_TIME
    few = 2 * len(different) <= math.prod(sizes)
    if few and len(pairs_of_points(different)) >= PAIRS_SHARE_MIN * pairs_count(sizes):
        return Design.PAIRWISE
    return None
