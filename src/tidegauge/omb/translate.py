"""A workload file on a driver file as a campaign of one system and one experiment."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import inf
from pathlib import Path

from tidegauge.campaign.model import Campaign, ExperimentChoice, SystemChoice, WorkerChoice
from tidegauge.campaign.read.overriding import with_memory
from tidegauge.campaign.read.parse import names_for_thresholds
from tidegauge.config.fields import option_of
from tidegauge.config.source import Source, raise_problems
from tidegauge.config.units import Rate, RateSpan, ScheduleRule
from tidegauge.durability import NODES_FOR_REPLICATION, level_named
from tidegauge.errors import UserError, did_you_mean
from tidegauge.experiments.latency import MEASURE_S_MAX
from tidegauge.experiments.procedure import experiments
from tidegauge.fleet.file import FleetFile, read_fleet_file
from tidegauge.model.workload import IN_FLIGHT_BYTES_MOST, Keys, SubscriptionType, Workload
from tidegauge.numbers import plural, trimmed
from tidegauge.omb.files import (
    ReadDriver,
    ReadWorkload,
    read_driver,
    read_workload,
    translate_workload,
    workload_notes,
)
from tidegauge.systems.omb import DriverTerms
from tidegauge.thresholds import parse_threshold

_MINUTE_S = 60.0
_WARM_UP_S = (1.0, 3600.0)
_MEASURE_S = (1.0, MEASURE_S_MAX)
_SEARCH_WARM_UP_S = (7.0, 20.0)
_SEARCH_TRIAL_S = (8.0, 20.0)
_CONFIRM_S = (_SEARCH_TRIAL_S[0], _MEASURE_S[1])
_DRAIN_MAX = "60s"
_GB = 1 << 30
"""What OMB calls a gigabyte, in bytes."""
_SHARE_AFTER_DRAIN = 4
_DRAIN_TIMES = 4.0
_DRAIN_S = (60.0, 86_400.0)
"""How long a backlog may take to drain: so many times testDurationMinutes, within these bounds."""
_BEST_EFFORT_S = (6.0, 86_400.0)
"""How long it may take under a `backlogDrainRatio` of 0, OMB's word for what is drained in testDurationMinutes."""

_KEYS_OF_FILES = {
    "partitions": "partitionsPerTopic",
    "consumers": "consumerPerSubscription",
    "message-size": "messageSize",
    "in-flight": "--in-flight",
    "durability": "--level",
    "form": "--form",
    "heap": "--heap",
    "direct-memory": "--direct-memory",
}
"""What says the same in a workload file or on the command line, of a campaign's keys."""

_MEANING_OF_PUBLISHING = (
    "publishLatency in OMB's JSON is from the actual send, as OMB has it, and publishDelayLatency the wait before; "
    "the report's response time is from the intended time and holds both. docs/omb.md has the rest."
)
_MEANING_OF_READING = "endToEndLatency is from the intended time, on one clock, and no value is left out."
_NO_TIMES = "endToEndLatency is empty: messages so short have no room for the time at which they were sent."


@dataclass(frozen=True)
class Translation:
    """A campaign, the files that it is made of, and what a user should know of the difference to OMB."""

    campaign: Campaign
    workload: ReadWorkload
    driver: ReadDriver
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Chosen:
    """What the command line says instead of the files.

    Attributes:
        level: of servers started here; 0 = what the driver's settings mean. `form`: of systems with several; "" = best.
        heap_mb, direct_memory_mb: of each of these servers' nodes, MiB; None = as of any campaign.
        in_flight: messages of each producer without an acknowledgement; 0 = as many as of any OMB file.
        worker_heap_mb: of the load generator, MiB; 0 = what each workload needs.
        workers: load generators that carry out a workload together.
        fleet: a fleet file, on whose hosts servers are started, and load generators if it has any; "" = none.
        repeat: how often each workload is run on each driver.
        thresholds: what the figures must meet, as they were written.
    """

    level: int = 0
    form: str = ""
    heap_mb: int | None = None
    direct_memory_mb: int | None = None
    in_flight: int = 0
    worker_heap_mb: int = 0
    workers: int = 1
    repeat: int = 1
    thresholds: tuple[str, ...] = ()
    fleet: str = ""


