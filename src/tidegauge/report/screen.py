"""What a user sees when a run has ended: verdicts, one table each, what to act on, and where the rest is.

At most `LINES_MAX` lines of 100 columns for three systems and three experiments; what is cut says so.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from rich.console import Group, RenderableType
from rich.text import Text

from tidegauge.comparison.compared_trials import ComparedTrials
from tidegauge.durability import levels_found
from tidegauge.model.level import CutsStanding, EarlierCuts
from tidegauge.model.trial import LoadResult, MeasuredResult, ReadResult, Validity, point_words
from tidegauge.model.use import Limiting
from tidegauge.numbers import MISSING, count, in_unit, local_time, plural
from tidegauge.places import is_file
from tidegauge.report import compare, contests, fairness, levels, thresholds
from tidegauge.report.ending import End, Ending, again_words, worth_acting_on
from tidegauge.report.facts import RunFacts
from tidegauge.report.findings import faults_table, finding_table
from tidegauge.report.layout import Column, ColumnGroup, FigureTable, Paragraph, bullet, columns, path_line, shown_path
from tidegauge.report.loads import brief_workloads
from tidegauge.report.names import SystemNames
from tidegauge.report.published import counts
from tidegauge.report.tables import columns_of_axes, validity_of_all
from tidegauge.report.usage import limited_by
from tidegauge.report.verdicts import ExperimentVerdict, verdicts
from tidegauge.statistics.figures import FIGURES
from tidegauge.store.files import REPORT_NAME
from tidegauge.store.read import StoredRun

LINES_MAX = 40
COLUMNS = 100
_LABEL_CHARS_NARROW = 10
"""Width of labels where a table would not fit into one otherwise: "RabbitMQ (quorum)" then takes two lines."""
EXPERIMENTS_MAX = 3
_LIMIT_HEAD = "limited by"
_END_TO_END = "end-to-end, ms"
_DROPPED_HEADS = (_LIMIT_HEAD, _END_TO_END)
"""Columns that a table does without where it is too wide, in this order: by their own head or that of their group."""
_DROPPED_OF_FAULTS = ("from", "failed")
"""The same of the table of faults: when they were, and then how many messages failed."""
_DROPPED_OF_FINDINGS = ("publish, s", "serve, s", "expected")
"""The same of an attestation's table."""
_FAULT_CHARS_MAX = 40
"""Width of the labels there: "kafka@4.3.1 1. pause, node 2"."""
SWEPT_ROWS_MAX = 12
"""How many rows a sweep's table has, where it is the only one."""
SYSTEMS_MAX = 6
"""How many rows a table has at most."""
ADVICE_MAX, ADVICE_LINES_MAX = 2, 4
_LINES_OF_FLEET = 6
"""Who ran where on a fleet, and on what."""
BEHIND_S = 0.25
"""A backlog of so many seconds is worth a word; less is what readers that keep up owe too."""


def run_screen(run: StoredRun, ended: Ending, exit_code: int, program: str = "tidegauge") -> RenderableType:
    """The end of a run; its last line says why the exit code is not 0.

    Args:
        program: how the user calls Tidegauge, for commands to copy.
    """
    facts = RunFacts(run)
    parts: list[RenderableType] = [*_head_lines(facts)]
    if run.terms.unequal:
        parts.append(Paragraph(fairness.headline(run.terms).rstrip(":") + ".", "bold red"))
    if facts.rulings:
        parts.append(Paragraph(thresholds.headline(facts.rulings), "bold"))
    if run.published is not None:
        parts.append(Paragraph(f"{run.published.title}: {counts(run.published)}.", "bold"))
    if run.variants:
        parts += [Text(""), Paragraph(f"Compared: {contests.variants_line(run)}.", "bold")]
    answers = verdicts(facts)
    for verdict in answers[:EXPERIMENTS_MAX]:
        parts += [Text(""), Paragraph(f"{verdict.experiment}: {verdict.sentence}", "bold")]
        parts += [Text(f"... each point {_where_rest_is(run)}")] if verdict.each else []
        parts += _verdict_table(verdict, facts, SWEPT_ROWS_MAX if len(answers) == 1 else SYSTEMS_MAX)
    if len(answers) > EXPERIMENTS_MAX:
        parts.append(Text(f"... {plural(len(answers) - EXPERIMENTS_MAX, 'more experiment')} {_where_rest_is(run)}"))
    parts += [Text(""), *_advice_lines(facts, ended), *_next_lines(facts, ended, program)]
    if ended.end is not End.GOOD:
        parts.append(Paragraph(f"Exit code {exit_code}: {_shorten_words(ended.why, 3)}", "bold red", "", "  "))
        # Whole, to be copied.
        parts.append(Text(f"  {ended.what}", "bold red", no_wrap=True, overflow="ignore"))
    return Group(*parts)


