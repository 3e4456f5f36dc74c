"""What is kept of an attestation, and the digest that says to which settings it applies. Pure.

Only what the servers said counts, and of that not what differs from run to run without deciding anything: places,
ports, names of topics, how many partitions there are and who leads them (see `comparison.differences`). Everything else
does, whether or not it is known to matter: an attestation must never be carried to other settings.

Later runs of the same system, version, level and settings carry what is kept. Nothing is ever proved: cuts that lost
nothing add up, and a single one that lost something stays.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from tidegauge.attestation.judging import Judged, cut_results
from tidegauge.fairness import normal_settings
from tidegauge.model.attest import FUSE_LABEL, Attestation, AttestOutcome, AttestVerdict, FileSystem, Means
from tidegauge.model.level import CutsStanding, EarlierCuts
from tidegauge.model.server import OF_THE_LOAD, Setting
from tidegauge.model.trial import AttestSpec
from tidegauge.numbers import plural

DIGEST_CHARS = 16


def settings_digest(settings: Sequence[Setting]) -> str:
    """Hex digits over what the servers said to be in force."""
    values_by_key = {("server", setting.scope, setting.name): setting.value for setting in settings}
    normal = normal_settings(values_by_key)
    decisive = {" ".join(key): value for key, value in normal.items() if key[2] not in OF_THE_LOAD}
    return hashlib.sha256(repr(sorted(decisive.items())).encode()).hexdigest()[:DIGEST_CHARS]


def attestation_of(spec: AttestSpec, judged: Judged, outcome: AttestOutcome) -> Attestation:
    """What a verdict is kept as. `spec`: of the trial that was judged."""
    judgement = judged.judgement
    searched = [cycle.in_files for cycle in judged.cycles if cycle.in_files is not None]
    return Attestation(
        system=spec.system,
        settings_digest=outcome.settings_digest,
        level=spec.choice.level,
        form=spec.choice.form,
        nodes=spec.nodes,
        scenario=judged.scenario,
        means=spec.attest.means,
        file_system=spec.attest.file_system,
        verdict=judgement.verdict,
        reasons=judgement.reasons,
        promised=judged.promise.kept or judged.breaks_promise,
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
        damaging_cuts=sum(cut.broken > cut.cycle.lost for cut in cut_results(judged.cycles)),
    )


def earlier_cuts(attestations: Sequence[Attestation]) -> EarlierCuts:
    """What a later run of the same settings at the same level says of it: "attested: 0 lost in 60 cuts (all, one)".

    Args:
        attestations: attestations of this system, version, level and settings. Crashes of processes attest nothing.
    """
    cut = [attestation for attestation in attestations if attestation.means is Means.POWER]
    lost = [attestation for attestation in cut if attestation.verdict is AttestVerdict.REFUTED]
    not_refuted = [attestation for attestation in cut if attestation.verdict is AttestVerdict.NOT_REFUTED]
    broken = [attestation for attestation in lost if attestation.promised]
    if broken:
        return EarlierCuts(CutsStanding.REFUTED, f": {_summary_of_attestations(broken)}")
    if not not_refuted:
        return EarlierCuts(CutsStanding.CLAIMED_ONLY, _losses_allowed(lost))
    summary = f": {_summary_of_attestations(not_refuted)}{_losses_allowed(lost)}"
    return EarlierCuts(CutsStanding.ATTESTED, summary)


def _summary_of_attestations(attestations: Sequence[Attestation]) -> str:
    fuse = [attestation for attestation in attestations if attestation.file_system is FileSystem.FUSE]
    power = [attestation for attestation in attestations if attestation.file_system is not FileSystem.FUSE]
    return "; ".join(
        _losses_in_cuts(group, suffix) for group, suffix in ((power, ""), (fuse, f"; {FUSE_LABEL}")) if group
    )


def _losses_in_cuts(attestations: Sequence[Attestation], suffix: str) -> str:
    lost, cuts = (
        sum(attestation.lost for attestation in attestations),
        sum(attestation.cuts for attestation in attestations),
    )
    scenarios = ", ".join(dict.fromkeys(attestation.scenario.value for attestation in attestations))
    # What was acknowledged was there damaged, or in some reads only: nothing is lost, and the promise is broken.
    broken = sum(attestation.cuts_with_damage for attestation in attestations)
    if broken and not lost:
        return f"damaged or not in every read after {broken} of {plural(cuts, 'cut')} ({scenarios}{suffix})"
    also = f", and damaged or not in every read after {broken} of them" if broken else ""
    return f"{lost:,} lost in {plural(cuts, 'cut')} ({scenarios}{suffix}){also}"


def _losses_allowed(lost: Sequence[Attestation]) -> str:
    """Losses that the level allows."""
    return f"; as the level allows, {_summary_of_attestations(lost)}" if lost else ""
