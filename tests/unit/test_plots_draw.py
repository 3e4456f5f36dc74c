"""Drawings: text stays text, colours are the page's, nothing of a name becomes markup, files are what they say."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from report_samples import HOSTILE

from tidegauge.report.plots.draw import HEIGHT_PT, WIDTH_PT, page_drawing, png_file, svg_file
from tidegauge.report.plots.model import LOOKS, Axis, Form, Line, Mark, Plot, Scale, Series, Span

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
    assert not [look.light for look in LOOKS if look.light in svg]
    assert "var(--system-0)" in svg
    assert 'class="system-1"' in svg
    assert "<style" not in svg


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
    for look in LOOKS:
        assert contrast(look.light if page == "light" else look.dark, background) >= 3.0


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
