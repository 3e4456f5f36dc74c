"""Reads a running bookie's settings and counters from its HTTP server.

`/api/v1/config/server_config` prints the configuration object that the bookie itself works with. Because a setting is
only a promise, the counters of `/metrics` are read too: entries that went through the journal, and its fsyncs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from tidegauge.errors import RunFailedError
from tidegauge.model.server import Setting
from tidegauge.systems.metrics import fetch_text
from tidegauge.systems.pulsar.level import JOURNAL_ENTRIES, JOURNAL_SYNCS, READ_ONLY, RUNNING

TIMEOUT_S = 10.0
STATE_PATH = "/api/v1/bookie/state"

STATES = {RUNNING: "running", READ_ONLY: "readOnly"}
METRIC = re.compile(
    r'^bookie_journal_\S*?(JOURNAL_SYNC|JOURNAL_ADD_ENTRY)_count\{[^}]*success="true"[^}]*\} (\S+)', re.M
)
# Settings of the broker, which reads the same file and is asked itself; and objects that are no settings.
NOT_THE_BOOKIES = re.compile(
    r"managedLedger|broker|webService|loadManager|loadBalancer|functions|webSocket|allowAuto|backlog|.*-instance$"
)


def read_bookie_at(number: int, base: str) -> list[Setting]:
    """Settings and journal counters of one bookie. `base` is the address of its HTTP server: http://host:8000.

    Raises `RunFailedError` if it does not answer.
    """
    base = base.rstrip("/")
    settings = parse_config(number, _fetch_from_bookie(f"{base}/api/v1/config/server_config"))
    state = parse_state(number, _fetch_from_bookie(f"{base}{STATE_PATH}"))
    return settings + state + parse_metrics(number, _fetch_from_bookie(f"{base}/metrics"))


def is_writable(base: str) -> bool:
    """Whether a bookie that may still be starting is registered and takes writes."""
    try:
        return state_is_writable(parse_state(1, _fetch_from_bookie(f"{base}{STATE_PATH}")))
    except RunFailedError:
        return False


def state_is_writable(settings: Sequence[Setting]) -> bool:
    """Whether one bookie's state, among other settings of it, says that it takes writes. Pure."""
    state = {s.name: s.value for s in settings if s.name in STATES}
    return state.get(RUNNING) == "true" and state.get(READ_ONLY) == "false"


def parse_state(number: int, text: str) -> list[Setting]:
    """Whether a bookie runs and whether it is read-only. Pure. Raises `RunFailedError` if it does not say."""
    values = _parse_json_object("state", text)
    return [
        Setting(f"bookie {number}", name, str(values[key]).lower()) for name, key in STATES.items() if key in values
    ]


def parse_config(number: int, text: str) -> list[Setting]:
    """The bookie's own settings from its JSON. Pure. Raises `RunFailedError` if it is none."""
    values = _parse_json_object("settings", text)
    return [
        Setting(f"bookie {number}", name, str(value))
        for name, value in sorted(values.items())
        if not NOT_THE_BOOKIES.match(name)
    ]


def _parse_json_object(subject: str, text: str) -> dict[str, Any]:
    try:
        return dict(json.loads(text))
    except (ValueError, TypeError) as error:
        raise RunFailedError(
            f"The bookie's {subject} could not be read back: {text[:100]!r} is no JSON object."
        ) from error


def parse_metrics(number: int, text: str) -> list[Setting]:
    """Entries and fsyncs of the journal so far, summed over its journals. Pure. Nothing if it counts none."""
    sums: dict[str, float] = {}
    for kind, value in METRIC.findall(text):
        sums[kind] = sums.get(kind, 0.0) + float(value)
    names = {"JOURNAL_ADD_ENTRY": JOURNAL_ENTRIES, "JOURNAL_SYNC": JOURNAL_SYNCS}
    return [Setting(f"bookie {number}", name, str(int(sums[kind]))) for kind, name in names.items() if kind in sums]


def _fetch_from_bookie(url: str) -> str:
    try:
        return fetch_text(url, TIMEOUT_S)
    except (OSError, ValueError) as error:
        raise RunFailedError(f"The bookie's settings could not be read back from {url}: {error}.") from error
