"""What an experiment is: a name, its options, the trials it intends, and a pure procedure that has them measured.

One file in this folder holds one experiment and exposes it as `EXPERIMENT`; `experiments` finds it there. Procedures do
no I/O: the `Lab` that is given to them measures trials, knows what was found so far in the run, and takes in findings.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Annotated, Any, Generic, Protocol

from typing_extensions import TypeVar

import tidegauge.experiments as package
from tidegauge.config.fields import DrainMax, Fields, MeasureTime, MessageCount, WarmUpMax, WarmUpMin, member_of
from tidegauge.errors import RunFailedError, TidegaugeError
from tidegauge.model.finding import Finding
from tidegauge.model.trial import LoadResult, LoadSpec, RateRule, ServerReuse, Spec, TrialResult, TrialSpec
from tidegauge.model.workload import LateReaders

Options = TypeVar("Options", bound=Fields)
Result = TypeVar("Result", bound=TrialResult)
Spec_contra = TypeVar("Spec_contra", bound=TrialSpec, contravariant=True, default=LoadSpec)
Result_co = TypeVar("Result_co", bound=TrialResult, covariant=True, default=LoadResult)


class TrialOptions(Fields):
    """Keys of an experiment made of loads. The warm-up ends between its bounds, as soon as figures are steady."""

    warm_up_min: WarmUpMin = 10.0
    warm_up_max: WarmUpMax = 60.0
    measure: MeasureTime = 60.0
    drain_max: DrainMax = 60.0

    def load(self, base: TrialSpec, msgs_per_s: float | None, rate_rule: RateRule) -> LoadSpec:
        """The trial with these times, at a rate; None: in a closed loop, or nobody knows yet."""
        shared = base.shared | {"measure_s": self.measure, "rate_rule": rate_rule}
        return LoadSpec(
            **shared,
            msgs_per_s=msgs_per_s,
            warmup_s_min=self.warm_up_min,
            warmup_s_max=max(self.warm_up_min, self.warm_up_max),
            drain_s_max=self.drain_max,
        )


class CountedTrialOptions(TrialOptions):
    """Keys of an experiment whose window may end with a number of messages; `measure` is then the longest it takes."""

    messages: MessageCount | None = None

    def load(self, base: TrialSpec, msgs_per_s: float | None, rate_rule: RateRule) -> LoadSpec:
        """The trial, at a rate for as long as so many messages take."""
        load = super().load(base, msgs_per_s, rate_rule)
        if self.messages is None:
            return load
        expected_s = self.messages / msgs_per_s if msgs_per_s else self.measure
        measure_s_max = self.measure if "measure" in self.model_fields_set else max(COUNTED_S_MAX, 2 * expected_s)
        return replace(
            load, messages=self.messages, measure_s=min(expected_s, measure_s_max), measure_s_max=measure_s_max
        )


COUNTED_S_MAX = 3600.0
"""How long a number of messages may take where nobody says it, or twice as long as its rate has it, if that is more."""


class ShortTrialOptions(TrialOptions):
    """Keys of an experiment made of several loads, or of phases, whose trials are shorter."""

    warm_up_min: WarmUpMin = 7.0
    warm_up_max: WarmUpMax = 20.0
    measure: MeasureTime = 20.0
    drain_max: DrainMax = 10.0


class PreconditionError(RunFailedError):
    """A trial can't be made because one that it builds on failed; the message says which. Others may go on."""


class Lab(Protocol[Spec_contra, Result_co]):
    """What a procedure works with: the run as it stands, and the means to go on with it, by trials of its kind."""

    @property
    def results(self) -> Sequence[TrialResult]:
        """Results of all trials of the run so far, in order; those of this step appear as they are measured."""

    @property
    def findings(self) -> Sequence[Finding]:
        """All findings of the run so far."""

    def run_trial(self, spec: Spec_contra) -> Result_co:
        """Carry out one trial: a planned one, or one made on the fly with a `trial_id` of its own.

        Raises:
            RunFailedError: the system or the worker failed.
        """

    def announce_decision(self, text: str, left: Sequence[Spec_contra] = ()) -> None:
        """Announce a decision as it is made, in a sentence, and the trials that are expected yet."""

    def record_finding(self, finding: Finding) -> None:
        """Store a finding and show it."""


