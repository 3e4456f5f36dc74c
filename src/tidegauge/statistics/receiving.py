"""How busy the load generator's own consumers were, second by second, and how long messages waited for them. Pure.

A consumer has no time left in a second in which its receiving thread ran or waited for a CPU for 90 % of the time
outside pauses of the garbage collector, in which nobody can work. That alone is no fault: a thread may spin, or keep up
all the same. How long messages waited for it follows from Little's law, which needs no latency: mean backlog over rate
of receipt.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from tidegauge.model.load import SecondFigures
from tidegauge.model.trial import BusyConsumer

BUSY_SHARE = 0.90


@dataclass
class _Busy:
    """The seconds in which one subscription had a consumer without time left."""

    names: Counter[str] = field(default_factory=Counter)
    length_s: float = 0.0
    received: int = 0
    backlog_s: float = 0.0

    @property
    def waiting_ms(self) -> float:
        """At most those seconds, which is what is known where nothing was received at all."""
        return 1e3 * min(self.length_s, self.backlog_s / self.received if self.received else self.length_s)


@dataclass
class ReceivingTally:
    """Takes in the seconds of a measured window; keeps a few numbers for each consumer, however long it is.

    `window_end`: the backlog of each subscription at the end of the newest second.
    """

    window_end: dict[str, int] = field(default_factory=dict)
    _seconds: int = 0
    _busy: dict[str, _Busy] = field(default_factory=dict)

    def take(self, figures: SecondFigures, *, judged: bool = True) -> None:
        """One second more. Not `judged`: consumers are meant to be busy in it, as late readers are."""
        self.window_end = {sub.name: sub.backlog for sub in figures.subscriptions}
        if not judged:
            return
        self._seconds += 1
        length_ns = figures.until_mono_ns - figures.from_mono_ns
        free_ns = max(1, length_ns - min(length_ns, figures.gc_pause_ns))
        if figures.busiest_consumer_busy_ns < BUSY_SHARE * free_ns:
            return
        name = figures.busiest_consumer.partition(" ")[0]
        for sub in figures.subscriptions:
            if sub.name == name:
                busy = self._busy.setdefault(name, _Busy())
                busy.names[figures.busiest_consumer] += 1
                busy.length_s += length_ns / 1e9
                busy.received += sub.received
                busy.backlog_s += sub.backlog * length_ns / 1e9

    def busy_consumers(self) -> tuple[BusyConsumer, ...]:
        """One of each subscription that had a consumer without time left, the busiest first."""
        found = [
            BusyConsumer(
                name=busy.names.most_common(1)[0][0],
                subscription=subscription,
                seconds=self._seconds,
                busy_seconds=busy.names.total(),
                waiting_ms=busy.waiting_ms,
            )
            for subscription, busy in self._busy.items()
        ]
        return tuple(sorted(found, key=lambda one: (-one.busy_seconds, -one.waiting_ms)))
