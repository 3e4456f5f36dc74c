"""Are the systems of a comparison on equal terms? Rules over plain data: pure, no I/O.

A `Case` is what a system says of its part: facts to compare, hazards, and who measured amounts. The check takes systems
as contenders, compares them by property, and adds what each says of itself.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from tidegauge.model.level import LevelChoice
from tidegauge.model.sending import Sending
from tidegauge.model.server import Setting
from tidegauge.model.tilt import Severity, Stage, Tilt
from tidegauge.model.workload import Workload
from tidegauge.numbers import trimmed

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
        remedy: what puts a difference right where that of its rule does not; "" = the rule's does.
    """

    value: float | str | None
    words: str
    chosen: bool = False
    remedy: str = ""


@dataclass(frozen=True)
class Hazard:
    """A setting that tilts a comparison whatever the others do, as published mistakes did. Fields as of `Tilt`.

    `makes_result`: it makes the result what it is, so it is said where nothing is compared, too.
    """

    rule: str
    what: str
    why: str
    amount: str
    source: str
    remedy: str
    severity: Severity = Severity.UNEQUAL
    makes_result: bool = False


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
        topic, copies: the same of the topics that are made; 0 = as many copies as the level or the cluster asks for.
        in_force: settings of servers and clients as read back; None before the run.
        msgs_per_s: the highest rate offered; 0 where none is, or nobody knows yet.
        file_keys: what its files call a campaign's keys, where they are not a campaign; {} = it is one.
    """

    version: str
    nodes: int
    choice: LevelChoice
    workload: Workload = field(default_factory=Workload)
    settings: Mapping[str, str] = field(default_factory=dict)
    producer: Mapping[str, str] = field(default_factory=dict)
    consumer: Mapping[str, str] = field(default_factory=dict)
    shape: Mapping[str, str] = field(default_factory=dict)
    topic: Mapping[str, str] = field(default_factory=dict)
    copies: int = 0
    in_force: tuple[Setting, ...] | None = None
    msgs_per_s: float = 0.0
    file_keys: Mapping[str, str] = field(default_factory=dict)

    def key(self, name: str) -> str:
        """A campaign's key as whoever has this case's files can write it."""
        if not self.file_keys:
            return f"`{name}`"
        return self.file_keys.get(name, f"a campaign's `{name}` (these files have no key for it)")

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

    def server_remedy(self, name: str, value: str) -> str:
        """How a setting of servers gets its usual value: where the campaign set none, a cluster of others has it."""
        if self.is_of_others(name):
            return f"set {name} to {value} on the cluster"
        return f"remove {name} from {self.block('settings')}, so that it is {value}"

    def block(self, name: str) -> str:
        """Where a system's own settings are in its files: of its "producer", "consumer", or "settings" of servers."""
        return self.key(name) if self.file_keys else f"the system's `{name}`"

    def is_of_others(self, name: str) -> bool:
        """Whether a setting of servers that was read back is not the campaign's own."""
        return self.in_force is not None and name not in self.settings

    def number_fact(self, kind: str, name: str, otherwise: Fact, scale: float = 1.0) -> Fact:
        """A fact from a client's setting that is a number, in units of `scale`; `otherwise` if there is none."""
        text = self.client(kind, name)
        value = number_in(text)
        if value is None:
            return otherwise
        return Fact(value * scale, f"{name}={text}", name in self.chosen(kind))


def number_in(text: str | None) -> float | None:
    """The finite number that a setting begins with ("5000 for each queue"); None if it begins with none."""
    parts = (text or "").split()
    try:
        number = float(parts[0]) if parts else math.inf
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def whole_ms(delay_ms: float) -> float:
    """A delay as clients take it that know whole milliseconds only: rounded up, so that none is lost."""
    return float(math.ceil(delay_ms))


def receive_queue_messages(workload: Workload) -> int:
    """What the worker lets a consumer hold: what the workload says, but at least some for each partition.

    The drivers divide it among partitions but leave each at least 100, so with many partitions it is more.
    """
    queue = workload.receive_queue_messages()
    return max(queue, workload.partitions * min(queue, 100))


