"""The kernel's trace buffers (tracefs), and the process that records system calls in an instance of them. Root only.

Nothing of the host's own tracing is touched: an instance has buffers, clock, filters and events of its own. Mounts made
here are seen by this process alone and vanish with it. An instance does not: it lives in the kernel until somebody
removes its directory. So its name says which process made it, and whoever finds the name of a dead one removes it.

`python -m tidegauge.hosts.tracefs` is a process of its own because a mount namespace is, and so that an instance
outlives nobody: when its standard input ends, however its parent ended, it removes what it made and ends.

Standard input: one line of JSON, {"calls": ["fsync", ...], "processes": {"a": 1}}, or {"clean": true}. It answers
with a line, "ready" or "no REASON". Any further line makes it answer with everything recorded, and end. With "clean" it
removes the instances that dead tracers left, and answers with their names, a line each.

Source: Documentation/trace/ftrace.rst and events.rst of the kernel. Needs Linux 4.4 or newer (event-fork: 4.12).
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import signal
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import FrameType

from tidegauge.errors import TidegaugeError
from tidegauge.hosts import procfs
from tidegauge.hosts.commands import call_libc
from tidegauge.hosts.procfs import Identity, threads_of
from tidegauge.hosts.storage import open_descriptor

MOUNT_POINT = Path("/sys/kernel/tracing")
PREFIX = "tidegauge-"
_CLONE_NEWNS = 0x00020000
_MS_NOSUID_NODEV_NOEXEC = 2 | 4 | 8
_MS_REC_PRIVATE = 0x4000 | 1 << 18
_BUFFER_KB = 1024
_REMOVE_TRIES = 50
_INITIAL_PID_NAMESPACE = "pid:[4026531836]"
"""PROC_PID_INIT_INO of `linux/proc_ns.h`: the namespace whose process numbers the kernel's traces use."""


class NoTraceError(TidegaugeError):
    """This process can't trace, and why, in a few words."""


def mount_privately() -> None:
    """Mount tracefs at its usual place, for this process alone. Call it once. Raises `NoTraceError`."""
    if procfs.pid_namespace() != _INITIAL_PID_NAMESPACE:
        raise NoTraceError("in a container the kernel's process numbers are not known")
    if not MOUNT_POINT.is_dir():
        raise NoTraceError("this kernel has no tracefs")
    try:
        step = "a private mount namespace"
        call_libc("unshare", _CLONE_NEWNS)
        # Else a mount made here would travel to the host's own namespace.
        call_libc("mount", b"none", b"/", None, ctypes.c_ulong(_MS_REC_PRIVATE), None)
        step = "mounting tracefs"
        flags = ctypes.c_ulong(_MS_NOSUID_NODEV_NOEXEC)
        call_libc("mount", b"tidegauge", bytes(MOUNT_POINT), b"tracefs", flags, None)
    except PermissionError as error:
        raise NoTraceError(f"{step}: needs root (CAP_SYS_ADMIN)") from error
    except OSError as error:
        raise NoTraceError(f"{step}: {error.strerror}") from error


@contextlib.contextmanager
def trace_instance(root: Path, calls: Iterable[str], processes: Mapping[str, int]) -> Iterator[Path]:
    """An instance that records these system calls ("fsync") of these process trees and all that they start.

    Raises `NoTraceError`.
    """
    stat = procfs.read_stat(os.getpid())
    if stat is None:
        raise NoTraceError("/proc is not readable")
    path = root / "instances" / name_of(stat.identity)
    try:
        path.mkdir()
        try:
            _set_up(path, calls)
            # Record only these. Threads that they start from now on follow by themselves; those started meanwhile do
            # not.
            for mode in (os.O_TRUNC, os.O_APPEND):
                _write_control_file(path / "set_event_pid", " ".join(map(str, threads_of(processes))), mode)
            _write_control_file(path / "tracing_on", "1")
            yield path
        finally:
            remove_instance(path)
    except OSError as error:
        raise NoTraceError(f"{error.filename or path}: {error.strerror}") from error


