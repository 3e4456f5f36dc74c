"""A figure over many runs: a point for each with its interval, doubts, and where it changed."""

from __future__ import annotations

from tidegauge.comparison.history import FigureHistory, HistoryPart
from tidegauge.numbers import factor, in_unit, parse_time, plural
from tidegauge.report.history import (
    change_sentence,
    changed_with_it,
    doubts_of_entry,
    entry_name,
    is_doubted,
    part_title,
    untested_words,
    value_of_entry,
)
from tidegauge.report.plots.model import P99_MEANING, Axis, Form, Mark, Plot, Scale, Series, Span
from tidegauge.statistics.intervals import geometric_mean

_POINTS_LARGE_MAX = 60
"""Runs up to which each has a large mark."""


def history_plot(part: HistoryPart, history: FigureHistory, plot_id: str) -> Plot:
    """A figure of a part, run after run. Its scale is logarithmic: the same change is as high anywhere."""
    of_runs = [value_of_entry(values) for values in history.values]
    runs = tuple(float(number) for number in range(1, len(of_runs) + 1))
    doubted = tuple(map(is_doubted, history.entries))
    repeated = any(len(values) > 1 for values in history.values)
    points = Series(
        part.system,
        "",
        runs,
        tuple(of_run.value for of_run in of_runs),
        Mark.POINTS,
        low=tuple(of_run.low for of_run in of_runs) if repeated else (),
        high=tuple(of_run.high for of_run in of_runs) if repeated else (),
        hollow=doubted,
        notes=tuple(", ".join(filter(None, (entry_name(entry), doubts_of_entry(entry)))) for entry in history.entries),
        minor=len(runs) > _POINTS_LARGE_MAX,
    )
    figure, changes = history.figure, history.changes
    spans = tuple(Span(at, at, f"{factor(one.comparison.ratio)}x") for one in changes for at in [one.place + 0.5])
    readings = [
        "Bars: 95% intervals over the trials of a run, or the range of fewer than 3." if repeated else "",
        "Hollow: DOUBTFUL or disturbed." if any(doubted) else "",
        "Upright lines: changes; level ones: means between them." if changes else "",
    ]
    reading = " ".join(filter(None, readings))
    level = part.conditions["level found"]
    in_ms = figure.unit == "ms"
    # When each run began: its day, with the time where several began on one day.
    begun = [_local_begin(entry.run.started_at) for entry in history.entries]
    days = [at[:5] for at in begun]
    ticks = begun if len(set(days)) < len(days) else days
    return Plot(
        plot_id,
        f"{figure.title} over {plural(len(runs), 'run')}",
        " ".join([_description(history), reading]).strip(),
        Axis("run", form=Form.COUNT, ticks=tuple(zip(runs, ticks, strict=True))),
        Axis(figure.head, Scale.LOG, Form.MS if in_ms else Form.SHORT, unit=figure.unit,
             meaning=P99_MEANING if figure.name.endswith("_p99") else ""),
        (points, *_mean_lines(part.system, history)),
        spans=spans,
        context=f"{part_title(part)}; {part.campaign}, level {level}",
        reading=reading,
    )  # fmt: skip


def _mean_lines(system: str, history: FigureHistory) -> list[Series]:
    """The means of the runs between changes; none where there is no change."""
    stretches = [*(change.before for change in history.changes), *(change.since for change in history.changes[-1:])]
    lines = []
    for stretch in stretches:
        mean = geometric_mean([history.means[place] for place in stretch])
        ends = float(stretch[0] + 1), float(stretch[-1] + 1)
        lines.append(Series(system, "mean", ends, (mean, mean), Mark.LINE, minor=True))
    return lines


def _local_begin(iso: str) -> str:
    """A UTC time of a run file in this machine's time zone: "11-21 03:24"; the number alone where it has none."""
    try:
        return parse_time(iso).astimezone().strftime("%m-%d %H:%M")
    except ValueError:
        return iso


def _description(history: FigureHistory) -> str:
    figure, means = history.figure, history.means
    ends = (
        f"{figure.title} of {plural(len(means), 'run')}: {in_unit(means[0], figure.unit)} {figure.unit} in the first, "
        f"{in_unit(means[-1], figure.unit)} {figure.unit} in the last."
    )
    if history.untested is not None:
        return f"{ends} {untested_words(history)}."
    if not history.changes:
        return f"{ends} No change was found."
    changes = [f"{change_sentence(history, change)}; {changed_with_it(change)}." for change in history.changes]
    return " ".join([ends, *changes])
