"""Which systems can be measured at which point of a campaign, and how each gives the durability level. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tidegauge.campaign.model import Campaign, Point, SystemChoice
from tidegauge.config.source import KeyPath
from tidegauge.durability import NODES_FOR_REPLICATION
from tidegauge.errors import UserError, did_you_mean
from tidegauge.fairness import Case
from tidegauge.model.events import Note, left_out_note
from tidegauge.model.level import LevelChoice
from tidegauge.model.message_sizes import HEADER_BYTES
from tidegauge.model.server import Setting
from tidegauge.model.trial import LoadSpec, TrialSpec, point_words
from tidegauge.model.variant import VARIANT
from tidegauge.model.workload import SubscriptionType
from tidegauge.numbers import capitalized
from tidegauge.systems.api import System


class ImpossibleError(UserError):
    """A system can't run in this shape or give this level. Points of a sweep may leave it out.

    `why`: the message without the place. `at`: the key that it is about.
    """

    def __init__(self, campaign: Campaign, at: KeyPath, why: str, hint: str = "") -> None:
        super().__init__(f"{campaign.where(*at)}: {why}", hint)
        self.why = why


@dataclass(frozen=True)
class Contender:
    """A system at a point: as the campaign wants it, and the system itself, its `implementation`.

    Attributes:
        label: how trials name it: "kafka@4.3.1".
        choice: the level in the form that this system gives it.
        identity: the same at every point, whatever the sweep changes about it.
        deployment: the same for those that could use the same servers.
    """

    system: SystemChoice
    implementation: System
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
        topic=choice.topic,
        copies=choice.copies,
        in_force=in_force,
        msgs_per_s=spec.most_msgs_per_s if isinstance(spec, LoadSpec) and not spec.exploratory else 0.0,
        file_keys=choice.file_keys,
    )


def find_contenders(
    campaign: Campaign, find_system: Callable[[str], System]
) -> tuple[tuple[tuple[Contender, ...], ...], tuple[Note, ...]]:
    """The contenders at each point, and which were left out there, and why.

    Raises `UserError` if a system can't give the level or the shape asked for, and is not to be left out.
    """
    contenders_by_point, left_out = [], []
    for point in campaign.all_points:
        contenders_at_point, reasons = _contenders_at_point(
            point, campaign.skip_impossible and bool(campaign.points), find_system
        )
        contenders_by_point.append(contenders_at_point)
        left_out += reasons
    if not any(contenders_by_point):
        raise UserError(
            f"{campaign.where('sweep')}: no system of the campaign can have any point of its sweep: {left_out[0].text}",
            "Sweep values that the systems can have.",
        )
    return tuple(contenders_by_point), tuple(left_out)


def _contenders_at_point(
    point: Point, skip: bool, find_system: Callable[[str], System]
) -> tuple[tuple[Contender, ...], list[Note]]:
    campaign = point.campaign
    possible_contenders: list[Contender] = []
    left_out = []
    for place, system in enumerate(campaign.systems):
        implementation = find_system(system.name)
        name = label_of_system(system, implementation)
        try:
            if problem := implementation.shape_problem(system.shape, campaign.nodes):
                raise ImpossibleError(
                    campaign, ("systems", place, "shape"), f"systems: {system.name}: shape: {problem}."
                )
            choice = _choose_level(campaign, place, implementation, _may_change_level(point, system))
            _check_subscriptions(campaign, place, implementation, choice)
            _check_message_size(campaign, place, implementation, choice)
        except ImpossibleError as error:
            if not skip:
                raise _error_at_point(error, point) from error
            left_out.append(left_out_note(name, error.why, point_words(point.values)))
            continue
        number = sum(earlier.name == system.name for earlier in campaign.systems[:place])
        clients_apart = replace(system, producer={}, consumer={}, durability=None, optional=False)
        deployment = repr((clients_apart, choice.level, choice.form, campaign.nodes))
        possible_contenders.append(
            Contender(system, implementation, name, choice, f"{system.name} {number}", deployment)
        )
    labels = [contender.label for contender in possible_contenders]
    if len(set(labels)) < len(labels):
        raise UserError(
            f"{campaign.where('systems')}: systems: one is listed twice: {', '.join(labels)}.",
            "Give each its own version; for other settings of one system use 'variants', for repeated trials 'repeat'.",
        )
    _check_form(campaign, possible_contenders, find_system)
    return tuple(possible_contenders), left_out


def _error_at_point(error: ImpossibleError, point: Point) -> UserError:
    if not point.values:
        return error
    return UserError(
        f"{point.where}: sweep: at {point_words(point.values)}: {error.message}",
        f"{error.hint} 'skip-impossible: true' leaves out what a system can't have.".strip(),
    )


def _check_message_size(campaign: Campaign, place: int, implementation: System, choice: LevelChoice) -> None:
    """Servers that are started here must take the workload's messages; those of others say so themselves."""
    system, workload = campaign.systems[place], campaign.workload
    attests = any(choice.name == "attest" for choice in campaign.experiments)
    if attests and workload.payload.message_bytes < HEADER_BYTES:
        raise ImpossibleError(
            campaign,
            ("workload", "message-size"),
            f"workload.message-size: '{workload.payload.message_bytes}B': must be {HEADER_BYTES}B or more for attest, "
            "whose evidence is in each message.",
        )
    if system.attach is not None or not workload.producers:
        return
    case = Case(
        version=system.version or implementation.default_version,
        nodes=campaign.nodes,
        choice=choice,
        workload=workload,
        settings=system.settings,
        producer=system.producer,
        topic=system.topic,
        file_keys=system.file_keys,
    )
    limit = implementation.message_limit(case)
    if limit is not None and workload.payload.message_bytes_max > limit.bytes_max:
        raise ImpossibleError(
            campaign,
            ("workload", "message-size"),
            f"{system.file_keys.get('message-size', 'workload.message-size')}: "
            f"'{workload.payload.message_bytes_max}B': {implementation.title} takes messages of "
            f"at most {limit.bytes_max}B here ({limit.setting}).",
            f"{capitalized(limit.remedy)}.",
        )


