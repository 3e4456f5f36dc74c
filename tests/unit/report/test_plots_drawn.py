"""What is drawn, read back from the drawing: of every kind of picture its data, places, limits, labels and legend.

A picture is a claim like any figure: the runs of the gallery say beforehand what their pictures must show.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import isnan, prod
from pathlib import Path
from statistics import fmean

import pytest
from gallery_samples import (
    BACKLOG_MSGS,
    CHASE,
    CHASE_MSGS_PER_S,
    GALLERY,
    HEAT_COLUMNS,
    HEAT_ODD,
    HEAT_ROWS,
    KAFKA,
    LONG_SWEEP,
    PULSAR,
    RABBITMQ,
    SIX,
    SUSTAINED,
    TAKEN,
    TAKEN_BY_PARTITION,
    THREE,
    UNNAMED,
    VARIANTS,
    heat_ms,
)
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgba
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from page_scenes import run_named, with_results

from tidegauge import store
from tidegauge.model.trial import LoadResult, Validity
from tidegauge.report.html.answer import answer
from tidegauge.report.html.page import plots_of, system_places
from tidegauge.report.plots.draw import drawn_like_files, file_figure
from tidegauge.report.plots.draw_cells import colour_of_shade, light_of_colour, shade_of, text_colour
from tidegauge.report.plots.model import Axis, Cell, Form, Mark, Plot, Scale, data_table
from tidegauge.report.plots.paper import PAGE
from tidegauge.report.provenance import provenance_words
from tidegauge.statistics.histograms import latency_summary
from tidegauge.statistics.intervals import geometric_mean
from tidegauge.store.read import StoredRun

WITHOUT_PICTURES = ("attest",)
Place = tuple[float, float]


@dataclass(frozen=True)
class Drawn:
    """One picture as its file has it."""

    plot: Plot
    figure: Figure
    axes: Axes
    gids: Mapping[str, str]

    def points(self, system: str) -> list[Place]:
        """Marks that were drawn of a system, filled and hollow ones."""
        lines = [line for line in self.axes.get_lines() if line.get_gid() == self.gids[system]]
        # A dot alone stands for a line that is too short to be seen.
        marked = [line for line in lines if line.get_marker() not in ("", "None", None, "_", "|", ".")]
        return sorted(place for line in marked for place in self._in_model(_places(line.get_xydata())))

    def lines(self, system: str) -> list[list[Place]]:
        """Lines that were drawn through points of a system; those of a heat map cross its cells."""
        if self.plot.heat is not None:
            return []
        lines = [line for line in self.axes.get_lines() if line.get_gid() == self.gids[system]]
        return [_places(line.get_xydata()) for line in lines if line.get_linestyle() != "None" and not _upright(line)]

    def bars(self, system: str) -> list[Place]:
        """The middle and the height of each bar of a system."""
        bars = [bar for container in self.axes.containers if isinstance(container, BarContainer) for bar in container]
        found = [bar for bar in bars if isinstance(bar, Rectangle) and bar.get_gid() == self.gids[system]]
        return sorted((bar.get_x() + bar.get_width() / 2, bar.get_height()) for bar in found)

    def _in_model(self, places: list[Place]) -> list[Place]:
        """Places as the model has them, whose axes a lying plot draws the other way round."""
        return [(y, x) for x, y in places] if self.plot.lying else places

    @property
    def x_words(self) -> list[str]:
        """What stands at the ticks of the x axis within its limits."""
        low, high = self.axes.get_xlim()
        at = [place for place in self.axes.get_xticks() if low <= place <= high]
        return [text for text in self.axes.xaxis.get_major_formatter().format_ticks(at) if text]

    @property
    def legend(self) -> list[str]:
        """The names in the file's legend."""
        return [text.get_text() for legend in self.figure.legends for text in legend.get_texts()]

    @property
    def words(self) -> str:
        """Title, context and how it is to be read, as the file has them."""
        return " ".join(text.get_text().replace("\n", " ") for text in self.figure.texts)


def _places(data: object) -> list[Place]:
    return [(float(x), float(y)) for x, y in data if not isnan(y)]  # type: ignore[attr-defined]


def _upright(line: object) -> bool:
    return len(set(line.get_xdata())) == 1 and next(iter(line.get_ydata())) == 0  # type: ignore[attr-defined]


class Gallery:
    """The runs, each made, read and drawn once."""

    def __init__(self) -> None:
        self._runs: dict[str, tuple[StoredRun, list[Drawn]]] = {}

    def run(self, name: str) -> StoredRun:
        """A run as it was stored."""
        return self._of(name)[0]

    def pictures(self, name: str) -> list[Drawn]:
        """All pictures of a run, the one that stands first before the others."""
        return self._of(name)[1]

    def titled(self, name: str, title: str) -> list[Drawn]:
        """Those in the parts of its experiments whose titles begin so, in order."""
        return [drawn for drawn in self.pictures(name)[1:] if drawn.plot.title.startswith(title)]

    def _of(self, name: str) -> tuple[StoredRun, list[Drawn]]:
        if name not in self._runs:
            run, details = run_named(name)
            places = system_places(run)
            gids = {system: f"system-{place}" for system, place in places.items()}
            with drawn_like_files():
                plots, source = plots_of(run, details), provenance_words(run)
                figures = [(plot, file_figure(plot, places, source)) for plot in plots]
            self._runs[name] = run, [Drawn(plot, figure, figure.axes[0], gids) for plot, figure in figures]
        return self._runs[name]


@pytest.fixture(scope="module")
def gallery() -> Gallery:
    return Gallery()


def values(plot: Plot, system: str) -> Iterator[tuple[Mark, Place]]:
    """What a picture's model has of a system to be drawn."""
    for series in plot.series:
        for x, y in zip(series.x, series.y, strict=True):
            if series.system == system and y is not None:
                yield series.mark, (x, y)


