"""The fairness check: systems as contenders, compared by property, with what each says of itself. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tidegauge.fairness.case import (
    BY_DEFINITION,
    CONFLUENT_2020,
    NO_FIGURE,
    OWN,
    STREAMNATIVE_2020,
    Fact,
    Hazard,
    Property,
    shown,
)
from tidegauge.model.tilt import Severity, Stage, Tilt


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
class Contender:
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


def check(contenders: Sequence[Contender], stage: Stage) -> tuple[Tilt, ...]:
    """Everything that puts these systems on unequal terms, what blocks first.

    Where nothing is compared (one system) or all systems have the same hazard, nothing is tilted: that is advice.
    """
    found = [tilt for name, rule in RULES.items() for tilt in _compared(name, rule, contenders)]
    found += [tilt for contender in contenders for tilt in _hazards(contender, contenders)]
    if stage is Stage.WANTED:
        found += _own_settings(contenders)
    staged = [replace(tilt, stage=stage) for tilt in found]
    return tuple(sorted(staged, key=lambda tilt: tilt.severity is Severity.ADVICE))


def _compared(name: Property, rule: Rule, contenders: Sequence[Contender]) -> list[Tilt]:
    known = [(contender.label, contender.facts[name]) for contender in contenders if name in contender.facts]
    having = [(label, fact) for label, fact in known if fact.value is not None]
    if len(known) < 2:
        return []
    tilts = []
    for label, fact in known:
        if rule.absent and having and fact.value is None:
            absent = _tilt(name, rule, Severity.ADVICE, (label,), f"{label} {rule.absent} ({fact.words})")
            tilts.append(replace(absent, remedy="nothing to set: know it when comparing"))
    if not _alike([fact.value for _, fact in having], rule.ratio_max):
        values = ", ".join(f"{label} {fact.words}" for label, fact in having)
        mild = rule.advice_only or (rule.only_if_chosen and not any(fact.chosen for _, fact in having))
        severity = Severity.ADVICE if mild else Severity.UNEQUAL
        tilts.append(_tilt(name, rule, severity, tuple(label for label, _ in having), values))
    return tilts


def _alike(values: Sequence[float | str | None], ratio_max: float) -> bool:
    numbers = [value for value in values if isinstance(value, float | int)]
    if len(numbers) < len(values):
        return len(set(values)) <= 1
    if not numbers or min(numbers) == max(numbers):
        return True
    return min(numbers) > 0 and max(numbers) / min(numbers) <= ratio_max


def _tilt(name: str, rule: Rule, severity: Severity, systems: tuple[str, ...], what: str) -> Tilt:
    return Tilt(name, severity, Stage.WANTED, systems, what, rule.why, rule.amount, rule.source, rule.remedy)


def _hazards(contender: Contender, contenders: Sequence[Contender]) -> list[Tilt]:
    tilts = []
    for hazard in contender.hazards:
        shared = all(hazard in other.hazards for other in contenders)
        if not shared:
            tilts.append(_of(contender, hazard))
        elif hazard.severity is not Severity.ADVICE:
            tilts.append(_of(contender, replace(hazard, severity=Severity.ADVICE)))
    return tilts


def _of(contender: Contender, hazard: Hazard) -> Tilt:
    """A hazard as one of this system."""
    fields = {**vars(hazard), "what": f"{contender.label} {hazard.what}"}
    return Tilt(**fields, stage=Stage.WANTED, systems=(contender.label,))


def _own_settings(contenders: Sequence[Contender]) -> list[Tilt]:
    """Settings given to one system of which nobody can say here what they do to the comparison."""
    clients = [contender.client_settings for contender in contenders]
    severity = Severity.ADVICE if all(clients) else Severity.UNEQUAL
    others = "so were the others' in their own words" if all(clients) else "the others' were not"
    servers = [contender.server_settings for contender in contenders]
    return [
        *_tuned(contenders, clients, OWN_CLIENT_SETTINGS, severity, f"its clients were tuned, {others}"),
        *_tuned(contenders, servers, OWN_SERVER_SETTINGS, Severity.ADVICE, "its servers were tuned by hand"),
    ]


def _tuned(
    contenders: Sequence[Contender], settings: Sequence[Mapping[str, str]], rule: str, severity: Severity, why: str
) -> list[Tilt]:
    """Of each system with such settings of its own, where they are not the same for all."""
    if all(own == settings[0] for own in settings):
        return []
    remedy = "remove them, tune every system, or use the workload's neutral keys"
    return [
        _of(contender, Hazard(rule, shown(own.items()), why, NO_FIGURE, BY_DEFINITION, remedy, severity))
        for contender, own in zip(contenders, settings, strict=True)
        if own
    ]