def translate_all(
    workloads: Sequence[Path], drivers: Sequence[Path], managed: bool, time_scale: float, chosen: Chosen | None = None
) -> list[Translation]:
    """Every workload on every driver, in OMB's order: workloads by name, drivers as given.

    Args:
        managed: start servers here instead of attaching to the clusters that the driver files name.
        time_scale: the files' durations are multiplied by this.
        chosen: instead of what the files say.

    Raises:
        UserError: with every problem of every file, or because a system can't give the level that is chosen.
    """
    chosen = chosen or Chosen()
    drivers_read = [read_driver(path, managed) for path in drivers]
    workloads_read = [read_workload(path) for path in sorted(workloads, key=lambda path: path.stem)]
    workload_pairs: list[tuple[ReadWorkload, Workload]] = []
    for read, _ in workloads_read:
        workload = _check_and_translate(read, managed, time_scale) if read else None
        if read and workload:
            workload_pairs.append((read, workload))
    for driver, source in drivers_read:
        for _, workload in workload_pairs:
            if driver:
                _check_subscriptions(workload, driver.terms.subscription_type, source)
    sources: list[Source] = [source for _, source in workloads_read] + [source for _, source in drivers_read]
    raise_problems(sources, "files", "docs/omb.md")
    at_level = [_at_level(driver, chosen) for driver, _ in drivers_read if driver]
    # A system that has several forms would have refused another name.
    if chosen.form and at_level and all(driver.terms.level.form != chosen.form for driver in at_level):
        titles = " and ".join(dict.fromkeys(driver.system.title for driver in at_level))
        raise UserError(
            f"--form {chosen.form}: {titles} can give level {chosen.level} in one way only, which has no name.",
            "Leave --form out.",
        )
    return [
        _make_translation(read, workload, driver, managed=managed, time_scale=time_scale, chosen=chosen)
        for read, workload in workload_pairs
        for driver in at_level
    ]


def _at_level(driver: ReadDriver, chosen: Chosen) -> ReadDriver:
    """The driver with the level that was chosen in the place of what its settings mean. Raises `UserError`."""
    if not chosen.level:
        return driver
    system, terms = driver.system, driver.terms
    nodes = max(terms.nodes, NODES_FOR_REPLICATION) if level_named(chosen.level).replication_sync else terms.nodes
    ways = [choice for choice in system.possible_levels(system.default_version, nodes) if choice.level == chosen.level]
    forms = [way.form for way in ways if way.form]
    if not ways:
        raise UserError(f"--level {chosen.level}: {system.title} can't give it on {plural(nodes, 'node')}.")
    if chosen.form and forms and chosen.form not in forms:
        raise UserError(
            f"--form {chosen.form}: {system.title} has no such form of level {chosen.level}"
            f"{did_you_mean(chosen.form, forms)}; it has {', '.join(forms)}."
        )
    choice = next((way for way in ways if way.form == chosen.form), ways[0])
    option_words = f"--level {chosen.level}{f' --form {choice.form}' if choice.form else ''}"
    level_meant = f"level {terms.level.level}, which the settings of {driver.source.path.name} mean"
    note = f"{option_words}: instead of {level_meant}; checked by reading back."
    # The level says what producers wait for, and how many copies there are.
    without_level = [
        {name: value for name, value in settings.items() if name not in terms.of_level}
        for settings in (terms.producer, terms.settings, terms.topic)
    ]
    decided = replace(
        terms,
        level=choice,
        nodes=nodes,
        copies=0,
        producer=without_level[0],
        settings=without_level[1],
        topic=without_level[2],
    )
    return replace(driver, terms=replace(decided, notes=(*terms.notes, note)))


def _with_clients(workload: Workload, terms: DriverTerms, chosen: Chosen) -> Workload:
    """The workload with what the driver file says of clients."""
    kind = terms.subscription_type if workload.subscriptions else SubscriptionType.BY_PARTITION
    client = terms.client
    if chosen.in_flight:
        client = replace(client, in_flight_messages_max=chosen.in_flight, in_flight_bytes_max=IN_FLIGHT_BYTES_MOST)
    return replace(workload, client=client, subscription_type=kind)


def _check_subscriptions(workload: Workload, kind: SubscriptionType, source: Source) -> None:
    """Notes in the driver's source what its type of subscription can't do with a workload."""
    at = ("consumer", "subscriptionType")
    if kind is SubscriptionType.KEY_SHARED and workload.keys is Keys.NONE:
        source.complain(at, "'Key_Shared' needs messages with keys: give the workload a keyDistributor")
    if kind is SubscriptionType.EXCLUSIVE and workload.consumers > 1:
        source.complain(at, "'Exclusive': a subscription has one consumer, and the workload asks for several")