def _head_lines(facts: RunFacts) -> Iterable[RenderableType]:
    run = facts.run
    spoilt = Counter(result.validity for result in run.results if result.validity is not Validity.VALID)
    trials = facts.finished_words + "".join(f", {number} {validity.shown}" for validity, number in spoilt.items())
    state = "" if run.status == "finished" else f", {run.status}"
    # Who ran where on a fleet is not cut.
    host = _shorten_words(facts.host, _LINES_OF_FLEET if run.facts("hosts") else 2)
    yield Paragraph(f"{run.name}, {local_time(run.started_at)}, {trials}{state}. {host}", "bold")
    yield from _level_lines(facts)
    if run.results:
        yield Paragraph(f"Load: {brief_workloads([result.spec.workload for result in run.results])}.")


def _level_lines(facts: RunFacts) -> Iterable[RenderableType]:
    run = facts.run
    findings = levels_found(run.results)
    if not findings:
        return
    good = levels.standing(run.results) is levels.Standing.KEPT
    if not good or len(levels.by_point(run.results)) > 1:
        # What is cut must not be what matters most.
        order = list(levels.Standing)
        worst_first = sorted(
            levels.headlines_by_point(run.results),
            key=lambda headline: order.index(levels.standing(headline[1])),
            reverse=True,
        )
        yield Paragraph(_shorten_words(" ".join(words for words, _ in worst_first)), "" if good else "bold red")
        return
    # What cuts lost as the level allows stands behind it: then they were made.
    claimed_only = [
        system
        for system, (_, finding) in findings.items()
        if finding.attested == EarlierCuts(CutsStanding.CLAIMED_ONLY)
    ]
    tested = "; survival of power cuts not tested" if claimed_only and levels.has_servers(run.results) else ""
    if tested and len(claimed_only) < len(findings):
        tested = f"{tested} of {facts.names.listed(claimed_only)}"
    promise = levels.short_name(next(iter(findings.values()))[1].level)
    witnesses = levels.witness_words(run.results)
    yield Paragraph(
        f"Durability: {levels.promised_words(findings)} ({promise} when acknowledged): {witnesses}{tested}."
    )
    if warning := f"{levels.refuted_words(findings)}{levels.caveat_words(run.results)}":
        yield Paragraph(_shorten_words(warning.strip(), 3), "bold yellow")


def _verdict_table(verdict: ExperimentVerdict, facts: RunFacts, rows_max: int) -> Iterable[RenderableType]:
    """One table with so many rows of a sweep at most; a long search has its own in the report."""
    leading = contests.leading_contests(facts.variant_contests, verdict.experiment)
    if len(leading) == 1 and len(leading[0].alternatives) <= SYSTEMS_MAX:
        yield contests.contest_table(leading[0])
        return
    findings = [finding for finding in facts.findings.get(verdict.experiment, []) if finding.rows]
    if len(verdict.compared_trials) == 1:
        (compared,) = verdict.compared_trials
        yield short_table(compared, facts.names)
        cut = len(compared.systems) - SYSTEMS_MAX
        if cut > 0:
            yield Text(f"... {plural(cut, 'more system')} {_where_rest_is(facts.run)}")
        yield from _faults_table(compared, facts.run)
    elif findings and sum(len(finding.rows) for finding in findings) <= SYSTEMS_MAX:
        table = _in_one_piece(finding_table(findings, facts.names), _DROPPED_OF_FINDINGS)
        if len(list(table.lines(COLUMNS))) == 1:
            yield table
    elif verdict.compared_trials and not findings:
        yield swept_table(verdict.compared_trials, facts.names, rows_max)
        cut = sum(len(compared.systems) for compared in verdict.compared_trials) - rows_max
        if cut > 0:
            yield Text(f"... {plural(cut, 'more row')} {_where_rest_is(facts.run)}")


