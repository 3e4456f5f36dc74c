"""Figures as curves: latency by percentile, and figures over the offered load and over other swept values.

Percentiles are from merged histograms: they show what averages hide, up to where ten samples still lie beyond.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tidegauge.comparison.blocks import Block
from tidegauge.model.finding import Finding
from tidegauge.model.trial import LoadResult, TrialResult, Validity, point_words
from tidegauge.numbers import count, ms
from tidegauge.plain import grouped
from tidegauge.report.compare import estimate_of
from tidegauge.report.plots.model import P99_MEANING, Axis, Details, Form, Mark, Plot, Scale, Series
from tidegauge.report.tables import Swept, in_order
from tidegauge.search.goals import Goal, Outcome, judge
from tidegauge.statistics.figures import FIGURES, Figure, prompt_readers
from tidegauge.statistics.histograms import EMPTY, Histogram, add
from tidegauge.store.details import END_TO_END

_NS_PER_MS = 1e6
_BEYOND_MIN = 10
"""Samples that must lie beyond a percentile that is drawn, as in tables."""
_POINTS_PER_DECADE = 12


def percentile_plots(block: Block, details: Details, prefix: str) -> list[Plot]:
    """Response time, and end-to-end latency of the slowest subscription, each where there is any."""
    kinds = [
        ("response", "Response time by percentile", "from the intended send to the acknowledgement"),
        (END_TO_END, "End-to-end latency by percentile", "from the intended send to the receipt"),
    ]
    found = []
    for kind, title, meaning in kinds:
        series = [line for system in block.systems if (line := _system(block, system, details, kind)) is not None]
        if series:
            plot_id = f"{prefix}-{kind}-percentiles"
            x = Axis("share of messages that took at most so long", Scale.PERCENTILE, Form.PERCENT)
            y = Axis(f"{title.partition(' by')[0].lower()}, ms", Scale.LOG, Form.MS)
            found.append(Plot(plot_id, title, _description(meaning, series), x, y, tuple(series)))
    return found


def curve(*histograms: Histogram) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Percentiles, in percent, and the largest latency in ms at each; none without enough samples for the median."""
    samples = min((histogram.count for histogram in histograms), default=0)
    highest = 1 - _BEYOND_MIN / samples if samples > 2 * _BEYOND_MIN else 0.0
    if highest < 0.5:
        return (), ()
    decades = -math.log10(1 - highest)
    steps = max(2, math.ceil(decades * _POINTS_PER_DECADE))
    shares = [1 - 10 ** (-decades * step / steps) for step in range(1, steps + 1)]
    landmarks = [share for share in (0.5, 0.9, 0.95, 0.99, 0.999, 0.9999) if share <= highest]
    percentiles = tuple(sorted({round(100 * share, 7) for share in (*shares, *landmarks)}))
    return percentiles, tuple(
        max(histogram.percentile_ns(percentile) for histogram in histograms) / _NS_PER_MS for percentile in percentiles
    )


def _merged(results: Sequence[LoadResult], details: Details, kind: str) -> list[Histogram]:
    """Samples of all trials; of end-to-end those of each subscription but late readers, as the figures have it."""
    whole: dict[str, Histogram] = {}
    for result in results:
        prompt = {reader.name for reader in prompt_readers(result)}
        late = {reader.name for reader in result.subscriptions} - prompt
        for tag, histogram in details[result.spec.trial_id].histograms.items():
            series, _, subscription = tag.partition("/")
            if series == kind and subscription not in late:
                whole[tag] = add(whole.get(tag, EMPTY), histogram)
        # Whoever received nothing has no histogram, and must not be hidden by those that did.
        seen = {tag.partition("/")[2] for tag in whole}
        if kind == END_TO_END and prompt - seen and seen != {""}:
            whole.update({f"{kind}/{name}": EMPTY for name in prompt - seen})
    return list(whole.values())


