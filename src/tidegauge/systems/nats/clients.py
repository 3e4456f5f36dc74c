"""The settings that NATS's clients take. The driver calls some of them by names of its own: the client has no list."""

from __future__ import annotations

from tidegauge.fairness import Case
from tidegauge.systems.client_settings import CONSUMER, PRODUCER, ClientSetting, ClientSettingRules

BATCH = "batchSize"
_COUNT = ClientSetting("int", least=1)
RULES = ClientSettingRules(
    {
        PRODUCER: {"ackWaitMs": _COUNT},
        CONSUMER: {
            BATCH: ClientSetting("int", least=10),
            "thresholdPercent": ClientSetting("int", least=1, most=100),
            "expiresInMs": ClientSetting("int", least=1000),
            "ackEvery": ClientSetting("int", least=0),
            "ackIntervalMs": _COUNT,
            "ackWaitMs": _COUNT,
        },
    }
)


def client_settings(case: Case) -> ClientSettingRules:
    """See `System.client_settings`."""
    return RULES
