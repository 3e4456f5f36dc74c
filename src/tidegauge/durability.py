"""Durability levels: what an acknowledgement promises, and the two witnesses of what a running system gives. Pure.

The first witness is what the servers say of their settings. The second is what they were seen to do: messages were sent
strictly one at a time, and the system calls by which a process makes data durable were recorded meanwhile, both on the
host's monotonic clock. A call counts for a message if it began after the message was sent, ended before its
acknowledgement arrived, and succeeded. With one message at a time no group commit can serve two of them, so at a level
with local sync every single acknowledgement must have a call of its own, on as many nodes as the level promises. One
that has none was acknowledged from memory, and is not excused: there is nothing to be averaged here.

Doubts. A call is not proof that it was this message's data that it made durable: servers also sync metadata. Where that
happens now and then it covers some messages by chance, never each of them. Seen from outside, a follower's call may
belong to the message before; the pause between messages is there to keep them apart. Data written through a file opened
with O_SYNC or O_DSYNC, or by io_uring, makes no such call: a system that does so would be accused wrongly. None of the
systems measured here does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tidegauge.errors import UserError
from tidegauge.model.level import NO_CUTS, Agreement, LevelChoice, LevelFinding, SettingChange, SyncFinding
from tidegauge.model.load import AckedMessage
from tidegauge.model.server import OF_THE_LOAD, SINGLE_ADDRESS, Setting
from tidegauge.model.trial import TrialResult, point_words, with_form
from tidegauge.numbers import plural

NODES_FOR_REPLICATION = 3


@dataclass(frozen=True)
class Level:
    """A level: how far a message has come when it is acknowledged."""

    number: int
    replication_sync: bool
    local_sync: bool
    name: str
    meaning: str


LEVELS: tuple[Level, ...] = (
    Level(1, True, True, "replicated and on disk", "a majority has it, and each of those has fsynced it"),
    Level(2, True, False, "replicated, in memory", "a majority has it, perhaps only in memory"),
    Level(3, False, True, "one copy on disk", "at least one replica has fsynced it"),
    Level(4, False, False, "one copy in memory", "at least one replica has it, perhaps only in memory"),
)


def level_named(number: int) -> Level:
    """The level of a number. Raises `UserError` for a number that is none."""
    for level in LEVELS:
        if level.number == number:
            return level
    raise UserError(f"There is no durability level {number}.", "Levels are 1 (safest) to 4.")


def level_of(replication_sync: bool, local_sync: bool) -> int:
    """The number of the level with these two properties."""
    return next(x.number for x in LEVELS if (x.replication_sync, x.local_sync) == (replication_sync, local_sync))


def levels_for_nodes(nodes: int) -> list[int]:
    """Numbers that a shape can claim, best first: fewer than 3 nodes have no majority that survives the loss of one."""
    return [level.number for level in LEVELS if nodes >= NODES_FOR_REPLICATION or not level.replication_sync]


@dataclass(frozen=True)
class HalfOfLevel:
    """Whether one topic, queue or server keeps to one half of a level: replication, or the local disk.

    Attributes:
        scope: what it is said of: "topic orders".
        holds: None where it can't be known: a setting that decides was not reported, or means something else there.
        reason: the settings that say so and what follows, as a clause.
        cause: the setting at fault; "" = `reason`.
    """

    scope: str
    holds: bool | None
    reason: str
    cause: str = ""


def is_majority(awaited: int, copies: int) -> bool:
    """Whether those that have a message when it is acknowledged are several, and more than half of its real copies."""
    return awaited > 1 and 2 * awaited > copies


def weakest(parts: Sequence[HalfOfLevel]) -> bool | None:
    """What all together keep: what the weakest keeps; None where that can't be known, or nothing was reported."""
    if any(part.holds is False for part in parts):
        return False
    return True if parts and all(part.holds for part in parts) else None