def _faults_table(compared: ComparedTrials, run: StoredRun) -> Iterable[RenderableType]:
    """What faults did, which is the answer of a trial that has any."""
    table = faults_table(compared)
    if table is None:
        return
    table = _in_one_piece(replace(table, label_chars_max=_FAULT_CHARS_MAX), _DROPPED_OF_FAULTS)
    if len(table.labels) <= SYSTEMS_MAX and len(table.packed(COLUMNS)) == 1:
        yield Text("")
        yield table
    else:
        yield Text(f"... each fault {_where_rest_is(run)}")


def _where_rest_is(run: StoredRun) -> str:
    """Where what is cut here stands whole. A report may be switched off, or not be written."""
    return "in `show` and the report" if is_file(run.path / REPORT_NAME) else "in `show`"


def short_table(compared: ComparedTrials, names: SystemNames) -> FigureTable:
    """A row for each system. Of repeated trials the geometric mean of each figure, and all messages."""
    systems = compared.systems[:SYSTEMS_MAX]
    labels = tuple(names.name_of(system, point_words(compared.point)) for system in systems)
    table = FigureTable("", labels, _short_groups([(compared, system) for system in systems]))
    if len(table.packed(COLUMNS)) > 1:
        table = replace(table, label_chars_max=_LABEL_CHARS_NARROW)
    return _in_one_piece(table, _DROPPED_HEADS)


def swept_table(all_compared: Sequence[ComparedTrials], names: SystemNames, rows_max: int) -> FigureTable:
    """A row for each system at each point of a sweep: as `short_table`, without columns for which there is no room."""
    rows = [(compared, system) for compared in all_compared for system in compared.systems][:rows_max]
    labels = tuple(names.name_of(system, point_words(compared.point)) for compared, system in rows)
    groups = _short_groups(rows)
    table = FigureTable("", labels, groups, COLUMNS, columns_of_axes([compared.point for compared, _ in rows]))
    return _in_one_piece(table, (*_DROPPED_HEADS, "messages"))


def _in_one_piece(table: FigureTable, droppable: Sequence[str]) -> FigureTable:
    """The table, if need be without columns of these heads, for which there is no room beside the others."""
    for dropped in droppable:
        if len(table.packed(COLUMNS)) == 1:
            break
        kept = tuple(group for group in table.groups if dropped not in (group.head, group.columns[0].head))
        table = replace(table, groups=kept)
    return table


_Row = tuple[ComparedTrials, str]
"""A system in one table."""


def _short_groups(rows: Sequence[_Row]) -> tuple[ColumnGroup, ...]:
    times = "closed loop, ms" if rows[0][0].closed_loop else "response, ms"

    def figure_column(head: str, name: str) -> Column:
        figure = FIGURES[name]
        estimates = [compare.estimate_of(figure.value_in, compared.usable(system)) for compared, system in rows]
        return Column(head, tuple(in_unit(middle.value if middle else None, figure.unit) for middle in estimates))

    def word_group(head: str, cell: Callable[[_Row], str]) -> ColumnGroup:
        return ColumnGroup("", columns(rows, {head: cell}, words=True))

    processed = figure_column("p99", "processed_ms_p99")
    return (
        ColumnGroup("", (figure_column("msg/s", "msgs_per_s"),)),
        ColumnGroup(times, (figure_column("p50", "response_ms_p50"), figure_column("p99", "response_ms_p99"))),
        ColumnGroup(_END_TO_END, (figure_column("p99", "end_to_end_ms_p99"),)),
        *(
            [ColumnGroup("until processed, ms", (processed,))]
            if any(cell != MISSING for cell in processed.cells)
            else []
        ),
        word_group("messages", lambda row: _message_words(row[0].of_system(row[1]))),
        word_group(_LIMIT_HEAD, lambda row: _limit_words(limited_by(row[0].usable(row[1])))),
        word_group("validity", lambda row: validity_of_all(row[0].of_system(row[1]))),
    )


