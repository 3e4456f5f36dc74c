"""What a load generator is told of a trial."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tidegauge.fairness import Case
from tidegauge.model.sending import bodies_needed
from tidegauge.model.trial import LoadSpec, ReadSpec, TrialSpec
from tidegauge.systems.api import Deployment, System, TopicTerms
from tidegauge.worker.api import LoadOrder

OWN_LAG_TOLERANCE_MS = 1.0


def load_order(
    spec: TrialSpec,
    system: System,
    deployment: Deployment,
    topic_names: Sequence[str],
    directory: Path,
    *,
    terms: TopicTerms | None = None,
) -> LoadOrder:
    """The order of a trial that is stored in `directory`, whose path makes its messages unlike any other trial's.

    `terms`: how its topics are made; None = as the level asks for on servers of our own.
    """
    load = spec if isinstance(spec, LoadSpec) else None
    if terms is None:
        terms = system.topic_terms(Case("", spec.nodes, spec.choice, spec.workload, copies=spec.copies))
    payload = spec.workload.payload
    bodies = payload.pool_bodies or bodies_needed(payload, spec.sending)
    return LoadOrder(
        connection=deployment.connection,
        driver=system.driver,
        system=system.name,
        topic_names=tuple(topic_names),
        replication_factor=terms.copies,
        topic_settings=terms.settings,
        acks=system.client_acks(spec.choice, spec.nodes),
        workload=replace(spec.workload, payload=replace(payload, pool_bodies=bodies)),
        msgs_per_s=load.msgs_per_s or 0.0 if load else spec.most_msgs_per_s,
        trial_number=trial_number(directory),
        seed=spec.seed,
        own_lag_tolerance_ms=OWN_LAG_TOLERANCE_MS,
        subscriptions_start_paused=load.late.subscriptions if load and load.late else 0,
        # What is read before the clock starts would be in no figure.
        consumers_start_paused=isinstance(spec, ReadSpec),
        schedule=load.schedule if load else None,
        window_messages=load.messages if load else 0,
    )


def trial_number(directory: Path) -> int:
    """The number of a trial that is stored in `directory`, in every message and the name of every subscription."""
    return int.from_bytes(hashlib.blake2b(str(directory).encode(), digest_size=8).digest(), "big")
