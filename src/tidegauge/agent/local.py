"""The controller's side of an agent on this machine."""

from __future__ import annotations

import contextlib
import socket
import subprocess

from tidegauge.agent import registry
from tidegauge.agent.client import CLOSE_MARGIN_S, LEASE_S, AgentHost, launch_arguments
from tidegauge.agent.link import Link
from tidegauge.agent.reap import clean_leftovers
from tidegauge.errors import AgentGoneError, RunFailedError, StartFailedError


class LocalHost(AgentHost):
    """`Host` on this machine: `with LocalHost.open() as host: ...`. Leaving the block ends every process."""

    def __init__(self, agent_id: str, process: subprocess.Popen[bytes], link: Link, lease_s: float) -> None:
        self.agent_id = agent_id
        self.agent_pid = process.pid
        self._process = process
        super().__init__(socket.gethostname(), link, lease_s)

    @staticmethod
    def open(lease_s: float = LEASE_S) -> LocalHost:
        """Start an agent. Raises `StartFailedError` if it can't be."""
        agent_id = registry.new_agent_id()
        with registry.open_log(agent_id) as log:
            controller_end, agent_end = socket.socketpair()
            launch = launch_arguments(agent_id, lease_s)
            with agent_end:
                process: subprocess.Popen[bytes] = subprocess.Popen(
                    **launch, stdin=agent_end.fileno(), stdout=subprocess.DEVNULL, stderr=log
                )
        host = LocalHost(agent_id, process, Link(controller_end), lease_s)
        try:
            host._call("hello", timeout_s=60.0)
        except BaseException as error:
            host.close()
            if isinstance(error, RunFailedError):
                raise StartFailedError(error.message, error.hint, error.log_path) from error
            raise
        return host

    def __enter__(self) -> LocalHost:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> list[str]:
        """End all processes and the agent, remove tracked directories. Never raises. Returns what could not be removed.

        Interrupted (a second Ctrl-C), it hurries: the agent sees the link close and ends everything by itself.
        """
        if self._closing.is_set():
            return []
        self._closing.set()
        notes: list[str] = []
        try:
            with contextlib.suppress(RunFailedError):
                notes = self._shut_down()
        finally:
            self._link.close()
        try:
            self._process.wait(CLOSE_MARGIN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.returncode != 0:
            notes += clean_leftovers()
        return notes

    def gone_error(self) -> AgentGoneError:
        """The error that says that the agent is gone, with the last line of its log if it left one."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(5.0)
        code = self._process.returncode
        if code is not None and code < 0:
            how = f"was killed by signal {-code}"
        elif code == 0:
            how = "ended since it heard nothing from this command for some time, or was asked to end by SIGTERM"
        else:
            how = "has ended" if code is None else f"ended with exit code {code}"
        cause = registry.last_words(self.agent_id)
        return AgentGoneError(
            f"The agent that holds this run's processes {how}{f': {cause}' if cause else ''}.",
            "Its processes end with it. Run the same command again; what is left over is removed first.",
            registry.log_path(self.agent_id) if cause else None,
        )

    def silent_error(self, call: str, timeout_s: float) -> RunFailedError:
        """See `AgentHost.silent_error`."""
        return AgentGoneError(
            f"The agent that holds this run's processes did not answer '{call}' within {timeout_s:.0f} s.",
            "It may be stopped, or wait for a disk that does not answer. Its processes end with this command.",
        )
