"""How fast a backlog is read away, and what that does to the others: phases of a trial from its seconds. Pure.

Percentiles of a phase come from the merged histograms of its seconds, so they are of what was acknowledged or received
in it, not of what was intended in it: a message that was due before the readers began and is acknowledged after that
counts as during. Only sums, merged histograms and one number a second are kept, however long a trial is.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from tidegauge.model.load import SecondFigures
from tidegauge.model.trial import CatchUp, PhaseFigures
from tidegauge.model.workload import BEFORE, DURING, PHASES, DeviceReads
from tidegauge.statistics.histograms import EMPTY, Histogram, add_histograms, decode_histogram, latency_summary
from tidegauge.statistics.steady import slope_of


@dataclass
class _PhaseSum:
    """What has been seen of one phase so far."""

    seconds: float = 0.0
    acked: int = 0
    late_received: int = 0
    response: Histogram = EMPTY
    tailing: Histogram = EMPTY


@dataclass
class PhaseTally:
    """Takes in a trial's seconds, each with its phase.

    Attributes:
        late: names of the subscriptions that read late.
        tails: whether others read all the time.
        behind: for each second of the phase *during* its end and the backlog of the largest late subscription then.
        backlog_msgs: the same backlog at the end of the newest second of any phase.
        built_msgs: the same at the end of the phase *before*, or of its newest second while it lasts.
    """

    late: Collection[str]
    tails: bool
    behind: list[tuple[int, int]] = field(default_factory=list)
    backlog_msgs: int = 0
    built_msgs: int = 0
    peak_read_msgs_per_s: float = 0.0
    peak_read_bytes_per_s: float = 0.0
    _sums: dict[str, _PhaseSum] = field(default_factory=dict)

    def take(self, phase: str, figures: SecondFigures) -> None:
        """Takes in one second more."""
        late = [subscription for subscription in figures.subscriptions if subscription.name in self.late]
        self.backlog_msgs = max((subscription.backlog for subscription in late), default=0)
        if phase not in PHASES:
            return
        length_s = max(1e-3, (figures.until_mono_ns - figures.from_mono_ns) / 1e9)
        sums = self._sums.setdefault(phase, _PhaseSum())
        sums.seconds += length_s
        sums.acked += figures.acked
        sums.late_received += sum(sub.received for sub in late)
        sums.response = add_histograms(sums.response, decode_histogram(figures.response))
        for sub in figures.subscriptions:
            if sub.name not in self.late:
                sums.tailing = add_histograms(sums.tailing, decode_histogram(sub.end_to_end))
        if phase == BEFORE:
            self.built_msgs = self.backlog_msgs
        if phase == DURING:
            self.behind.append((figures.until_mono_ns, self.backlog_msgs))
            msgs_per_s = sum(sub.received for sub in late) / length_s
            if msgs_per_s > self.peak_read_msgs_per_s:
                self.peak_read_msgs_per_s = msgs_per_s
                self.peak_read_bytes_per_s = sum(sub.received_bytes for sub in late) / length_s

    def phases(self) -> tuple[PhaseFigures, ...]:
        """The figures of all phases, those that never came with nothing in them."""
        return tuple(self._figures_of_phase(phase, self._sums.get(phase, _PhaseSum())) for phase in PHASES)

    def _figures_of_phase(self, phase: str, sums: _PhaseSum) -> PhaseFigures:
        length_s = max(sums.seconds, 1e-9)
        return PhaseFigures(
            phase=phase,
            seconds=sums.seconds,
            msgs_per_s=sums.acked / length_s,
            response=latency_summary(sums.response),
            tailing_end_to_end=latency_summary(sums.tailing) if self.tails else None,
            late_msgs_per_s=sums.late_received / length_s,
        )


@dataclass(frozen=True)
class ChaseTimes:
    """What was decided while a trial went on.

    Attributes:
        backlog_msgs: of the largest late subscription when they began to read.
        gone_at_msgs: the backlog counts as gone at this many.
        build_s, chase_s, watched_s: see `CatchUp`.
        left_msgs: at the end of `watched_s`.
    """

    backlog_msgs: int
    gone_at_msgs: int
    build_s: float
    chase_s: float | None
    watched_s: float
    left_msgs: int


def catch_up(
    tally: PhaseTally, times: ChaseTimes, message_bytes: int, reads: DeviceReads, limits: tuple[str, ...] = ()
) -> CatchUp:
    """Everything that is reported of late readers."""
    remaining_msgs = times.left_msgs if times.chase_s is None else times.gone_at_msgs
    span_s = max(1e-3, times.watched_s if times.chase_s is None else times.chase_s)
    drain_msgs_per_s = (times.backlog_msgs - remaining_msgs) / span_s
    return CatchUp(
        backlog_msgs=times.backlog_msgs,
        backlog_bytes=times.backlog_msgs * message_bytes,
        build_s=times.build_s,
        chase_s=times.chase_s,
        watched_s=times.watched_s,
        drain_msgs_per_s=drain_msgs_per_s,
        drain_bytes_per_s=drain_msgs_per_s * message_bytes,
        slope=slope_of([backlog for _, backlog in tally.behind]),
        peak_read_msgs_per_s=tally.peak_read_msgs_per_s,
        peak_read_bytes_per_s=tally.peak_read_bytes_per_s,
        left_msgs=times.left_msgs,
        phases=tally.phases(),
        reads=reads,
        limits=limits,
    )


def gone_at(backlog_msgs: int, drained_share: float, msgs_per_s: float) -> int:
    """At how many messages a backlog counts as gone: a share of it, but never less than readers at the end always owe.

    A quarter of a second's messages is what a reader that keeps up may have in its queues.
    """
    return round(max((1 - drained_share) * backlog_msgs, msgs_per_s / 4, 1))


def crossed_s(before_msgs: int, after_msgs: int, gone_at_msgs: int, length_s: float) -> float:
    """When in a second a backlog that fell evenly from `before_msgs` to `after_msgs` passed a mark."""
    if before_msgs <= gone_at_msgs or before_msgs <= after_msgs:
        return 0.0
    return length_s * min(1.0, (before_msgs - gone_at_msgs) / (before_msgs - after_msgs))
