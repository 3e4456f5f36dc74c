"""Network namespaces: entering one, and opening sockets in one. Root. Source: setns(2), ip-netns(8)."""

from __future__ import annotations

import contextlib
import ctypes
import os
import socket
from collections.abc import Iterator
from pathlib import Path

NAMED = Path("/run/netns")
_CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


def enter(namespace: Path) -> None:
    """Put the calling thread, and what it starts from now on, into a network namespace. Raises `OSError`."""
    descriptor = os.open(namespace, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if _libc.setns(descriptor, _CLONE_NEWNET) != 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code), str(namespace))
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def inside(namespace: Path) -> Iterator[None]:
    """The calling thread is in a network namespace in this block; sockets opened in it stay there. Raises `OSError`."""
    own = Path(f"/proc/self/fd/{(held := os.open('/proc/thread-self/ns/net', os.O_RDONLY | os.O_CLOEXEC))}")
    try:
        enter(namespace)
        try:
            yield
        finally:
            enter(own)
    finally:
        os.close(held)


def listening(namespace: Path, address: str) -> socket.socket:
    """A TCP socket that listens in a namespace, on a port that the kernel chooses. Raises `OSError`."""
    with inside(namespace):
        return socket.create_server((address, 0))


def connects(namespace: Path | None, address: str, port: int, timeout_s: float) -> bool:
    """Whether a TCP connection can be made from a namespace; None: the caller's own. Raises `OSError`."""
    with inside(namespace) if namespace is not None else contextlib.nullcontext():
        probe = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    with probe:
        probe.settimeout(timeout_s)
        return probe.connect_ex((address, port)) == 0
