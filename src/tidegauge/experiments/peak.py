"""`peak`: how fast a system goes when it is never left idle (closed loop, bounded in flight).

What it is not: a sustainable rate. Producers wait for the system, so a stall sends less instead of showing as latency
(coordinated omission by construction), and consumers may fall behind meanwhile. Its latencies are shown as closed-loop
and are never compared with those at a fixed rate. See docs/methodology.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tidegauge.experiments.procedure import CountedTrialOptions, Experiment, run_each_trial
from tidegauge.model.disturbance import Harm
from tidegauge.model.reason import ReasonKind
from tidegauge.model.trial import (
    AS_FAST_AS_IT_GOES,
    LoadResult,
    LoadSpec,
    TrialResult,
    TrialSpec,
    Validity,
    point_words,
)
from tidegauge.model.workload import Arrival
from tidegauge.plain import grouped


def _plan_trials(options: CountedTrialOptions, base: TrialSpec) -> tuple[LoadSpec, ...]:
    closed_loop = replace(base, workload=replace(base.workload, arrival=Arrival.CLOSED_LOOP))
    return (options.load(closed_loop, None, AS_FAST_AS_IT_GOES),)


def rate_stands(result: LoadResult) -> bool:
    """Whether the rate of acknowledgement is the system's: also where only the receiving side was the generator's."""
    if any(disturbance.harm is Harm.INVALID for disturbance in result.disturbances):
        return False
    only_receiving = {reason.kind for reason in result.reasons} == {ReasonKind.BUSY_CONSUMER}
    return result.msgs_per_s > 0 and (result.validity is not Validity.INVALID or only_receiving)


def first_peaks(so_far: Sequence[TrialResult]) -> dict[str, float]:
    """The first peak (msg/s) of each system whose rate stands; of several variants of it the lowest."""
    peaks: dict[tuple[str, str], float] = {}
    for result in so_far:
        if isinstance(result, LoadResult) and result.spec.experiment == "peak" and rate_stands(result):
            peaks.setdefault((result.spec.system, point_words(result.spec.point)), result.msgs_per_s)
    return lowest_by_system(peaks)


def lowest_by_system(rates: Mapping[tuple[str, str], float]) -> dict[str, float]:
    """The lowest rate of each system, of rates by system and point."""
    each = grouped((system, rate) for (system, _), rate in rates.items())
    return {system: min(of_system) for system, of_system in each.items()}


EXPERIMENT = Experiment(
    name="peak",
    summary="throughput with producers that never wait for a schedule (closed loop); not a sustainable rate",
    options=CountedTrialOptions,
    plan=_plan_trials,
    run=run_each_trial,
)
