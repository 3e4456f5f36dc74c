"""What a fault did to the load, from the seconds of a trial. Pure.

A second counts as one without publishes if no acknowledgement arrived in it, and as one without deliveries if some
subscription received nothing in it. Normal is what the seconds just before the first fault showed: a fault is over for
the load with the first of the seconds that acknowledge and deliver at least 90 % of that rate, at a p99 response of no
more than twice the median before (or than the worst second before, if that was more), and go on doing so for three
seconds after the fault was lifted. Acknowledgements that were delayed count in
the second in which they arrive, so that the wait through an outage shows as the p99 of its end; an outage whose end was
not seen counts with its length, which is the least that messages have waited.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

BEFORE_S = 10
"""Seconds before the first fault that say what is normal."""
HOLD_S = 3
"""So many seconds in a row must be normal: a single one may be by chance."""
RATE_SHARE_MIN = 0.9
P99_FACTOR_MAX = 2.0
_NS_PER_S = 1e9


@dataclass(frozen=True)
class LoadSecond:
    """One second of a trial. `received`: of the subscription that received least. `p99_ms`: None without any."""

    from_ns: int
    until_ns: int
    acked: int
    received: int
    p99_ms: float | None
    failed: int = 0
    duplicated: int = 0
    reordered: int = 0
    corrupt: int = 0

    @property
    def length_s(self) -> float:
        """The second's length; the first and the last of a trial may be shorter than the others."""
        return (self.until_ns - self.from_ns) / _NS_PER_S


@dataclass(frozen=True)
class Normal:
    """What the load was like before the first fault. No second was seen: nothing is known, and nothing normal."""

    acked_per_s: float
    received_per_s: float
    p99_ms: float | None
    p99_ms_max: float | None

    def holds(self, second: LoadSecond) -> bool:
        """Whether a second is as before."""
        if self.p99_ms is None or second.p99_ms is None or second.length_s <= 0:
            return False
        bound_ms = max(P99_FACTOR_MAX * self.p99_ms, self.p99_ms_max or 0.0)
        return (
            second.acked / second.length_s >= RATE_SHARE_MIN * self.acked_per_s
            and second.received / second.length_s >= RATE_SHARE_MIN * self.received_per_s
            and second.p99_ms <= bound_ms
        )


@dataclass(frozen=True)
class FaultSpan:
    """When a fault was in force, when the next one began (None: it was the last), and when the window ended."""

    begin_ns: int
    lifted_ns: int
    next_ns: int | None
    window_end_ns: int


@dataclass(frozen=True)
class Disruption:
    """Figures of one fault; see `model.faults.FaultResult`."""

    publish_gap_s: float
    delivery_gap_s: float
    p99_worst_ms: float | None
    normal_after_s: float | None
    failed: int
    duplicated: int
    reordered: int
    corrupt: int


def normal_before(seconds: Sequence[LoadSecond], first_fault_ns: int) -> Normal:
    """What the load was like in the seconds that ended before the first fault, at most `BEFORE_S` of them."""
    before = [second for second in seconds if second.until_ns <= first_fault_ns and second.length_s > 0][-BEFORE_S:]
    p99s_ms = [second.p99_ms for second in before if second.p99_ms is not None]
    if not before or not p99s_ms:
        return Normal(0.0, 0.0, None, None)
    return Normal(
        median(second.acked / second.length_s for second in before),
        median(second.received / second.length_s for second in before),
        median(p99s_ms),
        max(p99s_ms),
    )


def compute_disruption(seconds: Sequence[LoadSecond], normal: Normal, span: FaultSpan) -> Disruption:
    """What happened from a fault's beginning until the next one's, or until the window's end if it was the last."""
    # The second in which the next fault begins is that one's.
    after = [
        second
        for second in seconds
        if second.until_ns > span.begin_ns and second.until_ns <= (span.next_ns or second.until_ns)
    ]
    # The window's last second may end a few microseconds after it.
    under = [second for second in after if (second.from_ns + second.until_ns) // 2 <= span.window_end_ns]
    # The worst second's p99, or as long as nothing has been acknowledged at the end, if that is longer.
    worst_ms = max((second.p99_ms for second in under if second.p99_ms is not None), default=None)
    waiting_s = 0.0
    for second in reversed(under):
        if second.acked:
            break
        waiting_s += second.length_s
    return Disruption(
        publish_gap_s=sum(second.length_s for second in under if not second.acked),
        delivery_gap_s=sum(second.length_s for second in under if not second.received),
        p99_worst_ms=max(worst_ms or 0.0, waiting_s * 1000) or worst_ms,
        normal_after_s=_normal_after_s(under, normal, span),
        failed=sum(second.failed for second in after),
        duplicated=sum(second.duplicated for second in after),
        reordered=sum(second.reordered for second in after),
        corrupt=sum(second.corrupt for second in after),
    )


def _normal_after_s(under: Sequence[LoadSecond], normal: Normal, span: FaultSpan) -> float | None:
    """How long it took until the first stretch of normal seconds, `HOLD_S` of them after the fault was lifted, or None.

    A stretch that begins earlier, because others took over while a node was down and nothing was felt when it came
    back, counts from its beginning: 0 if the fault changed nothing.
    """
    settled_ns: int | None = None
    held = 0
    for second in under:
        if not normal.holds(second):
            settled_ns, held = None, 0
            continue
        settled_ns = second.from_ns if settled_ns is None else settled_ns
        held += second.from_ns >= span.lifted_ns
        if held >= HOLD_S:
            return max(0.0, (settled_ns - span.begin_ns) / _NS_PER_S)
    return None
