"""The controller's side of agents on other hosts, and many hosts as one."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from tidegauge.agent.api import Host, ProcessSpec, ProcessStatus, ServersSeen
from tidegauge.agent.authority import Authority
from tidegauge.agent.client import LEASE_S, AgentHost
from tidegauge.agent.link import Link
from tidegauge.agent.listening import AgentStarter, Listening, link_to_agent
from tidegauge.attestation.data_files import Copy, Message
from tidegauge.durability import SyncCall, WatchedSyncs
from tidegauge.errors import RunFailedError, StartFailedError
from tidegauge.fleet.api import Launcher
from tidegauge.fleet.ray_node import SERVER_PORTS
from tidegauge.fleet.rigs import Result, RigHost, RigOfHosts, do_at_once
from tidegauge.hosts.fsync import Calm, slowest_disk
from tidegauge.hosts.tracefs import NoTraceError
from tidegauge.model.host import FleetHost, FreeSpace
from tidegauge.model.use import OtherHostUse, Sample, of_host
from tidegauge.plain import grouped

_START_S_MAX = 90.0
_CONNECT_S_MAX = 10.0
_HELLO_S_MAX = 60.0
_UNHEARD_S_MAX = 10.0
_CLOCK_ASKS = 20
_PORT_ROUNDS = 10
_LOG_BYTES_MAX = 4 << 20
"""Of the end of a log, brought to the run's directory when its process has ended."""


class HostLostError(RunFailedError):
    """The agent on a host can't be reached, or did not answer in time. The message has the host's address."""


class RemoteHost(AgentHost):
    """`Host` of an agent on another host. Once it is lost, every call says so, with the host's address."""

    def __init__(
        self, host: FleetHost, listening: Listening, link: Link, lease_s: float, say: Callable[[str], None]
    ) -> None:
        self.host = host
        self.interface = listening.interface
        self._log = listening.log
        self._lease_s = lease_s
        self._say = say
        self._started: dict[str, None] = {}
        """Names of what runs there, as far as is known."""
        super().__init__(host.address, link, lease_s, _UNHEARD_S_MAX)

    def close(self) -> list[str]:
        """End all its processes and the agent. Never raises. Returns what could not be removed there."""
        if self._closing.is_set():
            return []
        self._closing.set()
        try:
            notes = self._shut_down()
        except RunFailedError as error:
            notes = [error.message]
        self._link.close()
        return [f"{self.name}: {note}" for note in notes]

    def hold_ports(self, ports: Sequence[int]) -> list[int]:
        """Take these ports for servers there; returns those that somebody has."""
        return [int(port) for port in self._call("hold_ports", ports=ports)]

    def lost(self) -> None:
        """Say so at once: what waits for other hosts' servers meanwhile may take long."""
        if not self._closing.is_set():
            self._say(self.gone_error().message)

    def start(self, spec: ProcessSpec) -> ProcessStatus:
        """See `Host.start`."""
        self._started[spec.name] = None
        return super().start(spec)

    def stop(self, name: str) -> ProcessStatus:
        """See `Host.stop`."""
        status = super().stop(name)
        self._started.pop(name, None)
        return status

    def gone_error(self) -> RunFailedError:
        """See `AgentHost.gone_error`."""
        if self._is_silent:
            leftovers = f" What it started may still run there: {', '.join(self._started)}." if self._started else ""
            return HostLostError(
                f"The host {self.name} is lost: its agent does not answer any more.{leftovers}",
                f"Check that host and its network. An agent that was stopped ends all that it started when it goes on, "
                f"and is ended with it {self._lease_s:.0f} s after it was stopped.",
            )
        return HostLostError(
            f"The host {self.name} is lost: its agent can't be reached any more.",
            f"Check that host and its network; what its agent says is in {self._log} there. Its servers end with "
            "the agent, or when its lease runs out.",
        )

    def silent_error(self, call: str, timeout_s: float) -> RunFailedError:
        """See `AgentHost.silent_error`."""
        return HostLostError(
            f"The agent on {self.name} did not answer '{call}' within {timeout_s:.0f} s.",
            "It may be stopped, or wait for a disk that does not answer. Its processes end when its lease runs out.",
        )


@contextlib.contextmanager
def agents_on(
    hosts: Sequence[FleetHost],
    launcher: Launcher,
    say: Callable[[str], None],
    lease_s: float = LEASE_S,
    authority: Authority | None = None,
) -> Iterator[list[RemoteHost]]:
    """An agent on each host, in this order; all end with the block.

    `authority`: the run's, if it certifies others too. `say`: told that a host is lost, at once, and what could not be
    removed.

    Raises `StartFailedError` with the host's address if one can't be started.
    """
    authority = authority or Authority()
    opened: list[RemoteHost] = []
    with ThreadPoolExecutor(max(1, len(hosts))) as pool:
        try:
            starting = [pool.submit(_start_agent, host, launcher, authority, lease_s, say) for host in hosts]
            for agent in starting:
                # All are waited for, so that none is left behind because another one failed.
                with contextlib.suppress(RunFailedError):
                    opened.append(agent.result())
            for agent in starting:
                agent.result()
            yield opened
        finally:
            for notes in pool.map(RemoteHost.close, opened):
                for note in notes:
                    say(note)


