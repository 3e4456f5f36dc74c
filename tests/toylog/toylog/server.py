"""A log server: topics of one partition, each a file that many may read. With --fsync it syncs before it acknowledges.

The first line of a connection says what it is for: CREATE, DELETE, PRODUCE or CONSUME with a topic, or SETTINGS. A
message is a frame, its length in four bytes before it. An acknowledgement is one byte.
"""

from __future__ import annotations

import argparse
import os
import socketserver
import struct
import threading
from pathlib import Path

READ_BYTES_MAX = 1 << 18
LENGTH = struct.Struct(">I")


class Topic:
    """A file that grows. `grown` is notified of each batch."""

    def __init__(self, path: Path, fsync: bool) -> None:
        self.path = path
        self.fsync = fsync
        self.file = path.open("ab", buffering=0)
        self.bytes = path.stat().st_size
        self.grown = threading.Condition()

    def append(self, frames: bytes) -> None:
        """Keep whole frames; returns when they are as durable as they are to be."""
        with self.grown:
            self.file.write(frames)
            if self.fsync:
                os.fsync(self.file.fileno())
            self.bytes += len(frames)
            self.grown.notify_all()


class Server(socketserver.ThreadingTCPServer):
    """All topics of a directory."""

    daemon_threads = True

    def __init__(self, port: int, directory: Path, fsync: bool) -> None:
        self.directory = directory
        self.fsync = fsync
        self.topics: dict[str, Topic] = {}
        super().__init__(("127.0.0.1", port), Connection)


class Connection(socketserver.StreamRequestHandler):
    """One request, of which producing and consuming go on until the client leaves."""

    server: Server

    def handle(self) -> None:
        """Read the first line and do what it says."""
        verb, _, name = self.rfile.readline().decode().strip().partition(" ")
        topics = self.server.topics
        if verb == "CREATE":
            topics.setdefault(name, Topic(self.server.directory / name, self.server.fsync))
        elif verb == "DELETE":
            topics.pop(name, None)
            (self.server.directory / name).unlink(missing_ok=True)
        elif verb == "SETTINGS":
            self.wfile.write(f"fsync={str(self.server.fsync).lower()}\n".encode())
        elif verb == "PRODUCE":
            self.produce(topics[name])
        elif verb == "CONSUME":
            self.consume(topics[name])

    def produce(self, topic: Topic) -> None:
        """Append what comes and acknowledge each frame, in order."""
        rest = b""
        while data := self.rfile.read1(READ_BYTES_MAX):  # type: ignore[attr-defined]
            data = rest + data
            end = frames = 0
            while end + LENGTH.size <= len(data):
                after = end + LENGTH.size + LENGTH.unpack_from(data, end)[0]
                if after > len(data):
                    break
                end, frames = after, frames + 1
            rest = data[end:]
            if frames:
                topic.append(data[:end])
                self.wfile.write(b"+" * frames)

    def consume(self, topic: Topic) -> None:
        """Send all of it, from the first frame on."""
        with topic.path.open("rb") as file:
            while True:
                with topic.grown:
                    topic.grown.wait_for(lambda: topic.bytes > file.tell())
                    until = topic.bytes
                while (left := until - file.tell()) > 0:
                    self.wfile.write(file.read(min(left, READ_BYTES_MAX)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--fsync", action="store_true")
    given = parser.parse_args()
    Server(given.port, given.directory, given.fsync).serve_forever()
