"""What an experiment is: a name, its options, the trials it intends, and a pure procedure that has them measured.

One file in this folder holds one experiment and exposes it as `EXPERIMENT`; the registry finds it there. Procedures do
no I/O: the `Lab` that is given to them measures trials, knows what was found so far in the run, and takes in findings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

from tidegauge.config.fields import DrainMax, Fields, MeasureTime, WarmUpMax, WarmUpMin
from tidegauge.errors import RunFailedError
from tidegauge.model.finding import Finding
from tidegauge.model.trial import TrialResult, TrialSpec

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


class Lab(Protocol):
    """What a procedure works with: the run as it stands, and the means to go on with it."""

    @property
    def results(self) -> Sequence[TrialResult]:
        """Results of all trials of the run so far, in order; those of this step appear as they are measured."""
        ...

    @property
    def findings(self) -> Sequence[Finding]:
        """All findings of the run so far."""
        ...

    def measure(self, spec: TrialSpec) -> TrialResult:
        """Carry out one trial: a planned one, or one made on the fly with a `trial_id` of its own.

        Raises:
            RunFailedError: the system or the worker failed.
        """
        ...

    def decided(self, text: str, left: Sequence[TrialSpec] = ()) -> None:
        """Tell a decision as it is made, in a sentence, and the trials that are expected yet."""
        ...

    def found(self, finding: Finding) -> None:
        """Store a finding and show it."""
        ...


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
        run: carries them out, or as many others as the question takes. Raises `PreconditionError` when it can't begin;
            errors of `Lab.measure` pass through.
        objection: "" or why these options don't fit after the experiments named earlier in the campaign.
    """

    name: str
    summary: str
    options: type[Options]
    plan: Callable[[Options, TrialSpec], tuple[TrialSpec, ...]]
    run: Callable[[Options, tuple[TrialSpec, ...], Lab], None]
    objection: Callable[[Options, Sequence[str]], str] = _no_objection
