"""What servers in Java share: JVM flags, logging, properties files, ZooKeeper's settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tidegauge.agent.api import ProcessSpec
from tidegauge.config.jvm_options import with_jvm_options
from tidegauge.distribution.cache import cache_directory, make_directory
from tidegauge.errors import StartFailedError
from tidegauge.systems.api import LOOPBACK, DeployRequest, Seat


def properties_text(settings: Mapping[str, str]) -> str:
    """Java properties, sorted by name. Pure. Line breaks and backslashes in values are escaped."""
    escaped = {key: value.replace("\\", "\\\\").replace("\n", "\\n") for key, value in settings.items()}
    return "".join(f"{key}={value}\n" for key, value in sorted(escaped.items()))


def log4j2_text(levels: Mapping[str, str]) -> str:
    """Everything from INFO on, with exceptions for the loggers named in `levels` (logger: level)."""
    loggers = "".join(f'    <Logger name="{name}" level="{level}"/>\n' for name, level in sorted(levels.items()))
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<Configuration status="WARN" shutdownHook="disable">\n'
        '  <Appenders><Console name="out" target="SYSTEM_OUT">\n'
        '    <PatternLayout pattern="%d{ISO8601} %-5level %c{1} [%t] %msg%n%throwable"/>\n'
        "  </Console></Appenders>\n"
        "  <Loggers>\n"
        f"{loggers}"
        '    <Root level="info"><AppenderRef ref="out"/></Root>\n'
        "  </Loggers>\n"
        "</Configuration>\n"
    )


NATIVE_ACCESS_SINCE = 22
UNSAFE_WARNINGS_SINCE = 23
ARCHIVES_SINCE = 19
STOP_GRACE_S = 20.0
ARCHIVING_S_MAX = 90.0
"""A JVM that writes its archive when it ends does so with all it can get of a busy machine."""
GC_LOG_MB_MAX = 8


def jvm_flags(request: DeployRequest, heap_mb: int, direct_memory_mb: int, data_directory: Path) -> tuple[str, ...]:
    """Flags for memory and collector. The heap has one size from the start: growing it is no part of a measurement."""
    major = java_major(request.distribution.java_version)
    flags = [
        f"-Xms{heap_mb}m",
        f"-Xmx{heap_mb}m",
        f"-XX:MaxDirectMemorySize={direct_memory_mb}m",
        "-XX:+UseG1GC",
        "-XX:MaxGCPauseMillis=20",
        "-XX:+ExplicitGCInvokesConcurrent",
        # Figures of the JVM are not mapped to a file: writing that file can stall the collector.
        "-XX:+PerfDisableSharedMem",
        # A server that ran out of memory must end, not limp on and be measured.
        "-XX:+ExitOnOutOfMemoryError",
        f"-XX:ErrorFile={data_directory}/jvm-crash.log",
        f"-Djava.io.tmpdir={data_directory}/tmp",
        "-Djava.awt.headless=true",
        "-Djava.net.preferIPv4Stack=true",
    ]
    if major >= NATIVE_ACCESS_SINCE:
        flags.append("--enable-native-access=ALL-UNNAMED")
    if major >= UNSAFE_WARNINGS_SINCE:
        flags.append("--sun-misc-unsafe-memory-access=allow")
    return with_jvm_options(flags, request.jvm)


def quick_start_flags(request: DeployRequest) -> tuple[str, ...]:
    """Flags of servers that are started often: a Kafka node needs 2.1 instead of 6.2 CPU seconds until it serves.

    Compiled once and plainly, and with the classes that the process before it had loaded, from an archive (JEP 350)
    that the first one to end in peace leaves in the cache (`archive_flags`). A JVM that finds no archive, or that of
    another Java, goes without. Empty where starts are rare. Pure.
    """
    if not request.starts_often:
        return ()
    return ("-XX:TieredStopAtLevel=1", *(("-XX:+AutoCreateSharedArchive",) if _has_archives(request) else ()))


def archive_flags(request: DeployRequest, process: str) -> tuple[str, ...]:
    """Where one process has its archive: several that end at the same time would write the same file.

    Raises `UserError` if the cache can't be written.
    """
    if not request.starts_often or not _has_archives(request):
        return ()
    place = make_directory(cache_directory() / "archives" / request.distribution.directory.parent.name)
    return (f"-XX:SharedArchiveFile={place / f'{process}-java{request.distribution.java_version}.jsa'}",)


def _has_archives(request: DeployRequest) -> bool:
    return java_major(request.distribution.java_version) >= ARCHIVES_SINCE


def stop_grace_s(request: DeployRequest, usual_s: float) -> float:
    """How long a server may take to end."""
    return max(usual_s, ARCHIVING_S_MAX) if request.starts_often else usual_s


def java_major(java_version: str) -> int:
    """17 of "17.0.15"."""
    return int(java_version.partition(".")[0].partition("-")[0].partition("+")[0])


def java_process(
    name: str,
    java_home: Path | None,
    arguments: Sequence[str],
    *,
    cwd: Path,
    log_path: Path,
    stop_grace_s: float = STOP_GRACE_S,
    follow_gc: bool = True,
) -> ProcessSpec:
    """A Java process with nothing inherited from our environment, so that a stray JAVA_TOOL_OPTIONS changes nothing.

    `follow_gc`: its collector's pauses are logged and followed; of no use for a tool that ends by itself.
    """
    if java_home is None:
        raise StartFailedError(f"{name} needs a Java runtime and none was chosen for it.")
    gc_log = log_path.with_name(f"{log_path.stem}-gc.log") if follow_gc else None
    return ProcessSpec(
        name=name,
        argv=(str(java_home / "bin" / "java"), *(_gc_flags(gc_log, arguments) if gc_log else ()), *arguments),
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": str(cwd), "JAVA_HOME": str(java_home)},
        cwd=str(cwd),
        log_path=str(log_path),
        stop_grace_s=stop_grace_s,
        gc_log_path=str(gc_log) if gc_log else "",
    )


def java_server(
    request: DeployRequest,
    name: str,
    flags: Sequence[str],
    main: Sequence[str],
    *,
    seat: Seat = LOOPBACK,
    directory: Path | None = None,
    usual_grace_s: float = STOP_GRACE_S,
    follow_gc: bool = True,
) -> ProcessSpec:
    """A process of the distribution's jars. `main`: class and arguments; `directory`: if not the trial's own."""
    class_path = ("-cp", f"{request.distribution.directory}/*")
    spec = java_process(
        name,
        request.distribution.java_home,
        (*flags, *archive_flags(request, name), *class_path, *main),
        cwd=directory or request.data_directory,
        log_path=request.log_path(name),
        stop_grace_s=stop_grace_s(request, usual_grace_s),
        follow_gc=follow_gc,
    )
    return replace(spec, network_node=seat.link)


def _gc_flags(path: Path, flags: Sequence[str]) -> tuple[str, ...]:
    """A line for each pause, written by a thread of its own so that a slow disk can't prolong one.

    ZGC's pauses are phases of a collection, and other collectors have phases that are no pauses.
    """
    what = "gc,gc+phases" if "-XX:+UseZGC" in flags else "gc"
    return ("-Xlog:async", f'-Xlog:{what}:file="{path}":uptime,tags:filecount=1,filesize={GC_LOG_MB_MAX}m')


def zookeeper_settings(port: int, data_directory: Path, address: str) -> dict[str, str]:
    """ZooKeeper's configuration, in Java's properties format. `address`: where it listens. Pure."""
    return {
        "tickTime": "2000",
        "dataDir": str(data_directory),
        "clientPort": str(port),
        "clientPortAddress": address,
        "maxClientCnxns": "0",
        "admin.enableServer": "false",
        # Metadata is on disk before it counts, at every level.
        "forceSync": "yes",
    }
