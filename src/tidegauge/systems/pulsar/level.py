"""Pulsar's settings for each durability level, the level that settings in force really give, and its copies. Pure.

Source: a ledger is made with an ensemble (bookies), a write quorum (copies of each entry) and an ack quorum (copies
awaited). A topic's next ledger takes them from the policy of the topic, else of the namespace, else from the broker's
defaults; the ledger that is open now has them from when it was made.

Source: BookKeeper's server configuration. A bookie acknowledges an entry when its journal has it: with journalSyncData
after the fsync of the group, without it once written to the page cache, and with journalWriteData=false as soon as the
ledger storage has it in memory.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tidegauge.distribution.coordinates import is_before
from tidegauge.durability import HalfOfLevel, find_level, grouped_clauses, is_majority, no_level, weakest
from tidegauge.model.level import LevelChoice, LevelFinding
from tidegauge.model.server import Setting, by_scope, listed_entries, scopes_of, values_of

COPIES_MAX = 3
MAJORITY_OF_3 = 2
OWNERS, NOBODY = "partition.owners.by.partition", "none"
"""Brokers in the order of partitions, with "none" for one that nobody owns; left out for topics with very many."""
RUNNING, READ_ONLY = "state.running", "state.readOnly"


BROKER_QUORUMS = (
    "managedLedgerDefaultEnsembleSize",
    "managedLedgerDefaultWriteQuorum",
    "managedLedgerDefaultAckQuorum",
)
_POLICIES = ("bookkeeperEnsemble", "bookkeeperWriteQuorum", "bookkeeperAckQuorum")
_LEDGERS = ("ledger.ensembleSize", "ledger.writeQuorumSize", "ledger.ackQuorumSize")
"""Where each of these says ensemble, copies and copies awaited."""


@dataclass(frozen=True)
class Quorum:
    """What some setting in force says; None where it does not say. `said` is the setting, for messages."""

    source: str
    said: str
    ensemble: int | None
    copies: int | None
    awaited: int | None

    @property
    def sync(self) -> bool | None:
        """Whether an acknowledgement waits for a majority of the copies; None where that is not said."""
        if self.awaited == 1 or self.copies == 1:
            return False
        if self.awaited is None or self.copies is None:
            return None
        return is_majority(self.awaited, self.copies)

    @property
    def shown(self) -> str:
        """The setting with what it is to be compared with."""
        return f"{self.said} of {self.copies} copies" if self.copies else self.said


@dataclass(frozen=True)
class Replication:
    """`parts`: whether a majority has a message when it is acknowledged, by the settings that make it so or not."""

    parts: tuple[HalfOfLevel, ...]
    caveats: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


def replication_of(settings: Sequence[Setting], nodes: int) -> Replication:
    """What these effective settings give. The weakest topic decides."""
    brokers = [
        _quorum_from_values(
            scope,
            f"managedLedgerDefaultAckQuorum={values.get(BROKER_QUORUMS[-1]) or 'not reported'}",
            values,
            BROKER_QUORUMS,
        )
        for scope, values in ((scope, values_of(settings, scope)) for scope in scopes_of(settings, "broker "))
    ]
    policies = list(_namespace_policies(settings))
    ledgers = list(_open_ledger_quorums(settings))
    if nodes < MAJORITY_OF_3:
        quorums = "/".join(sorted({str(quorum.awaited) for quorum in brokers})) or "not reported"
        reason = f"managedLedgerDefaultAckQuorum={quorums}: there is no second copy"
        return Replication((HalfOfLevel("one bookie", False, reason),))
    # For the ledgers to come: the policy in force, where a topic reports it, else where it comes from.
    topics = [
        _of_policy(scope, "persistence policy that applies: ", values)
        for scope, values in ((scope, values_of(settings, scope)) for scope in scopes_of(settings))
        if "bookkeeperAckQuorum" in values
    ]
    deciding = [*(topics or policies or brokers), *ledgers]
    if not deciding:
        return Replication((HalfOfLevel("cluster", None, "no ack quorum was read back"),))
    sync = weakest([HalfOfLevel(quorum.source, quorum.sync, quorum.said) for quorum in deciding])
    # The place where it was set says more than the topic where it shows.
    causes = [quorum for quorum in (policies or brokers) if quorum.sync is sync] or [
        quorum for quorum in deciding if quorum.sync is sync
    ]
    bookies = f"over {nodes} bookies"
    parts = tuple(HalfOfLevel(quorum.source, sync, f"{quorum.shown} {bookies}", quorum.said) for quorum in causes)
    caveats = grouped_clauses(
        (quorum.source, caveat) for quorum in deciding for caveat in _quorum_caveats(quorum, nodes)
    )
    ensemble = max((quorum.ensemble for quorum in deciding if quorum.ensemble), default=min(nodes, COPIES_MAX))
    return Replication(parts, tuple(caveats), _ensemble_problems(ensemble, settings, nodes))


def _quorum_caveats(quorum: Quorum, nodes: int) -> Iterator[str]:
    """What must be read with the level of ledgers with such quorums."""
    ensemble, copies, awaited = quorum.ensemble, quorum.copies, quorum.awaited
    usual = min(nodes, COPIES_MAX)
    if copies is not None and copies != usual:
        yield f"write quorum {copies}, where {usual} copies are usual on {nodes} bookies"
    if ensemble is not None and copies is not None and ensemble > copies:
        yield f"ensemble {ensemble}: entries are spread over {ensemble} bookies, {copies} copies of each"
    if awaited is not None and awaited == copies and copies > 1:
        more = ", which is more than a majority" if copies > MAJORITY_OF_3 else ""
        yield f"{awaited} of {copies} copies are awaited{more}: without another bookie, one that is lost stops writes"


def incomplete(settings: Sequence[Setting], nodes: int) -> str:
    """What is still missing of bookies, brokers, and owners of the partitions read back; "" if nothing is."""
    missing = list(missing_bookies(settings, nodes)) if nodes > 1 else []
    cluster = {s.name: number_of(s.value) for s in settings if s.scope == "cluster"}
    active, started = cluster.get("brokers"), cluster.get("brokers.started")
    if active is not None and started is not None and active < started:
        missing.append(f"{active} of {started} brokers are active")
    for setting in settings:
        if setting.name == "partitions.unowned" and number_of(setting.value) != 0:
            missing.append(f"{setting.scope}: {setting.value} partitions have no broker")
    return "; ".join(missing)


def owners_of_partitions(settings: Sequence[Setting]) -> Mapping[str, str]:
    """The broker that owns each "topic-partition" ("127.0.0.1:8080"); those that nobody owns are left out."""
    return {place: owner for place, owner in listed_entries(settings, OWNERS) if owner != NOBODY}


def missing_bookies(settings: Sequence[Setting], nodes: int) -> tuple[str, ...]:
    """Bookies that reported nothing, do not run, or take no writes; () if there are none."""
    bookies = scopes_of(settings, "bookie ")
    unread = f"settings of only {len(bookies)} of {nodes} bookies were read back"
    problems = (unread,) if len(bookies) < nodes else ()
    return (*problems, *(problem for bookie in bookies if (problem := _not_writable(settings, bookie))))


def _not_writable(settings: Sequence[Setting], bookie: str) -> str:
    """Why a bookie takes no writes; "" if it does or does not say."""
    values = values_of(settings, bookie)
    if values.get(RUNNING, "true") != "true":
        return f"{bookie} does not run"
    return f"{bookie} is read-only" if values.get(READ_ONLY, "false") != "false" else ""


def _ensemble_problems(ensemble: int, settings: Sequence[Setting], nodes: int) -> tuple[str, ...]:
    """Why entries can't have all their copies; () if they can. More bookies than an ensemble are spare."""
    bookies = scopes_of(settings, "bookie ")
    writable = sum(not _not_writable(settings, bookie) for bookie in bookies)
    if writable >= ensemble:
        return ()
    reason = "; ".join(missing_bookies(settings, nodes)) or f"there are {nodes}"
    # Of one whose settings were not read nobody knows.
    qualifier = " as far as is known" if len(bookies) < nodes else ""
    return (f"{writable} bookies take writes{qualifier}, where an ensemble of {ensemble} is asked for: {reason}",)


