"""The memory of each node's servers, where a campaign says `auto`: it follows from the machine's. Pure.

    all nodes of a system   half of the machine's memory; the other half is left to the page cache and the load
    each node               its part of that: half of it is heap, half direct memory
    bounds                  whole steps of 64 MiB, at most 31 GiB (a larger heap has longer pointers)

Every system of a campaign gets the same, by the layout that has the most nodes, so that memory favours none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated, Any

from pydantic import BeforeValidator

from tidegauge.campaign.model import AUTO, SystemChoice
from tidegauge.config.fields import size_between
from tidegauge.config.units import parse_size_bytes

AUTO_WORD = "auto"
_HEAP_LEAST, _MB_LEAST = "128MiB", 128
_SHARE_OF_MACHINE = 2
_PARTS_OF_NODE = 2
_STEP_MB = 64
_MB_MAX = 31 << 10


def _memory_between(low: str, high: str) -> Callable[[Any], int]:
    """A parser of a size in bytes between two, or of the word that leaves it to the machine's memory."""
    between = size_between(low, high)

    def parse(value: Any) -> int:
        if value == AUTO_WORD:
            return AUTO
        try:
            return between(parse_size_bytes(value))
        except ValueError as error:
            raise ValueError(f"{error}, or '{AUTO_WORD}'") from error

    return parse


parse_heap = _memory_between(_HEAP_LEAST, "1024GiB")
parse_direct_memory = _memory_between("64MiB", "1024GiB")
Heap = Annotated[int, BeforeValidator(parse_heap)]
"""Heap of each node's JVM, bytes, from "768MiB"; `AUTO` from "auto"."""

DirectMemory = Annotated[int, BeforeValidator(parse_direct_memory)]
"""The same for memory outside of the heap."""


def in_mb(size_bytes: int) -> int:
    """Bytes as MiB; `AUTO` stays."""
    return AUTO if size_bytes == AUTO else size_bytes >> 20


def auto_mb(machine_mb: int, nodes: int) -> int:
    """Heap of each of so many nodes on a machine with this memory (MiB), and as much direct memory. 0 = too small."""
    mb = machine_mb // _SHARE_OF_MACHINE // nodes // _PARTS_OF_NODE
    return min(_MB_MAX, mb // _STEP_MB * _STEP_MB)


def with_memory(systems: Sequence[SystemChoice], machine_mb: int, nodes: int) -> tuple[SystemChoice, ...]:
    """The systems, with sizes in the place of `auto`. Raises `ValueError`, in words for the user."""
    if not any(AUTO in (system.heap_mb, system.direct_memory_mb) for system in systems):
        return tuple(systems)
    mb = auto_mb(machine_mb, nodes)
    if mb < _MB_LEAST:
        there = (
            f"has {machine_mb:,} MiB, too little for {nodes} nodes" if machine_mb else "does not say how much it has"
        )
        raise ValueError(f"'{AUTO_WORD}': this machine {there}: give a size such as 1GiB")
    return tuple(
        replace(
            system,
            heap_mb=mb if system.heap_mb == AUTO else system.heap_mb,
            direct_memory_mb=mb if system.direct_memory_mb == AUTO else system.direct_memory_mb,
        )
        for system in systems
    )
