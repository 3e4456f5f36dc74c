"""Measures what one disk can do: sequential writes and reads past the page cache, and appends made durable.

The files have names: some file systems (btrfs) skip the log for files without one, and would look faster than they are.
Threads suffice: every call measured here leaves Python's lock while the kernel works.
"""

from __future__ import annotations

import errno
import itertools
import mmap
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tidegauge.hosts.storage import open_descriptor
from tidegauge.model.ceilings import SyncCeiling

BLOCK_BYTES = 1 << 20
DEPTH = 4
FILE_BYTES_MAX = 1 << 30
FILE_BYTES_MIN = 64 << 20
"""Less free space than ten times this, and a disk is not measured: its last blocks say nothing about the others."""
FREE_SHARE = 0.1
_SYNC_FILE_BYTES_MAX = 256 << 20
_PATIENCE_S = 30.0
"""Beyond the time asked for, until a disk is said not to answer."""
_FADES_BELOW = 0.7
_P95_CALLS, _P99_CALLS = 200, 1000
"""From how many calls on a percentile is reported, so that ten lie beyond it (as in `model.trial.Latency`)."""


@dataclass(frozen=True)
class Stream:
    """Blocks that were written or read one after the other. `rates`: bytes a second of each quarter of the time."""

    bytes_per_s: float
    blocks: int
    rates: tuple[float, ...]


