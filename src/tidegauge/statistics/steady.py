"""Whether a trial was steady: its rate, its latency, its backlog, and the consumers that received it. Pure.

A consumer has no time left in a second in which its receiving thread ran or waited for a CPU for 90 % of the time
outside pauses of the garbage collector, in which nobody can work. That alone is no fault: a thread may spin, or keep up
all the same. How long messages waited for it follows from Little's law, which needs no latency: mean backlog over rate
of receipt.

A figure has a trend when both hold over the horizon (the last half of the warm-up, 6 to 30 seconds):
  * the trend is real: the Mann-Kendall test rejects "no trend" at 15 % (two-sided, corrected for ties and continuity).
    It counts which of each pair of seconds is larger, so a single garbage-collection pause or a burst can't decide it;
  * the trend matters: the Theil-Sen slope (median of the slopes of all pairs) times the horizon exceeds the tolerance.
Both are needed: with much noise a slope is never exactly zero, and with little noise a meaningless one is
significant. Steady means no trend in any of the three. Noise without trend is steady: it is what the system does, and
it is measured.

A figure also moves when it jumped within the horizon, by more than the tolerance: half of such a horizon holds another
state, even where the jump back makes the slope vanish. Where a series jumps to another level (`find_jumps`) is found by
Pettitt's test for one jump, Kuiper's for one up and back down, and again in every part of what they find. A slope test
sees a climb; a jump in the middle of a window looks like one, a jump up and back down like none. Both tests work on
ranks, so a single pause of a second can't make a jump. Like the slope test they take seconds for independent, which
they are not quite, so whoever decides by them also asks whether the jump matters. With fewer than 18 values no jump,
however clear, is found; the place is right within a value or two.

The load generator has to be warm, too (`cold_because`): its JIT compiler quiet, its own delay not falling any more.
What was scheduled or queued at the start must be worked off, too (see `_start_debt`): those tolerances are shares of
all that is sent, and a queue of a third of a second, worked off slowly, is small beside it and yet all of the latency.

What of it is left at the longest warm-up is in the window's figures; `catching_up` asks the window itself.

The test is a rule for starting to measure, not a proof: a noisy steady figure looks like a trend by chance about one
time in seven, which costs one more second of warm-up; a drift slower than the tolerance per horizon passes, and the
drift over the measured window is tested again and reported (see `classify`).

Sources: H. B. Mann, "Nonparametric tests against trend", Econometrica 13 (1945); M. G. Kendall, "Rank Correlation
Methods" (1975); P. K. Sen, "Estimates of the regression coefficient based on Kendall's tau", JASA 63 (1968); of jumps:
A. N. Pettitt, "A Non-Parametric Approach to the Change-Point Problem", Applied Statistics 28 (1979); the range of a
bridge: N. H. Kuiper, "Tests Concerning Random Points on a Circle", Indagationes Mathematicae 22 (1960); the search in
all parts: A. J. Scott and M. Knott, "A Cluster Analysis Method for Grouping Means", Biometrics 30 (1974).

The interval of a slope (`slope_of`) supposes that deviations from the line are independent. A backlog's are not quite:
after a pause it takes seconds to fall. So the interval is rather too narrow, and whoever decides by it also asks
whether the slope matters.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise
from statistics import median

import numpy as np
from numpy.typing import NDArray

from tidegauge.model.load import SecondFigures, WorkerSecond
from tidegauge.model.trial import BusyConsumer, Slope
from tidegauge.numbers import rounded, trimmed

BUSY_SHARE = 0.90


@dataclass
class _Busy:
    """The seconds in which one subscription had a consumer without time left."""

    names: Counter[str] = field(default_factory=Counter)
    length_s: float = 0.0
    received: int = 0
    backlog_s: float = 0.0

    @property
    def waiting_ms(self) -> float:
        """How long messages waited: at most those seconds, which is all that is known where nothing was received."""
        return 1e3 * min(self.length_s, self.backlog_s / self.received if self.received else self.length_s)


@dataclass
class ReceivingTally:
    """Takes in the seconds of a measured window; keeps a few numbers for each consumer, however long it is.

    `window_end`: the backlog of each subscription at the end of the newest second.
    """

    window_end: dict[str, int] = field(default_factory=dict)
    _seconds: int = 0
    _busy: dict[str, _Busy] = field(default_factory=dict)

    def take(self, figures: SecondFigures, *, judged: bool = True) -> None:
        """Takes in one second more. Not `judged`: consumers are meant to be busy in it, as late readers are."""
        self.window_end = {sub.name: sub.backlog for sub in figures.subscriptions}
        if not judged:
            return
        length_ns = figures.until_mono_ns - figures.from_mono_ns
        # Where a load generator was short of CPU a second is longer, and stands for so many.
        seconds = max(1, round(length_ns / 1e9))
        self._seconds += seconds
        # Each of several load generators by itself: one that pauses says nothing of another's consumers.
        each: Sequence[SecondFigures | WorkerSecond] = figures.workers or (figures,)
        busiest = max(each, key=lambda generator: _busy_share(generator, length_ns))
        if _busy_share(busiest, length_ns) < BUSY_SHARE:
            return
        name = busiest.busiest_consumer.partition(" ")[0]
        for sub in figures.subscriptions:
            if sub.name == name:
                busy = self._busy.setdefault(name, _Busy())
                busy.names[busiest.busiest_consumer] += seconds
                busy.length_s += length_ns / 1e9
                busy.received += sub.received
                busy.backlog_s += sub.backlog * length_ns / 1e9

    def busy_consumers(self) -> tuple[BusyConsumer, ...]:
        """A consumer of each subscription that had one without time left, the busiest first."""
        consumers = [
            BusyConsumer(
                name=busy.names.most_common(1)[0][0],
                subscription=subscription,
                seconds=self._seconds,
                busy_seconds=busy.names.total(),
                waiting_ms=busy.waiting_ms,
            )
            for subscription, busy in self._busy.items()
        ]
        return tuple(sorted(consumers, key=lambda consumer: (-consumer.busy_seconds, -consumer.waiting_ms)))


def _busy_share(generator: SecondFigures | WorkerSecond, length_ns: int) -> float:
    """How busy the busiest consumer was, outside pauses of the collector."""
    free_ns = max(1, length_ns - min(length_ns, generator.gc_pause_ns))
    return generator.busiest_consumer_busy_ns / free_ns


SECONDS_MIN = 6
"""Fewer show nothing, and shorter parts are not searched for jumps."""
SECONDS_MAX = 30
WARM_UP_S_TO_JUDGE = SECONDS_MIN + 1
"""The first second is left out: it holds the start."""
ALPHA = 0.15
JUMP_ALPHA = 0.01
RATE_TOLERANCE = 0.10
P99_TOLERANCE = 0.30
BACKLOG_TOLERANCE = 0.02
SCHEDULE_TOLERANCE = 0.05
JIT_SECONDS = 3
JIT_CPUS_QUIET = 0.1
"""The JIT compiler is quiet when the median of its last seconds is below this share of a CPU."""
DELAY_FLOOR_MS = 0.05
"""A schedule delay that falls by less matters to no response time."""
DEBT_S_MIN = 0.02
"""Being this far behind, in seconds of load, is not looked into: a queue that servers and clients have anyway."""
DEBT_TOLERANCE = 0.02
"""Of what is left of a debt. It is worked off as slowly as there is capacity to spare, so little change matters."""
CATCHING_UP_RATIO = 1.5
CATCHING_UP_S_MIN = 0.1
"""A window begins well further behind than it ends by this ratio, and by so many seconds of load."""
CATCHING_UP_PARTS = 6
CATCHING_UP_RISE_MAX = 0.25
"""What is worked off falls from each part of the window to the next, but for this share of the whole fall."""
POINTS_MAX = 600
"""Every pair of points is looked at, so a window of hours is thinned to medians of equal stretches first."""


@dataclass(frozen=True)
class SecondPoint:
    """One second of a trial as the test sees it.

    `p99_ms` is None when nothing was acknowledged; `backlog` is the largest of the subscriptions; `backlogs` that
    of each by its name. Of the load generator itself: `jit_cpus` its JIT compiler took, and `delay_p99_ms` behind its
    schedule (None without one, or when nothing was sent). `p50_ms` is of the same messages as `p99_ms`; None where it
    is not known.
    """

    msgs_per_s: float
    p99_ms: float | None
    backlog: int
    backlogs: Mapping[str, int] = field(default_factory=dict)
    jit_cpus: float = 0.0
    delay_p99_ms: float | None = None
    p50_ms: float | None = None


@dataclass(frozen=True)
class Trend:
    """A figure's trend: slope a second (Theil-Sen) and the probability of such an order by chance (Mann-Kendall)."""

    slope_per_s: float
    p_value: float

    @property
    def is_real(self) -> bool:
        """Whether chance is an unlikely explanation."""
        return self.p_value < ALPHA


