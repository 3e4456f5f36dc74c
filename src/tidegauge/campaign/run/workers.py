"""What each of several workers showed of a trial by itself: for its result, and for judging it. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from tidegauge.model.load import TotalFigures, worker_name
from tidegauge.model.trial import WorkerResult
from tidegauge.statistics.classify import WorkerEvidence
from tidegauge.statistics.histograms import summarise


def worker_results(totals: TotalFigures, measured_s: float, *, scheduled: bool) -> tuple[WorkerResult, ...]:
    """One for each; () of a trial that one worker carried out. `scheduled`: whether there is an offered rate."""
    workers = totals.workers
    started_ms = _after_the_first_ms([worker.started_mono_ns for worker in workers])
    stopped_ms = _after_the_first_ms([worker.stopped_mono_ns for worker in workers])
    return tuple(
        WorkerResult(
            worker=number + 1,
            process=worker.name,
            offered_msgs_per_s=window.intended / measured_s if scheduled else None,
            msgs_per_s=window.acked_within / measured_s,
            received_msgs_per_s=sum(sub.window_received for sub in worker.totals.subscriptions) / measured_s,
            response=summarise(window.response),
            own_lag=summarise(window.own_lag),
            cpu_s=window.worker_cpu_ns / 1e9,
            cpu_wait_s=window.cpu_wait_ns / 1e9,
            gc_pause_s=window.gc_pause_ns / 1e9,
            started_ms=started_ms[number],
            stopped_ms=stopped_ms[number],
        )
        for number, (worker, window) in enumerate((worker, worker.totals.window) for worker in workers)
    )


def _after_the_first_ms(instants_ns: Sequence[int]) -> list[float | None]:
    """0 is an instant that is not known."""
    first_ns = min(filter(None, instants_ns), default=0)
    return [(instant_ns - first_ns) / 1e6 if instant_ns else None for instant_ns in instants_ns]


def worker_evidence(workers: Sequence[WorkerResult], measured_s: float) -> tuple[WorkerEvidence, ...]:
    """One for each, by the name that users read."""
    return tuple(
        WorkerEvidence(
            name=worker_name(number, len(workers)),
            own_lag=worker.own_lag,
            response=worker.response,
            cpu_wait_share=worker.cpu_wait_s / measured_s,
            gc_share=worker.gc_pause_s / measured_s,
        )
        for number, worker in enumerate(workers)
    )
