"""The plan of a campaign: every trial of it, in the order in which they run. Pure.

Without `rates-at` a share (`50% of lowest sustainable`) is one of what was found at each point: every point has its
own rate. With `rates-at: {partitions: 100}` the experiments that find rates are made with 100 partitions only, before
the others, and every number of partitions faces the same load. Axes that it does not name keep rates of their own.

A block holds every experiment on every system at every point once. Systems take turns, so that what changes slowly on
the host (heat, neighbours, a filling disk) touches all of them alike instead of the one measured last; the order of
systems and of points is drawn anew for each block, so that nobody is always first. Variants take turns as systems do:
points that differ in the variant only are measured together.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tidegauge.campaign.model import Campaign, ExperimentChoice, Point
from tidegauge.campaign.plan.contenders import Contender, case_of, find_contenders
from tidegauge.campaign.plan.limits import too_small
from tidegauge.campaign.read.faults import faulted_trial
from tidegauge.config.fields import Fields
from tidegauge.errors import UserError
from tidegauge.experiments import max_throughput, peak
from tidegauge.experiments.procedure import Experiment, experiments, seconds_expected
from tidegauge.fairness import sending_of
from tidegauge.model.events import Note
from tidegauge.model.sending import bodies_needed, codec_of_random_bytes, values_repeat
from tidegauge.model.trial import AnySpec, AttestSpec, LoadSpec, ServerReuse, Spec, TrialSpec, point_words
from tidegauge.model.variant import point_beside_variant
from tidegauge.numbers import join_with_and, trimmed
from tidegauge.plain import grouped
from tidegauge.statistics.steady import WARM_UP_S_TO_JUDGE, too_short_to_judge
from tidegauge.systems import registry
from tidegauge.systems.api import System

READ = "read"
STEPS_MAX = 5_000
_OF_READERS = ("catch-up", "mixed")


def check_experiments(campaign: Campaign) -> None:
    """Raise `UserError` for an experiment that the workload has nobody for: without producers, without readers."""
    workload = campaign.workload
    for place, chosen in enumerate(campaign.experiments):
        where = f"{campaign.where('experiments', place)}: experiments: {chosen.name}"
        if chosen.name == READ and workload.producers:
            raise UserError(
                f"{where}: reads topics that others fill, and this workload sends.",
                "Write 'producers: 0' and name the topics in 'existing-topics'.",
            )
        if chosen.name != READ and not workload.producers:
            raise UserError(
                f"{where}: nothing is sent with 'producers: 0'.",
                "Give the workload a producer: only the experiment 'read' works without one.",
            )
        if chosen.name in _OF_READERS and not workload.subscriptions:
            raise UserError(f"{where}: nobody reads with 'subscriptions: 0'.", "Give the workload a subscription.")


FINDERS = (peak.EXPERIMENT.name, max_throughput.NAME)
"""Experiments whose answer is a rate that others take a share of."""


def point_of_rates(point: Mapping[str, str], rates_at: Mapping[str, str]) -> Mapping[str, str]:
    """The point whose rates hold at `point`: itself, where `rates_at` names no axis."""
    return {axis: rates_at.get(axis, value) for axis, value in point.items()}


def is_made(experiment: str, point: Mapping[str, str], rates_at: Mapping[str, str]) -> bool:
    """Whether an experiment is made at a point: one that finds rates only where these are to be found."""
    return experiment not in FINDERS or dict(point_of_rates(point, rates_at)) == dict(point)


@dataclass(frozen=True)
class Turn:
    """One experiment on one system at one point, by their numbers in the campaign."""

    point: int
    experiment: int
    system: int


def interleaved_turns(
    contenders_by_point: Sequence[Sequence[Contender]],
    experiments: int,
    seed: int,
    block: int,
    deployment: ServerReuse,
    *,
    together: Sequence[Sequence[int]] = (),
) -> list[Turn]:
    """The turns of one block in order.

    With a deployment for each trial: points, at each the experiments in their order, for each of these the
    systems. With servers that go on: the experiments in their order, for each the systems, for each of these its
    points, those that could use the same servers one after the other. Points and systems are in random order.

    Args:
        contenders_by_point: the systems at each point.
        together: points of which each group is measured as one is, its systems at all of them in random order; () =
            each point by itself.
    """
    if deployment is ServerReuse.FRESH:
        groups = list(together or [[point] for point in range(len(contenders_by_point))])
        random.Random(f"{seed} points {block}").shuffle(groups)
        turns = []
        for group in groups:
            where = group[0] if len(groups) > 1 else None
            places = [(point, system) for point in group for system in range(len(contenders_by_point[point]))]
            for experiment in range(experiments):
                order = _by_lot(len(places), seed, block, experiment, where)
                turns += [Turn(places[place][0], experiment, places[place][1]) for place in order]
        return turns
    return [
        turn
        for number in range(experiments)
        for turn in _turns_on_shared_servers(contenders_by_point, number, seed, block)
    ]


def _by_lot(count: int, seed: int, block: int, experiment: int, point: int | None) -> list[int]:
    order = list(range(count))
    where = "" if point is None else f" {point}"
    random.Random(f"{seed} order {block} {experiment}{where}").shuffle(order)
    return order


def _turns_on_shared_servers(
    contenders_by_point: Sequence[Sequence[Contender]], experiment: int, seed: int, block: int
) -> list[Turn]:
    identities = list(
        dict.fromkeys(
            contender.identity for contenders_at_point in contenders_by_point for contender in contenders_at_point
        )
    )
    points = list(range(len(contenders_by_point)))
    random.Random(f"{seed} points {block} {experiment}").shuffle(points)
    turns = []
    for number in _by_lot(len(identities), seed, block, experiment, None):
        turns_by_deployment: dict[str, list[Turn]] = {}
        for point in points:
            for system, contender in enumerate(contenders_by_point[point]):
                if contender.identity == identities[number]:
                    turns_by_deployment.setdefault(contender.deployment, []).append(Turn(point, experiment, system))
        turns += [turn for turns_of_deployment in turns_by_deployment.values() for turn in turns_of_deployment]
    return turns


_POINT_CHARS_MAX = 60
"""Of a point in the name of a trial's directory; the trial itself has all of it."""


