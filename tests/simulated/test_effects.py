"""Effects that are injected into sweeps are found, and none are invented more often than is said.

Points are those of real designs; figures are products of the axes' factors and of noise.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from unittest import mock

import pytest

from tidegauge.statistics.designs import Design, design_points
from tidegauge.statistics.effects import Effects, Observation, compute_effects

SIZES = (3, 3, 3, 3, 3, 3, 4, 4, 4, 4)
"""Ten axes, 186,624 points."""
SMALL = (2, 2, 3, 2, 2, 3)
NOISE = 0.05
Factor = Callable[[Mapping[str, str]], float]


def observed(
    design: Design,
    sizes: Sequence[int],
    seed: int,
    repeats: int = 1,
    *,
    noise: float = NOISE,
    factor: Factor = lambda _: 1.0,
) -> list[Observation]:
    """A sweep whose blocks differ too, as hours do."""
    chance = random.Random(seed)
    blocks = [math.exp(chance.gauss(0, 0.2)) for _ in range(repeats)]
    points = [{f"axis{axis}": str(place) for axis, place in enumerate(point)} for point in design_points(design, sizes)]
    return [
        Observation(point, block, 10.0 * blocks[block] * factor(point) * math.exp(chance.gauss(0, NOISE)))
        for block in range(repeats)
        for point in points
    ]


def two_effects(point: Mapping[str, str]) -> float:
    return {"0": 1.0, "1": 1.5, "2": 2.0}[point["axis2"]] * {"0": 1.0, "1": 0.7}.get(point["axis0"], 0.7)


def effects_of(observations: Sequence[Observation]) -> Effects:
    effects = compute_effects(observations)
    assert effects is not None
    return effects


@pytest.mark.parametrize(("sizes", "repeats", "found_least"), [(SIZES, 1, 1.0), (SIZES, 3, 1.0), (SMALL, 3, 0.85)])
def test_two_injected_effects_are_ranked_first_with_intervals_that_hold_them(
    sizes: Sequence[int], repeats: int, found_least: float
) -> None:
    tries, both, covered, right = 60, 0, 0, 0
    for seed in range(tries):
        effects = effects_of(observed(Design.PAIRWISE, sizes, seed, repeats, factor=two_effects))
        first, second = effects.effects[:2]
        both += [effect.axis for effect in effects.shown[:2]] == ["axis2", "axis0"]
        covered += (first.low or 9) <= 2.0 <= (first.high or 0) and (second.low or 9) <= 1 / 0.7 <= (second.high or 0)
        right += (first.lowest, first.highest, second.highest) == ("0", "2", "0")
    assert min(both, right) >= found_least * tries
    assert covered >= 0.93 * tries, "intervals of all pairs at once hold more often than 95 of 100"


@pytest.mark.parametrize(
    ("design", "sizes", "repeats"),
    [
        (Design.PAIRWISE, SIZES, 1),
        (Design.PAIRWISE, SIZES, 3),
        (Design.PAIRWISE, SMALL, 2),
        (Design.ONE_AT_A_TIME, SIZES, 3),
        (Design.FULL, (2, 3, 2), 1),
        (Design.FULL, (2, 3, 2, 2), 1),
    ],
)
def test_no_effect_is_invented_more_often_than_said(design: Design, sizes: Sequence[int], repeats: int) -> None:
    tries = 150
    invented = sum(bool(effects_of(observed(design, sizes, seed, repeats)).shown) for seed in range(tries))
    # 5 of 100 at most, and what chance adds to that in so many tries (3 standard deviations).
    assert invented <= tries * 0.05 + 3 * math.sqrt(tries * 0.05 * 0.95)


def test_invented_effects_would_be_noticed() -> None:
    """With a test for one axis alone, which is none of ten at once, they are far more than said."""
    with mock.patch("tidegauge.statistics.effects.CONFIDENCE", 0.5):
        invented = sum(bool(effects_of(observed(Design.PAIRWISE, SIZES, seed)).shown) for seed in range(60))
    assert invented > 15


def test_beside_two_effects_no_third_is_invented() -> None:
    tries = 100
    more = sum(
        len(effects_of(observed(Design.PAIRWISE, SIZES, seed, factor=two_effects)).shown) > 2 for seed in range(tries)
    )
    assert more <= tries * 0.05 + 3 * math.sqrt(tries * 0.05 * 0.95)


def test_what_two_axes_do_together_is_named_as_what_another_may_be() -> None:
    """Where the third axis does nothing, but the first two together do, and the design mixes that with the third."""
    half = [("0", "0", "0"), ("0", "1", "1"), ("1", "0", "1"), ("1", "1", "0")]
    chance = random.Random(1)
    observations = [
        Observation({"a": a, "b": b, "c": c, "d": d}, 0, (3.0 if a != b else 1.0) * math.exp(chance.gauss(0, 0.01)))
        for a, b, c in half
        for d in ("0", "1")
    ]
    effects = effects_of(observations)
    assert [effect.axis for effect in effects.shown] == ["c"]
    mixed = effects.effects[0].confounded[0]
    assert (mixed.axes, round(mixed.share, 6)) == (("a", "b"), 1.0)


def test_a_full_design_confounds_nothing() -> None:
    effects = effects_of(observed(Design.FULL, (2, 3, 2), 1))
    assert all(not effect.confounded for effect in effects.effects)


def test_too_few_points_give_no_interval() -> None:
    few = observed(Design.ONE_AT_A_TIME, (2, 2), 1, repeats=3, factor=lambda point: 2.0 + int(point["axis0"]))
    effects = effects_of(few)
    assert (effects.freedom, effects.noise, effects.shown) == (0, None, ())
    assert (effects.effects[0].axis, effects.effects[0].low) == ("axis0", None)
    assert effects.effects[0].ratio == pytest.approx(1.5, rel=0.2)


def test_axes_that_lost_trials_left_alike_are_named_as_one_another() -> None:
    """Where two axes always change together, nobody can say which of them does it."""
    whole = observed(Design.FULL, (3, 2, 2), 1, factor=lambda point: 1.0 + int(point["axis0"]))
    alike = [Observation({**each.point, "twin": each.point["axis0"]}, each.block, each.value) for each in whole]
    (shown,) = effects_of(alike).shown
    assert shown.axis == "axis0"
    assert (shown.confounded[0].axes, round(shown.confounded[0].share, 6)) == (("twin",), 1.0)


def test_one_point_has_no_effects() -> None:
    assert compute_effects([Observation({"a": "1"}, 0, 1.0)]) is None
    assert compute_effects([]) is None
