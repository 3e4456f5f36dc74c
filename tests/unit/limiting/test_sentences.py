"""Sentences on what limited and disturbed a trial, what it is worth, and what became of thresholds.

Each stands here with a constructed scene in which it is said, and a neighbour of it in which it would be false.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import disturbance_samples as beside
import limiting_samples as limits
import threshold_samples as asked
import verdict_samples as verdicts
from limiting_samples import MB
from run_samples import latency, result
from sentence_scenes import Scene, make_tests
from sentence_templates import claims_of, modules_of

from tidegauge.campaign.run.trial.result import _disk_warnings
from tidegauge.hosts.fsync import Calm, FsyncLatency
from tidegauge.limiting.decide import limiting_resource
from tidegauge.limiting.disturbance import MeasuredTrial, disturbances
from tidegauge.limiting.window_use import ThreadShare, WindowUse
from tidegauge.model.ceilings import Ceilings
from tidegauge.model.host import HostLink
from tidegauge.model.trial import NO_LATENCY, CatchUp, LoadResult, PhaseFigures, Validity
from tidegauge.model.use import Limiting
from tidegauge.model.workload import BEFORE, DURING, DeviceReads
from tidegauge.statistics.figures import FIGURES, FINDING_FIGURES
from tidegauge.statistics.intervals import figure_interval
from tidegauge.statistics.steady import (
    SecondPoint,
    catching_up,
    cold_because,
    drift_of_window,
    too_short_to_judge,
    unsteady_because,
)
from tidegauge.statistics.within_trial import mean_within
from tidegauge.thresholds import KnownNames, parse_threshold

MODULES = (*modules_of("limiting", "statistics"), "thresholds.py", "usage.py")
NO_SENTENCES = (
    # How users may write something: only errors about what they wrote have it.
    "such as 'response_ms_p99 < 10'",
    "such as 'response_ms_p99 > 100'",
    "FIGURE OPERATOR NUMBER, then if you like",
    "a number, with a currency if you like",
    " (did you mean '{}'?)",
    "; near it are {}",
)


# What limited a trial


def _limited(answer: Limiting) -> list[str]:
    return [answer.subject, answer.words, *map(str, answer.others)]


def found(load: Any = None, *processes: Any, **parts: Any) -> Scene:
    return lambda _: _limited(limits.found(load or limits.load(), *processes, **parts))


def on_disk(
    written: float = 20.0 * MB, *processes: Any, ceiling: float = 0.0, stall: float | None = 0.1, **is_: Any
) -> Scene:
    ceilings = limits.disk_ceiling(ceiling) if ceiling else None
    device = limits.device(written_bytes_per_s=written, **is_)
    return found(None, *processes, ceilings=ceilings, device=device, host=limits.host(io_stall_share=stall))


def over_loopback(bytes_per_s: float) -> Scene:
    ceilings: Ceilings = limits.disk_ceiling(1000.0 * MB)
    return found(None, ceilings=ceilings, host=limits.host(loopback_bytes_per_s=bytes_per_s))


def over_link(sent: float) -> Scene:
    measured = replace(limits.ELSEWHERE, links={name: HostLink(100.0 * MB, 200.0 * MB) for name in limits.QUIET})
    sending = limits.host(network_received_bytes_per_s=10.0 * MB, network_sent_bytes_per_s=sent)
    use = {**limits.QUIET, "10.0.0.9": sending}
    return lambda _: _limited(limits.on_hosts(measured, [*limits.SERVERS, limits.CLIENT], use))


def with_memory(stall: float) -> Scene:
    full = limits.process("kafka-1", memory_limit_bytes=1000 * MB, memory_left_bytes_min=10 * MB)
    return found(None, full, host=limits.host(memory_stall_share=stall))


KAFKA = "kafka-1"
LIMITS: dict[str, Scene] = {
    "nothing recorded": lambda _: _limited(limiting_resource(limits.load(), None)),
    "window full": found(),
    "client waits, window not full": found(limits.load(service_ms=1.0)),
    "rate met": found(limits.load(offered_msgs_per_s=50_000.0)),
    "rate met, not read": found(limits.load(offered_msgs_per_s=50_000.0, left_behind_share=0.12)),
    "rate missed": found(limits.load(offered_msgs_per_s=90_000.0, blocked_share=0.1)),
    "read in vain": found(limits.load(reads=True)),
    "at its quota": found(None, limits.process(KAFKA, cpus=0.29, cpus_allowed=0.3, throttled_share=0.6)),
    "below its quota": found(None, limits.process(KAFKA, cpus=0.1, cpus_allowed=0.3, throttled_share=0.1)),
    "bound to CPUs": found(None, limits.process(KAFKA, cpus=0.98, cpus_allowed=1.0, throttled_share=0.001)),
    "disk at its limit": on_disk(9.7 * MB, write_bytes_per_s_max=10 * MB),
    "others write to a limited disk": on_disk(
        9.7 * MB, limits.process(KAFKA, moved_bytes_per_s=0.4 * MB), limits.process("worker", moved_bytes_per_s=0.0),
        write_bytes_per_s_max=10 * MB,
    ),
    "writes at their limit": on_disk(writes_per_s=99.0, writes_per_s_max=100),
    "writes below their limit": on_disk(writes_per_s=50.0, writes_per_s_max=100),
    "disk at its ceiling": on_disk(97.0 * MB, ceiling=100.0 * MB),
    "disk far above its ceiling": on_disk(400.0 * MB, ceiling=100.0 * MB),
    "reads at their ceiling": on_disk(ceiling=100.0 * MB, read_bytes_per_s=97.0 * MB),
    "reads far above their ceiling": on_disk(ceiling=100.0 * MB, read_bytes_per_s=400.0 * MB),
    "disk always busy": on_disk(busy_share=0.98, stall=0.7),
    "disk busy, nobody waits": on_disk(busy_share=0.98, stall=0.01),
    "disk busy, waiting unknown": on_disk(busy_share=0.98, stall=None),
    "disk busy by turns": on_disk(busy_share=0.6, busy_s=4.7),
    "disk seldom busy": on_disk(busy_share=0.6, busy_s=2.9),
    "consumer behind": found(limits.load(consumer="sub-0 consumer 0", consumer_busy_share=0.5, consumer_behind=True)),
    "consumer keeps up": found(limits.load(consumer="sub-0 consumer 0", consumer_busy_share=0.5)),
    "consumers process": found(limits.load(processing_share=0.97)),
    "consumers compute, at their quota": found(
        limits.load(processing_cpus=0.8), limits.process("worker", cpus=0.98, cpus_allowed=1.0)
    ),
    "client at its quota": found(limits.load(), limits.process("worker", cpus=0.98, cpus_allowed=1.0)),
    "consumers process little": found(limits.load(processing_share=0.5)),
    "thread full": found(None, limits.process(KAFKA, threads=(ThreadShare("data-plane-0", 0.99),))),
    "compiler full": found(None, limits.process(KAFKA, threads=(ThreadShare("C2 CompilerThre", 0.99),))),
    "memory waited for": with_memory(0.4),
    "memory full, nobody waits": with_memory(0.0),
    "segments lost": found(None, host=limits.host(tcp_retransmits=5_000)),
    "few segments lost": found(None, host=limits.host(tcp_segments=2_500, tcp_retransmits=40)),
    "link full": over_link(95.0 * MB),
    "link far above its ceiling": over_link(180.0 * MB),
    "loopback full": over_loopback(3900.0 * MB),
    "loopback far above its ceiling": over_loopback(9000.0 * MB),
    "host full": found(None, host=limits.host(cpu_share=0.99, cpu_stall_share=0.8)),
    "host full, waiting unknown": found(None, host=limits.host(cpu_share=0.99, cpu_stall_share=None)),
    "host not full": found(None, host=limits.host(cpu_share=0.8, cpu_stall_share=0.8)),
    "near the generator": found(limits.load(msgs_per_s=430_000.0, generators_msgs_per_s=500_000.0)),
    "above the generator": found(limits.load(msgs_per_s=550_000.0, generators_msgs_per_s=500_000.0)),
    "hardly held back": found(limits.load(blocked_share=0.05)),
    "syncs take most": found(limits.load(local_sync=True, sync_ms=60.0)),
    "syncs of others": found(limits.load(local_sync=True, sync_ms=500.0)),
    "two nodes": found(limits.load(nodes_needed=2)),
}  # fmt: skip


# What others disturbed


def disturbed(measured: MeasuredTrial, use: Any) -> Scene:
    return lambda _: [words for one in disturbances(measured, use) for words in (one.words, one.remedy)]


def stolen(**changes: Any) -> Any:
    busy = beside.full(0.45)
    return replace(busy, host=replace(busy.host, others_cpus=0.0, steal_cpus=0.9, **changes), programs=())


def both(steal: float) -> Any:
    busy = beside.full(0.45)
    return replace(busy, host=replace(busy.host, steal_cpus=steal))


def paced(others: float, waited: float, **worker: Any) -> WindowUse:
    return beside.paced(others, waited, **worker)


def quota(**changes: Any) -> Scene:
    return lambda _: [words for one in beside.held_by_quota(**changes) for words in (one.words, one.remedy)]


def late_thread(thread: ThreadShare, own_cpus: float = 0.3) -> Scene:
    own = (beside.process(KAFKA, 0.1), beside.process("worker", 0.2, waiting=(thread,)))
    return disturbed(beside.LATENCY, beside.use(beside.host(0.0, own_cpus), *own))


def on_shared_disk(measured: MeasuredTrial = beside.SYNCED, **changes: Any) -> Scene:
    return lambda _: [words for one in beside.on_shared_disk(measured, **changes) for words in (one.words, one.remedy)]


def unknown_disk() -> Any:
    """The servers' own bytes may not be read."""
    own = (beside.process(KAFKA, 0.2, moved_bytes_per_s=None), beside.process("worker", 0.1))
    disk = beside.device(busy_share=0.87, written_bytes_per_s=1000 * MB)
    return beside.use(beside.host(0.05, 0.3, others_bytes_per_s=900 * MB), *own, devices=(disk,))


