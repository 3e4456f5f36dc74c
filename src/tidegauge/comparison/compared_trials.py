"""A run's results sorted into what is compared with each other.

Two tables (one experiment at one load) belong together if they are the same in every respect; else, where a setting was
changed on purpose, if they are the only ones of their experiment, point and kind of rate that are left; else by their
order, if both runs have equally many at that point. Tables of different points of a sweep never do. Two systems do if
they have the same name and version; else, where the version was changed on purpose, if they are the only ones of their
name that are left.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from tidegauge.model.trial import (
    LoadResult,
    LoadSpec,
    MeasuredResult,
    TrialResult,
    TrialSpec,
    Validity,
    family,
    point_words,
)
from tidegauge.model.workload import Arrival
from tidegauge.numbers import count
from tidegauge.plain import grouped


@dataclass(frozen=True)
class ComparedTrials:
    """Results that are compared: the same experiment at the same load on the same workload, at one point of a sweep."""

    experiment: str
    results: tuple[MeasuredResult, ...]

    @property
    def closed_loop(self) -> bool:
        """Whether there was no schedule."""
        return self.results[0].spec.workload.arrival is Arrival.CLOSED_LOOP

    @property
    def loads(self) -> tuple[LoadResult, ...]:
        """Results that sent: all of them, or none where consumers read alone."""
        return tuple(result for result in self.results if isinstance(result, LoadResult))

    def loads_of(self, system: str) -> tuple[LoadResult, ...]:
        """Results of one system that sent."""
        return tuple(load for load in self.loads if load.spec.system == system)

    @property
    def point(self) -> Mapping[str, str]:
        """The point of the sweep, by axis; empty without a sweep."""
        return self.results[0].spec.point

    @property
    def systems(self) -> tuple[str, ...]:
        """Systems by name: the order of measuring is drawn at random, and a reader wants the same rows each time."""
        return tuple(sorted({result.spec.system for result in self.results}))

    def label(self, system: str) -> str:
        """A system with the form in which it gives its durability level."""
        return self.of_system(system)[0].spec.label

    def of_system(self, system: str) -> tuple[MeasuredResult, ...]:
        """All trials of one system."""
        return tuple(result for result in self.results if result.spec.system == system)

    def usable(self, system: str) -> tuple[MeasuredResult, ...]:
        """Trials of one system whose figures may be used."""
        return tuple(result for result in self.of_system(system) if result.validity is not Validity.INVALID)


def sort_compared_trials(results: Sequence[TrialResult]) -> list[ComparedTrials]:
    """Results sorted into tables, in the order they were first measured; exploratory ones are their finding's."""
    measured = [result for result in results if isinstance(result, MeasuredResult) and not result.spec.exploratory]
    alike = grouped(
        (_terms_of_comparison(result.spec, str(result.spec.rate_rule), result.offered_msgs_per_s), result)
        for result in measured
    )
    return [ComparedTrials(group[0].spec.experiment, tuple(group)) for group in alike.values()]


def _terms_of_comparison(spec: TrialSpec, rule: str, msgs_per_s: float | None) -> Hashable:
    """What must be the same of trials that are compared. A system's own client settings need not be."""
    workload, point = repr(spec.workload.neutral()), point_words(spec.point)
    measured = (spec.measure_s, spec.messages if isinstance(spec, LoadSpec) else 0)
    return spec.experiment, rule, point, msgs_per_s, measured, workload, spec.nodes, spec.faults


T = TypeVar("T")


@dataclass(frozen=True)
class Matched:
    """Two tables that belong together, with the systems that do."""

    base: ComparedTrials
    other: ComparedTrials
    systems: tuple[tuple[str, str], ...]


def match_compared_trials(
    base: Sequence[ComparedTrials], other: Sequence[ComparedTrials], letters: tuple[str, str]
) -> tuple[list[Matched], list[str]]:
    """Tables and systems that belong together, in the first run's order, and what only one run has, in words."""
    pairs, lonely_base, lonely_other = _pair_by_keys(
        list(base), list(other), (_key_of_terms, _key_of_rate_kind, _key_of_experiment)
    )
    order = {id(table): place for place, table in enumerate(base)}
    pairs.sort(key=lambda pair: order[id(pair[0])])
    matched, alone = [], []
    for first, second in pairs:
        systems, left_base, left_other = paired_systems(first.systems, second.systems)
        matched.append(Matched(first, second, tuple(sorted(systems))))
        alone += [only_in(letters[0], f"{name} in {first.experiment}") for name in left_base]
        alone += [only_in(letters[1], f"{name} in {second.experiment}") for name in left_other]
    alone += [only_in(letters[0], _compared_in_words(table)) for table in lonely_base]
    alone += [only_in(letters[1], _compared_in_words(table)) for table in lonely_other]
    return matched, alone


def only_in(letter: str, subject: str) -> str:
    """What one run has alone."""
    return f"only in {letter}: {subject}"


def paired_systems(base: Iterable[str], other: Iterable[str]) -> tuple[list[tuple[str, str]], list[str], list[str]]:
    """Systems that belong together, and those of either side that are left."""
    return _pair_by_keys(sorted({*base}), sorted({*other}), (str, family), most=1)


def _pair_by_keys(
    base: list[T], other: list[T], keys: Sequence[Callable[[T], Hashable]], most: float = math.inf
) -> tuple[list[tuple[T, T]], list[T], list[T]]:
    """Pairs by each key in turn, looser and looser: those that either side has equally many of, in order.

    With `most` = 1 only those that are the only ones of their key.
    """
    pairs: list[tuple[T, T]] = []
    for key in keys:
        for value in dict.fromkeys(map(key, base)):
            ours = [item for item in base if key(item) == value]
            theirs = [item for item in other if key(item) == value]
            if len(ours) == len(theirs) <= most:
                pairs += zip(ours, theirs, strict=True)
                base = [item for item in base if key(item) != value]
                other = [item for item in other if key(item) != value]
    return pairs, base, other


def _key_of_terms(table: ComparedTrials) -> Hashable:
    result = table.results[0]
    # A rate that is a share of what was found differs a little from run to run, and is the same question.
    rule = _share_rule(table)
    return _terms_of_comparison(result.spec, rule, None if rule else result.offered_msgs_per_s)


def _key_of_rate_kind(table: ComparedTrials) -> Hashable:
    return table.experiment, _share_rule(table), point_words(table.point)


def _share_rule(table: ComparedTrials) -> str:
    """How the campaign words a rate that is a share of what was found; "" for another."""
    rule = table.results[0].spec.rate_rule
    return str(rule) if rule.is_share else ""


def _key_of_experiment(table: ComparedTrials) -> Hashable:
    return table.experiment, point_words(table.point)


def _compared_in_words(table: ComparedTrials) -> str:
    msgs_per_s = table.results[0].offered_msgs_per_s
    rate = "" if msgs_per_s is None else f" at {count(msgs_per_s)} msg/s"
    point = point_words(table.point)
    return f"{table.experiment}{rate}{f', {point}' if point else ''}"
