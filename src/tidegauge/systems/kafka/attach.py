"""Attaching to a Kafka cluster that others run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tidegauge.model.level import LevelChoice
from tidegauge.model.server import Setting
from tidegauge.systems.attach import AddressKey, AttachRules
from tidegauge.systems.attached import AttachedCluster, AttachRequest, connection_settings, number_of
from tidegauge.systems.kafka.level import REPLICAS_FOR_MAJORITY

RULES = AttachRules(
    keys=(AddressKey("bootstrap-servers", "host1:9092,host2:9092", "bootstrap.servers"),),
    methods=("plain", "scram-sha-256", "scram-sha-512", "tls"),
)


def attach(request: AttachRequest) -> AttachedCluster:
    """The cluster as a deployment. Nothing is asked of it yet."""
    return AttachedCluster(
        connection=connection_settings(request.choice, RULES, request.secrets),
        topic_settings=topic_settings(request.level),
        nodes_in=_brokers,
        # A topic's configuration contains what its brokers set for all topics.
        decides=lambda setting: setting.scope.startswith("topic "),
    )


def topic_settings(level: LevelChoice) -> Mapping[str, str]:
    """What brokers of our own would set for all topics. Others' have a default of 1, at which "all" may mean one."""
    return {"min.insync.replicas": str(REPLICAS_FOR_MAJORITY)} if level.level in (1, 2) else {}


def _brokers(settings: Sequence[Setting]) -> int | None:
    return number_of(settings, "cluster", "brokers")
