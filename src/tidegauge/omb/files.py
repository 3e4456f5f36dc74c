"""OMB's own files: drivers and workloads, read.

A file is read strictly (unknown keys, wrong types); what can't be run is refused when it is translated, by the key's
name and with the reason. Source of the meanings: OMB's framework, classes Workload and WorkloadGenerator.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field
from ruamel.yaml import YAML
from ruamel.yaml.scalarstring import LiteralScalarString

from tidegauge.campaign.read.attach import parse_attach
from tidegauge.campaign.read.auth import keep_in_memory
from tidegauge.config.fields import member_of
from tidegauge.config.source import Source, read_source, validate
from tidegauge.config.workload import COUNT_MAX, TopicName, bodies_most, mixed_sizes, size_for_checks
from tidegauge.model.level import AS_FOUND
from tidegauge.model.message_sizes import MESSAGE_BYTES_MAX
from tidegauge.model.workload import RECORDS_MAX, Keys, Payload, Workload
from tidegauge.numbers import trimmed
from tidegauge.places import is_file
from tidegauge.systems import registry
from tidegauge.systems.api import System
from tidegauge.systems.attach import AttachChoice, AuthChoice, SecretReference
from tidegauge.systems.omb import NAMES_OF_TOPICS, DriverTerms, KeysOfForks, OmbDriver, OmbFields

_CLOSE = 0.7
_NEVER_FOLDED = 1 << 16
_EXAMPLE = "docs/omb.md names some of OMB's"


@dataclass(frozen=True)
class ReadDriver:
    """A driver file that was read. `attach` is None with servers of our own. The source may hold a password.

    `product`: of others, which speaks the system's protocol; "" = the system's own.
    """

    source: Source = field(repr=False)
    name: str
    system: System
    terms: DriverTerms
    attach: AttachChoice | None
    product: str = ""


def read_driver(path: Path, managed: bool) -> tuple[ReadDriver | None, Source]:
    """A driver file; None if its source has problems. Raises `UserError` only if it can't be read as YAML."""
    source = read_source(path, "driver", example=_EXAMPLE)
    driver = _find_driver(source)
    if driver is None:
        return None, source
    system = registry.system_named(driver.system)
    product = driver.products.get(_package_of(source.data["driverClass"]), "")
    if product and managed:
        source.complain(
            ("driverClass",),
            f"the servers that are started here are {system.title}'s, not {product}'s: attach to a cluster of it, "
            f"without --managed; or write {driver.driver_class} to measure {system.title}",
        )
    terms = driver.read(source, managed)
    name = source.data.get("name")
    if terms is None or source.problems or not isinstance(name, str):
        return None, source
    attach = None if managed else _attach_choice(terms, source, system)
    if source.problems:
        return None, source
    return ReadDriver(source, name, system, _terms_of_product(terms, product, system), attach, product), source


def _terms_of_product(terms: DriverTerms, product: str, system: System) -> DriverTerms:
    """The terms of a driver file, of which a product of others expects no level."""
    if not product:
        return replace(terms, notes=(*terms.notes, *terms.level_notes))
    note = (
        f"driverClass: {product} speaks {system.title}'s protocol, and is measured over it; what {system.title}'s "
        "settings mean for a level is not expected of it."
    )
    return replace(terms, level=AS_FOUND, notes=(note, *terms.notes))


def kept_driver(driver: ReadDriver) -> str:
    """The driver file as a run keeps it: what was understood of it, written anew.

    Nothing is taken from the file's text: comments, and whatever else may hide a secret, end here.
    """
    return _yaml_text({"name": driver.name, "driverClass": driver.source.data["driverClass"]} | dict(driver.terms.kept))


def kept_workload(workload: ReadWorkload) -> str:
    """The workload file as a run keeps it: what was understood of it, written anew."""
    return _yaml_text(workload.source.data)


