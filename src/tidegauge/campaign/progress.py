"""How far a slow phase has come, with the time that it may take yet."""

from __future__ import annotations

import time
from collections.abc import Callable

from tidegauge.model.events import Observer, PhaseProgress

_TELLING_S = 2.0
"""Before that long the pace of the first few says nothing."""


class Progress:
    """Turns counts into events. Each kind ("partitions", "consumers") has a pace of its own."""

    def __init__(self, observer: Observer, trial_id: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._observer = observer
        self._trial_id = trial_id
        self._clock = clock
        self._what = ""
        self._begun = 0
        self._since_s = 0.0

    def told(self, what: str, done: int, total: int) -> None:
        """So many of so many are ready."""
        now_s = self._clock()
        if what != self._what or done < self._begun:
            self._what, self._begun, self._since_s = what, done, now_s
        if what:
            self._observer(PhaseProgress(self._trial_id, what, done, total, self._left_s(now_s, done, total)))

    def _left_s(self, now_s: float, done: int, total: int) -> float | None:
        made, took_s = done - self._begun, now_s - self._since_s
        return (total - done) * took_s / made if made > 0 and took_s >= _TELLING_S else None
