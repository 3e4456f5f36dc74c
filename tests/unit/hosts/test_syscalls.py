"""Recording system calls of real processes. Root only, where the kernel lets root."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from functools import cache
from pathlib import Path

import psutil
import pytest

from tidegauge.agent.api import ProcessSpec
from tidegauge.agent.local import LocalHost
from tidegauge.errors import RunFailedError
from tidegauge.hosts import tracefs
from tidegauge.hosts.procfs import Identity
from tidegauge.hosts.syscalls import clean_traces, watch_syncs
from tidegauge.hosts.tracefs import NoTraceError

LISTING = """
import sys
from tidegauge.hosts import tracefs
tracefs.mount_privately()
print(*sorted(path.name for path in (tracefs.MOUNT_POINT / "instances").iterdir()))
"""


@cache
def why_not() -> str:
    """Why this machine can't be watched; "" if it can."""
    try:
        with watch_syncs({"self": os.getpid()}):
            return ""
    except NoTraceError as error:
        return str(error)


needs_traces = pytest.mark.skipif(bool(why_not()), reason=f"system calls can't be watched here: {why_not()}")


def instances(tracer: subprocess.Popen[bytes]) -> list[str]:
    """Those of one tracer, seen from a private mount. Those of other runs come and go in the same kernel."""
    return instances_of(tracer.pid)


def instances_of(pid: int) -> list[str]:
    """The same, by the tracer's number."""
    listed = subprocess.run([sys.executable, "-c", LISTING], capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.split() if name.startswith(f"{tracefs.PREFIX}{pid}-")]


def mounts() -> str:
    return "\n".join(line for line in Path("/proc/self/mountinfo").read_text().splitlines() if "tracefs" in line)


@needs_traces
def test_calls_of_threads_and_children_are_seen_with_their_times_and_outcome() -> None:
    spans: list[tuple[int, int]] = []

    def sync(descriptor: int) -> None:
        os.write(descriptor, b"x")
        before = time.monotonic_ns()
        os.fdatasync(descriptor)
        spans.append((before, time.monotonic_ns()))

    with tempfile.TemporaryFile() as file, watch_syncs({"self": os.getpid()}) as watch:
        sync(file.fileno())
        thread = threading.Thread(target=sync, args=(file.fileno(),))
        thread.start()
        thread.join()
        with pytest.raises(OSError, match="Invalid argument"), Path("/dev/null").open("rb") as null:
            os.fsync(null.fileno())
        subprocess.run(["sync", file.name if isinstance(file.name, str) else "/etc/hostname"], check=True)
        seen = watch.finish()
    assert seen.lost == 0
    assert [(c.call, c.succeeded) for c in seen.calls] == [
        ("fdatasync", True),
        ("fdatasync", True),
        ("fsync", False),
        ("fsync", True),
    ]
    assert {c.node for c in seen.calls} == {"self"}
    assert len({c.thread for c in seen.calls}) == 3
    for (before, after), found in zip(spans, seen.calls, strict=False):
        # The trace is cut to microseconds.
        assert before - 1000 <= found.entered_mono_ns <= found.left_mono_ns <= after


@needs_traces
def test_other_processes_are_not_seen_and_nothing_is_left() -> None:
    mounted = mounts()
    idle = subprocess.Popen(["sleep", "60"])
    try:
        with tempfile.TemporaryFile() as file, watch_syncs({"idle": idle.pid}) as watch:
            os.fsync(file.fileno())
            assert len(instances(watch._tracer)) == 1
            assert watch.finish().calls == ()
    finally:
        idle.kill()
        idle.wait()
    assert instances(watch._tracer) == []
    assert mounts() == mounted


@needs_traces
def test_an_error_in_the_block_leaves_nothing() -> None:
    with pytest.raises(RuntimeError, match="mine"), watch_syncs({"self": os.getpid()}) as watch:
        raise RuntimeError("mine")
    assert instances(watch._tracer) == []


