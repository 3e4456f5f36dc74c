"""Every figure that a report transcribes beside ours: its place, the campaign that measures it, and what is missing."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from published_campaigns import PATHS, SCALES, plan_published
from published_samples import MINE
from pydantic import ValidationError
from repeated_reports import SPREAD, repeated_report

from tidegauge.published.beside import CellBeside, FigureBeside, NamedRun, TableBeside, figures_beside
from tidegauge.published.examine import report_named, report_names
from tidegauge.published.model import PublishedReport
from tidegauge.published.observe import ExaminedRun
from tidegauge.report.whole_report import WholeReportFacts

NOWHERE = {
    ("confluent-2020", "raid-0"): "no campaign has a RAID-0",
    ("streamnative-2020", "kafka, 2,000 partitions, 4 producers"): "given without a level",
    ("streamnative-2020", "pulsar, 1 partition, 1 producer, 1 consumer"): "given without a level",
    ("streamnative-2020", "pulsar, 1 partition, 2 producers, 2 consumers"): "given without a level",
    ("streamnative-2020", "pulsar, journal, level 2, 1 partition, 1 producer, 1 consumer"): "no claim needs it",
}
"""Published places that no trial of the campaigns has, and why."""


@cache
def as_published(report: str, scale: str) -> tuple[NamedRun, ...]:
    """The plans of all campaigns of a report as runs in which every trial came out as published."""
    plans = [plan_published(path, scale=scale) for path in PATHS if path.stem.startswith(report)]
    return tuple(
        NamedRun(
            str(number),
            plan.campaign.name.removeprefix(f"{report}-"),
            ExaminedRun(plan.trials, (), as_published=True),
        )
        for number, plan in enumerate(plans)
    )


def cells_of(report: str, runs: tuple[NamedRun, ...]) -> Iterator[tuple[str, CellBeside]]:
    """Each figure with its place in words."""
    for _, figures in figures_beside(report_named(report), runs):
        for table in [table for figure in figures for table in figure.tables]:
            for row in table.rows:
                yield from ((row.place.words(), cell) for cell in row.cells)


@pytest.mark.parametrize("scale", [scale for scale in SCALES if scale != "brief"])
@pytest.mark.parametrize("report", report_names())
def test_every_transcribed_figure_is_measured_by_a_campaign_of_its_place(report: str, scale: str) -> None:
    cells = list(cells_of(report, as_published(report, scale)))
    transcribed = sum(len(row.values) for table in report_named(report).tables for row in table.rows)
    assert len(cells) == transcribed
    nowhere = {place for place, cell in cells if not cell.values}
    expected = {place for name, place in NOWHERE if name == report}
    assert {place for place in nowhere if not any(place.endswith(end) for end in expected)} == set()
    assert len(nowhere) == len(expected)


def facts_of(figures: list[FigureBeside]) -> list[TableBeside]:
    return [table for figure in figures for table in figure.tables]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> WholeReportFacts:
    return repeated_report(tmp_path_factory.mktemp("runs"), "streamnative-2022", times=0.5)


def test_ours_stand_beside_theirs_in_their_unit_with_the_ratio(whole: WholeReportFacts) -> None:
    cells = [cell for _, figures in whole.sections for figure in figures for cell in figure.beside.cells]
    assert len(cells) == 36
    # The median of three repeats is the second.
    assert {round(cell.ratio or 0.0, 6) for cell in cells} == {round(0.5 * (1 + SPREAD), 6)}
    assert all(len(cell.values) == 3 and not cell.missing for cell in cells)


def test_a_figure_is_asked_of_its_own_campaigns_only(tmp_path: Path) -> None:
    """The campaign on batch sizes measures Kafka at level 2 as well, but it isn't how the head table came about."""
    runs = [run for run in as_published("confluent-2020", "shares") if run.campaign == "batch-size"]
    (head,) = [
        figure
        for _, figures in figures_beside(report_named("confluent-2020"), runs)
        for figure in figures
        if figure.figure.tables == ["peak"]
    ]
    assert head.measured_by == () and head.not_run == ("as-run", "shapes")
    assert not any(cell.values or cell.missing for cell in head.cells)


def report_with(**changes: Any) -> PublishedReport:
    return PublishedReport.model_validate({**MINE, **changes})


@pytest.mark.parametrize(
    ("figure", "wrong"),
    [
        ({"tables": ["t"], "claims": []}, "each claim has one place in 'sections', other than c"),
        ({"tables": [], "claims": ["c"]}, "each table has one place in 'sections', other than t"),
        ({"tables": ["t", "t"], "claims": ["c"]}, "each table has one place in 'sections', other than t"),
        ({"tables": ["t"], "claims": ["c", "d"]}, "each claim has one place in 'sections', other than d"),
    ],
)
def test_each_table_and_each_claim_has_one_place_in_the_reports_order(figure: dict[str, Any], wrong: str) -> None:
    sections = [{"title": "one", "figures": [{"name": "Figure 1", "title": "x", **figure}]}]
    with pytest.raises(ValidationError, match=wrong):
        report_with(sections=sections)
    whole = [{"title": "one", "figures": [{"name": "Figure 1", "title": "x", "tables": ["t"], "claims": ["c"]}]}]
    assert [figure.name for figure in report_with(sections=whole).figures] == ["Figure 1"]


@pytest.mark.parametrize("name", report_names())
def test_every_report_has_its_order_and_campaigns_that_exist(name: str) -> None:
    report = report_named(name)
    assert report.sections
    campaigns = {path.stem.removeprefix(f"{name}-") for path in PATHS if path.stem.startswith(f"{name}-")}
    assert {campaign for figure in report.figures for campaign in figure.campaigns} <= campaigns
    assert all(figure.campaigns for figure in report.figures)
