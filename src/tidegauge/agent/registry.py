"""What a host's agent made, recorded before it is made: servers, directories, ports, disks and networks.

One record an agent: `STATE/agents/ID.json`, replaced at every change and locked while the agent lives.
"""

from __future__ import annotations

import json
import os
import random
import secrets
import shutil
import socket
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import IO, Any

from tidegauge.errors import RunFailedError, StartFailedError
from tidegauge.hosts import cgroups, loop_disk, procfs
from tidegauge.hosts.locks import LockedRecord, locked, try_lock
from tidegauge.hosts.procfs import Identity
from tidegauge.hosts.storage import check_owner, read_stripped_text, state_directory
from tidegauge.regular import read_regular


def tracking_refusal(path: Path) -> str:
    """Why a directory must not be tracked, "" if it may: never the root, a home, or anything above one."""
    if not path.is_absolute():
        return "not an absolute path"
    home = Path.home()
    if path == home or path in home.parents or len(path.parts) < 3:
        return "too much would be removed with it"
    return ""


def remove_directory(path: Path) -> str:
    """Remove a tracked directory with all it holds. Returns why it could not, or "" (also when it was gone already)."""
    reason = tracking_refusal(path)
    if reason:
        return f"{path}: {reason}"
    if path.is_symlink():
        path.unlink(missing_ok=True)
        return ""
    try:
        if cgroups.is_group(path):
            path.rmdir()
            return ""
        loop_disk.release(path)
    except OSError as error:
        return f"{path}: {error.strerror or error}"
    failures: list[str] = []
    shutil.rmtree(path, onerror=lambda _call, name, info: failures.append(f"{name}: {info[1]}"))
    return failures[0] if failures and path.exists() else ""


_LOWEST = 10_000
_HIGHEST = 65_535
_WIDTH_MIN = 1_000
_RANGE_FILE = Path("/proc/sys/net/ipv4/ip_local_port_range")


def port_candidates(kernel_low: int, kernel_high: int) -> range:
    """Ports outside the kernel's own range, the wider side of it; all of them if it leaves no room."""
    below = range(_LOWEST, max(_LOWEST, kernel_low))
    above = range(min(kernel_high, _HIGHEST) + 1, _HIGHEST + 1)
    widest = max(below, above, key=len)
    return widest if len(widest) >= _WIDTH_MIN else range(_LOWEST, _HIGHEST + 1)


def find_free_ports(count: int, taken: Collection[int], among: range | None = None) -> list[int]:
    """`count` ports on which 127.0.0.1 can be bound now, none of `taken`. Raises `StartFailedError`.

    `among`: those that may be given; None = all outside the kernel's own range.
    """
    low, high = (int(part) for part in _RANGE_FILE.read_text(encoding="ascii").split())
    candidates = list(among or port_candidates(low, high))
    random.SystemRandom().shuffle(candidates)
    free_ports = list(islice((port for port in candidates if port not in taken and _can_bind(port)), count))
    if len(free_ports) < count:
        where = f" from {among[0]} to {among[-1]}" if among else ""
        raise StartFailedError(f"Only {len(free_ports)} of {count} TCP ports{where} are free on 127.0.0.1.")
    return free_ports


def _can_bind(port: int, address: str = "127.0.0.1") -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As servers do: an old connection in TIME_WAIT is no obstacle, a listener is.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError:
            return False
    return True


SCHEMA = 1
AGENT_ID_CHARS = 16
RECORD_BYTES_MAX = 16 << 20


@dataclass(frozen=True)
class ProcessRecord:
    """A process that an agent started; it leads the session `identity.pid`."""

    name: str
    identity: Identity


@dataclass(frozen=True)
class AgentRecord:
    """Everything one agent holds."""

    agent_id: str
    agent: Identity
    boot: str
    namespace: str
    processes: tuple[ProcessRecord, ...] = ()
    directories: tuple[str, ...] = ()
    ports: tuple[int, ...] = ()
    disks: tuple[str, ...] = ()
    """Where the rig's disks are mounted; each image lies beside its place."""
    network: str = ""
    """Identifier of the rig's network, "" without one."""


def agents_directory() -> Path:
    """Where the records are; created if need be. Raises `OSError`, and `UserError` as `check_owner` does."""
    directory = state_directory() / "agents"
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    check_owner(directory)
    return directory


