"""A trial second by second: its phases, the seconds that are remembered, and the thread that follows the worker."""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median
from types import TracebackType
from typing import Protocol

from tidegauge.campaign.run.injection import load_second
from tidegauge.errors import GeneratorFailedError, RunFailedError
from tidegauge.model.events import Observer, SecondSeen, UseNow, WorkerSeen
from tidegauge.model.load import SecondFigures
from tidegauge.model.trial import LoadSpec, ReadSpec
from tidegauge.model.workload import BEFORE, PHASES, late_names
from tidegauge.statistics.catching_up import PhaseTally
from tidegauge.statistics.disruption import LoadSecond
from tidegauge.statistics.histograms import live_ms
from tidegauge.statistics.silence import Silences
from tidegauge.statistics.steady import SECONDS_MAX, ReceivingTally, SecondPoint
from tidegauge.store.trial import TrialStore
from tidegauge.thresholds import ABORT_FIGURES, AbortWatch

WARM_UP, MEASURE, DRAIN, READ = "warm-up", "measure", "drain", "read"


SECOND_NS = 1_000_000_000
KEPT_MAX = 4096
"""Beyond it neighbours are merged: from 68 minutes on a point stands for 2 seconds, from 137 for 4, and so on."""
_RECENT = 2 * SECONDS_MAX + 2
"""As many as the steady test looks at, and as many again, so that it takes its longest horizon."""


@dataclass(frozen=True)
class TimedPoint:
    """A second for the steady test, with the instant it ended (monotonic ns).

    Edges of seconds drift by microseconds against a window's, so a second is where its middle is.
    """

    until_mono_ns: int
    point: SecondPoint
    length_ns: int = SECOND_NS

    @property
    def middle_mono_ns(self) -> int:
        """Half of its length before it ended."""
        return self.until_mono_ns - self.length_ns // 2


class SecondHistory:
    """Grows by a second at a time; `len` is how many there were."""

    def __init__(self) -> None:
        self._recent: deque[TimedPoint] = deque(maxlen=_RECENT)
        self._kept: list[TimedPoint] = []
        self._stretch = 1
        self._waiting_seconds: list[TimedPoint] = []
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def last(self) -> TimedPoint:
        """The newest second. `IndexError` before the first."""
        return self._recent[-1]

    @property
    def recent(self) -> list[SecondPoint]:
        """The newest seconds, enough for `steady.unsteady_because`, each by itself."""
        return [timed.point for timed in self._recent]

    def append(self, timed: TimedPoint) -> None:
        """Add one more second."""
        self._count += 1
        self._recent.append(timed)
        self._waiting_seconds.append(timed)
        if len(self._waiting_seconds) < self._stretch:
            return
        self._kept.append(_merge_points(self._waiting_seconds))
        self._waiting_seconds = []
        if len(self._kept) >= KEPT_MAX:
            pairs = zip(self._kept[::2], self._kept[1::2], strict=True)
            self._kept = [_merge_points([first, second]) for first, second in pairs]
            self._stretch *= 2

    def points_between(self, from_mono_ns: int, until_mono_ns: int) -> list[SecondPoint]:
        """The seconds with their middle in a span, one entry a second; of long trials neighbours share an entry."""

        def inside(seen: Sequence[TimedPoint]) -> list[SecondPoint]:
            return [timed.point for timed in seen if from_mono_ns < timed.middle_mono_ns <= until_mono_ns]

        return [point for point in inside(self._kept) for _ in range(self._stretch)] + inside(self._waiting_seconds)


