"""What an experiment is: a name, its options, the trials it intends, and a pure procedure that has them measured.

One file in this folder holds one experiment and exposes it as `EXPERIMENT`; the registry finds it there. Procedures do
no I/O: what measures a trial is given to them, and what was found so far in the run is given as data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from tidegauge.config.fields import DrainMax, Fields, MeasureTime, WarmUpMax, WarmUpMin
from tidegauge.errors import RunFailedError
from tidegauge.experiments.api import Measure, TrialResult, TrialSpec

Options = TypeVar("Options", bound=Fields)


class TrialOptions(Fields):
    """Keys of an experiment made of trials. The warm-up ends between its bounds, as soon as figures are steady."""

    warm_up_min: WarmUpMin = 10.0
    warm_up_max: WarmUpMax = 60.0
    measure: MeasureTime = 60.0
    drain_max: DrainMax = 60.0

    def timed(self, trial: TrialSpec) -> TrialSpec:
        """The trial with these times."""
        return replace(
            trial,
            warmup_s_min=self.warm_up_min,
            warmup_s_max=max(self.warm_up_min, self.warm_up_max),
            measure_s=self.measure,
            drain_s_max=self.drain_max,
        )


class PreconditionError(RunFailedError):
    """A trial can't be made because one that it builds on failed; the message says which. Others may go on."""


def _no_objection(_options: Fields, _earlier: Sequence[str]) -> str:
    return ""


@dataclass(frozen=True)
class Experiment(Generic[Options]):
    """One kind of experiment, for one system in one block at a time (the plan interleaves systems).

    Attributes:
        name: as campaign files write it.
        summary: one line for help texts.
        options: the model of its own keys in a campaign.
        plan: from the options and a trial with everything but the experiment's part set, the trials intended. An
            experiment that can't know how many it needs gives the ones it expects.
        run: carries them out, given the run's results so far (all systems, in order). Raises `PreconditionError`
            when it can't begin; errors of `measure` pass through.
        objection: "" or why these options don't fit after the experiments named earlier in the campaign.
    """

    name: str
    summary: str
    options: type[Options]
    plan: Callable[[Options, TrialSpec], tuple[TrialSpec, ...]]
    run: Callable[[Options, tuple[TrialSpec, ...], Sequence[TrialResult], Measure], list[TrialResult]]
    objection: Callable[[Options, Sequence[str]], str] = _no_objection
