"""A disk of its own for servers' data: a file in a file system, with direct I/O; it can be frozen and cut off. Root.

Freezing makes durable what was written before, as ioctl_fsfreeze(2) says; reads of what is cached go on.

Cut off, it is shut down at once, so that nothing that was not synced reaches it: the ioctl stops a file system without
writing its cache or its journal's buffers; unmounting and mounting it then replays the journal, as after a reboot. What
the drive below has accepted stays: its volatile cache is not modelled. Sources: `fs/ext4/ioctl.c`
(EXT4_IOC_SHUTDOWN), `fs/xfs/xfs_ioctl.c` (XFS_IOC_GOINGDOWN), which share number and flags.

What is read from it is cached once, by the file system on top, and so by whoever's memory limit it counts for. Without
direct I/O the file below would be cached a second time, without any limit. See losetup(8), loop(4).
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import struct
import time
from collections.abc import Iterator
from pathlib import Path

from tidegauge.hosts import commands, procfs, storage
from tidegauge.hosts.commands import run_command, run_to_end
from tidegauge.hosts.storage import mounts, parse_mountinfo
from tidegauge.model.host import DeviceFileSystem, DiskCheck

_FIFREEZE = 0xC0045877
_FITHAW = 0xC0045878
"""From `linux/fs.h`."""


def freeze(descriptor: int) -> None:
    """Freeze the file system of an open directory. Frozen already is fine. Raises `OSError`."""
    try:
        fcntl.ioctl(descriptor, _FIFREEZE, 0)
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise


def thaw(descriptor: int) -> None:
    """Undo `freeze`. Not frozen is fine. Raises `OSError`."""
    try:
        fcntl.ioctl(descriptor, _FITHAW, 0)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise


def thaw_at(point: Path) -> None:
    """Thaw what is mounted at a place, if it can be and is frozen. Never raises."""
    with contextlib.suppress(OSError), storage.open_descriptor(point, os.O_RDONLY | os.O_NONBLOCK) as descriptor:
        thaw(descriptor)


_TOOLS = ("losetup", "mount", "umount")
_TOOLS_OF: dict[DeviceFileSystem, tuple[str, ...]] = {
    "ext4": ("mkfs.ext4", "e2fsck"),
    "xfs": ("mkfs.xfs", "xfs_repair"),
}
_PACKAGE_OF: dict[DeviceFileSystem, str] = {"ext4": "e2fsprogs", "xfs": "xfsprogs"}
# Nothing is left to be initialised beside a measurement, and the file keeps the room that was reserved.
_MAKE: dict[DeviceFileSystem, tuple[str, ...]] = {
    "ext4": ("mkfs.ext4", "-q", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0"),
    "xfs": ("mkfs.xfs", "-q", "-K"),
}
_SYS_BLOCK = Path("/sys/block")
_BUSY_S = 10.0
_POLL_S = 0.05


def refusal(file_system: DeviceFileSystem = "ext4") -> str:
    """Why no such disk can be made here; "" if one can, as far as is known before."""
    reason = commands.capability_refusal("CAP_SYS_ADMIN", _TOOLS)
    if not reason and (reason := commands.capability_refusal("CAP_SYS_ADMIN", _TOOLS_OF[file_system])):
        reason += f" (package {_PACKAGE_OF[file_system]})"
    if not reason and not Path("/dev/loop-control").exists():
        reason = "the kernel has no loop devices"
    return reason or ("" if _kernel_has(file_system) else f"the kernel has no {file_system}")


def _kernel_has(file_system: DeviceFileSystem) -> bool:
    """Whether the kernel has a file system: built in, loaded, or there to be loaded."""
    if any(line.split()[-1] == file_system for line in Path("/proc/filesystems").read_text().splitlines()):
        return True
    modules = Path("/lib/modules") / os.uname().release
    return any(modules.glob(f"kernel/fs/{file_system}/{file_system}.ko*"))


def mount_disk(place: Path, image: Path, size_bytes: int, file_system: DeviceFileSystem = "ext4") -> None:
    """Mount a new, empty disk of this size at `place`; `image` becomes its file. Raises `OSError`, after undoing it.

    `release`, of both paths, undoes it, but for the file: a device stays attached so that it can be mounted again.
    """
    try:
        with image.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, size_bytes)
        device = run_command("losetup", "--find", "--show", "--direct-io=on", str(image))
        with storage.open_descriptor(device):
            if (_SYS_BLOCK / Path(device).name / "loop/dio").read_text().strip() != "1":
                raise OSError(0, f"the file system of {image.parent} does not do direct I/O")
            run_command(*_MAKE[file_system], device)
            mount(device, place, file_system)
            with contextlib.suppress(FileNotFoundError):
                (place / "lost+found").rmdir()
    except OSError:
        for path in (place, image):
            with contextlib.suppress(OSError):
                release(path)
        image.unlink(missing_ok=True)
        raise


def mount(device: str, place: Path, file_system: DeviceFileSystem) -> None:
    """Mount a device; its journal is replayed if need be. Raises `OSError`."""
    run_command("mount", "-t", file_system, "-o", "noatime", device, str(place))


def read_directly(device: str, is_direct: bool) -> None:
    """Set whether a loop device reads and writes its file with direct I/O; what was cached is written out first.

    Raises `OSError`.
    """
    run_command("losetup", f"--direct-io={'on' if is_direct else 'off'}", device)


@contextlib.contextmanager
def open_disk_root(place: Path, image: Path) -> Iterator[int]:
    """A descriptor of a disk's root directory, after making sure that it is the disk in `image` and no other.

    What is done to a whole file system must never be done to the host's own. Raises `OSError`.
    """
    with storage.open_descriptor(place, os.O_RDONLY | os.O_DIRECTORY) as descriptor:
        if backing_file(device_number(os.fstat(descriptor).st_dev)) != str(image.resolve()):
            raise OSError(0, f"{place} is not mounted")
        yield descriptor


def device_number(number: int) -> str:
    """A device (`st_dev`) as the kernel's files name it: "7:3"."""
    return f"{os.major(number)}:{os.minor(number)}"


