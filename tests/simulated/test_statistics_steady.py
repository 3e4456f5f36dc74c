"""The warm-up rule on simulated warm-ups with known answers."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from statistics import median

import pytest

from tidegauge.statistics.steady import (
    SECONDS_MIN,
    SecondPoint,
    backlog_grows,
    catching_up,
    cold_because,
    compute_trend,
    drift_of_window,
    jit_cpus,
    unsteady_because,
)

LIMIT = 120


def points(
    seconds: int,
    *,
    rate: Callable[[int], float] = lambda _s: 1000.0,
    p99: Callable[[int], float | None] = lambda _s: 5.0,
    backlog: Callable[[int], float] = lambda _s: 10.0,
    noise: float = 0.0,
    seed: int = 0,
) -> list[SecondPoint]:
    draw = random.Random(seed)

    def noisy(value: float) -> float:
        return max(0.0, value * (1 + noise * draw.gauss(0, 1)))

    made = []
    for second in range(seconds):
        latency = p99(second)
        made.append(
            SecondPoint(
                msgs_per_s=noisy(rate(second)),
                p99_ms=None if latency is None else noisy(latency),
                backlog=int(noisy(backlog(second))),
            )
        )
    return made


def steady_after(all_points: list[SecondPoint]) -> int | None:
    """The first second at which the rule would end the warm-up."""
    return next((n for n in range(1, len(all_points) + 1) if not unsteady_because(all_points[:n])), None)


def test_constant_figures_are_steady_as_soon_as_there_are_enough() -> None:
    assert steady_after(points(LIMIT)) == SECONDS_MIN + 1


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("noise", [0.05, 0.2])
def test_noise_without_trend_becomes_steady_soon(seed: int, noise: float) -> None:
    ended = steady_after(points(LIMIT, noise=noise, seed=seed))
    assert ended is not None
    assert ended <= 25


@pytest.mark.parametrize("seed", range(20))
def test_a_ramp_is_not_steady_until_it_ends(seed: int) -> None:
    ended = steady_after(points(LIMIT, rate=lambda s: 100.0 * min(s + 1, 20), noise=0.02, seed=seed))
    assert ended is not None
    assert 18 <= ended <= 45


@pytest.mark.parametrize("seed", range(20))
def test_an_exponential_warm_up_of_latency_is_waited_for(seed: int) -> None:
    ended = steady_after(points(LIMIT, p99=lambda s: 5 + 200 * math.exp(-s / 4), noise=0.05, seed=seed))
    assert ended is not None
    assert 14 <= ended <= 45


def test_a_step_is_noticed_while_it_is_in_sight() -> None:
    stepped = points(9, rate=lambda s: 500.0 if s < 5 else 1000.0)
    assert "the rate is rising" in unsteady_because(stepped)
    assert unsteady_because(points(20, rate=lambda s: 500.0 if s < 5 else 1000.0)) == ""


@pytest.mark.parametrize("seed", range(10))
def test_a_backlog_that_grows_is_never_steady(seed: int) -> None:
    growing = points(LIMIT, backlog=lambda s: 100.0 * s, noise=0.02, seed=seed)
    assert steady_after(growing) is None
    assert "the backlog is rising" in unsteady_because(growing)


def test_a_backlog_that_is_worked_off_is_not_steady_either() -> None:
    assert "the backlog is falling" in unsteady_because(points(10, backlog=lambda s: 5000.0 - 500 * s))


def test_a_system_that_ever_slows_down_is_never_steady() -> None:
    slowing = points(LIMIT, rate=lambda s: 10_000 * 0.95**s)
    assert steady_after(slowing) is None


def test_a_single_pause_does_not_decide() -> None:
    paused = points(20, p99=lambda s: 900.0 if s == 15 else 5.0)
    assert unsteady_because(paused) == ""


def test_a_significant_but_meaningless_drift_is_steady() -> None:
    drifting = points(40, rate=lambda s: 1000 + 0.1 * s)
    assert compute_trend([p.msgs_per_s for p in drifting]).is_real
    assert unsteady_because(drifting) == ""


def test_nothing_acknowledged_is_not_steady() -> None:
    assert unsteady_because(points(30, rate=lambda _s: 0.0, p99=lambda _s: None)) == "nothing was acknowledged"


def test_too_few_seconds_are_not_steady() -> None:
    assert "fewer than" in unsteady_because(points(SECONDS_MIN))


def test_trend_of_a_line_is_its_slope() -> None:
    found = compute_trend([3.0 * n for n in range(10)])
    assert found.slope_per_s == pytest.approx(3.0)
    assert found.p_value < 0.001
    assert compute_trend([1.0, 2.0]).p_value == 1.0
    assert compute_trend([4.0] * 10).p_value == 1.0


def test_a_window_of_hours_is_thinned() -> None:
    seconds = 24 * 3600
    found = compute_trend([1000 + 0.01 * second for second in range(seconds)])
    assert found.slope_per_s == pytest.approx(0.01, rel=1e-3)
    assert found.is_real
    rng = random.Random(1)
    assert not compute_trend([rng.gauss(1000, 50) for _ in range(seconds)]).is_real


def test_trend_agrees_with_kendalls_tau() -> None:
    from scipy.stats import kendalltau, theilslopes

    draw = random.Random(3)
    for _ in range(20):
        values = [n * 0.3 + draw.gauss(0, 1) for n in range(25)]
        found = compute_trend(values)
        assert found.slope_per_s == pytest.approx(float(theilslopes(values).slope))
        reference = float(kendalltau(range(25), values, method="asymptotic").pvalue)
        assert found.p_value == pytest.approx(reference, rel=0.35, abs=0.02)


def test_the_false_alarm_rate_is_about_what_it_claims() -> None:
    draw = random.Random(5)
    alarms = sum(compute_trend([draw.gauss(0, 1) for _ in range(12)]).is_real for _ in range(2000))
    assert 0.05 < alarms / 2000 < 0.20


def test_growth_of_the_backlog_over_the_window() -> None:
    assert backlog_grows(points(20, backlog=lambda s: 50.0 * s))
    assert not backlog_grows(points(20, backlog=lambda s: 5000 - 50.0 * s))
    assert not backlog_grows(points(20, noise=0.3))
    assert not backlog_grows(points(3, backlog=lambda s: 50.0 * s))


def test_drift_over_the_window_is_put_in_words() -> None:
    assert (
        drift_of_window(points(20, rate=lambda s: 1000.0 + 20 * s))
        == "the rate was rising, from about 1,050 to 1,330 msg/s"
    )
    assert drift_of_window(points(20, p99=lambda s: 40.0 - s)) == "the p99 was falling, from about 38 to 24 ms"
    assert drift_of_window(points(20, noise=0.05)) == ""
    assert drift_of_window(points(3, rate=lambda s: 1000.0 * s)) == ""


@pytest.mark.parametrize(
    ("rate", "says"),
    [
        (1000.0, ""),
        (970.0, ""),
        (900.0, "the load is behind its schedule: 900 instead of 1,000 msg/s over the last 6 s"),
        (1100.0, "the load is still catching up: 1,100 instead of 1,000 msg/s over the last 6 s"),
    ],
)
def test_an_open_loop_is_steady_only_on_schedule(rate: float, says: str) -> None:
    assert unsteady_because(points(10, rate=lambda _s: rate), 1000.0) == says
    assert unsteady_because(points(10, rate=lambda _s: rate)) == ""


@pytest.mark.parametrize("seed", range(20))
def test_poisson_arrivals_at_a_low_rate_are_on_schedule(seed: int) -> None:
    draw = random.Random(seed)
    arrivals = points(60, rate=lambda _s: 20 + draw.gauss(0, math.sqrt(20)))
    ended = next((n for n in range(1, 61) if not unsteady_because(arrivals[:n], 20.0)), None)
    assert ended is not None
    assert ended <= 30


def test_the_end_of_a_stall_is_waited_for() -> None:
    stalled = points(60, rate=lambda s: 0.0 if 5 <= s < 8 else 1600.0 if 8 <= s < 13 else 1000.0)
    ended = next(n for n in range(7, 61) if not unsteady_because(stalled[:n], 1000.0))
    assert ended >= 13


def warmed(
    seconds: int, jit: Callable[[int], float], delay: Callable[[int], float | None] = lambda _s: None
) -> list[SecondPoint]:
    return [SecondPoint(1000.0, 5.0, 10, {}, jit(second), delay(second)) for second in range(seconds)]


def warm_after(all_points: list[SecondPoint]) -> int | None:
    """The first second at which the load generator is found warm, once there are enough for the rest of the rule."""
    return next((n for n in range(SECONDS_MIN + 1, len(all_points) + 1) if not cold_because(all_points[:n])), None)


@pytest.mark.parametrize("busy_s", [0, 3, 8, 20])
def test_the_compiler_is_waited_for(busy_s: int) -> None:
    busy = warmed(LIMIT, lambda s: 0.4 if s < busy_s else 0.01)
    # Two quiet seconds of three make a quiet median.
    assert warm_after(busy) == max(SECONDS_MIN + 1, busy_s + 2)
    if busy_s:
        assert cold_because(busy[:busy_s]) == "its JIT compiler took 0.4 of a CPU in its last 3 s"


def test_one_late_compilation_does_not_decide() -> None:
    assert cold_because(warmed(20, lambda s: 0.9 if s == 18 else 0.0)) == ""


def test_a_compiler_that_is_never_quiet_is_never_warm() -> None:
    assert warm_after(warmed(LIMIT, lambda _s: 0.11)) is None
    assert warm_after(warmed(LIMIT, lambda _s: 0.09)) == SECONDS_MIN + 1


def test_a_delay_that_falls_is_waited_for_until_it_is_flat() -> None:
    falling = warmed(LIMIT, lambda _s: 0.0, lambda s: max(0.2, 3.0 - 0.2 * s))
    assert cold_because(falling[:12]) == "the p99 of its own delay is falling over the last 6 s"
    ended = warm_after(falling)
    assert ended is not None
    assert 14 <= ended <= 30


@pytest.mark.parametrize(
    "delay",
    [
        pytest.param(lambda s: 0.1 + 0.1 * s, id="rising: what the system does to it"),
        pytest.param(lambda s: 0.04 / (1 + s), id="falling by microseconds"),
        pytest.param(lambda s: 1.0 - 0.005 * s, id="falling by little of it"),
        pytest.param(lambda _s: None, id="no schedule"),
    ],
)
def test_other_delays_are_not_waited_for(delay: Callable[[int], float | None]) -> None:
    assert warm_after(warmed(40, lambda _s: 0.0, delay)) == SECONDS_MIN + 1


@pytest.mark.parametrize("seed", range(20))
def test_a_noisy_delay_is_warm_soon(seed: int) -> None:
    draw = random.Random(seed)
    ended = warm_after(warmed(LIMIT, lambda _s: abs(draw.gauss(0, 0.03)), lambda _s: draw.lognormvariate(0, 1)))
    assert ended is not None
    assert ended <= 20


def test_compiling_over_a_window_is_its_mean() -> None:
    assert jit_cpus(warmed(10, lambda s: 0.4 if s < 5 else 0.0)) == pytest.approx(0.2)
    assert jit_cpus([]) is None


def served(
    seconds: int, capacity: Callable[[int], float], *, rate: float = 1000.0, natural_ms: float = 3.0
) -> tuple[list[SecondPoint], list[float]]:
    """A server that serves `rate` a second in the order of arrival, and how many seconds behind it was, by second."""
    made, behind_s, debt = [], [], 0.0
    for second in range(seconds):
        done = min(capacity(second), rate + debt)
        before, debt = debt, max(0.0, debt + rate - done)
        behind_s.append(debt / rate)
        p50_ms = natural_ms + 1e3 * (before + debt) / 2 / rate
        made.append(SecondPoint(done, 2 * p50_ms, 5, p50_ms=p50_ms))
    return made, behind_s


def ended_at(seen: list[SecondPoint], offered: float | None) -> int | None:
    return next((n for n in range(1, len(seen) + 1) if not unsteady_because(seen[:n], offered)), None)


@pytest.mark.parametrize(("start_s", "spare"), [(0.3, 0.01), (0.6, 0.01), (0.6, 0.02), (0.9, 0.03)])
def test_what_was_scheduled_while_it_started_is_worked_off_first(start_s: float, spare: float) -> None:
    """A start that takes so long, then little capacity to spare: known answer, the second in which nothing is owed."""
    seen, behind_s = served(LIMIT, lambda s: 1000.0 * (1 - start_s) if s == 0 else 1000.0 * (1 + spare))
    free = next(n for n, owed_s in enumerate(behind_s, 1) if owed_s < 0.02)
    assert free > 8
    ended = ended_at(seen, 1000.0)
    assert ended is not None
    assert free - 1 <= ended <= 1.6 * free
    without = [SecondPoint(one.msgs_per_s, one.p99_ms, one.backlog) for one in seen]
    unseen = ended_at(without, 1000.0)
    assert unseen is not None
    assert behind_s[unseen - 1] > 0.1, "rate, p99 and backlog alone would have let it pass"


@pytest.mark.parametrize("rate", [1000.0, 500_000.0])
def test_what_consumers_found_queued_at_their_start_is_worked_off_first(rate: float) -> None:
    """0.3 s of messages wait, and 0.015 s of them fewer each second: below 2 % of what is sent, and all the latency."""
    queued = points(LIMIT, rate=lambda _s: rate, backlog=lambda s: rate * max(0.004, 0.3 - 0.015 * s))
    assert unsteady_because(queued[:10]) == (
        "consumers are still catching up with what was queued before: about 0.18 s behind"
    )
    ended = ended_at(queued, None)
    assert ended is not None
    assert 18 <= ended <= 24


@pytest.mark.parametrize("seed", range(20))
def test_being_behind_by_the_systems_own_measure_is_steady(seed: int) -> None:
    """A level that stays, however high, is no debt; nor is a small queue that shrinks."""
    draw = random.Random(seed)
    own = [SecondPoint(1000.0, 400.0, 150 + draw.randrange(30), p50_ms=200 * draw.uniform(0.9, 1.1)) for _ in range(60)]
    ended = ended_at(own, 1000.0)
    assert ended is not None
    assert ended <= 20
    assert unsteady_because([SecondPoint(1000.0, 30.0, 5, p50_ms=15 - 0.5 * s) for s in range(10)], 1000.0) == ""


def test_an_arrival_time_is_owed_only_where_there_is_a_schedule() -> None:
    """In a closed loop nothing is scheduled: a latency that falls a little is the p99's affair."""
    falling = [SecondPoint(1000.0, 900.0, 5, p50_ms=200 - 2.0 * s) for s in range(12)]
    assert unsteady_because(falling) == ""
    assert unsteady_because(falling, 1000.0).startswith("sending is still catching up")


