"""What a consumer does with a message before it acknowledges it, for a time that is drawn: it waits, or it computes.

All times of a trial are made before it, as equally likely quantiles of their distribution, so that the load generator
only picks one. Their mean and percentiles are those of the distribution, but for what lies beyond its last quantile.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from statistics import NormalDist, fmean

from tidegauge.numbers import duration, trimmed

QUANTILES = 4096
PROCESSING_S_MAX = 2.0
"""Of the mean, or the p99. A drain ends once consumers receive nothing for some seconds."""
TAIL_S_MAX = 2 * PROCESSING_S_MAX
"""No single message takes longer."""


class ProcessingKind(StrEnum):
    """How the times of a consumer's processing are distributed."""

    CONSTANT = "constant"
    EXPONENTIAL = "exponential"
    LOGNORMAL = "lognormal"
    PARETO = "pareto"


@dataclass(frozen=True)
class Processing:
    """Processing times. `time_s` is the mean of constant and exponential ones, the median of the others.

    `p99_s`: 0 where the first decides all. `on_cpu`: the time is CPU time, of the consumer's thread; else it waits.
    """

    kind: ProcessingKind
    time_s: float
    p99_s: float = 0.0
    on_cpu: bool = field(default=False, metadata={"if_any": True})

    def __str__(self) -> str:
        """As campaigns write it: "exponential 20ms", "lognormal 5ms p99 100ms on CPU"."""
        kind = "" if self.kind is ProcessingKind.CONSTANT else f"{self.kind} "
        p99 = f" p99 {_exact(self.p99_s)}" if self.p99_s else ""
        return f"{kind}{_exact(self.time_s)}{p99}{' on CPU' if self.on_cpu else ''}"

    def times_s(self) -> list[float]:
        """Equally likely times, the shortest first: the middle of each of `QUANTILES` slices of the distribution."""
        return [min(self._quantile_s((place + 0.5) / QUANTILES), TAIL_S_MAX) for place in range(QUANTILES)]

    @cached_property
    def mean_s(self) -> float:
        """What a message takes on average."""
        return fmean(self.times_s())

    def _quantile_s(self, share: float) -> float:
        if self.kind is ProcessingKind.CONSTANT:
            return self.time_s
        if self.kind is ProcessingKind.EXPONENTIAL:
            return -math.log1p(-share) * self.time_s
        if self.kind is ProcessingKind.LOGNORMAL:
            sigma = math.log(self.p99_s / self.time_s) / NormalDist().inv_cdf(0.99)
            return self.time_s * math.exp(sigma * NormalDist().inv_cdf(share))
        # Pareto's: of all messages a share of (least / t) ** alpha takes longer than t. Half take longer than the
        # median, and a fiftieth of these longer than the p99.
        alpha = math.log(50) / math.log(self.p99_s / self.time_s)
        return self.time_s * math.pow(2 * (1 - share), -1 / alpha)


def _exact(seconds: float) -> str:
    return duration(seconds).replace(" ", "") if seconds >= 1 else f"{trimmed(seconds * 1e3)}ms"
