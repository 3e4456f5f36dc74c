"""What a trial disclosed beside its result, in the form in which two trials can be compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidegauge.store.details import TrialDetails


@dataclass(frozen=True)
class Disclosed:
    """Settings as they were read back, and the files and Java that ran.

    Attributes:
        settings: ("server" or "client", scope, name) to value, as the system words them.
        server_java, client_java: "" where there is none, or it was not stored.
        digest: of the distribution's files.
    """

    settings: Mapping[tuple[str, str, str], str]
    server_java: str
    client_java: str
    digest: str
    jvm_flags: tuple[str, ...]


def disclosed(details: TrialDetails) -> Disclosed:
    """Of a trial; "" and {} for whatever is missing or damaged."""
    settings, distribution = details.settings, details.distribution
    found = {
        (kind, str(one.get("scope", "")), str(one.get("name", ""))): str(one.get("value", ""))
        for kind in ("server", "client")
        for one in _listed(settings.get(kind))
        if isinstance(one, Mapping)
    }
    worker = settings.get("worker")
    return Disclosed(
        settings=found,
        server_java=str(distribution.get("java_version") or ""),
        client_java=str((worker.get("java_version") if isinstance(worker, Mapping) else "") or ""),
        digest=str(distribution.get("digest") or ""),
        jvm_flags=tuple(map(str, _listed(settings.get("server_jvm_flags")))),
    )


def _listed(value: object) -> Sequence[Any]:
    return value if isinstance(value, list) else []
