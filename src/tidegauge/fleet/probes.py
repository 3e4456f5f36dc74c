"""What a check lets each host do: describe itself, exchange messages with others, send to them, try its disk.

Everything runs on the host itself; only plain data comes back.
"""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import socket
import struct
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata

from tidegauge.distribution.java import find_java
from tidegauge.errors import RunFailedError, TidegaugeError
from tidegauge.fleet.code import code_version
from tidegauge.fleet.ports import OpenPorts, Unreached
from tidegauge.hosts.ceilings_measure import BRIEF, measure_ceilings
from tidegauge.hosts.clock import clock_quality
from tidegauge.hosts.facts import host_facts
from tidegauge.hosts.storage import nearest_existing, state_directory
from tidegauge.model.host import DiskState, HostState
from tidegauge.statistics.clocks import Exchange

_FOR_CLOCKS = b"c"
_FOR_BYTES = b"b"
_TIMES_FORMAT = struct.Struct("<qq")
_COUNT_FORMAT = struct.Struct("<q")
_CHUNK = bytes(256 * 1024)
_SILENCE_S_MAX = 5.0
_HELD_BYTES_MAX = 1 << 18
"""Beyond what is on its way: a slow link would take its time for more."""
_TCP_NOTSENT_LOWAT = 25
"""tcp(7); Python has no name for it yet."""


class Prober:
    """Does one host's part of one check. Methods may be called at the same time."""

    def __init__(self) -> None:
        self._listener: socket.socket | None = None
        self._ports: OpenPorts | None = None

    def state(self, java_major_min: int) -> HostState:
        """What the host is. `java_major_min`: older JDKs don't count."""
        facts, clock = host_facts(), clock_quality()
        try:
            java = find_java("A load generator", java_major_min).version
        except TidegaugeError:
            java = ""
        return HostState(
            hostname=facts.hostname,
            cpus=facts.cpus,
            memory_bytes=facts.memory_bytes,
            free_disk_bytes=shutil.disk_usage(nearest_existing(state_directory())).free,
            java=java,
            clock_source=clock.source,
            clock_kept=clock.synchronised,
            versions={"tidegauge": code_version(), "python": platform.python_version(), "ray": metadata.version("ray")},
        )

    def listen(self, address: str, port: int) -> None:
        """Answer others' exchanges and take their bytes. Raises `RunFailedError` if the port is taken."""
        try:
            self._listener = listener = socket.create_server((address, port))
        except OSError as error:
            raise RunFailedError(
                f"{address} can't listen on port {port}: {os.strerror(error.errno or 0)}.",
                "Another check may run; else free that port.",
            ) from error
        threading.Thread(target=_accept_connections, args=(listener,), name="probe", daemon=True).start()

    def open_ports(self, address: str) -> tuple[list[int], list[int]]:
        """Listen on ports of the fleet's, until `close_ports`: on which of TCP and of UDP."""
        self._ports = OpenPorts(address)
        return self._ports.tcp, self._ports.udp

    def unreached(self, address: str, tcp: Sequence[int], udp: Sequence[int]) -> Unreached:
        """See `OpenPorts.unreached`. Raises `RunFailedError` without `open_ports`."""
        if self._ports is None:
            raise RunFailedError("No ports are open.")
        return self._ports.unreached(address, tcp, udp)

    def close_ports(self) -> None:
        """Listen no more on what `open_ports` opened."""
        if self._ports is not None:
            self._ports.close()
            self._ports = None

    def exchange(self, address: str, port: int, count: int) -> list[Exchange]:
        """Ask another host's clock so many times. Raises `RunFailedError` if it can't be reached."""
        exchanges = []
        with _connect_to(address, port, _FOR_CLOCKS) as way:
            for _ in range(count):
                asked_ns = time.monotonic_ns()
                way.sendall(b"?")
                received_ns, answered_ns = _TIMES_FORMAT.unpack(_read_exactly(way, _TIMES_FORMAT.size))
                exchanges.append(Exchange(asked_ns, received_ns, answered_ns, time.monotonic_ns()))
        return exchanges

    def send(self, address: str, port: int, seconds: float, connections: int = 1) -> float:
        """Bytes a second that arrive there, over so many connections.

        Raises `RunFailedError` if it can't be reached.
        """
        with contextlib.ExitStack() as closing, ThreadPoolExecutor(connections) as pool:
            ways = [closing.enter_context(_connect_to(address, port, _FOR_BYTES)) for _ in range(connections)]
            begun_s = time.perf_counter()
            arrived = sum(pool.map(lambda way: _send_until(way, begun_s + seconds), ways))
            # Until all of it was there: what a slow way still holds when the time is up takes as long as the rest.
            return arrived / (time.perf_counter() - begun_s)

    def disk(self) -> DiskState:
        """What the disk of the state directory does, in some 4 s. What can't be measured says why."""
        try:
            state_directory().mkdir(parents=True, exist_ok=True)
            ceiling = measure_ceilings(
                [state_directory()], BRIEF, lambda _: None, lambda *_: None, loopback=False
            ).disks[0]
        except (TidegaugeError, OSError) as error:
            return DiskState(None, None, None, str(error))
        sync = next(sync for sync in ceiling.syncs if sync.files == 1)
        return DiskState(ceiling.write_bytes_per_s, sync.per_s, sync.p99_ms)

    def stop(self) -> None:
        """Listen no more."""
        self.close_ports()
        if self._listener is not None:
            # Closing alone leaves the port taken as long as a thread waits in accept().
            with contextlib.suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()


def _send_until(way: socket.socket, until_s: float) -> int:
    """Send until an instant (`time.perf_counter`); how many bytes have arrived."""
    way.setsockopt(socket.IPPROTO_TCP, _TCP_NOTSENT_LOWAT, _HELD_BYTES_MAX)
    while time.perf_counter() < until_s:
        way.sendall(_CHUNK)
    way.shutdown(socket.SHUT_WR)
    (arrived,) = _COUNT_FORMAT.unpack(_read_exactly(way, _COUNT_FORMAT.size))
    return int(arrived)


def _accept_connections(listener: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while True:
            way, _ = listener.accept()
            threading.Thread(target=_serve_connection, args=(way,), name="probe-way", daemon=True).start()


def _serve_connection(way: socket.socket) -> None:
    with contextlib.suppress(OSError, RunFailedError), way:
        way.settimeout(_SILENCE_S_MAX)
        way.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if _read_exactly(way, 1) == _FOR_CLOCKS:
            while way.recv(1):
                received_ns = time.monotonic_ns()
                way.sendall(_TIMES_FORMAT.pack(received_ns, time.monotonic_ns()))
        else:
            arrived, room = 0, bytearray(len(_CHUNK))
            while got := way.recv_into(room):
                arrived += got
            way.sendall(_COUNT_FORMAT.pack(arrived))


def _connect_to(address: str, port: int, kind: bytes) -> socket.socket:
    try:
        way = socket.create_connection((address, port), timeout=_SILENCE_S_MAX)
    except OSError as error:
        raise RunFailedError(
            f"{address}:{port} can't be reached from {socket.gethostname()}: {error.strerror or error}.",
            "Let that port through between the fleet's hosts; tidegauge fleet join printed which.",
        ) from error
    way.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    way.sendall(kind)
    return way


def _read_exactly(way: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = way.recv(size - len(data))
        if not part:
            raise RunFailedError("The other host ended the connection in the middle of a check.")
        data += part
    return data
