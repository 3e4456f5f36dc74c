"""Faults of networks."""

from __future__ import annotations

from collections.abc import Sequence

from tidegauge.model.faults.extent import (
    BOTH,
    CLIENTS,
    EVERYBODY,
    INTO,
    OUT_OF,
    SERVERS,
    FaultExtent,
    describe_bandwidth,
)
from tidegauge.model.faults.procedure import FaultedNodes, FaultProcedure
from tidegauge.model.rig import CLIENTS as CLIENTS_LINK
from tidegauge.numbers import trimmed


class Partition(FaultProcedure):
    """Nothing passes between a node and servers or clients, one way or both."""

    needs = ("network", "partition")
    keys = ("peers", "ways")
    keys_optional = True
    preposition = "around"

    def describe_extent(self, extent: FaultExtent) -> Sequence[str]:
        """From whom the node is cut off."""
        peers = "servers and clients" if extent.peers == EVERYBODY else extent.peers
        return [{BOTH: f"from {peers}", INTO: f"of what {peers} send", OUT_OF: f"of what goes to {peers}"}[extent.ways]]

    def impose_on(self, nodes: FaultedNodes, extent: FaultExtent) -> None:
        """Cut each node off."""
        for number in nodes.numbers:
            peers = [name for other, name in nodes.links.items() if other != number and extent.peers != CLIENTS]
            peers += [CLIENTS_LINK] if extent.peers != SERVERS else []
            node = [nodes.links[number]]
            sources, targets = (peers, node) if extent.ways == INTO else (node, peers)
            nodes.rig.partition(sources, targets, both_ways=extent.ways == BOTH)

    def lift_from(self, nodes: FaultedNodes) -> None:
        """Heal the network, of which nothing else is parted."""
        nodes.rig.heal()


class PacketLoss(FaultProcedure):
    """A share of the packets from and to a node is lost, by chance."""

    needs = ("network", "packet_loss")
    keys = ("share",)

    def describe_extent(self, extent: FaultExtent) -> Sequence[str]:
        """How many packets are lost."""
        if extent.share is None:
            return []
        return [f"{trimmed(extent.share)} of packets" if extent.share < 0.01 else f"{extent.share:.0%} of packets"]

    def impose_on(self, nodes: FaultedNodes, extent: FaultExtent) -> None:
        """Lose packets of each node."""
        for number in nodes.numbers:
            nodes.rig.lose_packets(nodes.links[number], extent.share or 0.0)

    def lift_from(self, nodes: FaultedNodes) -> None:
        """Lose none any more."""
        for number in nodes.numbers:
            nodes.rig.lose_packets(nodes.links[number], 0.0)


class RateLimit(FaultProcedure):
    """A node sends, and receives, no more than so many bytes a second."""

    needs = ("network", "rate_limit")
    keys = ("bandwidth",)

    def describe_extent(self, extent: FaultExtent) -> Sequence[str]:
        """How much passes, each way."""
        return describe_bandwidth(extent.bytes_per_s)

    def impose_on(self, nodes: FaultedNodes, extent: FaultExtent) -> None:
        """Limit the link of each node."""
        for number in nodes.numbers:
            nodes.rig.limit_rate(nodes.links[number], extent.bytes_per_s)

    def lift_from(self, nodes: FaultedNodes) -> None:
        """Lift the limits."""
        for number in nodes.numbers:
            nodes.rig.limit_rate(nodes.links[number], None)
