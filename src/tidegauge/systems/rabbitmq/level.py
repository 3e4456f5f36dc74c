"""RabbitMQ's ways to give each durability level, and the level that settings in force really give. Pure.

Sources: RabbitMQ's documentation of publisher confirms and of queue types, and its source. A quorum queue confirms when
a majority of its members have the message in their Raft log, which is written with fdatasync, a batch at a time. A
stream confirms when a majority have it, without fsync. A classic queue confirms a persistent message when it is on
disk; up to 3.12 that was after an fsync of the message store and of the queue index; since 3.13 ("the message store no
longer fsyncs") and with the storage version 2 it is after a write. Mirrored classic queues (up to 3.13) confirm when
every mirror has confirmed; a transient message when every mirror has it in memory.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tidegauge.distribution.coordinates import version_numbers
from tidegauge.durability import (
    NODES_FOR_REPLICATION,
    HalfOfLevel,
    find_level,
    grouped_clauses,
    is_majority,
    no_level,
)
from tidegauge.errors import did_you_mean
from tidegauge.fairness import Case
from tidegauge.model.level import ANY_LEVEL, LevelChoice, LevelFinding
from tidegauge.model.server import Setting, listed_entries, value_of
from tidegauge.model.workload import Compression, Workload
from tidegauge.numbers import whole_number
from tidegauge.systems.rabbitmq.config import has_streams

STREAM_OF_ALL = 2
"""The level whose streams have a copy on each of three nodes."""
LEADERS = "queue.leaders.by.queue"
"""The leader of each queue: "orders-0=tidegauge1@localhost, ..."; left out for topics with very many."""
CLASSIC_SYNCED_UNTIL = (3, 12)
STORAGE_VERSIONS_SINCE = (3, 10)
"""Before, classic queues had one storage only, which is now called version 1."""
MIRRORS_UNTIL = (3, 13)
_LIMITED = (
    "a message that consumers give back more often is dropped or dead-lettered, although it was confirmed; "
    "since 4.0 quorum queues have a limit of 20 where nobody sets one"
)
"""Source: release notes of RabbitMQ 4.0."""


@dataclass(frozen=True)
class TopicForm:
    """A way to lay out a topic."""

    queue_type: str
    persistent: bool = True


FORMS: Mapping[str, TopicForm] = {
    "quorum": TopicForm("quorum"),
    "mirrored": TopicForm("mirrored"),
    "stream": TopicForm("stream"),
    "classic": TopicForm("classic"),
    "transient": TopicForm("classic", persistent=False),
    "mirrored-transient": TopicForm("mirrored", persistent=False),
}


DEFAULT_FORMS: Mapping[int, str] = {ANY_LEVEL: "quorum", 1: "quorum", 2: "stream", 3: "quorum", 4: "transient"}
"""By level, what every version that has the level at all can give."""
FOUND_FORMS = ("quorum", "classic", "stream")
"""What topics can be on a cluster whose level is taken as it is found: whoever declares a queue chooses its type."""


def form_of(choice: LevelChoice) -> TopicForm:
    """The form that was chosen; the level's default if none was named. Raises `KeyError` for a name that is none."""
    return FORMS[choice.form or DEFAULT_FORMS[choice.level]]


def possible_levels(version: tuple[int, int, int], nodes: int) -> list[LevelChoice]:
    """What a version can give on so many nodes, best first; of several ways the one to prefer comes first."""
    release = version[:2]
    classic_synced = release <= CLASSIC_SYNCED_UNTIL
    streams = ["stream"] if has_streams(version) else []
    mirrored = ["mirrored"] if release <= MIRRORS_UNTIL else []
    choices: list[LevelChoice] = []
    if nodes >= NODES_FOR_REPLICATION:
        choices += _choices_at_level(1, ["quorum", *(mirrored if classic_synced else [])])
        transient = ["mirrored-transient"] if mirrored else []
        choices += _choices_at_level(2, [*streams, *([] if classic_synced else mirrored), *transient])
    choices += _choices_at_level(3, ["quorum", *(["classic"] if classic_synced else [])])
    choices += _choices_at_level(4, [*([] if classic_synced else ["classic"]), *streams, "transient"])
    return choices


def _choices_at_level(level: int, forms: Sequence[str]) -> list[LevelChoice]:
    return [LevelChoice(level, form) for form in forms]


def serves_replicas(choice: LevelChoice, workload: Workload) -> bool:
    """Whether each node has a copy of a topic that it hands out itself: streams, as AMQP 0-9-1 consumers read them.

    Those are not given what was packed into compressed batches, and by older versions none of what is in any batch.
    """
    packed = workload.producer_overrides.get("rabbitmq", {}).get("subEntrySize", "1") != "1"
    plain = workload.client.compression is Compression.NONE and not packed
    return form_of(choice).queue_type == "stream" and choice.level == STREAM_OF_ALL and plain


