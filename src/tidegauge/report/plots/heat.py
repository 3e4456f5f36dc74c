"""Figures of a sweep over two axes as heat maps: a panel for each figure and system, with a cell for each point.

The axis with fewer values runs across, so that a phone has room for the figures; one of variants always does. A cell is
compared with the first of its row on maps of the figure that the run's contests lead with in at least half the rows:
there in every row, since a map whose cells say that here and there raises the question of what the others hide.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isclose
from typing import TypeVar

from tidegauge.comparison.contests import Contest, contests_of_figure
from tidegauge.comparison.order import Point, labels_of_axis
from tidegauge.comparison.within import rest_on_doubt
from tidegauge.model.finding import Finding
from tidegauge.model.trial import MeasuredResult, Validity, family, point_words
from tidegauge.model.variant import VARIANT
from tidegauge.numbers import of_all
from tidegauge.plain import grouped
from tidegauge.report.compare import Estimate, estimate, estimate_of
from tidegauge.report.contests import ratio_words, same_words
from tidegauge.report.facts import RunFacts
from tidegauge.report.plots.context import context_of_findings, context_of_trials
from tidegauge.report.plots.model import Axis, Cell, Mark, Plot, Scale, Series
from tidegauge.report.plots.sweep import (
    LEVEL,
    LOG_FROM,
    PROCESSED,
    RATE,
    TIMES,
    Across,
    Spot,
    SweepChart,
    axis_across,
    leading_chart,
)
from tidegauge.report.tables import Swept, worst_validity
from tidegauge.statistics.figures import FINDING_FIGURES, SUSTAINABLE
from tidegauge.statistics.intervals import ComparisonVerdict

COLUMNS_MAX, ROWS_MAX = 10, 24
"""Of more values than these there is no heat map: nobody could read its cells."""
_VERDICTS = {
    ComparisonVerdict.BETTER: "better",
    ComparisonVerdict.WORSE: "worse",
    ComparisonVerdict.SAME: "same",
    ComparisonVerdict.NOT_DECIDED: "not decided",
}
_FIRST = "first"
_SUSTAINED = replace(RATE, name="sustainable", title="Sustainable rate")
"""What searches found, as a picture shows it; its figure is `SUSTAINABLE`."""
_MOVED = 1.01
"""By what factor rates differ that are not one."""


@dataclass(frozen=True)
class _Measured:
    """What is known of a place.

    Attributes:
        estimate: of what may be used; None without such, or where it lacks the figure.
        validity: of the worst of what may be used; INVALID without such.
        parts: how many trials, or answers of searches, there are.
        left_out: of these, in words, what may not be used where others may; "" where all may.
    """

    estimate: Estimate | None
    validity: Validity
    parts: int
    left_out: str


_Place = tuple[str, str]
"""The value of the row, and that of the column."""


@dataclass(frozen=True)
class _Panel:
    """One figure of one system over both axes.

    Attributes:
        name: of the system, without its version where that is an axis; `system`: of its first trial, whose look it has.
        at: what is known of each place; of a point that was not measured nothing.
        chart: how the figure is called, and `heat` the axis of what cells show, whose span is that of all panels.
        lack: what a place is called of which nothing may be used; `each`: what is averaged in a cell, one and several.
    """

    name: str
    system: str
    columns: Across
    rows: Across
    at: Mapping[_Place, _Measured]
    chart: SweepChart
    heat: Axis
    context: str
    lack: str = Validity.INVALID.shown
    each: tuple[str, str] = ("trial", "trials")


def heat_maps(swept: Swept, facts: RunFacts, prefix: str) -> list[Plot]:
    """A panel for each main figure and system; none of a sweep over one axis, over three, or over very many values.

    Nor of a rate that is the same everywhere, since it was offered.
    """
    values = _values_of_axes([compared.point for compared in swept.compared_trials], facts)
    if values is None:
        return []
    lead = leading_chart(swept.compared_trials)
    processed = [chart for chart in PROCESSED if chart is lead]
    charts = (RATE,) if lead is RATE else (*processed, TIMES[1], TIMES[0], TIMES[2], RATE)
    results = _by_system(((result.spec.system, result.spec.point, result) for result in swept.results), values)
    plots = []
    for chart in charts:
        panels = [_panel_of_trials(name, trials, values, chart) for name, trials in results.items()]
        measured = [one.estimate.value for panel in panels for one in panel.at.values() if one.estimate]
        if chart is not RATE or len(charts) == 1 or (measured and max(measured) >= _MOVED * min(measured)):
            plots += _plots_of_panels(panels, facts, prefix)
    return plots


def heat_maps_of_findings(findings: Sequence[Finding], facts: RunFacts, prefix: str) -> list[Plot]:
    """A panel for each system of the rates that searches found at the points of two axes; none of other findings."""
    searched = [finding for finding in findings if finding.goals]
    values = _values_of_axes([finding.point for finding in searched], facts)
    if values is None:
        return []
    by_system = _by_system(((finding.system, finding.point, finding) for finding in searched), values)
    return _plots_of_panels(
        [_panel_of_findings(name, at, values, facts) for name, at in by_system.items()], facts, prefix
    )


def _plots_of_panels(panels: Sequence[_Panel], facts: RunFacts, prefix: str) -> list[Plot]:
    # From the least to the largest figure of all panels that is not doubted.
    every = [one for panel in panels for one in panel.at.values()]
    certain = [one.estimate.value for one in every if one.estimate and one.validity is Validity.VALID]
    span = (min(certain), max(certain)) if certain else None
    is_wide = span is not None and 0 < LOG_FROM * span[0] < span[1]
    heat = replace(panels[0].heat, scale=Scale.LOG if is_wide else Scale.LINEAR, span=span)
    return [
        _plot_of_panel(replace(panel, heat=heat), facts, f"{prefix}-heat-{number}-{panel.chart.name}")
        for number, panel in enumerate(panels, 1)
        if any(one.estimate for one in panel.at.values())
    ]


def _values_of_axes(points: Sequence[Point], facts: RunFacts) -> dict[str, list[str]] | None:
    """The values of the axis across, then of the one from top to bottom; None where a heat map does not suit."""
    fields = list(dict.fromkeys(field for point in points for field in point))
    if len(fields) != 2:
        return None
    measured = {field: {point.get(field) for point in points} for field in fields}
    values = {field: [each for each in labels_of_axis(facts.run, field) if each in measured[field]] for field in fields}
    across, down = sorted(fields, key=lambda field: (field != VARIANT, len(values[field])))
    if not (1 < len(values[across]) <= COLUMNS_MAX and 1 < len(values[down]) <= ROWS_MAX):
        return None
    return {across: values[across], down: values[down]}


T = TypeVar("T")


def _by_system(
    parts: Iterable[tuple[str, Point, T]], values: Mapping[str, Sequence[str]]
) -> dict[str, dict[_Place, list[T]]]:
    """Trials or findings by system and place; versions of one system are one where no point has several of them."""
    columns, rows = values
    listed = [(system, (point[rows], point[columns]), part) for system, point, part in parts]
    at_places = grouped((place, system) for system, place, _ in listed)
    alone = all(len(set(map(family, set(systems)))) == len(set(systems)) for systems in at_places.values())
    versions = grouped((family(system), system) for system, _, _ in listed)
    by_system: dict[str, dict[_Place, list[T]]] = {}
    for system, place, part in listed:
        name = family(system) if alone and len(set(versions[family(system)])) > 1 else system
        by_system.setdefault(name, {}).setdefault(place, []).append(part)
    return dict(sorted(by_system.items()))


def _panel_of_trials(
    name: str, trials: Mapping[_Place, Sequence[MeasuredResult]], values: Mapping[str, Sequence[str]], chart: SweepChart
) -> _Panel:
    results = [result for of_place in trials.values() for result in of_place]
    columns, rows = _axes_of_panel([(r.spec.system, r.spec.point, r.spec.form) for r in results], values)
    at = {}
    for place, made in trials.items():
        usable = [result for result in made if result.validity is not Validity.INVALID]
        out = len(made) - len(usable)
        left_out = f"{of_all(out, len(made), 'trial')} INVALID" if usable and out else ""
        at[place] = _Measured(estimate_of(chart.figure.value_in, usable), worst_validity(usable), len(made), left_out)
    return _Panel(name, results[0].spec.system, columns, rows, at, chart, chart.axis, context_of_trials(results))


def _panel_of_findings(
    name: str, findings: Mapping[_Place, Sequence[Finding]], values: Mapping[str, Sequence[str]], facts: RunFacts
) -> _Panel:
    every = [finding for of_place in findings.values() for finding in of_place]
    forms = [(f.system, f.point, facts.names.form(f.system, point_words(f.point))) for f in every]
    columns, rows = _axes_of_panel(forms, values)
    goals = dict.fromkeys(goal.goal for finding in every for goal in finding.goals)
    title = f"{_SUSTAINED.title}, goal: {next(iter(goals))}" if len(goals) > 1 else _SUSTAINED.title
    at = {}
    for place, made in findings.items():
        decided = [finding for finding in made if finding.decided]
        rates = [rate for finding in decided if (rate := FINDING_FIGURES[SUSTAINABLE].value_in(finding)) is not None]
        doubt = Validity.DOUBTFUL if rest_on_doubt(decided, facts.run.results) else Validity.VALID
        out = len(made) - len(rates)
        left_out = f"{of_all(out, len(made), 'answer')} not decided" if rates and out else ""
        at[place] = _Measured(estimate(rates), doubt if rates else Validity.INVALID, len(made), left_out)
    return _Panel(
        name, every[0].system, columns, rows, at, replace(_SUSTAINED, title=title), _SUSTAINED.axis,
        context_of_findings(every, facts.run.results), "NOT DECIDED", ("answer", "answers"),
    )  # fmt: skip


def _axes_of_panel(
    parts: Sequence[tuple[str, Point, str]], values: Mapping[str, Sequence[str]]
) -> tuple[Across, Across]:
    """The axes of these systems' points. `parts`: a system, a point, and the form of its level there."""
    spots = [Spot(point, system, form, 0.0, 0.0, 0.0) for system, point, form in parts]
    points = [point for _, point, _ in parts]
    columns, rows = (axis_across(spots, points, field, as_words=True, values=each) for field, each in values.items())
    if any(form for _, _, form in parts):
        return columns, rows
    return without_forms(columns), without_forms(rows)


