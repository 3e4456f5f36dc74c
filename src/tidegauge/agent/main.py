"""A host's agent: starts, follows and ends processes for a controller, and outlives it just long enough to clean up.

Runs as `python -m tidegauge.agent.main LEASE_S AGENT_ID` in a session of its own and speaks (see `link`) on the socket
that is its standard input; with an ADDRESS as well, on a TLS connection that the controller makes to it there (see
`listening`).
It ends everything it started when the controller asks for it, closes the link (or dies), or has not been heard for
LEASE_S seconds. One thread, asleep until something happens: it runs beside measurements.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidegauge.agent import children, link, registry
from tidegauge.agent.api import ProcessSpec, ProcessStatus
from tidegauge.agent.children import Child, Children
from tidegauge.agent.clock_probe import ClockSocket
from tidegauge.agent.registry import Ledger, remove_directory
from tidegauge.agent.rig import AgentRig
from tidegauge.agent.sampler import Sampler
from tidegauge.attestation.data_files import find_copies, list_data_files
from tidegauge.durability import WatchedSyncs
from tidegauge.errors import RunFailedError, StartFailedError, TidegaugeError
from tidegauge.hosts import cgroups, procfs
from tidegauge.hosts.clock import slew_ppm
from tidegauge.hosts.fsync import calm_disk
from tidegauge.hosts.memory import drop_page_cache, write_back
from tidegauge.hosts.procfs import Stat
from tidegauge.hosts.storage import free_space, make_own_directory, nearest_existing, read_end
from tidegauge.hosts.syscalls import SyncWatch, watch_syncs
from tidegauge.hosts.tracefs import NoTraceError

ORPHANS_GRACE_S = 3.0
"""How long what outlives its process has between SIGTERM and SIGKILL."""
GIVE_UP_S = 30.0
"""A process that outlives SIGKILL this long hangs in the kernel (a dead disk, say)."""
POLL_S = 0.03
LOOKS_PER_LEASE = 10
"""How often an agent that has nothing to do sees how long it slept, so that it knows when the host stood still."""


@dataclass
class ProcessEnding:
    """One process being ended. Call `step` until it returns True; `done` is called by the agent then.

    Attributes:
        force_at_s: monotonic time at which SIGKILL begins.
        stuck: processes that not even SIGKILL ended.
    """

    child: Child
    force_at_s: float
    done: Callable[[ProcessEnding], None]
    stuck: Sequence[Stat] = ()
    _asked_main: bool = False
    _asked_rest: bool = False

    def step(self, members: list[Stat], now_s: float) -> bool:
        """Do what is due. True when nothing is left (or it can't be ended)."""
        if not members and self.child.exit_code is not None:
            return True
        if now_s >= self.force_at_s:
            for stat in members:
                procfs.send_signal(stat.identity, signal.SIGKILL)
            if now_s >= self.force_at_s + GIVE_UP_S:
                self.stuck = members
                return True
        elif not self._asked_main:
            self._asked_main = True
            procfs.send_signal(self.child.identity, signal.SIGTERM)
            _continue_members(members)
        elif self.child.exit_code is not None and not self._asked_rest:
            self._asked_rest = True
            self.force_at_s = min(self.force_at_s, now_s + ORPHANS_GRACE_S)
            for stat in members:
                procfs.send_signal(stat.identity, signal.SIGTERM)
            _continue_members(members)
        return False

    def hurry(self, force_at_s: float) -> None:
        """Force earlier than planned."""
        self.force_at_s = min(self.force_at_s, force_at_s)


def _continue_members(members: list[Stat]) -> None:
    """A stopped process takes SIGTERM only once it continues.

    Whether it looked stopped does not matter: it may have been signalled to stop just before, and stop only now.
    """
    for stat in members:
        procfs.send_signal(stat.identity, signal.SIGCONT)


_HINT = "Free space or permissions there, or choose another directory."
_OWNERS_ONLY = 0o600
_USUAL, _USUAL_DIRECTORY = 0o666, 0o777
"""What the umask leaves of it."""


def write_file(path: Path, text: str, mode: int | None) -> None:
    """See `Host.write`."""
    try:
        make_own_directory(path.parent)
        # A secret is nobody else's at any moment, and a link may lead anywhere.
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        number = os.open(path, flags, _USUAL if mode is None else _OWNERS_ONLY)
        with os.fdopen(number, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(number)
            if mode is not None:
                os.fchmod(number, mode)
    except OSError as error:
        raise StartFailedError(f"{path} can't be written: {error.strerror}.", _HINT) from error


def make_directories(paths: Sequence[Path], mode: int | None) -> None:
    """See `Host.make_directories`."""
    for path in paths:
        try:
            make_own_directory(path, _USUAL_DIRECTORY if mode is None else mode)
        except OSError as error:
            raise StartFailedError(f"{path} can't be created: {error.strerror}.", _HINT) from error


def _find_copies_as_rows(
    directories: Sequence[Path], trial_id: int, wanted: Sequence[Sequence[int]]
) -> list[list[object]]:
    copies_by_message = find_copies(directories, trial_id, {(producer, sequence) for producer, sequence in wanted})
    return [[*key, str(copy.file), copy.offset] for key, copies in copies_by_message.items() for copy in copies]


def _paths_of_names(names: Sequence[str]) -> list[Path]:
    return [Path(name) for name in names]


def _path_as_kernel_names_it(place: str) -> Path:
    """The path as this host's kernel names it: without links, of which another host may have others."""
    path = Path(place)
    return path.parent.resolve() / path.name


_READ_AS: dict[str, Callable[[Any], object]] = {
    "spec": link.spec_from_json,
    "path": Path,
    "paths": _paths_of_names,
    "directory": Path,
    "directories": _paths_of_names,
    "place": _path_as_kernel_names_it,
    "places": lambda places: [_path_as_kernel_names_it(place) for place in places],
}
"""What JSON has no form for, by the argument's name."""


class SyncRecording:
    """What the processes of an agent are seen to make durable; one recording at a time."""

    def __init__(self, children: Children) -> None:
        self._children = children
        self._watch: SyncWatch | None = None
        self._end = contextlib.ExitStack()
        self.calls: dict[str, Callable[..., Any]] = {
            "begin_syncs": self._begin_recording,
            "end_syncs": self._finish_recording,
        }

    def end(self) -> None:
        """Watch no more: the tracer removes what it made in the kernel, which it can't once it is killed."""
        self._watch = None
        self._end.close()

    def _begin_recording(self, names: Sequence[str]) -> None:
        self.end()
        pids = {name: self._children.status(name).pid for name in names}
        self._watch = self._end.enter_context(watch_syncs(pids))

    def _finish_recording(self) -> WatchedSyncs:
        watch, self._watch = self._watch, None
        if watch is None:
            raise NoTraceError("nobody watches")
        with self._end:
            return watch.finish()


ABANDONED_GRACE_S = 5.0
"""Grace for processes whose controller is gone: nobody waits for a clean shutdown any more."""


class Agent:
    """The agent's state and its event loop."""

    def __init__(self, agent_id: str, lease_s: float, ledger: Ledger, controller: link.Link) -> None:
        self._children = Children(agent_id)
        self._sampler = Sampler(self._children)
        self._ledger = ledger
        self._controller = controller
        self._rig = AgentRig(self._children, ledger)
        self._syncs = SyncRecording(self._children)
        self._lease_s = lease_s
        self._lease_ends_s = time.monotonic() + lease_s
        self._endings: list[ProcessEnding] = []
        self._closing = False
        self._close_request: int | None = None
        self._sweeping = False
        self._input = b""
        self._output = b""
        self._selector = selectors.DefaultSelector()
        self._clocks: ClockSocket | None = None
        self._calls: dict[str, Callable[..., Any]] = {
            "hello": os.getpid,
            "start": self._start_process,
            "status": self._children.status,
            "signal": self._signal_process,
            "free_ports": self._ledger.take_ports,
            "hold_ports": self._ledger.hold_ports,
            "release_ports": self._ledger.release_ports,
            "track_directory": self._ledger.track,
            "agent_cpu_s": time.process_time,
            "samples": self._sampler.samples,
            "follow_servers": self._sampler.follow_servers,
            # Beside what may take long: it is asked while a trial runs.
            "free_space": free_space,
            "clock": time.monotonic_ns,
            "clock_listen": self._listen_to_clocks,
            "clock_burst": self._clock_burst,
            "remove_directory": remove_directory,
            "write": write_file,
            "make_directories": make_directories,
            "read_end": read_end,
            "write_back": write_back,
            "calm_disk": calm_disk,
            "find_copies": _find_copies_as_rows,
            "list_data_files": list_data_files,
            "drop_page_cache": lambda directories: drop_page_cache([nearest_existing(path) for path in directories]),
            **self._syncs.calls,
            **self._rig.calls,
        }
        self._later_calls: dict[str, Callable[..., None]] = {
            "stop": self._stop_process,
            "shutdown": self._begin_shutdown,
        }
        """Given the request's number as well, and answered when they are done."""

    def run(self) -> None:
        """Serve until everything has ended."""
        wakeups, signalled = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(signalled)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, lambda *_: self._end_everything_quickly())
        for ignored in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(ignored, signal.SIG_IGN)
        self._selector.register(self._controller, selectors.EVENT_READ, self._transfer_messages)
        self._selector.register(wakeups, selectors.EVENT_READ, lambda: os.read(wakeups, link.READ_BYTES))
        while not (self._closing and not self._endings and self._sweep_strays()):
            self._await_events()
            self._children.reap()
            if not self._closing:
                self._sampler.look_if_due()
            if time.monotonic() >= self._lease_ends_s:
                self._end_everything_quickly()
            if self._closing:
                # Nobody can be ended on a disk that hangs. Here, not where the end is announced: that may be a signal.
                self._rig.lift_once()
                self._syncs.end()
            self._step_endings()
        failures = [registry.remove_directory(path) for path in self._ledger.directories]
        notes = [*self._rig.remove_all(), *(failure for failure in failures if failure)]
        self._ledger.close(forget=not notes)
        if self._close_request is not None:
            self._send_message({"id": self._close_request, "result": notes})

    def _await_events(self) -> None:
        """Wait for what comes next, and act on it.

        What the agent overslept does not count against the lease: where all of a host stands still, as a virtual
        machine that is moved does, the controller had no chance to renew it.
        """
        sleep_s, began_s = self._sleep_s(), time.monotonic()
        events = self._selector.select(sleep_s)
        self._lease_ends_s += max(0.0, time.monotonic() - began_s - sleep_s)
        for key, _events in events:
            key.data()

    def _sleep_s(self) -> float:
        if self._endings or self._sweeping:
            return POLL_S
        next_s = min(self._lease_ends_s, self._sampler.next_s)
        return max(0.0, min(next_s - time.monotonic(), self._lease_s / LOOKS_PER_LEASE))

    # Messages

    def _transfer_messages(self) -> None:
        """Take what has come, and go on with what is to be sent."""
        while (data := self._controller.read()) is not None:
            if not data:
                self._selector.unregister(self._controller)
                self._end_everything_quickly()
                return
            *lines, self._input = (self._input + data).split(b"\n")
            for line in lines:
                self._handle_request(link.from_line(line))
                # Whoever asks lives. Not before: while something takes long, the next request waits unread.
                self._lease_ends_s = max(self._lease_ends_s, time.monotonic() + self._lease_s)
        self._flush_output()

    def _handle_request(self, message: link.Message) -> None:
        call, request = message.pop("call"), int(message.pop("id"))
        try:
            if self._closing:
                raise RunFailedError("The agent is ending.")
            arguments = {name: _READ_AS[name](value) if name in _READ_AS else value for name, value in message.items()}
            if later := self._later_calls.get(call):
                later(request, **arguments)
                return
            result = self._calls[call](**arguments)
        except (TidegaugeError, OSError) as error:
            reported = error if isinstance(error, TidegaugeError) else _as_failure(call, error)
            self._send_message({"id": request, "error": link.error_to_json(reported)})
            return
        self._send_message({"id": request, "result": result})

    def _send_message(self, message: link.Message) -> None:
        self._output += link.to_line(message)
        self._flush_output()

    def _flush_output(self) -> None:
        """Write what fits; the rest when the controller reads again, so that a stopped one can't block us."""
        try:
            while self._output and (taken := self._controller.write(self._output)):
                self._output = self._output[taken:]
        except OSError:
            self._output = b""
        self._watch()

    def _watch(self) -> None:
        """Wait for what the controller sends, and for room if something is to be sent."""
        if self._controller in self._selector.get_map():
            writing = selectors.EVENT_WRITE if self._output else 0
            self._selector.modify(self._controller, selectors.EVENT_READ | writing, self._transfer_messages)

    # Calls

    def _start_process(self, spec: ProcessSpec) -> ProcessStatus:
        child = self._children.start(spec, self._make_memory_group(spec), self._rig.namespace_of(spec.network_node))
        try:
            self._ledger.add_process(spec.name, child.identity)
        except StartFailedError:
            # What can't be recorded must not run: a crash would leave it behind.
            os.kill(child.identity.pid, signal.SIGKILL)
            raise
        return self._children.status(spec.name)

    def _make_memory_group(self, spec: ProcessSpec) -> Path | None:
        """A cgroup with the process's limit, removed with the agent's directories; None without a limit."""
        if spec.memory_bytes_max is None:
            return None
        name = f"{self._children.agent_id}-{spec.name}"
        try:
            # Known before it is there: a kill in between leaves nothing that nobody knows of.
            self._ledger.track(cgroups.group_path(name))
            return cgroups.make_group(name, spec.memory_bytes_max)
        except OSError as error:
            raise StartFailedError(f"{spec.name} can't be limited in its memory: {error.strerror}.") from error

    def _listen_to_clocks(self, address: str, ports: Sequence[int], secret: str) -> int:
        """Answer questions for this host's time from now on, at the port that is returned."""
        self._clocks = ClockSocket(address, ports, bytes.fromhex(secret))
        self._selector.register(self._clocks, selectors.EVENT_READ, self._clocks.take)
        return self._clocks.port

    def _clock_burst(self, peers: Sequence[Sequence[Any]]) -> link.Message:
        if self._clocks is None:
            raise RunFailedError("This agent was not asked to know of clocks.")
        asked = [(address, port) for address, port in peers]
        return {"exchanges": self._clocks.burst(asked), "slew_ppm": slew_ppm()}

    def _signal_process(self, name: str, signal_number: int) -> None:
        child = self._children.child_named(name)
        if child.exit_code is None:
            os.kill(child.identity.pid, signal_number)
            return
        raise RunFailedError(f"{name} has ended already.", log_path=Path(child.spec.log_path))

    def _stop_process(self, request: int, name: str) -> None:
        child = self._children.child_named(name)

        def answer_request(ending: ProcessEnding) -> None:
            if ending.stuck:
                self._send_message(
                    {"id": request, "error": link.error_to_json(children.outlives_sigkill_error(name, ending.stuck))}
                )
            else:
                self._send_message({"id": request, "result": self._children.status(name)})

        self._endings.append(ProcessEnding(child, time.monotonic() + child.spec.stop_grace_s, answer_request))

    def _begin_shutdown(self, request: int) -> None:
        self._close_request = request
        self._end_everything(None)

    # The end

    def _step_endings(self) -> None:
        if not self._endings:
            return
        members = self._children.members()
        now_s = time.monotonic()
        for ending in list(self._endings):
            if ending.step(members.get(ending.child.spec.name, []), now_s):
                self._endings.remove(ending)
                ending.done(ending)

    def _end_everything_quickly(self) -> None:
        """The controller is gone, or asked us to hurry."""
        self._lease_ends_s = float("inf")
        self._end_everything(ABANDONED_GRACE_S)

    def _end_everything(self, grace_s_max: float | None) -> None:
        """End everything; `grace_s_max` also shortens what is being ended already."""
        now_s = time.monotonic()
        if not self._closing:
            self._closing = True
            for child in self._children.by_name.values():
                self._endings.append(ProcessEnding(child, now_s + child.spec.stop_grace_s, lambda _ending: None))
        if grace_s_max is not None:
            for ending in self._endings:
                ending.hurry(now_s + grace_s_max)

    def _sweep_strays(self) -> bool:
        """Kill descendants that belong to no process; True when none is left."""
        strays = self._children.members()[""]
        for stat in strays:
            # One may end by itself in between: never an error, never a signal to who gets its number.
            procfs.send_signal(stat.identity, signal.SIGKILL)
        self._sweeping = bool(strays)
        return not strays


def _as_failure(call: str, error: OSError) -> RunFailedError:
    reason = str(error) if error.errno else error.strerror or str(error)
    return RunFailedError(f"{call} failed: {reason.rstrip('.')}.")


def main(arguments: list[str]) -> None:
    """Entry point: LEASE_S AGENT_ID [ADDRESS]."""
    lease_s, agent_id, *address = arguments
    if address:
        # What it takes is an extra of the package.
        from tidegauge.agent.listening import wait_for_controller

        controller = wait_for_controller(address[0], agent_id, float(lease_s))
    else:
        controller = link.Link(socket.socket(fileno=sys.stdin.fileno()))
    children.become_subreaper()
    Agent(agent_id, float(lease_s), Ledger.open(agent_id), controller).run()


if __name__ == "__main__":
    main(sys.argv[1:])
