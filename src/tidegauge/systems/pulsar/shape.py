"""How a Pulsar cluster is laid out: how many brokers, and whether they share a node and its memory with a bookie. Pure.

Co-located: a node is a bookie and, on as many nodes as there are brokers, a broker beside it; the two share the node's
memory. Tiered: brokers and bookies have nodes of their own, so each has a node's whole memory to itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tidegauge.errors import UserError, nearest

BROKERS, LAYOUT = "brokers", "layout"
CO_LOCATED, TIERED = "co-located", "tiered"
OPTIONS = [BROKERS, LAYOUT]
LAYOUTS = [CO_LOCATED, TIERED]
# A broker holds what it dispatches and caches, a bookie mostly uses the kernel's page cache.
BOOKIE_SHARE, BROKER_SHARE, SHARES = 1, 2, 3
# Class data, code, threads and, of bookies, RocksDB (MiB; see docs/reference.md).
BROKER_OUTSIDE_MB, BOOKIE_OUTSIDE_MB = 350, 250
ZOOKEEPER_HEAP_MB, ZOOKEEPER_DIRECT_MB, ZOOKEEPER_OUTSIDE_MB = 128, 32, 120
STANDALONE_OUTSIDE_MB = 500


@dataclass(frozen=True)
class Memory:
    """Of one JVM, MiB."""

    heap_mb: int
    direct_mb: int


@dataclass(frozen=True)
class Shape:
    """A layout in force."""

    nodes: int
    brokers: int
    layout: str

    @property
    def machines(self) -> int:
        """How many nodes there are, with those of brokers that have nodes of their own."""
        return self.nodes + (self.brokers if self.layout == TIERED else 0)

    def bookie_memory(self, node: Memory) -> Memory:
        """A bookie's part of a node's memory. Bookies are alike, also those without a broker beside them."""
        return node if self.layout == TIERED else _share(node, BOOKIE_SHARE)

    def broker_memory(self, node: Memory) -> Memory:
        """A broker's part of a node's memory."""
        return node if self.layout == TIERED else _share(node, BROKER_SHARE)

    def memory_mb(self, node: Memory) -> int:
        """All processes together."""
        if self.nodes == 1:
            return node.heap_mb + node.direct_mb + STANDALONE_OUTSIDE_MB
        bookie, broker = self.bookie_memory(node), self.broker_memory(node)
        return (
            self.nodes * (bookie.heap_mb + bookie.direct_mb + BOOKIE_OUTSIDE_MB)
            + self.brokers * (broker.heap_mb + broker.direct_mb + BROKER_OUTSIDE_MB)
            + (ZOOKEEPER_HEAP_MB + ZOOKEEPER_DIRECT_MB + ZOOKEEPER_OUTSIDE_MB)
        )


def shape_problem(options: Mapping[str, str], nodes: int) -> str:
    """Why these options can't be, with what is allowed; "" if they can."""
    for key in options:
        if key not in OPTIONS:
            return f"unknown key '{key}'{nearest(key, OPTIONS)}; allowed: {', '.join(OPTIONS)}"
    brokers = options.get(BROKERS, str(nodes))
    if not (brokers.isascii() and brokers.isdecimal() and 1 <= int(brokers) <= nodes):
        most = f"a number from 1 to {nodes}, the number of nodes" if nodes > 1 else "1, since there is one node"
        return f"{BROKERS}: '{brokers}': must be {most}"
    layout = options.get(LAYOUT, CO_LOCATED)
    if layout not in LAYOUTS:
        return f"{LAYOUT}: '{layout}': must be one of {', '.join(LAYOUTS)}{nearest(layout, LAYOUTS)}"
    if layout == TIERED and nodes == 1:
        return f"{LAYOUT}: '{TIERED}' needs several nodes: on one node, broker and bookie are one process"
    return ""


def shape_of(options: Mapping[str, str], nodes: int) -> Shape:
    """The layout that these options mean. Raises `UserError` if they can't be."""
    problem = shape_problem(options, nodes)
    if problem:
        raise UserError(f"pulsar: shape: {problem}.")
    return Shape(nodes, int(options.get(BROKERS, nodes)), options.get(LAYOUT, CO_LOCATED))


def _share(node: Memory, share: int) -> Memory:
    return Memory(node.heap_mb * share // SHARES, node.direct_mb * share // SHARES)
