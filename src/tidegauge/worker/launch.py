"""Starting the Java worker on a host."""

from __future__ import annotations

import base64
import contextlib
import os
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol, Self

from tidegauge.agent.api import Host, ProcessSpec
from tidegauge.config.jvm_options import with_jvm_options
from tidegauge.distribution.java import JavaRuntime
from tidegauge.model.load import worker_name
from tidegauge.worker.api import DIRECT_MEMORY_MB_LEAST, HEAP_MB_LEAST, LoadWorker, WorkerStartError
from tidegauge.worker.archive import Archives
from tidegauge.worker.client import GrpcWorker, WorkerProcess
from tidegauge.worker.group import MemberClocks, WorkerGroup
from tidegauge.worker.site import Installation, Site

MAIN_CLASS = "io.tidegauge.worker.app.Main"
JAVA_MAJOR_BOUNDED_COPIES = 25
_POLL_S = 0.05
_START_S_MAX = 60.0
_STOP_GRACE_S = 5.0
_TIMER_SLACK_NS = 1
"""Lets a sleeping load thread wake within microseconds of its schedule (Linux default 50,000)."""
_PORT_CHARS_MAX = 16
_OPENED = ("java.base/java.nio", "java.base/sun.nio.ch", "java.base/jdk.internal.misc", "java.base/java.lang")


@dataclass(frozen=True)
class WorkerOptions:
    """How the worker's JVM is set up. Sizes in MiB.

    Attributes:
        jvm: options of the JVM, which win over Tidegauge's own: {"UseZGC": "true"} (see `config.jvm_options`).
        spin_share_max: of a CPU, 0 to 1, that each load thread may spin away to send when messages are due.
        grain_ns: half of the messages may be so late, to be sent together; None = as the worker does by itself.
        archives: where it finds, or leaves, what JVMs learnt about its code; None = it learns anew.
        records_archive: whether it leaves what it learnt, if nothing is there.
    """

    heap_mb: int = HEAP_MB_LEAST
    direct_memory_mb: int = DIRECT_MEMORY_MB_LEAST
    jvm: Mapping[str, str] = field(default_factory=dict)
    spin_share_max: float = 0.05
    grain_ns: int | None = None
    archives: Archives | None = None
    records_archive: bool = True


ONE = "worker"
"""Name of the process where a trial has one worker."""
_ANSWER_S_MAX = 10.0
"""Of one of several workers: the others wait for it."""


class WorkerHosts(MemberClocks, Protocol):
    """Other hosts than this one, for workers."""

    def sites(self, driver: str) -> Sequence[Site]:
        """The place of each worker with a driver."""

    def of_first(self, count: int) -> Self:
        """The same for so many workers alone, the first ones."""


def start_workers(
    host: Host,
    driver: str,
    log_directory: Path,
    options: WorkerOptions | None = None,
    count: int = 1,
    *,
    elsewhere: WorkerHosts | None = None,
) -> LoadWorker:
    """Start so many workers, of which all that are there act as one. Raises as `start_worker` does, and ends those.

    `elsewhere`: the hosts on which they are started, instead of this one.
    """
    if count == 1 and elsewhere is None:
        return start_worker(host, driver, log_directory, options)
    options = options or WorkerOptions()
    sites = elsewhere.sites(driver) if elsewhere else [None] * count
    started: list[GrpcWorker] = []
    with contextlib.ExitStack() as undo:
        for number, site in enumerate(sites):
            # Each would write the same archive.
            options_of_worker = options if number == 0 else replace(options, records_archive=False)
            words = f"{worker_name(number, count)} on {site.address if site else host.name}"
            name = f"{ONE}-{number + 1}"
            started.append(start_worker(host, driver, log_directory, options_of_worker, name, words=words, site=site))
            undo.callback(started[-1].close)
        undo.pop_all()
    return WorkerGroup(started, elsewhere)


def start_worker(
    host: Host,
    driver: str,
    log_directory: Path,
    options: WorkerOptions | None = None,
    name: str = ONE,
    *,
    words: str = WorkerProcess.words,
    site: Site | None = None,
) -> GrpcWorker:
    """Start a worker with one driver and shake hands with it. `words` is what messages call it.

    Raises `UserError` if it is not built or there is no Java for it, `StartFailedError` with the cause from its log.
    """
    options = options or WorkerOptions()
    site = site or Site(host, Installation().find(driver))
    scratch = site.installed.scratch / f"tidegauge-worker-{secrets.token_hex(8)}"
    archive = options.archives.archive_for(site.installed.java, driver) if options.archives and not site.tls else None
    if archive is not None and not archive.exists and not options.records_archive:
        archive = None
    process = WorkerProcess(
        host,
        site,
        name,
        0,
        secrets.token_hex(16),
        log_directory / f"{name}.log",
        scratch,
        options.heap_mb,
        spin_share_max=options.spin_share_max,
        grain_ns=options.grain_ns,
        archive=archive,
        words=words,
        answer_s_max=WorkerProcess.answer_s_max if name == ONE else _ANSWER_S_MAX,
    )
    with contextlib.ExitStack() as undo:
        # It goes in every case: here, when the worker closes, or by the agent.
        undo.callback(site.files.remove_directory, scratch)
        site.files.track_directory(scratch)
        # Nobody else's: programs are unpacked into it.
        site.files.make_directories(scratch, mode=0o700)
        if site.tls:
            site.files.make_directories(log_directory)
        host.start(_process_spec(process, options))
        undo.callback(host.stop, name)
        worker = GrpcWorker(replace(process, port=_await_port(process)))
        undo.pop_all()
    return worker


