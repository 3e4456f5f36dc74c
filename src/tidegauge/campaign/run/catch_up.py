"""The part of a trial in which late readers get their backlog, read it away, and go on with the others.

The load goes on at the same rate all the time. Nothing here decides what figures mean: see `statistics.catching_up`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from tidegauge.campaign.run.figures import DRAIN, SECOND_NS, Follower
from tidegauge.campaign.run.running_trial import RunningTrial
from tidegauge.model.trial import CatchUp, LoadSpec
from tidegauge.model.workload import AFTER, BEFORE, DURING, Compression, DeviceReads, LateReaders, late_names
from tidegauge.statistics.catching_up import ChaseTimes, catch_up, crossed_s, gone_at

_LEAD_S = 0.2
_BUILD_TIMES_MAX = 3.0
_BUILD_S_MORE = 30.0
"""A system that acknowledges less than is offered builds its backlog more slowly; three times as long is given up."""


@dataclass(frozen=True)
class Chased:
    """The instant (monotonic ns) at which the late readers began, the window's end, and what came of it."""

    resumed_ns: int
    until_ns: int
    found: CatchUp


def chase_backlog(
    trial: RunningTrial[LoadSpec], follower: Follower, late: LateReaders, from_ns: int, begin_ns: int
) -> Chased:
    """Build the backlog, let the late readers at it, and measure on for a while when it is gone.

    Args:
        from_ns: when the measured window begins; it is open, and closed here.
        begin_ns: when the load began.
    """
    follower.begin_phase(BEFORE, from_ns)
    reads_at_from = trial.server_read_bytes()
    _build_backlog(trial, follower, late, from_ns)
    resumed_ns = follower.next_second_edge(_LEAD_S)
    follower.begin_phase(DURING, resumed_ns)
    # What limits is asked of the time in which a backlog was read away.
    trial.use_window(resumed_ns)
    follower.follow_until(resumed_ns)
    reads_at_start = trial.server_read_bytes()
    trial.worker.resume_consumers(list(late_names(trial.spec.workload.subscriptions, late)))
    times = _read_away(trial, follower, late, resumed_ns, begin_ns)
    reads_at_end = trial.server_read_bytes()
    reads_s = (time.monotonic_ns() - resumed_ns) / 1e9
    trial.use_window(resumed_ns, time.monotonic_ns())
    until_ns = _measure_after(trial, follower, from_ns, times.chase_s is not None)
    load = trial.spec.workload
    message_bytes = load.payload.message_bytes
    reads = _device_reads(
        (reads_at_from, reads_at_start, reads_at_end),
        (max(1e-3, (resumed_ns - from_ns) / 1e9), reads_s),
        times.backlog_msgs * message_bytes,
        trial.spec.attached,
        compressed=load.client.compression is not Compression.NONE,
    )
    follower.follow_until_known(until_ns, patience_s=3.0)
    return Chased(resumed_ns, until_ns, catch_up(follower.tally, times, message_bytes, reads, trial.limits))


def _build_backlog(trial: RunningTrial[LoadSpec], follower: Follower, late: LateReaders, from_ns: int) -> None:
    """Wait until the backlog is large enough and the phase long enough, but not far too long."""
    spec = trial.spec
    rate = spec.msgs_per_s or 1.0
    expected_s = max(spec.measure_s, late.backlog_msgs / rate)
    latest_ns = from_ns + round((_BUILD_TIMES_MAX * expected_s + _BUILD_S_MORE) * SECOND_NS)
    trial.phase("build", f"a backlog of {late.rule}, whose readers wait", expected_s)
    follower.follow_until(from_ns + round(spec.measure_s * SECOND_NS))
    while follower.tally.backlog_msgs < late.backlog_msgs and time.monotonic_ns() < latest_ns:
        follower.follow_until_next_second(latest_ns)


def _read_away(
    trial: RunningTrial[LoadSpec], follower: Follower, late: LateReaders, resumed_ns: int, begin_ns: int
) -> ChaseTimes:
    """Follow the late readers until their backlog is gone or time is up."""
    # The last second before the readers' start ends at about that instant, and is known a little later.
    follower.follow_until_known(resumed_ns, patience_s=3.0)
    tally = follower.tally
    built = backlog = tally.built_msgs
    gone_msgs = gone_at(built, late.drained_share, trial.spec.msgs_per_s or 0.0)
    deadline_ns = resumed_ns + round(late.chase_s_max * SECOND_NS)
    trial.phase("catch up", f"on {built:,} messages while the load continues", late.chase_s_max)
    chase_s: float | None = None
    seen, seen_ns = 0, resumed_ns
    while chase_s is None:
        if seen == len(tally.behind):
            if seen_ns >= deadline_ns or not follower.follow_until_next_second(deadline_ns + SECOND_NS):
                break
            continue
        now_ns, now = tally.behind[seen]
        if now <= gone_msgs:
            chase_s = (seen_ns - resumed_ns) / 1e9 + crossed_s(backlog, now, gone_msgs, (now_ns - seen_ns) / 1e9)
        seen, seen_ns, backlog = seen + 1, now_ns, now
    return ChaseTimes(
        backlog_msgs=built,
        gone_at_msgs=min(built, gone_msgs),
        build_s=(resumed_ns - begin_ns) / 1e9,
        chase_s=chase_s,
        watched_s=(seen_ns - resumed_ns) / 1e9,
        left_msgs=backlog,
    )


def _measure_after(trial: RunningTrial[LoadSpec], follower: Follower, from_ns: int, gone: bool) -> int:
    """Measure on once the backlog is gone, and close the window. Without that there is no *after*."""
    length_s = _LEAD_S
    if gone:
        length_s = trial.spec.measure_s
        follower.begin_phase(AFTER, follower.points.last.until_mono_ns)
        trial.phase("after", "the backlog counts as gone, the load continues", length_s)
    until_ns = follower.next_second_edge(length_s)
    trial.worker.set_window(from_ns, until_ns)
    follower.begin_phase(DRAIN, until_ns)
    follower.follow_until(until_ns)
    return until_ns


def _device_reads(
    counts: tuple[int | None, int | None, int | None],
    spans_s: tuple[float, float],
    backlog_bytes: int,
    attached: bool,
    *,
    compressed: bool = False,
) -> DeviceReads:
    """What was read from devices: by counts when the window began, when the readers began, and when they were done.

    Of `compressed` messages little that was read may be all that there is.
    """
    at_from, at_start, at_end = counts
    before_s, during_s = spans_s
    if at_from is None or at_start is None or at_end is None:
        why = (
            "others run the servers"
            if attached
            else "the servers' machine does not report what processes read (/proc/PID/io)"
        )
        return DeviceReads(None, 0.0, backlog_bytes, during_s, why)
    usual = max(0, at_start - at_from) / before_s
    reads = DeviceReads(max(0, at_end - at_start), usual, backlog_bytes, during_s)
    if compressed and not reads.from_device:
        why = "how large compressed messages are on disk is not known"
        return DeviceReads(None, usual, backlog_bytes, during_s, why)
    return reads
