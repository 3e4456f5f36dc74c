"""What holds a path: mount, file system and the block devices below it."""

from __future__ import annotations

import contextlib
import errno
import os
import pwd
import re
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tidegauge.errors import RunFailedError, UserError
from tidegauge.model.host import FreeSpace
from tidegauge.places import expand_path

_ESCAPE = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True)
class Mount:
    """One line of /proc/self/mountinfo (proc_pid_mountinfo(5)). `root`: of the file system, what is mounted."""

    device_number: str
    root: str
    mount_point: str
    options: str
    file_system: str
    source: str
    super_options: str


def parse_mountinfo(text: str) -> list[Mount]:
    """All mounts, in the order they were made: later ones hide earlier ones at the same place."""
    mounts = []
    # By what the kernel escapes in names, and nothing else that Python takes for a space or the end of a line.
    for line in filter(None, text.split("\n")):
        left, _, right = line.partition(" - ")
        fields, kind = left.split(" "), right.split(" ")
        mounts.append(
            Mount(
                device_number=fields[2],
                root=_unescape_name(fields[3]),
                mount_point=_unescape_name(fields[4]),
                options=fields[5],
                file_system=kind[0],
                source=_unescape_name(kind[1]),
                super_options=kind[2] if len(kind) > 2 else "",
            )
        )
    return mounts


def mounts(root: Path = Path("/")) -> list[Mount]:
    """The mounts that this process sees. Raises `OSError`."""
    return parse_mountinfo((root / "proc/self/mountinfo").read_text())


def mount_of(path: Path, mounts: list[Mount]) -> Mount | None:
    """The mount that holds an absolute path without links; None if no mount does."""
    holding = [mount for mount in mounts if path.is_relative_to(mount.mount_point)]
    depth = max((len(Path(mount.mount_point).parts) for mount in holding), default=0)
    return next((m for m in reversed(holding) if len(Path(m.mount_point).parts) == depth), None)


def disk_facts(path: Path, root: Path = Path("/")) -> dict[str, str]:
    """Mount, file system, and for each block device below it: write cache, scheduler, model. Never raises.

    For a path that is not there, the directory nearest above it counts. Keys without a value are left out; several
    devices (LVM, RAID, encryption, a loop device's file) are listed in turn.
    """
    try:
        mount = mount_of(nearest_existing(path).resolve(), mounts(root))
        if mount is None:
            return {}
        devices = list(_devices_below(root, mount))
    except (OSError, IndexError):
        return {}
    facts = {
        "mount_point": mount.mount_point,
        "file_system": mount.file_system,
        "mount_options": mount.options,
        "file_system_options": mount.super_options,
        "source": mount.source,
        "devices": " on ".join(device.name for device in devices),
        "write_cache": _values_of_devices(devices, "queue/write_cache"),
        "scheduler": _values_of_devices(devices, "queue/scheduler"),
        "rotational": _values_of_devices(devices, "queue/rotational"),
        "model": _values_of_devices(devices, "device/model"),
        "in_memory": memory_below(path, root),
    }
    return {key: value for key, value in facts.items() if value}


_MEMORY_FILE_SYSTEMS = ("tmpfs", "ramfs", "devtmpfs", "rootfs", "hugetlbfs")
_MEMORY_DEVICES = re.compile(r"z?ram\d+|nullb\d+")


def memory_below(path: Path, root: Path = Path("/")) -> str:
    """Why nothing at a path is on a disk, whatever is synced there: "tmpfs at /run"; "" where nothing says so.

    Also of a file system on an image or a device that is in memory itself, and of an overlay whose changes are.
    """
    try:
        mount = mount_of(nearest_existing(path).resolve(), mounts(root))
        if mount is None:
            return ""
        where = f"{mount.file_system} at {mount.mount_point}"
        if mount.file_system in _MEMORY_FILE_SYSTEMS:
            return where
        options = mount.super_options.split(",")
        if mount.file_system == "overlay":
            upper = next((Path(each[9:]) for each in options if each.startswith("upperdir=/")), None)
            # One that names a place outside of this container says nothing.
            below = memory_below(upper, root) if upper is not None and upper.is_dir() else ""
            return f"{where}, mounted volatile" if "volatile" in options else f"{where}, on {below}" if below else ""
        for device in _devices_below(root, mount):
            image = read_stripped_text(device / "loop/backing_file")
            below = memory_below(Path(image), root) if image else ""
            if below or _MEMORY_DEVICES.fullmatch(device.name):
                return f"{where}, on {device.name}{f' in {below}' if below else ''}"
    except (OSError, IndexError):
        return ""
    return ""


def _devices_below(root: Path, mount: Mount) -> Iterator[Path]:
    """Directories in /sys of the whole disks below a mount, from the top down."""
    start = root / "sys/dev/block" / mount.device_number
    if not start.exists():  # btrfs and ZFS number their mounts themselves.
        start = root / "sys/class/block" / Path(mount.source).name
    waiting = [start] if mount.source and start.exists() else []
    seen = set()
    while waiting:
        device = waiting.pop(0).resolve()
        if (device / "partition").exists():
            device = device.parent
        if device not in seen:
            seen.add(device)
            yield device
            waiting += sorted((device / "slaves").glob("*"))


