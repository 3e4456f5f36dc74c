"""Process trees, stopped, resumed and killed by the names under which the agent started them."""

from __future__ import annotations

import signal
import time
from collections.abc import Sequence

from tidegauge.errors import RunFailedError
from tidegauge.fleet.children import Children
from tidegauge.hosts import procfs, stopping
from tidegauge.hosts.procfs import Stat
from tidegauge.hosts.stopping import NotStoppedError

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
        self._check(names)
        found = self._children.members()
        return [stat for name in dict.fromkeys(names) for stat in found[name]]

    def stop(self, names: Sequence[str]) -> int:
        """Stop these, and return how many processes they are once every thread is seen stopped.

        Raises `RunFailedError`, after letting all go on, if one can't be.
        """
        self._check(names)
        try:
            stopped = stopping.stop_all(lambda: self.members(names), STOP_S_MAX)
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
        stopping.go_on(stat.identity for stat in self.members(chosen))
        self._paused.difference_update(chosen)

    def kill(self, names: Sequence[str]) -> None:
        """SIGKILL these, and return when they are gone. Raises `RunFailedError` if one does not go."""
        deadline_s = time.monotonic() + _KILL_S_MAX
        while True:
            # Orphans of what dies become the agent's own children, which nobody else waits for.
            self._children.reap()
            left = self.members(names)
            if not left and all(self._children.by_name[name].exit_code is not None for name in names):
                self._paused.difference_update(names)
                return
            if time.monotonic() > deadline_s:
                stuck = ", ".join(f"{stat.pid} (state {stat.state})" for stat in left)
                raise RunFailedError(
                    f"{', '.join(names)} can't be ended: process {stuck} outlives SIGKILL.",
                    "It hangs in the kernel, most likely on a disk that does not answer.",
                )
            for stat in left:
                procfs.send_signal(stat.identity, signal.SIGKILL)
            time.sleep(_POLL_S)

    def _check(self, names: Sequence[str]) -> None:
        for name in names:
            if name not in self._children.by_name:
                raise RunFailedError(f"{name} was never started here.")
