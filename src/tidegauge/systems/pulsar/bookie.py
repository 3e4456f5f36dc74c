"""Reads a running bookie's settings and counters from its HTTP server on loopback.

`/api/v1/config/server_config` prints the configuration object that the bookie itself works with. Because a setting is
only a promise, the counters of `/metrics` are read too: entries that went through the journal, and its fsyncs.
"""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request

from tidegauge.errors import RunFailedError
from tidegauge.systems.api import Setting
from tidegauge.systems.pulsar.level import JOURNAL_ENTRIES, JOURNAL_SYNCS

TIMEOUT_S = 10.0
METRIC = re.compile(
    r'^bookie_journal_\S*?(JOURNAL_SYNC|JOURNAL_ADD_ENTRY)_count\{[^}]*success="true"[^}]*\} (\S+)', re.M
)
# Settings of the broker, which reads the same file and is asked itself; and objects that are no settings.
NOT_THE_BOOKIES = re.compile(
    r"managedLedger|broker|webService|loadManager|loadBalancer|functions|webSocket|allowAuto|backlog|.*-instance$"
)


def read_bookie(number: int, http_port: int) -> list[Setting]:
    """Settings and journal counters of one bookie. Raises `RunFailedError` if it does not answer."""
    base = f"http://127.0.0.1:{http_port}"
    settings = parse_config(number, _get(f"{base}/api/v1/config/server_config"))
    return settings + parse_metrics(number, _get(f"{base}/metrics"))


def parse_config(number: int, text: str) -> list[Setting]:
    """The bookie's own settings from its JSON. Pure. Raises `RunFailedError` if it is none."""
    try:
        values = dict(json.loads(text))
    except (ValueError, TypeError) as error:
        raise RunFailedError(
            f"The bookie's settings could not be read back: {text[:100]!r} is no JSON object."
        ) from error
    return [
        Setting(f"bookie {number}", name, str(value))
        for name, value in sorted(values.items())
        if not NOT_THE_BOOKIES.match(name)
    ]


def parse_metrics(number: int, text: str) -> list[Setting]:
    """Entries and fsyncs of the journal so far, summed over its journals. Pure. Nothing if it counts none."""
    sums: dict[str, float] = {}
    for kind, value in METRIC.findall(text):
        sums[kind] = sums.get(kind, 0.0) + float(value)
    names = {"JOURNAL_ADD_ENTRY": JOURNAL_ENTRIES, "JOURNAL_SYNC": JOURNAL_SYNCS}
    return [Setting(f"bookie {number}", name, str(int(sums[kind]))) for kind, name in names.items() if kind in sums]


def _get(url: str) -> str:
    # Never through a proxy: this is the loopback of this machine.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=TIMEOUT_S) as reply:
            return str(reply.read().decode("utf-8", "replace"))
    except (urllib.error.URLError, OSError) as error:
        raise RunFailedError(f"The bookie's settings could not be read back from {url}: {error}.") from error