def _namespace_policies(settings: Sequence[Setting]) -> Iterator[Quorum]:
    for setting in settings:
        if not (setting.scope.startswith("namespace ") and setting.name == "persistence" and setting.value):
            continue
        try:
            policy = {name: str(value) for name, value in dict(json.loads(setting.value)).items()}
        except (ValueError, TypeError):
            continue
        yield _of_policy(setting.scope, "persistence policy, which overrides the brokers' default: ", policy)


def _of_policy(source: str, kind: str, values: Mapping[str, str]) -> Quorum:
    return _quorum_from_values(
        source, f"{kind}bookkeeperAckQuorum={values.get('bookkeeperAckQuorum')}", values, _POLICIES
    )


def _open_ledger_quorums(settings: Sequence[Setting]) -> Iterator[Quorum]:
    for scope in scopes_of(settings):
        values = values_of(settings, scope)
        awaited = values.get("ledger.ackQuorumSize")
        if awaited is not None:
            yield _quorum_from_values(scope, f"ackQuorumSize={awaited} of its open ledger", values, _LEDGERS)


def _quorum_from_values(source: str, said: str, values: Mapping[str, str], names: tuple[str, str, str]) -> Quorum:
    return Quorum(source, said, *(number_of(values.get(name)) for name in names))


def number_of(text: str | None) -> int | None:
    """The whole number that a setting's value is; None if it is none."""
    try:
        return int(float(text)) if text is not None else None
    except (ValueError, OverflowError):
        return None


JOURNAL, BYPASS = "journal", "bypass"
JOURNAL_SYNCS = "journal syncs so far"
JOURNAL_ENTRIES = "journal entries so far"
# Fewer entries than this may all be waiting for their group's fsync.
ENTRIES_FOR_WITNESS = 10

