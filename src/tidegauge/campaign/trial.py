"""One trial from an empty data directory to a result, and back to an empty machine.

Everything that is started is registered for its end at once, so that the order of clean-up is the reverse of the order
of starting, whatever ends the trial: its result, a failure, or an interruption. A trial that shares its servers leaves
them, once it has its result, to the next of its step (`Stand`), which uses topics of its own and warms up anew.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from tidegauge.campaign import space, witnessing
from tidegauge.campaign.events import Observer, PhaseStarted
from tidegauge.campaign.fairness import InForce
from tidegauge.campaign.figures import Follower
from tidegauge.campaign.level import check_witnesses, checked_level
from tidegauge.campaign.model import SystemChoice
from tidegauge.campaign.order import load_order, topic_names
from tidegauge.campaign.result import Observed, make_result
from tidegauge.campaign.stand import Running, Stand
from tidegauge.errors import RunFailedError, StartFailedError, TidegaugeError
from tidegauge.experiments.api import Servers, TrialResult, TrialSpec
from tidegauge.fleet.api import Host
from tidegauge.hosts.fsync import Calm
from tidegauge.hosts.page_cache import CacheDrop
from tidegauge.statistics.steady import too_short_to_judge, unsteady_because
from tidegauge.store.api import TrialStore
from tidegauge.systems.api import Deployment, DeployRequest, Distribution, LevelFinding, Setting, System
from tidegauge.worker.api import LoadWorker, TotalFigures
from tidegauge.workload.model import Arrival

WORKER_NAME = "worker"
READY_S_MAX = 120.0
COMPLETE_S_MAX = 60.0
_PROBE_S = 5.0
_GRACE_S = 10.0
_IDLE_S = 5.0
_LEAD_S = 0.4
_SECOND_NS = 1_000_000_000
_LATE_NS = _SECOND_NS // 2


@dataclass(frozen=True)
class Bench:
    """What every trial of a run is made with. `start_worker` takes host, driver and log directory.

    `control_cpu_s` tells the CPU seconds that Tidegauge's own control has used so far. `calm_disk` waits until the disk
    of a directory is about as fast as usual; None if it can't tell. `in_force` is told what each trial found in force.
    `watch_syncs` records what servers sync to disk.
    """

    host: Host
    start_worker: Callable[[Host, str, Path], LoadWorker]
    drop_page_cache: Callable[[], CacheDrop]
    observer: Observer
    control_cpu_s: Callable[[], float] = time.process_time
    calm_disk: Callable[[Path], Calm | None] = lambda _: None
    in_force: Callable[[InForce], None] = lambda _: None
    watch_syncs: witnessing.WatchSyncs = witnessing.watch_nothing


@dataclass(frozen=True)
class Subject:
    """What a trial is about: the system, its files, and how the campaign wants it."""

    system: System
    distribution: Distribution
    choice: SystemChoice


@dataclass(frozen=True)
class _Session:
    """A trial with everything running."""

    spec: TrialSpec
    bench: Bench
    store: TrialStore
    subject: Subject
    deployment: Deployment
    worker: LoadWorker
    disk: Calm | None
    cache_dropped: bool | None = None

    def phase(self, name: str, detail: str = "", seconds_max: float | None = None) -> None:
        self.bench.observer(PhaseStarted(self.spec.trial_id, name, detail, seconds_max))

    def check(self) -> None:
        """Raise what must end the trial."""
        self.deployment.check_alive()
        space.check_during(_places(self.store))

    def server_cpu_s(self) -> float:
        """CPU seconds of all server processes since they started."""
        return sum(self.bench.host.status(process).cpu_s for process in self.deployment.processes)


def run_trial(
    spec: TrialSpec, subject: Subject, bench: Bench, store: TrialStore, stand: Stand | None = None
) -> TrialResult:
    """Carry out one trial and store its result.

    Args:
        stand: where a trial that shares its servers finds and leaves them; what it keeps is ended before a trial that
            wants its own, and when a trial fails.

    Raises:
        StartFailedError: server or worker did not start, or a server ended.
        LevelMismatchError: the system is not at the level asked for.
        RunFailedError: the worker ended, the disk is full, the agent is gone.
    """
    stand = stand or Stand()
    if spec.servers is not Servers.SHARED:
        stand.close()
    try:
        return _run_trial(spec, subject, bench, store, stand)
    except BaseException:
        stand.close()
        raise


def _run_trial(spec: TrialSpec, subject: Subject, bench: Bench, store: TrialStore, stand: Stand) -> TrialResult:
    started_at = datetime.now(UTC).isoformat(timespec="seconds")
    with ExitStack() as cleanup:
        disks = store.disks or (store.data_directory,)
        space.check_before(
            [*space.by_turns(disks, spec.nodes), *(space.by_turns(store.journal_disks, spec.nodes))], spec
        )
        for place in _places(store):
            bench.host.track_directory(place)
            cleanup.callback(shutil.rmtree, place, ignore_errors=True)
        session = _start(spec, subject, bench, store, running=stand.running, cleanup=cleanup)
        session.phase("prepare", "topics, producers, consumers")
        level = _witnessed(session, _prepare(session))
        result, totals = _measure(session, level, started_at)
        store.finish(result, totals)
        if spec.servers is Servers.SHARED:
            if stand.running is None:
                stand.keep(Running(session.deployment, session.worker, spec.trial_id), cleanup)
        else:
            session.phase("stop")
    return result


def _start(
    spec: TrialSpec, subject: Subject, bench: Bench, store: TrialStore, *, running: Running | None, cleanup: ExitStack
) -> _Session:
    """Servers and worker, ready: those that are running already, or new ones."""
    if running is None:
        dropped = bench.drop_page_cache()
        store.page_cache(dropped.done, dropped.reason)
    else:
        store.page_cache(False, f"the servers of {running.trial_id} go on, and their logs are there")
    bench.observer(PhaseStarted(spec.trial_id, "settle", "", None))
    disk = _slowest([bench.calm_disk(place.parent) for place in _one_by_disk(_written(store))])
    store.distribution(subject.distribution)
    if running is not None:
        return _Session(spec, bench, store, subject, running.deployment, running.worker, disk)
    bench.observer(PhaseStarted(spec.trial_id, "start", spec.system, None))
    request = DeployRequest(
        distribution=subject.distribution,
        nodes=spec.nodes,
        choice=spec.choice,
        data_directory=store.data_directory,
        log_directory=store.log_directory,
        heap_mb=subject.choice.heap_mb,
        direct_memory_mb=subject.choice.direct_memory_mb,
        settings=subject.choice.settings,
        shape=subject.choice.shape,
        disks=store.disks,
        journal_disks=store.journal_disks,
    )
    deployment = subject.system.deploy(request, bench.host)
    cleanup.callback(deployment.stop)
    worker = bench.start_worker(bench.host, subject.system.driver, store.log_directory)
    cleanup.callback(worker.close)
    session = _Session(spec, bench, store, subject, deployment, worker, disk, cache_dropped=dropped.done)
    session.phase("ready", f"until {spec.system} takes and delivers a message", READY_S_MAX)
    _await_ready(session)
    return session


def _places(store: TrialStore) -> list[Path]:
    """Every directory that holds server data of the trial."""
    return list(dict.fromkeys((store.data_directory, *store.disks, *store.journal_disks)))


def _written(store: TrialStore) -> tuple[Path, ...]:
    """Those that messages are written to."""
    return (*(store.disks or (store.data_directory,)), *store.journal_disks)


def _one_by_disk(places: Sequence[Path]) -> list[Path]:
    """One directory of each disk: waiting for the same disk several times would tell nothing new."""
    return list({place.stat().st_dev: place for place in reversed(places)}.values())


def _slowest(disks: Sequence[Calm | None]) -> Calm | None:
    """The disk that holds back the others: an acknowledgement waits for it."""
    known = [disk for disk in disks if disk is not None]
    return max(known, key=lambda disk: (not disk.is_calm, disk.latency.mean_ms), default=None)


def _await_ready(session: _Session) -> None:
    """Until a message goes there and back and all nodes take part.

    Raises `StartFailedError` with the cause if that never happens.
    """
    deadline_s = time.monotonic() + READY_S_MAX
    driver, connection = session.subject.system.driver, session.deployment.connection
    while True:
        session.check()
        error: RunFailedError | None = None
        missing = ""
        try:
            session.worker.probe(driver, connection, _PROBE_S)
            _, missing = _read_back(session, ()) if session.spec.nodes > 1 else ([], "")
            if not missing:
                return
        except RunFailedError as caught:
            session.check()
            if not session.bench.host.status(WORKER_NAME).running:
                raise
            error = caught
        if time.monotonic() > deadline_s:
            cause = missing or session.deployment.last_words() or str(error)
            raise _not_ready(session, f"was not ready within {READY_S_MAX:.0f} s: {cause}") from error
        time.sleep(0.1)


def _read_back(session: _Session, topics: Sequence[str]) -> tuple[list[Setting], str]:
    """The servers' settings in force, and what replicas are still missing; "" if none are."""
    system = session.subject.system
    describe = partial(session.worker.describe, system.driver, session.deployment.connection)
    settings = session.deployment.read_back(describe, list(topics))
    return settings, system.incomplete(settings, session.spec.nodes)