def memory(measured: MeasuredTrial = beside.LATENCY, available_bytes: int = 0, **server: Any) -> Scene:
    hog = beside.program("hog", 0.1, resident_bytes=5 * beside.GIB)
    own = (beside.process(KAFKA, 0.2, **server), beside.process("worker", 0.1))
    held = {"others_resident_bytes": 5 * beside.GIB, "memory_available_bytes_min": available_bytes}
    host = beside.host(0.1, 0.3, memory_stall_share=0.3, **held)
    return disturbed(measured, beside.use(host, *own, programs=(hog,)))


HIDDEN = replace(beside.PEAK, servers=(), servers_hidden=True)
WAITS = (ThreadShare("kafka-producer-network-thread", 0.1, 0.6),)
_throttled = paced(0.9, 0.3)
_throttled = replace(
    _throttled, processes=(replace(_throttled.processes[0], throttled_share=0.2), _throttled.processes[1])
)
DISTURBANCES: dict[str, Scene] = {
    "loops beside a closed loop": disturbed(beside.PEAK, beside.full(0.45)),
    "loops beside free CPUs": disturbed(
        beside.PEAK, beside.use(beside.host(0.4, 0.5), beside.process(KAFKA, 0.3), beside.process("worker", 0.2))
    ),
    "servers unseen": disturbed(HIDDEN, beside.full(0.75)),
    "servers seen": disturbed(beside.PEAK, beside.full(0.75)),
    "stolen": disturbed(beside.PEAK, stolen()),
    "loops and a hypervisor": disturbed(beside.PEAK, both(0.2)),
    "waited for others": disturbed(beside.LATENCY, paced(0.9, 0.3)),
    "hardly waited": disturbed(beside.LATENCY, paced(0.4, 0.05)),
    "a thread waited": disturbed(beside.LATENCY, paced(0.9, 0.05, waiting=WAITS)),
    "waited beside a quota": disturbed(beside.LATENCY, _throttled),
    "generator's quota": quota(),
    "a little of a quota": quota(held=0.05),
    "a shared quota": quota(servers="/sys/fs/cgroup/cpu/gen"),
    "thread's quota": late_thread(ThreadShare("kafka-producer-1", 0.04, 0.9, quota_cpus=0.04)),
    "thread bound": late_thread(ThreadShare("pulsar-client-io", 0.1, 0.6)),
    "thread waits, host full": late_thread(ThreadShare("pulsar-client-io", 0.1, 0.6), own_cpus=1.8),
    "writer beside syncs": on_shared_disk(),
    "writer without syncs": on_shared_disk(beside.LATENCY),
    "small writer": on_shared_disk(others=5 * MB, devices=(beside.device(written_bytes_per_s=8 * MB),)),
    "writer, servers' bytes unknown": disturbed(beside.SYNCED, unknown_disk()),
    "memory held by others": memory(),
    "memory enough for all": memory(available_bytes=2 * beside.GIB),
    "memory of the servers' limit": memory(memory_limit_bytes=beside.GIB, memory_left_bytes_min=MB),
    "memory, servers unseen": memory(replace(beside.LATENCY, servers_hidden=True)),
}


