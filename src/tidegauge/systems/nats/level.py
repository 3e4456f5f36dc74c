"""NATS JetStream's ways to give each durability level, and the level that settings in force really give. Pure.

Sources: NATS's documentation of JetStream and of its configuration, and its source. A stream acknowledges a message
when its one copy has been written or, of several, when a majority has it in its Raft log. Neither waits for an fsync,
which is made every sync_interval (2 minutes by default), unless that is "always": then each write to a stream and to a
Raft log is fsynced before it counts. It is a setting of a server, so it holds for all streams. A stream in memory syncs
nothing, and one with persist_mode "async" acknowledges before it writes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tidegauge.durability import NODES_FOR_REPLICATION, HalfOfLevel, find_level, grouped_clauses, is_majority, no_level
from tidegauge.fairness import Case
from tidegauge.model.level import LevelChoice, LevelFinding
from tidegauge.model.server import Setting, by_scope
from tidegauge.numbers import whole_number
from tidegauge.systems.nats.config import ALWAYS, SYNC_INTERVAL

FILE, MEMORY = "file", "memory"
"""Forms: where the streams are."""
STORAGE, COPIES, PERSIST_MODE, COMPRESSION = "storage", "replicas", "persist_mode", "compression"
"""Settings of a topic."""
VALUES = {STORAGE: (FILE, MEMORY), PERSIST_MODE: ("default", "async"), COMPRESSION: ("none", "s2")}
SYNC, PEERS, LEADERS, IN_SYNC = "sync_interval", "peers", "leaders.by.partition", "in.sync.replicas"
SYNCED_LEVELS, REPLICATED_LEVELS = (1, 3), (1, 2)
PLANNED = "topic of the campaign"
"""What a topic is called that is not there yet."""


def possible_levels(nodes: int) -> list[LevelChoice]:
    """What so many nodes can give, best first; a stream in memory syncs nothing."""
    replicated = [LevelChoice(1, FILE), LevelChoice(2, FILE), LevelChoice(2, MEMORY)]
    single = [LevelChoice(3, FILE), LevelChoice(4, FILE), LevelChoice(4, MEMORY)]
    return [*(replicated if nodes >= NODES_FOR_REPLICATION else []), *single]


def topic_settings(choice: LevelChoice) -> Mapping[str, str]:
    """The driver's settings of a topic. Levels without replication have one copy, however many nodes there are."""
    settings = {STORAGE: choice.form or FILE}
    return settings if choice.is_open or choice.level in REPLICATED_LEVELS else {**settings, COPIES: "1"}


def topic_problems(settings: Mapping[str, str], copies: int) -> dict[str, str]:
    """Which settings no topic has, by name, and why."""
    problems = {}
    for name, value in settings.items():
        if name == COPIES and copies:
            problems[name] = "can't be given beside 'replication-factor', which says the same: keep one of the two"
        elif name == COPIES and not 1 <= (whole_number(value) or 0) <= 5:
            problems[name] = f"'{value}': must be a whole number of 1 to 5"
        elif name != COPIES and name not in VALUES:
            problems[name] = f"topics have no such setting; they have {', '.join((*VALUES, COPIES))}"
        elif name in VALUES and value not in VALUES[name]:
            problems[name] = f"'{value}': must be one of {', '.join(VALUES[name])}"
    return problems


def expected_settings(case: Case, cluster: Sequence[Setting] = ()) -> list[Setting]:
    """What of the level's settings would be read back of a topic made for this."""
    wanted = {**topic_settings(case.choice), **case.topic}
    copies = wanted.get(COPIES) or str(case.copies or min(3, case.nodes))
    servers = by_scope(cluster, "server ")
    synced = ALWAYS if case.choice.level in SYNCED_LEVELS else "120s"
    planned = [Setting("server planned", SYNC, case.settings.get(SYNC_INTERVAL, synced))]
    of_servers = [setting for setting in cluster if setting.scope in servers] if servers else planned
    return [
        *of_servers,
        *(Setting(PLANNED, name, wanted.get(name, VALUES[name][0])) for name in (STORAGE, PERSIST_MODE)),
        Setting(PLANNED, COPIES, copies),
    ]