@dataclass(frozen=True)
class Experiment(Generic[Options, Spec, Result]):
    """One kind of experiment, for one system in one block at a time (the plan interleaves systems).

    Attributes:
        name: as campaign files write it.
        summary: one line for help texts.
        options: the model of its own keys in a campaign.
        plan: from the options and what trials of all kinds have, the trials intended. An experiment that can't know how
            many it needs gives the ones it expects.
        run: carries them out, or as many others as the question takes. Raises `PreconditionError` when it can't begin;
            errors of `Lab.run_trial` pass through.
        objection: "" or why these options don't fit after the experiments named earlier in the campaign.
        question: what a search looks for, as a clause for its plan; "" of what is no search.
    """

    name: str
    summary: str
    options: type[Options]
    plan: Callable[[Options, TrialSpec], tuple[Spec, ...]]
    run: Callable[[Options, tuple[Spec, ...], Lab[Spec, Result]], None]
    objection: Callable[[Options, Sequence[str]], str] = lambda _options, _earlier: ""
    question: Callable[[Options], str] = lambda _options: ""


def run_each_trial(_options: Fields, trials: tuple[Spec, ...], lab: Lab[Spec, TrialResult]) -> None:
    """The procedure of an experiment that has nothing to decide."""
    for trial in trials:
        lab.run_trial(trial)


START_S = 10.0
NODE_START_S = 5.0
END_S = 4.0
SHARED_START_S = 2.0
"""Seconds that a deployment of one node and its worker typically take to be ready, each further node, and to end; and
for topics and clients alone, where servers are shared. For the estimate only."""
PARTITION_S = 0.01
"""Seconds to create and open a partition: 0.007 to 0.015 were seen (benchmarks/engine.md). For the estimate only."""


def seconds_expected(trial: TrialSpec) -> float:
    """An estimate for one trial: warm-ups tend to end soon after their minimum."""
    start_s = SHARED_START_S if trial.servers is ServerReuse.SHARED else START_S + NODE_START_S * (trial.nodes - 1)
    load = trial.workload
    topics_s = 0.0 if load.existing_topics else PARTITION_S * load.topics * load.partitions
    return start_s + topics_s + trial.measure_s + (_around_s(trial) if isinstance(trial, LoadSpec) else 0.0) + END_S


def trials_of_unknown_length(trials: Sequence[TrialSpec]) -> tuple[list[LoadSpec], list[LateReaders]]:
    """At rates that are found on the way: trials of a number of messages, and backlogs."""
    unknown = [trial for trial in trials if isinstance(trial, LoadSpec) and trial.msgs_per_s is None]
    counted = [trial for trial in unknown if trial.messages and trial.measure_s < trial.measure_s_max]
    return counted, [trial.late for trial in unknown if trial.late is not None]


def seconds_left(trials: Sequence[TrialSpec], ended: Collection[str], going: str, spent_s: float) -> float | None:
    """An estimate for all trials but those that have `ended`; in the one that is `going`, `spent_s` have gone by.

    One that takes longer than expected takes nothing from the others. None as long as one of them is of unknown length.
    """
    left = [trial for trial in trials if trial.trial_id not in ended]
    if any(trials_of_unknown_length(left)):
        return None
    return sum(max(0.0, seconds_expected(trial) - (spent_s if trial.trial_id == going else 0.0)) for trial in left)


def _around_s(trial: LoadSpec) -> float:
    """What warm-up and late readers take: building their backlog, reading it about as fast again as it was written.

    At a rate that is found on the way nobody knows; then it is as much as they may take to read it, for both.
    """
    warmup_s = trial.warmup_s_min + 0.25 * (trial.warmup_s_max - trial.warmup_s_min)
    if trial.late is None:
        return warmup_s
    building_s = trial.late.backlog_msgs / trial.msgs_per_s if trial.msgs_per_s else trial.late.chase_s_max
    return warmup_s + max(trial.measure_s, building_s) + min(trial.late.chase_s_max, building_s)


def ending_words(error: BaseException, system: str) -> str:
    """What ended a search before its time; it need not be the system that failed."""
    if isinstance(error, TidegaugeError):
        return f"a trial on {system} failed: {error.message}"
    return f"{type(error).__name__}: {error}" if isinstance(error, Exception) else "interrupted"


ServersChoice = Annotated[ServerReuse, member_of(ServerReuse)]
"""`fresh` or `shared`."""


@cache
def experiments() -> dict[str, Experiment[Any, Any, Any]]:
    """All experiments by name, sorted. Two of one name are a programming error."""
    by_name: dict[str, Experiment[Any, Any, Any]] = {}
    for info in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        experiment = getattr(module, "EXPERIMENT", None)
        if isinstance(experiment, Experiment):
            if experiment.name in by_name:
                raise ValueError(f"two experiments are called '{experiment.name}'")
            by_name[experiment.name] = experiment
    return dict(sorted(by_name.items()))
