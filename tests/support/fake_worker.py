"""A worker that speaks the protocol and does nothing: for what the client must do when a worker misbehaves.

Run with PORT_FILE MODE. The secret comes on standard input, as for the real one.
"""

# ruff: noqa: N802 - the names are the protocol's

from __future__ import annotations

import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc

from tidegauge.worker.generated import worker_pb2 as pb
from tidegauge.worker.generated.worker_pb2_grpc import WorkerServicer, add_WorkerServicer_to_server

MODE = sys.argv[2]
SECRET = sys.stdin.readline().strip()


class FakeWorker(WorkerServicer):
    def Handshake(self, request: Any, context: Any) -> Any:
        if ("tidegauge-secret", SECRET) not in [tuple(item) for item in context.invocation_metadata()]:
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "the secret is wrong")
        if MODE == "refuses version":
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, "worker speaks protocol 9")
        version = 9 if MODE == "other version" else request.protocol_version
        return pb.HandshakeReply(protocol_version=version, pid=os.getpid(), drivers={"null": "1"}, jvm_flags=["-Xmx1m"])

    def Hold(self, requests: Any, context: Any) -> Any:
        with Path("holds").open("a") as file:
            for request in requests:
                file.write(f"{request.lease_ms}\n")
                file.flush()
        return pb.HoldReply()

    def Probe(self, request: Any, context: Any) -> Any:
        if request.connection.settings.get("fail"):
            context.set_trailing_metadata((("tidegauge-refused", request.connection.settings["fail"]),))
            context.abort(grpc.StatusCode.UNAVAILABLE, "no leader\n for the partition")
        return pb.ProbeReply(took_ns=1_500_000_000)

    def Totals(self, request: Any, context: Any) -> Any:
        if MODE == "full":
            print("Terminating due to java.lang.OutOfMemoryError: Java heap space", file=sys.stderr, flush=True)
            os._exit(3)
        print("java.lang.IllegalStateException: out of ideas", file=sys.stderr, flush=True)
        if MODE == "dies":
            os._exit(3)
        if MODE == "raises":
            raise ValueError
        if MODE == "big":
            return pb.TotalFigures(window=pb.WindowFigures(response=b"x" * (20 << 20)))
        time.sleep(1000)
        raise AssertionError

    def Watch(self, request: Any, context: Any) -> Any:
        for second in range(request.from_second, 5):
            yield pb.SecondFigures(second=second, acked=10 * second)
        if MODE == "dies":
            os._exit(3)

    def Sequences(self, request: Any, context: Any) -> Any:
        for producer in range(100):
            yield pb.SequencesPart(sent=pb.SentSequences(producer=producer, sent=2, unknown=b"x" * 3_000))
        if MODE == "dies":
            os._exit(3)
        if MODE == "silent":
            time.sleep(1000)

    asked = 0

    def Prepare(self, request: Any, context: Any) -> Any:
        while self.asked < 10 or MODE == "stuck":
            time.sleep(0.01)
        return pb.PrepareReply()

    def PrepareProgress(self, request: Any, context: Any) -> Any:
        """Further at every second question, unless it is stuck."""
        self.asked += 1
        done = 0 if MODE == "stuck" else self.asked // 2
        return pb.PrepareProgressReply(what="partitions", done=done, total=9)

    def Finish(self, request: Any, context: Any) -> Any:
        Path("finishing").touch()
        time.sleep(1.5)
        return pb.FinishReply()

    def DeleteTopics(self, request: Any, context: Any) -> Any:
        with Path("deleted").open("a") as file:
            file.write(f"{len(request.topics)} {len(request.kept_topics)}\n")
        return pb.DeleteTopicsReply()

    def Shutdown(self, request: Any, context: Any) -> Any:
        Path("shutdown").touch()
        return pb.ShutdownReply()


server = grpc.server(ThreadPoolExecutor(8))
add_WorkerServicer_to_server(FakeWorker(), server)
port = server.add_insecure_port("127.0.0.1:0")
server.start()
Path(sys.argv[1]).write_text(str(port))
server.wait_for_termination()