def _await_complete(session: _Session, topics: Sequence[str]) -> list[Setting]:
    """The settings read back once every replica takes part. Raises `StartFailedError` with what is missing."""
    deadline_s = time.monotonic() + COMPLETE_S_MAX
    while True:
        settings, missing = _read_back(session, topics)
        if not missing:
            return settings
        session.check()
        if time.monotonic() > deadline_s:
            raise _not_ready(session, f"was not fully replicated within {COMPLETE_S_MAX:.0f} s: {missing}")
        time.sleep(0.2)


def _not_ready(session: _Session, what: str) -> StartFailedError:
    hint = "See the servers' logs; a slow machine may need fewer things running beside."
    return StartFailedError(f"{session.spec.system} {what}", hint, session.store.log_directory)


def _prepare(session: _Session) -> LevelFinding:
    """Topics and clients, then the level read back. Raises `StartFailedError`, `LevelMismatchError`."""
    spec, system, worker = session.spec, session.subject.system, session.worker
    topics = topic_names(spec)
    client_settings = worker.prepare(load_order(spec, system, session.deployment.connection, session.store.directory))
    server_settings = _await_complete(session, topics)
    session.store.settings(server_settings, client_settings, session.deployment.jvm_flags, worker.facts)
    # Clients too: a producer that was told to wait for no acknowledgement has no level, whatever the servers do.
    settings = [*server_settings, *client_settings]
    level = checked_level(spec, system, settings)
    session.bench.in_force(_in_force(session, settings))
    return level


