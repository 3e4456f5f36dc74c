"""Proxies of tests between clients and one server: whatever is to be done to a connection is a coroutine."""

from __future__ import annotations

import asyncio
import contextlib
import struct
import threading
from collections.abc import Awaitable, Callable, Iterator

MESSAGE = b"TDG1"
"""How each message of a trial begins."""
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
"""Serves one connection of a client's until it ends."""
PassOn = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
"""Passes on what comes from one side to the other, until there is no more."""


async def join_sides(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, server_port: int, requests: PassOn, answers: PassOn
) -> None:
    """Connect a client to a server on loopback, until either has enough."""
    upstream_reader, upstream_writer = await asyncio.open_connection("127.0.0.1", server_port)
    pumps = [
        asyncio.create_task(_until_it_ends(requests, reader, upstream_writer)),
        asyncio.create_task(_until_it_ends(answers, upstream_reader, writer)),
    ]
    await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
    for pump in pumps:
        pump.cancel()
    await asyncio.gather(*pumps, return_exceptions=True)
    upstream_writer.close()
    writer.close()


async def _until_it_ends(passed_on: PassOn, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        await passed_on(reader, writer)


def flipped(frame: bytes) -> bytes:
    """The same with one bit of its last message's value flipped."""
    place = frame.rindex(MESSAGE) + 100
    return frame[:place] + bytes([frame[place] ^ 1]) + frame[place + 1 :]


async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass on all of it as it is."""
    while data := await reader.read(1 << 16):
        writer.write(data)
        await writer.drain()


def pump_frames(change: Callable[[bytes], Awaitable[bytes]]) -> PassOn:
    """Pass on frames with their length first, each as `change` returns it, which is given it without its length."""

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            (length,) = struct.unpack(">i", await reader.readexactly(4))
            frame = await change(await reader.readexactly(length))
            writer.write(struct.pack(">i", len(frame)) + frame)
            await writer.drain()

    return pump


@contextlib.contextmanager
def listening_port(serve_from: Callable[[int], Serve]) -> Iterator[int]:
    """A port of loopback on which each connection is served by what `serve_from` makes of the port's number."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="proxy", daemon=True)
    thread.start()

    async def begin() -> tuple[asyncio.Server, int]:
        port = 0

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await serve_from(port)(reader, writer)

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        return server, port

    server, port = asyncio.run_coroutine_threadsafe(begin(), loop).result()
    try:
        yield port
    finally:
        loop.call_soon_threadsafe(server.close)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10.0)
