"""The real worker with the null driver, through the gRPC client: known answers."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from null_worker import BUILT, WORKLOAD, drained, order, run_trial, watch_all
from patience import sleep_until

from tidegauge.agent.local import LocalHost
from tidegauge.errors import RunFailedError
from tidegauge.model.load import TotalFigures
from tidegauge.model.workload import Arrival, ClientSettings, Keys
from tidegauge.statistics.histograms import Histogram, decode_histogram
from tidegauge.worker.client import GrpcWorker
from tidegauge.worker.launch import start_worker

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(not BUILT, reason="the worker is not built: run `make build`"),
]


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GrpcWorker]:
    """One worker for all tests here: that it can prepare again and again is part of what they show."""
    directory = tmp_path_factory.mktemp("worker")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIDEGAUGE_STATE", str(directory / "state"))
        with LocalHost.open() as host:
            worker = start_worker(host, "null", directory)
            yield worker
            worker.close()


def test_it_introduces_itself(worker: GrpcWorker) -> None:
    assert "null" in worker.facts.drivers
    assert int(worker.facts.java_version.split(".")[0]) >= 17
    assert worker.facts.heap_bytes_max > 0
    assert "-XX:+ExitOnOutOfMemoryError" in worker.facts.jvm_flags


def test_probe_and_describe(worker: GrpcWorker) -> None:
    assert worker.probe("null", {}, 10.0) < 10.0
    settings = {s.name: s for s in worker.describe("null", {"ack_delay_us": "7"}, [])}
    assert (settings["ack_delay_us"].value, settings["ack_delay_us"].is_default) == ("7", False)
    assert settings["lose"].is_default


def test_an_unusable_connection_is_refused_in_words(worker: GrpcWorker) -> None:
    with pytest.raises(RunFailedError, match="unknown setting 'loose'"):
        worker.probe("null", {"loose": "1"}, 5.0)
    with pytest.raises(RunFailedError, match="nosuch"):
        worker.probe("nosuch", {}, 5.0)


@pytest.mark.parametrize("arrival", [Arrival.UNIFORM, Arrival.POISSON])
def test_everything_sent_arrives_once(worker: GrpcWorker, arrival: Arrival) -> None:
    workload = replace(WORKLOAD, partitions=3, producers=2, subscriptions=2, consumers=2, arrival=arrival)
    totals = run_trial(worker, order(workload=workload))
    assert totals.sent == totals.acked > 40_000
    assert (totals.failed, totals.unresolved, totals.errors) == (0, 0, ())
    assert [s.name for s in totals.subscriptions] == ["sub-0", "sub-1"]
    for subscription in totals.subscriptions:
        assert subscription.received == subscription.unique == totals.acked
        assert (subscription.backlog, subscription.lost, subscription.duplicated) == (0, 0, 0)
        assert (subscription.reordered, subscription.corrupt, subscription.foreign) == (0, 0, 0)
        assert decode_histogram(subscription.end_to_end).count == subscription.window_received
    window = totals.window
    assert window.acked == window.intended
    for histogram in (window.response, window.service, window.delay):
        assert decode_histogram(histogram).count == window.acked
    if arrival is Arrival.UNIFORM:
        assert abs(window.intended - 40_000) <= workload.producers


def test_each_fault_is_counted_exactly(worker: GrpcWorker) -> None:
    connection = {
        "lose": "at:100,101,5000,29999",
        "duplicate": "at:200,6000,6001",
        "swap": "at:300,7000",
        "flip_body": "at:400,8000,8001,8002,8003",
        "flip_header": "at:500,9000",
    }
    totals = run_trial(worker, order(connection))
    assert totals.acked == totals.sent > 30_000
    (found,) = totals.subscriptions
    # The sequence in a damaged header is unknown: that message is counted as corrupt, and not again as lost.
    assert found.lost == 4
    assert (found.duplicated, found.reordered, found.corrupt, found.corrupt_unattributed) == (3, 2, 5 + 2, 2)
    assert found.unique == totals.acked - found.lost - found.corrupt_unattributed
    assert found.received == totals.acked - 4 + 3
    assert found.foreign == 0
    assert "producer 0 sequence 5000" in found.lost_examples


def test_faults_with_several_producers_and_subscriptions(worker: GrpcWorker) -> None:
    workload = replace(WORKLOAD, partitions=4, producers=3, subscriptions=2, keys=Keys.RANDOM)
    connection = {"lose": "every:1000:max:7", "duplicate": "every:999:max:5"}
    totals = run_trial(worker, order(connection, msgs_per_s=30_000.0, workload=workload))
    for found in totals.subscriptions:
        assert (found.lost, found.duplicated, found.corrupt, found.reordered) == (3 * 7, 3 * 5, 0, 0)


def test_failed_sends_are_neither_acknowledged_nor_lost(worker: GrpcWorker) -> None:
    totals = run_trial(worker, order({"fail_stored": "at:100,200", "fail_lost": "at:300,400,500"}))
    assert (totals.failed, totals.acked) == (5, totals.sent - 5)
    (found,) = totals.subscriptions
    assert (found.lost, found.received) == (0, totals.sent - 3)
    assert sum(count for _, _, count in totals.errors) == 5


def test_two_observers_see_the_same_and_asking_changes_nothing(worker: GrpcWorker) -> None:
    worker.prepare(order(msgs_per_s=10_000.0))
    worker.start()
    seen: list[list[object]] = [[], []]
    observers = [threading.Thread(target=lambda i=i: seen[i].extend(watch_all(worker))) for i in range(2)]
    observers[0].start()
    for _ in range(20):
        time.sleep(0.1)
        worker.totals()
    observers[1].start()
    time.sleep(1.5)
    worker.stop_producers(10.0)
    final = drained(worker)
    assert worker.totals().window == final.window
    late = list(range(3))
    assert [f.second for f, _ in zip(worker.watch(0), late, strict=False)] == late
    worker.finish(True)
    for observer in observers:
        observer.join(30)
    shortest = min(len(seen[0]), len(seen[1]))
    assert shortest >= 3
    assert seen[0][:shortest] == seen[1][:shortest]


def test_seconds_add_up_to_the_totals(worker: GrpcWorker) -> None:
    worker.prepare(order({"duplicate": "every:100:max:9"}, msgs_per_s=10_000.0))
    worker.start()
    time.sleep(2.5)
    worker.stop_producers(10.0)
    time.sleep(1.2)
    totals = worker.totals()
    seconds = []
    for figures in worker.watch():
        seconds.append(figures)
        if sum(s.acked for s in seconds) == totals.acked:
            break
    worker.finish(True)
    assert [s.second for s in seconds] == list(range(len(seconds)))
    assert all(later.from_mono_ns == earlier.until_mono_ns for earlier, later in pairwise(seconds))
    assert sum(s.sent for s in seconds) == totals.sent
    assert sum(decode_histogram(s.response).count for s in seconds) == totals.acked
    assert sum(s.subscriptions[0].received for s in seconds) == totals.subscriptions[0].received
    assert sum(s.subscriptions[0].duplicated for s in seconds) == 9


MEASURE_S = 4.0
LATE_S = 0.05


def stalled_trial(worker: GrpcWorker, in_flight: int) -> TotalFigures:
    """A valid trial in which the system is silent for 1 s of 4: one in which the generator had its CPU."""
    workload = replace(WORKLOAD, client=ClientSettings(in_flight_messages_max=in_flight))
    load = order({"stalls": "2000:1000"}, msgs_per_s=5_000.0, workload=workload, own_lag_tolerance_ms=LATE_S * 1e3)
    for _ in range(5):
        window = (totals := run_trial(worker, load, measure_s=MEASURE_S)).window
        if window.own_lag_over_tolerance < 0.01 * window.intended:
            return totals
        # Messages are late by more than the tolerance only where a thread that sends stood for that long.
        assert window.cpu_wait_ns + window.gc_pause_ns > LATE_S * 1e9, "the generator was late although it had its CPU"
    pytest.skip(
        f"no idle core: in {MEASURE_S:.0f} s the load threads waited {window.cpu_wait_ns / 1e6:.0f} ms for a CPU"
    )


def assert_as_the_schedule_says(histogram: Histogram) -> None:
    """A quarter of all messages wait, evenly spread from 0 to 1 s: never less, and later by no more than is tolerated.

    Nothing says how long the null system's threads waited for a CPU when the silence ended, so what the trial tolerates
    of the generator is granted to them, too.
    """
    assert 0.19 < histogram.share_above(200_000_000) <= 0.20 + LATE_S / MEASURE_S
    assert 0.095 < histogram.share_above(600_000_000) <= 0.10 + LATE_S / MEASURE_S
    assert 0.475 < histogram.percentile_ns(87.5) / 1e9 <= 0.5 + LATE_S
    assert 0.875 < histogram.percentile_ns(97.5) / 1e9 <= 0.9 + LATE_S
    assert 0.95 < histogram.max_ns() / 1e9 <= 1.0 + LATE_S


@pytest.mark.alone
def test_a_stalled_system_shows_in_percentiles_as_the_schedule_says(worker: GrpcWorker) -> None:
    totals = stalled_trial(worker, in_flight=100_000)
    assert_as_the_schedule_says(decode_histogram(totals.window.response))
    assert_as_the_schedule_says(decode_histogram(totals.subscriptions[0].end_to_end))
    assert decode_histogram(totals.window.delay).share_above(200_000_000) == 0, (
        "there was room in flight: nothing waited to be sent"
    )


@pytest.mark.alone
def test_back_pressure_is_delay_and_not_the_generators_lag(worker: GrpcWorker) -> None:
    """With a small window in flight sends wait for the system; response times are the same, and it is not our lag."""
    totals = stalled_trial(worker, in_flight=1_000)
    assert_as_the_schedule_says(decode_histogram(totals.window.response))
    # What was due in the first 0.2 s of the silence was sent; what was due in the next 0.6 s waited for over 0.2 s.
    assert 0.1425 < decode_histogram(totals.window.delay).share_above(200_000_000) <= 0.15 + LATE_S / MEASURE_S
    assert totals.window.blocked_ns > 0.75e9


def test_closed_loop_keeps_to_its_window(worker: GrpcWorker) -> None:
    client = ClientSettings(in_flight_messages_max=64)
    workload = replace(WORKLOAD, producers=2, arrival=Arrival.CLOSED_LOOP, client=client)
    worker.prepare(order({"ack_delay_us": "1000"}, workload=workload))
    worker.start()
    seconds = [figures for figures, _ in zip(worker.watch(), range(3), strict=False)]
    worker.stop_producers(10.0)
    totals = drained(worker)
    worker.finish(True)
    assert all(0 <= figures.in_flight <= 128 for figures in seconds)
    # 64 in flight, 1 ms each: at most 64,000 a second and producer.
    assert all(0 < figures.acked <= 2 * 64_000 * 1.1 for figures in seconds)
    assert totals.subscriptions[0].lost == 0


def test_rate_can_be_changed(worker: GrpcWorker) -> None:
    worker.prepare(order(msgs_per_s=2_000.0))
    begin_ns = worker.start()
    # On a busy machine it takes seconds until the worker hears of it.
    change_ns = begin_ns + 5_000_000_000
    worker.set_rate(10_000.0, change_ns)
    worker.set_window(change_ns, change_ns + 1_000_000_000)
    sleep_until(change_ns + 1_200_000_000)
    worker.stop_producers(10.0)
    assert abs(drained(worker).window.intended - 10_000) <= 1
    worker.finish(True)


def test_backlog_counts_by_subscription_and_is_drained(worker: GrpcWorker) -> None:
    worker.prepare(order(msgs_per_s=5_000.0, workload=replace(WORKLOAD, subscriptions=2)))
    worker.start()
    worker.pause_consumers(["sub-1"])
    seconds = [figures for figures, _ in zip(worker.watch(), range(3), strict=False)]
    worker.stop_producers(10.0)
    paused = {s.name: s.backlog for s in worker.totals().subscriptions}
    assert paused["sub-1"] > 5_000
    assert paused["sub-0"] < 1_000
    assert seconds[-1].subscriptions[1].backlog > seconds[-1].subscriptions[0].backlog
    worker.resume_consumers([])
    totals = drained(worker)
    worker.finish(True)
    assert [(s.backlog, s.lost, s.reordered) for s in totals.subscriptions] == [(0, 0, 0), (0, 0, 0)]


@pytest.mark.alone
def test_end_to_end_is_microseconds_when_nothing_is_in_between(worker: GrpcWorker) -> None:
    """The harness's own latency. The best second counts, and only if the load threads had their CPU."""
    worker.prepare(order(msgs_per_s=10_000.0))
    begin_ns = worker.start()
    worker.set_window(begin_ns + 1_000_000_000, 0)
    seconds = [figures for figures, _ in zip(worker.watch(), range(6), strict=False)]
    worker.stop_producers(10.0)
    window = worker.totals().window
    worker.finish(True)
    best_ns = min(decode_histogram(figures.subscriptions[0].end_to_end).percentile_ns(50) for figures in seconds[1:])
    if best_ns >= 20_000 and window.cpu_wait_ns > 0.02 * 5e9:
        pytest.skip(f"no idle core: the load threads waited {window.cpu_wait_ns / 1e6:.0f} ms for a CPU")
    assert best_ns < 20_000


def test_a_trial_before_its_time_is_refused(worker: GrpcWorker, tmp_path: Path) -> None:
    with pytest.raises(RunFailedError):
        worker.start()