def _message_words(results: Sequence[MeasuredResult]) -> str:
    """ "intact", or how many of all trials were not.

    Of what others sent it is known only whether it is damaged, and of short messages that is what nobody knows.
    """
    loads = [result for result in results if isinstance(result, LoadResult)]
    subs = [sub for load in loads for sub in load.subscriptions]
    counted = (
        ("LOST", sum(result.lost for result in results)),
        ("DAMAGED", sum(result.corrupt for result in results)),
        ("late", sum(sub.late for sub in subs)),
        ("not traced", sum(sub.untraced for sub in subs)),
        ("twice", sum(sub.duplicated for sub in subs)),
        ("reordered", sum(sub.reordered for sub in subs)),
        ("failed", sum(load.failed for load in loads)),
        ("without outcome", sum(load.unresolved for load in loads)),
        ("behind", max(map(_messages_behind, results), default=0)),
    )
    # Of messages of others that a trial read which sent none nothing is known but their number.
    unverified = any(
        sum(sub.received - sub.verified for sub in result.subscriptions)
        for result in results
        if isinstance(result, ReadResult)
    )
    came = any(load.acked for load in loads) or any(sub.received for result in results for sub in result.subscriptions)
    checked = came and all(load.subscriptions for load in loads) and not unverified
    whole = "intact" if all(load.spec.workload.checks_damage for load in loads) else "damage not checked"
    return ", ".join(f"{count(number)} {kind}" for kind, number in counted if number) or (
        "not checked" if not checked else whole if loads else "undamaged"
    )


def _messages_behind(result: MeasuredResult) -> int:
    """Messages that waited for the slowest subscription when the window ended; 0 where that is no more than usual.

    Where it is, those that were left after the drain, late readers' too, and nobody looked for: whether they were lost
    is not known.
    """
    waited = FIGURES["window_end_backlog"].value_in(result) or 0.0
    if waited > BEHIND_S * result.msgs_per_s:
        return int(waited)
    subs = result.subscriptions if isinstance(result, LoadResult) else ()
    return max((sub.backlog - sub.lost - sub.late - sub.untraced for sub in subs), default=0)


def _limit_words(limiting: Limiting | None) -> str:
    """What limited trials, without the process or device, which the full report names."""
    if limiting is None:
        return MISSING
    return str(limiting.resource) if limiting.share is None else f"{limiting.resource} {limiting.share:.0%}"


def _advice_lines(facts: RunFacts, ended: Ending) -> Iterable[RenderableType]:
    """The few remarks that somebody can do something about, and how many more there are."""
    worth = worth_acting_on(facts)
    # What decides the exit code stands in the last line: that trials are INVALID, or the first that failed.
    advice = [item for item in worth.advice if not (item.bad and ended.end is End.INVALID)]
    advice = [item for item in advice if not item.failed_trial or item.failed_trial != ended.failed_trial]
    hidden = worth.more + max(0, len(advice) - ADVICE_MAX)
    more = f" ({plural(hidden, 'more remark')} in `show`)" if hidden else ""
    if advice:
        yield Paragraph(f"Worth acting on{more}", "bold")
        for item in advice[:ADVICE_MAX]:
            words = f"{item.text}: {item.remedy}." if item.remedy else f"{item.text.rstrip('.')}."
            yield bullet(_shorten_words(words, ADVICE_LINES_MAX), "red" if item.bad else "")
    elif more and ended.end is End.GOOD:
        yield Paragraph(f"Nothing to act on{more}.")


def _next_lines(facts: RunFacts, ended: Ending, program: str) -> Iterable[RenderableType]:
    """Where the rest is. To repeat is advice where the figures can be used: else the last line has the command."""
    run, report = facts.run, facts.run.path / REPORT_NAME
    if is_file(report):
        yield path_line("Report with plots:     ", report)
    yield Text(f"All of it:             {program} show {shown_path(run.path)}", no_wrap=True, overflow="ignore")
    if ended.end is not End.GOOD:
        return
    needed = compare.repeats_needed(facts.ratios)
    of_variants = contests.repeats_needed(facts.variant_contests)
    if of_variants is not None:
        needed = max(of_variants, needed or 0)
    # Where a figure is missing of blocks, as many again have none either.
    if needed is not None and needed > run.blocks_measured and run.campaign_path:
        is_repeated = any(ratio.repeated for ratio in facts.ratios) or (of_variants or 0) > compare.REPEATS_FIRST
        why = "To decide what's open:" if is_repeated else "More than chance?"
        yield Text(f"{why:<22} {again_words(run, program, needed)}", no_wrap=True, overflow="ignore")


def _shorten_words(words: str, lines: int = 2) -> str:
    """Words cut to about so many lines, and then with where they are whole."""
    return textwrap.shorten(words, lines * COLUMNS - 10, placeholder=" ... (whole in `show`)")
