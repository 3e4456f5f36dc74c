"""What measured ratios say of a claim. Pure: figures go in, a verdict with its reason comes out.

| verdict | when |
| --- | --- |
| confirmed | the whole interval of the ratio lies within what is claimed |
| contradicted | the whole interval lies outside |
| not decided | anything else: the interval reaches across the limit, a figure is missing, or one of few is DOUBTFUL |

A claim of several parts is confirmed if every part is, and contradicted if one is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from tidegauge.published.ratio import Ratio


class Verdict(StrEnum):
    """Whether the ordering or shape that a report claimed holds in a run."""

    CONFIRMED = "confirmed"
    CONTRADICTED = "contradicted"
    NOT_DECIDED = "not decided"


@dataclass(frozen=True)
class Answer:
    """A verdict and the figures or the lack of them that led to it."""

    verdict: Verdict
    reason: str


@dataclass(frozen=True)
class Limits:
    """Between which values a ratio must lie. `strict`: at the lower limit itself it does not ("more than")."""

    at_least: float = 0.0
    at_most: float = math.inf
    strict: bool = False

    def words(self) -> str:
        """ "at least 3", "0.8 to 1.25", "above 1"."""
        if self.at_most == math.inf:
            return f"{'above' if self.strict else 'at least'} {self.at_least:g}"
        if self.at_least <= 0:
            return f"at most {self.at_most:g}"
        return f"{self.at_least:g} to {self.at_most:g}"


def judge_ratio(ratio: Ratio, limits: Limits) -> Answer:
    """Whether a ratio lies within limits, as far as its interval tells."""
    seen = f"{_number(ratio.estimate)} times ({_number(ratio.low)} to {_number(ratio.high)}; {ratio.rests_on})"
    above = ratio.low > limits.at_least if limits.strict else ratio.low >= limits.at_least
    if above and ratio.high <= limits.at_most:
        return Answer(Verdict.CONFIRMED, f"{seen}, claimed {limits.words()}")
    below = ratio.high <= limits.at_least if limits.strict else ratio.high < limits.at_least
    if below or ratio.low > limits.at_most:
        return Answer(Verdict.CONTRADICTED, f"{seen}, claimed {limits.words()}")
    if ratio.margin is not None:
        why = "too few repeats"
    else:
        why = "the intervals overlap" if limits.strict else "the interval reaches across the limit"
    return Answer(Verdict.NOT_DECIDED, f"{why}: {seen}, claimed {limits.words()}")


def doubted(answer: Answer, ratio: Ratio, doubts: Sequence[str]) -> Answer:
    """An answer that rests on DOUBTFUL trials says so; without an interval they decide nothing.

    Args:
        doubts: trial and reason of each that is.
    """
    if not doubts:
        return answer
    more = f" and {len(doubts) - 1} more" if len(doubts) > 1 else ""
    told = f"DOUBTFUL is {doubts[0].rstrip('.')}{more}"
    if answer.verdict is not Verdict.NOT_DECIDED and ratio.margin is not None:
        return Answer(Verdict.NOT_DECIDED, f"too few trials that are not DOUBTFUL: {answer.reason}; {told}")
    return Answer(answer.verdict, f"{answer.reason}; {told}")


def judge_bound(values: Sequence[float], unit: str, limits: Limits) -> Answer:
    """An absolute value, which other hardware neither confirms nor contradicts."""
    held = all(limits.at_least <= value <= limits.at_most for value in values)
    range_here = " to ".join(dict.fromkeys((_number(min(values)), _number(max(values)))))
    what = "kept" if held else "not kept"
    return Answer(
        Verdict.NOT_DECIDED,
        f"an absolute value, which no other hardware can decide: here {range_here} {unit}, claimed {limits.words()} "
        f"{unit}: {what} here",
    )


def combine(answers: Sequence[tuple[str, Answer]]) -> Answer:
    """The verdict of a claim from those of its parts, each with the words that tell it from the others."""
    if len(answers) == 1:
        return answers[0][1]
    by_verdict = {verdict: [(words, one) for words, one in answers if one.verdict is verdict] for verdict in Verdict}
    contradicted, confirmed = by_verdict[Verdict.CONTRADICTED], by_verdict[Verdict.CONFIRMED]
    if contradicted:
        held = f"; holds for {_listed(confirmed)}" if confirmed else ""
        return Answer(Verdict.CONTRADICTED, f"not so for {_listed(contradicted)}: {contradicted[0][1].reason}{held}")
    open_ones = by_verdict[Verdict.NOT_DECIDED]
    if not open_ones:
        return Answer(Verdict.CONFIRMED, f"holds for {_listed(confirmed)}")
    reasons = dict.fromkeys(one.reason for _, one in open_ones)
    held = f"holds for {_listed(confirmed)}; " if confirmed else ""
    if len(reasons) == 1:
        return Answer(Verdict.NOT_DECIDED, f"{held}{next(iter(reasons))}")
    first = open_ones[0]
    others = len(open_ones) - 1
    more = f" ({others} more {'part is' if others == 1 else 'parts are'} open)" if others else ""
    return Answer(Verdict.NOT_DECIDED, f"{held}open for {first[0]}: {first[1].reason}{more}")


def _listed(parts: Sequence[tuple[str, Answer]]) -> str:
    return "; ".join(words for words, _ in parts)


def _number(value: float) -> str:
    """Two or three significant digits: 0.042, 1.5, 12, 1,718."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}" if value >= 1 else f"{value:.2g}"