def find_level(
    choice: LevelChoice,
    replication: Sequence[HalfOfLevel],
    local: Sequence[HalfOfLevel],
    *,
    caveats: Sequence[str] = (),
    form_problem: str = "",
) -> LevelFinding:
    """The level that both halves give, with problems if it is not the one asked for.

    What was not reported is unknown, never a default: then the level is, too. It is a problem only where no value of
    what is unknown would give the level that was asked for.
    """
    level_asked = None if choice.is_open else level_named(choice.level)
    replicated, synced = weakest(replication), weakest(local)
    possible = [
        level for level in LEVELS if replicated in (None, level.replication_sync) and synced in (None, level.local_sync)
    ]
    reasoning = tuple(grouped_clauses((part.scope, part.reason) for part in (*local, *replication)))
    culprits = [
        *(_clauses_at_fault(local, synced) if level_asked and synced not in (None, level_asked.local_sync) else ()),
        *(
            _clauses_at_fault(replication, replicated)
            if level_asked and replicated not in (None, level_asked.replication_sync)
            else ()
        ),
    ]
    problems: tuple[str, ...] = ()
    if level_asked and level_asked not in possible:
        problems = (
            f"level {choice.level} was asked for, {_given_level_words(possible, level_asked)}: "
            f"{'; '.join(dict.fromkeys(culprits))}",
        )
    elif form_problem:
        problems = (form_problem,)
    if len(possible) == 1:
        return LevelFinding(possible[0].number, reasoning, problems, caveats=tuple(caveats))
    unknown = grouped_clauses((part.scope, part.reason) for part in (*local, *replication) if part.holds is None)
    return LevelFinding(None, reasoning, problems, undecided=tuple(unknown), caveats=tuple(caveats))


def no_level(*undecided: str) -> LevelFinding:
    """The finding where nothing that decides was reported, with the reasons."""
    return LevelFinding(None, (), (), undecided=undecided)


def _clauses_at_fault(parts: Sequence[HalfOfLevel], kept: bool | None) -> list[str]:
    return grouped_clauses((part.scope, part.cause or part.reason) for part in parts if part.holds is kept)


def _given_level_words(possible: Sequence[Level], level_asked: Level) -> str:
    """ "the settings give level 4 (less durable)", whether read back or expected.

    Levels 2 and 3 are in no order: each survives what the other does not.
    """
    numbers = " or ".join(str(level.number) for level in possible)
    properties = [(level.replication_sync, level.local_sync) for level in possible]
    asked = (level_asked.replication_sync, level_asked.local_sync)
    if all(held <= wish for pair in properties for held, wish in zip(pair, asked, strict=True)):
        order = "less durable"
    elif all(held >= wish for pair in properties for held, wish in zip(pair, asked, strict=True)):
        order = "more durable"
    else:
        # Of several that are possible one may be in an order.
        unordered = "neither more nor less durable: " if len(possible) == 1 else ""
        order = unordered + " or ".join(level.name for level in possible)
    return f"the settings give level {numbers} ({order})"


def grouped_clauses(clauses: Iterable[tuple[str, str]]) -> list[str]:
    """Clauses with the scopes of which they are said: "topic a: ..."; of many that are alike "topic a and 9 more"."""
    scopes: dict[str, dict[str, None]] = {}
    for scope, clause in clauses:
        scopes.setdefault(clause, {})[scope] = None
    return [f"{_scopes_in_words(list(of_clause))}: {clause}" for clause, of_clause in scopes.items()]


_SCOPES_NAMED = 3


def _scopes_in_words(scopes: Sequence[str]) -> str:
    return ", ".join(scopes) if len(scopes) <= _SCOPES_NAMED else f"{scopes[0]} and {len(scopes) - 1} more"


def doubts_of(choice: LevelChoice, finding: LevelFinding) -> list[str]:
    """What makes a trial doubtful because of its level: it is unknown, or settings changed meanwhile."""
    doubts = doubts_of_change(finding)
    if finding.level is None and not finding.changes:
        why = "; ".join(finding.undecided or finding.reasoning)
        declared = "" if choice.is_open else f", {'expected' if choice.as_found else 'declared'} {choice.level},"
        doubts.append(f"the durability level is unknown{declared} and so is what an acknowledgement means ({why})")
    return doubts


