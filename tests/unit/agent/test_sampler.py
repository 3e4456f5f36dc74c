"""A real agent looks at real processes."""

from __future__ import annotations

import itertools
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from fleet_samples import spec, wait_until

from tidegauge.agent.local import LocalHost
from tidegauge.model.use import Sample

COST_SHARE_MAX = 0.05
"""Of one CPU; 0.6 % was seen with two processes, and looking at a JVM's hundred threads adds about 0.2 %."""


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalHost]:
    monkeypatch.setenv("TIDEGAUGE_STATE", str(tmp_path / "state"))
    with LocalHost.open() as host:
        yield host


def python(code: str) -> str:
    return f'exec {sys.executable} -c "{code}"'


def await_samples(host: LocalHost, count: int, after: int = 0) -> list[Sample]:
    found: list[Sample] = []

    def enough() -> bool:
        found[:] = host.samples(after)
        return len(found) >= count

    wait_until(enough, f"{count} samples")
    return found


def test_a_busy_thread_is_found_by_its_name_and_written_bytes_count(host: LocalHost, tmp_path: Path) -> None:
    data = tmp_path / "data"
    code = (
        "import os, threading\n"
        f"f = open('{data}', 'wb')\n"
        "def write():\n"
        "    while True:\n"
        "        f.write(b'x' * 65536); f.flush(); os.fsync(f.fileno())\n"
        "threading.Thread(target=write, daemon=True).start()\n"
        "open('/proc/self/comm', 'w').write('spinner')\n"
        "while True: pass\n"
    )
    host.start(spec(tmp_path, python(code), "busy"))
    samples = await_samples(host, 3)
    uses = [use for sample in samples for use in sample.processes if use.name == "busy"]
    assert uses
    assert sum(use.cpu_s for use in uses) > 0
    assert {use.busiest[0].name for use in uses if use.busiest} & {"spinner", "python3", "python"}
    assert max(use.threads for use in uses) == 2
    assert sum(use.written_bytes or 0 for use in uses) > 0
    assert sum(use.context_switches or 0 for use in uses) > 0
    assert all(use.cpus_allowed >= 1 for use in uses)
    assert all(use.gc_pause_s is None for use in uses)


def test_context_switches_are_those_of_all_threads(host: LocalHost, tmp_path: Path) -> None:
    """psutil's count is of the main thread, which sleeps here."""
    code = (
        "import threading, time\n"
        "def nap():\n"
        "    while True: time.sleep(0.001)\n"
        "threading.Thread(target=nap, daemon=True).start()\n"
        "time.sleep(1000)\n"
    )
    pid = host.start(spec(tmp_path, python(code), "naps")).pid
    samples = await_samples(host, 3)
    switches = sum(use.context_switches or 0 for sample in samples for use in sample.processes)
    assert switches > 50
    assert switches > 5 * sum(psutil.Process(pid).num_ctx_switches())


def test_the_same_looks_for_all_who_ask_and_an_end_when_nobody_does(host: LocalHost) -> None:
    first = await_samples(host, 2)
    assert host.samples(0)[: len(first)] == first
    assert host.samples(first[0].number) == host.samples(0)[1:]
    numbers = [sample.number for sample in host.samples(0)]
    assert numbers == list(range(1, len(numbers) + 1))
    for earlier, later in itertools.pairwise(first):
        assert earlier.until_mono_ns == later.from_mono_ns


def test_affinity_counts_as_cpus_allowed(host: LocalHost, tmp_path: Path) -> None:
    pid = host.start(spec(tmp_path, "sleep 1000", "pinned")).pid
    os.sched_setaffinity(pid, {min(os.sched_getaffinity(0))})
    samples = await_samples(host, 2)
    assert samples[-1].processes[0].cpus_allowed == 1.0


def test_what_ends_is_no_longer_reported(host: LocalHost, tmp_path: Path) -> None:
    host.start(spec(tmp_path, "sleep 1000", "ends"))
    last = await_samples(host, 2)[-1]
    host.stop("ends")
    assert await_samples(host, 2, last.number)[-1].processes == ()


def test_the_pauses_of_a_collector_are_followed(host: LocalHost, tmp_path: Path) -> None:
    log = tmp_path / "p-gc.log"
    line = "[1s][gc] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 24M-^>4M(256M) 250.0ms".replace("^", "")
    host.start(spec(tmp_path, f"while sleep 0.2; do echo '{line}' >> {log}; done", gc_log_path=str(log)))
    samples = await_samples(host, 3)
    assert sum(use.gc_pause_s or 0.0 for sample in samples for use in sample.processes) >= 0.25
    assert max(use.gc_pause_max_s or 0.0 for sample in samples for use in sample.processes) == 0.25


def test_looking_costs_little(host: LocalHost, tmp_path: Path) -> None:
    """By ratio of CPU time: 120 threads, as a server has, that do nothing but be looked at."""
    code = (
        "import threading, time\n"
        "for _ in range(120): threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()\n"
        "time.sleep(1000)\n"
    )
    host.start(spec(tmp_path, python(code), "server"))
    wait_until(lambda: max((u.threads for s in host.samples(0) for u in s.processes), default=0) > 100, "threads seen")
    after = host.samples(0)[-1].number
    begun_s, agent_s = time.monotonic(), host.agent_cpu_s()
    samples = await_samples(host, 4, after)
    reported = sum(sample.cost_s for sample in samples) / sum(sample.length_s for sample in samples)
    seen = (host.agent_cpu_s() - agent_s) / (time.monotonic() - begun_s)
    assert reported < COST_SHARE_MAX
    assert seen < 2 * COST_SHARE_MAX
