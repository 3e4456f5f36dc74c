"""What limited a throughput result, in words and figures. Plain data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Resource(StrEnum):
    """What a result can be limited by, in the words of reports."""

    SERVER_CPU = "server CPU"
    SERVER_THREAD = "one server thread"
    CLIENT_CPU = "client CPU"
    HOST_CPU = "host CPU"
    DISK = "disk"
    MEMORY = "memory limit"
    NETWORK = "network"
    SYNCS = "sync round trips"
    REPLICATION = "replication round trips"
    WINDOW = "in-flight window"
    OFFERED = "offered rate"
    UNKNOWN = "not identified"


ROUND_TRIPS = frozenset({Resource.WINDOW, Resource.SYNCS, Resource.REPLICATION})
"""Named where nothing was full but the window of messages in flight: a larger one would have carried more."""


@dataclass(frozen=True)
class Limiting:
    """The limiting resource of a result.

    Attributes:
        subject: which one: a process, a device; "" where there is only one.
        share: of its ceiling that was used, 0 to 1; None where it has no such ceiling.
        words: the evidence, one clause with its figures.
        others: what else was near its limit, or what was looked at in vain, one clause each.
    """

    resource: Resource
    subject: str
    share: float | None
    words: str
    others: tuple[str, ...] = ()

    @property
    def told(self) -> str:
        """One line for tables: "disk vda (97 %)"."""
        share = "" if self.share is None else f" ({self.share * 100:.0f} %)"
        return f"{self.resource}{' ' if self.subject else ''}{self.subject}{share}"
