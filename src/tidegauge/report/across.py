"""Several runs beside each other, and a published report's claims over them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from tidegauge.comparison.across import Pair, RunComparison
from tidegauge.comparison.differences import LETTERS, Unrecorded
from tidegauge.comparison.within import Ratio
from tidegauge.model.trial import with_form
from tidegauge.numbers import join_with_and, local_time, percent
from tidegauge.plain import plain
from tidegauge.published.verdict import PublishedOutcome
from tidegauge.report import compare, fairness
from tidegauge.report.junit import JunitCase, State, junit_document
from tidegauge.report.layout import Paragraph, bullet, headed_bullets, heading, indented, with_blank_lines
from tidegauge.report.markdown import escape_text, markdown_table
from tidegauge.report.published import published_parts
from tidegauge.report.summary import run_head
from tidegauge.report.terminal import host_words
from tidegauge.statistics.intervals import ComparisonVerdict
from tidegauge.store.read import StoredRun

SETTINGS_SHOWN = 20
"""Settings that differ, in a terminal; two versions of a system may differ in hundreds of defaults."""
_TITLES = {"host": "Host", "software": "Software", "settings": "Settings in force", "campaign": "Campaign"}


def report(comparison: RunComparison) -> RenderableType:
    """What differs first, then every figure with its ratio, interval and verdict."""
    unequal = [
        Paragraph(f"{fairness.MARK}: {_UNEQUAL}", style="bold red"),
        *(bullet(sentence, "red") for sentence in comparison.unequal),
    ]
    return Group(
        *with_blank_lines(
            headed_bullets("Compared runs", (_run_line(letter, comparison) for letter, _ in comparison.runs)),
            unequal if comparison.unequal else [],
            _difference_parts(comparison),
            *(_pair_parts(pair, comparison) for pair in comparison.pairs),
            headed_bullets("Without a counterpart", comparison.unmatched),
            headed_bullets("Could not be read", comparison.unreadable),
            [Paragraph(_how_sure(comparison), "dim")],
        )
    )


_UNEQUAL = (
    "these figures are not known to be at the same durability level, and were compared because --allow-unequal was "
    "given:"
)


def _run_line(letter: str, comparison: RunComparison) -> str:
    run = dict(comparison.runs)[letter]
    role = " (the baseline)" if letter == comparison.runs[0][0] else ""
    systems = ", ".join(sorted({result.spec.label for result in run.results}))
    return f"{letter}{role}: {run.path.name}, {local_time(run.started_at)}, {run.status_words}: {systems}"


def _difference_parts(comparison: RunComparison) -> Iterable[RenderableType]:
    if not comparison.differences:
        sentence = "Nothing that was recorded differs"
        if not comparison.unrecorded:
            sentence += ": host and what else ran on it, software, settings in force and campaign are the same"
        yield Paragraph(f"{sentence}.")
        yield from map(bullet, map(_not_recorded, comparison.unrecorded))
        return
    yield heading("What differs")
    for kind, title in _TITLES.items():
        of_kind = [difference for difference in comparison.differences if difference.kind == kind]
        gaps = [gap for gap in comparison.unrecorded if gap.kind == kind]
        differences_shown = of_kind[:SETTINGS_SHOWN] if kind == "settings" else of_kind
        for difference in differences_shown:
            yield bullet(f"{title}: {difference.words}")
        if len(of_kind) > len(differences_shown):
            yield bullet(f"{title}: {len(of_kind) - len(differences_shown)} more (--json has all)")
        if not of_kind:
            yield bullet(f"{title}: the same{', as far as it was recorded' if gaps else ''}")
        yield from map(bullet, map(_not_recorded, gaps))


def _not_recorded(gap: Unrecorded) -> str:
    """A line on what was not recorded, of which nobody can say whether it is the same."""
    return f"{_TITLES[gap.kind]}: not recorded in {join_with_and(gap.letters)}: {gap.what}"


def _pair_title(pair: Pair, comparison: RunComparison) -> str:
    mark = fairness.mark(comparison.unequal)
    where = f" ({pair.where})" if pair.where else ""
    system, baseline = with_form(pair.system, pair.forms[0]), with_form(pair.baseline, pair.forms[1])
    same = "" if system == baseline else f" against {baseline}"
    return f"{mark}{pair.experiment}{where}: {system}{same}, {pair.run} against {pair.baseline_run}"


def _pair_parts(pair: Pair, comparison: RunComparison) -> Iterable[RenderableType]:
    yield heading(_pair_title(pair, comparison))
    mark = fairness.mark(comparison.unequal)
    for ratio in pair.ratios:
        yield bullet(f"{mark}{claim_across(ratio)}", _verdict_style(ratio.comparison.verdict))
    if not pair.ratios:
        yield bullet("no figure that both have: every trial of a side is INVALID, or has too few samples")
    yield from (bullet(remark, "yellow") for remark in pair.remarks)


def claim_across(ratio: Ratio) -> str:
    """The ratio, what it rests on, both figures, the verdict."""
    comparison = ratio.comparison
    doubt = " (doubtful)" if ratio.doubtful else ""
    says = compare.verdict_words(comparison)
    return (
        f"{ratio.figure}: {compare.times(comparison)} ({compare.both(ratio)}; {compare.rests_on(ratio)}): {says}{doubt}"
    )


def _verdict_style(verdict: ComparisonVerdict) -> str:
    return {ComparisonVerdict.BETTER: "green", ComparisonVerdict.WORSE: "bold red"}.get(verdict, "")


def _how_sure(comparison: RunComparison) -> str:
    """What a ratio is, and what it can't show."""
    if any(ratio.repeated for pair in comparison.pairs for ratio in pair.ratios):
        note = (
            "x: the ratio of the geometric means over blocks, with its 95% interval; 'no difference' where that lies "
            f"within the noise threshold ({percent(comparison.noise)}, and the steps of a search beyond it)."
        )
    else:
        note = "x: the ratio of two figures, too few for an interval."
    return (
        f"{note} Runs were measured at different times, so what changed on the host in between counts as a difference "
        "too: the surest comparison is one campaign with both in it."
    )


