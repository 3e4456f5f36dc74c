"""Measures what TCP over the loopback interface can carry: what servers and clients on one machine talk through."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np

from tidegauge.hosts.ceilings import LoopbackCeiling

_CHUNK_BYTES = 256 * 1024
_PATIENCE_S = 10.0
_P99_TRIPS = 1000
_MANY_MAX = 16


def measure_loopback(seconds: float, many: int | None = None) -> LoopbackCeiling:
    """One connection, then several at the same time, then one byte there and back, for equal parts of the time.

    `many`: connections at the same time (None: a sender and a receiver for each two CPUs; 1: not tried).

    Raises `OSError`.
    """
    many = min(_MANY_MAX, len(os.sched_getaffinity(0)) // 2) if many is None else many
    part_s = seconds / (3 if many > 1 else 2)
    bytes_per_s = _bandwidth(part_s, 1)
    many_bytes_per_s = _bandwidth(part_s, many) if many > 1 else None
    trips_us = _round_trips(part_s)
    return LoopbackCeiling(
        many=max(1, many),
        many_bytes_per_s=many_bytes_per_s,
        bytes_per_s=bytes_per_s,
        round_trip_p50_us=float(np.median(trips_us)),
        round_trip_p99_us=float(np.percentile(trips_us, 99)) if len(trips_us) >= _P99_TRIPS else None,
    )


def _bandwidth(seconds: float, connections: int) -> float:
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
        with broken, _connected(take) as (sender, reader):
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


def _round_trips(seconds: float) -> list[float]:
    """Times of single bytes there and back, us."""

    def echo(peer: socket.socket) -> None:
        while one := peer.recv(1):
            peer.sendall(one)

    trips_us: list[float] = []
    with _connected(echo) as (sender, _reader):
        end_s = time.perf_counter() + seconds
        while not trips_us or time.perf_counter() < end_s:
            begun_ns = time.perf_counter_ns()
            sender.sendall(b"x")
            if not sender.recv(1):
                raise OSError(0, "the loopback connection broke")
            trips_us.append((time.perf_counter_ns() - begun_ns) / 1e3)
    return trips_us


@contextlib.contextmanager
def _connected(serve: Callable[[socket.socket], None]) -> Iterator[tuple[socket.socket, threading.Thread]]:
    """A connection to a thread that serves its other end until ours is closed."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(_PATIENCE_S)
        with socket.create_connection(server.getsockname(), timeout=_PATIENCE_S) as near:
            far, _address = server.accept()

            def run() -> None:
                with contextlib.suppress(OSError), far:
                    serve(far)

            for end in (near, far):
                end.settimeout(_PATIENCE_S)
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            thread = threading.Thread(target=run, name="loopback", daemon=True)
            thread.start()
            yield near, thread
        thread.join(_PATIENCE_S)