def _process_spec(process: WorkerProcess, options: WorkerOptions) -> ProcessSpec:
    """How the process is started; its secrets are on its standard input."""
    site, scratch = process.site, process.scratch
    java, archive = site.installed.java, process.archive
    flags = [*jvm_flags(java, options, scratch), *(archive.flags(scratch) if archive else ())]
    argv = (str(java.executable), *flags, "-cp", os.pathsep.join(map(str, site.installed.jars)), MAIN_CLASS)
    # What a worker that is reached from another host reads behind its secret.
    if site.tls is None:
        server_keys = []
    else:
        key, certificate = site.tls.new_server()
        server_keys = [
            base64.b64encode(pem).decode() for pem in (key.encode(), certificate.encode(), site.tls.authority)
        ]
    return ProcessSpec(
        name=process.name,
        argv=(
            *argv,
            "--port-file",
            str(scratch / "port"),
            "--results",
            str(site.installed.results),
            *(() if site.tls is None else ("--listen", f"{site.address}:{site.tls.ports[0]}-{site.tls.ports[-1]}")),
        ),
        # Nothing is inherited. glibc gives each thread a heap of its own, which many client threads turn into 100 MB:
        # two are enough.
        env={"PATH": os.defpath, "HOME": str(Path.home()), "LANG": "C.UTF-8", "MALLOC_ARENA_MAX": "2"},
        cwd=str(scratch),
        log_path=str(process.log_path),
        stdin_text="".join(f"{line}\n" for line in (process.secret, *server_keys)),
        stop_grace_s=_STOP_GRACE_S,
        timer_slack_ns=_TIMER_SLACK_NS,
        network_node=site.link,
    )


def jvm_flags(java: JavaRuntime, options: WorkerOptions, scratch: Path) -> list[str]:
    """Flags of the worker's JVM. A heap of fixed size, touched before the start: no page faults while measuring."""
    flags = [
        f"-Xms{options.heap_mb}m",
        f"-Xmx{options.heap_mb}m",
        f"-XX:MaxDirectMemorySize={options.direct_memory_mb}m",
        "-XX:+UseG1GC",
        "-XX:+AlwaysPreTouch",
        # A worker out of memory would go on measuring something else: end it, with the cause in its log.
        "-XX:+ExitOnOutOfMemoryError",
        # No files in /tmp that a mapped-file writeback could stall on.
        "-XX:-UsePerfData",
        f"-Djava.io.tmpdir={scratch}",
        "--enable-native-access=ALL-UNNAMED",
        *(f"--add-opens={package}=ALL-UNNAMED" for package in _OPENED),
        "-Dio.netty.tryReflectionSetAccessible=true",
        # The service's own TLS is the JDK's everywhere: a wheel has no native library for it.
        "-Dio.grpc.netty.shaded.io.netty.handler.ssl.noOpenSsl=true",
    ]
    if java.major >= JAVA_MAJOR_BOUNDED_COPIES:
        # The JDK keeps a native copy of each thread's largest read or write, unless it is larger than this. Older ones
        # then allocate and clear one as large as the rest of the heap buffer at each read: CPU-seconds per GB of large
        # reads without and with the flag were 0.19 and 0.28 on Java 17, 0.185 and 0.27 on 21, 0.17 and 0.17 on 25.
        flags.append("-Djdk.nio.maxCachedBufferSize=262144")
    if java.major >= 23:
        flags.append("--sun-misc-unsafe-memory-access=allow")
    return [*with_jvm_options(flags, options.jvm)]


def _await_port(process: WorkerProcess) -> int:
    """The port the worker listens on, once it does. Raises `WorkerStartError`."""
    deadline_s = time.monotonic() + _START_S_MAX
    while True:
        text = process.site.files.read_end(process.scratch / "port", _PORT_CHARS_MAX).strip()
        if text:
            return int(text)
        status = process.host.status(process.name)
        if not status.running:
            cause = process.cause_from_log() or "its log is empty"
            raise WorkerStartError(
                f"{process.subject} ended while starting (exit code {status.exit_code}): {cause}", "", process.log_path
            )
        if time.monotonic() > deadline_s:
            raise WorkerStartError(
                f"{process.subject} was not ready within {_START_S_MAX:.0f} s.",
                "Is the machine busy?",
                process.log_path,
            )
        time.sleep(_POLL_S)
