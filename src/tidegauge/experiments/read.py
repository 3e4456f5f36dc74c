"""`read`: how fast consumers read topics that others have filled, or keep filling (`producers: 0`, `existing-topics`).

Consumers begin at the oldest message, all at the same moment, and read as fast as they can; once they have everything
that was there, at the rate at which others send. Of messages that Tidegauge did not make nothing is claimed but their
number and size. There is no warm-up: what is read during it could not be read again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from tidegauge.config.fields import Duration, Fields, MeasureTime, duration_between
from tidegauge.experiments.procedure import Experiment, run_each_trial
from tidegauge.model.trial import AS_FAST_AS_IT_GOES, ReadSpec, TrialSpec
from tidegauge.model.workload import Arrival


class ReadOptions(Fields):
    """Keys of `read` in a campaign. It ends after `measure`, or when nothing has come for `idle`."""

    measure: MeasureTime = 60.0
    idle: Annotated[Duration, duration_between("1s", "1h")] = 5.0


def _plan_trials(options: ReadOptions, base: TrialSpec) -> tuple[ReadSpec, ...]:
    workload = replace(base.workload, arrival=Arrival.CLOSED_LOOP)
    base = replace(base, workload=workload, measure_s=options.measure, rate_rule=AS_FAST_AS_IT_GOES)
    return (ReadSpec(**base.shared, drain_s_max=options.idle),)


EXPERIMENT = Experiment(
    name="read",
    summary="how fast consumers read topics that others fill (with 'producers: 0' and 'existing-topics')",
    options=ReadOptions,
    plan=_plan_trials,
    run=run_each_trial,
)
