"""`mixed`: readers that keep up, beside one that reads a backlog: what the one does to the others.

The workload's subscriptions read all the time. One more on each topic reads nothing until a backlog waits for it, and
then from the beginning. Its own end-to-end times hold the wait and are kept out of the others' figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tidegauge.experiments.chasing import (
    ChaseOptions,
    chase_experiment,
    chase_sentence,
    publish_sentence,
    tailing_sentence,
)
from tidegauge.model.finding import Cell
from tidegauge.model.trial import CatchUp, LoadSpec, TrialSpec
from tidegauge.model.workload import PHASES, LateReaders


def _plan_trials(options: ChaseOptions, base: TrialSpec) -> tuple[LoadSpec, ...]:
    workload = replace(base.workload, subscriptions=base.workload.subscriptions + 1)
    return (options.trial(replace(base, workload=workload), 1),)


def _answer_of_mixed(catch_up: CatchUp, late: LateReaders) -> tuple[Sequence[str], dict[str, Cell]]:
    row: dict[str, Cell] = {f"publish p99 {name}, ms": catch_up.phase(name).response.p99_ms for name in PHASES}
    for name in PHASES:
        tailing = catch_up.phase(name).tailing_end_to_end
        row[f"tailing p99 {name}, ms"] = tailing.p99_ms if tailing else None
    row |= {"drain, msg/s": catch_up.drain_msgs_per_s, "chase, s": catch_up.chase_s}
    chase = f"the catch-up reader: {chase_sentence(catch_up, late.drained_share)}"
    return [publish_sentence(catch_up), tailing_sentence(catch_up), chase], row


EXPERIMENT = chase_experiment(
    name="mixed",
    summary="publish and tailing end-to-end latency while another reader catches up with a backlog",
    plan=_plan_trials,
    answer=_answer_of_mixed,
)
