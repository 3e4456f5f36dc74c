"""NATS: the level that settings in force give, and which settings give a level."""

from __future__ import annotations

import pytest

from tidegauge.fairness import Case
from tidegauge.model.level import ANY_LEVEL, LevelChoice
from tidegauge.model.server import Setting
from tidegauge.systems.nats import level
from tidegauge.systems.nats.fairness import hazards

ALWAYS, DEFAULT = "always", "120s"


def read_back(copies: str = "3", sync: str | tuple[str, ...] = ALWAYS, **topic: str) -> list[Setting]:
    """What three servers and a topic of theirs report; "" is not reported."""
    intervals = (sync,) * 3 if isinstance(sync, str) else sync
    values = {
        "partitions": "1",
        "storage": "file",
        "persist_mode": "default",
        "replicas": copies,
        "in.sync.replicas": copies,
        "peers": "nats-1, nats-2, nats-3",
        **topic,
    }
    servers = [Setting(f"server nats-{n}", "sync_interval", value) for n, value in enumerate(intervals, 1) if value]
    return [*servers, *(Setting("topic t", name, value) for name, value in values.items() if value)]


@pytest.mark.parametrize(
    ("settings", "number"),
    [
        (read_back("3", ALWAYS), 1),
        (read_back("3", DEFAULT), 2),
        (read_back("3", "1s"), 2),
        (read_back("2", ALWAYS), 1),
        (read_back("1", ALWAYS, peers="nats-2"), 3),
        (read_back("1", DEFAULT), 4),
        (read_back("3", ALWAYS, storage="memory"), 2),
        (read_back("1", ALWAYS, storage="memory"), 4),
        (read_back("1", ALWAYS, persist_mode="async"), 4),
        # The weakest decides: one stream of several, one server of those that keep a copy.
        (read_back("1, 3", ALWAYS), 3),
        (read_back("3", (ALWAYS, ALWAYS, DEFAULT)), 2),
        (read_back("1", (ALWAYS, ALWAYS, DEFAULT), peers="nats-1"), 3),
        (read_back("3", ALWAYS, storage="file, memory"), 2),
    ],
)
def test_the_level_follows_from_sync_interval_and_copies(settings: list[Setting], number: int) -> None:
    finding = level.derive_level(settings, LevelChoice(ANY_LEVEL), 3)
    assert (finding.level, finding.problems) == (number, ())


@pytest.mark.parametrize(
    ("settings", "missing"),
    [
        (read_back("3", ""), "sync_interval of server nats-1, server nats-2, server nats-3 is not reported"),
        (read_back("3", (ALWAYS, ALWAYS, "")), "sync_interval of server nats-3 is not reported"),
        (read_back("", ALWAYS), "replicas is not reported"),
        (read_back("3", ALWAYS, storage=""), "storage is not reported"),
        ([Setting("server nats-1", "sync_interval", ALWAYS)], "no settings of any topic were read back"),
    ],
)
def test_what_was_not_reported_is_unknown(settings: list[Setting], missing: str) -> None:
    finding = level.derive_level(settings, LevelChoice(1, "file", as_found=True), 3)
    assert finding.level is None
    assert missing in "; ".join(finding.undecided)


def test_another_level_or_form_is_a_problem() -> None:
    (problem,) = level.derive_level(read_back("3", DEFAULT), LevelChoice(1, "file"), 3).problems
    assert problem.startswith(
        "level 1 was asked for, the settings give level 2 (less durable): topic t: sync_interval="
    )
    (problem,) = level.derive_level(read_back("3", DEFAULT, storage="memory"), LevelChoice(2, "file"), 3).problems
    assert problem == "storage=file was asked for, and topic t has another"
    (problem,) = level.derive_level([Setting("topic t", "partitions", "0")], LevelChoice(3), 1).problems
    assert problem == "topic t: there is no such stream"


def test_what_belongs_to_the_level_is_said_with_it() -> None:
    def caveats(settings: list[Setting]) -> tuple[str, ...]:
        return level.derive_level(settings, LevelChoice(ANY_LEVEL), 3).caveats

    assert caveats(read_back("3", ALWAYS)) == ()
    assert caveats(read_back("3", "10s")) == (
        "topic t: sync_interval=10s: so long may acknowledged messages be in memory only",
    )
    assert "a server that ends has lost what it had" in caveats(read_back("3", storage="memory"))[0]


def test_topics_are_made_for_their_level_and_give_it() -> None:
    for nodes in (1, 3):
        for choice in level.possible_levels(nodes):
            case = Case("2.15.1", nodes, choice)
            finding = level.derive_level(level.expected_settings(case), choice, nodes)
            assert (finding.level, finding.problems) == (choice.level, ()), choice
    assert {choice.level for choice in level.possible_levels(1)} == {3, 4}
    slower = Case("2.15.1", 3, LevelChoice(1, "file"), settings={"jetstream.sync_interval": "5s"})
    assert level.derive_level(level.expected_settings(slower), slower.choice, 3).level == 2
    running = [Setting("server a", "sync_interval", DEFAULT)]
    assert level.derive_level(level.expected_settings(slower, running), slower.choice, 3).level == 2


def test_settings_that_no_topic_has_are_refused() -> None:
    assert level.topic_problems({"storage": "file", "replicas": "5", "compression": "s2"}, 0) == {}
    assert level.topic_problems({"storage": "disk"}, 0) == {"storage": "'disk': must be one of file, memory"}
    assert level.topic_problems({"replicas": "6"}, 0) == {"replicas": "'6': must be a whole number of 1 to 5"}
    assert "which says the same" in level.topic_problems({"replicas": "3"}, 3)["replicas"]
    assert "topics have no such setting" in level.topic_problems({"retention.ms": "5"}, 0)["retention.ms"]


def test_replication_is_complete_when_all_copies_are_current() -> None:
    assert level.incomplete(read_back("3"), 3) == ""
    two = [s for s in read_back("3") if s.name != "in.sync.replicas"]
    assert level.incomplete([*two, Setting("topic t", "in.sync.replicas", "2")], 3) == (
        "topic t: 2 of 3 copies are current"
    )


def test_what_is_not_written_and_one_copy_are_said() -> None:
    def rules(choice: LevelChoice, nodes: int = 1, **topic: str) -> set[str]:
        return {hazard.rule for hazard in hazards(Case("2.15.1", nodes, choice, topic=topic))}

    assert rules(LevelChoice(3, "file")) == set()
    assert rules(LevelChoice(4, "memory")) == {"unwritten-messages"}
    assert rules(LevelChoice(4, "file"), persist_mode="async") == {"unwritten-messages"}
    assert rules(LevelChoice(3, "file"), nodes=3) == {"one-copy"}
    assert rules(LevelChoice(1, "file"), nodes=3) == set()
