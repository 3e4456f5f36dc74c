"""Measures the ceilings of this machine, one thing after the other, with the time left before each."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from tidegauge.errors import UserError
from tidegauge.hosts import procfs
from tidegauge.hosts.ceilings_disk import BLOCK_BYTES, DEPTH, DiskMeasure, Stream, doubts_of
from tidegauge.hosts.loop_disk import device_number
from tidegauge.hosts.memory import dirty_limit_bytes, memory_available, unwritten_bytes
from tidegauge.hosts.storage import disk_facts, nearest_existing
from tidegauge.model.ceilings import (
    SUSTAINED_S,
    SYNC_BATCH_BYTES,
    SYNC_SMALL_BYTES,
    Ceilings,
    DiskCeiling,
    LoopbackCeiling,
    MemoryCeiling,
    SyncCeiling,
)
from tidegauge.numbers import trimmed

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
    ready = threading.Barrier(threads)

    def copy(place: int) -> tuple[float, float, int]:
        """When it began and ended, and how many bytes were copied."""
        source = np.full(_BUFFER_BYTES, place + 1, dtype=np.uint8)
        target = np.zeros_like(source)
        np.copyto(target, source)  # The kernel has given every page by now.
        ready.wait()
        begun_s, copied_bytes = time.perf_counter(), 0
        while not copied_bytes or time.perf_counter() < begun_s + seconds:
            np.copyto(target, source)
            copied_bytes += _BUFFER_BYTES
        return begun_s, time.perf_counter(), copied_bytes

    with ThreadPoolExecutor(threads) as pool:
        begun_s, ended_s, copied_bytes = zip(*pool.map(copy, range(threads)), strict=True)
    return MemoryCeiling(sum(copied_bytes) / (max(ended_s) - min(begun_s)), threads)


_CHUNK_BYTES = 256 * 1024
_PATIENCE_S = 10.0
_P99_TRIPS = 1000
_MANY_MAX = 16


def measure_loopback(seconds: float, many: int | None = None) -> LoopbackCeiling:
    """Measure one connection, then several at once, then one byte there and back, for equal parts of the time.

    `many`: connections at the same time (None: a sender and a receiver for each two CPUs; 1: not tried).

    Raises `OSError`.
    """
    many = min(_MANY_MAX, len(os.sched_getaffinity(0)) // 2) if many is None else many
    part_s = seconds / (3 if many > 1 else 2)
    bytes_per_s = _measure_bandwidth(part_s, 1)
    many_bytes_per_s = _measure_bandwidth(part_s, many) if many > 1 else None
    trips_us = _measure_round_trips(part_s)
    return LoopbackCeiling(
        many=max(1, many),
        many_bytes_per_s=many_bytes_per_s,
        bytes_per_s=bytes_per_s,
        round_trip_p50_us=float(np.median(trips_us)),
        round_trip_p99_us=float(np.percentile(trips_us, 99)) if len(trips_us) >= _P99_TRIPS else None,
    )


def _measure_bandwidth(seconds: float, connections: int) -> float:
    """Bytes a second that arrived over all connections, from the first to the last."""
    received = [0] * connections
    ends_s = [0.0] * connections
    begun_s = 0.0

    def begin() -> None:
        nonlocal begun_s
        begun_s = time.perf_counter()

    connected = threading.Barrier(connections, begin, _PATIENCE_S)

    def send(place: int) -> None:
        def take(peer: socket.socket) -> None:
            buffer = bytearray(_CHUNK_BYTES)
            while (count := peer.recv_into(buffer)) > 0:
                received[place] += count
            ends_s[place] = time.perf_counter()

        broken = contextlib.suppress(OSError, threading.BrokenBarrierError)
        with broken, _connection_to_thread(take) as (sender, reader):
            chunk = bytes(_CHUNK_BYTES)
            connected.wait()
            sender.sendall(chunk)
            while time.perf_counter() < begun_s + seconds:
                sender.sendall(chunk)
            sender.shutdown(socket.SHUT_WR)
            reader.join(_PATIENCE_S)

    others = [threading.Thread(target=send, args=(place,), daemon=True) for place in range(1, connections)]
    for thread in others:
        thread.start()
    send(0)
    for thread in others:
        thread.join(_PATIENCE_S)
    if not all(ends_s):
        raise OSError(0, "the loopback connection broke")
    return sum(received) / max(1e-9, max(ends_s) - begun_s)


def _measure_round_trips(seconds: float) -> list[float]:
    """Times of single bytes there and back, us."""

    def echo(peer: socket.socket) -> None:
        while received := peer.recv(1):
            peer.sendall(received)

    trips_us: list[float] = []
    with _connection_to_thread(echo) as (sender, _reader):
        end_s = time.perf_counter() + seconds
        while not trips_us or time.perf_counter() < end_s:
            begun_ns = time.perf_counter_ns()
            sender.sendall(b"x")
            if not sender.recv(1):
                raise OSError(0, "the loopback connection broke")
            trips_us.append((time.perf_counter_ns() - begun_ns) / 1e3)
    return trips_us


@contextlib.contextmanager
def _connection_to_thread(serve: Callable[[socket.socket], None]) -> Iterator[tuple[socket.socket, threading.Thread]]:
    """A connection to a thread that serves its other end until ours is closed."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(_PATIENCE_S)
        with socket.create_connection(server.getsockname(), timeout=_PATIENCE_S) as near:
            far, _address = server.accept()

            def run_server() -> None:
                with contextlib.suppress(OSError), far:
                    serve(far)

            for end in (near, far):
                end.settimeout(_PATIENCE_S)
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            thread = threading.Thread(target=run_server, name="loopback", daemon=True)
            thread.start()
            yield near, thread
        thread.join(_PATIENCE_S)