def _values_of_devices(devices: list[Path], file: str) -> str:
    """The value if only one device has any, else "name: value" for each."""
    values = {device.name: choice_in_force(read_stripped_text(device / file)) for device in devices}
    stated = {name: value for name, value in values.items() if value}
    if len(stated) <= 1:
        return next(iter(stated.values()), "")
    return "; ".join(f"{name}: {value}" for name, value in stated.items())


def choice_in_force(text: str) -> str:
    """The choice in force in a file like "none [mq-deadline] kyber"; the text itself if nothing is in brackets."""
    match = re.search(r"\[([^\]]+)\]", text)
    return match.group(1) if match else text


def read_stripped_text(path: Path) -> str:
    """A short file of the kernel's, without what surrounds it; "" if it can't be read."""
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


@contextmanager
def open_descriptor(path: Path | str, flags: int = os.O_RDONLY) -> Iterator[int]:
    """A descriptor, open in this block. Raises `OSError`."""
    descriptor = os.open(path, flags | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _unescape_name(text: str) -> str:
    return _ESCAPE.sub(lambda match: chr(int(match.group(1), 8)), text)


def results_directory() -> Path:
    """Where load generators of this host leave what they measured, for a controller that comes later."""
    return state_directory() / "results"


def state_directory() -> Path:
    """Where Tidegauge keeps state between runs: $TIDEGAUGE_STATE, else the XDG state directory.

    Raises `UserError` where this is root and others could write what is done by it (`check_owner`).
    """
    directory = user_directory("STATE", ".local/state")
    check_owner(directory)
    return directory


def check_owner(path: Path) -> None:
    """Raise `UserError` if this is root, and what a place holds could be another user's: root removes what it names."""
    if os.geteuid() != 0:
        return
    try:
        status = path.stat()
    except OSError:
        return
    others_write = status.st_mode & stat.S_IWOTH or (status.st_mode & stat.S_IWGRP and status.st_gid != 0)
    if status.st_uid == 0 and not others_write:
        return
    objection = f"belongs to {owner_of(status)}" if status.st_uid else "can be written by others"
    raise UserError(
        f"{path} {objection}: root does only what stands in a state directory of its own.",
        "Set TIDEGAUGE_STATE to another directory, below one that is root's: what stands in this one may be anybody's.",
    )


def owner_of(status: os.stat_result) -> str:
    """The user who owns something, by name and number."""
    try:
        return f"the user {pwd.getpwuid(status.st_uid).pw_name} ({status.st_uid})"
    except KeyError:
        return f"the user {status.st_uid}"


def make_own_directory(path: Path, mode: int = 0o777) -> None:
    """Make a directory, and those above it; those that are there already are fine. Raises `OSError`.

    Not where everybody may write, such as /tmp: there somebody else can have made one of that name, or a link. One that
    is there must belong to this user, root, or who called sudo, and a new one is nobody else's.

    Args:
        mode: of the directory itself, where it is new.
    """
    for place in (*reversed(path.absolute().parents), path.absolute()):
        shared = place != place.parent and bool(place.parent.stat().st_mode & stat.S_IWOTH)
        if not os.path.lexists(place):
            with contextlib.suppress(FileExistsError):
                place.mkdir(0o700 if shared else mode if place == path.absolute() else 0o777)
                continue
        if shared:
            _check_shared_place(place)
    if not path.is_dir():
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))


def _check_shared_place(place: Path) -> None:
    status = place.lstat()
    if not stat.S_ISDIR(status.st_mode):
        raise PermissionError(errno.EPERM, f"{place} is no directory, in a place where everybody may write")
    if status.st_uid not in {0, os.geteuid(), int(os.environ.get("SUDO_UID", "0"))}:
        problem = f"{place} belongs to {owner_of(status)}, who made it where everybody may write"
        raise PermissionError(errno.EPERM, problem)


def user_directory(kind: str, usual: str, environment: Mapping[str, str] | None = None) -> Path:
    """Where a user has files of a kind: as variables have it, else the `usual` place below the home directory."""
    env = os.environ if environment is None else environment
    if configured := env.get(f"TIDEGAUGE_{kind}"):
        return expand_path(configured).absolute()
    base = env.get(f"XDG_{kind}_HOME") or str(expand_path(env.get("HOME", "~")) / usual)
    return Path(base).absolute() / "tidegauge"


def read_end(path: Path, bytes_max: int) -> str:
    """The last bytes of a file, such as a log; "" if there is none."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - bytes_max))
            return file.read(bytes_max).decode("utf-8", "replace")
    except OSError:
        return ""


def nearest_existing(path: Path) -> Path:
    """The path itself, or the nearest directory above it that is there, in which it would be made."""
    return next(place for place in (path, *path.absolute().parents) if _is_there(place))


def _is_there(place: Path) -> bool:
    """Whether anybody can tell: in a directory that this user may not enter, nothing is."""
    try:
        return place.exists()
    except PermissionError:
        return False


def free_space(places: Iterable[Path]) -> list[FreeSpace]:
    """What is free on the disks of these places here. Raises `RunFailedError` if a disk can't be asked."""
    return list(map(_free_space_at, places))


def _free_space_at(place: Path) -> FreeSpace:
    try:
        nearest_place = nearest_existing(place)
        return FreeSpace(place, *_device_and_free_bytes(nearest_place), nearest_place is place)
    except OSError as error:
        raise RunFailedError(f"The disk of {place} can't be looked at any more: {error.strerror}.") from error


def _device_and_free_bytes(place: Path) -> tuple[int, int]:
    return place.stat().st_dev, shutil.disk_usage(place).free