def doubts_of_change(finding: LevelFinding) -> list[str]:
    """What makes a trial doubtful because settings changed while it ran, or may have; also one that only reads."""
    doubts = []
    if finding.changes:
        levels = f" ({finding.undecided[0]})" if finding.level is None and finding.undecided else ""
        doubts.append(f"settings changed while it was measured: {changed_words(finding)}{levels}")
    if finding.end_problem:
        doubts.append(
            f"settings could not be read back at its end, so nobody knows whether they stayed: {finding.end_problem}"
        )
    return doubts


_OF_A_MOMENT = OF_THE_LOAD | {
    "brokers",
    "brokers.started",
    "bundles",
    "disk_free_alarm",
    "leaders.by.partition",
    "mem_alarm",
    "nodes",
    "partition.owners.by.partition",
    "queue.leaders.by.queue",
    "running",
    SINGLE_ADDRESS,
    "state.readOnly",
    "state.running",
}
"""What servers report beside settings, and what changes as they work: who leads, who takes part."""
_COUNTED = "so far"
_LATE = ("ledger.", "queue.policy", "queue.storage_version")
"""What some servers report a few seconds after a topic was made: not to have been reported is no other value."""
_NO_SERVER = ("topic ", "policy ", "namespace ")
"""Scopes of more than one word are those of one server of several, but for these."""
_UNKNOWN = "unknown: "


def setting_changes(before: Sequence[Setting], after: Sequence[Setting]) -> tuple[SettingChange, ...]:
    """What servers reported otherwise at the end of a trial than at its start, without what changes as they work."""
    first, last = _settings_by_scope(before), _settings_by_scope(after)
    changes: list[SettingChange] = []
    for scope in {**first, **last}:
        one_server = _is_server(scope)
        # One that is missing has no other settings.
        if one_server and not (scope in first and scope in last):
            continue
        old, new = first.get(scope, {}), last.get(scope, {})
        refused = {name: value for name, value in new.items() if value.startswith(_UNKNOWN) and name not in old}
        for name in refused or {**old, **new}:
            was, is_now = old.get(name, ""), new.get(name, "")
            # What was never said of a server that was there is said late, such as the limits of a node that just began.
            late = name.startswith(_LATE) and not (was and is_now)
            late = late or (one_server and name not in old)
            if was != is_now and not late:
                changes.append(SettingChange(scope, name, was, is_now))
    return tuple(changes)


_LEADERS = frozenset({"leaders.by.partition", "partition.owners.by.partition", "queue.leaders.by.queue"})


def server_moves(before: Sequence[Setting], after: Sequence[Setting]) -> tuple[str, ...]:
    """Which servers came or went between two looks, and how many leaders moved: what a restart leaves, a clause each.

    A server that was restarted and leads the same as before leaves nothing that is seen here.
    """
    first, last = ({setting.scope for setting in settings if _is_server(setting.scope)} for settings in (before, after))
    clauses = [f"{server} is gone" for server in sorted(first - last)]
    clauses += [f"{server} came" for server in sorted(last - first)]
    leaders, leaders_after = (
        {(setting.scope, setting.name): setting.value.split(", ") for setting in settings if setting.name in _LEADERS}
        for settings in (before, after)
    )
    both = [(leaders[key], leaders_after[key]) for key in leaders if key in leaders_after]
    moved = sum(one != other for pair in both for one, other in zip(*pair, strict=False))
    if moved:
        clauses.append(f"leaders of {moved} of {plural(sum(len(one) for one, _ in both), 'partition')} moved")
    return tuple(clauses)


def _is_server(scope: str) -> bool:
    return " " in scope and not scope.startswith(_NO_SERVER)


def _settings_by_scope(settings: Sequence[Setting]) -> dict[str, dict[str, str]]:
    scopes: dict[str, dict[str, str]] = {}
    for setting in settings:
        by_name = scopes.setdefault(setting.scope, {})
        if setting.name not in _OF_A_MOMENT and not setting.name.endswith(_COUNTED):
            by_name[setting.name] = setting.value
    return scopes


_CHANGES_NAMED = 8


def changed_words(finding: LevelFinding) -> str:
    """Each setting that changed, with both values."""
    changes = (
        (change.scope, f"{change.name} was {_value_reported(change.before)}, is {_value_reported(change.after)}")
        for change in finding.changes
    )
    words = grouped_clauses(changes)
    more = [f"and {len(words) - _CHANGES_NAMED} more"] if len(words) > _CHANGES_NAMED else []
    return "; ".join([*words[:_CHANGES_NAMED], *more])


