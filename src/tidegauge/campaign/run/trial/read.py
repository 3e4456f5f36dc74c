"""A trial that sends nothing: consumers read what others have sent."""

from __future__ import annotations

import time

from tidegauge.campaign.run.figures import SECOND_NS, Follower
from tidegauge.campaign.run.running_trial import RunningTrial
from tidegauge.campaign.run.trial.result import read_result
from tidegauge.campaign.run.trial.window import WindowProcedure, follow_trial, metering_cpu
from tidegauge.campaign.run.witnessing import level_at_end
from tidegauge.model.level import LevelFinding
from tidegauge.model.load import TotalFigures
from tidegauge.model.trial import ReadResult, ReadSpec

_FIRST_S = 15.0
"""How long the first message may take: consumers of a large group must find their partitions first."""


class ReadProcedure(WindowProcedure[ReadSpec, ReadResult]):
    """A trial that sends nothing: consumers read what others have sent."""

    def carry_out_phases(
        self, trial: RunningTrial[ReadSpec], level: LevelFinding, started_at: str
    ) -> tuple[ReadResult, TotalFigures]:
        """Let the consumers read until the time is up, or nothing has come for `spec.drain_s_max`."""
        spec, worker = trial.spec, trial.worker
        begin_ns = worker.start(0.0)
        worker.set_window(begin_ns, 0)
        trial.use_window(begin_ns)
        trial.phase("read", "what is in the topics, then what comes", spec.measure_s)
        with follow_trial(trial, begin_ns) as follower:
            with metering_cpu(trial) as cpu:
                # Several workers begin a little later, and what was read before is in no window.
                follower.follow_until(begin_ns)
                worker.resume_consumers([])
                _await_idle(trial, follower, begin_ns + round(spec.measure_s * SECOND_NS))
                until_ns = time.monotonic_ns()
                worker.set_window(begin_ns, until_ns)
                trial.use_window(begin_ns, until_ns)
            worker.stop_producers(0.0)
            totals = worker.totals()
            level = level_at_end(trial, level)
            worker.finish(delete_topics=False)
            follower.finish()
        return read_result(spec, totals, started_at, level, (cpu.servers_s, cpu.control_s)), totals


def _await_idle(trial: RunningTrial[ReadSpec], follower: Follower, limit_ns: int) -> None:
    received, since_s = 0, time.monotonic()
    while time.monotonic_ns() < limit_ns:
        follower.follow_until(min(limit_ns, time.monotonic_ns() + SECOND_NS // 4))
        total = sum(sub.received for sub in trial.worker.counts().subscriptions)
        if total > received:
            received, since_s = total, time.monotonic()
        else:
            patience_s = trial.spec.drain_s_max if received else max(_FIRST_S, trial.spec.drain_s_max)
            if time.monotonic() - since_s > patience_s:
                return
