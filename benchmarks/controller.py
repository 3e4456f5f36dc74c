"""What many load generators cost the controller over real gRPC, each with 10 producers and 10 consumer groups.

    .venv/bin/python benchmarks/controller.py                       10, 100 and 1,000 of them, about 2 minutes
    .venv/bin/python benchmarks/controller.py --workers 10 --seconds 3

Two processes play the workers, each of which has a port of its own: they send recorded seconds when these end, and hand
over totals and sets of sequences. The controller is the product's: `GrpcWorker` and `WorkerGroup`, in a process of its
own for each row. See workers.md.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import grpc

sys.path.insert(0, str(Path(__file__).resolve().parent))

from merging import GROUPS, histogram, second
from pyroaring import BitMap64

from tidegauge.agent.api import ProcessStatus
from tidegauge.distribution.java import JavaRuntime
from tidegauge.model.workload import Workload
from tidegauge.worker.api import LoadOrder
from tidegauge.worker.client import PROTOCOL_VERSION, GrpcWorker, WorkerProcess
from tidegauge.worker.generated import worker_pb2 as pb
from tidegauge.worker.group import WorkerGroup
from tidegauge.worker.site import Installed, Site

SERVICE = "tidegauge.worker.v1.Worker"
PRODUCERS = GROUPS
SECOND_NS = 1_000_000_000
PLAYERS_MAX = 2
"""Processes that play workers."""


class Player:
    """Some of the workers, in one process."""

    def __init__(self, numbers: range, workers: int, seconds: int, messages: int) -> None:
        self._workers = workers
        self._seconds = seconds
        self._begin_ns: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        encodings = [histogram(messages, seed) for seed in range(100)]
        self._recorded = {number: _second_bytes(number, encodings) for number in numbers}
        # A subscription of a worker receives, of 10 producers, what a second has of it.
        self._received = PRODUCERS * 1_000 * seconds
        own = BitMap64()
        own.add_range(0, 1_000 * seconds)
        own.run_optimize()
        self._set = own.serialize()

    async def watch(self, number: int, _request: Any, _context: Any) -> AsyncIterator[bytes]:
        """Each second once it is over. What comes last in a message's bytes wins."""
        begin_ns = await asyncio.shield(self._begin_ns)
        for place in range(self._seconds):
            from_ns = begin_ns + place * SECOND_NS
            span = pb.SecondFigures(second=place, from_mono_ns=from_ns, until_mono_ns=from_ns + SECOND_NS)
            await asyncio.sleep(max(0.0, (from_ns + SECOND_NS - time.monotonic_ns()) / 1e9))
            yield self._recorded[number] + span.SerializeToString()

    async def sequences(self, number: int, _request: Any, _context: Any) -> AsyncIterator[bytes]:
        """All that a producer sent is received by the next worker, in the next subscription by the one after it."""
        sent = 1_000 * self._seconds
        for producer in range(number, PRODUCERS * self._workers, self._workers):
            part = pb.SequencesPart(sent=pb.SentSequences(producer=producer, sent=sent))
            yield part.SerializeToString()
        for sub in range(GROUPS):
            for producer in range((number - sub - 1) % self._workers, PRODUCERS * self._workers, self._workers):
                received = pb.ReceivedSequences(subscription=f"sub-{sub}", producer=producer, received=self._set)
                yield pb.SequencesPart(received=received).SerializeToString()

    async def answer(self, call: str, request: bytes) -> Any:
        """What is asked beside that."""
        if call == "Handshake":
            return pb.HandshakeReply(protocol_version=PROTOCOL_VERSION, pid=os.getpid())
        if call == "Start":
            at_ns = pb.StartRequest.FromString(request).at_mono_ns
            if not self._begin_ns.done():
                self._begin_ns.set_result(at_ns)
            return pb.StartReply(started_mono_ns=at_ns)
        if call == "Totals":
            subs = [pb.SubscriptionTotals(name=f"sub-{n}", unique=self._received) for n in range(GROUPS)]
            return pb.TotalFigures(sent=self._received, acked=self._received, subscriptions=subs)
        return pb.FinishReply()  # Any empty message.

    def handler(self, number: int) -> grpc.GenericRpcHandler[Any, Any]:
        """The service of one worker."""

        async def hold(requests: AsyncIterator[bytes], _context: Any) -> bytes:
            async for _ in requests:
                pass
            return b""

        def unary(call: str) -> Any:
            async def reply(request: bytes, _context: Any) -> bytes:
                answer: bytes = (await self.answer(call, request)).SerializeToString()
                return answer

            return grpc.unary_unary_rpc_method_handler(reply)

        def stream(method: Any) -> Any:
            async def parts(request: bytes, context: Any) -> AsyncIterator[bytes]:
                async for part in method(number, request, context):
                    yield part

            return grpc.unary_stream_rpc_method_handler(parts)

        handlers = {"Hold": grpc.stream_unary_rpc_method_handler(hold)}
        calls = ("Handshake", "CreateTopics", "Prepare", "PrepareProgress", "Start", "SetWindow", "StopProducers")
        handlers |= {call: unary(call) for call in (*calls, "Totals", "Finish", "Shutdown")}
        handlers |= {"Watch": stream(self.watch), "Sequences": stream(self.sequences)}
        return grpc.method_handlers_generic_handler(SERVICE, handlers)


