"""What a run found, for a terminal: rich renderables, plain words and ASCII. Nothing here prints."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from rich.console import Group, RenderableType
from rich.text import Text

from tidegauge.model.trial import AttestSpec, point_words
from tidegauge.numbers import local_time, plural
from tidegauge.places import entries_of_directory, is_file
from tidegauge.report import compare, contests, distributions, fairness, levels, thresholds, usage
from tidegauge.report.effects import effects_of_compared, effects_parts
from tidegauge.report.ending import again_words
from tidegauge.report.facts import RunFacts, further_tables, table_notes
from tidegauge.report.findings import finding_parts
from tidegauge.report.layout import (
    Paragraph,
    bullet,
    headed_bullets,
    heading,
    path_line,
    shown_path,
    with_blank_lines,
)
from tidegauge.report.loads import compared_words, load_words
from tidegauge.report.published import published_parts
from tidegauge.report.sending import CHANGED_TITLE, changed_words
from tidegauge.report.tables import (
    Swept,
    figure_table,
    remarks,
)
from tidegauge.store.files import REPORT_NAME
from tidegauge.store.read import StoredRun

WORDS = (
    "Response time: from the intended send to the acknowledgement. Service: from the actual send to the "
    "acknowledgement. End-to-end: from the intended send to the receipt. Backlog: acknowledged messages not received "
    "when the measured window ended (end), and those left after the drain (left). MB/s: 10^6 bytes of message "
    "values a second."
)
"""What the heads of the tables mean, for a reader who meets them for the first time."""


def run_report(run: StoredRun) -> RenderableType:
    """Everything about a run that fits a terminal: state, durability, a table per experiment, ratios, what next."""
    facts = RunFacts(run)
    groups: list[Iterable[RenderableType]] = [
        _head_lines(facts),
        fairness.run_parts(run.terms),
        thresholds.run_parts(facts.rulings, facts.mark),
    ]
    if run.results:
        durability: list[RenderableType] = []
        for head, group in levels.headlines_by_point(run.results):
            good = levels.standing(group) is levels.Standing.KEPT
            durability.append(Paragraph(head, style="" if good else "bold red"))
            durability += [bullet(line) for line in levels.details(group)]
        groups += [
            durability,
            [Paragraph(WORDS, "dim")] if facts.tables else [],
            *map(_experiment_parts, facts.tables),
            distributions.parts(run, facts.within),
            finding_parts(facts.findings, facts.names, facts.run.results),
            _comparison_parts(facts),
            contests.parts(facts),
            usage.parts(run),
            headed_bullets(CHANGED_TITLE, changed_words(run)),
        ]
    else:
        groups.append([Text("No trial has finished, so there are no figures.")])
    if run.published is not None:
        groups.append(published_parts(run.published, facts.host, bool(run.terms.unequal)))
    return Group(*with_blank_lines(*groups, _unfinished_parts(facts), _next_steps(run)))


def _head_lines(facts: RunFacts) -> list[RenderableType]:
    run = facts.run
    state = f"Run {run.name}, started {local_time(run.started_at)}: {run.status}, {facts.finished_words}."
    lines: list[RenderableType] = [Paragraph(state, style="bold")]
    damage = (f"Damaged: {words}" for words in run.damage)
    host = [f"Host: {facts.host}"] if facts.host else []
    labels = [facts.label_words] if facts.label_words else []
    around = (*labels, *host, *damage, *(f"Note: {note}" for note in run.notes), *facts.sessions)
    lines += [Paragraph(words, rest="  ") for words in around]
    shown_below = any(trial.trial_id in run.reason_trials for trial in run.trials)
    if run.reason and not shown_below:
        lines.append(Paragraph(f"Reason: {run.reason}", style="red"))
    return lines


def _experiment_parts(sweep: Swept) -> Iterable[RenderableType]:
    first = sweep.compared_trials[0]
    loads = list(dict.fromkeys(load_words(compared.results[0]) for compared in sweep.compared_trials))
    yield heading(f"{sweep.experiment}: {loads[0]}" + (", and other loads" if len(loads) > 1 else ""))
    at = f"At {point_words(first.point)}: " if len(set(map(compared_words, sweep.compared_trials))) > 1 else ""
    yield Paragraph(f"{at}{compared_words(first)}")
    yield Text("")
    yield sweep.table() if first.point else figure_table(first)
    effect_tables, effect_notes = effects_parts(effects_of_compared(sweep.compared_trials))
    for table in (*effect_tables, *(table for compared in sweep.compared_trials for table in further_tables(compared))):
        yield Text("")
        yield table
    notes = [*effect_notes, *table_notes(sweep.compared_trials)]
    remarked = [remark.bullet() for compared in sweep.compared_trials for remark in remarks(compared)]
    if notes or remarked:
        yield Text("")
    for note in notes:
        yield Paragraph(note, style="dim")
    yield from remarked


def _comparison_parts(facts: RunFacts) -> Iterable[RenderableType]:
    yield from headed_bullets("Compared", facts.compared)
    if any(ratio.comparison.interval for ratio in facts.ratios):
        yield Paragraph(compare.HOW_SURE, "dim")
    # How to decide what is open: the command, with the repeats that it takes.
    needed = compare.repeats_needed(facts.ratios)
    if needed is None or needed <= facts.run.blocks_measured:
        return
    if any(ratio.repeated for ratio in facts.ratios):
        yield Text("To decide what is open, if figures go on to scatter as they did:")
    else:
        yield Text("To see whether a difference is more than chance, repeat the trials:")
    yield Paragraph(again_words(facts.run, "tidegauge", needed, by_file=True), first="  ", rest="  ")


def _unfinished_parts(facts: RunFacts) -> Iterable[RenderableType]:
    if not facts.unfinished:
        return
    yield heading("Trials without a result")
    for trial in facts.unfinished:
        yield bullet(f"{trial.trial_id}: {trial.status_words}")
        logs = trial.directory / "logs"
        if not Path(trial.log_path).is_relative_to(logs) and entries_of_directory(logs):
            yield path_line("    logs: ", logs)


def how_to_go_on(run: StoredRun) -> str:
    """The command that resumes a run, with what it keeps."""
    kept_words = f"{len(run.results)} of {run.trials_expected} trials are finished and would be kept"
    cycles = sum(len(trial.cycles.cycles) for trial in run.trials if trial.cycles is not None)
    if cycles:
        kept_words += f", and so would {plural(cycles, 'cycle')} of an attestation"
    return f"To go on with it ({kept_words}): tidegauge run --resume {shown_path(run.path)}"


def _next_steps(run: StoredRun) -> list[RenderableType]:
    lines: list[RenderableType] = [heading("Next steps"), path_line("  run directory:  ", run.path)]
    if any(not isinstance(trial.spec, AttestSpec) for trial in run.trials):
        lines.append(Text("  each second:    trials/*/seconds.parquet    whole distributions: trials/*/*.hlog"))
    if run.trials:
        # Servers of others keep their logs.
        started = any(trial.spec is None or not (trial.spec.attached or trial.spec.serverless) for trial in run.trials)
        whose = "server and worker" if started else "worker"
        lines.append(Text(f"  settings read back: trials/*/settings.json    {whose} logs: trials/*/logs/"))
    if run.can_go_on and run.status not in ("running", "finished"):
        lines.append(Paragraph(f"  {how_to_go_on(run)}", "", "", "    "))
    lines.append(Paragraph(f"  again:          tidegauge show {shown_path(run.path)}    (--json: every figure)"))
    report = run.path / REPORT_NAME
    if is_file(report):
        lines.append(path_line("  report:         ", report))
    return lines
