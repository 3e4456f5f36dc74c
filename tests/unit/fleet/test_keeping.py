"""A host stays in its fleet though Ray ends on it, and not for ever though the fleet is gone."""

from __future__ import annotations

from collections.abc import Iterator

from tidegauge.fleet.keeping import GIVE_UP_S, keep_in_fleet


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s

    def wait(self, seconds: float) -> None:
        self.now_s += seconds


def runs_for(clock: Clock, *lengths_s: float) -> Iterator[int]:
    for number, length_s in enumerate(lengths_s):
        clock.wait(length_s)
        yield number


def test_ray_that_ends_by_itself_is_started_again_and_one_that_can_not_start_is_not() -> None:
    clock = Clock()
    runs = runs_for(clock, 3600.0, 40.0, 5.0, 1e9)
    started = iter([True, True, True, False])
    assert keep_in_fleet(lambda: next(runs), lambda: True, lambda: next(started), clock.wait, clock) == 3
    clock = Clock()
    runs = runs_for(clock, 5.0, 5.0)
    assert keep_in_fleet(lambda: next(runs), lambda: True, lambda: False, clock.wait, clock) == 0


def test_a_fleet_without_a_head_is_left() -> None:
    clock = Clock()
    runs = runs_for(clock, 3600.0)
    assert keep_in_fleet(lambda: next(runs), lambda: False, lambda: True, clock.wait, clock) == 0
    assert 0 < clock.now_s - 3600 - GIVE_UP_S < 10


def test_a_head_that_comes_back_is_joined_again() -> None:
    clock = Clock()
    runs, answers = runs_for(clock, 3600.0, 3600.0), iter([False, False, True])
    started = iter([True, False])
    assert keep_in_fleet(lambda: next(runs), lambda: next(answers), lambda: next(started), clock.wait, clock) == 1


def test_ray_that_does_not_stay_is_given_up() -> None:
    clock = Clock()
    runs = runs_for(clock, *[10.0] * 1000)
    keep_in_fleet(lambda: next(runs), lambda: True, lambda: True, clock.wait, clock)
    assert 0 < clock.now_s - GIVE_UP_S < 30
