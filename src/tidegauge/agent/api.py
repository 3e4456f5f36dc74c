"""What a host does for a controller: it runs processes, and looks at what is used.

Everything here is plain data, so that it can travel to an agent on another host. The agent undoes everything when its
lease ends; if it is killed itself, the next start of any command does.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from tidegauge.attestation.data_files import Copy, Message
from tidegauge.durability import WatchedSyncs
from tidegauge.hosts.fsync import Calm
from tidegauge.model.host import FreeSpace
from tidegauge.model.rig import Rig
from tidegauge.model.use import Sample

AGENT_PORTS = range(7201, 7220)
"""Where agents listen, the first that is free: one for each run that uses the host. On UDP they answer for clocks."""


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

    def list_data_files(self, directories: Sequence[Path]) -> Sequence[str]:
        """See `attestation.data_files.list_data_files`; of several hosts each one's."""

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
