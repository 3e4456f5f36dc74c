"""The page of a whole report: the score, every figure beside ours, pictures in which theirs can't be taken for ours."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from repeated_reports import SPREAD, repeated_report
from schema_checks import check_content

from tidegauge.published.examine import report_named
from tidegauge.published.verdict import ClaimOutcome, ClaimPart, ClaimVerdict, Side
from tidegauge.report.across import published_runs_content
from tidegauge.report.html.whole_report import whole_report_page
from tidegauge.report.plots.draw import draw_figure
from tidegauge.report.plots.model import Axis, Mark, Plot, Series
from tidegauge.report.plots.paper import FAINT, PAGE
from tidegauge.report.plots.published import key_rows, places_of_names, table_plots
from tidegauge.report.whole_report import ClaimOfPage, WholeReportFacts, reason_lines, whole_report_markdown

TIMES = 0.5
SYSTEMS = ("kafka", "pulsar", "rabbitmq")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> WholeReportFacts:
    return repeated_report(tmp_path_factory.mktemp("runs"), "streamnative-2022", times=TIMES)


@pytest.fixture(scope="module")
def part(tmp_path_factory: pytest.TempPathFactory) -> WholeReportFacts:
    """The report with a run of one campaign of four."""
    return repeated_report(tmp_path_factory.mktemp("part"), "streamnative-2022", only=["latency"])


def plots_of_table(facts: WholeReportFacts, table_id: str) -> list[Plot]:
    tables = [table for _, figures in facts.sections for figure in figures for table in figure.beside.tables]
    (table,) = [table for table in tables if table.table.id == table_id]
    return table_plots(table, "t")


def test_the_score_counts_every_claim_of_the_report(whole: WholeReportFacts, part: WholeReportFacts) -> None:
    assert whole.score == "Of 21 claims 20 confirmed, 1 not decided"
    assert part.score == "Of 21 claims 6 confirmed, 15 not measured yet"
    assert part.figures_score == "21 of its 36 published figures have one of ours beside them"


def test_what_is_not_measured_says_by_which_command_it_would_be(part: WholeReportFacts) -> None:
    figures = [figure for _, figures in part.sections for figure in figures]
    throughput = tuple(
        f"tidegauge reproduce streamnative-2022 --only {name}" for name in ("throughput-as-run", "throughput")
    )
    assert [figure.commands for figure in figures] == [
        throughput,
        throughput,
        (),
        ("tidegauge reproduce streamnative-2022 --only catch-up",),
    ]
    first = figures[0].claims[0]
    assert first.title == "NOT MEASURED YET: On one partition Pulsar sustains 2.5 times what Kafka does"
    assert first.outcome is None


def test_a_curve_has_both_at_each_percentile_and_theirs_is_grey_and_hollow(whole: WholeReportFacts) -> None:
    (plot,) = plots_of_table(whole, "publish-latency")
    ours, theirs = _both_of(plot, "kafka, level 2")
    assert theirs.x == (50.0, 75.0, 95.0, 99.0, 99.9, 99.99)
    for our_ms, their_ms in zip(ours.y, theirs.y, strict=True):
        assert our_ms == pytest.approx((their_ms or 0.0) * TIMES * (1 + SPREAD))
    _, axes = draw_figure(plot, places_of_names(plot, SYSTEMS))
    faces = {line.get_markerfacecolor() for line in axes.lines if line.get_markeredgecolor() == FAINT and _marked(line)}
    assert faces == {PAGE}
    assert sum(1 for line in axes.lines if line.get_markeredgecolor() == FAINT and _marked(line)) == 3


def _marked(line: object) -> bool:
    return getattr(line, "get_marker")() not in ("None", "", None)  # noqa: B009


def _both_of(plot: Plot, name: str) -> tuple[Series, Series]:
    ours, theirs = (series for series in plot.series if series.system == name)
    assert not ours.theirs and theirs.theirs and theirs.label == "published"
    return ours, theirs


def test_rates_are_bars_with_the_published_ones_as_marks_at_the_same_place(whole: WholeReportFacts) -> None:
    (plot,) = plots_of_table(whole, "throughput-1-partition")
    assert plot.x.names == ("pulsar, bypass, level 2", "pulsar, level 1", "kafka, level 2")
    ours, theirs = _both_of(plot, "pulsar")
    assert (ours.mark, theirs.mark) == (Mark.BARS, Mark.POINTS)
    assert ours.x == theirs.x == (0.0, 1.0)
    assert theirs.y == (700.0, 580.0)


def test_levels_of_one_system_share_its_colour_and_differ_in_their_marks(whole: WholeReportFacts) -> None:
    (plot,) = plots_of_table(whole, "publish-latency")
    places = places_of_names(plot, SYSTEMS)
    assert places["pulsar, level 1"] % 6 == places["pulsar, bypass, level 2"] % 6 != places["kafka, level 2"] % 6
    assert len(set(places.values())) == 3


def test_a_colour_is_of_the_same_system_in_every_picture_of_a_page(whole: WholeReportFacts) -> None:
    (plot,) = plots_of_table(whole, "publish-latency")
    places = places_of_names(plot, SYSTEMS)
    alone = replace(plot, series=tuple(each for each in plot.series if each.system.startswith("pulsar")))
    assert alone.systems != plot.systems
    alone_places = places_of_names(alone, SYSTEMS)
    assert alone_places == {name: place for name, place in places.items() if name in alone_places}
    assert key_rows([alone], SYSTEMS) == alone_places


def test_the_words_above_a_picture_say_nothing_twice(whole: WholeReportFacts) -> None:
    for table in ("throughput-1-partition", "throughput-100-partitions"):
        (plot,) = plots_of_table(whole, table)
        words = plot.context.split(", ")
        assert len(words) == len(set(words)), plot.context
        assert not re.search(r"(\S+) to \1 ", plot.description), "one bar has no ends"


def test_a_table_without_any_figure_of_ours_has_no_picture(part: WholeReportFacts) -> None:
    assert plots_of_table(part, "throughput-1-partition") == []


def test_the_page_has_every_heading_table_and_claim(whole: WholeReportFacts, part: WholeReportFacts) -> None:
    page = whole_report_page(whole, lambda run: [], lambda run: "there/report.html")
    for section in whole.report.sections:
        assert f"<h2>{section.title}</h2>" in page
        for figure in section.figures:
            assert f"{figure.name}: {figure.title}</h3>" in page
    assert page.count("<svg") >= 6
    assert 'href="there/report.html">run C</a>' in page
    assert "To measure what is missing" not in page
    assert "To measure what is missing: <code>tidegauge reproduce" in whole_report_page(
        part, lambda run: [], lambda run: ""
    )


def test_markdown_has_the_tables_with_ratios(whole: WholeReportFacts) -> None:
    text = whole_report_markdown(whole)
    assert "**Of 21 claims 20 confirmed, 1 not decided.** 36 of its 36 published figures" in text
    assert re.search(r"\| pulsar, bypass, level 2 \| 700 \| 35[34] \| 0\.51? \| 3 \| C \|", text)
    assert "The report contradicts itself here: its figures are 230 and 460 s" in text


def test_the_same_as_json(whole: WholeReportFacts) -> None:
    content = json.loads(json.dumps(published_runs_content(whole)))
    check_content(content)
    (row, *_) = content["sections"][0]["figures"][0]["tables"][0]["rows"]
    assert row["place"] == "pulsar, bypass, level 2, 1 partition, 4 producers, 1 consumer"
    assert row["figures"][0]["ratio"] == pytest.approx(TIMES * (1 + SPREAD))


def test_a_picture_of_our_own_run_stands_where_the_report_drew_over_time(whole: WholeReportFacts) -> None:
    chase = Plot("01-catch-up-1-chase-backlog", "Backlog", "", Axis("s"), Axis("messages"), (), context="catch-up")
    other = Plot("01-catch-up-1-response", "Response", "", Axis("s"), Axis("ms"), ())
    page = whole_report_page(whole, lambda run: [other, chase], lambda run: "")
    assert page.count("run A: catch-up") >= 1
    assert "-A-01-catch-up-1-response" not in page


def test_it_is_one_page_of_bounded_size(whole: WholeReportFacts, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(whole_report_page(whole, lambda run: [], lambda run: ""))
    assert path.stat().st_size < 3 << 20


def test_a_claim_about_several_places_has_a_line_for_each() -> None:
    places = ("crash of all nodes", "power cut of one node")
    cuts = Side("kafka", "cuts that lost acknowledged messages", "cuts", (20.0,), "", None, "")
    parts = tuple(ClaimPart(place, ClaimVerdict.CONTRADICTED, f"why: {place}", None, (cuts,)) for place in places)
    outcome = ClaimOutcome("c", "x", "s", "same-guarantee", ClaimVerdict.CONTRADICTED, "all in one", parts)
    claim = report_named("streamnative-2020").claims[0]

    def lines(**changes: Any) -> list[str]:
        return reason_lines(ClaimOfPage(claim, "x", "s", replace(outcome, **changes)))

    assert lines() == [f"{place}: why: {place}" for place in places]
    assert lines(parts=parts[:1]) == ["all in one"]
    assert lines(parts=tuple(replace(part, reason="the same") for part in parts)) == ["all in one"]
    assert lines(verdict=ClaimVerdict.NOT_DECIDED) == lines()
    nowhere = tuple(replace(part, sides=(replace(cuts, values=(), missing="no cut counts"),)) for part in parts)
    assert lines(verdict=ClaimVerdict.NOT_DECIDED, parts=nowhere) == ["all in one"]
    with_one = (parts[0], nowhere[1])
    assert lines(verdict=ClaimVerdict.NOT_DECIDED, parts=with_one) == lines(), "what was tried is to be read by place"
    impossible = claim.model_copy(update={"unreproducible": "it takes two disks"})
    assert reason_lines(ClaimOfPage(impossible, "x", "s", outcome)) == ["all in one"]
    assert reason_lines(ClaimOfPage(claim, "x", "s", None)) == []
