"""What is done to the servers in each cycle of an attestation, planned from a seed. Pure.

A cycle is one load on a topic of its own, the acts of its scenario, and the reading of everything afterwards. Who leads
is known only while it runs, so acts name their targets by role. Times are drawn anew in each cycle: a cut at the same
moment of every load would always meet the servers in the same state.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from tidegauge.model.attest import Act, ActKind, Cycle, Means, Role, Scenario

MEANINGS = {
    Scenario.NONE: "no cut: the same procedure must lose nothing",
    Scenario.ALL: "all nodes lose their power at the same moment",
    Scenario.ONE: "one node, drawn at random, loses its power",
    Scenario.LEADER: "the node that leads the partition (of several the last) loses its power",
    Scenario.ROLLING: "each node in turn loses its power, the next once all are in sync again",
    Scenario.LAGGING_MAJORITY: (
        "one node is held back while the other two acknowledge; one of these loses its power, and with the node that "
        "lags it forms the majority while the third is held back"
    ),
}
"""How each scenario is described to users."""


def describe_scenario(scenario: Scenario, means: Means) -> str:
    """What is done in a scenario; where processes are only killed, nothing loses its power."""
    words = MEANINGS[scenario]
    if means is Means.CRASH:
        words = words.replace("lose their power", "are killed").replace("loses its power", "is killed")
        words = words.replace("no cut", "nothing is killed")
    return words


NODES_FOR_LAGGING = 3
CUT_AFTER_S = (1.0, 3.0)
"""Load before a cut. The kernel writes dirty pages back after about 30 s; what a cut is to destroy must be younger."""
HOLD_AFTER_S = (0.5, 1.0)
AGAIN_AFTER_S = (0.3, 2.5)
"""From the start of the servers to the second cut: while they recover."""


def why_impossible(scenario: Scenario, nodes: int) -> str:
    """Why a scenario can't be on so many nodes, with what can; "" if it can."""
    if scenario is Scenario.LAGGING_MAJORITY and nodes < NODES_FOR_LAGGING:
        return f"'{scenario.value}' needs {NODES_FOR_LAGGING} nodes: with fewer no majority goes on without one of them"
    if nodes == 1 and scenario is not Scenario.ALL:
        return f"'{scenario.value}' needs several nodes: with one, use 'all'"
    return ""


def plan_cycles(
    scenarios: Sequence[Scenario], nodes: int, cuts: int, seed: int, *, second_cut: bool = False, first: int = 1
) -> tuple[Cycle, ...]:
    """The cycles of an attestation: one without a cut, then for each scenario as many as it takes for `cuts` cuts.

    Args:
        nodes: of the deployment.
        cuts: for each scenario, at least; each of a rolling cycle counts.
        seed: decides nodes and moments. The same seed gives the same cycles.
        first: the number of the first cycle.
    """
    chance = random.Random(f"{seed} attest")
    planned = [Cycle(first, Scenario.NONE, (), tail_s=round(chance.uniform(*CUT_AFTER_S), 3))]
    for scenario in scenarios:
        cuts_planned = 0
        while cuts_planned < cuts:
            acts = _acts_of_cycle(scenario, nodes, chance, second_cut)
            cycle = Cycle(first + len(planned), scenario, acts)
            planned.append(cycle)
            cuts_planned += max(1, cycle.cuts)
    return tuple(planned)


def _acts_of_cycle(scenario: Scenario, nodes: int, chance: random.Random, second_cut: bool) -> tuple[Act, ...]:
    again = _draw_between(chance, AGAIN_AFTER_S) if second_cut else None

    def cut(role: Role, number: int = 0, until_complete: bool = False) -> Act:
        after_s = _draw_between(chance, CUT_AFTER_S)
        return Act(ActKind.CUT, role, after_s, number, again_after_s=again, until_complete=until_complete)

    match scenario:
        case Scenario.NONE:
            return ()
        case Scenario.ALL:
            return (cut(Role.ALL),)
        case Scenario.ONE:
            return (cut(Role.NODE, chance.randint(1, nodes)),)
        case Scenario.LEADER:
            return (cut(Role.LEADER),)
        case Scenario.ROLLING:
            order = chance.sample(range(1, nodes + 1), nodes)
            return tuple(cut(Role.NODE, number, until_complete=True) for number in order)
        case Scenario.LAGGING_MAJORITY:
            return _acts_of_lagging_majority(chance, again)


def _acts_of_lagging_majority(chance: random.Random, again: float | None) -> tuple[Act, ...]:
    """Follower A lags; the leader or follower B is cut, the other of the two is held back while A and it elect.

    Which of the two that acknowledged is cut is drawn: the leader's loss tests its successor, the follower's
    about what a rejoining copy may decide.
    """
    lagging = chance.randint(1, 2)
    other = (Role.FOLLOWER, 3 - lagging)
    pair = [(Role.LEADER, 0), other]
    chance.shuffle(pair)
    (lost, lost_number), (held, held_number) = pair
    return (
        Act(ActKind.HOLD, Role.FOLLOWER, _draw_between(chance, HOLD_AFTER_S), lagging),
        Act(ActKind.HOLD, held, _draw_between(chance, CUT_AFTER_S), held_number, when_acked=True),
        Act(ActKind.CUT, lost, 0.0, lost_number, again_after_s=again),
        Act(ActKind.RELEASE, Role.FOLLOWER, 0.0, lagging),
        Act(ActKind.RELEASE, held, _draw_between(chance, CUT_AFTER_S) * 2, held_number),
    )


def _draw_between(chance: random.Random, bounds: tuple[float, float]) -> float:
    return round(chance.uniform(*bounds), 3)


def target_nodes(act: Act, nodes: int, leader: int) -> tuple[int, ...]:
    """The numbers of the nodes that an act is done to, when node `leader` leads."""
    match act.role:
        case Role.ALL:
            return tuple(range(1, nodes + 1))
        case Role.NODE:
            return (act.number,)
        case Role.LEADER:
            return (leader,)
        case Role.FOLLOWER:
            return ([number for number in range(1, nodes + 1) if number != leader][act.number - 1],)
