"""Which of a fleet's ports hosts reach at each other: all that a run may use are tried before it needs them.

On every second of the ports that are ours something listens meanwhile, so that a firewall that refuses is told from a
port that nobody has; the others stay free for what begins at the same moment. Ray's own ports are left to Ray: a
firewall that refuses is noticed at those where Ray listens all the time, one that drops at all of them.
"""

from __future__ import annotations

import contextlib
import errno
import resource
import secrets
import selectors
import socket
import struct
import threading
import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from tidegauge.agent.api import AGENT_PORTS
from tidegauge.fleet.ray_node import NODES_PORTS, OWN_PORTS, RAYS_PORTS

_AT_ONCE, _AT_ONCE_OF_FEW = 1000, 200
_FILES_MIN = 4096
"""Fewer that a process may have open are few."""
_REACH_S_MAX = 3.5
"""The kernel asks again after 1 s and after 3 s."""
_ASKS = 5
_ASK_S = 0.5
_TOKEN_BYTES = 8
_QUESTION, _ANSWER = b"?", b"!"
_RESET = struct.pack("ii", 1, 0)
"""Of SO_LINGER: nothing of such a connection stays behind."""


@dataclass(frozen=True)
class Unreached:
    """Ports of a host that another one does not reach: TCP and UDP."""

    tcp: tuple[int, ...] = ()
    udp: tuple[int, ...] = ()

    def __str__(self) -> str:
        """ "7300 to 7999", "7201, 7203/udp"."""
        return ", ".join([*ranges_of(self.tcp), *(f"{part}/udp" for part in ranges_of(self.udp))])


def ranges_of(ports: Iterable[int]) -> list[str]:
    """Ports in words, those that follow each other together: "7201", "7300 to 7999"."""
    ranges: list[list[int]] = []
    for port in sorted(ports):
        if ranges and port == ranges[-1][-1] + 1:
            ranges[-1][1:] = [port]
        else:
            ranges.append([port])
    return [" to ".join(map(str, each)) for each in ranges]


class OpenPorts:
    """Listens at an address until it is closed, and asks others' in the same way.

    `tcp`, `udp`: where it listens, without those that somebody has; with those where Ray listens.
    """

    def __init__(self, address: str) -> None:
        self._files = contextlib.ExitStack()
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, _FILES_MIN)), hard))
        self._udp: dict[int, socket.socket] = {}
        self.tcp = [port for port in OWN_PORTS if port % 2 and self._try_to_listen(address, port)]
        self.tcp += sorted(set(NODES_PORTS).difference(*_try_tcp_ports(address, NODES_PORTS)))
        for port in AGENT_PORTS:
            answering = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            try:
                answering.bind((address, port))
            except OSError:
                answering.close()
                continue
            self._files.enter_context(answering)
            self._udp[port] = answering
        self.udp = [*self._udp]
        self._answered: set[bytes] = set()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._answer_questions, name="ports", daemon=True)
        self._thread.start()

    def unreached(self, address: str, tcp: Collection[int], udp: Sequence[int]) -> Unreached:
        """What can't be reached at another host, which listens on these."""
        silent, refused = _try_tcp_ports(address, [*RAYS_PORTS, *OWN_PORTS])
        return Unreached(
            tuple(sorted({*silent, *(refused & set(tcp))})), tuple(self._ports_without_answer(address, udp))
        )

    def close(self) -> None:
        """Listen no more."""
        self._closed.set()
        self._thread.join()
        self._files.close()

    def _try_to_listen(self, address: str, port: int) -> bool:
        try:
            self._files.enter_context(socket.create_server((address, port), backlog=1024))
        except OSError:
            return False
        return True

    def _ports_without_answer(self, address: str, ports: Sequence[int]) -> list[int]:
        tokens = {port: secrets.token_bytes(_TOKEN_BYTES) for port in ports}
        for _ in range(_ASKS if self._udp else 0):
            waiting = [port for port in ports if tokens[port] not in self._answered]
            if not waiting:
                break
            for port in waiting:
                # As an agent does: from its own port to another's.
                way = self._udp.get(port) or next(iter(self._udp.values()))
                with contextlib.suppress(OSError):
                    way.sendto(_QUESTION + tokens[port], (address, port))
            until_s = time.monotonic() + _ASK_S
            while time.monotonic() < until_s and any(tokens[port] not in self._answered for port in waiting):
                time.sleep(_ASK_S / 50)
        return [port for port in ports if self._udp and tokens[port] not in self._answered]

    def _answer_questions(self) -> None:
        with selectors.DefaultSelector() as arriving:
            for way in self._udp.values():
                arriving.register(way, selectors.EVENT_READ, way)
            while not self._closed.is_set():
                for key, _ in arriving.select(_ASK_S / 5):
                    with contextlib.suppress(OSError):
                        packet, sender = key.data.recvfrom(1 + _TOKEN_BYTES)
                        if packet[:1] == _ANSWER:
                            self._answered.add(packet[1:])
                        elif packet[:1] == _QUESTION:
                            key.data.sendto(_ANSWER + packet[1:], sender)


def _try_tcp_ports(address: str, ports: Sequence[int]) -> tuple[set[int], set[int]]:
    """Which TCP ports of an address give no answer, and which refuse a connection."""
    codes: dict[int, int] = {}
    at_once = _AT_ONCE if resource.getrlimit(resource.RLIMIT_NOFILE)[0] >= _FILES_MIN else _AT_ONCE_OF_FEW
    for begin in range(0, len(ports), at_once):
        codes |= _connect_codes(address, ports[begin : begin + at_once])
    return (
        {port for port, code in codes.items() if code not in (0, errno.ECONNREFUSED)},
        {port for port, code in codes.items() if code == errno.ECONNREFUSED},
    )


def _connect_codes(address: str, ports: Sequence[int]) -> dict[int, int]:
    """What became of a connection to each: 0, or an error of connect(2)."""
    codes = dict.fromkeys(ports, errno.ETIMEDOUT)
    with contextlib.ExitStack() as files:
        arriving = files.enter_context(selectors.DefaultSelector())
        waiting = set(ports)
        for port in ports:
            way = files.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
            way.setblocking(False)
            way.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            codes[port] = way.connect_ex((address, port))
            if codes[port] == errno.EINPROGRESS:
                codes[port] = errno.ETIMEDOUT
                arriving.register(way, selectors.EVENT_WRITE, port)
            else:
                waiting.discard(port)
        until_s = time.monotonic() + _REACH_S_MAX
        while waiting and (left_s := until_s - time.monotonic()) > 0:
            for key, _ in arriving.select(left_s):
                assert isinstance(key.fileobj, socket.socket)
                codes[key.data] = key.fileobj.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
                arriving.unregister(key.fileobj)
                waiting.discard(key.data)
    return codes
