"""The search for the sustainable rate of each goal, then its confirmation. What measures is given to it.

RFC 9971 searches for several goals at once, and every trial counts for all of them. A load is a lower bound of a goal
or an upper one by the share of its trials that met the goal; the relevant upper bound is the lowest upper bound, the
relevant lower bound the highest lower bound below it (so a rate that passes above one that fails is not believed).

Goals have the attributes of the RFC's "TST009" example, in units of one trial: duration sum two trials, exceed ratio
50 %. So one pass makes a lower bound, and a fail is tried again: two fails make an upper bound, and a pass after a fail
makes a lower one, because a single stall must not decide what is found. A fail that no stall explains (`CLEAR_FAIL`) is
not tried again.

What differs from the package's own use:
  * a trial meets a goal by its clauses and not by its loss ratio, so each goal's statistics get their own outcome,
    given to the package as a loss of none or all (`_Controller.measure`);
  * the search begins with low loads and not with the highest, since an overloaded broker stays slow for a while;
  * an undecided load counts as one not to go above, and is remembered as undecided by whoever asked.

Search and measurement are apart: a search looks at many rates and ends at the one that passed, so its own figures are
the luckier ones. The published figure is that of another, longer trial at the rate found, on fresh servers. Where that
fails, the search goes down by one width and tries again, a bounded number of times, and says so.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from MLRsearch import AbstractMeasurer, Config, MeasurementResult, MultipleLossRatioSearch, SearchGoal
from MLRsearch.discrete_load import DiscreteLoad
from MLRsearch.discrete_result import DiscreteResult
from MLRsearch.load_stats import LoadStats

from tidegauge.model.reason import ReasonKind
from tidegauge.model.trial import LoadResult
from tidegauge.numbers import count
from tidegauge.search.goals import (
    INVALID,
    Goal,
    GoalOutcome,
    GoalVerdict,
    PassFail,
    bracket_words,
    doubt_of_confirmation,
    judge_goal,
)

_ONE_TRIAL = 1.0
_WEIGHT = {outcome: _ONE_TRIAL / 2 if outcome is PassFail.FAIL else _ONE_TRIAL for outcome in PassFail}
"""How much of the needed duration sum a trial makes up: only a fail that a stall may explain needs a second."""

Ask = Callable[[float], Sequence[PassFail]]
"""Makes a trial at a rate and reports its outcome for each goal. Raises `EnoughError` when no more may be made."""


class EnoughError(Exception):
    """No more trials may be made: the search ends with the bounds that it has."""


@dataclass(frozen=True)
class Space:
    """Where to search, msg/s.

    Attributes:
        begin: the first rate, and the second if some goal passes at the first; both within the bounds.
        width: how far apart bounds may be at the end, as a share of the upper one.
        max_given: whether the highest rate was asked for. If not, it is one beyond which nobody expects the answer.
    """

    min_msgs_per_s: float
    max_msgs_per_s: float
    begin: tuple[float, float]
    width: float
    max_given: bool = True


@dataclass(frozen=True)
class Bounds:
    """The highest rate that passed a goal below the lowest that did not; None where there is none (yet)."""

    lower_msgs_per_s: float | None = None
    upper_msgs_per_s: float | None = None


def _make_controller(goals: int, space: Space, ask: Ask) -> _Controller:
    """The package's controller of a search for so many goals."""
    config = Config()
    # The package checks each against the other, whose default is 9001 to 10^9.
    config.min_load = min(space.min_msgs_per_s, config.min_load)
    config.max_load = space.max_msgs_per_s
    config.min_load = space.min_msgs_per_s
    config.warmup_duration = 0.0
    config.search_duration_max = 1e9
    config.goals = [_search_goal(number, space.width) for number in range(goals)]
    controller = _Controller(config=config)
    controller.ask, controller.begin = ask, space.begin
    return controller


def _search_goal(number: int, width: float) -> SearchGoal:
    """The package distinguishes goals by their loss ratio; any between none and all means the same here."""
    return SearchGoal(
        loss_ratio=number / 1000,
        exceed_ratio=0.5,
        relative_width=width,
        initial_trial_duration=_ONE_TRIAL,
        final_trial_duration=_ONE_TRIAL,
        duration_sum=_ONE_TRIAL,
        preceding_targets=0,
        expansion_coefficient=2,
        fail_fast=False,
    )


