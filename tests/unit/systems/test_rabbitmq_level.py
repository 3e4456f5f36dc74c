"""RabbitMQ's forms of each level, and the level derived from what a server reports."""

from __future__ import annotations

import pytest
from rabbitmq_settings import NEW, OLD, classic, settings

from tidegauge.durability import level_of
from tidegauge.fairness import Case
from tidegauge.model.level import LevelChoice
from tidegauge.model.server import Setting
from tidegauge.model.workload import ClientSettings, Compression, Workload
from tidegauge.systems.rabbitmq import RabbitmqSystem
from tidegauge.systems.rabbitmq.level import derive_level, possible_levels, topic_settings


@pytest.mark.parametrize(
    ("found", "level"),
    [
        (settings(queue_members="3"), 1),
        (settings(queue_members="2"), 1),
        (settings(queue_members="1"), 3),
        (settings(queue_type="stream", queue_members="3"), 2),
        (settings(queue_type="stream"), 4),
        (classic(OLD), 3),
        (classic("3.12.14"), 3),
        (classic("3.13.0"), 4),
        (classic(NEW), 4),
        (classic(OLD, queue_members="3"), 1),
        (classic("3.13.7", queue_members="3"), 2),
        (classic(OLD, message_delivery_mode="1"), 4),
        (classic(OLD, message_delivery_mode="1", queue_members="3"), 2),
        (classic(OLD, message_delivery_mode="unknown", queue_durable="false"), 4),
        (classic(OLD, queue_durable="false"), 4),
        ([*classic(OLD), Setting("topic t", "queue.storage_version", "2")], 4),
        (
            [
                *classic(OLD, queue_storage_version=""),
                Setting("topic t", "queue.arguments", "x-queue-type=classic, x-queue-version=2"),
            ],
            4,
        ),
        (
            [*classic(OLD, queue_storage_version=""), Setting("topic t", "queue.policy.definition", "queue-version=2")],
            4,
        ),
        (settings(queue_members="5"), 1),
        (settings(queue_members="4"), 1),
        (classic("3.8.9", queue_storage_version=""), 3),
    ],
)
def test_level_of_a_topic(found: list[Setting], level: int) -> None:
    finding = derive_level(found, LevelChoice(level), 3)
    assert finding.level == level
    assert any("topic t" in reason for reason in finding.reasoning)


@pytest.mark.parametrize(
    ("found", "unknown"),
    [
        (settings(queue_members=""), "queue.members is not reported"),
        (settings(queue_type="stream", queue_members=""), "queue.members is not reported"),
        (settings(queue_type=""), "queue.type is not reported"),
        (settings(queue_type="x-other"), "queue.type=x-other, of which nothing is known"),
        (classic(OLD, message_delivery_mode="unknown"), "queue.type=classic, message.delivery_mode is not reported"),
        (classic(OLD, queue_durable=""), "queue.type=classic, queue.durable is not reported"),
        (classic(OLD, queue_storage_version=""), "queue.type=classic, queue.storage_version is not reported"),
    ],
)
def test_what_is_not_reported_is_unknown_and_no_default(found: list[Setting], unknown: str) -> None:
    finding = derive_level(found, LevelChoice(3), 3)
    assert finding.level is None
    assert f"topic t: {unknown}" in finding.undecided


def test_of_five_members_three_confirm() -> None:
    (reason,) = [each for each in derive_level(settings(queue_members="5"), LevelChoice(1), 5).reasoning if "5" in each]
    assert reason == "topic t: queue.members=5: 3 of them have it when it is confirmed"


