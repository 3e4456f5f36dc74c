"""`sizing`: the smallest number of partitions, clients or load generators that sustains a rate, and its confirmation.

The search is `tidegauge.search.smallest`: it doubles, then halves, since more is taken to sustain whatever fewer do.
Its trials may share servers; the confirmation always gets fresh ones.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from enum import StrEnum
from typing import Annotated

from pydantic import Field, model_validator

from tidegauge.config.fields import AbsoluteRate, Duration, MeasureTime, duration_between, member_of
from tidegauge.errors import TidegaugeError
from tidegauge.experiments.max_throughput import LimitFields
from tidegauge.experiments.procedure import Experiment, Lab, ServersChoice, ShortTrialOptions, ending_words
from tidegauge.model.finding import COUNTED, Cell, Finding
from tidegauge.model.trial import (
    CONFIRMATION,
    LoadResult,
    LoadSpec,
    RateRule,
    ServerReuse,
    TrialSpec,
    Validity,
    trial_id_in_step,
)
from tidegauge.numbers import count, plural, trimmed
from tidegauge.search.goals import Goal, GoalVerdict, PassFail, doubt_of_confirmation
from tidegauge.search.smallest import Range, SizeCallbacks, SizeOutcome, SmallestSearch
from tidegauge.statistics.figures import SMALLEST

NAME = "sizing"
_COLD = 3.0
"""How much longer the warm-up on fresh servers may take."""


class Sized(StrEnum):
    """What is counted."""

    PARTITIONS = "partitions"
    PRODUCERS = "producers"
    CONSUMERS = "consumers"
    LOAD_GENERATORS = "load-generators"

    @property
    def singular(self) -> str:
        """One of them."""
        return self.value.removesuffix("s").replace("-", " ")

    def number_in(self, spec: LoadSpec) -> int:
        """How many a trial has."""
        load = spec.workload
        numbers = {Sized.PARTITIONS: load.partitions, Sized.PRODUCERS: load.producers, Sized.CONSUMERS: load.consumers}
        return numbers.get(self, spec.generators)

    def with_number(self, spec: LoadSpec, number: int) -> LoadSpec:
        """The trial with so many of each topic, of consumers of each subscription, of load generators in all."""
        match self:
            case Sized.LOAD_GENERATORS:
                return replace(spec, generators=number)
            case Sized.PARTITIONS:
                workload = replace(spec.workload, partitions=number)
            case Sized.PRODUCERS:
                workload = replace(spec.workload, producers=number)
            case Sized.CONSUMERS:
                workload = replace(spec.workload, consumers=number)
        return replace(spec, workload=workload)


class SizingOptions(ShortTrialOptions, LimitFields):
    """Keys of `sizing` in a campaign. `measure` is the length of a search's trial; limits of latency must hold too."""

    of: Annotated[Sized, member_of(Sized)]
    rate: AbsoluteRate
    smallest: Annotated[int, Field(ge=1, le=10_000)] = 1
    largest: Annotated[int, Field(ge=2, le=10_000)]
    measure: Annotated[Duration, duration_between("8s", "1h")] = 20.0
    confirm: MeasureTime = 60.0
    servers: ServersChoice = ServerReuse.SHARED

    @model_validator(mode="after")
    def _check_options(self) -> SizingOptions:
        if self.smallest >= self.largest:
            raise ValueError("smallest must be below largest")
        if self.confirm < self.measure:
            raise ValueError("confirm must be at least as long as measure")
        return self


def _plan_trials(options: SizingOptions, base: TrialSpec) -> tuple[LoadSpec, ...]:
    """As many as a search takes that never repeats one, each as large as it may become: memory must suffice for it."""
    rule = RateRule(f"{trimmed(options.rate)} msg/s")
    step = options.of.with_number(options.load(replace(base, exploratory=True), options.rate, rule), options.largest)
    searched = (options.largest - options.smallest + 1).bit_length() + 1
    trials = [
        replace(step, servers=options.servers, trial_id=trial_id_in_step(base.trial_id, number + 1))
        for number in range(searched)
    ]
    confirmation = replace(
        step,
        measure_s=options.confirm,
        # Fresh servers run cold code first, and what they owe from that time must be worked off before the window.
        warmup_s_max=_COLD * step.warmup_s_max,
        rate_rule=CONFIRMATION,
        trial_id=trial_id_in_step(base.trial_id, searched + 1, confirms=True),
    )
    return (*trials, confirmation)


class _SizedTrials:
    """Makes the trials of one search from the planned ones, and numbers them. `sizes`: each trial with its number."""

    def __init__(self, options: SizingOptions, planned: tuple[LoadSpec, ...], lab: Lab) -> None:
        self.step_id = planned[0].step_id
        self.results: list[tuple[int, LoadResult]] = []
        self._options, self._search, self._confirm, self._lab = options, planned[0], planned[-1], lab

    def run_search_trial(self, number: int) -> LoadResult:
        """A trial of the search."""
        return self._run_next_trial(self._search, number, confirms=False)

    def run_confirmation(self, number: int) -> LoadResult:
        """A confirmation."""
        return self._run_next_trial(self._confirm, number, confirms=True)

    def announce(self, text: str, searches: int, confirmations: int) -> None:
        """Announce a decision about a number, with the trials expected yet."""
        expected = [(self._search, False)] * searches + [(self._confirm, True)] * confirmations
        left = [
            replace(spec, trial_id=trial_id_in_step(self.step_id, number, confirms=confirms))
            for number, (spec, confirms) in enumerate(expected, len(self.results) + 1)
        ]
        self._lab.announce_decision(f"{self._options.of.value}: {text}", left)

    def _run_next_trial(self, spec: LoadSpec, number: int, *, confirms: bool) -> LoadResult:
        trial_id = trial_id_in_step(self.step_id, len(self.results) + 1, confirms=confirms)
        result = self._lab.run_trial(replace(self._options.of.with_number(spec, number), trial_id=trial_id))
        self.results.append((number, result))
        return result