def _yaml_text(data: Mapping[str, Any]) -> str:
    yaml, text = YAML(), io.StringIO()
    yaml.width = _NEVER_FOLDED
    in_lines = {
        key: LiteralScalarString(value) if isinstance(value, str) and value.endswith("\n") else value
        for key, value in data.items()
    }
    yaml.dump(in_lines, text)
    return text.getvalue()


def _find_driver(source: Source) -> OmbDriver | None:
    drivers = registry.omb_drivers()
    driver_class: Any = source.data.get("driverClass")
    if not isinstance(driver_class, str):
        source.complain(
            (), "the key 'driverClass' is missing, so this is no driver file of the OpenMessaging Benchmark"
        )
        return None
    package = _package_of(driver_class)
    driver = drivers.get(driver_class) or next((one for one in drivers.values() if package in one.products), None)
    if driver is None:
        refusal = next((one.refused[package] for one in drivers.values() if package in one.refused), "")
        source.complain(
            ("driverClass",),
            f"'{driver_class}' {refusal}"
            if refusal
            else f"'{driver_class}'{_nearest_class(driver_class, list(drivers))}; known: {', '.join(drivers)}",
        )
    return driver


def _nearest_class(class_name: str, class_names: list[str]) -> str:
    """A suggestion by the last package alone: what all drivers' names share makes each look like the others."""
    parts = class_name.lower().split(".")
    for system in registry.all_systems().values():
        if set(parts) & set(system.spoken_by):
            return (
                f" is OMB's driver for a product that speaks {system.title}'s protocol: write the class of that driver"
            )
    packages = {_package_of(name).rpartition(".")[2]: name for name in class_names}
    close = get_close_matches(_package_of(class_name).rpartition(".")[2], list(packages), n=1, cutoff=_CLOSE)
    return (
        f" (did you mean '{packages[close[0]]}'?)" if close else " is OMB's driver for a system that is not known here"
    )


def _package_of(class_name: str) -> str:
    """The package of a class; "" of a class that is in none."""
    return class_name.rpartition(".")[0]


def _attach_choice(terms: DriverTerms, source: Source, system: System) -> AttachChoice | None:
    """The cluster that the file names."""
    if system.attach_rules is None:
        source.complain(("driverClass",), f"there is no cluster of {system.title} that could be attached to")
        return None
    others = {"auth": dict(terms.auth) or None, "topic-prefix": terms.topic_prefix or None}
    given = {key: value for key, value in others.items() if value}
    choice = parse_attach({**terms.addresses, **given}, source, (), system.attach_rules)
    if choice is None:
        return None
    auth = choice.auth
    if terms.token_file:
        auth = AuthChoice("token", token=SecretReference("file", terms.token_file))
    elif terms.user and not terms.auth:
        auth = AuthChoice("password", terms.user, password=keep_in_memory(f"omb {source.path}", terms.password))
    return AttachChoice(choice.addresses, terms.tls, auth, choice.topic_prefix)


SUBSCRIPTIONS_MAX = 100
POOL_BODIES_MAX = 65_536
DISTINCT_KEYS = 10_000  # As many as OMB has.
UNREACHABLE_MSGS_PER_S = 10_000_000
"""From here on a rate is OMB's way to say "as fast as it goes": 61 of its own files have just this one."""

BACKLOG_DRAIN_RATIO_MIN = 0.01
BACKLOG_GB_MAX = 1_000_000
"""A petabyte: no disk of a node holds more, and the messages of much more are too many to be counted."""

OMB_PERIOD_MS = 10_000
"""Of OMB's JSON, where a workload says nothing."""

_OF_READERS = ("subscriptionsPerTopic", "consumerPerSubscription")
_OF_CLOCK = 3
"""How long an entry of `producerRateList` is that begins with a time of the day."""
_OF_TOPICS = ("topics", "partitionsPerTopic")
_OF_NAMES = ("topicNames", "existingTopicList")
Number = Annotated[int, Field(ge=0)]


