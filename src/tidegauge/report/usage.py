"""What limited results, their part of the machine's ceilings, and what they cost: tables, sentences, plain data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from tidegauge.comparison.blocks import blocks
from tidegauge.hosts.ceilings import SYNC_SMALL_BYTES, DiskCeiling, RunCeilings
from tidegauge.model.trial import TrialResult, point_words
from tidegauge.model.use import Limiting, Resource
from tidegauge.numbers import MISSING, SHARE_MIN, count, duration, mb_per_s, ms, percent, plural, precise
from tidegauge.plain import plain
from tidegauge.report.layout import Column, ColumnGroup, FigureTable, Paragraph
from tidegauge.store.read import StoredRun
from tidegauge.usage import Basis, Ceiling, Cost, Share, cost, shares

MOST = 0.5
"""Of repeated trials, more than half must agree, or none is told."""
TRIALS_MAX = 3
"""Named of those in which the same was found."""


def limited_by(results: Sequence[TrialResult]) -> Limiting | None:
    """What limited most of these trials of one system; None where nothing was recorded or they disagree."""
    found = [result.limiting for result in results if result.limiting is not None]
    if not found:
        return None
    (resource, count), *_ = Counter(one.resource for one in found).most_common(1)
    if count <= MOST * len(found):
        return None
    alike = [one for one in found if one.resource is resource]
    return max(alike, key=lambda one: one.share or 0.0)


def cell(result: TrialResult) -> str:
    """For a column."""
    return result.limiting.told if result.limiting else MISSING


def sentence(result: TrialResult) -> str:
    """The evidence; "" where nothing was recorded. What was offered and came through needs none of its own."""
    found = result.limiting
    if found is None or (found.resource is Resource.OFFERED and not found.others):
        return ""
    at = f" at {point_words(result.spec.point)}" if result.spec.point else ""
    subject = f"{result.spec.experiment}, {result.spec.label}{at}"
    if found.resource is Resource.OFFERED:
        return f"{subject}: the rate offered came through, near the limit of {'; '.join(found.others)}."
    also = f" Also: {'; '.join(found.others)}." if found.others else ""
    what = f"limited by {found.told}" if found.resource is not Resource.UNKNOWN else "what limited it is not identified"
    return f"{subject}: {what}: {found.words}.{also}"


def further(results: Sequence[TrialResult], told: Sequence[TrialResult]) -> list[str]:
    """What was found in other trials than those whose sentence is `told` (repeated, tried, left out): a line for each.

    One that the sentence of the same experiment, system and point has is not repeated.
    """
    known = {(_where(result), name) for result in told for name, _words in _findings(result)}
    told_ids = {result.spec.trial_id for result in told}
    words_of: dict[str, str] = {}
    trials: dict[str, list[str]] = {}
    for result in results:
        for name, words in _findings(result):
            if result.spec.trial_id not in told_ids and (_where(result), name) not in known:
                words_of.setdefault(name, words)
                trials.setdefault(name, []).append(result.spec.trial_id)
    return [f"Near a limit also in {_listed(trials[name])}: {words}." for name, words in words_of.items()]


def _where(result: TrialResult) -> tuple[str, str, str]:
    return (result.spec.experiment, result.spec.system, point_words(result.spec.point))


def _findings(result: TrialResult) -> list[tuple[str, str]]:
    """Each resource that was found, with the evidence; its name has no share, which differs from trial to trial."""
    found = result.limiting
    if found is None:
        return []
    nothing = found.resource in (Resource.OFFERED, Resource.UNKNOWN)
    clauses = [*([] if nothing else [f"{found.told}: {found.words}"]), *found.others]
    return [(clause.partition(": ")[0].partition(" (")[0], clause) for clause in clauses]


def _listed(trial_ids: Sequence[str]) -> str:
    more = f" and {len(trial_ids) - TRIALS_MAX} more" if len(trial_ids) > TRIALS_MAX else ""
    return f"{', '.join(trial_ids[:TRIALS_MAX])}{more}"


ROWS_MAX = 24
"""Of a sweep, in a table; --json has every trial."""
TITLE = "Of what this machine can do"


@dataclass(frozen=True)
class Used:
    """One result with its shares and its cost (None without a price, or where it has none)."""

    result: TrialResult
    shares: tuple[Share, ...]
    cost: Cost | None

    @property
    def label(self) -> str:
        """Experiment, system and point of the sweep."""
        at = point_words(self.result.spec.point)
        return f"{self.result.spec.experiment} {self.result.spec.label}" + (f" at {at}" if at else "")

    @property
    def is_throughput(self) -> bool:
        """Whether its rate is an answer and not what was asked for: a closed loop's, or a confirmed one."""
        return self.result.spec.exploratory or self.result.offered_msgs_per_s is None

    def share(self, of: Ceiling, where: str) -> Share | None:
        """That of one ceiling."""
        return next((one for one in self.shares if one.of is of and one.where == where), None)


