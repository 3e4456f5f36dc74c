"""Hosts: what one offers, what a plan needs of it, and those of a fleet with what a check of them found. Plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal


@dataclass(frozen=True)
class HostFacts:
    """What a host is, for disclosure. Sizes in bytes; "" or None where the host does not say."""

    hostname: str
    kernel: str
    distribution: str
    cpu_model: str
    cpus: int
    cpu_governor: str
    memory_bytes: int
    swap_bytes: int
    clock_source: str
    transparent_huge_pages: str
    cgroup_limits: Mapping[str, str] = field(default_factory=dict)
    disks: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class HostLink:
    """What a host was seen to send and receive at most, over several connections at once."""

    sent_bytes_per_s: float
    received_bytes_per_s: float


@dataclass(frozen=True)
class HostAtWork:
    """A host of a fleet that did some of a run: its nodes and load generators, by number from 1.

    `keeper`: whether what belongs to no node, such as a ZooKeeper, is there. `facts.disks` are those of servers' data.
    `link`: None where nobody could measure it.
    """

    facts: HostFacts
    nodes: tuple[int, ...] = ()
    load_generators: tuple[int, ...] = ()
    keeper: bool = False
    link: HostLink | None = None


@dataclass(frozen=True)
class FreeSpace:
    """What is free on the disk of a place; of one that is not there, on that of the directory nearest above it.

    `device` is the kernel's number of the disk, on `host`: "" where there is one only.
    """

    place: Path
    device: int
    free_bytes: int
    is_there: bool = True
    host: str = ""

    @property
    def disk(self) -> tuple[str, int]:
        """Equal for places on the same disk."""
        return self.host, self.device


DeviceFileSystem = Literal["ext4", "xfs"]
"""On a block device, which can be slow, hang, and be cut off."""
FileSystem = DeviceFileSystem | Literal["fuse"]


@dataclass(frozen=True)
class DiskCheck:
    """A disk after a power cut. `report` is what its file system's own check said, "" where it said nothing.

    `is_clean`: the check, made after the journal had been replayed, found nothing to repair.
    """

    place: str
    file_system: DeviceFileSystem
    is_clean: bool
    report: str


@dataclass(frozen=True)
class MemoryAvailable:
    """Memory that can still be used, MiB, and what bounds it, in words."""

    available_mb: int
    bound: str

    def __str__(self) -> str:
        return f"{self.available_mb:,} MiB are available {self.bound}"


WORKER_OUTSIDE_HEAP_MB = 200
"""Class data, threads and buffers of the load generator, MiB."""
RESERVE_MB = 512
"""For Tidegauge itself (about 150 MiB) and for the page cache that servers write through."""


@dataclass(frozen=True)
class ProcessMemory:
    """Resident memory that server processes of one kind may need, MiB each.

    Attributes:
        kind: "bookie"; "node" where a node is one process.
        count: of such processes.
        direct_mb: outside of the heap, as far as it is counted apart.
        other_mb: class data, code and threads.
        of_nodes: whether they have a part of the nodes' memory; False of ZooKeeper, whose own is fixed.
    """

    kind: str
    count: int
    heap_mb: int
    direct_mb: int
    other_mb: int
    of_nodes: bool = True

    @property
    def total_mb(self) -> int:
        """All of them."""
        return self.count * (self.heap_mb + self.direct_mb + self.other_mb)

    def __str__(self) -> str:
        parts = ((self.heap_mb, "heap"), (self.direct_mb, "direct memory"), (self.other_mb, "other"))
        each = " + ".join(f"{size_mb:,} {words}" for size_mb, words in parts if size_mb)
        return f"{self.count} {self.kind} x ({each})" if self.count == 1 else f"{self.count} {self.kind}s x ({each})"


@dataclass(frozen=True)
class MemoryNeed:
    """What the trials of one system need at most, MiB. `servers` are (), and `nodes` 0, where others run them.

    `worker` is what each of the `workers` needs that carry out a trial together, 0 of them where they are on others.
    `on_fleet`: whether the servers are started on other hosts, whose memory is not this one's.
    """

    system: str
    servers: tuple[ProcessMemory, ...]
    worker: WorkerMemory
    reserve_mb: int = RESERVE_MB
    nodes: int = 0
    workers: int = 1
    on_fleet: bool = False

    @property
    def servers_mb(self) -> int:
        """All server processes."""
        return sum(process.total_mb for process in self.servers)

    @property
    def worker_mb(self) -> int:
        """All of the load generator, or of all of them."""
        return self.workers * (self.worker.heap_mb + self.worker.direct_memory_mb + WORKER_OUTSIDE_HEAP_MB)

    @property
    def total_mb(self) -> int:
        """Everything together."""
        return self.servers_mb + self.worker_mb + self.reserve_mb

    @property
    def whole(self) -> str:
        """The sum alone: "kafka@4.3.1 needs 40,828 MiB"."""
        return f"{self.system} needs {self.total_mb:,} MiB"

    def __str__(self) -> str:
        processes = " + ".join(map(str, self.servers))
        nobody = "it has no servers, " if self.nodes else "its servers are others', "
        if self.on_fleet:
            nobody = "its servers are on other hosts, "
        servers = f"{self.servers_mb:,} for {processes}, " if self.servers else nobody
        workers = "the load generator" if self.workers == 1 else f"{self.workers} load generators"
        load = f"{self.worker_mb:,} for {workers}, " if self.workers else "its load generators on other hosts, "
        return f"{self.whole}: {servers}{load}{self.reserve_mb:,} in reserve"


@dataclass(frozen=True)
class MemoryPlan:
    """What each system of a plan needs, and what there is (None if this machine doesn't report it).

    `workers`: load generators that carry out a trial together, wherever they are.
    """

    needs: tuple[MemoryNeed, ...]
    available: MemoryAvailable | None
    workers: int = 1

    def sentences(self) -> list[str]:
        """Says it for a reader of the plan."""
        available = str(self.available) if self.available else ""
        distinct = dict.fromkeys(need.worker for need in self.needs)
        who = "The load generator" if self.workers == 1 else f"Each of the {self.workers} load generators"
        workers = [f"{who} gets at most: {worker}" for worker in distinct]
        return [*(str(need) for need in self.needs), *workers, *([available] if available else [])]


@dataclass(frozen=True)
class WorkerMemory:
    """Memory of one worker's JVM, MiB, and why it is more than the least; "" where it isn't, or the user said it."""

    heap_mb: int
    direct_memory_mb: int
    because: str = ""

    def __str__(self) -> str:
        why = f" ({self.because})" if self.because else ""
        return f"heap {self.heap_mb:,} MiB, direct memory {self.direct_memory_mb:,} MiB{why}"


OWN_CLIENTS_MAX = 1000
"""So many producers of a load generator have a client each, and so many consumers; more share that many where they can.

`SharedClients` of the worker has the same bound.
"""
UNBOUNDED = 1 << 62


def clients_of(users: int, *, shared: bool) -> int:
    """How many clients so many producers, or consumers, of a load generator have."""
    return min(users, OWN_CLIENTS_MAX) if shared else users


@dataclass(frozen=True)
class Sharing:
    """Whether many producers, and many consumers, of a load generator share clients."""

    producers: bool = False
    consumers: bool = False


NOT_SHARED = Sharing()


@dataclass(frozen=True)
class ClientKind:
    """What one client of producers, or of consumers, takes of the load generator's host; 0 = not known.

    Attributes:
        files: open files, sockets among them.
        connections: to all servers, which clients spread over.
        users_max: producers, or consumers, that can use one; 1 = each has its own.
        rule: what bounds that, in the system's words; "" where nothing does.
    """

    files: int = 0
    threads: int = 0
    connections: int = 0
    users_max: int = 1
    rule: str = ""

    def clients(self, users: int) -> int:
        """How many clients so many producers, or consumers, of a load generator have."""
        return clients_of(users, shared=self.users_max > 1)

    def too_many(self, users: int) -> bool:
        """Whether clients would have more users than they can."""
        return users > self.clients(users) * self.users_max


@dataclass(frozen=True)
class ClientKinds:
    """Clients of producers and clients of consumers."""

    producer: ClientKind = ClientKind()
    consumer: ClientKind = ClientKind()


@dataclass(frozen=True)
class LoadBounds:
    """What a host has for load generators.

    Attributes:
        files, maps: open files and memory maps of each process.
        threads: that can still be started, in all processes together.
        ports: of its own, for connections to one address of a server.
        address: of the host in a fleet; "" = this host.
    """

    files: int = UNBOUNDED
    maps: int = UNBOUNDED
    threads: int = UNBOUNDED
    ports: int = UNBOUNDED
    address: str = ""

    @property
    def where(self) -> str:
        """Where these hold, in words."""
        return f"on {self.address}" if self.address else "here"


SERVER_ROLE = "server"
LOAD_ROLE = "load"
KEEPER_ROLE = "keeper"


@dataclass(frozen=True)
class FleetHost:
    """A host as the launcher knows it.

    Attributes:
        role: "" where none was given.
        identifier: the launcher's own.
        refused: why nothing may be asked of it though it is alive ("it has another Tidegauge ..."); "" if it may.
    """

    address: str
    role: str
    identifier: str
    alive: bool = True
    refused: str = ""

    @property
    def problem(self) -> str:
        """Why it can't be used, "" if it can."""
        return (
            self.refused
            if self.alive
            else "it is lost: Ray had it and can't reach it (it is down, or a firewall is between)"
        )


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
class NetworkPath:
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
class FleetCheck:
    """What a check found; `problems` in words, worst first: without any the fleet can be used.

    `remarks`: what a reader should know of a fleet that can be used, a sentence each.
    """

    hosts: tuple[FleetHost, ...]
    states: Mapping[str, HostState] = field(default_factory=dict)
    disks: Mapping[str, DiskState] = field(default_factory=dict)
    links: tuple[NetworkPath, ...] = ()
    problems: tuple[str, ...] = ()
    seconds: float = 0.0
    remarks: tuple[str, ...] = ()
