"""Removing what an agent made, by its record: at its own end, or after a crash, when the agent is dead."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import time
from collections.abc import Iterable
from pathlib import Path

from tidegauge.agent import registry
from tidegauge.agent.registry import AgentRecord, remove_directory
from tidegauge.hosts import cgroups, loop_disk, network, procfs
from tidegauge.hosts.locks import try_lock
from tidegauge.hosts.procfs import Identity, Stat
from tidegauge.hosts.storage import mounts, results_directory, state_directory
from tidegauge.hosts.syscalls import clean_traces
from tidegauge.numbers import plural


def image_of(place: Path) -> Path:
    """The file that holds the disk mounted at `place`, or the directory, with libfuse."""
    return place.with_name(f"{place.name}.img")


def lift_disk_faults(place: Path) -> None:
    """Let a disk be as fast as it is, and thaw it. Never raises: `remove_disk` reports what could not be done.

    Its limits belong to the device number, which others may get: so they go while it is known to be ours.
    """
    for mount in mounts():
        if mount.mount_point == str(place) and loop_disk.backing_file(mount.device_number) == str(image_of(place)):
            with contextlib.suppress(OSError):
                cgroups.limit_disk(mount.device_number, None, None)
            loop_disk.thaw_at(place)


def remove_disk(place: Path) -> bool:
    """Remove a disk, whole or in part, with its image and directory; whether there was any. Raises `OSError`."""
    reason = registry.tracking_refusal(place)
    if reason:
        raise OSError(0, reason)
    image = image_of(place)
    # Unlike `Path.exists`, not stopped by the EIO that a file system gives after a power cut.
    if not os.path.lexists(place) and not image.exists():
        return False
    lift_disk_faults(place)
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
            if network.remove_network(network_identifier):
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


_KILL_WAIT_S = 20.0
_POLL_S = 0.02
_AGENT_POLL_S = 0.2
_LONE_AGE_S = 86_400.0
RESULTS_AGE_S = 7 * 86_400.0
"""For so long a run whose controller was killed can be resumed with what its load generators measured."""


def clean_leftovers() -> list[str]:
    """End processes and remove directories of agents that died without doing so. Returns what was done, for the user.

    Agents that live are never touched, and two callers at once don't disturb each other. Call it at every start.
    """
    notes: list[str] = []
    try:
        agents = [path.stem for path in sorted(registry.agents_directory().glob("*.json"))]
    except OSError as error:
        return [f"The state directory {state_directory()} can't be used: {error.strerror}."]
    for agent_id in agents:
        with contextlib.suppress(OSError):
            notes += _clean_up_after(agent_id)
    with contextlib.suppress(OSError):
        _remove_lone_files()
    with contextlib.suppress(OSError):
        notes += _remove_old_results()
    notes += [f"Removed the kernel trace {name}, left by an earlier run." for name in clean_traces()]
    return notes


def await_agents(run: str, seconds_max: float) -> bool:
    """Wait until no living agent holds a directory whose path has `run` in it; False if one still does.

    The agent of a command that was killed is still ending what it had started.
    """
    deadline_s = time.monotonic() + seconds_max
    while any(_is_agent_alive(record) for record in _records_of(run)):
        if time.monotonic() > deadline_s:
            return False
        time.sleep(_AGENT_POLL_S)
    return True


def _records_of(run: str) -> list[AgentRecord]:
    with contextlib.suppress(OSError):
        return [
            record for record in registry.all_records() if any(run in directory for directory in record.directories)
        ]
    return []


def _is_agent_alive(record: AgentRecord) -> bool:
    try:
        lock = try_lock(registry.locked_record(record.agent_id).lock_path)
    except OSError:
        return False
    if lock is None:
        return True
    os.close(lock)
    return False


def _remove_lone_files() -> None:
    """Logs and locks of agents that died before they began a record. Young ones may belong to one starting now."""
    for path in registry.agents_directory().glob("*.lo[cg]*"):
        lone = len(path.stem) == registry.AGENT_ID_CHARS and not path.with_suffix(".json").exists()
        if lone and time.time() - path.stat().st_mtime > _LONE_AGE_S:
            path.unlink(missing_ok=True)


def _remove_old_results() -> list[str]:
    """What load generators left for a run that nobody resumed."""
    result_files = sorted(results_directory().glob("*.results*"))
    old = [path for path in result_files if time.time() - path.stat().st_mtime > RESULTS_AGE_S]
    for path in old:
        path.unlink(missing_ok=True)
    days = RESULTS_AGE_S // 86_400
    load_generators = plural(len(old), "load generator")
    return [f"Removed figures of {load_generators}, left {days:.0f} days ago or earlier."] if old else []


def _clean_up_after(agent_id: str) -> list[str]:
    record_files = registry.locked_record(agent_id)
    lock = record_files.take_left()
    if lock is None:
        return []
    try:
        record = registry.read_record(record_files.path) or registry.substitute_record(agent_id)
        notes, complete = _clean_locked(record)
        if complete:
            registry.forget_agent(agent_id)
        return notes
    finally:
        os.close(lock)


def _clean_locked(record: AgentRecord) -> tuple[list[str], bool]:
    """Clean up one dead agent's things; the flag says whether all of it is gone."""
    notes: list[str] = []
    if registry.knows_processes(record):
        for place in record.disks:
            # Nothing dies while its disk hangs.
            lift_disk_faults(Path(place))
        killed, stuck = _kill_all(record)
        if killed:
            notes.append(f"Ended processes left by an earlier run: {', '.join(killed)}.")
        if stuck:
            notes.append(f"An earlier run left processes that can't be ended: {', '.join(stuck)}.")
            return notes, False
    elif record.boot == procfs.boot_id():
        # Another container's processes can't be seen from here, so they can't be ended either: leave the record to it.
        return [], False
    removed, failures = remove_everything([Path(name) for name in reversed(record.disks)], record.network)
    notes += [f"Removed {thing}, left by an earlier run." for thing in removed]
    notes += [f"Could not remove what an earlier run left: {failure}." for failure in failures]
    complete = not failures
    for name in record.directories:
        if not Path(name).exists():
            continue
        if failure := remove_directory(Path(name)):
            complete = False
            notes.append(f"Could not remove a directory left by an earlier run: {failure}.")
        else:
            notes.append(f"Removed {name}, left by an earlier run.")
    return notes, complete


