"""A digest of the settings in force, equal where a system was run alike. Pure. It carries attestations to later runs.

Only what the servers said counts, and of that not what differs from run to run without deciding anything: places,
ports, names of topics, how many partitions there are and who leads them (see `comparison.differences`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from tidegauge.comparison.differences import normal_settings
from tidegauge.store.disclosed import Disclosed
from tidegauge.systems.api import Setting

DIGEST_CHARS = 16


def settings_digest(settings: Sequence[Setting]) -> str:
    """Hex digits over what the servers said to be in force."""
    known = {("server", one.scope, one.name): one.value for one in settings}
    normal = normal_settings(Disclosed(known, "", "", "", ()))
    kept = {" ".join(key): value for key, value in normal.items() if not _of_the_load(key[2])}
    return hashlib.sha256(repr(sorted(kept.items())).encode()).hexdigest()[:DIGEST_CHARS]


_OF_THE_LOAD = ("partition", "leader", "owner", "isr", "in.sync", "online", "count", "ledger")
"""Words in the names of what a topic's own load or moment decides."""


def _of_the_load(name: str) -> bool:
    lowered = name.lower()
    if "min.insync" in lowered or "quorum" in lowered:
        return False
    return any(word in lowered for word in _OF_THE_LOAD)
