"""Cycles, outcomes and attestations as tests need them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from run_samples import spec

from tidegauge.model.attest import (
    Attestation,
    AttestOutcome,
    AttestPlan,
    AttestVerdict,
    CutOutcome,
    CycleOutcome,
    FileSystem,
    Means,
    Scenario,
)
from tidegauge.model.level import LevelFinding
from tidegauge.model.message import Fate, SendOutcome, Sent, Witness
from tidegauge.model.trial import AttestResult, AttestSpec

DIGEST = "0123456789abcdef"
PLAN = AttestPlan((), Means.POWER, FileSystem.EXT4, 1 << 30, 60.0)
SPEC = AttestSpec(**spec(experiment="attest").shared, msgs_per_s=2000.0, attest=PLAN)


def cut(**changes: Any) -> CutOutcome:
    """A cut of node 1 that counts."""
    figures: dict[str, Any] = {
        "nodes": (1,),
        "frozen_mono_ns": 10_000_000_000,
        "freeze_s": 0.01,
        "down_s": 0.1,
        "restart_s": 0.02,
        "serve_s": 3.0,
        "write_age_s": 0.001,
        "at_risk": 4000,
        "in_flight": 20,
        "checks": {"disk-1": "clean"},
    }
    return CutOutcome(**{**figures, **changes})


def witness(before_cut_s: float = 0.5) -> Witness:
    """A message that is gone."""
    sent = Sent(1, 17, invoked_ns=1, outcome=SendOutcome.ACKNOWLEDGED, resolved_ns=2, partition=0, position=33)
    return Witness(sent, Fate.LOST_LAST, cut=0, before_cut_s=before_cut_s)


def cycle(
    scenario: Scenario = Scenario.ALL, lost: int = 0, cuts: int | tuple[CutOutcome, ...] = 1, **changes: Any
) -> CycleOutcome:
    """A cycle in which everything was read back, but for what is lost."""
    own: Mapping[str, int] = {"invoked": 5000, "kept": 4000 - lost, "lost": lost, "lost_last": lost, "broken": lost}
    figures: dict[str, Any] = {
        "number": 2,
        "scenario": scenario,
        "cuts": tuple(cut() for _ in range(cuts)) if isinstance(cuts, int) else cuts,
        "acked": 4000,
        "figures": own,
        "witness": witness() if lost else None,
        "in_files": 0 if lost else None,
        "first_publish_s": 3.2,
    }
    return CycleOutcome(**{**figures, **changes})


def outcome(*cycles: CycleOutcome) -> AttestOutcome:
    """An outcome that begins with a negative control in which nothing was lost."""
    return AttestOutcome(DIGEST, (cycle(Scenario.NONE, cuts=0), *cycles))


def attestation(**changes: Any) -> Attestation:
    """Nothing lost in 20 cuts of all nodes at level 1."""
    figures: dict[str, Any] = {
        "system": "kafka@4.3.1",
        "settings_digest": DIGEST,
        "level": 1,
        "form": "",
        "nodes": 3,
        "scenario": Scenario.ALL,
        "means": Means.POWER,
        "file_system": FileSystem.EXT4,
        "verdict": AttestVerdict.NOT_REFUTED,
        "reasons": (),
        "promised": True,
        "promise": "a majority has it on disk",
        "cuts": 20,
        "losing_cuts": 0,
        "at_risk": 80_000,
        "lost": 0,
        "duplicated": 0,
        "reordered": 0,
        "phantom": 0,
        "corrupt": 0,
        "positions_back": 0,
        "loss_per_cut_max": 0.139,
    }
    return Attestation(**{**figures, **changes})


def attested(trial: AttestSpec, found: AttestOutcome) -> AttestResult:
    """The result of an attestation trial whose cycles found this."""
    return AttestResult(
        spec=trial,
        started_at="2026-11-21T03:24:36+00:00",
        status="finished",
        sent=0,
        acked=sum(cycle.acked for cycle in found.cycles),
        failed=0,
        unresolved=0,
        errors=(),
        worker_cpu_s=1.0,
        gc_pause_s=0.0,
        measured_s=9.0,
        level=LevelFinding(trial.choice.level, ()),
        attest=found,
    )
