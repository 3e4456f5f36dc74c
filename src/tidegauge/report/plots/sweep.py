"""A sweep's figures by the swept values: one line for each system, one plot for each point of the other axes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tidegauge.comparison.blocks import Block
from tidegauge.model.trial import TrialResult, point_words
from tidegauge.report.estimates import estimate
from tidegauge.report.plots.model import P99_MEANING, Axis, Form, Mark, Plot, Scale, Series
from tidegauge.report.sweeps import Swept, in_order
from tidegauge.statistics.figures import worst_end_to_end

OTHERS_MAX = 8
"""Points of the other axes that have plots; the table has all."""


@dataclass(frozen=True)
class _Chart:
    name: str
    title: str
    axis: Axis
    figure: Callable[[TrialResult], float | None]


def _end_to_end_p99(result: TrialResult) -> float | None:
    latency = worst_end_to_end(result)
    return None if latency is None else latency.p99_ms


_RATE = _Chart("rate", "Rate", Axis("msg/s", form=Form.COUNT, from_zero=True), lambda one: one.msgs_per_s)
_TIMES = (
    _Chart("p50", "Median response time", Axis("ms", Scale.LOG, Form.MS), lambda one: one.response.p50_ms),
    _Chart("p99", "Response p99", Axis("ms", Scale.LOG, Form.MS, meaning=P99_MEANING), lambda one: one.response.p99_ms),
    _Chart("end-to-end-p99", "End-to-end p99", Axis("ms", Scale.LOG, Form.MS), _end_to_end_p99),
)


def sweep_plots(swept: Swept, prefix: str) -> list[Plot]:
    """The main figures over the axis with most values, for each point of the other axes; none of only one point."""
    points = in_order([block.point for block in swept.blocks])
    axis = longest_axis(points)
    if axis is None:
        return []
    values = tuple(point[axis] for point in in_order([{axis: one.get(axis, "")} for one in points]))
    charts = (_RATE,) if swept.blocks[0].closed_loop else (*_TIMES, _RATE)
    others = list(dict.fromkeys(_others(point, axis) for point in points))[:OTHERS_MAX]
    return [
        plot
        for number, other in enumerate(others, 1)
        for chart in charts
        if (plot := _plot(swept.blocks, axis, values, chart, (other, f"{prefix}-sweep-{number}-{chart.name}")))
    ]


def _others(point: Mapping[str, str], axis: str) -> str:
    return point_words({name: value for name, value in point.items() if name != axis})


def _plot(
    blocks: Sequence[Block], axis: str, values: tuple[str, ...], chart: _Chart, named: tuple[str, str]
) -> Plot | None:
    """`named`: the point of the other axes, in words, and the plot's id."""
    other, plot_id = named
    series = _series([block for block in blocks if _others(block.point, axis) == other], axis, values, chart)
    if all(one.empty for one in series):
        return None
    shown = axis.rpartition(".")[2]
    at = f", {other}" if other else ""
    told = (
        f"{chart.title} by {shown}{at}: geometric means of the trials, whiskers their interval or range. "
        f"{'; '.join(_ends(one, values, chart.axis) for one in series if not one.empty)}."
    )
    x = Axis(shown, form=Form.WORDS, names=values)
    return Plot(plot_id, f"{chart.title} by {shown}{at}", told, x, chart.axis, tuple(series))


def longest_axis(points: Sequence[Mapping[str, str]]) -> str | None:
    """The axis with most values; of equals the first. None where no axis has two."""
    axes = {axis: len({point.get(axis) for point in points}) for point in points for axis in point}
    longest = max(axes, key=lambda axis: axes[axis], default=None)
    return longest if longest is not None and axes[longest] > 1 else None


def _series(blocks: Sequence[Block], axis: str, values: Sequence[str], chart: _Chart) -> list[Series]:
    lines: dict[str, dict[int, tuple[float, float, float]]] = {}
    for block in blocks:
        for system in block.systems:
            known = [value for value in map(chart.figure, block.usable(system)) if value is not None]
            found = estimate(known)
            if found is not None:
                place = values.index(block.point.get(axis, ""))
                lines.setdefault(system, {})[place] = (found.low, found.value, found.high)
    return [_line(system, at) for system, at in sorted(lines.items())]


def _line(system: str, at: Mapping[int, tuple[float, float, float]]) -> Series:
    places = sorted(at)
    return Series(
        system=system,
        label="",
        x=tuple(map(float, places)),
        y=tuple(at[place][1] for place in places),
        mark=Mark.LINE_POINTS,
        low=tuple(at[place][0] for place in places),
        high=tuple(at[place][2] for place in places),
    )


def _ends(series: Series, values: Sequence[str], axis: Axis) -> str:
    first, last = round(series.x[0]), round(series.x[-1])
    return f"{series.name}: {axis.told(series.y[0])} at {values[first]}, {axis.told(series.y[-1])} at {values[last]}"
