"""An attestation as it is kept for later: which level of which system, run how, came to which verdict. Plain data.

Later runs of the same system, version, level and settings carry what is kept. Nothing is ever proved: cuts that lost
nothing add up, and a single one that lost something stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidegauge.attestation.judging import Judged
from tidegauge.model.attest import AttestOutcome
from tidegauge.model.attestation import Attestation, Verdict
from tidegauge.model.cut_method import FUSE_LABEL, FileSystem, Means, counted_cuts
from tidegauge.model.level import LevelChoice

CLAIMED_ONLY = "claimed only"


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
