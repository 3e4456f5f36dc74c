"""What a machine can do at most, as `doctor` measured it: what throughput results are compared with. Plain data.

Every ceiling is what plain system calls reached here, not what a data sheet promises; a system may beat one where it
asks the hardware in another way (more files at once, larger writes, buffers on huge pages).

What one load generator makes and checks is found by a short calibration against the null system. There messages are
made, received and checked as in any trial, and nothing else takes part: what a load generator does with a client of a
real system costs more, so this is the most that can be asked of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from tidegauge.model.message_sizes import HEADER_BYTES
from tidegauge.model.workload import Workload
from tidegauge.numbers import count, short, size

SYNC_SMALL_BYTES = 4096
"""One message or a few: what a system that syncs each of them appends before it does."""
SYNC_BATCH_BYTES = 128 * 1024
"""A batch of a producer, as the workloads of this project use them."""
SUSTAINED_S = 20.0
"""How long writing goes on beyond what memory takes, and so from which length on a window is compared with it."""
LOAD_AVERAGE_MAX = 0.5
"""Above it other work took so much that ceilings measured then are doubtful."""
_CPU_WAIT_SHARE_MAX = 0.20


@dataclass(frozen=True)
class SyncCeiling:
    """Appends to a file, each followed by a call that makes it durable.

    Attributes:
        call: "fsync" or "fdatasync".
        write_bytes: of each append.
        files: how many files were appended to at the same time, each by a thread of its own.
        calls: made in all; a percentile beyond what they support is None (as in `model.trial.Latency`).
        per_s: calls that all threads together completed a second, the appends' own time included.
        p50_ms, p95_ms, p99_ms, max_ms: of the call alone, without the append before it.
    """

    call: str
    write_bytes: int
    files: int
    calls: int
    per_s: float
    p50_ms: float
    p95_ms: float | None
    p99_ms: float | None
    max_ms: float


@dataclass(frozen=True)
class DiskCeiling:
    """One disk, measured through a file in one directory on it.

    Attributes:
        path: the directory measured in.
        device: the kernel's number of the file system's device, "254:0": directories of one disk share it.
        name: what the disk is, for readers: "ext4 on vda".
        direct: whether the file system takes direct I/O; False: the page cache was between, and reads are not known.
        write_bytes_per_s, read_bytes_per_s: sequential, `block_bytes` at a time, `depth` requests in flight. None:
            could not be measured.
        syncs: of each call, size and number of files that was tried.
        doubts: what makes these figures doubtful, one sentence each.
        sustained_write_bytes_per_s: through the page cache, for `SUSTAINED_S` after it had taken all that the kernel
            lets wait; None: not measured, with `sustained_problem` saying why if that was wanted.
    """

    path: str
    device: str
    name: str
    direct: bool
    write_bytes_per_s: float | None
    read_bytes_per_s: float | None
    block_bytes: int
    depth: int
    syncs: tuple[SyncCeiling, ...] = ()
    doubts: tuple[str, ...] = ()
    sustained_write_bytes_per_s: float | None = None
    sustained_problem: str = ""

    def writes_per_s_of(self, seconds: float) -> float | None:
        """Bytes a second that can be written for so long: the sustained ceiling for windows as long, where known."""
        if seconds >= SUSTAINED_S and self.sustained_write_bytes_per_s is not None:
            return self.sustained_write_bytes_per_s
        return self.write_bytes_per_s

    @property
    def syncs_per_s(self) -> float | None:
        """The most syncs a second of small appends by any way that was tried; None if none was measured."""
        return max((sync.per_s for sync in self.syncs if sync.write_bytes == SYNC_SMALL_BYTES), default=None)

    def sync(self, call: str, write_bytes: int, files: int = 1) -> SyncCeiling | None:
        """What was measured in one way; None if it was not."""
        way = (call, write_bytes, files)
        return next((sync for sync in self.syncs if (sync.call, sync.write_bytes, sync.files) == way), None)


@dataclass(frozen=True)
class LoopbackCeiling:
    """TCP over the loopback interface between two threads.

    Attributes:
        bytes_per_s: one direction, one connection.
        round_trip_p50_us, round_trip_p99_us: one byte there and back.
        many_bytes_per_s: `many` connections at the same time; None where the machine has CPUs for one only.
    """

    bytes_per_s: float
    round_trip_p50_us: float
    round_trip_p99_us: float | None
    many: int = 1
    many_bytes_per_s: float | None = None

    def bytes_per_s_over(self, connections: int) -> float:
        """Bytes a second of so many connections: so many times one's, and no more than many were seen to carry."""
        if connections <= 1 or self.many_bytes_per_s is None:
            return self.bytes_per_s
        return max(self.bytes_per_s, min(connections * self.bytes_per_s, self.many_bytes_per_s))

    @property
    def most_bytes_per_s(self) -> float:
        """The most by any number of connections that was tried."""
        return max(self.bytes_per_s, self.many_bytes_per_s or 0.0)


@dataclass(frozen=True)
class MemoryCeiling:
    """Copying memory much larger than the caches: bytes copied a second (each is read once and written once)."""

    copy_bytes_per_s: float
    threads: int