def device_path(number: str) -> str:
    """The device file of a device number: "/dev/loop3". Raises `OSError`."""
    return f"/dev/{(Path('/sys/dev/block') / number).readlink().name}"


def backing_file(number: str) -> str:
    """The file behind a loop device, "" if it has none or is none."""
    try:
        return (Path("/sys/dev/block") / number / "loop/backing_file").read_text().rstrip("\n")
    except OSError:
        return ""


def unmount(place: Path) -> None:
    """Unmount whatever is mounted at a directory or below it; hung disks are thawed. Raises `OSError`."""
    place = place.resolve()  # The kernel names mount points without links.
    # What was mounted last, first.
    for mount in reversed([mount for mount in mounts() if Path(mount.mount_point).is_relative_to(place)]):
        if mount.file_system.startswith("fuse") and os.geteuid() != 0:
            _unmount_one("fusermount3", "-u", "--", mount.mount_point)
            continue
        # A frozen file system would stay in the kernel, frozen and without a name.
        thaw_at(Path(mount.mount_point))
        _unmount_one("umount", mount.mount_point)


def release(path: Path) -> None:
    """Unmount what is at a path or below it, and detach loop devices whose files are: a crash may leave either.

    Raises `OSError`.
    """
    unmount(path)
    path = path.resolve()
    for entry in _SYS_BLOCK.glob("loop*/loop/backing_file"):
        with contextlib.suppress(FileNotFoundError):  # Detached meanwhile.
            file = Path(entry.read_text().rstrip("\n").removesuffix(" (deleted)"))
            if file == path or path in file.parents:
                run_command("losetup", "--detach", f"/dev/{entry.parent.parent.name}")


def _unmount_one(*command: str) -> None:
    """Unmount by a command; the kernel may hold a file system for a moment after its last user. Raises `OSError`."""
    deadline_s = time.monotonic() + _BUSY_S
    while True:
        try:
            run_command(*command)
            return
        except OSError as error:
            if "busy" not in (error.strerror or "") or time.monotonic() > deadline_s:
                raise
        time.sleep(_POLL_S)


_SHUTDOWN = 0x8004587D
_WITHOUT_FLUSHING_THE_LOG = struct.pack("I", 2)
_CHECK: dict[DeviceFileSystem, tuple[str, ...]] = {"ext4": ("e2fsck", "-f", "-n"), "xfs": ("xfs_repair", "-n")}
_REPORT_CHARS_MAX = 2000
_ELSEWHERE_S = 60.0
_ELSEWHERE_POLL_S = 0.01


def cut_off(descriptor: int) -> None:
    """Shut down the file system of an open directory: whoever uses it gets EIO from now on. Raises `OSError`."""
    fcntl.ioctl(descriptor, _SHUTDOWN, _WITHOUT_FLUSHING_THE_LOG)


def mount_again(place: Path, number: str, file_system: DeviceFileSystem) -> DiskCheck:
    """Unmount a disk that was cut off, replay its journal, check it, and mount it. Raises `OSError`.

    Nothing may use it any more, nor hold its device open: the kernel drops what it has cached of a device only when the
    last user closes it, and what was lost would come back. The check comes after the journal was replayed: what it
    finds then is damage.
    """
    device = device_path(number)
    _unmount_everywhere(place, device)
    # XFS writes, and waits, once for every record of its journal: with the host's cache in between, 12 s became 0.2.
    read_directly(device, False)
    try:
        mount(device, place, file_system)
        _unmount_everywhere(place, device)
        check = run_to_end(*_CHECK[file_system], device)
        mount(device, place, file_system)
    finally:
        read_directly(device, True)
    output = "\n".join(text.strip() for text in (check.stdout, check.stderr) if text.strip())
    return DiskCheck(str(place), file_system, check.returncode == 0, output[-_REPORT_CHARS_MAX:])


def _unmount_everywhere(place: Path, device: str) -> None:
    """Unmount a disk, in other mount namespaces as well, and wait until nobody has it mounted. Raises `OSError`.

    A process that got a mount namespace of its own meanwhile took a copy of every mount with it; as long as it lives,
    the file system stays as it is, cut off, and mounting the device gives just that again.
    """
    unmount(place)
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
        time.sleep(_ELSEWHERE_POLL_S)


def _unmount_elsewhere(device: int) -> list[str]:
    """Unmount our disk in every other mount namespace; one process of each that had it. Never raises."""
    number, done = device_number(device), {"", _namespace_of("self")}
    holders = []
    for pid in map(str, procfs.pids()):
        namespace = _namespace_of(pid)
        if namespace in done:
            continue
        done.add(namespace)
        with contextlib.suppress(OSError):
            text = Path(f"/proc/{pid}/mountinfo").read_text(errors="surrogateescape")
            points = [mount.mount_point for mount in parse_mountinfo(text) if mount.device_number == number]
            for point in points:
                run_to_end("nsenter", "--target", pid, "--mount", "umount", "--lazy", "--", point)
            holders += [f"process {pid}"] * bool(points)
    return holders


def _namespace_of(pid: str) -> str:
    """The mount namespace of a process; "" if it can't be read."""
    try:
        return str(Path(f"/proc/{pid}/ns/mnt").readlink())
    except OSError:
        return ""