@pytest.mark.parametrize("version", ["3.8.9", OLD, "3.13.7", "4.0.5", NEW])
@pytest.mark.parametrize("nodes", [1, 2, 3])
def test_every_form_that_is_offered_gives_its_level(version: str, nodes: int) -> None:
    offered = RabbitmqSystem().possible_levels(version, nodes)
    assert len(set(offered)) == len(offered)
    for choice in offered:
        wanted = topic_settings(choice)
        members = wanted.get("queue.members", str(min(3, nodes)))
        kind = wanted["queue.type"]
        found = settings(
            version,
            queue_type="classic" if kind == "mirrored" else kind,
            queue_members="1" if kind == "classic" else members,
            message_delivery_mode="1" if wanted.get("message.persistent") == "false" else "2",
            queue_storage_version="1" if kind in ("classic", "mirrored") else "",
        )
        finding = derive_level(found, choice, nodes)
        assert (finding.level, finding.problems) == (choice.level, ()), choice


def test_what_versions_offer() -> None:
    def forms(version: tuple[int, int, int], nodes: int) -> dict[int, list[str]]:
        found: dict[int, list[str]] = {}
        for choice in possible_levels(version, nodes):
            found.setdefault(choice.level, []).append(choice.form)
        return found

    assert forms((4, 3, 6), 1) == {3: ["quorum"], 4: ["classic", "stream", "transient"]}
    assert forms((3, 10, 8), 1) == {3: ["quorum", "classic"], 4: ["stream", "transient"]}
    assert forms((3, 8, 9), 1) == {3: ["quorum", "classic"], 4: ["transient"]}
    assert forms((4, 3, 6), 3)[1] == ["quorum"]
    assert forms((3, 10, 8), 3)[1] == ["quorum", "mirrored"]
    assert forms((3, 10, 8), 3)[2] == ["stream", "mirrored-transient"], "its confirm waits for the mirrors' memory"
    assert forms((3, 8, 9), 3)[2] == ["mirrored-transient"]
    assert forms((3, 13, 7), 3)[2] == ["stream", "mirrored", "mirrored-transient"]
    assert forms((4, 3, 6), 3)[2] == ["stream"]
    assert 1 not in forms((4, 3, 6), 2)


def test_mirrors_of_transient_messages_are_asked_for() -> None:
    assert topic_settings(LevelChoice(2, "mirrored-transient")) == {
        "queue.type": "mirrored",
        "message.persistent": "false",
    }


def test_a_level_without_a_form_has_a_default_that_gives_it() -> None:
    assert topic_settings(LevelChoice(1)) == {"queue.type": "quorum"}
    assert topic_settings(LevelChoice(3))["queue.members"] == "1"
    assert topic_settings(LevelChoice(4)) == {
        "queue.type": "classic",
        "queue.members": "1",
        "message.persistent": "false",
    }
    assert level_of(replication_sync=False, local_sync=False) == 4


def test_a_classic_queue_where_a_quorum_queue_was_declared_is_named() -> None:
    found = [
        *settings(queue_members="3"),
        Setting("topic t queue t.1", "queue.type", "classic"),
        Setting("topic t queue t.1", "queue.members", "1"),
        Setting("topic t queue t.1", "queue.members.online", "1"),
    ]
    finding = derive_level(found, LevelChoice(1, "quorum"), 3)
    assert finding.level == 4
    assert "topic t queue t.1: queue.type=classic" in finding.problems[0]
    assert "topic t: queue.type=quorum" not in finding.problems[0]


@pytest.mark.parametrize(
    ("choice", "workload", "served"),
    [
        (LevelChoice(2, "stream"), Workload(), True),
        (LevelChoice(2), Workload(), True),
        (LevelChoice(4, "stream"), Workload(), False),  # One copy.
        (LevelChoice(1, "quorum"), Workload(), False),
        (LevelChoice(4, "classic"), Workload(), False),
        (LevelChoice(2), Workload(client=ClientSettings(compression=Compression.ZSTD)), False),
        (LevelChoice(2), Workload(producer_overrides={"rabbitmq": {"subEntrySize": "10"}}), False),
        (LevelChoice(2), Workload(producer_overrides={"kafka": {"subEntrySize": "10"}}), True),
    ],
)
def test_only_whole_streams_are_read_from_each_node(choice: LevelChoice, workload: Workload, served: bool) -> None:
    assert RabbitmqSystem().serves_replicas(choice, workload) is served


