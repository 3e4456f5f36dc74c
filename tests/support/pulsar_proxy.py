"""A proxy in front of one Pulsar broker that does to what it delivers what a test wants.

It knows as much of the protocol as that takes: frames with their length first, and messages with their header. Where an
answer names the broker's address, the port becomes the proxy's, so that clients stay with it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator

from proxies import MESSAGE, Serve, join_sides, listening_port, pass_on, pump_frames

Change = Callable[[bytes], bytes]
"""Returns what a client gets instead of a frame, without its length, that delivers messages."""


def _serve_broker(broker: int, change: Change) -> Callable[[int], Serve]:
    def serve_from(port: int) -> Serve:
        address, of_proxy = (f"pulsar://127.0.0.1:{number}".encode() for number in (broker, port))
        assert len(address) == len(of_proxy), "ports of as many digits"

        async def answer(frame: bytes) -> bytes:
            return change(frame) if MESSAGE in frame else frame.replace(address, of_proxy)

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await join_sides(reader, writer, broker, pass_on, pump_frames(answer))

        return serve

    return serve_from


@contextlib.contextmanager
def proxied(service_url: str, change: Change) -> Iterator[str]:
    """Where clients find the broker behind a service URL, with `change` in between."""
    broker = int(service_url.rpartition(":")[2])
    with listening_port(_serve_broker(broker, change)) as port:
        yield f"pulsar://127.0.0.1:{port}"
