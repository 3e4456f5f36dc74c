"""What makes a rate sustainable, as clauses over one trial: each holds, or is broken by a figure that it names.

A trial passes a goal when all of these hold, in the order in which a broken one is named:
  * nothing was lost or damaged, and hardly anything failed;
  * the offered rate was achieved (to 2 %, or what chance allows with few messages);
  * no subscription's backlog grew: the interval of its slope lies above zero and the slope is more than 1 % of the
    rate. Both are needed: with little noise a meaningless slope is significant, with much noise none is zero;
  * consumers had everything when the time to drain ended, without which loss can't be judged;
  * the goal's own limits of latency hold.
A limit of a percentile that has too few samples decides nothing.

An INVALID trial is neither a pass nor a fail where the generator may have decided the answer: whatever was broken may
be its doing. INVALID speaks of latency figures, and a generator's own lag only adds to them. So where every clause
holds in spite of it, and the load was still offered as intended (own lag below 100 ms at p99), the answer is the
system's.

A fail is clear, and not tried again, where no single stall can have caused it: loss, more than 10 % too little, or a
median above a limit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from tidegauge.model.trial import Latency, LoadResult, Validity
from tidegauge.numbers import count, plural, rounded, trimmed
from tidegauge.statistics.classify import NO_OUTCOME_SHARE, RATE_SHORTFALL

BACKLOG_GROWTH_SHARE = 0.01
"""Consumers that fall behind by less than this share of the rate are within what the search resolves."""
INVALID = "invalid"
"""The kind of a verdict that an INVALID trial gives."""
OWN_LAG_MS_MAX = 100.0
"""A load whose messages are hardly ever later than this was offered as intended."""
CLEAR_SHARE = 0.10
"""Falling short by more than this of the rate, or a median above a limit, is not the work of one stall."""
_RESPONSE = "response"


class PassFail(StrEnum):
    """What a trial says about a goal. A CLEAR_FAIL is one by so much that no single stall explains it.

    UNDECIDED is neither a pass nor a fail.
    """

    PASS = "pass"
    FAIL = "fail"
    CLEAR_FAIL = "clear fail"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Limit:
    """An upper limit of a percentile ("p50", "p95", "p99", "p99.9") of a series ("response", "end-to-end")."""

    series: str
    percentile: str
    limit_ms: float

    def __str__(self) -> str:
        return f"{self.series} {self.percentile} <= {trimmed(self.limit_ms)} ms"


@dataclass(frozen=True)
class Goal:
    """A question of a search: the highest rate that is sustained within these limits."""

    name: str
    limits: tuple[Limit, ...] = ()

    def __str__(self) -> str:
        return f"{self.name} ({', '.join(map(str, self.limits))})" if self.limits else self.name


@dataclass(frozen=True)
class GoalVerdict:
    """A trial's outcome for one goal. `kind` and `clause` say what was broken, or why nothing is decided."""

    outcome: PassFail
    kind: str = ""
    clause: str = ""


def _broken_clause(kind: str, clause: str, clear: bool) -> GoalVerdict:
    """A clause that does not hold; `clear` where no single stall can have broken it."""
    return GoalVerdict(PassFail.CLEAR_FAIL if clear else PassFail.FAIL, kind, clause)


def judge_goal(goal: Goal, result: LoadResult) -> GoalVerdict:
    """Apply all clauses to an open-loop trial."""
    verdict = next(_broken_clauses(result), None) or _verdict_on_limits(goal, result)
    own_lag_ms = result.own_lag.p99_ms
    # Whether the generator offered the load as intended.
    offered = own_lag_ms is not None and own_lag_ms <= OWN_LAG_MS_MAX
    if result.validity is Validity.INVALID and not (verdict.outcome is PassFail.PASS and offered):
        return GoalVerdict(PassFail.UNDECIDED, INVALID, f"INVALID: {result.reasons[0]}")
    return verdict


