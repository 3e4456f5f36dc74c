"""`max-throughput`: the highest rate that a system sustains, found by search and confirmed by a trial of its own.

The search is that of RFC 9971 (`tidegauge.search`). It begins where a closed loop gets to: with the `peak` of this run,
or with a short closed-loop trial of its own. Its trials may share servers; the confirmation always gets fresh ones.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from pydantic import Field, model_validator

from tidegauge.config.fields import AbsoluteRate, Duration, Fields, MeasureTime, Share, duration_between, share_between
from tidegauge.errors import TidegaugeError
from tidegauge.experiments.peak import first_peaks, lowest_by_system, rate_stands
from tidegauge.experiments.procedure import Experiment, Lab, ServersChoice, ShortTrialOptions, ending_words
from tidegauge.model.finding import Above, Cell, Finding, GoalFound, search_details
from tidegauge.model.trial import (
    AS_FAST_AS_IT_GOES,
    CONFIRMATION,
    SEARCHED,
    LoadResult,
    LoadSpec,
    ServerReuse,
    TrialSpec,
    Validity,
    point_words,
    trial_id_in_step,
)
from tidegauge.model.workload import Arrival
from tidegauge.numbers import count
from tidegauge.search.goals import Goal, GoalOutcome, Limit, bracket_words, goal_sentence
from tidegauge.statistics.figures import SUSTAINABLE

if TYPE_CHECKING:
    from tidegauge.search.sustained import Space, SustainedSearch

NAME = "max-throughput"
_EXPECTED = 7
"""Trials that a search for one goal takes on average; a plan shows as many."""
_COLD = 3.0
"""How much longer the warm-up on fresh servers may take."""
_BEGIN = (0.6, 0.9)
"""The first two rates as shares of what the closed loop reached."""
_REACH = (0.01, 4.0)
"""How far from it the search may go, where the campaign sets no bounds."""

LimitTime = Annotated[Duration, duration_between("100us", "10min")]


class LimitFields(Fields):
    """Latencies that must hold where a load counts as sustained."""

    response_p50_max: LimitTime | None = None
    response_p95_max: LimitTime | None = None
    response_p99_max: LimitTime | None = None
    response_p999_max: LimitTime | None = None
    end_to_end_p50_max: LimitTime | None = None
    end_to_end_p95_max: LimitTime | None = None
    end_to_end_p99_max: LimitTime | None = None
    end_to_end_p999_max: LimitTime | None = None

    def limits(self) -> tuple[Limit, ...]:
        """The limits that they describe."""
        limits = []
        for series, prefix in (("response", "response"), ("end-to-end", "end_to_end")):
            for percentile in ("p50", "p95", "p99", "p999"):
                limit_s = getattr(self, f"{prefix}_{percentile}_max")
                if limit_s is not None:
                    limits.append(Limit(series, percentile.replace("p999", "p99.9"), limit_s * 1000))
        return tuple(limits)


class GoalFields(LimitFields):
    """One goal of a search: a name, and the latencies that must hold."""

    name: Annotated[str, Field(min_length=1, max_length=40)]

    def goal(self) -> Goal:
        """The goal that they describe."""
        return Goal(self.name, self.limits())


class MaxThroughputOptions(ShortTrialOptions):
    """Keys of `max-throughput` in a campaign. `measure` is the length of a search's trial."""

    measure: Annotated[Duration, duration_between("8s", "1h")] = 20.0
    confirm: MeasureTime = 60.0
    min_rate: AbsoluteRate | None = None
    max_rate: AbsoluteRate | None = None
    goals: Annotated[list[GoalFields], Field(min_length=1, max_length=6)] = Field(
        default_factory=lambda: [GoalFields(name="no limit")]
    )
    width: Annotated[Share, share_between("0.5%", "50%")] = 0.05
    trials_max: Annotated[int, Field(ge=3, le=100)] = 15
    servers: ServersChoice = ServerReuse.SHARED

    @model_validator(mode="after")
    def _check_options(self) -> MaxThroughputOptions:
        if self.min_rate is not None and self.max_rate is not None and self.min_rate >= self.max_rate:
            raise ValueError("min-rate must be below max-rate")
        names = [goal.name for goal in self.goals]
        if len(set(names)) < len(names):
            raise ValueError(f"two goals have the same name: {', '.join(names)}")
        if self.confirm < self.measure:
            raise ValueError("confirm must be at least as long as measure")
        return self


