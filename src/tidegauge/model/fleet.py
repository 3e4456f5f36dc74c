"""The hosts of a fleet, and what a check of them found. Plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

SERVER_ROLE = "server"
LOAD_ROLE = "load"
KEEPER_ROLE = "keeper"


@dataclass(frozen=True)
class FleetHost:
    """A host as the launcher knows it. `identifier` is the launcher's own; `role` is "" where none was given."""

    address: str
    role: str
    identifier: str
    alive: bool = True


@dataclass(frozen=True)
class Joined:
    """A host that is in a fleet now.

    Attributes:
        head: the head's "host:port".
        ports: what the others must reach here.
        open_because: why Ray can be reached at other addresses of this host than `address`; "" if it can't.
    """

    address: str
    head: str
    role: str
    log: str
    token: str
    ports: tuple[str, ...]
    open_because: str = ""


@dataclass(frozen=True)
class HostState:
    """What a host says of itself.

    Attributes:
        versions: of what must be the same everywhere: "tidegauge", "python", "ray".
        java: of the newest JDK or JRE that load generators would use there, "" without one.
        clock_kept: whether something (NTP, PTP, the hypervisor) keeps its wall clock in step; None if not known.
    """

    hostname: str
    cpus: int
    memory_bytes: int
    free_disk_bytes: int
    java: str
    clock_source: str
    clock_kept: bool | None
    versions: Mapping[str, str]


@dataclass(frozen=True)
class DiskState:
    """What the disk of a host's state directory did, all servers' disks at the same time; None: not measured."""

    write_bytes_per_s: float | None
    syncs_per_s: float | None
    sync_p99_ms: float | None
    problem: str = ""


@dataclass(frozen=True)
class Link:
    """From one host to another.

    Attributes:
        round_trip_us: the shortest and the median of small messages there and back.
        bytes_per_s: one connection.
        offset_ns: the clock of `to` minus that of `from`, CLOCK_MONOTONIC: lower and upper bound when the exchanges of
            all pairs had ended, over all ways through the fleet; None if clocks contradict each other.
    """

    from_address: str
    to_address: str
    round_trip_us_min: float
    round_trip_us_p50: float
    bytes_per_s: float
    offset_ns: tuple[float, float] | None


@dataclass(frozen=True)
class HostLink:
    """What a host was seen to send and receive at most, over several connections at once."""

    sent_bytes_per_s: float
    received_bytes_per_s: float


@dataclass(frozen=True)
class FleetCheck:
    """What a check found; `problems` in words, worst first: without any the fleet can be used."""

    hosts: tuple[FleetHost, ...]
    states: Mapping[str, HostState] = field(default_factory=dict)
    disks: Mapping[str, DiskState] = field(default_factory=dict)
    links: tuple[Link, ...] = ()
    problems: tuple[str, ...] = ()
    seconds: float = 0.0
