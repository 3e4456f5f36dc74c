"""`peak`: how fast a system goes when it is never left idle (closed loop, bounded in flight).

What it is not: a sustainable rate. Producers wait for the system, so a stall sends less instead of showing as latency
(coordinated omission by construction), and consumers may fall behind meanwhile. Its latencies are shown as closed-loop
and are never compared with those at a fixed rate. See docs/methodology.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tidegauge.config.fields import DrainMax, Fields, MeasureTime, WarmUpMax, WarmUpMin
from tidegauge.experiments.api import Measure, TrialResult, TrialSpec
from tidegauge.experiments.procedure import Experiment
from tidegauge.workload.model import Arrival


class PeakOptions(Fields):
    """Keys of `peak` in a campaign. The warm-up ends between its two bounds, as soon as figures are steady."""

    warm_up_min: WarmUpMin = 10.0
    warm_up_max: WarmUpMax = 60.0
    measure: MeasureTime = 60.0
    drain_max: DrainMax = 60.0


def _plan(options: PeakOptions, base: TrialSpec) -> tuple[TrialSpec, ...]:
    trial = replace(
        base,
        workload=replace(base.workload, arrival=Arrival.CLOSED_LOOP),
        msgs_per_s=None,
        warmup_s_min=options.warm_up_min,
        warmup_s_max=max(options.warm_up_min, options.warm_up_max),
        measure_s=options.measure,
        drain_s_max=options.drain_max,
        rate_rule="as fast as it goes",
    )
    return (trial,)


def _run(
    _options: PeakOptions, trials: tuple[TrialSpec, ...], _so_far: Sequence[TrialResult], measure: Measure
) -> list[TrialResult]:
    return [measure(trial) for trial in trials]


EXPERIMENT = Experiment(
    name="peak",
    summary="throughput with producers that never wait for a schedule (closed loop); not a sustainable rate",
    options=PeakOptions,
    plan=_plan,
    run=_run,
)
