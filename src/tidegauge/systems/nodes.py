"""What of a deployment goes down together when one machine of a real cluster would."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tidegauge.errors import RunFailedError


@dataclass(frozen=True)
class Node:
    """One machine's share of a deployment.

    Attributes:
        number: from 1, as in names of processes.
        processes: names on the host that lose power together, in the order of starting them; () where others run it.
        directories: where they keep what must survive a power cut: data, journal, metadata. () if they keep nothing.
    """

    number: int
    processes: tuple[str, ...]
    directories: tuple[Path, ...]


@dataclass(frozen=True)
class Seat:
    """A node's place in a network of the nodes' own: its address, and its name there (`ProcessSpec.network_node`)."""

    address: str
    link: str


KEEPER = 0
"""The number of the seat of what belongs to no node, such as a ZooKeeper."""
NODE_INTERFACE = "eth0"
"""What a node in such a network has its address on."""
LOOPBACK = Seat("127.0.0.1", "")
"""Where a node is without such a network: among everything else on the host."""


def node_of(nodes: tuple[Node, ...], number: int) -> Node:
    """The node of a number. Raises `RunFailedError` if there is none."""
    for node in nodes:
        if node.number == number:
            return node
    known = ", ".join(str(node.number) for node in nodes) or "none that Tidegauge started"
    raise RunFailedError(f"There is no node {number} (nodes: {known}).")