def without_forms(across: Across) -> Across:
    """Levels by their numbers alone, for a system that has one form of each; another axis as it is."""
    numbers = tuple(value.partition(" ")[0] for value in across.places)
    if across.name != LEVEL or len(set(numbers)) < len(numbers):
        return across
    return replace(across, axis=replace(across.axis, names=numbers))


def _plot_of_panel(panel: _Panel, facts: RunFacts, plot_id: str) -> Plot:
    contests = _contests_of_rows(panel, facts)
    cells = {place: _cell(place, panel, contests.get(place[0])) for place in panel.at}
    series = Series(
        panel.system,
        "",
        tuple(panel.columns.places[column] for _, column in cells),
        tuple(panel.rows.places[row] for row, _ in cells),
        Mark.CELLS,
        cells=tuple(cells.values()),
    )
    reading = " ".join(_reading_words(panel, cells, contests))
    title = f"{panel.chart.title} of {panel.name} by {panel.rows.name} and {panel.columns.name}"
    values = {place: at_place.estimate.value for place, at_place in panel.at.items() if at_place.estimate}
    places_of_ends = [choose(values, key=values.__getitem__) for choose in (min, max)]
    words = [
        f"{panel.heat.with_unit(values[row, column])} at {panel.rows.name}={row}, {panel.columns.name}={column}"
        for row, column in places_of_ends
    ]
    ends = f"{panel.name}: from {words[0]} to {words[1]}"
    return Plot(
        plot_id,
        title,
        f"{title}. {reading} {ends}.",
        panel.columns.axis,
        panel.rows.axis,
        (series,),
        context=panel.context,
        reading=reading,
        of_p99=panel.chart.name == "p99",
        heat=panel.heat,
    )