def _set_up(path: Path, calls: Iterable[str]) -> None:
    _write_control_file(path / "tracing_on", "0")
    _write_control_file(path / "trace_clock", "mono")
    _write_control_file(path / "buffer_size_kb", str(_BUFFER_KB))
    _write_control_file(path / "options/event-fork", "1")
    directories = [path / f"events/syscalls/sys_{edge}_{call}" for call in calls for edge in ("enter", "exit")]
    present = [directory for directory in directories if directory.is_dir()]
    if not present:
        raise NoTraceError("this kernel has no tracepoints for system calls (CONFIG_FTRACE_SYSCALLS)")
    # Forks show whose the threads are that start and end meanwhile.
    for directory in [path / "events/sched/sched_process_fork", *present]:
        _write_control_file(directory / "enable", "1")


def _write_control_file(path: Path, text: str, mode: int = os.O_TRUNC) -> None:
    """Write a control file. Not by `open("a")`, which seeks: these files refuse to. Raises `NoTraceError`."""
    try:
        with open_descriptor(path, os.O_WRONLY | mode) as descriptor:
            content = text.encode() + b"\n"
            while content:
                content = content[os.write(descriptor, content) :]
    except OSError as error:
        raise NoTraceError(f"{path.name} of the kernel's trace can't be set ({error.strerror})") from error


def stop_recording(path: Path) -> str:
    """Stop recording, and all that was recorded, as text."""
    _write_control_file(path / "tracing_on", "0")
    return (path / "trace").read_text(errors="replace")


def remove_instance(path: Path) -> None:
    """Remove an instance; a reader that is just closing it is waited for. Raises `OSError`."""
    for attempt in range(_REMOVE_TRIES):
        try:
            path.rmdir()
            return
        except FileNotFoundError:
            return
        except OSError as error:
            if error.errno != errno.EBUSY or attempt == _REMOVE_TRIES - 1:
                raise
            time.sleep(0.02)


def remove_abandoned(root: Path) -> list[str]:
    """Remove instances whose makers are dead; their names. Those of live ones, and other programs', are not touched."""
    removed = []
    for path in sorted((root / "instances").glob(f"{PREFIX}*")):
        owner = owner_of(path.name)
        if owner is None or procfs.is_running(owner):
            continue
        with contextlib.suppress(OSError):
            remove_instance(path)
            removed.append(path.name)
    return removed


def name_of(owner: Identity) -> str:
    """The name of a process's instance."""
    return f"{PREFIX}{owner.pid}-{owner.start_ticks}"


def owner_of(name: str) -> Identity | None:
    """Who made an instance; None if the name is not one of ours."""
    pid, _, start = name.removeprefix(PREFIX).partition("-")
    ours = name.startswith(PREFIX) and pid.isdigit() and start.isdigit()
    return Identity(int(pid), int(start)) if ours else None


def main() -> int:
    """Carry out one order from standard input. 0 if it could be."""
    signal.signal(signal.SIGTERM, _exit_on_signal)
    line = sys.stdin.readline()
    if not line:
        return 0
    order = json.loads(line)
    try:
        mount_privately()
        if order.get("clean"):
            _print_answer("".join(f"{name}\n" for name in remove_abandoned(MOUNT_POINT)))
            return 0
        with trace_instance(MOUNT_POINT, order["calls"], order["processes"]) as path:
            _print_answer("ready\n")
            if sys.stdin.readline():
                _print_answer(stop_recording(path))
    except NoTraceError as error:
        _print_answer(f"no {error}\n")
        return 1
    return 0


def _print_answer(text: str) -> None:
    # A parent that died does not read any more; removing the instance must go on all the same.
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.write(text)
        sys.stdout.flush()


def _exit_on_signal(number: int, frame: FrameType | None) -> None:
    raise SystemExit(1)


if __name__ == "__main__":
    sys.exit(main())
