"""A power cut as a file system sees it: shut down at once, so that nothing that was not synced reaches the disk. Root.

The shutdown ioctl stops a file system without writing its cache or its journal's buffers; unmounting and mounting it
then replays the journal, as after a reboot. What the drive below has accepted stays: its volatile cache is not
modelled. Sources: `fs/ext4/ioctl.c` (EXT4_IOC_SHUTDOWN), `fs/xfs/xfs_ioctl.c` (XFS_IOC_GOINGDOWN), which share number
and flags.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import struct
import time
from pathlib import Path

from tidegauge.hosts import loop_disk
from tidegauge.hosts.commands import finished
from tidegauge.hosts.storage import parse_mountinfo
from tidegauge.model.host import DeviceFileSystem, DiskCheck

_SHUTDOWN = 0x8004587D
_WITHOUT_FLUSHING_THE_LOG = struct.pack("I", 2)
_CHECK: dict[DeviceFileSystem, tuple[str, ...]] = {"ext4": ("e2fsck", "-f", "-n"), "xfs": ("xfs_repair", "-n")}
_REPORT_CHARS_MAX = 2000
_ELSEWHERE_S = 60.0
_POLL_S = 0.01


def cut_off(descriptor: int) -> None:
    """Shut down the file system of an open directory: whoever uses it gets EIO from now on. Raises `OSError`."""
    fcntl.ioctl(descriptor, _SHUTDOWN, _WITHOUT_FLUSHING_THE_LOG)


def mount_again(place: Path, number: str, file_system: DeviceFileSystem) -> DiskCheck:
    """Unmount a disk that was cut off, replay its journal, check it, and mount it. Raises `OSError`.

    Nothing may use it any more, nor hold its device open: the kernel drops what it has cached of a device only when the
    last user closes it, and what was lost would come back. The check comes after the journal was replayed: what it
    finds then is damage.
    """
    device = loop_disk.device_path(number)
    _unmount(place, device)
    # XFS writes, and waits, once for every record of its journal: with the host's cache in between, 12 s became 0.2.
    loop_disk.read_directly(device, False)
    try:
        loop_disk.mount(device, place, file_system)
        _unmount(place, device)
        done = finished(*_CHECK[file_system], device)
        loop_disk.mount(device, place, file_system)
    finally:
        loop_disk.read_directly(device, True)
    said = "\n".join(text.strip() for text in (done.stdout, done.stderr) if text.strip())
    return DiskCheck(str(place), file_system, done.returncode == 0, said[-_REPORT_CHARS_MAX:])


def _unmount(place: Path, device: str) -> None:
    """Unmount a disk, in other mount namespaces as well, and wait until nobody has it mounted. Raises `OSError`.

    A process that got a mount namespace of its own meanwhile took a copy of every mount with it; as long as it lives,
    the file system stays as it is, cut off, and mounting the device gives just that again.
    """
    loop_disk.unmount(place)
    deadline_s = time.monotonic() + _ELSEWHERE_S
    while True:
        try:
            # The kernel opens a device for a file system in this way, too: only one can have it so.
            os.close(os.open(device, os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC))
            return
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
            holders = _unmount_elsewhere(Path(device).stat().st_rdev)
            if time.monotonic() > deadline_s:
                by = f" of {', '.join(holders)}" if holders else ""
                raise OSError(0, f"{device} is still mounted in another mount namespace{by}") from error
        time.sleep(_POLL_S)


def _unmount_elsewhere(device: int) -> list[str]:
    """Unmount our disk in every other mount namespace; one process of each that had it. Never raises."""
    number, done = f"{os.major(device)}:{os.minor(device)}", {"", _namespace_of("self")}
    holders = []
    for pid in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208 - like fleet.procfs
        namespace = _namespace_of(pid)
        if namespace in done:
            continue
        done.add(namespace)
        with contextlib.suppress(OSError):
            text = Path(f"/proc/{pid}/mountinfo").read_text(errors="surrogateescape")
            points = [mount.mount_point for mount in parse_mountinfo(text) if mount.device_number == number]
            for point in points:
                finished("nsenter", "--target", pid, "--mount", "umount", "--lazy", "--", point)
            holders += [f"process {pid}"] * bool(points)
    return holders


def _namespace_of(pid: str) -> str:
    """The mount namespace of a process; "" if it can't be read."""
    try:
        return str(Path(f"/proc/{pid}/ns/mnt").readlink())
    except OSError:
        return ""
