"""The sessions of a run: one go each. A run that was interrupted and resumed has several."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tidegauge.plain import differing, flatten, typed


@dataclass(frozen=True)
class Session:
    """One go at a run. Times in UTC, ISO 8601, `ended_at` "" while it goes or if it was killed; `status` as a run's."""

    number: int
    started_at: str
    ended_at: str = ""
    status: str = "running"
    reason: str = ""


def read_sessions(head: Mapping[str, Any]) -> tuple[Session, ...]:
    """The sessions in a run.json, oldest first; of one that was written before there were any, its only one."""
    found = []
    listed = head.get("sessions")
    for item in listed if isinstance(listed, list) else []:
        try:
            found.append(typed(Session, item))
        except ValueError:
            continue
    text = {name: str(head.get(name, "")) for name in ("started_at", "ended_at", "status", "reason")}
    return tuple(found) or (Session(1, **text),)


_VOLATILE = ("load_average", "campaign.")
"""What differs from session to session without meaning anything."""


def environment_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """What is different about two sessions' surroundings: "tidegauge.git_commit: a1b2 -> c3d4", one each."""
    sides = [{name: str(value) for name, value in flatten(side)} for side in (before, after)]
    return [
        f"{name}: {old} -> {new}"
        for name, (old, new) in differing(sides, "unknown")
        if not name.startswith(_VOLATILE) and name != "schema"
    ]
