"""Each validity rule: a trial that it lets pass, and one that it doesn't."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from reasons import texts_of
from verdict_samples import BEHIND, NOTHING, busy, judged, latency, sending, slow, subscription, worker

from tidegauge.model.reason import ReasonKind
from tidegauge.model.trial import BusyConsumer, Latency, Validity
from tidegauge.numbers import rounded
from tidegauge.statistics.classify import (
    FAILED_CHECK,
    OK,
    TrialVerdict,
)
from tidegauge.statistics.steady import too_short_to_judge


def test_a_clean_trial_is_valid_and_says_nothing() -> None:
    assert judged() == TrialVerdict(OK, Validity.VALID, (), ())


def test_a_rate_above_70_percent_of_what_the_generator_makes_says_so() -> None:
    assert judged(generators_msgs_per_s=1000 / 0.69).warnings == ()
    (warning,) = texts_of(judged(generators_msgs_per_s=1000 / 0.71).warnings)
    assert warning == (
        "the rate was near the load generator's own limit: 71% of the 1,408 msg/s that can be made and checked here, "
        "so delays may be the generator's"
    )
    assert judged(generators_msgs_per_s=1000 / 1.3).warnings == (), "what is beaten by so much was too low"
    closed = {"closed_loop": True, "offered_msgs_per_s": None, "generators_msgs_per_s": 1250.0}
    assert texts_of(judged(**closed).warnings) == (
        "the rate was near the load generator's own limit: 80% of the 1,250 msg/s that can be made and checked here, "
        "so the system may do more",
    )
    (held_back,) = texts_of(judged(**closed, blocked_share=0.05).warnings)
    assert held_back.startswith("producers waited for the system 5% of the time only")


@pytest.mark.parametrize(
    ("own_lag", "validity"),
    [
        (latency(0.005, 0.9), Validity.VALID),  # below the floor
        (latency(0.005, 3.0), Validity.VALID),  # 15 % of p99
        (latency(0.005, 5.0), Validity.DOUBTFUL),  # 25 %
        (latency(0.005, 12.0), Validity.INVALID),  # 60 %
        (latency(3.0, 3.0), Validity.INVALID),  # 75 % of p50
        (latency(1.2, 3.0), Validity.DOUBTFUL),  # 30 % of p50
    ],
)
def test_own_lag_is_held_against_the_response(own_lag: Latency, validity: Validity) -> None:
    verdict = judged(own_lag=own_lag)
    assert verdict.validity is validity
    assert verdict.status == OK
    assert (len(verdict.reasons) == 1) == (validity is not Validity.VALID)


@pytest.mark.parametrize(
    ("changes", "validity"),
    [
        ({"achieved_msgs_per_s": 500.0, "blocked_share": 0.9, "unresolved": 100_000}, Validity.DOUBTFUL),
        ({"achieved_msgs_per_s": 0.0, "blocked_share": 0.9, "unresolved": 100_000}, Validity.INVALID),
        ({"achieved_msgs_per_s": 500.0, "blocked_share": 0.1, "unresolved": 100_000}, Validity.INVALID),
        ({"achieved_msgs_per_s": 500.0, "blocked_share": 0.9, "closed_loop": True}, Validity.INVALID),
    ],
)
def test_a_system_that_is_behind_for_longer_than_the_window_is_slow_and_not_unmeasured(
    changes: dict[str, Any], validity: Validity
) -> None:
    verdict = judged(response=NOTHING, own_lag=NOTHING, **changes)
    assert verdict.validity is validity
    if validity is Validity.INVALID:
        assert str(verdict.reasons[0]) == "no message of the measured window was acknowledged"
    else:
        assert "100,000 messages never had an outcome" in str(verdict.reasons[0])


@pytest.mark.parametrize(
    ("one", "end_to_end", "validity"),
    [
        (busy(), latency(4.0, 20.0), Validity.VALID),  # it keeps up
        (busy(), latency(7.0, 39.0), Validity.VALID),  # 43 % of p50, 49 % of p99
        (busy(), latency(8.5, 39.0), Validity.INVALID),  # 53 % of p50
        (busy(), latency(4.1, 41.0), Validity.INVALID),  # 51 % of p99
        (busy(2), latency(4.1, 41.0), Validity.INVALID),
        (busy(1), latency(4.1, 41.0), Validity.VALID),  # one second
        (busy(5, 30), latency(4.1, 41.0), Validity.VALID),  # 17 % of the seconds
        (busy(6, 30), latency(4.1, 41.0), Validity.INVALID),
        (busy(1, 1), latency(4.1, 41.0), Validity.INVALID),  # all that was measured
        (busy(waiting_ms=0.9), latency(8.5, 41.0), Validity.VALID),  # nothing waited for it
    ],
)
def test_a_busy_consumer_spoils_what_is_beyond_the_response(
    one: BusyConsumer, end_to_end: Latency, validity: Validity
) -> None:
    # Sent long before it was received, so that this rule alone decides.
    end_to_end = replace(end_to_end, mean_ms=1000.0)
    assert judged(**slow(end_to_end)).validity is Validity.VALID
    assert judged(busy_consumers=(one,), **slow(end_to_end)).validity is validity


@pytest.mark.parametrize(
    ("waiting_ms", "delay_mean_ms", "validity"),
    [
        (60.0, 900.0, Validity.INVALID),  # 60 of 100 ms
        (40.0, 900.0, Validity.VALID),
        (60.0, 800.0, Validity.VALID),  # 60 of 200 ms: the system took the rest
    ],
)
def test_slow_consumers_of_a_bounded_queue_are_known_by_littles_law(
    waiting_ms: float, delay_mean_ms: float, validity: Validity
) -> None:
    response, end_to_end = latency(950.0, 1900.0), replace(latency(1000.0, 1999.0), mean_ms=1000.0)
    delay = replace(latency(900.0, 1800.0), mean_ms=delay_mean_ms)
    verdict = judged(response=response, delay=delay, busy_consumers=(busy(waiting_ms=waiting_ms),), **slow(end_to_end))
    assert verdict.validity is validity
    if validity is Validity.INVALID:
        words = "messages waited 60 ms for it in those seconds, where sending to receipt took 100 ms on average"
        assert words in str(verdict.reasons[0])


def test_messages_that_were_never_received_do_not_make_littles_law_blame_a_consumer() -> None:
    """They are in the mean of the delay only, which may then be above that of end-to-end."""
    response, end_to_end = latency(950.0, 1900.0), replace(latency(1000.0, 1999.0), mean_ms=1000.0)
    delay = replace(latency(900.0, 1800.0), mean_ms=1300.0)
    assert judged(response=response, delay=delay, busy_consumers=(busy(),), **slow(end_to_end)).reasons == ()


def test_consumers_that_are_furthest_behind_by_turns_add_up() -> None:
    one = busy(1)
    names = [f"sub-{number}" for number in range(3)]
    subscriptions = tuple(replace(subscription(end_to_end=latency(9.0, 41.0)), name=name) for name in names)
    turns = tuple(replace(one, subscription=name, name=f"{name} consumer 0") for name in names)
    assert judged(subscriptions=subscriptions, busy_consumers=turns[:1]).validity is Validity.VALID
    verdict = judged(subscriptions=subscriptions, busy_consumers=turns)
    assert verdict.validity is Validity.INVALID
    assert "sub-0 consumer 0" in str(verdict.reasons[0])


def test_the_reason_names_the_consumer_and_what_to_do() -> None:
    (reason,) = judged(busy_consumers=(busy(8),), **slow(latency(9.0, 41.0))).reasons
    assert reason.kind is ReasonKind.BUSY_CONSUMER
    assert "not the system's: sub-0 consumer 1 had no time left in 8 of 10 s, and " in reason.text
    assert reason.text.endswith("end-to-end p50 is 9 ms where the response is 4 ms")
    assert str(reason) == f"{reason.text} ({reason.remedy})"
    assert reason.remedy.startswith("give it more consumers per subscription (each with a partition, unless")


def test_a_busy_consumer_of_another_subscription_is_not_blamed() -> None:
    other = replace(busy(), subscription="sub-1", name="sub-1 consumer 0")
    assert judged(busy_consumers=(other,), **slow(latency(9.0, 41.0))).validity is Validity.VALID


def test_a_few_busy_seconds_and_those_after_a_fault_are_reported() -> None:
    few = judged(busy_consumers=(busy(1),), **slow(latency(4.1, 41.0)))
    assert few.validity is Validity.VALID
    assert str(few.warnings[0]).startswith("sub-0 consumer 1 of the load generator had no time left in 1 of 10 s")
    after = judged(busy_consumers=(busy(),), faults=1, **slow(latency(4.1, 41.0)))
    assert after.validity is Validity.VALID
    assert any("had no time left in 10 of 10 s" in warning for warning in texts_of(after.warnings))


def test_own_lag_and_busy_consumers_are_both_named() -> None:
    verdict = judged(own_lag=latency(0.005, 12.0), busy_consumers=(busy(),), **slow(latency(9.0, 41.0)))
    assert [reason.split(",")[0].split(":")[0] for reason in texts_of(verdict.reasons)] == [
        "the load generator itself was late",
        "the load generator's own consumers were too slow",
    ]


def test_own_lag_counts_at_p95_too() -> None:
    lag, slow_tail = replace(latency(0.005, 3.0), p95_ms=2.0), replace(latency(), p95_ms=3.0)
    verdict = judged(own_lag=lag, response=slow_tail)
    assert verdict.validity is Validity.INVALID
    assert "its own lag at p95 is 2 ms of a response of 3 ms" in str(verdict.reasons[0])


def test_a_tail_that_is_the_generators_is_said() -> None:
    lag = replace(latency(0.005, 0.9), p999_ms=30.0, max_ms=40.0)
    verdict = judged(own_lag=lag)
    assert verdict.validity is Validity.VALID
    assert "p99.9 and the maximum are not the system's" in str(verdict.warnings[0])
    assert judged(own_lag=replace(lag, p999_ms=5.0)).warnings == ()
    longer = judged(own_lag=lag, response=replace(latency(), max_ms=500.0))
    assert str(longer.warnings[0]).startswith("p99.9 is not the system's"), "the longest wait was for the system"


def test_a_closed_loop_that_never_waits_has_found_the_generators_limit() -> None:
    loop = {"closed_loop": True, "offered_msgs_per_s": None}
    assert "the system may do more" in str(judged(**loop, blocked_share=0.02).warnings[0])
    assert judged(**loop, blocked_share=0.3).warnings == ()
    assert judged(blocked_share=0.0).warnings == ()


def test_the_reason_names_the_percentile_and_both_times() -> None:
    assert "its own lag at p99 is 12 ms of a response of 20 ms" in str(judged(own_lag=latency(0.005, 12.0)).reasons[0])
    assert "its own lag at p50 is 3 ms of a response of 4 ms" in str(judged(own_lag=latency(3.0, 3.0)).reasons[0])


def test_the_same_lag_spoils_a_fast_system_and_not_a_slow_one() -> None:
    lag = latency(0.005, 2.0)
    assert judged(own_lag=lag, response=latency(1.0, 3.0)).validity is Validity.INVALID
    assert judged(own_lag=lag, response=latency(10.0, 50.0)).validity is Validity.VALID


@pytest.mark.parametrize(
    ("lag_ms", "response_ms", "validity"),
    [
        (0.3, 0.5, Validity.DOUBTFUL),  # 60 % of it
        (0.9, 1.0, Validity.DOUBTFUL),  # 90 %, but below the floor of INVALID
        (0.3, 0.7, Validity.VALID),  # 43 %
        (0.15, 0.2, Validity.VALID),  # the resolution of scheduling
        (1.1, 1.5, Validity.INVALID),  # at the floor as before
    ],
)
def test_a_small_lag_of_a_very_fast_system_is_a_doubt(lag_ms: float, response_ms: float, validity: Validity) -> None:
    lag, response = (replace(latency(0.005, ms), p95_ms=0.01) for ms in (lag_ms, response_ms))
    verdict = judged(own_lag=lag, response=replace(response, p50_ms=1.0, p95_ms=1.0))
    assert verdict.validity is validity
    assert len(verdict.reasons) == (validity is not Validity.VALID)
    if verdict.reasons:
        assert f"its own lag at p99 is {lag_ms:g} ms of a response of {response_ms:g} ms" in str(verdict.reasons[0])


def test_a_closed_loop_has_no_own_lag() -> None:
    assert judged(closed_loop=True, offered_msgs_per_s=None, own_lag=latency(50, 50)).validity is Validity.VALID


def test_without_enough_samples_own_lag_is_not_judged() -> None:
    few = Latency(5, 1.0, None, None, None, None, 2.0)
    assert judged(own_lag=few, response=few).validity is Validity.VALID


def test_nothing_acknowledged_is_invalid() -> None:
    verdict = judged(response=Latency(0, 0.0, None, None, None, None, 0.0))
    assert verdict.validity is Validity.INVALID
    assert texts_of(verdict.reasons) == ("no message of the measured window was acknowledged",)


@pytest.mark.parametrize("changes", [{"lost": 1}, {"corrupt": 2}])
def test_loss_and_damage_fail_the_check(changes: dict[str, int]) -> None:
    verdict = judged(subscriptions=(subscription(), subscription(name="sub-1", **changes)))
    assert verdict.status == FAILED_CHECK
    assert verdict.validity is Validity.DOUBTFUL
    assert "sub-1" in str(verdict.reasons[0])


def test_loss_fails_the_check_of_a_closed_loop_too() -> None:
    verdict = judged(closed_loop=True, offered_msgs_per_s=None, subscriptions=(subscription(lost=1),))
    assert verdict.status == FAILED_CHECK


def test_what_is_missing_when_time_ran_out_was_not_looked_for() -> None:
    cut_off = judged(subscriptions=(subscription(backlog=9),), drain_end="limit")
    assert cut_off.status == OK
    assert cut_off.validity is Validity.DOUBTFUL
    assert "9 messages behind" in str(cut_off.reasons[0])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"late": 1}, "1 acknowledged message not delivered in time (sub-0), but is in the topic"),
        (
            {"untraced": 2, "untraced_why": "no broker answered"},
            "2 acknowledged messages not delivered in time (sub-0), and whether they are lost is not known: "
            "no broker answered",
        ),
    ],
)
def test_what_is_late_or_untraced_is_a_doubt_and_no_loss(changes: dict[str, Any], words: str) -> None:
    verdict = judged(subscriptions=(subscription(backlog=2, **changes),), drain_end="idle")
    assert (verdict.status, verdict.validity, texts_of(verdict.reasons)) == (OK, Validity.DOUBTFUL, (words,))


def test_how_servers_say_that_a_topic_is_gone_stands_beside_what_it_cost() -> None:
    verdict = judged(subscriptions=(subscription(lost=2, lost_why="Kafka has no topic t any more"),))
    assert verdict.status == FAILED_CHECK
    assert texts_of(verdict.reasons) == ("2 acknowledged messages got lost (sub-0); Kafka has no topic t any more",)


def test_messages_without_an_outcome() -> None:
    assert judged(failed=99).validity is Validity.VALID
    assert texts_of(judged(failed=99).warnings) == ("99 messages failed",)
    many = judged(failed=60, unresolved=40)
    assert many.validity is Validity.DOUBTFUL
    assert many.warnings == ()


def test_invalid_and_doubtful_reasons_are_all_kept() -> None:
    verdict = judged(own_lag=latency(0.005, 15.0), subscriptions=(subscription(lost=1),))
    assert verdict.validity is Validity.INVALID
    assert verdict.status == FAILED_CHECK
    assert len(verdict.reasons) == 2


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"achieved_msgs_per_s": 970.0}, "the system did not keep up: 970 of 1,000 msg/s (97%)"),
        ({"unsteady": "the rate is rising"}, "the warm-up never became steady: the rate is rising"),
        ({"backlog_grew": True}, "consumers fell ever further behind"),
        ({"drift": "the p99 was rising, by 40%"}, "not steady while measured: the p99 was rising"),
        ({"cpu_wait_share": 0.5}, "waited for a CPU"),
        ({"gc_share": 0.08}, "8% of the window in garbage collection"),
        ({"jit_cpus": 0.34}, "still being compiled while measured: its JIT compiler took 0.34 of a CPU"),
        ({"jit_cpus": 0.05, "cold": "its delay falls"}, "the load generator never became warm: its delay falls"),
        ({"subscriptions": (subscription(duplicated=3),)}, "3 messages arrived more than once (sub-0)"),
        ({"subscriptions": (subscription(reordered=3),)}, "3 messages arrived out of order (sub-0)"),
        ({"subscriptions": (subscription(foreign=3),)}, "3 messages did not belong to this trial (sub-0)"),
        ({"subscriptions": (subscription(negative_latency=3),)}, "the clock is in doubt"),
    ],
)
def test_a_valid_trial_may_carry_warnings(changes: dict[str, Any], says: str) -> None:
    verdict = judged(**changes)
    assert verdict.validity is Validity.VALID
    assert verdict.status == OK
    assert len(verdict.warnings) == 1
    assert says in str(verdict.warnings[0])


def test_working_off_what_was_queued_before_is_a_doubt_that_says_what_to_do() -> None:
    verdict = judged(catching_up=BEHIND)
    assert (verdict.validity, verdict.status) == (Validity.DOUBTFUL, OK)
    assert texts_of(verdict.reasons) == (
        f"the system was still catching up with what was queued before the window: {BEHIND}, so latencies are in part "
        "those of the start (allow it a longer warm-up, or offer a lower rate)",
    )


@pytest.mark.parametrize("changes", [{"closed_loop": True, "offered_msgs_per_s": None}, {"faults": 1}])
def test_where_nothing_is_scheduled_and_after_faults_it_is_none(changes: dict[str, Any]) -> None:
    assert judged(catching_up=BEHIND, **changes).validity is Validity.VALID


def test_a_rate_within_two_percent_counts_as_achieved() -> None:
    assert judged(achieved_msgs_per_s=985.0).warnings == ()
    assert judged(achieved_msgs_per_s=1015.0).warnings == ()


def test_few_messages_differ_from_their_rate_by_chance() -> None:
    assert judged(achieved_msgs_per_s=1030.0, window_intended=30).warnings == ()
    assert judged(achieved_msgs_per_s=970.0, window_intended=3000).warnings == ()
    assert "did not keep up" in str(judged(achieved_msgs_per_s=300.0, window_intended=30).warnings[0])


def test_a_warm_up_that_was_too_short_to_judge_is_not_called_unsteady() -> None:
    seen = "fewer than 6 whole seconds seen"
    assert texts_of(judged(unsteady=seen, too_short=too_short_to_judge(4.0)).warnings) == (
        "the warm-up was too short to judge (at most 4 s; 7 s are needed)",
    )
    assert texts_of(judged(unsteady=seen, too_short=too_short_to_judge(7.0)).warnings) == (
        f"the warm-up never became steady: {seen}",
    )


@pytest.mark.parametrize(
    ("value", "digits", "shown"),
    [
        (99.6, 2, "100"),
        (37.5, 2, "38"),
        (1.234, 2, "1.2"),
        (1234.5, 3, "1,234"),
        (0.0123, 3, "0.0123"),
    ],
)
def test_numbers_in_sentences_have_no_exponent(value: float, digits: int, shown: str) -> None:
    assert rounded(value, digits) == shown


def test_one_late_worker_of_several_makes_the_trial_invalid_and_is_named() -> None:
    """Of all messages together the lag is below the floor: the others are calm."""
    calm, late = latency(0.005, 0.5), latency(0.005, 12.0)
    workers = (worker(1, calm), worker(2, late), worker(3, calm))
    verdict = judged(workers=workers)
    assert verdict.validity is Validity.INVALID
    assert "the own lag of load generator 2 of 3 at p99 is 12 ms of a response of 20 ms" in str(verdict.reasons[0])
    assert judged(workers=workers[::2]) == judged()
    # Against its own response, not that of all.
    slow = replace(workers[1], response=latency(40.0, 200.0))
    assert judged(workers=(workers[0], slow)).validity is Validity.VALID


def test_the_late_worker_is_named_though_all_messages_together_look_a_little_worse() -> None:
    calm, late = latency(0.005, 0.5), latency(0.005, 12.0)
    verdict = judged(own_lag=latency(0.005, 13.0), workers=(worker(1, calm), worker(2, late), worker(3, calm)))
    assert "the own lag of load generator 2 of 3 at p99 is 12 ms of a response of 20 ms" in str(verdict.reasons[0])
    # Not where nobody deserves the verdict alone.
    doubtful = latency(0.005, 8.0)
    verdict = judged(own_lag=late, workers=(worker(1, doubtful), worker(2, doubtful)))
    assert (verdict.validity, len(verdict.reasons)) == (Validity.INVALID, 1)
    assert "its own lag at p99 is 12 ms of a response of 20 ms" in str(verdict.reasons[0])


def test_a_load_generator_that_is_held_back_beside_others_is_not_the_system() -> None:
    hosts = {"worker_hosts": ("10.7.0.5", "10.7.0.6")}
    verdict = judged(workers=(sending(1, 500.0), sending(2, 250.0)), achieved_msgs_per_s=750.0, **hosts)
    assert verdict.validity is Validity.INVALID
    (reason,) = texts_of(verdict.reasons)
    assert reason.startswith(
        "load generator 2 of 2 on 10.7.0.6 got through 250 of its 500 msg/s while others got through all of theirs: "
        "its host or link was slow, and not the system"
    )
    # And the system is not said to be slow.
    assert texts_of(verdict.warnings) == ("the offered rate was not reached: 750 of 1,000 msg/s (75%)",)


@pytest.mark.parametrize(
    ("rates", "changes"),
    [
        ((500.0, 460.0), {}),  # 8 %
        ((250.0, 250.0), {}),  # all alike: the system
        ((440.0, 250.0), {}),  # nobody had all
        ((500.0, 250.0), {"faults": 1}),
        ((500.0, 250.0), {"closed_loop": True}),
    ],
)
def test_load_generators_that_differ_for_other_reasons_spoil_nothing(
    rates: tuple[float, float], changes: dict[str, Any]
) -> None:
    workers = tuple(sending(number, rate) for number, rate in enumerate(rates, 1))
    assert judged(workers=workers, achieved_msgs_per_s=sum(rates), **changes).validity is Validity.VALID


def test_a_load_generator_with_topics_of_its_own_may_have_slow_servers() -> None:
    verdict = judged(
        workers=(sending(1, 500.0), sending(2, 250.0)), achieved_msgs_per_s=750.0, workers_share_topics=False
    )
    assert verdict.validity is Validity.DOUBTFUL
    assert "slow, or the servers of topics that others do not send to" in str(verdict.reasons[0])


def test_a_load_generator_far_from_the_servers_is_named() -> None:
    far = sending(2, 500.0, response=latency(22.4, 70.0))
    (warning,) = texts_of(judged(workers=(sending(1, 500.0), far)).warnings)
    assert warning.startswith(
        "half of the acknowledgements took load generator 2 of 2 22.4 ms, where the quickest load generator had them "
        "in 4 ms"
    )
    near = sending(2, 500.0, response=latency(11.0, 70.0))
    assert judged(workers=(sending(1, 500.0), near)).warnings == ()


def test_the_worker_that_waits_or_collects_most_is_named() -> None:
    calm = latency(0.005, 0.5)
    workers = (worker(1, calm, gc_pause_s=0.7), worker(2, calm, cpu_wait_s=3.0), worker(3, calm))
    verdict = judged(workers=workers, gc_share=0.07, cpu_wait_share=0.3)
    waited = "in each second, summed over them (load generator 2 of 3)"
    assert any(waited in warning for warning in texts_of(verdict.warnings))
    assert any(warning.startswith("load generator 1 of 3 spent 7%") for warning in texts_of(verdict.warnings))


def test_of_several_late_workers_the_latest_is_named_first_and_the_others_with_it() -> None:
    """The one that stands still makes others on its host late, and theirs may be the larger share."""
    latest = worker(2, latency(0.005, 900.0), response=latency(10.0, 950.0))
    workers = (worker(1, latency(0.005, 0.5)), latest, worker(3, latency(0.005, 19.8)))
    verdict = judged(workers=workers)
    words = "of load generator 2 of 3 at p99 is 900 ms of a response of 950 ms; likewise load generator 3 of 3 ("
    assert words in str(verdict.reasons[0])


def test_more_acknowledged_than_due_is_the_debt_of_the_warm_up() -> None:
    verdict = judged(offered_msgs_per_s=5_000.0, achieved_msgs_per_s=5_572.0, window_intended=40_000)
    assert verdict.validity is Validity.DOUBTFUL
    assert "5,572 msg/s were acknowledged though 5,000 were due" in str(verdict.reasons[0])
    within = judged(offered_msgs_per_s=5_000.0, achieved_msgs_per_s=5_090.0, window_intended=40_000)
    assert within.validity is Validity.VALID
    # Of few messages one more or less is chance.
    assert judged(offered_msgs_per_s=3.0, achieved_msgs_per_s=3.4, window_intended=30).validity is Validity.VALID


def test_what_was_never_sent_is_told_from_what_was_never_answered() -> None:
    verdict = judged(window_intended=100_000, unresolved=700, never_sent=400, failed=50)
    assert "50 messages failed, 400 were due and never sent and 300 never had an outcome" in str(verdict.reasons[0])
