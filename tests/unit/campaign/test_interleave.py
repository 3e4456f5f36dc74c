"""The order of trials: every turn of a block once, systems alternating, points shuffled, decided by the seed alone."""

from __future__ import annotations

import itertools
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from tidegauge.campaign.model import SystemChoice
from tidegauge.campaign.plan.contenders import Contender
from tidegauge.campaign.plan.plan import Turn, interleaved_turns
from tidegauge.model.level import LevelChoice
from tidegauge.model.trial import ServerReuse
from tidegauge.systems import registry


def entry(name: str, servers: str) -> Contender:
    return Contender(SystemChoice(name), registry.system_named("kafka"), name, LevelChoice(3), name, servers)


SEEDS = st.integers(min_value=0, max_value=2**63 - 1)
ENTRIES = st.lists(
    st.lists(st.sampled_from("abcd"), unique=True, max_size=4).map(
        lambda names: [entry(name, f"{name} servers") for name in names]
    ),
    min_size=1,
    max_size=5,
)


def expected(entries: list[list[Contender]], experiments: int) -> Counter[Turn]:
    return Counter(
        Turn(point, experiment, system)
        for point, here in enumerate(entries)
        for experiment in range(experiments)
        for system in range(len(here))
    )


@given(ENTRIES, st.integers(min_value=1, max_value=3), SEEDS, st.integers(min_value=0, max_value=9))
def test_a_block_holds_every_seat_once(entries: list[list[Contender]], experiments: int, seed: int, block: int) -> None:
    for deployment in ServerReuse:
        turns = interleaved_turns(entries, experiments, seed, block, deployment)
        assert Counter(turns) == expected(entries, experiments)
        assert turns == interleaved_turns(entries, experiments, seed, block, deployment), "the seed decides alone"


@given(ENTRIES, st.integers(min_value=1, max_value=3), SEEDS)
def test_experiments_keep_their_order_at_each_point(
    entries: list[list[Contender]], experiments: int, seed: int
) -> None:
    for deployment in ServerReuse:
        turns = interleaved_turns(entries, experiments, seed, 0, deployment)
        for point in range(len(entries)):
            numbers = [turn.experiment for turn in turns if turn.point == point]
            assert numbers == sorted(numbers), "a share of a peak needs the peaks of all systems first"


@given(ENTRIES, st.integers(min_value=1, max_value=3), SEEDS)
def test_with_fresh_servers_the_systems_of_a_point_follow_one_another(
    entries: list[list[Contender]], experiments: int, seed: int
) -> None:
    turns = interleaved_turns(entries, experiments, seed, 0, ServerReuse.FRESH)
    changes = sum(before.point != after.point for before, after in itertools.pairwise(turns))
    assert changes == max(0, len({turn.point for turn in turns}) - 1)


@given(ENTRIES, st.integers(min_value=1, max_value=3), SEEDS)
def test_shared_servers_are_started_once_for_an_experiment(
    entries: list[list[Contender]], experiments: int, seed: int
) -> None:
    turns = interleaved_turns(entries, experiments, seed, 0, ServerReuse.SHARED)
    servers = [(turn.experiment, entries[turn.point][turn.system].deployment) for turn in turns]
    starts = sum(before != after for before, after in itertools.pairwise([None, *servers]))
    assert starts == len(set(servers))


def test_points_that_need_other_servers_stand_apart() -> None:
    entries = [[entry("kafka", f"level {point % 2}")] for point in range(6)]
    for seed in range(20):
        points = [turn.point % 2 for turn in interleaved_turns(entries, 1, seed, 0, ServerReuse.SHARED)]
        assert points in ([0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0])


def test_blocks_and_seeds_have_orders_of_their_own_and_nobody_is_always_first() -> None:
    entries = [[entry(name, name) for name in "abc"] for _ in range(3)]
    for deployment in ServerReuse:
        orders = [tuple(interleaved_turns(entries, 1, 1, block, deployment)) for block in range(30)]
        assert len(set(orders)) > 15
        assert {order[0].system for order in orders} == {0, 1, 2}
        assert {order[0].point for order in orders} == {0, 1, 2}
        assert len({tuple(interleaved_turns(entries, 1, seed, 0, deployment)) for seed in range(30)}) > 15
