"""The settings that RabbitMQ's clients take. The driver calls these by name: no list of the clients' has them.

A test compares them with the driver's.
"""

from __future__ import annotations

from tidegauge.fairness import Case
from tidegauge.systems.client_settings import CONSUMER, PRODUCER, ClientSetting, ClientSettingRules
from tidegauge.systems.rabbitmq.level import TYPE, form_of

STREAM = "stream"
_TRUTH, _COUNT = ClientSetting("boolean"), ClientSetting("int", least=1)
OF_QUEUES = ClientSettingRules(
    {
        PRODUCER: {"mandatory": _TRUTH},
        CONSUMER: {
            "prefetch": _COUNT,
            "ackEvery": ClientSetting("int", least=0),
            "ackIntervalMs": _COUNT,
            "autoAck": _TRUTH,
        },
    },
    whose="RabbitMQ's queues",
)
OF_STREAMS = ClientSettingRules(
    {
        PRODUCER: {
            "batchSize": _COUNT,
            "dynamicBatch": _TRUTH,
            "batchPublishingDelayMs": _COUNT,
            "maxUnconfirmedMessages": _COUNT,
            "subEntrySize": _COUNT,
        },
        CONSUMER: {"initialCredits": _COUNT},
    },
    whose="RabbitMQ's streams",
)
OF_EITHER = ClientSettingRules(
    {role: {**OF_QUEUES.by_role[role], **OF_STREAMS.by_role[role]} for role in OF_QUEUES.by_role}
)
"""Of topics of which it is not known what they are."""


def client_settings(case: Case) -> ClientSettingRules:
    """See `System.client_settings`. A stream has another client than queues."""
    if case.workload.existing_topics:
        return OF_EITHER
    try:
        queue_type = case.topic.get(TYPE) or form_of(case.choice).queue_type
    except KeyError:
        return OF_EITHER
    return OF_STREAMS if queue_type == STREAM else OF_QUEUES
