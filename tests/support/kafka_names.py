"""What a test's Kafka has: topics, groups and records, asked by programs of their own with the server's jars."""

from __future__ import annotations

from pathlib import Path

from java_source import run_java_source

from tidegauge.systems import registry


def broker_names(servers: str, *create: str) -> list[tuple[str, str]]:
    """Every ("topic", name) and ("group", name) that is not Kafka's own, after creating some topics."""
    said = run_java_source("KafkaNames.java", _jars(), servers, *create)
    lines = [line.partition(" ") for line in said.splitlines()]
    return [(kind, name) for kind, _, name in lines if not name.startswith("__")]


def delete_records(servers: str, topic: str, *more: str) -> int:
    """Delete what the topic's one partition has now. Returns how many records it has ever had until then.

    `more`: "whole" to delete the topic, too.
    """
    return int(run_java_source("KafkaDelete.java", _jars(), servers, topic, *more))


def alter_topics(servers: str, prefix: str, but: str, name: str, value: str) -> list[str]:
    """Set one setting of all topics that begin so but for one, as who looks after the cluster does; their names."""
    return run_java_source("KafkaAlter.java", _jars(), servers, prefix, but, name, value).split()


def _jars() -> Path:
    kafka = registry.system_named("kafka")
    return kafka.provision(kafka.default_version, lambda _: None).directory