def topic_settings(choice: LevelChoice) -> Mapping[str, str]:
    """The driver's settings of a topic. Levels without replication have one copy, however many nodes there are."""
    form = form_of(choice)
    settings = {"queue.type": form.queue_type}
    if choice.level not in (1, 2, ANY_LEVEL):
        settings["queue.members"] = "1"
    if not form.persistent:
        settings["message.persistent"] = "false"
    return settings


TYPE, MEMBERS, PERSISTENT = "queue.type", "queue.members", "message.persistent"
"""What a campaign may say of a topic, beside arguments of its queues ("x-...")."""
PLANNED = "topic of the campaign"
"""What a topic is called that is not there yet."""


def topic_problems(settings: Mapping[str, str], copies: int) -> dict[str, str]:
    """Which settings no topic has, by name, and why."""
    if copies and MEMBERS in settings:
        return {MEMBERS: "can't be given beside 'replication-factor', which says the same: keep one of the two"}
    allowed = [TYPE, MEMBERS, PERSISTENT]
    return {
        name: f"must be one of {', '.join(allowed)}, or an argument of queues, x-...{did_you_mean(name, allowed)}"
        for name in settings
        if name not in allowed and not name.startswith("x-")
    }


def expected_settings(case: Case, cluster: Sequence[Setting] = ()) -> list[Setting]:
    """What would be read back of a topic made for this: type, members and mode of its queues."""
    form = form_of(case.choice)
    kind = case.topic.get(TYPE, form.queue_type)
    usual = 1 if case.choice.level in (3, 4) else min(NODES_FOR_REPLICATION, case.nodes)
    members = case.topic.get(MEMBERS) or str(case.copies or usual)
    persistent = case.topic.get(PERSISTENT, "true" if form.persistent else "false") == "true"
    values = {
        TYPE: "classic" if kind == "mirrored" else kind,
        MEMBERS: "1" if kind == "classic" else members,
        "queue.durable": "true",
        "message.delivery_mode": "2" if persistent else "1",
    }
    version = value_of(cluster, "cluster", "version") or case.version
    return [Setting("cluster", "version", version), *(Setting(PLANNED, name, value) for name, value in values.items())]


@dataclass(frozen=True)
class _Queue:
    """What is known of a queue, or of all queues of a topic that are alike. `where` names it."""

    where: str
    facts: Mapping[str, str]

    def get(self, name: str) -> str:
        return self.facts.get(name, "")

    def number(self, name: str) -> int | None:
        return whole_number(self.get(name))


def derive_level(settings: Sequence[Setting], choice: LevelChoice, nodes: int) -> LevelFinding:
    """What level these effective settings give. The weakest queue decides."""
    version = value_of(settings, "cluster", "version")
    queues = _queues_read_back(settings)
    if not queues or not version:
        unknown = value_of(settings, "cluster", "queues")
        return no_level("no settings of any queue were read back" + (f" ({unknown})" if unknown else ""))
    absent = [queue.where for queue in queues if queue.get("queue.type") == "absent" or queue.get("queues") == "0"]
    if absent:
        return LevelFinding(None, (), tuple(f"{where}: there is no such queue" for where in absent))
    local = [HalfOfLevel(queue.where, *_local_sync(queue, version)) for queue in queues]
    replication = [HalfOfLevel(queue.where, *_replication_of_queue(queue)) for queue in queues]
    # What queues have another type than the form that was asked for; "" if none has.
    form = form_of(choice)
    queue_type = "classic" if form.queue_type == "mirrored" else form.queue_type
    other = [
        f"{queue.where}: queue.type={kind}"
        for queue in queues
        if (kind := queue.get("queue.type")) and kind != queue_type
    ]
    form_problem = f"queue.type={queue_type} was asked for, but {'; '.join(other)}" if other else ""
    caveats = grouped_clauses(
        (queue.where, f"delivery-limit={limit}: {_LIMITED}") for queue in queues if (limit := _delivery_limit(queue))
    )
    finding = find_level(choice, replication, local, caveats=caveats, form_problem=form_problem)
    return replace(finding, problems=(*finding.problems, *_state_problems(settings, queues)))


def _queues_read_back(settings: Sequence[Setting]) -> list[_Queue]:
    """One entry for each topic (its usual queues) and one for each queue that differs from these."""
    by_scope: dict[str, dict[str, str]] = {}
    for setting in settings:
        if setting.scope.startswith("topic "):
            by_scope.setdefault(setting.scope, {})[setting.name] = setting.value
    queues = []
    for scope, facts in by_scope.items():
        topic, separator, _ = scope.partition(" queue ")
        usual = by_scope.get(topic, {}) if separator else {}
        queues.append(_Queue(scope, {**usual, **facts}))
    return queues


