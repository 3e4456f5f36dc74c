"""A real broker stopped for one second: what the percentiles must then be follows from the schedule alone.

With a rate of r a second, a message intended u seconds into a stop of length S is acknowledged S - u later, plus what
the broker needs to catch up. So r * (S - x) messages take longer than x, for every x < S.

The rate is low, so that catching up takes no time to speak of. A machine that is short of CPU or disk lengthens the
stop; that is no error of measuring. So an attempt that disagrees is excused only if the kernel itself says that
processes were waiting meanwhile, and repeated; one that disagrees on a quiet machine fails at once.
"""

from __future__ import annotations

import signal
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from live import SECOND_NS, Live, drained, live_system, with_trial_id
from patience import sleep_until

from tidegauge.model.load import TotalFigures
from tidegauge.model.workload import ClientSettings, Payload, Workload
from tidegauge.statistics.histograms import Histogram, decode_histogram

pytestmark = [pytest.mark.integration, pytest.mark.alone]

RATE = 500.0
WINDOW_S = 12
STOP_S = 1.0
TOLERANCE = 0.05
ATTEMPTS = 4
STARVED_SHARE = 0.15


def stalled_us() -> int:
    """Time in which some process waited for CPU or disk, from the kernel's pressure-stall information."""
    return sum(int(line.split("total=")[1]) for kind in ("cpu", "io") for line in pressure(kind) if line[:4] == "some")


def pressure(kind: str) -> list[str]:
    path = Path("/proc/pressure") / kind
    return path.read_text().splitlines() if path.exists() else []


@dataclass(frozen=True)
class Stopped:
    """One experiment: the stop as it was made, and what was measured."""

    stop_s: float
    totals: TotalFigures
    response: Histogram

    def late(self, seconds: float) -> float:
        """Messages that took longer than this."""
        return self.response.share_above(round(seconds * SECOND_NS)) * self.response.count

    def agrees(self) -> bool:
        """Whether shares and sizes are within 5 % of what the schedule says."""
        shares = all(
            self.late(x_s) == pytest.approx(RATE * (self.stop_s - x_s), abs=TOLERANCE * RATE * self.stop_s)
            for x_s in (0.25, 0.5, 0.75)
        )
        # Not only the maximum: the stop is 1/12 of the window, so p99 lies 12 % of a second below its length.
        p99_s = self.response.percentile_ns(99) / SECOND_NS
        sizes = p99_s == pytest.approx(self.stop_s - 0.01 * WINDOW_S, rel=TOLERANCE)
        return shares and sizes and self.response.max_ns() / SECOND_NS == pytest.approx(self.stop_s, rel=TOLERANCE)


def stopped_once(live: Live, trial_id: int) -> Stopped:
    """A trial in which the broker is stopped for a second in the middle of the window."""
    live.worker.prepare(with_trial_id(live.order, trial_id))
    begin_ns = live.worker.start()
    from_ns = begin_ns + 3 * SECOND_NS
    live.worker.set_window(from_ns, from_ns + WINDOW_S * SECOND_NS)
    sleep_until(from_ns + 5 * SECOND_NS)
    live.host.signal(live.deployment.processes[0], signal.SIGSTOP)
    stopped_ns = time.monotonic_ns()
    sleep_until(stopped_ns + round(STOP_S * SECOND_NS))
    live.host.signal(live.deployment.processes[0], signal.SIGCONT)
    stop_s = (time.monotonic_ns() - stopped_ns) / SECOND_NS
    sleep_until(from_ns + (WINDOW_S + 1) * SECOND_NS)
    totals = drained(live.worker)
    live.worker.finish(delete_topics=True)
    return Stopped(stop_s, totals, decode_histogram(totals.window.response))


# In `make test` both are those of test_worker_null.py, whose system stalls.
@pytest.mark.slow
@pytest.mark.parametrize(
    "in_flight", [pytest.param(5000, id="window holds the stop"), pytest.param(50, id="producer is blocked by it")]
)
def test_a_stop_of_one_second_shows_as_the_schedule_says(tmp_path: Path, in_flight: int) -> None:
    workload = Workload(
        payload=Payload(message_bytes=200),
        client=ClientSettings(in_flight_messages_max=in_flight, batch_delay_ms_max=1.0),
    )
    with live_system("kafka", tmp_path, level=4, workload=workload, msgs_per_s=RATE) as live:
        for attempt in range(ATTEMPTS):
            stalled_before_us, begun_s = stalled_us(), time.monotonic()
            seen = stopped_once(live, 100 + attempt)
            starved = (stalled_us() - stalled_before_us) / 1e6 / (time.monotonic() - begun_s)
            if seen.agrees() or starved < STARVED_SHARE:
                break
    if not seen.agrees() and starved >= STARVED_SHARE:
        pytest.skip(f"in each of {ATTEMPTS} attempts this machine was busy with something else ({starved:.0%})")
    window = seen.totals.window
    assert window.intended == seen.response.count == pytest.approx(RATE * WINDOW_S, abs=2)
    assert seen.agrees(), {x_s: (seen.late(x_s), RATE * (seen.stop_s - x_s)) for x_s in (0.25, 0.5, 0.75)}
    # Service time alone, the flaw of other tools, hides it where the producer was blocked.
    service = decode_histogram(window.service)
    service_late = service.share_above(SECOND_NS // 2) * service.count
    assert service_late <= 1.05 * in_flight if in_flight < RATE / 2 else service_late > in_flight / 100
    # The stop is the system's fault, not the generator's.
    assert decode_histogram(window.own_lag).percentile_ns(99) < 0.1 * SECOND_NS
    subscription = seen.totals.subscriptions[0]
    assert (subscription.lost, subscription.duplicated, subscription.reordered, subscription.corrupt) == (0, 0, 0, 0)
    # The consumers saw it too.
    end_to_end = decode_histogram(subscription.end_to_end)
    late = end_to_end.share_above(SECOND_NS // 2) * end_to_end.count
    assert late == pytest.approx(RATE * (seen.stop_s - 0.5), abs=2 * TOLERANCE * RATE * seen.stop_s)
