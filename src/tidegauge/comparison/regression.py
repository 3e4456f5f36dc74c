"""Whether figures got worse from one run to another by more than was allowed. Pure.

| outcome | when |
| --- | --- |
| regressed | the whole interval of the ratio lies beyond the limit |
| no regression | the whole interval lies within it: equal, better, or worse by less than was allowed |
| not decided | anything else |

It is not decided where the interval holds the limit or a side has fewer than three repeats, and where a difference
would say nothing of the system: the machines are of different kinds, or the two runs were not asked the same.

A limit is a share of the earlier figure: 10 % of a time of 20 ms allows 22 ms, 5 % of 1,000 msg/s allows 950 msg/s.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from tidegauge.comparison.across import SAME_KIND, ComparedPair, RunComparison
from tidegauge.comparison.within import Ratio
from tidegauge.errors import did_you_mean
from tidegauge.model.trial import LoadResult
from tidegauge.statistics.figures import Figure, FindingFigure, Shown, figures_found, figures_shown
from tidegauge.statistics.intervals import BLOCKS_MAX, BLOCKS_MIN, Interval, blocks_needed

RATE_SHARE = 0.05
TIME_SHARE = 0.10
"""Allowed where nobody says otherwise. Times move more from day to day than rates do."""
SHARE_MAX = 10.0
OFFERED_SHARE_MAX = 0.02
"""Offered rates that differ by more make two questions; shares of a rate that each run found itself often do."""


def _figures_judged() -> dict[str, Figure | FindingFigure]:
    figures: tuple[Figure | FindingFigure, ...] = (*figures_shown(Shown.ACROSS), *figures_found(Shown.ACROSS))
    return {figure.name: figure for figure in figures}


@dataclass(frozen=True)
class AllowedLoss:
    """By which share each figure may get worse. `every` = all without a share of their own; None = the defaults."""

    every: float | None = None
    by_figure: Mapping[str, float] = field(default_factory=dict)

    def share_of(self, figure: str) -> float:
        """The share that is allowed for a figure, by its name."""
        judged = _figures_judged()[figure]
        default = RATE_SHARE if judged.higher_is_better else TIME_SHARE
        return self.by_figure.get(figure, default if self.every is None else self.every)


def parse_allowed(texts: Sequence[str]) -> AllowedLoss:
    """What `--regression` allows: "5%" for every figure, "response_ms_p99=10%" for one. Raises `ValueError`."""
    every: float | None = None
    by_figure: dict[str, float] = {}
    judged = _figures_judged()
    for text in texts:
        name, equals, share_text = text.rpartition("=")
        name = name.strip()
        if equals and name not in judged:
            raise ValueError(
                f"--regression {text}: '{name}' is no figure that runs are compared by{did_you_mean(name, [*judged])}; "
                f"there are {', '.join(judged)}"
            )
        share = _parse_share(share_text.strip(), text)
        if share >= 1 and (not name or judged[name].higher_is_better):
            raise ValueError(f"--regression {text}: a rate can't fall by 100% or more; give a smaller share")
        if (name in by_figure) if name else (every is not None):
            raise ValueError(f"--regression {text}: {name or 'every figure'} is given twice")
        if name:
            by_figure[name] = share
        else:
            every = share
    return AllowedLoss(every, by_figure)


def _parse_share(share_text: str, text: str) -> float:
    try:
        share = float(share_text.removesuffix("%")) / 100 if share_text.endswith("%") else math.nan
    except ValueError:
        share = math.nan
    if not 0 <= share <= SHARE_MAX:
        raise ValueError(
            f"--regression {text}: must be a share from 0% to {SHARE_MAX:.0%}, such as 5% for every figure or "
            "response_ms_p99=10% for one"
        )
    return share


class RegressionOutcome(StrEnum):
    """What is said of one figure."""

    REGRESSED = "regressed"
    NONE = "no regression"
    NOT_DECIDED = "not decided"


@dataclass(frozen=True)
class RegressionRuling:
    """One figure of one system judged.

    Attributes:
        allowed: the share by which it may be worse.
        limit: the ratio from which on it is.
        repeats_needed: in each run, to decide with 80 % power by the spread seen; None where that is not the question
            or the spread is unknown.
        why: what keeps it from being decided, if it is not the interval.
    """

    pair: ComparedPair
    ratio: Ratio
    allowed: float
    limit: float
    outcome: RegressionOutcome
    repeats_needed: int | None = None
    why: str = ""


@dataclass(frozen=True)
class RegressionJudgement:
    """All figures judged, and what of the earlier run the later one has nothing of, so that it can't be."""

    rulings: tuple[RegressionRuling, ...]
    missing: tuple[str, ...] = ()

    @property
    def outcome(self) -> RegressionOutcome:
        """Regressed if any figure is; not decided if any is not, or nothing could be judged."""
        outcomes = {ruling.outcome for ruling in self.rulings}
        if RegressionOutcome.REGRESSED in outcomes:
            return RegressionOutcome.REGRESSED
        open_question = self.missing or not outcomes or RegressionOutcome.NOT_DECIDED in outcomes
        return RegressionOutcome.NOT_DECIDED if open_question else RegressionOutcome.NONE


