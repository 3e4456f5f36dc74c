"""What a fault did to the load, on seconds written by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from run_samples import second as run_second

from tidegauge.campaign.run.injection import load_second
from tidegauge.statistics.disruption import FaultSpan, LoadSecond, compute_disruption, normal_before

NS = 1_000_000_000
CALM = LoadSecond(0, NS, acked=1000, received=1000, p99_ms=5.0)


def seconds(*changes: dict[str, object]) -> list[LoadSecond]:
    """One second after the other: each as in calm times but for its changes."""
    return [
        replace(CALM, from_ns=number * NS, until_ns=(number + 1) * NS, **change)  # type: ignore[arg-type]
        for number, change in enumerate(changes)
    ]


def span(begin_s: float, lifted_s: float, next_s: float | None = None, end_s: float = 60) -> FaultSpan:
    next_ns = None if next_s is None else round(next_s * NS)
    return FaultSpan(round(begin_s * NS), round(lifted_s * NS), next_ns, round(end_s * NS))


OUT: dict[str, object] = {"acked": 0, "received": 0, "p99_ms": None}
LATE: dict[str, object] = {"acked": 4000, "received": 4000, "p99_ms": 3000.0}


def found(rows: Sequence[LoadSecond], at: FaultSpan):  # type: ignore[no-untyped-def]
    return compute_disruption(rows, normal_before(rows, at.begin_ns), at)


def test_an_outage_is_measured_from_the_fault_to_calm() -> None:
    rows = seconds(*[{}] * 5, OUT, OUT, OUT, LATE, *[{}] * 4)
    effect = found(rows, span(5.2, 7.0))
    assert effect.publish_gap_s == effect.delivery_gap_s == 3.0
    assert effect.p99_worst_ms == 3000.0
    assert effect.normal_after_s == pytest.approx(9.0 - 5.2)


def test_a_fault_that_changes_nothing_is_normal_at_once() -> None:
    effect = found(seconds(*[{}] * 12), span(5.5, 6.0))
    assert (effect.publish_gap_s, effect.delivery_gap_s, effect.p99_worst_ms, effect.normal_after_s) == (0, 0, 5.0, 0.0)


def test_an_outage_that_never_ends_counts_with_its_length() -> None:
    effect = found(seconds(*[{}] * 5, *[OUT] * 7), span(5.0, 6.0))
    assert (effect.publish_gap_s, effect.p99_worst_ms, effect.normal_after_s) == (7.0, 7000.0, None)


def test_publishes_may_go_on_while_deliveries_do_not() -> None:
    rows = seconds(*[{}] * 4, {"received": 0}, {"received": 0}, *[{}] * 4)
    effect = found(rows, span(4.0, 5.0))
    assert (effect.publish_gap_s, effect.delivery_gap_s) == (0.0, 2.0)
    assert effect.normal_after_s == 2.0


def test_calm_while_a_node_is_down_is_no_end_if_its_return_disturbs_again() -> None:
    rows = seconds(*[{}] * 4, OUT, LATE, *[{}] * 5, {"p99_ms": 80.0}, *[{}] * 4)
    assert found(rows, span(4.0, 11.0)).normal_after_s == 8.0


def test_calm_that_lasts_through_the_return_counts_from_its_beginning() -> None:
    rows = seconds(*[{}] * 4, OUT, LATE, *[{}] * 9)
    assert found(rows, span(4.0, 11.0)).normal_after_s == 2.0


def test_two_calm_seconds_are_too_few() -> None:
    rows = seconds(*[{}] * 4, OUT, LATE, {}, {})
    assert found(rows, span(4.0, 5.0)).normal_after_s is None
    assert found([*rows, replace(CALM, from_ns=8 * NS, until_ns=9 * NS)], span(4.0, 5.0)).normal_after_s == 2.0


@pytest.mark.parametrize("change", [{"p99_ms": 11.0}, {"acked": 890}, {"received": 890}, {"p99_ms": None}])
def test_what_is_not_as_before_is_not_normal(change: dict[str, object]) -> None:
    assert found(seconds(*[{}] * 5, *[change] * 6), span(5.0, 6.0)).normal_after_s is None


@pytest.mark.parametrize("change", [{"p99_ms": 9.9}, {"acked": 910}, {"received": 910}])
def test_small_changes_are_normal(change: dict[str, object]) -> None:
    assert found(seconds(*[{}] * 5, *[change] * 6), span(5.0, 6.0)).normal_after_s == 0.0


def test_a_restless_system_is_held_to_its_own_worst_second() -> None:
    restless = seconds(*[{}] * 3, {"p99_ms": 40.0}, {}, *[{"p99_ms": 35.0}] * 6)
    assert found(restless, span(5.0, 6.0)).normal_after_s == 0.0


def test_of_several_faults_each_has_its_own_seconds() -> None:
    rows = seconds(*[{}] * 3, OUT, LATE, *[{}] * 4, OUT, OUT, {"failed": 7, "duplicated": 3}, *[{}] * 4)
    first, second = (
        found(rows, span(3.0, 4.0, 9.0)),
        compute_disruption(rows, normal_before(rows, 3 * NS), span(9.0, 11.0)),
    )
    assert (first.publish_gap_s, first.normal_after_s, first.failed) == (1.0, 2.0, 0)
    assert (second.publish_gap_s, second.failed, second.duplicated) == (2.0, 7, 3)
    assert second.normal_after_s == 2.0


def test_what_comes_after_the_window_counts_for_messages_only() -> None:
    """Producers stop then: a second without publishes is no outage, but a duplicate is one."""
    rows = seconds(*[{}] * 10, {**OUT, "duplicated": 2, "reordered": 1, "corrupt": 4})
    effect = found(rows, span(5.0, 6.0, end_s=10))
    assert (effect.publish_gap_s, effect.delivery_gap_s) == (0, 0)
    assert (effect.duplicated, effect.reordered, effect.corrupt) == (2, 1, 4)


def test_without_any_second_before_nothing_is_known_to_be_normal() -> None:
    rows = seconds(*[{}] * 8)
    normal = normal_before(rows, 0)
    assert normal.p99_ms is None
    assert compute_disruption(rows, normal, span(0.0, 1.0)).normal_after_s is None


def test_a_second_is_as_bad_as_the_subscription_that_received_least() -> None:
    figures = run_second()
    fast, slow = figures.subscriptions
    taken = load_second(replace(figures, subscriptions=(fast, replace(slow, received=0))))
    assert taken.received == 0, "that others still receive is no delivery to this one"
    assert (taken.acked, taken.duplicated, taken.reordered, taken.corrupt) == (19_990, 1, 2, 3)
