"""The servers and the worker that trials may share, so that a search does not start them for each trial."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass

from tidegauge.systems.api import Deployment
from tidegauge.worker.api import LoadWorker


@dataclass(frozen=True)
class Running:
    """Servers that are ready and a worker; `trial_id` is that of the trial that started them and holds their logs.

    `wanted` is what they were started as (see `campaign.plan.Step`).
    """

    deployment: Deployment
    worker: LoadWorker
    trial_id: str
    wanted: str = ""


class Stand:
    """Keeps what a trial that shares its servers leaves running, until a trial wants others or nobody wants it more.

    At most one deployment at a time: systems take turns.
    """

    def __init__(self) -> None:
        self.running: Running | None = None
        self._cleanup = ExitStack()

    def keep(self, running: Running, cleanup: ExitStack) -> None:
        """Take over what is running, with what ends it."""
        self.running = running
        self._cleanup = cleanup.pop_all()

    def close_unless(self, wanted: str) -> None:
        """End what is kept if it is not what is wanted next."""
        if self.running is not None and self.running.wanted != wanted:
            self.close()

    def close(self) -> None:
        """End what is kept. Does nothing without it."""
        self.running = None
        self._cleanup.close()
