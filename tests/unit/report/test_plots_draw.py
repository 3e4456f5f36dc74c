"""Drawings: text stays text, colours are the page's, nothing of a name becomes markup, files are what they say."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from report_samples import HOSTILE

from tidegauge.report.plots.draw import (
    draw_figure,
    drawn_like_files,
    file_figure,
    log_ticks,
    page_drawing,
    png_file,
    svg_file,
)
from tidegauge.report.plots.model import LOOKS, Axis, Form, Line, Mark, Plot, Scale, Series, Span, look
from tidegauge.report.plots.paper import HEIGHT_PT, WIDTH_PT

A, B = "kafka@4.3.1", "pulsar@4.2.4"
PLACES = {A: 0, B: 1}
PLOT = Plot(
    "p",
    "Response time",
    "description",
    Axis("seconds", form=Form.SECOND),
    Axis("response p99, ms", Scale.LOG, Form.MS),
    (Series(A, "", (0.0, 1.0, 2.0), (1.0, 10.0, None)), Series(B, "", (0.0, 1.0), (2.0, 0.0), Mark.LINE_POINTS)),
    (Span(0.0, 1.0, "measured"),),
    (Line(5.0, "ceiling of the disk"),),
)
BARS = replace(
    PLOT,
    x=Axis("system", form=Form.WORDS, names=(A, B)),
    y=Axis("msg/s", form=Form.COUNT, from_zero=True),
    series=(
        Series(A, "", (0.0,), (10.0,), Mark.BARS, (8.0,), (11.0,)),
        Series(B, "", (1.0,), (20.0,), Mark.BARS),
    ),
    spans=(),
)
PERCENTILES = replace(
    PLOT,
    x=Axis("share", Scale.PERCENTILE, Form.PERCENT),
    series=(Series(A, "", (50.0, 90.0, 99.0, 99.9), (1.0, 2.0, 3.0, 4.0)),),
    spans=(),
    lines=(),
)


def test_an_element_for_a_page_has_no_ids_of_groups_and_no_fixed_colours() -> None:
    svg = page_drawing(PLOT, PLACES).svg
    ElementTree.fromstring(svg.replace("xlink:href", "href"))  # well-formed
    assert svg.startswith(f'<svg viewBox="0 0 {WIDTH_PT:g} {HEIGHT_PT:g}"')
    assert '<g id="' not in svg
    assert not [one.light for one in LOOKS if one.light in svg]
    assert "var(--system-0)" in svg
    assert 'class="system-1"' in svg
    assert "<style" not in svg


@pytest.mark.parametrize("plot", [PLOT, BARS, replace(BARS, lying=True), replace(PLOT, x=Axis("rate", Scale.LOG))])
def test_what_is_infinite_in_a_damaged_run_is_left_out(plot: Plot) -> None:
    endless = Series(A, "", (0.5, math.inf), (math.inf, 3.0), Mark.POINTS, (1.0, 1.0), (math.inf, 4.0))
    drawn = page_drawing(replace(plot, series=(*plot.series, endless)), PLACES)
    ElementTree.fromstring(drawn.svg.replace("xlink:href", "href"))


@pytest.mark.parametrize("plot", [PLOT, BARS, replace(BARS, lying=True), replace(PLOT, x=Axis("rate", Scale.LOG))])
@pytest.mark.parametrize("value", [9e99, 1e200, 1.7e308])
def test_what_no_axis_can_reach_breaks_no_picture(plot: Plot, value: float) -> None:
    far = Series(A, "", (0.5, value), (value, 3.0), Mark.POINTS, (1.0, 1.0), (value, 4.0))
    # Their names take most of the room above the points.
    spans = tuple(Span(0.0, 0.1, f"fault {number}") for number in range(12))
    shown = replace(plot, series=(*plot.series, far), lines=(Line(value, "ceiling of the disk"),), spans=spans)
    axes = draw_figure(shown, PLACES)[1]
    assert all(math.isfinite(end) for end in (*axes.get_xlim(), *axes.get_ylim()))
    ElementTree.fromstring(page_drawing(shown, PLACES).svg.replace("xlink:href", "href"))


def test_text_stays_text() -> None:
    svg = page_drawing(PLOT, PLACES).svg
    words = re.findall(r"<text[^>]*>([^<]*)</text>", svg)
    assert {"response p99, ms", "seconds", "measured", "ceiling of the disk"} <= set(words)


@pytest.mark.parametrize("hostile", [HOSTILE, "$\\alpha$ $x", "a & b < c"])
def test_names_are_escaped(hostile: str) -> None:
    plot = replace(
        BARS,
        title=hostile,
        x=replace(BARS.x, names=(hostile,)),
        series=(replace(BARS.series[0], system=hostile),),
        lines=(Line(5.0, hostile),),
    )
    drawn = page_drawing(plot, {hostile: 0})
    for svg in (drawn.svg, svg_file(plot, {hostile: 0}).decode()):
        assert "<script" not in svg
        assert "<img" not in svg
    assert drawn.points[0].words.startswith(hostile)
    assert png_file(plot, {hostile: 0}).startswith(b"\x89PNG")


def test_points_are_where_they_are_drawn_and_say_what_they_are() -> None:
    points = page_drawing(BARS, PLACES).points
    assert [point.words for point in points] == [f"{A}: 10 msg/s (8 to 11)", f"{B}: 20 msg/s"]
    assert points[0].y > points[1].y  # further down: less
    assert all(0 < point.x < WIDTH_PT and 0 < point.y < HEIGHT_PT for point in points)


class TestWhatIsInside:
    """Everything that was measured can be seen: no axis ends before its data do."""

    @pytest.mark.parametrize("mark", [Mark.LINE, Mark.POINTS, Mark.LINE_POINTS])
    def test_a_line_over_time_is_not_cut_to_the_measured_window(self, mark: Mark) -> None:
        line = Series(A, "", (-30.0, 0.0, 60.0, 75.0), (1.0, 2.0, 3.0, 4.0), mark)
        plot = replace(PLOT, series=(line,), spans=(Span(0.0, 60.0, "measured"),), lines=())
        _, axes = draw_figure(plot, PLACES)
        assert axes.get_xlim()[0] <= -30.0
        assert axes.get_xlim()[1] >= 75.0

    def test_an_instant_alone_does_not_decide_how_far_the_axis_goes(self) -> None:
        chase = Series(A, "", (-70.0, 0.0, 89.0), (1.0, 2.0, 3.0))
        _, axes = draw_figure(replace(PLOT, series=(chase,), spans=(Span(0.0, 0.0, "late readers begin"),)), PLACES)
        assert axes.get_xlim()[0] <= -70.0
        assert axes.get_xlim()[1] >= 89.0

    def test_so_do_the_steps_of_a_search_and_a_span_beyond_all_lines(self) -> None:
        steps = Series(A, "", (1.0, 2.0, 3.0, 4.0), (3e4, 6e4, 5e4, 5.2e4), Mark.LINE_POINTS)
        plot = replace(BARS, x=Axis("trial of the search", form=Form.COUNT), series=(steps,), lines=())
        (low, high) = draw_figure(plot, PLACES)[1].get_xlim()
        assert (low < 1.0, 4.0 < high < 5.0) == (True, True)
        assert draw_figure(replace(plot, spans=(Span(0.0, 9.0, "x"),)), PLACES)[1].get_xlim()[1] >= 9.0

    def test_one_point_alone_has_room_on_both_sides(self) -> None:
        one = replace(PLOT, series=(Series(A, "", (7.0,), (3.0,)),), spans=(), lines=())
        (low, high) = draw_figure(one, PLACES)[1].get_xlim()
        assert low < 7.0 < high

    def test_points_of_several_systems_at_one_quantity_stand_at_it(self) -> None:
        x = Axis("msg/s", form=Form.COUNT, from_zero=True)
        both = tuple(Series(system, "", (5_000.0,), (y,), Mark.POINTS) for system, y in ((A, 1.0), (B, 9.0)))
        plot = replace(PLOT, x=x, series=both, spans=(), lines=())
        axes = draw_figure(plot, PLACES)[1]
        at = float(axes.transData.transform((5_000.0, 1.0))[0])
        assert [point.x for point in page_drawing(plot, PLACES).points] == pytest.approx([at, at], abs=0.1)
        assert [list(line.get_xdata()) for line in axes.get_lines()] == [[5_000.0], [5_000.0]]

    def test_the_band_of_a_limit_is_not_cut_off(self) -> None:
        x = Axis("offered, msg/s", form=Form.COUNT, from_zero=True)
        limit = Series(A, "peak", (100.0,), (None,), Mark.LIMITS, (60.0,), (170.0,))
        dot = Series(A, "", (50.0,), (3.0,), Mark.POINTS)
        for scale in (Scale.LINEAR, Scale.LOG):
            plot = replace(PLOT, x=replace(x, scale=scale), series=(dot, limit), spans=(), lines=())
            low, high = draw_figure(plot, PLACES)[1].get_xlim()
            assert low <= 50.0
            assert high >= 170.0

    def test_names_of_limits_without_room_beside_their_lines_stand_over_none(self) -> None:
        x = Axis("offered, msg/s", form=Form.COUNT, from_zero=True)
        at = (100.0, 90.0, 60.0, 12.0, 7.0)
        limits = tuple(Series(A, "most of all", (value,), (None,), Mark.LIMITS) for value in at)
        plot = replace(PLOT, x=x, series=(Series(A, "", (5.0,), (3.0,), Mark.POINTS), *limits), spans=(), lines=())
        figure, axes = draw_figure(plot, PLACES)
        figure.draw_without_rendering()
        lines = [line.get_window_extent() for line in axes.get_lines() if line.get_marker() == "None"]
        names = [text.get_window_extent() for text in axes.texts if "most" in text.get_text()]
        assert len(lines) == len(names) == len(at)
        assert not any(name.overlaps(line) for name in names for line in lines)
        assert all(axes.bbox.x0 <= name.x0 and name.x1 <= axes.bbox.x1 for name in names)

    def test_a_second_between_gaps_is_drawn_though_no_line_reaches_it(self) -> None:
        series = Series(A, "", (0.0, 1.0, 2.0, 3.0, 4.0), (1.0, None, 5.0, None, 2.0))
        _, axes = draw_figure(replace(PLOT, series=(series,), spans=(), lines=()), PLACES)
        (dots,) = [line for line in axes.get_lines() if line.get_marker() == "."]
        assert [tuple(place) for place in dots.get_xydata()] == [(0.0, 1.0), (2.0, 5.0), (4.0, 2.0)]


@pytest.mark.parametrize("label", ["restart", "late readers begin"])
def test_a_label_at_the_right_end_stays_within_the_picture(label: str) -> None:
    series = (Series(A, "", (0.0, 100.0), (1.0, 2.0)),)
    spans = (Span(0.0, 99.0, "measured"), Span(97.0, 99.0, label, True))
    figure, axes = draw_figure(replace(PLOT, series=series, spans=spans, lines=()), PLACES)
    figure.draw_without_rendering()
    (text,) = [text for text in axes.texts if text.get_text() == label]
    assert text.get_window_extent().x1 <= WIDTH_PT
    (other,) = [text for text in axes.texts if text.get_text() == "measured"]
    assert not text.get_window_extent().overlaps(other.get_window_extent())


def test_names_of_faults_stand_above_their_shades() -> None:
    series = (Series(A, "", (0.0, 100.0), (1.0, 2.0)),)
    faults = (Span(20.0, 60.0, "pause of a node", True), Span(30.0, 70.0, "restart", True), Span(70.0, 90.0, "", True))
    figure, axes = draw_figure(replace(PLOT, series=series, spans=(Span(0.0, 99.0, "measured"), *faults)), PLACES)
    figure.draw_without_rendering()
    *shades, _ = sorted((shade.get_window_extent() for shade in axes.patches), key=lambda shade: shade.y1)
    names = [text.get_window_extent() for text in axes.texts if text.get_text() in ("pause of a node", "restart")]
    assert len(shades) == 3
    assert len(names) == 2
    assert min(name.y0 for name in names) >= max(shade.y1 for shade in shades)


class TestNames:
    def shown(self, *names: str) -> list[str]:
        bars = tuple(Series(name, "", (float(place),), (1.0,), Mark.BARS) for place, name in enumerate(names))
        plot = replace(BARS, x=Axis("system", form=Form.WORDS, names=names), series=bars, lines=())
        figure, axes = draw_figure(plot, {name: place for place, name in enumerate(names)})
        figure.draw_without_rendering()
        labels = axes.get_xticklabels()
        boxes = [label.get_window_extent() for label in labels]
        assert all(one.x1 <= other.x0 + 1 for one, other in pairwise(boxes))
        assert min(box.y0 for box in boxes) >= 0
        return [label.get_text() for label in labels]

    def test_of_six_systems_none_loses_what_speaks_against_it(self) -> None:
        names = [f"rabbitmq@4.1.{number} (quorum) INVALID" for number in range(6)]
        assert [name.replace("\n@", "@").replace("\n", " ") for name in self.shown(*names)] == names

    def test_of_many_they_stand_upright(self) -> None:
        names = [f"level {number} of many" for number in range(20)]
        assert self.shown(*names) == names

    def test_what_begins_alike_is_shown_by_its_end(self) -> None:
        names = [f"a-setting-with-a-very-long-name-{number}" for number in range(5)]
        assert len(set(self.shown(*names))) == 5


@pytest.mark.parametrize(
    ("axis", "value", "words"),
    [
        (Axis("response p99, ms", form=Form.MS), 7.8, "7.80 ms"),
        (Axis("offered, msg/s"), 20_000.0, "20,000 msg/s"),
        (Axis("cores, all of them", form=Form.SHORT, unit="cores"), 1.5, "1.50 cores"),
        (Axis("MB/s", form=Form.SHORT, unit="MB/s"), 0.000512, "0.000512 MB/s"),
        (Axis("MB/s", form=Form.SHORT, unit="MB/s"), 0.0, "0.00 MB/s"),
        (Axis("partitions", ticks=((100.0, "100"),)), 100.0, "partitions=100"),
        (Axis("% of the ceiling", form=Form.SHARE), 12.0, "12%"),
        (Axis("trial of the search", form=Form.TRIAL), 3.0, "trial 3"),
        (Axis("system", form=Form.WORDS, names=(A,)), 0.0, A),
        (Axis("msg/s"), None, "-"),
    ],
)
def test_a_value_alone_has_its_unit(axis: Axis, value: float | None, words: str) -> None:
    assert axis.with_unit(value) == words


def test_gaps_and_zeros_on_a_logarithmic_axis_have_no_point() -> None:
    points = page_drawing(PLOT, PLACES).points
    assert [point.words for point in points] == [f"{A}, 0 s: 1.00 ms", f"{A}, 1 s: 10.0 ms", f"{B}, 0 s: 2.00 ms"]


def test_percentiles_are_spread_by_nines() -> None:
    _, ninety, two_nines, three_nines = page_drawing(PERCENTILES, PLACES).points
    assert two_nines.x - ninety.x == pytest.approx(three_nines.x - two_nines.x, abs=0.5)
    assert ninety.words == f"{A}, 90 %: 2.00 ms"


def test_files_stand_alone() -> None:
    svg = svg_file(PLOT, PLACES).decode()
    root = ElementTree.fromstring(svg)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "Response time" in svg
    assert A in svg
    assert LOOKS[0].light in svg
    assert "var(--" not in svg


def test_the_same_plot_is_drawn_the_same() -> None:
    assert page_drawing(PLOT, PLACES) == page_drawing(PLOT, PLACES)
    assert svg_file(PLOT, PLACES) == svg_file(PLOT, PLACES)


@pytest.mark.parametrize("page", ["light", "dark"])
def test_colours_stand_out_from_their_page(page: str) -> None:
    background = "#ffffff" if page == "light" else "#15181c"
    for one in LOOKS:
        assert contrast(one.light if page == "light" else one.dark, background) >= 3.0


def test_a_pale_colour_would_be_noticed() -> None:
    assert contrast("#f0e442", "#ffffff") < 3.0


def contrast(one: str, other: str) -> float:
    """By WCAG 2."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_labels_of_faults_that_are_close_stand_one_below_the_other() -> None:
    faults = (
        Span(10.0, 20.0, "packet loss", True),
        Span(22.0, 25.0, "rate limit", True),
        Span(70.0, 75.0, "kill", True),
    )
    series = (Series(A, "", (0.0, 100.0), (1.0, 2.0)),)
    plot = replace(PLOT, series=series, spans=(Span(0.0, 100.0, "measured"), *faults), lines=())
    svg = page_drawing(plot, PLACES).svg
    heights = {label: float(y) for y, label in re.findall(r'<text [^>]* y="([\d.]+)">([^<]*)<', svg)}
    assert heights["measured"] < heights["packet loss"] < heights["rate limit"]
    assert heights["kill"] == heights["packet loss"]


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (61.0, 133.0, [70.0, 80.0, 90.0, 100.0]),
        (0.8, 60.0, [1.0, 3.0, 10.0, 30.0]),
        (5.0, 45.0, [5.0, 10.0, 20.0]),
        (96.0, 104.0, [96.0, 98.0, 100.0, 102.0, 104.0]),
        (0.5, 200_000.0, [1.0, 10.0, 100.0, 1_000.0, 10_000.0, 100_000.0]),
    ],
)
def test_a_logarithmic_axis_has_round_numbers_and_neither_two_nor_twenty(
    low: float, high: float, ticks: list[float]
) -> None:
    assert log_ticks(low, high) == pytest.approx(ticks)


