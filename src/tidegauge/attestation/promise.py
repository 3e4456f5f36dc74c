"""What a durability level promises in a scenario: the outcome to expect before anything is cut. Pure.

From the meaning of the levels (docs/durability.md), which each system reaches in the way that its own documentation
gives; where a system does more or less than its level, docs/durability.md says what was observed.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidegauge.durability.levels import level_named
from tidegauge.model.scenario import Scenario


@dataclass(frozen=True)
class Promise:
    """`kept`: acknowledged messages must survive; otherwise they may be lost. `why` in a clause."""

    kept: bool
    why: str


def promise(level: int, scenario: Scenario, nodes: int) -> Promise:
    """What an acknowledgement of this level is worth in this scenario."""
    meaning = level_named(level)
    if scenario is Scenario.NONE:
        return Promise(True, "nothing is cut")
    if meaning.replication_sync and meaning.local_sync:
        return Promise(True, "a majority has each acknowledged message on disk, and any two majorities share a node")
    if meaning.replication_sync:
        return _in_memory(scenario)
    if meaning.local_sync and nodes == 1:
        return Promise(True, "the one copy is on disk before it is acknowledged")
    if meaning.local_sync:
        return _one_copy(scenario)
    return Promise(False, "an acknowledged message may be in the memory of one node only")


def _in_memory(scenario: Scenario) -> Promise:
    if scenario in (Scenario.ONE, Scenario.LEADER, Scenario.ROLLING):
        return Promise(True, "a second copy is on a node that keeps its power")
    if scenario is Scenario.ALL:
        return Promise(False, "all copies may be in memory only")
    return Promise(False, "the majority that elects may be one copy that lagged and one that lost its memory")


def _one_copy(scenario: Scenario) -> Promise:
    if scenario is Scenario.ALL:
        return Promise(False, "the one copy on disk survives, but a node without it may lead afterwards")
    return Promise(False, "another node, which may not have the message yet, takes over from the one that has")
