"""Ending a process with everything it started: ask, wait, force. A state machine, so that the agent never blocks."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import dataclass

from tidegauge.fleet.children import Child
from tidegauge.hosts import procfs
from tidegauge.hosts.procfs import Stat

ORPHANS_GRACE_S = 3.0
"""How long what outlives its process has between SIGTERM and SIGKILL."""
GIVE_UP_S = 30.0
"""A process that outlives SIGKILL this long hangs in the kernel (a dead disk, say)."""
POLL_S = 0.03


@dataclass
class Ending:
    """One process being ended. Call `step` until it returns True; `done` is called by the agent then.

    Attributes:
        force_at_s: monotonic time at which SIGKILL begins.
        stuck: names processes that not even SIGKILL ended.
    """

    child: Child
    force_at_s: float
    done: Callable[[Ending], None]
    stuck: str = ""
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
                self.stuck = ", ".join(f"{stat.pid} (state {stat.state})" for stat in members)
                return True
        elif not self._asked_main:
            self._asked_main = True
            procfs.send_signal(self.child.identity, signal.SIGTERM)
            _wake(members)
        elif self.child.exit_code is not None and not self._asked_rest:
            self._asked_rest = True
            self.force_at_s = min(self.force_at_s, now_s + ORPHANS_GRACE_S)
            for stat in members:
                procfs.send_signal(stat.identity, signal.SIGTERM)
            _wake(members)
        return False

    def hurry(self, force_at_s: float) -> None:
        """Force earlier than planned."""
        self.force_at_s = min(self.force_at_s, force_at_s)


def _wake(members: list[Stat]) -> None:
    """A stopped process takes SIGTERM only once it continues.

    Whether it looked stopped does not matter: it may have been told to stop just before, and stop only now.
    """
    for stat in members:
        procfs.send_signal(stat.identity, signal.SIGCONT)
