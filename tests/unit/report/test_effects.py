"""What reports say of a sweep whose points stand for all combinations: what is more than chance, and what is not."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import replace

import pytest
from gallery_samples import DESIGN_POINTS, scale_in_design
from page_scenes import run_named
from report_samples import KAFKA
from rich.console import Console

from tidegauge import store
from tidegauge.comparison.compared_trials import sort_compared_trials
from tidegauge.model.finding import Finding
from tidegauge.model.trial import LoadResult, Validity
from tidegauge.report.effects import (
    SweepEffects,
    effects_notes,
    effects_of_compared,
    effects_of_findings,
    effects_sentence,
    effects_table,
    planned_design_words,
)
from tidegauge.report.facts import RunFacts
from tidegauge.report.html.page import report_page
from tidegauge.report.plots.draw import file_figure
from tidegauge.report.plots.overview import overview
from tidegauge.report.terminal import run_report
from tidegauge.report.verdicts import verdicts
from tidegauge.statistics.designs import Design, design_points
from tidegauge.statistics.figures import SUSTAINABLE
from tidegauge.store.read import StoredRun


@pytest.fixture(scope="module")
def run() -> StoredRun:
    return run_named("sweep-of-a-design")[0]


@pytest.fixture(scope="module")
def sweep(run: StoredRun) -> SweepEffects:
    (only,) = effects_of_compared(sort_compared_trials(run.results))
    return only


def text_of(run: StoredRun) -> str:
    out = io.StringIO()
    Console(file=out, width=150).print(run_report(run))
    return out.getvalue()


def test_what_matters_stands_first_with_its_ratio_and_interval(sweep: SweepEffects) -> None:
    table = effects_table(sweep)
    assert table.label_head == f"field, {KAFKA}"
    assert table.labels[:2] == ("partitions", "linger.ms")
    cells = {column.head: column.cells for group in table.groups for column in group.columns}
    assert (cells["lowest at"][:2], cells["highest at"][0]) == (("1", cells["lowest at"][1]), "100")
    assert cells["highest at"][1] == "20"
    assert [round(float(ratio.rstrip("x"))) for ratio in cells["ratio"][:2]] == [4, 2]
    assert {len(ratio.rstrip("x").partition(".")[2]) for ratio in cells["ratio"]} == {2}, "2.00x beside 4.01x"
    assert cells["verdict"] == ("more than chance", "more than chance", "none shown", "none shown")
    low, _, high = cells["95% interval"][0].split()
    assert float(low) < 4.0 < float(high)


def test_a_sentence_says_what_moves_the_figure(sweep: SweepEffects, run: StoredRun) -> None:
    sentence = effects_sentence(sweep)
    assert sentence.startswith("response p99 moved by partitions (4")
    assert " from 1 to 100) and linger.ms (" in sentence
    (verdict,) = verdicts(RunFacts(run))
    assert f"Kafka: {sentence}" in verdict.sentence


def test_notes_say_how_many_points_stand_for_how_many(sweep: SweepEffects) -> None:
    first = effects_notes(sweep)[0]
    assert first == f"{KAFKA}: {len(DESIGN_POINTS)} of 81 points (pairwise: every pair of values of two fields)."
    assert "What two axes do together is not estimated" in " ".join(effects_notes(sweep))
    assert "Without repeats" not in " ".join(effects_notes(sweep))


def test_page_and_terminal_have_the_table(run: StoredRun) -> None:
    page, text = report_page(run, store.details_of(run)), text_of(run)
    for shown in (page, text):
        assert "more than chance" in shown
        assert f"{len(DESIGN_POINTS)} of 81 points" in shown


def test_the_first_picture_has_each_field_with_its_ratio_and_interval(run: StoredRun, sweep: SweepEffects) -> None:
    picture = overview(run, [])
    assert picture is not None
    figure = file_figure(picture, {KAFKA: 0})
    (axes,) = figure.axes
    rows = [label.get_text().split("\n") for label in axes.get_yticklabels()]
    assert rows[:2] == [["partitions", "1 to 100"], ["linger.ms", "0 to 20"]]
    assert [len(lines) for lines in rows[2:]] == [1, 1], "what shows no effect has no direction"
    drawn = sorted(
        (x, y)
        for line in axes.lines
        if line.get_gid() == "system-0" and line.get_marker() not in ("None", "_", "|")
        for y, x in zip(line.get_xdata(), line.get_ydata(), strict=True)
    )
    ratios = [effect.ratio for effect in sweep.effects.effects]
    assert [x for x, _ in drawn] == [0.0, 1.0, 2.0, 3.0]
    assert [y for _, y in drawn] == pytest.approx(ratios)
    (series,) = picture.series
    assert series.hollow == (False, False, True, True)
    assert "What each field does to the response p99" in " ".join(text.get_text() for text in figure.texts)
    low, high = axes.get_xlim()
    assert all(low <= (effect.low or 1) and (effect.high or 1) <= high for effect in sweep.effects.effects)


def test_an_invalid_trial_counts_for_nothing(run: StoredRun) -> None:
    first, *others = run.results
    assert isinstance(first, LoadResult)
    wild = replace(first, validity=Validity.INVALID, response=replace(first.response, p99_ms=1e6))
    (spoilt,) = effects_of_compared(sort_compared_trials([wild, *others]))
    assert spoilt.effects.points == len(DESIGN_POINTS), "its other block stands for the point"
    assert [effect.axis for effect in spoilt.effects.shown] == ["partitions", "systems.kafka.producer.linger.ms"]


def test_a_sweep_of_all_combinations_has_no_such_table() -> None:
    run, _ = run_named("sweep-of-three")
    assert effects_of_compared(sort_compared_trials(run.results)) == []
    assert "95% interval" not in text_of(run)
    assert planned_design_words([{"n": "1"}, {"n": "2"}]) == "2 points of the sweep"


def found(number: int, rate: float, point: Mapping[str, str], block: int = 0) -> Finding:
    figures = {SUSTAINABLE: rate}
    return Finding(f"f{number}", "max-throughput", KAFKA, block, True, ("",), figures=figures, point=point)


def test_sustainable_rates_that_were_found_have_effects_too() -> None:
    findings = [
        found(number, 1e5 / scale_in_design(point, block), point, block)
        for block in (0, 1)
        for number, point in enumerate(DESIGN_POINTS)
    ]
    (sweep,) = effects_of_findings(findings)
    assert effects_sentence(sweep).startswith("sustainable rate moved by partitions (")
    assert sweep.effects.effects[0].highest == "1"


def test_without_repeats_it_is_said_that_effects_may_hide(run: StoredRun) -> None:
    once = [result for result in run.results if result.spec.block == 0]
    (sweep,) = effects_of_compared(sort_compared_trials(once))
    said = " ".join(effects_notes(sweep))
    assert "Without repeats several effects of one size hide each other" in said


def test_a_design_of_one_at_a_time_says_that_it_knows_nothing_of_values_together() -> None:
    places = design_points(Design.ONE_AT_A_TIME, (3, 3, 3))
    points = [dict(zip("abc", map(str, place), strict=True)) for place in places]
    assert planned_design_words(points).startswith("7 of 27 points of the sweep (one at a time")
    (sweep,) = effects_of_findings([found(number, 1e5 + number, point) for number, point in enumerate(points)])
    assert "Each effect is that at the base point: what axes do together was not measured." in effects_notes(sweep)
    assert effects_sentence(sweep) == "no field that moves the sustainable rate more than chance"


def test_pairs_of_a_point_whose_trials_are_invalid_were_not_measured(run: StoredRun) -> None:
    at = run.results[0].spec.point
    results = [
        replace(one, validity=Validity.INVALID) if isinstance(one, LoadResult) and one.spec.point == at else one
        for one in run.results
    ]
    (sweep,) = effects_of_compared(sort_compared_trials(results))
    assert f"{len(DESIGN_POINTS) - 1} of 81 points (pairwise: " in effects_notes(sweep)[0]
    assert "every pair" not in effects_notes(sweep)[0]
