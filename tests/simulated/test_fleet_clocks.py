"""Hosts whose clocks drift and are set: what is said of them is true, or they are named."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from tidegauge.fleet import clocks as module
from tidegauge.fleet.clocks import HERE, ClockError, FleetClocks
from tidegauge.statistics.clocks import Exchange, Offset

HOUR_NS = 3_600 * 10**9


@dataclass
class World:
    """True time, and messages that take a while. `now_ns` is also this host's clock."""

    now_ns: int = 10**12
    chance: random.Random = field(default_factory=lambda: random.Random(1))

    def monotonic_ns(self) -> int:
        return self.now_ns

    def pass_s(self, seconds: float) -> None:
        self.now_ns += round(seconds * 1e9)


@dataclass
class Host:
    """An agent with a clock of its own, and the others by their ports."""

    world: World
    clock: Callable[[int], int]
    others: dict[int, Host]
    slew_ppm: float = 0.0
    answers: bool = True

    def clock_listen(self, _address: str, ports: Any, _secret: str) -> int:
        port = len(self.others) + 1
        self.others[port] = self
        return port

    def clock_burst(self, peers: Any) -> tuple[list[Exchange | None], float]:
        return [self._exchange(self.others[port]) if port in self.others else None for _, port in peers], self.slew_ppm

    def _exchange(self, other: Host) -> Exchange | None:
        if not other.answers:
            return None
        asked_ns, there, back = self.world.now_ns, *(self.world.chance.randint(10_000, 40_000) for _ in range(2))
        arrived_ns = asked_ns + there
        return Exchange(
            self.clock(asked_ns), other.clock(arrived_ns), other.clock(arrived_ns), self.clock(arrived_ns + back)
        )


@dataclass
class Fleet:
    """Two hosts and this one, asked twice a second."""

    world: World
    hosts: list[Host]
    clocks: FleetClocks

    def go_on(self, seconds: float) -> None:
        for _ in range(round(seconds * 2)):
            self.world.pass_s(0.5)
            self.clocks._round()

    def truth_ns(self, at_ns: int) -> float:
        return self.hosts[1].clock(at_ns) - self.hosts[0].clock(at_ns)


@pytest.fixture
def fleet(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Fleet]]:
    opened: list[FleetClocks] = []

    def make(*kept: Callable[[int], int]) -> Fleet:
        world = World()
        monkeypatch.setattr(module, "time", world)
        monkeypatch.setattr(module, "EVERY_S", 1e6)  # Asked here instead.
        others: dict[int, Host] = {}
        own = Host(world, lambda ns: ns, others)
        hosts = [Host(world, clock, others) for clock in kept]
        given: Any = [(host, f"10.0.0.{number}") for number, host in enumerate(hosts, 1)]
        found = FleetClocks(own, "10.0.0.9", given, 100.0, range(1))  # type: ignore[arg-type]
        opened.append(found)
        return Fleet(world, hosts, found)

    yield make
    for each in opened:
        each.close()


def drifting(offset_ns: int, ppm: float) -> Callable[[int], int]:
    return lambda ns: offset_ns + ns + round(ns * ppm / 1e6)


def stepped(offset_ns: int, at_ns: int, by_ns: int) -> Callable[[int], int]:
    return lambda ns: offset_ns + ns + (by_ns if ns >= at_ns else 0)


PAIR = ("10.0.0.1", "10.0.0.2")