class KeyDistributor(StrEnum):
    """OMB's names for how message keys are chosen, and those of its forks."""

    NO_KEY = "NO_KEY"
    KEY_ROUND_ROBIN = "KEY_ROUND_ROBIN"
    RANDOM_NANO = "RANDOM_NANO"
    ROUND_ROBIN = "ROUND_ROBIN"
    FIXED_KEY = "FIXED_KEY"


_KEYS = {
    KeyDistributor.NO_KEY: Keys.NONE,
    KeyDistributor.KEY_ROUND_ROBIN: Keys.ROUND_ROBIN,
    KeyDistributor.RANDOM_NANO: Keys.RANDOM,
    KeyDistributor.ROUND_ROBIN: Keys.ROUND_ROBIN,
    KeyDistributor.FIXED_KEY: Keys.ROUND_ROBIN,
}

_UNLIMITED = -1
"""Of a rate, in Pravega's fork: as fast as it goes."""
OF_FORKS = KeysOfForks(
    noted={
        "producerRateTimelineIntervalSeconds": "the rate changes evenly, not in steps",
        "randomTopicNames": NAMES_OF_TOPICS,
        "warmupProducerRate": "the warm-up has the rate that is measured first",
        "warmupProducerRateSeparationMinutes": "what is measured follows the warm-up at once",
    },
    refused={
        "backlogProducerRate": "a backlog is built and read away at one rate here, producerRate: leave it out",
        "existingConsumeTopicList": "topics that are only read are not beside those that are written: write "
        "existingTopicList, or two workloads",
        "existingProduceTopicList": "topics that are only written are not beside those that are read: write "
        "existingTopicList, or two workloads",
        "nameFormat": "this is a template of OMB's generator of workloads: give the files that it makes",
        "partitionsPerTopicList": "topics of a workload have as many partitions each: write partitionsPerTopic, one "
        "workload for each number",
        "producersPerTopicList": "topics of a workload have as many producers each: write producersPerTopic, one "
        "workload for each number",
        "schemaFile": "no schema registry is asked for a message: leave it out, and payloadFile is sent as it is",
        **dict.fromkeys(
            ("fanout", "fractionTopicsChange", "indexConfig", "numClients", "topicChangeIntervalSeconds"),
            "topics that come and go are not made here: leave it out, or use the fork of OMB that has it",
        ),
    },
)
"""Of workload files."""


def _check_range(text: str) -> str:
    low, _, high = text.partition("-")
    if not re.fullmatch(r"\d{1,9}-\d{1,9}", text) or int(low) > int(high):
        raise ValueError("must be a range of bytes such as 0-256")
    return text


_Range = Annotated[str, AfterValidator(_check_range)]


class RatePoint(OmbFields):
    """A rate that is to be reached at a time, in a timeline."""

    time_seconds: Annotated[int, Field(ge=0)]
    rate: Annotated[int, Field(ge=0)]


def _split_names(value: object) -> object:
    """The names in a text with commas or semicolons, as one fork has it; a list is left as it is."""
    return [name.strip() for name in re.split("[,;]", value) if name.strip()] if isinstance(value, str) else value