def test_of_a_very_long_one_every_second_power_is_marked() -> None:
    assert 3 <= len(log_ticks(1e-9, 1e9)) <= 10


def test_a_file_names_trials_systems_and_what_its_marks_are() -> None:
    swept = replace(BARS, x=Axis("durability level", form=Form.WORDS, names=("2", "4")), lines=())
    plot = replace(swept, context="peak; levels 2 and 4", reading="Bar: one trial.", title="Rate by level " * 6)
    text = svg_file(plot, PLACES).decode()
    words = " ".join(re.findall(r"<text[^>]*>([^<]*)</text>", text))
    for each in ("peak; levels 2 and 4", "Bar: one trial.", A, B, "durability level", "Rate by level"):
        assert each in words
    systems_named = svg_file(BARS, PLACES).decode()
    assert systems_named.count("pulsar") == 1, "the axis names the systems: no legend beside it"


def test_marks_at_a_few_percentiles_fill_the_picture_and_each_is_named() -> None:
    at = (99.0, 99.9, 99.99)
    line = replace(PERCENTILES.series[0], x=at, y=(3.0, 5.0, 9.0), mark=Mark.LINE_POINTS)
    _, axes = draw_figure(replace(PERCENTILES, series=(line,)), PLACES)
    low, high = axes.get_xlim()
    assert 95 < low < 99
    assert 99.99 < high < 99.999
    assert [float(tick) for tick in axes.get_xticks() if low <= tick <= high] == list(at)
    _, axes = draw_figure(replace(PERCENTILES, series=(replace(line, mark=Mark.LINE),)), PLACES)
    assert axes.get_xlim()[0] == 0
    assert 99.99 not in axes.get_xticks(), "its label would reach beyond the picture"


