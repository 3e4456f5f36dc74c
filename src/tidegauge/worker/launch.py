"""Starting the Java worker on a host."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

from tidegauge.distribution.cache import cache_directory, make_directory
from tidegauge.distribution.java import JavaRuntime, find_java
from tidegauge.fleet.api import Host, ProcessSpec
from tidegauge.hosts.storage import results_directory
from tidegauge.model.load import worker_name
from tidegauge.worker.api import DIRECT_MEMORY_MB_LEAST, HEAP_MB_LEAST, LoadWorker, WorkerStartError
from tidegauge.worker.archive import JAVA_MAJOR_MIN, Archives, worker_class_path
from tidegauge.worker.client import GrpcWorker, WorkerProcess, cause_from_log
from tidegauge.worker.group import WorkerGroup

MAIN_CLASS = "io.tidegauge.worker.app.Main"
JAVA_MAJOR_BOUNDED_COPIES = 25
_POLL_S = 0.05
_OPENED = ("java.base/java.nio", "java.base/sun.nio.ch", "java.base/jdk.internal.misc", "java.base/java.lang")


@dataclass(frozen=True)
class WorkerOptions:
    """How the worker's JVM is set up. Sizes in MiB; `jvm_flags` come last and so win.

    Attributes:
        timer_slack_ns: 1 lets a sleeping load thread wake within microseconds of its schedule (Linux default 50,000).
        spin_share_max: of a CPU, 0 to 1, that each load thread may spin away to send when messages are due.
        archives: where it finds, or leaves, what JVMs learnt about its code; None = it learns anew.
        records_archive: whether it leaves what it learnt, if nothing is there.
    """

    heap_mb: int = HEAP_MB_LEAST
    direct_memory_mb: int = DIRECT_MEMORY_MB_LEAST
    jvm_flags: tuple[str, ...] = ()
    stop_grace_s: float = 5.0
    start_timeout_s: float = 60.0
    timer_slack_ns: int = 1
    spin_share_max: float = 0.05
    archives: Archives | None = None
    records_archive: bool = True


ONE = "worker"
"""Name of the process where a trial has one worker."""
_ANSWER_S_MAX = 10.0
"""Of one of several workers: the others wait for it."""


def start_workers(
    host: Host, driver: str, log_directory: Path, options: WorkerOptions | None = None, count: int = 1
) -> LoadWorker:
    """Start so many workers, of which all that are there act as one. Raises as `start_worker` does, and ends those."""
    if count == 1:
        return start_worker(host, driver, log_directory, options)
    options = options or WorkerOptions()
    started: list[GrpcWorker] = []
    with contextlib.ExitStack() as undo:
        for number in range(count):
            # Each would write the same archive.
            own = options if number == 0 else replace(options, records_archive=False)
            words = f"{worker_name(number, count)} on {host.name}"
            started.append(start_worker(host, driver, log_directory, own, f"{ONE}-{number + 1}", words=words))
            undo.callback(started[-1].close)
        undo.pop_all()
    return WorkerGroup(started)


def start_worker(
    host: Host,
    driver: str,
    log_directory: Path,
    options: WorkerOptions | None = None,
    name: str = ONE,
    *,
    words: str = WorkerProcess.words,
) -> GrpcWorker:
    """Start a worker with one driver and shake hands with it. `words` is what messages call it.

    Raises `UserError` if it is not built or there is no Java for it, `StartFailedError` with the cause from its log.
    """
    options = options or WorkerOptions()
    jars = worker_class_path(driver)
    java = find_java("The load generator", JAVA_MAJOR_MIN)
    scratch = _scratch_directory(host)
    archive = options.archives.of(java, driver) if options.archives else None
    if archive is not None and not archive.exists and not options.records_archive:
        archive = None
    secret = secrets.token_hex(16)
    log_path = log_directory / f"{name}.log"
    flags = [*jvm_flags(java, options, scratch), *(archive.flags(scratch) if archive else ())]
    argv = (str(java.executable), *flags, "-cp", os.pathsep.join(map(str, jars)), MAIN_CLASS)
    spec = ProcessSpec(
        name=name,
        argv=(*argv, "--port-file", str(scratch / "port"), "--results", str(results_directory())),
        env=_environment(),
        cwd=str(scratch),
        log_path=str(log_path),
        stdin_text=secret + "\n",
        stop_grace_s=options.stop_grace_s,
        timer_slack_ns=options.timer_slack_ns,
    )
    with contextlib.ExitStack() as undo:
        undo.callback(shutil.rmtree, scratch, ignore_errors=True)
        host.start(spec)
        undo.callback(host.stop, name)
        subject = words[:1].upper() + words[1:]
        port = _await_port(host, name, scratch / "port", log_path, options.start_timeout_s, subject=subject)
        process = WorkerProcess(
            host,
            name,
            port,
            secret,
            log_path,
            scratch,
            options.heap_mb,
            spin_share_max=options.spin_share_max,
            archive=archive,
            words=words,
            answer_s_max=WorkerProcess.answer_s_max if name == ONE else _ANSWER_S_MAX,
        )
        worker = GrpcWorker(process)
        undo.pop_all()
    return worker


def _scratch_directory(host: Host) -> Path:
    """A directory of the worker's own, which goes in every case: here, when the worker closes, or by the agent."""
    place = Path(tempfile.gettempdir())
    if os.statvfs(place).f_flag & os.ST_NOEXEC:
        # Clients unpack native libraries into it, such as zstd's, which could not be loaded from there.
        place = make_directory(cache_directory() / "scratch")
    scratch = Path(tempfile.mkdtemp(prefix="tidegauge-worker-", dir=place))
    try:
        host.track_directory(scratch)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise
    return scratch


def _environment() -> dict[str, str]:
    """What the worker inherits: nothing but this."""
    # glibc gives each thread a heap of its own, which many client threads turn into 100 MB: two are enough.
    return {"PATH": os.defpath, "HOME": str(Path.home()), "LANG": "C.UTF-8", "MALLOC_ARENA_MAX": "2"}


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
    ]
    if java.major >= JAVA_MAJOR_BOUNDED_COPIES:
        # The JDK keeps a native copy of each thread's largest read or write, unless it is larger than this. Older ones
        # then allocate and clear one as large as the rest of the heap buffer at each read: CPU-seconds per GB of large
        # reads without and with the flag were 0.19 and 0.28 on Java 17, 0.185 and 0.27 on 21, 0.17 and 0.17 on 25.
        flags.append("-Djdk.nio.maxCachedBufferSize=262144")
    if java.major >= 23:
        flags.append("--sun-misc-unsafe-memory-access=allow")
    return [*flags, *options.jvm_flags]


def _await_port(host: Host, name: str, port_file: Path, log_path: Path, timeout_s: float, *, subject: str) -> int:
    """The port the worker listens on, once it does. Raises `WorkerStartError`."""
    deadline_s = time.monotonic() + timeout_s
    while True:
        text = port_file.read_text().strip() if port_file.exists() else ""
        if text:
            return int(text)
        status = host.status(name)
        if not status.running:
            cause = cause_from_log(log_path) or "its log is empty"
            raise WorkerStartError(
                f"{subject} ended while starting (exit code {status.exit_code}): {cause}", "", log_path
            )
        if time.monotonic() > deadline_s:
            raise WorkerStartError(
                f"{subject} was not ready within {timeout_s:.0f} s.", "Is the machine busy?", log_path
            )
        time.sleep(_POLL_S)
