"""Results as a search for a rate gets them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from campaign_doubles import spec_of
from simulated_systems import trial

from tidegauge.model.trial import LoadResult
from tidegauge.search.goals import Goal, Limit

ANY = Goal("no limit")
QUICK = Goal("quick", (Limit("response", "p99", 10.0), Limit("end-to-end", "p99.9", 50.0)))
SPEC = spec_of("max-throughput", "kafka@1", msgs_per_s=10_000.0, measure_s=20.0, drain_s_max=10.0)


def result(achieved: float = 10_000.0, growth: float = 0.0, **changes: Any) -> LoadResult:
    return trial(SPEC, achieved, growth, **changes)


def subscription(**changes: Any) -> LoadResult:
    base = result()
    return replace(base, subscriptions=(replace(base.subscriptions[0], **changes),))
