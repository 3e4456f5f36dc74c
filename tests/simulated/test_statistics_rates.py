"""What docs/methodology.md states of intervals and verdicts, compared with simulations with known answers.

Each trial's figure is a level times noise of its own times something that all trials of a block share (a neighbour, a
busy disk), both lognormal: what remains after pairing is the noise of two trials.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

import pytest
from campaign_doubles import result_of, spec_of

from tidegauge.comparison.compared_trials import sort_compared_trials
from tidegauge.comparison.within import ratios_of_compared
from tidegauge.model.trial import LoadResult
from tidegauge.model.variant import SAME_WITHIN, SameWithin
from tidegauge.statistics.contrasts import _blocks_to_decide, compute_contrast, confidence_of_each
from tidegauge.statistics.intervals import (
    ComparisonVerdict,
    Interval,
    Method,
    compare_paired,
    compare_unpaired,
    figure_interval,
    paired_ratio,
    power,
    unpaired_ratio,
)
from tidegauge.statistics.within_trial import mean_within

Noise = Callable[[random.Random], float]
SHARED = 0.3
NOISE = 0.05
SPREAD = NOISE * math.sqrt(2)
"""Of the ratio of two trials of a block."""


def normal(draw: random.Random) -> float:
    return NOISE * draw.gauss(0, 1)


def skewed(draw: random.Random) -> float:
    """Now and then a trial is much slower: a long tail to one side."""
    return NOISE * (draw.expovariate(1.0) - 1)


def heavy(draw: random.Random) -> float:
    """Student's t of three degrees of freedom."""
    return NOISE * draw.gauss(0, 1) / math.sqrt(draw.gammavariate(1.5, 2) / 3)


def campaign(draw: random.Random, count: int, ratio: float, noise: Noise = normal) -> tuple[dict[int, float], ...]:
    """One figure of two systems by block, of which the first truly is `ratio` times the second."""
    shared = [math.exp(SHARED * draw.gauss(0, 1)) for _ in range(count)]
    above = {block: ratio * level * math.exp(noise(draw)) for block, level in enumerate(shared)}
    return above, {block: level * math.exp(noise(draw)) for block, level in enumerate(shared)}


@pytest.mark.parametrize("noise", [normal, skewed, heavy])
@pytest.mark.parametrize(("count", "times"), [(3, 1500), (5, 1500), (10, 300)])
def test_intervals_of_paired_ratios_hold_the_truth_as_often_as_they_say(noise: Noise, count: int, times: int) -> None:
    draw = random.Random(count)
    held = 0
    for _ in range(times):
        found = paired_ratio(*campaign(draw, count, 1.3, noise))
        held += found is not None and found.holds(1.3)
    assert 0.93 <= held / times <= 0.985


@pytest.mark.parametrize(("count", "times"), [(3, 1500), (5, 1500), (10, 300)])
def test_intervals_of_unpaired_ratios_do_too(count: int, times: int) -> None:
    draw = random.Random(count)
    held = 0
    for _ in range(times):
        above = [1.3 * math.exp(0.2 * draw.gauss(0, 1)) for _ in range(count)]
        below = [math.exp(0.05 * draw.gauss(0, 1)) for _ in range(count)]
        found = unpaired_ratio(above, below)
        held += found is not None and found.holds(1.3)
    assert 0.925 <= held / times <= 0.985


@pytest.mark.parametrize(("count", "times", "least"), [(3, 1500, 0.85), (5, 1500, 0.86), (10, 300, 0.90)])
def test_a_skewed_figure_by_itself_is_covered_less(count: int, times: int, least: float) -> None:
    """Skewness cancels in a ratio of two alike; in a single figure it stays, and the stated coverage is lower."""
    draw = random.Random(count)
    held = 0
    for _ in range(times):
        found = figure_interval([math.exp(draw.expovariate(1.0)) for _ in range(count)])
        held += found is not None and found.holds(math.e)
    assert least <= held / times <= 0.97


@pytest.mark.parametrize(("count", "times"), [(3, 2000), (5, 2000), (10, 300)])
def test_a_system_against_itself(count: int, times: int) -> None:
    """A/A: better or worse is said once in twenty comparisons, and the rest is the same or not decided."""
    draw = random.Random(count)
    said = Counter()
    for _ in range(times):
        found = compare_paired(*campaign(draw, count, 1.0), higher_is_better=True)
        assert found is not None
        said[found.verdict] += 1
    wrong = (said[ComparisonVerdict.BETTER] + said[ComparisonVerdict.WORSE]) / times
    assert wrong <= 0.065
    assert abs(said[ComparisonVerdict.BETTER] - said[ComparisonVerdict.WORSE]) <= 0.03 * times, (
        "neither side is preferred"
    )