def _kill_all(record: AgentRecord) -> tuple[list[str], list[str]]:
    """SIGKILL everything the agent left. Returns what was killed and what would not die, by name and number."""
    killed: dict[Identity, str] = {}
    deadline_s = time.monotonic() + _KILL_WAIT_S
    while True:
        survivors = leftover_processes(record, procfs.all_stats())
        if not survivors:
            return list(killed.values()), []
        if time.monotonic() > deadline_s:
            return list(killed.values()), [f"{name} (process {stat.pid})" for stat, name in survivors]
        for stat, name in survivors:
            if procfs.send_signal(stat.identity, signal.SIGKILL):
                killed.setdefault(stat.identity, f"{name} (process {stat.pid})")
        time.sleep(_POLL_S)


def leftover_processes(record: AgentRecord, stats: Iterable[Stat]) -> list[tuple[Stat, str]]:
    """Which of these processes a dead agent left, each with the name of the process it belongs to.

    A process is the agent's if it is recorded, is in the session of a recorded one (whose number can't have been given
    to another while the session has members), or carries the agent's marker in its environment.
    """
    processes_alive = [stat for stat in stats if not stat.ended]
    identity_by_pid = {stat.pid: stat.identity for stat in processes_alive}
    # Without numbers that other processes have by now: the sessions of these are not the agent's.
    name_by_session = {
        process.identity.pid: process.name
        for process in record.processes
        if identity_by_pid.get(process.identity.pid, process.identity) == process.identity
    }
    processes_with_names: list[tuple[Stat, str]] = []
    for stat in processes_alive:
        owner, _, name = procfs.marker_of(stat.pid).partition("/")
        if owner == record.agent_id:
            processes_with_names.append((stat, name))
        elif stat.session in name_by_session and not owner:
            processes_with_names.append((stat, name_by_session[stat.session]))
    return processes_with_names
