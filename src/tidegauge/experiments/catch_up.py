"""`catch-up`: how fast a backlog is read away while producers go on, and what that does to those who publish.

All subscriptions are made at the start, so that nothing is lost, and read nothing until the backlog is built; then they
start from the beginning. See docs/methodology.md for what can mislead.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidegauge.experiments.chasing import ChaseOptions, chase_experiment, chase_sentence, publish_sentence
from tidegauge.model.finding import Cell
from tidegauge.model.trial import CatchUp, LoadSpec, TrialSpec
from tidegauge.model.workload import PHASES, LateReaders


def _plan_trials(options: ChaseOptions, base: TrialSpec) -> tuple[LoadSpec, ...]:
    return (options.trial(base, base.workload.subscriptions),)


def _answer_of_catch_up(catch_up: CatchUp, late: LateReaders) -> tuple[Sequence[str], dict[str, Cell]]:
    row: dict[str, Cell] = {
        "backlog, msgs": catch_up.backlog_msgs,
        "drain, msg/s": catch_up.drain_msgs_per_s,
        "MB/s": catch_up.drain_bytes_per_s / 1e6,
        "peak read, msg/s": catch_up.peak_read_msgs_per_s,
        "chase, s": catch_up.chase_s,
        **{f"p99 {name}, ms": catch_up.phase(name).response.p99_ms for name in PHASES},
    }
    return [chase_sentence(catch_up, late.drained_share), publish_sentence(catch_up)], row


EXPERIMENT = chase_experiment(
    name="catch-up",
    summary="how fast a backlog is read while producers go on, and the publish latency at that time",
    plan=_plan_trials,
    answer=_answer_of_catch_up,
)
