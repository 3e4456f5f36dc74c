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
from dataclasses import dataclass

from tidegauge.distribution.coordinates import version_numbers
from tidegauge.durability import NODES_FOR_REPLICATION, finding_of, level_of
from tidegauge.model.level import LevelChoice, LevelFinding
from tidegauge.model.server import Setting, listed, value_of
from tidegauge.model.workload import Compression, Workload
from tidegauge.systems.rabbitmq.config import has_streams

MAJORITY_OF_3 = 2
STREAM_OF_ALL = 2
"""The level whose streams have a copy on each of three nodes."""
LEADERS = "queue.leaders.by.queue"
"""The leader of each queue: "orders-0=tidegauge1@localhost, ..."; left out for topics with very many."""
CLASSIC_SYNCED_UNTIL = (3, 12)
MIRRORS_UNTIL = (3, 13)


@dataclass(frozen=True)
class Form:
    """A way to lay out a topic."""

    queue_type: str
    persistent: bool = True


FORMS: Mapping[str, Form] = {
    "quorum": Form("quorum"),
    "mirrored": Form("mirrored"),
    "stream": Form("stream"),
    "classic": Form("classic"),
    "transient": Form("classic", persistent=False),
    "mirrored-transient": Form("mirrored", persistent=False),
}


DEFAULT_FORMS: Mapping[int, str] = {1: "quorum", 2: "stream", 3: "quorum", 4: "transient"}
"""By level, what every version that has the level at all can give."""


def form_of(choice: LevelChoice) -> Form:
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
        choices += _choices(1, ["quorum", *(mirrored if classic_synced else [])])
        transient = ["mirrored-transient"] if mirrored else []
        choices += _choices(2, [*streams, *([] if classic_synced else mirrored), *transient])
    choices += _choices(3, ["quorum", *(["classic"] if classic_synced else [])])
    choices += _choices(4, [*([] if classic_synced else ["classic"]), *streams, "transient"])
    return choices


def _choices(level: int, forms: Sequence[str]) -> list[LevelChoice]:
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
    if choice.level not in (1, 2):
        settings["queue.members"] = "1"
    if not form.persistent:
        settings["message.persistent"] = "false"
    return settings


@dataclass(frozen=True)
class _Queue:
    """What is known of a queue, or of all queues of a topic that are alike. `where` names it."""

    where: str
    facts: Mapping[str, str]

    def get(self, name: str) -> str:
        return self.facts.get(name, "")

    def number(self, name: str) -> int:
        text = self.get(name)
        return int(text) if text.isdigit() else 0


def derive_level(settings: Sequence[Setting], choice: LevelChoice, nodes: int) -> LevelFinding:
    """What level these effective settings give. The weakest queue decides."""
    version = value_of(settings, "cluster", "version")
    queues = _queues(settings)
    if not queues or not version:
        unknown = value_of(settings, "cluster", "queues")
        why = f" ({unknown})" if unknown else ""
        return LevelFinding(None, (), (f"no settings of any queue were read back, so the level is unknown{why}",))
    absent = [
        queue.where for queue in queues if queue.get("queue.type") in ("", "absent") or queue.get("queues") == "0"
    ]
    if absent:
        return LevelFinding(None, (), tuple(f"{where}: there is no such queue" for where in absent))
    reasons: list[str] = []
    synced, replicated = True, True
    culprits: list[str] = []
    for queue in queues:
        local, local_reason = _local_sync(queue, version)
        copied, copied_reason = _replication(queue)
        reasons.append(f"{queue.where}: {local_reason}; {copied_reason}")
        if local != (choice.level in (1, 3)):
            culprits.append(f"{queue.where}: {local_reason}")
        if copied != (choice.level in (1, 2)):
            culprits.append(f"{queue.where}: {copied_reason}")
        synced, replicated = synced and local, replicated and copied
    level = level_of(replication_sync=replicated, local_sync=synced)
    finding = finding_of(level, choice, reasons, culprits, _form_problem(queues, choice))
    return LevelFinding(finding.level, finding.reasoning, (*finding.problems, *_state_problems(settings, queues)))