@dataclass(frozen=True)
class Ceilings:
    """Everything that was measured of one machine at one time.

    Attributes:
        measured_at: UTC, ISO 8601, when it began.
        machine: which machine, boot included, so that another's (or a resized one's) are never taken for this one's.
        disks: one for each device.
        load_average: of the last minute when it began: other work takes its part of every ceiling.
    """

    measured_at: str
    machine: str
    disks: tuple[DiskCeiling, ...] = ()
    loopback: LoopbackCeiling | None = None
    memory: MemoryCeiling | None = None
    load_average: float = 0.0

    @property
    def doubtful(self) -> bool:
        """Whether other work took so much that they may be too low."""
        return self.load_average > LOAD_AVERAGE_MAX

    def disk(self, device: str) -> DiskCeiling | None:
        """The ceiling of one device, by its number ("254:0"); None if it was not measured."""
        return next((disk for disk in self.disks if disk.device == device), None)


@dataclass(frozen=True)
class RunCeilings:
    """The ceilings that a run's results are compared with, kept in its ceilings.json.

    Attributes:
        age_s: how old they were when the run began; 0 if they were measured for it.
        reused: whether an earlier measurement was fresh enough to be taken.
        data_devices: device of each directory chosen for nodes' data (the same one twice for two directories of one
            disk), of a fleet all of each host of servers, in their order; () if others run the servers.
        journal_devices: the same for journals kept apart; () if they are not.
    """

    ceilings: Ceilings
    age_s: float = 0.0
    reused: bool = False
    data_devices: tuple[str, ...] = ()
    journal_devices: tuple[str, ...] = ()


def size_class(message_bytes: int) -> int:
    """The size that messages of this size are measured at, a power of two, which costs at least as much."""
    return 1 << (max(HEADER_BYTES, message_bytes) - 1).bit_length()


@dataclass(frozen=True)
class Pace:
    """What a load generator reached with so many clients (producers, each with a consumer of its own).

    `msgs_per_s` were sent, received and checked; `cpus` is what its process used on average, `cpu_wait_share` the share
    of the time for which a thread that sends was ready to run and had no CPU.
    """

    clients: int
    msgs_per_s: float
    cpus: float
    cpu_wait_share: float = 0.0


@dataclass(frozen=True)
class Calibration:
    """One load generator on one host with messages of one size.

    Attributes:
        measured_at: UTC, ISO 8601, when it began.
        machine: which machine, boot included, so that another's (or a resized one's) is never taken for this one's.
        code: names the Java runtime and the load generator's jars.
        message_bytes: see `size_class`.
        one: with one producer and one consumer.
        many: with as many of each as half of the CPUs; None where that is one.
        cpus: that this host has for it.
        load_average: of the last minute before: other work takes its part.
    """

    measured_at: str
    machine: str
    code: str
    message_bytes: int
    one: Pace
    many: Pace | None
    cpus: int
    load_average: float = 0.0

    @property
    def doubtful(self) -> bool:
        """Whether other work took so much that it may be too low."""
        return self.load_average > LOAD_AVERAGE_MAX or self.starved

    @property
    def starved(self) -> bool:
        """Whether it had too little CPU. On a host with a single one it always waits, also if nothing else runs."""
        return self.cpus > 1 and self.one.cpu_wait_share > _CPU_WAIT_SHARE_MAX

    def pace_of_clients(self, clients: int) -> Pace:
        """The pace with so many clients: as many times more as there are, and no more than was reached with many."""
        most = self.one if self.many is None else max(self.one, self.many, key=lambda pace: pace.msgs_per_s)
        if clients * self.one.msgs_per_s >= most.msgs_per_s:
            return most
        return Pace(clients, clients * self.one.msgs_per_s, clients * self.one.cpus)

    def rate_max(self, workload: Workload, workers: int, shares_host: bool = True) -> float:
        """The rate (msg/s of a whole trial) at which one of so many load generators would have no time left.

        The one with most producers decides. Half of the work is to send a message, half to receive it, by each
        subscription. `shares_host`: all of them are on this host, and have its CPUs together.
        """
        producers = max(1, workload.topics * workload.producers)
        readers = workload.topics * workload.consumers if workload.subscriptions else producers
        pace = self.pace_of_clients(max(1, ceil(min(producers, readers) / workers)))
        shares = producers / ceil(producers / workers)
        if shares_host:
            shares = min(shares, max(1.0, self.cpus / pace.cpus))
        return shares * pace.msgs_per_s * 2 / (1 + workload.subscriptions)

    def sentence(self) -> str:
        """In words: "one load generator makes and checks 620,000 msg/s of 1 KiB (1.60 CPUs)"."""
        rate = f"one load generator makes and checks {count(self.one.msgs_per_s)} msg/s of {size(self.message_bytes)}"
        used = f"({short(self.one.cpus)} CPUs)"
        if self.many is None:
            return f"{rate} {used}"
        many = f"{count(self.many.msgs_per_s)} with {self.many.clients} of each ({short(self.many.cpus)} CPUs)"
        return f"{rate} with 1 producer and 1 consumer {used}, {many}"
