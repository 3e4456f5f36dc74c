"""An attestation as it is kept: one scenario's verdict."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tidegauge.model.cut_method import FileSystem, Means
from tidegauge.model.scenario import Scenario


class Verdict(StrEnum):
    """What an attestation says."""

    REFUTED = "refuted"
    NOT_REFUTED = "not refuted"
    INCONCLUSIVE = "inconclusive"


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
