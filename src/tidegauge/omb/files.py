"""OMB's own files: drivers and workloads, read.

A file is read strictly (unknown keys, wrong types); what can't be run is refused when it is translated, by the key's
name and with the reason. Source of the meanings: OMB's framework, classes Workload and WorkloadGenerator.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field
from ruamel.yaml import YAML
from ruamel.yaml.scalarstring import LiteralScalarString

from tidegauge.campaign.read.attach import parse_attach
from tidegauge.campaign.read.auth import keep_in_memory
from tidegauge.config.fields import member_of
from tidegauge.config.source import Source, read_source, validate
from tidegauge.config.workload import COUNT_MAX, bodies_most
from tidegauge.model.workload import HEADER_BYTES, MESSAGE_BYTES_MAX, Keys, Payload, Workload
from tidegauge.places import is_file
from tidegauge.systems import registry
from tidegauge.systems.api import System
from tidegauge.systems.attach import AttachChoice, AuthChoice, SecretReference
from tidegauge.systems.omb import DriverTerms, OmbDriver, OmbFields

_CLOSE = 0.7
_NEVER_FOLDED = 1 << 16
_EXAMPLE = "docs/omb.md names some of OMB's"


@dataclass(frozen=True)
class ReadDriver:
    """A driver file that was read. `attach` is None with servers of our own. The source may hold a password."""

    source: Source = field(repr=False)
    name: str
    system: System
    terms: DriverTerms
    attach: AttachChoice | None


def read_driver(path: Path, managed: bool) -> tuple[ReadDriver | None, Source]:
    """A driver file; None if its source has problems. Raises `UserError` only if it can't be read as YAML."""
    source = read_source(path, "driver", example=_EXAMPLE)
    driver = _find_driver(source)
    if driver is None:
        return None, source
    terms = driver.read(source, managed)
    name = source.data.get("name")
    if terms is None or source.problems or not isinstance(name, str):
        return None, source
    system = registry.system_named(driver.system)
    attach = None if managed else _attach_choice(terms, source, system)
    if source.problems:
        return None, source
    return ReadDriver(source, name, system, terms, attach), source


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
    if driver_class not in drivers:
        source.complain(
            ("driverClass",),
            f"'{driver_class}'{_nearest_class(driver_class, list(drivers))}; known: {', '.join(drivers)}",
        )
        return None
    return drivers[driver_class]


def _nearest_class(class_name: str, class_names: list[str]) -> str:
    """A suggestion by the last package alone: what all drivers' names share makes each look like the others."""
    parts = class_name.lower().split(".")
    for system in registry.all_systems().values():
        if set(parts) & set(system.spoken_by):
            return (
                f" is OMB's driver for a product that speaks {system.title}'s protocol: write the class of that driver"
            )
    packages = {_last_package(name): name for name in class_names}
    close = get_close_matches(_last_package(class_name), list(packages), n=1, cutoff=_CLOSE)
    return (
        f" (did you mean '{packages[close[0]]}'?)" if close else " is OMB's driver for a system that is not known here"
    )


def _last_package(name: str) -> str:
    """The last package of a class's name; "" of a class that is in none."""
    return f".{name}".split(".")[-2]


def _attach_choice(terms: DriverTerms, source: Source, system: System) -> AttachChoice | None:
    """The cluster that the file names."""
    if system.attach_rules is None:
        source.complain(("driverClass",), f"there is no cluster of {system.title} that could be attached to")
        return None
    choice = parse_attach(dict(terms.addresses), source, (), system.attach_rules)
    if choice is None:
        return None
    auth = AuthChoice()
    if terms.token_file:
        auth = AuthChoice("token", token=SecretReference("file", terms.token_file))
    elif terms.user:
        auth = AuthChoice("password", terms.user, password=keep_in_memory(f"omb {source.path}", terms.password))
    return AttachChoice(choice.addresses, terms.tls, auth)


SUBSCRIPTIONS_MAX = 100
POOL_BODIES_MAX = 65_536
DISTINCT_KEYS = 10_000  # As many as OMB has.
UNREACHABLE_MSGS_PER_S = 10_000_000
"""From here on a rate is OMB's way to say "as fast as it goes": 61 of its own files have just this one."""

BACKLOG_DRAIN_RATIO_MIN = 0.01
BACKLOG_GB_MAX = 1_000_000
"""A petabyte: no disk of a node holds more, and the messages of much more are too many to be counted."""

_OF_READERS = ("subscriptionsPerTopic", "consumerPerSubscription")
Number = Annotated[int, Field(ge=0)]


class KeyDistributor(StrEnum):
    """OMB's names for how message keys are chosen."""

    NO_KEY = "NO_KEY"
    KEY_ROUND_ROBIN = "KEY_ROUND_ROBIN"
    RANDOM_NANO = "RANDOM_NANO"


_KEYS = {
    KeyDistributor.NO_KEY: Keys.NONE,
    KeyDistributor.KEY_ROUND_ROBIN: Keys.ROUND_ROBIN,
    KeyDistributor.RANDOM_NANO: Keys.RANDOM,
}


