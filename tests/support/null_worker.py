"""What the tests with the real worker and the null driver share."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from patience import Patience, sleep_until, wait_for

from tidegauge.distribution.java import find_java
from tidegauge.model.load import SecondFigures, TotalFigures
from tidegauge.model.workload import ClientSettings, Payload, Workload
from tidegauge.worker.api import LoadOrder, LoadWorker
from tidegauge.worker.archive import JAVA_MAJOR_MIN, worker_class_path

ROOT = Path(__file__).resolve().parents[2]
BUILT = (ROOT / "worker" / "app" / "target" / "dist" / "core").is_dir()
WORKLOAD = Workload(payload=Payload(message_bytes=100), client=ClientSettings(in_flight_messages_max=100_000))


def order(
    connection: Mapping[str, str] | None = None,
    msgs_per_s: float = 20_000.0,
    workload: Workload = WORKLOAD,
    **more: object,
) -> LoadOrder:
    """A load on the null system. `more` replaces fields of the order."""
    base = LoadOrder(
        connection=connection or {},
        driver="null",
        system="null",
        topic_names=tuple(f"topic-{n}" for n in range(workload.topics)),
        replication_factor=1,
        topic_settings={},
        acks="all",
        workload=workload,
        msgs_per_s=msgs_per_s,
        trial_number=4711,
        seed=1,
        own_lag_tolerance_ms=5.0,
    )
    return replace(base, **more)  # type: ignore[arg-type]


@contextlib.contextmanager
def null_server(directory: Path) -> Iterator[str]:
    """The address of a null system that is a process of its own, which several workers share."""
    port_file = directory / "port"
    java = find_java("The null system", JAVA_MAJOR_MIN).executable
    jars = os.pathsep.join(map(str, worker_class_path("null")))
    command = [str(java), "-cp", jars, "io.tidegauge.worker.nulldriver.NullServer", "--port-file", str(port_file)]
    with subprocess.Popen(command) as server:
        try:
            wait_for(port_file.exists, 60.0, "the null system listens")
            yield f"127.0.0.1:{port_file.read_text().strip()}"
        finally:
            server.kill()


def run_trial(worker: LoadWorker, load: LoadOrder, measure_s: float = 2.0, lead_s: float = 1.0) -> TotalFigures:
    """One whole trial: prepare, start, a window, stop, totals, finish."""
    worker.prepare(load)
    # Far enough ahead for the window to be set before, on a busy machine too.
    begin_ns = worker.start(in_s=1.5)
    from_ns = begin_ns + round(lead_s * 1e9)
    until_ns = from_ns + round(measure_s * 1e9)
    worker.set_window(from_ns, until_ns)
    sleep_until(until_ns + 100_000_000)
    worker.stop_producers(10.0)
    totals = drained(worker)
    worker.finish(True)
    return totals


def drained(worker: LoadWorker, patience_s: float = 10.0) -> TotalFigures:
    """Totals once nothing more arrives (a backlog that is truly lost stays)."""
    patience = Patience(patience_s)
    totals = worker.totals()
    while True:
        time.sleep(0.2)
        later = worker.totals()
        received = [s.received for s in totals.subscriptions]
        if [s.received for s in later.subscriptions] == received or patience.is_over():
            return later
        totals = later


def watch_all(worker: LoadWorker) -> list[SecondFigures]:
    return list(worker.watch())
