"""The ratio of two figures of one run, or of two runs, with what it may as well be. Pure.

With three blocks or more the interval is that of `statistics.intervals`, paired within the blocks of one run. With
fewer there is no spread to go by, so the ratios seen are widened on both sides by a stated margin, which is chosen by
judgement: only a difference beyond it decides anything.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tidegauge.statistics.intervals import BLOCKS_MIN, CONFIDENCE, geometric_mean, paired_ratio, unpaired_ratio


@dataclass(frozen=True)
class Ratio:
    """A ratio, and between which values it lies.

    Attributes:
        estimate: geometric mean over the blocks that both sides have.
        margin: factor by which the range of the ratios seen was widened; None where an interval was computed.
    """

    estimate: float
    low: float
    high: float
    blocks: int
    margin: float | None = None

    @property
    def rests_on(self) -> str:
        """ "5 trials each, 95 % interval"; "one trial each, where only a factor above 1.5 counts"."""
        if self.margin is None:
            return f"{self.blocks} trials each, {CONFIDENCE:.0%} interval".replace("%", " %")
        trials = "one trial" if self.blocks == 1 else f"{self.blocks} trials"
        return f"{trials} each, too few for an interval: widened by a factor of {self.margin:.3g} both ways"


def ratio_of(
    above: Mapping[int, float], below: Mapping[int, float], margin: float, resolution: float = 0.0
) -> Ratio | None:
    """The ratio of two figures by block; None without a block that has both, each above 0.

    Args:
        margin: factor by which single trials must differ before that counts (see `figures.Figure.margin`).
        resolution: share by which a figure may be off alike in every block (see `statistics.intervals`).
    """
    ratios = [
        above[block] / below[block]
        for block in sorted(above.keys() & below.keys())
        if above[block] > 0 and below[block] > 0
    ]
    if not ratios:
        return None
    estimate = math.exp(sum(map(math.log, ratios)) / len(ratios))
    if len(ratios) >= BLOCKS_MIN:
        interval = paired_ratio(above, below, resolution=resolution)
        if interval is not None:
            return Ratio(interval.estimate, interval.low, interval.high, interval.blocks)
    return Ratio(estimate, min(ratios) / margin, max(ratios) * margin, len(ratios), margin)


def ratio_across(
    above: Sequence[float], below: Sequence[float], margin: float, resolution: float = 0.0
) -> Ratio | None:
    """The same of figures of different runs, whose blocks were not measured at the same time and are never paired."""
    if not above or not below or min(*above, *below) <= 0:
        return None
    fewer = min(len(above), len(below))
    interval = unpaired_ratio(above, below, resolution=resolution) if fewer >= BLOCKS_MIN else None
    if interval is not None:
        return Ratio(interval.estimate, interval.low, interval.high, fewer)
    estimate = geometric_mean(above) / geometric_mean(below)
    return Ratio(estimate, min(above) / max(below) / margin, max(above) / min(below) * margin, fewer, margin)
