"""What a kind of fault is: what it needs, how it is imposed and lifted, and its words.

Each kind is a class in a file beside this one, and a line of `kinds.FaultKind`. It does no I/O: what is to be done, it
asks of `FaultedNodes`, as an experiment asks its `Lab`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from tidegauge.model.faults.extent import FaultExtent
from tidegauge.model.rig import Ability, CutReport, Rig


class FaultedNodes(Protocol):
    """The nodes that a fault hits, and what can be done to them. Calls raise `RunFailedError`, `StartFailedError`."""

    @property
    def numbers(self) -> Sequence[int]:
        """The numbers of the nodes, in the order in which they are hit."""

    @property
    def processes(self) -> Sequence[str]:
        """The names of what runs on them."""

    @property
    def disks(self) -> Sequence[Path]:
        """The disks of those of them that keep data; never none for a kind that needs disks."""

    @property
    def links(self) -> Mapping[int, str]:
        """The name in the network of every node there is, by its number, and under `KEEPER` that of what is no node."""

    @property
    def rig(self) -> Rig:
        """What processes, disks and networks are reached by."""

    def set_down(self) -> None:
        """Mark all of them as down on purpose: their end is no failure."""

    def start_again(self) -> None:
        """Start what of them has ended; nothing where the trial is over, at whose end all would end again."""

    def restart_nodes(self, numbers: Sequence[int]) -> None:
        """Stop these of them as their operator would, then start them."""

    def await_back(self, number: int) -> bool:
        """Wait until a node takes part again; False if the trial is over before."""


class FaultProcedure(ABC):
    """One kind of fault.

    Attributes:
        needs: what a host must be able to do.
        lasts: whether it lasts for its given duration; the others are over when the node is back.
        hits_all: whether it always hits all nodes, so that no target is given.
        keys: those of a campaign that only some kinds have.
        keys_optional: whether all of them may be left out; else one of them at least must be given.
        preposition: what leads from the kind's name to the nodes that it hits.
    """

    needs: tuple[Ability, ...] = ()
    lasts: bool = True
    hits_all: bool = False
    keys: tuple[str, ...] = ()
    keys_optional: bool = False
    preposition: str = "of"

    @property
    def needs_disk(self) -> bool:
        """Whether each node must have a disk of its own that can be cut off, slowed or hung."""
        return "ext4" in self.needs

    @property
    def needs_network(self) -> bool:
        """Whether each node must have a network of its own."""
        return "network" in self.needs

    def describe_extent(self, extent: FaultExtent) -> Sequence[str]:
        """How far it goes, part by part: "1 MiB/s"."""
        return ()

    @abstractmethod
    def impose_on(self, nodes: FaultedNodes, extent: FaultExtent) -> CutReport | None:
        """Put it in force or, if it does not last, carry out all of it. Returns how power was cut, if it was.

        Raises `TidegaugeError`.
        """

    @abstractmethod
    def lift_from(self, nodes: FaultedNodes) -> None:
        """Undo it, also where it came into force in part or not at all. Raises `TidegaugeError`."""