def _local_sync(queue: _Queue, version: str) -> tuple[bool | None, str]:
    """Whether a confirmed message is fsynced, and why."""
    kind = queue.get("queue.type")
    if kind == "quorum":
        return True, "queue.type=quorum, so its Raft log is fsynced before a message is confirmed"
    if kind == "stream":
        return False, "queue.type=stream, which confirms without fsync"
    if kind != "classic":
        return None, f"queue.type={kind}, of which nothing is known" if kind else "queue.type is not reported"
    synced, why = _classic_sync(queue, version)
    return synced, f"queue.type=classic, {why}"


def _classic_sync(queue: _Queue, version: str) -> tuple[bool | None, str]:
    """Whether a classic queue fsyncs before it confirms, and why. Any of four things prevents it."""
    durable, mode = queue.get("queue.durable"), queue.get("message.delivery_mode")
    release = version_numbers(version)[:2]
    if durable == "false":
        return False, "queue.durable=false, so nothing has to be on disk"
    if mode.isdecimal() and mode != "2":
        return False, f"message.delivery_mode={mode}, so nothing has to be on disk"
    if release > CLASSIC_SYNCED_UNTIL:
        return False, f"whose storage does not fsync since 3.13 (this is {version})"
    storage = _storage_version(queue) if release >= STORAGE_VERSIONS_SINCE else "1"
    if storage == "2":
        return False, "with storage version 2, which confirms without fsync"
    facts = {"queue.durable": durable, "message.delivery_mode": mode, "queue.storage_version": storage}
    if missing := [name for name, value in facts.items() if value in ("", "unknown")]:
        return None, f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not reported"
    return True, f"durable and persistent, which {version} fsyncs before it confirms"


def _delivery_limit(queue: _Queue) -> str:
    """The lower of the limits that arguments and policies set on redeliveries; "" where they set none."""
    asked = f"{queue.get('queue.arguments')}, {queue.get('queue.policy.definition')}"
    limits = re.findall(r"delivery-limit=(\d{1,18})\b", asked)
    return min(limits, key=int, default="") if queue.get("queue.type") == "quorum" else ""


def _storage_version(queue: _Queue) -> str:
    """1 or 2: as the server reports, else 2 where arguments or policies ask for it; "" where nobody says."""
    asked = f"{queue.get('queue.arguments')}, {queue.get('queue.policy.definition')}"
    return queue.get("queue.storage_version") or ("2" if "queue-version=2" in asked else "")


def _replication_of_queue(queue: _Queue) -> tuple[bool | None, str]:
    """Whether a confirmed message is on a majority of several nodes, and why."""
    members, kind = queue.number("queue.members"), queue.get("queue.type")
    if members is None:
        return None, "queue.members is not reported"
    if members < 2:
        return False, f"queue.members={members}: there is no second copy"
    if kind == "classic":
        return True, f"queue.members={members}: every mirror confirms"
    if kind not in ("quorum", "stream"):
        return None, f"queue.members={members} of queue.type={kind or '(not reported)'}: who confirms is not known"
    confirming = members // 2 + 1
    return is_majority(
        confirming, members
    ), f"queue.members={members}: {confirming} of them have it when it is confirmed"


def incomplete(settings: Sequence[Setting], nodes: int) -> str:
    """What is still missing: nodes that don't run, members of queues that are not online."""
    running = [s.value for s in settings if s.scope.startswith("node ") and s.name == "running"]
    if running and running.count("true") < nodes:
        return f"{running.count('true')} of {nodes} nodes are running"
    return next(iter(_members_offline(_queues_read_back(settings))), "")


def leaders(settings: Sequence[Setting]) -> Mapping[str, int]:
    """The number of the node that leads each queue (the N of tidegaugeN@...)."""
    entries = (entry.rpartition("=") for _, entry in listed_entries(settings, LEADERS))
    numbered = ((queue, re.fullmatch(r"tidegauge(\d+)@.+", node)) for queue, _, node in entries)
    return {queue: int(number[1]) for queue, number in numbered if number}


def _members_offline(queues: Sequence[_Queue]) -> list[str]:
    counts = [(queue.where, queue.number("queue.members.online"), queue.number("queue.members")) for queue in queues]
    return [
        f"{where}: {online} of {members} members are online"
        for where, online, members in counts
        if online is not None and members is not None and online < members
    ]


def _state_problems(settings: Sequence[Setting], queues: Sequence[_Queue]) -> list[str]:
    """What keeps the settings from having their effect at the moment."""
    problems = _members_offline(queues)
    for setting in settings:
        if not setting.scope.startswith("node "):
            continue
        if setting.name in ("mem_alarm", "disk_free_alarm") and setting.value == "true":
            problems.append(f"{setting.scope}: {setting.name}, so publishing is blocked")
        if setting.name == "running" and setting.value != "true":
            problems.append(f"{setting.scope} is not running")
        if setting.name == "partitions" and setting.value:
            problems.append(f"{setting.scope} is cut off from {setting.value}")
    return problems