def neutral_facts(workload: Workload) -> dict[Property, Fact]:
    """What the neutral block of a workload asks of every client."""
    client = workload.client
    batching = client.batch_bytes_max > 1
    in_flight, queue = workload.in_flight_messages(), receive_queue_messages(workload)
    return {
        Property.BATCH_SIZE: Fact(client.batch_bytes_max if batching else 0, f"batch-size={client.batch_bytes_max}"),
        Property.BATCH_DELAY: Fact(
            whole_ms(client.batch_delay_ms_max) if batching else 0,
            f"batch-delay={trimmed(client.batch_delay_ms_max)}ms",
        ),
        Property.COMPRESSION: Fact(client.compression.value, f"compression={client.compression.value}"),
        Property.IN_FLIGHT: Fact(in_flight, f"in-flight={in_flight}"),
        Property.RECEIVE_QUEUE: Fact(queue, f"receive-queue={queue}"),
        Property.CONNECTIONS: Fact(1, "one connection from a client to a server"),
    }


def sending_of(case: Case, facts: Mapping[Property, Fact], library: str = "") -> Sending | None:
    """How the producers of a case send, by what its system says of its clients; None where nothing is sent."""
    if not case.workload.producers:
        return None
    asked = neutral_facts(case.workload)
    size, delay, codec = (
        facts.get(name, asked[name]) for name in (Property.BATCH_SIZE, Property.BATCH_DELAY, Property.COMPRESSION)
    )
    in_flight = facts.get(Property.IN_FLIGHT, asked[Property.IN_FLIGHT]).value
    return Sending(
        batch_bytes=_amount_of_fact(size),
        batch_delay_ms=_amount_of_fact(delay),
        compression=str(codec.value or "none"),
        in_flight_messages=in_flight if isinstance(in_flight, float | int) else case.workload.in_flight_messages(),
        instead=next((fact.words for fact in (size, delay) if fact.value is None and fact.words), ""),
        library=library,
        # A fact that is still the neutral block's was not reported by anybody.
        read_back=case.in_force is not None and not {size, delay, codec} & set(asked.values()),
    )


def _amount_of_fact(fact: Fact) -> float | None:
    return fact.value if isinstance(fact.value, float | int) else None


def engine_in_flight(case: Case, neutral: Mapping[Property, Fact]) -> Fact:
    """The worker's own bound on messages in flight, as the worker reported it if it did."""
    return case.number_fact("engine", "in_flight_messages_max", neutral[Property.IN_FLIGHT])


def strictest_bound(first: Fact, *others: Fact) -> Fact:
    """The bound that acts, of several: the lowest."""
    return min((first, *others), key=lambda fact: fact.value if isinstance(fact.value, float | int) else math.inf)


HazardRule = Callable[[Case], Iterable[Hazard]]


def hazards_of_clients(
    case: Case, of_producers: Iterable[HazardRule], of_consumers: Iterable[HazardRule]
) -> list[Hazard]:
    """Hazards that lie in what producers do, where there are any, and in what consumers do, likewise."""
    rules = (*(of_producers if case.workload.producers else ()), *(of_consumers if case.workload.subscriptions else ()))
    return [hazard for rule in rules for hazard in rule(case)]


def settings_in_words(pairs: Iterable[tuple[str, str]]) -> str:
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
    values_by_key: dict[tuple[str, str, str], set[str]] = {}
    for (kind, scope, name), value in settings.items():
        if name in _OF_EACH_TRIAL or name.endswith(_COUNTED):
            continue
        place = _NUMBERED.sub(r"\1", _OWN_TOPIC.sub("", _ADDRESS.sub("", scope)).strip()).strip()
        plain = _BARE_PORT.sub("PORT", value) if _A_PORT.search(name) else without_places(value)
        values_by_key.setdefault((kind, place, name), set()).add(plain)
    return {key: ", ".join(sorted(values)) for key, values in sorted(values_by_key.items())}


