"""Pictures of a report's figures with ours in them, of the kind that the report has. Published values are hollow.

Rates are bars; times are points; what has three places of one quantity or more is drawn over that; what has three
percentiles or more is a curve by percentile.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tidegauge.numbers import capitalized, precise
from tidegauge.plain import grouped
from tidegauge.published.beside import CellBeside, PublishedColumn, RowBeside, TableBeside
from tidegauge.published.model import MILLISECONDS, Place
from tidegauge.report.plots.model import Axis, Form, Mark, Plot, Scale, Series

PUBLISHED = "published"
READING = "Filled: measured here, the median with the range of the trials. Hollow and grey: published."
_PERCENTS = {"p50": 50.0, "p75": 75.0, "p90": 90.0, "p95": 95.0, "p99": 99.0, "p99.9": 99.9, "p99.99": 99.99}
_QUANTITIES = ("partitions", "load", "batch_size")
"""Keys of a place that a table may be drawn over, by the names of `Place`."""
_POINTS_MIN = 3
_CURVES_MAX = 6
_PLOTS_MAX = 3
"""Of one table: a column each."""
_LOOKS_OF_COLOURS = 6


def places_of_names(plot: Plot, systems: Sequence[str]) -> dict[str, int]:
    """The look of each line of a picture: the colour is its system's, mark and dashes are its own.

    `systems`: all that the page shows, so that a colour stands for the same system in each of its pictures.
    """
    by_system = grouped((name.partition(",")[0], name) for name in plot.systems)
    return {
        name: systems.index(system) % _LOOKS_OF_COLOURS + _LOOKS_OF_COLOURS * number
        for system, names in sorted(by_system.items())
        for number, name in enumerate(dict.fromkeys(names))
    }


def table_plots(table: TableBeside, prefix: str) -> list[Plot]:
    """The pictures of a table; none of one that has no figure of ours. `prefix`: that ids begin with."""
    if not any(row.measured for row in table.rows):
        return []
    values = {key: {row.place.given().get(key) for row in table.rows} - {None} for key in _QUANTITIES}
    key = next((key for key in _QUANTITIES if len(values[key]) >= _POINTS_MIN), None)
    if key is not None:
        # The median and p99 of many percentiles; else all.
        two = [number for number, column in enumerate(table.columns) if _percentile_of(column) in (50.0, 99.0)]
        chosen = two if len(two) > 1 else range(len(table.columns))[:_PLOTS_MAX]
        return [_plot_over_quantity(table, number, key, f"{prefix}-{number + 1}") for number in chosen]
    percentiles = [number for number, column in enumerate(table.columns) if _percentile_of(column) is not None]
    if len(percentiles) >= _POINTS_MIN:
        return list(_percentile_plots(table, percentiles, prefix))
    return [
        _plot_of_places(table, number, f"{prefix}-{number + 1}") for number in range(len(table.columns))[:_PLOTS_MAX]
    ]


def _percentile_of(column: PublishedColumn) -> float | None:
    return _PERCENTS.get(column.statistic)


def _both(
    name: str, at: Sequence[float], cells: Sequence[CellBeside], mark: Mark, width: float = 0.6
) -> tuple[Series, ...]:
    """Ours and the published figures at the same places."""
    drawn = [(x, cell) for x, cell in zip(at, cells, strict=True) if cell.values]
    lined = mark is Mark.LINE_POINTS
    series = (
        Series(
            name,
            "",
            tuple(x for x, _ in drawn),
            tuple(cell.middle for _, cell in drawn),
            mark,
            low=tuple(min(cell.values) for _, cell in drawn),
            high=tuple(max(cell.values) for _, cell in drawn),
            notes=tuple(
                f"{cell.doubtful} of {len(cell.values)} DOUBTFUL" if cell.doubtful else "" for _, cell in drawn
            ),
            width=width,
        ),
        Series(
            name,
            PUBLISHED,
            tuple(at),
            tuple(cell.published for cell in cells),
            Mark.LINE_POINTS if lined else Mark.POINTS,
            theirs=True,
        ),
    )
    return tuple(each for each in series if each.x)


def _plot_over_quantity(table: TableBeside, column_number: int, key: str, plot_id: str) -> Plot:
    column = table.columns[column_number]
    name = key.replace("_", " ")
    lines = grouped((_name_without(table, row, key), row) for row in table.rows if key in row.place.given())
    series: list[Series] = []
    for line, rows in lines.items():
        ordered = sorted(rows, key=lambda row: int(row.place.given()[key]))
        at = [float(row.place.given()[key]) for row in ordered]
        series += _both(line, at, [row.cells[column_number] for row in ordered], Mark.LINE_POINTS)
    values = sorted({x for each in series for x in each.x})
    ticks = tuple((value, f"{value:,.0f}") for value in values)
    wide = values[-1] > 8 * values[0]
    x = Axis(name, Scale.LOG if wide else Scale.LINEAR, Form.COUNT, ticks=ticks)
    return _plot(table, column, plot_id, (x, tuple(series)), f"by {name}")


def _percentile_plots(table: TableBeside, percentiles: Sequence[int], prefix: str) -> Iterator[Plot]:
    """Curves of at most so many rows in one picture."""
    for start in range(0, len(table.rows), _CURVES_MAX):
        series: list[Series] = []
        for row in table.rows[start : start + _CURVES_MAX]:
            at = [float(_percentile_of(table.columns[number]) or 0.0) for number in percentiles]
            cells = [row.cells[number] for number in percentiles]
            series += _both(_name_without(table, row, ""), at, cells, Mark.LINE_POINTS)
        column = table.columns[percentiles[0]]
        x = Axis("share of messages that took at most so long", Scale.PERCENTILE, Form.PERCENT)
        yield _plot(table, column, f"{prefix}-{start // _CURVES_MAX + 1}", (x, tuple(series)), "by percentile")


def _plot_of_places(table: TableBeside, column_number: int, plot_id: str) -> Plot:
    """A group of bars, or of points, for each place, with one for each system there."""
    column = table.columns[column_number]
    mark = Mark.POINTS if column.unit == MILLISECONDS else Mark.BARS
    places_of_rows = [_place_without_system(table, row) for row in table.rows]
    # Where no place has two systems, each bar has its system's name instead of a place in a group.
    alone = len(set(places_of_rows)) == len(places_of_rows)
    names = list(dict.fromkeys(map(table.label, table.rows) if alone else places_of_rows))
    systems = sorted({row.place.system for row in table.rows})
    width = 0.6 if alone else 0.8 / len(systems)
    series: list[Series] = []
    for number, system in enumerate(systems):
        rows = [row for row in table.rows if row.place.system == system]
        offset = 0.0 if alone else (number - (len(systems) - 1) / 2) * width
        labels = map(table.label, rows) if alone else (_place_without_system(table, row) for row in rows)
        at = [names.index(label) + offset for label in labels]
        series += _both(system, at, [row.cells[column_number] for row in rows], mark, width * 0.9)
    x = Axis("", form=Form.WORDS, names=tuple(names))
    plot = _plot(table, column, plot_id, (x, tuple(series))).lying_where_names_are_long()
    # Bars stand; where there is no room for that, points lie.
    return replace(plot, series=tuple(replace(one, mark=Mark.POINTS) for one in plot.series)) if plot.lying else plot


def _name_without(table: TableBeside, row: RowBeside, key: str) -> str:
    """What a line is called: its system, and what else sets it apart from the others but the key that it is over."""
    apart = table.own_place(row, key, "system").given()
    return Place.model_validate({"system": row.place.system, **apart}).words()


def _place_without_system(table: TableBeside, row: RowBeside) -> str:
    return table.own_place(row, "system").words() or row.note or "all"


def _plot(
    table: TableBeside, column: PublishedColumn, plot_id: str, drawn: tuple[Axis, tuple[Series, ...]], by: str = ""
) -> Plot:
    x, series = drawn
    figure = column.quantity if x.scale is Scale.PERCENTILE else column.words
    title = " ".join(filter(None, (capitalized(figure), by)))
    ends = [(each.name, map(precise, (each.y[0], each.y[-1]))) for each in series if not each.theirs]
    figures = (f"{name} {' to '.join(dict.fromkeys(values))} {column.unit}" for name, values in ends)
    words = f"{title}: {'; '.join(figures)}."
    context = ", ".join(filter(None, (table.table.source, table.common.words())))
    label = f"{figure}, {column.unit}"
    y = Axis(label, form=Form.SHORT, from_zero=True, unit=column.unit)
    if column.unit == MILLISECONDS:
        y = Axis(label, Scale.LOG, Form.MS)
    return Plot(plot_id, title, words, x, y, series, context=context, reading=READING)


def key_rows(plots: Sequence[Plot], systems: Sequence[str]) -> Mapping[str, int]:
    """The look of each name of several pictures of one figure, for their key. `systems`: all that the page shows."""
    return {name: place for plot in plots for name, place in places_of_names(plot, systems).items()}
