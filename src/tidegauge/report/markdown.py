"""A run in GitHub-flavoured Markdown: for a pull request or a CI job's summary."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from tidegauge.comparison.compared_trials import ComparedTrials
from tidegauge.numbers import MISSING, in_unit
from tidegauge.report import compare, contests, fairness, levels, thresholds, usage
from tidegauge.report.compare import estimate
from tidegauge.report.facts import RunFacts
from tidegauge.report.findings import finding_remarks
from tidegauge.report.layout import FigureTable
from tidegauge.report.loads import compared_words, load_words
from tidegauge.report.published import CONTRADICTS, claim_title, outcome_sentences
from tidegauge.report.sending import CHANGED_TITLE, changed_words
from tidegauge.report.tables import is_figure_shown, worker_notes, workers_table
from tidegauge.statistics.figures import Figure, FigureKind, Shown, figures_shown
from tidegauge.store.read import StoredRun
from tidegauge.thresholds import Ruling, ThresholdOutcome

_SPECIAL = re.compile(r"([\\`*_\[\]#|~$])")
_SIGNS = {
    ThresholdOutcome.MET: "met",
    ThresholdOutcome.MISSED: "**MISSED**",
    ThresholdOutcome.NOT_DECIDED: "*not decided*",
}


def escape_text(text: str) -> str:
    """Text that Markdown and HTML leave as it is; on one line, so that it can't leave its cell or bullet."""
    flat = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(r"\\\1", flat)


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table; cells must be escaped already. Words stand left, what looks like a number right."""
    all_rows = list(rows)
    numeric = [
        bool(all_rows) and all(re.fullmatch(r"[-<\d][\d.,\[\]()to -]*", row[place]) is not None for row in all_rows)
        for place in range(len(heads))
    ]
    lines = [heads, ["--:" if number else "---" for number in numeric], *all_rows]
    return [f"| {' | '.join(line)} |" for line in lines]


def run_markdown(run: StoredRun) -> str:
    """A run: state, thresholds, durability, a table for each experiment, comparisons."""
    facts = RunFacts(run)
    lines = [
        f"## {facts.mark}Tidegauge: {escape_text(run.name)}, {escape_text(run.status_words)}",
        "",
    ]
    lines += [f"**{escape_text(fairness.headline(run.terms))}**", ""] if run.terms.unequal else []
    lines += bullet_lines(tilt.paragraph() for tilt in run.terms.unequal)
    lines += [f"Reason: {escape_text(run.reason)}", ""] if run.reason else []
    lines += bullet_lines([facts.label_words, *run.notes] if facts.label_words else run.notes)
    lines += _threshold_lines(facts.rulings)
    lines += _variant_lines(facts)
    if run.results:
        for words, _ in levels.headlines_by_point(run.results):
            lines += [escape_text(words), ""]
    for compared in facts.compared_trials:
        lines += _compared_lines(compared)
    for experiment, findings in facts.findings.items():
        remarks_of_findings = finding_remarks(findings, facts.names, run.results)
        lines += bullet_lines(f"{experiment}, {remark.text}" for remark in remarks_of_findings)
    lines += ["### Compared", "", *bullet_lines(facts.compared)] if facts.compared else []
    points_compared = [contests.contest_line(contest) for contest in facts.sweep_contests if contest.lead]
    lines += ["### Points compared", "", *bullet_lines(points_compared)] if points_compared else []
    lines += _usage_lines(run)
    lines += _published_lines(facts)
    if run.results and (changed := changed_words(run)):
        lines += [f"<details><summary>{escape_text(CHANGED_TITLE)}</summary>", ""]
        lines += [*bullet_lines(changed), "</details>", ""]
    failed = [f"{trial.trial_id}: {trial.status_words}" for trial in facts.unfinished]
    lines += ["### Trials without a result", "", *bullet_lines(failed)] if failed else []
    lines += [escape_text(f"Host: {facts.host}"), ""] if facts.host else []
    lines += [f"Run `{run.path.name.replace('`', '')}`, Tidegauge {escape_text(run.tidegauge_version)}."]
    return "\n".join(lines) + "\n"


def _threshold_lines(rulings: Sequence[Ruling]) -> list[str]:
    if not rulings:
        return []
    rows = [
        [
            f"`{ruling.threshold.replace('`', '').replace('|', '')}`",
            _SIGNS[ruling.outcome],
            escape_text(thresholds.place(ruling)),
            escape_text(ruling.why),
        ]
        for ruling in rulings
    ]
    return [f"### {thresholds.headline(rulings)}", "", *markdown_table(["threshold", "", "of", "because"], rows), ""]


def _compared_lines(compared: ComparedTrials) -> list[str]:
    figures = [figure for figure in figures_shown(Shown.MARKDOWN) if is_figure_shown(figure, compared.results)]
    heads = ["system", *(figure.head for figure in figures), "validity"]
    validities = {
        system: Counter(result.validity.value for result in compared.of_system(system)) for system in compared.systems
    }
    rows = [
        [
            escape_text(compared.label(system)),
            *(_figure_cell(compared, system, figure) for figure in figures),
            ", ".join(f"{number} {kind}" for kind, number in validities[system].items()),
        ]
        for system in compared.systems
    ]
    words = f"{escape_text(load_words(compared.results[0]))}. {escape_text(compared_words(compared))}"
    table_of_workers = workers_table(compared)
    workers = [
        *([] if table_of_workers is None else [*figure_table_lines(table_of_workers), ""]),
        *bullet_lines(worker_notes([compared])),
    ]
    title = escape_text(compare.experiment_at_point(compared.experiment, compared.point))
    return [f"### {title}", "", words, "", *markdown_table(heads, rows), "", *workers]


def _figure_cell(compared: ComparedTrials, system: str, figure: Figure) -> str:
    """A figure: of trials the geometric mean with its interval, of two with their range; of counts the largest of all.

    What an INVALID trial lost is lost.
    """
    is_count = figure.kind is FigureKind.COUNTED
    values = [*map(figure.value_in, compared.of_system(system) if is_count else compared.usable(system))]
    values_known = [value for value in values if value is not None]
    if not values_known:
        return MISSING
    if is_count:
        more = "" if len(values_known) == len(values) else " or more"
        return f"{in_unit(max(values_known), figure.unit)}{more}"
    interval = estimate(values_known)
    if interval is None or interval.trials == 1:
        return in_unit(values_known[0], figure.unit)
    value, low, high = (in_unit(end, figure.unit) for end in (interval.value, interval.low, interval.high))
    return f"{value} [{low}, {high}]" if interval.sure else f"{value} ({low} to {high})"


def _variant_lines(facts: RunFacts) -> list[str]:
    """What the variants differ in, and how they compare: a table for each leading figure, a line for each other."""
    compared = facts.variant_contests
    if not compared:
        return []
    lines = ["### Variants compared", "", f"{escape_text(contests.variants_line(facts.run))}.", ""]
    for contest in (one for one in compared if one.lead):
        lines += [f"**{escape_text(contests.contest_title(contest))}**", ""]
        lines += [*figure_table_lines(contests.contest_table(contest)), ""]
        lines += bullet_lines(contests.contest_notes(contest))
    others = (one for one in compared if not one.lead)
    return [*lines, *bullet_lines(contests.contest_line(contest) for contest in others)]


def _published_lines(facts: RunFacts) -> list[str]:
    """The verdicts on what a published report claimed."""
    outcome, unequal = facts.run.published, bool(facts.run.terms.unequal)
    if outcome is None:
        return []
    claims = [
        f"{claim_title(claim, outcome, unequal)}: {claim.reason}"
        + (f"; {CONTRADICTS}: {claim.contradiction}" if claim.contradiction else "")
        for claim in outcome.claims
    ]
    preamble = bullet_lines(outcome_sentences(outcome, facts.host))
    return [f"### Published: {escape_text(outcome.title)}", "", *preamble, *bullet_lines(claims)]


def _usage_lines(run: StoredRun) -> list[str]:
    """Shares of the machine's ceilings, and what results cost."""
    rows = usage.rows(run)
    shares_table, notes = usage.usage_table(rows[: usage.ROWS_MAX]), [*usage.more_words(rows), *usage.notes(run, rows)]
    if shares_table is None and not notes:
        return []
    return [
        f"### {usage.title(rows)}",
        "",
        *([] if shares_table is None else [*figure_table_lines(shares_table), ""]),
        *bullet_lines(notes),
    ]


def figure_table_lines(figure_table: FigureTable) -> list[str]:
    """A table for a terminal as one of Markdown, each head with that of its group."""
    columns = [(group, column) for group in figure_table.groups for column in group.columns]
    leading = figure_table.leading
    heads = [
        *(column.head for column in leading),
        figure_table.label_head,
        *(": ".join(filter(None, (group.head, column.head))) for group, column in columns),
    ]
    rows = [
        [
            *(escape_text(column.cells[place]) for column in leading),
            escape_text(label),
            *(escape_text(column.cells[place]) for _, column in columns),
        ]
        for place, label in enumerate(figure_table.labels)
    ]
    return markdown_table(list(map(escape_text, heads)), rows)


def bullet_lines(sentences: Iterable[str]) -> list[str]:
    """Sentences as a list with an empty line after it; nothing of none."""
    lines = [f"- {escape_text(sentence)}" for sentence in sentences]
    return [*lines, ""] if lines else []
