"""Bounds, never estimates, of the offset between two hosts' clocks.

One host asks and notes when (a1), the other notes when it got that (b1) and when it answered (b2), the first when the
answer came (a2). The offset, the other's clock minus the first's, then lies in `[b2 - a2, b1 - a1]` whatever network
and schedulers did, since no message arrives before it is sent: an asymmetric path makes the interval wider, never
false (the symmetric estimate of RFC 5905, section 8, lies within it). Two clocks drift apart, so an interval grows with
the time since it was measured. Intersected, intervals measured before and after an instant bound the offset at that
instant; an empty intersection proves that a clock did what was assumed it can't. Over several hosts offsets add up: the
bounds of a pair follow from those of others, and a cycle of them that contradicts itself proves the same (as Huygens'
triangles do for estimates; Geng et al., NSDI 2018).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from tidegauge.numbers import trimmed

DRIFT_PPM = 100.0
"""Of a pair: 50 of each. Below that a crystal's datasheet is no bound, and a clock that is being slewed exceeds it."""

HostPair = tuple[str, str]


class ClockContradictionError(Exception):
    """Intervals that can't all be true: a clock was stepped or slewed, or drifts more than it was assumed to."""


@dataclass(frozen=True)
class Exchange:
    """A question and its answer: nanoseconds of the asker's clock (`asked`, `returned`) and the other's."""

    asked_ns: int
    received_ns: int
    answered_ns: int
    returned_ns: int

    def offset(self, resolution_ns: int = 0) -> Offset:
        """What it proves. `resolution_ns`: of both clocks together, what a reading may be short of the truth."""
        return Offset(
            self.answered_ns - self.returned_ns - resolution_ns,
            self.received_ns - self.asked_ns + resolution_ns,
            self.asked_ns,
            self.returned_ns,
        )


@dataclass(frozen=True)
class Offset:
    """The other's clock minus the first's lies in `[low_ns, high_ns]` at some instant of a span of the first's clock.

    The lower bound was true when the answer came, the upper one when the question left; at other times each is wider by
    the drift since.
    """

    low_ns: float
    high_ns: float
    from_ns: float
    until_ns: float

    @property
    def half_width_ns(self) -> float:
        """How far the truth can be from the middle."""
        return (self.high_ns - self.low_ns) / 2

    def carried_to(self, time_ns: float, drift_ppm: float = DRIFT_PPM) -> Offset:
        """What it says of another instant."""
        share = drift_ppm / 1e6
        return Offset(
            self.low_ns - share * abs(time_ns - self.until_ns),
            self.high_ns + share * abs(time_ns - self.from_ns),
            time_ns,
            time_ns,
        )


def offset_at(time_ns: float, measured: Iterable[Offset], drift_ppm: float = DRIFT_PPM) -> Offset:
    """What all of a pair's measurements together say of one instant, those before it and those after.

    Raises `ClockContradictionError` if they contradict each other, `ValueError` without any.
    """
    offsets_then = [offset.carried_to(time_ns, drift_ppm) for offset in measured]
    if not offsets_then:
        raise ValueError("an offset takes at least one exchange")
    low_ns, high_ns = max(offset.low_ns for offset in offsets_then), min(offset.high_ns for offset in offsets_then)
    if low_ns > high_ns:
        raise ClockContradictionError(
            f"exchanges contradict each other by {low_ns - high_ns:,.0f} ns "
            f"with a drift of at most {trimmed(drift_ppm)} ppm"
        )
    return Offset(low_ns, high_ns, time_ns, time_ns)


def tightest_bounds(bounds: Mapping[HostPair, Offset]) -> dict[HostPair, Offset]:
    """The tightest bounds of all pairs that follow from those of some, at one instant; each pair in both directions.

    `high` of (a, c) is at most `high` of (a, b) plus `high` of (b, c): shortest paths (Floyd-Warshall). Pairs without
    any path are not in the result. Raises `ClockContradictionError` if a way there and back is shorter than nothing.
    """
    hosts = sorted({host for pair in bounds for host in pair})
    instant_ns = max((offset.from_ns for offset in bounds.values()), default=0.0)
    number = {host: at for at, host in enumerate(hosts)}
    most_ns = np.full((len(hosts), len(hosts)), np.inf)
    np.fill_diagonal(most_ns, 0.0)
    for (first, other), offset in bounds.items():
        for start, end, high_ns in ((first, other, offset.high_ns), (other, first, -offset.low_ns)):
            most_ns[number[start], number[end]] = min(most_ns[number[start], number[end]], high_ns)
    for through in range(len(hosts)):
        np.minimum(most_ns, most_ns[:, through, None] + most_ns[None, through, :], out=most_ns)
    if (np.diagonal(most_ns) < 0).any():
        raise ClockContradictionError(f"the clocks of {', '.join(hosts)} contradict each other")
    bounds_ns = most_ns.tolist()
    return {
        (first, other): Offset(-bounds_ns[end][start], bounds_ns[start][end], instant_ns, instant_ns)
        for (start, first), (end, other) in permutations(enumerate(hosts), 2)
        if np.isfinite(bounds_ns[start][end]) and np.isfinite(bounds_ns[end][start])
    }


def suspect_hosts(bounds: Mapping[HostPair, Offset]) -> Sequence[str]:
    """Hosts without any one of which the rest agree: the bad clock is among them.

    Empty if all agree, or if no single host explains it.
    """
    if _bounds_agree(bounds):
        return ()
    hosts = sorted({host for pair in bounds for host in pair})
    return tuple(
        host for host in hosts if _bounds_agree({pair: offset for pair, offset in bounds.items() if host not in pair})
    )


def _bounds_agree(bounds: Mapping[HostPair, Offset]) -> bool:
    try:
        tightest_bounds(bounds)
    except ClockContradictionError:
        return False
    return True
