"""A published report in its own order with our figures beside its own: what its page, Markdown and JSON all say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import Any

from tidegauge.comparison.differences import LETTERS
from tidegauge.numbers import MISSING, capitalized, factor, local_time, plural, precise
from tidegauge.plain import grouped, plain_value
from tidegauge.published.beside import FigureBeside, NamedRun, TableBeside, figures_beside
from tidegauge.published.model import Claim, PublishedReport
from tidegauge.published.observe import ExaminedRun
from tidegauge.published.verdict import ClaimOutcome, ClaimVerdict, PublishedOutcome, join_places
from tidegauge.report.facts import RunFacts
from tidegauge.report.layout import Column, ColumnGroup, FigureTable, columns
from tidegauge.report.markdown import bullet_lines, escape_text, figure_table_lines
from tidegauge.report.published import (
    CONTRADICTS,
    claim_title,
    examined_in,
    meaning_of_verdicts,
    terms_sentences,
    trials_words,
)
from tidegauge.store.read import StoredRun

NOT_MEASURED = "not measured yet"
_REASONS_MAX = 6
"""More are read as one sentence, which names places together."""
_PLACE_CHARS_MAX = 40
_FIGURES_BESIDE = 5


@dataclass(frozen=True)
class ClaimOfPage:
    """A claim as its page says it. `outcome`: None where none of the runs is of a campaign that examines it."""

    claim: Claim
    title: str
    source: str
    outcome: ClaimOutcome | None


@dataclass(frozen=True)
class FigureOfPage:
    """A figure of the report with its claims. `commands`: that measure what is not measured yet."""

    beside: FigureBeside
    claims: tuple[ClaimOfPage, ...]
    commands: tuple[str, ...]

    @property
    def title(self) -> str:
        """ "Figure 5: peak throughput"."""
        return f"{self.beside.figure.name}: {self.beside.figure.title}"


@dataclass(frozen=True)
class WholeReportFacts:
    """A report with the runs that repeat it.

    Attributes:
        runs: by letter.
        outcome: the verdicts on all claims that the runs' campaigns examine.
    """

    report: PublishedReport
    runs: Mapping[str, StoredRun]
    measured: Sequence[ExaminedRun]
    outcome: PublishedOutcome

    @cached_property
    def sections(self) -> list[tuple[str, list[FigureOfPage]]]:
        """The report's headings, each with its figures."""
        named = [
            NamedRun(letter, run.name.removeprefix(f"{self.report.report}-"), measured)
            for (letter, run), measured in zip(self.runs.items(), self.measured, strict=True)
        ]
        return [
            (title, [self._figure_of_page(beside) for beside in figures])
            for title, figures in figures_beside(self.report, named)
        ]

    def _figure_of_page(self, beside: FigureBeside) -> FigureOfPage:
        claims = {claim.id: claim for claim in self.report.claims}
        wanted = tuple(self._claim_of_page(claims[name]) for name in beside.figure.claims)
        lacking = any(not cell.values for cell in beside.cells) or any(each.outcome is None for each in wanted)
        commands = (f"tidegauge reproduce {self.report.report} --only {name}" for name in beside.not_run)
        return FigureOfPage(beside, wanted, tuple(commands) if lacking else ())

    def _claim_of_page(self, claim: Claim) -> ClaimOfPage:
        outcome = next((each for each in self.outcome.claims if each.claim == claim.id), None)
        if outcome is None:
            return ClaimOfPage(claim, f"{NOT_MEASURED.upper()}: {claim.text}", claim.source, None)
        return ClaimOfPage(claim, claim_title(outcome, self.outcome, self.unequal), examined_in(outcome), outcome)

    @property
    def unequal(self) -> bool:
        """Whether a run was on unequal terms, which its user allowed."""
        return any(run.terms.unequal for run in self.runs.values())

    @property
    def score(self) -> str:
        """ "Of 23 claims 9 confirmed, 2 contradicted, 5 not decided, 7 not measured yet"."""
        verdicts = [claim.verdict for claim in self.outcome.claims]
        counted = [(verdicts.count(verdict), verdict.value) for verdict in ClaimVerdict]
        counted.append((len(self.report.claims) - len(verdicts), NOT_MEASURED))
        parts = [f"{number} {words}" for number, words in counted if number]
        return f"Of {plural(len(self.report.claims), 'claim')} {', '.join(parts)}"

    @property
    def figures_score(self) -> str:
        """How many of the report's figures stand beside ours."""
        cells = [cell for _, figures in self.sections for figure in figures for cell in figure.beside.cells]
        measured = sum(1 for cell in cells if cell.values)
        return f"{measured} of its {len(cells)} published figures have one of ours beside them"

    @property
    def sentences(self) -> list[str]:
        """Both hosts, units, scale, what differs: what must be known before any verdict."""
        first = next(iter(self.runs.values()))
        return [*terms_sentences(self.outcome, RunFacts(first).host), f"{meaning_of_verdicts(self.outcome)}."]

    @property
    def run_lines(self) -> list[tuple[str, str]]:
        """Each run's letter with its words."""
        return [
            (letter, f"{run.path.name}, {local_time(run.started_at)}, {run.status_words}")
            for letter, run in self.runs.items()
        ]


def whole_report(
    report: PublishedReport,
    runs: Sequence[StoredRun],
    measured: Sequence[ExaminedRun],
    outcome: PublishedOutcome,
) -> WholeReportFacts:
    """What is said of a report over runs of its campaigns, the letters in their order."""
    return WholeReportFacts(report, dict(zip(LETTERS, runs, strict=False)), measured, outcome)


