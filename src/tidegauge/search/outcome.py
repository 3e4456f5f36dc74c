"""What a search came to for each goal, as data and in words."""

from __future__ import annotations

from dataclasses import dataclass

from tidegauge.model.trial import TrialResult
from tidegauge.search.goals import Goal, Verdict
from tidegauge.statistics.rounding import short


@dataclass(frozen=True)
class GoalOutcome:
    """The answer for one goal.

    Attributes:
        decided: whether the sustainable rate is known: confirmed, and something was broken above it.
        lower, upper: the bracket, msg/s: the highest rate that holds (as confirmed, where it is) and the lowest that
            does not; None where there is none.
        above: what was broken at `upper`, or why nothing is decided there.
        confirmation: the trial whose figures are published; None where none confirmed a rate.
        stepped_down: how many rates failed their confirmation before.
        trials: how many trials the search and the confirmations made, over all goals.
        problem: "" or why it is not decided.
        remark: "" or what a reader should know though it is decided.
    """

    goal: Goal
    decided: bool
    lower: float | None
    upper: float | None
    above: Verdict | None
    confirmation: TrialResult | None
    stepped_down: int
    trials: int
    problem: str = ""
    remark: str = ""

    @property
    def sustainable_msgs_per_s(self) -> float | None:
        """The published rate; None where none was confirmed."""
        return self.confirmation.spec.msgs_per_s if self.confirmation else None


def bracket(lower: float | None, upper: float | None) -> str:
    """ "[81,250, 85,300]"; "?" for a bound that is not known."""
    return f"[{_rate(lower)}, {_rate(upper)}]"


def sentence(outcome: GoalOutcome) -> str:
    """The answer in words."""
    parts = [_answer(outcome)]
    if outcome.above is not None and outcome.above.clause and outcome.decided:
        parts.append(f"at {_rate(outcome.upper)} msg/s {outcome.above.clause}")
    if outcome.stepped_down:
        rates = "1 higher rate" if outcome.stepped_down == 1 else f"{outcome.stepped_down} higher rates"
        parts.append(f"{rates} passed the search and failed the confirmation")
    if outcome.remark:
        parts.append(outcome.remark)
    if outcome.problem:
        parts.append(f"NOT DECIDED: {outcome.problem}")
    return f"{outcome.goal}: {'; '.join(parts)} ({outcome.trials} trials)"


def _answer(outcome: GoalOutcome) -> str:
    confirmed = outcome.confirmation
    if confirmed is None:
        known = f", the search was at {bracket(outcome.lower, outcome.upper)} msg/s" if outcome.lower else ""
        return f"no rate was confirmed{known}"
    least = "" if outcome.decided else "at least "
    found = f"sustains {least}{_rate(outcome.sustainable_msgs_per_s)} msg/s ({short(confirmed.mb_per_s)} MB/s)"
    known = f" {bracket(outcome.lower, outcome.upper)}" if outcome.decided else ""
    return f"{found}{known}, confirmed over {confirmed.measured_s:g} s"


def _rate(msgs_per_s: float | None) -> str:
    return "?" if msgs_per_s is None else f"{msgs_per_s:,.0f}"