@pytest.mark.parametrize("ppm", [-45.0, 0.0, 45.0])
def test_the_truth_lies_in_the_bounds_at_each_moment_of_a_window(fleet: Callable[..., Fleet], ppm: float) -> None:
    here = fleet(drifting(5 * 10**9, ppm), drifting(-2 * HOUR_NS, -ppm))
    here.go_on(10)
    from_ns = here.world.now_ns
    here.go_on(60)
    until_ns = here.world.now_ns
    here.go_on(2)
    bound = here.clocks.bounds(from_ns, until_ns)[PAIR]
    truths = [here.truth_ns(from_ns + number * (until_ns - from_ns) // 997) for number in range(998)]
    assert bound.low_ns <= min(truths) <= max(truths) <= bound.high_ns
    # Not wider than round trips, drift between exchanges, and what the clocks really drifted apart.
    assert bound.high_ns - bound.low_ns < 80_000 + 100_000 + (max(truths) - min(truths))
    now = here.clocks.ahead_ns()
    assert abs(now[1] - now[0] - here.truth_ns(here.world.now_ns)) < 100_000


@pytest.mark.parametrize("by_ns", [2 * 10**6, -(10**9)])
def test_a_clock_that_is_set_in_the_window_is_named(fleet: Callable[..., Fleet], by_ns: int) -> None:
    here = fleet(drifting(0, 5), stepped(7, 10**12 + 30 * 10**9, by_ns))
    here.go_on(10)
    from_ns = here.world.now_ns
    here.go_on(40)
    with pytest.raises(ClockError, match=r"10\.0\.0\.2"):
        here.clocks.bounds(from_ns, here.world.now_ns)
    # Before it, all is well.
    assert here.clocks.bounds(from_ns, from_ns + 5 * 10**9)[PAIR].low_ns <= here.truth_ns(from_ns)


@pytest.fixture
def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """Long windows, as short ones."""
    monkeypatch.setattr(module, "_KEPT_NS", 20e9)
    monkeypatch.setattr(module, "_SPAN_NS", 12e9)


@pytest.mark.usefixtures("forgetful")
def test_a_window_is_as_well_known_when_its_exchanges_are_forgotten(
    fleet: Callable[..., Fleet], monkeypatch: pytest.MonkeyPatch
) -> None:
    def bound_of_a_window() -> tuple[Offset, list[float], Fleet]:
        here = fleet(drifting(5 * 10**9, 30), drifting(-2 * HOUR_NS, -30))
        here.go_on(10)
        from_ns = here.world.now_ns
        here.go_on(300)
        until_ns = here.world.now_ns
        here.go_on(2)
        truths = [here.truth_ns(from_ns + number * (until_ns - from_ns) // 997) for number in range(998)]
        return here.clocks.bounds(from_ns, until_ns)[PAIR], truths, here

    forgotten, truths, here = bound_of_a_window()
    assert forgotten.low_ns <= min(truths) <= max(truths) <= forgotten.high_ns
    assert max(map(len, here.clocks._measured.values())) < 150
    monkeypatch.setattr(module, "_KEPT_NS", 600e9)
    kept, _, here = bound_of_a_window()
    assert max(map(len, here.clocks._measured.values())) > 600
    # A span that the window began in may be older than it by as much as it is long.
    assert forgotten.low_ns == pytest.approx(kept.low_ns, abs=12e9 * 60e-6 + 50_000)
    assert forgotten.high_ns == pytest.approx(kept.high_ns, abs=12e9 * 60e-6 + 50_000)


@pytest.mark.usefixtures("forgetful")
def test_a_clock_that_was_set_long_ago_spoils_the_windows_that_hold_it(fleet: Callable[..., Fleet]) -> None:
    here = fleet(drifting(0, 5), stepped(7, 10**12 + 30 * 10**9, 2 * 10**6))
    here.go_on(10)
    from_ns = here.world.now_ns
    here.go_on(200)
    with pytest.raises(ClockError, match=r"10\.0\.0\.2"):
        here.clocks.bounds(from_ns, here.world.now_ns)
    # One for as long as the clock was wrong, however often that was seen.
    assert sum(bool(span.problem) for span in here.clocks._spans) == 1
    after_ns = from_ns + 60 * 10**9
    assert here.clocks.bounds(after_ns, here.world.now_ns)[PAIR].low_ns <= here.truth_ns(after_ns)
    assert here.clocks.bounds(from_ns, from_ns + 5 * 10**9)[PAIR].low_ns <= here.truth_ns(from_ns)


def test_a_window_before_anybody_was_asked_is_not_known(fleet: Callable[..., Fleet]) -> None:
    here = fleet(drifting(0, 0), drifting(0, 0))
    before_ns = here.world.now_ns - 10**9
    here.go_on(10)
    with pytest.raises(ClockError, match="not asked yet when the window began"):
        here.clocks.bounds(before_ns, here.world.now_ns)


def test_a_clock_that_runs_faster_than_any_may_is_noticed(fleet: Callable[..., Fleet]) -> None:
    here = fleet(drifting(0, 0), drifting(0, 900))
    here.go_on(10)
    with pytest.raises(ClockError, match="set, or runs too fast"):
        here.clocks.bounds(here.world.now_ns - 5 * 10**9, here.world.now_ns)


def test_one_that_is_being_set_is_given_more_room(fleet: Callable[..., Fleet]) -> None:
    here = fleet(drifting(0, 0), drifting(0, 450))
    here.hosts[1].slew_ppm = 450.0
    here.go_on(10)
    from_ns = here.world.now_ns - 5 * 10**9
    bound = here.clocks.bounds(from_ns, here.world.now_ns)[PAIR]
    assert bound.low_ns <= here.truth_ns(from_ns) <= here.truth_ns(here.world.now_ns) <= bound.high_ns
    # All that is to be known of it, however long it goes on.
    assert [ppm for _, ppm in here.clocks._slews["10.0.0.2"]] == [450.0]
    assert here.clocks._ppm(PAIR, from_ns) == 550.0
    assert here.clocks._ppm(PAIR, here.world.now_ns + 60e9) == 100.0


def test_a_host_that_is_not_heard_is_named(fleet: Callable[..., Fleet]) -> None:
    here = fleet(drifting(0, 0), drifting(0, 0))
    here.hosts[1].answers = False
    here.go_on(15)
    with pytest.raises(ClockError, match=r"10\.0\.0\.2 did not answer for 10 s when this host asked"):
        here.clocks.bounds(here.world.now_ns - 10**9, here.world.now_ns)


def test_names_and_widths(fleet: Callable[..., Fleet]) -> None:
    here = fleet(drifting(0, 0), drifting(0, 0))
    assert here.clocks.names == [HERE, *PAIR]
    assert 0 < here.clocks.widths_s()[PAIR] < 200e-6