def _broken_clauses(result: LoadResult) -> Iterator[GoalVerdict]:
    """What is broken whatever the goal: clauses on loss, then on the rate, then on the backlog."""
    for sub in result.subscriptions:
        if sub.lost:
            yield _broken_clause("loss", f"{plural(sub.lost, 'acknowledged message')} got lost on {sub.name}", True)
        if sub.corrupt:
            yield _broken_clause("damage", f"{plural(sub.corrupt, 'message')} arrived damaged on {sub.name}", True)
    if result.failed >= NO_OUTCOME_SHARE * max(1, result.sent):
        yield _broken_clause("failed sends", f"{result.failed:,} of {result.sent:,} messages failed to be sent", False)
    offered = result.offered_msgs_per_s or 0.0
    tolerance = max(RATE_SHORTFALL, 3 / math.sqrt(max(1.0, offered * result.measured_s)))
    if result.msgs_per_s < (1 - tolerance) * offered:
        percent = math.floor(1000 * result.msgs_per_s / offered) / 10
        yield _broken_clause(
            "rate", f"achieved {trimmed(percent)} % of the offered rate", percent / 100 < 1 - CLEAR_SHARE
        )
    for sub in result.subscriptions:
        slope = sub.backlog_growth
        if slope is not None and slope.low_per_s > 0 and slope.per_s > BACKLOG_GROWTH_SHARE * offered:
            interval = f"[{slope.low_per_s:,.0f}, {slope.high_per_s:,.0f}]"
            clause = f"backlog grew by {slope.per_s:,.0f} msg/s {interval} on {sub.name}"
            yield _broken_clause("backlog", clause, slope.low_per_s > CLEAR_SHARE * offered)
    for sub in result.subscriptions:
        if sub.late or sub.untraced:
            # Waiting ended because nothing more came, so no length of time is named.
            missing = plural(sub.late + sub.untraced, "acknowledged message")
            why = "and whether they are lost is not known" if sub.untraced else "though they are in the topic"
            if sub.late and sub.untraced:
                why = f"though {sub.late:,} of them are in the topic; whether the others are lost is not known"
            yield _broken_clause("backlog", f"{missing} never came to {sub.name}, {why}", False)
        elif sub.backlog:
            limit = f"{trimmed(result.spec.drain_s_max)} s"
            clause = f"{sub.name} was still {sub.backlog:,} messages behind {limit} after the load ended"
            yield _broken_clause("backlog", clause, False)


def _verdict_on_limits(goal: Goal, result: LoadResult) -> GoalVerdict:
    undecided = GoalVerdict(PassFail.PASS)
    for limit in goal.limits:
        for where, latency, least, most in _latencies_of_series(limit.series, result):
            least_ms, most_ms = least.percentile_ms(limit.percentile), most.percentile_ms(limit.percentile)
            if least_ms is None or most_ms is None:
                undecided = GoalVerdict(PassFail.UNDECIDED, "samples", _why_missing(limit.percentile, latency))
            elif least_ms > limit.limit_ms:
                least_words = _time_above_limit(least_ms, limit.limit_ms)
                clause = f"{limit.series} {limit.percentile} {least_words} ms > {trimmed(limit.limit_ms)} ms{where}"
                clear = (least.p50_ms or 0.0) > limit.limit_ms
                return _broken_clause(f"{limit.series} {limit.percentile}", clause, clear)
            elif most_ms > limit.limit_ms:
                within = f"{rounded(least_ms)} to {rounded(most_ms)} ms"
                in_doubt = f"clocks of load hosts leave {limit.series} {limit.percentile} at {within}{where}"
                undecided = GoalVerdict(PassFail.UNDECIDED, "clocks", in_doubt)
    if not result.subscriptions and any(limit.series != _RESPONSE for limit in goal.limits):
        return GoalVerdict(PassFail.UNDECIDED, "samples", "nobody reads, so nothing has an end-to-end time")
    return undecided


def _why_missing(percentile: str, latency: Latency) -> str:
    """Why a percentile is not known: there are too few messages, or those without an outcome would decide it."""
    # Loaded here: it needs numpy, and a plan does without it.
    from tidegauge.statistics.histograms import SAMPLES_MIN

    if latency.count < SAMPLES_MIN[float(percentile.removeprefix("p"))]:
        return f"too few messages for a {percentile} ({latency.count:,}); measure longer"
    return f"messages without an outcome leave the {percentile} of the {latency.count:,} others unknown"


def _time_above_limit(value_ms: float, limit_ms: float) -> str:
    """A time with as many digits, three at least, as show that it is above a limit."""
    shown = (rounded(value_ms, digits) for digits in range(3, 17))
    return next((text for text in shown if float(text.replace(",", "")) > limit_ms), repr(value_ms))


