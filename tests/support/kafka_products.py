"""A Kafka broker that answers as other products are documented to: by a policy of its own, and by what a proxy changes.

The proxy reads and writes the answers themselves: DescribeConfigs of version 4, and the list of what is answered.
"""

from __future__ import annotations

import struct
import subprocess
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from java_source import java_of_build
from kafka_proxy import Answer

API_VERSIONS, METADATA, DESCRIBE_CLUSTER, DESCRIBE_CONFIGS = 18, 3, 60, 32
_TOPIC = 2
_CLUSTER_ID_CHARS = 22


def jars_with_policy(jars: Path, directory: Path) -> Path:
    """A directory with a server's jars and the policy of `TopicPolicy.java`, as a version of Kafka."""
    classes = directory / "classes"
    classes.mkdir(parents=True)
    compiler, source = java_of_build().with_name("javac"), Path(__file__).with_name("TopicPolicy.java")
    subprocess.run([str(compiler), "-cp", f"{jars}/*", "-d", str(classes), str(source)], check=True)
    lib = directory / "lib"
    lib.mkdir()
    for jar in jars.glob("*.jar"):
        (lib / jar.name).symlink_to(jar)
    with zipfile.ZipFile(lib / "topic-policy.jar", "w") as archive:
        for path in classes.glob("*.class"):
            archive.write(path, path.name)
    return lib


@dataclass(frozen=True)
class Pretence:
    """What a product answers otherwise than Kafka.

    Attributes:
        hidden, added: names of settings that its topics do not report, and those that they report beside.
        cluster_id: instead of Kafka's; "" = Kafka's.
        unanswered: APIs that it does not say to have.
    """

    hidden: frozenset[str] = frozenset()
    added: Mapping[str, str] = field(default_factory=dict)
    cluster_id: str = ""
    unanswered: frozenset[int] = frozenset()

    async def change(self, answer: Answer) -> bytes:
        """What a client gets instead of an answer."""
        frame = answer.frame
        if answer.api == API_VERSIONS and self.unanswered:
            return _without_apis(frame, self.unanswered)
        if answer.api == DESCRIBE_CONFIGS and (self.hidden or self.added):
            return _with_configs(frame, self)
        if answer.api in (METADATA, DESCRIBE_CLUSTER) and self.cluster_id:
            return _with_cluster_id(frame, self.cluster_id)
        return frame


def _with_cluster_id(frame: bytes, cluster_id: str) -> bytes:
    """The id is the only text of its length, before which stands the length and one."""
    for place in range(len(frame) - _CLUSTER_ID_CHARS):
        text = frame[place + 1 : place + 1 + _CLUSTER_ID_CHARS]
        if frame[place] == _CLUSTER_ID_CHARS + 1 and text.replace(b"-", b"").replace(b"_", b"").isalnum():
            return frame[:place] + _compact(cluster_id.encode()) + frame[place + 1 + _CLUSTER_ID_CHARS :]
    return frame


class _Reader:
    """Reads the flexible encoding of the protocol."""

    def __init__(self, frame: bytes, place: int) -> None:
        self.frame, self.place = frame, place

    def take(self, count: int) -> bytes:
        self.place += count
        return self.frame[self.place - count : self.place]

    def number(self) -> int:
        value = shift = 0
        while True:
            (byte,) = self.take(1)
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def text(self) -> bytes:
        return self.take(max(0, self.number() - 1))

    def skip_tags(self) -> None:
        for _ in range(self.number()):
            self.number()
            self.take(self.number())

    def since(self, read: Callable[[], object]) -> bytes:
        """The bytes that a reading goes over."""
        begin = self.place
        read()
        return self.frame[begin : self.place]


def _varint(value: int) -> bytes:
    encoded = b""
    while value > 127:
        encoded, value = encoded + bytes([value & 127 | 128]), value >> 7
    return encoded + bytes([value])


def _compact(text: bytes) -> bytes:
    return _varint(len(text) + 1) + text


def _without_apis(frame: bytes, unanswered: frozenset[int]) -> bytes:
    reader = _Reader(frame, 6)
    kept = []
    for _ in range(reader.number() - 1):
        entry = reader.take(6)
        entry += reader.since(reader.skip_tags)
        if struct.unpack(">h", entry[:2])[0] not in unanswered:
            kept.append(entry)
    return frame[:6] + _varint(len(kept) + 1) + b"".join(kept) + frame[reader.place :]


def _with_configs(frame: bytes, pretence: Pretence) -> bytes:
    reader = _Reader(frame, 4)
    reader.skip_tags()
    reader.take(4)
    begin = frame[: reader.place]
    results = []
    for _ in range(reader.number() - 1):
        kind = -1

        def read_head() -> None:
            nonlocal kind
            reader.take(2)
            reader.text()
            (kind,) = reader.take(1)
            reader.text()

        head, configs = reader.since(read_head), []
        for _ in range(reader.number() - 1):
            name, config = _read_config(reader)
            if name.decode() not in pretence.hidden:
                configs.append(config)
        if kind == _TOPIC:
            configs += [_config(name, value) for name, value in pretence.added.items()]
        tags = reader.since(reader.skip_tags)
        results.append(head + _varint(len(configs) + 1) + b"".join(configs) + tags)
    return begin + _varint(len(results) + 1) + b"".join(results) + frame[reader.place :]


def _read_config(reader: _Reader) -> tuple[bytes, bytes]:
    """A setting's name, and all of it as it is."""
    begin = reader.place
    name = reader.text()
    reader.text()
    reader.take(3)
    for _ in range(reader.number() - 1):
        reader.text()
        reader.text()
        reader.take(1)
        reader.skip_tags()
    reader.take(1)
    reader.text()
    reader.skip_tags()
    return name, reader.frame[begin : reader.place]


def _config(name: str, value: str) -> bytes:
    """One that is the default, with no synonyms and no documentation."""
    return _compact(name.encode()) + _compact(value.encode()) + b"\x00\x05\x00\x01\x02\x00\x00"
