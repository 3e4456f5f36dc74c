"""A run in GitHub-flavoured Markdown: for a pull request or a CI job's summary."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tidegauge.comparison.blocks import Block, blocks
from tidegauge.numbers import MISSING, in_unit
from tidegauge.report import compare, fairness, levels, thresholds, usage
from tidegauge.report.compare import estimate
from tidegauge.report.findings import by_experiment, finding_remarks
from tidegauge.report.layout import FigureTable
from tidegauge.report.names import names_of
from tidegauge.report.published import CONTRADICTS, counts, verdict_marks
from tidegauge.report.tables import shows, worker_notes, workers_table
from tidegauge.report.terminal import block_words, host_words, load_words
from tidegauge.statistics.figures import Figure, Kind, Shown, figures_shown
from tidegauge.store.read import StoredRun
from tidegauge.thresholds import Outcome

_SPECIAL = re.compile(r"([\\`*_\[\]#|~$])")
_SIGNS = {Outcome.MET: "met", Outcome.MISSED: "**MISSED**", Outcome.INCONCLUSIVE: "*inconclusive*"}


def escaped(text: str) -> str:
    """Text that Markdown and HTML leave as it is; on one line, so that it can't leave its cell or bullet."""
    flat = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(r"\\\1", flat)


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table; cells must be escaped already. Words stand left, what looks like a number right."""
    listed = list(rows)
    numeric = [
        bool(listed) and all(re.fullmatch(r"[-<\d][\d.,\[\]()to -]*", row[place]) is not None for row in listed)
        for place in range(len(heads))
    ]
    lines = [heads, ["--:" if number else "---" for number in numeric], *listed]
    return [f"| {' | '.join(line)} |" for line in lines]


def run_markdown(run: StoredRun) -> str:
    """A run: state, thresholds, durability, a table for each experiment, comparisons."""
    lines = [f"## {fairness.mark(run.terms.unequal)}Tidegauge: {escaped(run.name)}, {escaped(run.status_words)}", ""]
    lines += [f"**{escaped(fairness.headline(run.terms))}**", ""] if run.terms.unequal else []
    lines += _bullets(tilt.paragraph() for tilt in run.terms.unequal)
    lines += [f"Reason: {escaped(run.reason)}", ""] if run.reason else []
    lines += _bullets(run.notes)
    lines += _thresholds(run)
    if run.results:
        for words, _ in levels.headlines(run.results):
            lines += [escaped(words), ""]
    for block in blocks(run.results):
        lines += _block(block)
    names = names_of(run)
    for experiment, own in by_experiment(run.findings).items():
        lines += _bullets(f"{experiment}, {remark.text}" for remark in finding_remarks(own, names))
    lines += _comparisons(run)
    lines += _usage(run)
    lines += _published(run)
    failed = [f"{trial.trial_id}: {trial.status_words}" for trial in run.trials if trial.result is None]
    lines += ["### Trials without a result", "", *_bullets(failed)] if failed else []
    host = host_words(run)
    lines += [escaped(host), ""] if host else []
    lines += [f"Run `{run.path.name.replace('`', '')}`, Tidegauge {escaped(run.tidegauge_version)}."]
    return "\n".join(lines) + "\n"


def _thresholds(run: StoredRun) -> list[str]:
    rulings = thresholds.rulings(run)
    if not rulings:
        return []
    rows = [
        [
            f"`{ruling.threshold.replace('`', '').replace('|', '')}`",
            _SIGNS[ruling.outcome],
            escaped(thresholds.place(ruling)),
            escaped(ruling.why),
        ]
        for ruling in rulings
    ]
    return [f"### {thresholds.headline(rulings)}", "", *table(["threshold", "", "of", "because"], rows), ""]


def _block(block: Block) -> list[str]:
    figures = [figure for figure in figures_shown(Shown.MARKDOWN) if shows(figure, block.results)]
    heads = ["system", *(figure.head for figure in figures), "validity"]
    rows = [
        [escaped(block.label(system)), *(_cell(block, system, figure) for figure in figures), _validity(block, system)]
        for system in block.systems
    ]
    words = f"{escaped(load_words(block.results[0]))}. {escaped(block_words(block))}"
    own = workers_table(block)
    workers = [*([] if own is None else [*_figure_table(own), ""]), *_bullets(worker_notes([block]))]
    title = escaped(compare.named(block.experiment, block.point))
    return [f"### {title}", "", words, "", *table(heads, rows), "", *workers]


def _cell(block: Block, system: str, figure: Figure) -> str:
    """A figure: of trials the geometric mean with its interval, of two with their range; of counts the largest."""
    values = [*map(figure.of, block.usable(system))]
    known = [value for value in values if value is not None]
    if not known:
        return MISSING
    if figure.kind is Kind.COUNTED:
        more = "" if len(known) == len(values) else " or more"
        return f"{in_unit(max(known), figure.unit)}{more}"
    interval = estimate(known)
    if interval is None or interval.trials == 1:
        return in_unit(known[0], figure.unit)
    value, low, high = (in_unit(end, figure.unit) for end in (interval.value, interval.low, interval.high))
    return f"{value} [{low}, {high}]" if interval.sure else f"{value} ({low} to {high})"


def _validity(block: Block, system: str) -> str:
    worst = [result.validity.value for result in block.of(system)]
    return ", ".join(f"{worst.count(kind)} {kind}" for kind in dict.fromkeys(worst))


def _comparisons(run: StoredRun) -> list[str]:
    mark = fairness.mark(run.terms.unequal)
    ratios = compare.ratios_of(run)
    if not ratios:
        return []
    return ["### Compared", "", *_bullets(f"{mark}{compare.sentence(ratio)}" for ratio in ratios)]


def _published(run: StoredRun) -> list[str]:
    """The verdicts on what a published report claimed."""
    if run.published is None:
        return []
    marks = verdict_marks(run.published, bool(run.terms.unequal))
    claims = [
        f"{claim.verdict.value.upper()}{marks}: {claim.text}: {claim.reason}"
        + (f"; {CONTRADICTS}: {claim.contradiction}" if claim.contradiction else "")
        for claim in run.published.claims
    ]
    heading, theirs = f"### Published: {escaped(run.published.title)}", f"Theirs: {escaped(run.published.hardware)}"
    return [heading, "", theirs, "", f"{counts(run.published)}.", "", *_bullets(claims)]


def _usage(run: StoredRun) -> list[str]:
    """Shares of the machine's ceilings, and what results cost."""
    found = usage.rows(run)[: usage.ROWS_MAX]
    made, notes = usage.usage_table(found), usage.notes(run, found)
    if made is None and not notes:
        return []
    return [f"### {usage.title(found)}", "", *([] if made is None else [*_figure_table(made), ""]), *_bullets(notes)]


def _figure_table(made: FigureTable) -> list[str]:
    """One for a terminal, each head with that of its group."""
    columns = [(group, column) for group in made.groups for column in group.columns]
    heads = [made.label_head, *(": ".join(filter(None, (group.head, column.head))) for group, column in columns)]
    rows = [
        [escaped(label), *(escaped(column.cells[place]) for _, column in columns)]
        for place, label in enumerate(made.labels)
    ]
    return table(list(map(escaped, heads)), rows)


def _bullets(sentences: Iterable[str]) -> list[str]:
    lines = [f"- {escaped(sentence)}" for sentence in sentences]
    return [*lines, ""] if lines else []