def without_places(value: str) -> str:
    """A value without ports, topics and directories of its own run."""
    return _PORT.sub(":PORT", _OWN_TOPIC.sub("TOPIC", _PATH.sub("RUN", value)))


@dataclass(frozen=True)
class Rule:
    """One property. Fields as of `Tilt`; and:

    Attributes:
        ratio_max: numbers count as equal up to this ratio of the largest to the smallest.
        only_if_chosen: a difference that no setting of the campaign made, but that lies in the clients, is advice.
        absent: what it means that a system has no such thing ("" = nothing to report). That is advice: no setting
            could put it right.
    """

    why: str
    amount: str
    source: str
    remedy: str
    ratio_max: float = 1.0
    only_if_chosen: bool = False
    advice_only: bool = False
    absent: str = ""


_SAME_CLIENT = "leave it to the workload's neutral key, which every client follows, or give all systems the same"

RULES: Mapping[Property, Rule] = {
    Property.LEVEL: Rule(
        "an acknowledgement does not mean the same, so one system waits for disks or copies that the other leaves out",
        "Kafka with 100 partitions did 420 MB/s at level 1 and 605 at level 2, Pulsar 300 at both, and 605 at level 2 "
        "only without its journal; publish p99 58.8 "
        "and 8.47 ms (Kafka), 10.4 and 4.47 ms (Pulsar)",
        f"{STREAMNATIVE_2020}, tables 1-1, 2-2, 2-4",
        "give all systems the campaign's `durability`: remove the system's own",
    ),
    Property.SERVERS: Rule(
        "others chose the attached cluster's hosts, disks, network, memory and configuration, and may use it too",
        NO_FIGURE,
        f"{STREAMNATIVE_2020}: the same hosts for both systems",
        "attach to clusters of all systems on hosts alike, or start all systems here",
    ),
    Property.NODES: Rule(
        "one system has more machines, disks and memory to work with",
        "three further hosts for Pulsar's brokers changed nothing where the disks were the limit (305.73 and "
        "305.69 MB/s); elsewhere no figure is known",
        CONFLUENT_2020,
        "give all systems the same number of nodes: remove `layout` from the system's `shape`",
    ),
    Property.SERVING_NODES: Rule(
        "the clients' work is spread over fewer servers of one system than of the other",
        NO_FIGURE,
        BY_DEFINITION,
        "let as many nodes serve clients: remove `brokers` from the system's `shape`",
    ),
    Property.PARTITIONS: Rule(
        "messages are spread over more partitions of one system: its batches are smaller, and more of its servers' "
        "threads and files are used",
        "from 100 to 2,000 partitions Kafka went from 420 to 300 MB/s at level 1, and Pulsar stayed at 300",
        f"{STREAMNATIVE_2020}, table 1-1",
        "give all systems the workload's `partitions`: remove the system's own",
    ),
    Property.HEAP: Rule(
        "a larger heap means fewer garbage collections and larger caches",
        NO_FIGURE,
        BY_DEFINITION,
        "give every system the same `heap`",
    ),
    Property.DIRECT_MEMORY: Rule(
        "buffers and caches outside the heap differ: one system answers more reads from memory",
        NO_FIGURE,
        BY_DEFINITION,
        "give every system the same `direct-memory`",
    ),
    Property.BATCH_SIZE: Rule(
        "what a message costs is shared by all messages of its batch, most of all an fsync",
        "an fsync per batch cost Kafka a factor of 3 to 5 with batches of 1 and 10 KB and next to nothing with 100 KB "
        "and 1 MB",
        f"{CONFLUENT_2020}, figure 2",
        f"batch size: {_SAME_CLIENT}",
        ratio_max=1.25,
        absent="sends each message by itself, which no setting changes: its figures include that cost",
    ),
    Property.BATCH_DELAY: Rule(
        "below the rate that fills batches, the delay is part of every message's latency; above it, a longer delay "
        "makes larger batches",
        "up to the difference itself for each message; the report of 2020 gave Kafka 10 ms and Pulsar 50 ms",
        f"{BY_DEFINITION}; {CONFLUENT_2020}, throughput test",
        f"batch delay: {_SAME_CLIENT}; below 1ms not every client can follow",
    ),
    Property.COMPRESSION: Rule(
        "one system moves and stores fewer bytes for CPU time of its clients",
        f"{NO_FIGURE}: it depends on how far the payload can be compressed",
        BY_DEFINITION,
        "set the workload's `compression` for all, or remove the system's own",
    ),
    Property.IN_FLIGHT: Rule(
        "throughput follows from the messages that may be under way",
        "the same Pulsar did 50,000 msg/s with 1,000 messages in flight, 114,000 with 5,000, 181,000 with 20,000",
        OWN,
        "set the workload's `in-flight`, which the worker keeps for every system, and remove the system's own limit",
    ),
    Property.RECEIVE_QUEUE: Rule(
        "a consumer with the smaller queue waits for the next delivery more often",
        f"{NO_FIGURE}; the report of 2020 raised Pulsar's limit over all partitions from 50,000 to 5,000,000",
        f"{STREAMNATIVE_2020}, Pulsar's tuning",
        "set the workload's `receive-queue` for all, or remove the system's own",
        ratio_max=2.0,
        only_if_chosen=True,
    ),
    Property.CONNECTIONS: Rule(
        "a client with several connections to a server has several streams of requests under way, and more threads "
        "of the server work for it",
        NO_FIGURE,
        BY_DEFINITION,
        "set the workload's `connections` to 1: only some clients let one choose",
    ),
    Property.CLIENT_HOST: Rule(
        "the clients have different CPUs and a different way to the servers",
        NO_FIGURE,
        f"{STREAMNATIVE_2020}: the same hosts for both systems",
        "run the clients of all systems on the same host",
    ),
    Property.CLIENT_RUNTIME: Rule(
        "the load generators differ in their Java runtime or memory",
        NO_FIGURE,
        BY_DEFINITION,
        "let all trials use the same worker: don't change Java or Tidegauge during a run",
    ),
    Property.SERVER_RUNTIME: Rule(
        "the servers run on different Java runtimes, whose compilers and collectors differ",
        NO_FIGURE,
        BY_DEFINITION,
        "set TIDEGAUGE_JAVA_HOME to one runtime that all versions can run on",
        advice_only=True,
    ),
    Property.PAGE_CACHE: Rule(
        "trials of one system began with a cold page cache, those of the other with whatever was in it: reads of old "
        "data are faster",
        NO_FIGURE,
        f"{STREAMNATIVE_2020}: page cache cleared before each run",
        "run as root, so that it is dropped before every trial",
    ),
}