PREFIX = ".tidegauge-doctor-"
"""How directories begin that hold what is written while a disk is measured."""
FILES_AT_ONCE = 8


@dataclass(frozen=True)
class Effort:
    """How long each thing is measured, s; 0 leaves it out.

    Attributes:
        sync_s: for each call and size in one file.
        files_s: for syncs in `FILES_AT_ONCE` files at the same time.
        calls: of the syncs that are tried one by one.
        sustain_s, fill_s: for sustained writes, and at most for filling what memory takes before.
    """

    write_s: float
    read_s: float
    sync_s: float
    files_s: float
    loopback_s: float
    memory_s: float
    calls: tuple[str, ...] = ("fdatasync", "fsync")
    sustain_s: float = 0.0
    fill_s: float = 15.0

    def disk_s(self) -> float:
        """How long measuring one disk takes, s, without the sustained writes."""
        return self.write_s + self.read_s + 2 * len(self.calls) * self.sync_s + self.files_s

    def seconds(self, disks: int) -> float:
        """How long measuring everything takes, s, with so many disks."""
        sustained_s = self.sustain_s + self.fill_s if self.sustain_s else 0.0
        return disks * (self.disk_s() + sustained_s) + self.loopback_s + self.memory_s

    def within(self, seconds_max: float, disks: int) -> Effort:
        """This effort, with less time for each disk if all of them would take longer than `seconds_max`."""
        shared_s = self.loopback_s + self.memory_s
        # Sustained writes keep their time: shorter ones would not be what they are called.
        factor = min(1.0, (seconds_max - shared_s) / (max(1, disks) * self.disk_s()))
        shorter = {name: getattr(self, name) * factor for name in ("write_s", "read_s", "sync_s", "files_s")}
        return replace(self, **shorter)


THOROUGH = Effort(write_s=5.0, read_s=4.0, sync_s=2.0, files_s=2.0, loopback_s=3.0, memory_s=2.0, sustain_s=SUSTAINED_S)
"""What `doctor` does, as far as `THOROUGH_S_MAX` allows."""
THOROUGH_S_MAX = 45.0
"""Without sustained writes."""
BRIEF = Effort(write_s=1.2, read_s=0.8, sync_s=0.5, files_s=0.8, loopback_s=1.0, memory_s=0.0, calls=("fdatasync",))
"""What a run does that finds nothing fresh: short, since whoever waits wants the run."""
SUSTAINED_BYTES_MAX = 128 << 30
_FILLED = 0.8
"""Share of the background limit that must wait when sustained writes begin: the limit moves with the free memory."""
_BUSY_MIN = 0.8
"""Share of the time for which a disk must be busy: else CPUs that others take, and not the disk, are the limit."""
_FREE_AFTER = 0.2
"""Share of the free room that sustained writes must leave."""

