"""Runs sorted into the parts of a history, and the changes of their figures."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from history_samples import CHANGED, DISTURBED, INVALID, disclosed, nightly_results, nightly_run, nightly_runs
from run_samples import spec

from tidegauge.comparison.history import FigureHistory, RunHistory, Untested, history_of_runs
from tidegauge.model.finding import Finding
from tidegauge.model.level import LevelFinding
from tidegauge.model.trial import RateRule
from tidegauge.statistics.intervals import ComparisonVerdict
from tidegauge.store.details import Disclosed
from tidegauge.store.read import StoredRun, StoredTrial


@cache
def nights() -> RunHistory:
    return history_of_runs(nightly_runs(), disclosed)


def figure_named(history: RunHistory, name: str, part: int = 0) -> FigureHistory:
    return next(one for one in history.parts[part].figures if one.figure.name == name)


def two_nights(**second: Any) -> RunHistory:
    """Two nights, of which the second differs."""
    runs = [nightly_run(0, nightly_results([1.0])), nightly_run(1, nightly_results([1.0]), **second)]
    return history_of_runs(runs, disclosed)


def conditions_apart(history: RunHistory) -> list[dict[str, str]]:
    return [dict(part.apart) for part in history.parts]


def test_a_change_is_found_where_it_is_with_its_size_and_what_changed_then() -> None:
    p99 = figure_named(nights(), "response_ms_p99")
    (change,) = p99.changes
    assert p99.entries[change.place].run is not None
    assert p99.entries[change.place].run.started_at.startswith(f"2026-10-{CHANGED + 1:02d}")
    assert change.comparison.verdict is ComparisonVerdict.WORSE
    interval = change.comparison.interval
    assert interval is not None and interval.low < 1.25 < interval.high
    assert (len(change.before), len(change.since)) == (15, 8)
    assert {one.what: one.values for one in change.differences} == {
        "Tidegauge": ("1.0 abc", "1.0 def"),
        "kafka": ("kafka@4.3.0", "kafka@4.3.1"),
    }


def test_invalid_trials_are_no_points_and_disturbed_runs_say_so() -> None:
    (part,) = nights().parts
    assert [run.started_at[8:10] for run in part.left_out] == [f"{INVALID + 1:02d}"]
    assert len(part.entries) == 23
    (disturbed,) = [entry for entry in part.entries if entry.disturbances]
    assert disturbed.run.started_at[8:10] == f"{DISTURBED + 1:02d}"
    assert disturbed.doubtful and not disturbed.doubts, "what disturbed is not said twice"
    history = history_of_runs([nightly_run(0, [*nightly_results([1.0]), *_invalid()])], disclosed)
    (entry,) = history.parts[0].entries
    assert (entry.trials, entry.invalid) == (1, 1)
    assert figure_named(history, "response_ms_p99").values == ((7.8,),)


def _invalid() -> Sequence[Any]:
    from tidegauge.model.trial import Validity

    return nightly_results([1.0, 9.0], validity=Validity.INVALID)[1:]


def test_without_a_change_none_is_claimed() -> None:
    dice = random.Random(3)
    calm = [nightly_run(night, nightly_results([dice.lognormvariate(0, 0.05)])) for night in range(14)]
    history = history_of_runs(calm, disclosed)
    assert history.figures_tested == 4
    assert [figure.changes for figure in history.parts[0].figures] == [()] * 4


def test_the_same_figures_of_more_trials_are_no_change() -> None:
    """Means of 3 and of 5 values that are all the same differ by their last digits."""
    trials = [3] * 10 + [5] * 10
    runs = [nightly_run(night, nightly_results([1.0] * number)) for night, number in enumerate(trials)]
    assert [figure.changes for figure in history_of_runs(runs, disclosed).parts[0].figures] == [()] * 4


def test_few_runs_are_not_tested() -> None:
    history = history_of_runs(nightly_runs(9), disclosed)
    assert {figure.untested for figure in history.parts[0].figures} == {Untested.FEW_RUNS}
    assert history.figures_tested == 0


@pytest.mark.parametrize(
    ("second", "apart"),
    [
        ({"host": {"cpus": 4}}, [{"cpus": "2"}, {"cpus": "4"}]),
        ({"name": "weekly"}, [{}, {}]),
    ],
)
def test_runs_of_another_machine_or_campaign_are_apart(second: dict[str, Any], apart: list[dict[str, str]]) -> None:
    assert conditions_apart(two_nights(**second)) == apart


@pytest.mark.parametrize(
    ("changes", "apart"),
    [
        ({"level": LevelFinding(4, ())}, {"level found": ("3", "4")}),
        ({"spec": {"measure_s": 60.0}}, {"measure_s": ("30.0", "60.0")}),
        ({"spec": {"nodes": 3}}, {"nodes": ("1", "3")}),
        ({"spec": {"msgs_per_s": 5_000.0}}, {"rate": ("20,000 msg/s", "5,000 msg/s")}),
        ({"spec": {"workload": replace(spec().workload, partitions=7)}}, {"workload.partitions": ("1", "7")}),
    ],
)
def test_what_was_asked_otherwise_is_apart_and_said(changes: dict[str, Any], apart: dict[str, tuple[str, str]]) -> None:
    trial = replace(spec(), **changes.pop("spec", {}))
    runs = [nightly_run(0, nightly_results([1.0])), nightly_run(1, nightly_results([1.0], trial, **changes))]
    found = conditions_apart(history_of_runs(runs, disclosed))
    assert found == [{name: values[side] for name, values in apart.items()} for side in (0, 1)]


def test_settings_versions_kernels_and_tags_are_of_one_part_and_said() -> None:
    def other_threads(trial: StoredTrial) -> Disclosed:
        return disclosed(trial, "16" if "10-02" in str(trial.directory) else "8")

    runs = [
        nightly_run(0, nightly_results([1.0])),
        nightly_run(1, nightly_results([1.0]), host={"kernel": "Linux 6.18"}, tags=("release",)),
    ]
    (part,) = history_of_runs(runs, other_threads).parts
    assert part.entries[0].differences == ()
    assert [(one.kind, one.what) for one in part.entries[1].differences] == [
        ("labels", "tags"),
        ("host", "kernel"),
        ("settings", "kafka, server, broker: num.io.threads"),
    ]


def test_versions_that_one_run_compares_are_series_of_their_own() -> None:
    def both(night: int) -> StoredRun:
        old, new = (
            nightly_results([1.0], replace(spec(system), trial_id=system)) for system in ("kafka@3.9.2", "kafka@4.3.1")
        )
        return nightly_run(
            night, [replace(one, spec=replace(one.spec, trial_id=f"{one.spec.system}")) for one in (*old, *new)]
        )

    history = history_of_runs([both(0), both(1)], disclosed)
    assert [(part.system, len(part.entries)) for part in history.parts] == [("kafka@3.9.2", 2), ("kafka@4.3.1", 2)]


def _shared(night: int, msgs_per_s: float) -> StoredRun:
    trial = replace(spec(), msgs_per_s=msgs_per_s, rate_rule=RateRule.from_text("50% of peak"))
    return nightly_run(night, nightly_results([1.0 + night / 1000], trial))


def test_shares_of_a_rate_are_one_series_and_times_at_other_rates_not_tested() -> None:
    moved = history_of_runs([_shared(night, 20_000.0 + 100 * night) for night in range(12)], disclosed)
    assert len(moved.parts) == 1
    assert {figure.untested for figure in moved.parts[0].figures} == {Untested.OTHER_RATES}
    steady = history_of_runs([_shared(night, 20_000.0 + night) for night in range(12)], disclosed)
    assert {figure.untested for figure in steady.parts[0].figures} == {None}


def test_what_experiments_find_is_a_series_by_what_all_its_steps_share() -> None:
    def searched(night: int) -> StoredRun:
        rate = 20_000.0 if night < 8 else 30_000.0
        steps = [
            replace(
                spec(experiment="max-throughput"),
                trial_id=f"0001-x-s{step:02d}",
                msgs_per_s=rate / step,
                exploratory=True,
            )
            for step in (1, 2)
        ]
        results = [one for step in steps for one in nightly_results([1.0], step)]
        results = [replace(one, spec=step) for one, step in zip(results, steps, strict=True)]
        figures = {"sustainable_msgs_per_s": rate * (1 + night / 1000)}
        finding = Finding("0001-x", "max-throughput", "kafka@4.3.1", 0, True, (), figures=figures)
        return nightly_run(night, results, findings=(finding,))

    (part,) = history_of_runs([searched(night) for night in range(16)], disclosed).parts
    assert part.is_found and "rate" not in part.conditions and "msgs_per_s" not in part.conditions
    (rate,) = part.figures
    assert [change.place for change in rate.changes] == [8]
    assert math.isclose(rate.changes[0].comparison.ratio, 1.5, rel_tol=0.02)


def test_runs_without_a_measured_trial_are_named() -> None:
    history = history_of_runs([nightly_run(0, ()), nightly_run(1, nightly_results([1.0]))], disclosed)
    assert [run.started_at[8:10] for run in history.without_figures] == ["01"]


def test_points_of_a_sweep_are_parts_and_told_apart_by_their_point_alone() -> None:
    trials = [replace(spec(), point={"partitions": count}, trial_id=f"000{count}") for count in ("1", "8")]
    results = [one for trial in trials for one in nightly_results([1.0], trial)]
    results = [replace(one, spec=replace(one.spec, trial_id=f"x{place}")) for place, one in enumerate(results)]
    history = history_of_runs([nightly_run(0, results), nightly_run(1, results)], disclosed)
    assert [dict(part.point) for part in history.parts] == [{"partitions": "1"}, {"partitions": "8"}]
    assert conditions_apart(history) == [{}, {}]


def test_of_one_run_alone_there_is_no_history() -> None:
    alone = history_of_runs([nightly_run(0, nightly_results([1.0]))], disclosed)
    assert len(alone.parts) == 1 and alone.repeated_parts == ()