def compute_trend(values: Sequence[float]) -> Trend:
    """The trend of equally spaced values; no trend with fewer than three."""
    points, stretch = _thinned_values(values)
    count = len(points)
    if count < 3:
        return Trend(0.0, 1.0)
    slopes = _slopes_of_pairs(points, stretch)
    score = sum((slope > 0) - (slope < 0) for slope in slopes)
    ties = sum(n * (n - 1) * (2 * n + 5) for n in Counter(points).values())
    variance = (count * (count - 1) * (2 * count + 5) - ties) / 18
    if variance <= 0 or score == 0:
        return Trend(median(slopes), 1.0)
    deviation = (abs(score) - 1) / math.sqrt(variance)
    return Trend(median(slopes), math.erfc(deviation / math.sqrt(2)))


def _slopes_of_pairs(points: Sequence[float], stretch: int) -> list[float]:
    """Slopes of all pairs of points, a second; `stretch`: seconds from one point to the next."""
    return [(points[j] - points[i]) / (j - i) / stretch for i, j in combinations(range(len(points)), 2)]


def _thinned_values(values: Sequence[float]) -> tuple[Sequence[float], int]:
    """Medians of equal stretches of many values, and how many each stands for."""
    stretch = -(-len(values) // POINTS_MAX)
    if stretch <= 1:
        return values, 1
    whole = len(values) - len(values) % stretch
    return [median(values[at : at + stretch]) for at in range(0, whole, stretch)], stretch


@dataclass(frozen=True)
class Jump:
    """From the value at index `at` on, another level: medians of the parts before and after, up to the next jumps."""

    at: int
    before: float
    after: float


def find_jumps(values: Sequence[float]) -> tuple[Jump, ...]:
    """Every jump in equally spaced values, in order."""
    starts = sorted(_places_of_jumps(np.asarray(values, dtype=np.float64), 0))
    edges = [0, *starts, len(values)]
    return tuple(
        Jump(at, median(values[edges[place] : at]), median(values[at : edges[place + 2]]))
        for place, at in enumerate(starts)
    )


def find_change_by_ranks(values: NDArray[np.float64]) -> tuple[int, float]:
    """The likeliest place of a jump (first index after it), and the probability of such a one by chance (at most 1)."""
    count = values.size
    statistic = np.abs(2 * np.cumsum(_ranks_of_values(values)) - np.arange(1, count + 1) * (count + 1))[:-1]
    at = int(np.argmax(statistic))
    return at + 1, min(1.0, 2 * math.exp(-6 * float(statistic[at]) ** 2 / (count**3 + count**2)))


def find_pulse(values: NDArray[np.float64]) -> tuple[int, int, float]:
    """The likeliest two places of a jump there and back, and the probability of such by chance (at most 1).

    The sums of ranks above the mean are a Brownian bridge; what counts is its range.
    """
    count = values.size
    bridge = (np.cumsum(_ranks_of_values(values)) - np.arange(1, count + 1) * (count + 1) / 2)[:-1]
    bridge = bridge / math.sqrt(count * (count**2 - 1) / 12)
    reach = float(max(0.0, bridge.max()) - min(0.0, bridge.min()))
    squares = [(2 * turn * reach) ** 2 for turn in range(1, 10)]
    p_value = 2 * sum((square - 1) * math.exp(-square / 2) for square in squares) if reach > 0.4 else 1.0
    first, second = sorted((int(np.argmin(bridge)) + 1, int(np.argmax(bridge)) + 1))
    return first, second, min(1.0, max(0.0, p_value))


def _ranks_of_values(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ranks from 1; equal values share the mean of theirs."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks: NDArray[np.float64] = (ends - (counts - 1) / 2)[place]
    return ranks


def _places_of_jumps(values: NDArray[np.float64], offset: int) -> list[int]:
    """Places of jumps; of the two tests each has half of `JUMP_ALPHA`."""
    if values.size < SECONDS_MIN:
        return []
    single, p_value = find_change_by_ranks(values)
    places = [single]
    if p_value >= JUMP_ALPHA / 2:
        *places, p_value = find_pulse(values)
    if p_value >= JUMP_ALPHA / 2:
        return []
    edges = [0, *places, values.size]
    parts = [_places_of_jumps(values[start:end], offset + start) for start, end in pairwise(edges)]
    return [*(offset + at for at in places), *(at for part in parts for at in part)]


def unsteady_because(points: Sequence[SecondPoint], offered_msgs_per_s: float | None = None) -> str:
    """ "" when the newest seconds are steady, else which figure still moves, in words.

    Args:
        points: whole seconds since the load began, the oldest first. The first is left out: it holds the start.
        offered_msgs_per_s: the schedule's rate in an open loop. While the rate is another one, the system falls behind
            or works off what it owes, and what it owes would be measured as if the window had caused it.
    """
    after_first = points[1:]
    if len(after_first) < SECONDS_MIN:
        return f"fewer than {SECONDS_MIN} whole seconds seen"
    horizon = _seconds_of_horizon(after_first)
    rates = [point.msgs_per_s for point in horizon]
    msgs_per_s = median(rates)
    if msgs_per_s <= 0:
        return "nothing was acknowledged"
    return (
        _off_schedule(rates, offered_msgs_per_s)
        or _first_moving(horizon, msgs_per_s)
        or _start_debt(horizon, msgs_per_s, bool(offered_msgs_per_s))
    )


def cold_because(points: Sequence[SecondPoint]) -> str:
    """ "" when the load generator itself is warm, else what of it is not, in words.

    Code that is still being compiled is slow, and its compiler takes the CPU of the threads that send: both are in the
    figures and neither is the system's. Apart from `unsteady_because`, since a system can be steady all the same.

    Args:
        points: whole seconds since the load began, the oldest first.
    """
    compiling = median([point.jit_cpus for point in points[-JIT_SECONDS:]]) if points else 0.0
    if compiling >= JIT_CPUS_QUIET:
        return f"its JIT compiler took {rounded(compiling, 2)} of a CPU in its last {min(len(points), JIT_SECONDS)} s"
    horizon = _seconds_of_horizon(points[1:])
    delays = [point.delay_p99_ms for point in horizon if point.delay_p99_ms is not None]
    if len(delays) < SECONDS_MIN:
        return ""
    if _direction_of_trend(delays, max(DELAY_FLOOR_MS, P99_TOLERANCE * median(delays))) == "falling":
        return f"the p99 of its own delay is falling over the last {len(horizon)} s"
    return ""


def jit_cpus(points: Sequence[SecondPoint]) -> float | None:
    """CPUs that the load generator's JIT compiler took on average; None without a second."""
    return sum(point.jit_cpus for point in points) / len(points) if points else None


def _seconds_of_horizon(points: Sequence[SecondPoint]) -> Sequence[SecondPoint]:
    return points[-min(SECONDS_MAX, max(SECONDS_MIN, len(points) // 2)) :]


def too_short_to_judge(warmup_s_max: float) -> str:
    """ "" or why a warm-up of at most this long can't be found steady, whatever the system does, in words."""
    if warmup_s_max >= WARM_UP_S_TO_JUDGE:
        return ""
    return f"the warm-up was too short to judge (at most {trimmed(warmup_s_max)} s; {WARM_UP_S_TO_JUDGE} s are needed)"


def _first_moving(horizon: Sequence[SecondPoint], msgs_per_s: float) -> str:
    """The first of rate, p99 and backlog that has a trend, in words; "" if none has."""
    all_at: Sequence[int] = range(len(horizon))
    p99_at, p99s = _p99s_with_places(horizon)
    backlog = [float(point.backlog) for point in horizon]
    figures = [
        ("rate", all_at, [point.msgs_per_s for point in horizon], RATE_TOLERANCE * msgs_per_s),
        ("backlog", all_at, backlog, BACKLOG_TOLERANCE * msgs_per_s * len(horizon)),
    ]
    if len(p99s) >= SECONDS_MIN:
        figures.insert(1, ("p99", p99_at, p99s, P99_TOLERANCE * median(p99s)))
    for name, at, values, tolerance in figures:
        moving = _direction_of_trend(values, tolerance)
        if moving:
            return f"the {name} is {moving} over the last {len(horizon)} s"
        jump = _newest_jump(values, tolerance)
        if jump:
            ago = len(horizon) - at[jump.at]
            return f"the {name} jumped from about {rounded(jump.before, 2)} to {rounded(jump.after, 2)} {ago} s ago"
    return ""


def _p99s_with_places(points: Sequence[SecondPoint]) -> tuple[Sequence[int], list[float]]:
    """Which seconds have a p99, and these."""
    places_and_p99s = [(at, point.p99_ms) for at, point in enumerate(points) if point.p99_ms is not None]
    return [at for at, _ in places_and_p99s], [p99_ms for _, p99_ms in places_and_p99s]


def _start_debt(horizon: Sequence[SecondPoint], msgs_per_s: float, open_loop: bool) -> str:
    """Whether the load is still further behind than it will be, and catches up, in words; "" if it doesn't.

    How far behind: by the waiting messages of the slowest subscription, and in an open loop by the time from intended
    to acknowledged, which holds all that waits to be sent. A level that stays is the system's own, however high.
    """
    for subject, values in _behind_s(horizon, msgs_per_s, open_loop).items():
        left_s = median(values[-3:]) if len(values) >= SECONDS_MIN else 0.0
        if left_s > DEBT_S_MIN and _direction_of_trend(values, DEBT_TOLERANCE * left_s) == "falling":
            return f"{subject} still catching up with what was queued before: about {rounded(left_s, 2)} s behind"
    return ""


def _behind_s(points: Sequence[SecondPoint], msgs_per_s: float, open_loop: bool) -> dict[str, list[float]]:
    """How many seconds of load consumers, and in an open loop sending, are behind."""
    behind = {"consumers are": [point.backlog / msgs_per_s for point in points]}
    if open_loop:
        behind["sending is"] = [point.p50_ms / 1e3 for point in points if point.p50_ms is not None]
    return behind


def catching_up(warm_up: Sequence[SecondPoint], window: Sequence[SecondPoint]) -> str:
    """Whether the load worked off, while it was measured, what was queued before, in words; "" if it didn't.

    Of an open loop. All of these hold of the time that consumers, or sending, were behind (see `_start_debt`):
      * it fell: the interval of its slope (`slope_of`) lies below zero;
      * well: from the window's first sixth to its last by half or more of what was left, and 0.1 s at least;
      * steadily: no sixth lies above the one before by more than a quarter of that fall. A backlog that wanders, as
        it does near the capacity, rises in between;
      * and it was there before: the warm-up's horizon lies above the middle of the fall.

    Or all of it was worked off in the window's first half, however long the window is (`_worked_off_soon`).

    Args:
        warm_up: the newest seconds before the window.
    """
    msgs_per_s = median([point.msgs_per_s for point in window]) if len(window) >= SECONDS_MIN else 0.0
    if msgs_per_s <= 0:
        return ""
    before = _behind_s(_seconds_of_horizon(warm_up[1:]), msgs_per_s, True)
    sentences = []
    for subject, values in _behind_s(window, msgs_per_s, True).items():
        ends = _worked_off(values)
        if ends and not (before[subject] and median(before[subject]) >= sum(ends) / 2):
            ends = None
        ends = ends or _worked_off_soon(before[subject], values)
        if ends:
            first_s, last_s = (rounded(end_s, 2) for end_s in ends)
            sentences.append(f"{subject.split()[0]} about {first_s} s behind when it began and {last_s} s at its end")
    return ", ".join(sentences)


def _worked_off(values: Sequence[float]) -> tuple[float, float] | None:
    """The first and the last level of values that fell well and steadily; None of others."""
    slope = slope_of(values)
    if slope is None or slope.high_per_s >= 0:
        return None
    parts = min(CATCHING_UP_PARTS, len(values) // 2)
    levels = [median(values[part * len(values) // parts : (part + 1) * len(values) // parts]) for part in range(parts)]
    first, last = levels[0], levels[-1]
    if first - last < CATCHING_UP_S_MIN or first < CATCHING_UP_RATIO * last:
        return None
    rise = max(after - before for before, after in pairwise(levels))
    return (first, last) if rise <= CATCHING_UP_RISE_MAX * (first - last) else None


def _worked_off_soon(before: Sequence[float], values: Sequence[float]) -> tuple[float, float] | None:
    """The first level of values and the one that stayed, where they fell from the first to the other at once.

    From the highest level before them on, from second to second, and never again by half as much: a stall that comes
    again is the system's own.
    """
    if not before or not values:
        return None
    first, last = values[0], median(values[len(values) // 2 :])
    fall = first - last
    if fall < CATCHING_UP_S_MIN or first < CATCHING_UP_RATIO * last:
        return None
    done = next(at for at, value in enumerate(values) if value <= last + fall / 10)
    way = [*before[before.index(max(before)) :], *values[: done + 1]]
    rise = max(after - earlier for earlier, after in pairwise(way))
    again = max(values[done:]) > last + fall / 2
    return None if again or rise > CATCHING_UP_RISE_MAX * fall else (first, last)


def backlog_grows(points: Sequence[SecondPoint]) -> bool:
    """Whether consumers fell ever further behind over these seconds (of the measured window)."""
    if len(points) < SECONDS_MIN:
        return False
    msgs_per_s = median([point.msgs_per_s for point in points])
    backlog = [float(point.backlog) for point in points]
    return _direction_of_trend(backlog, BACKLOG_TOLERANCE * msgs_per_s * len(points)) == "rising"


def drift_of_window(points: Sequence[SecondPoint]) -> str:
    """ "" or what drifted over these seconds of the measured window, from where to where."""
    rates = [point.msgs_per_s for point in points]
    for name, unit, (at, values), tolerance in (
        ("rate", "msg/s", (range(len(points)), rates), RATE_TOLERANCE),
        ("p99", "ms", _p99s_with_places(points), P99_TOLERANCE),
    ):
        if len(values) < SECONDS_MIN or median(values) <= 0:
            continue
        moving = _direction_of_trend(values, tolerance * median(values))
        if moving:
            third = len(values) // 3
            first, last = median(values[:third]), median(values[-third:])
            return f"the {name} was {moving}, from about {rounded(first, 2)} to {rounded(last, 2)} {unit}"
        jump = _newest_jump(values, tolerance * median(values))
        if jump:
            levels = f"{rounded(jump.before, 2)} to {rounded(jump.after, 2)} {unit}"
            return f"the {name} jumped from about {levels} after {at[jump.at]} of {len(points)} s"
    return ""


def _off_schedule(rates: Sequence[float], offered_msgs_per_s: float | None) -> str:
    if not offered_msgs_per_s:
        return ""
    msgs_per_s = sum(rates) / len(rates)
    # Poisson arrivals differ from their rate by chance.
    tolerance = max(SCHEDULE_TOLERANCE, 3 / math.sqrt(offered_msgs_per_s * len(rates)))
    if abs(msgs_per_s / offered_msgs_per_s - 1) <= tolerance:
        return ""
    # Who is late is not known here: it may be the load generator.
    doing = "the load is behind its schedule" if msgs_per_s < offered_msgs_per_s else "the load is still catching up"
    return f"{doing}: {rounded(msgs_per_s)} instead of {rounded(offered_msgs_per_s)} msg/s over the last {len(rates)} s"


def _direction_of_trend(values: Sequence[float], change_tolerated: float) -> str:
    drift = compute_trend(values)
    change = drift.slope_per_s * (len(values) - 1)
    if not drift.is_real or abs(change) <= change_tolerated:
        return ""
    return "rising" if change > 0 else "falling"


def _newest_jump(values: Sequence[float], change_tolerated: float) -> Jump | None:
    """The newest jump that matters."""
    thinned, stretch = _thinned_values(values)
    matter = [jump for jump in find_jumps(thinned) if abs(jump.after - jump.before) > change_tolerated]
    return replace(matter[-1], at=matter[-1].at * stretch) if matter else None


_NORMAL_95 = 1.959964


def slope_of(values: Sequence[float]) -> Slope | None:
    """The slope of equally spaced values (one a second); None with fewer than six."""
    points, stretch = _thinned_values(values)
    count = len(points)
    if count < SECONDS_MIN:
        return None
    slopes = sorted(_slopes_of_pairs(points, stretch))
    reach = _NORMAL_95 * math.sqrt(count * (count - 1) * (2 * count + 5) / 18)
    low = max(0, round((len(slopes) - reach) / 2) - 1)
    high = min(len(slopes) - 1, round((len(slopes) + reach) / 2))
    return Slope(median(slopes), slopes[low], slopes[high])
