"""A disk that loses what was not synced, for those who are not root: libfuse's `passthrough_ll` in writeback mode.

The kernel keeps what is written to it in its page cache until somebody syncs or closes the file, or some seconds have
passed; only then does it hand the pages to the daemon, which writes them into a directory. A page that the daemon never
got is gone with it. That is less than a power cut: what the daemon got counts as kept, synced or not, and so do names
of files and sizes that were set, which it gets at once. Sources: libfuse, `example/passthrough_ll.c`; Linux,
Documentation/filesystems/fuse/fuse-io.rst.
"""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import stat
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tidegauge.hosts import commands, loop_disk
from tidegauge.hosts.storage import Mount, mounts, open_descriptor
from tidegauge.model.host import FileSystem

_DAEMON = "passthrough_ll"
_DEVICE = Path("/dev/fuse")
_START_S_MAX = 20.0
_POLL_S = 0.01


def refusal() -> str:
    """Why no such disk can be made here; "" if one can, as far as is known before."""
    if shutil.which(_DAEMON) is None:
        return f"{_DAEMON}, an example program of libfuse 3, can't be found"
    if not os.access(_DEVICE, os.R_OK | os.W_OK):
        return f"{_DEVICE} can't be opened"
    if os.geteuid() == 0:
        return commands.capability_refusal("CAP_SYS_ADMIN")
    return "" if shutil.which("fusermount3") is not None else "fusermount3 can't be found (package fuse3)"


class FuseDisk:
    """A directory, and what is mounted over it. All methods raise `OSError`.

    Attributes:
        prepare: called in the daemon's process before it begins.
    """

    def __init__(self, place: Path, directory: Path, prepare: Callable[[], None]) -> None:
        self._place = place
        self._directory = directory
        self._prepare = prepare
        self._daemon: subprocess.Popen[bytes] | None = None

    def mount(self) -> None:
        """Start the daemon, and return once its file system is there."""
        self._directory.mkdir(exist_ok=True)
        source = str(self._directory).replace("\\", r"\\").replace(",", r"\,")
        command = (_DAEMON, "-f", "-o", f"source={source},writeback", str(self._place))
        with tempfile.TemporaryFile() as output:
            self._daemon = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd="/",
                start_new_session=True,
                preexec_fn=self._prepare,  # noqa: PLW1509 - the agent has one thread
            )
            # Let the daemon open all files: it keeps each open that anybody looked at, and does not raise its limit
            # itself.
            with contextlib.suppress(ProcessLookupError):  # It has ended; its output says why.
                _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
                resource.prlimit(self._daemon.pid, resource.RLIMIT_NOFILE, (most, most))
            deadline_s = time.monotonic() + _START_S_MAX
            while _mount_at(self._place) is None:
                if self._daemon.poll() is not None or time.monotonic() > deadline_s:
                    self.cut_off()
                    output.seek(0)
                    words = " ".join(output.read().decode(errors="replace").split())
                    raise OSError(0, f"{_DAEMON} does not mount it: {words[-200:] or 'it says nothing'}")
                time.sleep(_POLL_S)

    @contextlib.contextmanager
    def opened(self) -> Iterator[int]:
        """A descriptor of the root directory, of what is mounted, not of what is below."""
        if _mount_at(self._place) is None:
            raise OSError(0, f"{self._place} is not mounted")
        with open_descriptor(self._place, os.O_RDONLY | os.O_DIRECTORY) as descriptor:
            yield descriptor

    def wrongly_written(self) -> list[Path]:
        """Files that are longer below than above: the daemon, not who wrote them, spoilt them.

        The kernel writes a page again when it grew. The daemon of libfuse 3.14 opens a file that is created with
        O_APPEND just so, and then adds the page to the end each time; files that it merely opens it treats rightly.
        Nobody may be writing meanwhile.
        """
        wrong_files = []
        for parent, _, names in os.walk(self._directory):
            for name in names:
                below = Path(parent) / name
                above = self._place / below.relative_to(self._directory)
                with contextlib.suppress(FileNotFoundError):
                    status = below.lstat()
                    if stat.S_ISREG(status.st_mode) and status.st_size > above.lstat().st_size:
                        wrong_files.append(below.relative_to(self._directory))
        return sorted(wrong_files)

    def cut_off(self) -> None:
        """Kill the daemon: whoever uses the file system gets ENOTCONN from now on, and what it had not got is gone."""
        if self._daemon is not None:
            self._daemon.kill()
            self._daemon.wait()
            self._daemon = None

    def mount_again(self) -> None:
        """Mount it again after `cut_off`. Nothing may use the file system any more."""
        loop_disk.unmount(self._place)
        self.mount()


def _mount_at(place: Path) -> Mount | None:
    return next(
        (mount for mount in mounts() if mount.mount_point == str(place) and mount.file_system.startswith("fuse")), None
    )


def disk_refusal(file_system: FileSystem) -> str:
    """Why no such disk can be made here; "" if one can, as far as is known before."""
    return refusal() if file_system == "fuse" else loop_disk.refusal(file_system)