def new_agent_id() -> str:
    """An identifier that no other agent has."""
    return secrets.token_hex(AGENT_ID_CHARS // 2)


def locked_record(agent_id: str) -> LockedRecord:
    """The files of an agent's record."""
    return LockedRecord(agents_directory(), agent_id)


def log_path(agent_id: str) -> Path:
    """The file of what the agent itself has to say (empty unless it meets an error)."""
    return agents_directory() / f"{agent_id}.log"


def open_log(agent_id: str) -> IO[bytes]:
    """A new agent's log, empty. Raises `StartFailedError`."""
    try:
        return log_path(agent_id).open("wb")
    except OSError as error:
        raise StartFailedError(
            f"The state directory {state_directory()} can't be written ({error.strerror}).",
            "Make it writable, or set TIDEGAUGE_STATE to another directory.",
        ) from error


def last_words(agent_id: str) -> str:
    """The last line of what an agent had to say; "" without any."""
    lines = read_stripped_text(log_path(agent_id)).splitlines()
    return lines[-1] if lines else ""


def write_record(record: AgentRecord) -> None:
    """Replace the record on disk, all or nothing. Raises `OSError`."""
    locked_record(record.agent_id).write(SCHEMA, asdict(record))


def read_record(path: Path) -> AgentRecord | None:
    """The record in a file; None if there is none or it is damaged. Raises `UserError` as `check_owner` does."""
    check_owner(path)
    try:
        data = json.loads(read_regular(path, RECORD_BYTES_MAX))
        return AgentRecord(
            agent_id=str(data["agent_id"]),
            agent=Identity(**data["agent"]),
            boot=str(data["boot"]),
            namespace=str(data["namespace"]),
            processes=tuple(ProcessRecord(p["name"], Identity(**p["identity"])) for p in data["processes"]),
            directories=tuple(data["directories"]),
            ports=tuple(data["ports"]),
            # Not in records of versions without a rig.
            disks=tuple(data.get("disks", ())),
            network=str(data.get("network", "")),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def substitute_record(agent_id: str) -> AgentRecord:
    """Stands for a damaged record (the machine lost power, say): what the agent left is found by its marker alone."""
    return AgentRecord(agent_id, Identity(0, 0), procfs.boot_id(), procfs.pid_namespace())


def all_records() -> list[AgentRecord]:
    """Every readable record."""
    records = (read_record(path) for path in sorted(agents_directory().glob("*.json")))
    return [record for record in records if record is not None]


def forget_agent(agent_id: str) -> None:
    """Forget an agent: record, log and lock. Raises `OSError`."""
    log_path(agent_id).unlink(missing_ok=True)
    locked_record(agent_id).remove()


def knows_processes(record: AgentRecord) -> bool:
    """Whether process numbers in the record mean the same processes here and now."""
    return record.boot == procfs.boot_id() and record.namespace == procfs.pid_namespace()


class Ledger:
    """The agent's own record. Its lock is held until `close` or the agent's death."""

    def __init__(self, record: AgentRecord, lock: int) -> None:
        self._record = record
        self._lock = lock

    @staticmethod
    def open(agent_id: str) -> Ledger:
        """Begin a record for this process. Raises `OSError`."""
        lock = try_lock(locked_record(agent_id).lock_path)
        stat = procfs.read_stat(os.getpid())
        if lock is None or stat is None:
            raise OSError(f"the agent {agent_id} exists already")
        record = AgentRecord(agent_id, stat.identity, procfs.boot_id(), procfs.pid_namespace())
        write_record(record)
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
        self._change_record(processes=(*others, ProcessRecord(name, identity)))

    def track(self, path: Path) -> None:
        """Record a directory to remove at the end. Raises `RunFailedError` if that would be dangerous."""
        reason = tracking_refusal(path)
        if reason:
            raise RunFailedError(f"{path} can't be tracked for removal: {reason}.")
        if str(path) not in self._record.directories:
            self._change_record(directories=(*self._record.directories, str(path)))

    def hold_disk(self, place: Path) -> None:
        """Record a disk before it is made. Raises `RunFailedError` where its directory must not be removed later."""
        reason = tracking_refusal(place)
        if reason:
            raise RunFailedError(f"No disk can be made at {place}: {reason}.")
        self._change_record(disks=(*self._record.disks, str(place)))

    def drop_disk(self, place: Path) -> None:
        """Record that a disk was removed. Raises `StartFailedError` if the record can't be written."""
        self._change_record(disks=tuple(disk for disk in self._record.disks if disk != str(place)))

    def hold_network(self, identifier: str) -> None:
        """Record a network before it is made; "" once it is removed. Raises `StartFailedError`."""
        self._change_record(network=identifier)

    def take_ports(self, count: int, among: Sequence[int] = ()) -> list[int]:
        """Free ports that no live agent was given, none twice. Raises `StartFailedError`.

        `among`: the first and the last that may be given; () = see `find_free_ports`.
        """
        allowed = range(among[0], among[-1] + 1) if among else None
        # One agent at a time from looking to recording, or two could find the same port free.
        with locked(agents_directory() / "ports.lock"):
            ports = find_free_ports(count, self._taken_ports(), allowed)
            self._change_record(ports=(*self._record.ports, *ports))
        return ports

    def hold_ports(self, ports: Sequence[int]) -> list[int]:
        """Reserve the ports that are free on every address; returns the others. Raises `StartFailedError`."""
        with locked(agents_directory() / "ports.lock"):
            taken = self._taken_ports()
            held = [port for port in ports if port not in taken and _can_bind(port, "")]
            self._change_record(ports=(*self._record.ports, *held))
        return [port for port in ports if port not in held]

    def release_ports(self, ports: Iterable[int]) -> None:
        """Let others have these ports again. Raises `StartFailedError` if the record can't be written."""
        released = set(ports)
        remaining = tuple(port for port in self._record.ports if port not in released)
        if remaining != self._record.ports:
            self._change_record(ports=remaining)

    def close(self, forget: bool = True) -> None:
        """Nothing is held any more: forget the record. Else keep it, so that the next start tries what is left."""
        if forget:
            forget_agent(self._record.agent_id)
        os.close(self._lock)

    def _taken_ports(self) -> set[int]:
        """The ports that live agents were given, this one among them."""
        return set(self._record.ports).union(*(record.ports for record in all_records()))

    def _change_record(self, **changes: Any) -> None:
        record = replace(self._record, **changes)
        try:
            write_record(record)
        except OSError as error:
            raise StartFailedError(
                f"The state directory {agents_directory()} can't be written ({error.strerror}).",
                "Make it writable, with some space left, or set TIDEGAUGE_STATE to another directory.",
            ) from error
        self._record = record
