"""What RabbitMQ says of its part in a comparison: facts, types of subscription, known mistakes. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from tidegauge.distribution.coordinates import is_before
from tidegauge.durability import NODES_FOR_REPLICATION
from tidegauge.fairness import (
    CONFLUENT_2020,
    NO_FIGURE,
    Case,
    ClientFacts,
    Fact,
    Hazard,
    Property,
    engine_in_flight,
    hazards_of_clients,
    neutral_facts,
    number_in,
    strictest_bound,
)
from tidegauge.model.level import LevelChoice
from tidegauge.model.tilt import Severity
from tidegauge.model.workload import SubscriptionType
from tidegauge.systems.rabbitmq.level import FORMS, form_of

STREAM = "stream"
STREAM_FAILOVER_SINCE = (3, 11)
"""Streams have a single active consumer from here on."""


def subscription_problem(kind: SubscriptionType, version: str, choice: LevelChoice, existing: bool) -> str:
    """See `System.subscription_problem`. A version that is a directory's path is left to the servers to say."""
    if kind is SubscriptionType.KEY_SHARED:
        return "a queue knows no keys; with several partitions 'failover' keeps the order of each key"
    if existing and kind is SubscriptionType.FAILOVER:
        return (
            "'existing-topics' are used as they are: a queue not made with a single active consumer shares its "
            "messages out, and readers of a stream would store their positions in it; leave out 'subscription-type'"
        )
    if form_of(choice).queue_type != STREAM:
        return ""
    if kind in (SubscriptionType.SHARED, SubscriptionType.EXCLUSIVE):
        return "every consumer reads all of a stream; 'failover' (single active consumer) is what streams have"
    if is_before(version, STREAM_FAILOVER_SINCE):
        return f"streams have a single active consumer from 3.11 on, and this is {version}"
    return ""


def subscription_hazard(case: Case) -> Iterator[Hazard]:
    """What only RabbitMQ does with subscriptions of the workload's type."""
    workload = case.workload
    several = workload.partitions != 1 and workload.consumers > 1
    if workload.subscription_type is SubscriptionType.FAILOVER and several:
        yield Hazard(
            "failover-subscriptions",
            "lets the consumer that came first to a queue be its active one, so one consumer may read all partitions",
            "Kafka and Pulsar spread the partitions over the consumers of a failover subscription",
            NO_FIGURE,
            "documentation of RabbitMQ: single active consumer",
            f"know it when comparing, or leave out {case.key('subscription-type')}: then partitions are spread "
            "everywhere",
            Severity.ADVICE,
        )
    limits = (*case.topic, *(value for _, value in case.server("topic", "queue.arguments", "queue.policy.definition")))
    may_limit = form_of(case.choice).queue_type == "quorum" and not is_before(case.version, LIMITED_SINCE)
    is_shared = workload.subscription_type is SubscriptionType.SHARED
    if is_shared and may_limit and not any("delivery-limit" in text for text in limits):
        yield Hazard(
            "delivery-limit",
            "gives a message up that consumers gave back more than 20 times",
            "by default since 4.0, where other systems have another limit or none",
            NO_FIGURE,
            "release notes of RabbitMQ 4.0",
            f"know it when comparing, or set `x-delivery-limit` in {case.key('topic-settings')}",
            Severity.ADVICE,
        )


LIMITED_SINCE = (4, 0)
"""Quorum queues have a limit of redeliveries from here on."""
LEVELS_WITHOUT_COPIES = (3, 4)
MAY_BE_TRANSIENT = frozenset({"classic", "mirrored"})
PREFETCH = "prefetch"
AUTO_ACK = "autoAck"
JUDGED_QUEUE = frozenset({PREFETCH, AUTO_ACK})
JUDGED_STREAM = frozenset(
    {"batchSize", "batchPublishingDelayMs", "dynamicBatch", "maxUnconfirmedMessages", "initialCredits"}
)


def client_facts(case: Case) -> ClientFacts:
    """See `System.client_facts`."""
    facts = neutral_facts(case.workload)
    stream = form_of(case.choice).queue_type == STREAM
    judged = JUDGED_STREAM if stream else JUDGED_QUEUE
    (_stream_facts if stream else _queue_facts)(case, facts)
    serving = case.scopes("node ") or case.nodes
    facts[Property.NODES] = facts[Property.SERVING_NODES] = Fact(serving, f"nodes={serving}")
    return ClientFacts(facts, judged)


def _queue_facts(case: Case, facts: dict[Property, Fact]) -> None:
    """AMQP 0-9-1 has no batches and no compression."""
    facts[Property.BATCH_SIZE] = Fact(None, "AMQP 0-9-1 has no batches")
    facts[Property.BATCH_DELAY] = Fact(None, "")
    facts[Property.COMPRESSION] = Fact("none", "AMQP 0-9-1 has no compression")
    facts[Property.IN_FLIGHT] = engine_in_flight(case, facts)
    # The campaign sets it for a consumer, the client reports it for each queue.
    queues = 1 if case.in_force is None else case.workload.partitions
    facts[Property.RECEIVE_QUEUE] = case.number_fact("consumer", PREFETCH, facts[Property.RECEIVE_QUEUE], queues)