def _rate_of_load(load: DiscreteLoad | None) -> float | None:
    return None if load is None else float(load)


class _Unused(AbstractMeasurer):  # type: ignore[misc]
    """The package wants a measurer; `_Controller` asks by itself."""

    def measure(self, intended_duration: float, intended_load: float) -> MeasurementResult:
        raise AssertionError("the controller measures")


class _Controller(MultipleLossRatioSearch):  # type: ignore[misc]
    """The package's controller with another beginning and outcomes by goal."""

    ask: Ask
    begin: tuple[float, float]

    def bounds(self) -> list[Bounds]:
        """The bounds of each goal as they stand; may be asked while the search goes on."""
        if getattr(self, "database", None) is None:
            return [Bounds()] * len(self.config.goals)
        relevant = [self.database.get_relevant_bounds(target) for target in self.scaling.targets]
        return [Bounds(_rate_of_load(pair.clo), _rate_of_load(pair.chi)) for pair in relevant]

    def run_initial_trials(self) -> tuple[DiscreteResult, DiscreteResult]:
        """Low loads first: the second is tried only when a goal passes at the first."""
        first, second = (self.from_float(msgs_per_s).rounded_down() for msgs_per_s in self.begin)
        below = self.measure(_ONE_TRIAL, first)
        if second <= first or not any(self._goals_passed(first)):
            return below, below
        above = self.measure(_ONE_TRIAL, second)
        # Once both pass, the search goes up in small steps from the second, not by the distance between the two.
        return (above if any(self._goals_passed(second)) else below), above

    def measure(self, duration: float, load: DiscreteLoad) -> DiscreteResult:
        """One trial, whose outcome for each goal goes into that goal's statistics."""
        outcomes = self.ask(float(load))
        key = load.hashable()
        stats = self.database.load_to_stats
        if key not in stats:
            empty = LoadStats.new_empty(load=key, targets=self.scaling.targets)
            self.database.load_to_stats = stats = dict(sorted({**stats, key: empty}.items()))
        results = [self._result_of_outcome(duration, load, outcome) for outcome in outcomes]
        for target, result in zip(self.scaling.targets, results, strict=True):
            stats[key].target_to_stat[target].add(result)
        return results[0]

    def _result_of_outcome(self, duration: float, load: DiscreteLoad, outcome: PassFail) -> DiscreteResult:
        result = MeasurementResult(
            intended_duration=duration,
            intended_load=float(load),
            offered_count=1,
            loss_count=0 if outcome is PassFail.PASS else 1,
            duration_with_overheads=_WEIGHT[outcome],
        )
        return DiscreteResult.with_load(result=result, load=load)

    def _goals_passed(self, load: DiscreteLoad) -> list[bool]:
        stats = self.database.load_to_stats[load.hashable()]
        return [stats.estimates(target) == (True, True) for target in self.scaling.targets]


INVALID_REPEATS_MAX = 1
"""How often an INVALID trial is made again, before its rate counts as undecided."""
FAIL_REPEATS_MAX = 1
STEPS_DOWN_MAX = 3
"""How often a confirmation may fail before the search gives up."""


@dataclass(frozen=True)
class Callbacks:
    """What a search works with. `announce` takes a sentence, and the trials and confirmations expected yet.

    `run_search_trial` and `run_confirmation` make a trial at a rate; the latter on `fresh` servers, but where others
    run them or the campaign shares them.
    """

    run_search_trial: Callable[[float], LoadResult]
    run_confirmation: Callable[[float], LoadResult]
    announce: Callable[[str, int, int], None]
    fresh: bool = True


@dataclass(frozen=True)
class _Step:
    msgs_per_s: float
    verdicts: tuple[GoalVerdict, ...]


