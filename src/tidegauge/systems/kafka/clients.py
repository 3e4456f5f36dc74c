"""The settings that Kafka's clients take, by the definitions of their own library."""

from __future__ import annotations

from pathlib import Path

from tidegauge.fairness import Case
from tidegauge.model.workload import SubscriptionType
from tidegauge.systems.client_settings import CONSUMER, PRODUCER, ClientSettingRules, read_client_settings

FILE = Path(__file__).with_name("client_settings.json")
NO_TRANSACTIONS = "it begins transactions, and none are measured"
NO_ACKNOWLEDGEMENT = "must be all, -1 or 1: without acknowledgement there is nothing to time, and nothing is promised"
NO_SHARE_GROUPS = "it is none of share groups, which 'subscription-type: shared' asks for"


def client_settings(case: Case) -> ClientSettingRules:
    """See `System.client_settings`. Servers of every version are measured with one client."""
    settings, content = read_client_settings(FILE)
    settings = settings.with_reserved(PRODUCER, ("transactional.id",), NO_TRANSACTIONS)
    settings = settings.with_refused(PRODUCER, "acks", "0", NO_ACKNOWLEDGEMENT)
    if case.workload.subscription_type is SubscriptionType.SHARED:
        settings = settings.with_reserved(CONSUMER, content["not of share groups"], NO_SHARE_GROUPS)
    return settings