class WorkloadFile(OmbFields):
    """The keys of a workload file, with OMB's own defaults. Producers are for each topic, as OMB has it."""

    name: str = ""
    topics: Number = 0
    partitions_per_topic: Number = 0
    key_distributor: Annotated[KeyDistributor, member_of(KeyDistributor)] = KeyDistributor.NO_KEY
    message_size: Number = 0
    message_size_distribution: dict[_Range, Number] = Field(default_factory=dict)
    use_randomized_payloads: bool = False
    random_bytes_ratio: Annotated[float, Field(ge=0, le=1)] = 0.0
    randomized_payload_pool_size: Number = 0
    payload_file: str | None = None
    subscriptions_per_topic: Number = 0
    producers_per_topic: Number = 0
    consumer_per_subscription: Number | None = None
    producer_rate: Annotated[int, Field(ge=_UNLIMITED)] = 0
    producer_rate_list: list[list[int]] = Field(default_factory=list)
    producer_rate_timeline: list[RatePoint] = Field(default_factory=list)
    producer_initial_rate: Number | None = None
    consumer_backlog_size_gb: Number = Field(default=0, alias="consumerBacklogSizeGB")
    backlog_drain_ratio: Annotated[float, Field(ge=0, le=1)] = 1.0
    test_duration_minutes: Number = 0
    warmup_duration_minutes: Number = 1
    log_interval_millis: Annotated[int, Field(ge=1)] | None = None
    sample_rate_millis: Annotated[int, Field(ge=1)] | None = None
    topic_names: Annotated[list[TopicName], BeforeValidator(_split_names)] = Field(default_factory=list)
    existing_topic_list: list[TopicName] = Field(default_factory=list)
    consumer_only: bool = False

    @property
    def existing_topics(self) -> list[str]:
        """Names of topics that are there already."""
        return list(dict.fromkeys([*self.topic_names, *self.existing_topic_list]))

    @property
    def only_reads(self) -> bool:
        """Whether nobody sends, and topics are read that are there already."""
        return self.consumer_only and bool(self.existing_topics) and not self.consumer_backlog_size_gb

    @property
    def sends_by_turns(self) -> str:
        """The key with rates that change with time; "" if there is one rate."""
        keys = {"producerRateTimeline": self.producer_rate_timeline, "producerRateList": self.producer_rate_list}
        return next((key for key, points in keys.items() if points), "")

    @property
    def has_times_of_day(self) -> bool:
        """Whether rates change at hours and minutes of the day."""
        return any(len(point) == _OF_CLOCK for point in self.producer_rate_list)

    @property
    def rate_points(self) -> list[tuple[int, int]]:
        """Rates that change with time, each with its second from the beginning, in order of time."""
        if self.producer_rate_timeline:
            return sorted((point.time_seconds, point.rate) for point in self.producer_rate_timeline)
        # [minutes, rate] or [hour, minute, rate].
        points = sorted((60 * (60 * sum(point[:-2]) + point[-2]), point[-1]) for point in self.producer_rate_list)
        first_s = points[0][0] if self.has_times_of_day else 0
        return [(at_s - first_s, rate) for at_s, rate in points]

    @property
    def period_s(self) -> int:
        """The length of the periods in OMB's JSON: whole seconds, as they are kept here."""
        return max(1, round((self.log_interval_millis or self.sample_rate_millis or OMB_PERIOD_MS) / 1000))

    @property
    def is_unlimited(self) -> bool:
        """Whether the rate is a way to say "as fast as it goes"."""
        return self.producer_rate == _UNLIMITED or self.producer_rate >= UNREACHABLE_MSGS_PER_S

    @property
    def consumers(self) -> int:
        """Of each subscription: one where the file says nothing, as in OMB before it had the key."""
        return 1 if self.consumer_per_subscription is None else self.consumer_per_subscription

    @property
    def weight_by_size(self) -> dict[int, int]:
        """The weight of each size in bytes that messageSizeDistribution asks for: the middles of its ranges."""
        weights: dict[int, int] = {}
        for name, weight in self.message_size_distribution.items():
            low, _, high = name.partition("-")
            middle_bytes = (int(low) + int(high)) // 2
            weights[middle_bytes] = weights.get(middle_bytes, 0) + weight
        return {middle_bytes: weight for middle_bytes, weight in weights.items() if weight}

    @property
    def message_bytes_mean(self) -> float:
        """Of a message."""
        weights = self.weight_by_size
        if not weights:
            return self.message_size
        return sum(size_bytes * weight for size_bytes, weight in weights.items()) / sum(weights.values())

    @property
    def nobody_reads(self) -> bool:
        """Whether there is no consumer."""
        return not self.subscriptions_per_topic or not self.consumers


