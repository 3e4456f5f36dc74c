"""A real broker stopped for one second: what the percentiles must then be follows from the schedule alone.

With a rate of r a second, a message intended u seconds into a stop of length S is acknowledged S - u later, plus what
the broker needs to catch up. So r * (S - x) messages take longer than x, for every x < S.
"""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest
from live import SECOND_NS, drained, live_system, sleep_until

from tidegauge.statistics.histograms import decode
from tidegauge.workload.model import ClientSettings, Payload, Workload

pytestmark = pytest.mark.integration

RATE = 2000.0
WINDOW_S = 12
STOP_S = 1.0
TOLERANCE = 0.05


@pytest.mark.parametrize("in_flight", [5000, 200], ids=["window holds the stop", "producer is blocked by it"])
def test_a_stop_of_one_second_shows_as_the_schedule_says(tmp_path: Path, in_flight: int) -> None:
    workload = Workload(
        payload=Payload(message_bytes=200),
        client=ClientSettings(in_flight_messages_max=in_flight, batch_delay_ms_max=1.0),
    )
    with live_system("kafka", tmp_path, level=4, workload=workload, msgs_per_s=RATE) as live:
        live.worker.prepare(live.order)
        begin_ns = live.worker.start()
        from_ns = begin_ns + 4 * SECOND_NS
        live.worker.set_window(from_ns, from_ns + WINDOW_S * SECOND_NS)
        sleep_until(from_ns + 5 * SECOND_NS)
        live.host.signal(live.deployment.processes[0], signal.SIGSTOP)
        stopped_ns = time.monotonic_ns()
        sleep_until(stopped_ns + round(STOP_S * SECOND_NS))
        live.host.signal(live.deployment.processes[0], signal.SIGCONT)
        stop_s = (time.monotonic_ns() - stopped_ns) / SECOND_NS
        sleep_until(from_ns + (WINDOW_S + 1) * SECOND_NS)
        totals = drained(live.worker)

    window = totals.window
    response = decode(window.response)
    assert window.intended == response.count == pytest.approx(RATE * WINDOW_S, abs=2)
    for x_s in (0.25, 0.5, 0.75):
        late = response.share_above(round(x_s * SECOND_NS)) * response.count
        assert late == pytest.approx(RATE * (stop_s - x_s), abs=TOLERANCE * RATE * stop_s), f"later than {x_s} s"
    # Not only the maximum: the stop is 1/12 of the window, so p99 lies 12 % of a second below its length.
    p99_s = response.percentile_ns(99) / SECOND_NS
    assert p99_s == pytest.approx(stop_s - 0.01 * WINDOW_S, rel=TOLERANCE)
    assert response.max_ns() / SECOND_NS == pytest.approx(stop_s, rel=2 * TOLERANCE)
    # Service time alone, the flaw of other tools, hides it where the producer was blocked.
    service_late = decode(window.service).share_above(SECOND_NS // 2) * response.count
    assert service_late <= 1.05 * in_flight if in_flight < RATE / 2 else service_late > 0
    # The stop is the system's fault, not the generator's.
    assert decode(window.own_lag).percentile_ns(99) < 0.1 * SECOND_NS
    subscription = totals.subscriptions[0]
    assert (subscription.lost, subscription.duplicated, subscription.reordered, subscription.corrupt) == (0, 0, 0, 0)
    # The consumers saw it too.
    end_to_end = decode(subscription.end_to_end)
    late = end_to_end.share_above(SECOND_NS // 2) * end_to_end.count
    assert late == pytest.approx(RATE * (stop_s - 0.5), abs=2 * TOLERANCE * RATE * stop_s)
