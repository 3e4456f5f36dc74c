"""Everything that a report transcribes beside what was measured here, in the report's own order. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median

from tidegauge.published.across import runs_together
from tidegauge.published.model import FIGURES, FigureOfReport, Place, PublishedReport, PublishedTable
from tidegauge.published.observe import ExaminedRun, observe


@dataclass(frozen=True)
class NamedRun:
    """A run with the letter that it goes by and the name of its campaign, without the report's."""

    letter: str
    campaign: str
    run: ExaminedRun


@dataclass(frozen=True)
class PublishedColumn:
    """What a column of a report's table has, and in which unit both its figures are shown."""

    figure: str
    unit: str

    @property
    def words(self) -> str:
        """ "publish latency, p99"."""
        figure = FIGURES[self.figure]
        return figure.reported_as or figure.words

    @property
    def quantity(self) -> str:
        """ "publish latency"; "" of what is no percentile."""
        return FIGURES[self.figure].quantity

    @property
    def statistic(self) -> str:
        """ "p99"; "" of what is no percentile."""
        return FIGURES[self.figure].statistic


@dataclass(frozen=True)
class CellBeside:
    """A published figure and ours, both in the report's unit.

    Attributes:
        published: the report's figure.
        values: of the usable trials here, by block.
        missing: why there are none; "" where there are some, or where no run has been made that could have them.
        doubtful: how many of the values are of DOUBTFUL trials.
        letters: of the runs that they are of.
    """

    published: float
    values: tuple[float, ...] = ()
    missing: str = ""
    doubtful: int = 0
    letters: tuple[str, ...] = ()

    @property
    def middle(self) -> float | None:
        """The median of ours; None without any."""
        return median(self.values) if self.values else None

    @property
    def ratio(self) -> float | None:
        """Ours over theirs; None without ours."""
        return None if self.middle is None or self.published <= 0 else self.middle / self.published


@dataclass(frozen=True)
class RowBeside:
    """A place of a report's table. `place` says all of it, what the table has in common too."""

    place: Place
    note: str
    cells: tuple[CellBeside, ...]

    @property
    def measured(self) -> bool:
        """Whether any of its figures was measured here."""
        return any(cell.values for cell in self.cells)


@dataclass(frozen=True)
class TableBeside:
    """A table of a report with ours beside it."""

    table: PublishedTable
    columns: tuple[PublishedColumn, ...]
    rows: tuple[RowBeside, ...]

    @cached_property
    def common(self) -> Place:
        """What all of its rows have in common; nothing of a single row."""
        first, *others = [row.place.given() for row in self.rows]
        shared = {key: value for key, value in first.items() if all(place.get(key) == value for place in others)}
        return Place.model_validate(shared if others else {})

    def own_place(self, row: RowBeside, *without: str) -> Place:
        """What sets a row apart from the others of its table, without these keys."""
        shared = {*self.common.given(), *without}
        return Place.model_validate({key: value for key, value in row.place.given().items() if key not in shared})

    def label(self, row: RowBeside) -> str:
        """What sets a row apart in words; all of its place where nothing does."""
        return self.own_place(row).words() or row.place.words()


@dataclass(frozen=True)
class FigureBeside:
    """A figure of a report, or several, with ours beside it.

    Attributes:
        measured_by: the letters of the runs of its campaigns.
        not_run: its campaigns that none of the runs is of, without the report's name.
    """

    figure: FigureOfReport
    tables: tuple[TableBeside, ...]
    measured_by: tuple[str, ...]
    not_run: tuple[str, ...]

    @property
    def cells(self) -> list[CellBeside]:
        """All its figures."""
        return [cell for table in self.tables for row in table.rows for cell in row.cells]


def figures_beside(report: PublishedReport, runs: Sequence[NamedRun]) -> Iterator[tuple[str, list[FigureBeside]]]:
    """Each section of a report by its heading, with all its figures beside ours.

    Several runs of one campaign are seen as one. What a figure's first campaign does not have is asked of its next
    one: never of other campaigns, which measure the same places with other settings.
    """
    together = {
        campaign: runs_together({each.letter: each.run for each in runs if each.campaign == campaign})
        for campaign in dict.fromkeys(each.campaign for each in runs)
    }
    tables = {table.id: table for table in report.tables}
    for section in report.sections:
        yield (
            section.title,
            [
                FigureBeside(
                    figure,
                    tuple(_table_beside(report, tables[name], figure, together) for name in figure.tables),
                    tuple(each.letter for each in runs if each.campaign in figure.campaigns),
                    tuple(name for name in figure.campaigns if name not in together),
                )
                for figure in section.figures
            ],
        )


def _table_beside(
    report: PublishedReport, table: PublishedTable, figure: FigureOfReport, together: Mapping[str, ExaminedRun]
) -> TableBeside:
    runs = [together[name] for name in figure.campaigns if name in together]
    columns = tuple(PublishedColumn(name, report.unit_of(name)[0]) for name in table.figures)
    rows = []
    for row in table.rows:
        place = row.within(table.common)
        cells = (
            _cell_beside(name, value, place, report.unit_of(name)[1], runs)
            for name, value in zip(table.figures, row.values, strict=True)
        )
        rows.append(RowBeside(place, row.note, tuple(cells)))
    return TableBeside(table, columns, tuple(rows))


def _cell_beside(
    name: str, published: float, place: Place, unit_size: float, runs: Sequence[ExaminedRun]
) -> CellBeside:
    problems = []
    for run in runs:
        figure = FIGURES[name]
        observed = observe(figure, place, run)
        if not observed.values and figure.stand_in is not None:
            stand_in = observe(figure.stand_in, place, run)
            observed = stand_in if stand_in.values else observed
        if observed.values:
            values = tuple(observed.values[block] / unit_size for block in sorted(observed.values))
            letters = tuple(dict.fromkeys(run.run_of[spec.trial_id] for spec in observed.specs))
            return CellBeside(published, values, "", len(observed.doubts), letters)
        problems.append(observed.missing)
    return CellBeside(published, missing=problems[0] if problems else "")
