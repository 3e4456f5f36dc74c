"""What a test's Kafka has: topics and groups, asked by a program of its own with the server's jars."""

from __future__ import annotations

from java_source import run_java_source

from tidegauge.systems import registry


def broker_names(servers: str, *create: str) -> list[tuple[str, str]]:
    """Every ("topic", name) and ("group", name) that is not Kafka's own, after creating some topics."""
    kafka = registry.get("kafka")
    jars = kafka.provision(kafka.default_version, lambda _: None).directory
    said = run_java_source("KafkaNames.java", jars, servers, *create)
    lines = [line.partition(" ") for line in said.splitlines()]
    return [(kind, name) for kind, _, name in lines if not name.startswith("__")]