def test_the_debt_of_the_start_may_outlast_the_warm_up() -> None:
    """Then the warm-up's limit ends it, and the trial says why it was not steady."""
    seen, _ = served(30, lambda s: 300.0 if s == 0 else 1005.0)
    assert ended_at(seen, 1000.0) is None
    assert unsteady_because(seen, 1000.0).startswith("sending is still catching up with what was queued before")


def receiving(
    seconds: int, capacity: Callable[[int], float], *, rate: float = 980.0, queued_s: float = 0.0
) -> list[SecondPoint]:
    """Consumers that take `capacity` a second, of all that is sent on schedule; so much waits for them at first."""
    made, backlog = [], queued_s * rate
    for second in range(seconds):
        backlog = max(0.0, backlog + rate - capacity(second))
        made.append(SecondPoint(rate, 8.0, round(backlog), p50_ms=4.0))
    return made


@pytest.mark.parametrize(
    ("capacity", "says"),
    [
        # Nothing is received for 6 s, then 10 % more than is sent: known answer, 0.1 s less in every second.
        (1.1, "consumers about 4.3 s behind when it began and 1.8 s at its end"),
        (1.2, "consumers about 2.6 s behind when it began and 0 s at its end"),
    ],
)
def test_a_window_that_works_off_the_backlog_of_its_start_is_noticed(capacity: float, says: str) -> None:
    seen = receiving(50, lambda s: 0.0 if s < 6 else 980.0 * capacity)
    assert seen[19].backlog / 980 == pytest.approx(6 - 14 * (capacity - 1), abs=0.01)
    assert catching_up(seen[:20], seen[20:]) == says
    assert catching_up(seen[:20], seen[20:25]) == "", "too short to judge"


