"""Kafka's settings for each durability level, and the level that settings in force really give. Pure.

Source: Kafka's broker and topic configuration. A broker acknowledges a produce request after its leader has appended
the batch and, with acks=all, every in-sync replica has it, of which there are at least min.insync.replicas.
`flush.messages=1` makes each append fsync the segment before that; by default nothing is fsynced before an
acknowledgement.

A log is flushed by time only where a broker looks for it: `flush.ms` is compared with the age of what is not flushed
every log.flush.scheduler.interval.ms, which is never by default, and first half a minute after the broker's start.

Other products speak Kafka's protocol and report some of its settings, or settings of their own. What is not reported
is unknown here; where a product's own settings decide, a level follows from what its documentation says of them, or
none (`products`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tidegauge.durability import HalfOfLevel, find_level, grouped_clauses, is_majority, no_level
from tidegauge.model.level import LevelChoice, LevelFinding
from tidegauge.model.server import Setting, by_scope
from tidegauge.numbers import whole_number
from tidegauge.systems.kafka.products import DocumentedPromise, Product, product_in

SYNC_TOPIC_SETTINGS: Mapping[str, str] = {"flush.messages": "1", "flush.ms": "0"}
REPLICAS_FOR_MAJORITY = 2
"""Of the three copies that Tidegauge gives a topic, and of fewer."""
NEVER = 2**63 - 1
"""What Kafka's flush settings are by default: after so many messages, or ms."""
MIN_IN_SYNC, COPIES = "min.insync.replicas", "replication.factor"
UNCLEAN = "unclean.leader.election.enable"
FLUSH_SCHEDULER = "log.flush.scheduler.interval.ms"
"""How often brokers look whether a log is to be flushed by time; the first time 30 s after their start."""
CLUSTERS_DEFAULTS = {"flush.messages": "log.flush.interval.messages", MIN_IN_SYNC: MIN_IN_SYNC}
"""Topic settings that decide, and the brokers' settings of all topics that say nothing else."""
DEFAULT_COPIES, DEFAULT_PARTITIONS = "default.replication.factor", "num.partitions"
PLANNED = "topic of the campaign"
"""What a topic is called that is not there yet."""


def topic_settings(choice: LevelChoice) -> Mapping[str, str]:
    """Local sync is a topic's own setting in Kafka; local async is the default."""
    return SYNC_TOPIC_SETTINGS if choice.level in (1, 3) else {}


def partitions_by_default(cluster: Sequence[Setting]) -> int:
    """How many partitions a topic gets of which nobody says it; 0 = the brokers don't say, or differ."""
    return whole_number(agreed_value(by_scope(cluster, "broker "), DEFAULT_PARTITIONS)) or 0


def agreed_value(scopes: Mapping[str, Mapping[str, str]], name: str) -> str:
    """The value that a setting has in all scopes; "" where they differ, or one does not report it."""
    values = {settings.get(name, "") for settings in scopes.values()}
    return values.pop() if len(values) == 1 else ""


def client_acks(choice: LevelChoice, nodes: int) -> str:
    """ "all" for replication sync. On one node "all" waits for nothing more than "one", and keeps idempotence.

    Where a cluster is measured as it is found, what the client does by default.
    """
    return "all" if choice.is_open or choice.level in (1, 2) or nodes == 1 else "one"


def derive_level(settings: Sequence[Setting], choice: LevelChoice, nodes: int) -> LevelFinding:
    """What level these effective settings give. The weakest topic decides."""
    acks_of_producers = {s.value for s in settings if s.scope == "producer" and s.name == "acks"}
    if "0" in acks_of_producers:
        return LevelFinding(None, (), ("acks=0: the producer waits for no acknowledgement at all",))
    topics = by_scope(settings)
    if not topics:
        return no_level("no settings of any topic were read back")
    # Where nobody produces, what a producer at this level would wait for.
    acks = "one" if "1" in acks_of_producers else "all" if acks_of_producers else client_acks(choice, nodes)
    brokers = by_scope(settings, "broker ")
    product = product_in(settings)
    replication, local = [], []
    caveats: list[tuple[str, str]] = []
    for topic, values in topics.items():
        reported = _Topic(values)
        if product and (promise := product.promise_for(values, acks)):
            by_documentation = _halves_promised(topic, reported, product, promise, acks)
            replication.append(by_documentation[0])
            local.append(by_documentation[1])
            continue
        replication.append(HalfOfLevel(topic, *_replication_of_topic(reported, acks, nodes)))
        local.append(_local_sync(topic, reported))
        caveats += [(topic, caveat) for caveat in _caveats_of_topic(reported, acks, brokers)]
    return find_level(choice, replication, local, caveats=grouped_clauses(caveats))


@dataclass(frozen=True)
class _Topic:
    """What was reported of a topic, by name."""

    values: Mapping[str, str]

    def number(self, name: str) -> int | None:
        """A setting that is a number; None if it was not reported as one."""
        return whole_number(self.values.get(name, ""))

    @property
    def copies(self) -> tuple[int, int] | None:
        """The fewest and the most copies of its partitions ("2-3"); None if they were not reported."""
        least, _, most = self.values.get(COPIES, "").partition("-")
        fewest, largest = whole_number(least), whole_number(most or least)
        return None if fewest is None or largest is None else (fewest, largest)