def _latencies_of_series(name: str, result: LoadResult) -> Iterator[tuple[str, Latency, Latency, Latency]]:
    """Yields where, the latency, and what it is at least and at most: the same on one clock."""
    if name == _RESPONSE:
        yield "", result.response, result.response, result.response
        return
    for sub in result.subscriptions:
        middle = sub.end_to_end
        yield f" on {sub.name}", middle, sub.end_to_end_low or middle, sub.end_to_end_high or middle


@dataclass(frozen=True)
class GoalOutcome:
    """The answer for one goal.

    Attributes:
        lower_msgs_per_s, upper_msgs_per_s: the bracket: the highest rate that holds (as confirmed, where it is) and the
            lowest that does not; None where there is none.
        above: what was broken at the upper rate, or why nothing is decided there.
        confirmation: the trial whose figures are published; None where none confirmed a rate.
        stepped_down: how many rates failed their confirmation before.
        problem: "" or why it is not decided.
        remark: "" or what a reader should know though it is decided.
    """

    goal: Goal
    lower_msgs_per_s: float | None = None
    upper_msgs_per_s: float | None = None
    above: GoalVerdict | None = None
    confirmation: LoadResult | None = None
    stepped_down: int = 0
    problem: str = ""
    remark: str = ""

    @property
    def decided(self) -> bool:
        """Whether the sustainable rate is known: confirmed, and something was broken above it."""
        return self.confirmation is not None and not self.problem

    @property
    def sustainable_msgs_per_s(self) -> float | None:
        """The published rate; None where none was confirmed."""
        return self.confirmation.spec.msgs_per_s if self.confirmation else None


def doubt_of_confirmation(confirmation: LoadResult) -> str:
    """What must be read with a confirmation that held, "" if it is valid."""
    if confirmation.validity is Validity.VALID:
        return ""
    validity_words = "DOUBTFUL" if confirmation.validity is Validity.DOUBTFUL else "no measure of latency"
    return f"the confirmation is {validity_words}: {confirmation.reasons[0]}"


def bracket_words(lower_msgs_per_s: float | None, upper_msgs_per_s: float | None) -> str:
    """ "[81,250, 85,300]"; "?" for a bound that is not known."""
    return f"[{_rate_words(lower_msgs_per_s)}, {_rate_words(upper_msgs_per_s)}]"


def goal_sentence(outcome: GoalOutcome, trials: int) -> str:
    """The answer in words. `trials`: how many the search and the confirmations made, over all goals."""
    parts = [_answer_words(outcome)]
    if outcome.above is not None and outcome.above.clause and outcome.decided:
        parts.append(f"at {_rate_words(outcome.upper_msgs_per_s)} msg/s {outcome.above.clause}")
    if outcome.stepped_down:
        parts.append(_stepped_down_words(outcome))
    if outcome.remark:
        parts.append(outcome.remark)
    if outcome.problem:
        parts.append(f"NOT DECIDED: {outcome.problem}")
    return f"{outcome.goal}: {'; '.join(parts)} ({plural(trials, 'trial')})"


def _stepped_down_words(outcome: GoalOutcome) -> str:
    """Which rates failed their confirmation. Only the highest of them is one that the search ended at."""
    others = outcome.stepped_down - 1
    if outcome.confirmation is None:
        more = f", and {others} below it failed theirs" if others else ""
        return f"the rate that passed the search failed the confirmation{more}"
    more = f", and {others} between failed theirs" if others else ""
    return f"a higher rate passed the search and failed the confirmation{more}"


def _answer_words(outcome: GoalOutcome) -> str:
    confirmed = outcome.confirmation
    if confirmed is None:
        search_end = (
            f", the search was at {bracket_words(outcome.lower_msgs_per_s, outcome.upper_msgs_per_s)} msg/s"
            # Below what failed its confirmation no search was.
            if outcome.lower_msgs_per_s and not outcome.stepped_down
            else ""
        )
        return f"no rate was confirmed{search_end}"
    least = "" if outcome.decided else "at least "
    answer = f"sustains {least}{_rate_words(outcome.sustainable_msgs_per_s)} msg/s ({rounded(confirmed.mb_per_s)} MB/s)"
    search_end = f" {bracket_words(outcome.lower_msgs_per_s, outcome.upper_msgs_per_s)}" if outcome.decided else ""
    return f"{answer}{search_end}, confirmed over {trimmed(confirmed.measured_s)} s"


def _rate_words(msgs_per_s: float | None) -> str:
    return "?" if msgs_per_s is None else count(msgs_per_s)
