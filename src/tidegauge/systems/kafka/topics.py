"""How topics are made on Kafka, and on products that speak its protocol: nothing is set that is not needed. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tidegauge.fairness import Case
from tidegauge.model.server import Setting, by_scope
from tidegauge.numbers import whole_number
from tidegauge.systems.api import CLUSTERS_DEFAULT, TopicTerms, copies_of_case, settings_words
from tidegauge.systems.kafka.level import (
    CLUSTERS_DEFAULTS,
    COPIES,
    DEFAULT_COPIES,
    MIN_IN_SYNC,
    PLANNED,
    agreed_value,
    client_acks,
    topic_settings,
)
from tidegauge.systems.kafka.products import Product, product_in

MESSAGE_BYTES = "max.message.bytes"
"""Of a topic: the largest batch that it takes."""
MESSAGE_BYTES_DEFAULT = 1_048_588
"""What a topic takes where nobody says more."""
MESSAGE_BYTES_OF_OURS = 32 << 20
"""Far above every batch and the largest message, which changes nothing else."""
MESSAGE_OVERHEAD_BYTES = 512
"""Of a batch with one message: headers, key and what compression may add."""


def topic_terms(case: Case, cluster: Sequence[Setting] | None = None) -> TopicTerms:
    """See `System.topic_terms`."""
    copies = copies_of_case(case)
    if cluster is None:
        return TopicTerms(_settings_of_ours(case, copies), copies, frozenset(case.topic))
    product = product_in(cluster)
    if product and product.fields.topics.copies == "cluster" and not case.copies:
        copies = CLUSTERS_DEFAULT
    brokers = by_scope(cluster, "broker ")
    wanted = {
        name: value
        for name, value in {**_size_settings(case, brokers), **_settings_of_level(case)}.items()
        if name not in case.topic and value != agreed_value(brokers, CLUSTERS_DEFAULTS.get(name, ""))
    }
    left_out = {name: why for name, value in wanted.items() if product and (why := product.why_not_set(name, value))}
    return TopicTerms(
        settings={**{name: value for name, value in wanted.items() if name not in left_out}, **case.topic},
        copies=copies,
        given=frozenset(case.topic),
        at_least=frozenset({MESSAGE_BYTES}),
        left_out={name: wanted[name] for name in left_out},
        why=_left_out_words(product, wanted, left_out) if product else (),
    )


def _settings_of_level(case: Case) -> dict[str, str]:
    """What a level needs of the topics of others' servers, whose default of min.insync.replicas is 1."""
    synced = {"flush.messages": "1"} if topic_settings(case.choice) else {}
    return {**synced, MIN_IN_SYNC: str(_majority(case.copies))} if case.choice.level in (1, 2) else synced


def _majority(copies: int) -> int:
    return (copies or 3) // 2 + 1


def _settings_of_ours(case: Case, copies: int) -> dict[str, str]:
    settings = {MESSAGE_BYTES: str(MESSAGE_BYTES_OF_OURS)}
    if copies == 1:
        # Older brokers (2.8.2) refuse each message where their default asks for more copies.
        settings[MIN_IN_SYNC] = "1"
    elif copies > 3 and case.choice.level in (1, 2) and MIN_IN_SYNC not in case.settings:
        # Their configuration is for three.
        settings[MIN_IN_SYNC] = str(_majority(copies))
    return {**settings, **topic_settings(case.choice), **case.topic}


def _size_settings(case: Case, brokers: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """The limit for batches where these are larger than what a topic takes of which nobody says more."""
    workload = case.workload
    batch_bytes = whole_number(case.producer.get("batch.size", "")) or workload.client.batch_bytes_max
    needed_bytes = max(batch_bytes, workload.payload.message_bytes_max + MESSAGE_OVERHEAD_BYTES)
    given_bytes = whole_number(agreed_value(brokers, "message.max.bytes")) or MESSAGE_BYTES_DEFAULT
    return {MESSAGE_BYTES: str(needed_bytes)} if needed_bytes > given_bytes else {}


def _left_out_words(product: Product, wanted: Mapping[str, str], left_out: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(
        f"not set on topics, since {product.title} {why}: "
        + settings_words({name: wanted[name] for name, other in left_out.items() if other == why})
        for why in dict.fromkeys(left_out.values())
    )


def expected_settings(case: Case, cluster: Sequence[Setting] = ()) -> list[Setting]:
    """See `System.expected_settings`."""
    terms, brokers = topic_terms(case, cluster), by_scope(cluster, "broker ")
    of_brokers = {name: agreed_value(brokers, of_broker) for name, of_broker in CLUSTERS_DEFAULTS.items()}
    values = {name: value for name, value in of_brokers.items() if value} | dict(terms.settings)
    if not terms.copies:
        values[COPIES] = agreed_value(brokers, DEFAULT_COPIES)
    else:
        values[COPIES] = str(terms.copies)
    acks = case.producer.get("acks") or ("1" if client_acks(case.choice, case.nodes) == "one" else "all")
    topic = [Setting(PLANNED, name, value) for name, value in values.items() if value]
    of_product = [setting for setting in cluster if setting.scope == "cluster"]
    return [*topic, *of_product, Setting("producer", "acks", acks)]
