"""What NATS says of its part in a comparison: facts, types of subscription, what only it does. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from tidegauge.durability import NODES_FOR_REPLICATION
from tidegauge.fairness import (
    NO_FIGURE,
    Case,
    ClientFacts,
    Fact,
    Hazard,
    Property,
    engine_in_flight,
    hazards_of_clients,
    neutral_facts,
)
from tidegauge.model.level import LevelChoice
from tidegauge.model.tilt import Severity
from tidegauge.model.workload import SubscriptionType
from tidegauge.systems.nats.clients import BATCH
from tidegauge.systems.nats.level import COPIES, MEMORY, PERSIST_MODE, REPLICATED_LEVELS, STORAGE

DOCUMENTATION = "NATS's documentation of JetStream's streams"


def subscription_problem(kind: SubscriptionType, version: str, choice: LevelChoice, existing: bool) -> str:
    """See `System.subscription_problem`."""
    if kind is SubscriptionType.KEY_SHARED:
        return "a stream knows no keys; with several partitions 'failover' keeps the order of each key"
    if kind is SubscriptionType.EXCLUSIVE:
        return "any client may pull from a consumer; 'failover' with one consumer comes nearest"
    return ""


def client_facts(case: Case) -> ClientFacts:
    """See `System.client_facts`. The client writes together what waits, and no batch is a unit of the server's."""
    facts = neutral_facts(case.workload)
    facts[Property.BATCH_SIZE] = Fact(None, "JetStream acknowledges each message by itself")
    facts[Property.BATCH_DELAY] = Fact(None, "")
    facts[Property.COMPRESSION] = Fact("none", "NATS's client has no compression")
    facts[Property.IN_FLIGHT] = engine_in_flight(case, facts)
    # The campaign sets it for a consumer, the client reports it for each partition.
    partitions = 1 if case.in_force is None else case.workload.partitions
    facts[Property.RECEIVE_QUEUE] = case.number_fact("consumer", BATCH, facts[Property.RECEIVE_QUEUE], partitions)
    serving = case.scopes("server ") or case.nodes
    facts[Property.NODES] = facts[Property.SERVING_NODES] = Fact(serving, f"nodes={serving}")
    return ClientFacts(facts, frozenset({BATCH}))


def hazards(case: Case) -> list[Hazard]:
    """See `System.hazards`."""
    return hazards_of_clients(case, (_one_copy_hazard, _unwritten_hazard), ())


def _one_copy_hazard(case: Case) -> Iterator[Hazard]:
    """One copy of each message in topics that Tidegauge makes, unless all that were read back have more."""
    copies = {value for _, value in case.server("topic", COPIES)}
    has_one_copy = not copies or "1" in copies
    if has_one_copy and case.nodes >= NODES_FOR_REPLICATION and case.choice.level not in (0, *REPLICATED_LEVELS):
        yield Hazard(
            "one-copy",
            f"{COPIES}=1 on {case.nodes} nodes",
            "a stream has no copies that nobody waits for: each message is written once, where a system with such "
            "copies writes it three times, two of them later",
            NO_FIGURE,
            DOCUMENTATION,
            "nothing to set: compare at level 1 or 2 to have as many copies everywhere",
            Severity.ADVICE,
        )


def _unwritten_hazard(case: Case) -> Iterator[Hazard]:
    """Streams that need not have written a message when they acknowledge it."""
    asked = {STORAGE: case.choice.form, PERSIST_MODE: "default", **case.topic}
    reported = {name: value for name in (STORAGE, PERSIST_MODE) for _, value in case.server("topic", name)}
    for name, value in {**asked, **reported}.items():
        if (name, value) in ((STORAGE, MEMORY), (PERSIST_MODE, "async")):
            yield Hazard(
                "unwritten-messages",
                f"{name}={value}",
                "a message is acknowledged before it is written to any file, where the other systems write theirs",
                NO_FIGURE,
                DOCUMENTATION,
                "choose the form file, and leave out persist_mode",
            )
