"""Trials that only read, on doubles."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from campaign_doubles import subscription, window
from trial_scenes import SPEC

from tidegauge.model.level import LevelFinding
from tidegauge.model.trial import ReadSpec
from tidegauge.model.workload import Workload

LEVEL = LevelFinding(3, ("as found",))
OTHERS_TOPICS = Workload(producers=0, existing_topics=("orders",))
READING = ReadSpec(
    **replace(SPEC, workload=OTHERS_TOPICS, experiment="read", attached=True).shared, drain_s_max=SPEC.drain_s_max
)
NOTHING = window(0, 0, 0, response=b"", service=b"", delay=b"", own_lag=b"")


def reader(received: int, **changes: Any) -> Any:
    first, last = 10**9, 3 * 10**9
    figures = {"first_received_mono_ns": first, "last_received_mono_ns": last, "received_bytes": received * 500}
    return subscription(received=received, window_received=received, end_to_end=b"", **{**figures, **changes})