def _value_reported(value: str) -> str:
    return value or "not reported"


def changed_level(before: LevelFinding, after: LevelFinding, changes: Sequence[SettingChange]) -> LevelFinding:
    """What is to be said of a trial's level whose settings were other ones at its end.

    Where they give another level then, it had none: nobody knows for which messages which one held.
    """
    if not changes:
        return before
    changed = replace(before, changes=tuple(changes))
    if after.level == before.level:
        return changed
    begin, end = (f"level {finding.level}" if finding.level else "unknown" for finding in (before, after))
    held = f"{begin} until then, {end} after"
    reasons = (f"settings changed while it was measured, {held}: {changed_words(changed)}",)
    return replace(changed, level=None, reasoning=(*reasons, *after.reasoning), undecided=(held,), attested=NO_CUTS)


def describe_choice(choice: LevelChoice) -> str:
    """ "level 4 (journal)"."""
    return f"level {level_and_form(choice)}"


def level_and_form(choice: LevelChoice) -> str:
    """ "4 (journal)"."""
    return with_form(str(choice.level), choice.form)


def levels_found(results: Sequence[TrialResult]) -> dict[str, tuple[LevelChoice, LevelFinding]]:
    """Which level was asked and found, by system; of several trials the first that has a problem, else the first."""
    by_system: dict[str, tuple[LevelChoice, LevelFinding]] = {}
    for result in results:
        name = result.spec.system
        if name not in by_system or (as_asked(*by_system[name]) and not as_asked(result.spec.choice, result.level)):
            by_system[name] = (result.spec.choice, result.level)
    return dict(sorted(by_system.items()))


def as_asked(choice: LevelChoice, finding: LevelFinding) -> bool:
    """Whether the settings in force give the level that was asked for."""
    return (choice.as_found or finding.level == choice.level) and not finding.problems


def levels_equal(results: Sequence[TrialResult]) -> bool:
    """Whether all systems gave one and the same known level, at each point of a sweep.

    Trials of unequal levels must not be ranked.
    """
    points = results_by_point(results)
    return bool(points) and all(map(equal_at_point, points.values()))


def results_by_point(results: Sequence[TrialResult]) -> dict[str, list[TrialResult]]:
    """Results by the point of the sweep at which they were measured, in words."""
    points: dict[str, list[TrialResult]] = {}
    for result in results:
        points.setdefault(point_words(result.spec.point), []).append(result)
    return points


def equal_at_point(results: Sequence[TrialResult]) -> bool:
    """`levels_equal` of the trials of one point."""
    levels = {finding.level for _, finding in levels_found(results).values()}
    return len(levels) == 1 and None not in levels


SYNC_CALLS = ("fsync", "fdatasync", "msync", "sync", "syncfs")
"""System calls that return after the data is durable. Not sync_file_range(2): it leaves out metadata and the drive's
cache, as its manual page warns."""


@dataclass(frozen=True)
class SyncCall:
    """One call of `SYNC_CALLS` by a thread of a node's storage process. Times in ns of the monotonic clock."""

    node: str
    thread: int
    call: str
    entered_mono_ns: int
    left_mono_ns: int
    succeeded: bool


@dataclass(frozen=True)
class WatchedSyncs:
    """What was seen while the messages were sent.

    Attributes:
        calls: of all nodes, in any order.
        lost: records that the kernel dropped for want of space; more than 0 and nothing can be concluded.
        at_longest: where servers are on hosts with other clocks, the same calls with the longest that they can have
            lasted by the load generator's; `calls` are at their shortest, so that nobody is accused of what clocks
            leave open. None: on one clock.
    """

    calls: tuple[SyncCall, ...]
    lost: int = 0
    at_longest: tuple[SyncCall, ...] | None = None


def not_watched(reason: str) -> SyncFinding:
    """The finding where nobody could look."""
    return SyncFinding(Agreement.UNKNOWN, f"not watched: {reason}")


def copies_needed(level: int, copies: int) -> int:
    """How many of a message's real copies must be durable at a level, were it one with local sync."""
    return copies // 2 + 1 if level_named(level).replication_sync else 1


