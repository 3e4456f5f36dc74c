"""Pictures of a history, read back as they are drawn."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from history_samples import disclosed, nightly_runs

from tidegauge.comparison.history import HistoryPart, history_of_runs
from tidegauge.report.html.history_parts import page_changes
from tidegauge.report.plots.draw import draw_figure, page_drawing
from tidegauge.report.plots.history import history_plot
from tidegauge.report.plots.model import Plot


@cache
def part() -> HistoryPart:
    return history_of_runs(nightly_runs(), disclosed).parts[0]


@cache
def plot() -> Plot:
    return history_plot(part(), next(one for one in part().figures if one.figure.name == "response_ms_p99"), "p99")


def test_every_run_is_a_point_at_its_place_with_its_interval() -> None:
    points, *means = plot().series
    assert points.x == tuple(map(float, range(1, 24)))
    assert all(low < value < high for low, value, high in zip(points.low, points.y, points.high, strict=True) if value)
    assert [place for place, hollow in enumerate(points.hollow) if hollow] == [9]
    assert "stress 0.90" in points.notes[9]
    assert [(mean.x, round(mean.y[0] or 0, 1)) for mean in means] == [((1.0, 15.0), 8.2), ((16.0, 23.0), 9.6)]


def test_the_change_is_drawn_between_the_runs_and_all_points_inside() -> None:
    _, axes = draw_figure(plot(), {"kafka": 0})
    upright = [list(line.get_xdata()) for line in axes.lines if len(set(line.get_xdata())) == 1]
    assert [15.5, 15.5] in upright
    assert "1.17x" in [text.get_text() for text in axes.texts]
    low, high = axes.get_ylim()
    assert all(low < value < high for value in plot().series[0].reach)
    assert axes.get_xlim()[0] < 1 and axes.get_xlim()[1] > 23


def test_a_point_says_its_run_and_what_disturbed_it() -> None:
    words = page_drawing(plot(), {"kafka": 0}).points[9].words
    assert "15.9 ms" in words and "2026-10-10T02-00-00-nightly" in words and "disturbed: others had" in words


def test_days_mark_the_axis_and_times_where_a_day_has_several_runs() -> None:
    assert plot().x.ticks[0][1] in ("10-01", "09-30", "10-02")
    entries = part().entries[:2]
    again = replace(entries[1], run=replace(entries[1].run, started_at="2026-10-01T05:30:00+00:00"))
    figure = replace(part().figures[0], entries=(entries[0], again), values=part().figures[0].values[:2], changes=())
    assert ":30" in history_plot(part(), figure, "x").x.ticks[1][1]


def test_changes_since_one_run_stand_together() -> None:
    history = history_of_runs(nightly_runs(), disclosed)
    (since,) = page_changes(history)
    assert "2026-10-17T02-00-00-nightly [main]; what changed then: Tidegauge" in since["since"]
    assert [figure["title"] for figure in since["figures"]] == [
        "response p50", "response p99", "response p99.9", "end-to-end p99",
    ]  # fmt: skip
