"""The order of `make test-slow`: another for each seed, and what is to run often is reached by every limit of time."""

from __future__ import annotations

from drawn_order import draw_order

GROUPS = {f"test_{number}.py": number < 8 for number in range(200)}


def test_each_group_has_a_place_that_depends_on_the_seed_alone() -> None:
    assert sorted(draw_order(GROUPS, 1)) == sorted(GROUPS)
    assert draw_order(GROUPS, 1) == draw_order(dict(reversed(GROUPS.items())), 1) != draw_order(GROUPS, 2)


def test_what_is_to_run_often_comes_early_and_in_another_order_each_time() -> None:
    orders = [[name for name in draw_order(GROUPS, seed) if GROUPS[name]] for seed in range(5)]
    assert len(set(map(tuple, orders))) == 5
    for seed in range(100):
        order = draw_order(GROUPS, seed)
        assert max(order.index(name) for name in GROUPS if GROUPS[name]) < 0.25 * len(order)


def test_no_other_is_kept_from_the_begin_for_ever() -> None:
    assert any(not GROUPS[draw_order(GROUPS, seed)[0]] for seed in range(20))