def _start_agent(
    host: FleetHost, launcher: Launcher, authority: Authority, lease_s: float, say: Callable[[str], None]
) -> RemoteHost:
    starter = launcher.start(host, AgentStarter)
    try:
        request = starter.call("request", timeout_s=_START_S_MAX)
        certificate = authority.sign(request, host.address)
        listening = starter.call(
            "start", certificate, authority.certificate_pem, lease_s, host.address, timeout_s=_START_S_MAX
        )
        link = link_to_agent(host.address, listening.port, authority.controller_context(), _CONNECT_S_MAX)
    except OSError as error:
        raise StartFailedError(
            f"The agent on {host.address} can't be reached: {error}.",
            "Let through the ports that `tidegauge fleet join` printed there.",
        ) from error
    finally:
        starter.end()
    agent = RemoteHost(host, listening, link, lease_s, say)
    try:
        agent._call("hello", timeout_s=_HELLO_S_MAX)
    except BaseException:
        agent.close()
        raise
    return agent


@dataclass(frozen=True)
class _Started:
    """A process on another host."""

    link: str
    host: RemoteHost
    spec: ProcessSpec


class ManyHosts:
    """`Host` of several: the controller's own, and one for each link, on which the processes of that link run.

    Files and directories are made on all hosts of servers, since a system does not say which node reads what, and here
    those of the run's own directory; those of `loads` have load generators only. What is used on other hosts is added
    to the controller's looks as it comes: their clocks are others.
    """

    def __init__(
        self,
        own_host: AgentHost,
        own_address: str,
        servers: Mapping[str, RemoteHost],
        loads: Mapping[str, RemoteHost],
        *,
        directory: Path,
        spared_ports: str,
        load_clocks_off_ns: Callable[[], float] = lambda: 0.0,
    ) -> None:
        """`directory`: of the run, here. `spared_ports`: see `fleet.rigs.RigOfHosts`.

        `load_clocks_off_ns`: by how much instants that load generators name may be wrong by this host's clock.
        """
        self.name = own_host.name
        self.rig = RigOfHosts(
            {link: RigHost(host.host.address, host.rig) for link, host in servers.items()},
            [RigHost(own_address, own_host.rig), *(RigHost(host.host.address, host.rig) for host in loads.values())],
            lambda process: self._started(process).link,
            spared_ports,
        )
        self._own = own_host
        self._directory = directory
        self._load_clocks_off_ns = load_clocks_off_ns
        self._by_link = {**servers, **loads}
        # Nodes may share one.
        self._samples_seen = dict.fromkeys(self._by_link.values(), -1)
        """By host, the number of the last one; -1 before it was asked."""
        self._servers = list(dict.fromkeys(servers.values()))
        self._of_process: dict[str, _Started] = {}
        self._of_path: dict[str, RemoteHost] = {}
        self._brought: set[Path] = set()
        """Logs whose ends were."""
        self._looking = threading.Lock()

    def _hosts_with(self, path: Path) -> list[Host]:
        """The hosts that have a path."""
        return [*([self._own] if path.is_relative_to(self._directory) else []), *self._servers]

    def _host_of(self, process: str) -> Host:
        return self._of_process[process].host if process in self._of_process else self._own

    def _started(self, process: str) -> _Started:
        if process not in self._of_process:
            raise RunFailedError(f"{process} was never started on another host.")
        return self._of_process[process]

    def start(self, spec: ProcessSpec) -> ProcessStatus:
        """See `Host.start`: on the host of the link that it names."""
        link = spec.network_node
        host = self._by_link.get(link)
        if host is None:
            self._of_process.pop(spec.name, None)
            return self._own.start(spec)
        spec = replace(spec, network_node="")
        self._of_process[spec.name] = _Started(link, host, spec)
        self._of_path |= {path: host for path in (spec.log_path, spec.gc_log_path) if path}
        return host.start(spec)

    def status(self, name: str) -> ProcessStatus:
        """See `Host.status`."""
        return self._host_of(name).status(name)

    def stop(self, name: str) -> ProcessStatus:
        """See `Host.stop`. The end of its log is brought here."""
        status = self._host_of(name).stop(name)
        if name in self._of_process:
            started = self._of_process[name]
            for log in (Path(path) for path in (started.spec.log_path, started.spec.gc_log_path) if path):
                # What is here already without having been brought is the same file, which both see.
                if log in self._brought or not log.exists():
                    self._brought.add(log)
                    # An empty one, too: a process that said nothing has a log all the same.
                    self._own.write(log, started.host.read_end(log, _LOG_BYTES_MAX))
        return status

    def signal(self, name: str, signal_number: int) -> None:
        """See `Host.signal`."""
        self._host_of(name).signal(name, signal_number)

    def free_ports(self, count: int) -> list[int]:
        """See `Host.free_ports`: free on all hosts, of those that a firewall between them lets through."""
        ports = self._own.free_ports(count, SERVER_PORTS)
        asked = ports
        for _ in range(_PORT_ROUNDS):
            refused = {port for host in self._servers for port in host.hold_ports(asked)}
            if not refused:
                return ports
            self.release_ports(sorted(refused))
            asked = self._own.free_ports(len(refused), SERVER_PORTS)
            ports = [port for port in ports if port not in refused] + asked
        self.release_ports(ports)
        raise StartFailedError(
            f"No {count} TCP ports from {SERVER_PORTS[0]} to {SERVER_PORTS[-1]} are free on all hosts."
        )

    def release_ports(self, ports: Sequence[int]) -> None:
        """See `Host.release_ports`."""
        for host in (self._own, *self._servers):
            host.release_ports(ports)

    def track_directory(self, path: Path) -> None:
        """See `Host.track_directory`."""
        for host in self._hosts_with(path):
            host.track_directory(path)

    def remove_directory(self, path: Path) -> None:
        """See `Host.remove_directory`."""
        for host in self._hosts_with(path):
            host.remove_directory(path)

    def write(self, path: Path, text: str, mode: int | None = None) -> Path:
        """See `Host.write`."""
        for host in self._hosts_with(path):
            host.write(path, text, mode)
        return path

    def make_directories(self, *paths: Path, mode: int | None = None) -> None:
        """See `Host.make_directories`."""
        if local_paths := [path for path in paths if path.is_relative_to(self._directory)]:
            self._own.make_directories(*local_paths, mode=mode)
        for host in self._servers:
            host.make_directories(*paths, mode=mode)

    def read_end(self, path: Path, bytes_max: int) -> str:
        """See `Host.read_end`: of a server's log, on the server's host."""
        return self._of_path.get(str(path), self._own).read_end(path, bytes_max)

    def drop_page_cache(self, directories: Sequence[Path]) -> str:
        """See `hosts.memory.drop_page_cache`: on all hosts of servers at once; done if it is on all of them."""
        return self._problem_of_any(lambda host: host.drop_page_cache(directories))

    def write_back(self, directories: Sequence[Path]) -> str:
        """See `Host.write_back`: on all hosts of servers at once."""
        return self._problem_of_any(lambda host: host.write_back(directories))

    def _problem_of_any(self, work: Callable[[RemoteHost], str]) -> str:
        """What the first host of servers says that could not do it, with its name; "" if all could."""
        problems = zip(self._servers, do_at_once(work, self._servers), strict=True)
        return next((f"on {host.name}: {why}" for host, why in problems if why), "")

    def free_space(self, places: Sequence[Path]) -> list[FreeSpace]:
        """See `Host.free_space`: of all hosts of servers."""
        spaces_of_hosts = [(host, _ask_host(host, lambda host: host.free_space(places))) for host in self._servers]
        return [replace(space, host=host.host.address) for host, spaces in spaces_of_hosts for space in spaces]

    def calm_disk(self, directory: Path) -> Calm:
        """See `Host.calm_disk`: on all hosts of servers at once, of the one whose disk holds back the others."""
        return slowest_disk(
            do_at_once(lambda host: _ask_host(host, lambda host: host.calm_disk(directory)), self._servers)
        )

    def find_copies(
        self, directories: Sequence[Path], trial_id: int, wanted: Collection[Message]
    ) -> Mapping[Message, tuple[Copy, ...]]:
        """See `Host.find_copies`: on all hosts of servers at once."""
        copies_by_message: dict[Message, tuple[Copy, ...]] = {}
        for copies in do_at_once(lambda host: host.find_copies(directories, trial_id, wanted), self._servers):
            for message, places in copies.items():
                copies_by_message[message] = (*copies_by_message.get(message, ()), *places)
        return copies_by_message

    def list_data_files(self, directories: Sequence[Path]) -> list[str]:
        """See `Host.list_data_files`: on all hosts of servers at once, with the host's address before each."""
        lists = do_at_once(
            lambda host: [f"{host.host.address}:{file}" for file in host.list_data_files(directories)], self._servers
        )
        return [file for files in lists for file in files]

    @contextlib.contextmanager
    def watch_syncs(self, processes: Sequence[str]) -> Iterator[Callable[[], WatchedSyncs]]:
        """See `Host.watch_syncs`: calls with the least time that they can have lasted by this host's clock.

        A call that may have lain between two of this host's instants does so then.
        """
        by_host = grouped((self._started(name).host, name) for name in processes)
        with contextlib.ExitStack() as ends:
            seen = [
                (host, _ahead_ns(host), ends.enter_context(host.watch_syncs(names))) for host, names in by_host.items()
            ]
            yield lambda: self._seen_on_all(seen)

    def _seen_on_all(
        self, seen: Sequence[tuple[RemoteHost, tuple[int, int], Callable[[], WatchedSyncs]]]
    ) -> WatchedSyncs:
        """What was seen on hosts, each with the bounds of its clock when that began and what ends it."""
        shortest: list[SyncCall] = []
        longest: list[SyncCall] = []
        lost = 0
        try:
            off_ns = round(self._load_clocks_off_ns())
        except RunFailedError as error:
            raise NoTraceError(f"the clocks of load hosts are not known: {error.message}") from error
        for host, begun, finish in seen:
            watch = finish()
            # Between the two, clocks have drifted evenly.
            ended = _ahead_ns(host)
            low_ns, high_ns = min(begun[0], ended[0]) - off_ns, max(begun[1], ended[1]) + off_ns
            shortest += [_shift_call(call, low_ns, high_ns) for call in watch.calls]
            longest += [_shift_call(call, high_ns, low_ns) for call in watch.calls]
            lost += watch.lost
        return WatchedSyncs(tuple(shortest), lost, tuple(longest))

    def agent_cpu_s(self) -> float:
        """See `Host.agent_cpu_s`: of the agent on this host, which load generators share their CPUs with."""
        return self._own.agent_cpu_s()

    def follow_servers(self, clients: Sequence[str]) -> ServersSeen:
        """See `Host.follow_servers`: each on its host."""
        by_host = grouped((self._host_of(name), name) for name in clients) or {self._own: []}
        return max((host.follow_servers(names) for host, names in by_host.items()), key=list(ServersSeen).index)

    def samples(self, after: int) -> list[Sample]:
        """See `Host.samples`. Whatever came from the other hosts since is in the last one."""
        with self._looking:
            own_samples = self._own.samples(after)
            news = {host: self._new_samples(host, seen) for host, seen in self._samples_seen.items()}
            if not own_samples:
                return own_samples
            last = own_samples[-1]
            for host, samples in news.items():
                self._samples_seen[host] = max([self._samples_seen[host], *(sample.number for sample in samples)])
                last = _with_others(last, host.name, samples)
            return [*own_samples[:-1], last]

    def _new_samples(self, host: RemoteHost, seen: int) -> list[Sample]:
        samples = host.samples(max(0, seen))
        if seen < 0:
            # What was kept from before is no part of this.
            self._samples_seen[host] = max([0, *(sample.number for sample in samples)])
            return []
        return samples