@pytest.mark.parametrize("name", [name for name in GALLERY if name not in WITHOUT_PICTURES])
class TestEachPicture:
    def test_it_shows_every_value_at_its_place_and_no_other(self, gallery: Gallery, name: str) -> None:
        for drawn in gallery.pictures(name):
            for system in drawn.plot.systems:
                model = list(values(drawn.plot, system))
                for shown, marks in (
                    (drawn.points(system), (Mark.POINTS, Mark.LINE_POINTS)),
                    ([place for line in drawn.lines(system) for place in line], (Mark.LINE, Mark.LINE_POINTS)),
                    (drawn.bars(system), (Mark.BARS,)),
                ):
                    expected = sorted(place for mark, place in model if mark in marks)
                    flat = [value for place in expected for value in place]
                    assert [value for place in sorted(shown) for value in place] == pytest.approx(flat), (
                        drawn.plot.title
                    )

    def test_nothing_is_cut_off_and_nothing_is_empty(self, gallery: Gallery, name: str) -> None:
        for drawn in gallery.pictures(name):
            (left, right), (bottom, top) = drawn.axes.get_xlim(), sorted(drawn.axes.get_ylim())
            places = [place for system in drawn.plot.systems for _, place in values(drawn.plot, system)]
            assert places, f"{drawn.plot.title} is empty"
            if drawn.plot.lying:
                (left, right), (bottom, top) = (bottom, top), (left, right)
            for x, y in places:
                assert left <= x <= right, drawn.plot.title
                assert bottom <= y <= top or (y <= 0 and drawn.plot.y.scale is Scale.LOG), drawn.plot.title
            for span in drawn.plot.spans:
                assert left <= span.begin <= span.end <= right, drawn.plot.title
            limits = [series for series in drawn.plot.series if series.mark is Mark.LIMITS]
            ends = [end for series in drawn.plot.series if series not in limits for end in (*series.low, *series.high)]
            assert all(bottom <= end <= top for end in ends), drawn.plot.title
            bands = [end for series in limits for end in (*series.low, *series.x, *series.high)]
            assert all(left <= end <= right for end in bands), drawn.plot.title

    def test_axes_have_names_and_round_numbers_that_differ(self, gallery: Gallery, name: str) -> None:
        for drawn in gallery.pictures(name):
            assert drawn.axes.get_xlabel(), drawn.plot.title
            assert drawn.axes.get_title(loc="left"), drawn.plot.title
            low, high = sorted(drawn.axes.get_ylim())
            at = [tick for tick in drawn.axes.get_yticks() if low <= tick <= high]
            words = drawn.axes.yaxis.get_major_formatter().format_ticks(at)
            assert 2 <= len(words) <= 12, drawn.plot.title
            assert max(Counter(words).values()) == max(Counter(drawn.x_words).values()) == 1, drawn.plot.title

    def test_a_file_says_of_which_trials_levels_and_systems_it_is(self, gallery: Gallery, name: str) -> None:
        for drawn in gallery.pictures(name):
            assert drawn.plot.title in drawn.words
            assert drawn.plot.reading in drawn.words
            assert "level" in drawn.plot.context in drawn.words, drawn.plot.title
            named = [*drawn.legend, drawn.plot.title, *(word.replace("\n", "") for word in drawn.x_words)]
            for system in drawn.plot.systems:
                assert any(system in one for one in named), f"{system} is named nowhere in {drawn.plot.title}"

    def test_a_file_says_of_which_run_workload_and_host_it_is(self, gallery: Gallery, name: str) -> None:
        run = gallery.run(name)
        for drawn in gallery.pictures(name):
            assert provenance_words(run) in drawn.words, drawn.plot.title
            assert f"Run {run.name} of " in drawn.words
            assert " messages" in drawn.words
            host = "16 CPUs (Xeon Gold 6326)" if run.facts("hosts") else "2 CPUs (Xeon)"
            assert host in drawn.words or not run.facts("host")

    def test_categories_are_not_joined_and_hide_no_point(self, gallery: Gallery, name: str) -> None:
        for drawn in gallery.pictures(name):
            if drawn.plot.x.form is Form.WORDS:
                marks = {series.mark for series in drawn.plot.series}
                assert marks <= {Mark.POINTS, Mark.BARS} or marks == {Mark.CELLS}, drawn.plot.title
                places = {system: {x for _, (x, _) in values(drawn.plot, system)} for system in drawn.plot.systems}
                assert marks == {Mark.CELLS} or len(set().union(*places.values())) == sum(map(len, places.values())), (
                    drawn.plot.title
                )

    def test_names_on_the_x_axis_do_not_overlap(self, gallery: Gallery, name: str) -> None:
        for drawn in gallery.pictures(name):
            if drawn.plot.x.form is Form.WORDS or drawn.plot.x.ticks:
                # Where they stand is known without drawing anything else.
                FigureCanvasAgg(drawn.figure)
                labels = [text for text in drawn.axes.get_xticklabels() if text.get_text()]
                boxes = [text.get_window_extent() for text in labels]
                for one, other in pairwise(sorted(boxes, key=lambda box: box.x0)):
                    assert one.x1 <= other.x0 + 1, drawn.plot.title

    def test_every_picture_has_an_id_of_its_own(self, gallery: Gallery, name: str) -> None:
        ids = [drawn.plot.plot_id for drawn in gallery.pictures(name)]
        assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("name", GALLERY)
def test_its_seconds_and_distributions_are_those_of_its_results(name: str) -> None:
    """Else one picture would contradict another, and nobody could tell a mistake of drawing from one of the sample."""
    run, details = run_named(name)
    for result in run.measured:
        if not isinstance(result, LoadResult) or not result.acked:
            continue
        trial = details[result.spec.trial_id]
        measured = [row["acked_msgs"] for row in trial.seconds if row["phase"] not in ("warm-up", "drain")]
        assert fmean(measured) == pytest.approx(result.msgs_per_s, rel=0.02), result.spec.trial_id
        p99_ms = latency_summary(trial.histograms["response"]).p99_ms
        assert p99_ms == pytest.approx(result.response.p99_ms or p99_ms, rel=0.1), result.spec.trial_id


@pytest.mark.parametrize("name", WITHOUT_PICTURES)
def test_where_there_is_nothing_to_draw_nothing_is_drawn(gallery: Gallery, name: str) -> None:
    assert gallery.pictures(name) == []


def test_a_load_that_moved_nothing_has_no_picture_of_rates_or_times(gallery: Gallery) -> None:
    """Beside those of the machine."""
    titles = " ".join(drawn.plot.title for drawn in gallery.pictures("nothing-acknowledged"))
    for word in ("Throughput", "Rate", "Response", "End-to-end", "In flight"):
        assert word not in titles


