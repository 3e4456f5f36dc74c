"""A digest of the settings in force, equal where a system was run alike. Pure. It carries attestations to later runs.

Only what the servers said counts, and of that not what differs from run to run without deciding anything: places,
ports, names of topics, how many partitions there are and who leads them (see `comparison.differences`). Everything else
does, whether or not it is known to matter: an attestation must never be carried to other settings.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from tidegauge.fairness.normal import normal_settings
from tidegauge.model.server import Setting

DIGEST_CHARS = 16
_OF_THE_LOAD = frozenset(
    {
        "partitions",
        "partitioned",
        "in.sync.replicas",
        "leaders.by.broker",
        "partition.owners",
        "partitions.unowned",
        "queues",
        "queue.leaders",
        "queue.members.online",
    }
)
"""What is told of a topic's own load or of a moment. Whole names: parts of them are in settings that decide, such as
Kafka's unclean.leader.election.enable."""


def settings_digest(settings: Sequence[Setting]) -> str:
    """Hex digits over what the servers said to be in force."""
    known = {("server", one.scope, one.name): one.value for one in settings}
    normal = normal_settings(known)
    kept = {" ".join(key): value for key, value in normal.items() if key[2] not in _OF_THE_LOAD}
    return hashlib.sha256(repr(sorted(kept.items())).encode()).hexdigest()[:DIGEST_CHARS]
