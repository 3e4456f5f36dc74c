"""A trial that sends nothing: consumers read topics that others fill, and what they read is counted."""

from __future__ import annotations

import time

from tidegauge.campaign.figures import Follower
from tidegauge.campaign.session import Session
from tidegauge.model.level import LevelFinding
from tidegauge.model.load import SubscriptionTotals, TotalFigures
from tidegauge.model.trial import NO_LATENCY, SubscriptionResult, TrialResult, TrialSpec, Validity
from tidegauge.statistics.classify import FAILED_CHECK, OK

_SECOND_NS = 1_000_000_000
_FIRST_S = 15.0
"""How long the first message may take: consumers of a large group must find their partitions first."""


def read_only(session: Session, level: LevelFinding, started_at: str) -> tuple[TrialResult, TotalFigures]:
    """Let the consumers read until the time is up, or nothing has come for `spec.drain_s_max`."""
    spec, worker = session.spec, session.worker
    begin_ns = worker.start(0.0)
    worker.set_window(begin_ns, 0)
    session.use_window(begin_ns)
    session.phase("read", "what is in the topics, then what comes", spec.measure_s)
    follower = Follower(spec, worker, session.store, session.bench.observer, session.check, use=session.use_now)
    cpu_before_s, control_before_s = session.server_cpu_s(), session.bench.control_cpu_s()
    worker.resume_consumers([])
    _until_idle(session, follower, begin_ns + round(spec.measure_s * _SECOND_NS))
    until_ns = time.monotonic_ns()
    worker.set_window(begin_ns, until_ns)
    session.use_window(begin_ns, until_ns)
    cpu_after_s, control_after_s = session.server_cpu_s(), session.bench.control_cpu_s()
    worker.stop_producers(0.0)
    totals = worker.totals()
    worker.finish(delete_topics=False)
    follower.finish()
    server_cpu_s = None if cpu_before_s is None or cpu_after_s is None else cpu_after_s - cpu_before_s
    cpu_s = (server_cpu_s, control_after_s - control_before_s)
    return read_result(spec, totals, started_at, level, cpu_s), totals


def _until_idle(session: Session, follower: Follower, limit_ns: int) -> None:
    received, since_s = 0, time.monotonic()
    while time.monotonic_ns() < limit_ns:
        follower.until(min(limit_ns, time.monotonic_ns() + _SECOND_NS // 4))
        total = sum(sub.received for sub in session.worker.totals().subscriptions)
        if total > received:
            received, since_s = total, time.monotonic()
        else:
            patience_s = session.spec.drain_s_max if received else max(_FIRST_S, session.spec.drain_s_max)
            if time.monotonic() - since_s > patience_s:
                return


def read_result(
    spec: TrialSpec,
    totals: TotalFigures,
    started_at: str,
    level: LevelFinding,
    cpu_s: tuple[float | None, float | None] = (None, None),
) -> TrialResult:
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
    corrupt = [f"{sub.corrupt} messages arrived damaged ({sub.name})" for sub in subs if sub.corrupt]
    nothing = [] if received else ["no message was received: the topics are empty, or nothing of them is kept for us"]
    validity = Validity.INVALID if nothing else Validity.DOUBTFUL if corrupt else Validity.VALID
    rate = received / read_s if received else 0.0
    return TrialResult(
        spec=spec,
        started_at=started_at,
        status=FAILED_CHECK if corrupt else OK,
        offered_msgs_per_s=None,
        msgs_per_s=rate,
        mb_per_s=rate * read_bytes / max(1, sum(sub.received for sub in subs)) / 1e6,
        sent=0,
        acked=0,
        failed=0,
        unresolved=0,
        response=NO_LATENCY,
        service=NO_LATENCY,
        delay=NO_LATENCY,
        own_lag=NO_LATENCY,
        subscriptions=tuple(map(_subscription, subs)),
        validity=validity,
        reasons=(*nothing, *corrupt),
        warnings=_warnings(read_s, received),
        errors=totals.errors,
        worker_cpu_s=totals.window.worker_cpu_ns / 1e9,
        server_cpu_s=cpu_s[0],
        gc_pause_s=totals.window.gc_pause_ns / 1e9,
        warmup_s=0.0,
        steady=True,
        measured_s=read_s,
        level=level,
        control_cpu_s=cpu_s[1],
    )


def _warnings(read_s: float, received: int) -> tuple[str, ...]:
    if not received or read_s >= 1.0:
        return ()
    return (f"everything was read within {read_s * 1e3:.0f} ms, too short for a rate that would hold for longer",)


def _subscription(sub: SubscriptionTotals) -> SubscriptionResult:
    """Of messages of others nothing is known but their number: none can be lost, late or out of order."""
    return SubscriptionResult(
        name=sub.name,
        end_to_end=NO_LATENCY,
        received=sub.received,
        backlog=0,
        lost=0,
        duplicated=0,
        reordered=0,
        corrupt=sub.corrupt,
        foreign=sub.foreign,
        negative_latency=0,
        verified=sub.verified,
    )
