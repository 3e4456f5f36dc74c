"""What a trial showed: its result, also of one that only read, and which resource limited it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from tidegauge.campaign.plan.generators import known_rate_max
from tidegauge.campaign.run.disturbed import rate_counts
from tidegauge.campaign.run.figures import SECOND_NS, Follower
from tidegauge.campaign.run.session import TrialSession, server_directories
from tidegauge.campaign.run.telemetry import UseRecorder
from tidegauge.campaign.run.witnessing import level_at_end
from tidegauge.durability import LEVELS, doubts_of, doubts_of_change
from tidegauge.experiments.chasing import reads_sentence
from tidegauge.fleet.api import ServersSeen
from tidegauge.hosts.fsync import Calm
from tidegauge.hosts.loop_disk import device_number
from tidegauge.limiting.decide import Load, limiting_resource
from tidegauge.limiting.disturbance import MeasuredTrial
from tidegauge.limiting.window_use import WindowUse
from tidegauge.model.faults import FaultResult
from tidegauge.model.level import LevelFinding
from tidegauge.model.load import RECEIVING, SubscriptionTotals, TotalFigures, Traced, WindowFigures
from tidegauge.model.sending import Sending
from tidegauge.model.trial import (
    NO_LATENCY,
    BusyConsumer,
    CatchUp,
    LoadResult,
    LoadSpec,
    MeasuredResult,
    ReadResult,
    ReadSpec,
    ReadSubscription,
    RecordResult,
    SubscriptionResult,
    Validity,
    WorkerResult,
)
from tidegauge.model.use import Limiting, Seen
from tidegauge.model.workload import Arrival, RateSchedule
from tidegauge.numbers import plural, rounded
from tidegauge.statistics.classify import BUSY_CONSUMER, DISK_SLOW, FAILED_CHECK, OK, Evidence, classify
from tidegauge.statistics.figures import largest_times
from tidegauge.statistics.histograms import summarise, without_unknown_tail
from tidegauge.statistics.steady import (
    SecondPoint,
    backlog_grows,
    catching_up,
    drift_of_window,
    slope_of,
    too_short_to_judge,
)
from tidegauge.usage import connections_of
from tidegauge.worker.across import clock_warnings, end_to_end_times
from tidegauge.worker.merging import worker_results

Result = TypeVar("Result", bound=MeasuredResult)
MAJORITY = 2
"""Copies that a message must have where replication is synchronous."""


def _data_devices(session: TrialSession) -> frozenset[str]:
    """Numbers of the devices of this host that the servers' data is on."""
    devices = () if session.spec.elsewhere else [device_of(place) for place in server_directories(session.store)]
    return frozenset(filter(None, devices))


def device_of(place: Path) -> str:
    """ "254:0" of the device that holds a directory; "" where there is no such device, as under overlayfs."""
    try:
        device = device_number(place.stat().st_dev)
    except OSError:
        return ""
    return device if Path(f"/sys/dev/block/{device}").exists() else ""


def seen_of(use: WindowUse) -> Seen:
    """What was used, as far as it is compared with ceilings."""
    return Seen(
        written_bytes_per_s={device.number: device.written_bytes_per_s for device in use.devices},
        read_bytes_per_s={device.number: device.read_bytes_per_s for device in use.devices},
        flushes_per_s={device.number: device.flushes_per_s for device in use.devices},
        loopback_bytes_per_s=use.host.loopback_bytes_per_s,
    )