def beside_table(table: TableBeside) -> FigureTable:
    """Published figures beside ours with the ratio, a group of columns for each figure."""
    common = _words_of_all(table)
    shown = {
        "published": lambda cell: precise(cell.published),
        "here": lambda cell: precise(cell.middle),
        "ratio": lambda cell: MISSING if cell.ratio is None else factor(cell.ratio),
    }
    groups = [
        ColumnGroup(
            column.statistic if common else f"{column.words}, {column.unit}",
            columns([row.cells[number] for row in table.rows], shown),
            # More stand neither on a printed page nor on a narrow screen beside each other.
            begins_table=number > 0 and number % _FIGURES_BESIDE == 0,
        )
        for number, column in enumerate(table.columns)
    ]
    trials, runs = [], []
    for row in table.rows:
        cell = next((cell for cell in row.cells if cell.values), None)
        trials.append(MISSING if cell is None else trials_words(len(cell.values), cell.doubtful))
        letters = dict.fromkeys(letter for cell in row.cells for letter in cell.letters)
        missing = next((cell.missing for cell in row.cells if cell.missing), NOT_MEASURED)
        runs.append(", ".join(letters) or missing)
    columns_of_rows = (Column("trials", tuple(trials), words=True), Column("run", tuple(runs), words=True))
    groups.append(ColumnGroup("", columns_of_rows))
    if any(row.note for row in table.rows):
        groups.append(ColumnGroup("", (Column("note", tuple(row.note or MISSING for row in table.rows), words=True),)))
    labels = tuple(map(table.label, table.rows))
    return FigureTable("place", labels, tuple(groups), label_chars_max=_PLACE_CHARS_MAX)


def beside_tables(table: TableBeside) -> list[FigureTable]:
    """The same as tables that fit on a page."""
    whole = beside_table(table)
    return [replace(whole, groups=tuple(groups)) for groups in whole.packed(inf)]


def _words_of_all(table: TableBeside) -> str:
    """What several columns are all of, such as "publish latency" of percentiles; "" where that differs."""
    (quantity, *others) = {column.quantity for column in table.columns}
    return quantity if len(table.columns) > 1 and not others else ""


def table_title(table: TableBeside) -> str:
    """ "table 2-2: 100 partitions, 1 subscription": a table's source, what all its rows have, and its note."""
    common = _words_of_all(table)
    figures = f"{common}, {table.columns[0].unit}" if common else ""
    head = ": ".join(filter(None, (table.table.source, ", ".join(filter(None, (figures, table.common.words()))))))
    return "; ".join(filter(None, (head, table.table.note)))


def whole_report_markdown(facts: WholeReportFacts) -> str:
    """The report for a repository or an issue: the score, what differs, then every figure in the report's order."""
    lines = [f"## {escape_text(facts.report.title)}", "", f"**{facts.score}.** {facts.figures_score}.", ""]
    lines += bullet_lines(f"Run {letter}: {words}" for letter, words in facts.run_lines)
    lines += bullet_lines(facts.sentences)
    for title, figures in facts.sections:
        lines += [f"### {escape_text(title)}", ""]
        for figure in figures:
            lines += [f"#### {escape_text(figure.title)}", ""]
            for table in figure.beside.tables:
                lines += [f"{escape_text(table_title(table))}:", "", *figure_table_lines(beside_table(table)), ""]
            lines += _claim_lines(figure.claims)
            lines += bullet_lines(f"To measure what is missing: {command}" for command in figure.commands)
    return "\n".join(lines).rstrip() + "\n"


def _claim_lines(claims: Sequence[ClaimOfPage]) -> list[str]:
    """Claims with their verdicts, where they are made, why they were decided so, and what the report itself says."""
    lines: list[str] = []
    for claim in claims:
        reasons = reason_lines(claim)
        only_reason = f": {reasons[0]}" if len(reasons) == 1 else ""
        contradiction = f". {contradiction_words(claim)}" if claim.claim.contradiction else ""
        lines.append(f"- {escape_text(f'{claim.title} [{claim.source}]{only_reason}{contradiction}')}")
        lines += [f"  - {escape_text(reason)}" for reason in reasons if not only_reason]
    return [*lines, ""] if lines else []


def reason_lines(claim: ClaimOfPage) -> list[str]:
    """Why a claim was decided so: a line for each place where that has a few reasons; [] of what was not measured.

    Where no place has a figure, what is missing is one sentence.
    """
    outcome = claim.outcome
    if outcome is None:
        return []
    places = grouped((part.reason, part.words) for part in outcome.parts)
    was_tried = any(side.values for part in outcome.parts for side in part.sides)
    if claim.claim.unreproducible or not was_tried or not 1 < len(places) <= _REASONS_MAX:
        return [outcome.reason]
    return [f"{join_places(named)}: {reason}" for reason, named in places.items()]


def contradiction_words(claim: ClaimOfPage) -> str:
    """Where the report says something else itself."""
    return f"{capitalized(CONTRADICTS)}: {claim.claim.contradiction}"


def sections_content(facts: WholeReportFacts) -> list[dict[str, Any]]:
    """The report's sections as plain data."""
    return [{"title": title, "figures": list(map(_figure_content, figures))} for title, figures in facts.sections]


def _figure_content(figure: FigureOfPage) -> dict[str, Any]:
    return {
        "name": figure.beside.figure.name,
        "title": figure.beside.figure.title,
        "claims": [claim.claim.id for claim in figure.claims],
        "commands": figure.commands,
        "tables": [
            {
                "id": table.table.id,
                "source": table.table.source,
                "columns": table.columns,
                "rows": [
                    {
                        "place": row.place.words(),
                        "note": row.note,
                        "figures": [{**plain_value(cell), "ratio": cell.ratio} for cell in row.cells],
                    }
                    for row in table.rows
                ],
            }
            for table in figure.beside.tables
        ],
    }