def started_tracer() -> subprocess.Popen[bytes]:
    tracer = subprocess.Popen(
        [sys.executable, "-P", "-m", "tidegauge.hosts.tracefs"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert tracer.stdin is not None
    assert tracer.stdout is not None
    tracer.stdin.write(json.dumps({"calls": ["fsync"], "processes": {"self": os.getpid()}}).encode() + b"\n")
    tracer.stdin.flush()
    assert tracer.stdout.readline() == b"ready\n"
    return tracer


def end(tracer: subprocess.Popen[bytes], signal_number: int) -> None:
    tracer.send_signal(signal_number)
    tracer.communicate()


@needs_traces
def test_a_killed_tracer_leaves_an_instance_that_the_next_start_removes() -> None:
    tracer, living = started_tracer(), started_tracer()
    try:
        (left,) = instances(tracer)
        end(tracer, signal.SIGKILL)
        clean_traces()  # What it returns may lack ours: any other run that starts just now removes it, too.
        assert left not in instances(tracer)
        assert len(instances(living)) == 1, "that of a live one is not touched"
    finally:
        end(living, signal.SIGTERM)
    assert instances(living) == [], "told to end, it cleans up itself"


@needs_traces
def test_the_end_of_the_parent_ends_the_tracer_cleanly() -> None:
    tracer = started_tracer()
    assert tracer.stdin is not None
    tracer.stdin.close()
    assert tracer.wait(20) == 0
    assert instances(tracer) == []


@needs_traces
def test_a_tracer_that_dies_is_reported() -> None:
    with watch_syncs({"self": os.getpid()}) as watch:
        watch._tracer.kill()
        watch._tracer.wait()
        with pytest.raises(NoTraceError, match="tracer"):
            watch.finish()
    clean_traces()


@needs_traces
def test_a_tracer_whose_end_somebody_else_saw_is_reported_too() -> None:
    """An agent collects all its children; the tracer's exit code is then taken for 0."""
    with watch_syncs({"self": os.getpid()}) as watch:
        watch._tracer.kill()
        os.waitpid(watch._tracer.pid, 0)
        with pytest.raises(NoTraceError, match="the tracer was ended"):
            watch.finish()
    clean_traces()


@needs_traces
def test_an_agent_that_ends_while_it_watches_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEGAUGE_STATE", str(tmp_path / "state"))
    with LocalHost.open() as host:
        host.start(ProcessSpec("idle", ("sleep", "1000"), {}, str(tmp_path), str(tmp_path / "log")))
        with host.watch_syncs(["idle"]), contextlib.suppress(RunFailedError):
            agent = psutil.Process(host.agent_pid)
            (tracer,) = [child for child in agent.children() if "tidegauge.hosts.tracefs" in child.cmdline()]
            assert len(instances_of(tracer.pid)) == 1
            agent.terminate()
            agent.wait(60)
            tracer.wait(60)
    assert instances_of(tracer.pid) == []


def test_without_root_the_reason_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(NoTraceError, match="needs root"), watch_syncs({"self": os.getpid()}):
        pass
    assert clean_traces() == []


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give up root's rights")
def test_root_without_the_right_to_mount_is_reported() -> None:
    """As in a container: the tracer is root, but its bounding set lacks CAP_SYS_ADMIN."""
    tracer = subprocess.run(
        ["setpriv", "--bounding-set", "-sys_admin", sys.executable, "-P", "-m", "tidegauge.hosts.tracefs"],
        input=json.dumps({"calls": ["fsync"], "processes": {}}) + "\n",
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert tracer.stdout.startswith("no ")
    assert "needs root (CAP_SYS_ADMIN)" in tracer.stdout or "container" in tracer.stdout
    assert tracer.stderr == ""


def test_names_tell_their_maker() -> None:
    owner = Identity(12, 3456)
    assert tracefs.owner_of(tracefs.name_of(owner)) == owner
    assert tracefs.owner_of("tidegauge-other") is None
    assert tracefs.owner_of("somebody-12-3456") is None
