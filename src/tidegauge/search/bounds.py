"""Where to look next: the load selection of RFC 9971, by the MLRsearch package, for goals that are clauses.

RFC 9971 searches for several goals at once, and every trial counts for all of them. A load is a lower bound of a goal
or an upper one by the share of its trials that met the goal; the relevant upper bound is the lowest upper bound, the
relevant lower bound the highest lower bound below it (so a rate that passes above one that fails is not believed).

Goals have the attributes of the RFC's "TST009" example, in units of one trial: duration sum two trials, exceed ratio
50 %. So one pass makes a lower bound, and a fail is tried again: two fails make an upper bound, and a pass after a fail
makes a lower one, because a single stall must not decide what is found. A fail that no stall explains (`CLEAR_FAIL`) is
not tried again.

What differs from the package's own use:
  * a trial meets a goal by its clauses and not by its loss ratio, so each goal's statistics get their own outcome, told
    to the package as a loss of none or all (`_Controller.measure`);
  * the search begins with low loads and not with the highest, since an overloaded broker stays slow for a while;
  * an undecided load counts as one not to go above, and is remembered as undecided by whoever asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from MLRsearch import AbstractMeasurer, Config, MeasurementResult, MultipleLossRatioSearch, SearchGoal
from MLRsearch.discrete_load import DiscreteLoad
from MLRsearch.discrete_result import DiscreteResult
from MLRsearch.load_stats import LoadStats

from tidegauge.search.goals import Outcome

_ONE_TRIAL = 1.0
_WEIGHT = {outcome: _ONE_TRIAL / 2 if outcome is Outcome.FAIL else _ONE_TRIAL for outcome in Outcome}
"""How much of the needed duration sum a trial makes up: only a fail that a stall may explain needs a second."""

Ask = Callable[[float], Sequence[Outcome]]
"""Makes a trial at a rate and tells its outcome for each goal. Raises `EnoughError` when no more may be made."""


class EnoughError(Exception):
    """No more trials may be made: the search ends with the bounds that it has."""


@dataclass(frozen=True)
class Space:
    """Where to search, msg/s.

    Attributes:
        begin: the first rate, and the second if some goal passes at the first; both within the bounds.
        width: how far apart bounds may be at the end, as a share of the upper one.
    """

    min_msgs_per_s: float
    max_msgs_per_s: float
    begin: tuple[float, float]
    width: float


@dataclass(frozen=True)
class Bounds:
    """Of one goal: the highest rate that passed below the lowest that did not; None where there is none (yet)."""

    lower: float | None = None
    upper: float | None = None


class Search:
    """One search for `goals` goals."""

    def __init__(self, goals: int, space: Space, ask: Ask) -> None:
        config = Config()
        # The package checks each against the other, whose default is 9001 to 10^9.
        config.min_load = min(space.min_msgs_per_s, config.min_load)
        config.max_load = space.max_msgs_per_s
        config.min_load = space.min_msgs_per_s
        config.warmup_duration = 0.0
        config.search_duration_max = 1e9
        config.goals = [_goal(number, space.width) for number in range(goals)]
        self._controller = _Controller(config=config)
        self._controller.ask = ask
        self._controller.begin = space.begin
        self._goals = goals

    def run(self) -> None:
        """Search until every goal's bounds are close, or `ask` says that it is enough."""
        try:
            self._controller.search(measurer=_Unused(), debug=lambda _: None)
        except EnoughError:
            return

    def bounds(self) -> tuple[Bounds, ...]:
        """The bounds of each goal as they stand; may be asked while the search goes on."""
        database = getattr(self._controller, "database", None)
        if database is None:
            return (Bounds(),) * self._goals
        relevant = [database.get_relevant_bounds(target) for target in self._controller.scaling.targets]
        return tuple(Bounds(_rate(found.clo), _rate(found.chi)) for found in relevant)


def _goal(number: int, width: float) -> SearchGoal:
    """The package tells goals apart by their loss ratio; any between none and all means the same here."""
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


def _rate(load: DiscreteLoad | None) -> float | None:
    return None if load is None else float(load)


class _Unused(AbstractMeasurer):  # type: ignore[misc]
    """The package wants a measurer; `_Controller` asks by itself."""

    def measure(self, intended_duration: float, intended_load: float) -> MeasurementResult:
        raise AssertionError("the controller measures")


class _Controller(MultipleLossRatioSearch):  # type: ignore[misc]
    """The package's controller with another beginning and outcomes by goal."""

    ask: Ask
    begin: tuple[float, float]

    def run_initial_trials(self) -> tuple[DiscreteResult, DiscreteResult]:
        """Low loads first: the second is tried only when a goal passes at the first."""
        first, second = (self.from_float(rate).rounded_down() for rate in self.begin)
        below = self.measure(_ONE_TRIAL, first)
        if second <= first or not any(self._passed(first)):
            return below, below
        above = self.measure(_ONE_TRIAL, second)
        # Once both pass, the search goes up in small steps from the second, not by the distance between the two.
        return (above if any(self._passed(second)) else below), above

    def measure(self, duration: float, load: DiscreteLoad) -> DiscreteResult:
        """One trial, whose outcome for each goal goes into that goal's statistics."""
        outcomes = self.ask(float(load))
        key = load.hashable()
        stats = self.database.load_to_stats
        if key not in stats:
            empty = LoadStats.new_empty(load=key, targets=self.scaling.targets)
            self.database.load_to_stats = stats = dict(sorted({**stats, key: empty}.items()))
        results = [self._result(duration, load, outcome) for outcome in outcomes]
        for target, result in zip(self.scaling.targets, results, strict=True):
            stats[key].target_to_stat[target].add(result)
        return results[0]

    def _result(self, duration: float, load: DiscreteLoad, outcome: Outcome) -> DiscreteResult:
        result = MeasurementResult(
            intended_duration=duration,
            intended_load=float(load),
            offered_count=1,
            loss_count=0 if outcome is Outcome.PASS else 1,
            duration_with_overheads=_WEIGHT[outcome],
        )
        return DiscreteResult.with_load(result=result, load=load)

    def _passed(self, load: DiscreteLoad) -> list[bool]:
        stats = self.database.load_to_stats[load.hashable()]
        return [stats.estimates(target) == (True, True) for target in self.scaling.targets]