def _in_force(session: _Session, settings: Sequence[Setting]) -> InForce:
    subject = session.subject
    return InForce(
        spec=session.spec,
        choice=subject.choice,
        system=subject.system,
        settings=tuple(settings),
        server_java=subject.distribution.java_version,
        page_cache_dropped=session.cache_dropped,
        client_host=session.bench.host.name,
        worker=session.worker.facts,
    )


def _witnessed(session: _Session, level: LevelFinding) -> LevelFinding:
    """The level with its second witness. Raises `LevelMismatchError` if the two witnesses contradict each other."""
    bench, deployment = session.bench, session.deployment
    order = load_order(session.spec, session.subject.system, deployment.connection, session.store.directory)
    scene = witnessing.Scene(bench.host, deployment, session.worker, order, bench.watch_syncs)
    level = witnessing.with_witness(level, scene, session.store)
    check_witnesses(session.spec, level)
    return level


def _measure(session: _Session, level: LevelFinding, started_at: str) -> tuple[TrialResult, TotalFigures]:
    """Warm up, measure, drain."""
    spec, worker = session.spec, session.worker
    session.phase("warm-up", _offer(spec), spec.warmup_s_max)
    begin_ns = worker.start()
    follower = Follower(spec, worker, session.store, session.bench.observer, session.check)
    unsteady = _warm_up(session, follower, begin_ns)
    from_ns, until_ns = _window(follower, spec.measure_s)
    worker.set_window(from_ns, until_ns)
    follower.until(from_ns)
    doubt = unsteady and (too_short_to_judge(spec.warmup_s_max) or f"warm-up not steady: {unsteady}")
    session.phase("measure", doubt, spec.measure_s)
    cpu_before_s, control_before_s = session.server_cpu_s(), session.bench.control_cpu_s()
    follower.until(until_ns)
    cpu_after_s, control_after_s = session.server_cpu_s(), session.bench.control_cpu_s()
    # The load goes on until the window's last second is known: the window's end is not the end of the load.
    follower.until_known(until_ns, patience_s=3.0)
    session.phase("drain", "until consumers have everything", spec.drain_s_max)
    worker.stop_producers(_GRACE_S)
    drain_end, totals = _drain(session, follower)
    worker.finish(delete_topics=spec.servers is Servers.SHARED)
    follower.finish()
    observed = Observed(
        started_at=started_at,
        warmup_s=(from_ns - begin_ns) / 1e9,
        unsteady=unsteady,
        seconds=tuple(follower.between(from_ns, until_ns)),
        server_cpu_s=cpu_after_s - cpu_before_s,
        drain_end=drain_end,
        level=level,
        control_cpu_s=control_after_s - control_before_s,
        disk=session.disk,
    )
    return make_result(spec, totals, observed), totals


