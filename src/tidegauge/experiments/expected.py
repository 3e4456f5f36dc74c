"""How long trials take, by estimate, before they run."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tidegauge.model.trial import Servers, TrialSpec

START_S = 10.0
NODE_START_S = 5.0
END_S = 4.0
SHARED_START_S = 2.0
"""Seconds that a deployment of one node and its worker typically take to be ready, each further node, and to end; and
for topics and clients alone, where servers are shared. For the estimate only."""
PARTITION_S = 0.01
"""Seconds to create and open a partition: 0.007 to 0.015 were seen (benchmarks/engine.md). For the estimate only."""


def seconds_expected(trial: TrialSpec) -> float:
    """An estimate for one trial: warm-ups tend to end soon after their minimum."""
    warmup_s = trial.warmup_s_min + 0.25 * (trial.warmup_s_max - trial.warmup_s_min)
    start_s = SHARED_START_S if trial.servers is Servers.SHARED else START_S + NODE_START_S * (trial.nodes - 1)
    load = trial.workload
    topics_s = 0.0 if load.existing_topics else PARTITION_S * load.topics * load.partitions
    return start_s + topics_s + warmup_s + trial.measure_s + _late_s(trial) + END_S


def seconds_left(trials: Sequence[TrialSpec], ended: Collection[str], going: str, spent_s: float) -> float:
    """An estimate for all trials but those that have `ended`; in the one that is `going`, `spent_s` have gone by.

    One that takes longer than expected takes nothing from the others.
    """
    return sum(
        max(0.0, seconds_expected(trial) - (spent_s if trial.trial_id == going else 0.0))
        for trial in trials
        if trial.trial_id not in ended
    )


def _late_s(trial: TrialSpec) -> float:
    """What late readers take: building their backlog, and reading it about as fast again as it was written.

    At a rate that is found on the way nobody knows; then it is as much as they may take to read it, for both.
    """
    if trial.late is None:
        return 0.0
    building_s = trial.late.backlog_msgs / trial.msgs_per_s if trial.msgs_per_s else trial.late.chase_s_max
    return max(trial.measure_s, building_s) + min(trial.late.chase_s_max, building_s)
