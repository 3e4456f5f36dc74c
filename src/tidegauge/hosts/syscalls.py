"""Watching how processes make data durable: each fsync, fdatasync and the like, with its times. Root only.

The system calls of the watched processes are recorded by the kernel (tracepoints), so nothing is attached to the
processes and nothing is installed. While it lasts, every system call on the host is slower by some tens of
nanoseconds: watch before a measurement, never during one.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, cast

from tidegauge.durability.witness import SYNC_CALLS, Watch
from tidegauge.hosts.threads import threads_of
from tidegauge.hosts.trace_text import parse_trace
from tidegauge.hosts.tracefs import NoTraceError

_ANSWER_S = 20.0


class SyncWatch:
    """A recording that goes on. `processes`: number of each node's storage process, by the node's name."""

    def __init__(self, tracer: subprocess.Popen[bytes], processes: Mapping[str, int]) -> None:
        self._tracer = tracer
        self._processes = processes
        self._threads: dict[int, str] = threads_of(processes)
        _tell(tracer, {"calls": SYNC_CALLS, "processes": processes})
        answer = _line(tracer)
        if answer != "ready":
            raise NoTraceError(answer.removeprefix("no ") or "the tracer ended without a word")

    def finish(self) -> Watch:
        """Stop, and what was seen. Once only. Raises `NoTraceError` if the recording is lost."""
        # Threads started meanwhile are known now; of those that have ended too, the trace tells who started them.
        self._threads |= threads_of(self._processes)
        try:
            text, _ = self._tracer.communicate(b"stop\n", timeout=_ANSWER_S)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NoTraceError("the tracer does not answer") from error
        if self._tracer.returncode != 0:
            raise NoTraceError("the tracer was ended")
        return parse_trace(text.decode("utf-8", "replace"), self._threads)


@contextlib.contextmanager
def watch_syncs(processes: Mapping[str, int]) -> Iterator[SyncWatch]:
    """Record while in this block. Leaves nothing behind. Raises `NoTraceError` with the reason if it can't be done."""
    if os.geteuid() != 0:
        raise NoTraceError("needs root")
    with _tracer() as tracer:
        yield SyncWatch(tracer, processes)


def clean_traces() -> list[str]:
    """Remove what a killed recording left in the kernel; its names. Never raises; without root there is none."""
    if os.geteuid() != 0 or not Path("/sys/kernel/tracing").is_dir():
        return []
    with contextlib.suppress(OSError, subprocess.SubprocessError), _tracer() as tracer:
        text, _ = tracer.communicate(json.dumps({"clean": True}).encode() + b"\n", timeout=_ANSWER_S)
        if tracer.returncode == 0:
            return text.decode().split()
    return []


@contextlib.contextmanager
def _tracer() -> Iterator[subprocess.Popen[bytes]]:
    """The recording process. Its input's end makes it clean up; a Ctrl-C reaches this process alone."""
    tracer = subprocess.Popen(
        [sys.executable, "-P", "-m", "tidegauge.hosts.tracer"],
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


def _tell(tracer: subprocess.Popen[bytes], order: Mapping[str, object]) -> None:
    try:
        cast(IO[bytes], tracer.stdin).write(json.dumps(order).encode() + b"\n")
    except OSError as error:
        raise NoTraceError("the tracer could not be started") from error


def _line(tracer: subprocess.Popen[bytes]) -> str:
    """The tracer's next line, "" if none comes."""
    output = cast(IO[bytes], tracer.stdout)
    ready, _, _ = select.select([output], [], [], _ANSWER_S)
    return output.readline().decode("utf-8", "replace").strip() if ready else ""