def test_no_text_of_a_file_leaves_it_however_wide_its_letters_are() -> None:
    wide = "MMMM WWWW commitment memory " * 8
    plot = replace(BARS, title=wide, context=wide, reading=wide)
    with drawn_like_files():
        figure = file_figure(plot, PLACES, source=wide)
        figure.set_dpi(160)
        renderer = FigureCanvasAgg(figure).get_renderer()
        ends = [text.get_window_extent(renderer).x1 for text in figure.texts]
    assert len(ends) == 4
    assert max(ends) <= figure.bbox.width
    (title, *_) = figure.texts
    assert " ".join(title.get_text().split()) == wide.strip(), "nothing is cut"


def test_more_systems_than_colours_differ_in_marks_and_dashes() -> None:
    looks = [look(place) for place in range(18)]
    assert looks[: len(LOOKS)] == list(LOOKS)
    assert len({(one.light, one.marker, one.dash) for one in looks}) == len(looks)
    bars = {(one.light, one.hatch) for one in looks}
    assert len(bars) == len({(one.hatch, one.strokes) for one in looks}) * len(LOOKS) == len(looks)


def bars_at(place: int, hollow: bool = False) -> str:
    """A bar of the system at this place in a page's picture, without its ids, which are drawn from its content."""
    bar = Series(A, "", (0.0,), (10.0,), Mark.BARS, hollow=(hollow,))
    svg = page_drawing(replace(BARS, series=(bar,), lines=()), {A: place}).svg
    ElementTree.fromstring(svg.replace("xlink:href", "href"))
    assert set(re.findall(r"url\(#(\w+)\)", svg)) <= set(re.findall(r' id="(\w+)"', svg)), "a pattern has no id"
    assert "#fefefe" not in svg, "stripes have the colour of the page, which may be dark"
    return svg.replace(f"system-{place}", "system-0").replace(f"var(--system-{place % len(LOOKS)})", "var(--system-0)")


