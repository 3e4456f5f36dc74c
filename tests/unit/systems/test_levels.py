"""Levels: what each shape can claim, what settings each level gets, and that tampering is noticed."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from kafka_settings import ALL, NEVER, ONE, kafka_topic

from tidegauge.durability import LEVELS, level_named, level_of, levels_for_nodes
from tidegauge.errors import UserError
from tidegauge.model.level import LevelChoice
from tidegauge.model.server import Setting
from tidegauge.systems import registry
from tidegauge.systems.kafka import level as kafka
from tidegauge.systems.pulsar import level as pulsar

KAFKA_TOPIC = "topic tg-1"
KAFKA_SYNCED = [
    Setting("broker 1", "log.flush.interval.messages", "9223372036854775807", True),
    Setting(KAFKA_TOPIC, "flush.messages", "1", False),
    Setting(KAFKA_TOPIC, "flush.ms", "0", False),
    Setting(KAFKA_TOPIC, "min.insync.replicas", "1", False),
    Setting(KAFKA_TOPIC, "replication.factor", "3"),
]
PULSAR_SYNCED = [
    Setting("broker 127.0.0.1:8080", "managedLedgerDefaultAckQuorum", "1"),
    Setting("bookie 1", "journalWriteData", "true"),
    Setting("bookie 1", "journalSyncData", "true"),
    Setting("bookie 1", pulsar.JOURNAL_ENTRIES, "120"),
    Setting("bookie 1", pulsar.JOURNAL_SYNCS, "31"),
]


def changed(settings: list[Setting], name: str, value: str) -> list[Setting]:
    assert any(s.name == name for s in settings)
    return [replace(s, value=value) if s.name == name else s for s in settings]


def test_four_levels_from_two_properties() -> None:
    assert [level_of(x.replication_sync, x.local_sync) for x in LEVELS] == [1, 2, 3, 4]
    assert level_named(3).local_sync
    with pytest.raises(UserError, match="no durability level 5"):
        level_named(5)


@pytest.mark.parametrize(("nodes", "expected"), [(1, [3, 4]), (2, [3, 4]), (3, [1, 2, 3, 4])])
def test_replication_needs_three_nodes(nodes: int, expected: list[int]) -> None:
    assert levels_for_nodes(nodes) == expected


@pytest.mark.parametrize("name", ["kafka", "pulsar"])
def test_one_node_refuses_level_1_and_says_what_is_possible(name: str) -> None:
    from tidegauge.systems.api import refuse_impossible

    system = registry.system_named(name)
    with pytest.raises(UserError) as caught:
        refuse_impossible(system, LevelChoice(1), system.default_version, 1)
    assert "one node has no majority" in caught.value.message
    assert "level 3" in caught.value.hint
    for choice in system.possible_levels(system.default_version, 1):
        refuse_impossible(system, choice, system.default_version, 1)


@pytest.mark.parametrize(
    ("version", "has_bypass"), [("2.6.1", False), ("2.7.5", False), ("2.8.0", True), ("4.2.4", True), ("/a/2.6", True)]
)
def test_pulsar_can_bypass_its_journal_since_2_8(version: str, has_bypass: bool) -> None:
    choices = registry.system_named("pulsar").possible_levels(version, 3)
    assert (LevelChoice(2, "bypass") in choices) is has_bypass
    assert LevelChoice(2, "journal") in choices


def test_a_form_that_does_not_exist_is_refused() -> None:
    from tidegauge.systems.api import refuse_impossible

    with pytest.raises(UserError, match="form 'journal'"):
        refuse_impossible(registry.system_named("kafka"), LevelChoice(4, "journal"), "4.3.1", 1)
    refuse_impossible(registry.system_named("pulsar"), LevelChoice(4), "4.2.4", 1)


class TestKafka:
    def test_level_3(self) -> None:
        finding = kafka.derive_level(KAFKA_SYNCED, LevelChoice(3), 1)
        assert finding.level == 3
        assert finding.problems == ()
        assert any("flush.messages=1" in reason for reason in finding.reasoning)

    def test_a_topic_without_flush_is_noticed_and_named(self) -> None:
        for value in ("9223372036854775807", "2"):
            finding = kafka.derive_level(changed(KAFKA_SYNCED, "flush.messages", value), LevelChoice(3), 1)
            assert finding.level == 4
            assert f"{KAFKA_TOPIC}: flush.messages={value}" in finding.problems[0]
            assert "less durable" in finding.problems[0]

    def test_one_unsynced_topic_of_two_decides(self) -> None:
        second = [replace(s, scope="topic tg-2") for s in KAFKA_SYNCED if s.scope == KAFKA_TOPIC]
        settings = [*KAFKA_SYNCED, *changed(second, "flush.messages", "9223372036854775807")]
        finding = kafka.derive_level(settings, LevelChoice(3), 1)
        assert finding.level == 4
        assert "topic tg-2" in finding.problems[0]
        assert KAFKA_TOPIC not in finding.problems[0]

    def test_more_durable_than_asked_is_a_problem_too(self) -> None:
        finding = kafka.derive_level(KAFKA_SYNCED, LevelChoice(4), 1)
        assert finding.level == 3
        assert "more durable" in finding.problems[0]

    def test_nothing_read_back_is_unknown(self) -> None:
        finding = kafka.derive_level([s for s in KAFKA_SYNCED if "broker" in s.scope], LevelChoice(3), 1)
        assert (finding.level, finding.problems) == (None, ())
        assert finding.undecided == ("no settings of any topic were read back",)

    def test_acks_0_is_no_level(self) -> None:
        finding = kafka.derive_level([*KAFKA_SYNCED, Setting("producer", "acks", "0")], LevelChoice(3), 1)
        assert finding.level is None
        assert "acks=0" in finding.problems[0]

    def test_a_producer_that_waits_for_one_copy_only_is_noticed(self) -> None:
        settings = changed(KAFKA_SYNCED, "min.insync.replicas", "2")
        assert kafka.derive_level([*settings, Setting("producer", "acks", "-1")], LevelChoice(1), 3).level == 1
        weak = kafka.derive_level([*settings, Setting("producer", "acks", "1")], LevelChoice(1), 3)
        assert weak.level == 3
        assert "acks=one" in weak.problems[0]

    def test_three_nodes(self) -> None:
        settings = changed(KAFKA_SYNCED, "min.insync.replicas", "2")
        assert kafka.derive_level(settings, LevelChoice(1), 3).level == 1
        weak = kafka.derive_level(KAFKA_SYNCED, LevelChoice(1), 3)
        assert weak.level == 3
        assert "min.insync.replicas" in weak.problems[0]

    def test_three_nodes_with_one_copy(self) -> None:
        settings = changed(changed(KAFKA_SYNCED, "min.insync.replicas", "2"), "replication.factor", "1")
        finding = kafka.derive_level(settings, LevelChoice(1), 3)
        assert finding.level == 3
        assert "replication.factor" in finding.problems[0]

    def test_copies_that_were_not_asked_for_are_named(self) -> None:
        settings = [*changed(KAFKA_SYNCED, "min.insync.replicas", "2"), Setting("producer", "acks", "all")]
        (problem,) = kafka.derive_level(settings, LevelChoice(3), 3).problems
        assert "the settings give level 1 (more durable): topic tg-1: acks=all, min.insync.replicas=2" in problem

    def test_settings_by_level(self) -> None:
        assert kafka.topic_settings(LevelChoice(3)) == {"flush.messages": "1", "flush.ms": "0"}
        assert kafka.topic_settings(LevelChoice(4)) == {}
        assert kafka.client_acks(LevelChoice(1), 3) == "all"
        assert kafka.client_acks(LevelChoice(3), 3) == "one"
        assert kafka.client_acks(LevelChoice(3), 1) == "all"


class TestPulsar:
    def test_level_3(self) -> None:
        finding = pulsar.derive_level(PULSAR_SYNCED, LevelChoice(3), 1)
        assert finding.level == 3
        assert finding.problems == ()
        assert any("31 journal syncs" in reason for reason in finding.reasoning)

    @pytest.mark.parametrize("name", ["journalSyncData", "journalWriteData"])
    def test_tampering_is_noticed_and_named(self, name: str) -> None:
        finding = pulsar.derive_level(changed(PULSAR_SYNCED, name, "false"), LevelChoice(3), 1)
        assert finding.level == 4
        assert f"bookie 1: {name}=false" in finding.problems[0]

    @pytest.mark.parametrize("name", ["journalSyncData", "journalWriteData"])
    def test_a_setting_not_reported_is_unknown(self, name: str) -> None:
        settings = [s for s in PULSAR_SYNCED if s.name != name]
        for level in (3, 4):
            finding = pulsar.derive_level(settings, LevelChoice(level), 1)
            assert (finding.level, finding.problems) == (None, ())
            assert finding.undecided == (f"bookie 1: {name} is not reported",)

    def test_a_promise_without_syncs_is_noticed(self) -> None:
        finding = pulsar.derive_level(changed(PULSAR_SYNCED, pulsar.JOURNAL_SYNCS, "0"), LevelChoice(3), 1)
        assert finding.level == 4
        assert "no journal sync" in finding.problems[0]

    def test_without_counters_the_settings_decide(self) -> None:
        settings = [s for s in PULSAR_SYNCED if "so far" not in s.name]
        assert pulsar.derive_level(settings, LevelChoice(3), 1).level == 3

    def test_the_weakest_bookie_decides(self) -> None:
        other = [Setting("bookie 2", "journalWriteData", "true"), Setting("bookie 2", "journalSyncData", "false")]
        finding = pulsar.derive_level([*PULSAR_SYNCED, *other], LevelChoice(3), 1)
        assert finding.level == 4
        assert "bookie 2" in finding.problems[0]

    def test_forms_of_level_4_are_kept_apart(self) -> None:
        unsynced = changed(PULSAR_SYNCED, "journalSyncData", "false")
        assert pulsar.derive_level(unsynced, LevelChoice(4, "journal"), 1).problems == ()
        assert pulsar.derive_level(unsynced, LevelChoice(4), 1).problems == ()
        wrong = pulsar.derive_level(unsynced, LevelChoice(4, "bypass"), 1)
        assert wrong.level == 4
        assert "bookies have 'journal'" in wrong.problems[0]

    def test_more_durable_than_asked_is_a_problem_too(self) -> None:
        assert "more durable" in pulsar.derive_level(PULSAR_SYNCED, LevelChoice(4), 1).problems[0]

    def test_settings_that_are_as_asked_are_not_at_fault(self) -> None:
        """Levels 2 and 4 want no sync: what is wrong is the quorum alone; and each of two faults is named."""
        several = [Setting(f"bookie {number}", "journalWriteData", "true") for number in (1, 2, 3)]
        several.append(Setting("broker 1", "managedLedgerDefaultAckQuorum", "1"))
        several.append(Setting("broker 1", "managedLedgerDefaultWriteQuorum", "3"))
        unsynced = [Setting(f"bookie {number}", "journalSyncData", "false") for number in (1, 2, 3)]
        (problem,) = pulsar.derive_level([*several, *unsynced], LevelChoice(2), 3).problems
        assert problem.endswith("the settings give level 4 (less durable): broker 1: managedLedgerDefaultAckQuorum=1")
        synced = changed([*several, *unsynced], "journalSyncData", "true")
        both = pulsar.derive_level(changed(synced, "managedLedgerDefaultAckQuorum", "2"), LevelChoice(4), 3)
        assert both.problems[0].endswith(": journalSyncData=true; broker 1: managedLedgerDefaultAckQuorum=2")

    def test_no_bookie_is_unknown(self) -> None:
        assert pulsar.derive_level(PULSAR_SYNCED[:1], LevelChoice(3), 1).level is None

    def test_settings_by_level(self) -> None:
        assert pulsar.journal_settings(LevelChoice(3))["journalSyncData"] == "true"
        assert pulsar.journal_settings(LevelChoice(4))["journalWriteData"] == "true"
        assert pulsar.journal_settings(LevelChoice(4, "bypass"))["journalWriteData"] == "false"
        assert pulsar.quorum_settings(LevelChoice(1), 3)["managedLedgerDefaultAckQuorum"] == "2"
        assert pulsar.quorum_settings(LevelChoice(3), 1)["managedLedgerDefaultAckQuorum"] == "1"


def brokers(looks_every_ms: str | None) -> list[Setting]:
    names = {"log.flush.scheduler.interval.ms": looks_every_ms, "num.io.threads": "8"}
    return [Setting(f"broker {n}", name, value) for n in (1, 2, 3) for name, value in names.items() if value]


class TestKafkaTopics:
    """One line for each public case of settings that once were named wrongly."""

    @pytest.mark.parametrize(
        ("facts", "acks", "level"),
        [
            ({}, ALL, 2),
            ({"flush_messages": "1"}, ALL, 1),
            ({"flush_messages": "1"}, ONE, 3),
            ({}, ONE, 4),
            ({"min_insync_replicas": "1"}, ALL, 4),
            ({"replication_factor": "2"}, ALL, 2),
            ({"replication_factor": "4", "min_insync_replicas": "2"}, ALL, 4),
            ({"replication_factor": "5", "min_insync_replicas": "2"}, ALL, 4),
            ({"replication_factor": "5", "min_insync_replicas": "3"}, ALL, 2),
            ({"replication_factor": "3-5", "min_insync_replicas": "2"}, ALL, 4),
            ({"replication_factor": "3-5", "min_insync_replicas": "3"}, ALL, 2),
            ({"replication_factor": "1-3"}, ALL, 4),
            ({"min_insync_replicas": "3"}, ALL, 2),
            # What is not reported does not matter where another setting decides alone.
            ({"min_insync_replicas": None}, ONE, 4),
            ({"replication_factor": None, "min_insync_replicas": "1"}, ALL, 4),
        ],
    )
    def test_level(self, facts: dict[str, str | None], acks: Setting, level: int) -> None:
        finding = kafka.derive_level([*kafka_topic(**facts), *brokers(NEVER), acks], LevelChoice(level), 5)
        assert (finding.level, finding.problems, finding.undecided) == (level, (), ())

    @pytest.mark.parametrize(
        ("facts", "possible", "unknown"),
        [
            ({"flush_messages": None}, (1, 2), "flush.messages is not reported"),
            ({"flush_messages": None, "min_insync_replicas": None}, (1, 2, 3, 4), "flush.messages is not reported"),
            ({"min_insync_replicas": None}, (2, 4), "min.insync.replicas is not reported"),
            ({"replication_factor": None}, (2, 4), "replication.factor is not reported"),
            (
                {"replication_factor": None, "min_insync_replicas": None},
                (2, 4),
                "min.insync.replicas and replication.factor are not reported",
            ),
            ({"diskless_enable": "true", "replication_factor": "1"}, (1, 2, 3, 4), "by the documentation of Aiven"),
            ({"write_caching": "unheard"}, (1, 2, 3, 4), "by the documentation of Redpanda write caching"),
        ],
    )
    def test_what_is_not_reported_is_unknown_and_no_default(
        self, facts: dict[str, str | None], possible: tuple[int, ...], unknown: str
    ) -> None:
        settings = [*kafka_topic(**facts), *brokers(NEVER), ALL]
        for asked in (1, 2, 3, 4):
            finding = kafka.derive_level(settings, LevelChoice(asked), 3)
            assert finding.level is None
            assert finding.undecided[0].startswith(f"topic t: {unknown}")
            # A problem only where no value of what is unknown gives the level that was asked for.
            assert bool(finding.problems) is (asked not in possible)

    @pytest.mark.parametrize("name", ["flush_messages", "flush_ms", "min_insync_replicas", "replication_factor"])
    def test_a_number_that_no_setting_can_have_is_no_number(self, name: str) -> None:
        settings = [*kafka_topic(**{name: "9" * 5000}), *brokers("9" * 5000), ALL]
        finding = kafka.derive_level(settings, LevelChoice(2), 3)
        assert finding.level == (2 if name == "flush_ms" else None)
        assert finding.problems == ()

    def test_diskless_topics_that_are_not_are_kafkas_own(self) -> None:
        settings = [*kafka_topic(diskless_enable="false"), ALL]
        assert kafka.derive_level(settings, LevelChoice(2), 3).level == 2

    @pytest.mark.parametrize(
        ("facts", "looks_every_ms", "caveat"),
        [
            ({}, NEVER, ""),
            ({"flush_messages": "1", "flush_ms": "0"}, NEVER, ""),
            ({"unclean_leader_election_enable": "true"}, NEVER, "unclean.leader.election.enable=true: a replica that"),
            ({"unclean_leader_election_enable": "true", "replication_factor": "1"}, NEVER, ""),
            ({"min_insync_replicas": "3"}, NEVER, "min.insync.replicas=3 of 3 copies: one node that is lost stops"),
            ({"remote_storage_enable": "true"}, NEVER, "remote.storage.enable=true: older segments are in remote"),
            ({"flush_messages": "10000"}, NEVER, "flush.messages=10000: at most 10,000 acknowledged messages of a"),
            ({"flush_ms": "1000"}, "500", "flush.ms=1000: at most 1,500 ms of acknowledged messages are in memory"),
            ({"flush_ms": "1000"}, NEVER, "flush.ms=1000 has no effect: brokers never look for it"),
            ({"flush_ms": "1000"}, None, "flush.ms=1000: whether brokers look for it is not known"),
        ],
    )
    def test_caveats(self, facts: dict[str, str | None], looks_every_ms: str | None, caveat: str) -> None:
        caveats = kafka.derive_level([*kafka_topic(**facts), *brokers(looks_every_ms), ALL], LevelChoice(2), 3).caveats
        assert [words.startswith(f"topic t: {caveat}") for words in caveats] == ([True] if caveat else [])

    def test_one_topic_with_fewer_copies_than_a_majority_decides(self) -> None:
        settings = [*kafka_topic("a"), *kafka_topic("b", replication_factor="5"), ALL]
        (problem,) = kafka.derive_level(settings, LevelChoice(2), 5).problems
        assert "less durable" in problem
        assert "topic b: " in problem
        assert "2 of 5 copies are no majority" in problem
        assert "topic a" not in problem

    def test_many_topics_that_are_alike_are_named_once(self) -> None:
        settings = [setting for n in range(10) for setting in kafka_topic(f"t{n}")]
        finding = kafka.derive_level([*settings, ALL], LevelChoice(1), 3)
        assert len(finding.reasoning) == 2
        assert "topic t0 and 9 more: flush.messages=" in finding.problems[0]

    @pytest.mark.parametrize(("asked", "facts"), [(3, {}), (2, {"flush_messages": "1", "acks": "1"})])
    def test_levels_2_and_3_are_in_no_order(self, asked: int, facts: dict[str, str]) -> None:
        acks = ONE if asked == 2 else ALL
        (problem,) = kafka.derive_level([*kafka_topic(**facts), acks], LevelChoice(asked), 3).problems
        assert "neither more nor less durable" in problem


def test_null_is_level_4_only() -> None:
    system = registry.system_named("null")
    assert system.possible_levels("1", 1) == [LevelChoice(4)]
    assert system.derive_level([], LevelChoice(4), 1).level == 4


def test_the_null_system_is_started_at_level_4_only() -> None:
    null = registry.system_named("null")
    for level, refused in ((3, True), (4, False)):
        request: Any = SimpleNamespace(
            choice=LevelChoice(level), distribution=SimpleNamespace(version="1"), nodes=1, settings={"delay": "1"}
        )
        if refused:
            with pytest.raises(UserError, match="null on 1 node can't give level 3"):
                null.deploy(request, None)  # type: ignore[arg-type]
        else:
            assert null.deploy(request, None).connection == {"delay": "1"}  # type: ignore[arg-type]


def test_the_kafka_topic_with_fewest_copies_decides() -> None:
    def topic(name: str, copies: str) -> list[Setting]:
        facts = {"flush.messages": "1", "min.insync.replicas": "2", "replication.factor": copies}
        return [Setting(f"topic {name}", key, value) for key, value in facts.items()]

    assert kafka.derive_level([*topic("a", "3"), *topic("b", "3")], LevelChoice(1), 3).level == 1
    assert kafka.derive_level([*topic("a", "3"), *topic("b", "1")], LevelChoice(1), 3).level == 3
