"""What Kafka says of its part in a comparison: facts, types of subscription, known mistakes. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from tidegauge.distribution.coordinates import is_before
from tidegauge.fairness import (
    BY_DEFINITION,
    CONFLUENT_2020,
    NO_FIGURE,
    STREAMNATIVE_2020,
    Case,
    ClientFacts,
    Fact,
    Hazard,
    Property,
    engine_in_flight,
    hazards_of_clients,
    neutral_facts,
    number_in,
    settings_in_words,
    strictest_bound,
)
from tidegauge.model.level import LevelChoice
from tidegauge.model.tilt import Severity
from tidegauge.model.workload import SubscriptionType
from tidegauge.numbers import count, ms, trimmed
from tidegauge.systems.kafka.level import COPIES, FLUSH_SCHEDULER, NEVER, UNCLEAN, client_acks

SHARE_GROUPS_SINCE = (4, 2)
"""Share groups are ready for production from here on (KIP-932; upgrade notes of 4.2)."""
SHARE_LOCKS = "group.share.partition.max.record.locks"
SHARE_LOCKS_DEFAULT = "2000"
"""In 4.2."""


def subscription_problem(kind: SubscriptionType, version: str, choice: LevelChoice, existing: bool) -> str:
    """See `System.subscription_problem`. A version that is a directory's path is left to the servers to say."""
    if kind is SubscriptionType.EXCLUSIVE:
        return "any consumer may join a group; 'failover' with one consumer comes nearest"
    if kind is SubscriptionType.KEY_SHARED:
        return (
            "a group shares out partitions, not keys; 'failover' keeps the order of each key, whose messages are in "
            "one partition"
        )
    if kind is SubscriptionType.SHARED and is_before(version, SHARE_GROUPS_SINCE):
        return f"share groups are ready for production from 4.2 on, and this is {version}"
    return ""


def subscription_hazard(case: Case) -> Iterator[Hazard]:
    """What only Kafka does with subscriptions of the workload's type."""
    if case.workload.subscription_type is SubscriptionType.SHARED:
        locks = next((value for _, value in case.server("broker", SHARE_LOCKS)), SHARE_LOCKS_DEFAULT)
        yield Hazard(
            "shared-subscriptions",
            f"has share groups: each partition has at most {number_in(locks) or 0:,.0f} records under way for a group "
            f"({SHARE_LOCKS}), and what became of each is kept in an internal topic",
            "systems share out a subscription's messages in different ways, with bounds of their own",
            NO_FIGURE,
            "KIP-932; documentation of Kafka 4.2",
            "know it when comparing; several partitions raise the bound",
            Severity.ADVICE,
        )


REQUESTS = 5
RECORD_OVERHEAD_BYTES = 128
FETCH_WAIT_MS = 500.0
"""The client's default of fetch.max.wait.ms."""
POLL_RECORDS, POLL_RECORDS_DEFAULT = "max.poll.records", 500
POLL_INTERVAL, POLL_INTERVAL_MS = "max.poll.interval.ms", 300_000.0
SHARE_LOCK, SHARE_LOCK_MS = "group.share.record.lock.duration.ms", 30_000.0
"""Names and defaults, of clients and brokers of Kafka 4."""
UNCOMPRESSED = "uncompressed"
"""What brokers call a codec that is none."""
FLUSH_OF_BROKER = ("log.flush.interval.messages", "log.flush.interval.ms")
FLUSH_OF_TOPIC = ("flush.messages", "flush.ms")
LEVELS_WITHOUT_FSYNC = (2, 4)
LEVELS_WITH_COPIES = (1, 2)
JUDGED_CLIENT = frozenset(
    {
        "acks",
        "batch.size",
        "buffer.memory",
        "compression.type",
        "enable.idempotence",
        "fetch.max.bytes",
        "linger.ms",
        "max.in.flight.requests.per.connection",
        "max.partition.fetch.bytes",
    }
)
JUDGED_SERVER = frozenset({*FLUSH_OF_BROKER, FLUSH_SCHEDULER, UNCLEAN, "compression.type"})


