"""The plan of a campaign: every trial intended, in order, before anything runs.

Blocks, then experiments, then systems: within a block each experiment is done for all systems one after the other, in
an order drawn anew from the seed for each block and experiment. So systems alternate, and what changes slowly on the
host (heat, neighbours, a filling disk) touches all of them alike instead of the one measured last.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tidegauge.campaign.model import Campaign, ExperimentChoice, SystemChoice
from tidegauge.config.fields import Fields
from tidegauge.durability.levels import NODES_FOR_REPLICATION
from tidegauge.errors import UserError
from tidegauge.experiments.api import Servers, TrialSpec
from tidegauge.experiments.procedure import Experiment
from tidegauge.experiments.registry import experiments
from tidegauge.statistics.steady import WARM_UP_S_TO_JUDGE, too_short_to_judge
from tidegauge.systems.api import LevelChoice, System
from tidegauge.workload.model import Workload

START_S = 10.0
END_S = 4.0
SHARED_START_S = 2.0
"""Seconds that a deployment and worker typically take to be ready, and to end; and for topics and clients alone, where
servers are shared. For the estimate only."""


@dataclass(frozen=True)
class Step:
    """One experiment on one system in one block."""

    experiment: Experiment[Any]
    options: Fields
    system: SystemChoice
    trials: tuple[TrialSpec, ...]


@dataclass(frozen=True)
class Plan:
    """All steps in order."""

    steps: tuple[Step, ...]

    @property
    def trials(self) -> tuple[TrialSpec, ...]:
        """All trials in order."""
        return tuple(trial for step in self.steps for trial in step.trials)

    @property
    def seconds_expected(self) -> float:
        """An estimate of how long everything takes, once distributions are cached."""
        return sum(seconds_expected(trial) for trial in self.trials)

    def only(self, systems: Collection[str]) -> Plan:
        """The steps of these systems ("kafka@4.3.1")."""
        return Plan(tuple(step for step in self.steps if step.trials[0].system in systems))


def plan_warnings(trials: Sequence[TrialSpec]) -> tuple[str, ...]:
    """What a user should know of a plan before it runs, one sentence each."""
    short = [trial.warmup_s_max for trial in trials if too_short_to_judge(trial.warmup_s_max)]
    if not short:
        return ()
    return (
        f"A warm-up-max of {min(short):g} s is too short to judge whether figures are steady: "
        f"{WARM_UP_S_TO_JUDGE} s are needed.",
    )


def seconds_expected(trial: TrialSpec) -> float:
    """An estimate for one trial: warm-ups tend to end soon after their minimum."""
    warmup_s = trial.warmup_s_min + 0.25 * (trial.warmup_s_max - trial.warmup_s_min)
    start_s = SHARED_START_S if trial.servers is Servers.SHARED else START_S
    return start_s + warmup_s + trial.measure_s + END_S


def make_plan(campaign: Campaign, find_system: Callable[[str], System]) -> Plan:
    """All trials of a campaign. Raises `UserError` if a system can't give the level or the shape asked for."""
    labels = [label(system, find_system(system.name)) for system in campaign.systems]
    for system in campaign.systems:
        _check_shape(campaign, system, find_system(system.name))
    choices = [_level(campaign, system, find_system(system.name)) for system in campaign.systems]
    if len(set(labels)) < len(labels):
        raise UserError(
            f"{campaign.source_path}: systems: one is listed twice: {', '.join(labels)}.",
            "Give each its own version; for repeated trials use 'repeat'.",
        )
    _check_form(campaign, choices)
    steps: list[Step] = []
    for block in range(campaign.repeat):
        for index, chosen in enumerate(campaign.experiments):
            for place in _shuffled(campaign, block, index):
                number = len(steps) + 1
                system = campaign.systems[place]
                base = _base(campaign, chosen, _with_overrides(campaign, system), number, block)
                base = replace(
                    base,
                    trial_id=f"{number:04d}-{chosen.name}-{system.name}",
                    system=labels[place],
                    choice=choices[place],
                    attached=system.attach is not None,
                    copies=system.copies,
                )
                steps.append(_step(chosen, system, base))
    return Plan(tuple(steps))