class TestOverTime:
    @pytest.mark.parametrize("name", ["sample", "three-blocks", "faults", "several-load-generators", "schedule"])
    def test_timelines_show_warm_up_window_and_drain(self, gallery: Gallery, name: str) -> None:
        timelines = [drawn for drawn in gallery.pictures(name) if "since measuring began" in drawn.plot.x.label]
        assert timelines
        for drawn in timelines:
            (left, right), ((begin, end),) = drawn.axes.get_xlim(), _windows(drawn)
            assert (begin, end) == (0.0, 12.0)
            assert left <= -3.0, drawn.plot.title
            assert 13.0 <= right < 16.0, drawn.plot.title

    def test_a_rate_that_changes_changes_where_it_did(self, gallery: Gallery) -> None:
        for drawn in gallery.titled("schedule", "Rate over time"):
            for system in (KAFKA, PULSAR):
                (line,) = drawn.lines(system)
                expected = {x + 0.5: 40_000.0 if 6 <= x < 12 else 10_000.0 if x < 12 else 0.0 for x in range(-4, 14)}
                assert dict(line) == expected

    def test_what_a_fault_did_stands_under_its_mark(self, gallery: Gallery) -> None:
        (drawn,) = gallery.titled("faults", "Rate over time")
        (line,) = drawn.lines(PULSAR)
        assert [x for x, y in line if y == 0.0 and x < 12] == [2.5, 6.5, 7.5, 8.5, 9.5]
        marks = [(span.label, span.begin, span.end) for span in drawn.plot.spans if span.inner]
        assert marks == [("pause", 2.0, 3.5), ("restart", 6.0, 8.0), ("", 6.0, 10.0)]
        assert "More shaded: more systems still had the fault." in drawn.words
        light = {at: _light_left(drawn, at) for at in (1.0, 3.0, 7.0, 9.0, 11.0)}
        assert light[3.0] == pytest.approx(light[7.0]), "both systems had it"
        assert light[7.0] < light[9.0] < light[11.0] == light[1.0] == 1.0

    def test_a_trial_that_was_cut_off_shows_what_it_had(self, gallery: Gallery) -> None:
        (drawn,) = [one for one in gallery.titled("cut-off", "Rate over time") if PULSAR in one.plot.systems]
        assert len(drawn.lines(PULSAR)[0]) == 8

    def test_consumers_alone_show_what_they_received(self, gallery: Gallery) -> None:
        (drawn,) = gallery.titled("reading-alone", "Rate over time")
        assert [y for _, y in drawn.lines(KAFKA)[0]] == [50_000.0] * 10

    def test_where_nobody_sends_no_picture_is_there_twice_or_of_sending(self, gallery: Gallery) -> None:
        titles = [drawn.plot.title for drawn in gallery.pictures("reading-alone")[1:]]
        assert not {"Received over time", "In flight", "Producers held back"} & set(titles)
        assert len(titles) == len(set(titles))

    def test_hosts_and_disks_have_pictures_where_nobody_sends_too(self, gallery: Gallery) -> None:
        titles = {drawn.plot.title for drawn in gallery.pictures("reading-alone")}
        assert {"CPU of 10.0.0.2", "CPU of the command's host"} <= titles

    @pytest.mark.parametrize(("name", "whose"), [("fleet", " the command's host"), ("one-system", "")])
    def test_beside_other_hosts_pictures_of_one_say_which_it_is(self, gallery: Gallery, name: str, whose: str) -> None:
        kinds = ("host-cpu", "others-cpu", "io-stall", "cpu-stall", "loopback", "network-sent")
        titles = [drawn.plot.title for drawn in gallery.pictures(name) if drawn.plot.plot_id.endswith(kinds)]
        assert titles
        assert all(title.endswith(" the command's host") == bool(whose) for title in titles)

    @pytest.mark.parametrize("name", ["search-of-a-sweep", "sweep-of-rates"])
    @pytest.mark.parametrize("title", ["Rate over time", "Received over time"])
    def test_one_figure_at_several_points_has_one_scale(self, gallery: Gallery, name: str, title: str) -> None:
        drawn = gallery.titled(name, title)
        assert len(drawn) > 2
        assert len({each.axes.get_ylim() for each in drawn}) == 1

    def test_no_number_of_a_scale_has_an_exponent(self, gallery: Gallery) -> None:
        (drawn,) = gallery.titled("one-system", "Over the network")
        texts = drawn.axes.yaxis.get_major_formatter().format_ticks(drawn.axes.get_yticks())
        assert {"0.00002", "0.000005"} <= set(texts)

    def test_each_host_of_a_fleet_has_a_picture(self, gallery: Gallery) -> None:
        titles = {drawn.plot.title for drawn in gallery.pictures("several-load-generators")}
        assert {"CPU of 10.0.0.2", "CPU of 10.0.0.3"} <= titles


def _windows(drawn: Drawn) -> list[Place]:
    return [(span.begin, span.end) for span in drawn.plot.spans if span.label == "measured"]


class TestCatchingUp:
    @pytest.mark.parametrize(("name", "systems"), [("catch-up", 2), ("mixed", 2), ("catch-up-alone", 1)])
    def test_the_whole_chase_is_shown(self, gallery: Gallery, name: str, systems: int) -> None:
        chase = [drawn for drawn in gallery.pictures(name) if "late readers began" in drawn.plot.x.label]
        assert len(chase) == 5
        chosen = dict(list(CHASE.items())[:systems])
        for drawn in chase:
            left, right = drawn.axes.get_xlim()
            assert left <= -BACKLOG_MSGS / CHASE_MSGS_PER_S
            assert right >= max(during + 5 for _, during in chosen.values())

    def test_the_backlog_is_largest_when_readers_begin_and_gone_when_they_are_done(self, gallery: Gallery) -> None:
        backlog, reading, *_ = [one for one in gallery.pictures("catch-up") if "late readers began" in one.plot.x.label]
        for system, (_, during) in CHASE.items():
            (line,), (rate,) = backlog.lines(system), reading.lines(system)
            assert max(line, key=lambda place: place[1]) == (0.0, BACKLOG_MSGS)
            assert dict(line)[during] == 0.0
            expected = CHASE_MSGS_PER_S + BACKLOG_MSGS / during
            assert [y for x, y in rate if 0 <= x < during] == pytest.approx([expected] * during, abs=1)

    @pytest.mark.parametrize("name", ["catch-up", "catch-up-alone", "mixed"])
    def test_readers_begin_at_the_backlog_that_was_asked_for(self, gallery: Gallery, name: str) -> None:
        (backlog,) = gallery.titled(name, "Backlog while readers")
        for result in gallery.run(name).results:
            assert isinstance(result, LoadResult)
            assert result.spec.late is not None
            assert result.catch_up is not None
            (line,) = backlog.lines(result.spec.system)
            drawn = max(y for _, y in line)
            assert result.spec.late.backlog_msgs == result.catch_up.backlog_msgs == drawn == BACKLOG_MSGS

    def test_phases_of_a_single_trial_are_where_they_were(self, gallery: Gallery) -> None:
        (backlog,) = gallery.titled("catch-up-alone", "Backlog while readers")
        before, during = CHASE[KAFKA]
        spans = [(span.begin, span.end) for span in backlog.plot.spans]
        assert spans == [(-before, -before), (0.0, during), (during, during)]

    def test_trials_that_were_measured_differently_long_have_no_window_in_common(self, gallery: Gallery) -> None:
        marks = {
            name: {
                (span.label, span.begin, span.end)
                for drawn in gallery.titled(name, "CPU of the load")
                for span in drawn.plot.spans
            }
            for name in ("catch-up", "catch-up-alone")
        }
        assert marks == {"catch-up": {("measuring begins", 0.0, 0.0)}, "catch-up-alone": {("measured", 0.0, 55.0)}}

    def test_readers_that_are_not_late_have_their_own_times(self, gallery: Gallery) -> None:
        (times,) = gallery.titled("mixed", "End-to-end latency over time")
        for system in (KAFKA, PULSAR):
            assert max(y for _, y in times.lines(system)[0]) < 100, "late ones wait for seconds"
        assert "Of the slowest reader that is not late." in times.words


