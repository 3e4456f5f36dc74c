"""Measures how fast memory is copied: brokers and clients copy each message several times."""

from __future__ import annotations

import os
import threading
import time

import numpy as np

from tidegauge.hosts.ceilings import MemoryCeiling
from tidegauge.hosts.memory import memory_available

_BUFFER_BYTES = 64 << 20
"""Each of two for a thread: several threads' are larger together than the last-level cache of a common server."""
_THREADS_MAX = 16
_USED_SHARE_MAX = 0.25


def measure_memory(seconds: float) -> MemoryCeiling:
    """Copy from buffer to buffer with a thread for each CPU, as far as memory allows. Raises `OSError`."""
    available = memory_available()
    room_bytes = (available.available_mb << 20) * _USED_SHARE_MAX if available else 0.0
    fitting = int(room_bytes // (2 * _BUFFER_BYTES))
    threads = max(1, min(len(os.sched_getaffinity(0)), _THREADS_MAX, fitting))
    copied = [0] * threads
    ended_s = [0.0] * threads
    start = threading.Barrier(threads + 1)

    def work(place: int) -> None:
        source = np.full(_BUFFER_BYTES, place + 1, dtype=np.uint8)
        target = np.zeros_like(source)
        np.copyto(target, source)  # The kernel has given every page by now.
        start.wait()
        end_s = time.perf_counter() + seconds
        while not copied[place] or time.perf_counter() < end_s:
            np.copyto(target, source)
            copied[place] += _BUFFER_BYTES
        ended_s[place] = time.perf_counter()

    running = [threading.Thread(target=work, args=(place,), name="memory", daemon=True) for place in range(threads)]
    for thread in running:
        thread.start()
    start.wait()
    begun_s = time.perf_counter()
    for thread in running:
        thread.join()
    return MemoryCeiling(sum(copied) / (max(ended_s) - begun_s), threads)