def derive_level(settings: Sequence[Setting], choice: LevelChoice, nodes: int) -> LevelFinding:
    """What level these effective settings give. The weakest stream and server decide."""
    topics, servers = by_scope(settings), by_scope(settings, "server ")
    if not topics:
        return no_level("no settings of any topic were read back")
    absent = [topic for topic, values in topics.items() if values.get("partitions") == "0"]
    if absent:
        return LevelFinding(None, (), tuple(f"{topic}: there is no such stream" for topic in absent))
    local = [HalfOfLevel(topic, *_local_sync(values, servers)) for topic, values in topics.items()]
    replication = [HalfOfLevel(topic, *_replication(values)) for topic, values in topics.items()]
    caveats = grouped_clauses(
        (topic, caveat) for topic, values in topics.items() for caveat in _caveats(values, servers)
    )
    form = choice.form or FILE
    other = [topic for topic, values in topics.items() if _listed(values, STORAGE) - {form}]
    problem = (
        f"{STORAGE}={form} was asked for, and {', '.join(other)} has another" if other and not choice.is_open else ""
    )
    return find_level(choice, replication, local, caveats=caveats, form_problem=problem)


def _listed(values: Mapping[str, str], name: str) -> set[str]:
    """The values that a topic's streams have, of which several are listed."""
    return {value.strip() for value in values.get(name, "").split(",") if value.strip()}


def _local_sync(values: Mapping[str, str], servers: Mapping[str, Mapping[str, str]]) -> tuple[bool | None, str]:
    """Whether a message is fsynced before it is acknowledged, and why."""
    storage = _listed(values, STORAGE)
    if MEMORY in storage:
        return False, f"{STORAGE}={values[STORAGE]}, so nothing is on disk"
    if "async" in _listed(values, PERSIST_MODE):
        return False, f"{PERSIST_MODE}={values[PERSIST_MODE]}, which acknowledges before it writes"
    if not storage:
        return None, f"{STORAGE} is not reported"
    intervals = _intervals(values, servers)
    slow = {name: interval for name, interval in intervals.items() if interval not in ("", ALWAYS)}
    if slow:
        interval = next(iter(slow.values()))
        return False, f"{SYNC}={interval}, so an acknowledged message may be in memory only"
    unknown = [name for name, interval in intervals.items() if not interval]
    if unknown or not intervals:
        return None, f"{SYNC} of {', '.join(unknown) or 'its servers'} is not reported"
    return True, f"{SYNC}={ALWAYS}, so each write is fsynced before it is acknowledged"


def _intervals(values: Mapping[str, str], servers: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """By server that keeps a copy, or any where nobody says who does, what it has for sync_interval."""
    peers = [f"server {name}" for name in sorted(_listed(values, PEERS))] or list(servers)
    return {peer: servers.get(peer, {}).get(SYNC, "") for peer in peers}


def _replication(values: Mapping[str, str]) -> tuple[bool | None, str]:
    """Whether an acknowledged message is on a majority of several servers, and why."""
    copies = {whole_number(value) for value in _listed(values, COPIES)}
    if not copies or None in copies:
        return None, f"{COPIES} is not reported"
    fewest = min(number for number in copies if number is not None)
    if fewest < 2:
        return False, f"{COPIES}={values[COPIES]}: there is no second copy"
    awaited = fewest // 2 + 1
    return is_majority(awaited, fewest), f"{COPIES}={values[COPIES]}: {awaited} of them have it when it is acknowledged"


def _caveats(values: Mapping[str, str], servers: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """What must be read with the level of a topic."""
    if MEMORY in _listed(values, STORAGE):
        yield f"{STORAGE}={values[STORAGE]}: a server that ends has lost what it had"
        return
    if "true" in _listed(values, "no_ack"):
        yield "no_ack=true: it acknowledges nothing"
    slow = sorted({interval for interval in _intervals(values, servers).values() if interval not in ("", ALWAYS)})
    if slow:
        yield f"{SYNC}={', '.join(slow)}: so long may acknowledged messages be in memory only"


def incomplete(settings: Sequence[Setting], nodes: int) -> str:
    """What is still missing: replicas that are not current, or streams without a leader."""
    for topic, values in by_scope(settings).items():
        copies = [whole_number(value) or 0 for value in _listed(values, COPIES)]
        current = whole_number(values.get(IN_SYNC, ""))
        if copies and current is not None and current < min(copies):
            return f"{topic}: {current} of {min(copies)} copies are current"
    return ""