@dataclass(frozen=True)
class ReadWorkload:
    """A workload file that was read. `label` is what results are named after: the file's name without its ending.

    `notes`: on keys of forks that have no effect here.
    """

    source: Source
    fields: WorkloadFile
    label: str
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What OMB's results call it."""
        return self.fields.name or self.label


def read_workload(path: Path) -> tuple[ReadWorkload | None, Source]:
    """A workload file; None if its source has problems. Raises `UserError` only if it can't be read as YAML."""
    source = read_source(path, "workload", example=_EXAMPLE)
    data, notes = OF_FORKS.take_from(source)
    fields = validate(WorkloadFile, data, source, ())
    return (ReadWorkload(source, fields, path.stem, tuple(notes)) if fields and not source.problems else None), source


def translate_workload(read: ReadWorkload) -> Workload | None:
    """The workload, without any driver's client settings yet.

    None after noting in the source each key that can't be carried out, with the reason.
    """
    fields, source = read.fields, read.source
    problems_before = len(source.problems)
    limits = {
        "topics": (fields.topics, COUNT_MAX),
        "partitionsPerTopic": (fields.partitions_per_topic, COUNT_MAX),
        "subscriptionsPerTopic": (fields.subscriptions_per_topic, SUBSCRIPTIONS_MAX),
        "producersPerTopic": (fields.producers_per_topic, COUNT_MAX),
        "consumerPerSubscription": (fields.consumers, COUNT_MAX),
    }
    names = fields.existing_topics
    for key, (value, most) in limits.items():
        if (names and key in _OF_TOPICS) or (fields.only_reads and key == "producersPerTopic"):
            continue
        if value < 1 and not (fields.nobody_reads and key in _OF_READERS):
            source.complain((key,), f"'{value}': must be at least 1: OMB's topics are new, so without it nothing moves")
        elif value > most:
            source.complain((key,), f"'{value}': must be at most {most:,}")
    _check_times(fields, source)
    payload = _read_payload(fields, source)
    if payload is None or len(source.problems) > problems_before:
        return None
    return Workload(
        topics=len(names) or fields.topics,
        partitions=1 if names else fields.partitions_per_topic,
        producers=0 if fields.only_reads else fields.producers_per_topic,
        subscriptions=fields.subscriptions_per_topic if fields.consumers else 0,
        consumers=max(1, fields.consumers),
        payload=payload,
        keys=_KEYS[fields.key_distributor],
        distinct_keys=1 if fields.key_distributor is KeyDistributor.FIXED_KEY else DISTINCT_KEYS,
        existing_topics=tuple(names),
    )


