"""The agent's side of the rig: its network and disks, what is done to them, and what it undoes at the agent's end."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tidegauge.agent import reap, registry
from tidegauge.agent.children import Children, die_with_parent
from tidegauge.agent.registry import Ledger
from tidegauge.agent.trees import Trees
from tidegauge.errors import RunFailedError, did_you_mean
from tidegauge.hosts import cgroups, fuse_disk, loop_disk, network, procfs
from tidegauge.hosts.fuse_disk import FuseDisk
from tidegauge.hosts.locks import locked
from tidegauge.hosts.network import LinkFaults, Port
from tidegauge.hosts.storage import make_own_directory
from tidegauge.model.host import DeviceFileSystem, DiskCheck, FileSystem
from tidegauge.model.rig import CLIENTS, Ability, CutReport
from tidegauge.numbers import trimmed


class AgentNetwork:
    """The network of one agent, recorded before it is made. Methods raise `OSError` and `RunFailedError`."""

    def __init__(self, agent_id: str, ledger: Ledger) -> None:
        self._identifier = agent_id
        self._ledger = ledger
        self._ports: dict[str, Port] = {}
        self._clients_address = ""
        self._faults = LinkFaults()
        self._limited: set[str] = set()
        self._loses_arrivals = False

    def make(self, nodes: Sequence[str]) -> dict[str, str]:
        """See `Rig.make_network`."""
        _raise_if_refused(network.network_refusal(), "No network can be made")
        if self._ports:
            raise RunFailedError("There is a network already: remove it before making another.")
        if len(set(nodes)) < len(nodes) or CLIENTS in nodes or not nodes:
            raise RunFailedError(f"A network needs nodes of different names, none of them '{CLIENTS}'.")
        # One agent at a time from looking for addresses to taking them, or two could find the same ones free.
        with locked(registry.agents_directory() / "network.lock"):
            try:
                self._ledger.hold_network(self._identifier)
                self._ports, self._clients_address = network.make_network(self._identifier, nodes)
            except OSError:
                self.remove()
                raise
        return {node: port.address for node, port in self._ports.items()}

    def remove(self) -> None:
        """See `Rig.remove_network`."""
        self._ports = {}
        self._faults = LinkFaults()
        self._limited.clear()
        self._loses_arrivals = False
        network.remove_network(self._identifier)
        self._ledger.hold_network("")

    def namespace_of(self, node: str) -> Path | None:
        """Where a node's processes are to run; None for the host's own network ("")."""
        return network.NAMED / self._port_of_node(node).namespace if node else None

    def partition(self, sources: Iterable[str], targets: Iterable[str], both_ways: bool) -> None:
        """See `Rig.partition`."""
        faults = self._faults.parted(sources, targets, both_ways)
        for name in {name for link in faults.cut_links for name in link} - {CLIENTS}:
            self._port_of_node(name)
        self._apply_faults(faults)

    def heal(self) -> None:
        """See `Rig.heal`."""
        if self._faults.cut_links:
            self._apply_faults(self._faults.healed())

    def lose_packets(self, node: str, share: float) -> None:
        """See `Rig.lose_packets`."""
        self._port_of_node(node)
        if not 0 <= share <= 1:
            raise RunFailedError(f"The share of packets that {node} loses can't be {trimmed(share)}: 0 to 1.")
        self._apply_faults(self._faults.losing(node, share))

    def lose_arrivals(self, shares: Mapping[str, float], spared_ports: str) -> None:
        """See `AgentRigCalls.lose_arrivals`."""
        if not shares and not self._loses_arrivals:
            return
        _raise_if_refused(network.network_refusal("nft"), "No packets can be dropped")
        self._ledger.hold_network(self._identifier)
        self._loses_arrivals = True
        network.apply_rules(network.arrival_rules(self._identifier, shares, spared_ports))
        self._loses_arrivals = bool(shares)

    def limit_rate(self, node: str, bytes_per_s: int | None) -> None:
        """See `Rig.limit_rate`."""
        port = self._port_of_node(node)
        _raise_if_refused(network.network_refusal("tc"), "No rate can be limited")
        if bytes_per_s is not None and bytes_per_s < 1:
            raise RunFailedError(f"The rate of {node} can't be limited to {bytes_per_s} bytes a second: 1 or more.")
        self._limited.add(node)
        network.limit_rate(port, bytes_per_s)

    def lift(self) -> None:
        """Undo every fault of the network."""
        self.lose_arrivals({}, "")
        if self._faults != LinkFaults():
            self._apply_faults(LinkFaults())
        for node in sorted(self._limited):
            network.limit_rate(self._ports[node], None)
        self._limited.clear()

    def _apply_faults(self, faults: LinkFaults) -> None:
        _raise_if_refused(network.network_refusal("nft"), "No packets can be dropped")
        ports = {**self._ports, CLIENTS: Port("", "", self._clients_address)}
        network.apply_rules(network.fault_rules(self._identifier, ports, faults))
        self._faults = faults

    def _port_of_node(self, node: str) -> Port:
        if node not in self._ports:
            names_of_nodes = sorted(self._ports)
            raise RunFailedError(
                f"{node} is no node of the network{did_you_mean(node, names_of_nodes)}."
                if names_of_nodes
                else "There is no network."
            )
        return self._ports[node]


def _raise_if_refused(refusal: str, failure: str) -> None:
    if refusal:
        raise RunFailedError(f"{failure}: {refusal}.")


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
        _raise_if_refused(fuse_disk.disk_refusal(file_system), f"No {file_system} disk can be made at {place}")
        image = reap.image_of(place)
        if image.exists() or (place.exists() and (not place.is_dir() or any(place.iterdir()))):
            raise RunFailedError(f"No disk can be made at {place}: something is there.")
        self._ledger.hold_disk(place)
        try:
            make_own_directory(place)
            if file_system == "fuse":
                free_bytes = shutil.disk_usage(place).free
                if free_bytes < size_bytes:
                    raise OSError(0, f"it needs {size_bytes:,} bytes, and {free_bytes:,} are free")
                agent_pid = os.getpid()
                self._fuse[place] = FuseDisk(place, image, lambda: die_with_parent(agent_pid))
                self._fuse[place].mount()
            else:
                loop_disk.mount_disk(place, image, size_bytes, file_system)
                self._file_systems[place] = file_system
        except OSError as error:
            self._remove_and_forget(place)
            raise RunFailedError(f"No {file_system} disk can be made at {place}: {_error_words(error)}.") from error

    def remove(self, place: Path) -> None:
        """See `Rig.remove_disk`."""
        if place not in self._file_systems and place not in self._fuse:
            return
        try:
            self._remove_and_forget(place)
        except OSError as error:
            raise RunFailedError(
                f"The disk {place} can't be removed: {_error_words(error)}{_used_by(place)}."
            ) from error

    def _remove_and_forget(self, place: Path) -> None:
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
        with self._device(place) as descriptor:
            _raise_if_refused(cgroups.disk_refusal(), f"The disk {place} can't be slowed down")
            for value, unit in ((bytes_per_s, "bytes"), (ops_per_s, "operations")):
                if value is not None and value < 1:
                    raise RunFailedError(
                        f"The disk {place} can't be slowed down to {value} {unit} a second: 1 or more."
                    )
            cgroups.limit_disk(_device_number_of(descriptor), bytes_per_s, ops_per_s)
        self._limits[place] = (bytes_per_s, ops_per_s)

    def hang(self, place: Path) -> None:
        """See `Rig.hang_disk`."""
        with self._device(place) as descriptor:
            loop_disk.freeze(descriptor)

    def unhang(self, place: Path) -> None:
        """See `Rig.unhang_disk`."""
        with self._device(place) as descriptor:
            loop_disk.thaw(descriptor)

    def lift(self) -> None:
        """Let all disks go on, and be as fast as they are. Never raises."""
        for place in self._file_systems:
            reap.lift_disk_faults(place)
        self._limits.clear()

    def cut(self, processes: Sequence[str], places: Sequence[Path]) -> CutReport:
        """See `Rig.cut_power`."""
        chosen = list(dict.fromkeys(places))
        with contextlib.ExitStack() as stack:
            descriptors = {
                place: stack.enter_context(self._fuse[place].opened() if place in self._fuse else self._device(place))
                for place in chosen
            }
            # Not later: a file system that is cut off does not report it.
            numbers = {place: _device_number_of(descriptor) for place, descriptor in descriptors.items()}
            self._check_users(processes, descriptors)
            asked_ns = time.monotonic_ns()
            stopped = self._trees.stop(processes)
            try:
                self._check_written(chosen)
                frozen_ns = time.monotonic_ns()
                for place, descriptor in descriptors.items():
                    if place in self._fuse:
                        self._fuse[place].cut_off()
                    else:
                        loop_disk.cut_off(descriptor)
            except (OSError, RunFailedError):
                self._trees.resume(processes)
                raise
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
            checks += self._mount_again(place, numbers[place])
            if place in self._limits:
                cgroups.limit_disk(numbers[place], *self._limits[place])
        return CutReport(asked_ns, frozen_ns, cut_ns, killed_ns, time.monotonic_ns(), stopped, tuple(checks))

    def _mount_again(self, place: Path, number: str) -> list[DiskCheck]:
        """Mount a disk again after a power cut; what its file system's check said, where there is one to check."""
        try:
            if place in self._fuse:
                self._fuse[place].mount_again()
                return []
            return [loop_disk.mount_again(place, number, self._file_systems[place])]
        except OSError as error:
            raise RunFailedError(
                f"The disk {place} can't be mounted again after the power cut: {_error_words(error)}{_used_by(place)}."
            ) from error

    def _check_users(self, processes: Sequence[str], descriptors: dict[Path, int]) -> None:
        """Raise `RunFailedError` if a process that goes on uses a disk: what it is promised in the cut may be lost."""
        for place, descriptor in descriptors.items():
            # Who uses a file system and is none of these processes, nor ourselves, nor gone by now.
            expected_pids = self._pids_of_processes(processes) | {os.getpid()}
            using = procfs.users_of(os.fstat(descriptor).st_dev)
            # Servers that are just starting fork all the time: a child that is new since we looked is theirs, too.
            expected_pids |= self._pids_of_processes(processes)
            strange = {pid: procfs.read_stat(pid) for pid in using if pid not in expected_pids}
            if others := {pid: using[pid] for pid, stat in strange.items() if stat is not None and not stat.ended}:
                obstacle = f"{_names_with_pids(others)} has files open there and would not be stopped"
                raise RunFailedError(
                    f"The power of {place} can't be cut: {obstacle}.",
                    "Name every process of the node, or end those that are none.",
                )

    def _check_written(self, places: Sequence[Path]) -> None:
        """Raise `RunFailedError` if a daemon itself has spoilt a file, which must not be taken for lost."""
        for place in places:
            wrong = self._fuse[place].wrongly_written() if place in self._fuse else []
            if wrong:
                raise RunFailedError(
                    f"The power of {place} can't be cut: {wrong[0]} was created for appending, and libfuse's "
                    "passthrough_ll has written it wrongly, so that what is lost may be its fault.",
                    "Use a disk of its own (`--file-system ext4`), which needs root.",
                )

    def _pids_of_processes(self, processes: Sequence[str]) -> set[int]:
        return {stat.pid for stat in self._trees.members(processes)}

    @contextlib.contextmanager
    def _device(self, place: Path) -> Iterator[int]:
        """A descriptor of the root directory of a disk that can be slowed down and hang, unlike those of libfuse."""
        if place in self._fuse:
            raise RunFailedError(f"{place} is a disk of libfuse: it can neither be slowed down nor hang.")
        if place not in self._file_systems:
            raise RunFailedError(f"{place} is no disk that was made here.")
        with loop_disk.open_disk_root(place, reap.image_of(place)) as descriptor:
            yield descriptor


