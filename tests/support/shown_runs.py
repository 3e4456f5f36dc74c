"""Runs as the terminal shows them."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

from rich.console import Console, RenderableType
from run_samples import latency, result, spec, totals

from tidegauge import store
from tidegauge.model.processing import Processing, ProcessingKind
from tidegauge.model.trial import AS_FAST_AS_IT_GOES, LoadResult, LoadSpec, RateRule
from tidegauge.model.use import Limiting, Resource
from tidegauge.model.workload import Arrival


def rendered(renderable: RenderableType, width: int = 100) -> str:
    stream = io.StringIO()
    Console(file=stream, width=width, markup=False, highlight=False, emoji=False).print(renderable)
    return stream.getvalue()


def peak(system: str, number: int = 1, block: int = 0) -> LoadSpec:
    made = spec(system, "peak", number, block)
    return replace(made, workload=replace(made.workload, arrival=Arrival.CLOSED_LOOP), rate_rule=AS_FAST_AS_IT_GOES)


def stored(tmp_path: Path, *results: LoadResult, planned: int | None = None) -> store.StoredRun:
    run = store.create_run(tmp_path / "runs", "quick", "", "campaigns/quick.yaml")
    run.write_plan([result.spec for result in results])
    for measured in results:
        run.open_trial(measured.spec).finish(measured, totals())
    run.finish("finished")
    found = store.load_run(run.path)
    return replace(
        found, path=Path("runs/2026-11-21T03-24-36-quick"), started_at="", planned=found.planned[: planned or None]
    )


def pair(**second: object) -> list[LoadResult]:
    slow = result(replace(spec("kafka@4.3.1", number=2), rate_rule=RateRule("50% of lowest peak", is_share=True)), 1.6)
    fast = result(replace(spec("pulsar@4.2.4"), rate_rule=RateRule("50% of lowest peak", is_share=True)))
    return [fast, replace(slow, **second)]  # type: ignore[arg-type]


def repeated(scales: dict[str, tuple[float, ...]]) -> list[LoadResult]:
    return [
        result(peak(system, 10 * block + number, block), scale)
        for number, (system, of_system) in enumerate(scales.items())
        for block, scale in enumerate(of_system)
    ]


def processing_at(consumers: int, processed_scale: float | None) -> LoadResult:
    """A trial whose consumers process each message; all such trials have the same response times."""
    workload = replace(spec().workload, consumers=consumers, processing=Processing(ProcessingKind.CONSTANT, 0.002))
    trial = replace(spec(number=consumers), workload=workload, point={"consumers": f"{consumers}"})
    made = result(trial)
    (sub,) = made.subscriptions
    processed = None if processed_scale is None else latency(processed_scale)
    return replace(made, subscriptions=(replace(sub, processed=processed),))


BUSY = Limiting(
    Resource.HOST_CPU,
    "",
    1.0,
    "100% of 2 CPUs (servers 0.38, everything else 1.44); tasks waited for a CPU 97% of it",
    used="100% of 2 CPUs",
    users="servers 0.38, everything else 1.44",
)
