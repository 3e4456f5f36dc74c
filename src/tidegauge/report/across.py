"""Several runs beside each other, and a published report's claims over them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from tidegauge.comparison.across import ComparedPair, RunComparison
from tidegauge.comparison.differences import Unrecorded
from tidegauge.comparison.regression import RegressionJudgement, RegressionOutcome
from tidegauge.comparison.within import Ratio
from tidegauge.model.trial import with_form
from tidegauge.numbers import join_with_and, local_time, percent
from tidegauge.plain import plain_value
from tidegauge.report import compare, contests, fairness
from tidegauge.report.envelopes import Claims, Compare
from tidegauge.report.facts import RunFacts
from tidegauge.report.junit import JunitCase, State, junit_document
from tidegauge.report.layout import Paragraph, bullet, headed_bullets, heading, indented, with_blank_lines
from tidegauge.report.markdown import escape_text, markdown_table
from tidegauge.report.published import published_parts
from tidegauge.report.regression import (
    regression_content,
    regression_headline,
    regression_parts,
    ruling_subject,
    ruling_words,
)
from tidegauge.report.summary import run_head
from tidegauge.report.whole_report import WholeReportFacts, sections_content
from tidegauge.statistics.intervals import BLOCKS_MIN, ComparisonVerdict

SETTINGS_SHOWN = 20
"""Settings that differ, in a terminal; two versions of a system may differ in hundreds of defaults."""
_TITLES = {"host": "Host", "software": "Software", "settings": "Settings in force", "campaign": "Campaign"}


@dataclass(frozen=True)
class PairWords:
    """What is said of a system of one experiment in two runs.

    Attributes:
        title: the experiment, its place, and who is compared with whom.
        claims: a sentence for each figure with its verdict.
        remarks: what else must be read with them.
    """

    pair: ComparedPair
    title: str
    claims: tuple[tuple[str, ComparisonVerdict], ...]
    remarks: tuple[str, ...]


@dataclass(frozen=True)
class ComparisonFacts:
    """What is said of compared runs, found once for the terminal and the page."""

    comparison: RunComparison
    judgement: RegressionJudgement | None = None

    @property
    def run_lines(self) -> list[str]:
        """Each run with its letter, its time and its systems."""
        return [_run_line(letter, self.comparison) for letter, _ in self.comparison.runs]

    @property
    def unequal_words(self) -> str:
        """That levels differ, which was allowed; "" where they do not."""
        return f"{fairness.MARK}: {_UNEQUAL}" if self.comparison.unequal else ""

    @property
    def differences_head(self) -> str:
        """That something differs; else a sentence that nothing does that was recorded."""
        if self.comparison.differences:
            return "What differs"
        sentence = "Nothing that was recorded differs"
        if not self.comparison.unrecorded:
            sentence += ": host and what else ran on it, software, settings in force and campaign are the same"
        return f"{sentence}."

    @property
    def differences(self) -> list[str]:
        """What differs, kind by kind, with what was not recorded; no more settings than a terminal has room for."""
        gaps = self.comparison.unrecorded
        if not self.comparison.differences:
            return list(map(_not_recorded, gaps))
        lines = []
        for kind, title in _TITLES.items():
            of_kind = [difference for difference in self.comparison.differences if difference.kind == kind]
            gaps_of_kind = [gap for gap in gaps if gap.kind == kind]
            shown = of_kind[:SETTINGS_SHOWN] if kind == "settings" else of_kind
            lines += [f"{title}: {difference.words}" for difference in shown]
            if len(of_kind) > len(shown):
                lines.append(f"{title}: {len(of_kind) - len(shown)} more (--json has all)")
            if not of_kind:
                lines.append(f"{title}: the same{', as far as it was recorded' if gaps_of_kind else ''}")
            lines += map(_not_recorded, gaps_of_kind)
        return lines

    @property
    def pairs(self) -> list[PairWords]:
        """What is said of each system of each experiment."""
        return [_pair_words(pair, self.comparison) for pair in self.comparison.pairs]

    @property
    def how_sure(self) -> str:
        """What a ratio is, and what it can't show."""
        return _how_sure(self.comparison)