def _contests_of_rows(panel: _Panel, facts: RunFacts) -> dict[str, Contest]:
    """What compares the cells of each row with its first; of a figure that leads in too few rows, in none."""
    figure_name = SUSTAINABLE if panel.chart.name == _SUSTAINED.name else panel.chart.figure.name

    def contests_in(contests: Sequence[Contest]) -> dict[str, Contest]:
        named = [one for one in contests if (one.axis, one.name) == (panel.columns.field, figure_name)]
        return {row: contest for row in panel.rows.places if (contest := _contest_of_row(row, panel, named))}

    leading = contests_in(facts.contests)
    if not leading:
        return {}
    every = contests_in(contests_of_figure(facts.run, panel.columns.field, figure_name))
    return every if 2 * len(leading) >= len(every) else {}


def _contest_of_row(row: str, panel: _Panel, contests: Sequence[Contest]) -> Contest | None:
    """What compares the cells of a row with its first; None where nothing does, or nothing was repeated."""
    alike = [
        contest
        for contest in contests
        if dict(contest.at) == {panel.rows.field: row}
        and any(each.contrast is not None and each.contrast.ratio_interval for each in contest.against_first)
        and _is_of_row(contest, row, panel)
    ]
    return alike[0] if len(alike) == 1 else None


def _is_of_row(contest: Contest, row: str, panel: _Panel) -> bool:
    """Whether the figures of a contest are those of the cells, not those of another system or load."""
    for alternative in contest.alternatives:
        place = (row, alternative.label)
        value = one.estimate.value if (one := panel.at.get(place)) and one.estimate else None
        if (value is None) != (alternative.value is None):
            return False
        if value is not None and not isclose(value, alternative.value or 0.0, rel_tol=1e-6):
            return False
    return True


