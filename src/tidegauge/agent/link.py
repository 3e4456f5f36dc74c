"""How controller and agent write to each other, and what carries it: a socket pair on one host, TLS between hosts.

One JSON object a line, so that any byte stream can carry it. Request: {"id": 7, "call": "stop", "name": "kafka-1"}.
Reply: {"id": 7, "result": {...}} or {"id": 7, "error": {...}}.
"""

from __future__ import annotations

import contextlib
import json
import select
import socket
import ssl
import threading
from collections.abc import Collection, Mapping
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

from tidegauge.agent.api import ProcessSpec
from tidegauge.errors import RunFailedError, StartFailedError, TidegaugeError
from tidegauge.hosts.tracefs import NoTraceError
from tidegauge.numbers import trimmed

READ_BYTES = 65536
_WAIT_S = 1.0
_STALLED_S_MAX = 60.0
"""The other end is busy for a while, or stopped: its kernel takes what comes until its buffers are full."""


Message = dict[str, Any]


def to_line(message: Mapping[str, Any]) -> bytes:
    """One message as a line. JSON escapes keep undecodable bytes of file names intact."""
    return json.dumps(message, separators=(",", ":"), default=_as_json).encode("ascii") + b"\n"


def _as_json(value: object) -> object:
    """Turn what JSON has no form for into what it has. Paths are made absolute: the other end works elsewhere."""
    if isinstance(value, Path):
        return str(value.absolute())
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Collection):
        return list(value)
    raise TypeError(f"{value!r} can't be sent")


def from_line(line: bytes) -> Message:
    """Parse a line. Raises `ValueError` if it is not a JSON object."""
    message = json.loads(line)
    if not isinstance(message, dict):
        raise ValueError("not a JSON object")
    return message


def spec_from_json(data: Mapping[str, Any]) -> ProcessSpec:
    """A `ProcessSpec` of a message."""
    return ProcessSpec(**{**data, "argv": tuple(data["argv"])})


_KINDS: Mapping[str, type[TidegaugeError]] = {"start": StartFailedError, "trace": NoTraceError, "run": RunFailedError}


def error_to_json(error: TidegaugeError) -> Message:
    """An error that the controller is to raise."""
    return {
        "kind": next((kind for kind, raised in _KINDS.items() if isinstance(error, raised)), "run"),
        "message": error.message,
        "hint": error.hint,
        "log_path": str(error.log_path) if error.log_path else "",
    }


def error_from_json(data: Mapping[str, Any]) -> TidegaugeError:
    """Undo `error_to_json`."""
    return _KINDS[data["kind"]](data["message"], data["hint"], Path(data["log_path"]) if data["log_path"] else None)


_NOT_NOW = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class Link:
    """One end of a connection that is made, with TLS or without.

    Any threads of a controller wait in `send`, one after the other, and one in `receive`. An agent has one thread: it
    waits for `fileno`, and reads and writes what can be. What OpenSSL keeps of a connection may be used by one thread
    at a time, so nothing waits while it is in use.
    """

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        self._connection = connection
        self._use = threading.Lock()
        self._order = threading.Lock()
        self._closed = False

    def fileno(self) -> int:
        """The descriptor to wait for."""
        return self._connection.fileno()

    def read(self) -> bytes | None:
        """What has come; None if nothing has, b"" if the other end is gone."""
        try:
            with self._use:
                return self._connection.recv(READ_BYTES)
        except _NOT_NOW:
            return None
        except (OSError, ValueError):
            return b""

    def write(self, data: bytes) -> int:
        """Write what can be written at once; how many bytes that were. Raises `OSError` if the other end is gone."""
        try:
            with self._use:
                return self._connection.send(data)
        except _NOT_NOW:
            return 0
        except ValueError as error:
            raise OSError(0, "the connection is closed") from error

    def send(self, data: bytes) -> None:
        """Send all of it; waits where the other end is slow. Raises `OSError` if it is gone."""
        with self._order:
            while data:
                taken = self.write(data)
                data = data[taken:]
                if not taken and not self._wait_until_ready(select.POLLOUT, _STALLED_S_MAX):
                    raise TimeoutError(f"nothing was taken for {trimmed(_STALLED_S_MAX)} s")

    def receive(self) -> bytes:
        """What has come, at least one byte; waits for it. b"" if the other end is gone."""
        while not self._closed:
            # First what OpenSSL has taken from the socket already.
            data = self.read()
            if data is not None:
                return data
            self._wait_until_ready(select.POLLIN, _WAIT_S)
        return b""

    def close(self) -> None:
        """Close. The other end sees it; the descriptor stays until this object goes: another thread may wait for it."""
        self._closed = True
        with contextlib.suppress(OSError), self._use:
            self._connection.shutdown(socket.SHUT_RDWR)

    def _wait_until_ready(self, event: int, seconds: float) -> bool:
        """Wait for the descriptor. Not by select(2), which knows none above 1023: there may be as many hosts."""
        waiting = select.poll()
        waiting.register(self, event)
        return bool(waiting.poll(seconds * 1e3))