def client_facts(case: Case) -> ClientFacts:
    """See `System.client_facts`."""
    facts = neutral_facts(case.workload)
    facts[Property.BATCH_SIZE] = case.number_fact("producer", "batch.size", facts[Property.BATCH_SIZE])
    facts[Property.BATCH_DELAY] = case.number_fact("producer", "linger.ms", facts[Property.BATCH_DELAY])
    codec = case.client("producer", "compression.type")
    if codec:
        chosen = "compression.type" in case.producer
        facts[Property.COMPRESSION] = Fact(codec.lower(), f"compression.type={codec}", chosen)
    per_message = 1 / (case.workload.payload.message_bytes + RECORD_OVERHEAD_BYTES)
    buffer = case.number_fact("producer", "buffer.memory", Fact(None, ""), per_message)
    facts[Property.IN_FLIGHT] = strictest_bound(engine_in_flight(case, facts), *([buffer] if buffer.chosen else []))
    fetch = case.number_fact("consumer", "fetch.max.bytes", facts[Property.RECEIVE_QUEUE], per_message)
    each = case.number_fact(
        "consumer", "max.partition.fetch.bytes", Fact(None, ""), per_message * case.workload.partitions
    )
    facts[Property.RECEIVE_QUEUE] = strictest_bound(fetch, each)
    brokers = next((number_in(value) for _, value in case.server("cluster", "brokers")), None)
    serving = int(brokers or case.nodes)
    facts[Property.NODES] = facts[Property.SERVING_NODES] = Fact(serving, f"brokers={serving}")
    return ClientFacts(facts, JUDGED_CLIENT | JUDGED_SERVER)


def hazards(case: Case) -> list[Hazard]:
    """See `System.hazards`."""
    of_producers = (
        _hidden_flush_hazard,
        _requests_in_flight_hazard,
        _acks_hazard,
        _idempotence_hazard,
        _server_compression_hazard,
        _in_sync_replicas_hazard,
    )
    of_consumers = (subscription_hazard, _fetch_wait_hazard, _long_poll_hazard)
    return [*_unclean_election_hazard(case), *hazards_of_clients(case, of_producers, of_consumers)]


def _hidden_flush_hazard(case: Case) -> Iterator[Hazard]:
    """An fsync that the level does not ask for."""
    # Brokers flush by time where they don't say that they don't.
    intervals = [value for _, value in case.server("broker", FLUSH_SCHEDULER)]
    by_time = any(value != str(NEVER) for value in intervals) if intervals else case.in_force is not None
    flushed = [
        (name, value)
        for name, value in (*case.server("broker", *FLUSH_OF_BROKER), *case.server("topic", *FLUSH_OF_TOPIC))
        if value not in ("", str(NEVER)) and (by_time or not name.endswith(".ms"))
    ]
    if flushed and case.choice.level in LEVELS_WITHOUT_FSYNC:
        yield Hazard(
            "hidden-flush",
            settings_in_words(flushed),
            f"level {case.choice.level} needs no fsync, yet by these Kafka does some",
            "with an fsync per batch Kafka did a third to a fifth at batches of 1 and 10 KB (figure 2); with "
            "flush.messages=1 publish p99 was 58.8 instead of 8.47 ms (tables 2-2, 2-4)",
            f"{CONFLUENT_2020}; {STREAMNATIVE_2020}",
            f"remove {' and '.join(name for name, _ in flushed)}, or compare at level 1 or 3",
        )


def _unclean_election_hazard(case: Case) -> Iterator[Hazard]:
    """A majority that may be passed over."""
    values = (*case.server("broker", UNCLEAN), *case.server("topic", UNCLEAN))
    if case.choice.level in LEVELS_WITH_COPIES and any(value == "true" for _, value in values):
        yield Hazard(
            "unclean-election",
            f"{UNCLEAN}=true",
            "a replica that is not in sync may be made leader: then what a majority acknowledged is lost, which "
            f"level {case.choice.level} is to rule out",
            NO_FIGURE,
            "Kafka's topic configuration",
            case.server_remedy(UNCLEAN, "false"),
        )