def test_a_window_that_works_off_what_was_to_be_sent_is_noticed() -> None:
    """2.75 s are owed when it begins, and 0.05 s less each second; medians of the first and the last sixth."""
    seen, behind_s = served(60, lambda s: 100.0 if s < 4 else 1050.0)
    assert behind_s[20] == pytest.approx(2.75, abs=0.01)
    assert catching_up(seen[:20], seen[20:]) == "sending about 2.7 s behind when it began and 0.98 s at its end"
    # Its backlog is small, and its rate is more than what is offered.
    assert unsteady_because(seen[:20], 1000.0)


@pytest.mark.parametrize(
    ("stalled_s", "spare", "window_s"),
    [((0, 2), 0.05, 120), ((0, 4), 0.2, 60), ((0, 5), 0.2, 300), ((15, 17), 0.05, 120), ((16, 17), 0.1, 300)],
)
def test_a_debt_is_noticed_that_a_long_window_works_off_soon(
    stalled_s: tuple[int, int], spare: float, window_s: int
) -> None:
    """Less than 2 % more than is due is acknowledged in all of it, and its p99 is that of the start."""
    seen, behind_s = served(20 + window_s, lambda s: 0.0 if s in range(*stalled_s) else 1000 * (1 + spare))
    assert behind_s[20] > 0.5
    assert sum(point.msgs_per_s for point in seen[20:]) < 1020 * window_s
    assert catching_up(seen[:20], seen[20:]).startswith("sending about ")
    steady, _ = served(20, lambda _s: 1000 * (1 + spare))
    assert catching_up(steady, seen[20:]) == "", "it was not there before"


