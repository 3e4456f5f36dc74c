"""The search for the smallest number of something that sustains a load. What measures is given to it.

It is assumed that what a number sustains, every larger one sustains too. So the search doubles from the smallest number
until one passes, and then halves what lies between the largest that failed and the smallest that passed.

As in the search for a rate, one pass makes a number sustain the load, and a fail is tried again unless no single stall
explains it: two fails make it fail. A number whose trials decide nothing ends the search without an answer, since both
halves of it could be the right one.

The number found is the luckier one of several. So it is confirmed by a trial of its own, longer and on fresh servers.
Where that fails, the search goes on above it, a bounded number of times, and says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tidegauge.model.trial import LoadResult
from tidegauge.search.goals import Goal, GoalVerdict, PassFail, judge_goal

FAIL_REPEATS_MAX = 1
UNDECIDED_REPEATS_MAX = 2
STEPS_UP_MAX = 3
"""How often the search goes on after a confirmation that failed."""


@dataclass(frozen=True)
class Range:
    """The numbers to search, both ends among them."""

    low: int
    high: int


@dataclass(frozen=True)
class SizeCallbacks:
    """What measures a number, what confirms one, and what is told of each decision.

    `announce` gets a sentence, and how many trials and confirmations are expected yet.
    """

    run_search_trial: Callable[[int], LoadResult]
    run_confirmation: Callable[[int], LoadResult]
    announce: Callable[[str, int, int], None]


@dataclass(frozen=True)
class SizeOutcome:
    """The answer.

    Attributes:
        smallest: the number that was confirmed; None where none was.
        confirmation: its trial.
        failed: the next smaller number, which failed; None where `smallest` is the smallest of the range.
        verdict: what was broken there, or at the largest number where none sustains the load.
        stepped_up: how many smaller numbers passed the search and failed their confirmation.
        problem: why it is not decided, or "".
    """

    smallest: int | None = None
    confirmation: LoadResult | None = None
    failed: int | None = None
    verdict: GoalVerdict | None = None
    stepped_up: int = 0
    problem: str = ""

    @property
    def decided(self) -> bool:
        """Whether there is an answer: a number, or that none of the range sustains the load."""
        return not self.problem


class _UndecidedError(Exception):
    """The trials of a number decided nothing."""


@dataclass
class SmallestSearch:
    """One search. `tried` holds the last verdict on each number, in the order in which they were first tried."""

    numbers: Range
    goal: Goal
    callbacks: SizeCallbacks
    tried: dict[int, GoalVerdict] = field(default_factory=dict)
    _stepped_up: int = 0

    def run(self) -> SizeOutcome:
        """Search and confirm. Errors of the callbacks pass through."""
        try:
            return self._search()
        except _UndecidedError as error:
            return SizeOutcome(stepped_up=self._stepped_up, problem=str(error))

    def _search(self) -> SizeOutcome:
        while True:
            below, above = self._narrow()
            if above is None:
                return SizeOutcome(failed=below, verdict=self.tried[below], stepped_up=self._stepped_up)
            passed = f"{above:,} is the smallest that passed"
            self.callbacks.announce(f"{passed}, now its confirmation.", 0, 1)
            confirmation, verdict = self._repeat(self.callbacks.run_confirmation, above)
            if verdict.outcome is PassFail.PASS:
                failed = below if below >= self.numbers.low else None
                why = self.tried[failed] if failed is not None else None
                return SizeOutcome(above, confirmation, failed, why, self._stepped_up)
            if verdict.outcome is PassFail.UNDECIDED:
                raise _UndecidedError(f"the confirmation of {above:,} decided nothing: {verdict.clause}")
            self.tried[above] = verdict
            self._stepped_up += 1
            if self._stepped_up > STEPS_UP_MAX:
                raise _UndecidedError(f"no confirmation held; the last, of {above:,}: {verdict.clause}")

    def _narrow(self) -> tuple[int, int | None]:
        """The largest number that failed, and the next larger, which passed; None if the largest of all failed."""
        while True:
            failed = [number for number, verdict in self.tried.items() if verdict.outcome is not PassFail.PASS]
            below = max(failed, default=self.numbers.low - 1)
            # What passed below one that failed is not believed.
            above = min((number for number in self.tried if number > below), default=None)
            if above is not None and above - below == 1:
                return below, above
            if below == self.numbers.high:
                return below, None
            if above is not None:
                number = (below + above) // 2
            else:
                number = min(self.numbers.high, max(self.numbers.low, 2 * below))
            _, self.tried[number] = self._repeat(self.callbacks.run_search_trial, number)

    def _repeat(self, make_trial: Callable[[int], LoadResult], number: int) -> tuple[LoadResult, GoalVerdict]:
        """The trial that decides on a number, made again where a stall may explain a fail, or nothing is decided."""
        verdicts: list[GoalVerdict] = []
        while True:
            result = make_trial(number)
            verdicts.append(judge_goal(self.goal, result))
            outcomes = [verdict.outcome for verdict in verdicts]
            verdict = verdicts[-1]
            clause = f": {verdict.clause}" if verdict.clause else ""
            # About how many the search needs yet.
            failed = [number for number, verdict in self.tried.items() if verdict.outcome is not PassFail.PASS]
            below = max(failed, default=self.numbers.low - 1)
            above = min((number for number in self.tried if number > below), default=self.numbers.high)
            self.callbacks.announce(f"{number:,}: {verdict.outcome.value}{clause}.", (above - below).bit_length(), 1)
            if verdict.outcome in (PassFail.PASS, PassFail.CLEAR_FAIL):
                return result, verdict
            if outcomes.count(PassFail.FAIL) > FAIL_REPEATS_MAX:
                return result, next(each for each in reversed(verdicts) if each.outcome is PassFail.FAIL)
            if outcomes.count(PassFail.UNDECIDED) > UNDECIDED_REPEATS_MAX:
                if make_trial == self.callbacks.run_confirmation:
                    return result, verdict
                raise _UndecidedError(f"the trials of {number:,} decided nothing: {verdict.clause}")