def _merge_points(timed: list[TimedPoint]) -> TimedPoint:
    """Merge neighbours: mean rate and JIT, median p50, larger p99 and delay (none is hidden), later backlog."""
    if len(timed) == 1:
        return timed[0]
    points = [merged.point for merged in timed]
    msgs_per_s = sum(point.msgs_per_s for point in points) / len(points)
    p99_ms = max((point.p99_ms for point in points if point.p99_ms is not None), default=None)
    delay_ms = max((point.delay_p99_ms for point in points if point.delay_p99_ms is not None), default=None)
    jit_cpus = sum(point.jit_cpus for point in points) / len(points)
    middles_ms = [point.p50_ms for point in points if point.p50_ms is not None]
    p50_ms = median(middles_ms) if middles_ms else None
    last = points[-1]
    point = SecondPoint(msgs_per_s, p99_ms, last.backlog, last.backlogs, jit_cpus, delay_ms, p50_ms)
    return TimedPoint(timed[-1].until_mono_ns, point, timed[-1].length_ns)


_LOOK_S = 0.25
_SILENCE_S_MAX = 15.0
_END_S_MAX = 30.0
"""Of the figures, once the trial is finished: longer than it takes to notice that one of several workers is silent."""


_LAST_S = 2.0
"""Of several workers' figures, after one was found to be lost by another call: they know it a moment later."""


class SecondsSource(Protocol):
    """Has the seconds of a trial, as they come: a load generator, or what one left."""

    def watch(self, from_second: int = 0, /) -> Iterator[SecondFigures]:
        """See `LoadWorker.watch`."""