def _halves_promised(
    topic: str, reported: _Topic, product: Product, promise: DocumentedPromise, acks: str
) -> tuple[HalfOfLevel, HalfOfLevel]:
    """What both halves are by a product's documentation: replication, then the local disk."""
    several = None if reported.copies is None else reported.copies[0] > 1
    replicated = {"majority": several, "none": False, "unknown": None}[promise.replication]
    synced = {"synced": True, "memory": False, "unknown": None}[promise.disk]
    facts = [f"acks={acks}"] if promise.acks else []
    facts += [f"{name}={value}" for name, value in promise.settings.items()]
    if promise.replication == "majority":
        facts.append(f"{COPIES}={reported.values.get(COPIES) or 'not reported'}")
    settings = f" ({', '.join(facts)})" if facts else ""
    reason = f"by the documentation of {product.title} {promise.why}{settings}"
    return HalfOfLevel(topic, replicated, reason), HalfOfLevel(topic, synced, reason)


def _local_sync(topic: str, reported: _Topic) -> HalfOfLevel:
    """Whether a topic is fsynced before the acknowledgement."""
    value, number = reported.values.get("flush.messages", ""), reported.number("flush.messages")
    if number is None:
        return HalfOfLevel(topic, None, f"flush.messages is {f'{value!r}' if value else 'not reported'}")
    if value == "1":
        consequence = "so each append is fsynced before it is acknowledged"
        return HalfOfLevel(topic, True, f"flush.messages=1, {consequence}", "flush.messages=1")
    messages = f"{value} (never)" if number >= NEVER else value
    consequence = "so an acknowledged message may be in memory only"
    return HalfOfLevel(topic, False, f"flush.messages={messages}, {consequence}", f"flush.messages={messages}")


def _replication_of_topic(reported: _Topic, acks: str, nodes: int) -> tuple[bool | None, str]:
    """Whether an acknowledgement waits for a majority of a topic's copies, and the settings that say so."""
    if nodes < REPLICAS_FOR_MAJORITY:
        return False, "one node: there is no second copy"
    in_sync, copies = reported.number(MIN_IN_SYNC), reported.copies
    texts = {MIN_IN_SYNC: reported.values.get(MIN_IN_SYNC), COPIES: reported.values.get(COPIES)}
    facts = f"acks={acks}, {', '.join(f'{name}={value}' for name, value in texts.items() if value)} over {nodes} nodes"
    if acks != "all" or in_sync == 1 or (copies and copies[0] == 1):
        return False, facts
    missing = [name for name, value in ((MIN_IN_SYNC, in_sync), (COPIES, copies)) if value is None]
    if in_sync is None or copies is None:
        return None, f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not reported ({facts})"
    if is_majority(in_sync, copies[1]):
        return True, facts
    return False, f"{facts}: {in_sync} of {copies[1]} copies are no majority"


def _caveats_of_topic(reported: _Topic, acks: str, brokers: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """What must be read with the level of a topic."""
    copies, in_sync = reported.copies, reported.number(MIN_IN_SYNC)
    if reported.values.get(UNCLEAN) == "true" and (copies is None or copies[1] > 1):
        yield (
            f"{UNCLEAN}=true: a replica that is not in sync may be made leader, and what it lacks is lost, "
            "although it was acknowledged"
        )
    if acks == "all" and copies and in_sync and in_sync == copies[0] > 1:
        yield f"{MIN_IN_SYNC}={in_sync} of {copies[0]} copies: one node that is lost stops writes"
    if reported.values.get("remote.storage.enable") == "true":
        yield "remote.storage.enable=true: older segments are in remote storage, and the level is that of newer ones"
    flush = reported.number("flush.messages")
    if flush is not None and 1 < flush < NEVER:
        yield f"flush.messages={flush}: at most {flush:,} acknowledged messages of a partition are in memory only"
    if flush != 1:
        yield from _time_window(reported, brokers)


def _time_window(reported: _Topic, brokers: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """Says for how long an acknowledged message may be in memory only, where a flush by time is set."""
    flush_ms = reported.number("flush.ms")
    if flush_ms is None or flush_ms >= NEVER:
        return
    of_brokers = [whole_number(values.get(FLUSH_SCHEDULER, "")) for values in brokers.values()]
    intervals = [interval for interval in of_brokers if interval is not None]
    if not intervals or len(intervals) < len(of_brokers):
        yield f"flush.ms={flush_ms}: whether brokers look for it is not known ({FLUSH_SCHEDULER} is not reported)"
        return
    every_ms = max(intervals)
    brokers_looking = sum(interval < NEVER for interval in intervals)
    if not brokers_looking:
        yield f"flush.ms={flush_ms} has no effect: brokers never look for it ({FLUSH_SCHEDULER} is not set)"
        return
    if brokers_looking < len(intervals):
        yield f"flush.ms={flush_ms}: only {brokers_looking} of {len(intervals)} brokers look for it ({FLUSH_SCHEDULER})"
        return
    yield (
        f"flush.ms={flush_ms}: at most {flush_ms + every_ms:,} ms of acknowledged messages are in memory only, from "
        f"half a minute after a broker's start on (brokers look for it every {every_ms:,} ms)"
    )
