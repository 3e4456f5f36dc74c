"""What workers stream, all of them in one thread.

gRPC's blocking calls take two threads for each stream. Of a thousand workers these spend most of their time waking each
other for Python's lock: a second took ten seconds of CPU (`benchmarks/controller.py`).
"""

from __future__ import annotations

import asyncio
import functools
import gc
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

import grpc

from tidegauge.worker.generated.worker_pb2_grpc import WorkerStub

_BATCH_MESSAGES_MAX = 32
_BATCH_BYTES_MAX = 1 << 16
"""Of what is read before it is wanted."""

T = TypeVar("T")


_GC_OBJECTS = 20_000
"""Made between two collections of garbage: of what workers send nearly all goes without one. With Python's own 700, a
thousand workers' seconds took an eighth more."""


@functools.cache
def _event_loop() -> asyncio.AbstractEventLoop:
    gc.set_threshold(_GC_OBJECTS, 20, 20)
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="streams", daemon=True).start()
    return loop


def _begin_coroutine(work: Coroutine[Any, Any, T]) -> Future[T]:
    return asyncio.run_coroutine_threadsafe(work, _event_loop())


class Streams:
    """The streams of one worker, over a connection of their own. Errors are gRPC's. May be used from any thread."""

    def __init__(
        self,
        address: str,
        options: Sequence[tuple[str, int]],
        metadata: tuple[tuple[str, str], ...],
        credentials: Any = None,
    ) -> None:
        self._metadata = metadata
        self._channel, self._stub = _begin_coroutine(self._open_channel(address, options, credentials)).result()

    async def _open_channel(
        self, address: str, options: Sequence[tuple[str, int]], credentials: Any
    ) -> tuple[Any, Any]:
        if credentials is None:
            channel = grpc.aio.insecure_channel(address, options=options)
        else:
            channel = grpc.aio.secure_channel(address, credentials, options=options)
        return channel, WorkerStub(channel)  # type: ignore[no-untyped-call]

    def hold(self, request: object, every_s: float) -> Future[None]:
        """Send the same request again and again, until the stream breaks or this is cancelled."""
        return _begin_coroutine(self._hold_stream(request, every_s))

    async def _hold_stream(self, request: object, every_s: float) -> None:
        call = self._stub.Hold(metadata=self._metadata)
        try:
            while True:
                await call.write(request)
                await asyncio.sleep(every_s)
        finally:
            call.cancel()

    def follow(
        self, call: str, request: object, put: Callable[[Any], bool], ended: Callable[[Exception | None], None]
    ) -> None:
        """Hand over each message as it comes, while `put` returns True; neither may take long.

        Args:
            ended: called in a thread of its own when no more comes, and may take long: with the error, if that is why.
        """
        _begin_coroutine(self._follow_stream(call, request, put, ended))

    async def _follow_stream(
        self, call: str, request: object, put: Callable[[Any], bool], ended: Callable[[Exception | None], None]
    ) -> None:
        error: Exception | None = None
        stream = getattr(self._stub, call)(request, metadata=self._metadata)
        try:
            async for message in stream:
                if not put(message):
                    return
        except Exception as why:  # Handed to whoever follows.
            error = why
        except asyncio.CancelledError:
            pass  # It was closed here.
        finally:
            stream.cancel()
        threading.Thread(target=ended, args=(error,), name=f"{call} ended", daemon=True).start()

    def read(self, call: str, request: object, timeout_s: float) -> Iterator[Any]:
        """All messages, as they are wanted. Raises `concurrent.futures.CancelledError` if it is closed meanwhile."""
        stream = _begin_coroutine(self._start_stream(call, request, timeout_s)).result()
        try:
            while batch := _begin_coroutine(_next_batch(stream)).result():
                yield from batch
        finally:
            _event_loop().call_soon_threadsafe(stream.cancel)

    async def _start_stream(self, call: str, request: object, timeout_s: float) -> Any:
        return getattr(self._stub, call)(request, timeout=timeout_s, metadata=self._metadata)

    def close(self) -> None:
        """End all streams of the worker."""
        _begin_coroutine(self._channel.close()).result()


async def _next_batch(stream: Any) -> list[Any]:
    """The next messages; none at the end."""
    messages: list[Any] = []
    size = 0
    while len(messages) < _BATCH_MESSAGES_MAX and size < _BATCH_BYTES_MAX:
        message = await stream.read()
        if message is grpc.aio.EOF:  # type: ignore[attr-defined]
            break
        messages.append(message)
        size += message.ByteSize()
    return messages
