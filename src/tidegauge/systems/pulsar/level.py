"""Pulsar's settings for each durability level, and the level that settings in force really give. Pure.

Source: BookKeeper's server configuration. A bookie acknowledges an entry when its journal has it: with journalSyncData
after the fsync of the group, without it once written to the page cache, and with journalWriteData=false as soon as the
ledger storage has it in memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tidegauge.durability.levels import finding_of, level_of
from tidegauge.model.level import LevelChoice, LevelFinding
from tidegauge.model.server import Setting
from tidegauge.systems.pulsar.replication import COPIES_MAX, MAJORITY_OF_3, number_of, replication_of

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


def journal_settings(choice: LevelChoice) -> Mapping[str, str]:
    """The bookie's journal settings for a level; the form "journal" is the default of level 2 and 4."""
    if choice.level in (1, 3):
        return SYNCED
    return BYPASSED if choice.form == BYPASS else UNSYNCED


def quorum_settings(choice: LevelChoice, nodes: int) -> Mapping[str, str]:
    """Copies of each entry, and how many of them are awaited."""
    copies = min(nodes, COPIES_MAX)
    awaited = MAJORITY_OF_3 if choice.level in (1, 2) else 1
    return {
        "managedLedgerDefaultEnsembleSize": str(copies),
        "managedLedgerDefaultWriteQuorum": str(copies),
        "managedLedgerDefaultAckQuorum": str(min(awaited, copies)),
    }


def derive_level(settings: Sequence[Setting], choice: LevelChoice, nodes: int) -> LevelFinding:
    """What level these effective settings give. The weakest bookie and the weakest topic decide."""
    bookies = sorted({s.scope for s in settings if s.scope.startswith("bookie ")})
    if not bookies:
        return LevelFinding(None, (), ("no settings of any bookie were read back, so the level is unknown",))
    reasons: list[str] = []
    culprits: list[str] = []
    forms = set()
    for bookie in bookies:
        values = {s.name: s.value.lower() for s in settings if s.scope == bookie}
        form, reason, culprit = _journal_of(values)
        forms.add(form)
        reasons.append(f"{bookie}: {reason}")
        culprits += [f"{bookie}: {culprit}"] if culprit else []
    replication = replication_of(settings, nodes)
    reasons.append(replication.reason)
    level = level_of(replication_sync=replication.sync, local_sync=not culprits)
    if replication.sync != (choice.level in (1, 2)):
        culprits.extend(replication.culprits)
    form_problem = ""
    if choice.level in (2, 4):
        wanted_form = choice.form or JOURNAL
        other = forms - {wanted_form}
        form_problem = f"form '{wanted_form}' was asked for, '{'/'.join(sorted(other))}' is in force" if other else ""
        culprits = culprits or ["journalSyncData=true"]
    finding = finding_of(level, choice, reasons, culprits, form_problem)
    return replace(finding, problems=(*finding.problems, *replication.missing))


def _journal_of(values: Mapping[str, str]) -> tuple[str, str, str]:
    """Form of a bookie's journal, the reasoning, and the setting that prevents local sync ("" if none does)."""
    write, sync = values.get("journalWriteData"), values.get("journalSyncData")
    if write != "true":
        told = f"journalWriteData={write}"
        return BYPASS, f"{told}, so an acknowledged entry is in the ledger storage's memory only", told
    if sync != "true":
        told = f"journalSyncData={sync}"
        return JOURNAL, f"{told}, so an acknowledged entry is in the page cache, not yet on disk", told
    entries, syncs = number_of(values.get(JOURNAL_ENTRIES)), number_of(values.get(JOURNAL_SYNCS))
    if entries is not None and entries >= ENTRIES_FOR_WITNESS and syncs == 0:
        told = f"journalSyncData=true, yet {entries} entries caused no journal sync"
        return JOURNAL, told, told
    seen = f" ({syncs} journal syncs seen for {entries} entries)" if entries is not None and syncs is not None else ""
    return "synced", f"journalWriteData=true and journalSyncData=true: fsynced before it is acknowledged{seen}", ""