def _ask_host(host: RemoteHost, work: Callable[[RemoteHost], Result]) -> Result:
    """What a host says; its disks have the same paths as everybody's, so what it raises says whose they are."""
    try:
        return work(host)
    except HostLostError:
        raise
    except RunFailedError as error:
        raise RunFailedError(f"On {host.name}: {error.message}", error.hint) from error


def _ahead_ns(host: AgentHost) -> tuple[int, int]:
    """Bounds of how far a host's clock is ahead of this one's, from the quickest of some answers."""
    bounds: list[tuple[int, int]] = []
    for _ in range(_CLOCK_ASKS):
        asked_ns = time.monotonic_ns()
        there_ns = host.clock()
        bounds.append((there_ns - time.monotonic_ns(), there_ns - asked_ns))
    return min(bounds, key=lambda bound: bound[1] - bound[0])


def _shift_call(call: SyncCall, begin_ns: int, end_ns: int) -> SyncCall:
    """Put a call's begin and end on a clock that is behind by so much."""
    return replace(call, entered_mono_ns=call.entered_mono_ns - begin_ns, left_mono_ns=call.left_mono_ns - end_ns)


def _with_others(sample: Sample, host: str, others: Sequence[Sample]) -> Sample:
    devices = [
        replace(device, number=of_host(host, device.number), name=f"{device.name} of {host}", host=host)
        for other in others
        for device in other.devices
    ]
    processes = [replace(process, host=host) for other in others for process in other.processes]
    programs = [replace(program, host=host) for other in others for program in other.programs]
    return replace(
        sample,
        processes=(*sample.processes, *processes),
        devices=(*sample.devices, *devices),
        programs=(*sample.programs, *programs),
        others=(*sample.others, *(OtherHostUse(host, other.length_s, other.host) for other in others)),
    )
