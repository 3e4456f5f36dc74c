"""Whether a plan has work for each of its workers, and what several of them can't do."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tidegauge.campaign.model import WorkerChoice
from tidegauge.errors import UserError
from tidegauge.model.trial import AttestSpec, TrialSpec
from tidegauge.model.workload import Workload

_ONE = "Leave 'count' of 'worker' out (--workers 1): one load generator does it."


def check_workers(trials: Sequence[TrialSpec], choice: WorkerChoice, where: Path) -> None:
    """Raise `UserError` if a trial can't be carried out by so many workers."""
    if choice.count == 1:
        return
    at = f"{where}: worker.count: {choice.count} load generators"
    for spec in trials:
        if isinstance(spec, AttestSpec):
            # The history of what was sent, and the reading back, are one worker's.
            raise UserError(f"{at} can't carry out {spec.trial_id}: an attestation has one.", _ONE)
    fewest = min(trials, key=lambda spec: sum(users_of(spec.workload)), default=None)
    users = sum(users_of(fewest.workload)) if fewest is not None else 0
    if fewest is not None and users < choice.count:
        raise UserError(
            f"{at} are more than {fewest.trial_id} has work for: its producers and consumers are {users} together.",
            f"At most {users} would do; or take more topics, producers, subscriptions or consumers.",
        )


def users_of(workload: Workload) -> tuple[int, int]:
    """All producers and all consumers of a workload, each of which is one worker's."""
    return workload.topics * workload.producers, workload.topics * workload.subscriptions * workload.consumers
