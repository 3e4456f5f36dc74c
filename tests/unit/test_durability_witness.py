"""The judgement of the second witness, on histories written by hand. Times in ns, small enough to follow."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sync_samples import MESSAGES, ONE, THREE, call, for_each

from tidegauge.durability import (
    WatchedSyncs,
    copies_needed,
    disagreement,
    evidence_of,
    judge_syncs,
    nodes_synced_for,
    not_watched,
)
from tidegauge.model.level import Agreement, LevelFinding


def test_one_call_for_each_message_agrees_with_local_sync() -> None:
    found = judge_syncs(3, ONE, 1, MESSAGES, WatchedSyncs(for_each("kafka-1")))
    assert found.agreement is Agreement.AGREES
    assert (found.synced, found.messages, found.synced_by_node) == (4, 4, {"kafka-1": 4})
    assert found.calls_by_node == {"kafka-1": {"fsync": 4}}
    assert found.words == "each of 4 acknowledgements came after an fsync"


def test_a_single_message_acknowledged_from_memory_contradicts_local_sync() -> None:
    found = judge_syncs(3, ONE, 1, MESSAGES, WatchedSyncs(for_each("kafka-1")[:-1]))
    assert found.agreement is Agreement.CONTRADICTS
    problem = disagreement(LevelFinding(3, (), (), found))
    assert problem.startswith(
        "the settings read back give level 3, but only 3 of 4 acknowledgements came after an fsync"
    )
    assert "3 such calls were seen altogether" in problem


def test_no_call_at_all_contradicts_local_sync_and_is_as_expected_without() -> None:
    nothing = WatchedSyncs(())
    assert judge_syncs(3, ONE, 1, MESSAGES, nothing).agreement is Agreement.CONTRADICTS
    assert "but none of 4 acknowledgements" in disagreement(
        LevelFinding(3, (), (), judge_syncs(3, ONE, 1, MESSAGES, nothing))
    )
    found = judge_syncs(4, ONE, 1, MESSAGES, nothing)
    assert found.agreement is Agreement.AGREES
    assert found.words == "none of 4 acknowledgements came after an fsync"
    assert found.calls_by_node == {"kafka-1": {}}


@pytest.mark.parametrize(
    ("entered", "left"),
    [(999, 1200), (1100, 1501), (900, 990), (1600, 1700)],
    ids=["begun before it was sent", "ended after the acknowledgement", "over before", "begun after"],
)
def test_a_call_outside_a_messages_time_does_not_count(entered: int, left: int) -> None:
    assert nodes_synced_for(MESSAGES[0], [call("kafka-1", entered, left)]) == frozenset()


def test_a_call_on_the_very_edges_counts() -> None:
    assert nodes_synced_for(MESSAGES[0], [call("kafka-1", 1000, 1500)]) == {"kafka-1"}


def test_a_call_that_failed_and_one_that_promises_nothing_do_not_count() -> None:
    calls = [call("kafka-1", 1100, 1200, succeeded=False), call("kafka-1", 1100, 1200, "sync_file_range")]
    assert nodes_synced_for(MESSAGES[0], calls) == frozenset()


def test_a_group_commit_can_not_serve_two_messages_sent_one_after_the_other() -> None:
    late = call("kafka-1", 1100, 2200)
    assert judge_syncs(3, ONE, 1, MESSAGES[:2], WatchedSyncs((late,))).synced == 0


def test_level_1_needs_a_majority_for_each_message() -> None:
    two = WatchedSyncs(
        (*for_each("a-1", messages=MESSAGES[:2]), *for_each("a-3"), *for_each("a-2", messages=MESSAGES[2:]))
    )
    found = judge_syncs(1, THREE, 3, MESSAGES, two)
    assert found.agreement is Agreement.AGREES, "which two differs from message to message"
    assert found.synced_by_node == {"a-1": 2, "a-2": 2, "a-3": 4}
    assert found.words == "each of 4 acknowledgements came after an fsync on at least 2 of 3 nodes"

    found = judge_syncs(1, THREE, 3, MESSAGES, WatchedSyncs(for_each("a-2")))
    assert found.agreement is Agreement.CONTRADICTS
    problem = disagreement(LevelFinding(1, (), (), found))
    assert "none of 4 acknowledgements came after an fsync on at least 2 of 3 nodes" in problem
    assert "(a-1 before 0, a-2 before 4, a-3 before 0)" in problem


def test_level_3_on_three_nodes_needs_any_one() -> None:
    found = judge_syncs(
        3, THREE, 3, MESSAGES, WatchedSyncs((*for_each("a-1", messages=MESSAGES[:2]), *for_each("a-2")))
    )
    assert found.agreement is Agreement.AGREES
    assert found.words.endswith("on one of 3 nodes or more")


def test_two_calls_on_one_node_are_one_copy() -> None:
    calls = (*for_each("a-1"), *for_each("a-1"))
    assert judge_syncs(1, THREE, 3, MESSAGES, WatchedSyncs(calls)).agreement is Agreement.CONTRADICTS


def test_servers_that_sync_though_nobody_asks_are_reported_but_not_accused() -> None:
    found = judge_syncs(4, ONE, 1, MESSAGES, WatchedSyncs(for_each("kafka-1")))
    assert found.agreement is Agreement.MORE
    assert found.words.endswith("more than level 4 asks for")
    assert disagreement(LevelFinding(4, (), (), found)) == ""
    some = judge_syncs(4, ONE, 1, MESSAGES, WatchedSyncs(for_each("kafka-1")[:1]))
    assert some.agreement is Agreement.AGREES, "servers sync metadata now and then"
    assert some.words == "1 of 4 acknowledgements came after an fsync"


def test_nothing_is_concluded_from_a_recording_with_gaps_or_from_none() -> None:
    lossy = judge_syncs(3, ONE, 1, MESSAGES, WatchedSyncs((), lost=5))
    assert (lossy.agreement, lossy.words) == (Agreement.UNKNOWN, "inconclusive: the kernel lost 5 records")
    assert judge_syncs(3, ONE, 1, (), WatchedSyncs(())).agreement is Agreement.UNKNOWN
    blind = not_watched("needs root")
    assert (blind.agreement, blind.words) == (Agreement.UNKNOWN, "not watched: needs root")
    for finding in (lossy, blind, None):
        assert disagreement(LevelFinding(3, (), (), finding)) == ""


@pytest.mark.parametrize(
    ("level", "copies", "needed"), [(1, 2, 2), (1, 3, 2), (2, 3, 2), (1, 4, 3), (1, 5, 3), (3, 3, 1), (4, 1, 1)]
)
def test_copies_needed(level: int, copies: int, needed: int) -> None:
    assert copies_needed(level, copies) == needed


def test_two_of_five_copies_are_no_majority_that_has_synced() -> None:
    nodes = tuple(f"a-{number}" for number in range(1, 6))
    two, three = WatchedSyncs(for_each(*nodes[:2])), WatchedSyncs(for_each(*nodes[:3]))
    assert judge_syncs(1, nodes, 5, MESSAGES, two).agreement is Agreement.CONTRADICTS
    assert judge_syncs(1, nodes, 5, MESSAGES, three).agreement is Agreement.AGREES
    assert judge_syncs(1, nodes, 3, MESSAGES, two).agreement is Agreement.AGREES, "of three copies on five nodes"


def test_the_evidence_shows_each_message_and_each_call_in_order() -> None:
    calls = tuple(reversed(for_each("a-1", "a-2")))
    evidence = evidence_of(WatchedSyncs(calls), MESSAGES)
    messages, listed = evidence["messages"], evidence["calls"]
    assert isinstance(messages, list)
    assert isinstance(listed, list)
    assert messages[0] == {"sent_mono_ns": 1000, "acked_mono_ns": 1500, "nodes_synced": ["a-1", "a-2"]}
    assert [c.entered_mono_ns for c in listed] == sorted(c.entered_mono_ns for c in calls)


def test_settings_that_claim_level_3_for_what_level_4_does_are_a_named_mismatch() -> None:
    """What was recorded of a Kafka at level 4: metadata is synced now and then, messages never."""
    background = WatchedSyncs((call("kafka-1", 1100, 1300), call("kafka-1", 1600, 1700, "msync")))
    finding = replace(LevelFinding(3, ("flush.messages=1",)), syncs=judge_syncs(3, ONE, 1, MESSAGES, background))
    assert "level 3, but only 1 of 4 acknowledgements came after an fsync; 2 such calls" in disagreement(finding)


def test_what_clocks_of_hosts_leave_open_speaks_against_nobody_and_is_said() -> None:
    shortest, longest = for_each("kafka-1"), for_each("kafka-1")[:-1]
    found = judge_syncs(3, ONE, 1, MESSAGES, WatchedSyncs(shortest, 0, longest))
    assert found.agreement is Agreement.AGREES
    assert found.words.endswith("came after an fsync; of 1 the hosts' clocks leave it open")
    assert "open" not in judge_syncs(3, ONE, 1, MESSAGES, WatchedSyncs(shortest, 0, shortest)).words
