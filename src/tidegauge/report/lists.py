"""Lists for a terminal: the runs there are, and the trials of a plan."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tidegauge.campaign.memory import MemoryPlan
from tidegauge.campaign.plan import seconds_expected
from tidegauge.campaign.space import ASSUMED, FullSpeed, bytes_needed, is_open_ended
from tidegauge.experiments.api import TrialSpec
from tidegauge.fairness.tilt import EQUAL_TERMS, Terms
from tidegauge.published.examine import Choice
from tidegauge.published.scale import BRIEF_MARK, Scale
from tidegauge.report import fairness, levels
from tidegauge.report.faults import planned_faults
from tidegauge.report.layout import Paragraph
from tidegauge.report.numbers import count, duration, local_time, plural
from tidegauge.report.published import published_plan
from tidegauge.report.sweeps import in_order
from tidegauge.report.terminal import heading, workload_words
from tidegauge.store.read import StoredRun
from tidegauge.workload.model import Arrival

ROWS_MAX = 60
WORKLOADS_MAX = 4
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
    *,
    examines: Choice | None = None,
    thresholds: Sequence[str] = (),
    full: FullSpeed = ASSUMED,
) -> RenderableType:
    """The trials of a plan in order, with what each takes and the whole, and what to know before it runs."""
    parts: list[RenderableType] = [*published_plan(examines), Text("")] if examines else []
    parts += _matrix(trials)
    rows = _alike(trials)
    table = _swept_rows(rows[:ROWS_MAX]) if any(trial.point for trial in trials) else _rows(rows[:ROWS_MAX])
    parts += [heading(f"{plural(len(trials), 'trial')}, in this order:"), table]
    if len(rows) > ROWS_MAX:
        parts.append(Text(f"... and {len(rows) - ROWS_MAX} rows more; --json lists every trial."))
    if thresholds:
        parts += [Text(""), heading("Asked of what is found (a threshold that is missed ends with exit code 4):")]
        parts += [Paragraph(one, "", "  - ", "    ") for one in thresholds]
    workloads = _workloads(trials)
    for words in workloads[:WORKLOADS_MAX]:
        parts += [Text(""), Paragraph(words)]
    if len(workloads) > WORKLOADS_MAX:
        parts.append(Text(f"... and {len(workloads) - WORKLOADS_MAX} more; --json has every trial's."))
    for words in planned_faults(trials):
        parts += [Text(""), Paragraph(words)]
    disk = disk_words(trials, full)
    parts += [Text(""), Paragraph(disk)] if disk else []
    if memory is not None:
        parts += [Text(""), heading("Memory, for one system at a time:")]
        parts += [Paragraph(sentence, "", "  - ", "    ") for sentence in memory.sentences()]
    for warning in warnings:
        parts += [Text(""), Paragraph(f"Warning: {warning}")]
    told = list(fairness.plan_parts(terms))
    parts += [Text(""), *told] if told else []
    parts += [Text(""), Paragraph(time_words(trials, seconds_expected))]
    return Group(*parts)


def time_words(trials: Sequence[TrialSpec], seconds_expected: float) -> str:
    """How long a plan takes; only a bound where backlogs are written at rates that are found on the way."""
    open_ended = [trial.late for trial in trials if trial.late is not None and trial.msgs_per_s is None]
    if not open_ended:
        return f"Takes about {duration(seconds_expected)} once everything is fetched. Nothing was started."
    longest = duration(max(late.chase_s_max for late in open_ended))
    return (
        f"Takes up to {duration(seconds_expected)} once everything is fetched: {plural(len(open_ended), 'trial')} may "
        f"read a backlog for {longest} at most, and writing it, at a rate that is found on the way, is taken to last "
        "as long. Nothing was started."
    )


def _rows(rows: Sequence[Sequence[TrialSpec]]) -> Table:
    """Trials without a sweep, by their names."""
    table = _table("trial", "system", "durability", "load", "warm-up", "measured")
    for alike in rows:
        trial = alike[0]
        name = trial.trial_id if len(alike) == 1 else trial.trial_id.rsplit("-s", 1)[0]
        warmup = f"{trial.warmup_s_min:g} to {trial.warmup_s_max:g} s"
        level = levels.level_name(trial.choice)
        table.add_row(name, trial.system, level, _load(alike), warmup, duration(trial.measure_s))
    return table


def _swept_rows(rows: Sequence[Sequence[TrialSpec]]) -> Table:
    """Trials of a sweep: with their points, and by the numbers that their names begin with."""
    axes = list(dict.fromkeys(axis for alike in rows for axis in alike[0].point))
    table = _table("step", "experiment", "system", *(axis.rpartition(".")[2] for axis in axes), "load", "measured")
    for alike in rows:
        trial = alike[0]
        number = trial.trial_id.partition("-")[0]
        values = (trial.point.get(axis, "") for axis in axes)
        table.add_row(number, trial.experiment, trial.system, *values, _load(alike), duration(trial.measure_s))
    return table


def _load(alike: Sequence[TrialSpec]) -> str:
    load = offered(alike[0])
    return load if len(alike) == 1 else f"{load}, about {len(alike)} trials"


def _workloads(trials: Sequence[TrialSpec]) -> list[str]:
    """What is sent to whom, once for all trials alike; where there are several, with what tells their trials apart."""
    alike: dict[str, list[TrialSpec]] = {}
    for trial in trials:
        alike.setdefault(workload_words(trial.workload), []).append(trial)
    if len(alike) == 1:
        return list(alike)
    return [f"{_apart(own, trials)}{words}" for words, own in alike.items()]


def _apart(own: Sequence[TrialSpec], trials: Sequence[TrialSpec]) -> str:
    """The experiment and values of a sweep that these trials share and others don't: "partitions 100: "; or ""."""

    def labels(trial: TrialSpec) -> dict[str, str]:
        return {"": trial.experiment, **trial.point}

    told = []
    for axis in labels(own[0]):
        values = {labels(trial).get(axis, "") for trial in own}
        if len(values) == 1 and values != {labels(trial).get(axis, "") for trial in trials}:
            told.append(f"{axis.rpartition('.')[2]} {values.pop()}".strip())
    return f"{', '.join(told)}: " if told else ""


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


def disk_words(trials: Sequence[TrialSpec], full: FullSpeed = ASSUMED) -> str:
    """How much room the trials need; where a rate is not known before, as much as the machine can write. "" if none."""
    known = [trial for trial in trials if trial.msgs_per_s is not None and not trial.attached]
    unknown = [trial for trial in trials if is_open_ended(trial)]
    told = []
    if known:
        largest = max(bytes_needed(trial, trial.nodes) for trial in known)
        told.append(f"up to {_gib(largest)} free while a trial at a known rate runs")
    if unknown:
        most = max(map(full.bytes_written, unknown))
        basis = "measured here" if full.measured else "assumed: `tidegauge doctor` measures it"
        speed = f"{full.disk_bytes_per_s / 1e6:,.0f} MB/s, {basis}"
        told.append(
            f"up to {_gib(most)} where the rate is found on the way, if the disk takes all the time what it can "
            f"({speed}); the run ends before the disk is full"
        )
    return f"Disk: {'; '.join(told)}. Removed after each trial." if told else ""


def _gib(size_bytes: int) -> str:
    return f"{size_bytes / (1 << 30):.1f} GiB"


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
    marks = [fairness.MARK] if run.terms.unequal else []
    marks += [BRIEF_MARK] if run.overrides.get("scale") == Scale.BRIEF else []
    return ", ".join((run.status, *marks))


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
