"""The agent's processes: starting them, finding everything that descends from them, and reaping what ends.

The agent is a child subreaper: whatever its processes leave behind becomes its own child, however often it forks or
starts sessions. So the tree below the agent always holds every descendant, and each tree below a child of the agent has
one owner: the process itself, or for an orphan the process whose session or environment marker it carries.

Everything here runs in the agent's only thread. That is what makes `preexec_fn` and waiting for any child sound.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import subprocess
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tidegauge.agent.api import ProcessSpec, ProcessStatus
from tidegauge.errors import RunFailedError, StartFailedError
from tidegauge.hosts import cgroups, commands, network, procfs
from tidegauge.hosts.procfs import Identity, Stat

_PR_SET_PDEATHSIG = 1
_PR_SET_TIMERSLACK = 29
_PR_SET_CHILD_SUBREAPER = 36


def _prctl(option: int, value: int) -> None:
    commands.call_libc("prctl", option, ctypes.c_ulong(value), 0, 0, 0)


def become_subreaper() -> None:
    """Orphaned descendants become children of this process instead of init's. Raises `OSError`."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent(parent_pid: int) -> None:
    """The kernel kills this process when its parent ends; has that ended already, it exits. Kept across exec, not fork.

    "Parent" is the thread that forked: only for parents with a single thread. Raises `OSError`.
    """
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent_pid:  # It ended before the line above took effect.
        os._exit(1)


STDIN_BYTES_MAX = 65536
"""What a new pipe holds on Linux: more could not be written without waiting for the process to read."""


OTHERS_S = 10.0
"""So long the number of a process that is none of ours is taken for that of the same process."""


@dataclass
class Child:
    """One process the agent started, and what is known about it and its descendants."""

    spec: ProcessSpec
    identity: Identity
    popen: subprocess.Popen[bytes]
    exit_code: int | None = None
    reaped_ticks: int = 0
    """CPU of the process or its orphans after they ended; children that it waited for are in its own figures."""


def outlives_sigkill_error(names: str, survivors: Iterable[Stat]) -> RunFailedError:
    """The error where not even SIGKILL ended what these names stand for."""
    stuck = ", ".join(f"{stat.pid} (state {stat.state})" for stat in survivors)
    return RunFailedError(
        f"{names} can't be ended: process {stuck} outlives SIGKILL.",
        "It hangs in the kernel, most likely on a disk that does not answer.",
    )


@dataclass
class Children:
    """All processes of one agent."""

    agent_id: str
    by_name: dict[str, Child] = field(default_factory=dict)
    _orphan_owner: dict[Identity, str] = field(default_factory=dict)
    _others: set[int] = field(default_factory=set)
    """Numbers of processes that were none of ours, twice: one whose parent is just ending may seem so."""
    _perhaps_others: set[int] = field(default_factory=set)
    _others_forgotten_s: float = 0.0

    def start(self, spec: ProcessSpec, group: Path | None = None, namespace: Path | None = None) -> Child:
        """Start a process, in a cgroup and a network namespace if they are given. Raises `StartFailedError`."""
        predecessor = self.by_name.get(spec.name)
        if predecessor is not None and (predecessor.exit_code is None or self.members()[spec.name]):
            raise StartFailedError(f"{spec.name} runs already.", "Stop it before starting it again.")
        child = _spawn_process(spec, f"{self.agent_id}/{spec.name}", group, namespace)
        if predecessor is not None:
            # What a process of this name has used before its restart still counts.
            child.reaped_ticks = predecessor.reaped_ticks
        self.by_name[spec.name] = child
        self._others.discard(child.identity.pid)
        return child

    def child_named(self, name: str) -> Child:
        """The process of this name, whether or not it runs. Raises `RunFailedError` if it was never started."""
        if name not in self.by_name:
            raise RunFailedError(f"{name} was never started here.")
        return self.by_name[name]

    def members(self, *, all_looked_at: bool = True) -> dict[str, list[Stat]]:
        """Live processes by owner; "" owns those of unknown owner. Zombies are left out: they hold nothing any more.

        `all_looked_at`: else a process whose number another had within `OTHERS_S` may be missing, which costs a
        fraction: a host has many more processes than are ours.
        """
        trees = self._trees_by_owner(all_looked_at=all_looked_at)
        return {name: [stat for stat in tree if not stat.ended] for name, tree in trees.items()}

    def _trees_by_owner(self, *, all_looked_at: bool) -> dict[str, list[Stat]]:
        """All processes by owner, zombies included. `all_looked_at`: see `members`."""
        below: dict[int, list[Stat]] = {}
        if all_looked_at or time.monotonic() - self._others_forgotten_s > OTHERS_S:
            self._others, self._perhaps_others, self._others_forgotten_s = set(), set(), time.monotonic()
        all_pids = procfs.pids()
        for stat in procfs.stats_of(pid for pid in all_pids if pid not in self._others):
            below.setdefault(stat.parent, []).append(stat)
        by_owner: dict[str, list[Stat]] = {name: [] for name in ("", *self.by_name)}
        for root in below.get(os.getpid(), []):
            owner = self._owner_of(root)
            tree = [root]
            for stat in tree:
                tree.extend(below.get(stat.pid, []))
            by_owner[owner].extend(tree)
        none_of_ours = set(all_pids).difference(stat.pid for tree in by_owner.values() for stat in tree)
        self._others, self._perhaps_others = none_of_ours & self._perhaps_others, none_of_ours
        return by_owner

    def status(self, name: str) -> ProcessStatus:
        """State of a process; CPU and memory of it and all that descends from it. Raises `RunFailedError`.

        Pages shared between processes count once for each. What a descendant used is missed if it started a session of
        its own, lost its parent, and ended before it was ever looked at.
        """
        child = self.child_named(name)
        tree = self._trees_by_owner(all_looked_at=False)[name]
        # A zombie's time counts here until it is reaped, and in `reaped_ticks` from then on.
        ticks = child.reaped_ticks + sum(stat.cpu_ticks for stat in tree)
        members = [stat for stat in tree if not stat.ended]
        return ProcessStatus(
            name=name,
            pid=child.identity.pid,
            running=child.exit_code is None,
            exit_code=child.exit_code,
            cpu_s=ticks / procfs.TICKS_PER_S,
            resident_bytes=sum(stat.resident_pages for stat in members) * procfs.PAGE_BYTES,
            read_bytes=procfs.read_bytes(stat.pid for stat in members),
        )

    def reap(self) -> None:
        """Collect every child that has ended: its exit code and CPU time are kept first."""
        with contextlib.suppress(ChildProcessError):  # There is none.
            while ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                stat = procfs.read_stat(ended.si_pid)
                _, wait_status = os.waitpid(ended.si_pid, 0)
                if stat is not None:
                    self._record_end(stat, os.waitstatus_to_exitcode(wait_status))

    def _record_end(self, stat: Stat, exit_code: int) -> None:
        owner = self.by_name.get(self._owner_of(stat))
        self._orphan_owner.pop(stat.identity, None)
        if owner is None:
            return
        owner.reaped_ticks += stat.cpu_ticks
        if owner.identity == stat.identity:
            owner.exit_code = exit_code
            owner.popen.returncode = exit_code

    def _owner_of(self, root: Stat) -> str:
        """The name of a child's owner, "" unknown. Found once while it lives: a zombie has no environment to read."""
        for name, child in reversed(self.by_name.items()):
            if root.session == child.identity.pid:
                return name
        owner_found_before = self._orphan_owner.get(root.identity)
        if owner_found_before is not None:
            return owner_found_before
        agent_id, _, name = procfs.marker_of(root.pid).partition("/")
        if agent_id != self.agent_id or name not in self.by_name:
            return ""
        self._orphan_owner[root.identity] = name
        return name