# What a trial is worth


def judged(**changes: Any) -> Scene:
    def scene(_: Any) -> list[str]:
        verdict = verdicts.judged(**changes)
        return [str(reason) for reason in (*verdict.reasons, *verdict.warnings)]

    return scene


def one_sub(**changes: Any) -> dict[str, Any]:
    return {"subscriptions": (verdicts.subscription(**changes),), "drain_end": "idle"}


def two_subs(**changes: Any) -> dict[str, Any]:
    other = verdicts.subscription(name="sub-1")
    return {"subscriptions": (verdicts.subscription(**changes), other), "drain_end": "idle"}


def disk_was(*, calm: bool) -> Scene:
    return lambda _: _disk_warnings(Calm(FsyncLatency(10, 30.0, 90.0), 2.0, 1.0, is_calm=calm))


LAG = verdicts.latency(0.005, 12.0)
LOOP = {"closed_loop": True, "offered_msgs_per_s": None}
NO_TIMES = {"response": verdicts.NOTHING, "own_lag": verdicts.NOTHING}
FAR_BEHIND = {**NO_TIMES, "achieved_msgs_per_s": 500.0, "blocked_share": 0.9}
SLOW = verdicts.slow(verdicts.latency(4.1, 41.0))
KEPT_UP = verdicts.slow(replace(verdicts.latency(), mean_ms=1000.0))
BOUNDED = {
    "response": verdicts.latency(950.0, 1900.0),
    "delay": replace(verdicts.latency(900.0, 1800.0), mean_ms=900.0),
    "busy_consumers": (verdicts.busy(waiting_ms=60.0),),
    **verdicts.slow(replace(verdicts.latency(1000.0, 1999.0), mean_ms=1000.0)),
}
ONE_BEHIND = (verdicts.sending(1, 500.0), verdicts.sending(2, 250.0))
TAIL = replace(verdicts.latency(0.005, 0.9), p999_ms=30.0, max_ms=40.0)
MET = (("Record is corrupt", 112),)
VERDICTS: dict[str, Scene] = {
    "own lag of half": judged(own_lag=LAG),
    "own lag of a quarter": judged(own_lag=verdicts.latency(0.005, 5.0)),
    "little own lag": judged(own_lag=verdicts.latency(0.005, 3.0)),
    "one worker late": judged(workers=(verdicts.worker(1, verdicts.latency(0.005, 0.5)), verdicts.worker(2, LAG))),
    "one worker held back": judged(workers=ONE_BEHIND, achieved_msgs_per_s=750.0),
    "two workers held back": judged(workers=(*ONE_BEHIND, verdicts.sending(3, 200.0)), achieved_msgs_per_s=950.0),
    "one worker held back, with topics of its own": judged(
        workers=ONE_BEHIND, achieved_msgs_per_s=750.0, workers_share_topics=False
    ),
    "all workers held back": judged(
        workers=(verdicts.sending(1, 250.0), verdicts.sending(2, 250.0)), achieved_msgs_per_s=500.0
    ),
    "one worker far away": judged(
        workers=(verdicts.sending(1, 500.0), verdicts.sending(2, 500.0, response=verdicts.latency(22.0, 70.0)))
    ),
    "late tail": judged(own_lag=TAIL),
    "late tail, longer maximum": judged(own_lag=TAIL, response=replace(verdicts.latency(), max_ms=500.0)),
    "no late tail": judged(own_lag=replace(TAIL, p999_ms=5.0)),
    "slow consumer": judged(busy_consumers=(verdicts.busy(),), **SLOW),
    "slow consumer in a closed loop": judged(busy_consumers=(verdicts.busy(),), **SLOW, **LOOP, blocked_share=0.3),
    "slow consumer for a second": judged(busy_consumers=(verdicts.busy(1),), **SLOW),
    "slow consumer of a bounded queue": judged(**BOUNDED),
    "busy consumer keeps up": judged(busy_consumers=(verdicts.busy(),), **KEPT_UP),
    "not kept up": judged(achieved_msgs_per_s=500.0),
    "not kept up by the generator": judged(achieved_msgs_per_s=500.0, own_lag=LAG),
    "half failed": judged(achieved_msgs_per_s=500.0, failed=50_000),
    "kept up": judged(achieved_msgs_per_s=985.0),
    "catching up": judged(catching_up=verdicts.BEHIND),
    "generator catching up": judged(catching_up=verdicts.BEHIND, own_lag=LAG),
    "worked off": judged(achieved_msgs_per_s=1100.0),
    "unsteady warm-up": judged(unsteady="the rate is rising"),
    "short warm-up": judged(unsteady="fewer than 6 whole seconds seen", too_short=too_short_to_judge(4.0)),
    "drift": judged(drift="the p99 was rising"),
    "closed loop, hardly blocked": judged(**LOOP, blocked_share=0.02),
    "closed loop, blocked": judged(**LOOP, blocked_share=0.3),
    "near the generator's rate": judged(generators_msgs_per_s=1250.0),
    "closed loop near it": judged(**LOOP, generators_msgs_per_s=1250.0),
    "above the generator's rate": judged(generators_msgs_per_s=900.0),
    "below the generator's rate": judged(generators_msgs_per_s=1000 / 0.69),
    "threads waited": judged(cpu_wait_share=0.5),
    "threads hardly waited": judged(cpu_wait_share=0.1),
    "compiling": judged(jit_cpus=0.34, cold="its delay falls"),
    "cold": judged(jit_cpus=0.05, cold="its delay falls"),
    "collecting": judged(gc_share=0.08),
    "hardly collecting": judged(gc_share=0.01),
    "nothing acknowledged": judged(response=NO_LATENCY),
    "far behind": judged(**FAR_BEHIND, unresolved=100_000, never_sent=40_000),
    "some without an outcome": judged(unresolved=500),
    "some failed": judged(failed=500),
    "lost": judged(**one_sub(backlog=1, lost=1)),
    "late": judged(**one_sub(backlog=1, late=1), receive_errors=MET),
    "untraced": judged(**one_sub(backlog=1, untraced=2, untraced_why="no broker answered")),
    "late of two": judged(**two_subs(backlog=1, late=1), receive_errors=MET),
    "damaged": judged(**one_sub(corrupt=2)),
    "drain cut off": judged(subscriptions=(verdicts.subscription(backlog=9),), drain_end="limit"),
    "a fault": judged(faults=1, achieved_msgs_per_s=500.0, backlog_grew=True),
    "backlog grows": judged(backlog_grew=True),
    "twice": judged(**one_sub(duplicated=3)),
    "out of order": judged(**one_sub(reordered=3)),
    "foreign": judged(**one_sub(foreign=3)),
    "too early": judged(**one_sub(negative_latency=3)),
}


