"""The plots that come first: a run at a glance, rates as bars, and shares of the machine's ceilings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median

from tidegauge.comparison.blocks import Block, blocks
from tidegauge.model.finding import Finding
from tidegauge.model.trial import MeasuredResult, Validity
from tidegauge.numbers import count, ms, percent
from tidegauge.plain import grouped
from tidegauge.report.compare import Estimate, estimate
from tidegauge.report.distributions import Within
from tidegauge.report.plots.curves import load_plots, sweep_plots
from tidegauge.report.plots.model import P99_MEANING, Axis, Form, Line, Mark, Plot, Scale, Series
from tidegauge.report.tables import swept
from tidegauge.report.usage import Used
from tidegauge.statistics.figures import FIGURES, FINDING_FIGURES, SUSTAINABLE
from tidegauge.store.read import StoredRun
from tidegauge.usage import Ceiling, Share


def throughput_bars(block: Block, prefix: str) -> list[Plot]:
    """The rate of each system in a closed loop; none at a fixed rate, where it is what was asked for."""
    if not block.closed_loop:
        return []
    series, parts = [], []
    for place, system in enumerate(block.systems):
        used = block.usable(system)
        found = estimate([result.msgs_per_s for result in used or block.of(system)])
        if found is None:
            continue
        series.append(_bar(system, "" if used else "INVALID", place, (found.low, found.value, found.high)))
        span = f", {count(found.low)} to {count(found.high)} ({found.span_words()})" if found.trials > 1 else ""
        parts.append(f"{series[-1].name} {count(found.value)} msg/s{span}")
    description = f"Bars are geometric means of the trials, whiskers their interval or range: {'; '.join(parts)}."
    return [_barplot(f"{prefix}-throughput", "Throughput, closed loop", description, block.systems, series)]


def sustainable_bars(findings: Sequence[Finding], prefix: str) -> list[Plot]:
    """The confirmed sustainable rate of each system for each goal, with the bracket of the search."""
    spans = grouped(
        (goal.goal, (finding.system, (rate, goal.lower_msgs_per_s or rate, goal.upper_msgs_per_s or rate)))
        for finding in findings
        for goal in finding.goals
        if (rate := goal.sustainable_msgs_per_s)
    )
    plots = []
    for number, (name, reached) in enumerate(spans.items(), 1):
        by_system = grouped(reached)
        names = tuple(sorted(by_system))
        series, parts = [], []
        for place, system in enumerate(names):
            found = by_system[system]
            rate = median(span[0] for span in found)
            low, high = min(rate, *(span[1] for span in found)), max(rate, *(span[2] for span in found))
            series.append(_bar(system, "", place, (low, rate, high)))
            parts.append(f"{system} {count(rate)} msg/s, bracket {count(low)} to {count(high)}")
        description = f"Bars are confirmed rates, whiskers the bracket in which the search ended: {'; '.join(parts)}."
        plots.append(
            _barplot(f"{prefix}-sustainable-{number}", f"Sustainable rate, goal: {name}", description, names, series)
        )
    return plots


def _bar(system: str, label: str, place: int, span: tuple[float, float, float]) -> Series:
    """`span`: least, middle and largest value."""
    low, middle, high = span
    return Series(system, label, (float(place),), (middle,), Mark.BARS, *_ends(low, high))


def _barplot(plot_id: str, title: str, description: str, names: tuple[str, ...], series: list[Series]) -> Plot:
    x = Axis("system", form=Form.WORDS, names=names)
    return Plot(plot_id, title, description, x, Axis("msg/s", form=Form.COUNT, from_zero=True), tuple(series))


_GROUP_WIDTH = 0.8
"""Of all bars at one ceiling, of the room between two."""


def share_bars(found: Sequence[Used], prefix: str) -> list[Plot]:
    """One plot for each disk of each experiment and point of a sweep: the systems side by side at each ceiling."""
    groups = grouped((row.label.replace(f" {row.result.spec.label}", "", 1), row) for row in found if row.shares)
    plots = []
    for number, (name, own) in enumerate(groups.items(), 1):
        disks = list(dict.fromkeys(share.where for row in own for share in row.shares if share.where)) or [""]
        for place, disk in enumerate(disks, 1):
            title = f"{name}, {disk}" if len(disks) > 1 else name
            plots.append(_shareplot(title, own, disk, f"{prefix}-{number}-shares" + (f"-{place}" if place > 1 else "")))
    return plots


def _shareplot(name: str, found: Sequence[Used], disk: str, plot_id: str) -> Plot:
    """`disk`: which one, beside what there is once."""
    ceilings = [of for of in Ceiling if any(_share(row, of, disk) for row in found)]
    width = _GROUP_WIDTH / len(found)
    series = []
    figures = []
    for number, row in enumerate(found):
        shares = {place: share for place, of in enumerate(ceilings) if (share := _share(row, of, disk))}
        system, offset = row.result.spec.system, (number - (len(found) - 1) / 2) * width
        x, y = tuple(place + offset for place in shares), tuple(share.share * 100 for share in shares.values())
        bases = tuple(f"({share.basis})" for share in shares.values())
        series.append(Series(system, "", x, y, Mark.BARS, notes=bases, width=0.9 * width))
        figures += [f"{system} {percent(share.share)} of {share.of}" for share in shares.values()]
    title = f"Share of ceilings: {name}"
    words = f"Bars are shares of what the machine did at most, which is the line at 100 %: {'; '.join(figures)}."
    x_axis = Axis("ceiling", form=Form.WORDS, names=tuple(map(str, ceilings)))
    y_axis = Axis("% of the ceiling", form=Form.SHARE, from_zero=True)
    return Plot(plot_id, title, words, x_axis, y_axis, tuple(series), lines=(Line(100.0, "ceiling"),))


def _share(row: Used, of: Ceiling, disk: str) -> Share | None:
    return row.share(of, disk) or row.share(of, "")


_ID = "overview"
_APART_PT = 9.0
"""Between systems that were measured at the same rate."""
_LOG_FROM = 8.0
"""Rates that are further apart than by this factor stand on a logarithmic axis."""


def overview(run: StoredRun, within: Sequence[Within]) -> Plot | None:
    """What suits the run: a sweep's figures, response p99 against load, or rates alone; None without any of these.

    Args:
        within: intervals within single trials.
    """
    tables = blocks(run.results)
    for sweep in swept(tables):
        plots = sweep_plots(sweep, _ID)
        if plots:
            return next((plot for plot in plots if plot.plot_id.endswith("-p99")), plots[0])
    dots = [*_dots(tables, within), *_curves(run.findings)]
    limits = _limits(run, tables, within)
    if dots:
        return _picture(dots, limits)
    bars = [plot for block in tables for plot in throughput_bars(block, _ID)] or sustainable_bars(run.findings, _ID)
    return bars[0] if bars else None


def reading_words(plot: Plot) -> str:
    """How to read the picture, for those who see it."""
    if plot.plot_id != _ID:  # A sweep's or a bar chart's, whose sentence says what its whiskers are.
        return f"p99: {plot.y.meaning}. {plot.description}" if plot.y.meaning else plot.description
    lines = any(series.mark is Mark.LIMITS for series in plot.series)
    words = [
        f"p99: {P99_MEANING}.",
        "Logarithmic: each line of the grid is a multiple of the one below. Lower is better.",
    ]
    if any(series.minor for series in plot.series):
        words += ["Bold: the mean of all trials, its 95% interval (their range, of fewer than 3); pale: each trial."]
    elif any(series.low for series in plot.series if series.mark is not Mark.LIMITS):
        words += ["Whiskers: 95% within the one trial, which say nothing of what another trial would give."]
    if any(any(series.hollow) for series in plot.series):
        words += ["Hollow: not sustained, or INVALID."]
    words += ["Upright lines: the most that each system took."] if lines else []
    return " ".join(words)


def _picture(dots: Sequence[Series], limits: Sequence[Series]) -> Plot:
    systems = sorted({dot.system for dot in (*dots, *limits)})
    middle = (len(systems) - 1) / 2
    dots = [replace(dot, shift_pt=(systems.index(dot.system) - middle) * _APART_PT) for dot in dots]
    rates = [x for dot in (*dots, *limits) for x in dot.x]
    scale = Scale.LOG if max(rates) > _LOG_FROM * min(rates) else Scale.LINEAR
    parts = [
        f"{dot.name} {ms(y)} ms at {x:,.0f} msg/s"
        for dot in dots
        for x, y in zip(dot.x, dot.y, strict=True)
        if not dot.minor and y is not None
    ]
    parts += [f"{limit.name} {x:,.0f} msg/s" for limit in limits for x in limit.x]
    description = f"Response p99 at each rate, and the most that each system took. {'; '.join(parts)}."
    x_axis = Axis("msg/s", scale, Form.COUNT, from_zero=True)
    y_axis = Axis("response p99, ms", Scale.LOG, Form.MS, meaning=P99_MEANING)
    return Plot(_ID, "Response time against load", description, x_axis, y_axis, (*dots, *limits))


def _dots(tables: Sequence[Block], within: Sequence[Within]) -> list[Series]:
    """At each fixed rate each system's p99 with its interval, and every trial of several."""
    found = []
    for block in tables:
        for system in block.systems if not block.closed_loop else ():
            p99_ms = FIGURES["response_ms_p99"].of
            trials = [trial for trial in block.usable(system) or block.of(system) if p99_ms(trial)]
            values = [p99_ms(trial) or 0.0 for trial in trials]
            known = _known(values, trials, "response p99", within)
            if known is None or not block.results[0].offered_msgs_per_s:
                continue
            at = block.results[0].offered_msgs_per_s
            if len(values) > 1:
                every = (Mark.POINTS, (), (), tuple(trial.validity is Validity.INVALID for trial in trials))
                found.append(Series(system, "each trial", (at,) * len(values), tuple(values), *every, minor=True))
            invalid = not block.usable(system)
            marks = ((invalid,), ("INVALID" if invalid else "",))
            found.append(Series(system, "", (at,), (known.value,), Mark.POINTS, *_ends(known.low, known.high), *marks))
    return found


