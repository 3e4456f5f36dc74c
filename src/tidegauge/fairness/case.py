"""What a system says of its part in a comparison: facts to compare, hazards, and who measured amounts. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from tidegauge.model.level import LevelChoice
from tidegauge.model.server import Setting
from tidegauge.model.tilt import Severity
from tidegauge.model.workload import IN_FLIGHT_BYTES_MAX, Workload

CONFLUENT_2020 = "Confluent 2020, Benchmarking Apache Kafka, Apache Pulsar, and RabbitMQ"
STREAMNATIVE_2020 = "StreamNative 2020, Benchmarking Pulsar and Kafka, full report"
OWN = "measured while Tidegauge was built, see docs/decisions/0006"
BY_DEFINITION = "follows from what the setting means"
NO_FIGURE = "no figure is known"


class Property(StrEnum):
    """What must be the same for every system. The values are the names of the rules."""

    LEVEL = "level"
    SERVERS = "servers"
    NODES = "nodes"
    SERVING_NODES = "serving-nodes"
    PARTITIONS = "partitions"
    HEAP = "heap"
    DIRECT_MEMORY = "direct-memory"
    BATCH_SIZE = "batch-size"
    BATCH_DELAY = "batch-delay"
    COMPRESSION = "compression"
    IN_FLIGHT = "in-flight"
    RECEIVE_QUEUE = "receive-queue"
    CONNECTIONS = "connections"
    CLIENT_HOST = "client-host"
    CLIENT_RUNTIME = "client-runtime"
    SERVER_RUNTIME = "server-runtime"
    PAGE_CACHE = "page-cache"


@dataclass(frozen=True)
class Fact:
    """One property of one system.

    Attributes:
        value: in the property's unit; None if the system has no such thing.
        words: in the system's own words: "linger.ms=10".
        chosen: whether the campaign's own setting for this one system made it so.
    """

    value: float | str | None
    words: str
    chosen: bool = False


@dataclass(frozen=True)
class Hazard:
    """A setting that tilts a comparison whatever the others do, as published mistakes did. Fields as of `Tilt`."""

    rule: str
    what: str
    why: str
    amount: str
    source: str
    remedy: str
    severity: Severity = Severity.UNEQUAL


@dataclass(frozen=True)
class ClientFacts:
    """Facts of a system's clients, and names of settings, of clients or servers, that facts and hazards judge."""

    facts: Mapping[Property, Fact]
    judged: frozenset[str]


@dataclass(frozen=True)
class Case:
    """One system of a comparison.

    Attributes:
        settings, producer, consumer: what the campaign sets for this system alone, in its own words.
        in_force: settings of servers and clients as read back; None before the run.
    """

    version: str
    nodes: int
    choice: LevelChoice
    workload: Workload = field(default_factory=Workload)
    settings: Mapping[str, str] = field(default_factory=dict)
    producer: Mapping[str, str] = field(default_factory=dict)
    consumer: Mapping[str, str] = field(default_factory=dict)
    shape: Mapping[str, str] = field(default_factory=dict)
    in_force: tuple[Setting, ...] | None = None

    def chosen(self, kind: str) -> Mapping[str, str]:
        """The campaign's own settings of "producer", "consumer" or (any other word) the servers."""
        return {"producer": self.producer, "consumer": self.consumer}.get(kind, self.settings)

    def client(self, kind: str, name: str) -> str | None:
        """A client's setting as read back, or before the run as the campaign sets it; None if neither says."""
        if self.in_force is None:
            return self.chosen(kind).get(name)
        return next(
            (setting.value for setting in self.in_force if setting.scope == kind and setting.name == name), None
        )

    def server(self, scope: str, *names: str) -> tuple[tuple[str, str], ...]:
        """Distinct (name, value) of server settings: read back from scopes that begin with `scope`, or as chosen."""
        if self.in_force is None:
            return tuple((name, self.settings[name]) for name in names if name in self.settings)
        return tuple(
            dict.fromkeys(
                (setting.name, setting.value)
                for setting in self.in_force
                if setting.name in names and setting.scope.startswith(scope)
            )
        )

    def scopes(self, beginning: str) -> int:
        """How many scopes with this beginning were read back."""
        return len({setting.scope for setting in self.in_force or () if setting.scope.startswith(beginning)})

    def number_fact(self, kind: str, name: str, otherwise: Fact, scale: float = 1.0) -> Fact:
        """A fact from a client's setting that is a number, in units of `scale`; `otherwise` if there is none."""
        text = self.client(kind, name)
        value = number(text)
        if value is None:
            return otherwise
        return Fact(value * scale, f"{name}={text}", name in self.chosen(kind))