def _run_trials(options: SizingOptions, planned: tuple[LoadSpec, ...], lab: Lab) -> None:
    trials = _SizedTrials(options, planned, lab)
    callbacks = SizeCallbacks(trials.run_search_trial, trials.run_confirmation, trials.announce)
    search = SmallestSearch(Range(options.smallest, options.largest), Goal("sustained", options.limits()), callbacks)
    try:
        outcome = search.run()
    except BaseException as error:
        # What is known stays known, whatever ended the search.
        problem = ending_words(error, planned[0].system)
        with contextlib.suppress(TidegaugeError):
            lab.record_finding(_size_finding(options, planned[0], trials, search, SizeOutcome(problem=problem)))
        raise
    lab.record_finding(_size_finding(options, planned[0], trials, search, outcome))


def _size_finding(
    options: SizingOptions, spec: LoadSpec, trials: _SizedTrials, search: SmallestSearch, outcome: SizeOutcome
) -> Finding:
    confirmed = outcome.confirmation
    return Finding(
        finding_id=trials.step_id,
        experiment=NAME,
        system=spec.system,
        block=spec.block,
        decided=outcome.decided,
        summary=(_answer_sentence(options, outcome, len(trials.results)),),
        rows=tuple(
            _row_of_number(options, number, verdict, outcome) for number, verdict in sorted(search.tried.items())
        ),
        details={
            COUNTED: options.of.value,
            "rate_msgs_per_s": options.rate,
            "limits": [str(limit) for limit in options.limits()],
            "smallest": outcome.smallest,
            "failed": outcome.failed,
            "why_failed": outcome.verdict.clause if outcome.verdict else "",
            "problem": outcome.problem,
            "trial_id": confirmed.spec.trial_id if confirmed else None,
        },
        figures={} if outcome.smallest is None else {SMALLEST: float(outcome.smallest)},
    )


def _question(options: SizingOptions) -> str:
    """What is looked for, among which numbers."""
    numbers = f"{options.smallest:,} to {options.largest:,}"
    return f"the smallest number of {options.of.value} ({numbers}) that sustains {_load_words(options)}"


def _load_words(options: SizingOptions) -> str:
    return ", ".join((f"{count(options.rate)} msg/s", *map(str, options.limits())))


def _answer_sentence(options: SizingOptions, outcome: SizeOutcome, trials: int) -> str:
    """The smallest number that was confirmed, that the next smaller failed, and what was assumed."""
    what, load = options.of, _load_words(options)
    made = plural(trials, "trial")
    if not outcome.decided:
        return f"the smallest number of {what.value} that sustains {load} is NOT DECIDED: {outcome.problem} ({made})"
    if outcome.smallest is None or outcome.confirmation is None:
        clause = f": {outcome.verdict.clause}" if outcome.verdict else ""
        most = plural(options.largest, what.singular)
        return f"not even {most}, the most that was asked for, sustain {load}{clause} ({made})"
    parts = [
        f"{plural(outcome.smallest, what.singular)} at least for {load}, "
        f"confirmed over {trimmed(outcome.confirmation.measured_s)} s"
    ]
    if outcome.failed is None:
        parts.append("fewer were not asked for")
    else:
        clause = f": {outcome.verdict.clause}" if outcome.verdict else ""
        parts.append(f"{outcome.failed:,} failed{clause}")
    if outcome.stepped_up:
        parts.append(f"{plural(outcome.stepped_up, 'smaller number')} passed the search and failed the confirmation")
    if doubt := doubt_of_confirmation(outcome.confirmation):
        parts.append(doubt)
    return f"{'; '.join(parts)} ({made}; that more sustain what fewer do is assumed)"


def _row_of_number(options: SizingOptions, number: int, verdict: GoalVerdict, outcome: SizeOutcome) -> dict[str, Cell]:
    state = "sustained" if verdict.outcome is PassFail.PASS else f"failed: {verdict.clause}"
    confirmed = outcome.confirmation if number == outcome.smallest else None
    return {
        options.of.value: f"{number:,}",
        "state": f"{state}, confirmed" if confirmed else state,
        "response p99, ms": confirmed.response.p99_ms
        if confirmed and confirmed.validity is not Validity.INVALID
        else None,
    }


EXPERIMENT = Experiment(
    name=NAME,
    summary="the smallest number of partitions, clients or load generators that sustains a rate, confirmed",
    options=SizingOptions,
    plan=_plan_trials,
    run=_run_trials,
    question=_question,
)
