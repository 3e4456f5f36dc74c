"""A host's part in bounding clocks: it asks others for their time, and answers, over UDP.

Whoever is late to answer makes an interval wider and never false (`statistics.clocks`), so the agent may do so between
its other work. Packets are authenticated by a secret of the run's, which is in none of them, with who asks whom
and a number that nobody can guess: an answer that was recorded on its way proves nothing to another host, or later.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import secrets
import select
import socket
import struct
import time
from collections.abc import Iterable, Sequence

from tidegauge.errors import StartFailedError

SECRET_BYTES = 16
EXCHANGES = 12
"""Of a burst, of which the quickest counts."""
_QUESTION = struct.Struct("<Q")
_ANSWER = struct.Struct("<Qqq")
_NUMBER_BITS = 64
_MAC_BYTES = 16
"""Behind each of the two."""
_WAIT_S = 0.003
"""For an answer, before the next question: one that comes later counts as well."""
_LATE_MAX = 2
"""After so many late answers of a burst a host is not asked again in it."""
_ANSWER_S_MAX = 5.0

Stamps = tuple[int, int, int, int]
"""Of an exchange: see `statistics.clocks.Exchange`."""
Peer = tuple[str, int]


class ClockSocket:
    """Asks other hosts for their time and answers them. Only a burst waits, for some milliseconds for each host."""

    def __init__(self, address: str, ports: Iterable[int], secret: bytes) -> None:
        """Listen on the first port that is free. Raises `StartFailedError` if none is."""
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        self._secret = secret
        self._own: Peer = (address, 0)
        self._asked: dict[int, tuple[Peer, int]] = {}
        """Questions without an answer yet, and when each was asked."""
        self._tightest: dict[Peer, Stamps] = {}
        """Of each peer since the last burst was reported."""
        for port in ports:
            try:
                self._socket.bind((address, port))
            except OSError as error:
                last = error
            else:
                self.port = int(self._socket.getsockname()[1])
                self._own = (address, self.port)
                return
        self._socket.close()
        raise StartFailedError(f"{address} has no free UDP port for clocks: {last.strerror}.")

    def fileno(self) -> int:
        """The descriptor to wait for packets by."""
        return self._socket.fileno()

    def take(self) -> None:
        """Answer all questions that have come, and note late answers."""
        while self._take_packet():
            pass

    def burst(self, peers: Sequence[Peer], count: int = EXCHANGES) -> list[Stamps | None]:
        """Ask each peer so many times.

        Returns of each the tightest exchange whose answer has come since the last burst; None without any.
        """
        forgotten_ns = time.monotonic_ns() - round(_ANSWER_S_MAX * 1e9)
        self._asked = {number: asked for number, asked in self._asked.items() if asked[1] > forgotten_ns}
        for peer in peers:
            late = 0
            for _ in range(count):
                late += not self._ask_peer(peer)
                if late == _LATE_MAX:
                    break
        return [self._tightest.pop(peer, None) for peer in peers]

    def close(self) -> None:
        """Listen no more."""
        self._socket.close()

    def _ask_peer(self, peer: Peer) -> bool:
        """Ask a peer for its time; whether the answer came at once."""
        number = secrets.randbits(_NUMBER_BITS)
        packet = self._seal_packet(_QUESTION.pack(number), self._own, peer)
        asked_ns = time.monotonic_ns()
        self._asked[number] = (peer, asked_ns)
        try:
            self._socket.sendto(packet, peer)
        except OSError:
            return False
        while number in self._asked and (left_s := _WAIT_S - (time.monotonic_ns() - asked_ns) / 1e9) > 0:
            select.select([self._socket], [], [], left_s)
            # Others may ask meanwhile.
            self.take()
        return number not in self._asked

    def _take_packet(self) -> bool:
        """Take in one packet; False if none has come."""
        try:
            packet, sender = self._socket.recvfrom(_ANSWER.size + _MAC_BYTES + 1)
        except OSError:
            return False
        now_ns = time.monotonic_ns()
        body = packet[:-_MAC_BYTES]
        if not hmac.compare_digest(packet, self._seal_packet(body, sender, self._own)):
            return True
        if len(body) == _QUESTION.size:
            (number,) = _QUESTION.unpack(body)
            answer = _ANSWER.pack(number, now_ns, time.monotonic_ns())
            with contextlib.suppress(OSError):  # It asks again.
                self._socket.sendto(self._seal_packet(answer, self._own, sender), sender)
        elif len(body) == _ANSWER.size:
            self._note_answer(sender, *_ANSWER.unpack(body), returned_ns=now_ns)
        return True

    def _seal_packet(self, body: bytes, sender: Peer, receiver: Peer) -> bytes:
        """The packet of a body, with a code that proves who sent it, and to whom."""
        way = b"".join(socket.inet_aton(address) + port.to_bytes(2, "big") for address, port in (sender, receiver))
        return body + hashlib.blake2b(way + body, key=self._secret, digest_size=_MAC_BYTES).digest()

    def _note_answer(self, sender: Peer, number: int, received_ns: int, answered_ns: int, *, returned_ns: int) -> None:
        if number not in self._asked or self._asked[number][0] != sender:
            return
        peer, asked_ns = self._asked.pop(number)
        stamps = (asked_ns, received_ns, answered_ns, returned_ns)
        tightest = self._tightest.get(peer)
        if tightest is None or _interval_width_ns(stamps) < _interval_width_ns(tightest):
            self._tightest[peer] = stamps


def _interval_width_ns(stamps: Stamps) -> int:
    asked_ns, received_ns, answered_ns, returned_ns = stamps
    return (returned_ns - asked_ns) - (answered_ns - received_ns)
