"""The seconds of a trial as control remembers them: bounded, however long it lasts. All of them are on disk."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from tidegauge.statistics.steady import SECONDS_MAX, SecondPoint

KEPT_MAX = 4096
"""Beyond it neighbours are merged: from 68 minutes on a point stands for 2 seconds, from 137 for 4, and so on."""
_RECENT = 2 * SECONDS_MAX + 2
"""As many as the steady test looks at, and as many again, so that it takes its longest horizon."""


@dataclass(frozen=True)
class TimedPoint:
    """A second for the steady test, with the instant it ended (monotonic ns)."""

    until_mono_ns: int
    point: SecondPoint


class SeenSeconds:
    """Grows by a second at a time; `len` is how many there were."""

    def __init__(self) -> None:
        self._recent: deque[TimedPoint] = deque(maxlen=_RECENT)
        self._kept: list[TimedPoint] = []
        self._stretch = 1
        self._waiting: list[TimedPoint] = []
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
        """One more second."""
        self._count += 1
        self._recent.append(timed)
        self._waiting.append(timed)
        if len(self._waiting) < self._stretch:
            return
        self._kept.append(_merged(self._waiting))
        self._waiting = []
        if len(self._kept) >= KEPT_MAX:
            pairs = zip(self._kept[::2], self._kept[1::2], strict=True)
            self._kept = [_merged([first, second]) for first, second in pairs]
            self._stretch *= 2

    def between(self, from_mono_ns: int, until_mono_ns: int) -> list[SecondPoint]:
        """The seconds that ended inside a span, one entry a second; of long trials neighbours share an entry."""
        found = [
            timed.point
            for timed in self._kept
            if from_mono_ns < timed.until_mono_ns <= until_mono_ns
            for _ in range(self._stretch)
        ]
        rest = [timed.point for timed in self._waiting if from_mono_ns < timed.until_mono_ns <= until_mono_ns]
        return found + rest


def _merged(timed: list[TimedPoint]) -> TimedPoint:
    """Neighbours as one: mean rate and JIT, the larger p99 and delay (none is hidden), the later backlog."""
    if len(timed) == 1:
        return timed[0]
    points = [one.point for one in timed]
    rate = sum(point.msgs_per_s for point in points) / len(points)
    p99_ms = max((point.p99_ms for point in points if point.p99_ms is not None), default=None)
    delay_ms = max((point.delay_p99_ms for point in points if point.delay_p99_ms is not None), default=None)
    jit_cpus = sum(point.jit_cpus for point in points) / len(points)
    last = points[-1]
    return TimedPoint(
        timed[-1].until_mono_ns, SecondPoint(rate, p99_ms, last.backlog, last.backlogs, jit_cpus, delay_ms)
    )
