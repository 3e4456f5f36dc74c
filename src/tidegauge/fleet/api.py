"""Where processes run, disks and networks of nodes' own with what is done to them, and what starts things on hosts.

Everything here is plain data, so that it can travel to an agent on another host. Most of the rig needs root:
`Rig.refusals` says what can't be done here, and why. The agent undoes everything when its lease ends; if it is killed
itself, the next start of any command does.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, Protocol

from tidegauge.attestation.data_files import Copy, Message
from tidegauge.durability import WatchedSyncs
from tidegauge.hosts.fsync import Calm
from tidegauge.model.host import DiskCheck, FileSystem, FleetHost, FreeSpace
from tidegauge.model.use import Sample

Ability = Literal[
    "ext4",
    "xfs",
    "fuse",
    "power_cut",
    "slow_disk",
    "hung_disk",
    "network",
    "partition",
    "packet_loss",
    "rate_limit",
    "memory",
]
"""What a host may be unable to do ("memory": to limit a process's). Kill, pause and resume can be done everywhere."""

CLIENTS = "clients"
"""In a network's links, stands for everything that runs in the host's own network: workers, tools."""


@dataclass(frozen=True)
class CutReport:
    """A power cut as it went. Times are nanoseconds of CLOCK_MONOTONIC, the worker's clock too.

    Attributes:
        asked_ns: the first process was sent SIGSTOP.
        frozen_ns: every thread of every named process was seen stopped: nothing was acknowledged from then on.
        cut_ns: the last disk was cut off.
        killed_ns: the last process was gone.
        mounted_ns: every disk was checked and mounted again.
        processes: how many processes were stopped, children included.
        disks: in the order in which they were named; those of libfuse are left out, since below them nothing was cut.
    """

    asked_ns: int
    frozen_ns: int
    cut_ns: int
    killed_ns: int
    mounted_ns: int
    processes: int
    disks: tuple[DiskCheck, ...]


class Rig(Protocol):
    """What one host's agent can do to nodes. Calls raise `RunFailedError` with the reason where something can't be."""

    def refusals(self) -> Mapping[Ability, str]:
        """What can't be done on this host, and why ("needs root"); empty if everything can."""

    # Disks

    def make_disk(self, place: Path, size_bytes: int, file_system: FileSystem = "ext4", node: str = "") -> None:
        """Mount a new, empty disk at `place`, which must not exist or be an empty directory.

        `node`: whose it is, by its link (see `systems.api.Seat`): where nodes are on hosts of their own, it is made on
        that node's. There may be one at the same place on several hosts, which are then removed together.

        Its image is a file beside it, with all its room reserved, read and written with direct I/O. That of "fuse",
        which needs no root, is a directory, for which room is only looked for: it can lose its power, but neither be
        slow nor hang.
        """

    def remove_disk(self, place: Path) -> None:
        """Unmount and remove a disk with its image and directory, after lifting its faults. Gone already is fine.

        Processes that use it must have ended.
        """

    def cut_power(self, processes: Sequence[str], places: Sequence[Path]) -> CutReport:
        """Cut the power of nodes: these processes with everything they started, and these disks, all at one moment.

        Every process is stopped, and every thread seen stopped, before the first disk is cut off. What was not synced
        is gone then. Afterwards the processes are gone, and the disks replayed, checked and mounted again: `Host.start`
        may start the same processes. A hung disk is thawed by it, a slow one stays slow. Processes that have ended
        already are fine. Raises `RunFailedError`, and cuts nothing, if a thread can't be stopped or a process that is
        not named has files of the disks open: what is reported to it as durable during a cut may be lost.
        """

    def throttle_disk(self, place: Path, bytes_per_s: int | None = None, ops_per_s: int | None = None) -> None:
        """Limit a disk, reads and writes each. None is no limit; both None lift it."""

    def hang_disk(self, place: Path) -> None:
        """Let every write to a disk wait until `unhang_disk`; reads of what is cached go on. Twice is fine.

        What was written before is made durable by it. Returns once that is so.
        """

    def unhang_disk(self, place: Path) -> None:
        """Let a hung disk go on. One that does not hang is fine."""

    # Processes

    def kill(self, processes: Sequence[str]) -> None:
        """SIGKILL these processes with everything they started, and wait until they are gone: a crash, no power cut."""

    def pause(self, processes: Sequence[str]) -> None:
        """Stop these processes with everything they started. Returns when every thread is seen stopped."""

    def resume(self, processes: Sequence[str]) -> None:
        """Let paused processes go on. Those that are not paused are fine."""

    # Networks

    def make_network(self, nodes: Sequence[str]) -> Mapping[str, str]:
        """Give each node a network namespace, linked by a switch with the others and the host. One network at a time.

        Returns the IPv4 address of each. Nodes reach each other and the host by these addresses, and nothing else. A
        server that is to be reached from outside its namespace must listen on its node's address, not on loopback.
        Processes join by `ProcessSpec.network_node`.
        """

    def remove_network(self) -> None:
        """Remove the network, if there is one. Processes in it must have ended."""

    def partition(self, sources: Collection[str], targets: Collection[str], both_ways: bool = True) -> None:
        """Let nothing pass from any of `sources` to any of `targets`, and back if `both_ways`. Adds to those there are.

        Both are names of nodes, or `CLIENTS`.
        """

    def heal(self) -> None:
        """Lift all partitions."""

    def lose_packets(self, node: str, share: float) -> None:
        """Drop this share (0 to 1) of the packets from and to a node, by chance; 0 lifts it."""

    def limit_rate(self, node: str, bytes_per_s: int | None) -> None:
        """Limit what a node sends, and what it receives, to this rate each; None lifts it."""

    def lift_all(self) -> None:
        """Undo every fault: hung, slow, paused, partitioned, lossy, limited. Disks and the network stay."""


@dataclass(frozen=True)
class ProcessSpec:
    """A process to start, in a session of its own.

    Attributes:
        name: unique in its fleet and fit for a file name: "kafka-1", "worker".
        argv: command and arguments. Never a secret: process lists are public.
        env: the whole environment (nothing is inherited).
        cwd: working directory; must exist.
        log_path: receives standard output and standard error, appended.
        stdin_text: written to standard input, which is then closed. Secrets go here.
        stop_grace_s: how long after SIGTERM before SIGKILL.
        timer_slack_ns: Linux timer slack of all its threads; 1 for a load generator, None leaves the default (50 us).
        memory_bytes_max: what it and its children may use together, page cache included; None = no limit.
        network_node: the node of the rig's network (`Rig.make_network`) in whose network namespace it runs; "" = the
            host's own.
        gc_log_path: where a JVM that was asked to (see `systems.jvm`) logs its collector's pauses; "" = nowhere.
    """

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str
    log_path: str
    stdin_text: str = ""
    stop_grace_s: float = 20.0
    timer_slack_ns: int | None = None
    memory_bytes_max: int | None = None
    network_node: str = ""
    gc_log_path: str = ""


@dataclass(frozen=True)
class ProcessStatus:
    """A process as its agent sees it. `exit_code` is None while it runs; negative is the signal that ended it.

    `read_bytes` is what it and its children made the kernel fetch from block devices, None if that is unknown.
    """

    name: str
    pid: int
    running: bool
    exit_code: int | None
    cpu_s: float
    resident_bytes: int
    read_bytes: int | None = None


class ServersSeen(StrEnum):
    """How much of the servers that others run can be seen from the host of those who talk to them, worst last."""

    ALL = "all"
    ELSEWHERE = "elsewhere"
    """Some run on other hosts."""
    HIDDEN = "hidden"
    """Some run on this host and can't be told from other programs."""


class Host(Protocol):
    """One host's agent. Calls raise `RunFailedError` if the agent is gone."""

    name: str

    @property
    def rig(self) -> Rig:
        """Disks and networks of nodes' own, and what can be done to them."""

    def start(self, spec: ProcessSpec) -> ProcessStatus:
        """Start a process. Raises `StartFailedError` if the executable can't be run."""

    def status(self, name: str) -> ProcessStatus:
        """State and use of a process that this host started (of its whole session, children included)."""

    def stop(self, name: str) -> ProcessStatus:
        """SIGTERM, wait `stop_grace_s`, SIGKILL; its children too. Returns when all are gone. Twice is fine."""

    def signal(self, name: str, signal_number: int) -> None:
        """Send a signal to the process itself (SIGSTOP, SIGCONT, SIGKILL)."""

    def free_ports(self, count: int) -> list[int]:
        """TCP ports free on loopback at this moment, none that this or another live agent was given before."""

    def release_ports(self, ports: Sequence[int]) -> None:
        """Give back ports that nobody listens on any more. Those that were never given are no error."""

    def track_directory(self, path: Path) -> None:
        """Have a directory removed when the lease ends without us having removed it (crash clean-up)."""

    def remove_directory(self, path: Path) -> None:
        """Remove a tracked directory with all it holds, as far as that goes. Never raises."""

    def write(self, path: Path, text: str, mode: int | None = None) -> Path:
        """Write a file on the host, in UTF-8, with the folders above it. Returns `path`.

        Durably: a node whose power is cut is to find its own configuration again. `mode`: its permissions, from the
        first byte on no wider than the owner's; None = the usual ones. Raises `StartFailedError` if it can't be.
        """

    def make_directories(self, *paths: Path, mode: int | None = None) -> None:
        """Make directories on the host, those that are there already are fine. Raises `StartFailedError`.

        `mode`: permissions of the new ones that are named; None = the usual ones.
        """

    def read_end(self, path: Path, bytes_max: int) -> str:
        """The last bytes of a file on the host, such as a log; "" if there is none."""

    def write_back(self, directories: Sequence[Path]) -> str:
        """Have all on disk that was written to these file systems; why that can't be done, "" if it is done."""

    def free_space(self, places: Sequence[Path]) -> Sequence[FreeSpace]:
        """What is free on the disks of these places now; of several hosts on each."""

    def calm_disk(self, directory: Path) -> Calm:
        """See `hosts.fsync.calm_disk`."""

    def find_copies(
        self, directories: Sequence[Path], trial_id: int, wanted: Collection[Message]
    ) -> Mapping[Message, tuple[Copy, ...]]:
        """See `attestation.data_files.find_copies`. It may take minutes."""

    def watch_syncs(self, processes: Sequence[str]) -> AbstractContextManager[Callable[[], WatchedSyncs]]:
        """Record in this block what processes that this host started make durable. Root only. One at a time.

        The block is given what ends the recording and returns what was seen; once only. Raises `NoTraceError` with the
        reason if that can't be done; so does the end if the recording is lost.
        """

    def agent_cpu_s(self) -> float:
        """CPU seconds that the agent itself has used so far."""

    def samples(self, after: int) -> list[Sample]:
        """What was used, second by second, since the sample of that number (0 = all that are kept: two minutes).

        The agent looks once a second for as long as somebody asks.
        """

    def follow_servers(self, clients: Sequence[str]) -> ServersSeen:
        """From now on samples have those whom these processes of the host talk to there: servers that others run.

        Returns how much of them can be seen. It ends with the looking.
        """


class Remote(Protocol):
    """An object that lives in a process of its own on a host."""

    def call(self, method: str, *arguments: object, timeout_s: float) -> Any:
        """Call a method and wait for its answer: plain data.

        Raises `RunFailedError`, which names host and method, if the host or the process is gone or does not answer in
        time, and what the method itself raised if that is a `TidegaugeError` or an `OSError`.
        """

    def end(self) -> None:
        """End its process. Never raises."""


class Launcher(Protocol):
    """The hosts of a fleet. All methods may be called from any thread."""

    def hosts(self) -> Sequence[FleetHost]:
        """Every host that is in the fleet, or was and is lost, by address."""

    def start(self, host: FleetHost, kind: Callable[[], object]) -> Remote:
        """Make an object of a class that the host's own installation has. Does not wait: the first call does."""

    def close(self) -> None:
        """End what was started. Never raises."""
