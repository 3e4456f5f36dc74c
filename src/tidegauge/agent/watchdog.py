"""Ends an agent that somebody stopped: it can't see its own lease run out. `python -m tidegauge.agent.watchdog ...`.

What the agent started ends with it, by the kernel, and what is left of it is removed by its record.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

_LOOK_S = 1.0
_STOPPED = ("T", "t")


def watchdog_command(agent_pid: int, agent_pidfd: int, agent_id: str, stopped_s_max: float) -> list[str]:
    """Arguments of the process. `agent_pidfd`: a descriptor of the agent's process, see pidfd_open(2)."""
    line = ["-P", "-m", "tidegauge.agent.watchdog", str(agent_pid), str(agent_pidfd), agent_id, str(stopped_s_max)]
    return [sys.executable, *line]


def start(agent_pid: int, agent_id: str, stopped_s_max: float, environment: Mapping[str, str]) -> None:
    """Watch over an agent from a process that is in nobody's session. It ends with the agent."""
    agent_pidfd = os.pidfd_open(agent_pid)
    subprocess.Popen(
        watchdog_command(agent_pid, agent_pidfd, agent_id, stopped_s_max),
        env=environment,
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=(agent_pidfd,),
        start_new_session=True,
    )
    os.close(agent_pidfd)


def watch_agent(agent_pid: int, agent_pidfd: int, stopped_s_max: float) -> None:
    """Return when the agent has ended. One that is stopped for longer is killed."""
    waiting = select.poll()
    waiting.register(agent_pidfd, select.POLLIN)
    going_s = time.monotonic()
    while not waiting.poll(_LOOK_S * 1e3):
        if state_of(agent_pid) not in _STOPPED:
            going_s = time.monotonic()
        elif time.monotonic() - going_s > stopped_s_max:
            signal.pidfd_send_signal(agent_pidfd, signal.SIGKILL)


def state_of(pid: int) -> str:
    """A process's state by proc(5): "T" for one that is stopped; "" if it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""


def main(arguments: list[str]) -> None:
    """Entry point: AGENT_PID DESCRIPTOR AGENT_ID STOPPED_S_MAX."""
    pid, agent_pidfd, agent_id, stopped_s_max = arguments
    watch_agent(int(pid), int(agent_pidfd), float(stopped_s_max))
    # Only now: it holds little memory while it waits.
    from tidegauge.agent import registry
    from tidegauge.agent.reap import clean_leftovers

    if registry.locked_record(agent_id).path.exists():
        clean_leftovers()


if __name__ == "__main__":
    main(sys.argv[1:])