def test_a_stall_that_comes_again_is_the_systems_own() -> None:
    seen, behind_s = served(140, lambda s: 0.0 if s % 28 == 17 else 1150.0)
    assert behind_s[20] > 0.5
    assert catching_up(seen[:20], seen[20:]) == ""


@pytest.mark.parametrize("seed", range(20))
def test_a_steady_window_catches_up_with_nothing(seed: int) -> None:
    """However far behind it is: a level that stays is the system's own, and so is a small one that falls."""
    draw = random.Random(seed)
    own = [
        SecondPoint(1000.0, 400.0, 3000 + draw.randrange(900), p50_ms=900 * draw.uniform(0.8, 1.2)) for _ in range(80)
    ]
    assert catching_up(own[:20], own[20:]) == ""
    small = [SecondPoint(1000.0, 90.0, 80 - s, p50_ms=80.0 - s) for s in range(80)]
    assert catching_up(small[:20], small[20:]) == ""


def test_what_a_stall_within_the_window_queued_is_the_windows() -> None:
    """2 s without receipt at its second second, worked off by its end: no debt of the warm-up's."""
    seen = receiving(60, lambda s: 0.0 if s in (21, 22) else 980.0 * 1.06)
    assert max(point.backlog for point in seen[:20]) == 0
    assert catching_up(seen[:20], seen[20:]) == ""
    assert catching_up([], seen[20:]) == "", "nothing is known of what was there before"


@pytest.mark.parametrize(("load", "window_s"), [(0.95, 60), (0.97, 60), (0.99, 60), (0.97, 30)])
def test_a_backlog_that_wanders_near_the_capacity_is_hardly_ever_taken_for_it(load: float, window_s: int) -> None:
    """Capacity that differs by 30 % from second to second, with a pause of 0.5 s about every 20 s."""
    noticed, behind_s = 0, []
    for seed in range(200):
        draw = random.Random(seed)

        def capacity(_second: int, draw: random.Random = draw) -> float:
            return 980.0 / load * max(0.0, draw.gauss(1, 0.3)) * (0.5 if draw.random() < 0.05 else 1.0)

        seen = receiving(20 + window_s, capacity)
        behind_s.append(median(point.backlog for point in seen[20:]) / 980)
        noticed += bool(catching_up(seen[:20], seen[20:]))
    assert median(behind_s) > 0.3, "it is behind by enough to be noticed"
    assert noticed <= 200 * 0.05
