"""Which trials a campaign means, and in which order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from campaign_samples import CAMPAIGN, SYSTEMS, choice

from tidegauge.campaign.model import SystemChoice
from tidegauge.campaign.plan.plan import Plan, plan_campaign
from tidegauge.errors import UserError
from tidegauge.experiments.procedure import seconds_expected
from tidegauge.model.level import LevelChoice
from tidegauge.model.trial import RateRule
from tidegauge.model.workload import Arrival
from tidegauge.systems.registry import all_systems


def plan(**changes: Any) -> Plan:
    return plan_campaign(replace(CAMPAIGN, **changes), SYSTEMS.__getitem__)


def test_each_experiment_is_done_for_all_systems_before_the_next() -> None:
    trials = plan(repeat=2).trials
    assert [trial.experiment for trial in trials] == (["peak"] * 3 + ["latency"] * 3) * 2
    assert [trial.block for trial in trials] == [0] * 6 + [1] * 6
    for start in range(0, 12, 3):
        assert {trial.system for trial in trials[start : start + 3]} == {
            "kafka@4.3.1",
            "pulsar@4.2.4",
            "rabbitmq@4.3.6",
        }


def test_trial_names_are_unique_ordered_and_fit_for_directories() -> None:
    names = [trial.trial_id for trial in plan(repeat=3).trials]
    assert len(set(names)) == len(names)
    assert names == sorted(names)
    assert names[0].startswith("0001-peak-")
    assert all("/" not in name for name in names)


def test_a_local_directory_makes_no_directory_of_its_own() -> None:
    trials = plan(systems=(SystemChoice("kafka", "/opt/kafka"), SystemChoice("kafka"))).trials
    assert {trial.system for trial in trials} == {"kafka@/opt/kafka", "kafka@4.3.1"}
    assert all("/" not in trial.trial_id for trial in trials)


def orders(**changes: Any) -> list[str]:
    return [trial.system for trial in plan(**changes).trials]


def test_the_order_of_systems_comes_from_the_seed() -> None:
    assert orders(repeat=5, seed=1) == orders(repeat=5, seed=1)
    assert len({tuple(orders(repeat=5, seed=seed)) for seed in range(5)}) == 5


def test_every_system_is_sometimes_first() -> None:
    firsts = orders(repeat=30)[::3]
    assert set(firsts) == {"kafka@4.3.1", "pulsar@4.2.4", "rabbitmq@4.3.6"}


def test_all_systems_of_a_block_get_the_same_seed_and_each_block_another() -> None:
    trials = plan(repeat=2).trials
    assert len({trial.seed for trial in trials[:6]}) == 1
    assert trials[0].seed != trials[6].seed


def test_experiments_shape_their_trials() -> None:
    peak, latency = plan(systems=(SystemChoice("kafka"),)).trials
    assert peak.workload.arrival is Arrival.CLOSED_LOOP
    assert (peak.msgs_per_s, peak.measure_s) == (None, 20.0)
    assert latency.workload.arrival is Arrival.UNIFORM
    assert latency.rate_rule == RateRule("50% of lowest peak", is_share=True)
    assert (latency.msgs_per_s, latency.measure_s) == (None, 30.0)


def test_a_fixed_rate_is_known_in_the_plan() -> None:
    (trial, *_) = plan(experiments=(choice("latency", rate="20k"),)).trials
    assert trial.msgs_per_s == 20_000


def test_a_warm_up_shorter_than_its_minimum_is_as_long_as_its_minimum() -> None:
    both = {"warm-up-min": "30s", "warm-up-max": "10s"}
    (trial, *_) = plan(experiments=(choice("peak", **both),)).trials
    assert (trial.warmup_s_min, trial.warmup_s_max) == (30.0, 30.0)


def test_own_client_settings_reach_the_own_system_only() -> None:
    kafka = SystemChoice("kafka", producer={"linger.ms": "5"}, consumer={"fetch.min.bytes": "1"})
    by_system = {trial.system: trial.workload for trial in plan(systems=(kafka, SystemChoice("pulsar"))).trials}
    assert by_system["kafka@4.3.1"].producer_overrides == {"kafka": {"linger.ms": "5"}}
    assert by_system["kafka@4.3.1"].consumer_overrides == {"kafka": {"fetch.min.bytes": "1"}}
    assert by_system["pulsar@4.2.4"].producer_overrides == {}


def test_two_versions_keep_their_own_client_settings() -> None:
    both = (SystemChoice("kafka", "1", producer={"a": "1"}), SystemChoice("kafka", "2", producer={"a": "2"}))
    by_system = {trial.system: trial.workload.producer_overrides for trial in plan(systems=both).trials}
    assert by_system == {"kafka@1": {"kafka": {"a": "1"}}, "kafka@2": {"kafka": {"a": "2"}}}


def test_a_level_no_system_can_give_is_refused_with_those_it_can() -> None:
    with pytest.raises(UserError, match="Kafka on one node can't give level 1; it can give 3, 4"):
        plan(durability=LevelChoice(1))


def test_the_best_form_is_taken_unless_one_is_named() -> None:
    forms = {trial.system: trial.choice.form for trial in plan(durability=LevelChoice(4)).trials}
    assert forms == {"kafka@4.3.1": "", "pulsar@4.2.4": "journal", "rabbitmq@4.3.6": ""}
    named = {trial.system: trial.choice.form for trial in plan(durability=LevelChoice(4, "bypass")).trials}
    assert named == {"kafka@4.3.1": "", "pulsar@4.2.4": "bypass", "rabbitmq@4.3.6": ""}


def test_an_unknown_form_is_refused_with_those_there_are() -> None:
    with pytest.raises(
        UserError, match=r"no form 'bypas' of level 4 \(did you mean 'bypass'\?\); it has journal, bypass"
    ):
        plan(durability=LevelChoice(4, "bypas"))


def test_a_form_that_no_system_has_is_refused() -> None:
    with pytest.raises(UserError, match="no system of the campaign has a form 'bypass'"):
        plan(durability=LevelChoice(4, "bypass"), systems=(SystemChoice("kafka"),))


def test_the_default_version_named_twice_is_refused() -> None:
    with pytest.raises(UserError, match="listed twice"):
        plan(systems=(SystemChoice("kafka"), SystemChoice("kafka", "4.3.1")))


def test_the_time_expected_counts_every_trial() -> None:
    made = plan()
    assert made.seconds_expected == pytest.approx(sum(seconds_expected(trial) for trial in made.trials))
    assert plan(repeat=3).seconds_expected == pytest.approx(3 * made.seconds_expected)
    first = made.trials[0]
    assert seconds_expected(first) > first.warmup_s_min + first.measure_s
    assert seconds_expected(replace(first, nodes=3)) > seconds_expected(first)
    many = replace(first, workload=replace(first.workload, partitions=10_000))
    assert seconds_expected(many) > seconds_expected(first) + 60


def test_an_impossible_shape_is_refused_by_name() -> None:
    bad = replace(CAMPAIGN.systems[0], shape={"broker": "1"})
    with pytest.raises(UserError, match=r"kafka: shape: 'broker' is no option of layout"):
        plan(systems=(bad,))


def test_trials_of_the_system_that_is_none_have_no_servers() -> None:
    systems = (SystemChoice("null"), SystemChoice("kafka"))
    planned = plan_campaign(replace(CAMPAIGN, systems=systems, durability=LevelChoice(4)), all_systems().__getitem__)
    assert {(spec.system.partition("@")[0], spec.serverless) for spec in planned.trials} == {
        ("null", True),
        ("kafka", False),
    }