@dataclass(frozen=True)
class Step:
    """One experiment on one system at one point in one block.

    `rates_point` is the point whose rates its shares are of; `is_of_variant`: whether its point is a variant's.
    """

    experiment: Experiment[Any, Any, Any]
    options: Fields
    contender: Contender
    trials: tuple[AnySpec, ...]
    rates_point: Mapping[str, str]
    is_of_variant: bool = False


@dataclass(frozen=True)
class Plan:
    """All steps of a campaign in order.

    `left_out` says what its sweep was to measure and can't; `campaign` is the one without that.
    """

    campaign: Campaign
    steps: tuple[Step, ...]
    left_out: tuple[Note, ...] = ()

    @property
    def trials(self) -> tuple[AnySpec, ...]:
        """All trials in order."""
        return tuple(trial for step in self.steps for trial in step.trials)

    @property
    def seconds_expected(self) -> float:
        """An estimate of how long everything takes, once distributions are cached."""
        return sum(seconds_expected(trial) for trial in self.trials)

    def only(self, systems: Collection[str]) -> Plan:
        """The steps of these systems ("kafka@4.3.1")."""
        steps_kept = tuple(step for step in self.steps if step.trials[0].system in systems)
        return replace(self, steps=steps_kept)


def plan_warnings(trials: Sequence[TrialSpec]) -> tuple[str, ...]:
    """What a user should know of a plan before it runs, one sentence each."""
    warm_ups_s = [trial.warmup_s_max for trial in trials if isinstance(trial, LoadSpec)]
    short_warm_ups_s = [most_s for most_s in warm_ups_s if too_short_to_judge(most_s)]
    warnings = []
    if short_warm_ups_s:
        warnings.append(
            f"A warm-up-max of {trimmed(min(short_warm_ups_s))} s is too short to judge whether figures are steady: "
            f"{WARM_UP_S_TO_JUDGE} s are needed."
        )
    trials_with_few_bodies = [trial for trial in trials if values_repeat(trial.workload.payload, trial.sending)]
    if trials_with_few_bodies:
        # Of several payloads or batches what suffices for all of them.
        numbers = sorted({trial.workload.payload.pool_bodies for trial in trials_with_few_bodies})
        bodies = join_with_and([f"{number:,}" for number in numbers])
        enough = max(bodies_needed(trial.workload.payload, trial.sending) for trial in trials_with_few_bodies)
        warnings.append(
            f"Message bodies come again within what is compressed together (payload-bodies: {bodies}), so values "
            f"become smaller than their random share says: {enough:,} would do."
        )
    codecs = dict.fromkeys(codec_of_random_bytes(trial.workload.payload, trial.sending) for trial in trials)
    if idle_codecs := [codec for codec in codecs if codec]:
        warnings.append(
            f"Message bodies are random bytes, which {join_with_and(idle_codecs)} can't make smaller: "
            "random-share (0.3, say) makes them more like messages of most applications."
        )
    return tuple(warnings)


