"""The words for what became of messages, positions and partitions: what `classify` answers. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tidegauge.model.fate import LOST, Fate, PositionChange, Witness

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Anomalies:
    """What `classify` found. Figures count messages unless they say otherwise.

    Attributes:
        fates: of each row of the history.
        counts: how many messages had each fate; all of `Fate` are there.
        duplicated: messages found more than once in one read; the read with most counts.
        copies: how many more than one of each, likewise.
        reordered: messages found after a later one of the same producer in the same partition; likewise.
        phantom: messages found that nobody sent, or of another trial; likewise. Not counted: REFUSED_KEPT.
        corrupt: damaged messages found, whether or not there is an undamaged copy; likewise.
        positions: committed positions that are lost or moved back.
        unreadable: partitions that were not read to their end, with the reason, in words.
        broken: acknowledged messages that are gone, damaged, or not there in every read.
        witness: the plainest of the broken promises: the one acknowledged longest before its cut.
    """

    fates: NDArray[np.int8] = field(compare=False, repr=False)
    counts: Mapping[Fate, int]
    duplicated: int
    copies: int
    reordered: int
    phantom: int
    corrupt: int
    positions: tuple[PositionChange, ...]
    unreadable: tuple[str, ...]
    broken: int
    witness: Witness | None

    @property
    def invoked(self) -> int:
        """Messages sent."""
        return sum(self.counts.values())

    @property
    def lost(self) -> int:
        """Acknowledged and gone."""
        return sum(self.counts[fate] for fate in LOST)

    @property
    def is_clean(self) -> bool:
        """Whether nothing at all is wrong, durability or not."""
        odd = self.duplicated + self.reordered + self.phantom + self.corrupt + self.counts[Fate.REFUSED_KEPT]
        different = self.counts[Fate.DIFFERENT]
        return not (self.broken or different or odd or self.positions or self.unreadable)

    def figures(self) -> dict[str, int]:
        """All counts by name, for records and tables."""
        return {
            **{fate.name.lower(): self.counts[fate] for fate in Fate},
            "invoked": self.invoked,
            "lost": self.lost,
            "broken": self.broken,
            "duplicated": self.duplicated,
            "copies": self.copies,
            "reordered": self.reordered,
            "phantom": self.phantom,
            "corrupt_found": self.corrupt,
            "positions_lost": sum(change.is_lost for change in self.positions),
            "positions_moved_back": sum(not change.is_lost for change in self.positions),
            "unreadable_partitions": len(self.unreadable),
        }
