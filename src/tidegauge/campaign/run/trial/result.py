"""What a trial showed, from its figures: the result of one that loaded, and of one that only read. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tidegauge.durability import doubts_of, doubts_of_change
from tidegauge.experiments.chasing import reads_sentence
from tidegauge.hosts.fsync import Calm
from tidegauge.model.faults import FaultResult
from tidegauge.model.level import LevelFinding
from tidegauge.model.load import RECEIVING, SubscriptionTotals, TotalFigures, Traced
from tidegauge.model.reason import Reason, ReasonKind
from tidegauge.model.sending import Sending
from tidegauge.model.trial import (
    NO_LATENCY,
    BusyConsumer,
    CatchUp,
    LoadResult,
    LoadSpec,
    ReadResult,
    ReadSpec,
    ReadSubscription,
    RecordResult,
    SubscriptionResult,
    TrialSpec,
    Validity,
    WorkerResult,
)
from tidegauge.model.workload import Arrival, RateSchedule, Workload
from tidegauge.numbers import plural, rounded
from tidegauge.statistics.classify import FAILED_CHECK, OK, Evidence, damage_reason, judge_evidence
from tidegauge.statistics.figures import largest_times
from tidegauge.statistics.histograms import summarise_histogram, without_unknown_tail
from tidegauge.statistics.steady import (
    SecondPoint,
    backlog_grows,
    catching_up,
    drift_of_window,
    slope_of,
    too_short_to_judge,
)
from tidegauge.thresholds import ABORT_SECONDS, AbortWatch
from tidegauge.worker.across import clock_warnings, end_to_end_times
from tidegauge.worker.merging import worker_results


@dataclass(frozen=True)
class Measuring:
    """What a controller knows of a trial as the measured window begins, and its load generators don't.

    Attributes:
        trial_id: the number in its messages.
        processes: of its load generators, in their order.
        unsteady: "" or why the warm-up ended without being steady.
        cold: "" or why it ended with a load generator that was not warm itself.
        sending: how its producers send, as they reported it.
    """

    trial_id: int
    processes: tuple[str, ...]
    started_at: str
    begin_mono_ns: int
    from_mono_ns: int
    until_mono_ns: int
    unsteady: str
    cold: str
    level: LevelFinding
    disk: Calm | None
    sending: Sending | None = field(default=None, metadata={"if_any": True})


@dataclass(frozen=True)
class Observed:
    """What was seen of a trial beside the worker's own figures; `known` before its window began.

    Attributes:
        jit_cpus: CPUs that the load generator's JIT compiler took in the window; None if no second of it was seen.
        drain_end: "drained", "idle" or "limit" (see `statistics.classify.Evidence`).
        seconds: those of the measured window; with late readers, of the phase *before*.
        warm_up: the newest seconds before them.
        busy_consumers: of the same seconds, the busiest first.
        window_end_backlogs: by subscription.
        traces: what became of what a subscription did not receive, by name, where somebody looked.
        generators_msgs_per_s: what the load generators make and check of this load; None if that is not known.
        worker_hosts: of a fleet's load generators, in their order; () = all on one host.
        aborted: what ended the window before its time; None if nothing did.
    """

    known: Measuring
    seconds: tuple[SecondPoint, ...]
    drain_end: str
    server_cpu_s: float | None = None
    control_cpu_s: float | None = None
    catch_up: CatchUp | None = None
    faults: tuple[FaultResult, ...] = ()
    busy_consumers: tuple[BusyConsumer, ...] = ()
    window_end_backlogs: Mapping[str, int] = field(default_factory=dict)
    traces: Mapping[str, Traced] = field(default_factory=dict)
    jit_cpus: float | None = None
    warm_up: Sequence[SecondPoint] = ()
    generators_msgs_per_s: float | None = None
    worker_hosts: Sequence[str] = ()
    aborted: AbortWatch | None = None


def make_result(spec: LoadSpec, totals: TotalFigures, observed: Observed) -> LoadResult:
    """Rates, summaries and the verdict of one load."""
    window, measuring = totals.window, observed.known
    measured_s = max(1e-9, (window.until_mono_ns - window.from_mono_ns) / 1e9)
    subscriptions = tuple(_subscription_result(sub, observed, spec, measured_s) for sub in totals.subscriptions)
    workers = worker_results(totals, measured_s, scheduled=spec.workload.arrival is not Arrival.CLOSED_LOOP)
    evidence = _evidence_of_trial(spec, totals, observed, measured_s, subscriptions=subscriptions, workers=workers)
    verdict = judge_evidence(evidence)
    without_outcome = evidence.failed + evidence.unresolved
    message_bytes = window.acked_bytes / window.acked if window.acked else float(spec.workload.payload.message_bytes)
    return LoadResult(
        spec=spec,
        sending=measuring.sending,
        started_at=measuring.started_at,
        status=verdict.status,
        offered_msgs_per_s=evidence.offered_msgs_per_s,
        msgs_per_s=evidence.achieved_msgs_per_s,
        mb_per_s=evidence.achieved_msgs_per_s * message_bytes / 1e6,
        sent=totals.sent,
        acked=totals.acked,
        failed=totals.failed,
        unresolved=totals.unresolved,
        response=without_unknown_tail(evidence.response, without_outcome),
        service=without_unknown_tail(summarise_histogram(window.service), without_outcome),
        delay=evidence.delay,
        own_lag=evidence.own_lag,
        subscriptions=subscriptions,
        validity=verdict.validity if observed.aborted is None else Validity.INVALID,
        reasons=(*_abort_reasons(observed.aborted, measured_s, spec.measure_s), *verdict.reasons),
        warnings=(
            *verdict.warnings,
            *_disk_warnings(measuring.disk),
            *_move_warnings(spec, measuring.level),
            *_late_warnings(spec, observed.catch_up),
            *clock_warnings(subscriptions, by_phases=bool(spec.schedule or spec.late)),
        ),
        errors=totals.errors,
        worker_cpu_s=window.worker_cpu_ns / 1e9,
        server_cpu_s=observed.server_cpu_s,
        gc_pause_s=window.gc_pause_ns / 1e9,
        warmup_s=(measuring.from_mono_ns - measuring.begin_mono_ns) / 1e9,
        steady=not measuring.unsteady,
        measured_s=measured_s,
        level=measuring.level,
        control_cpu_s=observed.control_cpu_s,
        disk_fsync_ms=measuring.disk.latency.mean_ms if measuring.disk else None,
        catch_up=observed.catch_up,
        records=tuple(_record_results(spec.schedule, totals, measured_s)) if spec.schedule else (),
        faults=observed.faults,
        busy_consumer=next(iter(observed.busy_consumers), None),
        jit_cpus=observed.jit_cpus,
        workers=workers,
        clocks=totals.clocks,
        aborted="" if observed.aborted is None or observed.aborted.broken is None else observed.aborted.broken.text,
    )


def _abort_reasons(watch: AbortWatch | None, measured_s: float, planned_s: float) -> list[Reason]:
    if watch is None or watch.broken is None:
        return []
    rule, values = watch.broken, ", ".join(rounded(value) for value in watch.values[-ABORT_SECONDS:])
    text = (
        f"aborted by '{rule.text}' after {rounded(measured_s)} of {rounded(planned_s)} s: {rule.condition.figure} was "
        f"{values} in the last {plural(min(rule.seconds, ABORT_SECONDS), 'second')}"
    )
    return [Reason(ReasonKind.ABORTED, text, conclusion="its figures are those until then, and no evidence of more")]


def _record_results(schedule: RateSchedule, totals: TotalFigures, measured_s: float) -> Iterator[RecordResult]:
    """One result for each record of the schedule that was in force for some of the window."""
    records = zip(schedule.records, schedule.due(measured_s), totals.window.records, strict=False)
    for number, (name, (messages, seconds), figures) in enumerate(records):
        if seconds > 0:
            end_to_end = [summarise_histogram(sub.record_end_to_end[number]) for sub in totals.subscriptions]
            yield RecordResult(
                name=name,
                seconds=seconds,
                offered_msgs_per_s=messages / seconds,
                msgs_per_s=figures.acked_within / seconds,
                intended=figures.intended,
                failed=figures.failed,
                response=summarise_histogram(figures.response),
                service=summarise_histogram(figures.service),
                delay=summarise_histogram(figures.delay),
                end_to_end=largest_times(end_to_end) or NO_LATENCY,
            )


def _evidence_of_trial(
    spec: LoadSpec,
    totals: TotalFigures,
    observed: Observed,
    measured_s: float,
    *,
    subscriptions: tuple[SubscriptionResult, ...],
    workers: tuple[WorkerResult, ...],
) -> Evidence:
    window = totals.window
    closed_loop = spec.workload.arrival is Arrival.CLOSED_LOOP
    seconds, level = observed.seconds, observed.known.level
    missing = window.intended - window.acked - window.failed
    # Of a schedule the mean over the window.
    offered_msgs_per_s = spec.schedule.mean_msgs_per_s(measured_s) if spec.schedule else spec.msgs_per_s
    return Evidence(
        closed_loop=closed_loop,
        offered_msgs_per_s=None if closed_loop else offered_msgs_per_s,
        achieved_msgs_per_s=window.acked_within / measured_s,
        window_intended=window.intended,
        failed=window.failed,
        unresolved=max(totals.unresolved, missing),
        never_sent=max(0, missing - totals.unresolved),
        own_lag=summarise_histogram(window.own_lag),
        delay=summarise_histogram(window.delay),
        response=summarise_histogram(window.response),
        subscriptions=subscriptions,
        unsteady=observed.known.unsteady,
        cold=observed.known.cold,
        jit_cpus=observed.jit_cpus or 0.0,
        drain_end=observed.drain_end,
        cpu_wait_share=window.cpu_wait_ns / 1e9 / measured_s,
        blocked_share=window.blocked_ns / 1e9 / measured_s / (spec.workload.topics * spec.workload.producers),
        gc_share=window.gc_pause_ns / 1e9 / measured_s,
        backlog_grew=backlog_grows(seconds),
        drift=drift_of_window(seconds),
        catching_up=catching_up(observed.warm_up, seconds),
        too_short=too_short_to_judge(spec.warmup_s_max),
        faults=len(spec.faults),
        busy_consumers=observed.busy_consumers,
        workers=workers,
        worker_hosts=observed.worker_hosts,
        # Producers are dealt out by their numbers, topic by topic.
        workers_share_topics=spec.workload.topics == 1 or spec.workload.producers >= len(workers),
        level_doubts=tuple(doubts_of(spec.choice, level)),
        generators_msgs_per_s=observed.generators_msgs_per_s,
        receive_errors=[(message, count) for where, message, count in totals.errors if where == RECEIVING],
    )


def _subscription_result(
    sub: SubscriptionTotals, observed: Observed, spec: LoadSpec, measured_s: float
) -> SubscriptionResult:
    """What is missing is backlog, and more is said of it only as far as somebody looked for it."""
    trace = observed.traces.get(sub.name, Traced())
    times: dict[str, Any] = {**end_to_end_times(sub), **_processing_of(sub, spec.workload, measured_s)}
    return SubscriptionResult(
        name=sub.name,
        **times,
        received=sub.received,
        backlog=sub.backlog,
        lost=trace.lost,
        lost_why=trace.gone,
        late=trace.late,
        untraced=trace.untraced,
        untraced_why=trace.why,
        duplicated=sub.duplicated,
        reordered=sub.reordered,
        corrupt=sub.corrupt,
        foreign=sub.foreign,
        negative_latency=sub.negative_latency,
        lost_examples=trace.lost_examples,
        late_examples=trace.late_examples,
        backlog_growth=slope_of([point.backlogs[sub.name] for point in observed.seconds if sub.name in point.backlogs]),
        window_end_backlog=observed.window_end_backlogs.get(sub.name),
        duplicated_examples=sub.duplicated_examples,
        reordered_examples=sub.reordered_examples,
        corrupt_examples=sub.corrupt_examples,
    )


def _processing_of(sub: SubscriptionTotals, workload: Workload, measured_s: float) -> dict[str, Any]:
    """What is known of processing, by fields of a result; nothing where there is none."""
    if not workload.consumers_words():
        return {}
    # One beyond the partitions has nothing to process.
    consumers = workload.topics * workload.busy_consumers()
    processed = summarise_histogram(sub.processed)
    return {
        "in_consumer": summarise_histogram(sub.in_consumer),
        # Of producers on other hosts it is not known.
        "processed": processed if processed.count else None,
        "processing_share": sub.processing_ns / 1e9 / (consumers * measured_s),
        "processing_cpu_s": sub.processing_cpu_ns / 1e9 if workload.processing and workload.processing.on_cpu else None,
    }


def _move_warnings(spec: TrialSpec, level: LevelFinding) -> list[Reason]:
    """Says that servers came, went or handed over leadership, unless a fault was to make them."""
    if spec.faults or not level.moves:
        return []
    text = f"servers did not stay as they were while it was measured, as by a restart: {'; '.join(level.moves)}"
    return [Reason(ReasonKind.SERVERS_MOVED, text, conclusion="what that took is in the figures")]


def _disk_warnings(disk: Calm | None) -> list[Reason]:
    if disk is None or disk.is_calm:
        return []
    text = (
        f"the disk was slow when the trial began: an fsync took {rounded(disk.latency.mean_ms)} ms on average, usually "
        f"{rounded(disk.usual_ms)} ms; why is not known: another program may have written to it, what was deleted "
        "before may not have been gone, or it may give less after a burst"
    )
    return [Reason(ReasonKind.DISK_SLOW, text)]


def _late_warnings(spec: LoadSpec, chase: CatchUp | None) -> list[Reason]:
    """What weakens figures of late readers."""
    if chase is None or spec.late is None:
        return []
    texts = list(chase.limits)
    if not chase.reads.from_device:
        texts.append(reads_sentence(chase.reads))
    if chase.backlog_msgs < spec.late.backlog_msgs:
        texts.append(
            f"the backlog grew to {chase.backlog_msgs:,} of {spec.late.backlog_msgs:,} messages only, in three times "
            "as long as the offered rate takes"
        )
    return [Reason(ReasonKind.LATE_READERS, text) for text in texts]


def read_result(
    spec: ReadSpec,
    totals: TotalFigures,
    started_at: str,
    level: LevelFinding,
    cpu_s: tuple[float | None, float | None] = (None, None),
) -> ReadResult:
    """The result of a trial that only read. The rate is that of all subscriptions together. Pure.

    `cpu_s`: of the servers and of Tidegauge's own control, where they are known.
    """
    subs = totals.subscriptions
    first_ns = min((sub.first_received_mono_ns for sub in subs if sub.last_received_mono_ns), default=0)
    last_ns = max((sub.last_received_mono_ns for sub in subs), default=0)
    # The first message ends no interval; a millisecond at least, so that one poll's worth is no infinite rate.
    read_s = max(1e-3, (last_ns - first_ns) / 1e9)
    received = sum(sub.window_received for sub in subs)
    read_bytes = sum(sub.received_bytes for sub in subs)
    corrupt = [damage_reason(sub.name, sub.corrupt) for sub in subs if sub.corrupt]
    brief = f"all that came was read within {read_s * 1e3:.0f} ms, too short for a rate that would hold for longer"
    errors_met = [(message, count) for where, message, count in totals.errors if where == RECEIVING]
    why = "the topics are empty, nothing of them is kept for us, or it did not come in time"
    if errors_met:
        why = f"consumers met {plural(sum(count for _, count in errors_met), 'error')}: {errors_met[0][0]}"
    nothing = [] if received else [Reason(ReasonKind.NO_MESSAGE, f"no message was received: {why}")]
    changed = [Reason(ReasonKind.LEVEL, doubt) for doubt in doubts_of_change(level)]
    validity = Validity.INVALID if nothing else Validity.DOUBTFUL if corrupt or changed else Validity.VALID
    rate = received / read_s if received else 0.0
    return ReadResult(
        spec=spec,
        started_at=started_at,
        status=FAILED_CHECK if corrupt else OK,
        msgs_per_s=rate,
        mb_per_s=rate * read_bytes / max(1, sum(sub.received for sub in subs)) / 1e6,
        subscriptions=tuple(
            ReadSubscription(
                name=sub.name, received=sub.received, corrupt=sub.corrupt, foreign=sub.foreign, verified=sub.verified
            )
            for sub in subs
        ),
        validity=validity,
        reasons=(*nothing, *corrupt, *changed),
        warnings=(
            *((Reason(ReasonKind.BRIEF, brief),) if received and read_s < 1.0 else ()),
            *_move_warnings(spec, level),
        ),
        errors=totals.errors,
        worker_cpu_s=totals.window.worker_cpu_ns / 1e9,
        server_cpu_s=cpu_s[0],
        gc_pause_s=totals.window.gc_pause_ns / 1e9,
        measured_s=read_s,
        level=level,
        control_cpu_s=cpu_s[1],
        workers=worker_results(totals, read_s, scheduled=False),
    )
