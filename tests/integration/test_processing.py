"""Consumers that process messages on the null system: known answers of queueing theory."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import pytest
from null_worker import BUILT, WORKLOAD, drained, order
from patience import sleep_until

from tidegauge.agent.local import LocalHost
from tidegauge.model.load import TotalFigures
from tidegauge.model.processing import Processing, ProcessingKind
from tidegauge.model.workload import Arrival
from tidegauge.statistics.histograms import decode_histogram
from tidegauge.worker.client import GrpcWorker
from tidegauge.worker.launch import start_worker

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(not BUILT, reason="the worker is not built: run `make build`"),
]


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GrpcWorker]:
    directory = tmp_path_factory.mktemp("worker")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIDEGAUGE_STATE", str(directory / "state"))
        with LocalHost.open() as host:
            worker = start_worker(host, "null", directory)
            yield worker
            worker.close()


def run_processing(
    worker: GrpcWorker, processing: Processing, *, queues: int, msgs_per_s: float, measure_s: float
) -> TotalFigures:
    """As many topics, each with a producer of Poisson arrivals and a consumer that processes: independent queues."""
    workload = replace(WORKLOAD, topics=queues, arrival=Arrival.POISSON, processing=processing)
    worker.prepare(order(workload=workload, msgs_per_s=queues * msgs_per_s))
    from_ns = worker.start(in_s=1.5) + 3_000_000_000
    until_ns = from_ns + round(measure_s * 1e9)
    worker.set_window(from_ns, until_ns)
    sleep_until(until_ns + 100_000_000)
    worker.stop_producers(10.0)
    totals = drained(worker)
    worker.finish(True)
    return totals


def test_each_message_is_processed_before_the_next_is_taken(worker: GrpcWorker) -> None:
    processing = Processing(ProcessingKind.CONSTANT, 0.01)
    totals = run_processing(worker, processing, queues=2, msgs_per_s=50.0, measure_s=4.0)
    sub = totals.subscriptions[0]
    assert (sub.lost, sub.duplicated, sub.corrupt) == (0, 0, 0)
    in_consumer, processed = decode_histogram(sub.in_consumer), decode_histogram(sub.processed)
    assert in_consumer.count == processed.count == sub.window_received > 200
    assert in_consumer.percentile_ns(0.0) >= 0.999 * 10_000_000
    # Nothing was processed beside anything else: all that they took fits into the window, and a little before it.
    assert 0.009 * sub.window_received <= sub.processing_ns / 1e9 <= 2 * 4.1
    # What waited for a message before it was received at the same time, or later.
    assert processed.mean_ns() >= in_consumer.mean_ns()


def test_without_processing_there_is_nothing_of_it(worker: GrpcWorker) -> None:
    worker.prepare(order(msgs_per_s=100.0))
    worker.start(in_s=0.5)
    worker.stop_producers(1.0)
    sub = worker.totals().subscriptions[0]
    worker.finish(True)
    assert sub.processing_ns == decode_histogram(sub.in_consumer).count == decode_histogram(sub.processed).count == 0


def test_a_consumer_that_processes_is_closed_at_once(worker: GrpcWorker) -> None:
    """200 messages of 2 s each are left when the trial ends."""
    workload = replace(WORKLOAD, processing=Processing(ProcessingKind.CONSTANT, 2.0))
    worker.prepare(order(workload=workload, msgs_per_s=100.0))
    begin_ns = worker.start(in_s=0.5)
    sleep_until(begin_ns + 2_000_000_000)
    worker.stop_producers(1.0)
    worker.finish(True)
    assert worker.totals().subscriptions[0].received < 100
    assert worker.totals().errors == ()


def test_computing_takes_the_cpu_time_that_was_asked_for_and_is_told_apart(worker: GrpcWorker) -> None:
    """In a window that has all of it, however late a busy machine gets to it."""
    workload = replace(WORKLOAD, processing=Processing(ProcessingKind.CONSTANT, 0.005, on_cpu=True))
    worker.prepare(order(workload=workload, msgs_per_s=50.0))
    from_ns = worker.start(in_s=1.5)
    worker.set_window(from_ns, from_ns + 600_000_000_000)
    sleep_until(from_ns + 4_000_000_000)
    worker.stop_producers(10.0)
    totals = drained(worker)
    worker.finish(True)
    sub = totals.subscriptions[0]
    assert sub.window_received > 150
    assert sub.processing_cpu_ns / 1e9 == pytest.approx(0.005 * sub.window_received, rel=0.05)
    assert sub.processing_cpu_ns <= sub.processing_ns
    assert sub.processing_cpu_ns < totals.window.worker_cpu_ns


def test_waiting_takes_no_cpu_time(worker: GrpcWorker) -> None:
    processing = Processing(ProcessingKind.CONSTANT, 0.005)
    totals = run_processing(worker, processing, queues=1, msgs_per_s=50.0, measure_s=2.0)
    assert totals.subscriptions[0].processing_cpu_ns == 0 < totals.subscriptions[0].processing_ns


@pytest.mark.parametrize(("msgs_per_s_max", "consumed_msgs_per_s"), [(150.0, 300.0), (8_000.0, 400.0)])
def test_consumers_take_no_more_than_their_own_rate(
    worker: GrpcWorker, msgs_per_s_max: float, consumed_msgs_per_s: float
) -> None:
    """Of two consumers that are offered 200 msg/s each."""
    workload = replace(WORKLOAD, topics=2, arrival=Arrival.POISSON, consumer_msgs_per_s_max=msgs_per_s_max)
    worker.prepare(order(workload=workload, msgs_per_s=400.0))
    from_ns = worker.start(in_s=1.5) + 1_000_000_000
    worker.set_window(from_ns, from_ns + 60_000_000_000)
    sleep_until(from_ns)
    began_ns, before = time.monotonic_ns(), worker.totals().subscriptions[0].received
    sleep_until(from_ns + 5_000_000_000)
    ended_ns, after = time.monotonic_ns(), worker.totals().subscriptions[0].received
    worker.stop_producers(10.0)
    totals = drained(worker)
    worker.finish(True)
    sub = totals.subscriptions[0]
    assert (sub.lost, sub.duplicated, sub.corrupt) == (0, 0, 0)
    assert (after - before) / (ended_ns - began_ns) * 1e9 == pytest.approx(consumed_msgs_per_s, rel=0.05, abs=30)


@pytest.mark.slow
@pytest.mark.parametrize(
    "processing",
    [Processing(ProcessingKind.EXPONENTIAL, 0.02), Processing(ProcessingKind.LOGNORMAL, 0.012, 0.09)],
    ids=str,
)
def test_waiting_is_as_long_as_queueing_theory_says(worker: GrpcWorker, processing: Processing) -> None:
    """Pollaczek and Khinchine's mean wait of M/G/1, and the percentiles of M/M/1.

    Of 40 queues at 0.7 of what their consumers can process, so the mean scatters by about 4 %. A busy machine wakes
    consumers late, which is as if they processed for longer: what they really took counts.
    """
    times_s = processing.times_s()
    msgs_per_s = 0.7 / processing.mean_s
    totals = run_processing(worker, processing, queues=40, msgs_per_s=msgs_per_s, measure_s=30.0)
    sub = totals.subscriptions[0]
    processed = decode_histogram(sub.processed)
    busy_share = sub.processing_ns / 1e9 / (40 * 30.0)
    assert busy_share == pytest.approx(0.7, rel=0.1)
    mean_s = busy_share / msgs_per_s
    square_s2 = sum(time_s**2 for time_s in times_s) / len(times_s) * (mean_s / processing.mean_s) ** 2
    expected_s = mean_s + msgs_per_s * square_s2 / (2 * (1 - busy_share))
    assert processed.mean_ns() / 1e9 == pytest.approx(expected_s, rel=0.12)
    if processing.kind is ProcessingKind.EXPONENTIAL:
        for percentile, factor in ((50.0, 0.6931), (90.0, 2.3026), (99.0, 4.6052)):
            assert processed.percentile_ns(percentile) / 1e9 == pytest.approx(factor * expected_s, rel=0.12)