def test_a_system_against_itself_in_two_runs() -> None:
    draw = random.Random(7)
    said = Counter()
    for _ in range(1000):
        first, second = ([math.exp(NOISE * draw.gauss(0, 1)) for _ in range(5)] for _ in range(2))
        found = compare_unpaired(first, second, higher_is_better=False)
        assert found is not None
        said[found.verdict] += 1
    assert (said[ComparisonVerdict.BETTER] + said[ComparisonVerdict.WORSE]) / 1000 <= 0.065


def test_no_difference_is_said_wrongly_no_more_often_than_stated() -> None:
    """Of a system that is 5 % better, "the same within 3 %" is said at most once in forty comparisons."""
    draw = random.Random(11)
    said = Counter()
    for _ in range(1000):
        above = {block: 1.05 * math.exp(0.01 * draw.gauss(0, 1)) for block in range(5)}
        found = compare_paired(above, dict.fromkeys(range(5), 1.0), higher_is_better=True)
        assert found is not None
        said[found.verdict] += 1
    assert said[ComparisonVerdict.SAME] / 1000 <= 0.03
    assert said[ComparisonVerdict.BETTER] / 1000 >= 0.95


@pytest.mark.parametrize("difference", [0.05, 0.20, 1.00])
@pytest.mark.parametrize(("count", "times"), [(3, 600), (5, 600), (10, 200)])
def test_known_differences_are_found_with_the_stated_power(difference: float, count: int, times: int) -> None:
    draw = random.Random(count)
    said = Counter()
    for _ in range(times):
        found = compare_paired(*campaign(draw, count, 1 + difference), higher_is_better=False)
        assert found is not None
        said[found.verdict] += 1
    assert said[ComparisonVerdict.WORSE] / times == pytest.approx(power(count, SPREAD, difference), abs=0.06)
    assert said[ComparisonVerdict.BETTER] / times <= 0.03
    if difference >= 0.2 and count >= 5:
        assert said[ComparisonVerdict.WORSE] / times > 0.95


def test_the_number_of_blocks_that_is_reported_suffices_as_often_as_stated() -> None:
    """After five blocks that decided nothing, a campaign of the length that they asked for finds the difference."""
    draw = random.Random(5)
    found_it = asked = 0
    while asked < 150:
        first = compare_paired(*campaign(draw, 5, 1.06), higher_is_better=True)
        assert first is not None
        needed = first.blocks_needed
        if needed is None or needed > 40:
            continue
        asked += 1
        second = compare_paired(*campaign(draw, needed, 1.06), higher_is_better=True)
        found_it += second is not None and second.verdict is ComparisonVerdict.BETTER
    # A spread and a difference seen by five blocks are rough: "about" so many blocks, between half and nearly always.
    assert 0.5 <= found_it / asked <= 0.95


@cache
def _clean(system: str) -> LoadResult:
    return result_of(spec_of("latency", system))


def measured(draw: random.Random, system: str, block: int, scale: float) -> LoadResult:
    made = replace(_clean(system), spec=replace(_clean(system).spec, block=block))
    (sub,) = made.subscriptions
    response, end_to_end = (scale * math.exp(NOISE * draw.gauss(0, 1)) for _ in range(2))
    return replace(
        made,
        response=replace(made.response, p99_ms=8 * response),
        subscriptions=(replace(sub, end_to_end=replace(sub.end_to_end, p99_ms=10 * end_to_end)),),
    )


@pytest.mark.parametrize(("ratio", "wrong_or_right"), [(1.0, (0.0, 0.14)), (1.2, (0.97, 1.0))])
def test_whole_campaigns_through_the_report(ratio: float, wrong_or_right: tuple[float, float]) -> None:
    """Five blocks, two systems, two figures: how many campaigns report any difference, as their report words it."""
    draw = random.Random(13)
    reporting = 0
    for _ in range(100):
        results = []
        for block in range(5):
            shared = math.exp(SHARED * draw.gauss(0, 1))
            results += [measured(draw, "a@1", block, shared), measured(draw, "b@1", block, ratio * shared)]
        (table,) = sort_compared_trials(results)
        verdicts = [one.comparison.verdict for one in ratios_of_compared(table)]
        assert len(verdicts) == 2
        reporting += any(verdict in (ComparisonVerdict.BETTER, ComparisonVerdict.WORSE) for verdict in verdicts)
    assert wrong_or_right[0] <= reporting / 100 <= wrong_or_right[1]


