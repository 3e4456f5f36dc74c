"""Which systems can be measured at which point of a campaign, and how each gives the durability level. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tidegauge.campaign.model import Campaign, Point, SystemChoice
from tidegauge.durability import NODES_FOR_REPLICATION
from tidegauge.errors import UserError, did_you_mean
from tidegauge.fairness import Case
from tidegauge.model.level import LevelChoice
from tidegauge.model.server import Setting
from tidegauge.model.trial import TrialSpec, point_words
from tidegauge.model.workload import SubscriptionType
from tidegauge.systems.api import System


class ImpossibleError(UserError):
    """A system can't run in this shape or give this level. Points of a sweep may leave it out."""


@dataclass(frozen=True)
class Contender:
    """A system at a point: as the campaign wants it, and the system itself, which is `known`.

    Attributes:
        label: how trials name it: "kafka@4.3.1".
        choice: the level in the form that this system gives it.
        identity: the same at every point, whatever the sweep changes about it.
        deployment: the same for those that could use the same servers.
    """

    system: SystemChoice
    known: System
    label: str
    choice: LevelChoice
    identity: str
    deployment: str


def label_of_system(system: SystemChoice, implementation: System) -> str:
    """How trials name a system: "kafka@4.3.1", "kafka@attached"."""
    if system.attach is not None:
        return f"{system.name}@{system.attach.label}"
    return f"{system.name}@{system.version or implementation.default_version}"


def case_of(spec: TrialSpec, choice: SystemChoice, system: System, in_force: tuple[Setting, ...] | None = None) -> Case:
    """A trial's system as the campaign sets it up, or with the settings that were read back."""
    return Case(
        version=(choice.version or system.default_version) if choice.attach else spec.system.partition("@")[2],
        nodes=spec.nodes,
        choice=spec.choice,
        workload=spec.workload,
        settings=choice.settings,
        producer=choice.producer,
        consumer=choice.consumer,
        shape=choice.shape,
        in_force=in_force,
    )


def find_contenders(
    campaign: Campaign, find_system: Callable[[str], System]
) -> tuple[tuple[tuple[Contender, ...], ...], tuple[str, ...]]:
    """The contenders at each point, and in a sentence each which were left out there, and why.

    Raises `UserError` if a system can't give the level or the shape asked for, and is not to be left out.
    """
    contenders_by_point, left_out = [], []
    for point in campaign.each:
        contenders_at_point, reasons = _contenders_at_point(
            point, campaign.skip_impossible and bool(campaign.points), find_system
        )
        contenders_by_point.append(contenders_at_point)
        left_out += reasons
    if not any(contenders_by_point):
        raise UserError(
            f"{campaign.source_path}: no system of the campaign can have any point of its sweep: {left_out[0]}",
            "Sweep values that the systems can have.",
        )
    return tuple(contenders_by_point), tuple(left_out)


def _contenders_at_point(
    point: Point, skip: bool, find_system: Callable[[str], System]
) -> tuple[tuple[Contender, ...], list[str]]:
    campaign = point.campaign
    possible_contenders: list[Contender] = []
    left_out = []
    for place, system in enumerate(campaign.systems):
        implementation = find_system(system.name)
        name = label_of_system(system, implementation)
        try:
            _check_shape(campaign, system, implementation)
            choice = _choose_level(campaign, system, implementation)
            _check_subscriptions(campaign, system, implementation, choice)
        except ImpossibleError as error:
            if not skip:
                raise _error_at_point(error, point) from error
            reason = error.message.removeprefix(f"{campaign.source_path}: ")
            left_out.append(f"{name} at {point_words(point.values)} is left out: {reason}")
            continue
        number = sum(earlier.name == system.name for earlier in campaign.systems[:place])
        deployment = _identity_of_servers(system, choice, campaign.nodes)
        possible_contenders.append(
            Contender(system, implementation, name, choice, f"{system.name} {number}", deployment)
        )
    _check_twice(campaign, [contender.label for contender in possible_contenders])
    _check_form(campaign, possible_contenders, find_system)
    return tuple(possible_contenders), left_out


def _error_at_point(error: ImpossibleError, point: Point) -> UserError:
    if not point.values:
        return error
    return UserError(
        f"{point.where}: sweep: at {point_words(point.values)}: {error.message}",
        f"{error.hint} 'skip-impossible: true' leaves out what a system can't have.".strip(),
    )


def _identity_of_servers(system: SystemChoice, choice: LevelChoice, nodes: int) -> str:
    clients_apart = replace(system, producer={}, consumer={}, durability=None, optional=False)
    return repr((clients_apart, choice.level, choice.form, nodes))