def _check_and_translate(read: ReadWorkload, managed: bool, time_scale: float) -> Workload | None:
    source, fields = read.source, read.fields
    if managed and fields.existing_topics:
        key = "topicNames" if fields.topic_names else "existingTopicList"
        source.complain((key,), "servers that are started here have no topics yet: attach to a cluster that has them")
    times = {
        "warmupDurationMinutes": (fields.warmup_duration_minutes, _WARM_UP_S),
        "testDurationMinutes": (fields.test_duration_minutes, _MEASURE_S),
    }
    for key, (minutes, (_, most_s)) in times.items():
        if minutes * _MINUTE_S * time_scale > most_s:
            source.complain((key,), f"'{minutes}': must be at most {trimmed(most_s / _MINUTE_S)} (times --time-scale)")
    return translate_workload(read)


def _make_translation(
    read: ReadWorkload, workload: Workload, driver: ReadDriver, *, managed: bool, time_scale: float, chosen: Chosen
) -> Translation:
    terms = driver.terms
    if workload.existing_topics:
        # Others made them, so a level is only to be expected.
        terms = replace(terms, level=replace(terms.level, as_found=True))
        driver = replace(driver, terms=terms)
    workload = _with_clients(workload, terms, chosen)
    system = SystemChoice(
        name=driver.system.name,
        producer=terms.producer,
        consumer=terms.consumer,
        settings=terms.settings,
        topic=terms.topic,
        durability=None,
        attach=driver.attach,
        copies=terms.copies,
        locate=lambda role, name: driver.source.where((terms.blocks.get(role, ""), name)),
        file_keys={**_KEYS_OF_FILES, **terms.file_keys},
    )
    system = _with_chosen_memory(system, chosen, terms.nodes)
    experiment, experiment_notes = _choose_experiment(read, time_scale)
    fleet = read_fleet_file(Path(chosen.fleet)) if chosen.fleet else FleetFile()
    if fleet.load_hosts and chosen.workers not in (1, fleet.load_generators):
        raise UserError(
            f"--workers {chosen.workers}: the fleet's hosts have {fleet.load_generators} load generators.",
            "Leave out --workers.",
        )
    campaign = Campaign(
        # Fit for directories, too.
        name=re.sub(r"[^a-z0-9]+", "-", f"omb-{read.label}-{driver.name}".lower()).strip("-")[:63].strip("-"),
        description=f"OMB workload {read.name} on driver {driver.name}",
        systems=(system,),
        durability=terms.level,
        nodes=terms.nodes,
        workload=workload,
        experiments=(experiment,),
        repeat=chosen.repeat,
        seed=1,
        data_directory="",
        source_path=read.source.path,
        worker=WorkerChoice(
            chosen.worker_heap_mb, count=fleet.load_generators or chosen.workers, hosts=fleet.load_hosts
        ),
        fleet=chosen.fleet,
        fleet_file=fleet,
        locate=lambda key: read.source.where((_KEYS_OF_FILES.get(str(key[-1]), ""),)),
    )
    all_notes = [
        *experiment_notes,
        *workload_notes(read),
        *terms.notes,
        *([_servers_note(driver, "on the fleet's hosts" if chosen.fleet else "here")] if managed else []),
        *([] if chosen.level else [_durability_note(driver)]),
        *(_meaning_of_figures(workload) if workload.producers else []),
    ]
    with_thresholds = replace(campaign, thresholds=_parse_thresholds(chosen.thresholds, campaign))
    return Translation(with_thresholds, read, driver, tuple(all_notes))


def _meaning_of_figures(workload: Workload) -> list[str]:
    """What OMB's figures are of messages that are sent here."""
    window = plural(workload.in_flight_messages(), "message")
    return [
        f"Each producer has at most {window} in flight; OMB has no such bound.",
        _MEANING_OF_PUBLISHING,
        *([_NO_TIMES if workload.unchecked() else _MEANING_OF_READING] if workload.subscriptions else []),
    ]


def _parse_thresholds(texts: Sequence[str], campaign: Campaign) -> tuple[str, ...]:
    """The thresholds of the command line. Raises `UserError` for one that this campaign can't have."""
    names = names_for_thresholds(campaign.all_points)
    try:
        return tuple(dict.fromkeys(parse_threshold(text, names).text for text in texts))
    except ValueError as error:
        raise UserError(f"--threshold: {error}.", "Write it as in docs/reference.md, Thresholds.") from error