def limiting_of(session: TrialSession, result: MeasuredResult, totals: TotalFigures, use: WindowUse | None) -> Limiting:
    """What limited the trial."""
    spec = session.spec
    window = totals.window
    producers = max(1, spec.workload.topics * spec.workload.producers)
    level = next((level for level in LEVELS if level.number == result.level.level), None)
    load = result if isinstance(result, LoadResult) else None
    reads = load is None or load.catch_up is not None
    busy = load.busy_consumer if load else None
    load_of_trial = Load(
        msgs_per_s=result.msgs_per_s,
        offered_msgs_per_s=None if reads else result.offered_msgs_per_s,
        blocked_share=window.blocked_ns / 1e9 / max(1e-9, result.measured_s) / producers,
        in_flight_max=spec.workload.window_messages(),
        service_ms=load.service.mean_ms if load and load.service.count else None,
        nodes_needed=MAJORITY if level and level.replication_sync else 1,
        local_sync=bool(level and level.local_sync),
        servers=servers_of(session, use),
        workers=session.worker.processes,
        data_devices=tuple(sorted(_data_devices(session))),
        sync_ms=_sync_ms(session, use),
        consumer=busy.name if busy else "",
        consumer_busy_share=busy.busy_share if busy else 0.0,
        consumer_behind=any(reason.startswith(BUSY_CONSUMER) for reason in result.reasons),
        reads=reads,
        connections=connections_of(spec),
        generators_msgs_per_s=generators_msgs_per_s(session),
        links=session.resources.links,
    )
    ceilings = session.resources.ceilings
    return limiting_resource(load_of_trial, use, ceilings.ceilings if ceilings else None)


def measured_of(session: TrialSession, result: MeasuredResult, use: WindowUse | None) -> MeasuredTrial:
    """What can disturb the trial."""
    level = next((level for level in LEVELS if level.number == result.level.level), None)
    return MeasuredTrial(
        rate_counts=rate_counts(result),
        local_sync=bool(level and level.local_sync),
        servers=servers_of(session, use),
        workers=session.worker.processes,
        servers_hidden=session.use is not None and session.use.servers_seen is ServersSeen.HIDDEN,
        data_devices=tuple(sorted(_data_devices(session))),
    )


def servers_of(session: TrialSession, use: WindowUse | None) -> tuple[str, ...]:
    """Names of the servers' processes: of others' cluster those on this host that can be seen."""
    started = (*session.deployment.processes, *session.worker.processes)
    seen = [process.name for process in use.processes if process.name not in started] if use else []
    return (*session.deployment.processes, *seen)


def with_servers_seen(session: TrialSession, result: Result, use: WindowUse | None) -> Result:
    """The result with the CPU of servers that others run, if all of them are on this host and can be seen."""
    if use is None or session.use is None or not session.spec.attached:
        return result
    names = servers_of(session, use)
    if session.use.servers_seen is not ServersSeen.ALL or not names:
        return result
    cpus = sum(process.cpus for process in use.processes if process.name in names)
    return replace(result, server_cpu_s=cpus * result.measured_s)


def generators_msgs_per_s(session: TrialSession) -> float | None:
    """What the session's load generators make and check of its load without a system; None if that is not known."""
    workers = len(session.worker.processes)
    return known_rate_max(session.spec.workload, workers, session.resources.calibrations)


def _sync_ms(session: TrialSession, use: WindowUse | None) -> float | None:
    """Mean time of a sync as the slowest server reported it; None if none did."""
    names = {metric.name for metric in session.subject.system.metrics if metric.is_sync_ms}
    reported = use.metrics.values() if use else ()
    return max(
        (value for figures_of_process in reported for name, value in figures_of_process.items() if name in names),
        default=None,
    )


def begin_recording(session: TrialSession) -> UseRecorder:
    """Start to record what servers, worker and host use."""
    host, observer = session.resources.host, session.resources.observer
    metrics, devices = session.subject.system.metrics, _data_devices(session)
    workers = session.worker.processes
    # Clients are connected now, so that one sees to whom.
    seen = host.follow_servers(workers if session.spec.attached else ())
    return UseRecorder(
        host, session.store, observer, session.deployment, metrics, devices, workers=workers, servers_seen=seen
    )


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


