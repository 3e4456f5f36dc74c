"""The plan of an attestation: what is done to whom, and when, from a seed."""

from __future__ import annotations

import pytest

from tidegauge.attestation.judging import promise_of_level
from tidegauge.attestation.scenario import CUT_AFTER_S, MEANINGS, plan_cycles, target_nodes, why_impossible
from tidegauge.model.attest import Act, ActKind, Cycle, Role, Scenario


def cycles_of(
    scenario: Scenario, cuts: int = 4, nodes: int = 3, seed: int = 1, second_cut: bool = False
) -> list[Cycle]:
    planned = plan_cycles([scenario], nodes, cuts, seed, second_cut=second_cut)
    return [cycle for cycle in planned if cycle.scenario is scenario]


def test_the_first_cycle_is_the_negative_control() -> None:
    first, *rest = plan_cycles([Scenario.ALL, Scenario.ONE], 3, 2, 1)
    assert (first.scenario, first.acts, first.cuts) == (Scenario.NONE, (), 0)
    assert first.tail_s >= CUT_AFTER_S[0]
    assert [cycle.scenario for cycle in rest] == [Scenario.ALL] * 2 + [Scenario.ONE] * 2
    assert [cycle.number for cycle in (first, *rest)] == [1, 2, 3, 4, 5]


def test_the_same_seed_plans_the_same_and_another_one_other_moments() -> None:
    scenarios = [Scenario.ONE, Scenario.ROLLING, Scenario.LAGGING_MAJORITY]
    assert plan_cycles(scenarios, 3, 6, 7) == plan_cycles(scenarios, 3, 6, 7)
    assert plan_cycles(scenarios, 3, 6, 7) != plan_cycles(scenarios, 3, 6, 8)


def test_cuts_come_at_different_moments_within_seconds_of_the_load() -> None:
    moments = [cycle.acts[0].after_s for cycle in cycles_of(Scenario.ALL, cuts=20)]
    assert len(set(moments)) > 15
    assert all(CUT_AFTER_S[0] <= moment <= CUT_AFTER_S[1] for moment in moments)


def test_one_cuts_each_node_sooner_or_later() -> None:
    cut = {cycle.acts[0].number for cycle in cycles_of(Scenario.ONE, cuts=30)}
    assert cut == {1, 2, 3}


def test_rolling_cuts_every_node_once_and_waits_in_between() -> None:
    for cycle in cycles_of(Scenario.ROLLING, cuts=6):
        assert sorted(act.number for act in cycle.acts) == [1, 2, 3]
        assert all(act.until_complete for act in cycle.acts)
        assert cycle.cuts == 3
    assert len(cycles_of(Scenario.ROLLING, cuts=7)) == 3


def test_the_lagging_node_is_never_the_one_that_is_cut() -> None:
    cut_roles = set()
    for cycle in cycles_of(Scenario.LAGGING_MAJORITY, cuts=30):
        hold, keep, cut, release, late = cycle.acts
        assert [act.kind for act in cycle.acts] == [
            ActKind.HOLD,
            ActKind.HOLD,
            ActKind.CUT,
            ActKind.RELEASE,
            ActKind.RELEASE,
        ]
        three = [target_nodes(act, 3, leader=2) for act in (hold, keep, cut)]
        assert sorted(number for positions in three for number in positions) == [1, 2, 3]
        assert target_nodes(release, 3, 2) == three[0]
        assert target_nodes(late, 3, 2) == three[1]
        assert keep.when_acked
        assert cut.after_s == 0
        cut_roles.add(cut.role)
    assert cut_roles == {Role.LEADER, Role.FOLLOWER}


def test_a_second_cut_comes_in_the_recovery_and_counts_with_the_first() -> None:
    for cycle in cycles_of(Scenario.ALL, second_cut=True):
        assert cycle.acts[0].again_after_s is not None
        assert cycle.cuts == 1
    assert all(cycle.acts[0].again_after_s is None for cycle in cycles_of(Scenario.ALL))


@pytest.mark.parametrize(
    ("act", "expected"),
    [
        (Act(ActKind.CUT, Role.ALL, 0), (1, 2, 3)),
        (Act(ActKind.CUT, Role.NODE, 0, 3), (3,)),
        (Act(ActKind.CUT, Role.LEADER, 0), (2,)),
        (Act(ActKind.CUT, Role.FOLLOWER, 0, 1), (1,)),
        (Act(ActKind.CUT, Role.FOLLOWER, 0, 2), (3,)),
    ],
)
def test_roles_become_nodes_once_the_leader_is_known(act: Act, expected: tuple[int, ...]) -> None:
    assert target_nodes(act, 3, leader=2) == expected


def test_scenarios_that_need_more_nodes_are_refused_with_the_reason() -> None:
    assert why_impossible(Scenario.ALL, 1) == ""
    assert "several nodes" in why_impossible(Scenario.ONE, 1)
    assert "3 nodes" in why_impossible(Scenario.LAGGING_MAJORITY, 2)
    assert why_impossible(Scenario.LAGGING_MAJORITY, 3) == ""


@pytest.mark.parametrize(
    ("level", "nodes", "kept"),
    [
        (1, 3, set(Scenario)),
        (2, 3, {Scenario.NONE, Scenario.ONE, Scenario.LEADER, Scenario.ROLLING}),
        (3, 3, {Scenario.NONE}),
        (4, 3, {Scenario.NONE}),
        (4, 1, {Scenario.NONE}),
    ],
)
def test_what_a_level_promises(level: int, nodes: int, kept: set[Scenario]) -> None:
    assert {scenario for scenario in Scenario if promise_of_level(level, scenario, nodes).kept} == kept


def test_one_node_at_level_3_promises_to_survive() -> None:
    assert promise_of_level(3, Scenario.ALL, 1).kept


def test_every_scenario_is_explained() -> None:
    assert set(MEANINGS) == set(Scenario)
