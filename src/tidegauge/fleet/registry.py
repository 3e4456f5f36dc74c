"""The crash registry: what each agent holds, on disk, so that the next start can remove what a crash left.

One record an agent: `STATE/agents/ID.json`, replaced atomically at every change. While the agent lives it holds a lock
on `ID.lock`. The kernel drops the lock when the agent dies, however it dies, so "is it alive?" has a sure answer even
across containers that share the directory.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tidegauge.hosts import procfs
from tidegauge.hosts.procfs import Identity
from tidegauge.hosts.state import state_directory

SCHEMA = 1
AGENT_ID_CHARS = 16


@dataclass(frozen=True)
class ProcessRecord:
    """A process that an agent started; it leads the session `identity.pid`."""

    name: str
    identity: Identity


@dataclass(frozen=True)
class Record:
    """Everything one agent holds."""

    agent_id: str
    agent: Identity
    boot: str
    namespace: str
    processes: tuple[ProcessRecord, ...] = ()
    directories: tuple[str, ...] = ()
    ports: tuple[int, ...] = ()
    disks: tuple[str, ...] = ()
    """Where the rig's disks are mounted; each image lies beside its place."""
    network: str = ""
    """Identifier of the rig's network, "" without one."""


def agents_directory() -> Path:
    """Where the records are; created if need be. Raises `OSError`."""
    directory = state_directory() / "agents"
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    return directory


def new_agent_id() -> str:
    """An identifier that no other agent has."""
    return secrets.token_hex(AGENT_ID_CHARS // 2)


def record_path(agent_id: str) -> Path:
    """The record's file."""
    return agents_directory() / f"{agent_id}.json"


def log_path(agent_id: str) -> Path:
    """What the agent itself has to say (empty unless it meets an error)."""
    return agents_directory() / f"{agent_id}.log"


def lock_path(agent_id: str) -> Path:
    """Locked for as long as the agent lives."""
    return agents_directory() / f"{agent_id}.lock"


def try_lock(path: Path) -> int | None:
    """Take an exclusive lock without waiting: the open descriptor, or None if somebody holds it. Raises `OSError`."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def write(record: Record) -> None:
    """Replace the record on disk, all or nothing. Raises `OSError`."""
    path = record_path(record.agent_id)
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps({"schema": SCHEMA, **asdict(record)}), encoding="utf-8")
    draft.replace(path)


def read(path: Path) -> Record | None:
    """The record in a file; None if there is none or it is damaged."""
    try:
        return _record(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _record(data: dict[str, Any]) -> Record:
    return Record(
        agent_id=str(data["agent_id"]),
        agent=Identity(**data["agent"]),
        boot=str(data["boot"]),
        namespace=str(data["namespace"]),
        processes=tuple(ProcessRecord(p["name"], Identity(**p["identity"])) for p in data["processes"]),
        directories=tuple(data["directories"]),
        ports=tuple(data["ports"]),
        # Not in records of versions without a rig.
        disks=tuple(data.get("disks", ())),
        network=str(data.get("network", "")),
    )


def unknown(agent_id: str) -> Record:
    """Stands for a damaged record (the machine lost power, say): what the agent left is found by its marker alone."""
    return Record(agent_id, Identity(0, 0), procfs.boot_id(), procfs.pid_namespace())


def all_records() -> list[Record]:
    """Every readable record."""
    found = (read(path) for path in sorted(agents_directory().glob("*.json")))
    return [record for record in found if record is not None]


def remove(agent_id: str) -> None:
    """Forget an agent: record, log and lock. Raises `OSError`."""
    record_path(agent_id).unlink(missing_ok=True)
    record_path(agent_id).with_suffix(".draft").unlink(missing_ok=True)
    log_path(agent_id).unlink(missing_ok=True)
    lock_path(agent_id).unlink(missing_ok=True)


def same_processes(record: Record) -> bool:
    """Whether process numbers in the record mean the same processes here and now."""
    return record.boot == procfs.boot_id() and record.namespace == procfs.pid_namespace()
