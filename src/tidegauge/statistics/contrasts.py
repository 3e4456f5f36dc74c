"""By how much two alternatives of one campaign, or two runs, differ in a figure: as a ratio, in its unit, in a word.

Both are of geometric means, so that what is shown adds up: the ratio of two, and their difference, each with its
interval of `intervals`. One of them judges: the difference where the margin of the same is given in the figure's unit
(1 ms), else the ratio.

| verdict | when |
| --- | --- |
| the same | the whole interval lies within the margin, and what the figure's own steps are beyond it |
| better, worse | the whole interval lies on one side of no difference, and not within the margin |
| not decided | anything else, and always with fewer than `BLOCKS_MIN` blocks |

"The same" is the pair of one-sided tests of Schuirmann, each at half of what the interval leaves out: 2.5 % of 95 %, so
that the word and the interval beside it never disagree.

Several alternatives are each compared with the first. Their intervals are widened so that all of them together hold
the truth as often as a single one would (Bonferroni: each leaves out an equal part of the 5 %). Holm's procedure finds
a little more, but has no intervals that agree with its verdicts; Dunnett's needs one spread for all alternatives, which
latencies under different settings do not have.

Sources: D. J. Schuirmann, "A Comparison of the Two One-Sided Tests Procedure and the Power Approach", Journal of
Pharmacokinetics and Biopharmaceutics 15 (1987); O. J. Dunn, "Multiple Comparisons Among Means", Journal of the American
Statistical Association 56 (1961).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from tidegauge.model.variant import SAME_WITHIN, SameWithin
from tidegauge.statistics.intervals import (
    BLOCKS_MAX,
    BLOCKS_MIN,
    CONFIDENCE,
    POWER,
    ComparisonVerdict,
    Interval,
    geometric_mean,
    paired_difference,
    paired_ratio,
    t_quantile,
    unpaired_difference,
    unpaired_ratio,
)

_SURE = 10.0
"""Standard errors beyond the limit: there power is 1 for all purposes, and the series for it no longer converges."""


def confidence_of_each(comparisons: int) -> float:
    """The confidence of each of so many intervals that together hold the truth with `CONFIDENCE`."""
    return 1 - (1 - CONFIDENCE) / max(1, comparisons)


@dataclass(frozen=True)
class Contrast:
    """One alternative against another.

    Attributes:
        ratio: geometric mean of the ratios of all blocks, or of the only one.
        difference: of the two geometric means over these blocks, in the figure's unit.
        ratio_interval, difference_interval: None with fewer than `BLOCKS_MIN` blocks on a side.
        paired: whether both were measured in the same blocks.
        blocks: that it rests on.
        same_within: the margin by which it is judged.
        share: of the margin, widened by the figure's steps; None where the margin is in the figure's unit.
        blocks_needed: how many blocks would decide with 80 % power, if the spread and the difference are those seen;
            None where it is decided, or the spread is unknown.
    """

    ratio: float
    difference: float
    ratio_interval: Interval | None
    difference_interval: Interval | None
    paired: bool
    blocks: int
    verdict: ComparisonVerdict
    same_within: SameWithin
    share: float | None
    blocks_needed: int | None

    @property
    def more_blocks(self) -> int | None:
        """How many further blocks would decide it; None where that is not known."""
        return None if self.blocks_needed is None else self.blocks_needed - self.blocks


def compute_contrast(
    above: Mapping[int, float],
    below: Mapping[int, float],
    *,
    higher_is_better: bool,
    unit: str,
    same_within: SameWithin = SAME_WITHIN,
    paired: bool = True,
    resolution: float = 0.0,
    confidence: float = CONFIDENCE,
) -> Contrast | None:
    """The first alternative against the second; None if a side has no figure, or one that is not positive.

    Args:
        above, below: a positive figure by block number.
        paired: whether equal numbers are the same block; where no number is common to both, they are not.
        resolution: the share by which a figure may be off alike in every block (see `intervals`).
    """
    common = sorted(above.keys() & below.keys()) if paired else []
    paired = bool(common)
    ours = [above[block] for block in common] if paired else list(above.values())
    theirs = [below[block] for block in common] if paired else list(below.values())
    if not ours or not theirs or any(not 0 < value < math.inf for value in (*ours, *theirs)):
        return None
    blocks = min(len(ours), len(theirs))
    if paired:
        ratio = geometric_mean([first / second for first, second in zip(ours, theirs, strict=True)])
        ratio_interval = paired_ratio(above, below, resolution, confidence)
        difference_interval = paired_difference(ours, theirs, confidence)
    else:
        ratio = geometric_mean(ours) / geometric_mean(theirs)
        ratio_interval = unpaired_ratio(ours, theirs, resolution, confidence)
        difference_interval = unpaired_difference(ours, theirs, confidence)
    difference = geometric_mean(ours) - geometric_mean(theirs)
    margin = same_within.margin_of(unit)
    share = (1 + same_within.share) * (1 + resolution) - 1 if margin is None else None
    judging, limit = (difference_interval, margin) if margin is not None else (ratio_interval, math.log1p(share or 0.0))
    logs = margin is None
    verdict = _verdict_on_interval(judging, limit, higher_is_better=higher_is_better, logs=logs)
    needed = None
    if verdict is ComparisonVerdict.NOT_DECIDED and judging is not None and judging.deviation > 0:
        estimate = math.log(judging.estimate) if logs else judging.estimate
        room = math.log1p(resolution) if logs else 0.0
        needed = _blocks_to_decide(judging, abs(estimate), limit, room, paired=paired)
    return Contrast(
        ratio,
        difference,
        ratio_interval,
        difference_interval,
        paired,
        blocks,
        verdict,
        same_within,
        share,
        needed,
    )


def _verdict_on_interval(
    interval: Interval | None, margin: float, *, higher_is_better: bool, logs: bool
) -> ComparisonVerdict:
    """The verdict on an interval, whose `margin` reaches to both sides of no difference; of a ratio in logarithms."""
    if interval is None or interval.blocks < BLOCKS_MIN:
        return ComparisonVerdict.NOT_DECIDED
    low, high = (math.log(interval.low), math.log(interval.high)) if logs else (interval.low, interval.high)
    if -margin <= low and high <= margin:
        return ComparisonVerdict.SAME
    if low > 0 or high < 0:
        return ComparisonVerdict.BETTER if (low > 0) == higher_is_better else ComparisonVerdict.WORSE
    return ComparisonVerdict.NOT_DECIDED


def _blocks_to_decide(interval: Interval, distance: float, margin: float, room: float, *, paired: bool) -> int:
    """The fewest blocks that would decide with `POWER`; `BLOCKS_MAX` + 1 where that is not enough.

    Args:
        distance: of the estimate from no difference, and `margin`, in what the interval's deviation is in.
        room: by how much both ends are moved out, whatever the blocks.
    """
    low, high = max(BLOCKS_MIN, interval.blocks + 1), BLOCKS_MAX + 1
    while low < high:
        middle = (low + high) // 2
        if _chance_to_decide(middle, interval, distance, margin, room, paired=paired) >= POWER:
            high = middle
        else:
            low = middle + 1
    return low


def _chance_to_decide(
    blocks: int, interval: Interval, distance: float, margin: float, room: float, *, paired: bool
) -> float:
    """The probability that an interval over so many blocks lies beyond no difference, or within the margin."""
    from scipy.special import nctdtr, ndtr

    freedom = (blocks - 1) * (1 if paired else 2)
    limit, error = t_quantile(freedom, interval.confidence), interval.deviation / math.sqrt(blocks)
    shift = (distance - room) / error
    beyond = 1.0 if shift > limit + _SURE else float(1 - nctdtr(freedom, shift, limit)) if shift > 0 else 0.0
    half = margin - room - limit * error
    within = float(ndtr((half - distance) / error) - ndtr((-half - distance) / error)) if half > 0 else 0.0
    return max(beyond, within)
