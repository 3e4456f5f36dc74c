"""The processes of a deployment: are they alive, what did they say last, end them and give back their ports."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tidegauge.errors import StartFailedError, TidegaugeError
from tidegauge.fleet.api import Host
from tidegauge.systems.logs import Cause, find_cause

LOG_TAIL_BYTES = 1 << 20


@dataclass(frozen=True)
class Servers:
    """The part of a `Deployment` that is the same for every system.

    Attributes:
        log_paths: by process name.
        ports: what the host gave for them; returned to it when they have ended.
    """

    title: str
    host: Host
    connection: Mapping[str, str]
    processes: tuple[str, ...]
    log_paths: Mapping[str, Path]
    jvm_flags: tuple[str, ...]
    ports: tuple[int, ...] = field(default=(), kw_only=True)

    @property
    def storage_processes(self) -> tuple[str, ...]:
        """See `Deployment.storage_processes`: each process keeps a copy, where a system does not say otherwise."""
        return self.processes

    def check_alive(self) -> None:
        """Raise `StartFailedError` with the cause from the log if a process has ended."""
        for name in self.processes:
            status = self.host.status(name)
            if status.running:
                continue
            path = self.log_paths[name]
            raise ended_error(f"{self.title} ({name})", status.exit_code, self.cause_in(tail_of(path)), path)

    def last_words(self) -> str:
        """The likeliest cause in the logs of a system that runs but is not usable; "" if nothing stands out."""
        causes = [cause for name in self.processes if (cause := self.cause_in(tail_of(self.log_paths[name])))]
        return str(causes[0]) if causes else ""

    def cause_in(self, log: str) -> Cause | None:
        """The likeliest cause of a failure in a log; None if no line looks like one."""
        return find_cause(log)

    @property
    def stop_order(self) -> tuple[tuple[str, ...], ...]:
        """Which processes to end, stage after stage; those of a stage end at the same time.

        All at once where a system does not say otherwise: nodes that end one by one wait for a quorum that is gone.
        """
        return (self.processes,)

    def stop(self) -> None:
        """End all processes and wait for them. Never raises."""
        for stage in self.stop_order:
            with ThreadPoolExecutor(max_workers=max(1, len(stage))) as pool:
                list(pool.map(self._stop_one, stage))
        with contextlib.suppress(TidegaugeError, OSError):
            self.host.release_ports(self.ports)

    def _stop_one(self, name: str) -> None:
        # An agent that is gone has ended its processes itself.
        with contextlib.suppress(TidegaugeError, OSError):
            self.host.stop(name)


def ended_error(what: str, exit_code: int | None, cause: Cause | None, log_path: Path) -> StartFailedError:
    """The message for a server that ended by itself. Pure."""
    how = (
        f"was killed by signal {-exit_code}"
        if exit_code is not None and exit_code < 0
        else f"ended with code {exit_code}"
    )
    if cause is None:
        return StartFailedError(f"{what} {how}; its log does not say why.", "Look at the end of the log.", log_path)
    return StartFailedError(f"{what} {how}: {cause.summary} {cause.line}".rstrip(), cause.hint, log_path)


def tail_of(path: Path) -> str:
    """The end of a log; "" if there is none."""
    try:
        with path.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - LOG_TAIL_BYTES))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""