class TestSweeps:
    def test_each_rate_of_a_swept_search_has_its_own_bar(self, gallery: Gallery) -> None:
        bars = gallery.titled("search-of-a-sweep", "Sustainable rate by")
        assert [drawn.plot.title.partition(" by ")[2] for drawn in bars] == [
            "partitions, durability=1; goal: no limit",
            "partitions, durability=2 bypass; goal: no limit",
        ]
        assert [drawn.plot.context for drawn in bars] == ["max-throughput; level 1", "max-throughput; level 2"]
        for drawn, level in zip(bars, ("1", "2 bypass"), strict=True):
            assert drawn.x_words == ["1", "100", "2000"]
            for place, system in enumerate((KAFKA, PULSAR)):
                rates = [SUSTAINED[partitions, level][place] for partitions in ("1", "100", "2000")]
                assert [height for _, height in drawn.bars(system)] == rates
                assert [round(x) for x, _ in drawn.bars(system)] == [0, 1, 2]
        assert f"{PULSAR}, bypass" in bars[1].legend
        first = gallery.pictures("search-of-a-sweep")[0]
        assert first.bars(KAFKA) == bars[0].bars(KAFKA), "the picture that stands first is one of these"

    def test_confirmations_of_one_point_are_of_that_point_alone(self, gallery: Gallery) -> None:
        rates = gallery.titled("search-of-a-sweep", "Rate over time")
        assert len(rates) == len(SUSTAINED)
        for drawn, ((partitions, level), each) in zip(rates, SUSTAINED.items(), strict=True):
            assert drawn.plot.title == f"Rate over time, partitions={partitions}, durability={level} (confirmation)"
            for system, rate in zip((KAFKA, PULSAR), each, strict=True):
                (line,) = drawn.lines(system)
                assert [y for x, y in line if x < 12] == [rate] * 16
        curves = gallery.titled("search-of-a-sweep", "Response time by percentile")
        assert len(curves) == len(SUSTAINED)
        assert {len(drawn.lines(system)) for drawn in curves for system in (KAFKA, PULSAR)} == {1}

    def test_so_are_the_steps_of_their_searches(self, gallery: Gallery) -> None:
        steps = gallery.titled("search-of-a-sweep", "Steps of the search")
        assert len(steps) == len(SUSTAINED)
        for drawn, each in zip(steps, SUSTAINED.values(), strict=True):
            for system, rate in zip((KAFKA, PULSAR), each, strict=True):
                expected = [value for n, share in enumerate((0.9, 1.2, 1.0), 1) for value in (n, share * rate)]
                assert [value for place in drawn.points(system) for value in place] == pytest.approx(expected)

    def test_over_several_blocks_a_bar_is_their_mean_and_each_has_its_line(self, gallery: Gallery) -> None:
        (bars,) = gallery.titled("search-of-blocks", "Sustainable rate")
        ((_, height),) = bars.bars(KAFKA)
        assert height == pytest.approx((50_000 * 60_000 * 55_000) ** (1 / 3))
        assert "geometric mean of the blocks" in bars.words
        (steps,) = gallery.titled("search-of-blocks", "Steps of the search")
        assert len(steps.lines(KAFKA)) == 3
        assert "One line for each block" in steps.words

    def test_three_systems_stand_at_the_quantity_that_was_swept(self, gallery: Gallery) -> None:
        drawn, other = gallery.titled("sweep-of-three", "Response p99 by partitions")
        assert drawn.plot.x.scale is Scale.LOG
        assert drawn.x_words == ["1", "100", "1000"]
        for place, system in enumerate(THREE, 1):
            expected = [7.8 * place * step for step in (1, 2, 3)]
            assert [x for x, _ in drawn.points(system)] == [1.0, 100.0, 1000.0]
            assert [y for _, y in drawn.points(system)] == pytest.approx(expected)
            assert [y for _, y in other.points(system)] == pytest.approx([value / 2 for value in expected])
        assert (drawn.plot.context, other.plot.context) == (
            "latency at 20,000 msg/s; level 2",
            "latency at 20,000 msg/s; level 4",
        )

    def test_the_first_picture_has_every_point_of_two_axes(self, gallery: Gallery) -> None:
        first = gallery.pictures("sweep-of-three")[0]
        assert first.plot.title == "Response p99 at each of 6 points"
        assert first.axes.get_xlabel() == f"partitions / durability level (form: {PULSAR})"
        names = ["1 / 2 (bypass)", "1 / 4", "100 / 2 (bypass)", "100 / 4", "1000 / 2 (bypass)", "1000 / 4"]
        assert list(first.plot.x.names) == names
        for place, system in enumerate(THREE, 1):
            expected = [7.8 * place * step / level for step in (1, 2, 3) for level in (1, 2)]
            assert [y for _, y in first.points(system)] == pytest.approx(expected)
            assert [round(x) for x, _ in first.points(system)] == list(range(6))
            assert first.lines(system) == []
        assert "latency at 20,000 msg/s; levels 2 and 4" in first.words

    def test_levels_are_categories_and_the_title_has_them_all(self, gallery: Gallery) -> None:
        first = gallery.pictures("sweep-of-levels")[0]
        assert first.x_words == ["2", "4"]
        assert [y for _, y in first.points(KAFKA)] == pytest.approx([15.6, 7.8])
        assert first.lines(KAFKA) == []
        assert first.axes.get_xlabel() == "durability level"
        assert "levels 2 and 4" in first.words
        assert answer(gallery.run("sweep-of-levels")).title.startswith("Kafka at levels 2 and 4")

    def test_swept_rates_are_written_as_those_on_the_other_axis(self, gallery: Gallery) -> None:
        (drawn,) = gallery.titled("sweep-of-rates", "Achieved rate")
        assert drawn.x_words == ["10k", "20k", "40k"]
        assert {"10k", "20k", "40k"} <= {text.get_text() for text in drawn.axes.get_yticklabels()}

    def test_a_setting_is_called_by_its_whole_name(self, gallery: Gallery) -> None:
        for drawn in gallery.titled("sweep-of-settings", "Rate by"):
            assert drawn.axes.get_xlabel() == "batch-size"
            assert drawn.x_words == ["16KiB", "128KiB", "1MiB"]
            assert [x for x, _ in drawn.points(KAFKA)] == [2.0**14, 2.0**17, 2.0**20]

    @pytest.mark.parametrize(
        ("name", "title"),
        [
            ("sweep-of-settings", "Rate by batch-size"),
            ("sweep-of-rates", "Rate over time"),
            ("search-of-a-sweep", "Rate over time"),
            ("search-of-a-sweep", "Steps of the search"),
            ("search-with-doubt", "Sustainable rate"),
        ],
    )
    def test_pictures_of_one_kind_in_a_row_have_one_scale(self, gallery: Gallery, name: str, title: str) -> None:
        row = gallery.titled(name, title)
        ends = {tuple(round(end, 3) for end in drawn.axes.get_ylim()) for drawn in row}
        most = [max(y for system in drawn.plot.systems for _, (_, y) in values(drawn.plot, system)) for drawn in row]
        assert len(row) > 1
        assert len(ends) == 1
        assert max(most) > 1.5 * min(most), "by themselves they would have others"

    def test_load_curves_of_two_points_are_two_pictures(self, gallery: Gallery) -> None:
        found = gallery.titled("curves-of-a-sweep", "Response p99 against load")
        for drawn, (partitions, full) in zip(found, (("1", 50_000.0), ("100", 100_000.0)), strict=True):
            assert drawn.plot.title.endswith(f"partitions={partitions}")
            for system in (KAFKA, PULSAR):
                assert [x for x, _ in drawn.points(system)] == pytest.approx([full * n / 10 for n in range(1, 12)])


