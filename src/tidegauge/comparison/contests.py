"""Alternatives of one run against each other: variants, and the values of a sweep's axes. Pure.

A contest is one figure of one experiment over the values of one axis, everything else being the same: the system, the
other axes' values, the blocks. Its first alternative is what the others are compared with.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from tidegauge.comparison.order import labels_of_axis
from tidegauge.comparison.within import rest_on_doubt
from tidegauge.durability import LEVELS
from tidegauge.model.finding import Finding
from tidegauge.model.reason import ReasonKind
from tidegauge.model.trial import LoadResult, MeasuredResult, TrialSpec, Validity, family, point_words
from tidegauge.model.variant import VARIANT, SameWithin
from tidegauge.model.workload import Arrival
from tidegauge.numbers import count, join_with_and, of_all, plural
from tidegauge.plain import grouped
from tidegauge.statistics.contrasts import Contrast, compute_contrast, confidence_of_each
from tidegauge.statistics.figures import (
    FIGURES,
    Figure,
    FindingFigure,
    Shown,
    figures_compared,
    figures_found,
    leading_times,
)
from tidegauge.statistics.intervals import by_block, figure_interval, geometric_mean
from tidegauge.store.read import StoredRun

DURABILITY = "durability"
_MAXIMA = frozenset({"response_ms_max", "processed_ms_max"})
"""No contest leads with the one slowest message."""


@dataclass(frozen=True)
class Alternative:
    """One side of a contest.

    Attributes:
        label: the axis's value, or the variant's name.
        value: geometric mean of the figure over its blocks; None without a usable trial.
        low, high: ends of its own 95 % interval; with too few blocks for one the least and the largest value.
        blocks: numbers of the blocks that have the figure, `values` its values there.
        doubtful: whether one of its trials is DOUBTFUL.
    """

    label: str
    system: str
    value: float | None
    low: float | None
    high: float | None
    blocks: tuple[int, ...] = ()
    values: tuple[float, ...] = ()
    doubtful: bool = False

    @property
    def by_block(self) -> dict[int, float]:
        """The figure by block."""
        return dict(zip(self.blocks, self.values, strict=True))


@dataclass(frozen=True)
class AgainstFirst:
    """An alternative against the first of its contest; `contrast` is None where they have no figure in common."""

    label: str
    against: str
    contrast: Contrast | None


@dataclass(frozen=True)
class Contest:
    """One figure over the values of one axis.

    Attributes:
        axis: `VARIANT`, or an axis of the sweep.
        at: the values of the other axes; empty without any.
        system: "" where the alternatives have systems of several versions.
        load: what was measured, in words: "2,000 msg/s", "closed loop"; "" of what an experiment found.
        lead: whether this is the figure that its experiment is summed up by.
        alternatives: in the campaign's order.
        beside: other differences between them, and what else must be read with the verdicts, a clause each.
        confidence: of each of its intervals, such that all of them together have 95 %.
    """

    axis: str
    at: Mapping[str, str]
    experiment: str
    system: str
    load: str
    name: str
    figure: str
    unit: str
    higher_is_better: bool
    lead: bool
    same_within: SameWithin
    alternatives: tuple[Alternative, ...]
    against_first: tuple[AgainstFirst, ...]
    beside: tuple[str, ...]
    confidence: float

    @property
    def ranked(self) -> tuple[Alternative, ...]:
        """Alternatives that have the figure, the best first, then the others."""
        measured = [alternative for alternative in self.alternatives if alternative.value is not None]
        measured.sort(key=lambda alternative: alternative.value or 0.0, reverse=self.higher_is_better)
        return (*measured, *(alternative for alternative in self.alternatives if alternative.value is None))

    @property
    def baseline(self) -> Alternative:
        """What the others are compared with."""
        return self.alternatives[0]

    def contrast_of(self, label: str) -> Contrast | None:
        """An alternative against the first; None for the first itself."""
        return next((each.contrast for each in self.against_first if each.label == label), None)


Part = TypeVar("Part", MeasuredResult, Finding)


def contests_of_run(run: StoredRun, same_within: SameWithin | None = None) -> tuple[Contest, ...]:
    """Every contest of a run: of its variants first, then of the axes of its sweep; () without either.

    Args:
        same_within: the margin within which two figures are the same; None = the run's.
    """
    margin = same_within or run.same_within
    axes = list(dict.fromkeys(axis for spec in run.specs for axis in spec.point))
    if run.variants and VARIANT in axes:
        axes = [VARIANT, *(axis for axis in axes if axis != VARIANT)]
    contests: list[Contest] = []
    for axis in axes:
        labels = labels_of_axis(run, axis)
        if len(labels) > 1:
            compared = _Axis(run, axis, tuple(labels), margin)
            contests += [*_contests_of_trials(compared), *_contests_of_findings(compared)]
    return tuple(contests)


def contests_of_figure(run: StoredRun, axis: str, name: str) -> tuple[Contest, ...]:
    """Every contest of one figure over one axis, whether or not it leads there."""
    compared = _Axis(run, axis, tuple(labels_of_axis(run, axis)), run.same_within)
    contests = (*_contests_of_trials(compared, name), *_contests_of_findings(compared))
    return tuple(contest for contest in contests if contest.name == name)


@dataclass(frozen=True)
class _Axis:
    """An axis along which a run is compared: its name, its values in order, and the margin of the same."""

    run: StoredRun
    name: str
    labels: tuple[str, ...]
    margin: SameWithin


def _contests_of_trials(axis: _Axis, name: str = "") -> Iterator[Contest]:
    """Those of the figure that leads, of variants of others, too; and those of the figure of that name."""
    run, labels = axis.run, axis.labels
    measured = [each for each in run.results if isinstance(each, MeasuredResult) and not each.spec.exploratory]
    key_of = _key_of_question(run, axis.name)
    for group in grouped(
        (key_of(result.spec), result) for result in measured if axis.name in result.spec.point
    ).values():
        first = group[0]
        is_closed = first.spec.workload.arrival is Arrival.CLOSED_LOOP
        sides = {label: [each for each in group if each.spec.point[axis.name] == label] for label in labels}
        usable = {
            label: [each for each in side if each.validity is not Validity.INVALID] for label, side in sides.items()
        }
        lead = _lead_of_trials(list(usable.values()), is_closed=is_closed)
        figures = figures_compared(Shown.ACROSS, closed_loop=is_closed)
        beside = tuple(_facts_beside(axis.name, sides))
        for figure in sorted(figures, key=lambda each: each is not lead):
            alternatives = [_alternative(label, usable[label], sides[label], figure) for label in labels]
            is_wanted = axis.name == VARIANT or figure.name == name
            if figure is lead or (is_wanted and any(each.values for each in alternatives)):
                yield _contest(axis, first.spec, figure, alternatives, beside=beside, lead=figure is lead)


def _contests_of_findings(axis: _Axis) -> Iterator[Contest]:
    run, labels = axis.run, axis.labels
    specs = {(spec.experiment, spec.system, point_words(spec.point)): spec for spec in run.specs}
    key_of = _key_of_question(run, axis.name)
    answers = [
        (spec, finding)
        for finding in run.findings
        if axis.name in finding.point
        and (spec := specs.get((finding.experiment, finding.system, point_words(finding.point)))) is not None
    ]
    for group in grouped((key_of(spec)[2:], (spec, finding)) for spec, finding in answers).values():
        sides = {label: [finding for _, finding in group if finding.point[axis.name] == label] for label in labels}
        decided = {label: [finding for finding in side if finding.decided] for label, side in sides.items()}
        each_decided = [finding for side in decided.values() for finding in side]
        figures = [figure for figure in figures_found(Shown.WITHIN) if any(map(figure.value_in, each_decided))]
        undecided = [label for label in sides if not decided[label]]
        beside = (f"not decided for {join_with_and(undecided)}",) if undecided else ()
        for figure in figures:
            doubtful = {label: rest_on_doubt(side, run.results) for label, side in decided.items()}
            alternatives = [
                _alternative(label, decided[label], sides[label], figure, doubtful=doubtful[label]) for label in labels
            ]
            yield _contest(axis, group[0][0], figure, alternatives, beside=beside, lead=figure is figures[0])


def _key_of_question(run: StoredRun, axis: str) -> Callable[[TrialSpec], tuple[Hashable, ...]]:
    """A key that is the same for trials which ask the same question at different values of an axis.

    The offered rate may be part of what differs: it is then the experiment's n-th rate at each point.
    """
    rules: dict[Hashable, list[str]] = {}
    for spec in run.specs:
        if not spec.exploratory:
            of_place = rules.setdefault((spec.experiment, spec.system, point_words(spec.point)), [])
            if str(spec.rate_rule) not in of_place:
                of_place.append(str(spec.rate_rule))
    at_points = grouped((point_words(spec.point), spec.system) for spec in run.specs)
    has_namesakes = any(len({*map(family, set(systems))}) < len(set(systems)) for systems in at_points.values())

    def key_of(spec: TrialSpec) -> tuple[Hashable, ...]:
        of_place = rules.get((spec.experiment, spec.system, point_words(spec.point)), [])
        rate = of_place.index(str(spec.rate_rule)) if str(spec.rate_rule) in of_place else 0
        system = spec.system if has_namesakes else family(spec.system)
        beside = tuple((name, value) for name, value in spec.point.items() if name != axis)
        return rate, spec.workload.arrival is Arrival.CLOSED_LOOP, spec.experiment, system, beside

    return key_of


def _lead_of_trials(sides: Sequence[Sequence[MeasuredResult]], *, is_closed: bool) -> Figure:
    """The figure that trials are summed up by: of a schedule the highest percentile that all have samples for."""
    if is_closed or not all(isinstance(result, LoadResult) for side in sides for result in side):
        return FIGURES["msgs_per_s"]
    results = [result for side in sides for result in side]
    leads = [*leading_times(results), FIGURES["msgs_per_s"]]
    fitting = (figure for figure in leads if figure.name not in _MAXIMA and all(map(figure.value_in, results)))
    return next(fitting, leads[0]) if results else leads[0]


def _alternative(
    label: str,
    usable: Sequence[Part],
    made: Sequence[Part],
    figure: Figure | FindingFigure,
    *,
    doubtful: bool | None = None,
) -> Alternative:
    value_in: Callable[[Part], float | None] = figure.value_in  # type: ignore[assignment]
    values_by_block = by_block(usable, value_in)
    values = tuple(values_by_block.values())
    system = next((part.system if isinstance(part, Finding) else part.spec.system for part in made), "")
    if doubtful is None:
        doubtful = any(isinstance(part, MeasuredResult) and part.validity is Validity.DOUBTFUL for part in usable)
    if not values:
        return Alternative(label, system, None, None, None, doubtful=doubtful)
    interval = figure_interval(values)
    low, high = (interval.low, interval.high) if interval else (min(values), max(values))
    return Alternative(label, system, geometric_mean(values), low, high, tuple(values_by_block), values, doubtful)


def _contest(
    axis: _Axis,
    spec: TrialSpec,
    figure: Figure | FindingFigure,
    alternatives: Sequence[Alternative],
    *,
    beside: tuple[str, ...],
    lead: bool,
) -> Contest:
    """The contest of one figure. `spec`: of any of its trials."""
    first, *others = alternatives
    confidence = confidence_of_each(len(others))
    resolution = 0.0
    if isinstance(figure, FindingFigure):
        resolution = figure.resolution_in([each for each in axis.run.findings if each.experiment == spec.experiment])
    contrasts = tuple(
        AgainstFirst(
            other.label,
            first.label,
            compute_contrast(
                other.by_block,
                first.by_block,
                higher_is_better=figure.higher_is_better,
                unit=figure.unit,
                same_within=axis.margin,
                resolution=resolution,
                confidence=confidence,
            ),
        )
        for other in others
    )
    systems = {alternative.system for alternative in alternatives if alternative.system}
    return Contest(
        axis=axis.name,
        at={name: value for name, value in spec.point.items() if name != axis.name},
        experiment=spec.experiment,
        system=systems.pop() if len(systems) == 1 else "",
        load="" if isinstance(figure, FindingFigure) else _load_words(axis.run, spec),
        name=figure.name,
        figure=figure.title,
        unit=figure.unit,
        higher_is_better=figure.higher_is_better,
        lead=lead,
        same_within=axis.margin,
        alternatives=tuple(alternatives),
        against_first=contrasts,
        beside=beside,
        confidence=confidence,
    )


def _load_words(run: StoredRun, spec: TrialSpec) -> str:
    """What was offered: "2,000 msg/s"; "closed loop" without a schedule; "reading alone" where nothing was sent."""
    result = next((each for each in run.measured if each.spec.trial_id == spec.trial_id), None)
    if not isinstance(result, LoadResult):
        return "reading alone"
    if spec.workload.arrival is Arrival.CLOSED_LOOP:
        return "closed loop"
    if result.spec.schedule is not None:
        return "the scheduled rates"
    return f"{count(result.offered_msgs_per_s or 0.0)} msg/s"


def _facts_beside(axis: str, sides: Mapping[str, Sequence[MeasuredResult]]) -> Iterator[str]:
    """What differs beside the axis, and what else must be read with figures of trials."""
    levels = {label: sorted({each.level.level or 0 for each in side}) for label, side in sides.items() if side}
    if axis != DURABILITY and len({*map(tuple, levels.values())}) > 1:
        each = [f"{label} {' and '.join(map(_level_words, numbers))}" for label, numbers in levels.items()]
        yield f"the durability level differs too: {', '.join(each)}"
    rates = {label: {each.offered_msgs_per_s for each in side} for label, side in sides.items() if side}
    if len({frozenset(values) for values in rates.values()}) > 1 and not axis.endswith("rate"):
        each = [
            f"{label} {' and '.join(count(rate) for rate in values if rate)} msg/s" for label, values in rates.items()
        ]
        yield f"the offered rate differs too: {', '.join(each)}"
    measured = [each for side in sides.values() for each in side]
    are_all_invalid = bool(measured) and all(each.validity is Validity.INVALID for each in measured)
    if are_all_invalid:
        yield _why_all_invalid(measured)
    for label, side in sides.items():
        invalid = 0 if are_all_invalid else sum(each.validity is Validity.INVALID for each in side)
        lost = sum(each.lost for each in side)
        slow = [each for each in side if each.is_warned_of(ReasonKind.NOT_KEPT_UP)]
        if not side:
            yield f"{label} has no result"
        if invalid:
            are = "is" if invalid == 1 else "are"
            yield f"{of_all(invalid, len(side), 'trial')} of {label} {are} INVALID and left out"
        if lost:
            yield f"{label} LOST {plural(lost, 'acknowledged message')}"
        if slow:
            least = min(each.msgs_per_s for each in slow)
            yield f"{label} did not keep up with the offered rate: {count(round(least))} msg/s"


def _why_all_invalid(results: Sequence[MeasuredResult]) -> str:
    """That no trial may be used, with the commonest kind of reason in the words of the first trial that has it."""
    are = f"{of_all(len(results), len(results), 'trial')} {'is' if len(results) == 1 else 'are'} INVALID"
    kinds = Counter(kind for each in results for kind in dict.fromkeys(reason.kind for reason in each.reasons))
    if not kinds:
        return are
    ((kind, times),) = kinds.most_common(1)
    text = next(reason.text for each in results for reason in each.reasons if reason.kind is kind)
    whose = "" if len(results) == 1 else " each" if times == len(results) else f" {times} of them"
    return f"{are},{whose} for such a reason: {text}"


def _level_words(level: int) -> str:
    name = next((defined.name for defined in LEVELS if defined.number == level), "")
    return f"at level {level} ({name})" if name else "at an unknown level"