def _stream_facts(case: Case, facts: dict[Property, Fact]) -> None:
    """The stream client counts batches in messages, and what a consumer holds in chunks."""
    message_bytes = case.workload.payload.message_bytes
    facts[Property.BATCH_SIZE] = case.number_fact(
        "producer", "batchSize", facts[Property.BATCH_SIZE], float(message_bytes)
    )
    if case.client("producer", "dynamicBatch") == "false":
        facts[Property.BATCH_DELAY] = case.number_fact(
            "producer", "batchPublishingDelayMs", facts[Property.BATCH_DELAY]
        )
    else:
        facts[Property.BATCH_DELAY] = Fact(None, "dynamic batches: sent as soon as the one before is on its way")
    codec = case.client("producer", "compression")
    if codec:
        facts[Property.COMPRESSION] = Fact(codec.lower(), f"compression={codec}")
    unconfirmed_max = case.number_fact("producer", "maxUnconfirmedMessages", Fact(None, ""))
    facts[Property.IN_FLIGHT] = strictest_bound(
        engine_in_flight(case, facts), *([unconfirmed_max] if unconfirmed_max.value else [])
    )
    facts[Property.RECEIVE_QUEUE] = Fact(None, "the stream client counts chunks, not messages")


def hazards(case: Case, possible: Sequence[LevelChoice]) -> list[Hazard]:
    """See `System.hazards`. `possible`: the levels and forms that this version can give in this shape."""
    of_producers = (_no_confirms_hazard, partial(_transient_messages_hazard, possible=possible), _one_copy_hazard)
    return hazards_of_clients(case, of_producers, (_automatic_acknowledgement_hazard, subscription_hazard))


def _automatic_acknowledgement_hazard(case: Case) -> Iterator[Hazard]:
    """Streams have no acknowledgements: a reader keeps its position, as in a log."""
    acknowledgement = case.client("consumer", "acknowledgement")
    if case.in_force is None and case.consumer.get(AUTO_ACK) == "true":
        acknowledgement = "automatic"
    if acknowledgement is not None and not acknowledgement.startswith("manual"):
        yield Hazard(
            "automatic-acknowledgement",
            f"acknowledgement={acknowledgement}",
            "a message counts as consumed once it was written to the socket: RabbitMQ neither waits for the consumer "
            "nor keeps what it has not handled",
            f"{NO_FIGURE}; the report of 2020 had it on",
            CONFLUENT_2020,
            "let consumers acknowledge by hand, as Tidegauge's do",
        )


def _no_confirms_hazard(case: Case) -> Iterator[Hazard]:
    confirms = case.client("producer", "publisher.confirms")
    if confirms not in (None, "true"):
        yield Hazard(
            "no-publisher-confirms",
            f"publisher.confirms={confirms}",
            "nothing shows when a message has arrived, so there is neither a level nor a response time",
            NO_FIGURE,
            "RabbitMQ's guide on publisher confirms",
            "let producers ask for confirms, as Tidegauge's do",
        )


def _one_copy_hazard(case: Case) -> Iterator[Hazard]:
    """One copy of each message in topics that Tidegauge makes, unless all that were read back have more members."""
    members = {value for _, value in case.server("topic", "queue.members")}
    has_one_copy = not members or "1" in members
    if has_one_copy and case.nodes >= NODES_FOR_REPLICATION and case.choice.level in LEVELS_WITHOUT_COPIES:
        yield Hazard(
            "one-copy",
            f"queue.members=1 on {case.nodes} nodes",
            "RabbitMQ has no copies that nobody waits for: it writes each message once, where a system with such "
            "copies writes it three times, two of them later",
            NO_FIGURE,
            "RabbitMQ's documentation of quorum queues and streams",
            "nothing to set: compare at level 1 or 2 to have as many copies everywhere",
            Severity.ADVICE,
        )


def _transient_messages_hazard(case: Case, possible: Sequence[LevelChoice]) -> Iterator[Hazard]:
    """Transient messages of classic queues: quorum queues and streams write every message, however it was sent."""
    form = form_of(case.choice)
    mode = case.client("producer", "delivery_mode") or ("" if form.persistent else "1 (transient)")
    written = [
        choice.form for choice in possible if choice.level == case.choice.level and FORMS[choice.form].persistent
    ]
    forced = case.choice.level == 4 and not written
    kinds = {value for _, value in case.server("topic", "queue.type")} or {form.queue_type}
    if kinds & MAY_BE_TRANSIENT and mode and number_in(mode) != 2:
        yield Hazard(
            "transient-messages",
            f"delivery_mode={mode}",
            "RabbitMQ need not write these messages at all, where the other systems write theirs",
            f"{NO_FIGURE}; the report of 2020 had them transient",
            CONFLUENT_2020,
            "nothing to set: this version has no other way at this level"
            if forced
            else f"choose the form {' or '.join(written)}"
            if written
            else "choose another level: this version has no other way at this one",
            Severity.ADVICE if forced else Severity.UNEQUAL,
        )
