"""Measures what TCP over the loopback interface can carry: what servers and clients on one machine talk through."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np

from tidegauge.hosts.ceilings import LoopbackCeiling

_CHUNK_BYTES = 256 * 1024
_PATIENCE_S = 10.0
_P99_TRIPS = 1000


def measure_loopback(seconds: float) -> LoopbackCeiling:
    """One direction of one connection for half of the time, one byte there and back for the other. Raises `OSError`."""
    bytes_per_s = _bandwidth(seconds / 2)
    trips_us = _round_trips(seconds / 2)
    return LoopbackCeiling(
        bytes_per_s=bytes_per_s,
        round_trip_p50_us=float(np.median(trips_us)),
        round_trip_p99_us=float(np.percentile(trips_us, 99)) if len(trips_us) >= _P99_TRIPS else None,
    )


def _bandwidth(seconds: float) -> float:
    """Bytes a second that arrived, from the first to the last."""
    received = 0
    ends_s = 0.0

    def take(peer: socket.socket) -> None:
        nonlocal received, ends_s
        buffer = bytearray(_CHUNK_BYTES)
        while (count := peer.recv_into(buffer)) > 0:
            received += count
        ends_s = time.perf_counter()

    with _connected(take) as (sender, reader):
        chunk = bytes(_CHUNK_BYTES)
        begun_s = time.perf_counter()
        while time.perf_counter() < begun_s + seconds:
            sender.sendall(chunk)
        sender.shutdown(socket.SHUT_WR)
        reader.join(_PATIENCE_S)
    if not ends_s:
        raise OSError(0, "the loopback connection broke")
    return received / max(1e-9, ends_s - begun_s)


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
