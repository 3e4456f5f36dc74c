"""Which consumers had no time left, and how long messages waited for them: seconds with known answers."""

from __future__ import annotations

from dataclasses import replace

import pytest
from run_samples import second

from tidegauge.model.load import SecondFigures, SubscriptionSecond, WorkerSecond
from tidegauge.statistics.steady import ReceivingTally

MS_NS = 1_000_000


def seen(number: int, name: str, busy_ms: int, gc_ms: int = 0, **sub: int) -> SecondFigures:
    """A second in which sub-0 has a backlog of 500 and receives 10,000 messages."""
    counts = {"received": 10_000, "backlog": 500, **sub}
    one = SubscriptionSecond("sub-0", counts["received"], 0, counts["backlog"], 0, 0, 0, b"")
    other = replace(one, name="sub-1", backlog=0)
    return replace(
        second(number),
        subscriptions=(one, other),
        busiest_consumer=name,
        busiest_consumer_busy_ns=busy_ms * MS_NS,
        gc_pause_ns=gc_ms * MS_NS,
    )


def tallied(*seconds: SecondFigures) -> ReceivingTally:
    tally = ReceivingTally()
    for figures in seconds:
        tally.take(figures)
    return tally


@pytest.mark.parametrize(("busy_ms", "gc_ms", "is_busy"), [(899, 0, False), (900, 0, True), (820, 100, True)])
def test_pauses_leave_no_time_to_be_busy_in(busy_ms: int, gc_ms: int, is_busy: bool) -> None:
    found = tallied(seen(0, "sub-0 consumer 0", busy_ms, gc_ms)).busy_consumers()
    assert bool(found) == is_busy


def test_the_one_that_was_it_most_often_is_named_with_the_wait_by_littles_law() -> None:
    names = ["sub-0 consumer 1", "sub-0 consumer 0", "sub-0 consumer 1", ""]
    (found,) = tallied(*[seen(number, name, 950 if name else 0) for number, name in enumerate(names)]).busy_consumers()
    assert (found.name, found.subscription) == ("sub-0 consumer 1", "sub-0")
    assert (found.busy_seconds, found.seconds, found.busy_share) == (3, 4, 0.75)
    assert found.waiting_ms == pytest.approx(50.0)  # 500 messages at 10,000 a second


def test_where_nothing_was_received_messages_waited_all_the_while() -> None:
    (found,) = tallied(*[seen(n, "sub-0 consumer 0", 1000, received=0) for n in range(3)]).busy_consumers()
    assert found.waiting_ms == pytest.approx(3000.0)


def test_the_busier_subscription_comes_first() -> None:
    found = tallied(
        seen(0, "sub-0 consumer 0", 990), seen(1, "sub-1 consumer 0", 990), seen(2, "sub-1 consumer 0", 990)
    ).busy_consumers()
    assert [consumer.subscription for consumer in found] == ["sub-1", "sub-0"]


def test_the_backlog_at_the_windows_end_is_that_of_its_last_second() -> None:
    tally = tallied(seen(0, "", 0, backlog=9), seen(1, "", 0, backlog=7))
    assert tally.window_end == {"sub-0": 7, "sub-1": 0}


def test_seconds_in_which_consumers_are_meant_to_be_busy_are_not_judged() -> None:
    tally = ReceivingTally()
    tally.take(seen(0, "sub-0 consumer 0", 1000), judged=False)
    assert tally.busy_consumers() == ()
    assert tally.window_end["sub-0"] == 500


def test_a_second_that_is_longer_counts_for_so_many() -> None:
    """Short of CPU, a load generator makes one of several."""
    long = seen(1, "sub-0 consumer 0", 2800)
    long = replace(long, until_mono_ns=long.from_mono_ns + 3 * 10**9)
    (found,) = tallied(seen(0, "", 0), long, seen(4, "", 0)).busy_consumers()
    assert (found.busy_seconds, found.seconds) == (3, 5)


def worker(number: int, busy_ms: int, gc_ms: int) -> WorkerSecond:
    name = f"sub-0 consumer 0 (load generator {number} of 2)"
    return WorkerSecond(number, 0.0, 0, 0, 0, 0, 0, gc_ms * MS_NS, 0, name, busy_ms * MS_NS, 0)


def test_of_several_load_generators_each_has_its_own_pauses() -> None:
    merged = seen(0, "sub-0 consumer 0 (load generator 1 of 2)", 860, 500)
    # The one that paused was not busy, the busy one did not pause.
    assert not tallied(replace(merged, workers=(worker(1, 860, 0), worker(2, 300, 500)))).busy_consumers()
    (found,) = tallied(replace(merged, workers=(worker(1, 860, 0), worker(2, 490, 500)))).busy_consumers()
    assert (found.name, found.subscription) == ("sub-0 consumer 0 (load generator 2 of 2)", "sub-0")
