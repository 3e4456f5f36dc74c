"""Figures of several workers made one: sums, histograms bin by bin, seconds by their time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from itertools import pairwise

import pytest
from merging_samples import BEGIN, S, histogram, second, sub, sub_totals, totals, window

from tidegauge.model.load import (
    RecordFigures,
    SecondFigures,
    SubscriptionSecond,
    SubscriptionTotals,
    TotalFigures,
    WindowFigures,
    WorkerSecond,
    WorkerTotals,
)
from tidegauge.statistics.histograms import decode_histogram
from tidegauge.worker import merging
from tidegauge.worker.merging import SecondMerger, check_counts, merged_totals
from tidegauge.worker.sequences import FiguresError, Received, SequenceCounts


def merge(*workers: Sequence[SecondFigures]) -> list[SecondFigures]:
    """All seconds of workers, which come by turns and then end."""
    merger = SecondMerger(len(workers))
    found = []
    for place in range(max(map(len, workers))):
        for worker, seconds in enumerate(workers):
            if place < len(seconds):
                found += merger.add(worker, seconds[place])
    for worker in range(len(workers)):
        found += merger.end(worker)
    return found


def spans(seconds: Sequence[SecondFigures]) -> list[tuple[float, float, int]]:
    return [
        (round((each.from_mono_ns - BEGIN) / S, 2), round((each.until_mono_ns - BEGIN) / S, 2), each.sent)
        for each in seconds
    ]


def test_a_second_of_two_workers_is_the_sum_of_theirs() -> None:
    first = second(
        0.0, 1.0, sent=100, acked=90, failed=1, scheduled_msgs_per_s=100.0, in_flight=9, own_lag_ns_max=5, blocked_ns=3,
        response=histogram(1.0, 2.0), gc_pause_ns=4, jit_ns=20, busiest_consumer="sub-0 consumer 0",
        busiest_consumer_busy_ns=10, subscriptions=(sub(unique=50), sub("sub-10", unique=20), sub("sub-9", unique=20)),
    )  # fmt: skip
    other = second(
        0.0, 1.001, sent=50, acked=50, scheduled_msgs_per_s=50.0, own_lag_ns_max=8, blocked_ns=4,
        response=histogram(4.0), gc_pause_ns=3, jit_ns=30, busiest_consumer="sub-0 consumer 1",
        busiest_consumer_busy_ns=20, subscriptions=(sub(unique=30, received=31, duplicated=1, end_to_end=b""),),
    )  # fmt: skip
    (found,) = merge([first], [other])
    assert (found.sent, found.acked, found.failed, found.in_flight) == (150, 140, 1, 10)
    assert (found.scheduled_msgs_per_s, found.own_lag_ns_max, found.blocked_ns) == (150.0, 8, 7)
    assert (found.worker_cpu_ns, found.heap_used_bytes, found.gc_pause_ns, found.jit_ns) == (10, 14, 4, 30)
    assert (found.busiest_consumer, found.busiest_consumer_busy_ns) == ("sub-0 consumer 1 (load generator 2 of 2)", 20)
    response = decode_histogram(found.response)
    assert response.count == 3
    assert response.percentile_ns(50) == pytest.approx(2e6, rel=1e-3)
    assert response.max_ns() == pytest.approx(4e6, rel=1e-3)
    assert [each.name for each in found.subscriptions] == ["sub-0", "sub-9", "sub-10"]
    whole = found.subscriptions[0]
    assert (whole.received, whole.unique, whole.duplicated, whole.backlog) == (41, 80, 1, 60)
    assert decode_histogram(whole.end_to_end).count == 1


def test_a_second_keeps_what_each_worker_had_of_it() -> None:
    first = second(0.0, 1.0, sent=100, acked=90, scheduled_msgs_per_s=100.0, own_lag_ns_max=5, gc_pause_ns=4, jit_ns=6)
    other = second(
        0.0, 1.0, worker_cpu_ns=50, heap_used_bytes=70, busiest_consumer="sub-0 consumer 1",
        busiest_consumer_busy_ns=20, subscriptions=(sub(received=31), sub("sub-1", received=2)),
    )  # fmt: skip
    (found,) = merge([first], [other])
    assert found.workers == (
        WorkerSecond(1, 100.0, 100, 90, 10, 5, 5, 4, 7, "", 0, 6),
        WorkerSecond(2, 10.0, 10, 10, 33, 0, 50, 0, 70, "sub-0 consumer 1 (load generator 2 of 2)", 20, 0),
    )
    # One that has ended has nothing of a later second.
    *_, last = merge([first], [other, second(1.0, 2.0)])
    assert [each.worker for each in last.workers] == [2]


def test_a_consumer_that_is_busy_all_the_time_is_so_in_a_longer_second() -> None:
    """Also where those of a subscription take turns; the other worker was stopped for two seconds."""
    own = [
        ("sub-0 consumer 0", 0.99), ("sub-1 consumer 0", 0.2), ("sub-0 consumer 1", 0.97), ("sub-0 consumer 1", 0.98)
    ]  # fmt: skip
    busy = [
        second(n, n + 1, busiest_consumer=name, busiest_consumer_busy_ns=round(busy_s * S))
        for n, (name, busy_s) in enumerate(own)
    ]
    found = merge(busy, [second(0, 1), second(1, 4)])
    assert spans(found) == [(0.0, 1.0, 20), (1.0, 4.0, 40)]
    assert found[1].busiest_consumer == "sub-0 consumer 1 (load generator 1 of 2)"
    assert found[1].busiest_consumer_busy_ns == pytest.approx(1.95 * S)


def test_backlog_is_what_all_acknowledged_less_what_anyone_received_so_far() -> None:
    """One worker sends, the other receives, a second later; then more than was acknowledged."""
    nothing = (sub(unique=0, received=0),)
    sends = [second(n, n + 1, acked=100 if n < 2 else 0, subscriptions=nothing) for n in range(4)]
    receives = [second(n, n + 1, acked=0, subscriptions=(sub(unique=each),)) for n, each in enumerate((0, 100, 90, 20))]
    assert [each.subscriptions[0].backlog for each in merge(sends, receives)] == [100, 100, 10, 0]


def test_seconds_are_aligned_by_time_where_a_starved_worker_skips_edges() -> None:
    calm = [second(n, n + 1, n, sent=1) for n in range(6)]
    starved = [second(0, 1, 0), second(1, 3.4, 1, sent=24), second(3.4, 4, 2, sent=6), second(4, 5, 3, sent=10),
               second(5, 6, 4, sent=10)]  # fmt: skip
    # 3.4 is nearest to the edge at 3; its next edge is the one at 4.
    found = merge(calm, starved)
    assert spans(found) == [(0.0, 1.0, 11), (1.0, 3.0, 26), (3.0, 4.0, 7), (4.0, 5.0, 11), (5.0, 6.0, 11)]
    assert [each.second for each in found] == list(range(5))
    # The rate of the long one is that of its time: 10 + 10, and not twice the calm worker's.
    assert found[1].scheduled_msgs_per_s == pytest.approx(20.0)


def test_a_second_waits_for_every_worker() -> None:
    merger = SecondMerger(3)
    assert merger.add(0, second(0, 1)) == []
    assert merger.add(0, second(1, 2)) == []
    assert merger.add(1, second(0, 1)) == []
    assert spans(merger.add(2, second(0, 1))) == [(0.0, 1.0, 30)]
    assert merger.end(1) == []
    assert spans(merger.add(2, second(1, 2))) == [(1.0, 2.0, 20)]


def test_the_rest_of_a_last_second_is_no_second_of_its_own_beside_others_and_nothing_is_left_out() -> None:
    """Workers end one after the other, each with a part of a second; what each had is in one second exactly."""
    first = [second(0, 1, sent=1), second(1, 2, sent=2), second(2, 2.2, sent=4)]
    other = [second(0, 1, sent=8), second(1, 2, sent=16), second(2, 3, sent=32), second(3, 3.1, sent=64)]
    found = merge(first, other)
    assert [each.sent for each in found] == [9, 18, 36, 64]
    assert all(a.until_mono_ns == b.from_mono_ns for a, b in pairwise(found))


def test_seconds_that_do_not_add_up_to_the_totals_name_the_worker() -> None:
    merger = SecondMerger(2)
    for worker in range(2):
        merger.add(worker, second(0, 1, sent=50))
    merger.check_sent([totals(sent=50), totals(sent=50)])
    with pytest.raises(FiguresError, match="load generator 2 of 2: its seconds have 50 messages sent, its totals 51"):
        merger.check_sent([totals(sent=50), totals(sent=51)])


def workers(*parts: TotalFigures) -> list[WorkerTotals]:
    return [WorkerTotals(f"worker-{number}", BEGIN, part) for number, part in enumerate(parts, 1)]


def counts(
    unique: int, missing: int = 0, repeated: int = 0, examples: tuple[str, ...] = (), again: tuple[str, ...] = ()
) -> SequenceCounts:
    received = Received(unique, missing, repeated, examples, again)
    return SequenceCounts((100, 100), (0, 0), ({}, {}), {"sub-0": received})


def test_totals_are_sums_and_loss_comes_from_the_sets_alone() -> None:
    first = totals(
        errors=(("send", "slow", 2), ("send", "gone", 1)), subscriptions=(sub_totals(duplicated=2, unique=60),)
    )
    other = totals(errors=(("send", "slow", 3),), window=window(gc_pause_ns=9, response=histogram(2.0, 3.0)))
    found = merged_totals(
        workers(first, other), counts(99, missing=101, repeated=11, examples=("producer 0 sequence 1",))
    )
    assert (found.sent, found.acked, found.resident_bytes, found.gc_pause_ns) == (200, 200, 2000, 5)
    assert found.errors == (("send", "slow", 5), ("send", "gone", 1))
    assert (found.window.intended, found.window.own_lag_over_tolerance, found.window.blocked_ns) == (20, 2, 4)
    assert (found.window.gc_pause_ns, found.window.cpu_wait_ns, found.window.worker_cpu_ns) == (9, 5, 6)
    assert decode_histogram(found.window.response).count == 3
    (whole,) = found.subscriptions
    assert (whole.received, whole.unique, whole.lost, whole.backlog) == (100, 99, 101, 101)
    assert (whole.duplicated, whole.reordered, whole.window_received) == (13, 2, 40)
    assert whole.lost_examples == ("producer 0 sequence 1",)
    assert [worker.name for worker in found.workers] == ["worker-1", "worker-2"]
    assert found.workers[0].totals is first


def test_a_message_with_a_damaged_header_is_not_lost_as_well() -> None:
    damaged = totals(subscriptions=(sub_totals(corrupt=3, corrupt_unattributed=2),))
    examples = tuple(f"producer 0 sequence {number}" for number in range(3))
    (whole,) = merged_totals(workers(damaged, totals()), counts(197, missing=3, examples=examples)).subscriptions
    assert (whole.lost, whole.corrupt, whole.corrupt_unattributed, whole.lost_examples) == (1, 3, 2, examples[:1])


def test_of_each_fault_the_first_few_messages_are_named_whoever_received_them() -> None:
    first = totals(subscriptions=(sub_totals(duplicated_examples=("a",), reordered_examples=("r",)),))
    other = totals(subscriptions=(sub_totals(duplicated_examples=("b", "c"), corrupt_examples=tuple("0123456789")),))
    more = totals(subscriptions=(sub_totals(corrupt_examples=("too many",)),))
    (whole,) = merged_totals(workers(first, other, more), counts(150, again=("d",))).subscriptions
    assert whole.duplicated_examples == ("a", "b", "c", "d")
    assert (whole.reordered_examples, whole.corrupt_examples) == (("r",), tuple("0123456789"))
    (alone,) = merged_totals(workers(first, other)).subscriptions
    assert alone.duplicated_examples == ("a", "b", "c")


def test_without_sets_the_backlog_is_a_difference_of_counts() -> None:
    (whole,) = merged_totals(workers(totals(), totals())).subscriptions
    assert (whole.backlog, whole.unique, whole.lost_examples) == (100, 100, ())


def test_records_of_a_schedule_and_receipts_without_producers_are_merged() -> None:
    record = RecordFigures(10, 9, 1, 8, histogram(1.0), histogram(1.0), b"")
    part = totals(
        window=window(records=(record, record)),
        subscriptions=(
            sub_totals(record_end_to_end=(histogram(1.0), b""), first_received_mono_ns=7, last_received_mono_ns=9),
        ),
    )
    none = replace(part, subscriptions=(sub_totals(record_end_to_end=(histogram(2.0), b"")),))
    found = merged_totals(workers(part, none))
    assert [each.intended for each in found.window.records] == [20, 20]
    assert decode_histogram(found.window.records[1].response).count == 2
    (whole,) = found.subscriptions
    assert [decode_histogram(each).count for each in whole.record_end_to_end] == [2, 0]
    assert (whole.first_received_mono_ns, whole.last_received_mono_ns) == (7, 9)


GIVEN: dict[type, set[str]] = {
    SecondFigures: {"subscriptions", "busiest_consumer", "workers"},
    SubscriptionSecond: {"name"},
    RecordFigures: set(),
    WindowFigures: set(),
    SubscriptionTotals: set(),
    TotalFigures: {"subscriptions", "errors", "workers"},
}
"""Fields without a rule, because whoever makes one of several says what they are."""


@pytest.mark.parametrize(
    ("kind", "rules"),
    [
        (SecondFigures, merging._SECOND_OF_ALL),
        (SubscriptionSecond, merging._SUBSCRIPTION_SECOND),
        (RecordFigures, merging._RECORD),
        (WindowFigures, merging._WINDOW),
        (SubscriptionTotals, merging._SUBSCRIPTION),
        (TotalFigures, merging._TOTALS),
    ],
)
def test_no_field_is_left_out_for_want_of_a_rule(kind: type, rules: dict[str, object]) -> None:
    assert {field.name for field in fields(kind)} - set(rules) == GIVEN[kind]


def test_windows_that_differ_are_an_error() -> None:
    with pytest.raises(FiguresError, match="window of load generator 2 of 2 is not that of the first"):
        merged_totals(workers(totals(), totals(window=window(until_mono_ns=BEGIN + 2 * S))))


def quiet(unknown: int = 0, sent: int = 100, received: int = 50) -> SequenceCounts:
    return SequenceCounts((100, sent), (0, unknown), ({"sub-0": 50}, {"sub-0": received}), {})


def test_sets_that_are_what_was_counted_add_up() -> None:
    before = [totals(), totals(acked=95)]
    after = [totals(), totals(acked=98, subscriptions=(sub_totals(unique=60),))]
    for unknown in (2, 5):
        for received in (50, 60):
            check_counts(before, quiet(unknown, received=received), after)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (quiet(sent=99, unknown=3), "load generator 2 of 2: messages sent: 100 by its counts, 99 by its sets"),
        (quiet(unknown=1), "generator 2 of 2: messages not acknowledged: 2 to 5 by its counts, 1 by its sets"),
        (quiet(unknown=3, received=61), "generator 2 of 2: messages that sub-0 received: 50 to 60 .*, 61 by its sets"),
    ],
)
def test_sets_that_are_not_what_was_counted_name_worker_and_figure(found: SequenceCounts, said: str) -> None:
    after = [totals(), totals(acked=98, subscriptions=(sub_totals(unique=60),))]
    with pytest.raises(FiguresError, match=said):
        check_counts([totals(), totals(acked=95)], found, after)


def test_messages_without_an_outcome_that_nobody_counted_are_an_error() -> None:
    with pytest.raises(FiguresError, match="load generator 1 of 1: 100 messages sent, but 101 outcomes"):
        check_counts([totals(unresolved=1)], quiet(), [totals(unresolved=1)])
