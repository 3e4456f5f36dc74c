"""A proxy in front of one Kafka broker that does to its answers what a test wants.

It knows as much of the protocol as that takes: requests and answers are frames with their length first; a request says
what it asks for and who asks, and both have the number by which an answer is known. Where an answer names the broker's
address, the port becomes the proxy's, so that clients stay with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import struct
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass

from proxies import join_sides, listening_port, pump_frames

FETCH, SHARE_FETCH = 1, 78
READER = "tg-read-back"
"""The client that looks for what is missing."""


@dataclass(frozen=True)
class Answer:
    """One of the broker's to a client. `frame`: without its length."""

    api: int
    client: str
    frame: bytes

    @property
    def carries_messages(self) -> bool:
        """Whether it delivers some to a consumer of a trial; without any it is a hundred bytes."""
        return self.api in (FETCH, SHARE_FETCH) and self.client != READER and len(self.frame) > 1_000

    def flipped(self) -> bytes:
        """The same with one bit of a message's value flipped: most of an answer is values."""
        place = len(self.frame) // 2
        return self.frame[:place] + bytes([self.frame[place] ^ 1]) + self.frame[place + 1 :]


Change = Callable[[Answer], Awaitable[bytes]]
"""Returns what the client gets instead, when it is to get it."""


class _Connection:
    """One of a client's."""

    def __init__(self, broker: int, port: int, change: Change) -> None:
        self._broker, self._port, self._change = broker, port, change
        self._asked: dict[int, tuple[int, str]] = {}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Until either side has enough."""
        await join_sides(reader, writer, self._broker, pump_frames(self._request), pump_frames(self._answer))

    async def _request(self, frame: bytes) -> bytes:
        api, _version, number, length = struct.unpack(">hhih", frame[:10])
        self._asked[number] = (api, frame[10 : 10 + max(0, length)].decode())
        return frame

    async def _answer(self, frame: bytes) -> bytes:
        api, client = self._asked.pop(struct.unpack(">i", frame[:4])[0])
        if api not in (FETCH, SHARE_FETCH):
            own, broker = (b"127.0.0.1" + struct.pack(">i", port) for port in (self._port, self._broker))
            frame = frame.replace(broker, own)
        return await self._change(Answer(api, client, frame))


@contextlib.contextmanager
def proxied(servers: str, change: Change) -> Iterator[str]:
    """Where clients find the broker behind `servers`, with `change` in between."""
    broker = int(servers.rpartition(":")[2])
    with listening_port(lambda port: _Connection(broker, port, change).serve) as port:
        yield f"127.0.0.1:{port}"
