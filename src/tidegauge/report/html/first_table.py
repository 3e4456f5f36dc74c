"""The figures that stand beside a report's first picture, in one small table over all experiments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tidegauge.comparison.compared_trials import ComparedTrials
from tidegauge.comparison.order import Point, findings_of
from tidegauge.model.finding import Finding
from tidegauge.model.trial import LoadResult, MeasuredResult, Validity, point_words
from tidegauge.model.workload import Arrival
from tidegauge.numbers import MISSING, in_unit, join_with_and
from tidegauge.plain import grouped
from tidegauge.report.compare import estimate, estimate_of
from tidegauge.report.layout import Column, ColumnGroup, FigureTable
from tidegauge.report.names import names_of
from tidegauge.report.tables import columns_of_axes, validity_of_all
from tidegauge.report.verdicts import ExperimentVerdict, figure_of_findings
from tidegauge.statistics.figures import FIGURES, FINDING_FIGURES
from tidegauge.store.read import StoredRun

EXPERIMENT = "experiment"
ROWS_MAX = 18
"""Rows that fit beside a picture: experiments with more, as a long sweep has, have their figures further below."""


@dataclass(frozen=True)
class FirstTable:
    """The figures of each experiment's trials, and what a reader must know of them."""

    table: FigureTable
    notes: tuple[str, ...]

    @property
    def is_wide(self) -> bool:
        """Whether it has columns of a sweep's values, with which there is no room for it beside the picture."""
        return len(self.table.leading) > 1 or any(column.head != EXPERIMENT for column in self.table.leading)


@dataclass(frozen=True)
class _Row:
    """One system in one experiment, at one point of a sweep. `trials`: all of them, `usable`: those not INVALID."""

    experiment: str
    point: Point
    system: str
    trials: Sequence[MeasuredResult]
    usable: Sequence[MeasuredResult]


def first_table(run: StoredRun, verdicts: Sequence[ExperimentVerdict]) -> FirstTable | None:
    """The table over the first experiments whose rows fit; None where no trial has figures, or too many have."""
    rows: list[_Row] = []
    left_out = []
    for verdict in verdicts:
        # Of its trials, or of those whose figures its searches publish.
        rows_of_verdict = [
            _Row(verdict.experiment, compared.point, system, compared.of_system(system), compared.usable(system))
            for compared in verdict.compared_trials or _published_trials(verdict.experiment, run)
            for system in compared.systems
        ]
        if len(rows) + len(rows_of_verdict) <= ROWS_MAX:
            rows += rows_of_verdict
        else:
            left_out.append(verdict.experiment)
    if not rows:
        return None
    return FirstTable(_table_of_rows(rows, run), tuple(_notes_on_rows(rows, left_out)))


def _published_trials(experiment: str, run: StoredRun) -> list[ComparedTrials]:
    """The trials whose figures an experiment's findings publish, at each point those of all systems and blocks."""
    by_trial_id = {trial.spec.trial_id: trial for trial in run.measured}
    at_points = grouped(
        (point_words(finding.point), by_trial_id[trial_id])
        for finding in findings_of(run)
        if finding.experiment == experiment and (trial_id := finding.published_trial_id or "") in by_trial_id
    )
    return [ComparedTrials(experiment, tuple(trials)) for trials in at_points.values()]


def _table_of_rows(rows: Sequence[_Row], run: StoredRun) -> FigureTable:
    """Validity, what was found, rate and times of each row; of repeated trials the geometric means."""

    def figure_column(head: str, name: str) -> Column:
        figure = FIGURES[name]
        # A single trial is shown whatever its validity, which stands beside it.
        estimates = [estimate_of(figure.value_in, row.trials if len(row.trials) == 1 else row.usable) for row in rows]
        return Column(head, tuple(in_unit(middle.value if middle else None, figure.unit) for middle in estimates))

    validity = Column("validity", tuple(validity_of_all(row.trials) for row in rows), words=True)
    rates, processed = figure_column("msg/s", "msgs_per_s"), figure_column("p99", "processed_ms_p99")
    groups_found = [ColumnGroup(head, (column,)) for head, column in _columns_found(rows, findings_of(run), rates)]
    groups = (
        ColumnGroup("", (validity,)),
        *groups_found,
        ColumnGroup("rate" if groups_found else "", (rates,)),
        ColumnGroup("response, ms", (figure_column("p50", "response_ms_p50"), figure_column("p99", "response_ms_p99"))),
        ColumnGroup("end-to-end, ms", (figure_column("p99", "end_to_end_ms_p99"),)),
        # Of consumers that process it is what the verdict says.
        *([ColumnGroup("until processed, ms", (processed,))] if set(processed.cells) != {MISSING} else []),
    )
    several = len({row.experiment for row in rows}) > 1
    points = [{**({EXPERIMENT: row.experiment} if several else {}), **row.point} for row in rows]
    names = names_of(run)
    labels = tuple(names.name_of(row.system, point_words(row.point)) for row in rows)
    return FigureTable("system", labels, groups, leading=columns_of_axes(points))


def _columns_found(rows: Sequence[_Row], findings: Sequence[Finding], rates: Column) -> Iterator[tuple[str, Column]]:
    """Of each experiment the figure that its verdict gives, below its title, unless it is the rate that stands here."""
    of_experiments = grouped((finding.experiment, finding) for finding in findings)
    figures = {name: figure_of_findings(group) for name, group in of_experiments.items()}
    of_places = grouped(((each.experiment, point_words(each.point), each.system), each) for each in findings)
    for figure in dict.fromkeys(filter(None, figures.values())):
        cells = []
        for row in rows:
            finding_of_row = of_places.get((row.experiment, point_words(row.point), row.system), ())
            values = [value for each in finding_of_row if (value := figure.value_in(each)) is not None]
            middle = estimate(values) if figures.get(row.experiment) == figure else None
            cells.append(in_unit(middle.value if middle else None, figure.unit))
        if any(cell not in (MISSING, rate) for cell, rate in zip(cells, rates.cells, strict=True)):
            counted = next(each.counted for each in findings if figures[each.experiment] == figure)
            yield FINDING_FIGURES[figure.name].title, Column(figure.unit or counted, tuple(cells))


def _notes_on_rows(rows: Sequence[_Row], left_out: Sequence[str]) -> list[str]:
    notes = []
    if any(len(row.trials) > 1 for row in rows):
        notes.append("Of repeated trials: geometric means of those that may be used.")
    closed = dict.fromkeys(
        row.experiment
        for row in rows
        for trial in row.trials
        if isinstance(trial, LoadResult) and trial.spec.workload.arrival is Arrival.CLOSED_LOOP
    )
    if closed:
        notes.append(f"{join_with_and(list(closed))}: a closed loop, whose times hide waiting.")
    if any(trial.validity is Validity.INVALID for row in rows if len(row.trials) == 1 for trial in row.trials):
        notes.append("Figures of an INVALID trial are shown, and must not be used.")
    if left_out:
        notes.append(f"{join_with_and(left_out)}: too many rows to stand here, see below.")
    return notes