def make_result(spec: LoadSpec, totals: TotalFigures, observed: Observed) -> LoadResult:
    """Rates, summaries and the verdict of one load."""
    window, measuring = totals.window, observed.known
    measured_s = max(1e-9, (window.until_mono_ns - window.from_mono_ns) / 1e9)
    subscriptions = tuple(_subscription_result(sub, observed) for sub in totals.subscriptions)
    workers = worker_results(totals, measured_s, scheduled=spec.workload.arrival is not Arrival.CLOSED_LOOP)
    evidence = _evidence_of_trial(spec, totals, observed, measured_s, subscriptions=subscriptions, workers=workers)
    verdict = classify(evidence)
    without_outcome = evidence.failed + evidence.unresolved
    return LoadResult(
        spec=spec,
        sending=measuring.sending,
        started_at=measuring.started_at,
        status=verdict.status,
        offered_msgs_per_s=evidence.offered_msgs_per_s,
        msgs_per_s=evidence.achieved_msgs_per_s,
        mb_per_s=evidence.achieved_msgs_per_s * _message_bytes(spec, window) / 1e6,
        sent=totals.sent,
        acked=totals.acked,
        failed=totals.failed,
        unresolved=totals.unresolved,
        response=without_unknown_tail(evidence.response, without_outcome),
        service=without_unknown_tail(summarise(window.service), without_outcome),
        delay=evidence.delay,
        own_lag=evidence.own_lag,
        subscriptions=subscriptions,
        validity=verdict.validity,
        reasons=verdict.reasons,
        warnings=(
            *verdict.warnings,
            *_disk_warnings(measuring.disk),
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
    )


def _record_results(schedule: RateSchedule, totals: TotalFigures, measured_s: float) -> Iterator[RecordResult]:
    """One result for each record of the schedule that was in force for some of the window."""
    records = zip(schedule.records, schedule.due(measured_s), totals.window.records, strict=False)
    for number, (name, (messages, seconds), figures) in enumerate(records):
        if seconds > 0:
            end_to_end = [summarise(sub.record_end_to_end[number]) for sub in totals.subscriptions]
            yield RecordResult(
                name=name,
                seconds=seconds,
                offered_msgs_per_s=messages / seconds,
                msgs_per_s=figures.acked_within / seconds,
                intended=figures.intended,
                failed=figures.failed,
                response=summarise(figures.response),
                service=summarise(figures.service),
                delay=summarise(figures.delay),
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
        own_lag=summarise(window.own_lag),
        delay=summarise(window.delay),
        response=summarise(window.response),
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
        level_doubts=tuple(doubts_of(spec.choice, level)),
        generators_msgs_per_s=observed.generators_msgs_per_s,
        receive_errors=[(message, count) for where, message, count in totals.errors if where == RECEIVING],
    )


def _message_bytes(spec: LoadSpec, window: WindowFigures) -> float:
    return window.acked_bytes / window.acked if window.acked else float(spec.workload.payload.message_bytes)


def _subscription_result(sub: SubscriptionTotals, observed: Observed) -> SubscriptionResult:
    """What is missing is backlog, and more is said of it only as far as somebody looked for it."""
    trace = observed.traces.get(sub.name, Traced())
    return SubscriptionResult(
        name=sub.name,
        **end_to_end_times(sub),
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


def _disk_warnings(disk: Calm | None) -> list[str]:
    if disk is None or disk.is_calm:
        return []
    return [
        f"{DISK_SLOW}: an fsync took {rounded(disk.latency.mean_ms)} ms on average, usually "
        f"{rounded(disk.usual_ms)} ms; why is not known: another program may have written to it, what was deleted "
        "before may not have been gone, or it may give less after a burst"
    ]


def _late_warnings(spec: LoadSpec, chase: CatchUp | None) -> list[str]:
    """What weakens figures of late readers."""
    if chase is None or spec.late is None:
        return []
    warnings = list(chase.limits)
    if not chase.reads.from_device:
        warnings.append(reads_sentence(chase.reads))
    if chase.backlog_msgs < spec.late.backlog_msgs:
        warnings.append(
            f"the backlog grew to {chase.backlog_msgs:,} of {spec.late.backlog_msgs:,} messages only, in three times "
            "as long as the offered rate takes"
        )
    return warnings


_FIRST_S = 15.0
"""How long the first message may take: consumers of a large group must find their partitions first."""


def follow_trial(session: TrialSession[LoadSpec] | TrialSession[ReadSpec], begin_ns: int) -> Follower:
    """A follower that takes in what the load generator reports of the trial that begins at an instant."""
    return Follower(
        session.spec,
        session.worker,
        session.store,
        session.resources.observer,
        session.check,
        use=session.use_now,
        begin_mono_ns=begin_ns,
    )


def read_only(session: TrialSession[ReadSpec], level: LevelFinding, started_at: str) -> tuple[ReadResult, TotalFigures]:
    """Let the consumers read until the time is up, or nothing has come for `spec.drain_s_max`."""
    worker = session.worker
    begin_ns = worker.start(0.0)
    worker.set_window(begin_ns, 0)
    session.use_window(begin_ns)
    session.phase("read", "what is in the topics, then what comes", session.spec.measure_s)
    with follow_trial(session, begin_ns) as follower:
        return _measure_reading(session, follower, level, started_at, begin_ns)


def _measure_reading(
    session: TrialSession[ReadSpec], follower: Follower, level: LevelFinding, started_at: str, begin_ns: int
) -> tuple[ReadResult, TotalFigures]:
    spec, worker = session.spec, session.worker
    cpu_before_s, control_before_s = session.server_cpu_s(), session.resources.control_cpu_s()
    follower.until(begin_ns)  # Several workers begin a little later, and what was read before is in no window.
    worker.resume_consumers([])
    _await_idle(session, follower, begin_ns + round(spec.measure_s * SECOND_NS))
    until_ns = time.monotonic_ns()
    worker.set_window(begin_ns, until_ns)
    session.use_window(begin_ns, until_ns)
    cpu_after_s, control_after_s = session.server_cpu_s(), session.resources.control_cpu_s()
    worker.stop_producers(0.0)
    totals = worker.totals()
    level = level_at_end(session, level)
    worker.finish(delete_topics=False)
    follower.finish()
    server_cpu_s = None if cpu_before_s is None or cpu_after_s is None else cpu_after_s - cpu_before_s
    cpu_s = (server_cpu_s, control_after_s - control_before_s)
    return read_result(spec, totals, started_at, level, cpu_s), totals


def _await_idle(session: TrialSession[ReadSpec], follower: Follower, limit_ns: int) -> None:
    received, since_s = 0, time.monotonic()
    while time.monotonic_ns() < limit_ns:
        follower.until(min(limit_ns, time.monotonic_ns() + SECOND_NS // 4))
        total = sum(sub.received for sub in session.worker.counts().subscriptions)
        if total > received:
            received, since_s = total, time.monotonic()
        else:
            patience_s = session.spec.drain_s_max if received else max(_FIRST_S, session.spec.drain_s_max)
            if time.monotonic() - since_s > patience_s:
                return


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
    corrupt = [f"{plural(sub.corrupt, 'message')} arrived damaged ({sub.name})" for sub in subs if sub.corrupt]
    brief = f"all that came was read within {read_s * 1e3:.0f} ms, too short for a rate that would hold for longer"
    errors_met = [(message, count) for where, message, count in totals.errors if where == RECEIVING]
    why = "the topics are empty, nothing of them is kept for us, or it did not come in time"
    if errors_met:
        why = f"consumers met {plural(sum(count for _, count in errors_met), 'error')}: {errors_met[0][0]}"
    nothing = [] if received else [f"no message was received: {why}"]
    changed = doubts_of_change(level)
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
        warnings=(brief,) if received and read_s < 1.0 else (),
        errors=totals.errors,
        worker_cpu_s=totals.window.worker_cpu_ns / 1e9,
        server_cpu_s=cpu_s[0],
        gc_pause_s=totals.window.gc_pause_ns / 1e9,
        measured_s=read_s,
        level=level,
        control_cpu_s=cpu_s[1],
        workers=worker_results(totals, read_s, scheduled=False),
    )
