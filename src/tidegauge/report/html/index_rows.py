"""A run as rows of the index: how it ended, and the figures of each of its experiments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tidegauge.comparison.compared_trials import ComparedTrials
from tidegauge.comparison.order import compared_trials_of, findings_of
from tidegauge.numbers import in_unit
from tidegauge.report.compare import Estimate, estimate, estimate_of, experiment_at_point
from tidegauge.report.ending import End, ending
from tidegauge.report.facts import RunFacts
from tidegauge.report.html.answer import answer
from tidegauge.report.html.sections import experiment_names
from tidegauge.report.tables import short_point, validity_of_all
from tidegauge.statistics.figures import FIGURES, FINDING_FIGURES, SUSTAINABLE, FindingFigure
from tidegauge.store.read import StoredRun

INDEX_FIGURES = ("msgs_per_s", "response_ms_p50", "response_ms_p99", "end_to_end_ms_p99")
"""Figures of trials by which runs can be sorted."""
_STATES = {End.GOOD: "good", End.THRESHOLD: "bad", End.REFUTED: "bad", End.BROKEN: "bad"}
_ADDED = {
    End.THRESHOLD: "threshold missed",
    End.REFUTED: "durability refuted",
    End.BROKEN: "messages lost or damaged",
    End.INVALID: "question open",
}
"""What a status does not say of a run that has finished."""


def index_row(run: StoredRun, href: str) -> dict[str, Any]:
    """A run as a line of an index. `href`: its report, relative to the page; "" if it has none."""
    end = ending(run).end
    added = f", {_ADDED[end]}" if run.status == "finished" and end in _ADDED else ""
    return {
        "name": run.path.name,
        "labels": run.labels.words,
        "href": href,
        "started_at": run.started_at.replace("T", " ").replace("+00:00", " UTC"),
        "status": f"{run.status_words}{added}",
        "state": "doubt" if run.damage else _STATES.get(end, "doubt"),
        "systems": ", ".join(RunFacts(run).systems),
        "experiments": ", ".join(experiment_names(run)),
        "trials": f"{len(run.results)}/{run.trials_expected}",
        "answer": answer(run).headline,
        "unequal": bool(run.terms.unequal),
        "figures": [*_rows_of_trials(compared_trials_of(run)), *_rows_of_findings(run)],
    }


def index_heads() -> list[str]:
    """The heads of the columns of figures."""
    return [FIGURES[name].head for name in INDEX_FIGURES]


def _rows_of_trials(all_compared: Sequence[ComparedTrials]) -> Iterator[Mapping[str, Any]]:
    """A row for each system in each experiment: geometric means over its usable trials."""
    for compared in all_compared:
        for system in compared.systems:
            usable = compared.usable(system)
            at = f" at {short_point(compared.point)}" if compared.point else ""
            yield {
                "experiment": f"{compared.experiment}{at}",
                "system": system,
                "trials": f"{len(usable)}/{len(compared.of_system(system))}",
                "validity": validity_of_all(compared.of_system(system)),
                "cells": [
                    _cell_of_estimate(estimate_of(FIGURES[name].value_in, usable), FIGURES[name].unit)
                    # Times of a closed loop hide waiting.
                    if not (compared.closed_loop and FIGURES[name].scheduled)
                    else _cell_of_estimate(None, "")
                    for name in INDEX_FIGURES
                ],
            }


def _rows_of_findings(run: StoredRun) -> Iterator[Mapping[str, Any]]:
    """A row for each sustainable rate, which stands in the column of rates."""
    sustainable: FindingFigure = FINDING_FIGURES[SUSTAINABLE]
    asked = [finding for finding in findings_of(run) if sustainable.value_in(finding) is not None]
    for place in dict.fromkeys(
        (experiment_at_point(finding.experiment, finding.point), finding.system) for finding in asked
    ):
        rates = [
            rate
            for finding in asked
            if (experiment_at_point(finding.experiment, finding.point), finding.system) == place
            and (rate := sustainable.value_in(finding)) is not None
        ]
        none = _cell_of_estimate(None, "")
        cells = [_cell_of_estimate(estimate(rates), sustainable.unit), *[none] * (len(INDEX_FIGURES) - 1)]
        experiment, system = place
        title = f"{experiment}, {sustainable.title}"
        yield {
            "experiment": title,
            "system": system,
            "trials": f"{len(rates)}/{len(rates)}",
            "validity": "",
            "cells": cells,
        }


def _cell_of_estimate(figure: Estimate | None, unit: str) -> tuple[str, str]:
    """What is shown, and by what it is sorted; two empty texts where there is no figure."""
    return ("", "") if figure is None else (in_unit(figure.value, unit), repr(figure.value))
