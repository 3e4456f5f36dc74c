"""From what a worker tells and what was seen around it to a `TrialResult`. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tidegauge.experiments.catch_up_words import reads_sentence
from tidegauge.hosts.fsync import Calm
from tidegauge.model.faults import FaultResult
from tidegauge.model.level import LevelFinding
from tidegauge.model.load import SubscriptionTotals, TotalFigures, WindowFigures
from tidegauge.model.trial import (
    NO_LATENCY,
    BusyConsumer,
    CatchUp,
    RecordResult,
    SubscriptionResult,
    TrialResult,
    TrialSpec,
)
from tidegauge.model.workload import Arrival
from tidegauge.statistics.classify import DISK_BUSY, Evidence, classify
from tidegauge.statistics.rounding import short
from tidegauge.statistics.slope import growth
from tidegauge.statistics.steady import SecondPoint, backlog_grows, drifts, too_short_to_judge
from tidegauge.statistics.summary import summarise


@dataclass(frozen=True)
class Observed:
    """What was seen of a trial beside the worker's own figures.

    Attributes:
        unsteady: "" or why the warm-up ended without being steady.
        cold: "" or why it ended with a load generator that was not warm itself.
        jit_cpus: CPUs that the load generator's JIT compiler took in the window; None if no second of it was seen.
        drain_end: "drained", "idle" or "limit" (see `statistics.classify.Evidence`).
        seconds: those of the measured window; with late readers, of the phase *before*.
        busy_consumers: of the same seconds, the busiest first.
        window_end_backlogs: by subscription.
    """

    started_at: str
    warmup_s: float
    unsteady: str
    seconds: tuple[SecondPoint, ...]
    server_cpu_s: float | None
    drain_end: str
    level: LevelFinding
    control_cpu_s: float | None = None
    disk: Calm | None = None
    catch_up: CatchUp | None = None
    faults: tuple[FaultResult, ...] = ()
    busy_consumers: tuple[BusyConsumer, ...] = ()
    window_end_backlogs: Mapping[str, int] = field(default_factory=dict)
    cold: str = ""
    jit_cpus: float | None = None


def make_result(spec: TrialSpec, totals: TotalFigures, observed: Observed) -> TrialResult:
    """Rates, summaries and the verdict of one trial."""
    window = totals.window
    measured_s = max(1e-9, (window.until_mono_ns - window.from_mono_ns) / 1e9)
    subscriptions = tuple(_subscription(sub, observed) for sub in totals.subscriptions)
    evidence = _evidence(spec, totals, observed, subscriptions, measured_s)
    verdict = classify(evidence)
    return TrialResult(
        spec=spec,
        started_at=observed.started_at,
        status=verdict.status,
        offered_msgs_per_s=evidence.offered_msgs_per_s,
        msgs_per_s=evidence.achieved_msgs_per_s,
        mb_per_s=evidence.achieved_msgs_per_s * _message_bytes(spec, window) / 1e6,
        sent=totals.sent,
        acked=totals.acked,
        failed=totals.failed,
        unresolved=totals.unresolved,
        response=evidence.response,
        service=summarise(window.service),
        delay=evidence.delay,
        own_lag=evidence.own_lag,
        subscriptions=subscriptions,
        validity=verdict.validity,
        reasons=verdict.reasons,
        warnings=(*verdict.warnings, *_disk_warnings(observed.disk), *_late_warnings(spec, observed.catch_up)),
        errors=totals.errors,
        worker_cpu_s=window.worker_cpu_ns / 1e9,
        server_cpu_s=observed.server_cpu_s,
        gc_pause_s=window.gc_pause_ns / 1e9,
        warmup_s=observed.warmup_s,
        steady=not observed.unsteady,
        measured_s=measured_s,
        level=observed.level,
        control_cpu_s=observed.control_cpu_s,
        disk_fsync_ms=observed.disk.latency.mean_ms if observed.disk else None,
        catch_up=observed.catch_up,
        records=_records(spec, totals, measured_s),
        faults=observed.faults,
        busy_consumer=next(iter(observed.busy_consumers), None),
        jit_cpus=observed.jit_cpus,
    )


def _records(spec: TrialSpec, totals: TotalFigures, measured_s: float) -> tuple[RecordResult, ...]:
    """One result for each record of the schedule that was in force for some of the window."""
    if spec.schedule is None:
        return ()
    found = []
    due = spec.schedule.due(measured_s)
    for number, (name, (messages, seconds), figures) in enumerate(
        zip(spec.schedule.records, due, totals.window.records, strict=False)
    ):
        if seconds <= 0:
            continue
        end_to_end = [summarise(sub.record_end_to_end[number]) for sub in totals.subscriptions]
        found.append(
            RecordResult(
                name=name,
                seconds=seconds,
                offered_msgs_per_s=messages / seconds,
                msgs_per_s=figures.acked_within / seconds,
                intended=figures.intended,
                failed=figures.failed,
                response=summarise(figures.response),
                service=summarise(figures.service),
                delay=summarise(figures.delay),
                end_to_end=max(end_to_end, key=lambda one: one.p99_ms or one.max_ms, default=NO_LATENCY),
            )
        )
    return tuple(found)


def _evidence(
    spec: TrialSpec,
    totals: TotalFigures,
    observed: Observed,
    subscriptions: tuple[SubscriptionResult, ...],
    measured_s: float,
) -> Evidence:
    window = totals.window
    closed_loop = spec.workload.arrival is Arrival.CLOSED_LOOP
    seconds = observed.seconds
    return Evidence(
        closed_loop=closed_loop,
        offered_msgs_per_s=None if closed_loop else _offered(spec, measured_s),
        achieved_msgs_per_s=window.acked_within / measured_s,
        window_intended=window.intended,
        failed=window.failed,
        unresolved=max(totals.unresolved, window.intended - window.acked - window.failed),
        own_lag=summarise(window.own_lag),
        delay=summarise(window.delay),
        response=summarise(window.response),
        subscriptions=subscriptions,
        unsteady=observed.unsteady,
        cold=observed.cold,
        jit_cpus=observed.jit_cpus or 0.0,
        drain_end=observed.drain_end,
        cpu_wait_share=window.cpu_wait_ns / 1e9 / measured_s,
        blocked_share=window.blocked_ns / 1e9 / measured_s / (spec.workload.topics * spec.workload.producers),
        gc_share=window.gc_pause_ns / 1e9 / measured_s,
        backlog_grew=backlog_grows(seconds),
        drift=drifts(seconds),
        too_short=too_short_to_judge(spec.warmup_s_max),
        faults=len(spec.faults),
        busy_consumers=observed.busy_consumers,
        level_unknown="; ".join(observed.level.reasoning) if observed.level.level is None else "",
    )


def _offered(spec: TrialSpec, measured_s: float) -> float | None:
    """Of a schedule the mean over the window."""
    return spec.schedule.mean_msgs_per_s(measured_s) if spec.schedule else spec.msgs_per_s


def _message_bytes(spec: TrialSpec, window: WindowFigures) -> float:
    return window.acked_bytes / window.acked if window.acked else float(spec.workload.payload.message_bytes)


def _subscription(sub: SubscriptionTotals, observed: Observed) -> SubscriptionResult:
    """What was missing while consumers were still receiving is backlog: nobody knows yet whether it is lost."""
    loss_is_known = observed.drain_end != "limit"
    return SubscriptionResult(
        name=sub.name,
        end_to_end=summarise(sub.end_to_end),
        received=sub.received,
        backlog=sub.backlog,
        lost=sub.lost if loss_is_known else 0,
        duplicated=sub.duplicated,
        reordered=sub.reordered,
        corrupt=sub.corrupt,
        foreign=sub.foreign,
        negative_latency=sub.negative_latency,
        lost_examples=sub.lost_examples if loss_is_known else (),
        backlog_growth=growth([point.backlogs[sub.name] for point in observed.seconds if sub.name in point.backlogs]),
        window_end_backlog=observed.window_end_backlogs.get(sub.name),
    )


def _disk_warnings(disk: Calm | None) -> list[str]:
    if disk is None or disk.is_calm:
        return []
    return [
        f"{DISK_BUSY}: an fsync took {short(disk.latency.mean_ms)} ms on average, usually "
        f"{short(disk.usual_ms)} ms; something else was writing to it"
    ]


def _late_warnings(spec: TrialSpec, found: CatchUp | None) -> list[str]:
    """What weakens figures of late readers."""
    if found is None or spec.late is None:
        return []
    told = list(found.limits)
    if not found.reads.from_device:
        told.append(reads_sentence(found.reads))
    if found.backlog_msgs < spec.late.backlog_msgs:
        told.append(
            f"the backlog grew to {found.backlog_msgs:,} of {spec.late.backlog_msgs:,} messages only: the system did "
            "not acknowledge what was offered"
        )
    return told
