"""A host's part in bounding clocks: it asks others for their time, and answers, over UDP.

Whoever is late to answer makes an interval wider and never false (`statistics.clocks`), so the agent may do so between
its other work. Packets carry a secret of the run's: others' are left unanswered.
"""

from __future__ import annotations

import contextlib
import hmac
import select
import socket
import struct
import time
from collections.abc import Iterable, Sequence

from tidegauge.errors import StartFailedError
from tidegauge.hosts.clock import is_slewed

SECRET_BYTES = 16
EXCHANGES = 12
"""Of a burst, of which the quickest counts."""
_QUESTION = struct.Struct(f"<{SECRET_BYTES}sq")
_ANSWER = struct.Struct(f"<{SECRET_BYTES}sqqq")
_ANSWER_S_MAX = 0.02
_UNANSWERED_MAX = 2
"""After so many of a burst a host is not asked again in it."""

Stamps = tuple[int, int, int, int]
"""Of an exchange: see `statistics.clocks.Exchange`."""


class ClockSocket:
    """Nothing waits but a burst, for at most 0.04 s for each host that does not answer."""

    def __init__(self, address: str, ports: Iterable[int], secret: bytes) -> None:
        """Listen on the first port that is free. Raises `StartFailedError` if none is."""
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        self._secret = secret
        self._number = 0
        for port in ports:
            try:
                self._socket.bind((address, port))
            except OSError as error:
                last = error
            else:
                self.port = int(self._socket.getsockname()[1])
                return
        self._socket.close()
        raise StartFailedError(f"{address} has no free UDP port for clocks: {last.strerror}.")

    def fileno(self) -> int:
        """To wait for questions."""
        return self._socket.fileno()

    def answer(self) -> None:
        """Answer all questions that have come."""
        while self._taken() is not None:
            pass

    def burst(self, peers: Sequence[tuple[str, int]], count: int = EXCHANGES) -> list[Stamps | None]:
        """The tightest of so many exchanges with each peer; None of one that did not answer."""
        return [self._tightest(peer, count) for peer in peers]

    def close(self) -> None:
        """Listen no more."""
        self._socket.close()

    def _tightest(self, peer: tuple[str, int], count: int) -> Stamps | None:
        best: Stamps | None = None
        unanswered = 0
        for _ in range(count):
            found = self._exchange(peer)
            if found is None:
                unanswered += 1
                if unanswered == _UNANSWERED_MAX:
                    break
            elif best is None or _width(found) < _width(best):
                best = found
        return best

    def _exchange(self, peer: tuple[str, int]) -> Stamps | None:
        self._number += 1
        asked_ns = time.monotonic_ns()
        try:
            self._socket.sendto(_QUESTION.pack(self._secret, self._number), peer)
        except OSError:
            return None
        deadline_ns = asked_ns + round(_ANSWER_S_MAX * 1e9)
        while (left_ns := deadline_ns - time.monotonic_ns()) > 0:
            select.select([self._socket], [], [], left_ns / 1e9)
            # Others may ask meanwhile.
            while (taken := self._taken()) is not None:
                if taken[0] == self._number:
                    _, received_ns, answered_ns, returned_ns = taken
                    return asked_ns, received_ns, answered_ns, returned_ns
        return None

    def _taken(self) -> tuple[int, int, int, int] | None:
        """An answer's number and times, with that of its arrival; of a question, which is answered, number 0.

        None if nothing has come.
        """
        try:
            packet, sender = self._socket.recvfrom(_ANSWER.size + 1)
        except OSError:
            return None
        now_ns = time.monotonic_ns()
        if not hmac.compare_digest(packet[:SECRET_BYTES], self._secret):
            return 0, 0, 0, 0
        if len(packet) == _QUESTION.size:
            _, number = _QUESTION.unpack(packet)
            with contextlib.suppress(OSError):  # It asks again.
                self._socket.sendto(_ANSWER.pack(self._secret, number, now_ns, time.monotonic_ns()), sender)
        elif len(packet) == _ANSWER.size:
            _, number, received_ns, answered_ns = _ANSWER.unpack(packet)
            return int(number), int(received_ns), int(answered_ns), now_ns
        return 0, 0, 0, 0


def _width(stamps: Stamps) -> int:
    asked_ns, received_ns, answered_ns, returned_ns = stamps
    return (returned_ns - asked_ns) - (answered_ns - received_ns)


def burst_to_json(clocks: ClockSocket, peers: Sequence[Sequence[object]]) -> dict[str, object]:
    """A burst, and whether this host's clock is being slewed, as an agent's answer."""
    asked = [(str(address), int(str(port))) for address, port in peers]
    return {"exchanges": clocks.burst(asked), "slewed": is_slewed()}
