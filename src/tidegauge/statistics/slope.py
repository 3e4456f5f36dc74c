"""How fast a count grows, with an interval: Theil-Sen, and Sen's interval from Kendall's distribution.

The interval supposes that deviations from the line are independent. A backlog's are not quite: after a pause it takes
seconds to fall. So the interval is rather too narrow, and whoever decides by it also asks whether the slope matters.

Source: P. K. Sen, "Estimates of the regression coefficient based on Kendall's tau", JASA 63 (1968).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from statistics import median

from tidegauge.model.trial import Slope
from tidegauge.statistics.steady import POINTS_MAX, SECONDS_MIN

_NORMAL_95 = 1.959964


def growth(values: Sequence[float]) -> Slope | None:
    """The slope of equally spaced values (one a second); None with fewer than six."""
    stretch = max(1, -(-len(values) // POINTS_MAX))
    points = [median(values[at : at + stretch]) for at in range(0, len(values) - len(values) % stretch, stretch)]
    count = len(points)
    if count < SECONDS_MIN:
        return None
    slopes = sorted((points[j] - points[i]) / (j - i) / stretch for i, j in combinations(range(count), 2))
    reach = _NORMAL_95 * math.sqrt(count * (count - 1) * (2 * count + 5) / 18)
    low = max(0, round((len(slopes) - reach) / 2) - 1)
    high = min(len(slopes) - 1, round((len(slopes) + reach) / 2))
    return Slope(median(slopes), slopes[low], slopes[high])
