"""The servers and the worker that trials of one step may share, so that a search does not start them for each trial."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass

from tidegauge.systems.api import Deployment
from tidegauge.worker.api import LoadWorker


@dataclass(frozen=True)
class Running:
    """Servers that are ready and a worker; `trial_id` is that of the trial that started them and holds their logs."""

    deployment: Deployment
    worker: LoadWorker
    trial_id: str


class Stand:
    """Keeps what a trial that shares its servers leaves running, until the step ends or a trial wants its own."""

    def __init__(self) -> None:
        self.running: Running | None = None
        self._cleanup = ExitStack()

    def keep(self, running: Running, cleanup: ExitStack) -> None:
        """Take over what is running, with what ends it."""
        self.running = running
        self._cleanup = cleanup.pop_all()

    def close(self) -> None:
        """End what is kept. Does nothing without it."""
        self.running = None
        self._cleanup.close()