def _with_chosen_memory(system: SystemChoice, chosen: Chosen, nodes: int) -> SystemChoice:
    """The system with the memory that was chosen. Raises `UserError`."""
    heap_mb = system.heap_mb if chosen.heap_mb is None else chosen.heap_mb
    direct_memory_mb = system.direct_memory_mb if chosen.direct_memory_mb is None else chosen.direct_memory_mb
    sized = replace(system, heap_mb=heap_mb, direct_memory_mb=direct_memory_mb)
    try:
        return with_memory([sized], nodes)[0]
    except ValueError as error:
        raise UserError(f"{option_of('heap')}, {option_of('direct-memory')}: {error}.") from error


def _choose_experiment(read: ReadWorkload, time_scale: float) -> tuple[ExperimentChoice, list[str]]:
    """The experiment that the rate asks for, and what to note about it."""
    fields = read.fields
    rate = fields.producer_rate
    sentences = (
        [f"Durations of the files are multiplied by {trimmed(time_scale)} (--time-scale)."] if time_scale != 1 else []
    )
    minutes = {
        "warmupDurationMinutes": (read.fields.warmup_duration_minutes, _WARM_UP_S),
        "testDurationMinutes": (read.fields.test_duration_minutes, _MEASURE_S if rate else _CONFIRM_S),
    }
    lengths_s = []
    for key, (length_min, bounds) in minutes.items():
        lengths_s.append(_limit_to_bounds(length_min * _MINUTE_S * time_scale, bounds))
        if lengths_s[-1] > length_min * _MINUTE_S * time_scale:
            sentences.append(f"{key}: {length_min} becomes {trimmed(lengths_s[-1])} s, the shortest there is.")
    warmup_s, measure_s = lengths_s
    times = {
        "warm-up-min": _seconds_text(warmup_s),
        "warm-up-max": _seconds_text(warmup_s),
        "measure": _seconds_text(measure_s),
        "drain-max": _DRAIN_MAX,
    }
    if fields.only_reads:
        sentences.append(
            "consumerOnly: nobody sends. Topics are read from their beginning, as `read`, for testDurationMinutes or "
            "until nothing has come for 5 s; producers and rates have no effect, and there is no warm-up."
        )
        return _experiment_choice("read", {"measure": times["measure"]}), sentences
    if fields.sends_by_turns:
        return _scheduled_experiment(read, times, measure_s, time_scale, sentences)
    if fields.is_unlimited:
        way = (
            "no rate that anything reaches but OMB's way to say 'as fast as it goes'"
            if rate > 0
            else "the way of Pravega's fork to say 'as fast as it goes' (other versions of OMB search)"
        )
        sentences.append(
            f"producerRate: {rate} is {way}: measured as `peak`, a closed loop. Its rate may be above what is "
            "sustainable; producerRate: 0 finds that."
        )
        return _experiment_choice("peak", times), sentences
    if read.fields.consumer_backlog_size_gb:
        return _backlog_experiment(read, times["warm-up-min"], measure_s, time_scale, sentences)
    if rate:
        return _experiment_choice("latency", {**times, "rate": rate}), sentences
    sentences.append(
        "producerRate: 0 becomes `max-throughput`: a search in trials of its own, and then a confirmation of the "
        "rate found on fresh figures, which alone is in OMB's JSON. OMB searches while it measures."
    )
    search = {
        "warm-up-min": _seconds_text(min(_SEARCH_WARM_UP_S[0], warmup_s)),
        "warm-up-max": _seconds_text(min(_SEARCH_WARM_UP_S[1], warmup_s)),
        "measure": _seconds_text(_limit_to_bounds(measure_s, _SEARCH_TRIAL_S)),
        "confirm": _seconds_text(measure_s),
    }
    return _experiment_choice("max-throughput", search), sentences


def _scheduled_experiment(
    read: ReadWorkload, times: Mapping[str, str], measure_s: float, time_scale: float, sentences: Sequence[str]
) -> tuple[ExperimentChoice, list[str]]:
    """A workload whose rate changes with time, evenly from point to point, as in the forks that have such."""
    fields = read.fields
    key, points = fields.sends_by_turns, [(at_s * time_scale, rate) for at_s, rate in fields.rate_points]
    spans = _spans_of_rates(
        float(points[0][1] if fields.producer_initial_rate is None else fields.producer_initial_rate), points, measure_s
    )
    rates_noted = {
        f"{key} becomes a schedule of `latency` over testDurationMinutes, {plural(len(spans), 'part')}, which begins "
        "with what is measured; in the fork the warm-up is part of it.": True,
        f"{key}: the first of these times of the day is now.": fields.has_times_of_day,
        f"producerRate has no effect beside {key}.": bool(fields.producer_rate),
    }
    options: dict[str, object] = {name: length for name, length in times.items() if name != "measure"}
    chosen = _experiment_choice("latency", {**options, "rate": ScheduleRule(spans)})
    return chosen, [*sentences, *(sentence for sentence, is_so in rates_noted.items() if is_so)]