def _plan_trials(options: MaxThroughputOptions, base: TrialSpec) -> tuple[LoadSpec, ...]:
    step = options.load(replace(base, exploratory=True), None, SEARCHED)
    searched = min(options.trials_max, _EXPECTED + 4 * (len(options.goals) - 1))
    trials = [
        _numbered_trial(replace(step, servers=options.servers), base.trial_id, number + 1) for number in range(searched)
    ]
    for number in range(len(options.goals)):
        # Fresh servers run cold code first, and what they owe from that time must be worked off before the window.
        warmup_s_max = _COLD * step.warmup_s_max
        confirmation = replace(step, measure_s=options.confirm, warmup_s_max=warmup_s_max, rate_rule=CONFIRMATION)
        trials.append(_numbered_trial(confirmation, base.trial_id, searched + number + 1, confirms=True))
    return tuple(trials)


def _numbered_trial(spec: LoadSpec, step_id: str, number: int, *, confirms: bool = False) -> LoadSpec:
    return replace(spec, trial_id=trial_id_in_step(step_id, number, confirms=confirms))


class _Trials:
    """Makes the trials of one search from the planned ones, and numbers them."""

    def __init__(self, options: MaxThroughputOptions, planned: tuple[LoadSpec, ...], lab: Lab) -> None:
        self.step_id = planned[0].step_id
        self.number = 0
        self._search, self._confirm = planned[0], planned[-1]
        self._lab = lab

    def run_closed_loop(self) -> LoadResult:
        """As fast as it goes, to learn where to search."""
        workload = replace(self._search.workload, arrival=Arrival.CLOSED_LOOP)
        return self._run_next_trial(replace(self._search, workload=workload, rate_rule=AS_FAST_AS_IT_GOES), None)

    def run_search_trial(self, msgs_per_s: float) -> LoadResult:
        """Makes one trial of the search."""
        return self._run_next_trial(self._search, msgs_per_s)

    def run_confirmation(self, msgs_per_s: float) -> LoadResult:
        """Makes a confirmation."""
        return self._run_next_trial(self._confirm, msgs_per_s, confirms=True)

    def announce(self, text: str, searches: int, confirmations: int) -> None:
        """Announce a decision, with the trials expected yet."""
        expected = [(self._search, False)] * searches + [(self._confirm, True)] * confirmations
        numbered = enumerate(expected, self.number + 1)
        self._lab.announce_decision(
            text,
            [_numbered_trial(spec, self.step_id, number, confirms=confirms) for number, (spec, confirms) in numbered],
        )

    def _run_next_trial(self, spec: LoadSpec, msgs_per_s: float | None, *, confirms: bool = False) -> LoadResult:
        self.number += 1
        trial = _numbered_trial(spec, self.step_id, self.number, confirms=confirms)
        return self._lab.run_trial(replace(trial, msgs_per_s=msgs_per_s))


def _run_trials(options: MaxThroughputOptions, planned: tuple[LoadSpec, ...], lab: Lab) -> None:
    # Loaded when a search begins: MLRsearch takes seconds to load, and a plan does without it.
    from tidegauge.search.sustained import Callbacks, SustainedSearch

    trials = _Trials(options, planned, lab)
    goals = [goal.goal() for goal in options.goals]
    search: SustainedSearch | None = None
    try:
        space, problem = _space_to_search(options, planned[0].system, trials, lab)
        if space is None:
            lab.record_finding(
                _search_finding(trials, planned[0], [GoalOutcome(goal, problem=problem) for goal in goals])
            )
            return
        fresh = planned[-1].servers is ServerReuse.FRESH and not planned[-1].attached
        callbacks = Callbacks(trials.run_search_trial, trials.run_confirmation, trials.announce, fresh)
        search = SustainedSearch(goals, space, options.trials_max * len(goals), callbacks, trials.number)
        outcomes = search.run()
    except BaseException as error:
        # What is known stays known, whatever ended the search.
        problem = ending_words(error, planned[0].system)
        outcomes_so_far = (
            search.unfinished(problem) if search else [GoalOutcome(goal, problem=problem) for goal in goals]
        )
        with contextlib.suppress(TidegaugeError):
            lab.record_finding(_search_finding(trials, planned[0], outcomes_so_far))
        raise
    lab.record_finding(_search_finding(trials, planned[0], outcomes))


