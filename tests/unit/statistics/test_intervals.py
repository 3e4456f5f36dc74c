"""Intervals, verdicts and power against scipy and by hand."""

from __future__ import annotations

import math
import random

import pytest
from scipy import stats

from tidegauge.statistics.intervals import (
    BLOCKS_MAX,
    BOOTSTRAP_BLOCKS_MIN,
    POWER,
    ComparisonVerdict,
    Interval,
    Method,
    blocks_needed,
    compare_paired,
    compare_unpaired,
    figure_interval,
    judge_interval,
    paired_ratio,
    power,
    unpaired_ratio,
)

KAFKA = {0: 10.0, 1: 10.4, 2: 9.5, 3: 10.9, 4: 9.9}
PULSAR = {0: 4.0, 1: 4.2, 2: 3.9, 3: 4.1, 4: 4.0}


def lognormal(count: int, seed: int, centre: float = 1.0, deviation: float = 0.2) -> list[float]:
    draw = random.Random(seed)
    return [centre * math.exp(draw.gauss(0, deviation)) for _ in range(count)]


def test_a_paired_ratio_is_the_t_interval_of_the_log_ratios() -> None:
    found = paired_ratio(PULSAR, KAFKA)
    logs = [math.log(PULSAR[block] / KAFKA[block]) for block in KAFKA]
    expected = stats.ttest_1samp(logs, 0).confidence_interval(0.95)
    assert found is not None
    assert found.method is Method.T
    assert found.blocks == 5
    assert math.log(found.low) == pytest.approx(expected.low)
    assert math.log(found.high) == pytest.approx(expected.high)
    assert math.log(found.estimate) == pytest.approx(sum(logs) / 5)


def test_an_unpaired_ratio_is_welchs_interval() -> None:
    above, below = lognormal(4, 1), lognormal(7, 2, 2.0, 0.05)
    found = unpaired_ratio(above, below)
    expected = stats.ttest_ind(
        [math.log(value) for value in above], [math.log(value) for value in below], equal_var=False
    ).confidence_interval(0.95)
    assert found is not None
    assert (math.log(found.low), math.log(found.high)) == pytest.approx((expected.low, expected.high))
    assert found.blocks == 4


def test_pairing_takes_out_what_blocks_share() -> None:
    shared = lognormal(5, 3, 1.0, 1.0)
    above = {block: 2 * factor * (1 + 0.01 * block) for block, factor in enumerate(shared)}
    below = dict(enumerate(shared))
    paired, unpaired = paired_ratio(above, below), unpaired_ratio(list(above.values()), list(below.values()))
    assert paired is not None
    assert unpaired is not None
    assert paired.high / paired.low < 1.1
    assert unpaired.high / unpaired.low > 5


def test_only_blocks_that_both_have_count() -> None:
    found = paired_ratio({0: 2.0, 1: 2.2, 3: 2.0, 7: 900.0}, {0: 1.0, 1: 1.0, 2: 500.0, 3: 1.0})
    assert found is not None
    assert found.blocks == 3
    assert found.estimate == pytest.approx(8.8 ** (1 / 3))


@pytest.mark.parametrize(
    "values", [[], [1.0], [1.0, 2.0], *([1.0, 1.0, last] for last in (0.0, -2.0, math.inf, math.nan))]
)
def test_what_has_no_interval(values: list[float]) -> None:
    assert figure_interval(values) is None


def test_a_figures_interval_stands_around_the_geometric_mean() -> None:
    found = figure_interval([10.0, 40.0, 20.0])
    assert found is not None
    assert found.estimate == pytest.approx(20.0)
    assert found.low < 20.0 < found.high
    assert found.holds(20.0)
    assert not found.holds(found.high * 1.01)


def test_equal_values_have_an_interval_of_one_point() -> None:
    few, many = figure_interval([3.0] * 3), figure_interval([3.0] * 12)
    assert few is not None
    assert many is not None
    for found in (few, many):
        assert (found.low, found.high) == pytest.approx((3.0, 3.0))


def test_what_is_known_in_steps_only_is_known_no_finer_by_repeats() -> None:
    many = figure_interval([3.0] * 12, resolution=0.05)
    assert many is not None
    assert (many.low, many.high) == pytest.approx((3.0 / 1.05, 3.0 * 1.05))
    plain, stepped = paired_ratio(PULSAR, KAFKA), paired_ratio(PULSAR, KAFKA, resolution=0.05)
    assert plain is not None
    assert stepped is not None
    assert (stepped.low * 1.05, stepped.high / 1.05) == pytest.approx((plain.low, plain.high))
    above, below = list(PULSAR.values()), list(KAFKA.values())
    apart, stepped = unpaired_ratio(above, below), unpaired_ratio(above, below, resolution=0.05)
    assert apart is not None
    assert stepped is not None
    assert (stepped.low * 1.05, stepped.high / 1.05) == pytest.approx((apart.low, apart.high))


def test_with_many_blocks_whole_blocks_are_drawn_again() -> None:
    values = lognormal(BOOTSTRAP_BLOCKS_MIN, 4)
    found, again = figure_interval(values), figure_interval(values)
    assert found is not None
    assert found.method is Method.BOOTSTRAP
    assert found == again, "the same data give the same interval"
    logs = [math.log(value) for value in values]
    expected = stats.ttest_1samp(logs, 0).confidence_interval(0.95)
    assert math.log(found.low) == pytest.approx(expected.low, abs=0.08)
    assert math.log(found.high) == pytest.approx(expected.high, abs=0.08)
    assert found.low < found.estimate < found.high


