"""One alternative against another: ratio and difference with their intervals, the verdict, what it would take."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence

import pytest

from tidegauge.model.variant import SameWithin
from tidegauge.statistics.contrasts import Contrast, compute_contrast, confidence_of_each
from tidegauge.statistics.intervals import BLOCKS_MAX, ComparisonVerdict, t_quantile


def made(above: Sequence[float], below: Sequence[float], margin: str = "3%", **more: object) -> Contrast:
    numbered: list[Mapping[int, float]] = [dict(enumerate(side)) for side in (above, below)]
    options = {"higher_is_better": False, "unit": "ms", "same_within": SameWithin.from_text(margin), **more}
    compared = compute_contrast(*numbered, **options)  # type: ignore[arg-type]
    assert compared is not None
    return compared


def test_ratio_and_difference_of_paired_blocks_are_known() -> None:
    """Each block doubles: from a geometric mean of 2 to one of 4. Its scatter is that without each of the blocks."""
    one = made([2.0, 4.0, 8.0], [1.0, 2.0, 4.0])
    assert (one.ratio, one.paired, one.blocks) == (pytest.approx(2.0), True, 3)
    assert one.difference == pytest.approx(2.0)
    assert one.difference_interval is not None
    assert one.ratio_interval is not None
    without_block = [8**0.5, 2.0, 2**0.5]
    half = t_quantile(2) * 2 * statistics.stdev(without_block) / 3**0.5
    assert one.difference_interval.low == pytest.approx(2 - half)
    assert one.difference_interval.high == pytest.approx(2 + half)
    assert (one.ratio_interval.low, one.ratio_interval.high) == (pytest.approx(2.0), pytest.approx(2.0))
    assert one.verdict is ComparisonVerdict.WORSE


@pytest.mark.parametrize("paired", [True, False])
def test_a_difference_has_the_sign_of_its_ratio_however_far_a_block_is_off(paired: bool) -> None:
    """The arithmetic means are 478 and 23.5 ms, of which the second has the larger geometric mean."""
    one = made([2.0, 1900.0, 2.1, 1.9], [23.0, 24.0, 22.0, 25.0], paired=paired)
    assert (one.ratio < 1, one.difference < 0) == (True, True)
    assert one.difference_interval is not None
    assert one.difference_interval.estimate == pytest.approx(one.difference)


def test_two_blocks_have_no_interval() -> None:
    for paired in (True, False):
        one = made([2.0, 1900.0], [23.0, 24.0], paired=paired)
        assert (one.ratio_interval, one.difference_interval, one.verdict) == (None, None, ComparisonVerdict.NOT_DECIDED)


def test_the_margin_decides_which_interval_judges() -> None:
    """0.50 ms against 0.40 is a quarter more, and no millisecond more."""
    above, below = [0.50, 0.52, 0.51, 0.50], [0.40, 0.41, 0.40, 0.41]
    assert made(above, below, "3%").verdict is ComparisonVerdict.WORSE
    assert made(above, below, "1ms").verdict is ComparisonVerdict.SAME
    assert made(above, below, "50us").verdict is ComparisonVerdict.WORSE
    assert made(above, below, "1ms", unit="msg/s", higher_is_better=True).verdict is ComparisonVerdict.BETTER, (
        "a time says nothing of a rate, which keeps the usual share"
    )


@pytest.mark.parametrize(
    ("above", "verdict"),
    [
        ([1.001, 0.999, 1.0, 1.002], ComparisonVerdict.SAME),
        ([1.101, 1.099, 1.1, 1.102], ComparisonVerdict.WORSE),
        ([0.901, 0.899, 0.9, 0.902], ComparisonVerdict.BETTER),
        ([0.8, 1.3, 1.0, 1.1], ComparisonVerdict.NOT_DECIDED),
        ([1.5, 1.5], ComparisonVerdict.NOT_DECIDED),
    ],
)
def test_the_verdict_follows_the_interval(above: list[float], verdict: ComparisonVerdict) -> None:
    one = made(above, [1.0] * len(above))
    assert one.verdict is verdict
    mirrored = made(above, [1.0] * len(above), higher_is_better=True)
    other = {ComparisonVerdict.BETTER: ComparisonVerdict.WORSE, ComparisonVerdict.WORSE: ComparisonVerdict.BETTER}
    assert mirrored.verdict is other.get(verdict, verdict)


def test_what_is_open_says_how_many_more_blocks_would_decide() -> None:
    near = made([1.02, 0.97, 1.03, 0.98, 1.01], [1.0] * 5)
    assert near.verdict is ComparisonVerdict.NOT_DECIDED
    assert near.blocks_needed is not None
    assert near.more_blocks == near.blocks_needed - 5 > 0
    wider = made([1.02, 0.97, 1.03, 0.98, 1.01], [1.0] * 5, "10%")
    assert wider.verdict is ComparisonVerdict.SAME
    assert wider.blocks_needed is None
    rough = made([1.2, 0.8, 1.3, 0.75, 1.0], [1.0] * 5)
    assert rough.blocks_needed is not None
    assert rough.blocks_needed > near.blocks_needed
    hopeless = made([4.0, 0.25, 4.1, 0.24], [1.0] * 4)
    assert hopeless.blocks_needed == BLOCKS_MAX + 1


def test_without_blocks_in_common_each_side_stands_by_itself() -> None:
    options = {"higher_is_better": False, "unit": "ms"}
    one = compute_contrast({0: 2.0, 1: 2.1, 2: 1.9}, {3: 1.0, 4: 1.05, 5: 0.95}, **options)  # type: ignore[arg-type]
    assert one is not None
    assert (one.paired, one.verdict) == (False, ComparisonVerdict.WORSE)
    assert one.difference == pytest.approx(math.prod((2.0, 2.1, 1.9)) ** (1 / 3) / 2)
    assert compute_contrast({0: 1.0}, {}, **options) is None  # type: ignore[arg-type]
    assert compute_contrast({0: 0.0}, {0: 1.0}, **options) is None  # type: ignore[arg-type]


def test_several_comparisons_share_what_may_be_missed() -> None:
    assert confidence_of_each(1) == pytest.approx(0.95)
    assert confidence_of_each(5) == pytest.approx(0.99)
    narrow, wide = (made([1.1, 1.2, 1.15], [1.0] * 3, confidence=confidence_of_each(n)) for n in (1, 5))
    assert narrow.ratio_interval is not None
    assert wide.ratio_interval is not None
    assert wide.ratio_interval.low < narrow.ratio_interval.low < narrow.ratio_interval.high < wide.ratio_interval.high


def test_steps_of_a_figure_move_the_ends_out() -> None:
    equal = made([1.0] * 3, [1.0] * 3, resolution=0.05)
    assert equal.verdict is ComparisonVerdict.SAME
    assert equal.share == pytest.approx(1.03 * 1.05 - 1)
    assert made([1.04] * 3, [1.0] * 3, resolution=0.05).verdict is ComparisonVerdict.NOT_DECIDED
    assert made([1.04] * 3, [1.0] * 3).verdict is ComparisonVerdict.WORSE