def _second_bytes(number: int, encodings: list[bytes]) -> bytes:
    figures = second(0, number, encodings)
    plain = {each.name: getattr(figures, each.name) for each in fields(figures)}
    del plain["subscriptions"], plain["workers"]
    plain["sent"] = plain["acked"] = PRODUCERS * 1_000
    subs = [pb.SubscriptionSecond(**asdict(sub)) for sub in figures.subscriptions]
    return pb.SecondFigures(**plain, subscriptions=subs).SerializeToString()


async def play(numbers: range, workers: int, seconds: int, messages: int) -> None:
    """Play some workers until the process is ended; prints their ports first."""
    player = Player(numbers, workers, seconds, messages)
    servers, ports = [], []
    for number in numbers:
        server = grpc.aio.server()
        server.add_generic_rpc_handlers((player.handler(number),))
        ports.append(server.add_insecure_port("127.0.0.1:0"))
        await server.start()
        servers.append(server)
    print(json.dumps(ports), flush=True)
    await asyncio.gather(*(server.wait_for_termination() for server in servers))


class NoHost:
    """The host of workers that nobody can start or stop."""

    def status(self, name: str) -> ProcessStatus:
        """Always running."""
        return ProcessStatus(name, 0, True, None, 0.0, 0)

    def stop(self, name: str) -> None:
        """Nothing to do."""

    def remove_directory(self, path: Path) -> None:
        """Nothing to do."""