def _system(block: Block, system: str, details: Details, kind: str) -> Series | None:
    """A system's usable trials merged; where all are INVALID those, named as such."""
    used = [load for load in block.usable(system) or block.of(system) if isinstance(load, LoadResult)]
    percentiles, latencies = curve(*_merged(used, details, kind))
    if not percentiles:
        return None
    label = "INVALID" if all(result.validity is Validity.INVALID for result in used) else ""
    return Series(system, label, percentiles, latencies)


def _description(meaning: str, series: Sequence[Series]) -> str:
    parts = []
    for line in series:
        at = dict(zip(line.x, line.y, strict=True))
        figures = ", ".join(
            f"p{percentile:g} {ms(at[percentile])} ms" for percentile in (50, 99, 99.9) if percentile in at
        )
        parts.append(f"{line.name}: {figures}")
    return f"Latency {meaning}; a flat line is steady, a steep end is a long tail. {'; '.join(parts)}."


_SUSTAINED = "sustained"


def load_plots(findings: Sequence[Finding], prefix: str) -> list[Plot]:
    """Response p50 and p99, and end-to-end p99, by the load offered."""
    charts = [
        ("response-p50", "Median response time against load", "response p50, ms"),
        ("response-p99", "Response p99 against load", "response p99, ms"),
        ("end-to-end-p99", "End-to-end p99 against load", "end-to-end p99, ms"),
    ]
    plots = []
    for name, title, label in charts:
        figure = f"{name.replace('-', '_')}_ms"
        series = tuple(_load_curve(finding, figure, findings) for finding in findings if finding.points)
        if any(not curve.empty for curve in series):
            description = (
                "Latency at each load offered; hollow points are loads that were not sustained. "
                f"{'; '.join(_ends(curve) for curve in series if not curve.empty)}."
            )
            x = Axis("offered, msg/s", form=Form.COUNT, from_zero=True)
            y = Axis(label, Scale.LOG, Form.MS, meaning=P99_MEANING if "p99" in name else "")
            plots.append(Plot(f"{prefix}-load-{name}", title, description, x, y, series))
    return plots


def _load_curve(finding: Finding, figure: str, findings: Sequence[Finding]) -> Series:
    """`figure`: the name of its field in a point."""
    usable = [point for point in finding.points if point.offered_msgs_per_s is not None]
    states = [point.state for point in usable]
    x = tuple(point.offered_msgs_per_s or 0.0 for point in usable)
    y = tuple(getattr(point, figure) for point in usable)
    notes = tuple("" if state == _SUSTAINED else state for state in states)
    hollow = tuple(state != _SUSTAINED for state in states)
    return Series(finding.system, _block(finding, findings), x, y, Mark.LINE_POINTS, hollow=hollow, notes=notes)


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
        numbers, rates = tuple(map(float, range(1, len(rated) + 1))), tuple(step.offered_msgs_per_s for step in rated)
        hollow, notes = tuple(state != _SUSTAINED for state in states), tuple(map(_words, rated, states))
        label = _block(finding, findings)
        series.append(Series(finding.system, label, numbers, rates, Mark.LINE_POINTS, hollow=hollow, notes=notes))
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
    spans = grouped(
        (system, (values.index(block.point.get(axis, "")), (found.low, found.value, found.high)))
        for block in blocks
        for system in block.systems
        if (found := estimate_of(chart.figure.of, block.usable(system))) is not None
    )
    return [_line(system, dict(at)) for system, at in sorted(spans.items())]


def _line(system: str, at: Mapping[int, tuple[float, float, float]]) -> Series:
    places = sorted(at)
    low, middle, high = (tuple(at[place][part] for place in places) for part in range(3))
    return Series(system, "", tuple(map(float, places)), middle, Mark.LINE_POINTS, low, high)


def _swept_ends(series: Series, values: Sequence[str], axis: Axis) -> str:
    first, last = round(series.x[0]), round(series.x[-1])
    return f"{series.name}: {axis.text(series.y[0])} at {values[first]}, {axis.text(series.y[-1])} at {values[last]}"
