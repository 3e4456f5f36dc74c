"""The agent's side of the rig: its network and disks, what is done to them, and what it undoes at the agent's end."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tidegauge.errors import RunFailedError, nearest
from tidegauge.fleet import reap, registry
from tidegauge.fleet.agent_disks import AgentDisks
from tidegauge.fleet.api import CLIENTS, Ability, Network
from tidegauge.fleet.children import Children
from tidegauge.fleet.registry import Ledger
from tidegauge.fleet.trees import Trees
from tidegauge.hosts import cgroups, fuse_disk, loop_disk, network
from tidegauge.hosts.locks import locked
from tidegauge.hosts.network import LinkFaults, Port


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

    def make(self, nodes: Sequence[str]) -> Network:
        """See `Rig.make_network`."""
        _require(network.refusal(), "No network can be made")
        if self._ports:
            raise RunFailedError("There is a network already: remove it before making another.")
        if len(set(nodes)) < len(nodes) or CLIENTS in nodes or not nodes:
            raise RunFailedError(f"A network needs nodes of different names, none of them '{CLIENTS}'.")
        # One agent at a time from looking for addresses to taking them, or two could find the same ones free.
        with locked(registry.agents_directory() / "network.lock"):
            try:
                self._ledger.hold_network(self._identifier)
                self._ports, self._clients_address = network.make(self._identifier, nodes)
            except OSError:
                self.remove()
                raise
        return Network({node: port.address for node, port in self._ports.items()}, self._clients_address)

    def remove(self) -> None:
        """See `Rig.remove_network`."""
        self._ports = {}
        self._faults = LinkFaults()
        self._limited.clear()
        self._loses_arrivals = False
        network.remove(self._identifier)
        self._ledger.hold_network("")

    def namespace_of(self, node: str) -> Path | None:
        """Where a node's processes are to run; None for the host's own network ("")."""
        return network.NAMED / self._port(node).namespace if node else None

    def partition(self, sources: Iterable[str], targets: Iterable[str], both_ways: bool) -> None:
        """See `Rig.partition`."""
        faults = self._faults.parted(sources, targets, both_ways)
        for name in {name for link in faults.cut_links for name in link} - {CLIENTS}:
            self._port(name)
        self._filter(faults)

    def heal(self) -> None:
        """See `Rig.heal`."""
        if self._faults.cut_links:
            self._filter(self._faults.healed())

    def lose_packets(self, node: str, share: float) -> None:
        """See `Rig.lose_packets`."""
        self._port(node)
        if not 0 <= share <= 1:
            raise RunFailedError(f"The share of packets that {node} loses can't be {share:g}: 0 to 1.")
        self._filter(self._faults.losing(node, share))

    def lose_arrivals(self, shares: Mapping[str, float], spared_ports: str) -> None:
        """See `AgentRigCalls.lose_arrivals`."""
        if not shares and not self._loses_arrivals:
            return
        _require(network.refusal("nft"), "No packets can be dropped")
        self._ledger.hold_network(self._identifier)
        self._loses_arrivals = True
        network.drop(network.arrival_rules(self._identifier, shares, spared_ports))
        self._loses_arrivals = bool(shares)

    def limit_rate(self, node: str, bytes_per_s: int | None) -> None:
        """See `Rig.limit_rate`."""
        port = self._port(node)
        _require(network.refusal("tc"), "No rate can be limited")
        if bytes_per_s is not None and bytes_per_s < 1:
            raise RunFailedError(f"The rate of {node} can't be limited to {bytes_per_s} bytes a second: 1 or more.")
        self._limited.add(node)
        network.limit_rate(port, bytes_per_s)

    def lift(self) -> None:
        """Undo every fault of the network."""
        self.lose_arrivals({}, "")
        if self._faults != LinkFaults():
            self._filter(LinkFaults())
        for node in sorted(self._limited):
            network.limit_rate(self._ports[node], None)
        self._limited.clear()

    def _filter(self, faults: LinkFaults) -> None:
        _require(network.refusal("nft"), "No packets can be dropped")
        ports = {**self._ports, CLIENTS: Port("", "", self._clients_address)}
        network.drop(network.rules(self._identifier, ports, faults))
        self._faults = faults

    def _port(self, node: str) -> Port:
        if node not in self._ports:
            known = sorted(self._ports)
            raise RunFailedError(
                f"{node} is no node of the network{nearest(node, known)}." if known else "There is no network."
            )
        return self._ports[node]


def _require(refusal: str, what: str) -> None:
    if refusal:
        raise RunFailedError(f"{what}: {refusal}.")


class AgentRig:
    """Everything that `Rig` offers, by the name of the call. Calls block: nothing else goes on in the agent then."""

    def __init__(self, children: Children, ledger: Ledger) -> None:
        self._ledger = ledger
        self._trees = Trees(children)
        self._disks = AgentDisks(self._trees, ledger)
        self._network = AgentNetwork(children.agent_id, ledger)
        self._lifted = False
        self.calls: dict[str, Callable[..., Any]] = {
            "refusals": refusals,
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


def refusals() -> dict[Ability, str]:
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
        "network": network.refusal(),
        "partition": network.refusal("nft"),
        "packet_loss": network.refusal("nft"),
        "rate_limit": network.refusal("tc"),
        "memory": cgroups.memory_refusal(),
    }
    return {ability: reason for ability, reason in reasons.items() if reason}
