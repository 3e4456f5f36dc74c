"""A proxy in front of one RabbitMQ node's streams that does to what it delivers what a test wants.

It knows as much of the protocol as that takes: frames with their length first, and what kind they are of. Where an
answer names the node's port, it becomes the proxy's, so that clients stay with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import struct
from collections.abc import Callable, Iterator

from proxies import Serve, join_sides, listening_port, pass_on, pump_frames

DELIVER = 8
OPENED, METADATA = 0x8015, 0x800F
Change = Callable[[bytes], bytes]
"""Returns what a client gets instead of a frame, without its length, that delivers messages."""


def _serve_node(node: int, change: Change) -> Callable[[int], Serve]:
    def serve_from(port: int) -> Serve:
        assert len(str(port)) == len(str(node)), "ports of as many digits"

        async def answer(frame: bytes) -> bytes:
            (kind,) = struct.unpack(">H", frame[:2])
            if kind == DELIVER:
                return change(frame)
            if kind == OPENED:
                return frame.replace(str(node).encode(), str(port).encode())
            return frame.replace(struct.pack(">I", node), struct.pack(">I", port)) if kind == METADATA else frame

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await join_sides(reader, writer, node, pass_on, pump_frames(answer))

        return serve

    return serve_from


@contextlib.contextmanager
def proxied(stream_uri: str, change: Change) -> Iterator[str]:
    """Where clients find the streams behind a URI, with `change` in between."""
    address, _, node = stream_uri.rpartition(":")
    with listening_port(_serve_node(int(node), change)) as port:
        yield f"{address}:{port}"
