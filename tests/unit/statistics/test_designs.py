"""Designs of sweeps: every pair is covered by few points, and what points are of is known by looking at them."""

from __future__ import annotations

import math
from collections import Counter
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegauge.statistics.designs import (
    Design,
    design_of_points,
    design_points,
    pairs_count,
    pairs_of_points,
    points_at_least,
)

SIZES = st.lists(st.integers(1, 5), min_size=1, max_size=8)


@given(SIZES)
@settings(max_examples=60, deadline=None)
def test_every_pair_of_values_of_two_axes_is_covered(sizes: list[int]) -> None:
    points = design_points(Design.PAIRWISE, sizes)
    assert all(0 <= place < size for point in points for place, size in zip(point, sizes, strict=True))
    assert len(pairs_of_points(points)) == pairs_count(sizes)
    assert points_at_least(Design.PAIRWISE, sizes) <= len(points) <= math.prod(sizes)


def test_a_pair_that_is_not_covered_would_be_noticed() -> None:
    sizes = [3, 3, 2]
    points = design_points(Design.PAIRWISE, sizes)
    assert len(pairs_of_points(points[1:])) < pairs_count(sizes)


def test_ten_axes_with_186_624_points_become_25() -> None:
    sizes = [3] * 6 + [4] * 4
    points = design_points(Design.PAIRWISE, sizes)
    assert (math.prod(sizes), len(points)) == (186_624, 25)
    assert points == design_points(Design.PAIRWISE, sizes), "always the same ones"
    assert len(set(points)) == len(points)


def test_no_value_is_used_far_more_than_others() -> None:
    sizes = [3] * 6 + [4] * 4
    for axis, places in enumerate(zip(*design_points(Design.PAIRWISE, sizes), strict=True)):
        used = Counter(places)
        assert len(used) == sizes[axis]
        assert max(used.values()) <= min(used.values()) + 4, used


@given(SIZES)
@settings(max_examples=30, deadline=None)
def test_one_at_a_time_has_the_base_and_each_other_value_alone(sizes: list[int]) -> None:
    points = design_points(Design.ONE_AT_A_TIME, sizes)
    assert len(points) == len(set(points)) == points_at_least(Design.ONE_AT_A_TIME, sizes)
    assert points[0] == (0,) * len(sizes)
    assert all(sum(place > 0 for place in point) == 1 for point in points[1:])


def test_a_full_design_is_every_combination_the_last_axis_fastest() -> None:
    assert design_points(Design.FULL, [2, 3]) == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
    assert points_at_least(Design.FULL, [2, 3]) == 6


@pytest.mark.parametrize("design", list(Design))
def test_designs_are_recognized(design: Design) -> None:
    sizes = [2, 3, 3, 2]
    assert design_of_points(design_points(design, sizes), sizes) is design


def test_a_mere_part_is_no_design() -> None:
    sizes = [3, 3, 3]
    whole = list(product(range(3), repeat=3))
    assert design_of_points(whole[:-2], sizes) is None, "all but two"
    assert design_of_points(whole[:9], sizes) is None, "one axis has one value"
    assert design_of_points([(0, 0), (0, 1), (1, 0)], [2, 2]) is None, "two axes that lack a point"


def test_a_pairwise_design_that_lost_a_point_is_still_one() -> None:
    sizes = [3, 3, 3, 3]
    points = design_points(Design.PAIRWISE, sizes)
    assert design_of_points(points[1:], sizes) is Design.PAIRWISE
    assert design_of_points(points[: len(points) // 2], sizes) is None
