"""The history of runs as parts of a page: what changed, pictures, and every run in a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from tidegauge.comparison.history import FigureHistory, HistoryPart, RunHistory
from tidegauge.numbers import in_unit
from tidegauge.report.history import (
    change_words,
    changes_by_run,
    difference_words,
    doubts_of_entry,
    part_remarks,
    part_title,
    untested_remarks,
    value_of_entry,
)
from tidegauge.report.plots.draw import Drawing
from tidegauge.report.plots.history import history_plot
from tidegauge.report.plots.model import Plot, data_table
from tidegauge.statistics.intervals import ComparisonVerdict
from tidegauge.store.read import StoredRun

_STATES = {ComparisonVerdict.BETTER: "good", ComparisonVerdict.WORSE: "bad"}


def history_plots(history: RunHistory) -> list[list[Plot]]:
    """The pictures of each part, one for each figure."""
    return [
        [history_plot(part, figure, _plot_id(number, figure)) for figure in part.figures]
        for number, part in enumerate(history.repeated_parts, 1)
    ]


def _plot_id(part_number: int, figure: FigureHistory) -> str:
    return f"part-{part_number}-{figure.figure.name}"


def history_places(history: RunHistory) -> dict[str, int]:
    """The place of each system among all, by name: it decides its look in every picture."""
    return {system: place for place, system in enumerate(sorted({part.system for part in history.repeated_parts}))}


def page_parts(
    history: RunHistory, drawing: Callable[[Plot], Drawing], link: Callable[[StoredRun], str]
) -> Iterator[Mapping[str, Any]]:
    """Each part for the page. `link`: the way to a run's report; "" if it has none."""
    for number, (part, plots) in enumerate(zip(history.repeated_parts, history_plots(history), strict=True), 1):
        drawn = [
            {"plot": plot, "drawing": drawing(plot), "table": data_table(replace(plot, series=plot.series[:1]))}
            for plot in plots
        ]
        yield {
            "anchor": f"part-{number}",
            "title": f"{part.campaign}, {part_title(part)}",
            "remarks": [*untested_remarks(part), *part_remarks(part, "the table of runs has all")],
            "plots": drawn,
            "table": _runs_table(part, link),
        }


def page_changes(history: RunHistory) -> Iterator[Mapping[str, Any]]:
    """The runs since which figures are others, with each of them, how good it is and where its picture is."""
    for number, part in enumerate(history.repeated_parts, 1):
        for since, changes in changes_by_run(part):
            figures = [
                {
                    "title": figure.figure.title,
                    "words": change_words(figure, change),
                    "state": _STATES.get(change.comparison.verdict, ""),
                    "anchor": _plot_id(number, figure),
                }
                for figure, change in changes
            ]
            yield {"since": f"{part.campaign}, {part_title(part)}, {since}", "figures": figures}


def _runs_table(part: HistoryPart, link: Callable[[StoredRun], str]) -> Mapping[str, Any]:
    """Every run of a part, the newest first, with what is to be known of it and what it had otherwise."""
    values_by_figure = [
        (history.figure, dict(zip([entry.run.path for entry in history.entries], history.values, strict=True)))
        for history in part.figures
    ]
    rows = []
    for entry in reversed(part.entries):
        cells = [
            in_unit(value_of_entry(values[entry.run.path]).value, figure.unit) if entry.run.path in values else ""
            for figure, values in values_by_figure
        ]
        rows.append(
            {
                "name": entry.run.path.name,
                "href": link(entry.run),
                "cells": [
                    entry.run.labels.words, entry.system, *cells, str(entry.trials),
                    doubts_of_entry(entry), "; ".join(map(difference_words, entry.differences)),
                ],
            }
        )  # fmt: skip
    heads = [figure.head for figure, _ in values_by_figure]
    return {
        "heads": [
            "run", "name and tags", "system", *heads, "trials", "doubts and disturbances",
            "other than in the run before",
        ],
        "rows": rows,
    }  # fmt: skip
