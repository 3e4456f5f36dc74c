"""A run's findings as plain data, for `--json`: everything that the terminal shows, and every figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tidegauge.comparison import within
from tidegauge.comparison.blocks import sort_into_blocks
from tidegauge.durability import levels_equal, levels_found
from tidegauge.experiments.procedure import seconds_expected as trial_seconds
from tidegauge.model.tilt import Terms
from tidegauge.model.trial import LoadSpec, TrialResult, TrialSpec
from tidegauge.model.workload import share_sizes
from tidegauge.plain import plain
from tidegauge.report import compare, distributions, fairness, levels, thresholds, usage
from tidegauge.report.lists import ShownPlan
from tidegauge.report.tables import in_order
from tidegauge.store.files import REPORT_NAME
from tidegauge.store.read import StoredRun, environment_changes


def run_summary(run: StoredRun) -> dict[str, Any]:
    """A run and all its results. Units are in the names; times are UTC."""
    return {
        "schema": "tidegauge.report/1",
        "run": run_head(run),
        **fairness.content(run.terms),
        "thresholds": thresholds.content(run),
        "durability": {
            "equal": levels_equal(run.results),
            "headline": levels.headline(run.results),
            "systems": _levels_of(run.results),
            "points": [
                {"where": where, "headline": levels.headline(group), "systems": _levels_of(group)}
                for where, group in levels.by_point(run.results)
                if where
            ],
        },
        "experiments": [
            {
                "experiment": block.experiment,
                "point": plain(block.point),
                "closed_loop": block.closed_loop,
                "results": plain(block.results),
                "comparisons": [
                    ratio_content(ratio, run.terms) for ratio in within.block_ratios(block, run.terms.allowed)
                ],
                "not_compared_because": compare.objection(block, run.terms.allowed),
            }
            for block in sort_into_blocks(run.results)
        ],
        **distributions.content(run),
        "findings": plain(run.findings),
        "finding_comparisons": [
            ratio_content(ratio, run.terms)
            for ratio in within.finding_ratios(run.findings, run.results, run.terms.allowed)
        ],
        "published": plain(run.published),
        **usage.content(run),
        "exploratory_trials": plain([result for result in run.results if result.spec.exploratory]),
        "trials_without_result": [
            {
                "trial_id": trial.trial_id,
                "status": trial.status,
                "reason": trial.why,
                "log_directory": str(trial.directory / "logs"),
            }
            for trial in run.trials
            if trial.result is None
        ],
        "environment": plain(run.environment),
    }


def _levels_of(results: Sequence[TrialResult]) -> dict[str, Any]:
    return {
        system: {"asked": plain(choice), "found": plain(finding)}
        for system, (choice, finding) in levels_found(results).items()
    }


def ratio_content(ratio: within.Ratio, terms: Terms) -> dict[str, Any]:
    """A ratio with its interval and verdict."""
    return {
        **plain(ratio),
        "ratio": plain(ratio.comparison.ratio),
        "sentence": compare.sentence(ratio),
        "unequal": bool(terms.unequal),
    }


def run_head(run: StoredRun) -> dict[str, Any]:
    """What a run is and how it stands."""
    report = run.path / REPORT_NAME
    return {
        "name": run.path.name,
        "campaign": run.name,
        "path": str(run.path.absolute()),
        "report": str(report.absolute()) if report.is_file() else "",
        "status": run.status,
        "reason": run.reason,
        "damage": list(run.damage),
        "notes": list(run.notes),
        "unequal": bool(run.terms.unequal),
        "started_at": run.started_at,
        "ended_at": run.ended_at,
        "tidegauge_version": run.tidegauge_version,
        "sessions": [
            {
                **plain(session),
                "trials": [trial.trial_id for trial in run.trials if trial.session == session.number and trial.result],
                "changed": environment_changes(before, environment) if before and environment else [],
            }
            for session, before, environment in zip(
                run.sessions, ({}, *run.environments), run.environments, strict=False
            )
        ],
        "trials_planned": run.trials_expected,
        "trials_finished": len(run.results),
        "systems": sorted({result.spec.system for result in run.results}),
    }


def runs_summary(runs: list[StoredRun]) -> dict[str, Any]:
    """All runs, oldest first."""
    return {"schema": "tidegauge.runs/1", "runs": [run_head(run) for run in runs]}


def _worker_shares(trials: Sequence[TrialSpec], workers: int) -> list[dict[str, Any]]:
    """What each worker has of each trial; of a rate that is not known yet only how many of the producers."""
    trial_shares = []
    for trial in trials:
        producers = trial.workload.topics * trial.workload.producers
        rate = trial.msgs_per_s if isinstance(trial, LoadSpec) else None
        shares = [
            {**plain(size), "msgs_per_s": size.producers / producers * rate if rate else None}
            for size in share_sizes(trial.workload, workers)
        ]
        trial_shares.append({"trial_id": trial.trial_id, "shares": shares})
    return trial_shares


def plan_summary(plan: ShownPlan) -> dict[str, Any]:
    """The trials of a plan, in order, and what to know before it runs."""
    trials, memory = plan.trials, plan.memory
    return {
        "schema": "tidegauge.plan/1",
        "seconds_expected": plain(plan.seconds_expected),
        "warnings": list(plan.warnings),
        "examines": plan.examines and plain(plan.examines),
        "thresholds": list(plan.thresholds),
        "retry": plan.retry,
        **fairness.content(plan.terms),
        "memory": memory
        and {
            "available": plain(memory.available),
            "needs": [
                {**plain(need), **{name: getattr(need, name) for name in ("servers_mb", "worker_mb", "total_mb")}}
                for need in memory.needs
            ],
        },
        "workers": _worker_shares(trials, memory.workers) if memory is not None and memory.workers > 1 else [],
        "points": [
            {
                "point": plain(point),
                "trials": sum(trial.point == point for trial in trials),
                "seconds_expected": sum(trial_seconds(trial) for trial in trials if trial.point == point),
            }
            for point in in_order([trial.point for trial in trials])
            if point
        ],
        "trials": plain(tuple(trials)),
    }
