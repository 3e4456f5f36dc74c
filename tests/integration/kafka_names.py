"""What a test's Kafka has: topics and groups, asked by a program of its own with the server's jars."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tidegauge.distribution.java import find_java
from tidegauge.systems import registry


def broker_names(servers: str, *create: str) -> list[tuple[str, str]]:
    """Every ("topic", name) and ("group", name) that is not Kafka's own, after creating some topics."""
    kafka = registry.get("kafka")
    jars = kafka.provision(kafka.default_version, lambda _: None).directory
    program = Path(__file__).with_name("KafkaNames.java")
    command = [str(_java_with_compiler()), "-cp", f"{jars}/*", str(program), servers, *create]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    lines = [line.partition(" ") for line in done.stdout.splitlines()]
    return [(kind, name) for kind, _, name in lines if not name.startswith("__")]


def _java_with_compiler() -> Path:
    """A Java that runs programs from source."""
    javac = shutil.which("javac")
    return Path(javac).resolve().with_name("java") if javac else find_java("A test", 17).executable
