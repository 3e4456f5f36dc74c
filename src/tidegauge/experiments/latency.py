"""`latency`: publish and end-to-end latency at a fixed rate, the same for every system compared (open loop).

A rate given as a share of the lowest peak or sustainable rate is resolved once in a run, from the first usable one of
each system, rounded to two significant digits, and then kept: for every system and every block, so that all trials face
the same load.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from tidegauge.config.fields import RateOrSchedule
from tidegauge.config.units import Rate, ScheduleRule, round_to_two_digits
from tidegauge.experiments.max_throughput import first_sustainable
from tidegauge.experiments.peak import first_peaks
from tidegauge.experiments.procedure import CountedTrialOptions, Experiment, Lab, PreconditionError
from tidegauge.model.finding import Finding
from tidegauge.model.trial import LoadSpec, RateRule, TrialResult, TrialSpec
from tidegauge.numbers import trimmed

MEASURE_S_MAX = 30 * 86_400.0


class LatencyOptions(CountedTrialOptions):
    """Keys of `latency` in a campaign."""

    rate: RateOrSchedule


def _plan_trials(options: LatencyOptions, base: TrialSpec) -> tuple[LoadSpec, ...]:
    rate = options.rate
    if isinstance(rate, Rate):
        return (options.load(base, rate.msgs_per_s, rule_of_rate(rate)),)
    absolute = all(phase.msgs_per_s is not None for phase in rate.rates)
    trial = options.load(base, None, RateRule(str(rate), is_share=not absolute))
    if absolute:
        trial = _with_schedule(trial, rate, lambda phase: phase.msgs_per_s or 0.0)
    return (trial if rate.burst else replace(trial, measure_s=rate.length_s),)


def _with_schedule(trial: LoadSpec, rule: ScheduleRule, msgs_per_s: Callable[[Rate], float]) -> LoadSpec:
    """The trial under a schedule, after a warm-up at a rate of its own."""
    schedule = rule.resolved(msgs_per_s)
    return replace(trial, schedule=schedule, msgs_per_s=schedule.warm_up_msgs_per_s)


def _run_trials(options: LatencyOptions, trials: tuple[LoadSpec, ...], lab: Lab) -> None:
    for trial in trials:
        resolved = partial(resolve_rate, system=trial.system, so_far=lab.results, findings=lab.findings)
        if isinstance(options.rate, ScheduleRule):
            planned, first_load = (
                _with_schedule(trial, options.rate, resolved),
                _first_load_by_rule(trial.rate_rule, lab.results),
            )
            lab.run_trial(
                replace(planned, schedule=first_load.schedule, msgs_per_s=first_load.msgs_per_s)
                if first_load
                else planned
            )
        else:
            lab.run_trial(_at_rate(options, trial, resolved(options.rate)))


def _at_rate(options: LatencyOptions, trial: LoadSpec, msgs_per_s: float) -> LoadSpec:
    """The trial at a rate that was not known before, from which it follows how long a number of messages takes."""
    at_rate = options.load(trial, msgs_per_s, trial.rate_rule)
    return replace(trial, msgs_per_s=msgs_per_s, measure_s=at_rate.measure_s, measure_s_max=at_rate.measure_s_max)


def rule_of_rate(rate: Rate) -> RateRule:
    """A rate as trials have it."""
    return RateRule(str(rate), is_share=rate.msgs_per_s is None)


def resolve_rate(rate: Rate, system: str, so_far: Sequence[TrialResult], findings: Sequence[Finding] = ()) -> float:
    """Messages a second for `system`.

    Raises `PreconditionError` if the rate is a share of what was found before and this system has no usable figure: its
    latency at the others' rate would say nothing, since it may be above what this system can do.
    """
    if rate.msgs_per_s is not None:
        return rate.msgs_per_s
    share, figure_words, rates = _share_of(rate, so_far, findings)
    if system not in rates:
        raise PreconditionError(
            f"{system} has no measured {figure_words} in this run, so '{rate}' has no meaning for it.",
            f"See why its {figure_words} was not found, or give the rate in messages a second.",
        )
    first_load = _first_load_by_rule(rule_of_rate(rate), so_far)
    return (first_load and first_load.msgs_per_s) or round_to_two_digits(min(rates.values()) * share)


def _first_load_by_rule(rule: RateRule, so_far: Sequence[TrialResult]) -> LoadSpec | None:
    """The first load of the run by this rule, whose rates hold for all others."""
    loads = (result.spec for result in so_far if isinstance(result.spec, LoadSpec))
    return next((load for load in loads if load.rate_rule == rule and load.msgs_per_s), None)


def _share_of(
    rate: Rate, so_far: Sequence[TrialResult], findings: Sequence[Finding]
) -> tuple[float, str, dict[str, float]]:
    """The share, what it is a share of, and that of each system."""
    if rate.share_of_lowest_sustainable is not None:
        return rate.share_of_lowest_sustainable, "sustainable rate", first_sustainable(findings)
    return rate.share_of_lowest_peak or 0.0, "peak", first_peaks(so_far)


def rate_objection(rate: Rate, earlier: Sequence[str]) -> str:
    """ "" or which experiment this rate needs before it."""
    needed = ""
    if rate.share_of_lowest_peak is not None:
        needed = "peak"
    elif rate.share_of_lowest_sustainable is not None:
        needed = "max-throughput"
    if not needed or needed in earlier:
        return ""
    return f"'{rate}' needs a {needed} experiment listed before this one; add '{needed}', or give a rate like 20k"


def _objection_to_options(options: LatencyOptions, earlier: Sequence[str]) -> str:
    rule = options.rate
    if isinstance(rule, ScheduleRule):
        if options.messages:
            return "'messages' can't be given beside a schedule, which says how long is measured"
        if not rule.burst and "measure" in options.model_fields_set:
            return "'measure' can't be given beside steps or a ramp: their lengths say how long is measured"
        if rule.burst and options.measure < rule.length_s:
            return f"'measure' must be at least 'every' of the burst, {trimmed(rule.length_s)} s"
        if rule.length_s > MEASURE_S_MAX:
            return f"the schedule is longer than {trimmed(MEASURE_S_MAX / 86_400)} days"
    rates = rule.rates if isinstance(rule, ScheduleRule) else (rule,)
    return next(filter(None, (rate_objection(rate, earlier) for rate in rates)), "")


EXPERIMENT = Experiment(
    name="latency",
    summary="publish and end-to-end latency at a rate or a schedule of rates, the same for all systems (open loop)",
    options=LatencyOptions,
    plan=_plan_trials,
    run=_run_trials,
    objection=_objection_to_options,
)
