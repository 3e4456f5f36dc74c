"""Settings without what names a run's own places, so that equal ones compare as equal. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

_PORT = re.compile(r":\d{4,5}\b")
_OWN_TOPIC = re.compile(r"tidegauge-[\w.-]+")
_PATH = re.compile(r"/[^\s,;:=]*/(?:trials|data)/[^\s,;:=]*")
_ADDRESS = re.compile(r"\b[\w.-]+:\d{4,5}\b")
_NUMBERED = re.compile(r"\b(broker|bookie|node|server|controller|zookeeper)[- ]?\d+\b")
_BARE_PORT = re.compile(r"\b\d{4,5}\b")
_A_PORT = re.compile(r"port", re.IGNORECASE)
_OF_EACH_TRIAL = frozenset(
    {"cluster.id", "leaders.by.partition", "partition.owners.by.partition", "queue.leaders.by.queue"}
)
"""What is drawn anew each time. How many partitions each node leads is told apart from that, and compared."""
_COUNTED = "so far"
"""What servers tell of themselves beside their settings."""


def normal_settings(settings: Mapping[tuple[str, str, str], str]) -> dict[tuple[str, str, str], str]:
    """Settings by kind ("server", "client"), scope and name, without what names the run's own places.

    Of several nodes all values.
    """
    found: dict[tuple[str, str, str], set[str]] = {}
    for (kind, scope, name), value in settings.items():
        if name in _OF_EACH_TRIAL or name.endswith(_COUNTED):
            continue
        place = _NUMBERED.sub(r"\1", _OWN_TOPIC.sub("", _ADDRESS.sub("", scope))).strip()
        plain = _BARE_PORT.sub("PORT", value) if _A_PORT.search(name) else without_places(value)
        found.setdefault((kind, place, name), set()).add(plain)
    return {key: ", ".join(sorted(values)) for key, values in sorted(found.items())}


def without_places(value: str) -> str:
    """A value without ports, topics and directories of its own run."""
    return _PORT.sub(":PORT", _OWN_TOPIC.sub("TOPIC", _PATH.sub("RUN", value)))
