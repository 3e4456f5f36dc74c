"""What trials of one kind do in the phases in which kinds differ; `run.py` has the order of all phases."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import ExitStack
from typing import Generic, TypeVar

from tidegauge.campaign.run.running_trial import RunningTrial, Settled, TrialSetup
from tidegauge.model.level import LevelFinding
from tidegauge.model.load import TotalFigures
from tidegauge.model.trial import AnyResult, Spec

Result = TypeVar("Result", bound=AnyResult)


class TrialProcedure(ABC, Generic[Spec, Result]):
    """One kind of trial: load, read or attest."""

    @abstractmethod
    def settle(self, setup: TrialSetup[Spec], cleanup: ExitStack) -> Settled:
        """Make the machine ready for servers to start. Raises `RunFailedError`."""

    @abstractmethod
    def prepare(self, trial: RunningTrial[Spec], cleanup: ExitStack) -> tuple[RunningTrial[Spec], LevelFinding]:
        """Make all that is needed before any load. Returns the level that is in force, as far as that is asked now.

        Raises `StartFailedError`, `LevelMismatchError`, `RunFailedError`.
        """

    @abstractmethod
    def carry_out_trial(
        self, trial: RunningTrial[Spec], level: LevelFinding, started_at: str
    ) -> tuple[Result, TotalFigures]:
        """Carry out what is measured, until nothing more comes. Raises `RunFailedError`."""

    @abstractmethod
    def clear_up(self, trial: RunningTrial[Spec]) -> None:
        """Remove what the trial leaves, now that its result is stored, on servers that may go on. Never raises."""