def _space_to_search(options: MaxThroughputOptions, system: str, trials: _Trials, lab: Lab) -> tuple[Space | None, str]:
    """Where to search; None, and why, where that can't be known."""
    from tidegauge.search.sustained import Space

    low, high = options.min_rate, options.max_rate
    hint = first_peaks(lab.results).get(system)
    if hint is None and low is not None and high is not None:
        return Space(low, high, (low, math.sqrt(low * high)), options.width), ""
    measured = hint is None
    if hint is None:
        result = trials.run_closed_loop()
        hint = result.msgs_per_s
        if result.validity is Validity.INVALID and not rate_stands(result):
            return None, f"the closed-loop trial that shows where to search was INVALID: {result.reasons[0]}"
        if not hint:
            return (
                None,
                "in the closed-loop trial that shows where to search nothing was acknowledged while it measured",
            )
    low = low if low is not None else min(hint * _REACH[0], (high or math.inf) / 10)
    high = high if high is not None else max(hint * _REACH[1], low * 10)
    begin = tuple(min(high, max(low, hint * share)) for share in _BEGIN)
    if measured:
        words = f"In a closed loop {count(hint)} msg/s; the search begins at {count(begin[0])} msg/s."
        trials.announce(words, _EXPECTED, len(options.goals))
    return Space(low, high, (begin[0], begin[1]), options.width, max_given=options.max_rate is not None), ""


def _search_finding(trials: _Trials, spec: LoadSpec, outcomes: Sequence[GoalOutcome]) -> Finding:
    rate = outcomes[0].sustainable_msgs_per_s
    return Finding(
        finding_id=trials.step_id,
        experiment=NAME,
        system=spec.system,
        block=spec.block,
        decided=all(outcome.decided for outcome in outcomes),
        summary=tuple(goal_sentence(outcome, trials.number) for outcome in outcomes),
        rows=tuple(_row_of_goal(outcome) for outcome in outcomes),
        details=search_details(trials.number, [_goal_found(outcome) for outcome in outcomes]),
        # The first goal's rate stands for the search, as it does for experiments that build on it.
        figures={} if rate is None else {SUSTAINABLE: rate},
    )


def _row_of_goal(outcome: GoalOutcome) -> dict[str, Cell]:
    confirmed = outcome.confirmation
    usable = confirmed is not None and confirmed.validity is not Validity.INVALID
    return {
        "goal": outcome.goal.name,
        "msg/s": outcome.sustainable_msgs_per_s,
        "bracket, msg/s": bracket_words(outcome.lower_msgs_per_s, outcome.upper_msgs_per_s),
        "limited by": outcome.above.kind if outcome.above and outcome.decided else None,
        "response p99, ms": confirmed.response.p99_ms if confirmed and usable else None,
        "verdict": "decided" if outcome.decided else "NOT DECIDED",
    }


def _goal_found(outcome: GoalOutcome) -> GoalFound:
    above, confirmed = outcome.above, outcome.confirmation
    return GoalFound(
        goal=outcome.goal.name,
        limits=tuple(map(str, outcome.goal.limits)),
        decided=outcome.decided,
        sustainable_msgs_per_s=outcome.sustainable_msgs_per_s,
        lower_msgs_per_s=outcome.lower_msgs_per_s,
        upper_msgs_per_s=outcome.upper_msgs_per_s,
        above=Above(above.kind, above.clause, above.outcome.value) if above else None,
        confirmation_trial_id=confirmed.spec.trial_id if confirmed else None,
        confirmation_mb_per_s=confirmed.mb_per_s if confirmed else None,
        stepped_down=outcome.stepped_down,
        problem=outcome.problem,
        remark=outcome.remark,
    )


def first_sustainable(findings: Sequence[Finding]) -> dict[str, float]:
    """The first confirmed rate (msg/s) of each system, of the goal that its search lists first.

    One that is only a lower limit ("at least") counts too: the system sustains it. Of several variants the lowest.
    """
    rates: dict[tuple[str, str], float] = {}
    for finding in findings:
        if finding.experiment == NAME and finding.goals and (rate := finding.goals[0].sustainable_msgs_per_s):
            rates.setdefault((finding.system, point_words(finding.point)), rate)
    return lowest_by_system(rates)


def _question(options: MaxThroughputOptions) -> str:
    """What is looked for: by each goal."""
    return f"the highest rate that is sustained: {'; '.join(str(goal.goal()) for goal in options.goals)}"


EXPERIMENT = Experiment(
    name=NAME,
    summary="the highest rate that is sustained, by search and confirmation (RFC 9971), within limits of latency",
    options=MaxThroughputOptions,
    plan=_plan_trials,
    question=_question,
    run=_run_trials,
)
