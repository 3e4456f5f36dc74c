"""What a campaign plans, as far as it is compared with a report. Plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tidegauge.model.trial import TrialSpec
from tidegauge.published.figures import FIGURES


@dataclass(frozen=True)
class Servers:
    """How a campaign sets up the servers of a system.

    Attributes:
        memory_bytes: heap and direct memory of each process, by what the process is ("broker"); below 1 = not decided
            yet, or none.
        settings, producer, consumer: the system's own settings that the campaign or Tidegauge gives.
        data_disks: directories that a node keeps its data in.
        journal_apart: whether a system that keeps a journal apart has it in another directory than its data.
    """

    memory_bytes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    producer: Mapping[str, str] = field(default_factory=dict)
    consumer: Mapping[str, str] = field(default_factory=dict)
    data_disks: int = 1
    journal_apart: bool = False


@dataclass(frozen=True)
class Planned:
    """What will be measured, and on what.

    Attributes:
        servers: at each point of a sweep, by the name of a system ("kafka"); of those that are started here.
        starts_servers: whether any are.
        figures: names of the figures that are examined.
    """

    trials: Sequence[TrialSpec]
    servers: Mapping[str, Sequence[Servers]]
    starts_servers: bool
    figures: Sequence[str] = ()

    @property
    def experiments(self) -> frozenset[str]:
        """Those whose figures are examined; others only find the rates that these take shares of."""
        return frozenset(FIGURES[name].experiment for name in self.figures)


def family(system: str) -> str:
    """ "kafka" of "kafka@4.3.1"."""
    return system.partition("@")[0]