def _check_twice(campaign: Campaign, labels: Sequence[str]) -> None:
    if len(set(labels)) < len(labels):
        raise UserError(
            f"{campaign.source_path}: systems: one is listed twice: {', '.join(labels)}.",
            "Give each its own version; for repeated trials use 'repeat'.",
        )


def _check_shape(campaign: Campaign, choice: SystemChoice, system: System) -> None:
    if problem := system.shape_problem(choice.shape, campaign.nodes):
        raise ImpossibleError(f"{campaign.source_path}: systems: {choice.name}: shape: {problem}.")


def _check_subscriptions(campaign: Campaign, system: SystemChoice, implementation: System, choice: LevelChoice) -> None:
    """Topics of others are on clusters of others; and not every system has every type of subscription."""
    workload = campaign.workload
    if workload.existing_topics and system.attach is None:
        raise ImpossibleError(
            f"{campaign.source_path}: workload.existing-topics: {system.name} is started here, with empty disks: no "
            "topic exists.",
            "Name a running cluster with 'attach', or leave out 'existing-topics'.",
        )
    if workload.existing_topics and system.partitions:
        raise ImpossibleError(
            f"{campaign.source_path}: systems: {system.name}: partitions: can't be given beside 'existing-topics', "
            "whose partitions are as they are."
        )
    if workload.subscription_type is SubscriptionType.BY_PARTITION or not workload.subscriptions:
        return
    version = system.version or implementation.default_version
    problem = implementation.subscription_problem(
        workload.subscription_type, version, choice, bool(workload.existing_topics)
    )
    if problem:
        raise ImpossibleError(
            f"{campaign.source_path}: workload.subscription-type: {implementation.title} has no "
            f"'{workload.subscription_type}': {problem}.",
            "Choose a type that every system has, or leave out the system.",
        )


def _choose_level(campaign: Campaign, system: SystemChoice, implementation: System) -> LevelChoice:
    """The way this system gives the level; its best one if the campaign names no form.

    A form is a word of the systems that have several ("bypass" of Pulsar): others take their only way.
    """
    target = system.durability or campaign.durability
    if not campaign.workload.producers:
        # Nothing is acknowledged: the level that the topics have is only reported.
        target = replace(target, as_found=True)
    # How many nodes an attached cluster has is known once it was asked; the level is read back in any case.
    nodes = max(campaign.nodes, NODES_FOR_REPLICATION) if system.attach else campaign.nodes
    possible = implementation.possible_levels(system.version or implementation.default_version, nodes)
    ways = [choice for choice in possible if choice.level == target.level]
    if not ways:
        levels = ", ".join(str(level) for level in sorted({choice.level for choice in possible}))
        raise ImpossibleError(
            f"{campaign.source_path}: durability: {implementation.title} on {_nodes_in_words(nodes)} can't give level "
            f"{target.level}; it can give {levels or 'none'}.",
            "Levels 1 and 2 need copies on several nodes; choose a level that every system can give.",
        )
    fitting = [choice for choice in ways if not target.form or choice.form == target.form]
    if fitting:
        return replace(fitting[0], as_found=target.as_found)
    forms = [choice.form for choice in ways if choice.form]
    if forms:
        raise UserError(
            f"{campaign.source_path}: durability.form: {implementation.title} has no form '{target.form}' of level "
            f"{target.level}; it has {', '.join(forms)}.",
            "Name one of these, or leave 'form' out.",
        )
    return ways[0]


def _check_form(
    campaign: Campaign, possible_contenders: Sequence[Contender], find_system: Callable[[str], System]
) -> None:
    """A form that no system has is a mistake, unless the command line left out the system that has it."""
    form, level = campaign.durability.form, campaign.durability.level
    followers = [contender.choice for contender in possible_contenders if contender.system.durability is None]
    nodes = max(campaign.nodes, NODES_FOR_REPLICATION)
    for name, version in campaign.listed:
        implementation = find_system(name)
        followers += [
            choice
            for choice in implementation.possible_levels(version or implementation.default_version, nodes)
            if choice.level == level
        ]
    if form and followers and all(choice.form != form for choice in followers):
        forms = list(dict.fromkeys(choice.form for choice in followers if choice.form))
        raise UserError(
            f"{campaign.source_path}: durability.form: no system of the campaign has a form '{form}' of level "
            f"{level}{did_you_mean(form, forms)}.",
            f"Name one of {', '.join(forms)}, or leave 'form' out." if forms else "Leave 'form' out.",
        )


def _nodes_in_words(nodes: int) -> str:
    return "one node" if nodes == 1 else f"{nodes} nodes"
