"""Three real workers that carry out one trial on a null system which they share over a socket."""

from __future__ import annotations

import re
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from null_worker import BUILT, WORKLOAD, drained, null_server, order, run_trial
from patience import sleep_until, wait_for

from tidegauge.agent.local import LocalHost
from tidegauge.campaign.run.trial.result import Measuring, Observed, make_result
from tidegauge.errors import GeneratorFailedError, RunFailedError
from tidegauge.model.level import LevelChoice, LevelFinding
from tidegauge.model.load import SecondFigures, TotalFigures
from tidegauge.model.trial import LoadResult, LoadSpec, Validity
from tidegauge.model.workload import Arrival, ClientSettings
from tidegauge.statistics.histograms import decode_histogram
from tidegauge.worker.api import LoadOrder, LoadWorker
from tidegauge.worker.group import SILENCE_S_MAX, WorkerGroup
from tidegauge.worker.launch import WorkerOptions, start_workers

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(not BUILT, reason="the worker is not built: run `make build`"),
]
SHARED = replace(WORKLOAD, topics=2, partitions=4, producers=2, subscriptions=2, consumers=3)
PRODUCERS = 4
HERE = re.escape(socket.gethostname())
START_LEAD_S = 2.0
"""A machine that runs other tests may bring the call to start to each worker later than half a second."""
FAULTS = {
    "lose": "at:100,101",
    "duplicate": "at:200,300,301",
    "swap": "at:700",
    "flip_body": "at:400",
    "flip_header": "at:500",
}
"""At places of each producer's messages."""
UNACKNOWLEDGED, EJECTIONS = 5, 4
EJECTING = {
    "lose": "at:20,21",
    "duplicate": "at:40,60,61",
    "swap": "at:100",
    "flip_body": "at:80",
    "flip_header": "at:120",
    "eject": f"600:{UNACKNOWLEDGED}:{EJECTIONS}",
}
"""Consumers are ejected once both producers of a topic are past all places, so that no fault is delivered again."""


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalHost]:
    monkeypatch.setenv("TIDEGAUGE_STATE", str(tmp_path / "state"))
    with LocalHost.open() as host:
        yield host


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with null_server(tmp_path_factory.mktemp("null")) as address:
        yield address


@pytest.fixture
def workers(host: LocalHost, tmp_path: Path) -> Iterator[WorkerGroup]:
    found = start_workers(host, "null", tmp_path, count=3)
    assert isinstance(found, WorkerGroup)
    yield found
    found.close()


def load(address: str, faults: Mapping[str, str] = FAULTS, **more: object) -> LoadOrder:
    return order({"address": address, **faults}, msgs_per_s=4_000.0, workload=SHARED, **more)


def named(*sequences: int) -> set[str]:
    return {f"producer {producer} sequence {sequence}" for producer in range(PRODUCERS) for sequence in sequences}


def check_faults(totals: TotalFigures, faults: Mapping[str, str] = FAULTS, delivered_again: int = 0) -> None:
    """Of each subscription and producer: 2 lost, 3 duplicated, 1 swapped, 2 damaged, all at their places."""
    places = {fault: [int(place) for place in at[3:].split(",")] for fault, at in faults.items() if at[:3] == "at:"}
    for sub in totals.subscriptions:
        found = (sub.lost, sub.duplicated, sub.reordered, sub.corrupt, sub.corrupt_unattributed, sub.foreign)
        expected = [PRODUCERS * each for each in (2, 3, 1, 2, 1, 0)]
        expected[1] += delivered_again
        assert found == tuple(expected), sub.name
        assert set(sub.lost_examples) <= named(*places["lose"], *places["flip_header"])
        assert set(sub.reordered_examples) == named(*places["swap"])
        assert set(sub.corrupt_examples) == named(*places["flip_body"])
        # The first ten of twelve, or some that were delivered again.
        assert len(set(sub.duplicated_examples)) == 10
        last = max(max(of_fault) for of_fault in places.values())
        early = {example for example in sub.duplicated_examples if int(example.split()[-1]) <= last}
        assert early <= named(*places["duplicate"])
        assert delivered_again or len(early) == 10
        # What has a damaged header is known to be one of them, but not which.
        assert sub.unique == totals.sent - PRODUCERS * (2 + 1)
        assert sub.backlog == sub.lost


def check_shares(seconds: list[SecondFigures], totals: TotalFigures) -> None:
    """What the workers had of the seconds is what they had of the trial, and all of it."""
    for number, part in enumerate(totals.workers, 1):
        own = [worker for figures in seconds for worker in figures.workers if worker.worker == number]
        assert sum(worker.sent for worker in own) == part.totals.sent
        assert sum(worker.acked for worker in own) == part.totals.acked
        assert sum(worker.received for worker in own) == sum(sub.received for sub in part.totals.subscriptions)
        assert max(worker.worker_cpu_ns for worker in own) > 0
    # Two of the four producers are the first's, by turns. By the second that is farthest from the end of the load: one
    # that ends late on a busy machine, after the load, has less of it.
    second = seconds[0].workers
    assert [worker.scheduled_msgs_per_s for worker in second] == pytest.approx([2_000.0, 1_000.0, 1_000.0], 0.05)