def control(ports: list[int], seconds: int) -> dict[str, float]:
    """One trial of the controller; what it cost."""
    count = len(ports)
    measured: dict[str, float] = {"workers": count, "memory_before_mb": resident_mb()}
    with timed(measured, "connect"):
        members = [GrpcWorker(process_of(number, port)) for number, port in enumerate(ports)]
    group = WorkerGroup(members)
    with timed(measured, "prepare"):
        group.prepare(order_for(count))
    began_s = time.monotonic()
    begin_ns = group.start()
    measured["start_answered_s"] = time.monotonic() - began_s
    measured["start_lead_s"] = begin_ns / 1e9 - began_s
    group.set_window(begin_ns, begin_ns + seconds * SECOND_NS)
    late_s = []
    watching = group.watch()
    with timed(measured, "idle"):
        time.sleep(max(0.0, begin_ns / 1e9 - time.monotonic()))
    with timed(measured, "watch"):
        for figures in watching:
            late_s.append((time.monotonic_ns() - figures.until_mono_ns) / 1e9)
            measured["threads"] = max(measured.get("threads", 0), threads())
    assert len(late_s) == seconds, (len(late_s), seconds)
    measured["late_s"], measured["late_s_max"] = sorted(late_s)[len(late_s) // 2], max(late_s)
    measured["memory_watching_mb"] = resident_mb()
    group.stop_producers(0.0)
    with timed(measured, "totals"):
        totals = group.totals()
    assert [sub.lost for sub in totals.subscriptions] == [0] * GROUPS, totals.subscriptions
    assert totals.subscriptions[0].unique == totals.sent == count * PRODUCERS * 1_000 * seconds
    group.finish(delete_topics=True)
    with timed(measured, "close"):
        group.close()
    measured["memory_most_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return measured


def process_of(number: int, port: int) -> WorkerProcess:
    """As `start_worker` makes it, but that it has no files."""
    name = f"worker-{number + 1}"
    host: Any = NoHost()
    nowhere = Path("/nonexistent")
    site = Site(host, Installed(JavaRuntime(Path("/"), "", 0), (), nowhere, nowhere))
    return WorkerProcess(host, site, name, port, "secret", nowhere / f"{name}.log", nowhere / name)


def order_for(count: int) -> LoadOrder:
    """10 producers and a consumer of each of 10 subscriptions, each worker."""
    workload = Workload(topics=1, producers=PRODUCERS * count, subscriptions=GROUPS, consumers=count)
    return LoadOrder({}, "null", "null", ("t",), 1, {}, "all", workload, 1e4 * count, 1, 1, 1.0)


@contextlib.contextmanager
def timed(measured: dict[str, float], name: str) -> Iterator[None]:
    """Wall and CPU seconds (all threads) of a step."""
    began_s, began_cpu_s = time.monotonic(), time.process_time()
    yield
    measured[f"{name}_s"] = time.monotonic() - began_s
    measured[f"{name}_cpu_s"] = time.process_time() - began_cpu_s
    print(f"{name}: {measured[f'{name}_s']:.2f} s, {measured[f'{name}_cpu_s']:.2f} CPU-s", file=sys.stderr, flush=True)


def resident_mb() -> float:
    """Of this process, now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20


def threads() -> int:
    """Of this process, gRPC's own among them."""
    return sum(1 for _ in Path("/proc/self/task").iterdir())


def measure(count: int, seconds: int, messages: int) -> dict[str, float]:
    """One row, in processes of its own."""
    players = min(PLAYERS_MAX, count)
    each = -(-count // players)
    this = [sys.executable, __file__, "--seconds", str(seconds), "--messages", str(messages)]
    with contextlib.ExitStack() as undo:
        started = []
        for first in range(0, count, each):
            of = ["--play", str(first), str(min(count, first + each)), str(count)]
            player = subprocess.Popen([*this, *of], stdout=subprocess.PIPE, text=True)
            undo.callback(player.wait)
            undo.callback(player.kill)
            started.append(player)
        ports = [port for player in started for port in json.loads(player.stdout.readline())]  # type: ignore[union-attr]
        done = subprocess.run(
            [*this, "--control"], input=json.dumps(ports), stdout=subprocess.PIPE, text=True, check=True, timeout=600
        )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def row(found: dict[str, float], seconds: int) -> str:
    """Of the table, whose columns `HEAD` names."""
    count = found["workers"]
    cpu_s = found["watch_cpu_s"] / seconds
    own_mb = (found["memory_watching_mb"] - found["memory_before_mb"]) / count
    cells = [
        f"{count:,.0f}",
        f"{cpu_s:.3f}",
        f"{cpu_s / count * 1e3:.2f}",
        f"{found['late_s']:.2f} ({found['late_s_max']:.2f})",
        f"{found['threads']:,.0f}",
        f"{found['memory_watching_mb']:.0f} ({own_mb:.2f})",
        f"{found['totals_s']:.1f} ({found['totals_cpu_s']:.1f})",
    ]
    return f"| {' | '.join(cells)} |"


HEAD = """\
| workers | CPU-s a merged second | each, ms | late, s (most) | threads | MB (of each worker) | totals, s (CPU-s) |
| --- | --- | --- | --- | --- | --- | --- |"""


def main() -> None:
    """Print a table; all that was measured goes to standard error."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, nargs="+", default=[10, 100, 1000])
    parser.add_argument("--seconds", type=int, default=10, help="of a trial (10)")
    parser.add_argument("--messages", type=int, default=1000, help="in each histogram of a second (1,000)")
    parser.add_argument("--play", type=int, nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--control", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.play:
        first, until, workers = options.play
        asyncio.run(play(range(first, until), workers, options.seconds, options.messages))
        return
    if options.control:
        print(json.dumps(control(json.loads(sys.stdin.read()), options.seconds)), flush=True)
        return
    print(HEAD)
    for count in options.workers:
        found = measure(count, options.seconds, options.messages)
        print(row(found, options.seconds), flush=True)
        print(json.dumps({name: round(value, 3) for name, value in found.items()}), file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
