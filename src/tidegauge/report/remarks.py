"""Why a trial is not valid, what its readers should know, and errors that clients met: in words, for every report."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tidegauge.comparison.blocks import Block
from tidegauge.model.trial import Validity
from tidegauge.numbers import plural


@dataclass(frozen=True)
class Remark:
    """One sentence on a trial. `validity`: of the trial where this says why it is not valid; None for the rest."""

    text: str
    validity: Validity | None = None


def remarks(block: Block) -> Iterable[Remark]:
    """All of a block, by system."""
    for result in sorted(block.results, key=lambda one: (one.spec.system, one.spec.trial_id)):
        alone = len(block.of(result.spec.system)) == 1 and not block.point
        who = result.spec.system if alone else result.spec.trial_id
        for reason in result.reasons:
            yield Remark(f"{who} is {result.validity.value.upper()}: {reason}", result.validity)
        for warning in result.warnings:
            yield Remark(f"{who}: {warning}")
        for where, message, times in result.errors:
            yield Remark(f"{who}: {plural(times, 'error')} in {where}: {message}")
