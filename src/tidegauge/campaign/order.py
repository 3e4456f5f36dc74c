"""What the worker of a trial is told to do. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from tidegauge.experiments.api import Servers, TrialSpec
from tidegauge.systems.api import System
from tidegauge.worker.api import LoadOrder

OWN_LAG_TOLERANCE_MS = 1.0


def topic_names(spec: TrialSpec) -> tuple[str, ...]:
    """The trial's topics. On shared servers they carry the trial's name: no trial meets what another left."""
    own = f"-{spec.trial_id}" if spec.servers is Servers.SHARED else ""
    return tuple(f"tidegauge{own}-{index}" for index in range(spec.workload.topics))


def load_order(spec: TrialSpec, system: System, connection: Mapping[str, str], directory: Path) -> LoadOrder:
    """The order of a trial that is stored in `directory`, whose path makes its messages unlike any other trial's."""
    digest = hashlib.blake2b(str(directory).encode(), digest_size=8).digest()
    return LoadOrder(
        connection=connection,
        driver=system.driver,
        system=system.name,
        topic_names=topic_names(spec),
        replication_factor=min(3, spec.nodes),
        topic_settings=system.topic_settings(spec.choice),
        acks=system.client_acks(spec.choice, spec.nodes),
        workload=spec.workload,
        msgs_per_s=spec.msgs_per_s or 0.0,
        trial_id=int.from_bytes(digest, "big"),
        seed=spec.seed,
        own_lag_tolerance_ms=OWN_LAG_TOLERANCE_MS,
    )
