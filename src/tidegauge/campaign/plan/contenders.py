"""Which systems can be measured at which point of a campaign, and how each gives the durability level. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tidegauge.campaign.model import Campaign, Point, SystemChoice
from tidegauge.durability import NODES_FOR_REPLICATION
from tidegauge.errors import UserError, nearest
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


def label(system: SystemChoice, known: System) -> str:
    """How trials name a system: "kafka@4.3.1", "kafka@attached"."""
    if system.attach is not None:
        return f"{system.name}@{system.attach.label}"
    return f"{system.name}@{system.version or known.default_version}"


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


def contenders(
    campaign: Campaign, find_system: Callable[[str], System]
) -> tuple[tuple[tuple[Contender, ...], ...], tuple[str, ...]]:
    """The contenders at each point, and in a sentence each which were left out there, and why.

    Raises `UserError` if a system can't give the level or the shape asked for, and is not to be left out.
    """
    found, left_out = [], []
    for point in campaign.each:
        here, reasons = _at(point, campaign.skip_impossible and bool(campaign.points), find_system)
        found.append(here)
        left_out += reasons
    if not any(found):
        raise UserError(
            f"{campaign.source_path}: no system of the campaign can have any point of its sweep: {left_out[0]}",
            "Sweep values that the systems can have.",
        )
    return tuple(found), tuple(left_out)


def _at(point: Point, skip: bool, find_system: Callable[[str], System]) -> tuple[tuple[Contender, ...], list[str]]:
    campaign = point.campaign
    found: list[Contender] = []
    left_out = []
    for place, system in enumerate(campaign.systems):
        known = find_system(system.name)
        name = label(system, known)
        try:
            _check_shape(campaign, system, known)
            choice = _level(campaign, system, known)
            _check_subscriptions(campaign, system, known, choice)
        except ImpossibleError as error:
            if not skip:
                raise _at_point(error, point) from error
            why = error.message.removeprefix(f"{campaign.source_path}: ")
            left_out.append(f"{name} at {point_words(point.values)} is left out: {why}")
            continue
        number = sum(earlier.name == system.name for earlier in campaign.systems[:place])
        deployment = _deployment(system, choice, campaign.nodes)
        found.append(Contender(system, known, name, choice, f"{system.name} {number}", deployment))
    _check_twice(campaign, [contender.label for contender in found])
    _check_form(campaign, found, find_system)
    return tuple(found), left_out


def _at_point(error: ImpossibleError, point: Point) -> UserError:
    if not point.values:
        return error
    return UserError(
        f"{point.where}: sweep: at {point_words(point.values)}: {error.message}",
        f"{error.hint} 'skip-impossible: true' leaves out what a system can't have.".strip(),
    )


def _deployment(system: SystemChoice, choice: LevelChoice, nodes: int) -> str:
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


def _check_subscriptions(campaign: Campaign, system: SystemChoice, known: System, choice: LevelChoice) -> None:
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
    version = system.version or known.default_version
    problem = known.subscription_problem(workload.subscription_type, version, choice, bool(workload.existing_topics))
    if problem:
        raise ImpossibleError(
            f"{campaign.source_path}: workload.subscription-type: {known.title} has no "
            f"'{workload.subscription_type}': {problem}.",
            "Choose a type that every system has, or leave out the system.",
        )


def _level(campaign: Campaign, system: SystemChoice, known: System) -> LevelChoice:
    """The way this system gives the level; its best one if the campaign names no form.

    A form is a word of the systems that have several ("bypass" of Pulsar): others take their only way.
    """
    wanted = system.durability or campaign.durability
    if not campaign.workload.producers:
        # Nothing is acknowledged: the level that the topics have is only reported.
        wanted = replace(wanted, as_found=True)
    # How many nodes an attached cluster has is known once it was asked; the level is read back in any case.
    nodes = max(campaign.nodes, NODES_FOR_REPLICATION) if system.attach else campaign.nodes
    possible = known.possible_levels(system.version or known.default_version, nodes)
    ways = [choice for choice in possible if choice.level == wanted.level]
    if not ways:
        levels = ", ".join(str(level) for level in sorted({choice.level for choice in possible}))
        raise ImpossibleError(
            f"{campaign.source_path}: durability: {known.title} on {_nodes(nodes)} can't give level "
            f"{wanted.level}; it can give {levels or 'none'}.",
            "Levels 1 and 2 need copies on several nodes; choose a level that every system can give.",
        )
    fitting = [choice for choice in ways if not wanted.form or choice.form == wanted.form]
    if fitting:
        return replace(fitting[0], as_found=wanted.as_found)
    forms = [choice.form for choice in ways if choice.form]
    if forms:
        raise UserError(
            f"{campaign.source_path}: durability.form: {known.title} has no form '{wanted.form}' of level "
            f"{wanted.level}; it has {', '.join(forms)}.",
            "Name one of these, or leave 'form' out.",
        )
    return ways[0]


def _check_form(campaign: Campaign, found: Sequence[Contender], find_system: Callable[[str], System]) -> None:
    """A form that no system has is a mistake, unless the command line left out the system that has it."""
    form, level = campaign.durability.form, campaign.durability.level
    followers = [contender.choice for contender in found if contender.system.durability is None]
    nodes = max(campaign.nodes, NODES_FOR_REPLICATION)
    for name, version in campaign.listed:
        known = find_system(name)
        followers += [
            choice for choice in known.possible_levels(version or known.default_version, nodes) if choice.level == level
        ]
    if form and followers and all(choice.form != form for choice in followers):
        forms = list(dict.fromkeys(choice.form for choice in followers if choice.form))
        raise UserError(
            f"{campaign.source_path}: durability.form: no system of the campaign has a form '{form}' of level "
            f"{level}{nearest(form, forms)}.",
            f"Name one of {', '.join(forms)}, or leave 'form' out." if forms else "Leave 'form' out.",
        )


def _nodes(nodes: int) -> str:
    return "one node" if nodes == 1 else f"{nodes} nodes"
