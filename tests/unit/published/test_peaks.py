"""Maximum throughput by peaks of a closed loop, where no sustainable rate was searched for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from published_samples import (
    CONFIRMED,
    NOT_DECIDED,
    TWICE,
    WITH_EITHER_MAXIMUM,
    both,
    judged,
    peaks,
    peaks_with_backlog,
    run_of,
    sustained,
)

from tidegauge.model.use import Limiting, Resource
from tidegauge.published.across import runs_together
from tidegauge.published.beside import NamedRun, figures_beside
from tidegauge.published.differences import differences_from_report
from tidegauge.published.model import Planned, PublishedReport


def test_a_peak_stands_in_where_no_rate_was_searched_for() -> None:
    outcome = judged(TWICE, run_of(*peaks(40_000, 10_000)))
    assert outcome.verdict is CONFIRMED
    assert [(side.figure, side.unit) for side in outcome.parts[0].sides] == [("peak rate", "MiB/s")] * 2
    assert [side.values for side in outcome.parts[0].sides] == [(40_000 / 1024,), (10_000 / 1024,)]


def test_a_sustainable_rate_goes_before_a_peak() -> None:
    run = runs_together({"A": sustained(30_000, 10_000), "B": run_of(*peaks(40_000, 10_000))})
    sides = judged(TWICE, run).parts[0].sides
    assert [(side.figure, side.values) for side in sides] == [
        ("sustainable rate", (30_000 / 1024,)),
        ("sustainable rate", (10_000 / 1024,)),
    ]


def test_a_sustainable_rate_is_never_compared_with_a_peak() -> None:
    searched = sustained(40_000, 10_000, decided=False)
    only_pulsar = [peak for peak in peaks(40_000, 10_000) if peak.spec.system.startswith("pulsar")]
    outcome = judged(TWICE, runs_together({"A": searched, "B": run_of(*only_pulsar)}))
    assert outcome.verdict is NOT_DECIDED
    assert {side.figure for side in outcome.parts[0].sides} == {"sustainable rate"}


def test_peaks_decide_what_searches_that_were_cut_short_left_open() -> None:
    searched = sustained(40_000, 10_000, decided=False)
    outcome = judged(TWICE, runs_together({"A": searched, "B": run_of(*peaks(40_000, 10_000))}))
    assert outcome.verdict is CONFIRMED


@pytest.mark.parametrize(("backlog", "behind"), [(1_000, False), (300_000, True)])
def test_a_peak_that_left_its_consumers_behind_decides_nothing(backlog: int, behind: bool) -> None:
    outcome = judged(TWICE, run_of(*peaks_with_backlog(40_000, 10_000, backlog)))
    assert (outcome.verdict is NOT_DECIDED) is behind
    assert ("consumers were 300,000 messages behind" in outcome.reason) is behind


def test_a_peak_that_the_window_limited_decides_nothing() -> None:
    window = Limiting(Resource.WINDOW, "", None, "the window was full")
    outcome = judged(TWICE, run_of(*peaks(40_000, 10_000, limiting=window)))
    assert outcome.verdict is NOT_DECIDED
    assert outcome.reason.startswith("limited by the messages that may be in flight")


def test_a_table_has_peaks_where_nothing_was_searched_for() -> None:
    report = PublishedReport.model_validate(WITH_EITHER_MAXIMUM)
    runs = [NamedRun("A", "throughput", both(peaks(40_000, 10_000)))]
    ((_, (figure,)),) = figures_beside(report, runs)
    assert [column.words for column in figure.tables[0].columns] == ["maximum throughput"]
    assert [cell.values for cell in figure.cells] == [(40_000 * 1024 / 1e6,)]


@pytest.mark.parametrize(
    ("experiment", "expected"), [("peak", "a peak stands in"), ("max-throughput", "a rate is searched for")]
)
def test_what_differs_depends_on_how_the_maximum_is_found(experiment: str, expected: str) -> None:
    trials: list[Any] = [replace(peak.spec, experiment=experiment) for peak in peaks(40_000, 10_000)]
    report = PublishedReport.model_validate(WITH_EITHER_MAXIMUM)
    sentences = differences_from_report(report, [], Planned(trials, {}, figures=("throughput",)))
    assert {"a peak stands in", "a rate is searched for"} & {*sentences} == {expected}
