"""Which types of subscription RabbitMQ has, and what is peculiar to them. Pure."""

from __future__ import annotations

from tidegauge.fairness.case import Case, Hazard
from tidegauge.fairness.published import NO_FIGURE
from tidegauge.model.tilt import Severity
from tidegauge.model.workload import SubscriptionType

STREAM_FAILOVER_SINCE = (3, 11)
"""Streams have a single active consumer from here on."""


def subscription_problem(kind: SubscriptionType, version: str, stream: bool, existing: bool) -> str:
    """See `System.subscription_problem`. A version that is a directory's path is left to the servers to say."""
    if kind is SubscriptionType.KEY_SHARED:
        return "a queue knows no keys; with several partitions 'failover' keeps the order of each key"
    if existing and kind is SubscriptionType.FAILOVER:
        return (
            "'existing-topics' are used as they are: a queue not made with a single active consumer shares its "
            "messages out, and readers of a stream would store their positions in it; leave out 'subscription-type'"
        )
    if not stream:
        return ""
    if kind in (SubscriptionType.SHARED, SubscriptionType.EXCLUSIVE):
        return "every consumer reads all of a stream; 'failover' (single active consumer) is what streams have"
    numbers = version.split(".")[:2]
    known = len(numbers) == 2 and all(part.isdecimal() for part in numbers)
    if known and tuple(map(int, numbers)) < STREAM_FAILOVER_SINCE:
        return f"streams have a single active consumer from 3.11 on, and this is {version}"
    return ""


def hazards(case: Case) -> list[Hazard]:
    """What only RabbitMQ does with subscriptions of the workload's type."""
    workload = case.workload
    if workload.subscription_type is not SubscriptionType.FAILOVER or workload.partitions == 1:
        return []
    return [
        Hazard(
            "failover-subscriptions",
            "lets the consumer that came first to a queue be its active one, so one consumer may read all partitions",
            "Kafka and Pulsar spread the partitions over the consumers of a failover subscription",
            NO_FIGURE,
            "documentation of RabbitMQ: single active consumer",
            "know it when comparing, or leave out 'subscription-type', by which partitions are spread everywhere",
            Severity.ADVICE,
        )
    ]