SYNCED = {"journalWriteData": "true", "journalSyncData": "true", "journalMaxGroupWaitMSec": "1"}
UNSYNCED = {
    "journalWriteData": "true",
    "journalSyncData": "false",
    "journalMaxGroupWaitMSec": "1",
    "journalPageCacheFlushIntervalMSec": "1000",
}
BYPASSED = {"journalWriteData": "false", "journalSyncData": "false", "journalMaxGroupWaitMSec": "1"}


_BYPASS_SINCE = (2, 8)
"""BookKeeper can do without its journal (`journalWriteData`) since 4.14, which Pulsar has since 2.8."""


def forms_of_version(version: str) -> tuple[str, ...]:
    """In which ways a version does without a sync. A directory is taken for a new one."""
    return (JOURNAL,) if is_before(version, _BYPASS_SINCE) else (JOURNAL, BYPASS)


def journal_settings(choice: LevelChoice) -> Mapping[str, str]:
    """The bookie's journal settings for a level; the form "journal" is the default of level 2 and 4."""
    if choice.level in (1, 3):
        return SYNCED
    return BYPASSED if choice.form == BYPASS else UNSYNCED


def quorum_settings(choice: LevelChoice, nodes: int) -> Mapping[str, str]:
    """Copies of each entry, and how many of them are awaited."""
    copies = min(nodes, COPIES_MAX)
    awaited = MAJORITY_OF_3 if choice.level in (1, 2) else 1
    return dict(zip(BROKER_QUORUMS, map(str, (copies, copies, min(awaited, copies))), strict=True))


def derive_level(settings: Sequence[Setting], choice: LevelChoice, nodes: int) -> LevelFinding:
    """What level these effective settings give. The weakest bookie and the weakest topic decide."""
    bookies = by_scope(settings, "bookie ")
    if not bookies:
        return no_level("no settings of any bookie were read back")
    journals = {
        bookie: _journal_of({name: value.lower() for name, value in values.items()})
        for bookie, values in bookies.items()
    }
    local = [HalfOfLevel(bookie, journal.synced, journal.reason, journal.cause) for bookie, journal in journals.items()]
    replication = replication_of(settings, nodes)
    form_problem = ""
    if choice.level in (2, 4):
        wanted_form = choice.form or JOURNAL
        other = {journal.form for journal in journals.values() if journal.form} - {wanted_form}
        form_problem = f"form '{wanted_form}' was asked for, bookies have '{'/'.join(sorted(other))}'" if other else ""
    windows = grouped_clauses(
        (bookie, caveat)
        for bookie, values in bookies.items()
        for caveat in _page_cache_window(journals[bookie], values)
    )
    finding = find_level(
        choice, replication.parts, local, caveats=[*replication.caveats, *windows], form_problem=form_problem
    )
    return replace(finding, problems=(*finding.problems, *replication.missing))


@dataclass(frozen=True)
class _Journal:
    """`form`: "synced", `JOURNAL` or `BYPASS`, "" where it is not known. `cause`: what prevents local sync, if any."""

    form: str
    synced: bool | None
    reason: str
    cause: str = ""


def _journal_of(values: Mapping[str, str]) -> _Journal:
    """What a bookie does with an entry before it acknowledges it. Two settings decide; neither has a default here."""
    write, sync = values.get("journalWriteData"), values.get("journalSyncData")
    if write is None:
        return _Journal("", None, "journalWriteData is not reported")
    if write != "true":
        cause = f"journalWriteData={write}"
        return _Journal(
            BYPASS, False, f"{cause}, so an acknowledged entry is in the ledger storage's memory only", cause
        )
    if sync is None:
        return _Journal("", None, "journalSyncData is not reported")
    if sync != "true":
        cause = f"journalSyncData={sync}"
        return _Journal(
            JOURNAL, False, f"{cause}, so an acknowledged entry is in the page cache, not yet on disk", cause
        )
    entries, syncs = number_of(values.get(JOURNAL_ENTRIES)), number_of(values.get(JOURNAL_SYNCS))
    if entries is not None and entries >= ENTRIES_FOR_WITNESS and syncs == 0:
        cause = f"journalSyncData=true, yet {entries} entries caused no journal sync"
        return _Journal(JOURNAL, False, cause, cause)
    seen = f" ({syncs} journal syncs seen for {entries} entries)" if entries is not None and syncs is not None else ""
    both = "journalWriteData=true and journalSyncData=true: fsynced before it is acknowledged"
    return _Journal("synced", True, f"{both}{seen}", "journalSyncData=true")


def _page_cache_window(journal: _Journal, values: Mapping[str, str]) -> Iterator[str]:
    """Says for how long an acknowledged entry may be in the page cache only: the journal is synced by time anyway."""
    interval = values.get("journalPageCacheFlushIntervalMSec")
    if journal.form == JOURNAL and interval and values.get("journalSyncData", "").lower() == "false":
        yield f"journalPageCacheFlushIntervalMSec={interval}: about {interval} ms of entries are in the page cache only"