def _fetch_wait_hazard(case: Case) -> Iterator[Hazard]:
    """Consumers whose broker waits for more than comes."""
    fetch_bytes = number_in(case.client("consumer", "fetch.min.bytes")) or 0.0
    wait_ms = number_in(case.client("consumer", "fetch.max.wait.ms")) or FETCH_WAIT_MS
    workload = case.workload
    consumers = workload.topics * workload.busy_consumers()
    coming_bytes = case.msgs_per_s * workload.payload.message_bytes * wait_ms / 1e3 / consumers
    if fetch_bytes > 1 and case.msgs_per_s and coming_bytes < fetch_bytes:
        yield Hazard(
            "fetch-waits",
            f"fetch.min.bytes={fetch_bytes:.0f}",
            f"at {count(case.msgs_per_s)} msg/s fewer bytes come to a consumer within "
            f"fetch.max.wait.ms={trimmed(wait_ms)}, so a broker answers when that is over: "
            "end-to-end times are that wait",
            NO_FIGURE,
            BY_DEFINITION,
            f"remove fetch.min.bytes from {case.block('consumer')}, unless users have it",
            Severity.ADVICE,
            makes_result=True,
        )


def _long_poll_hazard(case: Case) -> Iterator[Hazard]:
    """Consumers that take longer for the messages of a poll than brokers wait for them."""
    workload = case.workload
    if workload.processing is None:
        return
    is_shared = workload.subscription_type is SubscriptionType.SHARED
    # The client of a share group is given the queue of the workload, where that is smaller.
    by_default = min(POLL_RECORDS_DEFAULT, workload.receive_queue_messages()) if is_shared else POLL_RECORDS_DEFAULT
    messages = number_in(case.client("consumer", POLL_RECORDS)) or by_default
    if is_shared:
        lock_ms = next((number_in(value) for _, value in case.server("broker", SHARE_LOCK)), None)
        allowed_ms, name = lock_ms or SHARE_LOCK_MS, SHARE_LOCK
        why = "then locks end, and messages that are still being processed are delivered to others, too"
    else:
        allowed_ms, name = number_in(case.client("consumer", POLL_INTERVAL)) or POLL_INTERVAL_MS, POLL_INTERVAL
        why = "then the consumer leaves its group, and others get its partitions and messages again"
    takes_ms = messages * workload.processing.mean_s * 1e3
    if takes_ms > allowed_ms:
        yield Hazard(
            "long-polls",
            f"{POLL_RECORDS}={messages:.0f} with {workload.processing} of processing",
            f"the messages of a full poll take {ms(takes_ms)} ms, more than {name}={trimmed(allowed_ms)}: {why}",
            NO_FIGURE,
            BY_DEFINITION,
            f"give {POLL_RECORDS} of {max(1, int(allowed_ms / takes_ms * messages / 2))} or less in "
            f"{case.block('consumer')}",
            Severity.ADVICE,
            makes_result=True,
        )


def _requests_in_flight_hazard(case: Case) -> Iterator[Hazard]:
    name = "max.in.flight.requests.per.connection"
    value = number_in(case.client("producer", name))
    if value is not None and value != REQUESTS:
        yield Hazard(
            "requests-in-flight",
            f"{name}={trimmed(value)}",
            f"Kafka's client limits batches under way by this, beside the limit on messages; its default is "
            f"{REQUESTS}, the most with which a broker keeps the order of retried batches",
            NO_FIGURE,
            BY_DEFINITION,
            f"remove {name} from {case.block('producer')}",
        )


