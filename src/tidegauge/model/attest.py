"""An attestation: its scenarios, how a cut is made, what it found and what is kept of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from tidegauge.model.message import PositionChange, Witness


class Means(StrEnum):
    """How nodes are ended."""

    POWER = "power"
    """Each node's disk is a file system of its own that is shut down: what was not synced is gone."""
    CRASH = "crash"
    """kill -9. The page cache survives it."""


class FileSystem(StrEnum):
    """What the nodes' disks are formatted with."""

    EXT4 = "ext4"
    XFS = "xfs"
    FUSE = "fuse"
    """A directory behind libfuse's `passthrough_ll` in writeback mode, which needs no rights."""


CRASH_LABEL = "process crash, not a power cut"
FUSE_LABEL = "loss of unsynced pages by libfuse, less than a power cut"

NOT_MODELLED = (
    "the drive's own volatile write cache (what the kernel has sent to the drive counts as kept)",
    "torn sectors",
    "hardware faults that strike several nodes alike",
)
"""What a cut of this kind does not show; said in every output."""


def cut_label(means: Means, file_system: FileSystem) -> str:
    """What ends of this kind are called wherever they are mentioned, "" for power cuts."""
    if means is Means.CRASH:
        return CRASH_LABEL
    return FUSE_LABEL if file_system is FileSystem.FUSE else ""


def not_modelled(means: Means, file_system: FileSystem) -> str:
    """The sentence that goes with every attestation."""
    if means is Means.CRASH:
        return (
            f"Every end was a {CRASH_LABEL}: the page cache survived, so nothing is said of a loss of power. "
            f"Not modelled either: {'; '.join(NOT_MODELLED)}."
        )
    if file_system is FileSystem.FUSE:
        return (
            f"Every cut was a {FUSE_LABEL}: names of files, sizes that were set, and all of a file that was closed "
            f"count as kept. Not modelled either: {'; '.join(NOT_MODELLED)}."
        )
    return f"Not modelled: {'; '.join(NOT_MODELLED)}."


class Scenario(StrEnum):
    """Which nodes lose their power, and when."""

    NONE = "none"
    """The negative control: the same procedure without a cut."""
    ALL = "all"
    ONE = "one"
    LEADER = "leader"
    ROLLING = "rolling"
    LAGGING_MAJORITY = "lagging-majority"


class ActKind(StrEnum):
    """What an act does to its target."""

    CUT = "cut"
    """Power off and, once the disks are mounted again, on."""
    HOLD = "hold"
    """Stop every thread; nothing is lost by it."""
    RELEASE = "release"


class Role(StrEnum):
    """Who an act is done to. Followers are the nodes but the leader, in order of their numbers."""

    ALL = "all"
    NODE = "node"
    LEADER = "leader"
    FOLLOWER = "follower"


@dataclass(frozen=True)
class Act:
    """One thing done in a cycle.

    Attributes:
        after_s: since the act before it, or since the load began; where `when_acked`, since an acknowledgement came
            after the act before it.
        number: of the node for `Role.NODE`, of the follower (from 1) for `Role.FOLLOWER`.
        again_after_s: of a cut, the same once more so long after the servers were started again; None = no second cut.
        when_acked: wait until messages are acknowledged again before the time counts: a system may take a while to go
            on without a node that is held back.
        until_complete: of a cut, go on only once all nodes serve and are in sync again.
    """

    kind: ActKind
    role: Role
    after_s: float
    number: int = 0
    again_after_s: float | None = None
    when_acked: bool = False
    until_complete: bool = False


@dataclass(frozen=True)
class Cycle:
    """One load with what is done to the servers meanwhile. `tail_s`: load after the last act where nothing is cut."""

    number: int
    scenario: Scenario
    acts: tuple[Act, ...]
    tail_s: float = 0.0

    @property
    def cuts(self) -> int:
        """Cuts of power in it. One with a second in its recovery counts once: the two are about the same messages."""
        return sum(act.kind is ActKind.CUT for act in self.acts)


class AttestVerdict(StrEnum):
    """What an attestation says."""

    REFUTED = "refuted"
    NOT_REFUTED = "not refuted"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True)
class Attestation:
    """One scenario's verdict.

    Attributes:
        system: with its version, "kafka@4.3.1".
        settings_digest: of the settings in force (`attestation.record.settings_digest`).
        promised: whether the level promises that nothing is lost in this scenario, or rules out what was seen, as every
            level does damage; `promise` says why something may be lost, or not.
        losing_cuts: in how many of the cuts something acknowledged was lost or damaged.
        damaging_cuts: after how many of them something acknowledged was damaged or not in every read, be it beside
            what was lost. Earlier versions did not keep it: read `cuts_with_damage`.
        loss_per_cut_max: upper bound of the probability that such a cut loses something, 95 %.
        witness: the plainest broken promise, in words; "" if none was broken.
        in_files: of the lost, how many were found in the servers' data files; None where nothing was lost.
        started_at, run: when and in which run it was made; whoever keeps it fills them in.
    """

    system: str
    settings_digest: str
    level: int
    form: str
    nodes: int
    scenario: Scenario
    means: Means
    file_system: FileSystem
    verdict: AttestVerdict
    reasons: tuple[str, ...]
    promised: bool
    promise: str
    cuts: int
    losing_cuts: int
    at_risk: int
    lost: int
    duplicated: int
    reordered: int
    phantom: int
    corrupt: int
    positions_back: int
    loss_per_cut_max: float
    witness: str = ""
    in_files: int | None = None
    started_at: str = ""
    run: str = ""
    damaging_cuts: int = 0

    @property
    def cuts_with_damage(self) -> int:
        """Its damaging cuts; where they were not kept and nothing was lost, all that broke something."""
        return self.damaging_cuts or (0 if self.lost else self.losing_cuts)

    @property
    def label(self) -> str:
        """What its cuts are called wherever they are mentioned, "" for power cuts."""
        return cut_label(self.means, self.file_system)


def refuting(attestations: Sequence[Attestation]) -> list[Attestation]:
    """Those that refute their level; where it allows all that was lost, and that was not to be asked, these."""
    broken = [attestation for attestation in attestations if attestation.verdict is AttestVerdict.REFUTED]
    return [attestation for attestation in broken if attestation.promised] or broken


CLEAN = "clean"
"""What is reported of a disk whose file system's check found nothing to repair."""


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
class CutOutcome:
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
        files_begun: data files that these nodes had begun since the load began, as logs do that roll; None = nobody
            looked, as in runs of earlier versions.
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
    files_begun: int | None = None


@dataclass(frozen=True)
class CycleOutcome:
    """What one cycle found.

    Attributes:
        acked: messages acknowledged in the whole cycle.
        figures: of all kinds of anomalies, how many (`attestation.classification.Anomalies.figures`); {} where nothing
            could be read.
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
    cuts: tuple[CutOutcome, ...]
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
        """Messages acknowledged and gone."""
        return self.figures.get("lost", 0)


@dataclass(frozen=True)
class AttestOutcome:
    """What all cycles of one attestation trial found. `settings_digest`: of the settings in force."""

    settings_digest: str
    cycles: tuple[CycleOutcome, ...]

    def cycles_of_scenario(self, scenario: Scenario) -> tuple[CycleOutcome, ...]:
        """The cycles of a scenario."""
        return tuple(cycle for cycle in self.cycles if cycle.scenario is scenario)
