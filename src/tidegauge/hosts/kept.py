"""What was measured of this machine, kept from one command to the next: one file of each kind in the state directory.

A file is replaced as a whole. It holds no results: a run has its own copy of what it used.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from tidegauge.atomic import replace_file
from tidegauge.hosts.storage import state_directory
from tidegauge.plain import plain, typed

FRESH_S = 12 * 3600.0
"""Older ones are measured again: disks fill, neighbours come and go."""
SCHEMA = 1
_KEPT_MAX = 16

T = TypeVar("T")


def path_of(name: str) -> Path:
    """The file of one kind of measurement; it need not exist."""
    return state_directory() / f"{name}.json"


def write_kept(name: str, newest_first: Sequence[object]) -> None:
    """Keep these and no others, the newest of them if they are many. Raises `OSError`."""
    path = path_of(name)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    content = {"schema": SCHEMA, "kept": plain(newest_first[:_KEPT_MAX])}
    replace_file(path, json.dumps(content, indent=2).encode(), shared=True)


def read_kept_of(name: str, kind: type[T]) -> list[T]:
    """Everything kept, the newest first; nothing if the file is damaged or of another schema."""
    try:
        content = json.loads(path_of(name).read_text(encoding="utf-8"))
        if content["schema"] != SCHEMA:
            return []
        return [typed(kind, entry) for entry in content["kept"]]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def seconds_since(measured_at: str, now: datetime) -> float:
    """How long ago something was measured; infinite if the time can't be read."""
    try:
        return (now - datetime.fromisoformat(measured_at).astimezone(UTC)).total_seconds()
    except ValueError:
        return float("inf")


def is_fresh(measured_at: str, now: datetime) -> bool:
    """Whether something was measured a short time ago."""
    return 0 <= seconds_since(measured_at, now) <= FRESH_S