def test_the_right_level_in_another_form_is_named() -> None:
    finding = derive_level(settings(NEW, queue_type="stream"), LevelChoice(4, "classic"), 1)
    assert finding.level == 4
    assert finding.problems == ("queue.type=classic was asked for, but topic t: queue.type=stream",)


def test_too_few_members_are_named() -> None:
    finding = derive_level(settings(queue_members="1"), LevelChoice(1, "quorum"), 3)
    assert finding.level == 3
    assert "queue.members=1" in finding.problems[0]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (Setting("node a", "mem_alarm", "true"), "node a: mem_alarm"),
        (Setting("node b", "disk_free_alarm", "true"), "node b: disk_free_alarm"),
        (Setting("node b", "running", "false"), "node b is not running"),
        (Setting("node b", "partitions", "node c"), "node b is cut off from node c"),
        (Setting("topic t queue t.1", "queue.members.online", "2"), "topic t queue t.1: 2 of 3 members are online"),
    ],
)
def test_a_state_that_spoils_the_settings_is_a_problem(row: Setting, words: str) -> None:
    healthy = settings(queue_members="3")
    assert derive_level(healthy, LevelChoice(1), 3).problems == ()
    assert words in derive_level([*healthy, row], LevelChoice(1), 3).problems[0]


def test_nothing_is_claimed_of_what_was_not_read() -> None:
    assert derive_level([], LevelChoice(3), 1).level is None
    without = [Setting("cluster", "version", NEW), Setting("cluster", "queues", "unknown: no managementUrl was given")]
    finding = derive_level(without, LevelChoice(3), 1)
    assert finding.level is None
    assert "no managementUrl" in finding.undecided[0]
    gone = [Setting("cluster", "version", NEW), Setting("topic t", "queues", "0")]
    assert derive_level(gone, LevelChoice(3), 1).problems == ("topic t: there is no such queue",)
    absent = [*settings(), Setting("topic t queue t.1", "queue.type", "absent")]
    assert derive_level(absent, LevelChoice(3), 1).problems == ("topic t queue t.1: there is no such queue",)


@pytest.mark.parametrize(("nodes", "level", "reported"), [(3, 3, True), (3, 4, True), (3, 1, False), (1, 3, False)])
def test_one_copy_among_three_nodes_is_reported(nodes: int, level: int, reported: bool) -> None:
    system = RabbitmqSystem()
    choice = next(choice for choice in system.possible_levels(NEW, nodes) if choice.level == level)
    rules = [hazard.rule for hazard in system.hazards(Case(NEW, nodes, choice))]
    assert ("one-copy" in rules) is reported


@pytest.mark.parametrize("weak_first", [True, False])
def test_the_weakest_queue_decides_wherever_it_stands(weak_first: bool) -> None:
    strong = settings(queue_members="3")
    weak = [Setting("topic u", setting.name, setting.value) for setting in classic(NEW) if setting.scope == "topic t"]
    found = derive_level([*weak, *strong] if weak_first else [*strong, *weak], LevelChoice(1, "quorum"), 3)
    assert found.level == 4
    assert any("topic u" in problem for problem in found.problems)


@pytest.mark.parametrize(
    ("facts", "limit"),
    [
        ({}, ""),
        ({"queue_arguments": "x-delivery-limit=5, x-queue-type=quorum"}, "5"),
        # The lower one is in force.
        ({"queue_arguments": "x-delivery-limit=50", "queue_policy.definition": "delivery-limit=7, max-length=9"}, "7"),
        ({"queue_policy.definition": "delivery-limit=-1"}, ""),
        ({"queue_type": "stream", "queue_arguments": "x-delivery-limit=5"}, ""),
    ],
)
def test_a_limit_of_redeliveries_is_said_with_the_level(facts: dict[str, str], limit: str) -> None:
    finding = derive_level(settings(queue_members="5", **facts), LevelChoice(1), 5)
    begin = f"topic t: delivery-limit={limit}: a message that consumers give back more often is dropped"
    assert [words.startswith(begin) for words in finding.caveats] == ([True] if limit else [])