def _known(
    values: Sequence[float], trials: Sequence[MeasuredResult], figure: str, within: Sequence[Within]
) -> Estimate | None:
    """Over trials, or for a single one within it."""
    interval = estimate(values)
    trial_ids = {trial.spec.trial_id for trial in trials}
    inside = [spread.interval for spread in within if spread.trial_id in trial_ids and spread.figure == figure]
    if interval is None or interval.trials > 1 or not inside:
        return interval
    return replace(interval, low=min(interval.value, inside[0].low), high=max(interval.value, inside[0].high))


def _curves(findings: Sequence[Finding]) -> list[Series]:
    plots = load_plots([finding for finding in findings if finding.points], _ID)
    return [series for plot in plots if plot.plot_id.endswith("-response-p99") for series in plot.series]


def _limits(run: StoredRun, tables: Sequence[Block], within: Sequence[Within]) -> list[Series]:
    """The most that each system took: searched and confirmed, else in a closed loop."""
    figure = FINDING_FIGURES[SUSTAINABLE]
    searched = grouped((finding.system, value) for finding in run.findings if (value := figure.of(finding)))
    known: Mapping[str, Estimate | None] = {system: estimate(values) for system, values in searched.items()}
    label = "sustained"
    peaks = [block for block in tables if block.closed_loop and block.loads]
    if not known and peaks:
        block = peaks[0]
        label = block.experiment
        usable = {system: block.usable(system) for system in block.systems}
        known = {
            system: _known([trial.msgs_per_s for trial in trials], trials, "rate", within)
            for system, trials in usable.items()
        }
    limits = [(system, most) for system, most in known.items() if most is not None]
    return [
        Series(system, label, (most.value,), (None,), Mark.LIMITS, *_ends(most.low, most.high))
        for system, most in sorted(limits, key=lambda limit: -limit[1].value)
    ]


def _ends(low: float, high: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Of an interval or range, as a series has them; none where it has no extent."""
    return ((low,), (high,)) if high > low else ((), ())