class DiskMeasure:
    """Measurements in one directory, which the caller makes and removes. All raise `OSError`."""

    def __init__(self, directory: Path) -> None:
        self.sequential_file = directory / "sequential"
        self._directory = directory
        self._blocks_written = 0
        self.direct = True

    def write(self, seconds: float) -> Stream:
        """Write blocks in order, `DEPTH` at a time, over and over through a file whose room is reserved before."""
        free_bytes = shutil.disk_usage(self._directory).free
        size_bytes = round(min(FILE_BYTES_MAX, free_bytes * FREE_SHARE)) // BLOCK_BYTES * BLOCK_BYTES
        if size_bytes < FILE_BYTES_MIN:
            raise OSError(errno.ENOSPC, f"only {free_bytes >> 20:,} MiB are free, {FILE_BYTES_MIN * 10 >> 20:,} needed")
        descriptor = self._open_sequential_file(os.O_RDWR | os.O_CREAT)
        try:
            os.posix_fallocate(descriptor, 0, size_bytes)
            stream = _transfer_blocks(os.pwritev, descriptor, size_bytes // BLOCK_BYTES, seconds)
        finally:
            os.close(descriptor)
        self._blocks_written = min(stream.blocks, size_bytes // BLOCK_BYTES)
        return stream

    def sustain(
        self,
        dirty_bytes: int,
        fill_s_max: float,
        seconds: float,
        waiting: Callable[[], int],
        *,
        waiting_min: int = 0,
        bytes_max: float = float("inf"),
    ) -> float | None:
        """Bytes a second that reach the disk for so long, once `dirty_bytes` were written or after `fill_s_max`.

        `waiting` returns how many bytes wait in the page cache: what they grew by has not reached it. Nothing is
        written over: a page that waits already would be changed in memory and cost the disk nothing. It ends earlier
        with `bytes_max` written. None if less than `waiting_min` waited before: the kernel had not begun to use the
        disk.
        """
        block = os.urandom(BLOCK_BYTES)
        written = [0] * DEPTH
        with _open_append_files(self._directory, DEPTH) as descriptors:

            def write_until(enough_bytes: float) -> Callable[[int, int], None]:
                def work(place: int, end_ns: int) -> None:
                    while sum(written) < enough_bytes and time.perf_counter_ns() < end_ns:
                        written[place] += os.write(descriptors[place], block)

                return work

            if dirty_bytes:
                _run_in_threads(write_until(dirty_bytes), DEPTH, fill_s_max)
            waiting_before = waiting()
            if waiting_before < waiting_min:
                return None
            left_before = sum(written) - waiting_before
            elapsed_s = _run_in_threads(write_until(bytes_max), DEPTH, seconds)
            return max(0.0, sum(written) - waiting() - left_before) / elapsed_s

    def read(self, seconds: float) -> Stream:
        """Read what `write` wrote in the same way. Means nothing where the file system takes no direct I/O."""
        descriptor = self._open_sequential_file(os.O_RDONLY)
        try:
            return _transfer_blocks(os.preadv, descriptor, self._blocks_written, seconds)
        finally:
            os.close(descriptor)

    def sync(self, call: str, write_bytes: int, files: int, seconds: float) -> SyncCeiling:
        """Append `write_bytes` and call "fsync" or "fdatasync", over and over, in `files` files at the same time."""
        self.sequential_file.unlink(missing_ok=True)
        sync = {"fsync": os.fsync, "fdatasync": os.fdatasync}[call]
        block = os.urandom(write_bytes)
        times_ns: list[list[int]] = [[] for _ in range(files)]
        with _open_append_files(self._directory, files) as descriptors:

            def work(place: int, end_ns: int) -> None:
                descriptor, own_times_ns = descriptors[place], times_ns[place]
                room = _SYNC_FILE_BYTES_MAX // files // write_bytes
                while not own_times_ns or time.perf_counter_ns() < end_ns:
                    os.write(descriptor, block)
                    begun_ns = time.perf_counter_ns()
                    sync(descriptor)
                    own_times_ns.append(time.perf_counter_ns() - begun_ns)
                    if len(own_times_ns) % room == 0:
                        os.ftruncate(descriptor, 0)
                        os.lseek(descriptor, 0, os.SEEK_SET)

            elapsed_s = _run_in_threads(work, files, seconds)
        return _summarise_syncs(
            call,
            write_bytes,
            files,
            np.array([time_ns for file_times_ns in times_ns for time_ns in file_times_ns]),
            elapsed_s,
        )

    def _open_sequential_file(self, flags: int) -> int:
        """Open the file, past the page cache where the file system lets us; the test is whether it opens (open(2))."""
        if self.direct:
            try:
                return os.open(self.sequential_file, flags | os.O_DIRECT | os.O_CLOEXEC, 0o600)
            except OSError as error:
                if error.errno != errno.EINVAL:
                    raise
                self.direct = False
        return os.open(self.sequential_file, flags | os.O_CLOEXEC, 0o600)


def doubts_of(direct: bool, written: Stream, read: Stream | None) -> tuple[str, ...]:
    """What makes a disk's figures doubtful, one sentence each. Pure."""
    if not direct:
        return ("the file system takes no direct I/O, so its page cache would have been measured instead of the disk",)
    return tuple(
        f"the {kind} bandwidth fell from {stream.rates[0] / 1e6:,.0f} to {stream.rates[-1] / 1e6:,.0f} MB/s while it "
        "was measured: a budget for bursts that ran out, a cache that filled, or other work on the disk"
        for kind, stream in (("write", written), ("read", read))
        if stream is not None and fades(stream.rates)
    )


def fades(rates: Sequence[float]) -> bool:
    """Whether the last quarter was much slower than the first."""
    return len(rates) > 1 and rates[-1] < _FADES_BELOW * rates[0]


@contextmanager
def _open_append_files(directory: Path, count: int) -> Iterator[list[int]]:
    paths = [directory / f"append-{number}" for number in range(count)]
    try:
        with ExitStack() as files:
            yield [files.enter_context(open_descriptor(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)) for path in paths]
    finally:
        for path in paths:
            path.unlink(missing_ok=True)


def _transfer_blocks(
    transfer: Callable[[int, list[memoryview], int], int], descriptor: int, blocks: int, seconds: float
) -> Stream:
    """Transfer block after block, beginning again after the last."""
    numbers = itertools.count()
    ends_ns: list[list[int]] = [[] for _ in range(DEPTH)]
    # A block for each request in flight, in memory like any program's: a shared map would lie on scattered pages.
    # Random bytes, since some disks compress. Memory maps begin at a page, as direct I/O asks for.
    whole = memoryview(mmap.mmap(-1, DEPTH * BLOCK_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
    whole[:] = os.urandom(DEPTH * BLOCK_BYTES)
    buffers = [whole[place * BLOCK_BYTES : (place + 1) * BLOCK_BYTES] for place in range(DEPTH)]
    begun_ns = time.perf_counter_ns()

    def work(place: int, end_ns: int) -> None:
        own_ends_ns, buffer = ends_ns[place], [buffers[place]]
        while not own_ends_ns or time.perf_counter_ns() < end_ns:
            done = transfer(descriptor, buffer, next(numbers) % blocks * BLOCK_BYTES)
            if done != BLOCK_BYTES:
                raise OSError(errno.EIO, f"only {done} of {BLOCK_BYTES} bytes were transferred")
            own_ends_ns.append(time.perf_counter_ns())

    _run_in_threads(work, DEPTH, seconds)
    ended_ns = (
        np.sort(np.array([end_ns for thread_ends_ns in ends_ns for end_ns in thread_ends_ns], dtype=np.int64))
        - begun_ns
    )
    return Stream(
        len(ended_ns) * BLOCK_BYTES / (float(ended_ns[-1]) / 1e9), len(ended_ns), _rates_of_quarters(ended_ns)
    )


def _rates_of_quarters(ended_ns: np.ndarray) -> tuple[float, ...]:
    """Bytes a second in each quarter; () with too few blocks to say."""
    if len(ended_ns) < 40:
        return ()
    edges = np.linspace(0, float(ended_ns[-1]), 5)
    counts, _ = np.histogram(ended_ns, edges)
    return tuple(float(count) * BLOCK_BYTES / (float(edges[1]) / 1e9) for count in counts)


def _run_in_threads(work: Callable[[int, int], None], threads: int, seconds: float) -> float:
    """Run `work(place, end_ns)` in so many threads; how long it took, s. Raises the first `OSError` of any of them."""
    errors: list[OSError] = []
    begun_ns = time.perf_counter_ns()
    end_ns = begun_ns + round(seconds * 1e9)

    def run_work(place: int) -> None:
        try:
            work(place, end_ns)
        except OSError as error:
            errors.append(error)

    running = [threading.Thread(target=run_work, args=(place,), name="disk", daemon=True) for place in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join(max(0.0, (end_ns - time.perf_counter_ns()) / 1e9) + _PATIENCE_S)
        if thread.is_alive():
            raise OSError(errno.ETIMEDOUT, f"the disk did not answer for {_PATIENCE_S:.0f} s")
    if errors:
        raise errors[0]
    return (time.perf_counter_ns() - begun_ns) / 1e9


def _summarise_syncs(call: str, write_bytes: int, files: int, times_ns: np.ndarray, elapsed_s: float) -> SyncCeiling:
    times_ms = times_ns / 1e6

    def percentile(share: float, calls_min: int) -> float | None:
        return float(np.percentile(times_ms, share)) if len(times_ms) >= calls_min else None

    return SyncCeiling(
        call=call,
        write_bytes=write_bytes,
        files=files,
        calls=len(times_ms),
        per_s=len(times_ms) / elapsed_s,
        p50_ms=float(np.median(times_ms)),
        p95_ms=percentile(95, _P95_CALLS),
        p99_ms=percentile(99, _P99_CALLS),
        max_ms=float(times_ms.max()),
    )
