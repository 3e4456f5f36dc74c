"""Rates that change: how a campaign words them, and what they ask for."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from trial_scenes import SPEC

from tidegauge.config.units import RAMP_RECORDS, Rate, ScheduleRule, parse_rate_or_schedule
from tidegauge.experiments.latency import EXPERIMENT, LatencyOptions
from tidegauge.experiments.procedure import COUNTED_S_MAX, experiments
from tidegauge.model.trial import LoadSpec
from tidegauge.model.workload import RatePhase, RateSchedule


def schedule(value: Any) -> RateSchedule:
    rule = parse_rate_or_schedule(value)
    assert isinstance(rule, ScheduleRule)
    return rule.resolved(lambda rate: 1234.0 if rate.msgs_per_s is None else rate.msgs_per_s)


STEPS = {"steps": [{"rate": "10k", "for": "30s"}, {"rate": "50k", "for": "10s"}]}
RAMP = {"from": "10k", "to": "50k", "over": "60s"}
BURST = {"base": "10k", "burst": "50k", "every": "30s", "for": "2s"}


def test_steps_follow_one_another() -> None:
    steps = schedule(STEPS)
    assert steps.length_s == 40
    assert steps.records == ("0 to 30 s", "30 to 40 s")
    assert steps.due(40) == ((300_000, 30), (500_000, 10))
    assert (steps.warm_up_msgs_per_s, steps.most_msgs_per_s, steps.mean_msgs_per_s(40)) == (10_000, 50_000, 20_000)


def test_a_window_longer_than_the_steps_belongs_to_the_last() -> None:
    assert schedule(STEPS).due(42) == ((300_000, 30), (600_000, 12))
    assert schedule(STEPS).due(31) == ((300_000, 30), (50_000, 1))


def test_a_ramp_is_kept_in_tenths_and_has_no_stairs() -> None:
    ramp = schedule(RAMP)
    assert len(ramp.records) == RAMP_RECORDS
    assert ramp.mean_msgs_per_s(60) == pytest.approx(30_000)
    assert ramp.due(60)[0] == pytest.approx((72_000, 6))
    assert ramp.due(60)[9] == pytest.approx((288_000, 6))
    assert all(a.to_msgs_per_s == pytest.approx(b.from_msgs_per_s) for a, b in pairwise(ramp.phases))


def test_a_burst_repeats_for_days_in_two_records() -> None:
    burst = schedule(BURST)
    assert (burst.repeat, len(burst.phases), burst.records) == (True, 2, ("base", "burst"))
    (base, base_s), (high, high_s) = burst.due(2 * 86_400)
    assert (base, base_s) == pytest.approx((5760 * 28 * 10_000, 5760 * 28))
    assert (high, high_s) == pytest.approx((5760 * 2 * 50_000, 5760 * 2))
    assert burst.due(29.0)[1] == pytest.approx((50_000, 1))


def test_steps_may_be_ramps_and_shares() -> None:
    mixed = {"steps": [{"from": "50% of lowest peak", "to": "20k", "over": "10s"}, {"rate": "20k", "for": "5s"}]}
    rule = parse_rate_or_schedule(mixed)
    assert isinstance(rule, ScheduleRule)
    assert rule.rates[0] == Rate(share_of_lowest_peak=0.5)
    assert rule.resolved(lambda rate: rate.msgs_per_s or 1000.0).warm_up_msgs_per_s == 1000
    assert "50% of lowest peak to 20000 msg/s over 10 s" in str(rule)


def test_a_schedule_may_send_nothing_for_a_while() -> None:
    pause = schedule({"steps": [{"rate": r, "for": "10s"} for r in (50, 0, "50")]})
    assert pause.due(30) == ((500, 10), (0, 10), (500, 10))
    assert (pause.least_msgs_per_s, pause.warm_up_msgs_per_s) == (0, 50)
    to_nothing = schedule({"from": 100, "to": 0, "over": "10s"})
    assert to_nothing.mean_msgs_per_s(10) == pytest.approx(50)
    assert to_nothing.warm_up_msgs_per_s == 100


@pytest.mark.parametrize(
    ("value", "mean_msgs_per_s"),
    [
        ({"base": 0, "burst": "50k", "every": "5s", "for": "2s"}, 20_000),
        ({"from": 0, "to": 1000, "over": "20s"}, 500),
        ({"steps": [{"rate": 0, "for": "10s"}, {"rate": 30, "for": "5s"}]}, 10),
    ],
)
def test_what_begins_with_nothing_is_warmed_up_at_its_mean(value: Any, mean_msgs_per_s: float) -> None:
    assert schedule(value).warm_up_msgs_per_s == pytest.approx(mean_msgs_per_s)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"rates": []}, "must be a rate, '{steps"),
        ({"steps": []}, "'steps' must be a list"),
        ({"steps": [{"rate": "10k"}]}, "step 1: the key 'for' is missing"),
        ({"steps": [{"rate": "10k", "for": "30"}]}, "step 1: 'for': must be a duration"),
        ({"steps": [{"rate": "10k", "for": "100ms"}]}, "step 1: 'for': must be at least 1s"),
        ({"steps": [{"rate": "-1", "for": "10s"}]}, "step 1: 'rate': must be messages a second"),
        ({"steps": [{"rat": "10k", "for": "10s"}]}, "step 1: unknown key 'rat' (did you mean 'rate'?)"),
        ({"steps": [{"rate": "1k", "for": "1s"}] * 101}, "101 records of latency"),
        ({"from": "10k", "to": "20k"}, "the key 'over' is missing"),
        ({"base": "1k", "burst": "2k", "every": "2s", "for": "2s"}, "must be shorter than 'every'"),
        ({"burst": "2k"}, "the key 'base' is missing"),
        ("fast", "must be messages a second"),
        (0, "must be from 0.001 to 10^12"),
        ({"base": 0, "burst": "1e3", "every": "5s", "for": "2s"}, "'burst': must be messages a second"),
        ({"from": "0.0001", "to": 10, "over": "5s"}, "'from': must be 0, or from 0.001 to 10^12"),
        ({"from": 0, "to": 0, "over": "5s"}, "sends nothing: one of its rates must be above 0"),
        ({"steps": [{"rate": 0, "for": "5s"}] * 2}, "sends nothing"),
        ({"base": 0, "burst": 0, "every": "5s", "for": "2s"}, "sends nothing"),
    ],
)
def test_what_is_wrong_is_reported(value: Any, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_rate_or_schedule(value)
    assert message in str(caught.value)


def options(**values: Any) -> LatencyOptions:
    return LatencyOptions.model_validate(values)


def test_objections() -> None:
    object_to = EXPERIMENT.objection
    assert object_to(options(rate=STEPS), []) == ""
    assert "'measure' can't be given" in object_to(options(rate=STEPS, measure="10s"), [])
    assert "at least 'every'" in object_to(options(rate=BURST, measure="20s"), [])
    assert object_to(options(rate=BURST, measure="2d"), []) == ""
    shares = {"steps": [{"rate": "50% of lowest sustainable", "for": "9s"}]}
    assert "needs a max-throughput" in object_to(options(rate=shares), ["peak"])
    assert object_to(options(rate=shares), ["max-throughput"]) == ""
    days = {"from": "1k", "to": "2k", "over": "31d"}
    assert "longer than 30 days" in object_to(options(rate=days), [])


def test_a_number_of_messages_lasts_as_long_as_its_rate_has_it() -> None:
    def planned(**values: Any) -> LoadSpec:
        (load,) = EXPERIMENT.plan(options(**values), SPEC)
        return load

    load = planned(rate=500, messages="1M")
    assert (load.messages, load.measure_s, load.measure_s_max) == (1_000_000, 2000, 4000)
    assert planned(rate=500, messages=1000).measure_s_max == COUNTED_S_MAX
    assert planned(rate=500, messages=1000, measure="1s").measure_s == 1
    assert planned(rate="50% of lowest peak", messages=1000).measure_s == 60
    assert (planned(rate=500).messages, planned(rate=500).measure_s_max) == (0, 0)
    assert "can't be given beside a schedule" in EXPERIMENT.objection(options(rate=BURST, messages=10), [])


def test_every_experiment_is_registered() -> None:
    assert {"latency", "read"} <= set(experiments())


def test_after_a_ramp_its_last_rate_goes_on() -> None:
    ramp = RateSchedule((RatePhase(10.0, 20.0, 10.0, 0),), ("ramp",))
    assert ramp.due(15.0) == ((150.0 + 5 * 20.0, 15.0),)
