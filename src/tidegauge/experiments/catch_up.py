"""`catch-up`: how fast a backlog is read away while producers go on, and what that does to those who publish.

All subscriptions are made at the start, so that nothing is lost, and read nothing until the backlog is built; then they
start from the beginning. See docs/methodology.md for what can mislead.
"""

from __future__ import annotations

from tidegauge.experiments.chasing import ChaseOptions, chase_sentence, finding, measured, objection, publish_sentence
from tidegauge.experiments.procedure import Experiment, Lab
from tidegauge.model.finding import Cell
from tidegauge.model.trial import CatchUp, LoadSpec, TrialSpec
from tidegauge.model.workload import PHASES

NAME = "catch-up"


class CatchUpOptions(ChaseOptions):
    """Keys of `catch-up` in a campaign."""


def _plan(options: CatchUpOptions, base: TrialSpec) -> tuple[LoadSpec, ...]:
    return (options.trial(base, base.workload.subscriptions),)


def _run(options: CatchUpOptions, trials: tuple[LoadSpec, ...], lab: Lab) -> None:
    for trial in trials:
        result, found = measured(options, trial, lab)
        lab.found(finding(result, found, [chase_sentence(found), publish_sentence(found)], _row(found)))


def _row(found: CatchUp) -> dict[str, Cell]:
    return {
        "backlog, msgs": found.backlog_msgs,
        "drain, msg/s": found.drain_msgs_per_s,
        "MB/s": found.drain_bytes_per_s / 1e6,
        "peak read, msg/s": found.peak_read_msgs_per_s,
        "chase, s": found.chase_s,
        **{f"p99 {name}, ms": found.phase(name).response.p99_ms for name in PHASES},
    }


EXPERIMENT = Experiment(
    name=NAME,
    summary="how fast a backlog is read while producers go on, and the publish latency at that time",
    options=CatchUpOptions,
    plan=_plan,
    run=_run,
    objection=objection,
)
