"""What of a load decides its own result, whatever the system: said unasked, one remark each. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tidegauge.fairness import BY_DEFINITION, NO_FIGURE, Case, Fact, Hazard, Property
from tidegauge.model.server import SINGLE_ADDRESS
from tidegauge.model.tilt import Severity
from tidegauge.model.workload import Keys
from tidegauge.numbers import count, ms, plural, size

DELAY_MS_TOLD = 2.0
"""A shorter delay of batches is small beside what else a message waits for."""
PROCESSED_SHARE_MAX = 0.95
"""Of what consumers can process: beyond it waiting for them may be nearly all that is measured (queueing theory)."""


def hazards_of_load(case: Case, facts: Mapping[Property, Fact]) -> list[Hazard]:
    """The remarks on a system's load, by what its clients do (`facts`)."""
    rules = (
        _messages_beyond_batches,
        _waits_for_batches,
        _idle_consumers,
        _busy_consumers,
        _unchecked_messages,
        _single_address,
    )
    return [hazard for rule in rules for hazard in rule(case, facts)]


def _remark(rule: str, what: str, why: str, remedy: str) -> Hazard:
    return Hazard(rule, what, why, NO_FIGURE, BY_DEFINITION, remedy, Severity.ADVICE, makes_result=True)


def _number_of(facts: Mapping[Property, Fact], name: Property) -> float | None:
    fact = facts.get(name)
    return float(fact.value) if fact is not None and isinstance(fact.value, int | float) else None


def _messages_beyond_batches(case: Case, facts: Mapping[Property, Fact]) -> Iterator[Hazard]:
    payload = case.workload.payload
    # Of several sizes the smallest: others may fit.
    batch_bytes, message_bytes = _number_of(facts, Property.BATCH_SIZE), payload.message_bytes_min
    # A batch of a byte is how one asks for none.
    if case.workload.producers and batch_bytes is not None and 1 < batch_bytes < message_bytes:
        yield _remark(
            "batch-below-message",
            f"batches of {size(batch_bytes)}, messages of {size(message_bytes)}{' or more' if payload.sizes else ''}",
            "no message fits into a batch, so each is sent by itself: the rate is that of single messages",
            f"give {case.key('batch-size')} of some messages, or of 1 B where single messages are meant",
        )


def _waits_for_batches(case: Case, facts: Mapping[Property, Fact]) -> Iterator[Hazard]:
    delay_ms, batch_bytes = _number_of(facts, Property.BATCH_DELAY), _number_of(facts, Property.BATCH_SIZE)
    workload = case.workload
    producers = workload.topics * workload.producers
    if not (case.msgs_per_s and producers and delay_ms and batch_bytes) or delay_ms < DELAY_MS_TOLD:
        return
    # Each partition has a batch of its own. Without keys clients stay with one until its batch is full or goes (Kafka's
    # partitioner since 2.4, Pulsar's routing), so no more than that is known.
    partitions = 1 if workload.keys is Keys.NONE else min(workload.partitions, workload.distinct_keys)
    interval_ms = 1e3 * producers * partitions / case.msgs_per_s
    filled_ms = interval_ms * batch_bytes / workload.payload.message_bytes
    if batch_bytes > 1 and delay_ms < filled_ms:
        whom = "a partition of a producer" if partitions > 1 else "a producer"
        yield _remark(
            "waits-for-batches",
            f"batches wait {ms(delay_ms)} ms at {count(case.msgs_per_s)} msg/s",
            f"on average a message comes every {ms(interval_ms)} ms to {whom}, so batches wait for all of their delay: "
            "much of a response time is that delay",
            f"set {case.key('batch-delay')} to 0 ms, unless users of the system have this delay",
        )


def _idle_consumers(case: Case, _facts: Mapping[Property, Fact]) -> Iterator[Hazard]:
    workload = case.workload
    idle = workload.consumers - workload.busy_consumers()
    if workload.subscriptions and idle > 0:
        yield _remark(
            "idle-consumers",
            f"{plural(workload.consumers, 'consumer')} of {plural(workload.partitions, 'partition')}",
            f"a partition is read by one consumer, so {idle} of {workload.consumers} receive nothing",
            f"give as many {case.key('partitions')}, or let consumers share them ({case.key('subscription-type')})",
        )


def _busy_consumers(case: Case, _facts: Mapping[Property, Fact]) -> Iterator[Hazard]:
    most = case.workload.processed_msgs_per_s()
    if case.msgs_per_s and case.msgs_per_s > PROCESSED_SHARE_MAX * most:
        # At fewer they do where times vary: messages that come and are processed evenly need not wait.
        wait = "wait" if case.msgs_per_s > most else "may wait"
        yield _remark(
            "consumers-too-slow",
            f"{case.workload.consumers_words()} at {count(case.msgs_per_s)} msg/s",
            f"a subscription's consumers can process {count(most)} msg/s at most: messages {wait} for them, whatever "
            "the system does",
            f"give more {case.key('consumers')}{_for_more_consumers(case)}, or a lower rate",
        )


def _for_more_consumers(case: Case) -> str:
    """What it takes for more consumers to receive messages; "" where they share them, or nobody can say."""
    if case.workload.shares_messages or case.workload.existing_topics:
        return ""
    return f", with as many {case.key('partitions')} or sharing them ({case.key('subscription-type')})"


def _unchecked_messages(case: Case, _facts: Mapping[Property, Fact]) -> Iterator[Hazard]:
    if unchecked := case.workload.unchecked():
        yield _remark(
            "short-messages",
            f"messages of {size(case.workload.payload.message_bytes)}",
            f"they have no room for all that a message is checked by: {unchecked}",
            f"set {case.key('message-size')} to 16 B or more",
        )


def _single_address(case: Case, _facts: Mapping[Property, Fact]) -> Iterator[Hazard]:
    for _, address in case.server("cluster", SINGLE_ADDRESS):
        yield _remark(
            "single-address",
            f"all servers that clients talk to at one address, {address}",
            "they share a host, or a proxy or load balancer stands before them: then its time is in each latency, and "
            "its limits are in each rate",
            "give the nodes' own addresses, or measure both ways",
        )
