"""What one load generator of a host makes and checks, as a short calibration against the null system found it.

There messages are made, received and checked as in any trial, and nothing else takes part: what a load generator does
with a client of a real system costs more, so this is the most that can be asked of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from tidegauge.hosts.ceilings import LOAD_AVERAGE_MAX
from tidegauge.model.workload import HEADER_BYTES, Workload
from tidegauge.numbers import count, short, size

_CPU_WAIT_SHARE_MAX = 0.20


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

    def of(self, clients: int) -> Pace:
        """With so many: as many times more as there are, and no more than what was reached with many."""
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
        pace = self.of(max(1, ceil(min(producers, readers) / workers)))
        shares = producers / ceil(producers / workers)
        if shares_host:
            shares = min(shares, max(1.0, self.cpus / pace.cpus))
        return shares * pace.msgs_per_s * 2 / (1 + workload.subscriptions)

    def sentence(self) -> str:
        """For readers: "one load generator makes and checks 620,000 msg/s of 1 KiB (1.60 CPUs)"."""
        rate = f"one load generator makes and checks {count(self.one.msgs_per_s)} msg/s of {size(self.message_bytes)}"
        used = f"({short(self.one.cpus)} CPUs)"
        if self.many is None:
            return f"{rate} {used}"
        many = f"{count(self.many.msgs_per_s)} with {self.many.clients} of each ({short(self.many.cpus)} CPUs)"
        return f"{rate} with 1 producer and 1 consumer {used}, {many}"
