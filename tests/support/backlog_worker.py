"""A load generator whose backlog is caught up with as a test says."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import cache
from typing import Any

from campaign_doubles import FakeWorker, histogram, subscription, totals_of, window
from trial_scenes import SPEC

from tidegauge.model.load import SecondFigures, SubscriptionSecond
from tidegauge.model.trial import CatchUp
from tidegauge.model.workload import AFTER, BEFORE, DURING, DeviceReads, LateReaders
from tidegauge.statistics.catching_up import ChaseTimes, PhaseTally, catch_up, crossed_s, gone_at

RATE = 10_000
FROM_DEVICE = DeviceReads(95_000_000, 0.0, 100_000_000, 10.0)


@cache
def recorded(value_ms: float, count: int = RATE) -> bytes:
    return histogram([value_ms], count)


def second(number: int, backlog: int, received: int, response_ms: float, tailing_ms: float | None = None) -> Any:
    """A second of a load of RATE, in which the late reader received so many."""
    subs = [SubscriptionSecond("sub-0", RATE, RATE * 1000, 0, 0, 0, 0, recorded(tailing_ms))] if tailing_ms else []
    late = SubscriptionSecond(f"sub-{len(subs)}", received, received * 1000, backlog, 0, 0, 0, recorded(9e3, 1))
    return SecondFigures(
        second=number,
        from_mono_ns=number * 10**9,
        until_mono_ns=(number + 1) * 10**9,
        scheduled_msgs_per_s=RATE,
        sent=RATE,
        acked=RATE,
        failed=0,
        acked_bytes=RATE * 1000,
        in_flight=0,
        blocked_ns=0,
        own_lag_ns_max=0,
        response=recorded(response_ms),
        service=b"",
        delay=b"",
        subscriptions=(*subs, late),
        worker_cpu_ns=0,
        gc_pause_ns=0,
        heap_used_bytes=0,
    )


def simulate(read_msgs_per_s: int, backlog: int, seconds_max: int = 60) -> tuple[PhaseTally, ChaseTimes]:
    """A reader of a known speed on a queue that grows by RATE: the procedure's own rules, second by second."""
    tally = PhaseTally(frozenset({"sub-1"}), tails=True)
    built = backlog // RATE
    for number in range(built):
        tally.take(BEFORE, second(number, (number + 1) * RATE, 0, 2.0, 5.0))
    before = tally.built_msgs
    gone = gone_at(before, 0.99, RATE)
    chase_s: float | None = None
    behind = before
    for number in range(seconds_max):
        now = max(0, behind + RATE - read_msgs_per_s)
        tally.take(DURING, second(built + number, now, behind + RATE - now, 8.0, 20.0))
        if now <= gone:
            chase_s = number + crossed_s(behind, now, gone, 1.0)
            behind = now
            break
        behind = now
    for after in range(5):
        tally.take(AFTER, second(built + seconds_max + after, 0, RATE, 3.0, 6.0))
    return tally, ChaseTimes(before, gone, built, chase_s, number + 1.0, behind)


@cache
def found_of(read_msgs_per_s: int, backlog: int) -> CatchUp:
    return catch_up(*simulate(read_msgs_per_s, backlog), 1000, FROM_DEVICE)


class BacklogWorker(FakeWorker):
    """A late subscription `sub-0` that reads at a known speed from the moment it is resumed."""

    reads_msgs_per_s = 6_000.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.began_s = self.resumed_s = 0.0

    def start(self, in_s: float = 0.1) -> int:
        self.began_s = time.monotonic()
        return super().start(in_s)

    def resume_consumers(self, subscriptions: list[str]) -> None:
        self.journal.note(f"resume {', '.join(subscriptions)}")
        self.resumed_s = time.monotonic()

    def _second(self, second: int) -> SecondFigures:
        figures = super()._second(second)
        # As of the second's end, also where a busy machine makes it later.
        until_s = figures.until_mono_ns / 1e9
        backlog = (until_s - self.began_s) * self.rate
        if self.resumed_s:
            backlog -= max(0.0, until_s - self.resumed_s) * self.reads_msgs_per_s
        late = replace(figures.subscriptions[0], backlog=round(max(0.0, backlog)), received=0)
        return replace(figures, subscriptions=(late,))

    def totals(self) -> Any:
        self.journal.note("totals")
        return totals_of(window(*self.window, self.rate), subscription())


LATE = replace(SPEC, late=LateReaders(1, 1_500, "1500 messages", 0.9, 5.0), measure_s=0.5)
