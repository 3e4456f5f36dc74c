"""What RabbitMQ reports of its queues."""

from __future__ import annotations

from tidegauge.model.server import Setting

NEW, OLD = "4.3.6", "3.10.8"
NAMES = {"message_delivery_mode": "message.delivery_mode", "queue_storage_version": "queue.storage_version"}


def settings(version: str = NEW, **facts: str) -> list[Setting]:
    """What a healthy server reports of the topic "t"; names are written with _ for "."."""
    usual = {
        "queues": "2",
        "queue.type": "quorum",
        "queue.durable": "true",
        "queue.members": "1",
        "queue.members.online": facts.get("queue_members", "1"),
        "message.delivery_mode": "2",
    }
    usual |= {NAMES.get(name, name.replace("_", ".", 2)): value for name, value in facts.items()}
    rows = [Setting("cluster", "version", version), Setting("node a", "running", "true")]
    return rows + [Setting("topic t", name, value) for name, value in usual.items()]


def classic(version: str, **facts: str) -> list[Setting]:
    return settings(version, **{"queue_type": "classic", "queue_storage_version": "1"} | facts)
