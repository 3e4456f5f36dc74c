"""Figures over swept values: a picture for each point of the other axes, so that nothing is merged over points.

Quantities (partitions, sizes) stand where they are, joined by lines; other values (levels, shapes, versions) stand side
by side, where a line between two of them would mean nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tidegauge.comparison.compared_trials import ComparedTrials
from tidegauge.comparison.order import Point
from tidegauge.model.trial import Validity, point_words, with_form
from tidegauge.numbers import quantity
from tidegauge.plain import grouped
from tidegauge.report.compare import Estimate, estimate_of, leading_figure
from tidegauge.report.plots.context import context_of_trials
from tidegauge.report.plots.model import P99_MEANING, Axis, Form, Mark, Plot, Scale, Series
from tidegauge.report.tables import Swept, axis_name, short_point, worst_validity
from tidegauge.statistics.figures import FIGURES, Figure

OTHERS_MAX = 8
"""Points of the other axes that have plots; the table has all."""
POINTS_SHOWN_MAX = 24
"""Points that stand side by side in one picture at most."""
LOG_FROM = 8.0
"""Quantities that are further apart than by this factor stand on a logarithmic axis."""
GROUP_WIDTH = 0.8
"""How much of the room between two values all bars at one take."""
_BESIDE = 0.16
"""How much of the room between two values lies between the points of two systems at one."""
LEVEL = "durability"
ESTIMATES = "geometric mean of the trials; whisker: its 95% interval (their range, of fewer than 3)"
_UNITS = {"rate": "msg/s", "min-rate": "msg/s", "max-rate": "msg/s"}
"""Units of fields whose values are written without one."""


@dataclass(frozen=True)
class Spot:
    """One system's figure at a point of a sweep. `low`, `high`: of its whisker. `doubtful`: a trial of it is."""

    point: Point
    system: str
    form: str
    low: float
    middle: float
    high: float
    doubtful: bool = False


@dataclass(frozen=True)
class Across:
    """The swept field that is the x axis: what it is called, and where each of its values stands."""

    field: str
    name: str
    axis: Axis
    places: Mapping[str, float]

    @property
    def is_quantity(self) -> bool:
        """Whether distances between its values mean something."""
        return self.axis.form is not Form.WORDS

    def text(self, place: float) -> str:
        """The value nearest to a place, in words."""
        return self.axis.text(place)


@dataclass(frozen=True)
class SweepChart:
    """A figure as pictures of sweeps show it: how ids name it, its title, and its axis."""

    name: str
    title: str
    axis: Axis
    figure: Figure


RATE = SweepChart("rate", "Rate", Axis("msg/s", form=Form.COUNT, from_zero=True), FIGURES["msgs_per_s"])
_P99 = Axis("response p99, ms", Scale.LOG, Form.MS, meaning=P99_MEANING)
TIMES = (
    SweepChart("p50", "Median response time", Axis("response p50, ms", Scale.LOG, Form.MS), FIGURES["response_ms_p50"]),
    SweepChart("p99", "Response p99", _P99, FIGURES["response_ms_p99"]),
    SweepChart(
        "end-to-end-p99", "End-to-end p99", Axis("end-to-end p99, ms", Scale.LOG, Form.MS), FIGURES["end_to_end_ms_p99"]
    ),
)
PROCESSED = tuple(
    SweepChart(
        f"processed-{name}",
        f"Until processed, {name}",
        Axis(f"processed {name}, ms", Scale.LOG, Form.MS),
        FIGURES[f"processed_ms_{name}"],
    )
    for name in ("p99", "p50")
)
"""Only of consumers that process."""
_MAXIMA = tuple(
    SweepChart(f"{name}max", title, Axis(f"{words} max, ms", Scale.LOG, Form.MS), FIGURES[f"{figure}_ms_max"])
    for name, title, words, figure in (
        ("", "Longest response time", "response", "response"),
        ("processed-", "Longest until processed", "processed", "processed"),
    )
)


def leading_chart(all_compared: Sequence[ComparedTrials]) -> SweepChart:
    """The chart of the figure that the sentence over a sweep says."""
    figure = leading_figure(all_compared)
    return next(chart for chart in (RATE, *TIMES, *PROCESSED, *_MAXIMA) if chart.figure is figure)


