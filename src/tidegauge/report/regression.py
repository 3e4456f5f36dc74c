"""What is said of figures that got worse from one run to another: terminal, Markdown, JUnit and JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import RenderableType

from tidegauge.comparison.regression import (
    RegressionJudgement,
    RegressionOutcome,
    RegressionRuling,
)
from tidegauge.model.trial import with_form
from tidegauge.numbers import factor, plural
from tidegauge.plain import plain_value
from tidegauge.report import compare
from tidegauge.report.layout import bullet, heading
from tidegauge.statistics.intervals import BLOCKS_MAX, BLOCKS_MIN

_STYLES = {RegressionOutcome.REGRESSED: "bold red", RegressionOutcome.NOT_DECIDED: "yellow"}


def regression_headline(judgement: RegressionJudgement) -> str:
    """The outcome over all figures in one sentence."""
    worse = sum(ruling.outcome is RegressionOutcome.REGRESSED for ruling in judgement.rulings)
    unknown = sum(ruling.outcome is RegressionOutcome.NOT_DECIDED for ruling in judgement.rulings)
    open_too = f" Not decided: {unknown}." if unknown else ""
    of = f"{plural(len(judgement.rulings), 'figure')}"
    if judgement.outcome is RegressionOutcome.REGRESSED:
        return f"Regression: {worse} of {of} got worse by more than is allowed.{open_too}"
    if judgement.outcome is RegressionOutcome.NONE:
        return f"No regression: none of {of} got worse by more than is allowed."
    if not judgement.rulings:
        return "Not decided: there is no figure to judge."
    if not unknown:
        return f"Not decided: none of {of} got worse by more than is allowed, but the runs do not have all in common."
    return f"Not decided: whether {unknown} of {of} got worse by more than is allowed. No regression was shown."


def ruling_words(ruling: RegressionRuling) -> str:
    """What became of one figure, with its limit and, if it is open, with what would decide it."""
    relation = "at most" if ruling.limit >= 1 else "at least"
    doubt = " (doubtful)" if ruling.ratio.doubtful else ""
    says = f"{compare.times(ruling.ratio.comparison)}, {relation} {factor(ruling.limit)}x is allowed"
    if ruling.outcome is not RegressionOutcome.NOT_DECIDED:
        outcome = "REGRESSED" if ruling.outcome is RegressionOutcome.REGRESSED else ruling.outcome.value
        return f"{ruling.ratio.figure}: {says}: {outcome}{doubt}"
    return f"{ruling.ratio.figure}: {says}: not decided, {_what_would_decide(ruling)}{doubt}"


def _what_would_decide(ruling: RegressionRuling) -> str:
    if ruling.why:
        return f"since {ruling.why}"
    needed = ruling.repeats_needed or 0
    have = len(ruling.ratio.baseline_values), len(ruling.ratio.values)
    if needed > BLOCKS_MAX:
        return f"and more than {BLOCKS_MAX:,} repeats would be needed: the ratio is too near to the limit"
    if min(have) < BLOCKS_MIN:
        return f"since fewer than {BLOCKS_MIN} repeats in each run give no interval (so far {have[0]} and {have[1]})"
    more = max(0, needed - min(have))
    repeats = plural(more, "more repeat")
    return f"about {repeats} in each run may decide whether that is kept (so far {have[0]} and {have[1]})"


def regression_lines(judgement: RegressionJudgement) -> list[tuple[str, RegressionOutcome]]:
    """A line for every figure, those that regressed first, then for what could not be judged."""
    order = (RegressionOutcome.REGRESSED, RegressionOutcome.NOT_DECIDED, RegressionOutcome.NONE)
    rulings = sorted(judgement.rulings, key=lambda ruling: order.index(ruling.outcome))
    lines = [(f"{ruling_subject(ruling)}, {ruling_words(ruling)}", ruling.outcome) for ruling in rulings]
    return [*lines, *((f"not judged: {sentence}", RegressionOutcome.NOT_DECIDED) for sentence in judgement.missing)]


def regression_parts(judgement: RegressionJudgement) -> Iterable[RenderableType]:
    """The outcome, then every figure, those that regressed first."""
    yield heading(regression_headline(judgement))
    yield from (bullet(line, _STYLES.get(outcome, "")) for line, outcome in regression_lines(judgement))


def ruling_subject(ruling: RegressionRuling) -> str:
    """The experiment and the system that a ruling is of."""
    pair = ruling.pair
    where = f" ({pair.where})" if pair.where else ""
    return f"{pair.experiment}{where}: {with_form(pair.system, pair.forms[0])}"


def regression_content(judgement: RegressionJudgement | None) -> dict[str, Any] | None:
    """The judgement as plain data; None where nobody asked for one."""
    if judgement is None:
        return None
    return {
        "outcome": judgement.outcome.value,
        "sentence": regression_headline(judgement),
        "missing": list(judgement.missing),
        "rulings": [
            {
                "experiment": ruling.pair.experiment,
                "where": ruling.pair.where,
                "system": ruling.pair.system,
                "figure": ruling.ratio.name,
                "ratio": plain_value(ruling.ratio.comparison.ratio),
                "interval": plain_value(ruling.ratio.comparison.interval),
                "allowed": ruling.allowed,
                "limit": ruling.limit,
                "outcome": ruling.outcome.value,
                "repeats_needed": ruling.repeats_needed,
                "why": ruling.why,
                "sentence": ruling_words(ruling),
            }
            for ruling in judgement.rulings
        ],
    }