def _spans_of_rates(first: float, points: Sequence[tuple[float, int]], measure_s: float) -> tuple[RateSpan, ...]:
    """The parts of the measured time, each with its rates at both ends. `points`: (second, rate), in order of time."""
    # Before the first point the rate stands still, as after the last.
    begin_s, (end_s, last) = points[0][0], points[-1]
    parts = [(0.0, first, begin_s, first), *((*low, *high) for low, high in pairwise(points)), (end_s, last, inf, last)]
    spans = []
    for from_s, low, until_s, high in parts:
        length_s = min(until_s, measure_s) - from_s
        if length_s > 0:
            to_rate = low + (high - low) * length_s / (until_s - from_s)
            spans.append(RateSpan(Rate(low), Rate(to_rate), length_s))
    return tuple(spans)


def _backlog_experiment(
    read: ReadWorkload, warm_up: str, measure_s: float, time_scale: float, sentences: Sequence[str]
) -> tuple[ExperimentChoice, list[str]]:
    """A workload with a backlog. OMB counts a backlog over all subscriptions, Tidegauge for each."""
    fields = read.fields
    size_bytes = fields.consumer_backlog_size_gb * _GB * time_scale
    messages = max(1, math.ceil(size_bytes / fields.message_bytes_mean / fields.subscriptions_per_topic))
    after_s = _limit_to_bounds(measure_s / _SHARE_AFTER_DRAIN, _MEASURE_S)
    best_effort = fields.backlog_drain_ratio == 0
    times, bounds = (1.0, _BEST_EFFORT_S) if best_effort else (_DRAIN_TIMES, _DRAIN_S)
    options = {
        "rate": fields.producer_rate,
        "backlog": f"{messages} messages",
        "drained": f"{trimmed(fields.backlog_drain_ratio * 100 or 100)}%",
        "drain-max": _seconds_text(_limit_to_bounds(measure_s * times, bounds)),
        "warm-up-min": warm_up,
        "warm-up-max": warm_up,
        "measure": _seconds_text(after_s),
    }
    given_up = "backlogDrainRatio: 0 asks for no more than that time" if best_effort else "OMB waits for ever"
    scaled = " times --time-scale" if time_scale != 1 else ""
    share = f"1/{_SHARE_AFTER_DRAIN} of it ({trimmed(after_s)} s)"
    if after_s > measure_s / _SHARE_AFTER_DRAIN:
        share = f"{trimmed(after_s)} s, the shortest there is,"
    backlog_notes = [
        f"consumerBacklogSizeGB: {fields.consumer_backlog_size_gb}{scaled} becomes `catch-up`: {messages:,} messages "
        "for each subscription. Consumers subscribe at the start and read nothing until the backlog is built; OMB lets "
        "them read while it warms up. All of it is in OMB's JSON: building, draining, and what is measured after.",
        f"testDurationMinutes: with a backlog {share} is measured after the backlog, and as much before at least; OMB "
        f"goes on until all of it has passed. A backlog that is not gone {options['drain-max']} after its readers "
        f"began is given up; {given_up}.",
    ]
    return _experiment_choice("catch-up", options), [*sentences, *backlog_notes]


def _experiment_choice(name: str, options: Mapping[str, object]) -> ExperimentChoice:
    return ExperimentChoice(name, experiments()[name].options.model_validate(options, by_alias=True, by_name=False))


def _durability_note(driver: ReadDriver) -> str:
    level = driver.terms.level
    if level.is_open:
        return (
            f"Durability: OMB asks for none, and the settings of {driver.source.path.name} decide no level; what is in "
            "force is read back and reported."
        )
    expected = "are expected to mean" if level.as_found else "mean"
    checked = "what is in force is read back and reported" if level.as_found else "checked by reading back"
    return (
        f"Durability: OMB asks for none; the settings of {driver.source.path.name} {expected} level {level.level}, "
        f"{level_named(level.level).name}; {checked}."
    )


def _servers_note(driver: ReadDriver, where: str) -> str:
    return (
        f"--managed: {driver.system.title} is started {where} on {plural(driver.terms.nodes, 'node')}, and nothing is "
        "sent to the file's addresses."
    )


def _limit_to_bounds(value: float, bounds: tuple[float, float]) -> float:
    return min(bounds[1], max(bounds[0], value))


def _seconds_text(seconds: float) -> str:
    return f"{seconds:.3f}s"
