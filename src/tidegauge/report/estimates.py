"""One figure of a system over its repeated trials: the middle, and how far it is sure or how far it scatters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidegauge.statistics.intervals import BLOCKS_MIN, CONFIDENCE, figure_interval, geometric_mean


@dataclass(frozen=True)
class Estimate:
    """The geometric mean of trials, as comparisons use it.

    Attributes:
        low, high: ends of its confidence interval; with too few trials for one the least and the largest of them.
        sure: whether they are ends of an interval.
    """

    value: float
    low: float
    high: float
    trials: int
    sure: bool

    def span_words(self) -> str:
        """What `low` and `high` are."""
        return f"{CONFIDENCE:.0%} interval over {self.trials} trials" if self.sure else f"range of {self.trials} trials"


def estimate(values: Sequence[float]) -> Estimate | None:
    """None without values. Those that are not positive have no geometric mean: then the plain mean and the range."""
    if not values:
        return None
    if min(values) <= 0:
        return Estimate(sum(values) / len(values), min(values), max(values), len(values), False)
    interval = figure_interval(values) if len(values) >= BLOCKS_MIN else None
    if interval is not None:
        return Estimate(interval.estimate, interval.low, interval.high, len(values), True)
    return Estimate(geometric_mean(values), min(values), max(values), len(values), False)
