"""The agent's disks: made, slowed down, hung, and cut off."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from tidegauge.errors import RunFailedError
from tidegauge.fleet import children, reap
from tidegauge.fleet.api import CutReport
from tidegauge.fleet.registry import Ledger
from tidegauge.fleet.trees import Trees
from tidegauge.hosts import cgroups, fuse_disk, loop_disk, procfs
from tidegauge.hosts.fuse_disk import FuseDisk
from tidegauge.model.host import DeviceFileSystem, DiskCheck, FileSystem


class AgentDisks:
    """The disks of one agent, recorded before they are made. Methods raise `OSError` and `RunFailedError`."""

    def __init__(self, trees: Trees, ledger: Ledger) -> None:
        self._trees = trees
        self._ledger = ledger
        self._file_systems: dict[Path, DeviceFileSystem] = {}
        self._fuse: dict[Path, FuseDisk] = {}
        self._limits: dict[Path, tuple[int | None, int | None]] = {}

    def make(self, place: Path, size_bytes: int, file_system: FileSystem) -> None:
        """See `Rig.make_disk`."""
        reason = fuse_disk.disk_refusal(file_system)
        if reason:
            raise RunFailedError(f"No {file_system} disk can be made at {place}: {reason}.")
        image = reap.image_of(place)
        if image.exists() or (place.exists() and (not place.is_dir() or any(place.iterdir()))):
            raise RunFailedError(f"No disk can be made at {place}: something is there.")
        self._ledger.hold_disk(place)
        try:
            place.mkdir(parents=True, exist_ok=True)
            if file_system == "fuse":
                self._make_fuse(place, image, size_bytes)
            else:
                loop_disk.mount_disk(place, image, size_bytes, file_system)
                self._file_systems[place] = file_system
        except OSError as error:
            self._forget(place)
            raise RunFailedError(f"No {file_system} disk can be made at {place}: {_words(error)}.") from error

    def _make_fuse(self, place: Path, directory: Path, size_bytes: int) -> None:
        free_bytes = shutil.disk_usage(place).free
        if free_bytes < size_bytes:
            raise OSError(0, f"it needs {size_bytes:,} bytes, and {free_bytes:,} are free")
        agent_pid = os.getpid()
        self._fuse[place] = FuseDisk(place, directory, lambda: children.die_with_parent(agent_pid))
        self._fuse[place].mount()

    def remove(self, place: Path) -> None:
        """See `Rig.remove_disk`."""
        if place not in self._file_systems and place not in self._fuse:
            return
        try:
            self._forget(place)
        except OSError as error:
            raise RunFailedError(f"The disk {place} can't be removed: {_words(error)}{_used_by(place)}.") from error

    def _forget(self, place: Path) -> None:
        if place in self._fuse:
            # What is in memory needn't be written into what is removed.
            self._fuse[place].cut_off()
        reap.remove_disk(place)
        self._ledger.drop_disk(place)
        self._file_systems.pop(place, None)
        self._fuse.pop(place, None)
        self._limits.pop(place, None)

    def throttle(self, place: Path, bytes_per_s: int | None, ops_per_s: int | None) -> None:
        """See `Rig.throttle_disk`."""
        self._check_is_device(place)
        reason = cgroups.disk_refusal()
        if reason:
            raise RunFailedError(f"The disk {place} can't be slowed down: {reason}.")
        for value, unit in ((bytes_per_s, "bytes"), (ops_per_s, "operations")):
            if value is not None and value < 1:
                raise RunFailedError(f"The disk {place} can't be slowed down to {value} {unit} a second: 1 or more.")
        with self._opened(place) as descriptor:
            cgroups.limit_disk(_number(descriptor), bytes_per_s, ops_per_s)
        self._limits[place] = (bytes_per_s, ops_per_s)

    def hang(self, place: Path) -> None:
        """See `Rig.hang_disk`."""
        self._check_is_device(place)
        with self._opened(place) as descriptor:
            loop_disk.freeze(descriptor)

    def unhang(self, place: Path) -> None:
        """See `Rig.unhang_disk`."""
        self._check_is_device(place)
        with self._opened(place) as descriptor:
            loop_disk.thaw(descriptor)

    def lift(self) -> None:
        """Let all disks go on, and be as fast as they are. Never raises."""
        for place in self._file_systems:
            reap.lift(place)
        self._limits.clear()

    def cut(self, processes: Sequence[str], places: Sequence[Path]) -> CutReport:
        """See `Rig.cut_power`."""
        chosen = list(dict.fromkeys(places))
        with contextlib.ExitStack() as stack:
            descriptors = {place: stack.enter_context(self._opened(place)) for place in chosen}
            # Not later: a file system that is cut off does not report it.
            numbers = {place: _number(descriptor) for place, descriptor in descriptors.items()}
            self._check_users(processes, descriptors)
            asked_ns = time.monotonic_ns()
            stopped = self._trees.stop(processes)
            self._check_written(processes, chosen)
            frozen_ns = time.monotonic_ns()
            for place, descriptor in descriptors.items():
                self._cut_off(place, descriptor)
            cut_ns = time.monotonic_ns()
            for place, descriptor in descriptors.items():
                if place in self._fuse:
                    continue
                # What waits for a disk can't die, nor be unmounted; what was promised can't change any more.
                loop_disk.thaw(descriptor)
                if place in self._limits:
                    cgroups.limit_disk(numbers[place], None, None)
        self._trees.kill(processes)
        killed_ns = time.monotonic_ns()
        checks: list[DiskCheck] = []
        for place in chosen:
            checks += self._mounted_again(place, numbers[place])
            if place in self._limits:
                cgroups.limit_disk(numbers[place], *self._limits[place])
        return CutReport(asked_ns, frozen_ns, cut_ns, killed_ns, time.monotonic_ns(), stopped, tuple(checks))

    def _cut_off(self, place: Path, descriptor: int) -> None:
        if place in self._fuse:
            self._fuse[place].cut_off()
        else:
            loop_disk.cut_off(descriptor)

    def _mounted_again(self, place: Path, number: str) -> list[DiskCheck]:
        """What its file system's check said, where there is one to check."""
        try:
            if place in self._fuse:
                self._fuse[place].mount_again()
                return []
            return [loop_disk.mount_again(place, number, self._file_systems[place])]
        except OSError as error:
            raise RunFailedError(
                f"The disk {place} can't be mounted again after the power cut: {_words(error)}{_used_by(place)}."
            ) from error

    def _check_users(self, processes: Sequence[str], descriptors: dict[Path, int]) -> None:
        """Who is not stopped may be promised in the very moment of the cut what is then lost."""
        for place, descriptor in descriptors.items():
            others = self._strangers(processes, os.fstat(descriptor).st_dev)
            if others:
                who = ", ".join(f"{name} (process {pid})" for pid, name in sorted(others.items()))
                raise RunFailedError(
                    f"The power of {place} can't be cut: {who} has files open there and would not be stopped.",
                    "Name every process of the node, or end those that are none.",
                )

    def _check_written(self, processes: Sequence[str], places: Sequence[Path]) -> None:
        """What a daemon itself has spoilt must not be taken for lost. If it has, all go on."""
        for place in places:
            wrong = self._fuse[place].wrongly_written() if place in self._fuse else []
            if wrong:
                self._trees.resume(processes)
                raise RunFailedError(
                    f"The power of {place} can't be cut: {wrong[0]} was created for appending, and libfuse's "
                    "passthrough_ll has written it wrongly, so that what is lost may be its fault.",
                    "Use a disk of its own (`--file-system ext4`), which needs root.",
                )

    def _strangers(self, processes: Sequence[str], device: int) -> dict[int, str]:
        """Who uses a file system and is none of these processes, nor ourselves, nor gone by now."""
        named = self._pids(processes) | {os.getpid()}
        using = procfs.users_of(device)
        # Servers that are just starting fork all the time: a child that is new since we looked is theirs, too.
        named |= self._pids(processes)
        strange = {pid: procfs.read_stat(pid) for pid in using if pid not in named}
        return {pid: using[pid] for pid, stat in strange.items() if stat is not None and not stat.ended}

    def _pids(self, processes: Sequence[str]) -> set[int]:
        return {stat.pid for stat in self._trees.members(processes)}

    def _check_is_device(self, place: Path) -> None:
        if place in self._fuse:
            raise RunFailedError(f"{place} is a disk of libfuse: it can neither be slowed down nor hang.")

    @contextlib.contextmanager
    def _opened(self, place: Path) -> Iterator[int]:
        if place in self._fuse:
            with self._fuse[place].opened() as descriptor:
                yield descriptor
            return
        if place not in self._file_systems:
            raise RunFailedError(f"{place} is no disk that was made here.")
        with loop_disk.opened(place, reap.image_of(place)) as descriptor:
            yield descriptor


def _number(descriptor: int) -> str:
    return loop_disk.device_number(os.fstat(descriptor).st_dev)


def _words(error: OSError) -> str:
    return (error.strerror or str(error)).rstrip(".")


def _used_by(place: Path) -> str:
    """Who still uses a disk, as a phrase to append, or ""."""
    try:
        found = procfs.users_of(place.stat().st_dev)
    except OSError:
        return ""
    named = ", ".join(f"{name} (process {pid})" for pid, name in sorted(found.items()))
    return f"; in use by {named}" if place.is_mount() and named else ""
