"""Attestations whose losses are known, and published claims on guarantees that they decide."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from attestation_samples import SPEC, attested, cycle, outcome

from tidegauge.model.attest import Act, ActKind, AttestPlan, Cycle, FileSystem, Means, Role, Scenario
from tidegauge.model.level import LevelChoice
from tidegauge.model.trial import AttestResult, AttestSpec
from tidegauge.published.incident import Incident
from tidegauge.published.model import Guarantee, Operand, Place, SameGuarantee
from tidegauge.published.observe import ExaminedRun

KAFKA = Operand(system="kafka")
PULSAR = Operand(system="pulsar", form="bypass")
CUTS = 20


def guarantee(kept: bool, incident: str = "power-cut-of-all", **of: Any) -> Guarantee:
    """Kafka keeps, or may lose, what it acknowledged."""
    place = KAFKA.model_copy(update={"level": 2, "incident": Incident(incident), **of})
    return Guarantee(kind="guarantee", id="c", text="Kafka keeps it", source="table 1", of=place, kept=kept)


def same(*incidents: str) -> SameGuarantee:
    """Kafka and Pulsar without its journal keep or lose alike, at each of these incidents."""
    return SameGuarantee(
        kind="same-guarantee",
        id="c",
        text="both keep the same",
        source="table 1",
        a=KAFKA,
        b=PULSAR,
        common=Place(level=2),
        for_each={"incident": [*(incidents or ("power-cut-of-all",))]},
    )


def planned(
    system: str,
    incident: str = "power-cut-of-all",
    cuts: int = CUTS,
    *,
    level: int = 2,
    block: int = 0,
    control: bool = False,
    file_system: FileSystem = FileSystem.EXT4,
) -> AttestSpec:
    """An attestation of so many cuts, each in a cycle of its own."""
    strike = Incident(incident)
    acts = (Act(ActKind.CUT, Role.ALL, 1.0),)
    cycles = [Cycle(1, Scenario.NONE, ()), *(Cycle(2 + number, strike.scenario, acts) for number in range(cuts))]
    if strike.means is Means.POWER and strike.scenario is not Scenario.ALL:
        cycles.append(Cycle(2 + cuts, Scenario.ALL, acts))
    name = f"{block}-{system}-{incident}-{level}{'-control' if control else ''}"
    return replace(
        SPEC,
        trial_id=name,
        system=f"{system}@1",
        block=block,
        choice=LevelChoice(level, "bypass" if system == "pulsar" and level == 2 else ""),
        nodes=3,
        attest=AttestPlan(tuple(cycles), strike.means, file_system, 1 << 30, 60.0, control),
    )


def struck(spec: AttestSpec, losing: int = 0, lost: int = 100, control_lost: int = 500, **changes: Any) -> AttestResult:
    """What an attestation found: each of its first `losing` cuts lost so many messages.

    `control_lost`: in a cut of all nodes that is only a control. `changes`: of the cycles that lost nothing.
    """
    (scenario,) = {one.scenario for one in spec.attest.cycles} - {Scenario.NONE, Scenario.ALL} or {Scenario.ALL}
    cuts = sum(one.scenario is scenario for one in spec.attest.cycles)
    cycles = [cycle(scenario, lost) for _ in range(losing)]
    cycles += [cycle(scenario, **changes) for _ in range(cuts - losing)]
    if scenario is not Scenario.ALL and spec.attest.means is Means.POWER:
        cycles.append(cycle(Scenario.ALL, control_lost))
    return attested(spec, outcome(*cycles))


def run_with(*results: AttestResult, **more: Any) -> ExaminedRun:
    """A run of these attestations."""
    return ExaminedRun(tuple(result.spec for result in results), (), attested=results, **more)


def kept_by_kafka(losing: int = 0, cuts: int = CUTS, **changes: Any) -> ExaminedRun:
    """Kafka at level 1 after cuts of all nodes, with a control at level 2 that lost something."""
    control = planned("kafka", "power-cut-of-all", 1, level=2, control=True)
    return run_with(struck(planned("kafka", cuts=cuts, level=1), losing, **changes), struck(control, 1))


def both_struck(
    kafka: int, pulsar: int, incident: str = "power-cut-of-all", cuts: tuple[int, int] = (CUTS, CUTS)
) -> ExaminedRun:
    """So many cuts of each lost something."""
    return run_with(
        struck(planned("kafka", incident, cuts[0]), kafka), struck(planned("pulsar", incident, cuts[1]), pulsar)
    )
