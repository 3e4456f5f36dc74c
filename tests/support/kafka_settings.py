"""What Kafka reports of a topic and its producers."""

from __future__ import annotations

from tidegauge.model.server import Setting

NEVER = "9223372036854775807"


def kafka_topic(name: str = "t", **changes: str | None) -> list[Setting]:
    """What a broker reports of a topic of three copies without fsync; names with _ for "."; None = not reported."""
    facts: dict[str, str | None] = {
        "flush.messages": NEVER,
        "flush.ms": NEVER,
        "min.insync.replicas": "2",
        "replication.factor": "3",
        "unclean.leader.election.enable": "false",
        "remote.storage.enable": "false",
    }
    facts |= {name.replace("_", "."): value for name, value in changes.items()}
    return [Setting(f"topic {name}", key, value) for key, value in facts.items() if value is not None]


ALL, ONE = Setting("producer", "acks", "-1"), Setting("producer", "acks", "1")