def content(compared: RunComparison) -> dict[str, Any]:
    """A comparison of runs as plain data, with every difference and every figure."""
    return {
        "schema": "tidegauge.compare/1",
        "runs": [
            {"letter": letter, **run_head(run), "settings_digests": dict(digests)}
            for (letter, run), digests in zip(compared.runs, compared.settings_digests, strict=True)
        ],
        "unequal": list(compared.unequal),
        "noise_threshold": compared.noise,
        "differences": plain(compared.differences),
        "unrecorded": plain(compared.unrecorded),
        "comparisons": [_pair_content(pair) for pair in compared.pairs],
        "unmatched": list(compared.unmatched),
        "unreadable": list(compared.unreadable),
    }


_OF_PAIR = ("experiment", "where", "run", "system", "baseline_run", "baseline", "forms", "unequal", "remarks")


def _pair_content(pair: Pair) -> dict[str, Any]:
    return {
        **{name: plain(getattr(pair, name)) for name in _OF_PAIR},
        "trials": [result.spec.trial_id for result in pair.results],
        "baseline_trials": [result.spec.trial_id for result in pair.baseline_results],
        "ratios": [
            {**plain(ratio), "ratio": plain(ratio.comparison.ratio), "sentence": claim_across(ratio)}
            for ratio in pair.ratios
        ],
    }


def markdown(comparison: RunComparison) -> str:
    """GitHub-flavoured Markdown: runs, a table of verdicts, and what differs behind a fold."""
    lines = [f"## {fairness.mark(comparison.unequal)}Tidegauge: runs compared", ""]
    lines += [f"- {escape_text(_run_line(letter, comparison))}" for letter, _ in comparison.runs]
    lines += (
        ["", f"**{escape_text(_UNEQUAL)}** {escape_text('; '.join(comparison.unequal))}"] if comparison.unequal else []
    )
    rows = [
        [
            *map(escape_text, (_pair_title(pair, comparison), ratio.figure, compare.times(ratio.comparison))),
            _verdict_cell(ratio),
        ]
        for pair in comparison.pairs
        for ratio in pair.ratios
    ]
    lines += ["", *markdown_table(["what", "figure", "ratio", "verdict"], rows), ""]
    lines += [
        f"- {escape_text(f'{_pair_title(pair, comparison)}: {remark}')}"
        for pair in comparison.pairs
        for remark in pair.remarks
    ]
    lines += [f"- {escape_text(sentence)}" for sentence in (*comparison.unmatched, *comparison.unreadable)]
    lines += ["", f"<details><summary>What differs ({len(comparison.differences)})</summary>", ""]
    lines += [f"- {_TITLES[difference.kind]}: {escape_text(difference.words)}" for difference in comparison.differences]
    lines += [f"- {escape_text(_not_recorded(gap))}" for gap in comparison.unrecorded]
    return "\n".join([*lines, "", "</details>", "", escape_text(_how_sure(comparison))]) + "\n"


def _verdict_cell(ratio: Ratio) -> str:
    words = escape_text(compare.verdict_words(ratio.comparison))
    return f"**{words}**" if ratio.comparison.verdict in (ComparisonVerdict.BETTER, ComparisonVerdict.WORSE) else words


def junit(comparison: RunComparison) -> bytes:
    """A case for each figure: worse is a failure, inconclusive is skipped, since nothing was found out."""
    states = {ComparisonVerdict.WORSE: State.FAILURE, ComparisonVerdict.INCONCLUSIVE: State.SKIPPED}
    cases = [
        JunitCase(
            f"{_pair_title(pair, comparison)}: {ratio.figure}",
            pair.experiment,
            states.get(ratio.comparison.verdict, State.PASSED),
            compare.verdict_words(ratio.comparison),
            claim_across(ratio),
        )
        for pair in comparison.pairs
        for ratio in pair.ratios
    ]
    runs = {letter: str(run.path) for letter, run in comparison.runs}
    marks = {fairness.MARK: "; ".join(comparison.unequal)} if comparison.unequal else {}
    return junit_document("tidegauge compare", cases, {**runs, **marks})


def published_runs(runs: Sequence[StoredRun], outcome: PublishedOutcome) -> RenderableType:
    """The claims over one or several runs: which they are, what was not the same around them, then the verdicts."""
    parts: list[RenderableType] = []
    for letter, run in zip(LETTERS, runs, strict=False):
        systems = ", ".join(sorted({result.spec.system for result in run.results}))
        parts.append(Paragraph(f"Run {letter}: {run.path.name} ({systems}; {run.status_words})"))
    if len(runs) > 1:
        note = "A ratio is taken within one run where that run has both figures, otherwise between runs."
        parts.append(Paragraph(note))
    parts += [indented(f"DOUBTFUL: {doubt}", "yellow") for doubt in outcome.doubts]
    unequal = any(run.terms.unequal for run in runs)
    return Group(*parts, Text(""), *published_parts(outcome, host_words(runs[0]), unequal))


def published_runs_content(runs: Sequence[StoredRun], outcome: PublishedOutcome) -> dict[str, Any]:
    """The claims over one or several runs as plain data."""
    return {
        "schema": "tidegauge.claims/1",
        "runs": [{"letter": letter, **run_head(run)} for letter, run in zip(LETTERS, runs, strict=False)],
        "unequal": any(run.terms.unequal for run in runs),
        "published": plain(outcome),
    }
