"""Sentences on what an acknowledgement promises, and on the terms on which systems are compared.

Each stands here with a constructed scene in which it is said, and a neighbour of it in which it would be false.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import kafka_settings as levels
import pulsar_settings as copies
import pytest
import rabbitmq_settings as queues
import sync_samples as witness
from fairness_samples import WORKLOAD, contender
from fairness_samples import case as compared_case
from hazard_samples import case, read
from sentence_scenes import Scene, Texts, make_tests
from sentence_templates import Claim, claims_of

from tidegauge.durability import (
    WatchedSyncs,
    changed_level,
    disagreement,
    doubts_of,
    judge_syncs,
    level_named,
    server_moves,
)
from tidegauge.fairness import Case, ComparedSystem, Fact, Property, check_fairness
from tidegauge.model.level import LevelChoice, LevelFinding, SettingChange
from tidegauge.model.processing import Processing, ProcessingKind
from tidegauge.model.server import Setting
from tidegauge.model.tilt import Stage
from tidegauge.model.workload import Compression, SubscriptionType, Workload
from tidegauge.systems import registry
from tidegauge.systems.kafka import level as kafka
from tidegauge.systems.pulsar import level as pulsar
from tidegauge.systems.rabbitmq import level as rabbitmq

SYSTEMS = ("kafka", "pulsar", "rabbitmq")
MODULES = (
    "durability.py",
    "fairness.py",
    *(f"systems/{system}/{part}.py" for system in SYSTEMS for part in ("level", "fairness")),
)
NO_SENTENCES = (
    # Only errors about what users wrote have it.
    "topic of the campaign",
    "can't be given beside 'replication-factor'",
    "must be one of {}, or an argument of queues",
    # Names that servers report counters by.
    "journal syncs so far",
    "journal entries so far",
    # A regular expression.
    r"^(?!topic|policy|namespace)([a-z]+)",
)


# What an acknowledgement promises

NOBODY_LOOKS = (levels.NEVER,) * 3


def of_finding(choice: LevelChoice, finding: LevelFinding) -> list[str]:
    """All that a report can say of it."""
    meaning: list[str] = []
    if finding.level is not None:
        level = level_named(finding.level)
        meaning = [level.name, level.meaning]
    said_ = (*finding.reasoning, *finding.problems, *finding.undecided, *finding.caveats)
    return [*meaning, *said_, *doubts_of(choice, finding)]


def on_kafka(
    asked: int, acks: Setting = levels.ALL, nodes: int = 3, looks: Sequence[str | None] = NOBODY_LOOKS, **facts: Any
) -> Scene:
    names = "log.flush.scheduler.interval.ms"
    brokers = [Setting(f"broker {n}", names, every) for n, every in enumerate(looks, 1) if every]
    choice = LevelChoice(asked)
    settings = [*levels.kafka_topic(**facts), *brokers, acks]
    return lambda _: of_finding(choice, kafka.derive_level(settings, choice, nodes))


def topics(count: int) -> Scene:
    settings = [one for n in range(count) for one in levels.kafka_topic(f"t{n}")]
    return lambda _: of_finding(LevelChoice(1), kafka.derive_level([*settings, levels.ALL], LevelChoice(1), 3))


def on_pulsar(settings: Sequence[Setting], asked: int = 1, form: str = "", nodes: int = 3) -> Scene:
    choice = LevelChoice(asked, form)
    return lambda _: of_finding(choice, pulsar.derive_level(settings, choice, nodes))


def complete(settings: Sequence[Setting], nodes: int = 3) -> Scene:
    return lambda _: [pulsar.incomplete(settings, nodes)]


def on_rabbitmq(settings: Sequence[Setting], asked: int = 3, form: str = "quorum") -> Scene:
    choice = LevelChoice(asked, form)
    return lambda _: of_finding(choice, rabbitmq.derive_level(settings, choice, 3))


def running(*states: str) -> Scene:
    nodes = [Setting(f"node {n}", "running", state) for n, state in enumerate(states)]
    return lambda _: [rabbitmq.incomplete([*queues.settings(queue_members="3")[2:], *nodes], 3)]


def found(level: int | None = 3, **changes: Any) -> LevelFinding:
    return replace(LevelFinding(level, ("flush.messages=1",), ()), **changes)


def doubts(**changes: Any) -> Scene:
    return lambda _: of_finding(LevelChoice(3), found(**changes))


CHANGE = (SettingChange("topic t", "flush.messages", "1", "9"),)


def ended(level: int) -> Scene:
    return lambda _: of_finding(LevelChoice(3), changed_level(found(), found(level), CHANGE))


def led(after: str) -> Scene:
    """Two partitions, led by brokers 1 and 2 when a trial begins."""
    begin, end = ([Setting("topic t", "leaders.by.partition", leaders)] for leaders in ("1, 2", after))
    return lambda _: list(server_moves(begin, end))


def watched(
    level: int, watch: WatchedSyncs, nodes: tuple[str, ...] = witness.ONE, messages: Any = witness.MESSAGES
) -> Scene:
    def scene(_: Any) -> list[str]:
        finding = judge_syncs(level, nodes, min(3, len(nodes)), messages, watch)
        return [finding.words, disagreement(found(level, syncs=finding))]

    return scene


EACH = WatchedSyncs(witness.for_each("kafka-1"))
ON_THREE = WatchedSyncs(witness.for_each(*witness.THREE))
TOPIC = "topic tidegauge-0"


def ledger(ensemble: int, written: int, awaited: int, bookies: int) -> Scene:
    values = (str(ensemble), str(written), str(awaited))
    names = ("ledger.ensembleSize", "ledger.writeQuorumSize", "ledger.ackQuorumSize")
    policies = ("bookkeeperEnsemble", "bookkeeperWriteQuorum", "bookkeeperAckQuorum")
    made = [Setting(TOPIC, name, value) for kind in (names, policies) for name, value in zip(kind, values, strict=True)]
    storage = [one for number in range(1, bookies + 1) for one in copies.bookie(number)]
    return on_pulsar([*storage, *made], nodes=bookies)


def one_bookie(**values: str) -> Scene:
    """A single bookie that reports these alone."""
    names = {"syncs": pulsar.JOURNAL_SYNCS, "entries": pulsar.JOURNAL_ENTRIES}
    made = [Setting("bookie 1", names.get(name, name), value) for name, value in values.items()]
    return on_pulsar([*made, Setting("broker 1", "managedLedgerDefaultAckQuorum", "1")], 4, nodes=1)


JOURNAL = {"journalWriteData": "true", "journalSyncData": "true"}
UNSYNCED = {"journalWriteData": "true", "journalSyncData": "false"}
UNOWNED = copies.changed(copies.GOOD, TOPIC, "partitions.unowned", "2")
SPARE = copies.changed(copies.GOOD, TOPIC, "ledger.ensembleSize", "5")
OLD, NEW = queues.OLD, queues.NEW
LEVELS: dict[str, Scene] = {
    "level 1": on_kafka(1, flush_messages="1"),
    "level 2": on_kafka(2),
    "level 3": on_kafka(3, levels.ONE, flush_messages="1"),
    "level 4": on_kafka(4, levels.ONE),
    "4 for 3": on_kafka(3, levels.ONE),
    "2 for 3": on_kafka(3),
    "2 or 4 for 3": on_kafka(3, min_insync_replicas=None),
    "ten topics": topics(10),
    "three topics": topics(3),
    "leaders moved": led("2, 2"),
    "leaders stayed": led("1, 2"),
    "settings changed": doubts(changes=CHANGE),
    "settings stayed": doubts(),
    "end not read": doubts(end_problem="no broker answered"),
    "level unknown": doubts(level=None, undecided=("flush.messages is not reported",)),
    "other level at the end": ended(4),
    "same level at the end": ended(3),
    "records lost": watched(3, replace(EACH, lost=7)),
    "nothing acknowledged": watched(3, EACH, messages=()),
    "each synced": watched(3, EACH),
    "each synced, not asked for": watched(4, EACH),
    "clocks leave it open": watched(3, replace(EACH, at_longest=EACH.calls[1:])),
    "one not synced": watched(3, WatchedSyncs(EACH.calls[1:])),
    "three nodes synced": watched(1, ON_THREE, witness.THREE),
    "one node of three synced": watched(3, ON_THREE, witness.THREE),
    # Kafka
    "diskless": on_kafka(2, diskless_enable="true"),
    "not diskless": on_kafka(2, diskless_enable="false"),
    "acks 0": on_kafka(4, Setting("producer", "acks", "0")),
    "no topic": lambda _: of_finding(LevelChoice(3), kafka.derive_level([levels.ALL], LevelChoice(3), 1)),
    "flush unreported": on_kafka(2, flush_messages=None),
    "one node": on_kafka(4, nodes=1),
    "copies unreported": on_kafka(2, replication_factor=None),
    "two of five": on_kafka(2, nodes=5, replication_factor="5"),
    "three of five": on_kafka(2, nodes=5, replication_factor="5", min_insync_replicas="3"),
    "unclean": on_kafka(2, unclean_leader_election_enable="true"),
    "unclean, one copy": on_kafka(4, unclean_leader_election_enable="true", replication_factor="1"),
    "all in sync awaited": on_kafka(2, min_insync_replicas="3"),
    "remote storage": on_kafka(2, remote_storage_enable="true"),
    "flush now and then": on_kafka(2, flush_messages="10000"),
    "flush by time": on_kafka(2, flush_ms="1000", looks=("500",) * 3),
    "flush by time, nobody looks": on_kafka(2, flush_ms="1000"),
    "flush by time, one looks": on_kafka(2, flush_ms="1000", looks=("500", levels.NEVER, levels.NEVER)),
    "flush by time, unknown": on_kafka(2, flush_ms="1000", looks=(None,)),
    # Pulsar
    "all well": on_pulsar(copies.GOOD),
    "one bookie": one_bookie(**JOURNAL, entries="120", syncs="31"),
    "one bookie without counters": one_bookie(**JOURNAL),
    "one bookie without syncs": one_bookie(**JOURNAL, entries="120", syncs="0"),
    "journal unsynced": one_bookie(**UNSYNCED, journalPageCacheFlushIntervalMSec="1000"),
    "journal synced, interval set": one_bookie(**JOURNAL, journalPageCacheFlushIntervalMSec="1000"),
    "journal bypassed": one_bookie(journalWriteData="false", journalSyncData="false"),
    "journal unreported": one_bookie(journalSyncData="true"),
    "sync unreported": one_bookie(journalWriteData="true"),
    "no bookie": on_pulsar(copies.BROKERS),
    "no quorum": on_pulsar(copies.BOOKIES),
    "form journal": on_pulsar(
        [replace(s, value="false") if s.name == "journalSyncData" else s for s in copies.GOOD], 2, "journal"
    ),
    "form bypass": on_pulsar(
        [replace(s, value="false") if s.name == "journalSyncData" else s for s in copies.GOOD], 2, "bypass"
    ),
    "policy of the namespace": on_pulsar([*copies.BROKERS, *copies.BOOKIES, copies.namespace(1)]),
    "policy of the topic": on_pulsar([*copies.BOOKIES, *copies.topic()]),
    "brokers alone": on_pulsar([*copies.BROKERS, *copies.BOOKIES]),
    "weak ledger": on_pulsar([*copies.BROKERS, *copies.BOOKIES, *copies.topic("2", "1")]),
    "quorum 3, 3, 2": ledger(3, 3, 2, 3),
    "quorum 2, 2, 2": ledger(2, 2, 2, 3),
    "quorum 5, 3, 2": ledger(5, 3, 2, 5),
    "quorum 3, 3, 3": ledger(3, 3, 3, 3),
    "ensemble too wide": on_pulsar(SPARE),
    "too few bookies read": on_pulsar([*copies.BROKERS, *copies.bookie(1), *copies.topic()]),
    "nothing missing": complete(copies.GOOD),
    "partitions unowned": complete(UNOWNED),
    "broker missing": complete(copies.changed(copies.GOOD, "cluster", "brokers", "2")),
    "bookie unread": complete([*copies.CLUSTER, *copies.bookie(1), *copies.bookie(2)]),
    "bookie stopped": complete(copies.changed(copies.GOOD, "bookie 3", "state.running", "false")),
    # RabbitMQ
    "quorum queue": on_rabbitmq(queues.settings()),
    "delivery limit": on_rabbitmq(queues.settings(queue_arguments="x-delivery-limit=5, x-queue-type=quorum")),
    "quorum queue of three": on_rabbitmq(queues.settings(queue_members="3"), 1),
    "stream": on_rabbitmq(queues.settings(queue_type="stream"), 4, "stream"),
    "stream for a classic queue": on_rabbitmq(queues.settings(queue_type="stream"), 4, "classic"),
    "classic": on_rabbitmq(queues.classic(OLD), 3, "classic"),
    "classic, new": on_rabbitmq(queues.classic(NEW), 4, "classic"),
    "classic, not durable": on_rabbitmq(queues.classic(OLD, queue_durable="false"), 4, "classic"),
    "classic, transient": on_rabbitmq(queues.classic(OLD, message_delivery_mode="1"), 4, "transient"),
    "classic, storage 2": on_rabbitmq(queues.classic(OLD, queue_storage_version="2"), 4, "classic"),
    "classic, unreported": on_rabbitmq(queues.classic(OLD, queue_durable=""), 3, "classic"),
    "mirrored": on_rabbitmq(queues.classic(OLD, queue_members="3"), 1, "mirrored"),
    "other type": on_rabbitmq(queues.settings(queue_type="x-other", queue_members="3")),
    "type unreported": on_rabbitmq(queues.settings(queue_type="")),
    "members unreported": on_rabbitmq(queues.settings(queue_members="")),
    "no queue read": on_rabbitmq([Setting("cluster", "version", NEW)]),
    "no such queue": on_rabbitmq(queues.settings(queue_type="absent")),
    "alarm": on_rabbitmq([*queues.settings(), Setting("node a", "mem_alarm", "true")]),
    "node stopped": on_rabbitmq([*queues.settings(), Setting("node b", "running", "false")]),
    "node cut off": on_rabbitmq([*queues.settings(), Setting("node b", "partitions", "node c")]),
    "member offline": on_rabbitmq(queues.settings(queue_members="3", queue_members_online="2"), 1),
    "two of three running": running("true", "true", "false"),
    "all running": running("true", "true", "true"),
}


# The terms of a comparison


def pair(name: Property, *, alike: bool) -> Scene:
    small = Fact(10.0, "x=10", chosen=True)
    large = small if alike else Fact(50.0, "x=50", chosen=True)
    both = [ComparedSystem("a@1", {name: small}), ComparedSystem("b@1", {name: large})]
    return lambda _: _texts(check_fairness(both, Stage.WANTED))


def absent(other: float | None) -> Scene:
    both = [Fact(None, "has none"), Fact(other, "x=10")]
    each = [ComparedSystem(f"{n}@1", {Property.BATCH_SIZE: fact}) for n, fact in enumerate(both)]
    return lambda _: _texts(check_fairness(each, Stage.WANTED))


def tuned(*clients: dict[str, str], servers: dict[str, str] | None = None) -> Scene:
    each = [
        ComparedSystem(f"{n}@1", {}, client_settings=client, server_settings=servers or {} if n == 0 else {})
        for n, client in enumerate(clients)
    ]
    return lambda _: _texts(check_fairness(each, Stage.WANTED))


def _texts(found_: Iterable[Any]) -> list[str]:
    """Of tilts or hazards."""
    return [text for one in found_ for text in (one.what, one.why, one.amount, one.source, one.remedy)]


def hazards(system: str, one: Case) -> Scene:
    return lambda _: _texts(registry.system_named(system).hazards(one))


def facts(system: str, one: Case) -> Scene:
    return lambda _: [fact.words for fact in contender(f"{system}@1", one).facts.values()]


def subscribed(
    system: str, kind: SubscriptionType, version: str = "4.3.1", form: str = "", existing: bool = False
) -> Scene:
    choice = LevelChoice(4, form)
    return lambda _: [registry.system_named(system).subscription_problem(kind, version, choice, existing)]


def shared(kind: SubscriptionType, consumers: int = 3, **changes: Any) -> Case:
    workload = Workload(partitions=4, consumers=consumers, subscription_type=kind)
    return case(4, **changes, workload=workload)


SECOND = Processing(ProcessingKind.CONSTANT, 1.0)
AT_RANDOM = Workload(subscription_type=SubscriptionType.SHARED)
LZ4 = replace(Workload(), client=replace(Workload().client, compression=Compression.LZ4))
FLUSH, LOOKS = "log.flush.interval.ms", "log.flush.scheduler.interval.ms"
UNCLEAN, REQUESTS = "unclean.leader.election.enable", "max.in.flight.requests.per.connection"
CHECK, SWITCH = (
    "managedLedgerNewEntriesCheckDelayInMillis",
    "batchingPartitionSwitchFrequencyByPublishDelay",
)
CHANNELS, WAIT = "bookkeeperNumberOfChannelsPerBookie", "journalMaxGroupWaitMSec"
COPIES, DEDUPLICATION = "managedLedgerDefaultWriteQuorum", "brokerDeduplicationEnabled"
QUEUE = {"publisher.confirms": "true", "delivery_mode": "2 (persistent)"}
FAILOVER, SHARED = SubscriptionType.FAILOVER, SubscriptionType.SHARED
STREAM_LEVEL = case(4, "stream")
PAIRS = {f"{name} {how}": pair(name, alike=how == "alike") for name in Property for how in ("differs", "alike")}
TERMS: dict[str, Scene] = {
    **PAIRS,
    "no batches": absent(10.0),
    "none has batches": absent(None),
    "one of two tuned": tuned({"x": "1"}, {}),
    "one of three tuned": tuned({"x": "1"}, {}, {}),
    "two of three tuned": tuned({"x": "1"}, {"y": "1"}, {}),
    "both tuned": tuned({"x": "1"}, {"y": "1"}),
    "both tuned alike": tuned({"x": "1"}, {"x": "1"}),
    "servers tuned": tuned({}, {}, servers={"x": "1"}),
    "servers as they are": tuned({"x": "1"}, {}),
    "one connection": facts("kafka", compared_case()),
    "several connections": facts(
        "pulsar", compared_case(workload=replace(WORKLOAD, client=replace(WORKLOAD.client, connections_per_broker=4)))
    ),
    # Kafka
    "exclusive": subscribed("kafka", SubscriptionType.EXCLUSIVE),
    "by keys": subscribed("kafka", SubscriptionType.KEY_SHARED),
    "shared of 3.9": subscribed("kafka", SHARED, "3.9.2"),
    "shared of 4.3": subscribed("kafka", SHARED, "4.3.1"),
    "share groups": hazards("kafka", shared(SHARED)),
    "groups": hazards("kafka", shared(FAILOVER)),
    "flush by time looked for": hazards("kafka", case(4, settings={FLUSH: "1000", LOOKS: "500"})),
    "flush by time not looked for": hazards("kafka", case(4, settings={FLUSH: "1000"})),
    "unclean majority": hazards("kafka", case(2, nodes=3, settings={UNCLEAN: "true"})),
    "unclean without a majority": hazards("kafka", case(4, nodes=3, settings={UNCLEAN: "true"})),
    "one request": hazards("kafka", case(producer={REQUESTS: "1"})),
    "five requests": hazards("kafka", case(producer={REQUESTS: "5"})),
    "acks=1 at 2": hazards("kafka", case(2, nodes=3, producer={"acks": "1"})),
    "acks=all at 2": hazards("kafka", case(2, nodes=3, producer={"acks": "all"})),
    "not idempotent": hazards("kafka", case(producer={"enable.idempotence": "false"})),
    "not idempotent at 3 with acks=all": hazards(
        "kafka", case(3, nodes=3, producer={"enable.idempotence": "false", "acks": "all"})
    ),
    "not idempotent at 3": hazards("kafka", case(3, nodes=3, producer={"enable.idempotence": "false"})),
    "not idempotent, since nothing is tried again": hazards(
        "kafka", read(case(producer={"retries": "0"}), producer={"enable.idempotence": "false", "acks": "all"})
    ),
    "not idempotent, since many requests are under way": hazards(
        "kafka",
        read(
            case(producer={"max.in.flight.requests.per.connection": "9"}),
            producer={"enable.idempotence": "false", "acks": "all"},
        ),
    ),
    "not idempotent, and nobody knows why": hazards(
        "kafka", read(case(), producer={"enable.idempotence": "false", "acks": "all"})
    ),
    "not idempotent, and nobody sends": hazards(
        "kafka", case(producer={"enable.idempotence": "false"}, workload=Workload(producers=0))
    ),
    "not idempotent, of OMB": hazards(
        "kafka", replace(case(producer={"enable.idempotence": "false"}), file_keys={"consumer": "consumerConfig"})
    ),
    "a fetch waits for more than comes": hazards(
        "kafka", case(consumer={"fetch.min.bytes": "100000"}, msgs_per_s=10.0)
    ),
    "more comes than a fetch waits for": hazards("kafka", case(consumer={"fetch.min.bytes": "100000"}, msgs_per_s=1e6)),
    "long polls of a group": hazards("kafka", case(workload=Workload(processing=SECOND))),
    "long polls of a share group": hazards("kafka", case(workload=replace(AT_RANDOM, processing=SECOND))),
    "not idempotent, acks=1": hazards("kafka", case(producer={"enable.idempotence": "false", "acks": "1"})),
    "brokers compress": hazards("kafka", read(case(), topic_t={"compression.type": "lz4"})),
    "brokers compress alike": hazards("kafka", read(case(workload=LZ4), topic_t={"compression.type": "lz4"})),
    "brokers unpack": hazards("kafka", read(case(workload=LZ4), topic_t={"compression.type": "uncompressed"})),
    # Pulsar
    "bookies unknown": facts("pulsar", compared_case(4, in_force=(Setting("cluster", "brokers", "3"),))),
    "bookies known": facts("pulsar", compared_case(4, nodes=3)),
    "check delayed": hazards("pulsar", case(settings={CHECK: "10"})),
    "check at once": hazards("pulsar", case(settings={CHECK: "0"})),
    "check delayed by others": hazards("pulsar", read(case(), broker_b={CHECK: "10"})),
    "partitions switched": hazards("pulsar", case(producer={SWITCH: "1"})),
    "one partition": hazards("pulsar", case(partitions=1, producer={SWITCH: "1"})),
    "few channels": hazards("pulsar", case(1, nodes=3, settings={CHANNELS: "16"})),
    "many channels": hazards("pulsar", case(1, nodes=3, settings={CHANNELS: "64"})),
    "groups awaited": hazards("pulsar", case(settings={WAIT: "10"})),
    "groups awaited by none": hazards("pulsar", case(settings={WAIT: "1"})),
    "bypass": hazards("pulsar", case(4, "bypass")),
    "bypass, yet written": hazards("pulsar", read(case(4, "bypass"), bookie_1={"journalWriteData": "true"})),
    "two copies": hazards("pulsar", case(2, nodes=3, settings={COPIES: "2"})),
    "three copies": hazards("pulsar", case(2, nodes=3, settings={COPIES: "3"})),
    "deduplicated": hazards("pulsar", case(settings={DEDUPLICATION: "true"})),
    "not deduplicated": hazards("pulsar", case(settings={DEDUPLICATION: "false"})),
    # RabbitMQ
    "queues by keys": subscribed("rabbitmq", SubscriptionType.KEY_SHARED),
    "existing queue": subscribed("rabbitmq", FAILOVER, existing=True),
    "own queue": subscribed("rabbitmq", FAILOVER),
    "stream shared": subscribed("rabbitmq", SHARED, form="stream"),
    "old stream": subscribed("rabbitmq", FAILOVER, "3.9.2", "stream"),
    "new stream": subscribed("rabbitmq", FAILOVER, "4.3.6", "stream"),
    "active consumers": hazards("rabbitmq", shared(FAILOVER)),
    "one consumer": hazards("rabbitmq", shared(FAILOVER, consumers=1)),
    "shared queue": hazards("rabbitmq", case(3, "quorum", workload=AT_RANDOM)),
    "shared queue with a limit": hazards(
        "rabbitmq", case(3, "quorum", workload=AT_RANDOM, topic={"x-delivery-limit": "9"})
    ),
    "facts of a queue": facts("rabbitmq", compared_case(3, "quorum")),
    "facts of a stream": facts("rabbitmq", compared_case(4, "stream")),
    "facts of a stream by time": facts("rabbitmq", compared_case(4, "stream", producer={"dynamicBatch": "false"})),
    "acknowledged by itself": hazards("rabbitmq", read(case(), consumer={"acknowledgement": "automatic"})),
    "acknowledged by hand": hazards("rabbitmq", read(case(), consumer={"acknowledgement": "manual, multiple=true"})),
    "no confirms": hazards("rabbitmq", read(case(), producer={**QUEUE, "publisher.confirms": "false"})),
    "confirms": hazards("rabbitmq", read(case(), producer=QUEUE)),
    "one copy": hazards("rabbitmq", case(3, "quorum", nodes=3)),
    "three members": hazards("rabbitmq", read(case(3, "quorum", nodes=3), topic_t={"queue.members": "3"})),
    "transient": hazards("rabbitmq", case(4, "transient")),
    "transient, nothing else": hazards("rabbitmq", case(4, "transient", version="3.8.9")),
    "transient mirrors": hazards("rabbitmq", case(2, "mirrored-transient", nodes=3, version="3.8.9")),
    "transient to a quorum queue": hazards(
        "rabbitmq", read(case(3, "quorum"), producer={**QUEUE, "delivery_mode": "1 (transient)"})
    ),
}
NOBODY_SENDS, NOBODY_READS = Workload(producers=0, existing_topics=("t",)), Workload(subscriptions=0)
IDLE: dict[str, Scene] = {
    "nobody sends to Kafka": hazards(
        "kafka",
        read(
            case(2, nodes=3, workload=NOBODY_SENDS),
            topic_t={"compression.type": "lz4", "flush.messages": "1"},
            producer={REQUESTS: "1", "acks": "1"},
        ),
    ),
    "nobody reads from Kafka": hazards("kafka", case(4, workload=Workload(subscriptions=0, subscription_type=SHARED))),
    "nobody sends to Pulsar": hazards(
        "pulsar",
        case(
            settings={DEDUPLICATION: "true", WAIT: "10", CHECK: "10"},
            producer={SWITCH: "1"},
            workload=replace(NOBODY_SENDS, partitions=4),
        ),
    ),
    "nobody reads from Pulsar": hazards("pulsar", case(settings={CHECK: "10", WAIT: "10"}, workload=NOBODY_READS)),
    "nobody sends to RabbitMQ": hazards("rabbitmq", case(4, "transient", nodes=3, workload=NOBODY_SENDS)),
    "nobody reads from RabbitMQ": hazards(
        "rabbitmq", case(4, "transient", consumer={"autoAck": "true"}, workload=NOBODY_READS)
    ),
    "two copies at 2": hazards("kafka", case(2, nodes=3, copies=2)),
    "three copies at 2": hazards("kafka", case(2, nodes=3)),
    "brokers compress in another way": hazards("kafka", read(case(workload=LZ4), topic_t={"compression.type": "zstd"})),
    "more comes to the one that reads": hazards(
        "kafka",
        case(consumer={"fetch.min.bytes": "100000"}, msgs_per_s=250.0, workload=Workload(partitions=1, consumers=4)),
    ),
}
SCENES = LEVELS | TERMS | IDLE


def tilts(name: Property, *templates: str) -> list[Claim]:
    return claims_of(f"{name} differs", f"{name} alike", *templates)


CLAIMS = [
    # durability.py
    *claims_of("level 1", "level 2", "replicated and on disk", "a majority has it, and each"),
    *claims_of("level 2", "level 1", "a majority has it, perhaps only in memory"),
    *claims_of("level 3", "level 4", "one copy on disk", "at least one replica has fsynced it"),
    *claims_of("level 4", "level 3", "one copy in memory", "at least one replica has it, perhaps only in memory"),
    *claims_of("4 for 3", "level 4", "level {} was asked for, {}: {}", "the settings give level {} ({})"),
    *claims_of("2 for 3", "2 or 4 for 3", "neither more nor less durable: "),
    *claims_of("ten topics", "three topics", "{} and {} more"),
    *claims_of(
        "settings changed", "settings stayed", "settings changed while it was measured: {}{}", "{} was {}, is {}"
    ),
    *claims_of("leaders moved", "leaders stayed", "leaders of {} of {} moved"),
    *claims_of("end not read", "settings stayed", "settings could not be read back at its end, so nobody knows"),
    *claims_of("level unknown", "settings stayed", "the durability level is unknown{} and so is what an"),
    *claims_of(
        "other level at the end", "same level at the end",
        "{} until then, {} after", "settings changed while it was measured, {}: {}",
    ),
    *claims_of("records lost", "each synced", "the kernel lost {} records"),
    *claims_of("nothing acknowledged", "each synced", "no message was acknowledged"),
    *claims_of("each synced, not asked for", "each synced", ", more than level {} asks for"),
    *claims_of("clocks leave it open", "each synced", "; of {} the hosts' clocks leave it open"),
    *claims_of("one not synced", "each synced", "the settings read back give level {}, but {}{}{}; {} such calls"),
    *claims_of("three nodes synced", "one node of three synced", " on at least {} of {} nodes"),
    *claims_of("one node of three synced", "three nodes synced", " on one of {} nodes or more"),
    *claims_of("each synced", "records lost", "{} of {} acknowledgements came after an fsync{}"),
    # systems/kafka/level.py
    *claims_of("diskless", "not diskless", "by the documentation of {} {}{}"),
    *claims_of("acks 0", "level 4", "acks=0: the producer waits for no acknowledgement at all"),
    *claims_of("no topic", "level 4", "no settings of any topic were read back"),
    *claims_of("flush unreported", "level 2", "flush.messages is {}"),
    *claims_of("level 3", "level 4", "so each append is fsynced before it is acknowledged"),
    *claims_of("level 4", "level 3", "so an acknowledged message may be in memory only"),
    *claims_of("level 4", "flush unreported", "flush.messages={}, {}"),
    *claims_of("one node", "level 4", "one node: there is no second copy"),
    *claims_of("level 4", "one node", "acks={}, {} over {} nodes"),
    *claims_of("copies unreported", "level 2", "{} {} not reported ({})"),
    *claims_of("two of five", "three of five", "{}: {} of {} copies are no majority"),
    *claims_of("unclean", "unclean, one copy", "{}=true: a replica that is not in sync may be made leader"),
    *claims_of("all in sync awaited", "level 2", "{}={} of {} copies: one node that is lost stops writes"),
    *claims_of("remote storage", "level 2", "remote.storage.enable=true: older segments are in remote storage"),
    *claims_of("flush now and then", "level 1", "flush.messages={}: at most {} acknowledged messages of a partition"),
    *claims_of("flush by time, unknown", "flush by time", "flush.ms={}: whether brokers look for it is not known"),
    *claims_of("flush by time, nobody looks", "flush by time, one looks", "flush.ms={} has no effect: brokers never"),
    *claims_of("flush by time, one looks", "flush by time", "flush.ms={}: only {} of {} brokers look for it ({})"),
    *claims_of("flush by time", "flush by time, one looks", "flush.ms={}: at most {} ms of acknowledged messages"),
    # systems/pulsar/level.py
    *claims_of("weak ledger", "all well", "ackQuorumSize={} of its open ledger"),
    *claims_of("all well", "no quorum", "{} of {} copies"),
    *claims_of("one bookie", "brokers alone", "managedLedgerDefaultAckQuorum={}: there is no second copy"),
    *claims_of("no quorum", "brokers alone", "no ack quorum was read back"),
    *claims_of("quorum 2, 2, 2", "quorum 3, 3, 2", "write quorum {}, where {} copies are usual on {} bookies"),
    *claims_of("quorum 5, 3, 2", "quorum 3, 3, 2", "ensemble {}: entries are spread over {} bookies, {} copies"),
    *claims_of("quorum 3, 3, 3", "quorum 2, 2, 2", ", which is more than a majority"),
    *claims_of("quorum 3, 3, 3", "quorum 3, 3, 2", "{} of {} copies are awaited{}: without another bookie"),
    *claims_of("broker missing", "nothing missing", "{} of {} brokers are active"),
    *claims_of("partitions unowned", "nothing missing", "{}: {} partitions have no broker"),
    *claims_of("bookie unread", "nothing missing", "settings of only {} of {} bookies were read back"),
    *claims_of("bookie stopped", "bookie unread", "{} does not run"),
    *claims_of("ensemble too wide", "all well", "{} bookies take writes{}, where an ensemble of {} is asked for: {}"),
    *claims_of("too few bookies read", "ensemble too wide", " as far as is known"),
    *claims_of("policy of the namespace", "policy of the topic", "persistence policy, which overrides"),
    *claims_of("policy of the topic", "policy of the namespace", "persistence policy that applies: "),
    *claims_of("no bookie", "no quorum", "no settings of any bookie were read back"),
    *claims_of("form bypass", "form journal", "form '{}' was asked for, bookies have '{}'"),
    *claims_of("journal unreported", "one bookie", "journalWriteData is not reported"),
    *claims_of("sync unreported", "one bookie", "journalSyncData is not reported"),
    *claims_of("journal bypassed", "journal unsynced", "{}, so an acknowledged entry is in the ledger"),
    *claims_of("journal unsynced", "journal bypassed", "{}, so an acknowledged entry is in the page cache, not yet"),
    *claims_of("one bookie without syncs", "one bookie", "journalSyncData=true, yet {} entries caused no journal sync"),
    *claims_of("one bookie", "one bookie without counters", " ({} journal syncs seen for {} entries)"),
    *claims_of("one bookie", "one bookie without syncs", "journalWriteData=true and journalSyncData=true: fsynced"),
    *claims_of("journal unsynced", "journal synced, interval set", "journalPageCacheFlushIntervalMSec={}: about {} ms"),
    # systems/rabbitmq/level.py
    *claims_of("no queue read", "no such queue", "no settings of any queue were read back"),
    *claims_of("no such queue", "quorum queue", "{}: there is no such queue"),
    *claims_of(
        "delivery limit", "quorum queue", "a message that consumers give back more often is dropped or dead-lettered"
    ),
    *claims_of("quorum queue", "stream", "queue.type=quorum, so its Raft log is fsynced before a message is confirmed"),
    *claims_of("stream", "quorum queue", "queue.type=stream, which confirms without fsync"),
    *claims_of("other type", "type unreported", "queue.type={}, of which nothing is known"),
    *claims_of("type unreported", "other type", "queue.type is not reported"),
    *claims_of("classic", "stream", "queue.type=classic, {}"),
    *claims_of("classic, not durable", "classic", "queue.durable=false, so nothing has to be on disk"),
    *claims_of("classic, transient", "classic", "message.delivery_mode={}, so nothing has to be on disk"),
    *claims_of("classic, new", "classic", "whose storage does not fsync since 3.13 (this is {})"),
    *claims_of("classic, storage 2", "classic", "with storage version 2, which confirms without fsync"),
    *claims_of("classic, unreported", "classic", "{} {} not reported"),
    *claims_of("classic", "classic, new", "durable and persistent, which {} fsyncs before it confirms"),
    *claims_of("members unreported", "quorum queue", "queue.members is not reported"),
    *claims_of("quorum queue", "quorum queue of three", "queue.members={}: there is no second copy"),
    *claims_of("mirrored", "classic", "queue.members={}: every mirror confirms"),
    *claims_of("other type", "quorum queue of three", "queue.members={} of queue.type={}: who confirms is not known"),
    *claims_of("quorum queue of three", "mirrored", "queue.members={}: {} of them have it when it is confirmed"),
    *claims_of("stream for a classic queue", "stream", "queue.type={} was asked for, but {}"),
    *claims_of("stream for a classic queue", "type unreported", "{}: queue.type={}"),
    *claims_of("two of three running", "all running", "{} of {} nodes are running"),
    *claims_of("member offline", "quorum queue of three", "{}: {} of {} members are online"),
    *claims_of("alarm", "quorum queue", "{}: {}, so publishing is blocked"),
    *claims_of("node stopped", "node cut off", "{} is not running"),
    *claims_of("node cut off", "node stopped", "{} is cut off from {}"),
    # fairness.py
    *tilts(
        Property.LEVEL,
        "an acknowledgement does not mean the same", "Kafka with 100 partitions did 420 MB/s at level 1",
        "give all systems the campaign's `durability`",
    ),
    *tilts(
        Property.SERVERS,
        "others chose the attached cluster's hosts", "{}: the same hosts for both systems",
        "attach to clusters of all systems on hosts alike",
    ),
    *tilts(
        Property.NODES,
        "one system has more machines", "three further hosts for Pulsar's brokers changed nothing",
        "give all systems the same number of nodes", "Confluent 2020, Benchmarking Apache Kafka",
    ),
    *tilts(
        Property.SERVING_NODES,
        "the clients' work is spread over fewer servers", "let as many nodes serve clients", "no figure is known",
        "follows from what the setting means",
    ),
    *tilts(
        Property.PARTITIONS,
        "messages are spread over more partitions", "from 100 to 2,000 partitions Kafka went from 420 to 300",
        "give all systems the workload's `partitions`", "StreamNative 2020, Benchmarking Pulsar and Kafka",
    ),
    *tilts(Property.HEAP, "a larger heap means fewer garbage collections", "give every system the same `heap`"),
    *tilts(Property.DIRECT_MEMORY, "buffers and caches outside the heap differ", "give every system the same `direct"),
    *tilts(
        Property.BATCH_SIZE,
        "what a message costs is shared by all messages of its batch", "an fsync per batch cost Kafka a factor of 3",
        "leave it to the workload's neutral key",
    ),
    *claims_of(
        "no batches", "none has batches",
        "sends each message by itself, which no setting changes", "nothing to set: know it when comparing",
    ),
    *tilts(
        Property.BATCH_DELAY,
        "below the rate that fills batches, the delay", "up to the difference itself for each message",
        "batch delay: {}; below 1ms not every client can follow",
        "{}; {}, throughput test",
    ),
    *tilts(
        Property.COMPRESSION,
        "one system moves and stores fewer bytes", "{}: it depends on how far the payload can be compressed",
        "set the workload's `compression` for all, or remove",
    ),
    *tilts(
        Property.IN_FLIGHT,
        "throughput follows from the messages that may be under way", "the same Pulsar did 50,000 msg/s with 1,000",
        "set the workload's `in-flight`, which the worker keeps", "measured while Tidegauge was built, see docs",
    ),
    *tilts(
        Property.RECEIVE_QUEUE,
        "a consumer with the smaller queue waits", "{}; the report of 2020 raised Pulsar's limit",
        "set the workload's `receive-queue` for all",
    ),
    *tilts(
        Property.CONNECTIONS, "a client with several connections to a server", "set the workload's `connections` to 1"
    ),
    *tilts(Property.CLIENT_HOST, "the clients have different CPUs", "run the clients of all systems on the same host"),
    *tilts(Property.CLIENT_RUNTIME, "the load generators differ in their Java runtime", "let all trials use the same"),
    *tilts(
        Property.SERVER_RUNTIME, "the servers run on different Java runtimes", "set TIDEGAUGE_JAVA_HOME to one runtime"
    ),
    *tilts(
        Property.PAGE_CACHE,
        "trials of one system began with a cold page cache", "{}: page cache cleared before each run",
        "run as root, so that it is dropped before every trial",
    ),
    *claims_of("one connection", "several connections", "one connection from a client to a server"),
    *claims_of("both tuned", "one of two tuned", "and the others have other such settings"),
    *claims_of("one of three tuned", "two of three tuned", "and no other has any such"),
    *claims_of("two of three tuned", "one of three tuned", "and not all of the others have any such"),
    *claims_of(
        "both tuned", "both tuned alike",
        "what these settings of its clients do to the comparison", "remove them, tune every system",
    ),
    *claims_of("servers tuned", "servers as they are", "its servers were tuned by hand"),
    *claims_of("check delayed by others", "check delayed", "set {} to {} on the cluster"),
    *claims_of("check delayed", "check delayed by others", "remove {} from {}, so that it is {}"),
    *claims_of("not idempotent, of OMB", "not idempotent", "a campaign's `{}` (these files have no key for it)"),
    # systems/kafka/fairness.py
    *claims_of("exclusive", "shared of 4.3", "any consumer may join a group; 'failover' with one consumer"),
    *claims_of("by keys", "exclusive", "a group shares out partitions, not keys; 'failover' keeps the order"),
    *claims_of("shared of 3.9", "shared of 4.3", "share groups are ready for production from 4.2 on, and this is {}"),
    *claims_of(
        "share groups", "groups",
        "has share groups: each partition has at most {} records under way for a group",
        "systems share out a subscription's messages in different ways", "KIP-932; documentation of Kafka 4.2",
        "know it when comparing; several partitions raise the bound",
    ),
    *claims_of(
        "flush by time looked for", "flush by time not looked for",
        "level {} needs no fsync, yet by these Kafka does some", "with an fsync per batch Kafka did a third to a fifth",
        "remove {}, or compare at level 1 or 3",
    ),
    *claims_of(
        "unclean majority", "unclean without a majority",
        "a replica that is not in sync may be made leader: then what a majority acknowledged is lost",
    ),
    *claims_of(
        "one request", "five requests",
        "Kafka's client limits batches under way by this", "remove {} from {}",
    ),
    *claims_of(
        "acks=1 at 2", "acks=all at 2",
        "level {} means acks={}: with acks={} Kafka's producer waits for something else",
        "publish p99 at 200,000 msg/s was 11.4 ms with acks=1", "remove acks from {}, and choose {} as it is meant",
    ),
    *claims_of(
        "a fetch waits for more than comes", "more comes than a fetch waits for",
        "at {} msg/s fewer bytes come to a consumer within fetch.max.wait.ms={}",
        "remove fetch.min.bytes from {}",
    ),
    *claims_of(
        "long polls of a group", "long polls of a share group",
        "then the consumer leaves its group, and others get its partitions and messages again",
    ),
    *claims_of(
        "long polls of a share group", "long polls of a group",
        "then locks end, and messages that are still being processed are delivered to others, too",
    ),
    *claims_of(
        "long polls of a group", "not idempotent",
        "{}={} with {} of processing", "the messages of a full poll take {} ms, more than {}={}: {}",
        "give {} of {} or less in {}",
    ),
    *claims_of(
        "not idempotent", "not idempotent, acks=1",
        "Kafka's client is idempotent by default", "remove {} from {}",
    ),
    *claims_of(
        "not idempotent at 3 with acks=all", "not idempotent at 3",
        "Kafka's client is idempotent by default",
    ),
    *claims_of("not idempotent", "not idempotent, and nobody sends", "Kafka's client is idempotent by default"),
    *claims_of(
        "not idempotent, since nothing is tried again", "not idempotent, and nobody knows why", "remove {} from {}"
    ),
    *claims_of(
        "not idempotent, since many requests are under way", "not idempotent, and nobody knows why",
        "remove {} from {}",
    ),
    *claims_of("not idempotent, and nobody knows why", "not idempotent", "give enable.idempotence: true in {}"),
    *claims_of(
        "brokers compress", "brokers compress alike",
        "compression.type={} on its servers", "the brokers compress by themselves what producers sent",
        "{}; or set {} for all",
    ),
    *claims_of("brokers unpack", "brokers compress alike", "the brokers unpack what producers sent: more for the disk"),
    *claims_of(
        "acks=all at 2", "acks=1 at 2",
        "acks=all waits for every replica that is in sync",
        "where another system waits for a majority of the copies, Kafka waits for the slowest of all",
        "{} for this alone", "nothing to set: read Kafka's higher percentiles with it in mind",
    ),
    *claims_of(
        "brokers compress in another way", "brokers compress",
        "the brokers unpack what producers sent and compress it in another way",
    ),
    *claims_of(
        "brokers compress", "brokers compress in another way", "the brokers compress by themselves what producers sent"
    ),
    *claims_of("brokers compress", "nobody sends to Kafka", "the brokers compress by themselves what producers sent"),
    *claims_of("flush by time looked for", "nobody sends to Kafka", "level {} needs no fsync, yet by these Kafka"),
    *claims_of("one request", "nobody sends to Kafka", "Kafka's client limits batches under way by this"),
    *claims_of("acks=1 at 2", "nobody sends to Kafka", "level {} means acks={}: with acks={} Kafka's producer"),
    *claims_of("acks=all at 2", "nobody sends to Kafka", "acks=all waits for every replica that is in sync"),
    *claims_of("three copies at 2", "two copies at 2", "acks=all waits for every replica that is in sync"),
    *claims_of("share groups", "nobody reads from Kafka", "has share groups: each partition has at most"),
    *claims_of(
        "a fetch waits for more than comes", "more comes to the one that reads", "at {} msg/s fewer bytes come to a"
    ),
    # systems/pulsar/fairness.py
    *claims_of("partitions switched", "nobody sends to Pulsar", "the producer goes on to the next partition"),
    *claims_of("groups awaited", "nobody sends to Pulsar", "the journal collects entries for so long before"),
    *claims_of("deduplicated", "nobody sends to Pulsar", "the brokers keep and check the sequence of every producer"),
    *claims_of("check delayed", "nobody reads from Pulsar", "a consumer that has read everything learns of a new"),
    *claims_of("bookies unknown", "bookies known", "its bookies are not known"),
    *claims_of("bookies known", "bookies unknown", "nodes={} (layout={})"),
    *claims_of(
        "check delayed", "check at once",
        "a consumer that has read everything learns of a new message only at the next check",
        "up to {} ms more end-to-end latency", "Pulsar's broker.conf; {}, Pulsar's tuning: 0 instead of 10",
    ),
    *claims_of(
        "partitions switched", "one partition",
        "the producer goes on to the next partition within the time that a batch has to fill",
        "{}, Pulsar's tuning: 2 instead of 1; the client's default is 10", "remove {} from {}",
    ),
    *claims_of(
        "few channels", "many channels",
        "all requests of a broker to a bookie go through so few connections", "{} for this alone",
        "{}, Pulsar's tuning: {} instead of 16", "set {} to {} to repeat that report",
    ),
    *claims_of(
        "groups awaited", "groups awaited by none",
        "the journal collects entries for so long before it writes them", "up to {} ms more publish latency at low",
        "BookKeeper's configuration; {} used 1",
    ),
    *claims_of(
        "bypass", "bypass, yet written",
        "form={} (journalWriteData=false)", "an acknowledged message is in the memory of processes only, and killing",
        "catch-up reads of 3.5 GB/s with the journal bypassed, 1.7", "leave {} out or name the form journal",
    ),
    *claims_of("two copies", "three copies", "each entry is written to {} bookies, where {} copies of a message"),
    *claims_of(
        "deduplicated", "not deduplicated",
        "the brokers keep and check the sequence of every producer", "{}, though Kafka's client does",
    ),
    # systems/rabbitmq/fairness.py
    *claims_of("transient", "nobody sends to RabbitMQ", "RabbitMQ need not write these messages at all"),
    *claims_of("one copy", "nobody sends to RabbitMQ", "RabbitMQ has no copies that nobody waits for"),
    *claims_of("acknowledged by itself", "nobody reads from RabbitMQ", "a message counts as consumed once it was"),
    *claims_of("queues by keys", "own queue", "a queue knows no keys; with several partitions 'failover' keeps"),
    *claims_of("existing queue", "own queue", "'existing-topics' are used as they are: a queue not made with a single"),
    *claims_of("stream shared", "new stream", "every consumer reads all of a stream; 'failover' (single"),
    *claims_of("old stream", "new stream", "streams have a single active consumer from 3.11 on, and this is {}"),
    *claims_of(
        "active consumers", "one consumer",
        "lets the consumer that came first to a queue be its active one",
        "Kafka and Pulsar spread the partitions over the consumers of a failover subscription",
        "documentation of RabbitMQ: single active consumer",
        "know it when comparing, or leave out {}: then partitions",
    ),
    *claims_of(
        "shared queue", "shared queue with a limit",
        "gives a message up that consumers gave back more than 20 times", "by default since 4.0, where other systems",
        "release notes of RabbitMQ 4.0", "know it when comparing, or set `x-delivery-limit`",
    ),
    *claims_of("facts of a queue", "facts of a stream", "AMQP 0-9-1 has no batches", "AMQP 0-9-1 has no compression"),
    *claims_of("facts of a stream", "facts of a queue", "the stream client counts chunks, not messages"),
    *claims_of("facts of a stream", "facts of a stream by time", "dynamic batches: sent as soon as the one before"),
    *claims_of(
        "acknowledged by itself", "acknowledged by hand",
        "a message counts as consumed once it was written to the socket", "{}; the report of 2020 had it on",
        "let consumers acknowledge by hand, as Tidegauge's do",
    ),
    *claims_of(
        "no confirms", "confirms",
        "nothing shows when a message has arrived", "RabbitMQ's guide on publisher confirms",
        "let producers ask for confirms, as Tidegauge's do",
    ),
    *claims_of(
        "one copy", "three members",
        "queue.members=1 on {} nodes", "RabbitMQ has no copies that nobody waits for",
        "RabbitMQ's documentation of quorum queues and streams",
        "nothing to set: compare at level 1 or 2 to have as many copies everywhere",
    ),
    *claims_of(
        "transient", "transient to a quorum queue",
        "RabbitMQ need not write these messages at all", "{}; the report of 2020 had them transient",
    ),
    *claims_of("transient, nothing else", "transient", "nothing to set: this version has no other way at this level"),
    *claims_of("transient", "transient, nothing else", "choose the form {}"),
    *claims_of(
        "transient mirrors", "transient, nothing else", "choose another level: this version has no other way"
    ),
]  # fmt: skip

texts, test_every_sentence_is_listed, test_a_sentence_is_said_where_it_is_true_and_not_beside = make_tests(
    MODULES, SCENES, CLAIMS, NO_SENTENCES, may_be_silent=True
)


def test_every_scene_is_of_a_claim() -> None:
    named = {scene for claim in CLAIMS for scene in (claim.true_in, claim.false_in)}
    assert SCENES.keys() - PAIRS.keys() == named - PAIRS.keys()


@pytest.mark.parametrize(
    ("scene", "setting"),
    [
        ("not idempotent", "enable.idempotence"),
        ("not idempotent, since nothing is tried again", "retries"),
        ("not idempotent, since many requests are under way", "max.in.flight.requests.per.connection"),
    ],
)
def test_what_is_to_be_removed_is_what_was_set(texts: Texts, scene: str, setting: str) -> None:
    assert f"remove {setting} from the system's `producer`" in texts.of(scene)