@dataclass
class Follower:
    """Follows a trial second by second: stores and shows each, and notices within a look (0.25 s) what has died.

    Whoever leads the trial says when its phases begin. `tally` keeps what late readers do, `load` what faults do,
    `receiving` how busy consumers were. Late readers' backlogs are no part of `points`: that they grow is wanted, and
    says nothing about the system. `silences` are those of the others.

    As a context it stores what came last if the trial ends since a load generator was lost.

    Attributes:
        worker: watched from the beginning.
        check: raises what must end the trial: a server gone, a disk full.
        use: says what is being used, for whoever shows it.
        begin_mono_ns: when the load begins.
        abort: is given the figures of each second of the phase *measure*.
    """

    spec: LoadSpec | ReadSpec
    worker: SecondsSource
    store: TrialStore
    observer: Observer
    check: Callable[[], None]
    use: Callable[[], UseNow | None] = lambda: None
    begin_mono_ns: int = 0
    points: SecondHistory = field(default_factory=SecondHistory)
    load: list[LoadSecond] = field(default_factory=list)
    receiving: ReceivingTally = field(default_factory=ReceivingTally)
    abort: AbortWatch = field(default_factory=AbortWatch)

    def __post_init__(self) -> None:
        """Begin to watch."""
        late_readers = self.spec.late if isinstance(self.spec, LoadSpec) else None
        late = frozenset(late_names(self.spec.workload.subscriptions, late_readers))
        self.tally = PhaseTally(late, tails=len(late) < self.spec.workload.subscriptions)
        self.silences = Silences(late)
        self._phases = [(0, READ if isinstance(self.spec, ReadSpec) else WARM_UP)]
        self._seen_s = max(time.monotonic(), self.begin_mono_ns / 1e9)
        self._queue: queue.SimpleQueue[SecondFigures | BaseException | None] = queue.SimpleQueue()
        self._ended = False
        self._thread = threading.Thread(target=self._read_worker, name="figures", daemon=True)
        self._thread.start()

    def __enter__(self) -> Follower:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, GeneratorFailedError):
            self._thread.join(timeout=_LAST_S)
            with contextlib.suppress(RunFailedError):
                for item in self._waiting_seconds():
                    if isinstance(item, SecondFigures):
                        self._keep_second(item)

    def _waiting_seconds(self) -> Iterator[SecondFigures | BaseException | None]:
        while not self._queue.empty():
            yield self._queue.get_nowait()

    def begin_phase(self, phase: str, at_mono_ns: int) -> None:
        """`phase` begins at an instant (monotonic ns) later than all given so far, which may be still to come."""
        self._phases.append((at_mono_ns, phase))

    def cut_phase_short(self, phase: str, at_mono_ns: int) -> None:
        """`phase` begins at an instant, whatever was to begin from then on."""
        self._phases = [(begin, name) for begin, name in self._phases if begin < at_mono_ns] + [(at_mono_ns, phase)]

    def follow_until(self, mono_ns: int) -> None:
        """Follow until an instant of the monotonic clock. Raises `RunFailedError` when something has failed."""
        while (left_s := (mono_ns - time.monotonic_ns()) / 1e9) > 0:
            self._look_for_figures(min(left_s, _LOOK_S))

    def follow_until_next_second(self, deadline_mono_ns: int) -> bool:
        """Follow until one more second is known; False if the deadline came first."""
        seconds_known = len(self.points)
        while len(self.points) == seconds_known:
            left_s = (deadline_mono_ns - time.monotonic_ns()) / 1e9
            if left_s <= 0:
                return False
            self._look_for_figures(min(left_s, _LOOK_S))
        return True

    def follow_until_known(self, mono_ns: int, patience_s: float) -> None:
        """Follow until the figures reach an instant, or patience ends: the last second may come late.

        A second that ended less than half its length before the instant is the last: the next belongs to what follows.
        """
        deadline_mono_ns = time.monotonic_ns() + round(patience_s * 1e9)
        while not self.points or self.points.last.until_mono_ns + self.points.last.length_ns // 2 < mono_ns:
            if self._ended or not self.follow_until_next_second(deadline_mono_ns):
                return

    def next_second_edge(self, in_s: float) -> int:
        """The first edge of the worker's seconds at least so far ahead; any instant where no second is known."""
        at_ns = time.monotonic_ns() + round(in_s * 1e9)
        if not self.points:
            return at_ns
        edge_ns = self.points.last.until_mono_ns
        return edge_ns + -(-(at_ns - edge_ns) // SECOND_NS) * SECOND_NS

    def is_on_edge(self, since_edge_ns: int) -> bool:
        """Whether so long after an edge of the worker's seconds there is one again, but for a tenth of a second."""
        length_ns = self.points.last.length_ns if self.points else SECOND_NS
        beyond_ns = since_edge_ns % length_ns
        return min(beyond_ns, length_ns - beyond_ns) <= length_ns // 10

    def follow_to_end(self) -> None:
        """Follow until there are no more figures. Raises `RunFailedError` when something has failed."""
        while not self._ended:
            self._look_for_figures(_LOOK_S)

    def finish(self) -> None:
        """Take what is left once the worker has finished the trial.

        Raises `RunFailedError` if it does not add up (`FiguresError`), or may be incomplete.
        """
        self._thread.join(timeout=_END_S_MAX)
        if self._thread.is_alive():
            raise self._starved_error(f"The worker's figures did not end within {_END_S_MAX:.0f} s of the trial's end.")
        for item in self._waiting_seconds():
            if isinstance(item, BaseException):
                raise item
            if isinstance(item, SecondFigures):
                self._keep_second(item)

    def points_between(self, from_mono_ns: int, until_mono_ns: int) -> list[SecondPoint]:
        """The seconds with their middle in a span."""
        return self.points.points_between(from_mono_ns, until_mono_ns)

    def _read_worker(self) -> None:
        try:
            for figures in self.worker.watch():
                self._queue.put(figures)
            self._queue.put(None)
        except BaseException as error:  # Handed to whoever follows.
            self._queue.put(error)

    def _look_for_figures(self, timeout_s: float) -> None:
        self.check()
        try:
            item = self._queue.get(timeout=max(0.001, timeout_s))
        except queue.Empty:
            if not self._ended and time.monotonic() - self._seen_s > _SILENCE_S_MAX:
                raise self._starved_error(f"The worker gave no figures for {_SILENCE_S_MAX:.0f} s.") from None
            return
        if item is None:
            self._ended = True
        elif isinstance(item, BaseException):
            self.check()
            raise item
        else:
            self._take_second(item)

    def _starved_error(self, message: str) -> GeneratorFailedError:
        hint = "The machine may be starved of CPU or memory; see the worker's log."
        return GeneratorFailedError(message, hint, self.store.log_directory)

    def _keep_second(self, figures: SecondFigures) -> str:
        """Store a second; returns the phase in which it lies."""
        middle_ns = (figures.from_mono_ns + figures.until_mono_ns) // 2
        phase = [phase for at_mono_ns, phase in self._phases if at_mono_ns <= middle_ns][-1]
        self.store.append_second(figures, phase)
        received = {sub.name: sub.received for sub in figures.subscriptions}
        self.silences.take(received, figures.from_mono_ns, figures.until_mono_ns)
        if phase == MEASURE or phase in PHASES:
            self.receiving.take(figures, judged=phase in (MEASURE, BEFORE))
        if self.tally.late:
            self.tally.take(phase, figures)
        if self.spec.faults:
            self.load.append(load_second(figures))
        return phase

    def _take_second(self, figures: SecondFigures) -> None:
        self._seen_s = time.monotonic()
        phase = self._keep_second(figures)
        length_s = max(1e-3, (figures.until_mono_ns - figures.from_mono_ns) / 1e9)
        backlogs = {sub.name: sub.backlog for sub in figures.subscriptions if sub.name not in self.tally.late}
        backlog = max(backlogs.values(), default=0)
        p50_ms, p99_ms = live_ms(figures.response)
        end_to_end_ms = [live_ms(sub.end_to_end)[1] for sub in figures.subscriptions]
        moved, moved_bytes = figures.acked, figures.acked_bytes
        reads = isinstance(self.spec, ReadSpec)
        if reads:
            moved = sum(sub.received for sub in figures.subscriptions)
            moved_bytes = sum(sub.received_bytes for sub in figures.subscriptions)
        msgs_per_s = moved / length_s
        # What a closed loop sends is due when it is sent.
        delay_ms = live_ms(figures.delay)[1] if self.spec.most_msgs_per_s else None
        jit_cpus = figures.jit_ns / 1e9 / length_s
        point = SecondPoint(msgs_per_s, p99_ms, backlog, backlogs, jit_cpus, delay_ms, p50_ms)
        self.points.append(TimedPoint(figures.until_mono_ns, point, figures.until_mono_ns - figures.from_mono_ns))
        mb_per_s, slowest_ms = moved_bytes / length_s / 1e6, [p99 for p99 in end_to_end_ms if p99 is not None]
        end_to_end_p99_ms = max(slowest_ms, default=None)
        if phase == MEASURE:
            values = (msgs_per_s, mb_per_s, p50_ms, p99_ms, end_to_end_p99_ms, float(backlog))
            self.abort.take(dict(zip(ABORT_FIGURES, values, strict=True)))
        self.observer(
            SecondSeen(
                trial_id=self.spec.trial_id,
                msgs_per_s=msgs_per_s,
                mb_per_s=mb_per_s,
                response_p99_ms=p99_ms,
                end_to_end_p99_ms=end_to_end_p99_ms,
                backlog=None if reads else max((sub.backlog for sub in figures.subscriptions), default=0),
                use=self.use(),
                workers=self._workers_seen(figures, length_s),
            )
        )

    def _workers_seen(self, figures: SecondFigures, length_s: float) -> tuple[WorkerSeen, ...]:
        return tuple(
            WorkerSeen(
                worker=worker_figures.worker,
                offered_msgs_per_s=worker_figures.scheduled_msgs_per_s if self.spec.most_msgs_per_s else None,
                msgs_per_s=(worker_figures.received if isinstance(self.spec, ReadSpec) else worker_figures.acked)
                / length_s,
                received_msgs_per_s=worker_figures.received / length_s,
                own_lag_ms_max=worker_figures.own_lag_ns_max / 1e6,
            )
            for worker_figures in figures.workers
        )