def _check_shape(campaign: Campaign, choice: SystemChoice, system: System) -> None:
    problem = system.shape_problem(choice.shape, campaign.nodes)
    if problem:
        raise UserError(f"{campaign.source_path}: systems: {choice.name}: shape: {problem}.")


def label(system: SystemChoice, known: System) -> str:
    """How trials name a system: "kafka@4.3.1", "kafka@attached"."""
    if system.attach is not None:
        return f"{system.name}@{system.attach.label}"
    return f"{system.name}@{system.version or known.default_version}"


def _step(chosen: ExperimentChoice, system: SystemChoice, base: TrialSpec) -> Step:
    experiment = experiments()[chosen.name]
    return Step(experiment, chosen.options, system, experiment.plan(chosen.options, base))


def _base(campaign: Campaign, chosen: ExperimentChoice, workload: Workload, number: int, block: int) -> TrialSpec:
    """A trial with all but the system's and the experiment's part. The seed is the same for all systems of a block."""
    return TrialSpec(
        trial_id=str(number),
        experiment=chosen.name,
        system="",
        choice=campaign.durability,
        nodes=campaign.nodes,
        block=block,
        seed=random.Random(f"{campaign.seed} load {block}").getrandbits(63),
        workload=workload,
        msgs_per_s=None,
        warmup_s_min=0.0,
        warmup_s_max=0.0,
        measure_s=0.0,
        drain_s_max=0.0,
    )


def _shuffled(campaign: Campaign, block: int, experiment_index: int) -> list[int]:
    """Places in the campaign's list of systems, in the order drawn."""
    order = list(range(len(campaign.systems)))
    random.Random(f"{campaign.seed} order {block} {experiment_index}").shuffle(order)
    return order


def _with_overrides(campaign: Campaign, system: SystemChoice) -> Workload:
    """The workload with this system's own client settings."""
    return replace(
        campaign.workload,
        producer_overrides={system.name: system.producer} if system.producer else {},
        consumer_overrides={system.name: system.consumer} if system.consumer else {},
    )


def _level(campaign: Campaign, system: SystemChoice, known: System) -> LevelChoice:
    """The way this system gives the level; its best one if the campaign names no form.

    A form is a word of the systems that have several ("bypass" of Pulsar): others take their only way.
    """
    wanted = system.durability or campaign.durability
    # How many nodes an attached cluster has is known once it was asked; the level is read back in any case.
    nodes = max(campaign.nodes, NODES_FOR_REPLICATION) if system.attach else campaign.nodes
    possible = known.possible_levels(system.version or known.default_version, nodes)
    ways = [choice for choice in possible if choice.level == wanted.level]
    if not ways:
        levels = ", ".join(str(level) for level in sorted({choice.level for choice in possible}))
        raise UserError(
            f"{campaign.source_path}: durability: {known.title} on {_nodes(nodes)} can't give level "
            f"{wanted.level}; it can give {levels}.",
            "Levels 1 and 2 need copies on several nodes; choose a level that every system can give.",
        )
    if not wanted.form:
        return replace(ways[0], as_found=wanted.as_found)
    for choice in ways:
        if choice.form == wanted.form:
            return replace(choice, as_found=wanted.as_found)
    forms = [choice.form for choice in ways if choice.form]
    if forms:
        raise UserError(
            f"{campaign.source_path}: durability.form: {known.title} has no form '{wanted.form}' of level "
            f"{wanted.level}; it has {', '.join(forms)}.",
            "Name one of these, or leave 'form' out.",
        )
    return ways[0]


def _check_form(campaign: Campaign, choices: list[LevelChoice]) -> None:
    form = campaign.durability.form
    followers = [one for one, system in zip(choices, campaign.systems, strict=True) if system.durability is None]
    if form and followers and all(choice.form != form for choice in followers):
        raise UserError(
            f"{campaign.source_path}: durability.form: no system of the campaign has a form '{form}' of level "
            f"{campaign.durability.level}.",
            "Leave 'form' out.",
        )


def _nodes(nodes: int) -> str:
    return "one node" if nodes == 1 else f"{nodes} nodes"
