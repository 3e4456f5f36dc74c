"""A run's findings as plain data, for `--json`: everything that the terminal shows, and every figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tidegauge.comparison import within
from tidegauge.comparison.order import in_order
from tidegauge.durability import levels_equal, levels_found
from tidegauge.experiments.procedure import seconds_expected as trial_seconds
from tidegauge.model.tilt import Terms
from tidegauge.model.trial import LoadSpec, TrialResult, TrialSpec
from tidegauge.model.workload import share_sizes
from tidegauge.places import is_file
from tidegauge.plain import plain_value
from tidegauge.report import compare, contests, distributions, levels, thresholds, usage
from tidegauge.report.envelopes import (
    Durability,
    ExperimentReport,
    Report,
    RunHead,
    Runs,
    SessionReport,
    SystemDurability,
    Unfinished,
    Usage,
)
from tidegauge.report.facts import RunFacts
from tidegauge.report.lists import ShownPlan
from tidegauge.report.sending import changed_settings
from tidegauge.store.envelopes import PlanFile, PlannedMemory
from tidegauge.store.files import REPORT_NAME
from tidegauge.store.read import StoredRun


def run_summary(run: StoredRun) -> dict[str, Any]:
    """A run and all its results. Units are in the names; times are UTC."""
    facts = RunFacts(run)
    report = Report(
        schema="tidegauge.report/1",
        run=run_head(run),
        unequal=run.terms.unequal,
        unequal_allowed=run.terms.allowed,
        advice=run.terms.advice,
        thresholds=thresholds.content(facts.rulings),
        durability=Durability(
            equal=levels_equal(run.results),
            headline=levels.headline(run.results),
            systems=_levels_of(run.results),
            points=[
                {"where": where, "headline": levels.headline(group), "systems": _levels_of(group)}
                for where, group in levels.by_point(run.results)
                if where
            ],
        ),
        experiments=[
            ExperimentReport(
                experiment=compared.experiment,
                point=compared.point,
                closed_loop=compared.closed_loop,
                results=plain_value(compared.results),
                comparisons=[
                    ratio_content(ratio, run.terms) for ratio in within.ratios_of_compared(compared, run.terms.allowed)
                ],
                not_compared_because=compare.objection(compared, run.terms.allowed),
            )
            for compared in facts.compared_trials
        ],
        merged=plain_value(distributions.merge_trials(run)),
        within_trial=plain_value(facts.within),
        findings=run.findings,
        finding_comparisons=[
            ratio_content(ratio, run.terms)
            for ratio in within.finding_ratios(run.findings, run.results, run.terms.allowed)
        ],
        variants=run.variants,
        contests=contests.contest_contents(facts.contests),
        published=run.published,
        changed_client_settings=changed_settings(run),
        ceilings=run.ceilings,
        price=run.price,
        usage=[_usage_of(row) for row in usage.results_used(run)],
        exploratory_trials=[result for result in run.results if result.spec.exploratory],
        trials_without_result=_unfinished_trials(facts),
        environment=run.environment,
    )
    content: dict[str, Any] = plain_value(report)
    return content


def _unfinished_trials(facts: RunFacts) -> list[Unfinished]:
    return [
        Unfinished(
            trial_id=trial.trial_id,
            status=trial.status,
            reason=trial.why,
            log_directory=str(trial.directory / "logs"),
        )
        for trial in facts.unfinished
    ]


def _levels_of(results: Sequence[TrialResult]) -> dict[str, SystemDurability]:
    return {
        system: SystemDurability(asked=choice, found=finding)
        for system, (choice, finding) in levels_found(results).items()
    }


def _usage_of(row: usage.Used) -> Usage:
    spec, result = row.result.spec, row.result
    return Usage(
        trial_id=spec.trial_id,
        system=spec.system,
        experiment=spec.experiment,
        msgs_per_s=result.msgs_per_s,
        mb_per_s=result.mb_per_s,
        shares=row.shares,
        cost=row.cost,
        limiting=result.limiting,
    )


def ratio_content(ratio: within.Ratio, terms: Terms) -> dict[str, Any]:
    """A ratio with its interval and verdict."""
    return {
        **plain_value(ratio),
        "ratio": plain_value(ratio.comparison.ratio),
        "sentence": compare.sentence(ratio),
        "unequal": bool(terms.unequal),
    }


def run_head(run: StoredRun) -> RunHead:
    """What a run is and how it stands."""
    report = run.path / REPORT_NAME
    return RunHead(
        name=run.path.name,
        campaign=run.name,
        label=run.labels.label,
        tags=run.labels.tags,
        path=str(run.path.absolute()),
        report=str(report.absolute()) if is_file(report) else "",
        status=run.status,
        reason=run.reason,
        damage=run.damage,
        notes=run.notes,
        unequal=bool(run.terms.unequal),
        started_at=run.started_at,
        ended_at=run.ended_at,
        tidegauge_version=run.tidegauge_version,
        sessions=[
            SessionReport(
                number=session.number,
                started_at=session.started_at,
                ended_at=session.ended_at,
                status=session.status,
                reason=session.reason,
                trials=run.results_of_session(session),
                changed=changed,
            )
            for session, changed in zip(run.sessions, run.sessions_changed, strict=False)
        ],
        trials_planned=run.trials_expected,
        trials_finished=len(run.results),
        systems=run.systems,
    )


def runs_summary(runs: Sequence[StoredRun]) -> dict[str, Any]:
    """All runs, oldest first."""
    content: dict[str, Any] = plain_value(Runs(schema="tidegauge.runs/1", runs=[run_head(run) for run in runs]))
    return content


def _worker_shares(trials: Sequence[TrialSpec], workers: int) -> list[dict[str, Any]]:
    """What each worker has of each trial; of a rate that is not known yet only how many of the producers."""
    trial_shares = []
    for trial in trials:
        producers = trial.workload.topics * trial.workload.producers
        rate = trial.msgs_per_s if isinstance(trial, LoadSpec) else None
        shares = [
            {**plain_value(size), "msgs_per_s": size.producers / producers * rate if rate else None}
            for size in share_sizes(trial.workload, workers)
        ]
        trial_shares.append({"trial_id": trial.trial_id, "shares": shares})
    return trial_shares


def plan_summary(plan: ShownPlan) -> dict[str, Any]:
    """The trials of a plan, in order, and what to know before it runs."""
    trials, memory = plan.trials, plan.memory
    file = PlanFile(
        schema="tidegauge.plan/1",
        seconds_expected=plan.seconds_expected,
        warnings=plan.warnings,
        examines=plan.examines,
        thresholds=plan.thresholds,
        retry=plan.retry,
        clusters=plan.clusters,
        placement=plan.placement,
        unequal=plan.terms.unequal,
        unequal_allowed=plan.terms.allowed,
        advice=plan.terms.advice,
        memory=None
        if memory is None
        else PlannedMemory(
            available=memory.available,
            needs=[
                {**plain_value(need), **{name: getattr(need, name) for name in ("servers_mb", "worker_mb", "total_mb")}}
                for need in memory.needs
            ],
        ),
        workers=_worker_shares(trials, memory.workers) if memory is not None and memory.workers > 1 else [],
        points=[
            {
                "point": point,
                "trials": sum(trial.point == point for trial in trials),
                "seconds_expected": sum(trial_seconds(trial) for trial in trials if trial.point == point),
            }
            for point in in_order([trial.point for trial in trials], plan.values)
            if point
        ],
        trials=plain_value(tuple(trials)),
    )
    content: dict[str, Any] = plain_value(file)
    return content