class WorkloadFile(OmbFields):
    """The keys of a workload file, with OMB's own defaults. Producers are for each topic, as OMB has it."""

    name: str = ""
    topics: Number = 0
    partitions_per_topic: Number = 0
    key_distributor: Annotated[KeyDistributor, member_of(KeyDistributor)] = KeyDistributor.NO_KEY
    message_size: Number = 0
    use_randomized_payloads: bool = False
    random_bytes_ratio: Annotated[float, Field(ge=0, le=1)] = 0.0
    randomized_payload_pool_size: Number = 0
    payload_file: str | None = None
    subscriptions_per_topic: Number = 0
    producers_per_topic: Number = 0
    consumer_per_subscription: Number = 0
    producer_rate: Number = 0
    consumer_backlog_size_gb: Number = Field(default=0, alias="consumerBacklogSizeGB")
    backlog_drain_ratio: Annotated[float, Field(ge=0, le=1)] = 1.0
    test_duration_minutes: Number = 0
    warmup_duration_minutes: Number = 1

    @property
    def nobody_reads(self) -> bool:
        """Whether there is no consumer."""
        return not self.subscriptions_per_topic or not self.consumer_per_subscription


@dataclass(frozen=True)
class ReadWorkload:
    """A workload file that was read. `label` is what results are named after: the file's name without its ending."""

    source: Source
    fields: WorkloadFile
    label: str

    @property
    def name(self) -> str:
        """What OMB's results call it."""
        return self.fields.name or self.label


def read_workload(path: Path) -> tuple[ReadWorkload | None, Source]:
    """A workload file; None if its source has problems. Raises `UserError` only if it can't be read as YAML."""
    source = read_source(path, "workload", example=_EXAMPLE)
    fields = validate(WorkloadFile, source.data, source, ())
    return (ReadWorkload(source, fields, path.stem) if fields and not source.problems else None), source


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
        "consumerPerSubscription": (fields.consumer_per_subscription, COUNT_MAX),
    }
    for key, (value, most) in limits.items():
        if value < 1 and not (fields.nobody_reads and key in _OF_READERS):
            source.complain((key,), f"'{value}': must be at least 1: OMB's topics are new, so without it nothing moves")
        elif value > most:
            source.complain((key,), f"'{value}': must be at most {most:,}")
    _check_times(fields, source)
    payload = _read_payload(fields, source)
    if payload is None or len(source.problems) > problems_before:
        return None
    return Workload(
        topics=fields.topics,
        partitions=fields.partitions_per_topic,
        producers=fields.producers_per_topic,
        subscriptions=fields.subscriptions_per_topic if fields.consumer_per_subscription else 0,
        consumers=max(1, fields.consumer_per_subscription),
        payload=payload,
        keys=_KEYS[fields.key_distributor],
        distinct_keys=DISTINCT_KEYS,
    )


def workload_notes(read: ReadWorkload) -> list[str]:
    """What of a workload has no effect, or another one than in OMB: a sentence each."""
    fields, data = read.fields, read.source.data
    sentences = []
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


def _check_times(fields: WorkloadFile, source: Source) -> None:
    if fields.test_duration_minutes < 1:
        source.complain(("testDurationMinutes",), "'0': OMB then never ends; give the minutes to measure")
    if not fields.consumer_backlog_size_gb:
        return
    rate = fields.producer_rate
    if fields.nobody_reads:
        source.complain(
            ("consumerBacklogSizeGB",), f"'{fields.consumer_backlog_size_gb}': nobody reads: whose backlog is it?"
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
            f"'{fields.backlog_drain_ratio:g}': must be 0 (what is drained in time is drained) or at least "
            f"{BACKLOG_DRAIN_RATIO_MIN:g}: between them the backlog counts as gone before anything is read",
        )


def _read_payload(fields: WorkloadFile, source: Source) -> Payload | None:
    size = fields.message_size
    if not HEADER_BYTES <= size <= MESSAGE_BYTES_MAX:
        source.complain(
            ("messageSize",),
            f"'{size}': must be from {HEADER_BYTES} (a message carries what it is checked by) to {MESSAGE_BYTES_MAX}",
        )
        return None
    if fields.use_randomized_payloads:
        bodies = fields.randomized_payload_pool_size
        if not 1 <= bodies <= POOL_BODIES_MAX:
            source.complain(("randomizedPayloadPoolSize",), f"'{bodies}': must be from 1 to {POOL_BODIES_MAX}")
            return None
        return Payload(size, fields.random_bytes_ratio, "", min(bodies, bodies_most(size)))
    path = _payload_file(fields, source)
    return Payload(size, 1.0, str(path)) if path else None


def _payload_file(fields: WorkloadFile, source: Source) -> Path | None:
    """The file with the one body of all messages; None after a complaint."""
    if not fields.payload_file:
        source.complain(("payloadFile",), "must name a file, unless useRandomizedPayloads is true")
        return None
    # OMB looks from where it is started, which is the directory above its workloads.
    places = (Path.cwd(), source.path.parent, source.path.parent.parent)
    files = (place / fields.payload_file for place in places)
    path = next((file.resolve() for file in files if is_file(file)), None)
    if path is None:
        source.complain(
            ("payloadFile",),
            f"'{fields.payload_file}': there is no such file beside the workload, in the directory above it, or here",
        )
    elif path.stat().st_size != fields.message_size:
        source.complain(
            ("payloadFile",), f"{path} has {path.stat().st_size} bytes, but messageSize is {fields.message_size}"
        )
        return None
    return path
