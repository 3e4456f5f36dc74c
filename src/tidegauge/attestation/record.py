"""An attestation as it is kept for later: which level of which system, run how, came to which verdict. Plain data.

Later runs of the same system, version, level and settings carry what is kept. Nothing is ever proved: cuts that lost
nothing add up, and a single one that lost something stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidegauge.attestation.judging import Judged
from tidegauge.attestation.kinds import FUSE_LABEL, FileSystem, Means, counted_cuts
from tidegauge.attestation.model import AttestOutcome
from tidegauge.attestation.scenario import Scenario
from tidegauge.attestation.verdict import Verdict
from tidegauge.systems.api import LevelChoice

CLAIMED_ONLY = "claimed only"


@dataclass(frozen=True)
class Attestation:
    """One scenario's verdict.

    Attributes:
        system: with its version, "kafka@4.3.1".
        settings_digest: of the settings in force (`attestation.digest`).
        promised: whether the level promises that nothing is lost in this scenario; `promise` is the reason.
        losing_cuts: in how many of the cuts something acknowledged was lost or damaged.
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
    verdict: Verdict
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


@dataclass(frozen=True)
class Setup:
    """What was put to the proof, and how."""

    system: str
    choice: LevelChoice
    nodes: int
    means: Means
    file_system: FileSystem


def attestation_of(setup: Setup, judged: Judged, outcome: AttestOutcome) -> Attestation:
    """What a verdict is kept as."""
    judgement = judged.judgement
    searched = [cycle.in_files for cycle in judged.cycles if cycle.in_files is not None]
    return Attestation(
        system=setup.system,
        settings_digest=outcome.settings_digest,
        level=setup.choice.level,
        form=setup.choice.form,
        nodes=setup.nodes,
        scenario=judged.scenario,
        means=setup.means,
        file_system=setup.file_system,
        verdict=judgement.verdict,
        reasons=judgement.reasons,
        promised=judged.promise.kept,
        promise=judged.promise.why,
        cuts=judgement.cuts,
        losing_cuts=judgement.losing_cuts,
        at_risk=judgement.at_risk,
        lost=judged.figure("lost"),
        duplicated=judged.figure("duplicated"),
        reordered=judged.figure("reordered"),
        phantom=judged.figure("phantom"),
        corrupt=judged.figure("corrupt_found"),
        positions_back=judged.figure("positions_lost") + judged.figure("positions_moved_back"),
        loss_per_cut_max=judgement.loss_per_cut_max,
        witness=judgement.witness.sentence() if judgement.witness else "",
        in_files=sum(searched) if searched else None,
    )


def carried(known: Sequence[Attestation]) -> str:
    """What a later run of the same settings at the same level says of it: "attested: 0 lost in 60 cuts (all, one)".

    Args:
        known: attestations of this system, version, level and settings. Crashes of processes attest nothing.
    """
    cut = [one for one in known if one.means is Means.POWER]
    lost = [one for one in cut if one.verdict is Verdict.REFUTED]
    kept = [one for one in cut if one.verdict is Verdict.NOT_REFUTED]
    broken = [one for one in lost if one.promised]
    if broken:
        return f"REFUTED: {_told(broken)}"
    if not kept:
        return f"{CLAIMED_ONLY}{_beyond(lost)}"
    return f"attested: {_told(kept)}{_beyond(lost)}"


def _told(those: Sequence[Attestation]) -> str:
    fuse = [one for one in those if one.file_system is FileSystem.FUSE]
    power = [one for one in those if one.file_system is not FileSystem.FUSE]
    return "; ".join(_sum(group, less) for group, less in ((power, ""), (fuse, f"; {FUSE_LABEL}")) if group)


def _sum(those: Sequence[Attestation], less: str) -> str:
    lost, cuts = sum(one.lost for one in those), sum(one.cuts for one in those)
    scenarios = ", ".join(dict.fromkeys(one.scenario.value for one in those))
    return f"{lost:,} lost in {counted_cuts(cuts)} ({scenarios}{less})"


def _beyond(lost: Sequence[Attestation]) -> str:
    """Losses that the level allows."""
    return f"; as the level allows, {_told(lost)}" if lost else ""