def test_no_number_or_label_reaches_beyond_its_picture_or_under_a_line(gallery: Gallery) -> None:
    """In pictures with very small numbers, with spans in spans, and with lines at the top of a logarithmic axis."""
    for name in ("one-system", "faults", "catch-up-alone"):
        for drawn in gallery.pictures(name):
            with drawn_like_files():
                drawn.figure.draw_without_rendering()
            numbers = [text for text in drawn.axes.get_yticklabels() if text.get_text()]
            assert min(text.get_window_extent().x0 for text in numbers) >= 0, drawn.plot.title
            lowest = min((text.get_window_extent().y0 for text in drawn.axes.texts if text.get_text()), default=1e9)
            tops = [y for system in drawn.plot.systems for _, (_, y) in values(drawn.plot, system)]
            top = drawn.axes.transData.transform((drawn.axes.get_xlim()[0], max(tops)))[1]
            assert lowest >= top - 1, drawn.plot.title


class TestDoubt:
    """What rests on a DOUBTFUL trial looks so in every picture, and nothing else does."""

    def test_a_rate_that_a_doubtful_trial_confirmed_is_hollow(self, gallery: Gallery) -> None:
        bars, *_ = gallery.titled("search-with-doubt", "Sustainable rate; goal: no limit")
        containers = [one for one in bars.axes.containers if isinstance(one, BarContainer)]
        hollow = {bar.get_gid() for one in containers for bar in one if bar.get_facecolor() == to_rgba(PAGE)}
        assert hollow == {bars.gids[KAFKA]}
        assert "Hollow: a DOUBTFUL trial confirmed it." in bars.words
        for system, most in TAKEN.items():
            ((_, height),) = bars.bars(system)
            assert height == pytest.approx(most, rel=0.05)

    def test_pictures_of_a_doubtful_confirmation_say_so(self, gallery: Gallery) -> None:
        for title in ("Response time by percentile", "Rate over time", "In flight"):
            (drawn,) = gallery.titled("search-with-doubt", title)
            assert f"DOUBTFUL: {KAFKA}." in drawn.words
        assert not any("DOUBTFUL" in drawn.words for drawn in gallery.pictures("search-of-goals"))

    def test_a_point_of_a_sweep_with_a_doubtful_trial_is_hollow(self) -> None:
        run, details = run_named("sweep-of-levels")
        doubted = with_results(
            run,
            lambda one: replace(one, validity=Validity.DOUBTFUL) if one.spec.point["durability"] == "4" else one,
        )
        plot = next(plot for plot in plots_of(doubted, details) if plot.title == "Response p99 by durability")
        assert [series.hollow for series in plot.series] == [(False, True)]
        assert plot.reading.endswith("Hollow: some of its trials are DOUBTFUL.")


