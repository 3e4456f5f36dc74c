"""The page of a published report: its own headings, every figure beside ours in a table and a picture, the verdicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from tidegauge.published.verdict import ClaimVerdict
from tidegauge.report import whole_report
from tidegauge.report.html.page import render_page, system_places
from tidegauge.report.plots.model import LOOKS, Plot, data_table, look
from tidegauge.report.plots.published import key_rows, places_of_names, table_plots
from tidegauge.report.whole_report import FigureOfPage, WholeReportFacts
from tidegauge.store.read import StoredRun

DIFFERENCES_SHOWN = 8
"""What differs beyond these is folded."""
OWN_PICTURES_MAX = 4
"""Of one figure of the report: pictures of our runs that show what the report drew without numbers."""
_STATES = {
    ClaimVerdict.CONFIRMED: "good",
    ClaimVerdict.DIRECTION: "good",
    ClaimVerdict.CONTRADICTED: "bad",
    ClaimVerdict.NOT_DECIDED: "doubt",
}

PlotsOfRun = Callable[[StoredRun], list[Plot]]


def whole_report_page(facts: WholeReportFacts, plots_of_run: PlotsOfRun, link: Callable[[StoredRun], str]) -> str:
    """A page to be read offline.

    Args:
        plots_of_run: every picture of a run's own report.
        link: the way from the page to a run's own report; "" if it has none.
    """
    from tidegauge.report.plots.draw import page_drawing  # Who writes no page need not wait for matplotlib.

    drawn = _OwnPictures(facts, plots_of_run)
    figures_of_page = [figure for _, figures in facts.sections for figure in figures]
    tables = [table for figure in figures_of_page for table in figure.beside.tables]
    systems = sorted({row.place.system for table in tables for row in table.rows})
    parts = []
    for number, (title, figures) in enumerate(facts.sections, 1):
        shown = []
        for place, figure in enumerate(figures, 1):
            anchor = f"figure-{number}-{place}"
            shown.append(
                {
                    "figure": figure,
                    "anchor": anchor,
                    "tables": [
                        {
                            "table": table,
                            "plots": (plots := table_plots(table, f"{anchor}-{at}")),
                            "keys": [(name, look(looks), looks) for name, looks in key_rows(plots, systems).items()],
                        }
                        for at, table in enumerate(figure.beside.tables, 1)
                    ],
                    "own": drawn.of_figure(figure, anchor),
                }
            )
        parts.append({"title": title, "anchor": f"section-{number}", "figures": shown})
    return render_page(
        "whole_report.html.j2",
        "report.js",
        facts=facts,
        parts=parts,
        words=whole_report,
        states=_STATES,
        undecided=[claim for claim in facts.outcome.claims if claim.verdict is ClaimVerdict.NOT_DECIDED],
        links={letter: link(run) for letter, run in facts.runs.items()},
        shown=DIFFERENCES_SHOWN,
        drawing=lambda plot: page_drawing(plot, drawn.places.get(plot.plot_id) or places_of_names(plot, systems)),
        data_table=data_table,
        looks=LOOKS,
    )


class _OwnPictures:
    """Pictures of the runs' own reports, each with the looks that its systems have there."""

    def __init__(self, facts: WholeReportFacts, plots_of_run: PlotsOfRun) -> None:
        self.places: dict[str, Mapping[str, int]] = {}
        self._facts = facts
        self._plots_of_run = plots_of_run
        self._plots: dict[str, Sequence[Plot]] = {}

    def of_figure(self, figure: FigureOfPage, prefix: str) -> list[Plot]:
        """What its runs have of the kinds that the report drew, the first ones of many."""
        wanted = figure.beside.figure.pictures
        chosen = [
            (letter, plot)
            for letter in figure.beside.measured_by
            if wanted
            for plot in self._of_run(letter)
            if any(f"-{kind}" in plot.plot_id for kind in wanted)
        ][:OWN_PICTURES_MAX]
        plots = []
        for letter, plot in chosen:
            plot_id = f"{prefix}-{letter}-{plot.plot_id}"
            self.places[plot_id] = system_places(self._facts.runs[letter])
            plots.append(replace(plot, plot_id=plot_id, context=f"run {letter}: {plot.context}"))
        return plots

    def _of_run(self, letter: str) -> Sequence[Plot]:
        if letter not in self._plots:
            self._plots[letter] = self._plots_of_run(self._facts.runs[letter])
        return self._plots[letter]