@pytest.mark.parametrize(
    ("count", "memory", "least"),
    [(30, 0.0, 0.92), (30, 0.5, 0.87), (30, 0.8, 0.74), (120, 0.0, 0.92), (120, 0.5, 0.90), (120, 0.8, 0.86)],
)
def test_within_a_trial_seconds_that_hang_together_are_no_samples(count: int, memory: float, least: float) -> None:
    """The mean of a rate whose seconds remember the one before (AR(1)): coverage as stated; i.i.d. has 0.52 at 0.8."""
    draw = random.Random(count)
    held = 0
    for _ in range(300):
        level, values = draw.gauss(0, 1) / math.sqrt(1 - memory**2), []
        for _ in range(count):
            level = memory * level + draw.gauss(0, 1)
            values.append(100 + level)
        found = mean_within(values)
        held += found is not None and found.holds(100.0)
    assert least <= held / 300 <= 0.99


def verdicts_of(
    draw: random.Random, ratios: Sequence[float], margin: SameWithin = SAME_WITHIN
) -> list[ComparisonVerdict]:
    """The verdicts on variants that truly are so many times the first, over five blocks."""
    shared = [math.exp(SHARED * draw.gauss(0, 1)) for _ in range(5)]
    first, *others = (
        {block: 10 * ratio * level * math.exp(normal(draw)) for block, level in enumerate(shared)} for ratio in ratios
    )
    options = {"higher_is_better": False, "unit": "ms", "confidence": confidence_of_each(len(others))}
    contrasts = [compute_contrast(other, first, same_within=margin, **options) for other in others]  # type: ignore[arg-type]
    return [one.verdict for one in contrasts if one is not None]


WRONG = {ComparisonVerdict.BETTER, ComparisonVerdict.WORSE}


@pytest.mark.parametrize("margin", ["3%", "1ms"])
@pytest.mark.parametrize("variants", [2, 4])
def test_variants_that_are_the_same_differ_as_rarely_as_stated(variants: int, margin: str) -> None:
    """A/A: of 200 comparisons of equal variants 5 % find any difference; 2 standard errors more pass."""
    draw = random.Random(variants)
    false_alarms = sum(
        bool(WRONG & {*verdicts_of(draw, [1.0] * variants, SameWithin.from_text(margin))}) for _ in range(200)
    )
    assert false_alarms <= 200 * 0.05 + 2 * math.sqrt(200 * 0.05 * 0.95)


def test_variants_at_the_margin_are_called_the_same_as_rarely_as_stated() -> None:
    """Truly 10 % apart with a margin of 10 %: the pair of one-sided tests errs in 2.5 % at most."""
    draw = random.Random(11)
    said = Counter(verdicts_of(draw, [1.0, 1.1], SameWithin(0.1))[0] for _ in range(400))
    assert said[ComparisonVerdict.SAME] <= 400 * 0.025 + 2 * math.sqrt(400 * 0.025)


TRUE_DIFFERENCE_MS = 5.15
"""The difference of the geometric means of 200,000 such values and of the same 5 ms later."""


def test_a_difference_of_variants_is_found_and_covered_as_often_as_stated() -> None:
    """Of 2,000 intervals 95 % hold the truth; 2 standard errors more or fewer pass."""
    draw, found, covered = random.Random(5), 0, 0
    for _ in range(2000):
        shared = [math.exp(SHARED * draw.gauss(0, 1)) for _ in range(5)]
        below = {block: 10 * level * math.exp(normal(draw)) for block, level in enumerate(shared)}
        above = {block: value + 5 + 0.3 * draw.gauss(0, 1) for block, value in below.items()}
        one = compute_contrast(above, below, higher_is_better=False, unit="ms", same_within=SameWithin(ms=1.0))
        assert one is not None
        assert one.difference_interval is not None
        found += one.verdict is ComparisonVerdict.WORSE
        covered += one.difference_interval.holds(TRUE_DIFFERENCE_MS)
    assert found == 2000
    assert covered == pytest.approx(2000 * 0.95, abs=2 * math.sqrt(2000 * 0.05 * 0.95))


@pytest.mark.parametrize("ratio", [1.0, 1.05])
def test_as_many_blocks_as_are_asked_for_mostly_decide(ratio: float) -> None:
    """Judged by the spread and the difference that are true, four of five decide."""
    needed = _blocks_to_decide(
        Interval(ratio, 1.0, 1.0, 3, Method.T, SPREAD), math.log(ratio), math.log1p(0.03), 0.0, paired=True
    )
    draw, decided = random.Random(3), 0
    for _ in range(200):
        above, below = campaign(draw, needed, ratio)
        one = compute_contrast(above, below, higher_is_better=True, unit="msg/s")
        decided += one is not None and one.verdict is not ComparisonVerdict.NOT_DECIDED
    assert 0.70 <= decided / 200 <= 0.93