def test_faults_are_counted_exactly_whoever_received_the_messages(address: str, workers: WorkerGroup) -> None:
    seconds: list[SecondFigures] = []
    workers.prepare(load(address))
    begin_ns = workers.start(START_LEAD_S)
    watcher = threading.Thread(target=lambda: seconds.extend(workers.watch()), daemon=True)
    watcher.start()
    workers.set_window(begin_ns + 500_000_000, begin_ns + 2_500_000_000)
    sleep_until(begin_ns + 3_000_000_000)
    assert workers.stop_producers(10.0) == 0
    totals = drained(workers)
    workers.finish(delete_topics=True)
    watcher.join(10.0)
    check_faults(totals)
    assert totals.subscriptions[0].lost_examples[:3] == (
        "producer 0 sequence 100",
        "producer 0 sequence 101",
        "producer 0 sequence 500",
    )
    for part in totals.workers:
        assert 0 < part.totals.subscriptions[0].unique < totals.subscriptions[0].unique
    assert totals.sent == sum(part.totals.sent for part in totals.workers) > PRODUCERS * 1000
    assert sum(figures.sent for figures in seconds) == totals.sent
    assert sum(figures.acked for figures in seconds) == totals.acked
    assert decode_histogram(totals.window.response).count == totals.window.acked
    assert max(part.started_mono_ns for part in totals.workers) == begin_ns
    assert min(part.stopped_mono_ns for part in totals.workers) >= begin_ns + 3_000_000_000
    check_shares(seconds, totals)


def eject_all(worker: LoadWorker, order: LoadOrder) -> TotalFigures:
    """A trial that lasts until each subscription of each topic must have ejected as many consumers as it is to.

    Without any delay that takes 650 messages of a topic for each.
    """
    worker.prepare(order)
    worker.start()
    messages = 2 * order.workload.topics * EJECTIONS * 1_000
    wait_for(lambda: worker.counts().acked >= messages, 30.0, f"{messages:,} messages")
    assert worker.stop_producers(10.0) == 0
    totals = drained(worker)
    worker.finish(delete_topics=True)
    assert totals.errors == ()
    check_faults(totals, EJECTING, delivered_again=order.workload.topics * EJECTIONS * UNACKNOWLEDGED)
    return totals


@pytest.mark.slow
def test_faults_are_counted_exactly_while_consumers_leave_and_join(address: str, workers: WorkerGroup) -> None:
    totals = eject_all(workers, load(address, EJECTING, trial_number=4713))
    within = sum(part.totals.subscriptions[0].duplicated for part in totals.workers)
    # The rest is known from the sets only: one worker's consumer had received it, then that of another did.
    assert PRODUCERS * 3 <= within < totals.subscriptions[0].duplicated


def test_one_worker_counts_the_same_while_consumers_leave_and_join(
    address: str, host: LocalHost, tmp_path: Path
) -> None:
    worker = start_workers(host, "null", tmp_path)
    eject_all(worker, load(address, EJECTING, trial_number=4714))
    worker.close()


# In `make test`: one worker counts the same faults in test_worker_null.py.
@pytest.mark.slow
@pytest.mark.often
def test_one_worker_counts_the_same(address: str, host: LocalHost, tmp_path: Path) -> None:
    worker = start_workers(host, "null", tmp_path)
    check_faults(run_trial(worker, load(address, trial_number=4712), measure_s=2.0))
    worker.close()


def assert_next_trial_runs(address: str, host: LocalHost, logs: Path, workers: LoadWorker | None = None) -> None:
    """After one that was lost, with new workers; or with those that are there.

    On topics of its own, as any next trial: a busy server reads for a while yet what those that are gone had sent.
    """
    found = workers or start_workers(host, "null", logs, count=3)
    order = load(address, trial_number=4715, topic_names=("next-0", "next-1"))
    check_faults(run_trial(found, order, measure_s=1.0))
    if workers is None:
        found.close()


def watch_after_signal(workers: WorkerGroup, host: LocalHost, name: str, sent: signal.Signals) -> None:
    """Start a trial and watch it to its end; a worker gets the signal when the first second is there."""
    workers.start(START_LEAD_S)
    seconds = workers.watch()
    next(seconds)
    host.signal(name, sent)
    for _ in seconds:
        pass


@pytest.mark.slow
def test_a_killed_worker_is_named_with_its_log(
    address: str, workers: WorkerGroup, host: LocalHost, tmp_path: Path
) -> None:
    workers.prepare(load(address))
    with pytest.raises(
        RunFailedError, match=rf"^Load generator 2 of 3 on {HERE} was killed by signal 9 \(seen during Watch\)"
    ) as caught:
        watch_after_signal(workers, host, "worker-2", signal.SIGKILL)
    assert caught.value.log_path == tmp_path / "worker-2.log"
    workers.close()
    assert_next_trial_runs(address, host, tmp_path)


