"""Many runs of one campaign, night after night, whose figures are known beforehand."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from run_samples import result, spec

from tidegauge.model.disturbance import Disturbance, Disturbed, Harm
from tidegauge.model.labels import RunLabels
from tidegauge.model.reason import Reason, ReasonKind
from tidegauge.model.trial import AnyResult, LoadResult, LoadSpec, Validity
from tidegauge.store.details import Disclosed
from tidegauge.store.read import StoredRun, StoredTrial

HOST = {"hostname": "bench", "cpu_model": "EPYC", "cpus": 2, "memory_bytes": 24 << 30, "kernel": "Linux 6.1"}
BEGIN = datetime(2026, 10, 1, 2, 0, tzinfo=UTC)
DISTURBANCE = Disturbance(Disturbed.CPU, Harm.DOUBTFUL, "others had 0.90 of 2 CPUs (stress 0.90)", "end them")
CHANGED, DISTURBED, INVALID = 16, 9, 12
"""Nights of `nightly_runs`: since the first times are 1.25 times as long, with another version."""


def nightly_results(scales: Sequence[float], trial: LoadSpec | None = None, **changes: Any) -> list[LoadResult]:
    """A trial for each block, whose times are so many times those of `run_samples`."""
    base = trial or spec()
    return [
        result(replace(base, trial_id=f"{block + 1:04d}-{base.experiment}", block=block), scale, **changes)
        for block, scale in enumerate(scales)
    ]


def nightly_run(
    night: int,
    results: Sequence[AnyResult],
    *,
    name: str = "nightly",
    host: dict[str, Any] | None = None,
    commit: str = "abc",
    tags: tuple[str, ...] = ("main",),
    **changes: Any,
) -> StoredRun:
    """A finished run that began at two in the morning of a day, from 0."""
    began = BEGIN + timedelta(days=night)
    path = Path("runs") / f"{began:%Y-%m-%dT%H-%M-%S}-{name}"
    trials = tuple(
        StoredTrial(path / one.spec.trial_id, one.spec.trial_id, "finished", "", one.spec, one, "") for one in results
    )
    environment = {"host": {**HOST, **(host or {})}, "tidegauge": {"git_commit": commit}}
    run = StoredRun(
        path=path, name=name, status="finished", reason="", started_at=began.isoformat(), ended_at="",
        tidegauge_version="1.0", campaign_path=f"{name}.yaml", campaign_text=f"name: {name}\n",
        planned=tuple(one.spec for one in results), trials=trials, environment=environment,
        labels=RunLabels("", tags),
    )  # fmt: skip
    return replace(run, **changes)


def disclosed(trial: StoredTrial, threads: str = "8") -> Disclosed:
    """What was in force in a trial: the same everywhere."""
    return Disclosed({("server", "broker 1", "num.io.threads"): threads}, "25", "25", "d1", ())


def nightly_runs(nights: int = 24, seed: int = 1) -> list[StoredRun]:
    """Nights of one system: one change, one disturbed, one INVALID."""
    dice = random.Random(seed)
    runs = []
    for night in range(nights):
        changed = night >= CHANGED
        scales = [(1.25 if changed else 1.0) * dice.lognormvariate(0, 0.03) for _ in range(3)]
        of_night: dict[str, Any] = {}
        if night == DISTURBED:
            scales = [2.0 * scale for scale in scales]
            disturbed = Reason(ReasonKind.DISTURBED, DISTURBANCE.words)
            of_night = {"validity": Validity.DOUBTFUL, "reasons": (disturbed,), "disturbances": (DISTURBANCE,)}
        if night == INVALID:
            of_night = {"validity": Validity.INVALID, "reasons": (Reason(ReasonKind.OWN_LAG, "own lag"),)}
        version = "kafka@4.3.1" if changed else "kafka@4.3.0"
        results = nightly_results(scales, spec(version), **of_night)
        runs.append(nightly_run(night, results, commit="def" if changed else "abc"))
    return runs
