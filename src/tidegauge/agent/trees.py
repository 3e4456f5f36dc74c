"""Process trees, stopped, resumed and killed by the names under which the agent started them.

Before a power cut it must be sure that they stand, since nothing may become durable any more. SIGSTOP only asks. A
thread that runs on another CPU goes on until it enters the kernel; one that waits for a disk stops when it would
return. What a server acknowledges in between would count as lost though no power failed while it was promised. So
every thread's state is looked at.
"""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from tidegauge.agent.children import Children, outlives_sigkill_error
from tidegauge.errors import RunFailedError
from tidegauge.hosts import procfs
from tidegauge.hosts.procfs import Identity, Stat
from tidegauge.hosts.storage import read_stripped_text

_STOPPED_POLL_S = 0.002
_SIGSTOP_PENDING = 1 << signal.SIGSTOP - 1


class NotStoppedError(Exception):
    """A thread did not stop in time, and which."""


def stop_all(members: Callable[[], list[Stat]], seconds_max: float) -> list[Identity]:
    """Stop these processes, and those that they start meanwhile; return once every thread is seen stopped.

    `members` is asked again and again, until nobody new turns up after all had stopped. Raises `NotStoppedError` after
    letting all of them go on.
    """
    asked: dict[Identity, None] = {}
    deadline_s = time.monotonic() + seconds_max
    all_stopped = False
    while True:
        identities = [stat.identity for stat in members()]
        new = [identity for identity in identities if identity not in asked]
        for identity in new:
            asked[identity] = None
            procfs.send_signal(identity, signal.SIGSTOP)
        running = next((why for identity in identities if (why := why_not_stopped(identity.pid))), "")
        # One that had not stopped yet when we looked for processes may have started another.
        if all_stopped and not new and not running:
            return identities
        all_stopped = not running
        if time.monotonic() > deadline_s:
            continue_processes(asked)
            raise NotStoppedError(running or "new processes are started all the time")
        time.sleep(_STOPPED_POLL_S)


def continue_processes(processes: Iterable[Identity]) -> None:
    """Let processes go on that were stopped. Never raises."""
    for identity in processes:
        procfs.send_signal(identity, signal.SIGCONT)


def why_not_stopped(pid: int) -> str:
    """Which thread of a process runs, or may run without being noticed, in a few words; "" if none does.

    A process stands if every thread is stopped (T) or waits inside the kernel (D), from where it can't return any more:
    one that stopped shows that the signal reached all. It has reached a single thread if the signal is pending.
    """
    states = thread_states(pid)
    live = {thread: state for thread, state in states.items() if state not in "ZX"}
    for thread, state in live.items():
        if state not in "TD":
            return f"thread {thread} of process {pid} is in state {state}"
    if not live or "T" in live.values() or (len(states) == 1 and _is_stop_pending(pid)):
        return ""
    return f"all threads of process {pid} wait for a disk"


def thread_states(pid: int) -> dict[int, str]:
    """Each thread's state letter (proc_pid_stat(5)); empty for a process that is gone."""
    states: dict[int, str] = {}
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            text = (task / "stat").read_text(errors="replace")
            states[int(task.name)] = text.rpartition(") ")[2][0]
    except (FileNotFoundError, ProcessLookupError):
        # A thread that ended while we looked: look again, unless the process itself is gone.
        stat = procfs.read_stat(pid)
        return {pid: "Z"} if stat is None or stat.ended else {pid: "R"}
    return states


def _is_stop_pending(pid: int) -> bool:
    """Whether SIGSTOP is pending."""
    status = read_stripped_text(Path(f"/proc/{pid}/status"))
    pending = (int(mask, 16) for mask in re.findall(r"^S(?:ig|hd)Pnd:\s*([0-9a-f]+)$", status, re.MULTILINE))
    return any(mask & _SIGSTOP_PENDING for mask in pending)


STOP_S_MAX = 20.0
"""A thread that waits for a disk stops when the disk answers; one that a debugger holds, never."""
_KILL_S_MAX = 60.0
_POLL_S = 0.005


class Trees:
    """The agent's processes with all that descends from them. Names that were never started raise `RunFailedError`."""

    def __init__(self, children: Children) -> None:
        self._children = children
        self._paused: set[str] = set()

    def members(self, names: Sequence[str]) -> list[Stat]:
        """Everything of these names that runs."""
        for name in names:
            self._children.child_named(name)
        by_owner = self._children.members()
        return [stat for name in dict.fromkeys(names) for stat in by_owner[name]]

    def stop(self, names: Sequence[str]) -> int:
        """Stop these, and return how many processes they are once every thread is seen stopped.

        Raises `RunFailedError`, after letting all go on, if one can't be.
        """
        try:
            stopped = stop_all(lambda: self.members(names), STOP_S_MAX)
        except NotStoppedError as error:
            raise RunFailedError(
                f"{', '.join(names)} could not be stopped within {STOP_S_MAX:.0f} s: {error}.",
                "Somebody traces it (a debugger, strace), or its disk hangs.",
            ) from error
        self._paused.update(names)
        return len(stopped)

    def resume(self, names: Sequence[str] | None = None) -> None:
        """Let these go on; None: all that were stopped here."""
        chosen = sorted(self._paused) if names is None else names
        continue_processes(stat.identity for stat in self.members(chosen))
        self._paused.difference_update(chosen)

    def kill(self, names: Sequence[str]) -> None:
        """SIGKILL these, and return when they are gone. Raises `RunFailedError` if one does not go."""
        deadline_s = time.monotonic() + _KILL_S_MAX
        while True:
            # Orphans of what dies become the agent's own children, which nobody else waits for.
            self._children.reap()
            survivors = self.members(names)
            if not survivors and all(self._children.child_named(name).exit_code is not None for name in names):
                self._paused.difference_update(names)
                return
            if time.monotonic() > deadline_s:
                raise outlives_sigkill_error(", ".join(names), survivors)
            for stat in survivors:
                procfs.send_signal(stat.identity, signal.SIGKILL)
            time.sleep(_POLL_S)