def test_a_search_for_a_number_shows_the_numbers_that_it_tried(gallery: Gallery) -> None:
    (steps,) = [drawn for drawn in gallery.pictures("sizing") if drawn.plot.title == "Steps of the search"]
    assert steps.axes.get_title(loc="left") == "number of partitions"
    for system, most in TAKEN_BY_PARTITION.items():
        tried = [y for _, y in steps.points(system)]
        assert tried[:3] == [1, 2, 4]
        assert tried[-1] == -(-50_000 // most)


class TestSeveralSystemsAtOneRate:
    @pytest.mark.parametrize("name", ["three-blocks", "six-systems"])
    def test_each_point_stands_at_its_rate(self, gallery: Gallery, name: str) -> None:
        first = gallery.pictures(name)[0]
        dots = [series for series in first.plot.series if series.mark is Mark.POINTS]
        assert len({series.system for series in dots}) > 1
        for series in dots:
            rates = {float(first.axes.transData.transform((x, 1))[0]) for x in series.x}
            shown = _shown_pt(first, series.system)
            assert all(min(abs(at - rate) for at in shown) < 0.5 for rate in rates)

    def test_every_name_of_six_is_there(self, gallery: Gallery) -> None:
        (bars,) = gallery.titled("six-systems", "Throughput")
        names = [word.replace("\n@", "@").replace("\n", " ") for word in bars.x_words]
        assert names == [*SIX[:-1], f"{SIX[-1]} INVALID"]
        first = gallery.pictures("six-systems")[0]
        assert [name.partition(",")[0] for name in first.legend] == list(SIX)

    def test_a_limits_name_stands_over_no_line_of_another(self, gallery: Gallery) -> None:
        first = gallery.pictures("six-systems")[0]
        with drawn_like_files():
            first.figure.draw_without_rendering()
        limits = [line.get_window_extent() for line in first.axes.get_lines() if _upright(line)]
        names = [text.get_window_extent() for text in first.axes.texts if text.get_text().endswith(", peak")]
        assert len(names) == len(limits) == 5
        assert not any(name.overlaps(line) for name in names for line in limits)

    def test_invalid_bars_are_hollow(self, gallery: Gallery) -> None:
        (bars,) = gallery.titled("six-systems", "Throughput")
        faces = {bar.get_gid(): bar.get_facecolor() for bars_of in bars.axes.containers for bar in bars_of}
        page = to_rgba(PAGE)
        assert {gid for gid, face in faces.items() if face == page} == {bars.gids[SIX[-1]]}
        assert "Hollow: INVALID." in bars.words


def _shown_pt(drawn: Drawn, system: str) -> list[float]:
    """How far from the left the points of a system are drawn."""
    with drawn_like_files():
        drawn.figure.draw_without_rendering()
    lines = [line for line in drawn.axes.get_lines() if line.get_gid() == drawn.gids[system]]
    marked = [line for line in lines if line.get_marker() not in ("", "None", None, "_", "|", ".")]
    return [float(place[0]) for line in marked for place in line.get_transform().transform(line.get_xydata())]


def _light_left(drawn: Drawn, at: float) -> float:
    """Of what is behind the shades of faults at a place of the x axis."""
    shades = [patch for patch in drawn.axes.patches if isinstance(patch, Rectangle) and (patch.get_alpha() or 1.0) < 1]
    return prod(1 - shade.get_alpha() for shade in shades if 0 <= at - shade.get_x() < shade.get_width())


@pytest.mark.parametrize("name", ["sweep-of-three", "sweep-of-levels", "search-of-a-sweep", "one-system"])
def test_a_file_names_a_number_of_partitions_only_where_all_its_trials_had_that(gallery: Gallery, name: str) -> None:
    run = gallery.run(name)
    for spec in run.specs:
        assert spec.point.get("partitions", "1") == str(spec.workload.partitions)
    words = provenance_words(run)
    varies = len({spec.workload.partitions for spec in run.specs}) > 1
    assert ("partitions vary" in words, "1 partition each" in words) == (varies, not varies)


class TestLongTrials:
    def test_no_dip_and_no_peak_is_lost_and_nothing_is_drawn_where_nothing_is_known(self, gallery: Gallery) -> None:
        (rate,) = gallery.titled("long-trial", "Rate over time")
        (line,) = [series for series in rate.plot.series if series.system == KAFKA]
        at = dict(zip(line.x, line.y, strict=True))
        assert min(value for value in at.values() if value is not None) == 0.0
        assert at[600.5] == 40_000.0
        assert [x for x, y in at.items() if y is None and x < 900] == [705.0]
        assert not any(700 <= x < 710 for x, y in at.items() if y is not None)
        assert "Of each 9 s the least and the largest value." in rate.words
        assert "median 20,000, largest 40,000 msg/s" in rate.plot.description


class TestInvalidTrials:
    def test_every_picture_of_invalid_trials_says_so(self, gallery: Gallery) -> None:
        for drawn in gallery.pictures("all-invalid"):
            assert "INVALID" in f"{drawn.words} {' '.join(drawn.x_words)}", drawn.plot.title


class TestVariantsWithLongNames:
    """They are rows with whole names, where names below an axis would be cut or written over each other."""

    def test_names_stand_whole_beside_their_points(self, gallery: Gallery) -> None:
        for title in ("Response p99 by variant", "Response p99: difference from", "Median response time by variant"):
            drawn = gallery.titled("variants-without-names", title)[0]
            assert drawn.plot.lying, title
            shown = [" ".join(text.get_text().split()) for text in drawn.axes.get_yticklabels()]
            assert [name.removesuffix(" (baseline)") for name in shown] == list(UNNAMED)[-len(shown) :]
        assert not gallery.titled("variants", "Response p99 by variant")[0].plot.lying


class TestVariants:
    """Each variant with its interval, and its difference from the first with the margin of the same shaded."""

    def test_each_variant_stands_at_its_mean_with_its_blocks_beside(self, gallery: Gallery) -> None:
        drawn = gallery.titled("variants", "Response p99 by variant")[0]
        first, *others = VARIANTS
        assert [word.replace("\n", " ") for word in drawn.x_words] == [f"{first} (baseline)", *others]
        means = {place: fmean for place, fmean in drawn.points(KAFKA) if place == int(place)}
        for place, values in enumerate(VARIANTS.values()):
            assert means[place] == pytest.approx(geometric_mean(values))
            beside = [value for at, value in drawn.points(KAFKA) if place < at < place + 0.5]
            assert sorted(beside) == pytest.approx(sorted(values))
        assert gallery.pictures("variants")[0].plot.title == drawn.plot.title, "it stands first"

    def test_differences_stand_with_their_intervals_beside_the_margin(self, gallery: Gallery) -> None:
        drawn = gallery.titled("variants", "Response p99: difference from linger-0")[0]
        assert drawn.x_words == ["linger-20", "acks-1"]
        first = VARIANTS["linger-0"]
        differences = [
            geometric_mean(VARIANTS[name]) - geometric_mean(first[: len(VARIANTS[name])])
            for name in ("linger-20", "acks-1")
        ]
        assert [value for _, value in drawn.points(KAFKA)] == pytest.approx(differences)
        (whiskers,) = [lines for lines in drawn.axes.collections if lines.get_gid() == drawn.gids[KAFKA]]
        ends = [[float(y) for _, y in segment] for segment in whiskers.get_segments()]  # type: ignore[attr-defined]
        assert all(low < middle < high for (low, high), middle in zip(ends, differences, strict=True))
        (band,) = [patch for patch in drawn.axes.patches if isinstance(patch, Rectangle)]
        assert (band.get_y(), band.get_y() + band.get_height()) == pytest.approx((-1.0, 1.0))
        assert "shaded: the same within 1 ms" in drawn.words
        assert "below 0 is better than linger-0" in drawn.words


class TestHeatMaps:
    """Of two axes each cell is read back with its figure, its verdict and its colour."""

    def panel(self, gallery: Gallery, system: str) -> Drawn:
        (drawn,) = gallery.titled("sweep-of-two-axes", f"Response p99 of {system} by partitions and compression")
        return drawn

    def test_values_stand_as_the_campaign_lists_them(self, gallery: Gallery) -> None:
        drawn = self.panel(gallery, KAFKA)
        assert drawn.x_words == list(HEAT_COLUMNS)
        at = [text.get_text() for text in drawn.axes.get_yticklabels()]
        assert at == list(HEAT_ROWS)
        assert drawn.axes.get_ylim()[0] > drawn.axes.get_ylim()[1], "the first row is on top"
        assert (drawn.axes.get_xlabel(), drawn.axes.get_title(loc="left")) == ("compression", "partitions")

    def test_each_cell_has_its_figure_and_its_verdict(self, gallery: Gallery) -> None:
        shown = _texts_of_cells(self.panel(gallery, KAFKA))
        verdicts = {"none": "first", "lz4": "same", "gzip": "worse"}
        for row, partitions in enumerate(HEAT_ROWS):
            for column, compression in enumerate(HEAT_COLUMNS):
                odd = HEAT_ODD.get((partitions, compression))
                if odd == "missing":
                    assert (column, row) not in shown
                elif odd == "invalid":
                    assert shown[column, row] == "INVALID"
                else:
                    figure, verdict = shown[column, row].split("\n")
                    assert float(figure) == pytest.approx(heat_ms(partitions, compression) * 1.002, rel=0.005)
                    assert verdict == verdicts[compression]
        of_other = _texts_of_cells(self.panel(gallery, PULSAR))
        assert of_other[2, 0] == "-"
        assert (of_other[0, 0], of_other[1, 0]) == ("5.01\nfirst", "5.04\nsame"), "compared though gzip has no p99"

    def test_darker_is_higher_and_what_is_not_sure_has_no_colour(self, gallery: Gallery) -> None:
        drawn, other = self.panel(gallery, KAFKA), self.panel(gallery, PULSAR)
        light = {place: light_of_colour(cell.get_facecolor()) for place, cell in _cells(drawn).items()}
        page = light_of_colour(PAGE)
        odd = {
            (HEAT_COLUMNS.index(compression), HEAT_ROWS.index(partitions)): kind
            for (partitions, compression), kind in HEAT_ODD.items()
        }
        by_figure = sorted(
            (heat_ms(partitions, compression), light[column, row])
            for row, partitions in enumerate(HEAT_ROWS)
            for column, compression in enumerate(HEAT_COLUMNS)
            if (column, row) not in odd
        )
        assert all(one[1] >= later[1] for one, later in pairwise(by_figure))
        assert max(value for _, value in by_figure) < page
        for place, kind in odd.items():
            cell = _cells(drawn).get(place)
            assert (cell is None) == (kind == "missing")
            if cell is not None:
                assert light_of_colour(cell.get_facecolor()) == page
                assert bool(cell.get_hatch()) == (kind == "doubtful")
                assert _is_crossed(drawn, place) == (kind == "invalid")
        assert not any(
            _is_crossed(drawn, place) or _cells(drawn)[place].get_hatch() for place in light if place not in odd
        )
        of_other = {place: light_of_colour(cell.get_facecolor()) for place, cell in _cells(other).items()}
        assert of_other[0, 3] == pytest.approx(light[0, 1], abs=1e-3), "the same figure has the same colour"

    def test_its_reading_says_only_what_it_has(self, gallery: Gallery) -> None:
        words, other = (self.panel(gallery, system).words for system in (KAFKA, PULSAR))
        assert "how it compares with compression=none in the same row (first); same: within 3%." in words
        for said in ("Hatched: DOUBTFUL.", "Crossed: INVALID.", "Blank: no result."):
            assert said in words
            assert said not in other
        assert "'-': no trial that may be used has the figure." in other
        assert "Lower is better." in words

    def test_rates_that_were_found_have_a_panel_of_each_system(self, gallery: Gallery) -> None:
        for number, system in enumerate((KAFKA, PULSAR)):
            (drawn,) = gallery.titled("search-of-a-sweep", f"Sustainable rate of {system} by partitions and durability")
            shown = _texts_of_cells(drawn)
            for row, partitions in enumerate(("1", "100", "2000")):
                for column, level in enumerate(("1", "2 bypass")):
                    assert shown[column, row] == f"{SUSTAINED[partitions, level][number]:,.0f}"
            assert drawn.x_words == (["1", "2 (bypass)"] if system == PULSAR else ["1", "2"])
            assert "Cell: one answer. Darker: higher. Higher is better." in drawn.words

    def test_text_on_every_shade_can_be_read(self) -> None:
        for shade in range(101):
            cell = Cell(float(shade), Validity.VALID)
            assert shade_of(cell, Axis("", span=(0.0, 100.0))) == shade / 100
            one, other = sorted(
                (light_of_colour(text_colour(shade / 100)), light_of_colour(colour_of_shade(shade / 100)))
            )
            assert (other + 0.05) / (one + 0.05) >= 4.5, "WCAG 2, level AA"

    def test_a_table_has_the_same_rows_and_columns(self, gallery: Gallery) -> None:
        table = data_table(self.panel(gallery, KAFKA).plot)
        assert table.heads == ("partitions / compression", *HEAT_COLUMNS)
        assert [row[0] for row in table.rows] == list(HEAT_ROWS)
        assert table.rows[1][3] == "40.1 DOUBTFUL, worse, 39.9 to 40.3, 2.00x [2.00, 2.00]"
        assert (table.rows[2][2], table.rows[3][3]) == ("INVALID", "")


def _cells(drawn: Drawn) -> dict[tuple[int, int], Rectangle]:
    """Cells by column and row."""
    patches = [patch for patch in drawn.axes.patches if isinstance(patch, Rectangle)]
    return {(round(cell.get_x() + 0.47), round(cell.get_y() + 0.46)): cell for cell in patches}


def _texts_of_cells(drawn: Drawn) -> dict[tuple[int, int], str]:
    at = [(text.get_position(), text.get_text()) for text in drawn.axes.texts]
    return {(round(float(x)), round(float(y))): words for (x, y), words in at}


def _is_crossed(drawn: Drawn, place: tuple[int, int]) -> bool:
    lines = [line.get_xydata() for line in drawn.axes.get_lines()]
    middles = [(round(float(x)), round(float(y))) for x, y in (line.mean(axis=0) for line in lines)]  # type: ignore[union-attr]
    return middles.count(place) == 2


class TestSweepsWithGaps:
    def test_what_nobody_has_a_figure_of_is_a_gap_and_no_line_crosses_it(self, gallery: Gallery) -> None:
        first = gallery.pictures("sweep-with-gaps")[0]
        assert first.x_words == ["1", "10", "100", "1000"]
        assert "No point: no trial that may be used has the figure." in first.words
        assert [x for x, _ in first.points(KAFKA)] == [1.0, 1000.0]
        assert [x for x, _ in first.points(PULSAR)] == [1.0, 100.0, 1000.0]
        for system, pieces in ((KAFKA, 0), (PULSAR, 1)):
            lines = [line for line in first.axes.get_lines() if line.get_gid() == first.gids[system]]
            drawn = [line.get_ydata() for line in lines if line.get_linestyle() != "None" and len(line.get_ydata()) > 2]
            joined = sum(not isnan(one) and not isnan(other) for y in drawn for one, other in pairwise(y))
            assert joined == pieces, "only neighbours are joined"

    def test_a_swept_rate_has_its_unit(self, gallery: Gallery) -> None:
        first = gallery.pictures("sweep-of-rates")[0]
        assert first.axes.get_xlabel() == "rate, msg/s"
        assert [x for x, _ in first.points(KAFKA)] == [10_000.0, 20_000.0, 40_000.0]


class TestSearches:
    def test_what_was_used_at_the_rate_that_was_found_is_drawn(self, gallery: Gallery) -> None:
        titles = [drawn.plot.title for drawn in gallery.pictures("search-of-goals")]
        for title in ("Rate over time", "CPU of the servers", "In flight"):
            assert f"{title} (confirmation; goal: no limit)" in titles
        (rate,) = gallery.titled("search-of-goals", "Rate over time")
        assert "Each system at the rate that was found for it." in rate.words

    def test_who_has_no_rate_for_a_goal_is_named(self, gallery: Gallery) -> None:
        no_limit, prompt = gallery.titled("search-of-goals", "Sustainable rate")
        assert "No rate was confirmed" not in no_limit.words
        assert f"No rate was confirmed of {PULSAR}." in prompt.words
        assert [height for _, height in prompt.bars(KAFKA)] == [20_000.0]

    def test_a_long_sweep_has_one_sentence_over_all_points_and_one_for_each(self, gallery: Gallery) -> None:
        (verdict,) = answer(gallery.run("search-of-a-long-sweep")).verdicts
        assert verdict.sentence == (
            "Sustainable rate over 10 points: Kafka 30,000 (partitions=512) to 300,000 msg/s (partitions=1) and Pulsar "
            "60,000 (partitions=512) to 600,000 msg/s (partitions=1); at each point measured once each: no evidence "
            "that the order would hold again."
        )
        assert [words.partition(":")[0] for words in verdict.each] == [f"At partitions={n}" for n in LONG_SWEEP]
        assert "150,000 for Kafka" in verdict.each[1]
        (bars,) = gallery.titled("search-of-a-long-sweep", "Sustainable rate")
        assert bars.x_words == list(LONG_SWEEP)


class TestOverview:
    def test_at_one_rate_alone_systems_stand_side_by_side_and_the_rate_is_named(self, gallery: Gallery) -> None:
        first, both = gallery.pictures("one-system")[0], gallery.pictures("faults")[0]
        assert first.points(KAFKA) == [(0.0, pytest.approx(7.8))]
        assert [x for system in (KAFKA, PULSAR) for x, _ in both.points(system)] == [0.0, 1.0]
        assert "latency at 20,000 msg/s" in first.words
        assert gallery.pictures("schedule")[0].plot.context == "latency with a schedule of rates; level 3"

    @pytest.mark.parametrize("name", ["catch-up", "mixed"])
    def test_of_late_readers_it_is_how_fast_their_backlog_shrank(self, gallery: Gallery, name: str) -> None:
        first = gallery.pictures(name)[0]
        assert first.words.startswith("Drain rate")
        assert [first.bars(system) for system in (KAFKA, PULSAR)] == [[(0.0, 16_000.0)], [(1.0, 8_000.0)]]

    def test_trials_of_several_systems_stand_at_the_rate_that_was_offered(self, gallery: Gallery) -> None:
        first = gallery.pictures("three-blocks")[0]
        for place, system in enumerate(THREE, 1):
            assert {x for x, _ in first.points(system)} == {20_000.0}
            assert len(first.points(system)) == 4, "three trials and their mean"
            assert min(y for _, y in first.points(system)) == pytest.approx(7.8 * place)

    def test_of_a_sweep_it_is_of_the_figure_that_the_sentence_says(self, gallery: Gallery) -> None:
        seen = set()
        for name in (name for name in GALLERY if name.startswith("sweep") and name != "sweep-of-a-design"):
            (verdict,), first = answer(gallery.run(name)).verdicts, gallery.pictures(name)[0]
            shown = (first.plot.heat or first.plot.y).label
            figure = "Rate" if shown == "msg/s" else shown.removesuffix(", ms").capitalize()
            assert verdict.sentence.startswith(f"{figure} over "), name
            seen.add(figure)
        assert {"Rate", "Response p50", "Response p99"} <= seen

    def test_what_is_invalid_is_called_so_at_its_bar(self, gallery: Gallery) -> None:
        (bars,) = gallery.titled("three-blocks", "Throughput")
        assert [word.replace("\n", " ") for word in bars.x_words][2].endswith("INVALID")
        assert len(bars.bars(RABBITMQ)) == 1
        assert "geometric mean of the trials" in bars.words


def test_the_gallery_has_one_page_with_all_that_it_drew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "scripts"))
    import gallery as script

    names: Sequence[str] = ("reading-alone", "attest")
    assert script.main([str(tmp_path), *names]) == 0
    page = (tmp_path / "index.html").read_text()
    reports = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob(store.REPORT_NAME))
    assert len(reports) == len(names)
    assert all(f'href="{report}"' in page for report in reports)
    drawn = sorted(path.suffix for path in (tmp_path / "pictures").rglob("*.*"))
    assert len(drawn) == page.count("<img ")
    assert drawn.count(".png") == drawn.count(".svg") > 3
    assert set(GALLERY) == set(script.samples())
    assert "gallery_samples" in sys.modules


