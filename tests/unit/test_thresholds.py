"""Thresholds: how they are written, what is refused with which words, and what becomes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from run_samples import latency
from threshold_samples import latencies, rates, ruled

from tidegauge.model.finding import Finding
from tidegauge.model.trial import LoadResult, Validity
from tidegauge.model.workload import LateReaders
from tidegauge.thresholds import KnownNames, Threshold, ThresholdOutcome, parse_threshold, repeats_may_decide

KNOWN = KnownNames(
    ["peak", "latency"], ["kafka", "pulsar@4.2.4"], {"partitions": ["1", "100"], "rate": ["half load", "2k"]}
)


def test_the_three_of_the_issue() -> None:
    assert parse_threshold("response_ms_p99 < 10", KNOWN) == Threshold(
        "response_ms_p99 < 10", "response_ms_p99", "<", 10.0
    )
    assert parse_threshold("lost == 0", KNOWN).operator == "=="
    made = parse_threshold("ratio(kafka, pulsar).msgs_per_s > 0.9", KNOWN)
    assert (made.above, made.below, made.figure, made.limit) == ("kafka", "pulsar", "msgs_per_s", 0.9)


def test_scopes_and_free_spacing() -> None:
    made = parse_threshold("  response_ms_p50<=1.5e1   in latency of pulsar at partitions=100 ", KNOWN)
    assert made.text == "response_ms_p50<=1.5e1 in latency of pulsar at partitions=100"
    assert (made.experiment, made.system, made.point, made.limit) == ("latency", "pulsar", {"partitions": "100"}, 15.0)
    assert (
        parse_threshold("ratio( kafka ,pulsar@4.2.4 ) . response_ms_p99 >= 2 in latency", KNOWN).below == "pulsar@4.2.4"
    )
    both = {"partitions": "1", "rate": "half load"}
    assert parse_threshold("lost == 0 at partitions=1", KNOWN).point == {"partitions": "1"}
    assert parse_threshold('lost == 0 at partitions=1,rate="half load"', KNOWN).point == both
    assert parse_threshold('lost == 0 at rate="half load" at partitions=1', KNOWN).point == both


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (7, "must be text: FIGURE OPERATOR NUMBER"),
        ("", "must be FIGURE OPERATOR NUMBER"),
        ("response_ms_p99", "must be FIGURE OPERATOR NUMBER"),
        ("response_p99 < 10", "unknown figure 'response_p99' (did you mean 'response_ms_p99'?); near it are "),
        ("response-p99 < 10", "unknown figure 'response-p99' (did you mean 'response_ms_p99'?)"),
        ("response_ms_p99 < 10ms", "'10ms' is no number; write it without a unit"),
        ("response_ms_p99 < nan", "'nan' is no number"),
        ("response_ms_p99 < 1_0", "'1_0' is no number"),
        ("response_ms_p99 < -1", "no figure is below 0"),
        ("lost < 0", "no figure is below 0"),
        ("response_ms_p99 => 10", "'=>' is no comparison; there are !=, <, <=, ==, >, >="),
        ("response_ms_p99 == 10", "never exactly equal"),
        ("sustainable_msgs_per_s != 10", "never exactly equal"),
        ("ratio(kafka, pulsar).lost == 0", "'lost' is a count"),
        ("ratio(kafka).msgs_per_s > 1", "a ratio is written ratio(SYSTEM, SYSTEM).FIGURE"),
        ("ratio(kafka, rabbit).msgs_per_s > 1", "no system 'rabbit'; it has kafka, pulsar, pulsar@4.2.4"),
        ("ratio(kafka, pulsar).msgs_per_s > 1 of kafka", "names its two systems already"),
        ("lost == 0 of kafkaa", "no system 'kafkaa' (did you mean 'kafka'?)"),
        ("lost == 0 of pulsar@4.0.8", "no system 'pulsar@4.0.8' (did you mean 'pulsar@4.2.4'?)"),
        ("lost == 0 in latancy", "no experiment 'latancy' (did you mean 'latency'?); it has peak, latency"),
        ("lost == 0 in latency in peak", "'in' is given twice"),
        ("lost == 0 on kafka", "'on kafka' is not understood"),
        ("lost == 0 kafka", "'kafka' is not understood"),
        ("lost == 0 at partition=1", "no swept key 'partition' (did you mean 'partitions'?); it has partitions, rate"),
        ("lost == 0 at partitions=10", "no value of partitions '10'"),
        ("lost == 0 at partitions", "written KEY=VALUE"),
    ],
)
def test_what_is_wrong_is_reported(text: object, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_threshold(text, KNOWN)
    assert message in str(caught.value)


def outcome(text: str, results: Sequence[LoadResult], **asked: object) -> ThresholdOutcome:
    (found,) = ruled(text, results, (), **asked)
    return found.outcome


@pytest.mark.parametrize(
    ("limit", "expected"), [(9.0, ThresholdOutcome.MET), (7.0, ThresholdOutcome.MISSED), (7.8, ThresholdOutcome.MISSED)]
)
def test_a_single_trial_decides_by_itself(limit: float, expected: ThresholdOutcome) -> None:
    assert outcome(f"response_ms_p99 < {limit}", latencies(1.0)) is expected


def test_doubtful_figures_decide_and_say_so() -> None:
    (found,) = ruled("response_ms_p99 < 9", latencies(1.0, validity=Validity.DOUBTFUL))
    assert (found.outcome, found.why) == (ThresholdOutcome.MET, "response p99 7.8 ms, 1 block (DOUBTFUL)")
    both = [*latencies(1.0), *latencies(2.0, system="pulsar@4.2.4", validity=Validity.DOUBTFUL)]
    kafka, pulsar = ruled("response_ms_p99 < 90", both)
    assert ("DOUBTFUL" in kafka.why, "DOUBTFUL" in pulsar.why) == (False, True)
    assert "DOUBTFUL" in ruled("ratio(kafka, pulsar).response_ms_p99 < 1", both)[0].why


def test_two_trials_decide_where_they_agree() -> None:
    assert outcome("response_ms_p99 < 9", latencies(1.0, 1.1)) is ThresholdOutcome.MET
    assert outcome("response_ms_p99 < 7", latencies(1.0, 1.1)) is ThresholdOutcome.MISSED
    (found,) = ruled("response_ms_p99 < 8", latencies(1.0, 1.1))
    assert found.outcome is ThresholdOutcome.NOT_DECIDED
    assert "2 blocks, which differ on it" in found.why


def test_from_three_blocks_on_the_whole_interval_must_hold() -> None:
    results = latencies(1.0, 1.05, 0.95, 1.02, 0.98)
    (found,) = ruled("response_ms_p99 < 8.3", results)
    assert found.outcome is ThresholdOutcome.MET
    assert found.interval is not None
    assert found.interval.low < 7.8 < found.interval.high
    assert "response p99 7.8 ms [7.44, 8.17]" in found.why
    assert "5 blocks" in found.why
    assert outcome("response_ms_p99 < 7.3", results) is ThresholdOutcome.MISSED
    (between,) = ruled("response_ms_p99 < 7.9", results)
    assert between.outcome is ThresholdOutcome.NOT_DECIDED
    assert "the limit lies between" in between.why


def test_counts_are_asked_of_every_trial_the_invalid_ones_too() -> None:
    good = latencies(1.0, 1.0, 1.0)
    assert outcome("lost == 0", good) is ThresholdOutcome.MET
    (sub,) = good[1].subscriptions
    bad = replace(good[1], subscriptions=(replace(sub, lost=3),), validity=Validity.INVALID)
    (found,) = ruled("lost == 0", [good[0], bad, good[2]])
    assert found.outcome is ThresholdOutcome.MISSED
    assert found.why == "3 lost messages in the worst of 3 trials"
    assert outcome("lost < 5", [good[0], bad, good[2]]) is ThresholdOutcome.MET


def test_what_arrived_twice_is_not_lost() -> None:
    (good,) = latencies(1.0)
    (sub,) = good.subscriptions
    twice = replace(good, subscriptions=(replace(sub, duplicated=5),))
    assert outcome("lost == 0", [twice]) is ThresholdOutcome.MET
    assert outcome("duplicated == 0", [twice]) is ThresholdOutcome.MISSED


def test_how_long_late_readers_were_made_to_wait_is_no_latency_of_the_system() -> None:
    (good,) = latencies(1.0)
    (sub,) = good.subscriptions
    subscriptions = (sub, replace(sub, name="sub-1", end_to_end=latency(1000.0)))
    late = replace(good.spec, late=LateReaders(1, 1000, "1000 messages", 0.99, 60.0))
    assert outcome("end_to_end_ms_p99 < 100", [replace(good, subscriptions=subscriptions)]) is ThresholdOutcome.MISSED
    assert (
        outcome("end_to_end_ms_p99 < 100", [replace(good, subscriptions=subscriptions, spec=late)])
        is ThresholdOutcome.MET
    )


def test_loss_that_could_not_be_judged_is_not_taken_for_none() -> None:
    (good,) = latencies(1.0)
    (sub,) = good.subscriptions
    behind = replace(good, subscriptions=(replace(sub, backlog=40),))
    (found,) = ruled("lost == 0", [behind])
    assert found.outcome is ThresholdOutcome.NOT_DECIDED
    assert ": not known for the only trial" in found.why
    assert outcome("backlog < 50", [behind]) is ThresholdOutcome.MET


def test_each_system_is_asked_unless_one_is_named() -> None:
    results = [*latencies(1.0), *latencies(2.0, system="pulsar@4.2.4")]
    assert [(ruling.subject, ruling.outcome) for ruling in ruled("response_ms_p99 < 9", results)] == [
        ("kafka@4.3.1", ThresholdOutcome.MET),
        ("pulsar@4.2.4", ThresholdOutcome.MISSED),
    ]
    assert [ruling.subject for ruling in ruled("response_ms_p99 < 9 of kafka", results)] == ["kafka@4.3.1"]
    assert [ruling.subject for ruling in ruled("response_ms_p99 < 9 of pulsar@4.2.4", results)] == ["pulsar@4.2.4"]
    # A version is meant whole: 4.2 is not 4.2.4.
    assert [ruling.subject for ruling in ruled("response_ms_p99 < 9 of pulsar@4.2", results)] == [""]


def test_ratios_are_paired_by_block() -> None:
    noise = (1.0, 3.0, 0.4, 2.0)
    results = [*latencies(*noise), *latencies(*[0.5 * value for value in noise], system="pulsar@4.2.4")]
    (found,) = ruled("ratio(pulsar, kafka).response_ms_p99 < 0.6", results)
    assert found.outcome is ThresholdOutcome.MET
    assert found.subject == "pulsar@4.2.4 over kafka@4.3.1"
    assert found.value == pytest.approx(0.5)
    assert outcome("ratio(kafka, pulsar).response_ms_p99 < 0.6", results) is ThresholdOutcome.MISSED


def test_what_has_no_figure_is_not_decided() -> None:
    few = latencies(1.0, response=latency(1.0, 500))
    (found,) = ruled("response_ms_p99 < 10", few)
    assert (found.outcome, found.value) == (ThresholdOutcome.NOT_DECIDED, None)
    assert found.why == "there is no response p99 that may be used"


def test_a_ratio_of_systems_that_have_no_block_in_common_says_so_and_not_that_there_is_no_figure() -> None:
    kafka, pulsar = latencies(1.0, 1.0), latencies(2.0, 2.0, system="pulsar@4.2.4")
    results = [
        replace(kafka[0], validity=Validity.INVALID),
        kafka[1],
        pulsar[0],
        replace(pulsar[1], validity=Validity.INVALID),
    ]
    (found,) = ruled("ratio(kafka, pulsar).response_ms_p99 < 1", results)
    assert found.why == "there is no response p99 that may be used, of both in one block"
    assert repeats_may_decide(found), "both may have one in a further block"
    assert outcome("response_ms_p99 < 10", latencies(1.0, validity=Validity.INVALID)) is ThresholdOutcome.NOT_DECIDED
    (nothing,) = ruled("response_ms_p99 < 10", [])
    assert (nothing.outcome, nothing.subject) == (ThresholdOutcome.NOT_DECIDED, "")
    (one_sided,) = ruled("ratio(kafka, pulsar).msgs_per_s > 1", latencies(1.0))
    assert one_sided.outcome is ThresholdOutcome.NOT_DECIDED
    assert not repeats_may_decide(one_sided)


def test_times_of_a_closed_loop_are_asked_only_by_name() -> None:
    results = latencies(1.0)
    (found,) = ruled("response_ms_p99 < 1", results, (), closed_loop=True)
    assert found.subject == "", "response times of a closed loop hide waiting"
    assert outcome("response_ms_p99 < 1 in latency", results, closed_loop=True) is ThresholdOutcome.MISSED
    assert outcome("msgs_per_s > 1", results, closed_loop=True) is ThresholdOutcome.MET


def test_points_of_a_sweep() -> None:
    results = latencies(1.0)
    assert outcome("msgs_per_s > 1 at partitions=100", results, point={"partitions": "100"}) is ThresholdOutcome.MET
    (found,) = ruled("msgs_per_s > 1 at partitions=1", results, (), point={"partitions": "100"})
    assert found.subject == ""


def test_figures_that_experiments_find() -> None:
    (found,) = ruled("sustainable_msgs_per_s > 40000", [], rates(50_000.0, 51_000.0, 49_000.0))
    assert (found.outcome, found.experiment) == (ThresholdOutcome.MET, "max-throughput")
    (undecided,) = ruled("sustainable_msgs_per_s > 40000", [], rates(50_000.0, decided=False))
    assert undecided.outcome is ThresholdOutcome.NOT_DECIDED


def test_repeats_that_agree_to_the_last_digit_are_known_no_finer_than_a_search_goes() -> None:
    alike = rates(50_000.0, 50_000.0, 50_000.0)
    (found,) = ruled("sustainable_msgs_per_s > 49000", [], alike)
    assert found.outcome is ThresholdOutcome.NOT_DECIDED
    assert "[47,619, 52,500], 3 blocks, and the limit lies between" in found.why
    assert ruled("sustainable_msgs_per_s > 47000", [], alike)[0].outcome is ThresholdOutcome.MET
    assert ruled("sustainable_msgs_per_s > 53000", [], alike)[0].outcome is ThresholdOutcome.MISSED
    others = [replace(rate, system="pulsar") for rate in rates(51_000.0, 51_000.0, 51_000.0)]
    (ratio,) = ruled("ratio(pulsar, kafka).sustainable_msgs_per_s > 1", [], [*alike, *others])
    assert ratio.outcome is ThresholdOutcome.NOT_DECIDED
    assert ratio.interval is not None
    assert (ratio.interval.low, ratio.interval.high) == (pytest.approx(1.02 / 1.05), pytest.approx(1.02 * 1.05))
    (one,) = ruled("sustainable_msgs_per_s > 49000", [], rates(50_000.0))
    assert (one.outcome, one.why[-5:]) == (ThresholdOutcome.NOT_DECIDED, " near")


def test_two_searches_that_differ_are_not_called_too_near() -> None:
    (apart,) = ruled("sustainable_msgs_per_s > 150000", [], rates(100_000.0, 200_000.0))
    assert apart.why.endswith("2 blocks, which differ on it")
    (near,) = ruled("sustainable_msgs_per_s > 49000", [], rates(50_000.0, 50_100.0))
    assert near.why.endswith("2 blocks, which is as fine as a search goes: the limit is too near")
    assert [repeats_may_decide(one) for one in (apart, near)] == [True, False]


def test_a_wide_bracket_shows_less() -> None:
    bracket = {"goals": [{"lower_msgs_per_s": 50_000.0, "upper_msgs_per_s": 60_000.0}]}
    wide = [replace(rate, details=bracket) for rate in rates(50_000.0, 50_000.0, 50_000.0)]
    (found,) = ruled("sustainable_msgs_per_s < 58000", [], wide)
    assert found.outcome is ThresholdOutcome.NOT_DECIDED
    assert (
        ruled("sustainable_msgs_per_s < 58000", [], rates(50_000.0, 50_000.0, 50_000.0))[0].outcome
        is ThresholdOutcome.MET
    )


def test_a_block_that_never_came_so_far_is_not_met_by_the_others() -> None:
    chases = [
        Finding(f"{n}", "catch-up", "kafka", n, True, (), figures={} if chase_s is None else {"chase_s": chase_s})
        for n, chase_s in enumerate((40.0, 45.0, None))
    ]
    (found,) = ruled("chase_s < 60", [], chases)
    assert found.outcome is ThresholdOutcome.NOT_DECIDED
    assert found.why.endswith("; 1 block has no chase time")
    assert not repeats_may_decide(found)
    (missed,) = ruled("chase_s < 30", [], chases)
    assert missed.outcome is ThresholdOutcome.MISSED
