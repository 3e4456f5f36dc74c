"""Which types of subscription Kafka has, and what is peculiar to them. Pure."""

from __future__ import annotations

from tidegauge.fairness.case import Case, Hazard
from tidegauge.fairness.published import NO_FIGURE
from tidegauge.model.tilt import Severity
from tidegauge.model.workload import SubscriptionType

SHARE_GROUPS_SINCE = (4, 2)
"""Share groups are ready for production from here on (KIP-932; upgrade notes of 4.2)."""
SHARE_LOCKS = 2000
"""Default of group.share.partition.max.record.locks in 4.2."""


def subscription_problem(kind: SubscriptionType, version: str) -> str:
    """See `System.subscription_problem`. A version that is a directory's path is left to the servers to say."""
    if kind is SubscriptionType.EXCLUSIVE:
        return "any consumer may join a group; 'failover' with one consumer comes nearest"
    if kind is SubscriptionType.KEY_SHARED:
        return (
            "a group shares out partitions, not keys; 'failover' keeps the order of each key, whose messages are in "
            "one partition"
        )
    numbers = version.split(".")[:2]
    known = len(numbers) == 2 and all(part.isdecimal() for part in numbers)
    if kind is SubscriptionType.SHARED and known and tuple(map(int, numbers)) < SHARE_GROUPS_SINCE:
        return f"share groups are ready for production from 4.2 on, and this is {version}"
    return ""


def hazards(case: Case) -> list[Hazard]:
    """What only Kafka does with subscriptions of the workload's type."""
    if case.workload.subscription_type is not SubscriptionType.SHARED:
        return []
    return [
        Hazard(
            "shared-subscriptions",
            f"has share groups: each partition has at most {SHARE_LOCKS:,} records under way for a group "
            "(group.share.partition.max.record.locks), and what became of each is kept in an internal topic",
            "systems share out a subscription's messages in different ways, with bounds of their own",
            NO_FIGURE,
            "KIP-932; documentation of Kafka 4.2",
            "know it when comparing; several partitions raise the bound",
            Severity.ADVICE,
        )
    ]