def _device_number_of(descriptor: int) -> str:
    return loop_disk.device_number(os.fstat(descriptor).st_dev)


def _error_words(error: OSError) -> str:
    return (error.strerror or str(error)).rstrip(".")


def _used_by(place: Path) -> str:
    """Who still uses a disk, as a phrase to append, or ""."""
    try:
        users = procfs.users_of(place.stat().st_dev)
    except OSError:
        return ""
    return f"; in use by {_names_with_pids(users)}" if place.is_mount() and users else ""


def _names_with_pids(processes: Mapping[int, str]) -> str:
    """The names of processes with their numbers, for a message."""
    return ", ".join(f"{name} (process {pid})" for pid, name in sorted(processes.items()))


class AgentRig:
    """Everything that `Rig` offers, by the name of the call. Calls block: nothing else goes on in the agent then."""

    def __init__(self, children: Children, ledger: Ledger) -> None:
        self._ledger = ledger
        self._trees = Trees(children)
        self._disks = AgentDisks(self._trees, ledger)
        self._network = AgentNetwork(children.agent_id, ledger)
        self._lifted = False
        self.calls: dict[str, Callable[..., Any]] = {
            "refusals": refusals_of_this_host,
            "make_disk": self._disks.make,
            "remove_disk": self._disks.remove,
            "cut_power": self._disks.cut,
            "throttle_disk": self._disks.throttle,
            "hang_disk": self._disks.hang,
            "unhang_disk": self._disks.unhang,
            "kill": self._trees.kill,
            "pause": self._trees.stop,
            "resume": self._trees.resume,
            "make_network": self._network.make,
            "remove_network": self._network.remove,
            "partition": self._network.partition,
            "heal": self._network.heal,
            "lose_packets": self._network.lose_packets,
            "lose_arrivals": self._network.lose_arrivals,
            "limit_rate": self._network.limit_rate,
            "lift_all": self._lift_all,
        }

    def namespace_of(self, node: str) -> Path | None:
        """The network namespace of a node, None for "". Raises `RunFailedError` for one that is not there."""
        return self._network.namespace_of(node)

    def lift_once(self) -> None:
        """At the agent's end: undo every fault, as far as it can be. Never raises."""
        if not self._lifted:
            self._lifted = True
            with contextlib.suppress(OSError, RunFailedError):
                self._lift_all()

    def remove_all(self) -> list[str]:
        """Remove disks and network. Returns what could not be, with the reason."""
        return reap.remove_everything(self._ledger.disks, self._ledger.network)[1]

    def _lift_all(self) -> None:
        # Disks first: nobody can go on while his disk hangs. Nothing after it may keep it from being done.
        self._disks.lift()
        self._trees.resume()
        self._network.lift()


def refusals_of_this_host() -> dict[Ability, str]:
    """See `Rig.refusals`."""
    ext4, xfs = loop_disk.refusal("ext4"), loop_disk.refusal("xfs")
    no_disk = ext4 if ext4 and xfs else ""
    reasons: dict[Ability, str] = {
        "ext4": ext4,
        "xfs": xfs,
        "fuse": fuse_disk.refusal(),
        "power_cut": no_disk,
        "slow_disk": no_disk or cgroups.disk_refusal(),
        "hung_disk": no_disk,
        "network": network.network_refusal(),
        "partition": network.network_refusal("nft"),
        "packet_loss": network.network_refusal("nft"),
        "rate_limit": network.network_refusal("tc"),
        "memory": cgroups.memory_refusal(),
    }
    return {ability: reason for ability, reason in reasons.items() if reason}
