"""What a trial disclosed beside its result, read back; "" and {} for whatever is missing or damaged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidegauge.store.read import StoredTrial, read_object


@dataclass(frozen=True)
class Disclosed:
    """Settings as they were read back, and the files and Java that ran.

    Attributes:
        settings: ("server" or "client", scope, name) to value, as the system words them.
        server_java, client_java: "" where there is none, or it was not stored.
        digest: of the distribution's files.
        jvm_flags, worker_flags: of the servers' JVMs, and of the load generator's.
    """

    settings: Mapping[tuple[str, str, str], str]
    server_java: str
    client_java: str
    digest: str
    jvm_flags: tuple[str, ...]
    worker_flags: tuple[str, ...] = ()


def read_disclosed(trial: StoredTrial) -> Disclosed:
    """What a trial's settings.json and distribution.json hold. Never raises for what can't be read."""
    settings = read_object(trial.directory / "settings.json") or {}
    distribution = _mapping((read_object(trial.directory / "distribution.json") or {}).get("distribution"))
    found = {
        (kind, str(one.get("scope", "")), str(one.get("name", ""))): str(one.get("value", ""))
        for kind in ("server", "client")
        for one in _listed(settings.get(kind))
        if isinstance(one, Mapping)
    }
    return Disclosed(
        settings=found,
        server_java=str(distribution.get("java_version") or ""),
        client_java=str(_mapping(settings.get("worker")).get("java_version") or ""),
        digest=str(distribution.get("digest") or ""),
        jvm_flags=tuple(map(str, _listed(settings.get("server_jvm_flags")))),
        worker_flags=tuple(map(str, _listed(_mapping(settings.get("worker")).get("jvm_flags")))),
    )


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _listed(value: object) -> Sequence[Any]:
    return value if isinstance(value, list) else []
