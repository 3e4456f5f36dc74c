"""TCP ports that are free on loopback and stay so: outside the range from which the kernel takes ports by itself."""

from __future__ import annotations

import random
import socket
from collections.abc import Collection
from pathlib import Path

from tidegauge.errors import StartFailedError

_LOWEST = 10_000
_HIGHEST = 65_535
_WIDTH_MIN = 1_000
_RANGE_FILE = Path("/proc/sys/net/ipv4/ip_local_port_range")


def port_candidates(kernel_low: int, kernel_high: int) -> range:
    """Ports outside the kernel's own range, the wider side of it; all of them if it leaves no room."""
    below = range(_LOWEST, max(_LOWEST, kernel_low))
    above = range(min(kernel_high, _HIGHEST) + 1, _HIGHEST + 1)
    widest = max(below, above, key=len)
    return widest if len(widest) >= _WIDTH_MIN else range(_LOWEST, _HIGHEST + 1)


def find_free_ports(count: int, taken: Collection[int]) -> list[int]:
    """`count` ports on which 127.0.0.1 can be bound now, none of `taken`. Raises `StartFailedError`."""
    low, high = (int(part) for part in _RANGE_FILE.read_text(encoding="ascii").split())
    candidates = list(port_candidates(low, high))
    random.SystemRandom().shuffle(candidates)
    found: list[int] = []
    for port in candidates:
        if len(found) == count:
            return found
        if port not in taken and _can_bind(port):
            found.append(port)
    if len(found) < count:
        raise StartFailedError(f"Only {len(found)} of {count} TCP ports are free on 127.0.0.1.")
    return found


def _can_bind(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As servers do: an old connection in TIME_WAIT is no obstacle, a listener is.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
