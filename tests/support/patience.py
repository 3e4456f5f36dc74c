"""How long tests wait: in seconds of a calm machine of usual speed. On one that is slow or lacks CPU they last longer.

What a test waits for shares the CPUs with everything else that runs. So a deadline is no instant but a budget, which is
used up more slowly while more threads want to run than there are CPUs, while the hypervisor takes CPU time away, or
while the disk keeps everybody waiting. A wait for something that never happens still ends.
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

USUAL_WORK_CPU_S = 0.06
"""What `_work` takes on a CPU of 2020."""
STRETCH_MAX = 20.0
POLL_S = 0.05


class Patience:
    """A budget of seconds. Ask `is_over` often: what the machine is short of is looked at each time."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._left_s = seconds
        self._began_s = self._looked_s = time.monotonic()
        self._counters = _counters()

    def is_over(self) -> bool:
        """Whether the budget is used up."""
        now_s, counters = time.monotonic(), _counters()
        passed_s = now_s - self._looked_s
        if passed_s > 0:
            lost_s = [(now - before) / 1e6 for now, before in zip(counters, self._counters, strict=True)]
            usable = max(1.0 - sum(lost_s) / passed_s, 1.0 / STRETCH_MAX)
            stretch = slowness() * max(1.0, _runnable() / len(os.sched_getaffinity(0))) / usable
            self._left_s -= passed_s / min(stretch, STRETCH_MAX)
        self._looked_s, self._counters = now_s, counters
        return self._left_s <= 0

    def __str__(self) -> str:
        return f"{self.seconds:g} s ({self._looked_s - self._began_s:.0f} s on this machine)"


def wait_for(what: Callable[[], Any], seconds_max: float, name: str, check: Callable[[], None] = lambda: None) -> Any:
    """Wait until `what()` is true and return it. `check` is called meanwhile, and raises where waiting is in vain."""
    patience = Patience(seconds_max)
    while True:
        found = what()
        if found:
            return found
        check()
        if patience.is_over():
            raise AssertionError(f"{name} did not happen within {patience}")
        time.sleep(POLL_S)


def sleep_until(mono_ns: int) -> None:
    """Wait for an instant of the monotonic clock, however busy the machine is."""
    time.sleep(max(0.0, (mono_ns - time.monotonic_ns()) / 1e9))


@functools.cache
def slowness() -> float:
    """How much longer than usual a fixed piece of work takes here when it has a CPU for itself; at least 1.

    A hypervisor, or a quota, may leave us less than a CPU without saying so: then wall time is above CPU time.
    """
    tries = []
    for _ in range(3):
        wanted, wall_s, cpu_s = _runnable(), time.perf_counter(), time.thread_time()
        _work()
        cpu_s, wall_s = time.thread_time() - cpu_s, time.perf_counter() - wall_s
        crowd = max(1.0, (wanted + _runnable()) / 2 / len(os.sched_getaffinity(0)))
        tries.append(max(cpu_s, wall_s / crowd))
    return max(1.0, min(tries) / USUAL_WORK_CPU_S)


def _work() -> int:
    return sum(number * number % 7 for number in range(1_000_000))


def _runnable() -> int:
    """Threads that run or want to (proc_loadavg(5))."""
    return int(Path("/proc/loadavg").read_text().split()[3].partition("/")[0])


def _counters() -> tuple[float, float]:
    """Microseconds since boot that the hypervisor took from a CPU, and in which everybody waited for a disk."""
    steal_ticks = int(Path("/proc/stat").read_text().split(maxsplit=9)[8])
    stolen_us = steal_ticks / os.sysconf("SC_CLK_TCK") * 1e6 / (os.cpu_count() or 1)
    return stolen_us, _pressure_us("io", "full")


def _pressure_us(resource: str, kind: str) -> float:
    """Microseconds since boot in which some, or all, tasks waited for a resource; 0 where the kernel does not say."""
    try:
        lines = Path(f"/proc/pressure/{resource}").read_text().splitlines()
    except OSError:
        return 0.0
    return next((float(line.rpartition("=")[2]) for line in lines if line.startswith(kind)), 0.0)


def starved_us() -> float:
    """Microseconds since boot in which somebody was ready to run and had no CPU."""
    return _pressure_us("cpu", "some") + _counters()[0]