def sweep_plots(swept: Swept, prefix: str) -> list[Plot]:
    """The main figures over the axis with most values, for each point of the other axes; none of only one point."""
    field = longest_axis([compared.point for compared in swept.compared_trials])
    if field is None:
        return []
    charts = (RATE,) if swept.compared_trials[0].closed_loop else (*TIMES, *PROCESSED, RATE)
    by_others = grouped((_other_axes_words(compared.point, field), compared) for compared in swept.compared_trials)
    return [
        plot
        for number, (others, all_compared) in enumerate(list(by_others.items())[:OTHERS_MAX], 1)
        for chart in charts
        if (plot := _chart_plot(all_compared, field, chart, (others, f"{prefix}-sweep-{number}-{chart.name}")))
        is not None
    ]


def points_plot(swept: Swept, plot_id: str) -> Plot | None:
    """The main figure at every point, side by side in their order; None of one axis, or of too many points.

    The pictures of `sweep_plots` show one slice each, and none of them all.
    """
    points = _each_once([compared.point for compared in swept.compared_trials])
    field = longest_axis(points)
    if field is None or len(_by_others(points, field)) < 2 or len(points) > POINTS_SHOWN_MAX:
        return None
    axes = list(dict.fromkeys(axis for point in points for axis in point))
    chart = leading_chart(swept.compared_trials)
    measured = _spots_of_chart(swept.compared_trials, chart)
    names = [
        " / ".join(
            _level_name(point.get(axis, "")) if axis_name(axis) == LEVEL else point.get(axis, "") for axis in axes
        )
        for point in points
    ]
    label = " / ".join(_level_label(measured) if axis_name(axis) == LEVEL else axis_name(axis) for axis in axes)
    # Their own words are the one axis, on which each stands at a place of its own.
    axis = Axis(label, form=Form.WORDS, names=tuple(names))
    where = Across(_POINT, label, axis, {name: float(place) for place, name in enumerate(names)})
    name_of = {point_words(point): name for point, name in zip(points, names, strict=True)}
    spots = [replace(spot, point={_POINT: name_of[point_words(spot.point)]}) for spot in measured]
    if not spots:
        return None
    title = f"{chart.title} at each of {len(points)} points"
    return _plot_of_spots(swept.compared_trials, (spots, where), chart, (title, plot_id))


_POINT = "point"
"""The field that stands for all swept ones together."""


def longest_axis(points: Sequence[Point]) -> str | None:
    """The axis with most values; of equals the first. None where no axis has two."""
    axes = {axis: len({point.get(axis) for point in points}) for point in points for axis in point}
    longest = max(axes, key=lambda axis: axes[axis], default=None)
    return longest if longest is not None and axes[longest] > 1 else None


def axis_across(
    spots: Sequence[Spot],
    points: Sequence[Point],
    field: str,
    *,
    as_words: bool = False,
    values: Sequence[str] | None = None,
) -> Across:
    """The x axis over a swept field at these points.

    Args:
        as_words: values side by side whatever they are, as for bars.
        values: in the order in which they stand; None = that in which the points have them.
    """
    if values is None:
        values = list(dict.fromkeys(point.get(field, "") for point in points))
    name, is_level = axis_name(field), axis_name(field) == LEVEL
    # Values as shares have are written with a unit of their own.
    unit = f", {_UNITS[name]}" if name in _UNITS and not any("%" in value for value in values) else ""
    label = _level_label(spots) if is_level else f"{name}{unit}"
    places = {} if as_words or is_level else _places_of_quantities(values)
    if not places:
        names = tuple(_level_name(value) if is_level else value for value in values)
        axis = Axis(label, form=Form.WORDS, names=names)
        return Across(field, name, axis, {value: float(place) for place, value in enumerate(values)})
    low, high = min(places.values()), max(places.values())
    wide = low > 0 and high > LOG_FROM * low
    ticks = tuple((place, value) for value, place in places.items())
    axis = Axis(label, Scale.LOG if wide else Scale.LINEAR, Form.COUNT, ticks=ticks)
    return Across(field, name, axis, places)


