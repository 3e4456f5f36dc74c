"""What Pulsar says of its part in a comparison: neutral facts of its clients, and the published mistakes. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from tidegauge.fairness import (
    BY_DEFINITION,
    NO_FIGURE,
    STREAMNATIVE_2020,
    Case,
    ClientFacts,
    Fact,
    Hazard,
    Property,
    engine_in_flight,
    hazards_of_clients,
    neutral_facts,
    number_in,
    strictest_bound,
    whole_ms,
)
from tidegauge.model.tilt import Severity
from tidegauge.numbers import trimmed
from tidegauge.systems.pulsar.level import BYPASS, COPIES_MAX

CHECK_DELAY = "managedLedgerNewEntriesCheckDelayInMillis"
SWITCH = "batchingPartitionSwitchFrequencyByPublishDelay"
CHANNELS = "bookkeeperNumberOfChannelsPerBookie"
GROUP_WAIT = "journalMaxGroupWaitMSec"
WRITE_QUORUM, WRITE_QUORUM_OF_TOPIC = "managedLedgerDefaultWriteQuorum", "bookkeeperWriteQuorum"
DEDUPLICATION = "brokerDeduplicationEnabled"
CHANNELS_PUBLISHED = 64
BATCH_DELAY_MS_MIN = 1.0
"""The shortest that the client's builder takes."""

COMPRESSIONS = {"ZLIB": "gzip"}
JUDGED_CLIENT = frozenset(
    {
        "batchingEnabled",
        "batchingMaxBytes",
        "batchingMaxMessages",
        "batchingMaxPublishDelayMicros",
        SWITCH,
        "compressionType",
        "maxPendingMessages",
        "maxPendingMessagesAcrossPartitions",
        "receiverQueueSize",
    }
)
JUDGED_SERVER = frozenset(
    {CHECK_DELAY, CHANNELS, GROUP_WAIT, DEDUPLICATION, WRITE_QUORUM, "journalSyncData", "journalWriteData"}
)


def client_facts(case: Case) -> ClientFacts:
    """See `System.client_facts`."""
    facts = neutral_facts(case.workload)
    facts[Property.BATCH_SIZE], facts[Property.BATCH_DELAY] = _batch_facts(case, facts)
    codec = case.client("producer", "compressionType")
    if codec:
        chosen = "compressionType" in case.producer
        facts[Property.COMPRESSION] = Fact(COMPRESSIONS.get(codec, codec).lower(), f"compressionType={codec}", chosen)
    own_limits = [
        case.number_fact("producer", name, Fact(None, ""))
        for name in ("maxPendingMessages", "maxPendingMessagesAcrossPartitions")
    ]
    facts[Property.IN_FLIGHT] = strictest_bound(
        engine_in_flight(case, facts), *(own_limit for own_limit in own_limits if own_limit.value)
    )
    facts[Property.RECEIVE_QUEUE] = case.number_fact(
        "consumer", "receiverQueueSize", facts[Property.RECEIVE_QUEUE], case.workload.partitions
    )
    connections = case.workload.client.connections_per_broker
    facts[Property.CONNECTIONS] = case.number_fact(
        "client", "connectionsPerBroker", Fact(connections, f"connectionsPerBroker={connections}")
    )
    facts[Property.NODES], facts[Property.SERVING_NODES] = _node_facts(case)
    return ClientFacts(facts, JUDGED_CLIENT | JUDGED_SERVER)


def _batch_facts(case: Case, neutral: dict[Property, Fact]) -> tuple[Fact, Fact]:
    """The largest batch, in bytes, and the longest delay; 0 without batching."""
    delay = neutral[Property.BATCH_DELAY]
    if case.client("producer", "batchingEnabled") == "false":
        off = Fact(0, "batchingEnabled=false", "batchingEnabled" in case.producer)
        return off, off
    if delay.value is not None and neutral[Property.BATCH_SIZE].value:
        at_least = max(BATCH_DELAY_MS_MIN, whole_ms(case.workload.client.batch_delay_ms_max))
        delay = Fact(at_least, f"batchingMaxPublishDelayMicros={trimmed(at_least * 1000)}")
    size = case.number_fact("producer", "batchingMaxBytes", neutral[Property.BATCH_SIZE])
    messages = case.number_fact("producer", "batchingMaxMessages", Fact(None, ""), case.workload.payload.message_bytes)
    return strictest_bound(size, messages), case.number_fact("producer", "batchingMaxPublishDelayMicros", delay, 1e-3)


def _node_facts(case: Case) -> tuple[Fact, Fact]:
    """Machines, and those of them that serve clients. Tiered, brokers have machines of their own.

    Of an attached cluster, bookies are known only where one can read them back.
    """
    brokers = next((number_in(value) for _, value in case.server("cluster", "brokers")), None)
    serving = int(brokers or number_in(case.shape.get("brokers")) or case.nodes)
    bookies = case.nodes if case.in_force is None else case.scopes("bookie ")
    if not bookies:
        return Fact(None, "its bookies are not known"), Fact(serving, f"brokers={serving}")
    tiered = case.shape.get("layout") == "tiered"
    machines = bookies + serving if tiered else bookies
    layout = case.shape.get("layout", "co-located") if case.nodes > 1 else "standalone"
    return Fact(machines, f"nodes={machines} (layout={layout})"), Fact(serving, f"brokers={serving}")


