"""What the worker of a trial is told to do. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from tidegauge.model.trial import TrialSpec
from tidegauge.systems.api import Deployment, System
from tidegauge.systems.attached import AttachedCluster
from tidegauge.worker.api import LoadOrder

OWN_LAG_TOLERANCE_MS = 1.0


def load_order(
    spec: TrialSpec, system: System, deployment: Deployment, topic_names: Sequence[str], directory: Path
) -> LoadOrder:
    """The order of a trial that is stored in `directory`, whose path makes its messages unlike any other trial's."""
    return LoadOrder(
        connection=deployment.connection,
        driver=system.driver,
        system=system.name,
        topic_names=tuple(topic_names),
        replication_factor=spec.copies or min(3, spec.nodes),
        topic_settings={**system.topic_settings(spec.choice), **_beside(deployment)},
        acks=system.client_acks(spec.choice, spec.nodes),
        workload=spec.workload,
        msgs_per_s=spec.msgs_per_s or 0.0,
        trial_id=trial_number(directory),
        seed=spec.seed,
        own_lag_tolerance_ms=OWN_LAG_TOLERANCE_MS,
        subscriptions_start_paused=spec.late.subscriptions if spec.late else 0,
        # What is read before the clock starts would be in no figure.
        consumers_start_paused=spec.reads_only,
        schedule=spec.schedule,
    )


def trial_number(directory: Path) -> int:
    """The number of a trial that is stored in `directory`, in every message and the name of every subscription."""
    return int.from_bytes(hashlib.blake2b(str(directory).encode(), digest_size=8).digest(), "big")


def _beside(deployment: Deployment) -> Mapping[str, str]:
    """What a cluster of others needs its topics to say, since its servers were not configured for the level."""
    return deployment.topic_settings if isinstance(deployment, AttachedCluster) else {}