def plan_campaign(campaign: Campaign, find_system: Callable[[str], System] = registry.system_named) -> Plan:
    """Plan all trials of a campaign. Raises `UserError` if a system can't give the level or the shape asked for."""
    for point in campaign.all_points:
        check_experiments(point.campaign)
    contenders_by_point, left_out = find_contenders(campaign, find_system)
    points = campaign.all_points
    # Nobody waits for more: the plan alone would take minutes.
    count = campaign.repeat * sum(map(len, contenders_by_point)) * len(campaign.experiments)
    if count > STEPS_MAX:
        raise UserError(
            f"{campaign.where('repeat')}: systems times experiments times points times 'repeat' are {count:,}: "
            f"at most {STEPS_MAX:,} can be planned.",
            "Repeat less often, or make several campaigns of it.",
        )
    # Points that differ in the variant only are measured together; without variants each is measured alone.
    together = [[number] for number in range(len(campaign.all_points))]
    if campaign.variants:
        words = [point_words(point_beside_variant(point.values)) for point in campaign.all_points]
        together = list(grouped((other_values, number) for number, other_values in enumerate(words)).values())
    steps: list[Step] = []
    for block in range(campaign.repeat):
        turns = interleaved_turns(
            contenders_by_point, len(campaign.experiments), campaign.seed, block, campaign.deployment, together=together
        )
        for turn in _rates_first(campaign, turns):
            contender, point = contenders_by_point[turn.point][turn.system], points[turn.point]
            chosen = point.campaign.experiments[turn.experiment]
            steps.append(_plan_step(point, chosen, contender, len(steps) + 1, block))
    for step in steps:
        for trial in step.trials:
            if problem := too_small(trial, step.contender.system):
                raise UserError(
                    f"{campaign.where('experiments')}: experiments: {trial.experiment}: {problem}.",
                    "Give the system less: {name: kafka, heap: 256MiB, direct-memory: 128MiB}; or raise server-memory.",
                )
    possible = campaign.with_systems(
        [[contender.system for contender in contenders_at_point] for contenders_at_point in contenders_by_point]
    )
    return Plan(possible, tuple(steps), left_out)


def _rates_first(campaign: Campaign, turns: Sequence[Turn]) -> Sequence[Turn]:
    """The turns in such an order that rates are found at `rates-at`, and only there, before a share is taken."""
    if not campaign.rates_at:
        return turns
    names = [experiment.name for experiment in campaign.experiments]
    points = [point.values for point in campaign.all_points]
    turns_made = [turn for turn in turns if is_made(names[turn.experiment], points[turn.point], campaign.rates_at)]
    return sorted(turns_made, key=lambda turn: names[turn.experiment] not in FINDERS)


def _plan_step(point: Point, chosen: ExperimentChoice, contender: Contender, number: int, block: int) -> Step:
    """Plan the step of this number, from 1. The seed is the same for all systems of a block."""
    campaign, system, implementation = point.campaign, contender.system, contender.implementation
    # A point as a part of a directory's name: "-partitions-100-durability-3".
    words = "-".join(f"{axis} {value}" for axis, value in point.values.items())
    slug = re.sub(r"[^a-z0-9.]+", "-", words.lower()).strip("-.")[:_POINT_CHARS_MAX].rstrip("-.")
    slug_of_point = f"-{slug}" if slug else ""
    base = TrialSpec(
        trial_id=f"{number:04d}-{chosen.name}-{system.name}{slug_of_point}",
        experiment=chosen.name,
        system=contender.label,
        choice=contender.choice,
        nodes=campaign.nodes,
        block=block,
        seed=random.Random(f"{campaign.seed} load {block}").getrandbits(63),
        workload=replace(
            campaign.workload,
            partitions=system.partitions or campaign.workload.partitions,
            producer_overrides={system.name: system.producer} if system.producer else {},
            consumer_overrides={system.name: system.consumer} if system.consumer else {},
        ),
        servers=campaign.deployment,
        attached=system.attach is not None,
        serverless=system.attach is None and not implementation.has_servers,
        apart=bool(campaign.fleet) and system.attach is None,
        load_hosts=campaign.worker.hosts,
        copies=system.copies,
        point=point.values,
    )
    experiment = experiments()[chosen.name]
    trials = experiment.plan(chosen.options, base)
    if chosen.faults:
        machines = implementation.machines(campaign.nodes, system.shape)
        problem = implementation.network_problem(system.version or implementation.default_version)
        trials = tuple(faulted_trial(trial, chosen.faults, chosen.faults_at, machines, problem) for trial in trials)
    trials = tuple(
        _with_best_choice(trial, implementation) if isinstance(trial, AttestSpec) else trial for trial in trials
    )
    trials = tuple(_with_sending(trial, contender) for trial in trials)
    rates_point = point_of_rates(point.values, campaign.rates_at)
    return Step(experiment, chosen.options, contender, trials, rates_point, bool(campaign.variants))


def _with_sending(trial: Spec, contender: Contender) -> Spec:
    """The trial with how its producers are to send, the system's own settings included."""
    case = case_of(trial, contender.system, contender.implementation)
    return replace(trial, sending=sending_of(case, contender.implementation.client_facts(case).facts))


def _with_best_choice(trial: AttestSpec, system: System) -> AttestSpec:
    """The trial with the system's best way of giving its level, where that is another than the campaign's."""
    # What attestations read as evidence is on the host of `run`, and so is their load generator.
    trial = replace(trial, load_hosts=0)
    possible = system.possible_levels(trial.system.partition("@")[2], trial.nodes)
    best = next((choice for choice in possible if choice.level == trial.choice.level), trial.choice)
    return trial if trial.choice in possible else replace(trial, choice=best)
