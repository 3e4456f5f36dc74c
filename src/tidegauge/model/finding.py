"""What an experiment found that is more than the figures of one trial: a rate, a curve, a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tidegauge.model.attest import Attestation

Cell = str | int | float | None
"""A value of a finding's table: words, a number (of the unit that its head names), or nothing."""


@dataclass(frozen=True)
class Finding:
    """One experiment's answer for one system in one block. Stored as JSON and shown by reports as it is.

    Attributes:
        finding_id: the step that found it, "0003-max-throughput-kafka": its trials' names begin with it.
        decided: False where the question stays open; `summary` then says why.
        summary: the answer, a sentence for each thing asked.
        rows: the answer as a table: each row maps the columns' heads, units included, to its cells.
        details: the same and more for programs; JSON-able, units in the names.
        figures: its figures that thresholds and comparisons may name (`statistics.figures.FINDING_FIGURES`).
        refuted: whether the durability level that was tested was refuted.
        attestations: to be kept beyond the run, for later ones with the same settings.
        point: of the campaign's sweep (see `TrialSpec`); whoever keeps the finding fills it in.
    """

    finding_id: str
    experiment: str
    system: str
    block: int
    decided: bool
    summary: tuple[str, ...]
    rows: tuple[Mapping[str, Cell], ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    figures: Mapping[str, float] = field(default_factory=dict)
    point: Mapping[str, str] = field(default_factory=dict)
    refuted: bool = False
    attestations: tuple[Attestation, ...] = ()
