"""What an attestation is to do, and what each of its cycles found. Plain data, stored with the trial."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tidegauge.model.cut_method import FileSystem, Means
from tidegauge.model.fate import PositionChange, Witness
from tidegauge.model.scenario import Cycle, Scenario

CLEAN = "clean"
"""What is told of a disk whose file system's check found nothing to mend."""


@dataclass(frozen=True)
class AttestPlan:
    """The part of a trial that makes it an attestation.

    Attributes:
        control: a positive control: the same procedure where acknowledged messages must get lost.
        disk_bytes: of each node's disk.
        serve_s_max: how long servers may take to serve again after a cut.
    """

    cycles: tuple[Cycle, ...]
    means: Means
    file_system: FileSystem
    disk_bytes: int
    serve_s_max: float
    control: bool = False


@dataclass(frozen=True)
class CutTold:
    """One cut as it was carried out; times in seconds, None where it never came to that.

    Attributes:
        nodes: that lost their power.
        frozen_mono_ns: every thread of theirs was stopped: nothing was acknowledged by them from then on.
        freeze_s: from the order until then.
        down_s: from then until the disks were mounted again.
        restart_s: from then until the servers' processes had been started.
        serve_s: from then until a message went there and back and all nodes took part.
        write_age_s: from the newest write to the cut; infinite without one.
        at_risk: messages acknowledged within five seconds before it.
        in_flight: messages sent and not yet acknowledged then.
        checks: by disk, what the check of the file system said: `CLEAN`, or its own words.
        cuts: 2 where the same was cut once more while it recovered; times are those of the second then.
    """

    nodes: tuple[int, ...]
    frozen_mono_ns: int
    freeze_s: float
    down_s: float
    restart_s: float | None = None
    serve_s: float | None = None
    write_age_s: float = 0.0
    at_risk: int = 0
    in_flight: int = 0
    checks: Mapping[str, str] = field(default_factory=dict)
    cuts: int = 1


@dataclass(frozen=True)
class CycleOutcome:
    """What one cycle found.

    Attributes:
        acked: messages acknowledged in the whole cycle.
        figures: of all kinds of anomalies, how many (`attestation.anomalies.Anomalies.figures`); {} where nothing could
            be read.
        witness: the plainest broken promise.
        positions: committed positions that are lost or moved back.
        unreadable: what could not be read, and why; also that the servers did not serve again.
        in_files: of the lost, how many headers were found in the servers' data files after all; None = nothing was
            lost, so nobody looked.
        files: where the first of these are, in words.
        doubts: what is odd about the history itself.
        first_publish_s: from the last freeze to the first acknowledgement of a message sent after it; None without.
        served: whether the servers served again, so that everything was read from them. If not, only what is in none of
            their data files is called lost.
    """

    number: int
    scenario: Scenario
    cuts: tuple[CutTold, ...]
    acked: int
    figures: Mapping[str, int] = field(default_factory=dict)
    witness: Witness | None = None
    positions: tuple[PositionChange, ...] = ()
    unreadable: tuple[str, ...] = ()
    in_files: int | None = None
    files: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    first_publish_s: float | None = None
    served: bool = True

    @property
    def lost(self) -> int:
        """Acknowledged and gone."""
        return self.figures.get("lost", 0)


@dataclass(frozen=True)
class AttestOutcome:
    """What all cycles of one attestation trial found. `settings_digest`: of the settings in force."""

    settings_digest: str
    cycles: tuple[CycleOutcome, ...]

    def of(self, scenario: Scenario) -> tuple[CycleOutcome, ...]:
        """The cycles of a scenario."""
        return tuple(cycle for cycle in self.cycles if cycle.scenario is scenario)
