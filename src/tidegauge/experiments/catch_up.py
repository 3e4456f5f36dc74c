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


def _plan(options: ChaseOptions, base: TrialSpec) -> tuple[LoadSpec, ...]:
    return (options.trial(base, base.workload.subscriptions),)


def _answer(found: CatchUp, late: LateReaders) -> tuple[Sequence[str], dict[str, Cell]]:
    row: dict[str, Cell] = {
        "backlog, msgs": found.backlog_msgs,
        "drain, msg/s": found.drain_msgs_per_s,
        "MB/s": found.drain_bytes_per_s / 1e6,
        "peak read, msg/s": found.peak_read_msgs_per_s,
        "chase, s": found.chase_s,
        **{f"p99 {name}, ms": found.phase(name).response.p99_ms for name in PHASES},
    }
    return [chase_sentence(found, late.drained_share), publish_sentence(found)], row


EXPERIMENT = chase_experiment(
    name="catch-up",
    summary="how fast a backlog is read while producers go on, and the publish latency at that time",
    plan=_plan,
    answer=_answer,
)
