"""Lists for a terminal: the runs there are, and the trials of a plan."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tidegauge.campaign.memory import MemoryPlan
from tidegauge.campaign.plan import seconds_expected
from tidegauge.campaign.space import bytes_needed
from tidegauge.experiments.api import TrialSpec
from tidegauge.fairness.tilt import EQUAL_TERMS, Terms
from tidegauge.report import fairness, levels
from tidegauge.report.layout import Paragraph
from tidegauge.report.numbers import count, duration, local_time, plural
from tidegauge.report.sweeps import in_order
from tidegauge.report.terminal import heading, workload_words
from tidegauge.store.read import StoredRun
from tidegauge.workload.model import Arrival

ROWS_MAX = 60
WORKLOADS_MAX = 3
"""A sweep has many of both; every one stands in the JSON of the plan."""


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
    swept = any(trial.point for trial in trials)
    heads = ("trial", "system", "load", "measured")
    table = _table(*heads) if swept else _table("trial", "system", "durability", "load", "warm-up", "measured")
    rows = _alike(trials)
    for alike in rows[:ROWS_MAX]:
        trial = alike[0]
        name, load = trial.trial_id, offered(trial)
        if len(alike) > 1:
            name, load = name.rsplit("-s", 1)[0], f"{load}, about {len(alike)} trials"
        warmup = f"{trial.warmup_s_min:g} to {trial.warmup_s_max:g} s"
        more = () if swept else (levels.level_name(trial.choice),)
        table.add_row(name, trial.system, *more, load, *((warmup,) if more else ()), duration(trial.measure_s))
    parts: list[RenderableType] = [*_matrix(trials)]
    parts += [heading(f"{plural(len(trials), 'trial')}, in this order:"), table]
    if len(rows) > ROWS_MAX:
        parts.append(Text(f"... and {len(rows) - ROWS_MAX} rows more; --json lists every trial."))
    for words in list(dict.fromkeys(workload_words(trial.workload) for trial in trials))[:WORKLOADS_MAX]:
        parts += [Text(""), Paragraph(words)]
    disk = disk_words(trials)
    parts += [Text(""), Paragraph(disk)] if disk else []
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


def _matrix(trials: Sequence[TrialSpec]) -> Iterable[RenderableType]:
    """The points of a sweep, with what is measured at each and how long it takes."""
    points = in_order([trial.point for trial in trials])
    if not any(points):
        return
    axes = list(dict.fromkeys(axis for point in points for axis in point))
    table = _table(*axes, "systems", "trials", "time")
    for point in points:
        here = [trial for trial in trials if trial.point == point]
        systems = ", ".join(sorted({trial.system for trial in here}))
        time = duration(sum(map(seconds_expected, here)))
        table.add_row(*(point.get(axis, "") for axis in axes), systems, f"{len(here)}", time)
    yield heading(f"{plural(len(points), 'point')} of the sweep, by lot in each block:")
    yield table
    yield Text("")


def disk_words(trials: Sequence[TrialSpec]) -> str:
    """How much room the trials need, as far as their rates are known; "" if none is."""
    known = [trial for trial in trials if trial.msgs_per_s is not None and not trial.attached]
    if not known:
        return ""
    largest = max(bytes_needed(trial, trial.nodes) for trial in known)
    unknown = "" if len(known) == len(trials) else ", and more where a trial's rate is found on the way"
    return f"Disk: up to {largest / (1 << 30):.1f} GiB free while a trial runs, removed after it{unknown}."


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
