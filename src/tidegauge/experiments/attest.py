"""`attest`: does the durability level hold when the power goes? Cuts under load, then everything is read and compared.

Controls are always made. Negative: the first cycle of each trial is the same procedure without a cut, and must lose
nothing. Positive: cuts of all nodes with local sync off (the level below with the same replication) must lose
something, else the cuts would not have shown a loss. A level without local sync is its own positive control.
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from tidegauge.attestation.judging import judge_scenarios
from tidegauge.attestation.record import attestation_of
from tidegauge.attestation.scenario import plan_cycles, why_impossible
from tidegauge.attestation.words import attest_cells, attest_sentences
from tidegauge.config.fields import AbsoluteRate, Duration, Fields, Size, duration_between, member_of, size_between
from tidegauge.durability import level_named
from tidegauge.errors import UserError
from tidegauge.experiments.procedure import Experiment, Lab
from tidegauge.model.attest import (
    AttestPlan,
    AttestVerdict,
    Cycle,
    FileSystem,
    Means,
    Scenario,
    cut_label,
    not_modelled,
)
from tidegauge.model.finding import Finding
from tidegauge.model.level import LevelChoice
from tidegauge.model.trial import AttestResult, AttestSpec, TrialSpec

NAME = "attest"
CUTS = 20
CYCLE_S = 9.0
NODE_CYCLE_S = 5.0
"""What a cycle takes on one node, and what each further node adds. For the estimate only."""
CONTROL_CUTS = 3
"""Where a level without local sync is its own control; all are made."""
CONTROL_CUTS_MAX = 10
"""Of a control with a trial of its own, which ends with its first loss. Pulsar's journal, synced once a second though
nobody waits for it, has been seen to lose nothing in three cuts."""
SUBSCRIPTIONS = 2
"""One that consumes and commits positions, and one that keeps everything until it is read back."""


def _each_once(scenarios: list[Scenario]) -> list[Scenario]:
    if len(set(scenarios)) < len(scenarios):
        raise ValueError("names a scenario twice")
    return scenarios


ScenarioName = Annotated[Scenario, member_of(Scenario, frozenset({Scenario.NONE.value}))]


class AttestOptions(Fields):
    """Keys of `attest` in a campaign."""

    scenarios: Annotated[list[ScenarioName], Field(min_length=1), AfterValidator(_each_once)] = Field(
        default_factory=lambda: [Scenario.ALL]
    )
    cuts: Annotated[int, Field(ge=1, le=1000)] = CUTS
    second_cut: bool = False
    means: Annotated[Means, member_of(Means)] = Means.POWER
    file_system: Annotated[FileSystem, member_of(FileSystem)] = FileSystem.EXT4
    disk_size: Annotated[Size, size_between("512MiB", "1024GiB")] = 2 << 30
    rate: AbsoluteRate = 2000.0
    serve_max: Annotated[Duration, duration_between("10s", "30min")] = 300.0
    allow_by_level: bool = False


def _plan_trials(options: AttestOptions, base: TrialSpec) -> tuple[AttestSpec, ...]:
    """The trial with the cuts, and its positive control where the level is none itself."""
    if base.attached:
        raise UserError(
            f"{base.system} is attached: 'attest' cuts the power of servers' disks, which are others' there.",
            "Let Tidegauge start the servers: leave out 'attach'.",
        )
    for scenario in options.scenarios:
        if problem := why_impossible(scenario, base.nodes):
            raise UserError(f"attest: scenarios: {problem}.", "Set 'nodes: 3', or choose other scenarios.")
    subscriptions = replace(base.workload, subscriptions=SUBSCRIPTIONS)
    base = replace(base, workload=subscriptions, exploratory=True)
    seed = random.Random(f"{base.seed} attest").getrandbits(32)
    cycles = plan_cycles(options.scenarios, base.nodes, options.cuts, seed, second_cut=options.second_cut)
    synced = level_named(base.choice.level).local_sync
    if not synced and Scenario.ALL not in options.scenarios:
        # Its own cuts of all nodes are the positive control: without local sync these must lose something.
        cycles += plan_cycles([Scenario.ALL], base.nodes, CONTROL_CUTS, seed, first=len(cycles))[1:]
    trials = [_trial_with_cycles(options, base, f"{base.trial_id}-cuts", cycles)]
    if synced:
        weaker = replace(base, choice=LevelChoice(base.choice.level + 1))
        # Without a cut, the level itself is looked at: its control needs cuts only.
        controls = plan_cycles([Scenario.ALL], base.nodes, CONTROL_CUTS_MAX, seed + 1, first=0)[1:]
        # Trials are read back by name: what is attested comes first.
        trials.append(_trial_with_cycles(options, weaker, f"{base.trial_id}-positive-control", controls, control=True))
    return tuple(trials)


def _trial_with_cycles(
    options: AttestOptions, base: TrialSpec, trial_id: str, cycles: tuple[Cycle, ...], control: bool = False
) -> AttestSpec:
    plan = AttestPlan(cycles, options.means, options.file_system, options.disk_size, options.serve_max, control)
    each_s = CYCLE_S + NODE_CYCLE_S * (base.nodes - 1)
    base = replace(base, trial_id=trial_id, measure_s=round(each_s * len(cycles), 1))
    return AttestSpec(**base.shared, msgs_per_s=options.rate, attest=plan)


def _run_trials(options: AttestOptions, trials: tuple[AttestSpec, ...], lab: Lab[AttestSpec, AttestResult]) -> None:
    results = [lab.run_trial(trial) for trial in trials]
    spec, subject = results[0].spec, results[0].attest
    control = results[1].attest if len(results) > 1 else None
    judged = judge_scenarios(spec.choice.level, spec.nodes, options.scenarios, subject, control)
    attested = [attestation_of(spec, result, subject) for result in judged]
    details: dict[str, Any] = {
        "not_modelled": not_modelled(options.means, options.file_system),
        "means": options.means,
        "file_system": options.file_system,
        "label": cut_label(options.means, options.file_system),
        "scenarios": attested,
        "positive_control": control or subject,
    }
    refuted = any(
        result.breaks_promise if options.allow_by_level else result.judgement.verdict is AttestVerdict.REFUTED
        for result in judged
    )
    attest_finding = Finding(
        finding_id=spec.trial_id.removesuffix("-cuts"),
        experiment=NAME,
        system=spec.system,
        block=spec.block,
        decided=all(result.judgement.verdict is not AttestVerdict.INCONCLUSIVE for result in judged),
        summary=attest_sentences(spec.choice, options.means, options.file_system, judged),
        rows=tuple(attest_cells(spec.choice, result) for result in judged),
        details=details,
        refuted=refuted,
        attestations=tuple(attested),
    )
    lab.record_finding(attest_finding)


EXPERIMENT = Experiment(
    name=NAME,
    summary="power cuts under load: is what was acknowledged still there?",
    options=AttestOptions,
    plan=_plan_trials,
    run=_run_trials,
)
