"""`latency`: publish and end-to-end latency at a fixed rate, the same for every system compared (open loop).

A rate given as a share of the lowest peak is resolved once in a run, from the first usable peak of each system, rounded
to two significant digits, and then kept: for every system and every block, so that all trials face the same load.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tidegauge.config.fields import OfferedRate
from tidegauge.config.units import Rate, round_to_two_digits
from tidegauge.experiments.api import TrialResult, TrialSpec, Validity
from tidegauge.experiments.procedure import Experiment, Lab, PreconditionError, TrialOptions


class LatencyOptions(TrialOptions):
    """Keys of `latency` in a campaign."""

    rate: OfferedRate


def _plan(options: LatencyOptions, base: TrialSpec) -> tuple[TrialSpec, ...]:
    trial = replace(base, msgs_per_s=options.rate.msgs_per_s, rate_rule=str(options.rate))
    return (options.timed(trial),)


def _run(options: LatencyOptions, trials: tuple[TrialSpec, ...], lab: Lab) -> None:
    for trial in trials:
        lab.measure(replace(trial, msgs_per_s=resolve_rate(options.rate, trial.system, lab.results)))


def resolve_rate(rate: Rate, system: str, so_far: Sequence[TrialResult]) -> float:
    """Messages a second for `system`.

    Raises `PreconditionError` if the rate is a share of a peak and this system has no usable one: its latency at the
    others' rate would say nothing, since it may be above what this system can do.
    """
    if rate.msgs_per_s is not None:
        return rate.msgs_per_s
    peaks = first_peaks(so_far)
    if system not in peaks:
        raise PreconditionError(
            f"{system} has no measured peak in this run, so '{rate}' has no meaning for it.",
            "See why its peak trial failed, or give the rate in messages a second.",
        )
    for earlier in so_far:
        if earlier.spec.experiment == "latency" and earlier.spec.rate_rule == str(rate) and earlier.spec.msgs_per_s:
            return earlier.spec.msgs_per_s
    return round_to_two_digits(min(peaks.values()) * (rate.share_of_lowest_peak or 0.0))


def first_peaks(so_far: Sequence[TrialResult]) -> dict[str, float]:
    """The first usable peak (msg/s) of each system; an INVALID trial or one that moved nothing is not usable."""
    peaks: dict[str, float] = {}
    for result in so_far:
        usable = result.validity is not Validity.INVALID and result.msgs_per_s > 0
        if result.spec.experiment == "peak" and usable:
            peaks.setdefault(result.spec.system, result.msgs_per_s)
    return peaks


def _objection(options: LatencyOptions, earlier: Sequence[str]) -> str:
    if options.rate.share_of_lowest_peak is not None and "peak" not in earlier:
        return f"'{options.rate}' needs a peak experiment listed before this one; add 'peak', or give a rate like 20k"
    return ""


EXPERIMENT = Experiment(
    name="latency",
    summary="publish and end-to-end latency at a fixed rate, the same for all systems (open loop)",
    options=LatencyOptions,
    plan=_plan,
    run=_run,
    objection=_objection,
)
