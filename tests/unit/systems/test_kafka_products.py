"""Products that speak Kafka's protocol: how they are known, what topics are asked for there, what is promised."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from kafka_settings import ALL, ONE, kafka_topic

from tidegauge.fairness import Case
from tidegauge.model.level import AS_FOUND, LevelChoice
from tidegauge.model.server import Setting
from tidegauge.model.workload import Payload, Workload
from tidegauge.systems.api import expected_level
from tidegauge.systems.attached import product_words
from tidegauge.systems.kafka import SYSTEM, products
from tidegauge.systems.kafka.level import derive_level
from tidegauge.systems.kafka.products import all_products, product_in, product_named, product_names, settings_naming
from tidegauge.systems.kafka.topics import topic_terms

THREE = (Setting("cluster", "brokers", "3"),)
NEVER = "9223372036854775807"
LEVELS = {1: {"min.insync.replicas": "2", "flush.messages": "1"}, 2: {"min.insync.replicas": "2"}, 4: {}}
NEW = 'title = "Newcomer"\nsources = ["https://x.test/"]\n[recognized]\ncluster-id = "new-1"\n'


def case_at(level: int, **changes: object) -> Case:
    return replace(Case("4.3.1", 3, LevelChoice(level) if level else AS_FOUND), **changes)  # type: ignore[arg-type]


def said(name: str) -> list[Setting]:
    return settings_naming(name, [])


def on_address(host: str) -> Setting:
    return Setting("broker 1", "address", f"{host}:9098")


@pytest.mark.parametrize(
    ("setting", "name"),
    [
        (Setting("cluster", "cluster.id", "redpanda.06fecd6e-6ba5"), "redpanda"),
        (Setting("topic t", "write.caching", "false"), "redpanda"),
        (Setting("topic t", "redpanda.remote.read", "false"), "redpanda"),
        (on_address("b-2.orders.x1y2z3.c4.kafka.eu-west-1.amazonaws.com"), "msk"),
        (on_address("boot-x1y2z3.c2.kafka-serverless.eu-west-1.amazonaws.com"), "msk-serverless"),
        (on_address("lkc-4dn12-g001.eu-west-1.aws.confluent.cloud"), "confluent-cloud"),
        (Setting("cluster", "cluster.id", "lkc-4dn12"), "confluent-cloud"),
        (on_address("orders.servicebus.windows.net"), "event-hubs"),
        (on_address("api-x1.us-east-1.prod.warpstream.com"), "warpstream"),
        (Setting("cluster", "cluster.id", "vci_63ad3f34_9dc7_4bb0_a1b2_2a6bb2c9e000"), "warpstream"),
        (Setting("topic t", "bufstream.archive.kind", "FLAT"), "bufstream"),
        (Setting("broker 1", "elasticstream.enable", "true"), "automq"),
        (Setting("topic t", "diskless.enable", "true"), "inkless"),
    ],
)
def test_a_product_is_known_by_what_it_reports(setting: Setting, name: str) -> None:
    product = product_in([*THREE, setting])
    assert product is not None
    assert product.name == name
    words = product_words(settings_naming("", [*THREE, setting]))
    assert words.startswith(f"{product.title} (by its ")
    assert (setting.name if "setting" in words else setting.value.rpartition(":")[0] or setting.value) in words


@pytest.mark.parametrize(
    "setting",
    [
        Setting("cluster", "cluster.id", "lkc-4dn12AAAAAAAAAAAAAA"),
        Setting("cluster", "cluster.id", "MkU3OEVBNTcwNTJENDM2Qk"),
        on_address("confluent.cloud.example.com"),
        on_address("b-2.example.com"),
        Setting("topic t", "flush.ms", "100"),
        Setting("broker 1", "write.caching", "true"),
    ],
)
def test_apache_kafka_is_none_of_them(setting: Setting) -> None:
    assert product_in([*THREE, setting, *kafka_topic()]) is None
    assert product_words(settings_naming("", [*THREE, setting])) == ""


def test_what_the_user_says_wins_and_what_is_seen_is_said_beside() -> None:
    assert product_words(said("confluent")) == "Confluent Cloud (said)"
    seen = [on_address("orders.servicebus.windows.net")]
    assert product_words(settings_naming("redpanda", seen)) == (
        "Redpanda (said; by its address orders.servicebus.windows.net it is Azure Event Hubs)"
    )
    assert product_words(settings_naming("event-hubs", seen)) == "Azure Event Hubs (said)"
    assert product_in([*seen, *said("redpanda")]) == product_named("redpanda")


def test_each_has_its_documentation_and_a_name_of_its_own() -> None:
    assert all(url.startswith("https://") for one in all_products().values() for url in one.fields.sources)
    names = product_names()
    assert len(set(names)) == len(names)
    assert {"redpanda", "msk", "confluent", "warpstream", "automq", "bufstream", "event-hubs", "inkless"} <= set(names)


@pytest.fixture
def with_newcomer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "newcomer.toml").write_text(NEW)
    monkeypatch.setattr(products, "_DATA", tmp_path)
    all_products.cache_clear()
    yield
    monkeypatch.undo()
    all_products.cache_clear()


@pytest.mark.usefixtures("with_newcomer")
def test_one_file_adds_a_product() -> None:
    product = product_in([Setting("cluster", "cluster.id", "new-1")])
    assert product is not None
    assert (product.name, product.title) == ("newcomer", "Newcomer")


class TestLevels:
    @pytest.mark.parametrize(
        ("name", "facts", "acks", "level"),
        [
            ("redpanda", {"write_caching": "false"}, ALL, 1),
            ("redpanda", {"write_caching": "true"}, ALL, 2),
            ("redpanda", {"write_caching": "false"}, ONE, 4),
            ("redpanda", {"write_caching": "false", "replication_factor": "1"}, ALL, 3),
            ("redpanda", {"write_caching": "false", "replication_factor": None}, ALL, None),
            ("redpanda", {}, ALL, None),
            ("warpstream", {}, ALL, None),
            ("bufstream", {}, ALL, None),
            ("automq", {}, ALL, None),
            ("event-hubs", {}, ALL, None),
            ("inkless", {"diskless_enable": "true"}, ALL, None),
            # Apache Kafka's own settings decide.
            ("inkless", {"diskless_enable": "false"}, ALL, 2),
            ("msk", {}, ALL, 2),
            ("msk", {"flush_messages": None}, ALL, None),
            ("msk-serverless", {}, ALL, 2),
            ("confluent-cloud", {"min_insync_replicas": "1"}, ALL, 4),
        ],
    )
    def test_level(self, name: str, facts: dict[str, str | None], acks: Setting, level: int | None) -> None:
        finding = derive_level([*kafka_topic(**facts), *said(name), acks], AS_FOUND, 3)
        assert finding.level == level
        assert bool(finding.undecided) is (level is None)

    def test_whose_word_it_is_is_said(self) -> None:
        finding = derive_level([*kafka_topic(write_caching="true"), *said("redpanda"), ALL], LevelChoice(2), 3)
        assert finding.reasoning == (
            "topic t: by the documentation of Redpanda a majority of copies has it in memory, and fsyncs later by "
            "flush.ms and flush.bytes (acks=all, write.caching=true, replication.factor=3)",
        )

    def test_a_setting_that_has_no_effect_there_gives_no_level(self) -> None:
        synced = kafka_topic(flush_messages="1", min_insync_replicas="3")
        assert derive_level([*synced, *said("warpstream"), ALL], LevelChoice(1), 3).level is None

    def test_settings_of_msk_that_lose_messages_are_said(self) -> None:
        topic = kafka_topic(unclean_leader_election_enable="true")
        (caveat,) = derive_level([*topic, *said("msk"), ALL], LevelChoice(2), 3).caveats
        assert "unclean.leader.election.enable=true: a replica that is not in sync" in caveat


class TestTopics:
    @pytest.mark.parametrize("level", sorted(LEVELS))
    def test_an_unknown_cluster_is_asked_for_what_the_level_needs_and_no_more(self, level: int) -> None:
        terms = topic_terms(case_at(level), THREE)
        assert (terms.settings, terms.copies, terms.left_out, terms.why) == (LEVELS[level], 3, {}, ())

    def test_what_brokers_give_by_default_is_not_asked_for(self) -> None:
        by_default = [Setting(f"broker {n}", "min.insync.replicas", "2") for n in (1, 2, 3)]
        assert topic_terms(case_at(2), by_default).settings == {}
        # All of them must.
        assert topic_terms(case_at(2), [*by_default[:2], Setting("broker 3", "min.insync.replicas", "1")]).settings

    def test_of_five_copies_three_are_a_majority(self) -> None:
        assert topic_terms(case_at(2, copies=5), THREE).settings == {"min.insync.replicas": "3"}
        ours = topic_terms(case_at(2, copies=5, nodes=5))
        assert (ours.settings["min.insync.replicas"], ours.copies) == ("3", 5)
        assert "min.insync.replicas" not in topic_terms(case_at(2)).settings

    @pytest.mark.parametrize(
        ("batch", "message_bytes", "wanted"),
        [("", 1024, None), ("1048576", 1024, None), ("2000000", 1024, "2000000"), ("", 1 << 20, str((1 << 20) + 512))],
    )
    def test_the_limit_of_batches_is_raised_only_where_they_need_it(
        self, batch: str, message_bytes: int, wanted: str | None
    ) -> None:
        workload = Workload(payload=Payload(message_bytes=message_bytes))
        case = case_at(4, workload=workload, producer={"batch.size": batch} if batch else {})
        assert topic_terms(case, THREE).settings.get("max.message.bytes") == wanted
        generous = Setting("broker 1", "message.max.bytes", "9000000")
        assert topic_terms(case, [generous]).settings == {}

    @pytest.mark.parametrize(
        ("name", "level", "settings", "why"),
        [
            ("msk", 1, LEVELS[1], ""),
            ("msk-serverless", 2, {}, "since Amazon MSK Serverless refuses it: min.insync.replicas=2"),
            ("confluent-cloud", 2, LEVELS[2], ""),
            ("confluent-cloud", 1, LEVELS[2], "since Confluent Cloud refuses it: flush.messages=1"),
            ("redpanda", 1, {}, "since Redpanda gives it no effect: flush.messages=1, min.insync.replicas=2"),
            ("warpstream", 2, {}, "since WarpStream gives it no effect: min.insync.replicas=2"),
            ("event-hubs", 2, {}, "since Azure Event Hubs refuses it: min.insync.replicas=2"),
        ],
    )
    def test_what_a_product_refuses_or_ignores_is_left_out(
        self, name: str, level: int, settings: dict[str, str], why: str
    ) -> None:
        terms = topic_terms(case_at(level), said(name))
        assert terms.settings == settings
        assert "; ".join(terms.why) == (f"not set on topics, {why}" if why else "")
        assert {**settings, **terms.left_out} == LEVELS[level]

    def test_copies_are_left_to_a_product_that_has_its_own_number(self) -> None:
        assert topic_terms(case_at(2), said("confluent-cloud")).copies == 0
        assert topic_terms(case_at(2), said("redpanda")).copies == 3
        assert topic_terms(case_at(2, copies=1), said("automq")).copies == 1

    def test_a_limit_above_what_a_product_allows_is_left_out_and_missed(self) -> None:
        terms = topic_terms(case_at(4, producer={"batch.size": "9000000"}), said("msk-serverless"))
        assert terms.why == (
            "not set on topics, since Amazon MSK Serverless allows at most 8,388,608: max.message.bytes=9000000",
        )
        topic = Setting("topic t", "max.message.bytes", "1048588")
        assert terms.limits_missed([topic]) == "max.message.bytes=9000000 is needed, and topic t has 1048588"
        assert terms.limits_missed([replace(topic, value="9000000"), replace(topic, scope="broker 1")]) == ""

    def test_what_a_campaign_asks_for_is_never_left_out(self) -> None:
        terms = topic_terms(case_at(2, topic={"flush.messages": "1"}), said("msk-serverless"))
        assert terms.settings == {"flush.messages": "1"}
        assert terms.without_refused("flush.messages is not allowed") is None

    def test_what_a_cluster_refuses_is_left_out_by_its_words(self) -> None:
        terms = topic_terms(case_at(1), THREE)
        fewer = terms.without_refused("Config property 'flush.messages' is not allowed.")
        assert fewer is not None
        assert (fewer.settings, fewer.left_out) == ({"min.insync.replicas": "2"}, {"flush.messages": "1"})
        assert fewer.why == (
            "not set on topics, since the cluster refuses it: flush.messages=1 "
            "(Config property 'flush.messages' is not allowed)",
        )
        none = terms.without_refused("No settings here")
        assert none is not None
        assert none.settings == {}
        assert none.without_refused("Nor this name") is None

    def test_a_level_that_a_product_can_not_have_is_known_before_and_why(self) -> None:
        never = [Setting("broker 1", "log.flush.interval.messages", NEVER)]
        finding = expected_level(SYSTEM, case_at(1), [*never, *said("msk-serverless")])
        assert finding is not None
        (problem,) = finding.problems
        assert "level 1 was asked for" in problem
        assert "not set on topics, since Amazon MSK Serverless refuses it: flush.messages=1" in problem
