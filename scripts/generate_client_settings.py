"""Writes systems/NAME/client_settings.json: which settings a system's clients take, as their own library says it.

The programs beside it are run with the jars of the built worker. An integration test says when one is out of date:
run this then.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tidegauge.distribution.java import find_java
from tidegauge.worker.archive import JAVA_MAJOR_MIN, worker_class_path

PROGRAMS = {"kafka": "KafkaSettings", "pulsar": "PulsarSettings"}
ROOT = Path(__file__).resolve().parents[1]
PROGRAM_S_MAX = 120


def target_of(system: str) -> Path:
    """The file of a system."""
    return ROOT / f"src/tidegauge/systems/{system}/client_settings.json"


def text_for(system: str) -> str:
    """The file as it should be. Raises `subprocess.CalledProcessError`."""
    java = find_java("The list of settings", JAVA_MAJOR_MIN).executable
    jars = ":".join(map(str, worker_class_path(system)))
    source = ROOT / f"scripts/client_settings/{PROGRAMS[system]}.java"
    command = [str(java), "-cp", jars, str(source)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PROGRAM_S_MAX).stdout
    return "\n".join(_lines(json.loads(printed))) + "\n"


def _lines(facts: Mapping[str, Any]) -> Iterator[str]:
    """Lays out JSON with one setting a line."""
    yield "{"
    for place, (key, value) in enumerate(facts.items()):
        comma = "," if place < len(facts) - 1 else ""
        if isinstance(value, dict):
            yield f"  {json.dumps(key)}: {{"
            entries = [f"    {json.dumps(name)}: {json.dumps(value[name])}" for name in value]
            yield from (f"{entry}," for entry in entries[:-1])
            yield from entries[-1:]
            yield f"  }}{comma}"
        else:
            yield f"  {json.dumps(key)}: {json.dumps(value)}{comma}"
    yield "}"


if __name__ == "__main__":
    for name in PROGRAMS:
        target_of(name).write_text(text_for(name))
