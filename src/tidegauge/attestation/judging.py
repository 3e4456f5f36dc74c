"""From the cycles of an attestation and its controls to a verdict for each scenario. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tidegauge.attestation.anomalies import Anomalies
from tidegauge.attestation.promise import Promise, promise
from tidegauge.attestation.verdict import CutResult, Judgement, judge
from tidegauge.model.attest import AttestOutcome, CycleOutcome
from tidegauge.model.attestation import Verdict
from tidegauge.model.fate import Fate
from tidegauge.model.scenario import Scenario


@dataclass(frozen=True)
class Judged:
    """The verdict on one scenario, beside what the level promises there."""

    scenario: Scenario
    judgement: Judgement
    promise: Promise
    cycles: tuple[CycleOutcome, ...]

    @property
    def breaks_promise(self) -> bool:
        """Whether messages were lost that the level says are kept."""
        return self.judgement.verdict is Verdict.REFUTED and self.promise.kept

    def figure(self, name: str) -> int:
        """A kind of anomaly over all its cycles."""
        return sum(cycle.figures.get(name, 0) for cycle in self.cycles)


def judge_scenarios(
    level: int, nodes: int, scenarios: Sequence[Scenario], subject: AttestOutcome, control: AttestOutcome | None
) -> tuple[Judged, ...]:
    """A verdict for each scenario.

    Args:
        control: the positive control. None: the level has no local sync itself, and its own cuts of all nodes are it.
    """
    negative = next((anomalies_of(cycle) for cycle in subject.of(Scenario.NONE)), None)
    positive = cut_results((control or subject).of(Scenario.ALL))
    found = []
    for scenario in scenarios:
        cycles = subject.of(scenario)
        broken_off = [why for cycle in cycles if not cycle.cuts for why in cycle.unreadable]
        judged = judge(cut_results(cycles), negative, positive, broken_off=broken_off)
        found.append(Judged(scenario, judged, promise(level, scenario, nodes), cycles))
    return tuple(found)


def cut_results(cycles: Sequence[CycleOutcome]) -> tuple[CutResult, ...]:
    """The cuts of these cycles. What a cycle with several broke counts for the one that its witness names."""
    found: list[CutResult] = []
    for cycle in cycles:
        whole = anomalies_of(cycle)
        blamed = cycle.witness.cut if cycle.witness is not None and cycle.witness.cut >= 0 else len(cycle.cuts) - 1
        for place, cut in enumerate(cycle.cuts):
            found.append(
                CutResult(
                    number=len(found) + 1,
                    scenario=cycle.scenario.value,
                    nodes=cut.nodes,
                    cut_mono_ns=cut.frozen_mono_ns,
                    write_age_s=cut.write_age_s,
                    at_risk=cut.at_risk,
                    in_flight=cut.in_flight,
                    anomalies=whole if place == blamed else _unbroken(whole),
                )
            )
    return tuple(found)


def anomalies_of(cycle: CycleOutcome) -> Anomalies:
    """A cycle's anomalies as they were found, without the fate of each single message."""
    import numpy as np

    figures = cycle.figures
    return Anomalies(
        fates=np.empty(0, dtype=np.int8),
        counts={fate: figures.get(fate.name.lower(), 0) for fate in Fate},
        duplicated=figures.get("duplicated", 0),
        copies=figures.get("copies", 0),
        reordered=figures.get("reordered", 0),
        phantom=figures.get("phantom", 0),
        corrupt=figures.get("corrupt_found", 0),
        positions=cycle.positions,
        unreadable=cycle.unreadable,
        broken=figures.get("broken", 0),
        witness=cycle.witness,
    )


def _unbroken(whole: Anomalies) -> Anomalies:
    counts: Mapping[Fate, int] = dict.fromkeys(Fate, 0)
    return Anomalies(
        fates=whole.fates,
        counts=counts,
        duplicated=0,
        copies=0,
        reordered=0,
        phantom=0,
        corrupt=0,
        positions=(),
        unreadable=whole.unreadable,
        broken=0,
        witness=None,
    )
