"""How late readers caught up, second by second: all systems aligned where the readers begin, and the phases of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from tidegauge.comparison.blocks import Block
from tidegauge.model.workload import BEFORE, DURING, PHASES, late_names
from tidegauge.report.plots.model import Axis, Form, Plot, Series, Span, thinned
from tidegauge.report.plots.percentiles import Details
from tidegauge.report.plots.timeline import MAIN, POINTS_MAX, TRIALS_MAX, Chart
from tidegauge.store.details import TrialDetails

_NS_PER_S = 1e9
_BACKLOG = Axis("messages, largest of the late readers", form=Form.COUNT, from_zero=True)
_READ = Axis("received by late readers, msg/s", form=Form.COUNT, from_zero=True)


def chase_plots(block: Block, details: Details, prefix: str) -> list[Plot]:
    """Backlog, reading rate, and what producers and the other readers felt; none without late readers."""
    if not any(load.spec.late for load in block.loads):
        return []
    charts = [
        Chart("backlog", "Backlog while readers catch up", _BACKLOG, _late_backlog, "Messages yet to be read"),
        Chart("reading", "Reading rate of late readers", _READ, _late_rate, "Messages read in each second"),
        *MAIN,
    ]
    found = []
    for chart in charts:
        series = [line for system in block.systems for line in _lines(block, system, details, chart) if any(line.y)]
        if series:
            description = f"{chart.meaning}; 0 is when the late readers begin. {'; '.join(map(_end, series))}."
            x = Axis("seconds since late readers began", form=Form.SECOND)
            spans = _phases(block, details)
            found.append(
                Plot(f"{prefix}-chase-{chart.name}", chart.title, description, x, chart.axis, tuple(series), spans)
            )
    return found


def _lines(block: Block, system: str, details: Details, chart: Chart) -> Iterator[Series]:
    results = block.loads_of(system)
    for number, result in enumerate(results[:TRIALS_MAX], 1):
        trial = details.get(result.spec.trial_id)
        zero_ns = None if trial is None else began_ns(trial)
        if trial is None or zero_ns is None:
            continue
        names = frozenset(late_names(len(result.subscriptions), result.spec.late))
        rows = [{**row, "late": _late(row, names)} for row in trial.seconds]
        at = [(row["from_mono_ns"] - zero_ns) / _NS_PER_S for row in rows]
        x, y = thinned(at, [chart.column(row) for row in rows], POINTS_MAX)
        yield Series(system, f"trial {number}" if len(results) > 1 else "", x, y)


def began_ns(trial: TrialDetails) -> int | None:
    """When the late readers began (monotonic ns): the first second of the phase *during*; None if it never came."""
    return next((int(row["from_mono_ns"]) for row in trial.seconds if row.get("phase") == DURING), None)


def _late(row: Mapping[str, Any], names: frozenset[str]) -> list[Mapping[str, Any]]:
    return [subscription for subscription in row.get("subscriptions") or () if subscription["name"] in names]


def _late_backlog(row: Mapping[str, Any]) -> float | None:
    return max((float(subscription["backlog_msgs"]) for subscription in row["late"]), default=None)


def _late_rate(row: Mapping[str, Any]) -> float | None:
    length_s = (row["until_mono_ns"] - row["from_mono_ns"]) / _NS_PER_S
    received = sum(float(subscription["received_msgs"]) for subscription in row["late"])
    return received / length_s if length_s >= 0.2 else None


def _phases(block: Block, details: Details) -> tuple[Span, ...]:
    """Of a single trial all phases; of several, which catch up at different speeds, only where the readers begin."""
    if len(block.results) > 1:
        return (Span(0.0, 0.0, "late readers begin"),)
    trial = details.get(block.results[0].spec.trial_id)
    zero_ns = None if trial is None else began_ns(trial)
    if trial is None or zero_ns is None:
        return ()
    spans = []
    for phase, rows in groupby(trial.seconds, key=lambda row: row.get("phase")):
        if phase in PHASES:
            own = list(rows)
            begin, end = (
                (time_ns - zero_ns) / _NS_PER_S for time_ns in (own[0]["from_mono_ns"], own[-1]["until_mono_ns"])
            )
            # Shaded and unshaded by turns, so that neighbours can be told apart.
            spans.append(Span(begin, end if phase == DURING else begin, "" if phase == BEFORE else str(phase)))
    return tuple(spans)


def _end(series: Series) -> str:
    known = [value for value in series.y if value is not None]
    return f"{series.name}: largest {max(known):,.0f}, at the end {known[-1]:,.0f}"