def workload_notes(read: ReadWorkload) -> list[str]:
    """What of a workload has no effect, or another one than in OMB: a sentence each."""
    fields, data = read.fields, read.source.data
    sentences = [*read.notes, *_notes_on_sizes(read)]
    if fields.existing_topics:
        sentences.append(
            f"{' and '.join(key for key in _OF_NAMES if key in data)}: topics of the cluster are used as they are, and "
            f"must be there; {', '.join(_OF_TOPICS)} have no effect, and nothing is deleted."
        )
    if fields.consumer_per_subscription is None and not fields.nobody_reads:
        sentences.append(
            "consumerPerSubscription is left out: one consumer for each subscription, as OMB had before that key. "
            "Today's waits for ever then."
        )
    if fields.producer_initial_rate is not None and not fields.producer_rate_timeline:
        sentences.append("producerInitialRate has no effect here: a search begins where it likes.")
    if fields.key_distributor is KeyDistributor.ROUND_ROBIN:
        sentences.append("keyDistributor: ROUND_ROBIN is what OMB called KEY_ROUND_ROBIN once.")
    if not fields.use_randomized_payloads and not fields.payload_file and not fields.only_reads:
        sentences.append(
            "Neither payloadFile nor useRandomizedPayloads: messages are made of zeros, as OMB sent until 2018; they "
            "compress to almost nothing. OMB fails without them today."
        )
    millis = fields.log_interval_millis or fields.sample_rate_millis or OMB_PERIOD_MS
    if fields.period_s * 1000 != millis:
        key = "logIntervalMillis" if fields.log_interval_millis else "sampleRateMillis"
        sentences.append(f"{key}: {millis} becomes {fields.period_s * 1000}: periods have whole seconds here.")
    if fields.nobody_reads:
        sentences.append("Nobody reads: nothing is known of loss, damage or order, and endToEndLatency is empty.")
    if fields.use_randomized_payloads and fields.payload_file:
        sentences.append("payloadFile has no effect beside useRandomizedPayloads, in OMB neither.")
    idle = [key for key in ("randomBytesRatio", "randomizedPayloadPoolSize") if key in data]
    if idle and not fields.use_randomized_payloads:
        sentences.append(f"{', '.join(idle)}: no effect without useRandomizedPayloads, in OMB neither.")
    most = bodies_most(fields.message_size)
    if fields.use_randomized_payloads and fields.randomized_payload_pool_size > most:
        sentences.append(
            f"randomizedPayloadPoolSize: {fields.randomized_payload_pool_size:,} becomes {most:,}: of messages of this "
            "size no more bodies are kept."
        )
    if "backlogDrainRatio" in data and not fields.consumer_backlog_size_gb:
        sentences.append("backlogDrainRatio has no effect without consumerBacklogSizeGB, in OMB neither.")
    return sentences


def _notes_on_sizes(read: ReadWorkload) -> list[str]:
    if not read.fields.message_size_distribution:
        return []
    idle = ["messageSize has no effect beside messageSizeDistribution."] if "messageSize" in read.source.data else []
    return ["messageSizeDistribution: the messages of a range have the size in its middle.", *idle]


def _check_times(fields: WorkloadFile, source: Source) -> None:
    if fields.test_duration_minutes < 1:
        source.complain(("testDurationMinutes",), "'0': OMB then never ends; give the minutes to measure")
    _check_rates(fields, source)
    if fields.consumer_only and not fields.only_reads:
        source.complain(
            ("consumerOnly",),
            "producers go on while a backlog is read: write false for that; or name topics that hold one in topicNames "
            "and leave out consumerBacklogSizeGB, to read alone",
        )
    if not fields.consumer_backlog_size_gb:
        return
    rate = fields.producer_rate
    if fields.nobody_reads:
        source.complain(
            ("consumerBacklogSizeGB",), f"'{fields.consumer_backlog_size_gb}': nobody reads: whose backlog is it?"
        )
    if fields.existing_topics:
        source.complain(
            ("consumerBacklogSizeGB",),
            f"'{fields.consumer_backlog_size_gb}': a backlog is built in new topics; leave it out, and with "
            "consumerOnly: true what waits in these topics is read",
        )
    if fields.consumer_backlog_size_gb > BACKLOG_GB_MAX:
        source.complain(
            ("consumerBacklogSizeGB",), f"'{fields.consumer_backlog_size_gb}': must be at most {BACKLOG_GB_MAX:,}"
        )
    if not 0 < rate < UNREACHABLE_MSGS_PER_S:
        source.complain(
            ("producerRate",),
            f"'{rate}': a backlog (consumerBacklogSizeGB) is built and read away at one rate here; give it in messages "
            "a second",
        )
    if 0 < fields.backlog_drain_ratio < BACKLOG_DRAIN_RATIO_MIN:
        source.complain(
            ("backlogDrainRatio",),
            f"'{trimmed(fields.backlog_drain_ratio)}': must be 0 (what is drained in time is drained) or at least "
            f"{trimmed(BACKLOG_DRAIN_RATIO_MIN)}: between them the backlog counts as gone before anything is read",
        )


