"""Runs in which every figure that a published report transcribes came out as it stands there, times a known factor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from published_campaigns import PATHS, plan_published
from run_samples import latency, result

from tidegauge import store
from tidegauge.comparison.across import examined_together
from tidegauge.model.finding import Finding
from tidegauge.model.trial import CONFIRMATION, CatchUp, Latency, LoadResult, LoadSpec, PhaseFigures, TrialSpec
from tidegauge.model.workload import BEFORE, DURING, DeviceReads
from tidegauge.published.examine import report_named
from tidegauge.published.model import FIGURES, MAX_THROUGHPUT, PublishedReport
from tidegauge.published.observe import ExaminedRun, is_at_place
from tidegauge.report.whole_report import WholeReportFacts, whole_report
from tidegauge.statistics.figures import SUSTAINABLE

SPREAD = 0.01
"""By which share each repeat differs from the one before."""


def repeated_report(
    directory: Path, name: str, times: float = 1.0, repeat: int = 3, only: Sequence[str] = ()
) -> WholeReportFacts:
    """The report with a run of each of its campaigns, or of some, with `times` every published figure."""
    report = report_named(name)
    choices, runs, measured = [], [], []
    for path in PATHS:
        plan = plan_published(path, repeat=repeat)
        choice = plan.campaign.published
        if choice is None or choice.report != name or (only and path.stem.removeprefix(f"{name}-") not in only):
            continue
        stored = store.create_run(directory, plan.campaign.name, path.read_text())
        stored.write_environment({"host": {"hostname": "one"}})
        choices.append(choice)
        runs.append(store.load_run(stored.path))
        measured.append(measured_run(report, plan.trials, times))
    outcome = examined_together(choices, runs, measured)
    return whole_report(report, runs, measured, outcome)


def measured_run(report: PublishedReport, trials: Sequence[TrialSpec], times: float) -> ExaminedRun:
    """A run of planned trials with the published figures of their places, and none of other places."""
    planned = ExaminedRun(trials, (), unequal_allowed=True)
    specs: list[TrialSpec] = []
    results: list[LoadResult] = []
    findings: list[Finding] = []
    for trial in trials:
        values = {
            name: value * times * (1 + SPREAD * trial.block) for name, value in _values_at(report, trial, planned)
        }
        specs.append(trial)
        if not isinstance(trial, LoadSpec) or not values:
            continue
        if trial.experiment == MAX_THROUGHPUT:
            confirmation = replace(trial, trial_id=f"{trial.step_id}-s09-confirm", rate_rule=CONFIRMATION)
            specs.append(confirmation)
            results.append(_load_with(confirmation, values))
            findings.append(_search(confirmation, values[SUSTAINABLE]))
        else:
            results.append(_load_with(trial, values))
    return replace(planned, specs=tuple(specs), results=tuple(results), findings=tuple(findings))


def _values_at(report: PublishedReport, trial: TrialSpec, run: ExaminedRun) -> Iterator[tuple[str, float]]:
    """What the report's tables say of a trial's place, by the names of measured figures, in their own units."""
    for table in report.tables:
        for row in table.rows:
            place = row.within(table.common)
            for name, value in zip(table.figures, row.values, strict=True):
                figure = FIGURES[name]
                if figure.experiment == trial.experiment and is_at_place(place, trial, run):
                    size = (
                        trial.workload.payload.message_bytes
                        if figure.unit == "B/s" and figure.name == SUSTAINABLE
                        else 1
                    )
                    yield figure.name, value * report.unit_of(name)[1] / size


def _latency_with(values: Mapping[str, float], series: str) -> Latency:
    """A latency with the given figures of a series; its others are those of any load."""
    given: dict[str, Any] = {
        f"{name.removeprefix(f'{series}_ms_')}_ms": value
        for name, value in values.items()
        if name.startswith(f"{series}_ms_") and not name.endswith(("_before", "_during"))
    }
    return replace(latency(), **given)


def _load_with(trial: LoadSpec, values: Mapping[str, float]) -> LoadResult:
    load = result(trial, response=_latency_with(values, "response"))
    (only,) = load.subscriptions
    read = replace(only, end_to_end=_latency_with(values, "end_to_end"))
    return replace(load, subscriptions=(read,), catch_up=_catch_up(trial, values))


def _catch_up(trial: LoadSpec, values: Mapping[str, float]) -> CatchUp | None:
    if trial.late is None:
        return None
    phases = tuple(
        PhaseFigures(
            name, 30.0, 1000.0, replace(latency(), p99_ms=values.get(f"response_ms_p99_{name}", 5.0)), None, 1000.0
        )
        for name in (BEFORE, DURING)
    )
    chase_s = values.get("chase_s", 60.0)
    peak = values.get("peak_read_bytes_per_s", 1e8)
    backlog = trial.late.backlog_msgs
    reads = DeviceReads(10**12, 0.0, 10**12, 9.0)
    return CatchUp(backlog, backlog << 10, 9.0, chase_s, chase_s, 300.0, 3e5, None, peak / 1024, peak, 0, phases, reads)


def _search(confirmation: LoadSpec, msgs_per_s: float) -> Finding:
    goal = {
        "decided": True,
        "sustainable_msgs_per_s": msgs_per_s,
        "problem": "",
        "confirmation_trial_id": confirmation.trial_id,
    }
    return Finding(
        confirmation.step_id, MAX_THROUGHPUT, confirmation.system, confirmation.block, True, (), (), {"goals": [goal]}
    )