def report(facts: ComparisonFacts) -> RenderableType:
    """What differs first, then every figure with its ratio, interval and verdict; last whether any regressed."""
    comparison, judgement = facts.comparison, facts.judgement
    unequal = [
        Paragraph(facts.unequal_words, style="bold red"),
        *(bullet(sentence, "red") for sentence in comparison.unequal),
    ]
    head = heading(facts.differences_head) if comparison.differences else Paragraph(facts.differences_head)
    return Group(
        *with_blank_lines(
            headed_bullets("Compared runs", facts.run_lines),
            unequal if comparison.unequal else [],
            [head, *map(bullet, facts.differences)],
            *map(_pair_parts, facts.pairs),
            headed_bullets("Without a counterpart", comparison.unmatched),
            headed_bullets("Could not be read", comparison.unreadable),
            [Paragraph(facts.how_sure, "dim")],
            [] if judgement is None else regression_parts(judgement),
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


def _not_recorded(gap: Unrecorded) -> str:
    """A line on what was not recorded, of which nobody can say whether it is the same."""
    return f"{_TITLES[gap.kind]}: not recorded in {join_with_and(gap.letters)}: {gap.what}"


def _pair_title(pair: ComparedPair, comparison: RunComparison) -> str:
    mark = fairness.mark(comparison.unequal)
    where = f" ({pair.where})" if pair.where else ""
    system, baseline = with_form(pair.system, pair.forms[0]), with_form(pair.baseline, pair.forms[1])
    same = "" if system == baseline else f" against {baseline}"
    return f"{mark}{pair.experiment}{where}: {system}{same}, {pair.run} against {pair.baseline_run}"


def _pair_words(pair: ComparedPair, comparison: RunComparison) -> PairWords:
    mark = fairness.mark(comparison.unequal)
    claims = tuple((f"{mark}{claim_across(ratio)}", ratio.comparison.verdict) for ratio in pair.ratios)
    none = "no figure that both have: every trial of a side is INVALID, or has too few samples"
    return PairWords(pair, _pair_title(pair, comparison), claims, (*([] if pair.ratios else [none]), *pair.remarks))


def _pair_parts(pair: PairWords) -> Iterable[RenderableType]:
    yield heading(pair.title)
    styles = {ComparisonVerdict.BETTER: "green", ComparisonVerdict.WORSE: "bold red"}
    yield from (bullet(claim, styles.get(verdict, "")) for claim, verdict in pair.claims)
    yield from (bullet(remark, "yellow") for remark in pair.remarks)


def claim_across(ratio: Ratio) -> str:
    """The ratio, what it rests on, both figures, the verdict."""
    comparison = ratio.comparison
    doubt = " (doubtful)" if ratio.doubtful else ""
    apart = f", {contests.difference_words(ratio.contrast, ratio.unit)}" if ratio.contrast is not None else ""
    rests = f"{compare.both(ratio)}; {compare.rests_on(ratio)}"
    return f"{ratio.figure}: {compare.times(comparison)}{apart} ({rests}): {_verdict_across(ratio)}{doubt}"


def _verdict_across(ratio: Ratio) -> str:
    """The verdict by the margin that was asked for, else by the noise threshold."""
    return contests.verdict_words(ratio.contrast) if ratio.contrast else compare.verdict_words(ratio.comparison)


def _how_sure(comparison: RunComparison) -> str:
    """What a ratio is, and what it can't show."""
    if comparison.same_within is not None:
        # Of rates it is a share, of what was searched with the search's steps.
        contrasts = [ratio.contrast for pair in comparison.pairs for ratio in pair.ratios if ratio.contrast]
        margins = dict.fromkeys(contests.margin_words(each.same_within, each.share) for each in contrasts)
        margin = " or ".join(margins) or contests.margin_words(comparison.same_within)
        note = (
            "Ratio of the geometric means over blocks, then their difference, each with its 95% interval where there "
            f"are {BLOCKS_MIN} blocks; 'the same' where that lies {margin}."
        )
    elif any(ratio.comparison.interval for pair in comparison.pairs for ratio in pair.ratios):
        note = (
            "x: the ratio of the geometric means over blocks, with its 95% interval; 'the same' where that lies "
            f"within the noise threshold ({percent(comparison.noise)}, and the steps of a search beyond it)."
        )
    else:
        note = "x: the ratio of two figures, too few for an interval."
    return (
        f"{note} Runs were measured at different times, so what changed on the host in between counts as a difference "
        "too: the surest comparison is one campaign with both in it."
    )


def content(compared: RunComparison, judgement: RegressionJudgement | None = None) -> dict[str, Any]:
    """A comparison of runs as plain data, with every difference and every figure."""
    comparison = Compare(
        schema="tidegauge.compare/1",
        runs=[
            {"letter": letter, **run_head(run), "settings_digests": digests}
            for (letter, run), digests in zip(compared.runs, compared.settings_digests, strict=True)
        ],
        unequal=compared.unequal,
        noise_threshold=compared.noise,
        same_within=str(compared.same_within) if compared.same_within else None,
        differences=plain_value(compared.differences),
        unrecorded=plain_value(compared.unrecorded),
        comparisons=[_pair_content(pair) for pair in compared.pairs],
        unmatched=compared.unmatched,
        unreadable=compared.unreadable,
        regressions=regression_content(judgement),
    )
    content: dict[str, Any] = plain_value(comparison)
    return content


_OF_PAIR = ("experiment", "where", "run", "system", "baseline_run", "baseline", "forms", "unequal", "remarks")


def _pair_content(pair: ComparedPair) -> dict[str, Any]:
    return {
        **{name: plain_value(getattr(pair, name)) for name in _OF_PAIR},
        "trials": [result.spec.trial_id for result in pair.results],
        "baseline_trials": [result.spec.trial_id for result in pair.baseline_results],
        "ratios": [
            {**plain_value(ratio), "ratio": plain_value(ratio.comparison.ratio), "sentence": claim_across(ratio)}
            for ratio in pair.ratios
        ],
    }


def markdown(comparison: RunComparison, judgement: RegressionJudgement | None = None) -> str:
    """GitHub-flavoured Markdown: runs, a table of verdicts, and what differs behind a fold."""
    lines = [f"## {fairness.mark(comparison.unequal)}Tidegauge: runs compared", ""]
    if judgement is not None:
        lines += [f"**{escape_text(regression_headline(judgement))}**", ""]
        rulings = [ruling for ruling in judgement.rulings if ruling.outcome is not RegressionOutcome.NONE]
        lines += [f"- {escape_text(f'{ruling_subject(ruling)}, {ruling_words(ruling)}')}" for ruling in rulings]
        lines += ["", *(f"- not judged: {escape_text(sentence)}" for sentence in judgement.missing), ""]
    lines += [f"- {escape_text(_run_line(letter, comparison))}" for letter, _ in comparison.runs]
    lines += (
        ["", f"**{escape_text(_UNEQUAL)}** {escape_text('; '.join(comparison.unequal))}"] if comparison.unequal else []
    )
    rows = []
    for pair in comparison.pairs:
        for ratio in pair.ratios:
            cells = (_pair_title(pair, comparison), ratio.figure, compare.times(ratio.comparison))
            verdict = escape_text(_verdict_across(ratio))
            if ratio.comparison.verdict in (ComparisonVerdict.BETTER, ComparisonVerdict.WORSE):
                verdict = f"**{verdict}**"
            rows.append([*map(escape_text, cells), verdict])
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


def junit(comparison: RunComparison, judgement: RegressionJudgement | None = None) -> bytes:
    """A case for each figure: worse is a failure, what is not decided is skipped, since nothing was found out.

    With a judgement only what got worse by more than is allowed is a failure, and what is not decided is skipped.
    """
    if judgement is not None:
        return _regression_junit(comparison, judgement)
    states = {ComparisonVerdict.WORSE: State.FAILURE, ComparisonVerdict.NOT_DECIDED: State.SKIPPED}
    cases = [
        JunitCase(
            f"{_pair_title(pair, comparison)}: {ratio.figure}",
            pair.experiment,
            states.get(ratio.comparison.verdict, State.PASSED),
            _verdict_across(ratio),
            claim_across(ratio),
        )
        for pair in comparison.pairs
        for ratio in pair.ratios
    ]
    return junit_document("tidegauge compare", cases, _junit_properties(comparison))


def _junit_properties(comparison: RunComparison) -> dict[str, str]:
    runs = {letter: str(run.path) for letter, run in comparison.runs}
    return {**runs, **({fairness.MARK: "; ".join(comparison.unequal)} if comparison.unequal else {})}


def _regression_junit(comparison: RunComparison, judgement: RegressionJudgement) -> bytes:
    states = {RegressionOutcome.REGRESSED: State.FAILURE, RegressionOutcome.NOT_DECIDED: State.SKIPPED}
    cases = [
        JunitCase(
            f"{ruling_subject(ruling)}: {ruling.ratio.figure}",
            ruling.pair.experiment,
            states.get(ruling.outcome, State.PASSED),
            ruling_words(ruling),
            claim_across(ruling.ratio),
        )
        for ruling in judgement.rulings
    ]
    cases += [JunitCase(sentence, "not judged", State.SKIPPED, sentence, "") for sentence in judgement.missing]
    return junit_document("tidegauge compare", cases, _junit_properties(comparison))


def published_runs(facts: WholeReportFacts) -> RenderableType:
    """The claims over one or several runs: which they are, what was not the same around them, then the verdicts."""
    parts: list[RenderableType] = []
    for letter, run in facts.runs.items():
        parts.append(Paragraph(f"Run {letter}: {run.path.name} ({', '.join(run.systems)}; {run.status_words})"))
    if len(facts.runs) > 1:
        note = "A ratio is taken within one run where that run has both figures, otherwise between runs."
        parts.append(Paragraph(note))
    parts += [indented(f"DOUBTFUL: {doubt}", "yellow") for doubt in facts.outcome.doubts]
    host = RunFacts(next(iter(facts.runs.values()))).host
    return Group(*parts, Text(""), *published_parts(facts.outcome, host, facts.unequal))


def published_runs_content(facts: WholeReportFacts) -> dict[str, Any]:
    """The claims over one or several runs, and the report's figures beside ours, as plain data."""
    claims = Claims(
        schema="tidegauge.claims/1",
        runs=[plain_value({"letter": letter, **run_head(run)}) for letter, run in facts.runs.items()],
        unequal=facts.unequal,
        published=facts.outcome,
        score=facts.score,
        sections=sections_content(facts),
    )
    content: dict[str, Any] = plain_value(claims)
    return content