class SustainedSearch:
    """One search, for all goals at once."""

    def __init__(
        self, goals: Sequence[Goal], space: Space, trials_max: int, callbacks: Callbacks, made_before: int = 0
    ) -> None:
        """`trials_max` bounds the search, of which so many were `made_before`; confirmations come on top."""
        self._goals = tuple(goals)
        self._space = space
        self._trials_max = trials_max
        self._made_before = made_before
        self._callbacks = callbacks
        self._steps: list[_Step] = []
        self._confirmations: dict[float, list[LoadResult]] = {}
        # Of goals that are confirmed or on the way: what is known so far.
        self._outcomes: dict[str, GoalOutcome] = {}
        self._controller = _make_controller(len(self._goals), space, self._outcomes_at_rate)
        self._ran_out = False

    @property
    def _trials_allowed(self) -> int:
        """Trials that may be made yet."""
        return self._trials_max - self._made_before - len(self._steps)

    def run(self) -> tuple[GoalOutcome, ...]:
        """Search, then confirm. Errors of the trials pass through."""
        with contextlib.suppress(EnoughError):
            self._controller.search(measurer=_Unused(), debug=lambda _: None)
        for number, outcome in enumerate(self._outcomes_so_far()):
            self._outcomes[outcome.goal.name] = self._confirm_goal(outcome, len(self._goals) - number)
        return tuple(self._outcomes[goal.name] for goal in self._goals)

    def unfinished(self, problem: str) -> tuple[GoalOutcome, ...]:
        """What is known of each goal when something ended the search: of one that was confirmed, its answer."""
        outcomes = [self._outcomes.get(outcome.goal.name, outcome) for outcome in self._outcomes_so_far()]
        return tuple(
            outcome if outcome.confirmation or outcome.problem else replace(outcome, problem=problem)
            for outcome in outcomes
        )

    def _outcomes_so_far(self) -> list[GoalOutcome]:
        """The bounds of each goal as they stand."""
        return [
            GoalOutcome(goal, at.lower_msgs_per_s, at.upper_msgs_per_s, self._verdict_at(number, at.upper_msgs_per_s))
            for number, (goal, at) in enumerate(zip(self._goals, self._controller.bounds(), strict=True))
        ]

    def _outcomes_at_rate(self, msgs_per_s: float) -> tuple[PassFail, ...]:
        """A trial at a rate, made again if it is INVALID. Raises `EnoughError` at the limit of trials."""
        for attempt in range(1 + INVALID_REPEATS_MAX):
            if self._trials_allowed <= 0:
                self._ran_out = True
                raise EnoughError
            result = self._callbacks.run_search_trial(msgs_per_s)
            verdicts = tuple(judge_goal(goal, result) for goal in self._goals)
            self._steps.append(_Step(msgs_per_s, verdicts))
            spoilt = [verdict for verdict in verdicts if verdict.kind == INVALID]
            if not spoilt or attempt == INVALID_REPEATS_MAX or self._trials_allowed <= 0:
                break
            self._announce_search(f"{_rate_words(msgs_per_s)}: {spoilt[0].clause}; made again")
        self._announce_search(f"{_rate_words(msgs_per_s)}: {self._verdicts_in_words(msgs_per_s, verdicts)}")
        return tuple(verdict.outcome for verdict in verdicts)

    def _verdicts_in_words(self, msgs_per_s: float, verdicts: Sequence[GoalVerdict]) -> str:
        """ "pass [40,000, ?]", "fail: backlog grew by ... [?, 40,000]", for each goal where they differ."""
        if len(set(verdicts)) == 1:
            numbers = range(len(self._goals))
            again = any(self._is_tried_again(number, msgs_per_s) for number in numbers)
            brackets = ", ".join(dict.fromkeys(map(self._goal_bracket, numbers)))
            return f"{_verdict_words(verdicts[0], again)} {brackets}"
        return "; ".join(
            f"'{goal.name}' {_verdict_words(verdict, self._is_tried_again(number, msgs_per_s))} "
            f"{self._goal_bracket(number)}"
            for number, (goal, verdict) in enumerate(zip(self._goals, verdicts, strict=True))
        )

    def _is_tried_again(self, number: int, msgs_per_s: float) -> bool:
        """Whether a goal needs a second trial at a rate that it has just failed at, and may have it.

        Above a rate that it failed at for good no other trial is of any use to it.
        """
        outcomes = [step.verdicts[number].outcome for step in self._steps if step.msgs_per_s == msgs_per_s]
        once = outcomes.count(PassFail.FAIL) == 1 and PassFail.PASS not in outcomes
        return once and self._trials_allowed > 0 and self._goal_bounds(number)[1] == msgs_per_s

    def _goal_bounds(self, number: int) -> tuple[float | None, float | None]:
        """A goal's bounds as the trials so far have them."""
        passed = {step.msgs_per_s for step in self._steps if step.verdicts[number].outcome is PassFail.PASS}
        upper = min((step.msgs_per_s for step in self._steps if step.msgs_per_s not in passed), default=None)
        return max((msgs_per_s for msgs_per_s in passed if upper is None or msgs_per_s < upper), default=None), upper

    def _goal_bracket(self, number: int) -> str:
        return bracket_words(*self._goal_bounds(number))

    def _announce_search(self, text: str) -> None:
        # About how many trials the search needs yet: halvings of each bracket, with the fails that are tried again.
        trials = 0.0
        for bounds in self._controller.bounds():
            if bounds.lower_msgs_per_s is None or bounds.upper_msgs_per_s is None:
                trials += 6
            elif bounds.upper_msgs_per_s > bounds.lower_msgs_per_s:
                widths = math.log(bounds.upper_msgs_per_s / bounds.lower_msgs_per_s) / -math.log1p(-self._space.width)
                trials += 1.5 * math.ceil(math.log2(max(1.0, widths)))
        self._callbacks.announce(f"{text}.", min(self._trials_allowed, math.ceil(trials)), len(self._goals))

    def _confirm_goal(self, outcome: GoalOutcome, confirmations: int) -> GoalOutcome:
        """Confirm what was found for one goal."""
        outcome = replace(outcome, problem=self._why_open(outcome))
        name, lower = outcome.goal.name, outcome.lower_msgs_per_s
        if lower is None:
            self._callbacks.announce(f"'{name}': no rate was found: {outcome.problem}.", 0, confirmations - 1)
            return outcome
        was_made = lower in self._confirmations
        where = ", on fresh servers" if self._callbacks.fresh else ""
        next_step = "whose confirmation was made" if was_made else f"now its confirmation{where}"
        text = f"'{name}': found {bracket_words(lower, outcome.upper_msgs_per_s)}: {_rate_words(lower)}, {next_step}."
        self._callbacks.announce(text, 0, confirmations - was_made)
        return self._confirm_stepping_down(outcome, lower)

    def _why_open(self, outcome: GoalOutcome) -> str:
        """ "" or why the bounds of a goal leave its sustainable rate open."""
        above = outcome.above
        if outcome.lower_msgs_per_s is None:
            lowest = min((step.msgs_per_s for step in self._steps), default=0.0)
            why = f": {above.clause}" if above and above.clause else ""
            return f"not even {_rate_words(lowest)} passed{why}"
        if outcome.upper_msgs_per_s is None:
            end = "that is max-rate: raise it" if self._space.max_given else "without max-rate nothing higher is tried"
            if self._ran_out:
                end = f"the limit of {self._trials_max} trials was reached"
            return f"nothing was broken up to {_rate_words(outcome.lower_msgs_per_s)}, and {end}"
        if above is not None and above.outcome is PassFail.UNDECIDED:
            return f"at {_rate_words(outcome.upper_msgs_per_s)} {above.clause}"
        return ""

    def _verdict_at(self, number: int, msgs_per_s: float | None) -> GoalVerdict | None:
        """Why a goal's upper bound is one: its last fail if fails decided it, else the last that decided nothing."""
        verdicts = [step.verdicts[number] for step in self._steps if step.msgs_per_s == msgs_per_s]
        fails = [verdict for verdict in verdicts if verdict.outcome in (PassFail.FAIL, PassFail.CLEAR_FAIL)]
        undecided = [verdict for verdict in verdicts if verdict.outcome is PassFail.UNDECIDED]
        if any(verdict.outcome is PassFail.CLEAR_FAIL for verdict in fails) or len(fails) > FAIL_REPEATS_MAX:
            return fails[-1]
        return next(reversed(undecided or fails), None)

    def _confirm_stepping_down(self, outcome: GoalOutcome, msgs_per_s: float) -> GoalOutcome:
        """Confirm a rate, stepping down where that fails."""
        for steps_down in range(1 + STEPS_DOWN_MAX):
            result, verdict = self._confirm_rate(outcome.goal, msgs_per_s)
            outcome = replace(outcome, lower_msgs_per_s=msgs_per_s, stepped_down=steps_down)
            if verdict.outcome is PassFail.PASS:
                return replace(outcome, confirmation=result, remark=self._remark_on_confirmation(outcome, result))
            if verdict.outcome is PassFail.UNDECIDED:
                return replace(
                    outcome, problem=f"the confirmation at {_rate_words(msgs_per_s)} decided nothing: {verdict.clause}"
                )
            # What was undecided above no longer matters: something is broken below it.
            problem = f"no confirmation held; the last, at {_rate_words(msgs_per_s)}: {verdict.clause}"
            outcome = GoalOutcome(outcome.goal, None, msgs_per_s, verdict, stepped_down=steps_down + 1)
            self._outcomes[outcome.goal.name] = outcome
            lower = max(self._space.min_msgs_per_s, msgs_per_s * (1 - self._space.width))
            if lower >= msgs_per_s:
                break
            msgs_per_s = lower
        return replace(outcome, problem=problem)

    def _confirm_rate(self, goal: Goal, msgs_per_s: float) -> tuple[LoadResult, GoalVerdict]:
        """The confirmation at a rate, made again where it is INVALID or a stall may explain its fail."""
        results = self._confirmations.setdefault(msgs_per_s, [])
        verdicts = [judge_goal(goal, result) for result in results]
        while True:
            # One that is made again for another goal, which it may just have missed, excuses no clear fail of this one.
            for ending in (PassFail.CLEAR_FAIL, PassFail.PASS):
                for result, verdict in zip(results, verdicts, strict=True):
                    if verdict.outcome is ending:
                        return result, verdict
            fails = sum(verdict.outcome is PassFail.FAIL for verdict in verdicts)
            undecided = sum(verdict.outcome is PassFail.UNDECIDED for verdict in verdicts)
            if fails > FAIL_REPEATS_MAX or undecided > INVALID_REPEATS_MAX:
                return results[-1], verdicts[-1]
            results.append(self._callbacks.run_confirmation(msgs_per_s))
            verdicts.append(judge_goal(goal, results[-1]))
            self._callbacks.announce(
                f"Confirmation of {_rate_words(msgs_per_s)}: {_plain_verdict(verdicts[-1])}.", 0, 0
            )

    def _remark_on_confirmation(self, outcome: GoalOutcome, result: LoadResult) -> str:
        """ "" or what must be read with a confirmation that held."""
        lower, upper = outcome.lower_msgs_per_s or 0.0, outcome.upper_msgs_per_s
        doubts = list(filter(None, [doubt_of_confirmation(result)]))
        verdicts = [judge_goal(outcome.goal, confirmation) for confirmation in self._confirmations[lower]]
        if failed := next((verdict.clause for verdict in verdicts if verdict.outcome is PassFail.FAIL), ""):
            doubts.append(f"another confirmation at the same rate failed: {failed}")
        if doubts:
            return "; ".join(doubts)
        for warning in result.warnings:
            if warning.kind is ReasonKind.NEAR_GENERATOR:
                return str(warning)
        width = 0.0 if upper is None else 1 - lower / upper
        if width > 1.01 * self._space.width and self._ran_out and not outcome.problem:
            return f"the bracket is {width:.0%} wide, since {self._trials_max} trials were allowed"
        return ""


def _plain_verdict(verdict: GoalVerdict) -> str:
    outcome = PassFail.FAIL if verdict.outcome is PassFail.CLEAR_FAIL else verdict.outcome
    return f"{outcome.value}: {verdict.clause}" if verdict.clause else outcome.value


def _verdict_words(verdict: GoalVerdict, again: bool) -> str:
    """A verdict, and that its rate is tried again."""
    next_step = ", to be tried again" if again else ""
    return f"{_plain_verdict(verdict)}{next_step}"


def _rate_words(msgs_per_s: float) -> str:
    return f"{count(msgs_per_s)} msg/s"
