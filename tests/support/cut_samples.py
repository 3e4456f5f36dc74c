"""Cuts of the power, with the messages that were read after them."""

from __future__ import annotations

from histories import cut_result, history_of

from tidegauge.attestation.classification import find_anomalies
from tidegauge.attestation.evidence import read_of
from tidegauge.attestation.judging import CutResult
from tidegauge.model.message import FoundMessage, PartitionRead, SendOutcome, Sent

MS = 1_000_000
CUT_NS = 10_000 * MS


def cut(*, kept: int = 4, write_age_s: float = 0.001, in_flight: int = 1, unreadable: bool = False) -> CutResult:
    """A cut after four acknowledged messages, of which so many are found."""
    last_ns = CUT_NS - round(write_age_s * 1e9)
    sent = [
        Sent(0, s, last_ns - MS * (8 - s), SendOutcome.ACKNOWLEDGED, last_ns - MS * (4 - s), 0, s) for s in range(4)
    ]
    sent += [Sent(0, 4 + i, last_ns) for i in range(in_flight)]
    partitions = (PartitionRead(0, 0, kept, not unreadable, "no time" if unreadable else ""),)
    history = history_of(sent)
    found = find_anomalies(
        history, [read_of("r", [FoundMessage(0, s, 0, s) for s in range(kept)], partitions)], cuts_ns=[CUT_NS]
    )
    return cut_result(history, found, number=1, scenario="all", nodes=(1, 2), cut_mono_ns=CUT_NS)
