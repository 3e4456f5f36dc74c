"""Where processes run. Everything here is plain data, so that it can travel to an agent on another host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tidegauge.fleet.rig_api import Rig
from tidegauge.model.use import Sample


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
        gc_log_path: where a JVM that was told to (see `systems.jvm`) logs its collector's pauses; "" = nowhere.
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

    `read_bytes` is what it and its children made the kernel fetch from block devices, None if the kernel doesn't tell.
    """

    name: str
    pid: int
    running: bool
    exit_code: int | None
    cpu_s: float
    resident_bytes: int
    read_bytes: int | None = None


class Host(Protocol):
    """One host's agent. Calls raise `RunFailedError` if the agent is gone."""

    name: str

    @property
    def rig(self) -> Rig:
        """Disks and networks of nodes' own, and what can be done to them."""
        ...

    def start(self, spec: ProcessSpec) -> ProcessStatus:
        """Start a process. Raises `StartFailedError` if the executable can't be run."""
        ...

    def status(self, name: str) -> ProcessStatus:
        """State and use of a process that this host started (of its whole session, children included)."""
        ...

    def stop(self, name: str) -> ProcessStatus:
        """SIGTERM, wait `stop_grace_s`, SIGKILL; its children too. Returns when all are gone. Twice is fine."""
        ...

    def signal(self, name: str, signal_number: int) -> None:
        """Send a signal to the process itself (SIGSTOP, SIGCONT, SIGKILL)."""
        ...

    def free_ports(self, count: int) -> list[int]:
        """TCP ports free on loopback at this moment, none that this or another live agent was given before."""
        ...

    def release_ports(self, ports: Sequence[int]) -> None:
        """Give back ports that nobody listens on any more. Those that were never given are no error."""
        ...

    def track_directory(self, path: Path) -> None:
        """A directory to remove when the lease ends without us having removed it (crash clean-up)."""
        ...

    def agent_cpu_s(self) -> float:
        """CPU seconds that the agent itself has used so far."""
        ...

    def samples(self, after: int) -> list[Sample]:
        """What was used, second by second, since the sample of that number (0 = all that are kept: two minutes).

        The agent looks once a second for as long as somebody asks.
        """
        ...