def _acks_hazard(case: Case) -> Iterator[Hazard]:
    setting = case.client("producer", "acks")
    acks = {"-1": "all", "1": "one"}.get(setting or "", setting)
    # What a cluster is measured with as it is found, others decide.
    if case.choice.is_open:
        return
    needed = client_acks(case.choice, case.nodes)
    # On one node there is nobody else to wait for.
    same = acks == needed or (case.nodes == 1 and acks in ("all", "one"))
    if setting is not None and not same:
        yield Hazard(
            "acks",
            f"acks={setting}",
            f"level {case.choice.level} means acks={'all' if needed == 'all' else '1'}: with acks={setting} Kafka's "
            "producer waits for something else than the other systems' do",
            "publish p99 at 200,000 msg/s was 11.4 ms with acks=1 and 58.8 with acks=all (fsync), 3.06 and 8.47 "
            "without; with acks=0 nothing is awaited at all",
            f"{STREAMNATIVE_2020}, tables 2-2, 2-4",
            f"remove acks from {case.block('producer')}, and choose {case.key('durability')} as it is meant",
        )


def _idempotence_hazard(case: Case) -> Iterator[Hazard]:
    off = case.client("producer", "enable.idempotence") == "false"
    acks = case.client("producer", "acks") or client_acks(case.choice, case.nodes)
    # Kafka's client turns it off by itself where another setting forbids it.
    requests = number_in(case.producer.get("max.in.flight.requests.per.connection")) or REQUESTS
    causes = {
        "enable.idempotence": "enable.idempotence" in case.producer,
        "retries": case.producer.get("retries") == "0",
        "max.in.flight.requests.per.connection": requests > REQUESTS,
    }
    cause = next((name for name, is_cause in causes.items() if is_cause), "")
    if off and acks in ("all", "-1"):
        yield Hazard(
            "idempotence",
            "enable.idempotence=false",
            "Kafka's client is idempotent by default, so the one measured is not the one that users run: a retry may "
            "duplicate or reorder",
            NO_FIGURE,
            "Kafka's producer configuration",
            f"remove {cause} from {case.block('producer')}"
            if cause
            else f"give enable.idempotence: true in {case.block('producer')}",
            Severity.ADVICE,
        )


def _server_compression_hazard(case: Case) -> Iterator[Hazard]:
    """Brokers that store batches in another way than producers sent them."""
    sent_codec = (case.client("producer", "compression.type") or case.workload.client.compression.value).lower()
    codecs = {
        value
        for _, value in (*case.server("broker", "compression.type"), *case.server("topic", "compression.type"))
        if value not in ("", "producer", UNCOMPRESSED if sent_codec == "none" else sent_codec)
    }
    if codecs:
        why = "the brokers compress by themselves what producers sent: less for the disk, more for the CPU"
        if codecs == {UNCOMPRESSED}:
            why = "the brokers unpack what producers sent: more for the disk and for the CPU"
        elif sent_codec != "none":
            why = "the brokers unpack what producers sent and compress it in another way: more for the CPU"
        yield Hazard(
            "server-compression",
            f"compression.type={'/'.join(sorted(codecs))} on its servers",
            why,
            NO_FIGURE,
            "Kafka's broker configuration",
            f"{case.server_remedy('compression.type', 'producer')}; or set {case.key('compression')} for all",
        )


def _in_sync_replicas_hazard(case: Case) -> Iterator[Hazard]:
    """Said where it is a difference: of two copies a majority is both."""
    copies = {value for _, value in case.server("topic", COPIES)} or {str(case.copies or min(3, case.nodes))}
    waits = case.client("producer", "acks") not in ("0", "1") and copies != {"2"}
    if waits and case.choice.level in LEVELS_WITH_COPIES:
        yield Hazard(
            "in-sync-replicas",
            "acks=all waits for every replica that is in sync",
            "where another system waits for a majority of the copies, Kafka waits for the slowest of all",
            f"{NO_FIGURE} for this alone",
            "Kafka's producer configuration",
            "nothing to set: read Kafka's higher percentiles with it in mind",
            Severity.ADVICE,
        )