OWN_CLIENT_SETTINGS, OWN_SERVER_SETTINGS = "own-client-settings", "own-server-settings"


@dataclass(frozen=True)
class ComparedSystem:
    """One system of a comparison, ready to be compared with the others.

    Attributes:
        label: as trials name it: "kafka@4.3.1".
        client_settings, server_settings: the campaign's own settings for it that no fact or hazard takes into account.
    """

    label: str
    facts: Mapping[Property, Fact]
    hazards: tuple[Hazard, ...] = ()
    client_settings: Mapping[str, str] = field(default_factory=dict)
    server_settings: Mapping[str, str] = field(default_factory=dict)


def check_fairness(contenders: Sequence[ComparedSystem], stage: Stage) -> tuple[Tilt, ...]:
    """Everything that puts these systems on unequal terms, what blocks first.

    Where nothing is compared (one system) or all systems have the same hazard, nothing is tilted: that is advice, and
    what was advice before is said only if it makes the result.
    """
    tilts = [tilt for name, rule in RULES.items() for tilt in _tilts_by_property(name, rule, contenders)]
    for contender in contenders:
        for hazard in contender.hazards:
            if not all(hazard in other.hazards for other in contenders):
                tilts.append(_tilt_of_hazard(contender, hazard))
            elif hazard.severity is not Severity.ADVICE:
                tilts.append(_tilt_of_hazard(contender, replace(hazard, severity=Severity.ADVICE)))
            elif hazard.makes_result and contender is contenders[0]:
                labels = tuple(other.label for other in contenders)
                tilts.append(replace(_tilt_of_hazard(contender, hazard), systems=labels))
    if stage is Stage.WANTED:
        # Settings given to one system of which nobody can say here what they do to the comparison.
        clients = [contender.client_settings for contender in contenders]
        severity = Severity.ADVICE if all(clients) else Severity.UNEQUAL
        if all(clients):
            others = "and the others have other such settings"
        else:
            others = (
                "and no other has any such"
                if sum(map(bool, clients)) == 1
                else "and not all of the others have any such"
            )
        servers = [contender.server_settings for contender in contenders]
        tilts += [
            *_tilts_by_tuning(
                contenders,
                clients,
                OWN_CLIENT_SETTINGS,
                severity,
                f"what these settings of its clients do to the comparison can't be said here, {others}",
            ),
            *_tilts_by_tuning(
                contenders, servers, OWN_SERVER_SETTINGS, Severity.ADVICE, "its servers were tuned by hand"
            ),
        ]
    staged = [replace(tilt, stage=stage) for tilt in tilts]
    return tuple(sorted(staged, key=lambda tilt: tilt.severity is Severity.ADVICE))