def hazards(case: Case) -> list[Hazard]:
    """See `System.hazards`."""
    of_servers = (_bookie_channels_hazard, _bypassed_journal_hazard, _write_quorum_hazard)
    of_producers = (_partition_switch_hazard, _journal_group_wait_hazard, _deduplication_hazard)
    return [
        *hazards_of_clients(case, of_producers, (_new_entries_check_hazard,)),
        *(hazard for rule in of_servers for hazard in rule(case)),
    ]


def _new_entries_check_hazard(case: Case) -> Iterator[Hazard]:
    delay = next((value for _, value in case.server("broker", CHECK_DELAY) if number_in(value)), None)
    if delay is not None:
        yield Hazard(
            "new-entries-check",
            f"{CHECK_DELAY}={delay}",
            "a consumer that has read everything learns of a new message only at the next check",
            f"up to {delay} ms more end-to-end latency",
            f"Pulsar's broker.conf; {STREAMNATIVE_2020}, Pulsar's tuning: 0 instead of 10",
            case.server_remedy(CHECK_DELAY, "0"),
        )


def _partition_switch_hazard(case: Case) -> Iterator[Hazard]:
    value = number_in(case.client("producer", SWITCH))
    if value is not None and value < 2 <= case.workload.partitions:
        yield Hazard(
            "partition-switch",
            f"{SWITCH}={trimmed(value)}",
            "the producer goes on to the next partition within the time that a batch has to fill, so batches are tiny",
            NO_FIGURE,
            f"{STREAMNATIVE_2020}, Pulsar's tuning: 2 instead of 1; the client's default is 10",
            f"remove {SWITCH} from {case.block('producer')}",
        )


def _bookie_channels_hazard(case: Case) -> Iterator[Hazard]:
    """On one node broker and bookie are one process that always takes one channel: nothing to choose."""
    counts = (value for _, value in case.server("broker", CHANNELS))
    few = next((value for value in counts if (number_in(value) or CHANNELS_PUBLISHED) < CHANNELS_PUBLISHED), None)
    if few is not None and case.nodes != 1:
        yield Hazard(
            "bookie-channels",
            f"{CHANNELS}={few}",
            "all requests of a broker to a bookie go through so few connections and the threads behind them",
            f"{NO_FIGURE} for this alone",
            f"{STREAMNATIVE_2020}, Pulsar's tuning: {CHANNELS_PUBLISHED} instead of 16",
            f"set {CHANNELS} to {CHANNELS_PUBLISHED} to repeat that report",
            Severity.ADVICE,
        )


def _journal_group_wait_hazard(case: Case) -> Iterator[Hazard]:
    wait = next((value for _, value in case.server("bookie", GROUP_WAIT) if (number_in(value) or 0) > 1), None)
    if wait is not None and case.choice.form != BYPASS:
        yield Hazard(
            "journal-group-wait",
            f"{GROUP_WAIT}={wait}",
            "the journal collects entries for so long before it writes them, beside the batches of the clients",
            f"up to {wait} ms more publish latency at low rates",
            f"BookKeeper's configuration; {STREAMNATIVE_2020} used 1",
            case.server_remedy(GROUP_WAIT, "1"),
        )


def _bypassed_journal_hazard(case: Case) -> Iterator[Hazard]:
    """Asked for, unless every bookie was read back to write its journal all the same."""
    written = {value.lower() for _, value in case.server("bookie", "journalWriteData")}
    if case.choice.form == BYPASS and written != {"true"}:
        yield Hazard(
            "bypassed-journal",
            f"form={BYPASS} (journalWriteData=false)",
            "an acknowledged message is in the memory of processes only, and killing them loses it, where a system "
            "that has written it to the page cache keeps it",
            "catch-up reads of 3.5 GB/s with the journal bypassed, 1.7 with it",
            f"{STREAMNATIVE_2020}, level 2",
            f"leave {case.key('form')} out or name the form journal",
            Severity.ADVICE,
        )


def _write_quorum_hazard(case: Case) -> Iterator[Hazard]:
    """Fewer or more copies of each entry than the others have of a message."""
    quorums_in_force = (*case.server("topic", WRITE_QUORUM_OF_TOPIC), *case.server("broker", WRITE_QUORUM))
    name, value = next(iter(quorums_in_force), ("", ""))
    usual = min(case.nodes, COPIES_MAX)
    if case.nodes > 1 and number_in(value) not in (None, usual):
        yield Hazard(
            "write-quorum",
            f"{name}={value}",
            f"each entry is written to {value} bookies, where {usual} copies of a message are usual on {case.nodes} "
            "nodes",
            NO_FIGURE,
            BY_DEFINITION,
            case.server_remedy(WRITE_QUORUM, str(usual)),
        )


def _deduplication_hazard(case: Case) -> Iterator[Hazard]:
    if any(value == "true" for _, value in case.server("broker", DEDUPLICATION)):
        yield Hazard(
            "deduplication",
            f"{DEDUPLICATION}=true",
            "the brokers keep and check the sequence of every producer, which is off by default",
            NO_FIGURE,
            BY_DEFINITION,
            f"{case.server_remedy(DEDUPLICATION, 'false')}, though Kafka's client does the like by default",
            Severity.ADVICE,
        )
