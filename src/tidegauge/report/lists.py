"""Lists for a terminal: the runs there are, and the trials of a plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tidegauge.campaign.memory import MemoryPlan
from tidegauge.experiments.api import TrialSpec
from tidegauge.fairness.tilt import EQUAL_TERMS, Terms
from tidegauge.report import fairness, levels
from tidegauge.report.layout import Paragraph
from tidegauge.report.numbers import count, duration, local_time, plural
from tidegauge.report.terminal import heading, workload_words
from tidegauge.store.read import StoredRun
from tidegauge.workload.model import Arrival


def runs_list(runs: Sequence[StoredRun]) -> RenderableType:
    """One run a row, the newest last."""
    table = _table("run", "started", "status", "trials")
    for run in runs:
        trials = f"{len(run.results)}/{max(len(run.planned), len(run.trials))}"
        table.add_row(run.path.name, local_time(run.started_at), _status(run), trials)
    return table


def plan_list(
    trials: Sequence[TrialSpec],
    seconds_expected: float,
    warnings: Sequence[str] = (),
    memory: MemoryPlan | None = None,
    terms: Terms = EQUAL_TERMS,
) -> RenderableType:
    """The trials of a plan in order, with what each takes and the whole, and what to know before it runs."""
    table = _table("trial", "system", "durability", "load", "warm-up", "measured")
    for alike in _alike(trials):
        trial = alike[0]
        name, load = trial.trial_id, offered(trial)
        if len(alike) > 1:
            name, load = name.rsplit("-s", 1)[0], f"{load}, about {len(alike)} trials"
        warmup = f"{trial.warmup_s_min:g} to {trial.warmup_s_max:g} s"
        table.add_row(name, trial.system, levels.level_name(trial.choice), load, warmup, duration(trial.measure_s))
    parts: list[RenderableType] = [heading(f"{plural(len(trials), 'trial')}, in this order:"), table]
    for words in dict.fromkeys(workload_words(trial.workload) for trial in trials):
        parts += [Text(""), Paragraph(words)]
    if memory is not None:
        parts += [Text(""), heading("Memory, for one system at a time:")]
        parts += [Paragraph(sentence, "", "  - ", "    ") for sentence in memory.sentences()]
    for warning in warnings:
        parts += [Text(""), Paragraph(f"Warning: {warning}")]
    told = list(fairness.plan_parts(terms))
    parts += [Text(""), *told] if told else []
    parts += [
        Text(""),
        Text(f"Takes about {duration(seconds_expected)} once everything is fetched. Nothing was started."),
    ]
    return Group(*parts)


def _alike(trials: Sequence[TrialSpec]) -> list[list[TrialSpec]]:
    """Trials as rows: those of a search, which differ by nothing that is known beforehand, share one."""
    rows: list[list[TrialSpec]] = []
    for trial in trials:
        if rows and trial.exploratory and replace(rows[-1][0], trial_id=trial.trial_id) == trial:
            rows[-1].append(trial)
        else:
            rows.append([trial])
    return rows


def _status(run: StoredRun) -> str:
    return f"{run.status}, {fairness.MARK}" if run.terms.unequal else run.status


def offered(trial: TrialSpec) -> str:
    """The load of a planned trial; a rate that depends on an earlier trial as the campaign words it."""
    if trial.workload.arrival is Arrival.CLOSED_LOOP:
        return "closed loop"
    if trial.msgs_per_s is None:
        return trial.rate_rule or "set by an earlier trial"
    return f"{count(trial.msgs_per_s)} msg/s"


def _table(*heads: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", show_edge=False)
    for head in heads:
        table.add_column(head, overflow="fold")
    return table