def judge_regressions(compared: RunComparison, allowed: AllowedLoss) -> RegressionJudgement:
    """Every figure that the runs have in common against what is allowed."""
    rulings = tuple(
        _rule_on_ratio(pair, ratio, allowed.share_of(ratio.name), _why_not_comparable(pair, compared))
        for pair in compared.pairs
        for ratio in pair.ratios
    )
    without_figures = tuple(
        f"{pair.system} in {pair.experiment}: no figure that both have" for pair in compared.pairs if not pair.ratios
    )
    return RegressionJudgement(rulings, (*without_figures, *compared.unmatched))


def _why_not_comparable(pair: ComparedPair, compared: RunComparison) -> str:
    """Why a difference between two runs says nothing about the system, or ""."""
    letters = [letter for letter, _ in compared.runs]
    places = letters.index(pair.baseline_run), letters.index(pair.run)
    for difference in compared.differences:
        sides = {difference.values[place] for place in places}
        if difference.kind == "host" and difference.what in SAME_KIND and len(sides) > 1:
            return f"the machines are of different kinds ({difference.words})"
    before, after = _first_load(pair.baseline_results), _first_load(pair.results)
    if before is None or after is None:
        return ""
    if before.spec.workload.neutral() != after.spec.workload.neutral():
        return "the workloads differ"
    rates = before.offered_msgs_per_s, after.offered_msgs_per_s
    if rates[0] and rates[1] and abs(math.log(rates[1] / rates[0])) > math.log1p(OFFERED_SHARE_MAX):
        return f"the offered rates differ ({rates[0]:,.12g} and {rates[1]:,.12g} msg/s)"
    return ""


def _first_load(results: Iterable[object]) -> LoadResult | None:
    return next((result for result in results if isinstance(result, LoadResult)), None)


def _rule_on_ratio(pair: ComparedPair, ratio: Ratio, allowed: float, why: str) -> RegressionRuling:
    higher_is_better = _figures_judged()[ratio.name].higher_is_better
    limit = 1 - allowed if higher_is_better else 1 + allowed
    interval = ratio.comparison.interval
    outcome, repeats = RegressionOutcome.NOT_DECIDED, None
    if not why:
        if interval is None or interval.blocks < BLOCKS_MIN:
            repeats = BLOCKS_MIN
        elif (interval.high < limit) if higher_is_better else (interval.low > limit):
            outcome = RegressionOutcome.REGRESSED
        elif (interval.low >= limit) if higher_is_better else (interval.high <= limit):
            outcome = RegressionOutcome.NONE
        else:
            repeats = _repeats_to_exclude(interval, limit)
    return RegressionRuling(pair, ratio, allowed, limit, outcome, repeats, why)


def _repeats_to_exclude(interval: Interval, limit: float) -> int:
    """How many repeats in each run would move the interval off the limit with 80 % power, by the spread seen."""
    distance = math.exp(abs(math.log(interval.estimate / limit))) / (1 + interval.resolution) - 1
    if distance <= 0 or interval.deviation <= 0:
        return BLOCKS_MAX + 1
    return max(interval.blocks + 1, blocks_needed(interval.deviation, distance, paired=False))
