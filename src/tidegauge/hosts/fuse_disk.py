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
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tidegauge.hosts import loop_disk
from tidegauge.hosts.storage import Mount, parse_mountinfo

_DAEMON = "passthrough_ll"
_DEVICE = Path("/dev/fuse")
_START_S_MAX = 20.0
_POLL_S = 0.01


def refusal() -> str:
    """Why no such disk can be made here; "" if one can, as far as one can tell before."""
    if shutil.which(_DAEMON) is None:
        return f"{_DAEMON}, an example program of libfuse 3, can't be found"
    if not os.access(_DEVICE, os.R_OK | os.W_OK):
        return f"{_DEVICE} can't be opened"
    if os.geteuid() != 0 and shutil.which("fusermount3") is None:
        return "fusermount3 can't be found (package fuse3)"
    return ""


class FuseDisk:
    """A directory, and what is mounted over it. All methods raise `OSError`.

    Unmounting it ends the daemon, after what is in memory was written.
    """

    def __init__(self, place: Path, directory: Path) -> None:
        self._place = place
        self._directory = directory
        self._daemon: subprocess.Popen[bytes] | None = None

    def mount(self) -> None:
        """Start the daemon, and return once its file system is there."""
        self._directory.mkdir(exist_ok=True)
        source = str(self._directory).replace("\\", r"\\").replace(",", r"\,")
        command = (_DAEMON, "-f", "-o", f"source={source},writeback", str(self._place))
        with tempfile.TemporaryFile() as told:
            self._daemon = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=told, stderr=told, cwd="/", start_new_session=True
            )
            deadline_s = time.monotonic() + _START_S_MAX
            while _mount_at(self._place) is None:
                if self._daemon.poll() is not None or time.monotonic() > deadline_s:
                    self.cut_off()
                    told.seek(0)
                    words = " ".join(told.read().decode(errors="replace").split())
                    raise OSError(0, f"{_DAEMON} does not mount it: {words[-200:] or 'it says nothing'}")
                time.sleep(_POLL_S)

    @contextlib.contextmanager
    def opened(self) -> Iterator[int]:
        """A descriptor of the root directory, of what is mounted, not of what is below."""
        if _mount_at(self._place) is None:
            raise OSError(0, f"{self._place} is not mounted")
        descriptor = os.open(self._place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def appended(self) -> list[Path]:
        """Files that the daemon has open for appending: what it has of them is wrong.

        The kernel writes a page again when it grew; the daemon of libfuse 3.14 opens a file that is created with
        O_APPEND just so, and adds the page to the end each time. Files that it merely opens it treats rightly.
        """
        if self._daemon is None:
            return []
        found = []
        process = Path(f"/proc/{self._daemon.pid}")
        for entry in (process / "fdinfo").iterdir():
            with contextlib.suppress(OSError):  # Closed meanwhile.
                told = dict(line.split(":", 1) for line in entry.read_text().splitlines() if ":" in line)
                file = (process / "fd" / entry.name).readlink()
                if int(told["flags"], 8) & os.O_APPEND and file.is_relative_to(self._directory):
                    found.append(file.relative_to(self._directory))
        return sorted(found)

    def cut_off(self) -> None:
        """Kill the daemon: whoever uses the file system gets ENOTCONN from now on, and what it had not got is gone."""
        if self._daemon is not None:
            self._daemon.kill()
            self._daemon.wait()
            self._daemon = None

    def mount_again(self) -> None:
        """After `cut_off`. Nothing may use the file system any more."""
        loop_disk.unmount(self._place)
        self.mount()


def _mount_at(place: Path) -> Mount | None:
    mounts = parse_mountinfo(Path("/proc/self/mountinfo").read_text())
    return next((m for m in mounts if m.mount_point == str(place) and m.file_system.startswith("fuse")), None)
