"""The published mistakes: each where it fires, before the run and as read back, and where it doesn't."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hazard_samples import case, read

from tidegauge.fairness import Case
from tidegauge.model.processing import Processing, ProcessingKind
from tidegauge.model.tilt import Severity
from tidegauge.model.workload import SubscriptionType, Workload
from tidegauge.systems import registry

UNEQUAL, ADVICE = Severity.UNEQUAL, Severity.ADVICE
NEVER = "9223372036854775807"


def severities(system: str, one: Case) -> dict[str, Severity]:
    found = registry.system_named(system).hazards(one)
    for hazard in found:
        assert all((hazard.what, hazard.why, hazard.amount, hazard.source, hazard.remedy))
    return {hazard.rule: hazard.severity for hazard in found}


@pytest.mark.parametrize("name", ["log.flush.interval.messages", "log.flush.interval.ms"])
def test_kafkas_hidden_flush(name: str) -> None:
    hidden = {name: "10000", "log.flush.scheduler.interval.ms": "500"}
    for level, nodes in ((4, 1), (2, 3)):
        assert severities("kafka", case(level, nodes=nodes, settings=hidden))["hidden-flush"] is UNEQUAL
    for level, nodes in ((3, 1), (1, 3)):
        assert "hidden-flush" not in severities("kafka", case(level, nodes=nodes, settings=hidden)), (
            "this level asks for it"
        )
    assert severities("kafka", case(4, settings={name: NEVER})) == {}
    assert severities("kafka", read(case(4), topic_t={"flush.messages": "10000"})) == {"hidden-flush": UNEQUAL}
    assert severities("kafka", read(case(4), broker_1={name: "1"})) == {"hidden-flush": UNEQUAL}
    default = {"flush.messages": NEVER, "flush.ms": NEVER}
    assert severities("kafka", read(case(4), topic_t=default, broker_1={name: ""})) == {}


def test_a_flush_by_time_that_no_broker_looks_for_is_none() -> None:
    looks = "log.flush.scheduler.interval.ms"
    by_time, by_count = {"flush.messages": NEVER, "flush.ms": "1000"}, {"flush.messages": "10", "flush.ms": NEVER}
    assert severities("kafka", case(4, settings={"log.flush.interval.ms": "1000"})) == {}
    assert severities("kafka", case(4, settings={"log.flush.interval.ms": "1000", looks: "500"})) == {
        "hidden-flush": UNEQUAL
    }
    assert severities("kafka", read(case(4), topic_t=by_time, broker_1={looks: NEVER})) == {}
    assert severities("kafka", read(case(4), topic_t=by_time, broker_1={looks: "500"})) == {"hidden-flush": UNEQUAL}
    assert severities("kafka", read(case(4), topic_t=by_count, broker_1={looks: NEVER})) == {"hidden-flush": UNEQUAL}


def test_kafkas_unclean_election() -> None:
    name = "unclean.leader.election.enable"
    for level, nodes, unequal in ((2, 3, True), (1, 3, True), (4, 1, False), (3, 3, False)):
        assert ("unclean-election" in severities("kafka", case(level, nodes=nodes, settings={name: "true"}))) is unequal
    assert "unclean-election" not in severities("kafka", case(2, nodes=3, settings={name: "false"}))
    in_force = severities("kafka", read(case(2, nodes=3), topic_t={name: "true"}))
    assert in_force["unclean-election"] is UNEQUAL


@pytest.mark.parametrize(
    ("kind", "time_s", "settings", "is_told"),
    [
        (SubscriptionType.SHARED, 0.1, {}, True),
        (SubscriptionType.SHARED, 0.05, {}, False),
        (SubscriptionType.SHARED, 0.1, {"max.poll.records": "150"}, False),
        (SubscriptionType.BY_PARTITION, 0.1, {}, False),
        (SubscriptionType.BY_PARTITION, 1.0, {}, True),
        (SubscriptionType.BY_PARTITION, 0.1, {"max.poll.interval.ms": "20000"}, True),
    ],
)
def test_kafkas_polls_that_take_longer_than_brokers_wait(
    kind: SubscriptionType, time_s: float, settings: dict[str, str], is_told: bool
) -> None:
    workload = Workload(subscription_type=kind, processing=Processing(ProcessingKind.CONSTANT, time_s))
    one = case(1, nodes=3, workload=workload, consumer=settings)
    assert ("long-polls" in severities("kafka", one)) is is_told
    in_force = {"max.poll.records": "500", **settings}
    longer = {"group.share.record.lock.duration.ms": "60000"}
    told = severities("kafka", read(one, consumer=in_force, broker_1=longer))
    assert ("long-polls" in told) is (is_told and kind is not SubscriptionType.SHARED)
    small = replace(workload, client=replace(workload.client, receive_queue_messages=100))
    told = severities("kafka", case(1, nodes=3, workload=small, consumer=settings))
    assert ("long-polls" in told) is (is_told and kind is not SubscriptionType.SHARED), (
        "of a share group it bounds polls"
    )


def test_without_processing_no_poll_is_long() -> None:
    assert "long-polls" not in severities("kafka", case(1, nodes=3))


def test_rabbitmqs_limit_of_redeliveries() -> None:
    shared = Workload(subscription_type=SubscriptionType.SHARED)
    limited = case(1, "quorum", 3, workload=shared)
    assert severities("rabbitmq", limited)["delivery-limit"] is ADVICE
    assert "delivery-limit" not in severities("rabbitmq", replace(limited, topic={"x-delivery-limit": "50"}))
    assert "delivery-limit" not in severities("rabbitmq", replace(limited, version="3.13.7"))
    assert "delivery-limit" not in severities("rabbitmq", case(1, "quorum", 3))
    assert "delivery-limit" not in severities("rabbitmq", case(2, "stream", 3, workload=shared))
    assert "delivery-limit" in severities("rabbitmq", read(limited, topic_t={"queue.arguments": "x-queue-type=quorum"}))
    assert severities("rabbitmq", read(limited, topic_t={"queue.arguments": "x-delivery-limit=5"})) == {}


def test_pulsars_copies() -> None:
    name = "managedLedgerDefaultWriteQuorum"
    assert severities("pulsar", case(2, nodes=3, settings={name: "2"}))["write-quorum"] is UNEQUAL
    assert "write-quorum" not in severities("pulsar", case(2, nodes=3, settings={name: "3"}))
    assert "write-quorum" not in severities("pulsar", read(case(4), broker_1={name: "1"}))
    # The policy of a topic is in force instead of the broker's default.
    own = read(case(2, nodes=3), topic_t={"bookkeeperWriteQuorum": "2"}, broker_1={name: "3"})
    assert severities("pulsar", own)["write-quorum"] is UNEQUAL


def test_kafkas_requests_in_flight() -> None:
    name = "max.in.flight.requests.per.connection"
    assert severities("kafka", case(producer={name: "1"})) == {"requests-in-flight": UNEQUAL}
    assert severities("kafka", case(producer={name: "5"})) == {}
    assert severities("kafka", read(case(), producer={name: "1"})) == {"requests-in-flight": UNEQUAL}
    assert severities("kafka", read(case(), producer={name: "5"})) == {}


@pytest.mark.parametrize(
    ("level", "nodes", "acks", "unequal"),
    [
        (1, 3, "1", True),
        (2, 3, "0", True),
        (3, 3, "all", True),
        (4, 1, "0", True),
        (1, 3, "-1", False),
        (2, 3, "all", False),
        (4, 3, "1", False),
        (3, 1, "1", False),
        (3, 1, "all", False),
    ],
)
def test_kafkas_acks_that_the_level_does_not_mean(level: int, nodes: int, acks: str, unequal: bool) -> None:
    wanted = case(level, nodes=nodes, producer={"acks": acks})
    assert ("acks" in severities("kafka", wanted)) == unequal
    in_force = read(case(level, nodes=nodes), producer={"acks": acks})
    assert ("acks" in severities("kafka", in_force)) == unequal


def test_kafkas_idempotence() -> None:
    off = {"enable.idempotence": "false"}
    assert severities("kafka", case(producer=off)) == {"idempotence": ADVICE}
    assert severities("kafka", read(case(), producer={**off, "acks": "-1"})) == {"idempotence": ADVICE}
    assert severities("kafka", case(producer={**off, "acks": "1"})) == {}, "the client itself turns it off"
    assert severities("kafka", read(case(4, nodes=3), producer={**off, "acks": "1"})) == {}
    assert severities("kafka", case(producer={"enable.idempotence": "true"})) == {}


def test_kafkas_brokers_that_compress_again() -> None:
    assert severities("kafka", case(settings={"compression.type": "zstd"})) == {"server-compression": UNEQUAL}
    assert severities("kafka", case(settings={"compression.type": "producer"})) == {}
    assert severities("kafka", read(case(), topic_t={"compression.type": "gzip"})) == {"server-compression": UNEQUAL}
    assert severities("kafka", read(case(), broker_1={"compression.type": "producer"})) == {}


def test_kafka_waits_for_every_replica_in_sync() -> None:
    assert severities("kafka", case(1, nodes=3)) == {"in-sync-replicas": ADVICE}
    assert severities("kafka", case(4, nodes=3)) == {}


def test_pulsars_new_entries_check_delay() -> None:
    name = "managedLedgerNewEntriesCheckDelayInMillis"
    assert severities("pulsar", case(settings={name: "10"})) == {"new-entries-check": UNEQUAL}
    assert severities("pulsar", case(settings={name: "0"})) == {}
    assert severities("pulsar", case()) == {}
    (hazard,) = registry.system_named("pulsar").hazards(read(case(), broker_b={name: "10"}))
    assert "up to 10 ms" in hazard.amount
    assert severities("pulsar", read(case(), broker_b={name: "0"})) == {}


def test_pulsars_partition_switch_frequency() -> None:
    name = "batchingPartitionSwitchFrequencyByPublishDelay"
    assert severities("pulsar", case(producer={name: "1"})) == {"partition-switch": UNEQUAL}
    assert severities("pulsar", case(producer={name: "1"}, partitions=1)) == {}, "there is no other partition"
    assert severities("pulsar", case(producer={name: "2"})) == {}
    assert severities("pulsar", read(case(), producer={name: "1"})) == {"partition-switch": UNEQUAL}
    assert severities("pulsar", read(case(), producer={name: "10"})) == {}


def test_pulsars_channels_to_a_bookie() -> None:
    name = "bookkeeperNumberOfChannelsPerBookie"
    assert severities("pulsar", case(1, nodes=3, settings={name: "16"})) == {"bookie-channels": ADVICE}
    assert severities("pulsar", read(case(1, nodes=3), broker_b={name: "16"})) == {"bookie-channels": ADVICE}
    assert severities("pulsar", read(case(1, nodes=3), broker_b={name: "64"})) == {}
    assert severities("pulsar", read(case(), broker_b={name: "1"})) == {}, "a standalone always has one"


def test_pulsars_journal_group_wait() -> None:
    name = "journalMaxGroupWaitMSec"
    assert severities("pulsar", case(settings={name: "10"})) == {"journal-group-wait": UNEQUAL}
    assert severities("pulsar", read(case(), bookie_1={name: "10"})) == {"journal-group-wait": UNEQUAL}
    assert severities("pulsar", read(case(), bookie_1={name: "1"})) == {}
    assert severities("pulsar", case(4, "bypass", settings={name: "10"})) == {"bypassed-journal": ADVICE}


def test_pulsars_bypassed_journal() -> None:
    assert severities("pulsar", case(4, "bypass")) == {"bypassed-journal": ADVICE}
    assert severities("pulsar", case(4, "journal")) == {}


def test_pulsars_deduplication() -> None:
    name = "brokerDeduplicationEnabled"
    assert severities("pulsar", case(settings={name: "true"})) == {"deduplication": ADVICE}
    assert severities("pulsar", read(case(), broker_b={name: "true"})) == {"deduplication": ADVICE}
    assert severities("pulsar", read(case(), broker_b={name: "false"})) == {}


QUEUE = {"publisher.confirms": "true", "delivery_mode": "2 (persistent)"}


def test_rabbitmqs_automatic_acknowledgement() -> None:
    assert severities("rabbitmq", read(case(), consumer={"acknowledgement": "automatic"})) == {
        "automatic-acknowledgement": UNEQUAL
    }
    assert severities("rabbitmq", read(case(), consumer={"acknowledgement": "manual, multiple=true"})) == {}
    assert severities("rabbitmq", read(case(4, "stream"), consumer={"offset": "first"})) == {}, "streams have none"
    wanted = case(consumer={"autoAck": "true"})
    assert severities("rabbitmq", wanted) == {"automatic-acknowledgement": UNEQUAL}, "seen before anything runs"
    assert severities("rabbitmq", case(consumer={"autoAck": "false"})) == {}
    assert "autoAck" in registry.system_named("rabbitmq").client_facts(wanted).judged


def test_rabbitmqs_missing_confirms() -> None:
    assert severities("rabbitmq", read(case(), producer={**QUEUE, "publisher.confirms": "false"})) == {
        "no-publisher-confirms": UNEQUAL
    }
    assert severities("rabbitmq", read(case(), producer=QUEUE)) == {}


def test_rabbitmqs_transient_messages() -> None:
    transient = {**QUEUE, "delivery_mode": "1 (transient)"}
    assert severities("rabbitmq", case(4, "transient")) == {"transient-messages": UNEQUAL}, (
        "classic would be persistent"
    )
    assert severities("rabbitmq", case(4, "transient", version="3.8.9")) == {"transient-messages": ADVICE}, (
        "nothing else"
    )
    assert severities("rabbitmq", case(2, "mirrored-transient", version="3.10.8", nodes=3)) == {
        "transient-messages": UNEQUAL
    }
    assert severities("rabbitmq", case(2, "mirrored-transient", version="3.8.9", nodes=3)) == {
        "transient-messages": UNEQUAL
    }
    assert severities("rabbitmq", case(4, "classic")) == {}
    classic = case(3, "classic", version="3.12.14")
    assert severities("rabbitmq", read(classic, producer=transient)) == {"transient-messages": UNEQUAL}
    assert severities("rabbitmq", read(classic, producer=QUEUE)) == {}
    for form in ("quorum", "stream"):
        assert severities("rabbitmq", read(case(3, form), producer=transient)) == {}, "these write every message"


def test_rabbitmqs_queues_and_streams_tell_what_they_can() -> None:
    queue = read(case(3, "quorum"), consumer={"prefetch": "1250 for each queue"})
    facts = registry.system_named("rabbitmq").client_facts(queue).facts
    assert (facts["receive-queue"].value, facts["batch-size"].value) == (5000, None)  # type: ignore[index]
    stream = read(
        case(4, "stream"),
        producer={"batchSize": "128 messages", "dynamicBatch": "false", "batchPublishingDelayMs": "1"},
    )
    facts = registry.system_named("rabbitmq").client_facts(stream).facts
    assert (facts["batch-size"].value, facts["batch-delay"].value) == (131_072, 1)  # type: ignore[index]
    own = case(4, "stream", producer={"maxUnconfirmedMessages": "100"})
    assert registry.system_named("rabbitmq").client_facts(own).facts["in-flight"].value == 100  # type: ignore[index]


def test_null_is_a_yardstick() -> None:
    assert severities("null", case(4)) == {}
    assert registry.system_named("null").client_facts(case(4)).facts["batch-size"].value == 131_072  # type: ignore[index]