@pytest.mark.slow
def test_a_stopped_worker_is_named_before_long(
    address: str, workers: WorkerGroup, host: LocalHost, tmp_path: Path
) -> None:
    workers.prepare(load(address))
    began_s = time.monotonic()
    with pytest.raises(
        RunFailedError, match=rf"^Load generator 3 of 3 on {HERE} gave no figures for 10 s\.$"
    ) as caught:
        watch_after_signal(workers, host, "worker-3", signal.SIGSTOP)
    # Without a deadline it would take as long as the worker is stopped. How long exactly is the machine's business.
    assert time.monotonic() - began_s < 3 * SILENCE_S_MAX
    assert caught.value.log_path == tmp_path / "worker-3.log"
    host.signal("worker-3", signal.SIGCONT)
    workers.close()
    assert_next_trial_runs(address, host, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("call", ["Prepare", "StopProducers", "Finish"])
def test_a_worker_stopped_in_a_call_that_may_take_long_is_named_before_long(
    address: str, workers: WorkerGroup, host: LocalHost, call: str
) -> None:
    order = load(address)
    if call != "Prepare":
        workers.prepare(order)
        workers.start(START_LEAD_S)
    host.signal("worker-2", signal.SIGSTOP)
    ask: dict[str, Callable[[], object]] = {
        "Prepare": lambda: workers.prepare(order),
        "StopProducers": lambda: workers.stop_producers(60.0),
        "Finish": lambda: workers.finish(delete_topics=True),
    }
    began_s = time.monotonic()
    with pytest.raises(GeneratorFailedError, match=rf"^Load generator 2 of 3 on {HERE} did not answer for 10 s "):
        ask[call]()
    assert time.monotonic() - began_s < 3 * SILENCE_S_MAX


@contextmanager
def starved(host: LocalHost, name: str) -> Iterator[None]:
    """Leave a worker a tenth of the time: it stands still for 0.9 s of each second."""
    over = threading.Event()

    def starve() -> None:
        while not over.is_set():
            host.signal(name, signal.SIGSTOP)
            over.wait(0.9)
            host.signal(name, signal.SIGCONT)
            over.wait(0.1)

    thread = threading.Thread(target=starve)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def judged(load: LoadOrder, totals: TotalFigures) -> LoadResult:
    """What a run makes of it."""
    spec = LoadSpec(
        trial_id="0001-latency-null", experiment="latency", system="null", choice=LevelChoice(4), nodes=1, block=0,
        seed=1, workload=load.workload, msgs_per_s=load.msgs_per_s, warmup_s_min=1.0, warmup_s_max=1.0, measure_s=4.0,
        drain_s_max=10.0,
    )  # fmt: skip
    known = Measuring(1, ("worker-1",), "", 0, 10**9, 2 * 10**9, "", "", LevelFinding(4, ()), None)
    return make_result(spec, totals, Observed(known, (), "drained"))


@pytest.mark.slow
def test_a_worker_starved_of_cpu_makes_the_trial_invalid_and_is_named(
    address: str, workers: WorkerGroup, host: LocalHost, tmp_path: Path
) -> None:
    order = load(address)
    workers.prepare(order)
    begin_ns = workers.start(1.0)
    from_ns, until_ns = begin_ns + 1_000_000_000, begin_ns + 5_000_000_000
    workers.set_window(from_ns, until_ns)
    sleep_until(begin_ns)
    with starved(host, "worker-2"):
        sleep_until(until_ns)
    stopped_s = time.monotonic()
    workers.stop_producers(10.0)
    totals = drained(workers)
    workers.finish(delete_topics=True)
    assert time.monotonic() - stopped_s < SILENCE_S_MAX
    # Late it was, and lost nothing.
    check_faults(totals)
    result = judged(order, totals)
    assert result.validity is Validity.INVALID
    # On a busy machine others may be late, too, and are named beside it.
    assert str(result.reasons[0]).startswith(
        "the load generator itself was late, not the system: the own lag of load generator "
    )
    assert "load generator 2 of 3" in str(result.reasons[0])
    assert_next_trial_runs(address, host, tmp_path, workers)


@pytest.mark.slow
def test_a_worker_out_of_memory_is_named(address: str, host: LocalHost, tmp_path: Path) -> None:
    workers = start_workers(host, "null", tmp_path, WorkerOptions(heap_mb=32), count=3)
    client = ClientSettings(in_flight_messages_max=5_000_000, receive_queue_messages=5_000_000)
    many = replace(WORKLOAD, producers=20, arrival=Arrival.CLOSED_LOOP, client=client)
    with pytest.raises(
        RunFailedError, match=rf"^Load generator \d of 3 on {HERE}, whose heap is 32 MiB, ran out of memory"
    ):
        workers.prepare(order(workload=many))
        workers.start(START_LEAD_S)
        for _ in workers.watch():
            pass
    workers.close()
    assert_next_trial_runs(address, host, tmp_path)