def _queues(settings: Sequence[Setting]) -> list[_Queue]:
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


def _local_sync(queue: _Queue, version: str) -> tuple[bool, str]:
    """Whether a confirmed message is fsynced, and why."""
    kind = queue.get("queue.type")
    if kind == "quorum":
        return True, "queue.type=quorum, so its Raft log is fsynced before a message is confirmed"
    if kind == "stream":
        return False, "queue.type=stream, which confirms without fsync"
    if kind != "classic":
        return False, f"queue.type={kind}, of which nothing is known"
    unsynced = _why_classic_is_unsynced(queue, version)
    if unsynced:
        return False, f"queue.type=classic, {unsynced}"
    return True, f"queue.type=classic, durable and persistent, which {version} fsyncs before it confirms"


def _why_classic_is_unsynced(queue: _Queue, version: str) -> str:
    """What makes a classic queue confirm without fsync; "" if nothing does."""
    durable, mode = queue.get("queue.durable"), queue.get("message.delivery_mode")
    if durable != "true":
        return f"queue.durable={durable}, so nothing has to be on disk"
    if mode != "2":
        return f"message.delivery_mode={mode or 'unknown'}, so nothing has to be on disk"
    if version_numbers(version)[:2] > CLASSIC_SYNCED_UNTIL:
        return f"whose storage does not fsync since 3.13 (this is {version})"
    return "with storage version 2, which confirms without fsync" if _storage_version(queue) == "2" else ""


def _storage_version(queue: _Queue) -> str:
    """1 or 2: as the server reports, else as arguments or policies ask, else 1, the default of 3.x."""
    version = queue.get("queue.storage_version")
    if version:
        return version
    asked = f"{queue.get('queue.arguments')}, {queue.get('queue.policy.definition')}"
    return "2" if "queue-version=2" in asked else "1"


def _replication(queue: _Queue) -> tuple[bool, str]:
    """Whether a confirmed message is on a majority of several nodes, and why."""
    members = queue.number("queue.members")
    if members < MAJORITY_OF_3:
        return False, f"queue.members={members or 'unknown'}: there is no second copy"
    if queue.get("queue.type") == "classic":
        return True, f"queue.members={members}: every mirror confirms"
    majority = members // 2 + 1
    return True, f"queue.members={members}: {majority} of them have it when it is confirmed"


def _form_problem(queues: Sequence[_Queue], choice: LevelChoice) -> str:
    """The level is right, but not in the way that was asked for."""
    form = form_of(choice)
    wanted = "classic" if form.queue_type == "mirrored" else form.queue_type
    other = [
        f"{queue.where}: queue.type={queue.get('queue.type')}" for queue in queues if queue.get("queue.type") != wanted
    ]
    return f"queue.type={wanted} was asked for, but {'; '.join(other)}" if other else ""


def incomplete(settings: Sequence[Setting], nodes: int) -> str:
    """What is still missing: nodes that don't run, members of queues that are not online."""
    running = [s.value for s in settings if s.scope.startswith("node ") and s.name == "running"]
    if running and running.count("true") < nodes:
        return f"{running.count('true')} of {nodes} nodes are running"
    return next(iter(_members_offline(_queues(settings))), "")


def leaders(settings: Sequence[Setting]) -> Mapping[str, int]:
    """By queue, the number of the node that leads it (the N of tidegaugeN@...)."""
    led = (entry.rpartition("=") for _, entry in listed(settings, LEADERS))
    numbered = ((queue, re.fullmatch(r"tidegauge(\d+)@.+", node)) for queue, _, node in led)
    return {queue: int(number[1]) for queue, number in numbered if number}


def _members_offline(queues: Sequence[_Queue]) -> list[str]:
    return [
        f"{queue.where}: {queue.number('queue.members.online')} of {queue.number('queue.members')} members are online"
        for queue in queues
        if queue.get("queue.members.online") and queue.number("queue.members.online") < queue.number("queue.members")
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