def _places_of_quantities(values: Sequence[str]) -> dict[str, float]:
    """Where values stand on one axis; {} where they do not: a single one, words, shares beside amounts."""
    places = {value: size for value in values if (size := quantity(value)) is not None}
    shares = {value for value in values if value.endswith("%")}
    alike = len(shares) in (0, len(values)) and len(set(places.values())) == len(values)
    return places if alike and len(values) > 1 else {}


def _level_name(value: str) -> str:
    """ "2 (bypass)" of "2 bypass"."""
    level, _, form = value.partition(" ")
    return with_form(level, form)


def _level_label(spots: Sequence[Spot]) -> str:
    """Whose form the values name: a system that has one way only is measured at the level alone."""
    systems = sorted({spot.system for spot in spots if spot.form and spot.form in spot.point.get(LEVEL, "").split()})
    return f"durability level (form: {', '.join(systems)})" if systems else "durability level"


@dataclass(frozen=True)
class Named:
    """What pictures of one question share: what is drawn, how titles end, what a bar is, the id before a number."""

    what: str
    end: str
    reading: str
    plot_id: str


def bar_plots(spots: Sequence[Spot], points: Sequence[Point], y: Axis, named: Named) -> list[tuple[list[Point], Plot]]:
    """Bars of each system at each value of the axis with most values, a plot for each point of the others.

    Each with the points that it is of. `points`: all that were measured, in their order; those without a bar keep
    their place.
    """
    field = longest_axis(points)
    if field is None:
        return []
    plots = []
    for number, (others, at_points) in enumerate(_by_others(points, field).items(), 1):
        drawn = [spot for spot in spots if _other_axes_words(spot.point, field) == others]
        if not drawn or number > OTHERS_MAX:
            continue
        where = axis_across(drawn, at_points, field, as_words=True)
        series = series_of(drawn, where, Mark.BARS)
        title = f"{named.what} by {where.name}{f', {others}' if others else ''}{named.end}"
        words = f"{named.reading} {'; '.join(_end_words(line, where, y) for line in series)}."
        plot = Plot(f"{named.plot_id}-{number}", title, words, where.axis, y, series, reading=named.reading)
        plots.append((at_points, plot))
    return plots


def series_of(spots: Sequence[Spot], where: Across, mark: Mark) -> tuple[Series, ...]:
    """A series for each system, with a gap where it has no figure; side by side where values are words."""
    by_system = grouped((spot.system, spot) for spot in sorted(spots, key=lambda spot: spot.system))
    many = len(by_system)
    width = GROUP_WIDTH / many
    apart = 0.0 if where.is_quantity else width if mark is Mark.BARS else _BESIDE
    series = []
    for number, (system, spots_of_system) in enumerate(by_system.items()):
        at_place = grouped((where.places[spot.point.get(where.field, "")], spot) for spot in spots_of_system)
        gap: list[Spot | None] = [None]
        at = [(place, spot) for place in sorted(where.places.values()) for spot in at_place.get(place, gap)]
        beside = (number - (many - 1) / 2) * apart
        x = tuple(place + beside for place, _ in at)
        middle = tuple(spot.middle if spot else None for _, spot in at)
        ends: tuple[tuple[float, ...], tuple[float, ...]] = ((), ())
        if any(spot.low < spot.high for spot in spots_of_system):  # Of a gap nobody looks at them.
            ends = (
                tuple((spot or spots_of_system[0]).low for _, spot in at),
                tuple((spot or spots_of_system[0]).high for _, spot in at),
            )
        doubts = tuple(spot is not None and spot.doubtful for _, spot in at)
        forms = {spot.form for spot in spots_of_system}
        label = next(iter(forms)) if len(forms) == 1 and axis_name(where.field) != LEVEL else ""
        hollow = doubts if any(doubts) else ()
        series.append(Series(system, label, x, middle, mark, *ends, hollow=hollow, width=0.9 * width))
    return tuple(series)


def spot_of(point: Point, system: str, form: str, estimate: Estimate, *, doubtful: bool) -> Spot:
    """An estimate at a point."""
    return Spot(point, system, form, estimate.low, estimate.value, estimate.high, doubtful)


