"""Processes that were asked to stop are seen to stand, or it is reported that one does not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from patience import wait_for

from tidegauge.agent import trees
from tidegauge.agent.trees import NotStoppedError, stop_all, why_not_stopped
from tidegauge.hosts import procfs
from tidegauge.hosts.procfs import Stat

THREADS = """
import threading, time
def spin():
    while True:
        time.sleep(0.0001)
for _ in range(20):
    threading.Thread(target=spin).start()
print("ready", flush=True)
"""
FORKS = """
import os, sys, time
print("ready", flush=True)
while True:
    if os.fork() == 0:
        time.sleep(0.05)
        os._exit(0)
    os.waitpid(-1, os.WNOHANG)
    time.sleep(0.002)
"""
TRACER = """
import ctypes, os, sys, time
libc = ctypes.CDLL(None, use_errno=True)
traced, seconds = int(sys.argv[1]), float(sys.argv[2])
ATTACH, CONT, DETACH = 16, 7, 17
assert libc.ptrace(ATTACH, traced, None, None) == 0
os.waitpid(traced, 0)
libc.ptrace(CONT, traced, None, None)
print("ready", flush=True)
# SIGSTOP is reported to the tracer, which keeps it from the process: it runs on.
os.waitpid(traced, 0)
libc.ptrace(CONT, traced, None, None)
time.sleep(seconds)
os.kill(traced, 19)
os.waitpid(traced, 0)
libc.ptrace(DETACH, traced, None, ctypes.c_void_p(19))
time.sleep(1000)
"""


@pytest.fixture
def run() -> Iterator[Callable[..., int]]:
    """Runs a script and returns its process number once it says that it is ready."""
    started: list[subprocess.Popen[str]] = []

    def begin(script: str, *arguments: object) -> int:
        process = subprocess.Popen(
            [sys.executable, "-c", script, *map(str, arguments)],
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        return process.pid

    yield begin
    for process in started:
        os.killpg(process.pid, signal.SIGKILL)
    for process in reversed(started):  # One that is traced ends for its parent when its tracer has.
        process.wait()


def session(pid: int) -> list[Stat]:
    return [stat for stat in procfs.all_stats() if stat.session == pid and not stat.ended]


def test_every_thread_is_seen_stopped(run: Callable[..., int]) -> None:
    pid = run(THREADS)
    assert why_not_stopped(pid) != ""
    stopped = stop_all(lambda: session(pid), 60.0)
    assert [identity.pid for identity in stopped] == [pid]
    states = trees.thread_states(pid)
    assert len(states) == 21
    assert set(states.values()) <= {"T", "D"}
    trees.continue_processes(stopped)
    wait_for(lambda: why_not_stopped(pid), 60.0, "going on")


def test_nobody_escapes_by_being_started_meanwhile(run: Callable[..., int]) -> None:
    pid = run(FORKS)
    for _ in range(5):
        stopped = stop_all(lambda: session(pid), 60.0)
        before = {stat.pid for stat in session(pid)}
        assert before == {identity.pid for identity in stopped}
        assert all(why_not_stopped(number) == "" for number in before)
        time.sleep(0.1)
        assert {stat.pid for stat in session(pid)} == before
        trees.continue_processes(stopped)


def can_trace() -> bool:
    scope = Path("/proc/sys/kernel/yama/ptrace_scope")
    return os.geteuid() == 0 or not scope.exists() or scope.read_text().strip() == "0"


needs_tracing = pytest.mark.skipif(not can_trace(), reason="needs root to trace another process")


@needs_tracing
def test_one_that_does_not_stop_is_reported_and_all_go_on(run: Callable[..., int]) -> None:
    traced, other = run("import time\nprint('ready', flush=True)\ntime.sleep(1000)"), run(THREADS)
    run(TRACER, traced, 1000)
    with pytest.raises(NotStoppedError, match=f"thread {traced} of process {traced} is in state [RSt]"):
        stop_all(lambda: session(traced) + session(other), 1.0)
    wait_for(lambda: "T" not in trees.thread_states(other).values(), 60.0, "going on")


@needs_tracing
def test_one_that_stops_late_is_waited_for(run: Callable[..., int]) -> None:
    traced = run("import time\nprint('ready', flush=True)\ntime.sleep(1000)")
    run(TRACER, traced, 0.7)
    before_s = time.monotonic()
    stop_all(lambda: session(traced), 60.0)
    assert time.monotonic() - before_s > 0.5
    assert trees.thread_states(traced) == {traced: "T"}


def test_a_process_that_is_gone_stands() -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    assert why_not_stopped(process.pid) == ""
    assert stop_all(lambda: [], 1.0) == []