def _cell(place: _Place, panel: _Panel, contest: Contest | None) -> Cell:
    at_place = panel.at[place]
    if at_place.estimate is None:
        return Cell(None, at_place.validity, lack=panel.lack if at_place.validity is Validity.INVALID else "")
    verdict, notes = "", []
    if at_place.estimate.low < at_place.estimate.high:
        notes.append(f"{panel.heat.text(at_place.estimate.low)} to {panel.heat.text(at_place.estimate.high)}")
    if contest is not None:
        contrast = contest.contrast_of(place[1])
        if place[1] == contest.baseline.label:
            verdict = _FIRST
        elif contrast is not None:
            verdict = _VERDICTS[contrast.verdict]
            notes.append(ratio_words(contrast))
    notes += [at_place.left_out] if at_place.left_out else []
    return Cell(at_place.estimate.value, at_place.validity, verdict, ", ".join(notes))


def _reading_words(
    panel: _Panel, cells: Mapping[tuple[str, str], Cell], contests: Mapping[str, Contest]
) -> Iterator[str]:
    """How its cells are to be read: only of those that it has."""
    one, several = panel.each
    is_repeated = any(at_place.parts > 1 for at_place in panel.at.values())
    yield f"Cell: geometric mean of the {several}." if is_repeated else f"Cell: one {one}."
    measured = [cell for cell in cells.values() if cell.value is not None]
    if any(cell.validity is Validity.VALID for cell in measured):
        yield "Darker: higher."
    yield "Higher is better." if panel.chart.figure.higher_is_better else "Lower is better."
    if contests:
        contest = next(iter(contests.values()))
        first = f"{panel.columns.name}={contest.baseline.label}"
        yield (
            f"In a cell's second line: how it compares with {first} in the same row (first); same: "
            f"{same_words(contest)}."
        )
    if any(cell.validity is Validity.DOUBTFUL for cell in measured):
        yield "Hatched: DOUBTFUL."
    if any(cell.validity is Validity.INVALID for cell in cells.values()):
        yield f"Crossed: {panel.lack}."
    if any(cell.value is None and cell.validity is not Validity.INVALID for cell in cells.values()):
        yield "'-': no trial that may be used has the figure."
    if len(cells) < len(panel.columns.places) * len(panel.rows.places):
        yield "Blank: no result."