@pytest.mark.parametrize(
    ("arguments", "code", "printed"),
    [
        (["--help"], 0, "usage: "),
        (["--help", "attest"], 0, "usage: "),
        ([], 2, "DIRECTORY"),
        (["there", "attest", "reading-alon"], 2, "no run 'reading-alon' (did you mean 'reading-alone'?); allowed: "),
        (["there", "--all"], 2, "--all"),
    ],
)
def test_the_gallery_draws_nothing_where_it_is_asked_for_help_or_for_what_it_lacks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, printed: str
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "scripts"))
    import gallery as script

    monkeypatch.setattr(script, "draw_gallery", lambda *_: pytest.fail("it draws"))
    with pytest.raises(SystemExit) as ended:
        script.main(arguments)
    assert ended.value.code == code
    said = capsys.readouterr()
    assert printed in (said.err if code else said.out)


def test_links_of_a_fleet_are_drawn_against_what_they_can_carry(gallery: Gallery) -> None:
    plots = {drawn.plot.title: drawn for drawn in gallery.pictures("fleet")}
    slow = plots["Sent by 10.77.0.6"]
    assert {value for series in slow.plot.series for value in series.y} == {0.12}
    assert [(line.value, line.label) for line in slow.plot.lines] == [(0.125, "its link")]
    assert "Bytes that this host sent a second over its network, whoever did; its link can carry at most 0.12 MB/s" in (
        slow.plot.description
    )
    # A line far above all others would press them onto the axis: then it is said alone.
    fast = plots["Sent by 10.77.0.5"]
    assert {value for series in fast.plot.series for value in series.y} == {40.0}
    assert fast.plot.lines == ()
    assert "its link can carry at most 1,250 MB/s" in fast.plot.description
    assert {value for series in plots["Received by 10.77.0.5"].plot.series for value in series.y} == {4.0}


def test_of_many_links_those_closest_to_their_ends_are_drawn(gallery: Gallery) -> None:
    titles = [drawn.plot.title for drawn in gallery.pictures("fleet-of-twenty")]
    assert sum(title.startswith(("Sent by", "Received by")) for title in titles) == 8
    assert "Sent by 10.77.0.6" in titles
