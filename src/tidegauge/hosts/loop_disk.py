"""A disk of its own for servers' data: a file system in a file, read and written with direct I/O. Root.

What is read from it is cached once, by the file system on top, and so by whoever's memory limit it counts for. Without
direct I/O the file below would be cached a second time, without any limit. See losetup(8), loop(4).
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from pathlib import Path

from tidegauge.hosts.storage import parse_mountinfo

_TOOLS = ("losetup", "mkfs.ext4", "mount", "umount")
_COMMAND_S = 120.0


def refusal() -> str:
    """Why no such disk can be made here; "" if one can, as far as one can tell before."""
    if os.geteuid() != 0:
        return "needs root"
    missing = [tool for tool in _TOOLS if shutil.which(tool) is None]
    if missing:
        return f"{', '.join(missing)} can't be found"
    return "" if Path("/dev/loop-control").exists() else "the kernel has no loop devices"


def mount_disk(place: Path, image: Path, size_bytes: int) -> None:
    """Mount a new, empty disk of this size at `place`; `image` becomes its file. `unmount` undoes it, but for the file.

    Raises `OSError`, after undoing what was done.
    """
    with image.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, size_bytes)
    held = -1
    try:
        device = _run("losetup", "--find", "--show", "--direct-io=on", str(image))
        held = os.open(device, os.O_RDONLY)
        # A device in use is detached when its last user is gone: unmounting is then all there is to undo, and nothing
        # where we are killed before it is mounted.
        _run("losetup", "--detach", device)
        if (Path("/sys/block") / Path(device).name / "loop/dio").read_text().strip() != "1":
            raise OSError(0, f"the file system of {image.parent} does not do direct I/O")
        # Nothing is left to be initialised beside a measurement, and the file keeps the room that was reserved.
        _run("mkfs.ext4", "-q", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0", device)
        _run("mount", "-o", "noatime", device, str(place))
        (place / "lost+found").rmdir()
    except OSError:
        with contextlib.suppress(OSError):
            unmount(place)
        image.unlink(missing_ok=True)
        raise
    finally:
        if held >= 0:
            os.close(held)


def unmount(place: Path) -> None:
    """Unmount whatever is mounted at a directory or below it. Raises `OSError`."""
    place = place.resolve()  # The kernel tells where mounts are without links.
    mounts = parse_mountinfo(Path("/proc/self/mountinfo").read_text())
    points = [Path(mount.mount_point) for mount in mounts]
    for point in reversed([point for point in points if point == place or place in point.parents]):
        _run("umount", str(point))


def _run(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_COMMAND_S, check=False)
    except subprocess.TimeoutExpired as error:
        raise OSError(0, f"{command[0]} took over {_COMMAND_S:.0f} s") from error
    if done.returncode != 0:
        raise OSError(0, f"{command[0]}: {' '.join(done.stderr.split())[:200] or f'exit code {done.returncode}'}")
    return done.stdout.strip()
