"""What is done to nodes that are on hosts of their own: as `Rig`, by the agents of these hosts."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TypeVar

from tidegauge.agent.client import AgentRigCalls
from tidegauge.errors import RunFailedError
from tidegauge.hosts.network import LinkFaults
from tidegauge.model.host import KEEPER_ROLE, FileSystem
from tidegauge.model.rig import CLIENTS, Ability, CutReport
from tidegauge.plain import grouped

Item = TypeVar("Item")
Result = TypeVar("Result")


def do_at_once(work: Callable[[Item], Result], items: Collection[Item]) -> list[Result]:
    """What `work` returns for each of these, for all at the same time. Raises what it raises, once all are done."""
    with ThreadPoolExecutor(max(1, len(items))) as pool:
        return list(pool.map(work, items))


NO_RATE_LIMIT = "the links of a fleet's hosts belong to the hosts"


def refusals_of_any_fleet() -> Mapping[Ability, str]:
    """See `Rig.refusals`: what can't be done whatever a fleet's hosts can."""
    return {"rate_limit": NO_RATE_LIMIT}


@dataclass(frozen=True)
class RigHost:
    """One host. `address` is where what it sends comes from."""

    address: str
    rig: AgentRigCalls


class RigOfHosts:
    """`Rig` of several hosts. A node is known by its link.

    Packets are dropped by the host that they arrive at, so that their sender learns nothing, as in a wire; those of
    the fleet itself (`spared_ports`, see `AgentRigCalls.lose_arrivals`) are not.
    """

    def __init__(
        self,
        servers: Mapping[str, RigHost],
        clients: Sequence[RigHost],
        link_of: Callable[[str], str],
        spared_ports: str,
    ) -> None:
        """`clients`: all other hosts; several agents of one are one. `link_of`: the link of a process, by its name."""
        self._servers = servers
        self._clients = list({client.address: client for client in reversed(clients)}.values())
        self._link_of = link_of
        self._spared_ports = spared_ports
        self._disks: dict[Path, list[RigHost]] = {}
        self._faults = LinkFaults()
        self._lock = threading.Lock()

    def refusals(self) -> Mapping[Ability, str]:
        """See `Rig.refusals`: what some host can't do, with its address."""
        reasons: dict[Ability, str] = {}
        with_nodes = [host for link, host in self._servers.items() if link != KEEPER_ROLE]
        for host in dict.fromkeys([*with_nodes, *self._server_hosts(), *self._clients]):
            for ability, reason in host.rig.refusals().items():
                drops = ability in ("partition", "packet_loss")
                # Hosts are a network already. Who has no node needs no disk.
                if drops or (ability != "network" and host in with_nodes):
                    reasons.setdefault(ability, f"{host.address}: {reason}")
        return {**reasons, **refusals_of_any_fleet()}

    # Disks

    def make_disk(self, place: Path, size_bytes: int, file_system: FileSystem = "ext4", node: str = "") -> None:
        """See `Rig.make_disk`."""
        host = self._servers[node]
        host.rig.make_disk(place, size_bytes, file_system)
        self._disks.setdefault(place, []).append(host)

    def remove_disk(self, place: Path) -> None:
        """See `Rig.remove_disk`."""
        do_at_once(lambda host: host.rig.remove_disk(place), self._disks.get(place, ()))
        self._disks.pop(place, None)

    def cut_power(self, processes: Sequence[str], places: Sequence[Path]) -> CutReport:
        """See `Rig.cut_power`: every process on every host stands still before the first disk is cut off.

        Times are this host's, and later than what they are of by as much as an answer takes. Where a host refuses, the
        others may have been cut; what was not goes on.
        """
        by_host = {host: (names, list[Path]()) for host, names in self._by_host(processes).items()}
        for place in places:
            for host in self._hosts_of_disk(place):
                by_host.setdefault(host, ([], []))[1].append(place)

        def cut_on_host(host: RigHost) -> CutReport:
            report = host.rig.cut_power(*by_host[host])
            later_ns = time.monotonic_ns() - report.mounted_ns
            return replace(
                report,
                cut_ns=report.cut_ns + later_ns,
                killed_ns=report.killed_ns + later_ns,
                mounted_ns=report.mounted_ns + later_ns,
            )

        asked_ns = time.monotonic_ns()
        with self._going_on_otherwise(processes):
            self.pause(processes)
            frozen_ns = time.monotonic_ns()
            reports = do_at_once(cut_on_host, by_host)
        return CutReport(
            asked_ns=asked_ns,
            frozen_ns=frozen_ns,
            cut_ns=max(report.cut_ns for report in reports),
            killed_ns=max(report.killed_ns for report in reports),
            mounted_ns=max(report.mounted_ns for report in reports),
            processes=sum(report.processes for report in reports),
            disks=tuple(disk for report in reports for disk in report.disks),
        )

    def throttle_disk(self, place: Path, bytes_per_s: int | None = None, ops_per_s: int | None = None) -> None:
        """See `Rig.throttle_disk`."""
        do_at_once(lambda host: host.rig.throttle_disk(place, bytes_per_s, ops_per_s), self._hosts_of_disk(place))

    def hang_disk(self, place: Path) -> None:
        """See `Rig.hang_disk`."""
        do_at_once(lambda host: host.rig.hang_disk(place), self._hosts_of_disk(place))

    def unhang_disk(self, place: Path) -> None:
        """See `Rig.unhang_disk`."""
        do_at_once(lambda host: host.rig.unhang_disk(place), self._hosts_of_disk(place))

    # Processes

    def kill(self, processes: Sequence[str]) -> None:
        """See `Rig.kill`."""
        by_host = self._by_host(processes)
        do_at_once(lambda host: host.rig.kill(by_host[host]), by_host)

    def pause(self, processes: Sequence[str]) -> None:
        """See `Rig.pause`."""
        by_host = self._by_host(processes)
        with self._going_on_otherwise(processes):
            do_at_once(lambda host: host.rig.pause(by_host[host]), by_host)

    def resume(self, processes: Sequence[str]) -> None:
        """See `Rig.resume`."""
        by_host = self._by_host(processes)
        do_at_once(lambda host: host.rig.resume(by_host[host]), by_host)

    @contextlib.contextmanager
    def _going_on_otherwise(self, processes: Sequence[str]) -> Iterator[None]:
        """Where one host can't do what this block asks, no process stays stopped on any."""
        try:
            yield
        except RunFailedError:
            with contextlib.suppress(RunFailedError):
                self.resume(processes)
            raise

    # Networks

    def make_network(self, nodes: Sequence[str]) -> Mapping[str, str]:
        """Raises `RunFailedError`: hosts are in one."""
        raise RunFailedError(f"No network can be made for {', '.join(nodes)}: {NO_RATE_LIMIT}.")

    def remove_network(self) -> None:
        """See `Rig.remove_network`: there is none."""

    def partition(self, sources: Collection[str], targets: Collection[str], both_ways: bool = True) -> None:
        """See `Rig.partition`. What shares a host is not parted."""
        self._drop_arrivals(self._faults.parted(sources, targets, both_ways))

    def heal(self) -> None:
        """See `Rig.heal`."""
        self._drop_arrivals(self._faults.healed())

    def lose_packets(self, node: str, share: float) -> None:
        """See `Rig.lose_packets`."""
        self._drop_arrivals(self._faults.losing(node, share))

    def limit_rate(self, node: str, bytes_per_s: int | None) -> None:
        """Raises `RunFailedError`, but for lifting it: it was never limited."""
        if bytes_per_s is not None:
            raise RunFailedError(f"The rate of {node} can't be limited: {NO_RATE_LIMIT}.")

    def lift_all(self) -> None:
        """See `Rig.lift_all`."""
        self._faults = LinkFaults()
        do_at_once(lambda host: host.rig.lift_all(), [*self._server_hosts(), *self._clients])

    def _drop_arrivals(self, faults: LinkFaults) -> None:
        """Let every host drop what of this arrives there."""
        with self._lock:
            before, after = self._lost_arrivals(self._faults), self._lost_arrivals(faults)
            # Remembered first: where only some hosts can, what they do is lifted by what is remembered.
            self._faults = faults
            changed = [host for host in {*before, *after} if before.get(host) != after.get(host)]
            do_at_once(lambda host: host.rig.lose_arrivals(after.get(host, {}), self._spared_ports), changed)

    def _lost_arrivals(self, faults: LinkFaults) -> dict[RigHost, dict[str, float]]:
        """What share of what comes from which address each host is to drop."""
        kept_shares: dict[RigHost, dict[str, float]] = {}

        def lose_between(source: Sequence[RigHost], target: Sequence[RigHost], share: float) -> None:
            for sender, receiver in product(source, target):
                if sender != receiver:
                    shares = kept_shares.setdefault(receiver, {})
                    shares[sender.address] = shares.get(sender.address, 1.0) * (1 - share)

        for source, target in faults.cut_links:
            lose_between(self._hosts_of(source), self._hosts_of(target), 1.0)
        for node, share in faults.lost_shares.items():
            # Several nodes, or what belongs to none, may be on one of them.
            for other in [*self._server_hosts(), *self._clients]:
                lose_between((self._servers[node],), (other,), share)
                lose_between((other,), (self._servers[node],), share)
        return {host: {address: 1 - share for address, share in shares.items()} for host, shares in kept_shares.items()}

    def _server_hosts(self) -> list[RigHost]:
        return list(dict.fromkeys(self._servers.values()))

    def _hosts_of(self, node: str) -> Sequence[RigHost]:
        return self._clients if node == CLIENTS else [self._servers[node]]

    def _hosts_of_disk(self, place: Path) -> Sequence[RigHost]:
        if place not in self._disks:
            raise RunFailedError(f"{place} is no disk that was made on a host.")
        return self._disks[place]

    def _by_host(self, processes: Sequence[str]) -> dict[RigHost, list[str]]:
        return grouped((self._servers[self._link_of(name)], name) for name in processes)
