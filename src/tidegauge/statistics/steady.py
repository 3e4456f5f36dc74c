"""When is a warm-up over? A trend test on the last seconds of rate, p99 and backlog.

A figure has a trend when both hold over the horizon (the last half of the warm-up, 6 to 30 seconds):
  * the trend is real: the Mann-Kendall test rejects "no trend" at 15 % (two-sided, corrected for ties and continuity).
    It counts which of each pair of seconds is larger, so a single garbage-collection pause or a burst can't decide it;
  * the trend matters: the Theil-Sen slope (median of the slopes of all pairs) times the horizon exceeds the tolerance.
Both are needed: with much noise a slope is never exactly zero, and with little noise a meaningless one is
significant. Steady means no trend in any of the three. Noise without trend is steady: it is what the system does, and
it is measured.

The test is a rule for starting to measure, not a proof: a noisy steady figure looks like a trend by chance about one
time in seven, which costs one more second of warm-up; a drift slower than the tolerance per horizon passes, and the
drift over the measured window is tested again and reported (see `classify`).

Sources: H. B. Mann, "Nonparametric tests against trend", Econometrica 13 (1945); M. G. Kendall, "Rank Correlation
Methods" (1975); P. K. Sen, "Estimates of the regression coefficient based on Kendall's tau", JASA 63 (1968).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median

SECONDS_MIN = 6
SECONDS_MAX = 30
ALPHA = 0.15
RATE_TOLERANCE = 0.10
P99_TOLERANCE = 0.30
BACKLOG_TOLERANCE = 0.02


@dataclass(frozen=True)
class SecondPoint:
    """One second of a trial as the test sees it.

    `p99_ms` is None when nothing was acknowledged; `backlog` is the largest of the subscriptions.
    """

    msgs_per_s: float
    p99_ms: float | None
    backlog: int


@dataclass(frozen=True)
class Trend:
    """A figure's trend: slope a second (Theil-Sen) and the probability of such an order by chance (Mann-Kendall)."""

    slope_per_s: float
    p_value: float

    @property
    def is_real(self) -> bool:
        """Whether chance is an unlikely explanation."""
        return self.p_value < ALPHA


def trend(values: Sequence[float]) -> Trend:
    """The trend of equally spaced values; no trend with fewer than three."""
    count = len(values)
    if count < 3:
        return Trend(0.0, 1.0)
    slopes = [(values[j] - values[i]) / (j - i) for i, j in combinations(range(count), 2)]
    score = sum((slope > 0) - (slope < 0) for slope in slopes)
    ties = sum(n * (n - 1) * (2 * n + 5) for n in Counter(values).values())
    variance = (count * (count - 1) * (2 * count + 5) - ties) / 18
    if variance <= 0 or score == 0:
        return Trend(median(slopes), 1.0)
    deviation = (abs(score) - 1) / math.sqrt(variance)
    return Trend(median(slopes), math.erfc(deviation / math.sqrt(2)))


def unsteady_because(points: Sequence[SecondPoint]) -> str:
    """ "" when the newest seconds are steady, else which figure still moves, in words.

    Args:
        points: whole seconds since the load began, the oldest first. The first is left out: it holds the start.
    """
    known = points[1:]
    if len(known) < SECONDS_MIN:
        return f"fewer than {SECONDS_MIN} whole seconds seen"
    horizon = known[-min(SECONDS_MAX, max(SECONDS_MIN, len(known) // 2)) :]
    seconds = len(horizon)
    rates = [point.msgs_per_s for point in horizon]
    rate = median(rates)
    if rate <= 0:
        return "nothing was acknowledged"
    moving = _moves(rates, RATE_TOLERANCE * rate)
    if moving:
        return f"the rate is {moving} over the last {seconds} s"
    p99s = [point.p99_ms for point in horizon if point.p99_ms is not None]
    if len(p99s) >= SECONDS_MIN:
        moving = _moves(p99s, P99_TOLERANCE * median(p99s))
        if moving:
            return f"p99 is {moving} over the last {seconds} s"
    moving = _moves([float(point.backlog) for point in horizon], BACKLOG_TOLERANCE * rate * seconds)
    if moving:
        return f"the backlog is {moving} over the last {seconds} s"
    return ""


def backlog_grows(points: Sequence[SecondPoint]) -> bool:
    """Whether consumers fell ever further behind over these seconds (of the measured window)."""
    if len(points) < SECONDS_MIN:
        return False
    rate = median([point.msgs_per_s for point in points])
    backlog = [float(point.backlog) for point in points]
    return _moves(backlog, BACKLOG_TOLERANCE * rate * len(points)) == "rising"


def drifts(points: Sequence[SecondPoint]) -> str:
    """ "" or what drifted over these seconds of the measured window: "the rate was rising by 14 %"."""
    if len(points) < SECONDS_MIN:
        return ""
    rates = [point.msgs_per_s for point in points]
    p99s = [point.p99_ms for point in points if point.p99_ms is not None]
    for name, values, tolerance in (("rate", rates, RATE_TOLERANCE), ("p99", p99s, P99_TOLERANCE)):
        if len(values) < SECONDS_MIN or median(values) <= 0:
            continue
        moving = _moves(values, tolerance * median(values))
        if moving:
            change = abs(trend(values).slope_per_s) * (len(values) - 1) / median(values)
            return f"the {name} was {moving}, by {change:.0%} over the window"
    return ""


def _moves(values: Sequence[float], change_tolerated: float) -> str:
    found = trend(values)
    change = found.slope_per_s * (len(values) - 1)
    if not found.is_real or abs(change) <= change_tolerated:
        return ""
    return "rising" if change > 0 else "falling"
