"""The properties that must be the same: each rule where it fires, and where it doesn't."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fairness_samples import WORKLOAD, case, contender

from tidegauge.fairness import (
    OWN_CLIENT_SETTINGS,
    OWN_SERVER_SETTINGS,
    RULES,
    Case,
    ComparedSystem,
    Fact,
    Hazard,
    Property,
    check_fairness,
    normal_settings,
)
from tidegauge.model.server import Setting
from tidegauge.model.tilt import Severity, Stage, Terms, Tilt, new_among
from tidegauge.model.workload import Compression

UNEQUAL, ADVICE = Severity.UNEQUAL, Severity.ADVICE


def rules_of(stage: Stage = Stage.WANTED, **cases: Case) -> dict[str, Severity]:
    """The rules that fire, with the severest of each."""
    found = check_fairness([contender(f"{name}@1", one) for name, one in cases.items()], stage)
    return {tilt.rule: tilt.severity for tilt in reversed(found)}


def pair(first: Fact, second: Fact, name: Property) -> list[Tilt]:
    return list(
        check_fairness([ComparedSystem("a@1", {name: first}), ComparedSystem("b@1", {name: second})], Stage.WANTED)
    )


@pytest.mark.parametrize("name", list(Property))
def test_every_property_has_a_rule_that_fires_on_a_difference_and_only_then(name: Property) -> None:
    small, large = Fact(10.0, "x=10", chosen=True), Fact(50.0, "x=50", chosen=True)
    (tilt,) = pair(small, large, name)
    assert tilt.rule == name
    assert tilt.severity is (ADVICE if name is Property.SERVER_RUNTIME else UNEQUAL)
    assert tilt.systems == ("a@1", "b@1")
    assert "a@1 x=10, b@1 x=50" in tilt.paragraph()
    for words in (tilt.why, tilt.amount, tilt.source, tilt.remedy):
        assert words
        assert words in tilt.paragraph()
    assert pair(small, replace(small, words="the same in other words"), name) == []
    (words,) = pair(Fact("lz4", "x=lz4", chosen=True), Fact("none", "x=none"), name)
    assert words.rule == name


@pytest.mark.parametrize(
    ("name", "ratio"), [(name, rule.ratio_max) for name, rule in RULES.items() if rule.ratio_max > 1]
)
def test_small_differences_of_rounding_are_none(name: Property, ratio: float) -> None:
    chosen = Fact(100.0, "x", chosen=True)
    assert pair(chosen, Fact(100.0 * ratio, "y"), name) == []
    assert len(pair(chosen, Fact(101.0 * ratio, "y"), name)) == 1
    assert len(pair(chosen, Fact(0.0, "y"), name)) == 1, "nothing at all is no rounding"


def test_a_queue_that_no_setting_of_the_campaign_made_differ_is_advice() -> None:
    (tilt,) = pair(Fact(10.0, "x"), Fact(100.0, "y"), Property.RECEIVE_QUEUE)
    assert tilt.severity is ADVICE


def test_what_a_system_does_not_have_is_reported_but_blocks_nothing() -> None:
    (tilt,) = pair(Fact(None, "has none"), Fact(10.0, "x"), Property.BATCH_SIZE)
    assert (tilt.severity, tilt.systems) == (ADVICE, ("a@1",))
    assert "nothing to set" in tilt.remedy
    assert pair(Fact(None, "has none"), Fact(None, "nor has this"), Property.BATCH_SIZE) == []
    assert pair(Fact(None, "has none"), Fact(10.0, "x"), Property.CONNECTIONS) == []


def test_systems_as_tidegauge_sets_them_are_on_equal_terms() -> None:
    for level in (3, 4):
        assert rules_of(kafka=case(level), pulsar=case(level)) == {}
    with_rabbitmq = rules_of(kafka=case(3), pulsar=case(3), rabbitmq=case(3, "quorum", version="4.3.6"))
    assert with_rabbitmq == {"compression": UNEQUAL, "batch-size": ADVICE}, "AMQP can't compress: the workload asks"
    plain = replace(WORKLOAD, client=replace(WORKLOAD.client, compression=Compression.NONE))
    cases = {name: case(3, workload=plain) for name in ("kafka", "pulsar")}
    assert rules_of(**cases, rabbitmq=case(3, "quorum", workload=plain, version="4.3.6")) == {"batch-size": ADVICE}


KAFKA_UNEQUAL = [
    ({"batch.size": "16384"}, {}, "batch-size"),
    ({"linger.ms": "10"}, {}, "batch-delay"),
    ({"compression.type": "none"}, {}, "compression"),
    ({"buffer.memory": "102400"}, {}, "in-flight"),
    ({}, {"fetch.max.bytes": "115200"}, "receive-queue"),
    ({}, {"max.partition.fetch.bytes": "11520"}, "receive-queue"),
]
PULSAR_UNEQUAL = [
    ({"batchingMaxBytes": "16384"}, {}, "batch-size"),
    ({"batchingMaxMessages": "10"}, {}, "batch-size"),
    ({"batchingEnabled": "false"}, {}, "batch-size"),
    ({"batchingMaxPublishDelayMicros": "10000"}, {}, "batch-delay"),
    ({"compressionType": "ZSTD"}, {}, "compression"),
    ({"maxPendingMessages": "100"}, {}, "in-flight"),
    ({"maxPendingMessagesAcrossPartitions": "100"}, {}, "in-flight"),
    ({}, {"receiverQueueSize": "10"}, "receive-queue"),
]


@pytest.mark.parametrize(("producer", "consumer", "rule"), KAFKA_UNEQUAL)
def test_kafkas_own_client_settings_are_held_against_the_others(
    producer: dict[str, str], consumer: dict[str, str], rule: str
) -> None:
    own = case(producer=producer, consumer=consumer)
    assert rules_of(kafka=own, pulsar=case()) == {rule: UNEQUAL}
    assert rules_of(kafka=own) == {}, "nothing is compared"


@pytest.mark.parametrize(("producer", "consumer", "rule"), PULSAR_UNEQUAL)
def test_pulsars_own_client_settings_are_held_against_the_others(
    producer: dict[str, str], consumer: dict[str, str], rule: str
) -> None:
    found = rules_of(pulsar=case(producer=producer, consumer=consumer), kafka=case())
    assert found[rule] is UNEQUAL
    assert set(found) <= {rule, "batch-delay"}


def test_the_same_in_each_systems_own_words_is_equal() -> None:
    kafka = case(producer={"linger.ms": "10", "batch.size": "1048576", "compression.type": "gzip"})
    words = {"batchingMaxPublishDelayMicros": "10000", "batchingMaxBytes": "1048576", "compressionType": "ZLIB"}
    assert rules_of(kafka=kafka, pulsar=case(producer={**words, "batchingMaxMessages": "1024"})) == {}


def test_a_neutral_key_that_only_some_clients_can_follow() -> None:
    many = replace(WORKLOAD, client=replace(WORKLOAD.client, connections_per_broker=4))
    assert rules_of(kafka=case(workload=many), pulsar=case(workload=many)) == {"connections": UNEQUAL}
    at_once = replace(WORKLOAD, client=replace(WORKLOAD.client, batch_delay_ms_max=0.0))
    assert rules_of(kafka=case(workload=at_once), pulsar=case(workload=at_once)) == {"batch-delay": UNEQUAL}
    unbatched = replace(WORKLOAD, client=replace(WORKLOAD.client, batch_bytes_max=1))
    assert rules_of(kafka=case(workload=unbatched), pulsar=case(workload=unbatched)) == {}


@pytest.mark.parametrize(
    ("shape", "rules"),
    [
        ({}, {}),
        ({"brokers": "3", "layout": "co-located"}, {}),
        ({"brokers": "1"}, {"serving-nodes": UNEQUAL}),
        ({"layout": "tiered"}, {"nodes": UNEQUAL}),
    ],
)
def test_fewer_brokers_or_more_machines_by_shape(shape: dict[str, str], rules: dict[str, Severity]) -> None:
    found = rules_of(kafka=case(1, nodes=3), pulsar=case(1, nodes=3, shape=shape))
    assert found == {**rules, "in-sync-replicas": ADVICE}


def test_settings_that_nobody_can_judge() -> None:
    kafka = case(producer={"send.buffer.bytes": "1"}, settings={"num.io.threads": "16"})
    assert rules_of(kafka=kafka, pulsar=case()) == {OWN_CLIENT_SETTINGS: UNEQUAL, OWN_SERVER_SETTINGS: ADVICE}
    both = rules_of(kafka=kafka, pulsar=case(consumer={"ackTimeoutMillis": "1"}))
    assert both == {OWN_CLIENT_SETTINGS: ADVICE, OWN_SERVER_SETTINGS: ADVICE}
    assert rules_of(kafka=kafka) == {}
    assert rules_of(Stage.IN_FORCE, kafka=kafka, pulsar=case()) == {}, "reported before the run"


def test_a_hazard_shared_by_all_tilts_nothing() -> None:
    hazard = Hazard("a-rule", "x=1", "why", "amount", "source", "remedy")
    alone, same = ComparedSystem("a@1", {}, (hazard,)), ComparedSystem("a@2", {}, (hazard,))
    assert [tilt.severity for tilt in check_fairness([alone, ComparedSystem("b@1", {})], Stage.WANTED)] == [UNEQUAL]
    assert [tilt.severity for tilt in check_fairness([alone, same], Stage.WANTED)] == [ADVICE, ADVICE]
    assert [tilt.severity for tilt in check_fairness([alone], Stage.WANTED)] == [ADVICE]
    mild = replace(alone, hazards=(replace(hazard, severity=ADVICE),))
    assert check_fairness([mild], Stage.WANTED) == ()


def test_what_is_in_force_wins_over_what_was_wanted() -> None:
    settings_read = (Setting("producer", "linger.ms", "10"), Setting("producer", "batch.size", "65536"))
    pulsar = (Setting("producer", "batchingMaxPublishDelayMicros", "2000"),)
    cases = {"kafka": case(in_force=settings_read), "pulsar": case(in_force=pulsar)}
    assert rules_of(Stage.IN_FORCE, **cases) == {"batch-delay": UNEQUAL}
    (tilt,) = check_fairness([contender(f"{name}@1", one) for name, one in cases.items()], Stage.IN_FORCE)
    assert "batch-delay (as read back): kafka@1 linger.ms=10" in tilt.paragraph()


def test_the_same_news_is_reported_once_and_terms_sort_them() -> None:
    (wanted,) = pair(Fact(1, "x", True), Fact(2, "y"), Property.BATCH_DELAY)
    again = replace(wanted, stage=Stage.IN_FORCE)
    other = replace(again, systems=("c@1",))
    assert new_among([again, other], [wanted]) == (other,)
    known_advice = replace(wanted, severity=ADVICE)
    assert new_among([again], [known_advice]) == (again,), "that it is unequal is news, even where the advice was known"
    terms = Terms.of_tilts([known_advice, wanted], allowed=False)
    assert (terms.unequal, terms.advice, terms.refused) == ((wanted,), (known_advice,), True)
    assert not Terms.of_tilts([wanted], allowed=True).refused
    assert not Terms.of_tilts([known_advice], allowed=False).refused


def test_nodes_as_the_clusters_themselves_tell_them() -> None:
    def brokers(count: int) -> tuple[Setting, ...]:
        bookies = tuple(Setting(f"bookie {number}", "journalSyncData", "true") for number in range(count))
        return (Setting("cluster", "brokers", str(count)), *bookies)

    three = case(4, in_force=brokers(3))
    assert rules_of(Stage.IN_FORCE, kafka=three, pulsar=three) == {}, "whatever number the campaign gives"
    two = rules_of(Stage.IN_FORCE, kafka=three, pulsar=case(4, in_force=brokers(2)))
    assert two == {"nodes": UNEQUAL, "serving-nodes": UNEQUAL}
    unknown = case(4, in_force=brokers(3)[:1])
    assert rules_of(Stage.IN_FORCE, kafka=three, pulsar=unknown) == {}, "the bookies are not known"
    rabbitmq = tuple(Setting(f"node {number}", "running", "true") for number in range(2))
    plain = replace(WORKLOAD, client=replace(WORKLOAD.client, compression=Compression.NONE))
    cases = {"kafka": replace(three, workload=plain), "rabbitmq": case(4, "classic", workload=plain, in_force=rabbitmq)}
    assert rules_of(Stage.IN_FORCE, **cases)["serving-nodes"] is UNEQUAL


def test_servers_of_a_kind_are_taken_together_and_topics_are_not() -> None:
    settings = {
        ("server", scope, "name"): scope for scope in ("broker 1", "broker-2", "topic 1-orders", "topic 2-orders")
    }
    assert list(normal_settings(settings)) == [
        ("server", "broker", "name"),
        ("server", "topic 1-orders", "name"),
        ("server", "topic 2-orders", "name"),
    ]