def _check_subscriptions(campaign: Campaign, place: int, implementation: System, choice: LevelChoice) -> None:
    """Topics of others are on clusters of others; and not every system has every type of subscription.

    `place`: of the system in the campaign.
    """
    system, workload = campaign.systems[place], campaign.workload
    if workload.existing_topics and system.attach is None:
        raise ImpossibleError(
            campaign,
            ("workload", "existing-topics"),
            f"workload.existing-topics: {system.name} is started here, with empty disks: no topic exists.",
            "Name a running cluster with 'attach', or leave out 'existing-topics'.",
        )
    if workload.existing_topics and system.partitions:
        raise ImpossibleError(
            campaign,
            ("systems", place, "partitions"),
            f"systems: {system.name}: partitions: can't be given beside 'existing-topics', "
            "whose partitions are as they are.",
        )
    if workload.subscription_type is SubscriptionType.BY_PARTITION or not workload.subscriptions:
        return
    version = system.version or implementation.default_version
    problem = implementation.subscription_problem(
        workload.subscription_type, version, choice, bool(workload.existing_topics)
    )
    if problem:
        raise ImpossibleError(
            campaign,
            ("workload", "subscription-type"),
            f"workload.subscription-type: {implementation.title} has no '{workload.subscription_type}': {problem}.",
            "Choose a type that every system has, or leave out the system.",
        )


def _may_change_level(point: Point, system: SystemChoice) -> bool:
    """Whether a point's variant differs from others in settings that may decide the level (`acks`).

    What it makes of the level is then part of the answer: it is reported, and nothing is refused.
    """
    variant = next((each for each in point.campaign.variants if each.name == point.values.get(VARIANT)), None)
    settings = {*system.producer, *system.settings}
    return variant is not None and any(key.rpartition(" ")[2] in settings for key in variant.sets)


