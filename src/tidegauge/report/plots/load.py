"""Figures over the offered load, and over other swept values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tidegauge.comparison.blocks import Block
from tidegauge.model.finding import CurvePoint, Finding
from tidegauge.model.trial import LoadResult, TrialResult, Validity, point_words
from tidegauge.numbers import count, ms
from tidegauge.report.compare import estimate_of
from tidegauge.report.plots.model import P99_MEANING, Axis, Form, Mark, Plot, Scale, Series
from tidegauge.report.sweeps import Swept, in_order
from tidegauge.search.goals import Goal, Outcome, judge
from tidegauge.statistics.figures import FIGURES, Figure

_SUSTAINED = "sustained"


def load_plots(findings: Sequence[Finding], prefix: str) -> list[Plot]:
    """Response p50 and p99, and end-to-end p99, by the load offered."""
    charts: list[tuple[str, str, str, Callable[[CurvePoint], float | None]]] = [
        ("response-p50", "Median response time against load", "response p50, ms", lambda point: point.response_p50_ms),
        ("response-p99", "Response p99 against load", "response p99, ms", lambda point: point.response_p99_ms),
        ("end-to-end-p99", "End-to-end p99 against load", "end-to-end p99, ms", lambda point: point.end_to_end_p99_ms),
    ]
    plots = []
    for name, title, label, figure in charts:
        series = tuple(_curve(finding, figure, findings) for finding in findings if finding.points)
        if any(not curve.empty for curve in series):
            description = (
                "Latency at each load offered; hollow points are loads that were not sustained. "
                f"{'; '.join(_ends(curve) for curve in series if not curve.empty)}."
            )
            x = Axis("offered, msg/s", form=Form.COUNT, from_zero=True)
            y = Axis(label, Scale.LOG, Form.MS, meaning=P99_MEANING if "p99" in name else "")
            plots.append(Plot(f"{prefix}-load-{name}", title, description, x, y, series))
    return plots


def _curve(finding: Finding, figure: Callable[[CurvePoint], float | None], findings: Sequence[Finding]) -> Series:
    known = [(point, point.offered_msgs_per_s) for point in finding.points]
    usable = [(point, rate) for point, rate in known if rate is not None]
    states = [point.state for point, _ in usable]
    return Series(
        system=finding.system,
        label=_block(finding, findings),
        x=tuple(rate for _, rate in usable),
        y=tuple(figure(point) for point, _ in usable),
        mark=Mark.LINE_POINTS,
        hollow=tuple(state != _SUSTAINED for state in states),
        notes=tuple("" if state == _SUSTAINED else state for state in states),
    )


def _ends(series: Series) -> str:
    known = [(x, y) for x, y in zip(series.x, series.y, strict=True) if y is not None]
    (low_x, low), (high_x, high) = known[0], known[-1]
    return f"{series.name}: {ms(low)} ms at {count(low_x)} msg/s, {ms(high)} ms at {count(high_x)} msg/s"


def search_plots(findings: Sequence[Finding], results: Sequence[TrialResult], prefix: str) -> list[Plot]:
    """The rate of each trial of a search, in the order of the trials, and whether it was sustained."""
    series, parts = [], []
    for finding in findings:
        loads = [result for result in results if isinstance(result, LoadResult)]
        steps = [load for load in loads if load.spec.trial_id.startswith(f"{finding.finding_id}-s")]
        rated = [step for step in steps if step.offered_msgs_per_s is not None]
        if not rated:
            continue
        states = [state(step) for step in rated]
        series.append(
            Series(
                system=finding.system,
                label=_block(finding, findings),
                x=tuple(float(number) for number in range(1, len(rated) + 1)),
                y=tuple(step.offered_msgs_per_s for step in rated),
                mark=Mark.LINE_POINTS,
                hollow=tuple(step_state != _SUSTAINED for step_state in states),
                notes=tuple(map(_words, rated, states)),
            )
        )
        parts.append(f"{series[-1].name}: {len(rated)} trials, {states.count(_SUSTAINED)} sustained")
    if not series:
        return []
    description = f"Rates tried one after the other; filled points were sustained, hollow ones not. {'; '.join(parts)}."
    x = Axis("trial of the search", form=Form.COUNT)
    y = Axis("offered, msg/s", form=Form.COUNT, from_zero=True)
    return [Plot(f"{prefix}-search", "Steps of the search", description, x, y, tuple(series))]


def state(result: LoadResult) -> str:
    """ "sustained", "INVALID", or what was not sustained."""
    if result.validity is Validity.INVALID:
        return "INVALID"
    verdict = judge(Goal(_SUSTAINED), result)
    return _SUSTAINED if verdict.outcome is Outcome.PASS else f"not sustained ({verdict.kind})"


def _words(result: LoadResult, state_words: str) -> str:
    confirmation = "confirmation" if result.spec.trial_id.endswith("-confirm") else ""
    return ", ".join(part for part in (confirmation, state_words) if part)


def _block(finding: Finding, findings: Sequence[Finding]) -> str:
    repeated = sum(other.system == finding.system for other in findings) > 1
    return f"block {finding.block + 1}" if repeated else ""


OTHERS_MAX = 8
"""Points of the other axes that have plots; the table has all."""


@dataclass(frozen=True)
class _Chart:
    name: str
    title: str
    axis: Axis
    figure: Figure


_RATE = _Chart("rate", "Rate", Axis("msg/s", form=Form.COUNT, from_zero=True), FIGURES["msgs_per_s"])
_TIMES = (
    _Chart("p50", "Median response time", Axis("ms", Scale.LOG, Form.MS), FIGURES["response_ms_p50"]),
    _Chart("p99", "Response p99", Axis("ms", Scale.LOG, Form.MS, meaning=P99_MEANING), FIGURES["response_ms_p99"]),
    _Chart("end-to-end-p99", "End-to-end p99", Axis("ms", Scale.LOG, Form.MS), FIGURES["end_to_end_ms_p99"]),
)


def sweep_plots(swept: Swept, prefix: str) -> list[Plot]:
    """The main figures over the axis with most values, for each point of the other axes; none of only one point."""
    points = in_order([block.point for block in swept.blocks])
    axis = longest_axis(points)
    if axis is None:
        return []
    values = tuple(point[axis] for point in in_order([{axis: other.get(axis, "")} for other in points]))
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
    if all(curve.empty for curve in series):
        return None
    shown = axis.rpartition(".")[2]
    at = f", {other}" if other else ""
    description = (
        f"{chart.title} by {shown}{at}: geometric means of the trials, whiskers their interval or range. "
        f"{'; '.join(_swept_ends(curve, values, chart.axis) for curve in series if not curve.empty)}."
    )
    x = Axis(shown, form=Form.WORDS, names=values)
    return Plot(plot_id, f"{chart.title} by {shown}{at}", description, x, chart.axis, tuple(series))


def longest_axis(points: Sequence[Mapping[str, str]]) -> str | None:
    """The axis with most values; of equals the first. None where no axis has two."""
    axes = {axis: len({point.get(axis) for point in points}) for point in points for axis in point}
    longest = max(axes, key=lambda axis: axes[axis], default=None)
    return longest if longest is not None and axes[longest] > 1 else None


def _series(blocks: Sequence[Block], axis: str, values: Sequence[str], chart: _Chart) -> list[Series]:
    lines: dict[str, dict[int, tuple[float, float, float]]] = {}
    for block in blocks:
        for system in block.systems:
            found = estimate_of(chart.figure.of, block.usable(system))
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


def _swept_ends(series: Series, values: Sequence[str], axis: Axis) -> str:
    first, last = round(series.x[0]), round(series.x[-1])
    return f"{series.name}: {axis.text(series.y[0])} at {values[first]}, {axis.text(series.y[-1])} at {values[last]}"
