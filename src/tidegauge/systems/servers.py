"""What deployments share: their processes (alive, last lines of a log, end, ports), or that there are none."""

from __future__ import annotations

import contextlib
import signal
import socket
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tidegauge.agent.api import Host, ProcessSpec
from tidegauge.errors import RunFailedError, StartFailedError, TidegaugeError
from tidegauge.systems.api import Deployment, Node, node_of
from tidegauge.systems.logs import Cause, find_cause
from tidegauge.systems.metrics import Endpoint

LOG_END_BYTES = 1 << 20


@dataclass(frozen=True)
class Servers(Deployment):
    """A `Deployment` of processes that were started here, as far as it is the same for every system.

    Attributes:
        ports: what the host gave for them; returned to it when they have ended.
        started: by process name, what was started, to start it again.
        down: names of processes that have ended on purpose, or are about to.
    """

    title: str
    host: Host
    connection: Mapping[str, str]
    processes: tuple[str, ...]
    jvm_flags: tuple[str, ...]
    ports: tuple[int, ...] = field(default=(), kw_only=True)
    metrics_endpoints: tuple[Endpoint, ...] = field(default=(), kw_only=True)
    nodes: tuple[Node, ...] = field(default=(), kw_only=True)
    started: dict[str, ProcessSpec] = field(default_factory=dict, kw_only=True, repr=False)
    down: set[str] = field(default_factory=set, kw_only=True)

    @contextlib.contextmanager
    def starting(self) -> Iterator[None]:
        """Stops what was started if the block in which it is started fails."""
        try:
            yield
        except BaseException:
            self.stop()
            raise

    def start_process(self, spec: ProcessSpec) -> None:
        """Start one process of the deployment for the first time. Raises `StartFailedError`."""
        self.started[spec.name] = spec
        self.host.start(spec)

    @property
    def _started_processes(self) -> list[str]:
        """The `processes` that were started so far."""
        return [name for name in self.processes if name in self.started]

    def set_down(self, number: int) -> None:
        """See `Deployment.set_down`."""
        self.down.update(node_of(self.nodes, number).processes)

    def kill_node(self, number: int) -> None:
        """See `Deployment.kill_node`."""
        self.set_down(number)
        names = node_of(self.nodes, number).processes
        for name in names:
            # One may have ended by itself.
            with contextlib.suppress(RunFailedError):
                self.host.signal(name, signal.SIGKILL)
        self._end_processes(names)

    def stop_node(self, number: int) -> None:
        """See `Deployment.stop_node`."""
        self.set_down(number)
        processes_of_node = node_of(self.nodes, number).processes
        for stage in self.stop_order:
            self._end_processes([name for name in stage if name in processes_of_node])

    def start_node(self, number: int) -> None:
        """See `Deployment.start_node`."""
        for name in node_of(self.nodes, number).processes:
            if not self.host.status(name).running:
                # What a process that was killed has left behind would keep its ports.
                self.host.stop(name)
                self.host.start(self.started[name])
            self.down.discard(name)

    def check_alive(self) -> None:
        """See `Deployment.check_alive`."""
        for name in self._started_processes:
            status = self.host.status(name)
            # Asked in this order, so that a node that is started again meanwhile is no failure.
            if status.running or name in self.down or self.host.status(name).running:
                continue
            program, cause = f"{self.title} ({name})", self.cause_in(self.log_end(name))
            raise ended_error(program, status.exit_code, cause, self.log_path(name))

    def last_words(self) -> str:
        """See `Deployment.last_words`."""
        causes = [cause for name in self._started_processes if (cause := self.cause_in(self.log_end(name)))]
        return str(causes[0]) if causes else ""

    def log_path(self, name: str) -> Path:
        """The path of the log of a process that was started."""
        return Path(self.started[name].log_path)

    def log_end(self, name: str) -> str:
        """The end of a process's log; "" if there is none."""
        return self.host.read_end(self.log_path(name), LOG_END_BYTES)

    def cause_in(self, log: str) -> Cause | None:
        """The likeliest cause of a failure in a log; None if no line looks like one."""
        return find_cause(log)

    @property
    def stop_order(self) -> tuple[tuple[str, ...], ...]:
        """Which processes to end, stage after stage; those of a stage end at the same time.

        Where a system does not say otherwise, all nodes at once, since one by one they wait for a quorum that is gone;
        then what belongs to none and serves them all, such as a ZooKeeper that they sign off from.
        """
        of_nodes = tuple(name for node in self.nodes for name in node.processes)
        return (of_nodes, tuple(name for name in self.processes if name not in of_nodes))

    def stop(self) -> None:
        """See `Deployment.stop`."""
        for stage in self.stop_order:
            self._end_processes(stage)
        with contextlib.suppress(TidegaugeError, OSError):
            self.host.release_ports(self.ports)

    def _end_processes(self, names: Sequence[str]) -> None:
        """End processes at the same time and wait for them."""
        with ThreadPoolExecutor(max_workers=max(1, len(names))) as pool:
            list(pool.map(self._stop_if_possible, names))

    def _stop_if_possible(self, name: str) -> None:
        # An agent that is gone has ended its processes itself.
        with contextlib.suppress(TidegaugeError, OSError):
            self.host.stop(name)


@dataclass(frozen=True)
class Serverless(Deployment):
    """A `Deployment` of which no process was started here: others run it, or there is nothing to run.

    `metrics_endpoints` are those that the user named, of servers and their hosts.
    """

    connection: Mapping[str, str]
    metrics_endpoints: tuple[Endpoint, ...] = field(default=(), kw_only=True)
    processes = jvm_flags = nodes = ()


def ended_error(program: str, exit_code: int | None, cause: Cause | None, log_path: Path) -> StartFailedError:
    """The message for a server that ended by itself. Pure."""
    ending = (
        f"was killed by signal {-exit_code}"
        if exit_code is not None and exit_code < 0
        else f"ended with code {exit_code}"
    )
    if cause is None:
        return StartFailedError(
            f"{program} {ending}; its log does not say why.", "Look at the end of the log.", log_path
        )
    return StartFailedError(f"{program} {ending}: {cause.summary} {cause.line}".rstrip(), cause.hint, log_path)


def is_listening(address: str, port: int) -> bool:
    """Whether somebody takes connections there."""
    try:
        socket.create_connection((address, port), timeout=1.0).close()
    except OSError:
        return False
    return True
