"""Watching how processes make data durable: each fsync, fdatasync and the like, with its times. Root only.

The kernel's trace is text:

# entries-in-buffer/entries-written: 4/4   #P:2
             java-790     [000] .....  1041.202001: sched_process_fork: comm=java pid=790 child_comm=java child_pid=812
  kafka-req-h-812     [001] .....  1041.350712: sys_fsync(fd: 1f)
  kafka-req-h-812     [001] .....  1041.351904: sys_fsync -> 0x0

Times are seconds of the clock that was set, cut to microseconds. Source: `kernel/trace/trace_output.c`,
`trace_syscalls.c`. The name before the number may hold blanks and hyphens.

The system calls of the watched processes are recorded by the kernel (tracepoints), so nothing is attached to the
processes and nothing is installed. While it lasts, every system call on the host is slower by some tens of
nanoseconds: watch before a measurement, never during one.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, cast

from tidegauge.durability import SYNC_CALLS, SyncCall, WatchedSyncs
from tidegauge.hosts.clock import namespace_shift_ns
from tidegauge.hosts.environments import environment_of_helpers
from tidegauge.hosts.procfs import threads_of
from tidegauge.hosts.tracefs import NoTraceError

_LINE = re.compile(
    r"-(?P<thread>\d+) +(?:\([ \d-]+\) +)?\[\d+\] +(?:\S+ +)?(?P<s>\d+)\.(?P<us>\d{6}): "
    r"sys_(?P<call>\w+)(?:\((?P<arguments>.*)\)| -> (?P<result>0x[0-9a-f]+|-?\d+))\s*$"
)
_FORK = re.compile(r": sched_process_fork: comm=.* pid=(?P<parent>\d+) child_comm=.* child_pid=(?P<child>\d+)\s*$")
_WRITTEN = re.compile(r"entries-in-buffer/entries-written: (\d+)/(\d+)")
_NS_PER_US = 1000


def parse_trace(text: str, nodes: Mapping[int, str], shift_ns: int = 0) -> WatchedSyncs:
    """What was recorded. `nodes` by thread number; a thread that was started meanwhile belongs where its parent does.

    `shift_ns`: how far this process's clock is ahead of the one that the kernel's times are of.

    A call of any other thread is no node's and left out. So is one that was under way when recording began or ended: it
    can't have served a message.
    """
    calls: list[SyncCall] = []
    entered: dict[tuple[int, str], int] = {}
    node_of = dict(nodes)
    for line in text.splitlines():
        forked = _FORK.search(line)
        if forked is not None and int(forked["parent"]) in node_of:
            node_of[int(forked["child"])] = node_of[int(forked["parent"])]
        match = _LINE.search(line)
        if match is None:
            continue
        thread, call = int(match["thread"]), match["call"]
        at_ns = (int(match["s"]) * 1_000_000 + int(match["us"])) * _NS_PER_US + shift_ns
        if match["result"] is None:
            entered[(thread, call)] = at_ns
            continue
        since_ns = entered.pop((thread, call), None)
        if since_ns is not None and thread in node_of:
            calls.append(SyncCall(node_of[thread], thread, call, since_ns, at_ns, int(match["result"], 0) == 0))
    written = _WRITTEN.search(text)
    dropped = sum(int(number) for number in re.findall(r"LOST (\d+) EVENTS", text))
    return WatchedSyncs(tuple(calls), dropped + (int(written[2]) - int(written[1]) if written else 0))


_ANSWER_S = 20.0


class SyncWatch:
    """A recording that goes on. `processes`: number of each node's storage process, by the node's name."""

    def __init__(self, tracer: subprocess.Popen[bytes], processes: Mapping[str, int]) -> None:
        self._tracer = tracer
        self._processes = processes
        self._threads: dict[int, str] = threads_of(processes)
        try:
            cast(IO[bytes], tracer.stdin).write(
                json.dumps({"calls": SYNC_CALLS, "processes": processes}).encode() + b"\n"
            )
        except OSError as error:
            raise NoTraceError("the tracer could not be started") from error
        # The tracer's next line, "" if none comes.
        output = cast(IO[bytes], tracer.stdout)
        ready, _, _ = select.select([output], [], [], _ANSWER_S)
        answer = output.readline().decode("utf-8", "replace").strip() if ready else ""
        if answer != "ready":
            raise NoTraceError(answer.removeprefix("no ") or "the tracer ended without a word")

    def finish(self) -> WatchedSyncs:
        """Stop, and what was seen. Once only. Raises `NoTraceError` if the recording is lost."""
        # Threads started meanwhile are known now; of those that have ended too, the trace shows who started them.
        self._threads |= threads_of(self._processes)
        try:
            text, _ = self._tracer.communicate(b"stop\n", timeout=_ANSWER_S)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NoTraceError("the tracer does not answer") from error
        trace = text.decode("utf-8", "replace")
        # Who else waits for this process's children may have taken its exit code: only the trace itself proves that it
        # was read to its end.
        if self._tracer.returncode != 0 or not _WRITTEN.search(trace):
            raise NoTraceError("the tracer was ended")
        return parse_trace(trace, self._threads, namespace_shift_ns())


@contextlib.contextmanager
def watch_syncs(processes: Mapping[str, int]) -> Iterator[SyncWatch]:
    """Record while in this block. Leaves nothing behind. Raises `NoTraceError` with the reason if it can't be done."""
    if os.geteuid() != 0:
        raise NoTraceError("needs root")
    with _start_tracer() as tracer:
        yield SyncWatch(tracer, processes)


def clean_traces() -> list[str]:
    """Remove what a killed recording left in the kernel; its names. Never raises; without root there is none."""
    if os.geteuid() != 0 or not Path("/sys/kernel/tracing").is_dir():
        return []
    with contextlib.suppress(OSError, subprocess.SubprocessError), _start_tracer() as tracer:
        text, _ = tracer.communicate(json.dumps({"clean": True}).encode() + b"\n", timeout=_ANSWER_S)
        if tracer.returncode == 0:
            return text.decode().split()
    return []


@contextlib.contextmanager
def _start_tracer() -> Iterator[subprocess.Popen[bytes]]:
    """The recording process. Its input's end makes it clean up; a Ctrl-C reaches this process alone."""
    tracer = subprocess.Popen(
        [sys.executable, "-P", "-m", "tidegauge.hosts.tracefs"],
        env=environment_of_helpers(),
        cwd="/",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        bufsize=0,
    )
    try:
        yield tracer
    finally:
        for pipe in (tracer.stdin, tracer.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        try:
            tracer.wait(_ANSWER_S)
        except subprocess.TimeoutExpired:
            tracer.kill()
            tracer.wait()