def _tilts_by_property(name: Property, rule: Rule, contenders: Sequence[ComparedSystem]) -> list[Tilt]:
    labelled = [(contender.label, contender.facts[name]) for contender in contenders if name in contender.facts]
    having = [(label, fact) for label, fact in labelled if fact.value is not None]
    if len(labelled) < 2:
        return []
    tilts = []
    for label, fact in labelled:
        if rule.absent and having and fact.value is None:
            absent = _tilt_by_rule(name, rule, Severity.ADVICE, (label,), f"{label} {rule.absent} ({fact.words})")
            tilts.append(replace(absent, remedy="nothing to set: know it when comparing"))
    if not _are_values_alike([fact.value for _, fact in having], rule.ratio_max):
        values = ", ".join(f"{label} {fact.words}" for label, fact in having)
        mild = rule.advice_only or (rule.only_if_chosen and not any(fact.chosen for _, fact in having))
        severity = Severity.ADVICE if mild else Severity.UNEQUAL
        tilt = _tilt_by_rule(name, rule, severity, tuple(label for label, _ in having), values)
        remedy = next((fact.remedy for _, fact in having if fact.remedy), rule.remedy)
        tilts.append(replace(tilt, remedy=remedy))
    return tilts


def _are_values_alike(values: Sequence[float | str | None], ratio_max: float) -> bool:
    numbers = [value for value in values if isinstance(value, float | int)]
    if len(numbers) < len(values):
        return len(set(values)) <= 1
    if not numbers or min(numbers) == max(numbers):
        return True
    return min(numbers) > 0 and max(numbers) / min(numbers) <= ratio_max


def _tilt_by_rule(name: str, rule: Rule, severity: Severity, systems: tuple[str, ...], what: str) -> Tilt:
    return Tilt(name, severity, Stage.WANTED, systems, what, rule.why, rule.amount, rule.source, rule.remedy)


def _tilt_of_hazard(contender: ComparedSystem, hazard: Hazard) -> Tilt:
    """A hazard as one of this system."""
    fields = {name: value for name, value in vars(hazard).items() if name != "makes_result"}
    fields["what"] = f"{contender.label} {hazard.what}"
    return Tilt(**fields, stage=Stage.WANTED, systems=(contender.label,))


def _tilts_by_tuning(
    contenders: Sequence[ComparedSystem], settings: Sequence[Mapping[str, str]], rule: str, severity: Severity, why: str
) -> list[Tilt]:
    """A tilt for each system with such settings of its own, where they are not the same for all."""
    if all(tuned == settings[0] for tuned in settings):
        return []
    remedy = "remove them, tune every system, or use the workload's neutral keys"
    return [
        _tilt_of_hazard(
            contender, Hazard(rule, settings_in_words(tuned.items()), why, NO_FIGURE, BY_DEFINITION, remedy, severity)
        )
        for contender, tuned in zip(contenders, settings, strict=True)
        if tuned
    ]