def _check_rates(fields: WorkloadFile, source: Source) -> None:
    """Notes in the source what is wrong with rates that change with time."""
    key = fields.sends_by_turns
    if fields.producer_rate_timeline and fields.producer_initial_rate is None:
        source.complain(("producerRateTimeline",), "needs producerInitialRate, the rate before its first time")
    for number, point in enumerate(fields.producer_rate_list):
        is_time = len(point) == _OF_CLOCK and 0 <= point[0] < 24 and 0 <= point[1] < 60
        if not (len(point) == 2 or is_time) or min(point) < 0 or len(point) != len(fields.producer_rate_list[0]):
            at = ("producerRateList", number)
            source.complain(at, "must be [HOUR, MINUTE, RATE], or [MINUTES, RATE] in every entry")
    if len(fields.producer_rate_timeline) + len(fields.producer_rate_list) > RECORDS_MAX - 2:
        source.complain((key,), f"has more than {RECORDS_MAX - 2} entries")
    rates = [point.rate for point in fields.producer_rate_timeline] + [
        point[-1] for point in fields.producer_rate_list if point
    ]
    if key and not any((fields.producer_initial_rate, *rates)):
        source.complain((key,), "sends nothing: every rate is 0")
    if key and fields.consumer_backlog_size_gb:
        source.complain((key,), "a backlog (consumerBacklogSizeGB) is built and read away at one rate here")


def _read_payload(fields: WorkloadFile, source: Source) -> Payload | None:
    if fields.message_size_distribution:
        return _read_mixed_payload(fields, source)
    size = fields.message_size
    must_be = "" if 1 <= size <= MESSAGE_BYTES_MAX else f"from 1 to {MESSAGE_BYTES_MAX}"
    if not must_be and not fields.only_reads:
        must_be = size_for_checks(size, fields.existing_topics, fields.producers_per_topic, fields.consumers)
    if must_be:
        source.complain(("messageSize",), f"'{size}': must be {must_be}")
        return None
    if fields.use_randomized_payloads:
        bodies = fields.randomized_payload_pool_size
        if not 1 <= bodies <= POOL_BODIES_MAX:
            source.complain(("randomizedPayloadPoolSize",), f"'{bodies}': must be from 1 to {POOL_BODIES_MAX}")
            return None
        return Payload(size, fields.random_bytes_ratio, "", min(bodies, bodies_most(size)))
    if not fields.payload_file:
        return Payload(size, 0.0)
    path = _payload_file(fields.payload_file, size, source)
    return Payload(size, 1.0, str(path)) if path else None


def _read_mixed_payload(fields: WorkloadFile, source: Source) -> Payload | None:
    """Messages of the sizes in the middle of ranges that have weights; None after a complaint."""
    key = "messageSizeDistribution"
    if fields.payload_file and not fields.use_randomized_payloads:
        source.complain(("payloadFile",), f"is one body, and {key} asks for several sizes: leave one of them out")
        return None
    weights = fields.weight_by_size
    if not weights:
        source.complain((key,), "all weights are 0")
        return None
    try:
        sizes = mixed_sizes({size_bytes: weight / sum(weights.values()) for size_bytes, weight in weights.items()})
    except ValueError as error:
        source.complain((key,), str(error))
        return None
    random_share = fields.random_bytes_ratio if fields.use_randomized_payloads else 0.0
    return Payload(round(sizes.mean_bytes), random_share, sizes=sizes)


def _payload_file(name: str, message_bytes: int, source: Source) -> Path | None:
    """The file with the one body of all messages; None after a complaint."""
    # OMB looks from where it is started, which is a directory above its workloads, however deep these are.
    places = (Path.cwd(), *source.path.absolute().parents)
    path = next((file.resolve() for file in (place / name for place in places) if is_file(file)), None)
    if path is None:
        source.complain(
            ("payloadFile",),
            f"'{name}': there is no such file beside the workload, in the directories above it, or here",
        )
    elif path.stat().st_size != message_bytes:
        source.complain(("payloadFile",), f"{path} has {path.stat().st_size} bytes, but messageSize is {message_bytes}")
        return None
    return path
