"""One trial from an empty data directory to a result, and back to an empty machine.

Everything that is started is registered for its end at once, so that the order of clean-up is the reverse of the order
of starting, whatever ends the trial: its result, a failure, or an interruption. A trial that shares its servers leaves
them, once it has its result, to the next (`SharedServers`), which uses topics of its own and warms up anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from tidegauge.attestation.record import carried_words, settings_digest
from tidegauge.campaign.plan.contenders import case_of
from tidegauge.campaign.plan.fairness import contender_of_trial, facts_of_surroundings
from tidegauge.campaign.run.catch_up import Chased, chase_backlog
from tidegauge.campaign.run.collecting import collectable, observed_of
from tidegauge.campaign.run.disturbed import with_disturbances
from tidegauge.campaign.run.figures import DRAIN, MEASURE, SECOND_NS, Follower
from tidegauge.campaign.run.injection import fault_results
from tidegauge.campaign.run.result import (
    Measuring,
    begin_recording,
    follow_trial,
    generators_msgs_per_s,
    limiting_of,
    make_result,
    measured_of,
    read_only,
    seen_of,
    with_servers_seen,
)
from tidegauge.campaign.run.session import (
    BeganWith,
    RunResources,
    SharedServers,
    Subject,
    TrialSession,
    await_complete,
    delete_topics,
    open_session,
    server_directories,
    with_faults,
)
from tidegauge.campaign.run.tracing import trace_missing
from tidegauge.campaign.run.witnessing import check_witnesses, checked_level, level_at_end, with_witness
from tidegauge.errors import RunFailedError, TidegaugeError
from tidegauge.fairness import ComparedSystem, sending_of
from tidegauge.hosts import space
from tidegauge.limiting.window_use import WindowUse
from tidegauge.model.events import Note, Observer, PhaseProgress
from tidegauge.model.level import LevelFinding
from tidegauge.model.load import TotalFigures
from tidegauge.model.sending import Sending, bodies_needed
from tidegauge.model.server import Setting
from tidegauge.model.trial import (
    LoadResult,
    LoadSpec,
    MeasuredResult,
    ReadResult,
    ReadSpec,
    ServerReuse,
    Spec,
    TrialSpec,
)
from tidegauge.model.workload import Arrival, Workload
from tidegauge.numbers import count
from tidegauge.statistics.steady import cold_because, too_short_to_judge, unsteady_because
from tidegauge.store.trial import TrialStore
from tidegauge.systems.api import Deployment, System
from tidegauge.systems.attached import AttachedCluster
from tidegauge.worker.api import LoadOrder
from tidegauge.worker.group import lead_s

Result = TypeVar("Result", bound=MeasuredResult)

_TELLING_S = 2.0
"""Before that long the pace of the first few says nothing."""


class TrialProgress:
    """Turns counts into events. Each kind ("partitions", "consumers") has a pace of its own."""

    def __init__(self, observer: Observer, trial_id: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._observer = observer
        self._trial_id = trial_id
        self._clock = clock
        self._what = ""
        self._begun = 0
        self._since_s = 0.0

    def report(self, what: str, done: int, total: int) -> None:
        """Report that so many of so many are ready."""
        now_s = self._clock()
        if what != self._what or done < self._begun:
            self._what, self._begun, self._since_s = what, done, now_s
        if what:
            self._observer(PhaseProgress(self._trial_id, what, done, total, self._left_s(now_s, done, total)))

    def _left_s(self, now_s: float, done: int, total: int) -> float | None:
        done_meanwhile, took_s = done - self._begun, now_s - self._since_s
        return (total - done) * took_s / done_meanwhile if done_meanwhile > 0 and took_s >= _TELLING_S else None


OWN_LAG_TOLERANCE_MS = 1.0


def load_order(
    spec: TrialSpec,
    system: System,
    deployment: Deployment,
    topic_names: Sequence[str],
    directory: Path,
    *,
    topic_settings: Mapping[str, str] | None = None,
) -> LoadOrder:
    """The order of a trial that is stored in `directory`, whose path makes its messages unlike any other trial's.

    `topic_settings`: those of the campaign, which win.
    """
    load = spec if isinstance(spec, LoadSpec) else None
    # What a cluster of others needs its topics to say, since its servers were not configured for the level.
    beside = deployment.topic_settings if isinstance(deployment, AttachedCluster) else {}
    return LoadOrder(
        connection=deployment.connection,
        driver=system.driver,
        system=system.name,
        topic_names=tuple(topic_names),
        replication_factor=spec.copies or min(3, spec.nodes),
        topic_settings={**system.topic_settings(spec.choice), **beside, **(topic_settings or {})},
        acks=system.client_acks(spec.choice, spec.nodes),
        workload=_with_bodies(spec),
        msgs_per_s=load.msgs_per_s or 0.0 if load else spec.most_msgs_per_s,
        trial_id=trial_number(directory),
        seed=spec.seed,
        own_lag_tolerance_ms=OWN_LAG_TOLERANCE_MS,
        subscriptions_start_paused=load.late.subscriptions if load and load.late else 0,
        # What is read before the clock starts would be in no figure.
        consumers_start_paused=isinstance(spec, ReadSpec),
        schedule=load.schedule if load else None,
    )


def _with_bodies(spec: TrialSpec) -> Workload:
    """The workload with as many different bodies as were asked for, or as it takes."""
    payload = spec.workload.payload
    bodies = payload.pool_bodies or bodies_needed(payload, spec.sending)
    return replace(spec.workload, payload=replace(payload, pool_bodies=bodies))


def trial_number(directory: Path) -> int:
    """The number of a trial that is stored in `directory`, in every message and the name of every subscription."""
    return int.from_bytes(hashlib.blake2b(str(directory).encode(), digest_size=8).digest(), "big")


_GRACE_S = 10.0
_IDLE_S = 5.0
_FAULTED_IDLE_S = 60.0
"""After a fault a consumer may wait for its session to expire (Kafka: 45 s) before it reads again."""
_RECOVER_S_MAX = 120.0
_LATE_NS = SECOND_NS // 2


def run_trial(
    spec: LoadSpec | ReadSpec,
    subject: Subject,
    resources: RunResources,
    store: TrialStore,
    shared: SharedServers | None = None,
) -> LoadResult | ReadResult:
    """Carry out one trial that loads or reads, and store its result.

    Args:
        shared: where a trial that shares its servers finds and leaves them; what it keeps is ended before a trial that
            wants its own, and when a trial fails.

    Raises:
        StartFailedError: server or worker did not start, or a server ended.
        LevelMismatchError: the system is not at the level asked for.
        RunFailedError: the worker ended, the disk is full, the agent is gone.
    """
    shared = shared or SharedServers()
    if shared.wanted != _identity_of_servers(spec, subject) or spec.servers is not ServerReuse.SHARED:
        shared.close()
    try:
        if isinstance(spec, ReadSpec):
            return _run_trial(spec, subject, resources, store, shared, measure=read_only)
        return _run_trial(spec, subject, resources, store, shared, measure=_measure_load)
    except BaseException:
        shared.close()
        raise


def _run_trial(
    spec: Spec,
    subject: Subject,
    resources: RunResources,
    store: TrialStore,
    shared: SharedServers,
    *,
    measure: Callable[[TrialSession[Spec], LevelFinding, str], tuple[Result, TotalFigures]],
) -> Result:
    started_at = datetime.now(UTC).isoformat(timespec="seconds")
    with ExitStack() as cleanup:
        if not spec.attached:
            disks, look = store.disks or (store.data_directory,), resources.host.free_space
            needed = space.needed_rooms(spec, disks, store.journal_disks, look, resources.hosts_of_nodes)
            space.check_before(spec.trial_id, needed)
        for place in server_directories(store):
            resources.host.track_directory(place)
            cleanup.callback(resources.host.remove_directory, place)
        session = open_session(spec, subject, resources, store, running=shared.session, cleanup=cleanup)
        session.phase("prepare", "topics, producers, consumers")
        session, order, level = _prepare_load(session)
        level = with_witness(session, order, level)
        check_witnesses(spec, level)
        session = with_faults(session, order.topic_names, cleanup)
        with contextlib.closing(begin_recording(session)) as use:
            session = replace(session, use=use, order=order)
            result, totals = measure(session, level, started_at)
        result = _with_use(session, result, totals, use.window_use())
        store.finish(result, totals)
        with contextlib.suppress(RunFailedError):  # What stays goes by its age.
            session.worker.remove_left_results(order.trial_id)
        delete_topics(session)
        if spec.servers is ServerReuse.SHARED:
            if shared.session is None:
                shared.keep(session, _identity_of_servers(spec, subject), cleanup)
        else:
            session.phase("stop")
    return result


def _with_use(session: TrialSession, result: Result, totals: TotalFigures, use: WindowUse | None) -> Result:
    """The result with what limited it and, as far as that was seen, what was used meanwhile."""
    result = with_servers_seen(session, result, use)
    limits = limiting_of(session, result, totals, use)
    decides = session.resources.disturbance_decides
    result = with_disturbances(result, measured_of(session, result, use), use, decides=decides)
    if use is None:
        return replace(result, limiting=limits)
    return replace(result, limiting=limits, telemetry_cpus=use.telemetry_cpus, seen=seen_of(use))


def _identity_of_servers(spec: TrialSpec, subject: Subject) -> str:
    """A text that is equal for trials which could use the same servers."""
    return f"{subject.wanted} {spec.limits if isinstance(spec, LoadSpec) else None}"


def _prepare_load(session: TrialSession[Spec]) -> tuple[TrialSession[Spec], LoadOrder, LevelFinding]:
    """Make topics and clients, then read settings and level back. Raises `StartFailedError`, `LevelMismatchError`."""
    spec, system, worker = session.spec, session.subject.system, session.worker
    topics = spec.workload.existing_topics or session.topics.names(spec.workload.topics)
    topic_settings = session.subject.choice.topic
    order = load_order(spec, system, session.deployment, topics, session.store.directory, topic_settings=topic_settings)
    if spec.workload.existing_topics:
        session.topics.keep(order.trial_id, *topics)
    try:
        client_settings = worker.prepare(order, TrialProgress(session.resources.observer, spec.trial_id).report)
    except RunFailedError:
        session.check()  # A server that has ended is the cause, and says more than the client that could not reach it.
        raise
    server_settings = await_complete(session, topics)
    attachment = session.subject.attachment
    if attachment is not None:
        server_settings = attachment.without_secrets(server_settings)
        client_settings = attachment.without_secrets(client_settings)
    session.store.settings(server_settings, client_settings, session.deployment.jvm_flags, worker.facts)
    # Clients too: a producer that was told to wait for no acknowledgement has no level, whatever the servers do.
    settings = [*server_settings, *client_settings]
    level = checked_level(session, settings)
    session.resources.in_force(spec, _in_force(session, settings))
    began_with = BeganWith(tuple(topics), tuple(server_settings), tuple(client_settings))
    session = replace(session, sending=_sending_of_producers(session, settings), began_with=began_with)
    if level.level is None:
        return session, order, level
    attestations = session.resources.attestations(spec.system, spec.choice, settings_digest(server_settings))
    return session, order, replace(level, attested=carried_words(attestations))


def _sending_of_producers(session: TrialSession, settings: Sequence[Setting]) -> Sending | None:
    """How producers send, by their own settings as they were read back."""
    system = session.subject.system
    case = case_of(session.spec, session.subject.choice, system, tuple(settings))
    facts = session.worker.facts
    library = facts.drivers.get(system.driver, "") if facts else ""
    return sending_of(case, system.client_facts(case).facts, library)


def _in_force(session: TrialSession, settings: Sequence[Setting]) -> ComparedSystem:
    subject, host = session.subject, session.resources.host
    around = facts_of_surroundings(
        subject.distribution.java_version, session.cache_dropped, host.name, session.worker.facts
    )
    return contender_of_trial(session.spec, subject.choice, subject.system, tuple(settings), around)


def _doubt_of_warm_up(spec: LoadSpec, unsteady: str, cold: str) -> str:
    """What of its warm-up a measurement begins with; "" if nothing."""
    if unsteady:
        return too_short_to_judge(spec.warmup_s_max) or f"warm-up not steady: {unsteady}"
    return cold and f"the load generator is not warm: {cold}"


def _measure_load(
    session: TrialSession[LoadSpec], level: LevelFinding, started_at: str
) -> tuple[LoadResult, TotalFigures]:
    session.phase("warm-up", _offer_in_words(session.spec), session.spec.warmup_s_max)
    begin_ns = session.worker.start()
    with follow_trial(session, begin_ns) as follower:
        return _measure_and_drain(session, follower, level, started_at, begin_ns)


def _measure_and_drain(
    session: TrialSession[LoadSpec], follower: Follower, level: LevelFinding, started_at: str, begin_ns: int
) -> tuple[LoadResult, TotalFigures]:
    """Warm up, measure, drain."""
    spec, worker = session.spec, session.worker
    measuring = _set_window(session, follower, level, started_at, begin_ns)
    warm_up, from_ns, until_ns = follower.points.recent, measuring.from_mono_ns, measuring.until_mono_ns
    follower.until(from_ns)
    cpu_before_s, control_before_s = session.server_cpu_s(), session.resources.control_cpu_s()
    chased: Chased | None = None
    if spec.late is None:
        session.phase("measure", _doubt_of_warm_up(spec, measuring.unsteady, measuring.cold), spec.measure_s)
        follower.begin(MEASURE, from_ns)
        follower.begin(DRAIN, until_ns)
        if session.faults is not None:
            session.faults.begin(from_ns)
        follower.until(until_ns)
    else:
        chased = chase_backlog(session, follower, spec.late, from_ns, begin_ns)
        until_ns = chased.until_ns
        measuring = replace(measuring, until_mono_ns=until_ns)
    cpu_after_s, control_after_s = session.server_cpu_s(), session.resources.control_cpu_s()
    # The load goes on until the window's last second is known: the window's end is not the end of the load.
    follower.until_known(until_ns, patience_s=3.0)
    _await_faults(session, follower)
    session.phase("drain", "until consumers have everything", spec.drain_s_max)
    worker.stop_producers(_GRACE_S)
    drain_end, totals = _await_drained(session, follower)
    # Where consumers are still receiving, what they have not is on its way.
    totals, traces = trace_missing(session, totals) if drain_end == "idle" else (totals, {})
    # While topics are still there; nobody is late for it any more.
    measuring = replace(measuring, level=level_at_end(session, level))
    worker.finish(delete_topics=spec.servers is ServerReuse.SHARED and not spec.attached)
    follower.finish()
    observed = replace(
        # What late readers do to the others is reported by phases: whether figures are steady is asked before them.
        observed_of(spec, measuring, follower, chased.resumed_ns if chased else until_ns, drain_end),
        warm_up=warm_up,
        server_cpu_s=None if cpu_before_s is None or cpu_after_s is None else cpu_after_s - cpu_before_s,
        control_cpu_s=control_after_s - control_before_s,
        catch_up=chased.found if chased else None,
        traces=traces,
        faults=fault_results(
            session.faults.injected if session.faults else (),
            follower.load,
            (from_ns, until_ns),
            sum(trace.lost for trace in traces.values()),
        ),
        generators_msgs_per_s=generators_msgs_per_s(session),
    )
    return make_result(spec, totals, observed), totals


def _set_window(
    session: TrialSession[LoadSpec], follower: Follower, level: LevelFinding, started_at: str, begin_ns: int
) -> Measuring:
    """Await the end of the warm-up, and tell everybody what is measured after it."""
    spec, worker = session.spec, session.worker
    unsteady, cold = _warm_up(session, follower, begin_ns)
    # Ahead, so that no message of it has been sent yet, on the edges of the worker's seconds.
    from_ns = follower.edge(lead_s(len(worker.processes)))
    until_ns = from_ns + round(spec.measure_s * SECOND_NS)
    # With late readers the window ends when they are done, which nobody knows yet.
    worker.set_window(from_ns, until_ns if spec.late is None else 0)
    instants, number = (begin_ns, from_ns, until_ns), trial_number(session.store.directory)
    measuring = Measuring(
        number, worker.processes, started_at, *instants, unsteady, cold, level, session.disk, session.sending
    )
    if collectable(spec):
        # For a controller that comes later, if this one ends once the trial is measured.
        session.store.measuring(measuring)
    session.use_window(from_ns, until_ns if spec.late is None else 0)
    return measuring


def _await_faults(session: TrialSession, follower: Follower) -> None:
    """Wait until the last fault is lifted and all nodes take part again, or time is up, while the load goes on.

    Else messages that wait for a node that is still starting would be taken for failed, or for lost.
    """
    if session.faults is None:
        return
    while session.faults.busy:
        follower.until(time.monotonic_ns() + SECOND_NS // 4)
    session.phase("recover", "until all nodes take part again", _RECOVER_S_MAX)
    deadline_s = time.monotonic() + _RECOVER_S_MAX
    while not session.faults.recovered():
        if time.monotonic() > deadline_s:
            problem = f"not all nodes took part again within {_RECOVER_S_MAX:.0f} s of the window's end"
            session.resources.observer(
                Note(f"{session.spec.trial_id}: {problem}; what they owed counts as failed, or is looked for.")
            )
            return
        follower.until(time.monotonic_ns() + SECOND_NS // 2)


def _offer_in_words(spec: LoadSpec) -> str:
    closed_loop = spec.workload.arrival is Arrival.CLOSED_LOOP
    if spec.schedule is not None:
        return f"at {count(spec.msgs_per_s)} msg/s, where the schedule begins"
    return "as fast as it goes" if closed_loop else f"at {count(spec.msgs_per_s)} msg/s"


def _warm_up(session: TrialSession[LoadSpec], follower: Follower, begin_ns: int) -> tuple[str, str]:
    """Wait until figures are steady and the load generator is warm, within the bounds.

    For each "" or why it was not. A warm-up of fixed length waits for neither: then what matters is what of the
    compiling was left for the window.
    """
    spec = session.spec
    earliest_ns = begin_ns + round(spec.warmup_s_min * SECOND_NS)
    latest_ns = begin_ns + round(spec.warmup_s_max * SECOND_NS)
    follower.until(earliest_ns)
    while True:
        unsteady = unsteady_because(follower.points.recent, spec.msgs_per_s)
        cold = cold_because(follower.points.recent) if spec.warmup_s_min < spec.warmup_s_max else ""
        whole = bool(follower.points) and follower.points.last.until_mono_ns >= latest_ns
        # The figures of the last second come a little after its end, and they count.
        if not (unsteady or cold) or whole or not follower.until_next_second(latest_ns + _LATE_NS):
            return unsteady, cold


def _await_drained(session: TrialSession[LoadSpec], follower: Follower) -> tuple[str, TotalFigures]:
    """Wait until no subscription is behind ("drained"), none receives any more ("idle"), or time is up ("limit").

    How long a silence means that nothing more will come depends on those that were followed by more.
    """
    deadline_s = time.monotonic() + session.spec.drain_s_max
    received, progress_s = -1, time.monotonic()
    least_s = _FAULTED_IDLE_S if session.faults else _IDLE_S
    judged = -1
    while True:
        seen = session.worker.counts()
        now_s = time.monotonic()
        total = sum(sub.received for sub in seen.subscriptions)
        # By counts nobody is further behind than really: what they say is done may not be, which costs more to know.
        if total != judged and all(sub.backlog == 0 for sub in seen.subscriptions):
            totals = session.worker.totals()
            if all(sub.backlog == 0 for sub in totals.subscriptions):
                return "drained", totals
            judged = total
        if total > received:
            received, progress_s = total, now_s
        elif now_s - progress_s > follower.silences.idle_s(least_s):
            return "idle", session.worker.totals()
        if now_s > deadline_s:
            return "limit", session.worker.totals()
        follower.until(time.monotonic_ns() + SECOND_NS // 4)


def failure_text(error: BaseException) -> str:
    """An error as one line for the trial's record."""
    if isinstance(error, TidegaugeError):
        where = f" (log: {error.log_path})" if error.log_path else ""
        return f"{error.message}{where}"
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