OnStep = Callable[[str, float], None]
"""Receives what begins now, and how long all that is left will take, s."""


def machine_id() -> str:
    """This machine since it was started, with the CPUs that we may use: resizing or restarting it makes another."""
    return f"{procfs.boot_id()}/{len(os.sched_getaffinity(0))}"


def place_for(disk: Path) -> tuple[Path, str]:
    """The directory to measure a disk in (itself, or where it does not exist yet its nearest parent), and its device.

    Raises `UserError` if it can't be written.
    """
    directory = nearest_existing(disk.absolute())
    if not directory.is_dir():
        raise UserError(
            f"{disk} is no directory, so the disk below can't be measured.", "Name a directory on the disk."
        )
    if not os.access(directory, os.W_OK | os.X_OK):
        raise UserError(
            f"{directory} can't be written, so its disk can't be measured.", "Name another directory on it."
        )
    return directory, device_number(directory.stat().st_dev)


def measure_ceilings(
    disks: Sequence[Path], effort: Effort, track: Callable[[Path], None], report: OnStep, *, loopback: bool = True
) -> Ceilings:
    """Measure one directory on each disk, and what all disks share. Several directories of one disk count once.

    Args:
        track: receives every directory before it is made, so that somebody removes it if we are killed.
        loopback: whether to measure loopback (and memory, if `effort` says so) as well.

    Raises:
        UserError: a disk can't be written.
        OSError: it does not answer, or something else failed.
    """
    places = {device: directory for directory, device in reversed([place_for(disk) for disk in disks])}
    effort = effort if loopback else replace(effort, loopback_s=0.0, memory_s=0.0)
    left_s = effort.seconds(len(places))
    begun = datetime.now(UTC).isoformat(timespec="seconds")
    load = os.getloadavg()[0]

    def step(name: str, seconds: float) -> float:
        nonlocal left_s
        report(name, left_s)
        left_s -= seconds
        return seconds

    disk_ceilings = [
        _measure_disk(directory, device, effort, track, step) for device, directory in reversed(places.items())
    ]
    return Ceilings(
        measured_at=begun,
        machine=machine_id(),
        disks=tuple(disk_ceilings),
        loopback=measure_loopback(step("loopback", effort.loopback_s)) if effort.loopback_s else None,
        memory=measure_memory(step("memory", effort.memory_s)) if effort.memory_s else None,
        load_average=load,
    )


def disk_name(directory: Path) -> str:
    """What a disk is, for readers: "ext4 on vda". Never raises."""
    facts = disk_facts(directory)
    if not facts:
        return "unknown file system"
    below = facts.get("devices") or facts.get("source", "")
    return " on ".join(part for part in (facts.get("file_system", ""), below) if part)


def _measure_disk(
    parent: Path, device: str, effort: Effort, track: Callable[[Path], None], step: Callable[[str, float], float]
) -> DiskCeiling:
    """Measure one disk, in a directory of our own that is removed in every case. Raises `OSError`."""
    name = disk_name(parent)
    directory = parent / f"{PREFIX}{secrets.token_hex(6)}"
    track(directory)
    directory.mkdir(mode=0o700)
    try:
        measure = DiskMeasure(directory)
        written = measure.write(step(f"{name}: sequential writes", effort.write_s))
        read: Stream | None = None
        if measure.direct:
            read = measure.read(step(f"{name}: sequential reads", effort.read_s))
        syncs = _measure_syncs(measure, name, effort, step)
        try:
            sustained, problem = _measure_sustained(measure, (name, device), written, effort, step)
        except OSError as error:
            # What was measured before stays.
            sustained, problem = None, error.strerror or str(error)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    return DiskCeiling(
        path=str(parent),
        device=device,
        name=name,
        direct=measure.direct,
        write_bytes_per_s=written.bytes_per_s if measure.direct else None,
        read_bytes_per_s=read.bytes_per_s if read else None,
        block_bytes=BLOCK_BYTES,
        depth=DEPTH,
        syncs=syncs,
        doubts=doubts_of(measure.direct, written, read),
        sustained_write_bytes_per_s=sustained,
        sustained_problem=problem,
    )