def number(text: str | None) -> float | None:
    """The number that a setting begins with ("5000 for each queue"); None if it begins with none."""
    words = (text or "").split()
    try:
        return float(words[0]) if words else None
    except ValueError:
        return None


def whole_ms(delay_ms: float) -> float:
    """A delay as clients take it that know whole milliseconds only: rounded up, so that none is lost."""
    return float(math.ceil(delay_ms))


def receive_queue_messages(workload: Workload) -> int:
    """What the worker lets a consumer hold: as set, within 32 MiB over all of them; at least some for each partition.

    The drivers divide it among partitions but leave each at least 100, so with many partitions it is more.
    """
    consumers = max(1, workload.topics * workload.subscriptions * workload.consumers)
    fit = IN_FLIGHT_BYTES_MAX // (consumers * workload.payload.message_bytes)
    queue = max(1, min(workload.client.receive_queue_messages, fit))
    return max(queue, workload.partitions * min(queue, 100))


def neutral_facts(workload: Workload) -> dict[Property, Fact]:
    """What the neutral block of a workload asks of every client."""
    client = workload.client
    batching = client.batch_bytes_max > 1
    in_flight, queue = workload.in_flight_messages(), receive_queue_messages(workload)
    return {
        Property.BATCH_SIZE: Fact(client.batch_bytes_max if batching else 0, f"batch-size={client.batch_bytes_max}"),
        Property.BATCH_DELAY: Fact(
            whole_ms(client.batch_delay_ms_max) if batching else 0, f"batch-delay={client.batch_delay_ms_max:g}ms"
        ),
        Property.COMPRESSION: Fact(client.compression.value, f"compression={client.compression.value}"),
        Property.IN_FLIGHT: Fact(in_flight, f"in-flight={in_flight}"),
        Property.RECEIVE_QUEUE: Fact(queue, f"receive-queue={queue}"),
        Property.CONNECTIONS: Fact(1, "one connection from a client to a server"),
    }


def engine_in_flight(case: Case, neutral: Mapping[Property, Fact]) -> Fact:
    """The worker's own bound on messages in flight, as the worker reported it if it did."""
    return case.number_fact("engine", "in_flight_messages_max", neutral[Property.IN_FLIGHT])


def lower(first: Fact, *others: Fact) -> Fact:
    """Of several bounds the one that acts."""
    return min((first, *others), key=lambda fact: fact.value if isinstance(fact.value, float | int) else math.inf)


def shown(pairs: Iterable[tuple[str, str]]) -> str:
    """Settings as "name=value, name=value"."""
    return ", ".join(f"{name}={value}" for name, value in pairs)


_PORT = re.compile(r":\d{4,5}\b")
_OWN_TOPIC = re.compile(r"tidegauge-[\w.-]+")
_PATH = re.compile(r"/[^\s,;:=]*/(?:trials|data)/[^\s,;:=]*")
_ADDRESS = re.compile(r"\b[\w.-]+:\d{4,5}\b")
_NUMBERED = re.compile(r"^(?!topic|policy|namespace)([a-z]+)[- ]?\d+\b")
"""One of several servers of a kind, as scopes name it: "broker 1". A topic's number is part of its name."""
_BARE_PORT = re.compile(r"\b\d{4,5}\b")
_A_PORT = re.compile(r"port", re.IGNORECASE)
_OF_EACH_TRIAL = frozenset(
    {"cluster.id", "leaders.by.partition", "partition.owners.by.partition", "queue.leaders.by.queue"}
)
"""What is drawn anew each time. How many partitions each node leads is derived apart from that, and compared."""
_COUNTED = "so far"
"""What servers report of themselves beside their settings."""


def normal_settings(settings: Mapping[tuple[str, str, str], str]) -> dict[tuple[str, str, str], str]:
    """Settings by kind ("server", "client"), scope and name, without what names the run's own places.

    Of several nodes all values.
    """
    found: dict[tuple[str, str, str], set[str]] = {}
    for (kind, scope, name), value in settings.items():
        if name in _OF_EACH_TRIAL or name.endswith(_COUNTED):
            continue
        place = _NUMBERED.sub(r"\1", _OWN_TOPIC.sub("", _ADDRESS.sub("", scope)).strip()).strip()
        plain = _BARE_PORT.sub("PORT", value) if _A_PORT.search(name) else without_places(value)
        found.setdefault((kind, place, name), set()).add(plain)
    return {key: ", ".join(sorted(values)) for key, values in sorted(found.items())}


def without_places(value: str) -> str:
    """A value without ports, topics and directories of its own run."""
    return _PORT.sub(":PORT", _OWN_TOPIC.sub("TOPIC", _PATH.sub("RUN", value)))
