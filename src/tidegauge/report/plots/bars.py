"""Throughput as bars, with the interval around each, or the range where there are too few trials for one."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from tidegauge.comparison.blocks import Block
from tidegauge.model.finding import Finding
from tidegauge.numbers import count
from tidegauge.report.estimates import estimate
from tidegauge.report.plots.model import Axis, Form, Mark, Plot, Series


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
    told = f"Bars are geometric means of the trials, whiskers their interval or range: {'; '.join(parts)}."
    return [_plot(f"{prefix}-throughput", "Throughput, closed loop", told, block.systems, series)]


def sustainable_bars(findings: Sequence[Finding], prefix: str) -> list[Plot]:
    """The confirmed sustainable rate of each system for each goal, with the bracket of the search."""
    rates: dict[str, dict[str, list[tuple[float, float, float]]]] = {}
    for finding in findings:
        for goal in finding.details.get("goals") or ():
            rate = goal.get("sustainable_msgs_per_s")
            if rate:
                low, high = goal.get("lower_msgs_per_s") or rate, goal.get("upper_msgs_per_s") or rate
                rates.setdefault(str(goal.get("goal")), {}).setdefault(finding.system, []).append((rate, low, high))
    plots = []
    for number, (goal, by_system) in enumerate(rates.items(), 1):
        names = tuple(sorted(by_system))
        series, parts = [], []
        for place, system in enumerate(names):
            found = by_system[system]
            rate = median(one[0] for one in found)
            low, high = min(rate, *(one[1] for one in found)), max(rate, *(one[2] for one in found))
            series.append(_bar(system, "", place, (low, rate, high)))
            parts.append(f"{system} {count(rate)} msg/s, bracket {count(low)} to {count(high)}")
        told = f"Bars are confirmed rates, whiskers the bracket in which the search ended: {'; '.join(parts)}."
        plots.append(_plot(f"{prefix}-sustainable-{number}", f"Sustainable rate, goal: {goal}", told, names, series))
    return plots


def _bar(system: str, label: str, place: int, span: tuple[float, float, float]) -> Series:
    """`span`: least, middle and largest value; whiskers only where they differ."""
    low, middle, high = span
    ends = ((low,), (high,)) if high > low else ((), ())
    return Series(system, label, (float(place),), (middle,), Mark.BARS, *ends)


def _plot(plot_id: str, title: str, told: str, names: tuple[str, ...], series: list[Series]) -> Plot:
    x = Axis("system", form=Form.WORDS, names=names)
    return Plot(plot_id, title, told, x, Axis("msg/s", form=Form.COUNT, from_zero=True), tuple(series))
