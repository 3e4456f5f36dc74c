"""Hand-made figures of three load generators, of which the second is the odd one."""

from __future__ import annotations

from dataclasses import replace

from run_samples import latency, result, second, totals

from tidegauge.model.events import WorkerSeen
from tidegauge.model.load import SecondFigures, TotalFigures, WorkerSecond, WorkerTotals
from tidegauge.model.trial import LoadResult, LoadSpec, WorkerResult
from tidegauge.worker.merging import merged_totals


def worker_result(number: int, **changes: object) -> WorkerResult:
    made = WorkerResult(
        worker=number,
        process=f"worker-{number}",
        offered_msgs_per_s=6_667.0,
        msgs_per_s=6_660.0,
        received_msgs_per_s=5_000.0 + number,
        response=latency(),
        own_lag=latency(0.01),
        cpu_s=4.2,
        cpu_wait_s=0.1,
        gc_pause_s=0.05,
        started_ms=0.0,
        stopped_ms=1.4,
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def several(trial: LoadSpec | None = None, count: int = 3, **changes: object) -> LoadResult:
    """The second began 3 ms after the others, stopped before them and was late by itself."""
    workers = [worker_result(number) for number in range(1, count + 1)]
    workers[1] = replace(workers[1], own_lag=latency(0.2), started_ms=3.0, stopped_ms=0.0)
    return result(trial, **{"workers": tuple(workers), **changes})


def worker_second(number: int) -> WorkerSecond:
    name = f"sub-0 consumer 0 (load generator {number} of 3)"
    return WorkerSecond(
        number, 6_666.7, 6_660, 6_600 + number, 5_000, 2_000_000, 130_000_000, 1_000_000, 30_000_000, name, 10**8, 10**7
    )


def second_of_several(number: int = 0) -> SecondFigures:
    return replace(second(number), workers=tuple(map(worker_second, (1, 2, 3))))


def totals_of_several() -> TotalFigures:
    return merged_totals([WorkerTotals(f"worker-{number}", 7, totals(), 9) for number in (1, 2, 3)])


def worker_seen(number: int, msgs_per_s: float = 6_660.0, offered_msgs_per_s: float | None = 6_667.0) -> WorkerSeen:
    return WorkerSeen(number, offered_msgs_per_s, msgs_per_s, 5_000.0, 2.0)
