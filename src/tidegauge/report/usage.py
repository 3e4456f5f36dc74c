"""What limited results, their part of the machine's ceilings, and what they cost: tables, sentences, plain data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.console import RenderableType
from rich.text import Text

from tidegauge.comparison.order import compared_trials_of
from tidegauge.model.ceilings import SYNC_SMALL_BYTES, DiskCeiling, RunCeilings
from tidegauge.model.disturbance import taken_words
from tidegauge.model.trial import MeasuredResult, point_words
from tidegauge.model.use import Limiting, Resource
from tidegauge.numbers import MISSING, SHARE_MIN, count, duration, join_first, mb_per_s, ms, percent, plural, precise
from tidegauge.plain import grouped
from tidegauge.report.layout import Column, ColumnGroup, FigureTable, Paragraph, columns, heading
from tidegauge.store.read import StoredRun
from tidegauge.usage import Basis, Ceiling, CeilingShare, Cost, ceiling_shares, cost

MOST = 0.5
"""Of repeated trials, more than half must agree, or none is named."""
STEAL_SHOWN_MIN = 0.01
"""CPUs that a hypervisor held back at least where that is mentioned."""
TRIALS_MAX = 3
"""How many trials are named of those in which the same was found."""


def limited_by(results: Sequence[MeasuredResult]) -> Limiting | None:
    """What limited most of these trials of one system; None where nothing was recorded or they disagree."""
    limits = [result.limiting for result in results if result.limiting is not None]
    if not limits:
        return None
    (resource, count), *_ = Counter(limiting.resource for limiting in limits).most_common(1)
    if count <= MOST * len(limits):
        return None
    alike = [limiting for limiting in limits if limiting.resource is resource]
    return max(alike, key=lambda limiting: limiting.share or 0.0)


def sentence(result: MeasuredResult) -> str:
    """What limited a trial, with the evidence; "" where nothing was recorded, or just what was offered came through."""
    limiting = result.limiting
    if limiting is None or (limiting.resource is Resource.OFFERED and not limiting.others):
        return ""
    at = f" at {point_words(result.spec.point)}" if result.spec.point else ""
    subject = f"{result.spec.experiment}, {result.spec.label}{at}"
    near = "; ".join(map(str, limiting.others))
    if limiting.resource is Resource.OFFERED:
        return f"{subject}: {limiting.words}, near the limit of {near}."
    also = f" Also: {near}." if near else ""
    unknown = limiting.resource is Resource.UNKNOWN
    what = "what limited it is not identified" if unknown else f"limited by {limiting.summary}"
    return f"{subject}: {what}: {limiting.words}.{also}"


def further_sentences(results: Sequence[MeasuredResult], shown: Sequence[MeasuredResult]) -> list[str]:
    """What was found in other trials than those whose sentence is `shown` (repeated, tried, left out): one line each.

    One that the sentence of the same experiment, system and point has is not repeated.
    """
    findings_shown = {(result.spec.question, name) for result in shown for name, _words in _resources_found(result)}
    shown_ids = {result.spec.trial_id for result in shown}
    others = grouped(
        (name, (result.spec.trial_id, words))
        for result in results
        for name, words in _resources_found(result)
        if result.spec.trial_id not in shown_ids and (result.spec.question, name) not in findings_shown
    )
    # What the first of them says stands for all.
    return [
        f"Near a limit in {join_first([trial for trial, _ in group], TRIALS_MAX)}: {group[0][1]}."
        for group in others.values()
    ]


def other_programs_words(results: Sequence[MeasuredResult]) -> list[str]:
    """How much of the CPUs programs that are no part of it had, in the trial where that was most."""
    accounts = [
        (account, result) for result in results for account in result.accounts if account.disturbing is not None
    ]
    if not accounts:
        return []
    worst, result = max(accounts, key=lambda item: (item[0].disturbing or 0.0) / item[0].cpus)
    stolen = max(account.stolen for account, _ in accounts)
    steal = f"; a hypervisor held back at most {stolen:.2f}" if stolen >= STEAL_SHOWN_MIN else ""
    unknown = any(account.disturbing is None for each in results for account in each.accounts)
    most = "as far as it is known at most" if unknown else "at most"
    return [f"Other programs took {most} {taken_words(worst)}, in {result.spec.trial_id}{steal}."]


def _resources_found(result: MeasuredResult) -> list[tuple[str, str]]:
    """Each resource that was found, with the evidence; its name has no share, which differs from trial to trial."""
    limiting = result.limiting
    if limiting is None:
        return []
    nothing = limiting.resource in (Resource.OFFERED, Resource.UNKNOWN)
    return [(clause.name, str(clause)) for clause in (*([] if nothing else [limiting.as_near]), *limiting.others)]


ROWS_MAX = 24
"""How many rows of a sweep a table has; --json has every trial."""
TITLE, TITLE_OF_FLEET = "Of what its host can do", "Of what its hosts can do"


@dataclass(frozen=True)
class Used:
    """One result with its shares and its cost (None without a price, or where it has none)."""

    result: MeasuredResult
    shares: tuple[CeilingShare, ...]
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

    def share(self, of: Ceiling, where: str) -> CeilingShare | None:
        """The share of one ceiling; None without."""
        return next((share for share in self.shares if share.of is of and share.where == where), None)


def results_used(run: StoredRun) -> list[Used]:
    """Every result that tables show, and the confirmations of what was searched, in the order of measuring."""
    asked = [result for result in run.measured if not result.spec.exploratory or result.spec.trial_id in run.confirmed]
    return [
        Used(
            result,
            ceiling_shares(result, run.ceilings) if run.ceilings is not None else (),
            cost(result, run.price) if run.price is not None else None,
        )
        for result in asked
    ]


def rows(run: StoredRun) -> list[Used]:
    """Results that tables show: of repeated trials the one with the middle rate, of a search its confirmation."""
    every = {row.result.spec.trial_id: row for row in results_used(run)}
    table_rows = []
    for compared in compared_trials_of(run):
        for system in compared.systems:
            by_rate = sorted(compared.usable(system), key=lambda result: result.msgs_per_s)
            if by_rate:
                table_rows.append(every.pop(by_rate[(len(by_rate) - 1) // 2].spec.trial_id))
    table_rows += [row for row in every.values() if row.result.spec.exploratory]
    return [row for row in table_rows if row.shares or row.cost is not None or row.result.limiting is not None]


def parts(run: StoredRun) -> Iterable[RenderableType]:
    """Heading, table and what it means; nothing where neither ceilings nor a price are known."""
    table_rows = rows(run)
    table = usage_table(table_rows[:ROWS_MAX])
    lines = notes(run, table_rows)
    if table is None and not lines:
        return
    yield heading(title(table_rows))
    if table is not None:
        yield table
    yield from map(Text, more_words(table_rows))
    for note in lines:
        yield Paragraph(note, "dim")


def more_words(table_rows: Sequence[Used]) -> list[str]:
    """What a table leaves out of these rows; [] where it has them all."""
    more = len(table_rows) - ROWS_MAX
    return [f"... and {more} rows more; --json has every trial."] if more > 0 else []


def title(table_rows: Sequence[Used]) -> str:
    """What the table is about."""
    if any(row.shares for row in table_rows):
        return TITLE_OF_FLEET if any(row.result.spec.apart for row in table_rows) else TITLE
    return "What it costs" if any(row.cost for row in table_rows) else "What limited it"


def usage_table(table_rows: Sequence[Used]) -> FigureTable | None:
    """Shares by disk, loopback, cost; None without any."""
    limits = tuple(row.result.limiting.summary if row.result.limiting else MISSING for row in table_rows)
    groups: list[ColumnGroup] = []
    for where in dict.fromkeys(share.where for row in table_rows for share in row.shares):
        kinds = [of for of in Ceiling if any(row.share(of, where) for row in table_rows)]
        each = (Column(str(kind), tuple(_share_cell(row.share(kind, where)) for row in table_rows)) for kind in kinds)
        groups.append(ColumnGroup(f"share of {where}" if where else "share", tuple(each)))
    groups += _cost_groups(table_rows)
    if any(row.result.limiting for row in table_rows):
        groups.insert(0, ColumnGroup("", (Column("limited by", limits, words=True),)))
    if not groups:
        return None
    return FigureTable("result", tuple(row.label for row in table_rows), tuple(groups), label_chars_max=32)


def _share_cell(share: CeilingShare | None) -> str:
    if share is None:
        return MISSING
    if share.basis is Basis.COMPUTED:
        return f">= {percent(share.share)}" if share.share >= SHARE_MIN else "> 0%"
    return percent(share.share)


def _cost_groups(table_rows: Sequence[Used]) -> Iterable[ColumnGroup]:
    first_cost = next((row.cost for row in table_rows if row.cost is not None), None)
    if first_cost is None:
        return
    cells = columns(
        [row.cost for row in table_rows],
        {
            "1 GB/s for 1 h": lambda paid: precise(paid.per_gb_per_s_hour if paid else None),
            "10^9 messages": lambda paid: precise(paid.per_billion_messages if paid else None),
        },
    )
    yield ColumnGroup(f"cost, {first_cost.currency}" if first_cost.currency else "cost", cells)


def notes(run: StoredRun, table_rows: Sequence[Used]) -> list[str]:
    """What limited every trial; what the shares are of and how sure they are; what the cost is made of."""
    shown = [row.result for row in table_rows[:ROWS_MAX]]
    lines = [
        *filter(None, map(sentence, shown)),
        *further_sentences(run.measured, shown),
        *other_programs_words(run.measured),
    ]
    if run.ceilings is not None and any(row.shares for row in table_rows):
        lines.append(ceiling_words(run.ceilings))
        bounded = {share.of for row in table_rows for share in row.shares if share.basis is Basis.COMPUTED}
        if bounded - {Ceiling.SYNCS}:
            lines.append(
                ">= of bytes: a lower bound. They count message values only, once for each copy, each reader and each "
                "separate journal; headers and indexes come on top."
            )
        if Ceiling.SYNCS in bounded:
            lines.append(">= of syncs: a lower bound. They are flushes of the disk's cache, which syncs may share.")
        disks = run.ceilings.ceilings.disks
        lines += [f"DOUBTFUL ceiling of {disk.name}: {doubt}." for disk in disks for doubt in disk.doubts]
        if run.ceilings.ceilings.doubtful:
            load = run.ceilings.ceilings.load_average
            lines.append(f"DOUBTFUL ceilings: the load average was {load:.1f} when they were measured.")
    costs = [row.cost for row in table_rows if row.cost is not None]
    if run.price is not None and costs:
        least, most = min(cost.hosts for cost in costs), max(cost.hosts for cost in costs)
        hosts = plural(most, "host") if least == most else f"{least} to {plural(most, 'host')}"
        lines.append(f"Cost: {run.price} a host and hour, {hosts}, at the rate measured.")
    return lines


def ceiling_words(run_ceilings: RunCeilings) -> str:
    """The ceilings in a sentence, with their age."""
    ceilings = run_ceilings.ceilings
    figures = [_disk_words(disk) for disk in ceilings.disks]
    if ceilings.loopback is not None:
        loopback = ceilings.loopback
        many = f", in {loopback.many} {mb_per_s(loopback.many_bytes_per_s)}" if loopback.many_bytes_per_s else ""
        figures.append(f"loopback {mb_per_s(loopback.bytes_per_s)} in one connection{many}")
    age = f"{duration(round(run_ceilings.age_s))} before the run" if run_ceilings.reused else "before the first trial"
    return f"Ceilings, measured {age}: {'; '.join(figures)}."


def _disk_words(disk: DiskCeiling) -> str:
    sustained = f" ({mb_per_s(disk.sustained_write_bytes_per_s)} sustained)" if disk.sustained_write_bytes_per_s else ""
    writes, reads = (mb_per_s(rate, "not measured") for rate in (disk.write_bytes_per_s, disk.read_bytes_per_s))
    parts = [f"writes {writes}{sustained}", f"reads {reads}"]
    if disk.syncs_per_s is not None:
        single = disk.sync("fdatasync", SYNC_SMALL_BYTES)
        time = f" (one alone takes {ms(single.p50_ms)} ms)" if single else ""
        parts.append(f"{count(disk.syncs_per_s)} syncs/s{time}")
    return f"{disk.name} {', '.join(parts)}"
