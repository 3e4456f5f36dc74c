"""A trial that sends: warm-up, measure, drain."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from tidegauge.campaign.run.catch_up import Chased, chase_backlog
from tidegauge.campaign.run.collecting import is_collectable, observe_trial
from tidegauge.campaign.run.figures import DRAIN, MEASURE, SECOND_NS, Follower
from tidegauge.campaign.run.injection import fault_results
from tidegauge.campaign.run.running_trial import RunningTrial
from tidegauge.campaign.run.tracing import trace_missing
from tidegauge.campaign.run.trial.order import trial_number
from tidegauge.campaign.run.trial.result import Measuring, Observed, make_result
from tidegauge.campaign.run.trial.use import generators_msgs_per_s
from tidegauge.campaign.run.trial.window import CpuUsed, WindowProcedure, follow_trial, metering_cpu
from tidegauge.campaign.run.witnessing import level_at_end
from tidegauge.model.events import Note
from tidegauge.model.level import LevelFinding
from tidegauge.model.load import TotalFigures, Traced
from tidegauge.model.trial import LoadResult, LoadSpec
from tidegauge.model.workload import Arrival
from tidegauge.numbers import count
from tidegauge.statistics.steady import cold_because, too_short_to_judge, unsteady_because
from tidegauge.thresholds import AbortWatch
from tidegauge.worker.group import lead_s

_GRACE_S = 10.0
_IDLE_S = 5.0
_FAULTED_IDLE_S = 60.0
"""After a fault a consumer may wait for its session to expire (Kafka: 45 s) before it reads again."""
_RECOVER_S_MAX = 120.0
_LATE_NS = SECOND_NS // 2


class WarmUp(NamedTuple):
    """How the warm-up ended: for each "" or why figures were not steady, why the load generator was not warm."""

    unsteady: str
    cold: str


@dataclass(frozen=True)
class MeasuredLoad:
    """How the window ended. `chased`: what late readers did in it; None where all read from the start.

    `aborted`: what ended it before its time; None if nothing did.
    """

    until_ns: int
    cpu: CpuUsed
    chased: Chased | None
    aborted: AbortWatch | None = None


@dataclass(frozen=True)
class Drained:
    """How the drain ended ("drained", "idle", "limit"), and what became of what subscriptions miss, by name."""

    end: str
    totals: TotalFigures
    traces: Mapping[str, Traced]


class LoadProcedure(WindowProcedure[LoadSpec, LoadResult]):
    """A trial that sends, at a rate or as fast as it goes."""

    def carry_out_phases(
        self, trial: RunningTrial[LoadSpec], level: LevelFinding, started_at: str
    ) -> tuple[LoadResult, TotalFigures]:
        """Carry out the phases under load, a step each: warm-up, measure, drain."""
        trial.phase("warm-up", _offer_in_words(trial.spec), trial.spec.warmup_s_max)
        begin_ns = trial.worker.start()
        with follow_trial(trial, begin_ns) as follower:
            warm_up = _warm_up(trial, follower, begin_ns)
            seconds_before = follower.points.recent
            measuring = _open_window(trial, follower, begin_ns, warm_up, level=level, started_at=started_at)
            measured = _measure_window(trial, follower, measuring)
            drained = _drain_consumers(trial, follower)
            observed = _end_load(trial, follower, measuring, measured, drained)
            observed = replace(observed, warm_up=seconds_before)
            return make_result(trial.spec, drained.totals, observed), drained.totals


def _offer_in_words(spec: LoadSpec) -> str:
    closed_loop = spec.workload.arrival is Arrival.CLOSED_LOOP
    if spec.schedule is not None:
        begins = spec.schedule.phases[0].from_msgs_per_s
        where = "where the schedule begins" if begins else "the schedule's mean, which begins with nothing"
        return f"at {count(spec.msgs_per_s)} msg/s, {where}"
    return "as fast as it goes" if closed_loop else f"at {count(spec.msgs_per_s)} msg/s"


def _warm_up(trial: RunningTrial[LoadSpec], follower: Follower, begin_ns: int) -> WarmUp:
    """Wait until figures are steady and the load generator is warm, within the bounds.

    A warm-up of fixed length waits for neither: then what matters is what of the compiling was left for the window.
    """
    spec = trial.spec
    earliest_ns = begin_ns + round(spec.warmup_s_min * SECOND_NS)
    latest_ns = begin_ns + round(spec.warmup_s_max * SECOND_NS)
    follower.follow_until(earliest_ns)
    while True:
        unsteady = unsteady_because(follower.points.recent, spec.msgs_per_s)
        cold = cold_because(follower.points.recent) if spec.warmup_s_min < spec.warmup_s_max else ""
        whole = bool(follower.points) and follower.points.last.until_mono_ns >= latest_ns
        # The figures of the last second come a little after its end, and they count.
        if not (unsteady or cold) or whole or not follower.follow_until_next_second(latest_ns + _LATE_NS):
            return WarmUp(unsteady, cold)


def _open_window(
    trial: RunningTrial[LoadSpec],
    follower: Follower,
    begin_ns: int,
    warm_up: WarmUp,
    *,
    level: LevelFinding,
    started_at: str,
) -> Measuring:
    """Tell everybody what is measured once the warm-up is over."""
    spec, worker = trial.spec, trial.worker
    # Ahead, so that no message of it has been sent yet, on the edges of the worker's seconds.
    from_ns = follower.next_second_edge(lead_s(len(worker.processes)))
    until_ns = from_ns + round((spec.measure_s_max or spec.measure_s) * SECOND_NS)
    # With late readers the window ends when they are done, or with the last of so many messages: nobody knows yet.
    is_open = spec.late is not None or spec.messages > 0
    worker.set_window(from_ns, 0 if is_open else until_ns)
    measuring = Measuring(
        trial_id=trial_number(trial.store.directory),
        processes=worker.processes,
        started_at=started_at,
        begin_mono_ns=begin_ns,
        from_mono_ns=from_ns,
        until_mono_ns=until_ns,
        unsteady=warm_up.unsteady,
        cold=warm_up.cold,
        level=level,
        disk=trial.disk,
        sending=trial.sending,
    )
    if is_collectable(spec):
        # For a controller that comes later, if this one ends once the trial is measured.
        trial.store.write_measuring(measuring)
    trial.use_window(from_ns, 0 if is_open else until_ns)
    return measuring


def _measure_window(trial: RunningTrial[LoadSpec], follower: Follower, measuring: Measuring) -> MeasuredLoad:
    """Measure until the window ends and its figures are known; meanwhile faults come, or late readers read."""
    spec, from_ns, until_ns = trial.spec, measuring.from_mono_ns, measuring.until_mono_ns
    chased: Chased | None = None
    follower.follow_until(from_ns)
    with metering_cpu(trial) as cpu:
        if spec.late is None:
            trial.phase("measure", _doubt_of_warm_up(spec, measuring.unsteady, measuring.cold), spec.measure_s)
            follower.begin_phase(MEASURE, from_ns)
            follower.begin_phase(DRAIN, until_ns)
            if trial.faults is not None:
                trial.faults.begin_faults(from_ns)
            follow = _follow_messages if spec.messages else _follow_window
            until_ns = follow(trial, follower, from_ns, until_ns)
        else:
            chased = chase_backlog(trial, follower, spec.late, from_ns, measuring.begin_mono_ns)
            until_ns = chased.until_ns
    # A window of 2.5 s, or of so many messages, ends within a second, at whose end another backlog may wait.
    ends_within = chased is None and not follower.is_on_edge(until_ns - from_ns)
    backlogs = {sub.name: sub.backlog for sub in trial.worker.totals().subscriptions} if ends_within else {}
    # The load goes on until the window's last second is known: the window's end is not the end of the load.
    follower.follow_until_known(until_ns, patience_s=3.0)
    follower.receiving.window_end.update(backlogs)
    _await_faults(trial, follower)
    is_cut = until_ns < measuring.until_mono_ns and spec.late is None
    aborted = follower.abort if is_cut and follower.abort.broken is not None else None
    return MeasuredLoad(until_ns, cpu, chased, aborted)


def _follow_window(trial: RunningTrial[LoadSpec], follower: Follower, from_ns: int, until_ns: int) -> int:
    """Follow the window to its end, which comes early if a rule of `abort-on` is broken. Returns where it ended."""
    while (now_ns := time.monotonic_ns()) < until_ns:
        follower.follow_until(min(until_ns, now_ns + SECOND_NS // 4))
        if follower.abort.broken is None:
            continue
        end_ns = follower.next_second_edge(lead_s(len(trial.worker.processes)))
        if end_ns >= until_ns:
            break
        trial.resources.observer(Note(f"{trial.spec.trial_id}: aborted, since '{follower.abort.broken.text}' holds."))
        _end_window(trial, follower, from_ns, end_ns)
        follower.follow_until(end_ns)
        return end_ns
    follower.follow_until(until_ns)
    return until_ns


def _end_window(trial: RunningTrial[LoadSpec], follower: Follower, from_ns: int, until_ns: int) -> None:
    """Tell everybody where the window ends, which had no end or a later one."""
    trial.worker.set_window(from_ns, until_ns)
    trial.use_window(from_ns, until_ns)
    follower.cut_phase_short(DRAIN, until_ns)


def _follow_messages(trial: RunningTrial[LoadSpec], follower: Follower, from_ns: int, latest_ns: int) -> int:
    """Follow the window until each of its messages has an outcome, or time is up, or a rule is broken.

    Returns where it ended: with the last outcome.
    """
    spec = trial.spec
    while True:
        follower.follow_until(time.monotonic_ns() + SECOND_NS // 4)
        seen = trial.worker.counts().window
        outcomes = seen.acked + seen.failed
        if outcomes >= spec.messages:
            until_ns = seen.last_outcome_mono_ns + 1
            break
        broken = follower.abort.broken
        if broken is not None or time.monotonic_ns() >= latest_ns:
            until_ns = follower.next_second_edge(lead_s(len(trial.worker.processes)))
            why = f"aborted, since '{broken.text}' holds" if broken else "the longest time that it may take is over"
            trial.resources.observer(
                Note(f"{spec.trial_id}: {why}: {outcomes:,} of {spec.messages:,} messages have an outcome.")
            )
            break
    _end_window(trial, follower, from_ns, until_ns)
    follower.follow_until(until_ns)
    return until_ns


def _doubt_of_warm_up(spec: LoadSpec, unsteady: str, cold: str) -> str:
    """What of its warm-up a measurement begins with; "" if nothing."""
    if unsteady:
        return too_short_to_judge(spec.warmup_s_max) or f"warm-up not steady: {unsteady}"
    return cold and f"the load generator is not warm: {cold}"


def _await_faults(trial: RunningTrial, follower: Follower) -> None:
    """Wait until the last fault is lifted and all nodes take part again, or time is up, while the load goes on.

    Else messages that wait for a node that is still starting would be taken for failed, or for lost.
    """
    if trial.faults is None:
        return
    while trial.faults.has_faults_to_come:
        follower.follow_until(time.monotonic_ns() + SECOND_NS // 4)
    trial.phase("recover", "until all nodes take part again", _RECOVER_S_MAX)
    deadline_s = time.monotonic() + _RECOVER_S_MAX
    while not trial.faults.has_recovered():
        if time.monotonic() > deadline_s:
            problem = f"not all nodes took part again within {_RECOVER_S_MAX:.0f} s of the window's end"
            trial.resources.observer(
                Note(f"{trial.spec.trial_id}: {problem}; what they owed counts as failed, or is looked for.")
            )
            return
        follower.follow_until(time.monotonic_ns() + SECOND_NS // 2)


def _drain_consumers(trial: RunningTrial[LoadSpec], follower: Follower) -> Drained:
    """End the load, and wait for consumers; what they did not receive is looked for."""
    has_consumers = trial.spec.workload.subscriptions > 0
    until = "until consumers have everything" if has_consumers else "until what was sent is acknowledged"
    trial.phase("drain", until, trial.spec.drain_s_max)
    trial.worker.stop_producers(_GRACE_S)
    end, totals = _await_drained(trial, follower)
    # Where consumers are still receiving, what they have not is on its way.
    totals, traces = trace_missing(trial, totals) if end == "idle" else (totals, {})
    return Drained(end, totals, traces)


def _await_drained(trial: RunningTrial[LoadSpec], follower: Follower) -> tuple[str, TotalFigures]:
    """Wait until no subscription is behind ("drained"), none receives any more ("idle"), or time is up ("limit").

    How long a silence means that nothing more will come depends on those that were followed by more.
    """
    deadline_s = time.monotonic() + trial.spec.drain_s_max
    received, progress_s = -1, time.monotonic()
    least_s = _FAULTED_IDLE_S if trial.faults else _IDLE_S
    judged = -1
    while True:
        seen = trial.worker.counts()
        now_s = time.monotonic()
        total = sum(sub.received for sub in seen.subscriptions)
        # By counts nobody is further behind than really: what they say is done may not be, which costs more to know.
        if total != judged and all(sub.backlog == 0 for sub in seen.subscriptions):
            totals = trial.worker.totals()
            if all(sub.backlog == 0 for sub in totals.subscriptions):
                return "drained", totals
            judged = total
        if total > received:
            received, progress_s = total, now_s
        elif now_s - progress_s > follower.silences.idle_s(least_s):
            return "idle", trial.worker.totals()
        if now_s > deadline_s:
            return "limit", trial.worker.totals()
        follower.follow_until(time.monotonic_ns() + SECOND_NS // 4)


def _end_load(
    trial: RunningTrial[LoadSpec], follower: Follower, measuring: Measuring, measured: MeasuredLoad, drained: Drained
) -> Observed:
    """Close the clients, and gather what was seen of the trial."""
    spec, faults, chased = trial.spec, trial.faults, measured.chased
    # While topics are still there; nobody is late for it any more.
    level = level_at_end(trial, measuring.level)
    trial.worker.finish(delete_topics=spec.leaves_servers and not spec.attached)
    follower.finish()
    measuring = replace(measuring, until_mono_ns=measured.until_ns, level=level)
    return replace(
        # What late readers do to the others is reported by phases: whether figures are steady is asked before them.
        observe_trial(spec, measuring, follower, chased.resumed_ns if chased else measured.until_ns, drained.end),
        server_cpu_s=measured.cpu.servers_s,
        control_cpu_s=measured.cpu.control_s,
        catch_up=chased.found if chased else None,
        traces=drained.traces,
        faults=fault_results(
            faults.injected if faults else (),
            follower.load,
            (measuring.from_mono_ns, measured.until_ns),
            sum(trace.lost for trace in drained.traces.values()),
        ),
        generators_msgs_per_s=generators_msgs_per_s(trial),
        worker_hosts=trial.resources.hosts_of_workers[: len(trial.worker.processes)],
        aborted=measured.aborted,
    )