def _spawn_process(spec: ProcessSpec, marker: str, group: Path | None, namespace: Path | None) -> Child:
    """Run `spec` in a session of its own. Raises `StartFailedError`."""
    if not Path(spec.cwd).is_dir():
        raise StartFailedError(f"{spec.name} can't be started: its working directory {spec.cwd} does not exist.")
    secret = spec.stdin_text.encode()
    if len(secret) > STDIN_BYTES_MAX:
        raise StartFailedError(f"{spec.name} can't be started: over {STDIN_BYTES_MAX} bytes for its standard input.")
    try:
        log = Path(spec.log_path).open("ab")  # noqa: SIM115 - closed below by `with`
    except OSError as error:
        raise StartFailedError(
            f"{spec.name} can't be started: its log {spec.log_path} can't be written ({error.strerror}).",
            "Check that the directory exists, may be written and has space.",
        ) from error
    agent_pid = os.getpid()
    reading, writing = os.pipe()
    with log, os.fdopen(reading, "rb") as standard_input:
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(secret)
        try:
            popen = subprocess.Popen(
                spec.argv,
                env={**spec.env, procfs.MARKER: marker},
                cwd=spec.cwd,
                stdin=standard_input,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=lambda: _prepare_child(agent_pid, spec.timer_slack_ns, group, namespace),  # noqa: PLW1509
            )
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            cause = getattr(error, "strerror", None) or str(error)
            raise StartFailedError(f"{spec.name} can't be started: {spec.argv[0]}: {cause}.") from error
    stat = procfs.read_stat(popen.pid)
    if stat is None:  # Not reaped yet, so it can't have gone.
        raise StartFailedError(f"{spec.name} can't be followed: /proc/{popen.pid} is not readable.")
    return Child(spec, stat.identity, popen)


_FILES_MAX = 1 << 20
"""Erlang takes memory for every file that it might open."""


def _prepare_child(agent_pid: int, timer_slack_ns: int | None, group: Path | None, namespace: Path | None) -> None:
    """Set up the new process before exec: it ends with the agent, and signals do to it what a process expects."""
    die_with_parent(agent_pid)
    if group is not None:
        cgroups.join_group(group)  # Before anything is read, which would count for others.
    if namespace is not None:
        network.enter_namespace(namespace)
    if timer_slack_ns is not None:
        # Of this thread; inherited by those that it starts, and kept across exec.
        _prctl(_PR_SET_TIMERSLACK, timer_slack_ns)
    # Allow as many open files as may be: Java raises its limit, others (RabbitMQ) would stay at a login's 1,024.
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _FILES_MAX if hard == resource.RLIM_INFINITY else min(hard, _FILES_MAX)
    if soft != resource.RLIM_INFINITY and soft < most:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    # A shell's background job ignores some; a JVM that did could not be asked for its threads.
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    with contextlib.suppress(OSError):
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
