"""Whether a plan has work for each of its workers, and what several of them can't do."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tidegauge.campaign.model import WorkerChoice
from tidegauge.errors import UserError
from tidegauge.model.trial import AttestSpec, TrialSpec

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
    fewest = min(trials, key=clients, default=None)
    if fewest is not None and clients(fewest) < choice.count:
        raise UserError(
            f"{at} are more than {fewest.trial_id} has work for: its producers and consumers are {clients(fewest)} "
            "together.",
            f"At most {clients(fewest)} would do; or take more topics, producers, subscriptions or consumers.",
        )


def clients(spec: TrialSpec) -> int:
    """Producers and consumers of a trial, each of which is one worker's."""
    workload = spec.workload
    return workload.topics * (workload.producers + workload.subscriptions * workload.consumers)