# How steady it was


def points(**series: Sequence[Any]) -> list[SecondPoint]:
    """Seconds at 1,000 msg/s, p99 5 ms, without a backlog, but for what is given of each."""
    length = max(map(len, series.values()))
    usual: dict[str, Any] = {"msgs_per_s": 1000.0, "p99_ms": 5.0, "backlog": 0}
    each = [{name: values[at] for name, values in series.items()} for at in range(length)]
    return [SecondPoint(**{**usual, **own}) for own in each]


def warm(offered: float | None = None, **series: Sequence[Any]) -> Scene:
    return lambda _: [unsteady_because(points(**series), offered)]


def generator(**series: Sequence[Any]) -> Scene:
    return lambda _: [cold_because(points(**series))]


def window(**series: Sequence[Any]) -> Scene:
    return lambda _: [drift_of_window(points(**series))]


def worked_off(before: int) -> Scene:
    falls = points(backlog=[6000 - 100 * at for at in range(55)])
    return lambda _: [catching_up(points(backlog=[before] * 30), falls)]


LEVEL = [1000.0] * 61
PULSE = [1000.0] * 41 + [2000.0] * 10 + [1000.0] * 10
LONG_PULSE = [1000.0] * 20 + [2000.0] * 20 + [1000.0] * 21
PAUSE = [1000.0] * 45 + [10.0] + [1000.0] * 15
RISE = [1000.0 + 20 * at for at in range(61)]
STEADY: dict[str, Scene] = {
    "few seconds": warm(msgs_per_s=LEVEL[:5]),
    "steady": warm(1000.0, msgs_per_s=LEVEL),
    "rate rises": warm(msgs_per_s=RISE),
    "rate jumps": warm(msgs_per_s=PULSE),
    "one pause": warm(msgs_per_s=PAUSE),
    "below the schedule": warm(1000.0, msgs_per_s=[900.0] * 61),
    "above the schedule": warm(1000.0, msgs_per_s=[1100.0] * 61),
    "backlog worked off": warm(msgs_per_s=LEVEL, backlog=[600 - 5 * at for at in range(61)]),
    "backlog stays": warm(msgs_per_s=LEVEL, backlog=[300] * 61),
    "compiler works": generator(jit_cpus=[0.3] * 30),
    "compiler quiet": generator(jit_cpus=[0.3] * 20 + [0.05] * 10),
    "own delay falls": generator(delay_p99_ms=[9.0 - 0.1 * at for at in range(61)]),
    "own delay stays": generator(delay_p99_ms=[9.0] * 61),
    "4 s of warm-up": lambda _: [too_short_to_judge(4.0)],
    "7 s of warm-up": lambda _: [too_short_to_judge(7.0)],
    "window rises": window(msgs_per_s=RISE),
    "window jumps": window(msgs_per_s=LONG_PULSE),
    "window pauses": window(msgs_per_s=PAUSE),
    "debt of the warm-up": worked_off(6000),
    "debt of the window": worked_off(0),
}