def used(run: StoredRun) -> list[Used]:
    """Every result that tables show, and the confirmations of what was searched, in the order of measuring."""
    confirmed = {goal.confirmation_trial_id for finding in run.findings for goal in finding.goals}
    return [
        _used(result, run) for result in run.results if not result.spec.exploratory or result.spec.trial_id in confirmed
    ]


def _used(result: TrialResult, run: StoredRun) -> Used:
    found = shares(result, run.ceilings) if run.ceilings is not None else ()
    return Used(result, found, cost(result, run.price) if run.price is not None else None)


def content(run: StoredRun) -> dict[str, Any]:
    """Ceilings, price, and of each result its shares and cost; by trial."""
    return {
        "ceilings": plain(run.ceilings),
        "price": plain(run.price),
        "usage": [
            {
                "trial_id": one.result.spec.trial_id,
                "system": one.result.spec.system,
                "experiment": one.result.spec.experiment,
                "msgs_per_s": one.result.msgs_per_s,
                "mb_per_s": one.result.mb_per_s,
                "shares": plain(one.shares),
                "cost": plain(one.cost),
                "limiting": plain(one.result.limiting),
            }
            for one in used(run)
        ],
    }


def rows(run: StoredRun) -> list[Used]:
    """One for each line of a table: of repeated trials the one with the middle rate, of a search its confirmation."""
    every = {one.result.spec.trial_id: one for one in used(run)}
    found = []
    for block in blocks(run.results):
        for system in block.systems:
            by_rate = sorted(block.usable(system), key=lambda result: result.msgs_per_s)
            if by_rate:
                found.append(every.pop(by_rate[(len(by_rate) - 1) // 2].spec.trial_id))
    found += [one for one in every.values() if one.result.spec.exploratory]
    return [one for one in found if one.shares or one.cost is not None or one.result.limiting is not None]


def parts(run: StoredRun) -> Iterable[RenderableType]:
    """Heading, table and what it means; nothing where neither ceilings nor a price are known."""
    found = rows(run)
    table = usage_table(found[:ROWS_MAX])
    told = notes(run, found)
    if table is None and not told:
        return
    yield Text(title(found), style="bold")
    if table is not None:
        yield table
    if len(found) > ROWS_MAX:
        yield Text(f"... and {len(found) - ROWS_MAX} rows more; --json has every trial.")
    for note in told:
        yield Paragraph(note, "dim")


def title(found: Sequence[Used]) -> str:
    """What the table is about."""
    if any(one.shares for one in found):
        return TITLE
    return "What it costs" if any(one.cost for one in found) else "What limited it"


def usage_table(found: Sequence[Used]) -> FigureTable | None:
    """Shares by disk, loopback, cost; None without any."""
    groups = [*_limiting_groups(found), *_share_groups(found), *_cost_groups(found)]
    if not groups:
        return None
    return FigureTable("result", tuple(one.label for one in found), tuple(groups), label_chars_max=32)


def _limiting_groups(found: Sequence[Used]) -> Iterable[ColumnGroup]:
    if any(one.result.limiting for one in found):
        yield ColumnGroup("", (Column("limited by", tuple(cell(one.result) for one in found), words=True),))


def _share_groups(found: Sequence[Used]) -> Iterable[ColumnGroup]:
    for where in dict.fromkeys(share.where for one in found for share in one.shares):
        kinds = [of for of in Ceiling if any(one.share(of, where) for one in found)]
        columns = tuple(
            Column(str(kind), tuple(_share_cell(one.share(kind, where)) for one in found)) for kind in kinds
        )
        yield ColumnGroup(f"share of {where}" if where else "share", columns)


def _share_cell(share: Share | None) -> str:
    if share is None:
        return MISSING
    if share.basis is Basis.COMPUTED:
        return f">= {percent(share.share)}" if share.share >= SHARE_MIN else "> 0%"
    return percent(share.share)


def _cost_groups(found: Sequence[Used]) -> Iterable[ColumnGroup]:
    known = next((one.cost for one in found if one.cost is not None), None)
    if known is None:
        return
    columns = (
        Column("1 GB/s for 1 h", tuple(precise(one.cost.per_gb_per_s_hour if one.cost else None) for one in found)),
        Column("10^9 messages", tuple(precise(one.cost.per_billion_messages if one.cost else None) for one in found)),
    )
    yield ColumnGroup(f"cost, {known.currency}" if known.currency else "cost", columns)


def notes(run: StoredRun, found: Sequence[Used]) -> list[str]:
    """What limited every trial; what the shares are of and how sure they are; what the cost is made of."""
    shown = [one.result for one in found[:ROWS_MAX]]
    told = [*filter(None, map(sentence, shown)), *further(run.results, shown)]
    if run.ceilings is not None and any(one.shares for one in found):
        told.append(ceiling_words(run.ceilings))
        if any(share.basis is Basis.COMPUTED for one in found for share in one.shares):
            told.append(
                ">=: the least. Of bytes, what message values need, once for each copy, reader and journal "
                "apart; headers and indexes come on top. Of syncs, flushes of the disk's cache."
            )
        disks = run.ceilings.ceilings.disks
        told += [f"DOUBTFUL ceiling of {disk.name}: {doubt}." for disk in disks for doubt in disk.doubts]
        if run.ceilings.ceilings.doubtful:
            load = run.ceilings.ceilings.load_average
            told.append(f"DOUBTFUL ceilings: the load average was {load:.1f} when they were measured.")
    costs = [one.cost for one in found if one.cost is not None]
    if run.price is not None and costs:
        hosts = max(one.hosts for one in costs)
        told.append(f"Cost: {run.price} a host and hour, {plural(hosts, 'host')}, at the rate measured.")
    return told


def ceiling_words(known: RunCeilings) -> str:
    """The ceilings in a sentence, with their age."""
    ceilings = known.ceilings
    told = [_disk_words(disk) for disk in ceilings.disks]
    if ceilings.loopback is not None:
        loopback = ceilings.loopback
        many = f", in {loopback.many} {mb_per_s(loopback.many_bytes_per_s)}" if loopback.many_bytes_per_s else ""
        told.append(f"loopback {mb_per_s(loopback.bytes_per_s)} in one connection{many}")
    age = f"{duration(round(known.age_s))} before the run" if known.reused else "before the first trial"
    when = f"measured {age}"
    return f"Ceilings, {when}: {'; '.join(told)}."


def _disk_words(disk: DiskCeiling) -> str:
    sustained = f" ({mb_per_s(disk.sustained_write_bytes_per_s)} sustained)" if disk.sustained_write_bytes_per_s else ""
    writes, reads = (mb_per_s(rate, "not measured") for rate in (disk.write_bytes_per_s, disk.read_bytes_per_s))
    parts = [f"writes {writes}{sustained}", f"reads {reads}"]
    if disk.syncs_per_s is not None:
        single = disk.sync("fdatasync", SYNC_SMALL_BYTES)
        time = f" (one alone takes {ms(single.p50_ms)} ms)" if single else ""
        parts.append(f"{count(disk.syncs_per_s)} syncs/s{time}")
    return f"{disk.name} {', '.join(parts)}"
