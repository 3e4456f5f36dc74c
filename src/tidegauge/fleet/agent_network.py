"""The agent's network: namespaces on a switch, and what the switch does to packets."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Sequence
from itertools import product
from pathlib import Path

from tidegauge.errors import RunFailedError, nearest
from tidegauge.fleet import registry
from tidegauge.fleet.ledger import Ledger
from tidegauge.fleet.rig_api import CLIENTS, Network
from tidegauge.hosts import namespaces, network, packet_filter
from tidegauge.hosts.network import Port
from tidegauge.hosts.packet_filter import Plug


class AgentNetwork:
    """The network of one agent, recorded before it is made. Methods raise `OSError` and `RunFailedError`."""

    def __init__(self, agent_id: str, ledger: Ledger) -> None:
        self._identifier = agent_id
        self._ledger = ledger
        self._ports: dict[str, Port] = {}
        self._clients_address = ""
        self._cut_links: set[tuple[str, str]] = set()
        self._lost_shares: dict[str, float] = {}
        self._limited: set[str] = set()

    def make(self, nodes: Sequence[str]) -> Network:
        """See `Rig.make_network`."""
        _require(network.refusal(), "No network can be made")
        if self._ports:
            raise RunFailedError("There is a network already: remove it before making another.")
        if len(set(nodes)) < len(nodes) or CLIENTS in nodes or not nodes:
            raise RunFailedError(f"A network needs nodes of different names, none of them '{CLIENTS}'.")
        # One agent at a time from looking for addresses to taking them, or two could find the same ones free.
        guard = os.open(registry.agents_directory() / "network.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(guard, fcntl.LOCK_EX)
            self._ledger.hold_network(self._identifier)
            self._ports, self._clients_address = network.make(self._identifier, nodes)
        except OSError:
            self.remove()
            raise
        finally:
            os.close(guard)
        return Network({node: port.address for node, port in self._ports.items()}, self._clients_address)

    def remove(self) -> None:
        """See `Rig.remove_network`."""
        self._ports = {}
        self._cut_links.clear()
        self._lost_shares.clear()
        self._limited.clear()
        network.remove(self._identifier)
        self._ledger.hold_network("")

    def namespace_of(self, node: str) -> Path | None:
        """Where a node's processes are to run; None for the host's own network ("")."""
        return namespaces.NAMED / self._port(node).namespace if node else None

    def partition(self, sources: Iterable[str], targets: Iterable[str], both_ways: bool) -> None:
        """See `Rig.partition`."""
        pairs = {(source, target) for source, target in product(sources, targets) if source != target}
        for name in {name for pair in pairs for name in pair} - {CLIENTS}:
            self._port(name)
        links = self._cut_links | pairs | ({(target, source) for source, target in pairs} if both_ways else set())
        self._filter(links, self._lost_shares)
        self._cut_links = links

    def heal(self) -> None:
        """See `Rig.heal`."""
        if self._cut_links:
            self._filter(set(), self._lost_shares)
        self._cut_links = set()

    def lose_packets(self, node: str, share: float) -> None:
        """See `Rig.lose_packets`."""
        self._port(node)
        if not 0 <= share <= 1:
            raise RunFailedError(f"The share of packets that {node} loses can't be {share:g}: 0 to 1.")
        shares = {**self._lost_shares, node: share} if share else self._without(node)
        self._filter(self._cut_links, shares)
        self._lost_shares = shares

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
        if self._cut_links or self._lost_shares:
            self._filter(set(), {})
        self._cut_links, self._lost_shares = set(), {}
        for node in sorted(self._limited):
            network.limit_rate(self._ports[node], None)
        self._limited.clear()

    def _without(self, node: str) -> dict[str, float]:
        return {name: share for name, share in self._lost_shares.items() if name != node}

    def _filter(self, links: set[tuple[str, str]], shares: dict[str, float]) -> None:
        _require(network.refusal("nft"), "No packets can be dropped")
        plugs = {node: Plug(port.interface, port.address) for node, port in self._ports.items()}
        plugs[CLIENTS] = Plug("", self._clients_address)
        network.drop(packet_filter.rules(self._identifier, plugs, links, shares))

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
