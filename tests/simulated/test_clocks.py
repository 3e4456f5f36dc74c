"""Bounds of clock offsets: on simulated hosts whose clocks and network are known, the truth lies in every bound."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegauge.statistics.clocks import (
    ClockContradictionError,
    Exchange,
    Offset,
    offset_at,
    suspect_hosts,
    tightest_bounds,
)

SECOND_NS = 1_000_000_000
Clock = Callable[[float], float]


def drifting(offset_ns: float, ppm: float) -> Clock:
    return lambda true_ns: offset_ns + true_ns * (1 + ppm / 1e6)


def exchanged(first: Clock, other: Clock, true_ns: float, *delays_ns: float) -> Exchange:
    there_ns, service_ns, back_ns = delays_ns
    arrived_ns = true_ns + there_ns
    left_ns = arrived_ns + service_ns
    return Exchange(
        *(round(reading) for reading in (first(true_ns), other(arrived_ns), other(left_ns), first(left_ns + back_ns)))
    )


delay = st.floats(1_000, 50e6)


@given(
    st.floats(-1e13, 1e13),
    st.floats(-50, 50),
    st.floats(-50, 50),
    st.lists(st.tuples(delay, delay, delay), min_size=1, max_size=20),
    st.floats(0, 10 * SECOND_NS),
)
def test_the_truth_lies_within_the_bound_whatever_the_delays(
    offset_ns: float, own_ppm: float, other_ppm: float, delays: list[tuple[float, float, float]], when_ns: float
) -> None:
    first, other = drifting(0, own_ppm), drifting(offset_ns, other_ppm)
    measured = [
        exchanged(first, other, number * SECOND_NS / 2, *delay).offset(resolution_ns=2)
        for number, delay in enumerate(delays)
    ]
    # 101: readings in the first's own drifting seconds.
    found = offset_at(first(when_ns), measured, drift_ppm=101)
    # Floats of 1e13 ns are good to some ns.
    assert found.low_ns - 10 <= other(when_ns) - first(when_ns) <= found.high_ns + 10


def test_one_exchange_is_as_wide_as_its_way_there_and_back() -> None:
    found = exchanged(drifting(0, 0), drifting(7e12, 0), 0, 30_000, 1e6, 70_000).offset()
    assert (found.low_ns, found.high_ns) == (7e12 - 70_000, 7e12 + 30_000)
    assert found.half_width_ns == 50_000


def test_it_widens_with_the_time_before_and_after() -> None:
    found = Offset(-100.0, 100.0, 0.0, 0.0)
    for time_ns in (-SECOND_NS, SECOND_NS):
        later = found.carried_to(time_ns, drift_ppm=100)
        assert (later.low_ns, later.high_ns) == (-100_100, 100_100)


def test_measurements_on_both_sides_are_tighter_than_on_one() -> None:
    before, after = Offset(-1e4, 1e4, 0, 0), Offset(-1e4, 1e4, SECOND_NS, SECOND_NS)
    assert offset_at(SECOND_NS / 2, [before, after]).half_width_ns == 60_000
    assert offset_at(SECOND_NS, [before]).half_width_ns == 110_000


@pytest.mark.parametrize("step_ns", [200_000, -200_000, 3 * SECOND_NS])
def test_a_step_is_proved_by_exchanges_that_contradict_each_other(step_ns: int) -> None:
    first = drifting(0, 0)
    before = [exchanged(first, drifting(0, 0), n * SECOND_NS / 2, 30_000, 0, 30_000).offset() for n in range(4)]
    stepped = [
        exchanged(first, drifting(step_ns, 0), n * SECOND_NS / 2, 30_000, 0, 30_000).offset() for n in range(4, 6)
    ]
    offset_at(SECOND_NS, before)
    with pytest.raises(
        ClockContradictionError, match=r"contradict each other by [\d,]+ ns with a drift of at most 100 ppm"
    ):
        offset_at(1.75 * SECOND_NS, before + stepped)


def test_a_drift_above_its_bound_is_proved_in_time() -> None:
    measured = [
        exchanged(drifting(0, 0), drifting(0, 400), n * SECOND_NS / 2, 30_000, 0, 30_000).offset() for n in range(4)
    ]
    with pytest.raises(ClockContradictionError):
        offset_at(SECOND_NS, measured)
    offset_at(SECOND_NS, measured, drift_ppm=401)


def test_nothing_measured_is_no_bound() -> None:
    with pytest.raises(ValueError, match="at least one exchange"):
        offset_at(0, [])


def test_the_way_over_a_third_host_is_taken_where_it_is_tighter() -> None:
    bounds = {("a", "b"): Offset(990, 1010, 5, 5), ("b", "c"): Offset(-20, 20, 5, 5), ("a", "c"): Offset(0, 5000, 5, 5)}
    found = tightest_bounds(bounds)
    assert (found["a", "c"].low_ns, found["a", "c"].high_ns) == (970, 1030)
    assert (found["c", "a"].low_ns, found["c", "a"].high_ns) == (-1030, -970)
    assert found["a", "b"].low_ns == 990
    assert not suspect_hosts(bounds)


def test_hosts_that_never_spoke_have_no_bound() -> None:
    found = tightest_bounds({("a", "b"): Offset(0, 1, 0, 0), ("c", "d"): Offset(0, 1, 0, 0)})
    assert ("a", "c") not in found
    assert len(found) == 4


def simulated_mesh(offsets_ns: dict[str, float], liar: str = "", lie_ns: float = 0) -> dict[tuple[str, str], Offset]:
    """Of all pairs; the liar's clock is off while it speaks to the last host only, as if it were stepped meanwhile."""
    chance = random.Random(7)
    bounds = {}
    for first, other in combinations(sorted(offsets_ns), 2):
        of_other = offsets_ns[other] + (lie_ns if liar == first and other == max(offsets_ns) else 0)
        there, back = chance.uniform(2e4, 2e5), chance.uniform(2e4, 2e5)
        bounds[first, other] = exchanged(
            drifting(offsets_ns[first], 0), drifting(of_other, 0), 0, there, 5e4, back
        ).offset()
    return bounds


def test_a_mesh_holds_the_truth_and_is_never_wider() -> None:
    offsets_ns = {"a": 0.0, "b": 7.2e12, "c": -3.6e12, "d": 5e9}
    bounds = simulated_mesh(offsets_ns)
    found = tightest_bounds(bounds)
    for (first, other), offset in bounds.items():
        truth_ns = offsets_ns[other] - offsets_ns[first]
        assert found[first, other].low_ns <= truth_ns <= found[first, other].high_ns
        assert found[first, other].half_width_ns <= offset.half_width_ns


def test_a_mesh_that_contradicts_itself_names_whose_clock_it_may_be() -> None:
    bounds = simulated_mesh({"a": 0.0, "b": 7.2e12, "c": -3.6e12, "d": 5e9}, liar="b", lie_ns=1e7)
    with pytest.raises(ClockContradictionError, match="the clocks of a, b, c, d contradict each other"):
        tightest_bounds(bounds)
    assert suspect_hosts(bounds) == ("b", "d")