def judge_syncs(
    level: int, nodes: Sequence[str], copies: int, messages: Sequence[AckedMessage], watch: WatchedSyncs
) -> SyncFinding:
    """Compare what was seen with what a level means.

    Args:
        level: the level that the settings in force give, 1 to 4.
        nodes: names of the storage processes, one for each node, whether they made a call or not.
        copies: of each message, on as many of these nodes.
    """
    needed = copies_needed(level, copies)
    covered = [nodes_synced_for(message, watch.calls) for message in messages]
    synced = _count_synced(messages, watch.calls, needed)
    calls = {node: dict(sorted(Counter(c.call for c in watch.calls if c.node == node).items())) for node in nodes}
    if watch.lost or not messages:
        why = f"the kernel lost {watch.lost} records" if watch.lost else "no message was acknowledged"
        agreement, words = Agreement.UNKNOWN, f"inconclusive: {why}"
    else:
        agreement = _agreement_of_syncs(level_named(level).local_sync, synced, len(messages))
        words = _syncs_in_words(synced, len(messages), needed, len(nodes))
        if agreement is Agreement.MORE:
            words += f", more than level {level} asks for"
        surely = synced if watch.at_longest is None else _count_synced(messages, watch.at_longest, needed)
        if surely < synced:
            words += f"; of {synced - surely} the hosts' clocks leave it open"
    return SyncFinding(
        agreement=agreement,
        words=words,
        messages=len(messages),
        synced=synced,
        nodes_needed=needed,
        synced_by_node={node: sum(node in synced_nodes for synced_nodes in covered) for node in nodes},
        calls_by_node=calls,
    )


def _count_synced(messages: Sequence[AckedMessage], calls: Sequence[SyncCall], needed: int) -> int:
    return sum(len(nodes_synced_for(message, calls)) >= needed for message in messages)


def nodes_synced_for(message: AckedMessage, calls: Sequence[SyncCall]) -> frozenset[str]:
    """Nodes that began and ended a successful call between a message's sending and its acknowledgement."""
    return frozenset(
        call.node
        for call in calls
        if call.succeeded
        and call.call in SYNC_CALLS
        and message.sent_mono_ns <= call.entered_mono_ns
        and call.left_mono_ns <= message.acked_mono_ns
    )


def disagreement(level: LevelFinding) -> str:
    """Why the system can't be at a level with local sync although its settings say so; "" if nothing speaks against."""
    finding = level.syncs
    if finding is None or finding.agreement is not Agreement.CONTRADICTS:
        return ""
    nodes = finding.synced_by_node
    each = ", ".join(f"{node} before {count}" for node, count in nodes.items()) if len(nodes) > 1 else ""
    only = "only " if finding.synced else ""
    seen = sum(sum(counts.values()) for counts in finding.calls_by_node.values())
    return (
        f"the settings read back give level {level.level}, but {only}{finding.words}"
        f"{f' ({each})' if each else ''}; {seen} such calls were seen altogether"
    )


def _agreement_of_syncs(local_sync: bool, synced: int, messages: int) -> Agreement:
    if local_sync:
        return Agreement.AGREES if synced == messages else Agreement.CONTRADICTS
    return Agreement.MORE if synced == messages else Agreement.AGREES


def _syncs_in_words(synced: int, messages: int, needed: int, nodes: int) -> str:
    where = f" on at least {needed} of {nodes} nodes" if needed > 1 else f" on one of {nodes} nodes or more"
    count = "each" if synced == messages else synced or "none"
    return f"{count} of {messages} acknowledgements came after an fsync{where if nodes > 1 else ''}"


def evidence_of(watch: WatchedSyncs, messages: Sequence[AckedMessage]) -> Mapping[str, object]:
    """The evidence itself, for the run's files: each message with the nodes that synced for it, and each call."""
    return {
        "lost": watch.lost,
        "messages": [
            {
                "sent_mono_ns": message.sent_mono_ns,
                "acked_mono_ns": message.acked_mono_ns,
                "nodes_synced": sorted(nodes_synced_for(message, watch.calls)),
            }
            for message in messages
        ],
        "calls": sorted(watch.calls, key=lambda call: call.entered_mono_ns),
    }