def _offer(spec: TrialSpec) -> str:
    closed_loop = spec.workload.arrival is Arrival.CLOSED_LOOP
    return "as fast as it goes" if closed_loop else f"at {spec.msgs_per_s:,.0f} msg/s"


def _warm_up(session: _Session, follower: Follower, begin_ns: int) -> str:
    """Until figures are steady, within the bounds. "" or why they were not."""
    spec = session.spec
    earliest_ns = begin_ns + round(spec.warmup_s_min * _SECOND_NS)
    latest_ns = begin_ns + round(spec.warmup_s_max * _SECOND_NS)
    follower.until(earliest_ns)
    while True:
        unsteady = unsteady_because([timed.point for timed in follower.points], spec.msgs_per_s)
        whole = bool(follower.points) and follower.points[-1].until_mono_ns >= latest_ns
        # The figures of the last second come a little after its end, and they count.
        if not unsteady or whole or not follower.until_next_second(latest_ns + _LATE_NS):
            return unsteady


def _window(follower: Follower, measure_s: float) -> tuple[int, int]:
    """The measured window: ahead, so that no message of it has been sent yet, on the edges of the worker's seconds."""
    from_ns = time.monotonic_ns() + round(_LEAD_S * _SECOND_NS)
    if follower.points:
        edge_ns = follower.points[-1].until_mono_ns
        from_ns = edge_ns + -(-(from_ns - edge_ns) // _SECOND_NS) * _SECOND_NS
    return from_ns, from_ns + round(measure_s * _SECOND_NS)


def _drain(session: _Session, follower: Follower) -> tuple[str, TotalFigures]:
    """Until no subscription is behind ("drained"), none receives any more ("idle"), or time is up ("limit")."""
    deadline_s = time.monotonic() + session.spec.drain_s_max
    received, progress_s = -1, time.monotonic()
    while True:
        totals = session.worker.totals()
        now_s = time.monotonic()
        if all(sub.backlog == 0 for sub in totals.subscriptions):
            return "drained", totals
        total = sum(sub.received for sub in totals.subscriptions)
        if total > received:
            received, progress_s = total, now_s
        elif now_s - progress_s > _IDLE_S:
            return "idle", totals
        if now_s > deadline_s:
            return "limit", totals
        follower.until(time.monotonic_ns() + _SECOND_NS // 4)


def failure_text(error: BaseException) -> str:
    """An error as one line for the trial's record."""
    if isinstance(error, TidegaugeError):
        where = f" (log: {error.log_path})" if error.log_path else ""
        return f"{error.message}{where}"
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