# Intervals, figures and thresholds


def figures(**changes: Any) -> Scene:
    """Titles of what a result has something of, and their values."""

    def scene(_: Any) -> list[str]:
        made: LoadResult = result(**changes)
        known = [(figure.title, figure.value_in(made)) for figure in FIGURES.values()]
        known += [
            (figure.title, figure.value_in_trial(made)) for figure in FINDING_FIGURES.values() if figure.value_in_trial
        ]
        return [f"{title} {value:g}" for title, value in known if value]

    return scene


def with_backlog(**changes: Any) -> dict[str, Any]:
    (sub,) = result().subscriptions
    return {"subscriptions": (replace(sub, **changes),)}


def chase(*, tails: bool = True, before: bool = True, during: bool = True, read: float = 300e6) -> dict[str, Any]:
    times, nothing = latency(), NO_LATENCY
    phases = tuple(
        PhaseFigures(phase, 9.0, 1e4, times if there else nothing, times if tails else None, 0.0)
        for phase, there in ((BEFORE, before), (DURING, during))
    )
    reads = DeviceReads(1 << 30, 0.0, 1 << 30, 10.0)
    found_ = CatchUp(1 << 20, 1 << 30, 5.0, 10.0, 10.0, 1e5, 1e8, None, 3e5, read, 0, phases, reads)
    return {"catch_up": found_}


def ruled(text: str, results: Sequence[Any] = (), findings: Sequence[Any] = ()) -> Scene:
    return lambda _: [ruling.why for ruling in asked.ruled(text, results, findings)]


def misspelt(text: str) -> Scene:
    def scene(_: Any) -> list[str]:
        try:
            parse_threshold(text, KnownNames(["latency"], ["kafka"]))
        except ValueError as error:
            return [str(error)]
        return [text]

    return scene


def interval(values: Sequence[float]) -> Scene:
    return lambda _: [made.method for made in [figure_interval(values)] if made]


def lost_in(*numbers: int) -> list[LoadResult]:
    each = asked.latencies(*[1.0] * len(numbers))
    return [
        replace(one, subscriptions=(replace(one.subscriptions[0], lost=number),))
        for one, number in zip(each, numbers, strict=True)
    ]


FIVE = asked.latencies(1.0, 1.05, 0.95, 1.02, 0.98)
TWELVE = [1.0 + 0.01 * (at % 5) for at in range(12)]
SECONDS = [1000.0 + at % 3 for at in range(40)]
CHASES = [replace(one, figures={"chase_s": 40.0} if at else {}) for at, one in enumerate(asked.rates(1.0, 1.0))]
RULINGS: dict[str, Scene] = {
    "three blocks": interval(TWELVE[:3]),
    "twelve blocks": interval(TWELVE),
    "seconds of a trial": lambda _: [made.method for made in [mean_within(SECONDS)] if made],
    "backlog at the window's end": figures(**with_backlog(window_end_backlog=7)),
    "backlog unknown at the window's end": figures(**with_backlog(window_end_backlog=None)),
    "left after the drain": figures(**with_backlog(backlog=40)),
    "without outcome": figures(unresolved=5),
    "failed": figures(failed=5),
    "all acknowledged": figures(),
    "servers of others": figures(server_cpu_s=None),
    "clients without CPU": figures(worker_cpu_s=0.0),
    "consumers that compute": figures(**with_backlog(processing_cpu_s=2.0)),
    "late readers": figures(**chase()),
    "late readers alone": figures(**chase(tails=False)),
    "late readers, nothing sent before": figures(**chase(before=False)),
    "late readers, nothing sent during": figures(**chase(during=False)),
    "late readers that read nothing": figures(**chase(read=0.0)),
    "experiment without results": ruled("lost == 0 in peak", FIVE),
    "experiment with results": ruled("lost == 0 in latency", FIVE),
    "lost in one of three": ruled("lost == 0", lost_in(0, 3, 0)),
    "lost in the only one": ruled("lost == 0", lost_in(3)),
    "loss not known": ruled("lost == 0", [replace(result(), **with_backlog(backlog=40))]),
    "loss known": ruled("lost == 0", [replace(result(), **with_backlog(backlog=40, lost=40))]),
    "INVALID": ruled("response_ms_p99 < 9", asked.latencies(1.0, validity=Validity.INVALID)),
    "VALID": ruled("response_ms_p99 < 9", asked.latencies(1.0)),
    "a ratio without a common block": ruled(
        "ratio(kafka, pulsar).response_ms_p99 < 1",
        [asked.latencies(1.0, 1.0)[0], asked.latencies(2.0, 2.0, system="pulsar@4.2.4")[1]],
    ),
    "limit in the interval": ruled("response_ms_p99 < 7.9", FIVE),
    "limit beyond the interval": ruled("response_ms_p99 < 8.3", FIVE),
    "blocks differ": ruled("response_ms_p99 < 8", asked.latencies(1.0, 1.1)),
    "blocks agree": ruled("response_ms_p99 < 9", asked.latencies(1.0, 1.1)),
    "search near the limit": ruled("sustainable_msgs_per_s > 49000", (), asked.rates(50_000.0)),
    "search far from the limit": ruled("sustainable_msgs_per_s > 40000", (), asked.rates(50_000.0)),
    "searches differ": ruled("sustainable_msgs_per_s > 150000", (), asked.rates(100_000.0, 200_000.0)),
    "no such system": misspelt("lost == 0 of rabbitmq"),
    "such a system": misspelt("lost == 0 of kafka"),
}

