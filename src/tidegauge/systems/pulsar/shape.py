"""How a Pulsar cluster is laid out: how many brokers, and whether they share a node and its memory with a bookie. Pure.

Co-located: a node is a bookie and, on as many nodes as there are brokers, a broker beside it; the two share the node's
memory, a third for the bookie unless `bookie-share` says otherwise. Tiered: brokers and bookies have nodes of their
own, so each has a node's whole memory to itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from tidegauge.errors import UserError, nearest
from tidegauge.model.memory import ProcessMemory

BROKERS, LAYOUT, BOOKIE_SHARE = "brokers", "layout", "bookie-share"
CO_LOCATED, TIERED = "co-located", "tiered"
OPTIONS = [BROKERS, LAYOUT, BOOKIE_SHARE]
LAYOUTS = [CO_LOCATED, TIERED]
# A broker holds what it dispatches and caches, a bookie mostly uses the kernel's page cache.
BOOKIE_SHARE_USUAL = Fraction(1, 3)
BOOKIE_PERCENT_MIN, BOOKIE_PERCENT_MAX = 10, 90
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
    """A layout in force. `bookie_share`: of a node's memory, of a bookie with a broker beside it."""

    nodes: int
    brokers: int
    layout: str
    bookie_share: Fraction = BOOKIE_SHARE_USUAL

    @property
    def machines(self) -> int:
        """How many nodes there are, with those of brokers that have nodes of their own."""
        return self.nodes + (self.brokers if self.layout == TIERED else 0)

    def bookie_memory(self, node: Memory) -> Memory:
        """A bookie's part of a node's memory. Bookies are alike, also those without a broker beside them."""
        return node if self.layout == TIERED else _part(node, self.bookie_share)

    def broker_memory(self, node: Memory) -> Memory:
        """A broker's part of a node's memory."""
        return node if self.layout == TIERED else _part(node, 1 - self.bookie_share)

    def processes(self, node: Memory) -> tuple[ProcessMemory, ...]:
        """All of them, with what each needs of a node with this memory."""
        if self.nodes == 1:
            return (ProcessMemory("node", 1, node.heap_mb, node.direct_mb, STANDALONE_OUTSIDE_MB),)
        bookie, broker = self.bookie_memory(node), self.broker_memory(node)
        keeper = (ZOOKEEPER_HEAP_MB, ZOOKEEPER_DIRECT_MB, ZOOKEEPER_OUTSIDE_MB)
        return (
            ProcessMemory("bookie", self.nodes, bookie.heap_mb, bookie.direct_mb, BOOKIE_OUTSIDE_MB),
            ProcessMemory("broker", self.brokers, broker.heap_mb, broker.direct_mb, BROKER_OUTSIDE_MB),
            ProcessMemory("ZooKeeper", 1, *keeper, of_nodes=False),
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
    if BOOKIE_SHARE in options and not _share(options[BOOKIE_SHARE]):
        allowed = f"{BOOKIE_PERCENT_MIN}% to {BOOKIE_PERCENT_MAX}% of a node's memory, in whole percent"
        return f"{BOOKIE_SHARE}: '{options[BOOKIE_SHARE]}': must be {allowed}"
    return ""


def shape_of(options: Mapping[str, str], nodes: int) -> Shape:
    """The layout that these options mean. Raises `UserError` if they can't be."""
    problem = shape_problem(options, nodes)
    if problem:
        raise UserError(f"pulsar: shape: {problem}.")
    share = _share(options[BOOKIE_SHARE]) if BOOKIE_SHARE in options else BOOKIE_SHARE_USUAL
    return Shape(nodes, int(options.get(BROKERS, nodes)), options.get(LAYOUT, CO_LOCATED), share)


def _share(text: str) -> Fraction:
    """ "50%" as a half; 0 if it is no share that a bookie can have."""
    number, sign, rest = text.partition("%")
    if not (sign and not rest and number.isascii() and number.isdecimal()):
        return Fraction(0)
    percent = int(number)
    return Fraction(percent, 100) if BOOKIE_PERCENT_MIN <= percent <= BOOKIE_PERCENT_MAX else Fraction(0)


def _part(node: Memory, share: Fraction) -> Memory:
    return Memory(int(node.heap_mb * share), int(node.direct_mb * share))
