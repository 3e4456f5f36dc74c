"""Undoing what the rig made, by its record alone: for the agent's end, and for who cleans up after a dead one."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

from tidegauge.fleet import directories
from tidegauge.hosts import freeze, loop_disk, network, slow_disk
from tidegauge.hosts.storage import mounts


def image_of(place: Path) -> Path:
    """The file that holds the disk mounted at `place`, or the directory, with libfuse."""
    return place.with_name(f"{place.name}.img")


def lift(place: Path) -> None:
    """Let a disk be as fast as it is, and thaw it. Never raises: what could not be done will be told by `remove_disk`.

    Its limits belong to the device number, which others may get: so they go while it is known to be ours.
    """
    for mount in mounts():
        if mount.mount_point == str(place) and loop_disk.backing_file(mount.device_number) == str(image_of(place)):
            with contextlib.suppress(OSError):
                slow_disk.limit(mount.device_number, None, None)
            freeze.thaw_at(place)


def remove_disk(place: Path) -> bool:
    """Remove a disk, whole or in part, with its image and directory; whether there was any. Raises `OSError`."""
    reason = directories.refusal(place)
    if reason:
        raise OSError(0, reason)
    image = image_of(place)
    # Unlike `Path.exists`, not stopped by the EIO that a file system gives after a power cut.
    if not os.path.lexists(place) and not image.exists():
        return False
    lift(place)
    loop_disk.release(place)
    # A loop device that was not mounted yet.
    loop_disk.release(image)
    if image.is_dir() and not image.is_symlink():
        shutil.rmtree(image)
    else:
        image.unlink(missing_ok=True)
    if place.is_dir():
        # Nothing but the mount point is ours: what somebody put there while nothing was mounted stays.
        with contextlib.suppress(OSError):
            place.rmdir()
    return True


def remove_everything(disks: list[Path], network_identifier: str) -> tuple[list[str], list[str]]:
    """Remove a network and disks: what was removed, in words, and what could not be, with the reason."""
    removed, failures = [], []
    if network_identifier:
        try:
            if network.remove(network_identifier):
                removed.append(f"the network {network.bridge_of(network_identifier)}")
        except OSError as error:
            failures.append(f"network {network.bridge_of(network_identifier)}: {error.strerror or error}")
    for place in disks:
        try:
            if remove_disk(place):
                removed.append(f"the disk {place}")
        except OSError as error:
            failures.append(f"{place}: {error.strerror or error}")
    return removed, failures
