"""What one agent has written into the crash registry, kept up to date before anything depends on it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from tidegauge.errors import RunFailedError, StartFailedError
from tidegauge.fleet import directories, registry
from tidegauge.fleet.ports import find_free_ports
from tidegauge.fleet.registry import ProcessRecord, Record
from tidegauge.hosts import procfs
from tidegauge.hosts.procfs import Identity


class Ledger:
    """The agent's own record. Its lock is held until `close` or the agent's death."""

    def __init__(self, record: Record, lock: int) -> None:
        self._record = record
        self._lock = lock

    @staticmethod
    def open(agent_id: str) -> Ledger:
        """Begin a record for this process. Raises `OSError`."""
        lock = registry.try_lock(registry.lock_path(agent_id))
        stat = procfs.read_stat(os.getpid())
        if lock is None or stat is None:
            raise OSError(f"the agent {agent_id} exists already")
        record = Record(agent_id, stat.identity, procfs.boot_id(), procfs.pid_namespace())
        registry.write(record)
        return Ledger(record, lock)

    @property
    def directories(self) -> list[Path]:
        """Tracked directories, the newest first."""
        return [Path(name) for name in reversed(self._record.directories)]

    @property
    def disks(self) -> list[Path]:
        """The rig's disks, the newest first."""
        return [Path(name) for name in reversed(self._record.disks)]

    @property
    def network(self) -> str:
        """Identifier of the rig's network, "" without one."""
        return self._record.network

    def add_process(self, name: str, identity: Identity) -> None:
        """Record a process that was just started. Raises `StartFailedError` if the record can't be written."""
        others = tuple(process for process in self._record.processes if process.name != name)
        self._write(replace(self._record, processes=(*others, ProcessRecord(name, identity))))

    def track(self, path: Path) -> None:
        """Record a directory to remove at the end. Raises `RunFailedError` if that would be dangerous."""
        reason = directories.refusal(path)
        if reason:
            raise RunFailedError(f"{path} can't be tracked for removal: {reason}.")
        if str(path) not in self._record.directories:
            self._write(replace(self._record, directories=(*self._record.directories, str(path))))

    def hold_disk(self, place: Path) -> None:
        """Record a disk before it is made. Raises `RunFailedError` where its directory must not be removed later."""
        reason = directories.refusal(place)
        if reason:
            raise RunFailedError(f"No disk can be made at {place}: {reason}.")
        self._write(replace(self._record, disks=(*self._record.disks, str(place))))

    def drop_disk(self, place: Path) -> None:
        """A disk was removed. Raises `StartFailedError` if the record can't be written."""
        self._write(replace(self._record, disks=tuple(disk for disk in self._record.disks if disk != str(place))))

    def hold_network(self, identifier: str) -> None:
        """Record a network before it is made; "" once it is removed. Raises `StartFailedError`."""
        self._write(replace(self._record, network=identifier))

    def take_ports(self, count: int) -> list[int]:
        """Free ports that no live agent was given, none twice. Raises `StartFailedError`."""
        guard = os.open(registry.agents_directory() / "ports.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            # One agent at a time from looking to recording, or two could find the same port free.
            fcntl.flock(guard, fcntl.LOCK_EX)
            taken = set(self._record.ports).union(*(record.ports for record in registry.all_records()))
            ports = find_free_ports(count, taken)
            self._write(replace(self._record, ports=(*self._record.ports, *ports)))
        finally:
            os.close(guard)
        return ports

    def release_ports(self, ports: Iterable[int]) -> None:
        """Others may have these ports again. Raises `StartFailedError` if the record can't be written."""
        released = set(ports)
        left = tuple(port for port in self._record.ports if port not in released)
        if left != self._record.ports:
            self._write(replace(self._record, ports=left))

    def close(self, forget: bool = True) -> None:
        """Nothing is held any more: forget the record. Else keep it, so that the next start tries what is left."""
        if forget:
            registry.remove(self._record.agent_id)
        os.close(self._lock)

    def _write(self, record: Record) -> None:
        try:
            registry.write(record)
        except OSError as error:
            raise StartFailedError(
                f"The state directory {registry.agents_directory()} can't be written ({error.strerror}).",
                "Free some space there, or set TIDEGAUGE_STATE to another directory.",
            ) from error
        self._record = record