def _measure_sustained(
    measure: DiskMeasure, place: tuple[str, str], written: Stream, effort: Effort, step: Callable[[str, float], float]
) -> tuple[float | None, str]:
    """Bytes a second for a long time and "", or None and why not: "" if it was not asked for. Raises `OSError`."""
    if not effort.sustain_s:
        return None, ""
    name, device = place
    looks: list[tuple[float, int | None]] = []

    def count_waiting_bytes() -> int:
        looks.append((time.monotonic(), _busy_ms(device)))
        return unwritten_bytes()

    dirty_bytes = dirty_limit_bytes()
    wanted_bytes = sustained_bytes(dirty_bytes, written.bytes_per_s, effort.sustain_s)
    problem = sustained_refusal(
        measure.direct, name, wanted_bytes, shutil.disk_usage(measure.sequential_file.parent).free
    )
    step_name = (
        f"{name}: not measured sustained" if problem else f"{name}: sustained writes, up to {_in_gb(wanted_bytes)}"
    )
    step(step_name, effort.sustain_s + effort.fill_s)
    if problem:
        return None, problem
    bytes_per_s = measure.sustain(
        dirty_bytes,
        effort.fill_s,
        effort.sustain_s,
        count_waiting_bytes,
        waiting_min=round(_FILLED * dirty_limit_bytes(name="dirty_background")),
        bytes_max=wanted_bytes,
    )
    if not bytes_per_s:
        # None of it reached the disk: before the measured seconds, or in them, as far as others' writes let it be seen.
        seconds = effort.fill_s if bytes_per_s is None else effort.sustain_s
        return None, f"memory took all that could be written in {trimmed(seconds)} s"
    problem = idle_words(looks[0], looks[-1])
    return (None, problem) if problem else (bytes_per_s, "")


def idle_words(begun: tuple[float, int | None], ended: tuple[float, int | None]) -> str:
    """Words for a disk that had time to spare, so that it can take more than it took; "" if it had none or if unknown.

    Each is an instant (s) and how long the device had been busy by then (ms). Pure.
    """
    if begun[1] is None or ended[1] is None or ended[0] <= begun[0]:
        return ""
    busy = (ended[1] - begun[1]) / 1e3 / (ended[0] - begun[0])
    return "" if busy >= _BUSY_MIN else f"the disk was busy only {busy:.0%} of the time, so it was not the limit"


def _busy_ms(device: str) -> int | None:
    """How long a device has had requests in flight; None where the kernel doesn't report it."""
    try:
        return int(Path(f"/sys/dev/block/{device}/stat").read_text().split()[9])
    except (OSError, ValueError, IndexError):
        return None


def sustained_bytes(dirty_bytes: int, write_bytes_per_s: float, seconds: float) -> int:
    """What sustained writes write at most: to fill memory, then what the disk takes and memory in its place."""
    return 2 * dirty_bytes + int(write_bytes_per_s * seconds)


def sustained_refusal(direct: bool, name: str, wanted_bytes: int, free_bytes: int) -> str:
    """Why a disk is not written to for so long; "" if it is. Pure."""
    if not direct or name.partition(" on ")[0] in ("tmpfs", "ramfs"):
        return "what is written there may never leave memory"
    if wanted_bytes > SUSTAINED_BYTES_MAX:
        return f"it would take up to {_in_gb(wanted_bytes)} of writing"
    if wanted_bytes > (1 - _FREE_AFTER) * free_bytes:
        room = f"{_in_gb(free_bytes)} are free, of which {_FREE_AFTER:.0%} must stay so"
        return f"it would write up to {_in_gb(wanted_bytes)}, and {room}"
    return ""


def _in_gb(size_bytes: float) -> str:
    return f"{size_bytes / 1e9:,.1f} GB"


def _measure_syncs(
    measure: DiskMeasure, name: str, effort: Effort, step: Callable[[str, float], float]
) -> tuple[SyncCeiling, ...]:
    sync_ceilings = []
    for call in effort.calls:
        for size in (SYNC_SMALL_BYTES, SYNC_BATCH_BYTES):
            seconds = step(f"{name}: {call} of {size // 1024} KiB appends", effort.sync_s)
            sync_ceilings.append(measure.sync(call, size, 1, seconds))
    step_name = f"{name}: fdatasync in {FILES_AT_ONCE} files at once"
    sync_ceilings.append(measure.sync("fdatasync", SYNC_SMALL_BYTES, FILES_AT_ONCE, step(step_name, effort.files_s)))
    return tuple(sync_ceilings)
