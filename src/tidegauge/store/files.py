"""The files of a run: their names, how they are written, and which process writes them.

A JSON file is written beside its name and renamed over it. A log is appended by whole lines; a line that did not fit is
taken back. fsync is used where a file says that something is finished, not for each second: an fsync in the measured
window would load the disk that the systems are measured on, and a kill of this process loses nothing that was written.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import itertools
import json
import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tidegauge.atomic import replace_file
from tidegauge.errors import RunFailedError, UserError
from tidegauge.hosts import procfs
from tidegauge.hosts.storage import make_own_directory
from tidegauge.plain import plain_value

CAMPAIGN_FILE = "campaign.yaml"
CEILINGS_FILE = "ceilings.json"
CYCLES_FILE = "cycles.json"
MEASURING_FILE = "measuring.json"
PUBLISHED_FILE = "published.json"


def environment_name(session: int) -> str:
    """The file that says what a session ran on."""
    return "environment.json" if session == 1 else f"environment-{session}.json"


@dataclass(frozen=True)
class Writer:
    """A process, named so that a later process with the same pid is not taken for it.

    Attributes:
        started_s: when the process started, in seconds of the epoch, for people: it moves when the clock is set.
        boot_id: the boot of the host that it ran in; "" where the host does not say.
        start_ticks: when it started, in the kernel's ticks since that boot; None where an older Tidegauge wrote it.
    """

    pid: int
    started_s: float
    hostname: str
    boot_id: str
    start_ticks: int | None = None


def boot_id() -> str:
    """The identity of this boot of this host, or ""."""
    try:
        return procfs.boot_id()
    except OSError:
        return ""


def this_writer() -> Writer:
    """The process that calls."""
    pid = os.getpid()
    stat = procfs.read_stat(pid)
    ticks = None if stat is None else stat.identity.start_ticks
    up_s = time.clock_gettime(time.CLOCK_BOOTTIME)
    age_s = 0.0 if ticks is None else up_s - ticks / procfs.TICKS_PER_S
    return Writer(pid, time.time() - age_s, socket.gethostname(), boot_id(), ticks)


def may_be_alive(writer: Writer) -> bool:
    """Whether the writer still runs. True for a writer on another host: it can't be seen from here."""
    if writer.hostname != socket.gethostname():
        return True
    if writer.boot_id != boot_id():
        return False
    stat = procfs.read_stat(writer.pid)
    # Never by the time of day: it may have been set since. Without the ticks, a process of that number is taken for it.
    same = stat is not None and writer.start_ticks in (None, stat.identity.start_ticks)
    return same and stat is not None and not stat.ended


@contextlib.contextmanager
def writing(run: Path) -> Iterator[None]:
    """Be the only one who writes a run's directory. Raises `UserError` if another process does, or it can't be asked.

    The lock is on the copy of the campaign, which stays as it was written when the run began.
    """
    path = run / CAMPAIGN_FILE
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise UserError(f"{path} can't be opened to be locked: {error.strerror}.") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        hint = "Follow it where it was started, or with `tidegauge show`."
        raise UserError(f"Run {run.name} is still in progress: another process writes it.", hint) from error
    except OSError:
        # Not every file system has locks; then the status must do.
        pass
    try:
        yield
    finally:
        os.close(descriptor)


def find_link(run: Path) -> Path | None:
    """The first link in a run's directory, by which what is written there would land elsewhere; None without any.

    What servers keep in it is not looked at: it is removed, and not written on.
    """
    for directory, directories, files in os.walk(run):
        for name in sorted([*directories, *files]):
            if (Path(directory) / name).is_symlink():
                return Path(directory) / name
        if Path(directory) == run and "data" in directories:
            directories.remove("data")
    return None


RESERVE = ".reserve"
RESERVE_BYTES = 128 * 1024
"""Held by a file in the run's directory, so that "failed, the disk is full" itself can still be written."""


