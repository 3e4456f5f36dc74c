"""Where a worker is started: what is installed there, and how its controller reaches it."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from tidegauge.agent.api import Host
from tidegauge.distribution.cache import cache_directory, make_directory
from tidegauge.distribution.java import JavaRuntime, find_java
from tidegauge.hosts.storage import results_directory
from tidegauge.worker.api import LoadOrder
from tidegauge.worker.archive import JAVA_MAJOR_MIN, worker_class_path

LOOPBACK = "127.0.0.1"
_NATIVE = re.compile(r"\.(so|dll|dylib|jnilib|a)(\.\d+)*$")


@dataclass(frozen=True)
class Installed:
    """What a host has for workers with one driver.

    Attributes:
        jars: their class path, and `digest` of what is in it.
        scratch: under which workers may have directories with programs in them.
        results: where workers leave what they measured.
    """

    java: JavaRuntime
    jars: tuple[Path, ...]
    scratch: Path
    results: Path
    digest: str = ""


@dataclass(frozen=True)
class Tls:
    """Mutual TLS with a worker on another host; PEM.

    Attributes:
        authority: of the run.
        key, certificate: the controller's own.
        new_server: makes a key for a worker, and its certificate.
        ports: which workers may listen at.
    """

    authority: bytes
    key: bytes = field(repr=False)
    certificate: bytes
    new_server: Callable[[], tuple[str, str]]
    ports: range


@dataclass(frozen=True)
class Site:
    """A host's place for workers.

    Attributes:
        files: the host, for directories and files there.
        link: what a process's `network_node` is, for it to be started there.
        tls: None on this host.
        sent_files: where the host has files of message values and keys, by where they are here.
    """

    files: Host
    installed: Installed
    address: str = LOOPBACK
    link: str = ""
    tls: Tls | None = None
    sent_files: Mapping[str, str] = field(default_factory=dict)

    def order_with_its_files(self, order: LoadOrder) -> LoadOrder:
        """The order with files as the host has them."""
        workload = order.workload
        payload = replace(workload.payload, file=self._place_of(workload.payload.file))
        keys = workload.key_file and replace(workload.key_file, path=self._place_of(workload.key_file.path))
        return replace(order, workload=replace(workload, payload=payload, key_file=keys))

    def _place_of(self, file: str) -> str:
        return self.sent_files.get(file, file)


class Installation:
    """Says what the host has on which it runs."""

    def find(self, driver: str) -> Installed:
        """Raises `UserError` if the worker is not built there, or there is no Java for it."""
        jars = worker_class_path(driver)
        place = Path(tempfile.gettempdir())
        if os.statvfs(place).f_flag & os.ST_NOEXEC:
            # Clients unpack native libraries there, such as zstd's, which could not be loaded.
            place = make_directory(cache_directory() / "scratch")
        java = find_java("The load generator", JAVA_MAJOR_MIN)
        return Installed(java, tuple(jars), place, results_directory())

    def with_digest(self, driver: str) -> Installed:
        """What `find` returns, with the digest of the jars, for comparing it with another host's."""
        installed = self.find(driver)
        return replace(installed, digest=digest_of_jars(installed.jars))


def digest_of_jars(jars: Iterable[Path]) -> str:
    """The digest of what is in jars, by its checksums, but native code: a wheel carries only what its platform runs."""
    digest = hashlib.sha256()
    for jar in jars:
        digest.update(jar.name.encode())
        with zipfile.ZipFile(jar) as content:
            for entry in sorted(content.infolist(), key=lambda entry: entry.filename):
                if not _NATIVE.search(entry.filename):
                    digest.update(f"{entry.filename} {entry.CRC}\0".encode())
    return digest.hexdigest()
