"""Runs whose alternatives, variants or points of a sweep, have figures that are known beforehand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from run_samples import result, spec

from tidegauge.model.trial import AnyResult, LoadResult
from tidegauge.model.variant import SAME_WITHIN, SameWithin, Variant
from tidegauge.store.read import StoredRun, StoredTrial

RUN = Path("runs/2026-11-21T03-24-36-linger")
LINGER = (Variant("linger-0", {"producer linger.ms": "0"}), Variant("linger-20", {"producer linger.ms": "20"}))


def p99_result(point: Mapping[str, str], block: int, p99_ms: float, number: int, **changes: object) -> LoadResult:
    """A trial at a point of which all percentiles of the response time are the same."""
    trial = replace(spec(number=number, block=block), point=point)
    made = result(trial)
    times = replace(made.response, p50_ms=p99_ms, p95_ms=p99_ms, p99_ms=p99_ms, p999_ms=p99_ms, max_ms=p99_ms)
    return replace(made, response=times, **changes)  # type: ignore[arg-type]


def run_of(
    results: Sequence[AnyResult], variants: Sequence[Variant] = (), same_within: SameWithin = SAME_WITHIN
) -> StoredRun:
    """A finished run with these results."""
    trials = tuple(
        StoredTrial(RUN / "trials" / one.spec.trial_id, one.spec.trial_id, "finished", "", one.spec, one, "")
        for one in results
    )
    return StoredRun(
        path=RUN, name="linger", status="finished", reason="", started_at="2026-11-21T03:24:36+00:00", ended_at="",
        tidegauge_version="1.0", campaign_path="campaigns/linger.yaml", campaign_text="name: linger\n",
        planned=tuple(one.spec for one in results), trials=trials, environment={}, variants=tuple(variants),
        same_within=same_within,
    )  # fmt: skip


def run_with_variants(
    p99_ms: Mapping[str, Sequence[float]], same_within: SameWithin = SAME_WITHIN, **changes: object
) -> StoredRun:
    """A run of variants with these response p99s, block by block; `changes` are of every result."""
    results = [
        p99_result({"variant": name}, block, value, block * len(p99_ms) + place + 1, **changes)
        for place, (name, values) in enumerate(p99_ms.items())
        for block, value in enumerate(values)
    ]
    sets = {variant.name: variant for variant in LINGER}
    variants = [sets.get(name, Variant(name, {"producer acks": name})) for name in p99_ms]
    return run_of(sorted(results, key=lambda one: one.spec.trial_id), variants, same_within)