def test_the_studentised_bootstrap_leans_to_the_side_of_the_tail() -> None:
    draw = random.Random(5)
    skewed = [math.exp(draw.expovariate(1.0)) for _ in range(20)]
    found = figure_interval(skewed)
    assert found is not None
    assert math.log(found.high / found.estimate) > 1.1 * math.log(found.estimate / found.low)


def interval(low: float, high: float, blocks: int = 5) -> Interval:
    return Interval(math.sqrt(low * high), low, high, blocks, Method.T, 0.1)


@pytest.mark.parametrize(
    ("low", "high", "higher_is_better", "verdict"),
    [
        (1.10, 1.30, True, ComparisonVerdict.BETTER),
        (1.10, 1.30, False, ComparisonVerdict.WORSE),
        (0.36, 0.47, False, ComparisonVerdict.BETTER),
        (0.36, 0.47, True, ComparisonVerdict.WORSE),
        (0.98, 1.02, True, ComparisonVerdict.SAME),
        (1.01, 1.02, True, ComparisonVerdict.SAME),
        (1.01, 1.04, True, ComparisonVerdict.BETTER),
        (0.98, 1.04, True, ComparisonVerdict.NOT_DECIDED),
        (0.50, 2.00, False, ComparisonVerdict.NOT_DECIDED),
    ],
)
def test_verdicts(low: float, high: float, higher_is_better: bool, verdict: ComparisonVerdict) -> None:
    assert judge_interval(interval(low, high), higher_is_better, 0.03) is verdict


def test_a_wider_threshold_of_noise_finds_fewer_differences() -> None:
    assert judge_interval(interval(1.01, 1.04), True, 0.05) is ComparisonVerdict.SAME


def test_two_blocks_conclude_nothing_however_alike() -> None:
    assert judge_interval(interval(2.0, 2.01, blocks=2), True) is ComparisonVerdict.NOT_DECIDED
    assert judge_interval(None, True) is ComparisonVerdict.NOT_DECIDED


def test_a_comparison_says_what_the_issue_wants_said() -> None:
    found = compare_paired(PULSAR, KAFKA, higher_is_better=False)
    assert found is not None
    assert (found.verdict, found.blocks, found.paired) == (ComparisonVerdict.BETTER, 5, True)
    assert found.ratio == pytest.approx(0.399, abs=0.001)
    assert found.blocks_needed is None


def test_one_that_is_not_decided_says_how_many_blocks_it_takes() -> None:
    found = compare_paired({0: 1.0, 1: 1.3, 2: 1.2}, {0: 1.0, 1: 1.0, 2: 1.3}, higher_is_better=True)
    assert found is not None
    assert found.verdict is ComparisonVerdict.NOT_DECIDED
    assert found.interval is not None
    assert found.blocks_needed is not None
    assert found.difference == pytest.approx(found.ratio - 1)
    assert power(found.blocks_needed, found.interval.deviation, found.difference) >= POWER
    assert power(found.blocks_needed - 1, found.interval.deviation, found.difference) < POWER


def test_single_trials_have_a_ratio_and_nothing_else() -> None:
    paired, unpaired = compare_paired({0: 3.0}, {0: 2.0}, True), compare_unpaired([3.0], [2.0], True)
    for found in (paired, unpaired):
        assert found is not None
        assert found.ratio == pytest.approx(1.5)
        assert (found.interval, found.blocks, found.blocks_needed) == (None, 1, None)
        assert found.verdict is ComparisonVerdict.NOT_DECIDED


def test_no_common_block_or_no_positive_figure_is_no_comparison() -> None:
    assert compare_paired({0: 1.0}, {1: 1.0}, True) is None
    assert compare_paired({0: 0.0}, {0: 1.0}, True) is None
    assert compare_unpaired([], [1.0], True) is None
    assert compare_unpaired([1.0], [0.0], True) is None


@pytest.mark.parametrize("blocks", [3, 5, 10, 40, 200])
@pytest.mark.parametrize("deviation", [0.02, 0.1, 0.5])
def test_power_agrees_with_scipys_noncentral_t(blocks: int, deviation: float) -> None:
    shift = math.log(1.2) / deviation * math.sqrt(blocks)
    expected = stats.nct.sf(stats.t.ppf(0.975, blocks - 1), blocks - 1, shift)
    assert power(blocks, deviation, 0.2) == pytest.approx(expected, abs=1e-4)


def test_smaller_differences_and_larger_spreads_need_more_blocks() -> None:
    assert blocks_needed(0.05, 0.05) == 11  # Cohen's d of 0.98; tables give 10 for a d of 1.
    assert blocks_needed(0.05, 0.20) == 3
    assert blocks_needed(0.05, 0.02) > blocks_needed(0.05, 0.05)
    assert blocks_needed(0.10, 0.05) > blocks_needed(0.05, 0.05)
    assert blocks_needed(5.0, 0.01) == BLOCKS_MAX + 1


def test_the_noise_threshold_is_the_same_both_ways() -> None:
    """1.03 times as much one way is 1/1.03 the other; 3 % less would be more than that."""

    def said(low: float, high: float) -> ComparisonVerdict:
        return judge_interval(Interval(1.0, low, high, 5, Method.T, 0.01), True)

    assert said(1 / 1.03, 1.03) is ComparisonVerdict.SAME
    assert said(0.9702, 1.01) is ComparisonVerdict.NOT_DECIDED
    assert said(0.99, 1 / 0.9702) is ComparisonVerdict.NOT_DECIDED


def test_of_unpaired_blocks_fewer_are_needed_than_of_paired_ones() -> None:
    """Student's t has twice the degrees of freedom, so its quantile is smaller."""
    assert power(4, 0.1, 0.2, paired=False) > power(4, 0.1, 0.2, paired=True) + 0.05
