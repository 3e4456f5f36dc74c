"""Attaching to a RabbitMQ cluster that others run."""

from __future__ import annotations

from collections.abc import Sequence

from tidegauge.model.server import Setting
from tidegauge.systems.attach import AddressKey, AttachRules
from tidegauge.systems.attached import AttachedCluster, AttachRequest, connection_settings, number_of
from tidegauge.systems.rabbitmq.level import form_of

RULES = AttachRules(
    keys=(
        AddressKey("uris", "amqps://host:5671", "uri", schemes=("amqp", "amqps"), secure_schemes=("amqps",)),
        # Without it nobody can tell what a queue really is, nor which queues of a crashed run are left.
        AddressKey(
            "management-url",
            "https://host:15671",
            "managementUrl",
            schemes=("http", "https"),
            secure_schemes=("https",),
        ),
        AddressKey(
            "stream-uris",
            "rabbitmq-stream+tls://host:5551",
            "streamUri",
            required=False,
            schemes=("rabbitmq-stream", "rabbitmq-stream+tls"),
            secure_schemes=("rabbitmq-stream+tls",),
        ),
    ),
    methods=("password",),
)


def attach(request: AttachRequest) -> AttachedCluster:
    """The cluster as a deployment. Nothing is asked of it yet."""
    connection = connection_settings(request.choice, RULES, request.secrets)
    connection["queueType"] = form_of(request.level).queue_type
    return AttachedCluster(
        connection=connection,
        topic_settings={},
        nodes_in=_nodes,
        decides=_decides,
    )


def _decides(setting: Setting) -> bool:
    # What policies do to a queue stands with the queue.
    return setting.scope.startswith("topic ") or (setting.scope == "cluster" and setting.name in ("version", "queues"))


def _nodes(settings: Sequence[Setting]) -> int | None:
    return number_of(settings, "cluster", "nodes")
