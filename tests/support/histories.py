"""Histories of messages, and results of cuts, as an attestation reads them from files and asks of its agent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from tidegauge.attestation.classification import Anomalies
from tidegauge.attestation.evidence import HISTORY_COLUMNS, History, Sent
from tidegauge.attestation.judging import CutResult, at_stake
from tidegauge.model.attest import CutOutcome, CycleOutcome, Scenario


def history_of(messages: Iterable[Sent], doubts: tuple[str, ...] = ()) -> History:
    """A history of these messages, in any order."""
    rows = sorted(messages, key=lambda message: (message.producer, message.sequence))
    columns = {name: np.array([int(getattr(row, name)) for row in rows], dtype=np.int64) for name in HISTORY_COLUMNS}
    return History(**columns, doubts=doubts)


def cut_result(
    history: History, anomalies: Anomalies, *, number: int, scenario: str, nodes: Sequence[int], cut_mono_ns: int
) -> CutResult:
    """A cut with what its history says of the instant."""
    outcome = at_stake(history, CutOutcome(tuple(nodes), cut_mono_ns, freeze_s=0.0, down_s=0.0))
    found = CycleOutcome(
        number,
        Scenario(scenario),
        (outcome,),
        int(history.acknowledged.sum()),
        anomalies.figures(),
        anomalies.witness,
        anomalies.positions,
        anomalies.unreadable,
    )
    return CutResult(number, outcome, found)