def points_left_out(points: Sequence[Point]) -> str:
    """A remark that there are more points of the other axes than have pictures; "" where all have."""
    field = longest_axis(points)
    many = len(_by_others(points, field)) if field is not None else 0
    if many <= OTHERS_MAX:
        return ""
    return f"Pictures of the first {OTHERS_MAX} of {many} values of what else was swept; the table has all."


def _by_others(points: Sequence[Point], field: str) -> dict[str, list[Point]]:
    """Points, each once, grouped by their values on all axes but one, in words."""
    return grouped((_other_axes_words(point, field), point) for point in _each_once(points))


def _each_once(points: Sequence[Point]) -> list[Point]:
    return list({point_words(point): point for point in points}.values())


def _other_axes_words(point: Point, field: str) -> str:
    return short_point({name: value for name, value in point.items() if name != field})


def _chart_plot(
    all_compared: Sequence[ComparedTrials], field: str, chart: SweepChart, point_and_id: tuple[str, str]
) -> Plot | None:
    """A chart's plot; None without figures. `point_and_id`: the point of the other axes in words, and its id."""
    others, plot_id = point_and_id
    spots = _spots_of_chart(all_compared, chart)
    if not spots:
        return None
    where = axis_across(spots, [compared.point for compared in all_compared], field)
    # Of an offered rate what came of it.
    what = f"Achieved {chart.title.lower()}" if chart is RATE and where.name in _UNITS else chart.title
    by = "offered rate" if where.name == "rate" else where.name
    title = f"{what} by {by}{f', {others}' if others else ''}"
    return _plot_of_spots(all_compared, (spots, where), chart, (title, plot_id))


def _spots_of_chart(all_compared: Sequence[ComparedTrials], chart: SweepChart) -> list[Spot]:
    """The chart's figure of each system at each point, as far as trials that may be used have it."""
    return [
        spot_of(
            compared.point,
            system,
            compared.of_system(system)[0].spec.form,
            estimate,
            doubtful=worst_validity(compared.usable(system)) is Validity.DOUBTFUL,
        )
        for compared in all_compared
        for system in compared.systems
        if (estimate := estimate_of(chart.figure.value_in, compared.usable(system))) is not None
    ]


def _plot_of_spots(
    all_compared: Sequence[ComparedTrials],
    spots_across: tuple[Sequence[Spot], Across],
    chart: SweepChart,
    title_and_id: tuple[str, str],
) -> Plot:
    """The plot of a chart's spots over their axis."""
    (spots, where), (title, plot_id) = spots_across, title_and_id
    series = series_of(spots, where, Mark.LINE_POINTS if where.is_quantity else Mark.POINTS)
    repeated = any(len(compared.of_system(system)) > 1 for compared in all_compared for system in compared.systems)
    missing = any(value is None for line in series for value in line.y)
    none = " No point: no trial that may be used has the figure." if missing else ""
    doubt = " Hollow: some of its trials are DOUBTFUL." if any(spot.doubtful for spot in spots) else ""
    reading = f"{f'Point: {ESTIMATES}' if repeated else 'Point: one trial'}.{none}{doubt}"
    words = f"{title}. {reading} {'; '.join(_end_words(line, where, chart.axis) for line in series)}."
    context_words = context_of_trials([result for compared in all_compared for result in compared.results])
    y, is_p99 = chart.axis, chart.name == "p99"
    plot = Plot(plot_id, title, words, where.axis, y, series, context=context_words, reading=reading, of_p99=is_p99)
    # Names of very many points stand upright.
    return plot.lying_where_names_are_long() if len(where.axis.names) <= POINTS_SHOWN_MAX // 2 else plot


def _end_words(series: Series, where: Across, y: Axis) -> str:
    """A system's first and last figure in words."""
    at = [(x, value) for x, value in zip(series.x, series.y, strict=True) if value is not None]
    (first, low), (last, high) = at[0], at[-1]
    if first == last:
        return f"{series.name}: {y.with_unit(low)} at {where.text(first)}"
    return f"{series.name}: {y.text(low)} at {where.text(first)}, {y.with_unit(high)} at {where.text(last)}"
