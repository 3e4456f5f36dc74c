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
from tidegauge.numbers import listed, local_time, percent
from tidegauge.plain import plain
from tidegauge.published.verdict import PublishedOutcome
from tidegauge.report import compare, fairness
from tidegauge.report.junit import Case, State, document
from tidegauge.report.layout import Paragraph, apart, bullet, headed, heading, indented
from tidegauge.report.markdown import escaped, table
from tidegauge.report.published import published_parts
from tidegauge.report.summary import head
from tidegauge.report.terminal import host_words
from tidegauge.statistics.intervals import Verdict
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
        *apart(
            headed("Compared runs", (_run(letter, comparison) for letter, _ in comparison.runs)),
            unequal if comparison.unequal else [],
            _differences(comparison),
            *(_pair(pair, comparison) for pair in comparison.pairs),
            headed("Without a counterpart", comparison.unmatched),
            headed("Could not be read", comparison.unreadable),
            [Paragraph(_how_sure(comparison), "dim")],
        )
    )


_UNEQUAL = (
    "these figures are not known to be at the same durability level, and were compared because --allow-unequal was "
    "given:"
)


def _run(letter: str, comparison: RunComparison) -> str:
    run = dict(comparison.runs)[letter]
    role = " (the baseline)" if letter == comparison.runs[0][0] else ""
    systems = ", ".join(sorted({result.spec.label for result in run.results}))
    return f"{letter}{role}: {run.path.name}, {local_time(run.started_at)}, {run.status_words}: {systems}"


def _differences(comparison: RunComparison) -> Iterable[RenderableType]:
    if not comparison.differences:
        words = "Nothing that was recorded differs"
        if not comparison.unrecorded:
            words += ": host and what else ran on it, software, settings in force and campaign are the same"
        yield Paragraph(f"{words}.")
        yield from map(bullet, map(_not_recorded, comparison.unrecorded))
        return
    yield heading("What differs")
    for kind, title in _TITLES.items():
        of_kind = [difference for difference in comparison.differences if difference.kind == kind]
        gaps = [gap for gap in comparison.unrecorded if gap.kind == kind]
        shown = of_kind[:SETTINGS_SHOWN] if kind == "settings" else of_kind
        for difference in shown:
            yield bullet(f"{title}: {difference.words}")
        if len(of_kind) > len(shown):
            yield bullet(f"{title}: {len(of_kind) - len(shown)} more (--json has all)")
        if not of_kind:
            yield bullet(f"{title}: the same{', as far as it was recorded' if gaps else ''}")
        yield from map(bullet, map(_not_recorded, gaps))


def _not_recorded(gap: Unrecorded) -> str:
    """What nobody can say whether it is the same."""
    return f"{_TITLES[gap.kind]}: not recorded in {listed(gap.letters)}: {gap.what}"


def _title(pair: Pair, comparison: RunComparison) -> str:
    mark = fairness.mark(comparison.unequal)
    where = f" ({pair.where})" if pair.where else ""
    system, baseline = with_form(pair.system, pair.forms[0]), with_form(pair.baseline, pair.forms[1])
    same = "" if system == baseline else f" against {baseline}"
    return f"{mark}{pair.experiment}{where}: {system}{same}, {pair.run} against {pair.baseline_run}"


def _pair(pair: Pair, comparison: RunComparison) -> Iterable[RenderableType]:
    yield heading(_title(pair, comparison))
    mark = fairness.mark(comparison.unequal)
    for ratio in pair.ratios:
        yield bullet(f"{mark}{claim_across(ratio)}", _style(ratio.comparison.verdict))
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


def _style(verdict: Verdict) -> str:
    return {Verdict.BETTER: "green", Verdict.WORSE: "bold red"}.get(verdict, "")


def _how_sure(comparison: RunComparison) -> str:
    """What a ratio is, and what it can't show."""
    if any(ratio.repeated for pair in comparison.pairs for ratio in pair.ratios):
        what = (
            "x: the ratio of the geometric means over blocks, with its 95% interval; 'no difference' where that lies "
            f"within the noise threshold ({percent(comparison.noise)}, and the steps of a search beyond it)."
        )
    else:
        what = "x: the ratio of two figures, too few for an interval."
    return (
        f"{what} Runs were measured at different times, so what changed on the host in between counts as a difference "
        "too: the surest comparison is one campaign with both in it."
    )


def content(compared: RunComparison) -> dict[str, Any]:
    """The same as plain data, with every difference and every figure."""
    return {
        "schema": "tidegauge.compare/1",
        "runs": [
            {"letter": letter, **head(run), "settings_digests": dict(digests)}
            for (letter, run), digests in zip(compared.runs, compared.settings_digests, strict=True)
        ],
        "unequal": list(compared.unequal),
        "noise_threshold": compared.noise,
        "differences": plain(compared.differences),
        "unrecorded": plain(compared.unrecorded),
        "comparisons": [_content(pair) for pair in compared.pairs],
        "unmatched": list(compared.unmatched),
        "unreadable": list(compared.unreadable),
    }


_OF_PAIR = ("experiment", "where", "run", "system", "baseline_run", "baseline", "forms", "unequal", "remarks")


def _content(pair: Pair) -> dict[str, Any]:
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
    lines += [f"- {escaped(_run(letter, comparison))}" for letter, _ in comparison.runs]
    lines += ["", f"**{escaped(_UNEQUAL)}** {escaped('; '.join(comparison.unequal))}"] if comparison.unequal else []
    rows = [
        [*map(escaped, (_title(pair, comparison), ratio.figure, compare.times(ratio.comparison))), _verdict(ratio)]
        for pair in comparison.pairs
        for ratio in pair.ratios
    ]
    lines += ["", *table(["what", "figure", "ratio", "verdict"], rows), ""]
    lines += [
        f"- {escaped(f'{_title(pair, comparison)}: {remark}')}" for pair in comparison.pairs for remark in pair.remarks
    ]
    lines += [f"- {escaped(sentence)}" for sentence in (*comparison.unmatched, *comparison.unreadable)]
    lines += ["", f"<details><summary>What differs ({len(comparison.differences)})</summary>", ""]
    lines += [f"- {_TITLES[difference.kind]}: {escaped(difference.words)}" for difference in comparison.differences]
    lines += [f"- {escaped(_not_recorded(gap))}" for gap in comparison.unrecorded]
    return "\n".join([*lines, "", "</details>", "", escaped(_how_sure(comparison))]) + "\n"


def _verdict(ratio: Ratio) -> str:
    words = escaped(compare.verdict_words(ratio.comparison))
    return f"**{words}**" if ratio.comparison.verdict in (Verdict.BETTER, Verdict.WORSE) else words


def junit(comparison: RunComparison) -> bytes:
    """A case for each figure: worse is a failure, inconclusive is skipped, since nothing was found out."""
    states = {Verdict.WORSE: State.FAILURE, Verdict.INCONCLUSIVE: State.SKIPPED}
    cases = [
        Case(
            f"{_title(pair, comparison)}: {ratio.figure}",
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
    return document("tidegauge compare", cases, {**runs, **marks})


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
    """The same as plain data."""
    return {
        "schema": "tidegauge.claims/1",
        "runs": [{"letter": letter, **head(run)} for letter, run in zip(LETTERS, runs, strict=False)],
        "unequal": any(run.terms.unequal for run in runs),
        "published": plain(outcome),
    }