def write_failed(path: Path, error: OSError) -> RunFailedError:
    """The message for a file that can't be written: what, why, and what to do about it."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        what = "the disk is full" if error.errno == errno.ENOSPC else "the disk quota is used up"
        return RunFailedError(
            f"Can't write {path}: {what}.",
            "Free some space, or choose another disk with --runs-dir. What was measured before is kept.",
        )
    return RunFailedError(
        f"Can't write {path}: {error.strerror or error}.",
        "Check the disk and the rights of the runs directory, or choose another with --runs-dir.",
    )


def write_bytes(path: Path, content: bytes, durable: bool = False) -> None:
    """Replace `path` whole; `durable`: so that it survives a power cut. Raises `RunFailedError`."""
    try:
        replace_file(path, content, durable)
    except OSError as error:
        raise write_failed(path, error) from error


def write_json(path: Path, content: Mapping[str, object], durable: bool = False) -> None:
    """Write one JSON object, such as `store.envelopes` has them. Raises `RunFailedError`."""
    text = json.dumps(plain_value(content), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    write_bytes(path, text.encode(), durable)


def write_crash_report(run_path: Path, text: str) -> Path:
    """Keep the trace of a defect of Tidegauge itself in the run's directory. Raises `RunFailedError`."""
    path = run_path / "crash.txt"
    write_bytes(path, text.encode(errors="replace"))
    return path


def with_reserve(reserve: Path, write: Callable[[], None]) -> None:
    """Do `write`; if the disk is full, remove the file `reserve` and do it once more. Raises `RunFailedError`."""
    try:
        write()
    except RunFailedError as error:
        cause = error.__cause__
        if not isinstance(cause, OSError) or cause.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        reserve.unlink(missing_ok=True)
        write()


def make_directory(path: Path) -> None:
    """Create a directory and its parents (`make_own_directory`). Raises `RunFailedError`."""
    try:
        make_own_directory(path)
    except OSError as error:
        raise write_failed(path, error) from error


def move_aside(directory: Path, earlier_directory: Path) -> Path:
    """Move a directory to the first free of NAME-1, NAME-2 ... in another one. Raises `RunFailedError`."""
    make_directory(earlier_directory)
    names = (f"{directory.name}-{number}" for number in itertools.count(1))
    free = next(earlier_directory / name for name in names if not (earlier_directory / name).exists())
    try:
        directory.rename(free)
    except OSError as error:
        raise write_failed(directory, error) from error
    return free


class LineFile:
    """A file that grows by whole lines, each handed to the kernel at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise write_failed(path, error) from error

    def append(self, line: str) -> None:
        """Append `line` and a line end; all of it or, when it can't be written, none. Raises `RunFailedError`."""
        content = (line + "\n").encode()
        before = os.fstat(self._handle).st_size
        try:
            while content:
                content = content[os.write(self._handle, content) :]
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._handle, before)
            raise write_failed(self.path, error) from error

    def close(self, durable: bool = False) -> None:
        """Close it; `durable` fsyncs it first. Closing twice is fine."""
        if self._handle < 0:
            return
        try:
            if durable:
                os.fsync(self._handle)
        except OSError as error:
            raise write_failed(self.path, error) from error
        finally:
            os.close(self._handle)
            self._handle = -1


REPORT_NAME = "report.html"
INDEX_NAME = "index.html"
HISTORY_NAME = "history.html"


def write_page(path: Path, html: str) -> Path:
    """Write a page, whole or not at all; its directory is made. Raises `RunFailedError`."""
    make_directory(path.parent)
    # A directory's name may be no Unicode.
    write_bytes(path, html.encode("utf-8", "replace"))
    return path


def write_files(directory: Path, files: Mapping[str, bytes]) -> list[Path]:
    """Write files by their names; their directory is made. Raises `RunFailedError`."""
    make_directory(directory)
    for name, content in files.items():
        write_bytes(directory / name, content)
    return [directory / name for name in files]