def _choose_level(campaign: Campaign, place: int, implementation: System, expected_only: bool = False) -> LevelChoice:
    """The way the system at a place gives the level; its best one if the campaign names no form.

    A form is a word of the systems that have several ("bypass" of Pulsar): others take their only way.
    """
    system = campaign.systems[place]
    target = system.durability or campaign.durability
    at: KeyPath = ("systems", place, "durability") if system.durability else ("durability",)
    if expected_only or not campaign.workload.producers:
        # Nothing is acknowledged, or a variant decides: the level that the topics have is only reported.
        target = replace(target, as_found=True)
    if target.is_open:
        return _choose_form_as_found(campaign, place, at, target, implementation)
    # How many nodes an attached cluster has is known once it was asked; the level is read back in any case.
    nodes = max(campaign.nodes, NODES_FOR_REPLICATION) if system.attach else campaign.nodes
    possible = implementation.possible_levels(system.version or implementation.default_version, nodes)
    ways = [choice for choice in possible if choice.level == target.level]
    if not ways:
        levels = ", ".join(str(level) for level in sorted({choice.level for choice in possible}))
        nodes_in_words = "one node" if nodes == 1 else f"{nodes} nodes"
        raise ImpossibleError(
            campaign,
            at,
            f"durability: {implementation.title} on {nodes_in_words} can't give level "
            f"{target.level}; it can give {levels or 'none'}.",
            "Levels 1 and 2 need copies on several nodes; choose a level that every system can give.",
        )
    fitting = [choice for choice in ways if not target.form or choice.form == target.form]
    if fitting:
        return replace(fitting[0], as_found=target.as_found)
    forms = [choice.form for choice in ways if choice.form]
    if forms:
        where = campaign.where(*at, "form")
        raise UserError(
            f"{where}: durability.form: {implementation.title} {system.version or implementation.default_version} has "
            f"no form '{target.form}' of level {target.level}"
            f"{did_you_mean(target.form, forms)}; it has {', '.join(forms)}.",
            "Name one of these, or leave 'form' out.",
        )
    return ways[0]


def _choose_form_as_found(
    campaign: Campaign, place: int, at: KeyPath, target: LevelChoice, implementation: System
) -> LevelChoice:
    """The choice of a level as it is found, with how topics are made where a system has several ways.

    Where nobody names one, settings of the topics may: they say what such a form would set.
    """
    forms = implementation.found_forms
    if target.form in forms:
        return target
    if not target.form or not forms:
        settings = campaign.systems[place].topic
        fitting = (
            form
            for form in forms
            if all(
                settings.get(name, value) == value
                for name, value in implementation.topic_settings(replace(target, form=form)).items()
            )
        )
        return replace(target, form=next(fitting, "".join(forms[:1])))
    raise UserError(
        f"{campaign.where(*at, 'form')}: durability.form: {implementation.title} has no form '{target.form}' of topics"
        f"{did_you_mean(target.form, list(forms))}; it has {', '.join(forms)}.",
        "Name one of these, or leave 'form' out.",
    )


def _check_form(
    campaign: Campaign, possible_contenders: Sequence[Contender], find_system: Callable[[str], System]
) -> None:
    """A form that no system has is a mistake, unless the command line left out the system that has it."""
    form, level = campaign.durability.form, campaign.durability.level
    followers = [contender.choice for contender in possible_contenders if contender.system.durability is None]
    nodes = max(campaign.nodes, NODES_FOR_REPLICATION)
    for name, version in campaign.listed if not campaign.durability.is_open else ():
        implementation = find_system(name)
        followers += [
            choice
            for choice in implementation.possible_levels(version or implementation.default_version, nodes)
            if choice.level == level
        ]
    if form and followers and all(choice.form != form for choice in followers):
        forms = list(dict.fromkeys(choice.form for choice in followers if choice.form))
        of_what = "of topics" if campaign.durability.is_open else f"of level {level}"
        where = campaign.where("durability", "form")
        raise UserError(
            f"{where}: durability.form: no system of the campaign has a form '{form}' {of_what}"
            f"{did_you_mean(form, forms)}.",
            f"Name one of {', '.join(forms)}, or leave 'form' out." if forms else "Leave 'form' out.",
        )
