"""Each clause of a sustainable rate, held and broken, and how clearly."""

from __future__ import annotations

from dataclasses import replace

import pytest
from reasons import reasons_of
from search_results import ANY, QUICK, SPEC, result, subscription
from simulated_systems import latency, trial

from tidegauge.model.trial import LoadResult, Slope, Validity
from tidegauge.search.goals import GoalVerdict, PassFail, judge_goal


@pytest.mark.parametrize(
    ("measured", "outcome", "clause"),
    [
        (result(), PassFail.PASS, ""),
        (result(9_801.0), PassFail.PASS, ""),
        (result(9_600.0), PassFail.FAIL, "achieved 96 % of the offered rate"),
        (result(8_500.0), PassFail.CLEAR_FAIL, "achieved 85 % of the offered rate"),
        (result(growth=90.0), PassFail.PASS, ""),
        (result(growth=500.0), PassFail.FAIL, "backlog grew by 500 msg/s [450, 550] on sub-0"),
        (result(growth=1_200.0), PassFail.CLEAR_FAIL, "backlog grew by 1,200 msg/s [1,080, 1,320] on sub-0"),
        (subscription(backlog_growth=Slope(500.0, -20.0, 900.0)), PassFail.PASS, ""),
        (subscription(backlog_growth=None), PassFail.PASS, ""),
        (subscription(lost=3), PassFail.CLEAR_FAIL, "3 acknowledged messages got lost on sub-0"),
        (subscription(corrupt=1), PassFail.CLEAR_FAIL, "1 message arrived damaged on sub-0"),
        (subscription(backlog=7), PassFail.FAIL, "sub-0 was still 7 messages behind 10 s after the load ended"),
        (result(failed=900), PassFail.FAIL, "900 of 300,000 messages failed to be sent"),
        (result(failed=2), PassFail.PASS, ""),
        (
            result(validity=Validity.INVALID, reasons=reasons_of("too late", "more"), own_lag=latency(5.0, 110.0)),
            PassFail.UNDECIDED,
            "INVALID: too late",
        ),
        (result(9_000.0, validity=Validity.INVALID, reasons=reasons_of("late")), PassFail.UNDECIDED, "INVALID: late"),
        (
            result(growth=900.0, validity=Validity.INVALID, reasons=reasons_of("late")),
            PassFail.UNDECIDED,
            "INVALID: late",
        ),
        (result(validity=Validity.DOUBTFUL, reasons=reasons_of("a little late")), PassFail.PASS, ""),
    ],
)
def test_the_clauses_of_every_goal(measured: LoadResult, outcome: PassFail, clause: str) -> None:
    verdict = judge_goal(ANY, measured)
    assert (verdict.outcome, verdict.clause) == (outcome, clause)
    assert bool(verdict.kind) == bool(clause)


def test_limits_of_latency() -> None:
    assert judge_goal(QUICK, result()).outcome is PassFail.PASS
    slow = result(response=latency(2.0, 14.0))
    assert judge_goal(QUICK, slow).clause == "response p99 14 ms > 10 ms"
    assert judge_goal(QUICK, slow).outcome is PassFail.FAIL
    assert judge_goal(ANY, slow).outcome is PassFail.PASS
    assert judge_goal(QUICK, result(response=latency(12.0, 14.0))).outcome is PassFail.CLEAR_FAIL
    late = subscription(end_to_end=latency(2.0, 30.0))
    assert judge_goal(QUICK, late).clause == "end-to-end p99.9 60 ms > 50 ms on sub-0"
    (slow,) = late.subscriptions
    one_of_two = replace(late, subscriptions=(*result().subscriptions, replace(slow, name="sub-1")))
    assert judge_goal(QUICK, one_of_two).clause == "end-to-end p99.9 60 ms > 50 ms on sub-1"


def test_a_limit_without_samples_decides_nothing_but_a_broken_one_does() -> None:
    few = replace(latency(1.0, 3.0), count=200, p999_ms=None)
    verdict = judge_goal(QUICK, subscription(end_to_end=few))
    assert verdict.outcome is PassFail.UNDECIDED
    assert verdict.clause == "too few messages for a p99.9 (200); measure longer"
    broken = replace(subscription(end_to_end=few), response=latency(1.0, 11.0))
    assert judge_goal(QUICK, broken).outcome is PassFail.FAIL


def test_a_limit_within_what_clocks_leave_open_decides_nothing() -> None:
    def judged(low_ms: float, high_ms: float) -> GoalVerdict:
        bounds = {"end_to_end_low": latency(1.0, low_ms / 2), "end_to_end_high": latency(1.0, high_ms / 2)}
        # p99.9 is twice the p99 here; the middle is withheld.
        return judge_goal(QUICK, subscription(end_to_end=replace(latency(1.0, 20.0), p999_ms=None), **bounds))

    assert judged(30.0, 49.0).outcome is PassFail.PASS
    assert judged(51.0, 90.0).clause == "end-to-end p99.9 51 ms > 50 ms on sub-0"
    between = judged(40.0, 60.0)
    assert (between.outcome, between.kind) == (PassFail.UNDECIDED, "clocks")
    assert between.clause == "clocks of load hosts leave end-to-end p99.9 at 40 to 60 ms on sub-0"


def test_a_small_lag_of_the_generator_may_break_a_limit_and_spoils_no_clause_that_holds() -> None:
    lagging = result(validity=Validity.INVALID, reasons=reasons_of("late"), own_lag=latency(0.1, 8.0))
    assert judge_goal(ANY, lagging).outcome is PassFail.PASS
    assert judge_goal(QUICK, lagging).outcome is PassFail.PASS
    slow = replace(lagging, response=latency(1.0, 14.0))
    assert judge_goal(ANY, slow).outcome is PassFail.PASS
    assert judge_goal(QUICK, slow).outcome is PassFail.UNDECIDED


def test_few_messages_may_miss_the_rate_by_chance() -> None:
    slow = replace(SPEC, msgs_per_s=10.0)
    assert judge_goal(ANY, trial(slow, 9.0)).outcome is PassFail.PASS
    assert judge_goal(ANY, trial(slow, 5.0)).outcome is PassFail.CLEAR_FAIL


def test_goals_read_as_they_are_meant() -> None:
    assert str(ANY) == "no limit"
    assert str(QUICK) == "quick (response p99 <= 10 ms, end-to-end p99.9 <= 50 ms)"