SCENES = LIMITS | DISTURBANCES | VERDICTS | STEADY | RULINGS


CLAIMS = [
    # limiting/decide.py
    *claims_of("nothing recorded", "window full", "resource use was not recorded"),
    *claims_of("rate met", "rate missed", "{} of {} msg/s offered came through"),
    *claims_of("rate met", "rate met, not read", "{} of {} msg/s offered came through"),
    *claims_of("rate met, not read", "rate met", "{} of {} msg/s offered were sent, and {} of them not read"),
    *claims_of("at its quota", "below its quota", "{} used {}{} of the {} CPUs it may use{}"),
    *claims_of("at its quota", "bound to CPUs", ", held back for {} s a second by its quota"),
    *claims_of("disk at its limit", "others write to a limited disk", "{} written of {} it may take"),
    *claims_of("writes at their limit", "writes below their limit", "{} writes/s of the {} it may take"),
    *claims_of("disk at its ceiling", "disk far above its ceiling", "{} written of {} it can take"),
    *claims_of("reads at their ceiling", "reads far above their ceiling", "{} read of {} it can give"),
    *claims_of("disk always busy", "disk busy, nobody waits", "busy {} of the time ({}){}", "{} written, {} flushes/s"),
    *claims_of("disk always busy", "disk busy, waiting unknown", ", and tasks waited for I/O {} of the time"),
    *claims_of("disk busy by turns", "disk seldom busy", "busy {} of {} s", "{} ({} written on average){}"),
    *claims_of("consumer behind", "consumer keeps up", "{} had no time left in {} of the seconds"),
    *claims_of("consumers process", "consumers process little", "consumers {} {} of the time"),
    *claims_of("consumers compute, at their quota", "client at its quota", " ({} of it consumers' processing)"),
    *claims_of("thread full", "compiler full", "thread {} of {} ran {} of the time"),
    *claims_of(
        "memory waited for", "memory full, nobody waits",
        "{} had all but {} of its {}", "{}, and tasks waited for memory {} of the time",
    ),
    *claims_of("segments lost", "few segments lost", "{} of {} TCP segments had to be sent again"),
    *claims_of("link full", "link far above its ceiling", "{} {} by {} of {} that it can"),
    *claims_of("loopback full", "loopback far above its ceiling", "{} over loopback of {} that {} can carry"),
    *claims_of("host full", "host not full", "{}{} {}, {}everything else {}", "{} of {} CPUs"),
    *claims_of("host full", "host full, waiting unknown", "; tasks waited for a CPU {} of the time"),
    *claims_of("near the generator", "above the generator", "{} of the {} that can be made and checked"),
    *claims_of("above the generator", "near the generator", "{} msg/s, where {} were made and checked"),
    *claims_of("hardly held back", "window full", "producers were held back by the system only {} of the time"),
    *claims_of(
        "window full", "client waits, window not full",
        "the window of {} messages was full {} of the time", "an acknowledgement took {} ms on average",
    ),
    *claims_of("syncs take most", "syncs of others", "{}, a sync to disk {} ms{}; {}"),
    *claims_of("two nodes", "window full", "{}, on {} nodes; {}"),
    *claims_of("rate missed", "window full", ", busiest server thread {}", "host CPU {}{}{}{}"),
    *claims_of("rate missed", "read in vain", ", producers held back {} of the time"),
    # limiting/disturbance.py
    *claims_of(
        "loops beside a closed loop", "loops beside free CPUs",
        ", and {} of all were busy, so it is not the rate that this machine allows",
    ),
    *claims_of(
        "servers unseen", "servers seen",
        "{} took {}; which is which can't be seen from here", "servers or other programs",
        "run the clients on a host of their own",
    ),
    *claims_of("loops and a hypervisor", "loops beside a closed loop", " and the hypervisor {}"),
    *claims_of("loops beside a closed loop", "stolen", "end them, or use a machine that is not shared"),
    *claims_of(
        "stolen", "loops beside a closed loop",
        "the hypervisor held back {} of {} CPUs{}{}{}", "use a machine whose CPUs are its own",
    ),
    *claims_of("a thread waited", "waited for others", "; {} of the load generator {} s in all"),
    *claims_of(
        "waited for others", "hardly waited",
        ": {} ran {} s a second and waited {} s for a CPU because of that{}",
    ),
    *claims_of("waited beside a quota", "waited for others", "{} that no quota held back"),
    *claims_of("memory, servers unseen", "memory held by others", "servers or other programs"),
    *claims_of(
        "generator's quota", "a shared quota",
        "the load generator{} was held back for {} s a second by the quota of its cgroup ({} CPUs), {}",
    ),
    *claims_of("generator's quota", "a little of a quota", "so it and not the system was slow"),
    *claims_of("a little of a quota", "generator's quota", "so the figures are in part its own"),
    *claims_of("thread's quota", "generator's quota", " that holds this thread"),
    *claims_of("generator's quota", "thread bound", "raise or remove the quota{} (cpu.max, or cpu.cfs_quota_us)"),
    *claims_of(
        "thread's quota", "thread bound",
        "thread {} of the load generator's client{} waited {}, held back by a quota of {} CPUs of its own, {}",
    ),
    *claims_of("thread's quota", "generator's quota", "{} s a second for a CPU and ran {}"),
    *claims_of(
        "thread bound", "thread waits, host full",
        "thread {} of the load generator's client{} waited {} though only {} of the CPUs were busy, {}",
        "let it use all CPUs: look for what binds it to few",
    ),
    *claims_of(
        "writer beside syncs", "small writer",
        "other programs moved {}{} on {}{}{}, {}; it was busy {} of the time",
        "end them, or keep the data on another disk",
    ),
    *claims_of("writer beside syncs", "writer without syncs", ", and acknowledgements wait for its syncs"),
    *claims_of("writer beside syncs", "writer, servers' bytes unknown", "servers and load generator {}"),
    *claims_of(
        "writer, servers' bytes unknown", "writer beside syncs", "what the trial itself moved is not known"
    ),
    *claims_of(
        "memory held by others", "memory of the servers' limit",
        "tasks waited for memory {} of the time while {} held {} of {} GB{}{}{}", "{}use a machine with more memory",
    ),
    *claims_of(
        "memory enough for all", "memory held by others",
        "; {} GB or more were available, so they may have waited at limits of their own",
    ),
    # statistics/classify.py
    *claims_of("own lag of a quarter", "little own lag", "the load generator itself was late", "give it more CPU"),
    *claims_of(
        "own lag of half", "little own lag",
        "the load generator itself was late{}: {} at {} is {} ms of a response of {} ms{}",
    ),
    *claims_of("one worker late", "own lag of half", "the own lag of {}"),
    *claims_of(
        "one worker held back", "all workers held back",
        "{} got through {} of its {} msg/s", "{} while others got through all of theirs: {}",
        "look at the links and CPUs of these hosts (tidegauge fleet check; the table of load generators)",
    ),
    *claims_of(
        "one worker held back", "one worker held back, with topics of its own", "{} slow, and not the system",
    ),
    *claims_of(
        "one worker held back, with topics of its own", "one worker held back",
        "{} slow, or the servers of topics that others do not send to",
    ),
    *claims_of("one worker held back", "two workers held back", "its host or link was"),
    *claims_of("two workers held back", "one worker held back", "their hosts or links were"),
    *claims_of(
        "one worker far away", "all workers held back",
        "half of the acknowledgements took {}, where the quickest load generator had them in {} ms",
        "response times of all together are a mixture of both",
    ),
    *claims_of(
        "slow consumer", "busy consumer keeps up",
        "the load generator's own consumers were too slow", "give it more consumers per subscription",
        "end-to-end {} is {} ms where the response is {} ms",
    ),
    *claims_of("slow consumer", "slow consumer in a closed loop", "{}; or offer a lower rate"),
    *claims_of("slow consumer in a closed loop", "busy consumer keeps up", "give it more consumers per subscription"),
    *claims_of(
        "slow consumer", "slow consumer for a second",
        "the load generator's own consumers were too slow, so end-to-end times and backlog are not the system's: {}",
    ),
    *claims_of(
        "slow consumer for a second", "slow consumer",
        "{}{} had no time left in {} of {} s, and {}: the longest end-to-end times may be its own",
    ),
    *claims_of(
        "slow consumer of a bounded queue", "slow consumer",
        "messages waited {} ms for it in those seconds", "{}, where sending to receipt took {} ms on average",
    ),
    *claims_of(
        "not kept up", "not kept up by the generator",
        "the system did not keep up", "while that lasts its latency grows",
    ),
    *claims_of("not kept up", "half failed", "the system did not keep up"),
    *claims_of("not kept up", "kept up", "{} of {} msg/s ({})"),
    *claims_of("half failed", "not kept up", "the offered rate was not reached: {}"),
    *claims_of(
        "catching up", "generator catching up",
        "the system was still catching up with what was queued before the window",
        "allow it a longer warm-up",
    ),
    *claims_of("worked off", "kept up", "{} msg/s were acknowledged though {} were due"),
    *claims_of("unsteady warm-up", "short warm-up", "the warm-up never became steady"),
    *claims_of("drift", "unsteady warm-up", "not steady while measured"),
    *claims_of(
        "closed loop, hardly blocked", "closed loop, blocked",
        "producers waited for the system {} of the time only: this rate is what the generator and its client manage",
    ),
    *claims_of("late", "lost", "not delivered in time"),
    *claims_of("near the generator's rate", "below the generator's rate", "the rate was near the load generator's own"),
    *claims_of(
        "near the generator's rate", "above the generator's rate",
        "{} of the {} msg/s that can be made and checked here",
    ),
    *claims_of(
        "above the generator's rate", "near the generator's rate",
        "more than the {} msg/s that were made and checked here without a system",
    ),
    *claims_of("closed loop near it", "near the generator's rate", "the system may do more"),
    *claims_of("near the generator's rate", "closed loop near it", "delays may be the generator's"),
    *claims_of(
        "threads waited", "threads hardly waited",
        "load threads waited for a CPU for {} s in each second, summed over them{}", "they were short of CPU",
    ),
    *claims_of("cold", "compiling", "the load generator never became warm"),
    *claims_of(
        "compiling", "cold",
        "the load generator was still being compiled while measured: its JIT compiler took {} of a CPU",
    ),
    *claims_of("collecting", "hardly collecting", "{} spent {} of the window in garbage collection"),
    *claims_of("nothing acknowledged", "far behind", "no message of the measured window was acknowledged"),
    *claims_of("lost", "late", "{} got lost ({})"),
    *claims_of("damaged", "lost", "{} arrived damaged ({})"),
    *claims_of(
        "drain cut off", "lost",
        "consumers were still {} messages behind when the time to drain ended, so loss can't be judged",
    ),
    *claims_of("some failed", "far behind", "latencies are those of the others"),
    *claims_of("far behind", "some failed", "so there are no latencies"),
    *claims_of("late of two", "late", "consumers of any subscription"),
    *claims_of("late", "untraced", "{} {}, but {} in the topic{}"),
    *claims_of("untraced", "late", "{} {}, and whether {} lost is not known: {}{}"),
    *claims_of(
        "a fault", "not kept up",
        "{} made while it was measured, and the figures of the whole window are those with {}",
    ),
    *claims_of("backlog grows", "a fault", "consumers fell ever further behind, so end-to-end latency depends on"),
    *claims_of("far behind", "some without an outcome", "were due and never sent"),
    *claims_of("some without an outcome", "some failed", "never had an outcome"),
    *claims_of("twice", "out of order", "arrived more than once"),
    *claims_of("out of order", "twice", "arrived out of order"),
    *claims_of("foreign", "twice", "did not belong to this trial"),
    *claims_of("too early", "foreign", "arrived before the intended time: the clock is in doubt"),
    *claims_of("late tail", "late tail, longer maximum", "p99.9 and the maximum are"),
    *claims_of("late tail", "no late tail", "{} not the system's: {}"),
    # statistics/steady.py
    *claims_of("few seconds", "steady", "fewer than {} whole seconds seen"),
    *claims_of("compiler works", "compiler quiet", "its JIT compiler took {} of a CPU in its last {} s"),
    *claims_of("own delay falls", "own delay stays", "the p99 of its own delay is falling over the last {} s"),
    *claims_of("4 s of warm-up", "7 s of warm-up", "the warm-up was too short to judge (at most {} s;"),
    *claims_of("rate rises", "steady", "the {} is {} over the last {} s"),
    *claims_of("rate jumps", "one pause", "the {} jumped from about {} to {} {} s ago"),
    *claims_of(
        "backlog worked off", "backlog stays",
        "{} still catching up with what was queued before: about {} s behind",
    ),
    *claims_of("debt of the warm-up", "debt of the window", "{} about {} s behind when it began and {} s at its end"),
    *claims_of("window rises", "window pauses", "the {} was {}, from about {} to {} {}"),
    *claims_of("window jumps", "window pauses", "the {} jumped from about {} after {} of {} s"),
    *claims_of(
        "below the schedule", "above the schedule", "the load is behind its schedule"
    ),
    *claims_of("above the schedule", "below the schedule", "the load is still catching up"),
    *claims_of("below the schedule", "steady", "{}: {} instead of {} msg/s over the last {} s"),
    # statistics/intervals.py, figures.py
    *claims_of("twelve blocks", "three blocks", "Student's t and studentised bootstrap over blocks, the wider"),
    *claims_of("seconds of a trial", "twelve blocks", "block bootstrap over the seconds of one trial"),
    *claims_of(
        "backlog at the window's end", "backlog unknown at the window's end",
        "backlog when the measured window ended",
    ),
    *claims_of("left after the drain", "all acknowledged", "backlog after the drain"),
    *claims_of("without outcome", "failed", "messages without an outcome"),
    *claims_of("failed", "all acknowledged", "messages failed or without an outcome"),
    *claims_of("all acknowledged", "servers of others", "CPU time of the servers", "CPU cores of the servers"),
    *claims_of("all acknowledged", "clients without CPU", "CPU time of the clients", "CPU cores of the clients"),
    *claims_of("consumers that compute", "all acknowledged", "CPU time of consumers' processing"),
    *claims_of("consumers that compute", "all acknowledged", "CPU cores of consumers' processing"),
    *claims_of("late readers", "late readers, nothing sent during", "response p99 while catching up"),
    *claims_of("late readers", "late readers alone", "end-to-end p99 of readers from the start"),
    *claims_of("late readers", "late readers, nothing sent before", "response p99 before catching up"),
    *claims_of("late readers", "late readers that read nothing", "peak read rate in bytes"),
    # thresholds.py
    *claims_of("no such system", "such a system", "the campaign has no {} '{}'{}; it has {}"),
    *claims_of(
        "experiment without results", "experiment with results", "nothing that this threshold applies to has a result"
    ),
    *claims_of("lost in one of three", "lost in the only one", "{} in the worst of {}"),
    *claims_of("loss not known", "loss known", "{}: not known for {}"),
    *claims_of("INVALID", "VALID", "there is no {} that may be used"),
    *claims_of("a ratio without a common block", "INVALID", ", of both in one block"),
    *claims_of("limit in the interval", "limit beyond the interval", ", and the limit lies between"),
    *claims_of("blocks differ", "blocks agree", ", which differ on it"),
    *claims_of("search near the limit", "searches differ", ", which is as fine as a search goes"),
    *claims_of("search near the limit", "search far from the limit", ", which is as fine as a search goes"),
]  # fmt: skip

texts, test_every_sentence_is_listed, test_a_sentence_is_said_where_it_is_true_and_not_beside = make_tests(
    MODULES, SCENES, CLAIMS, NO_SENTENCES, may_be_silent=True
)


def test_every_scene_is_of_a_claim() -> None:
    assert SCENES.keys() == {scene for claim in CLAIMS for scene in (claim.true_in, claim.false_in)}