@pytest.mark.parametrize("hollow", [False, True])
def test_bars_of_two_systems_of_one_colour_differ_by_stripes(hollow: bool) -> None:
    assert "<pattern" not in bars_at(0, hollow)
    assert len({re.sub(r"#?\b[hmp][0-9a-f]{10}\b", "", bars_at(place, hollow)) for place in (0, 6, 12)}) == 3


def test_a_files_legend_has_the_stripes_of_its_bars() -> None:
    swept = replace(BARS, x=Axis("durability level", form=Form.WORDS, names=("2", "4")), lines=())
    for place, patterns in ((1, 0), (7, 2)):
        assert svg_file(swept, {A: 0, B: place}).decode().count("url(#h") == patterns


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (17.438251, "17.4 %"),
        (50.0, "50 %"),
        (91.718185, "91.72 %"),
        (99.9, "99.9 %"),
        (99.916667, "99.9167 %"),
        (99.9999, "99.9999 %"),
        (100.0, "100 %"),
    ],
)
def test_a_percentile_has_as_many_digits_as_its_tail_needs(value: float, text: str) -> None:
    assert PERCENTILES.x.text(value) == text


@pytest.mark.parametrize(("values", "all_marked"), [(60, True), (61, False)])
def test_of_many_values_only_those_with_words_are_marked(values: int, all_marked: bool) -> None:
    ticks = tuple((float(number), f"11-{number:02d} 03:24") for number in range(values))
    series = Series(A, "", tuple(value for value, _ in ticks), (1.0,) * values, Mark.POINTS)
    plot = replace(PLOT, x=Axis("run", form=Form.COUNT, ticks=ticks), series=(series,), spans=(), lines=())
    _, axes = draw_figure(plot, PLACES)
    words = [label.get_text() for label in axes.get_xticklabels()]
    assert (len(words) == values) is all_marked
    assert ("" in words) is all_marked
    assert words[0] == "11-00 03:24"
