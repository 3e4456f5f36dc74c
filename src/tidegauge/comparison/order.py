"""In which order every report has what a run measured: experiments as they began, points as the campaign lists them.

Trials run in random order, so that of measuring says nothing to a reader.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tidegauge.comparison.compared_trials import ComparedTrials, sort_compared_trials
from tidegauge.model.finding import Finding
from tidegauge.model.trial import point_words
from tidegauge.model.variant import VARIANT
from tidegauge.numbers import quantity
from tidegauge.store.read import StoredRun

Point = Mapping[str, str]
AxisValues = Mapping[str, Sequence[str]]
"""The values of each axis of a sweep, in their order."""


def order_values(listed: Iterable[str]) -> list[str]:
    """Each value of an axis once: quantities by their size, others as they are listed."""
    values = list(dict.fromkeys(listed))
    sizes = {value: size for value in values if (size := quantity(value)) is not None}
    return sorted(values, key=sizes.__getitem__) if len(sizes) == len(values) else values


def values_of_axes(listed: Sequence[Point]) -> AxisValues:
    """The values of all axes, of the points as a campaign lists them."""
    axes = dict.fromkeys(axis for point in listed for axis in point)
    return {axis: order_values(point[axis] for point in listed if axis in point) for axis in axes}


def in_order(points: Sequence[Point], values: AxisValues | None = None) -> list[Point]:
    """Each point once, by its values, the first axis first.

    Args:
        values: of axes, in their order; of those that are not there, quantities go by size and words by the alphabet.
    """
    places: dict[str, dict[str, int]] = {}
    for axis, measured in values_of_axes(points).items():
        listed = list((values or {}).get(axis, ()))
        rest = order_values(sorted(value for value in measured if value not in listed))
        places[axis] = {value: place for place, value in enumerate([*listed, *rest])}
    unique = {point_words(point): point for point in points}
    return sorted(unique.values(), key=lambda point: [places[axis][value] for axis, value in point.items()])


def labels_of_axis(run: StoredRun, axis: str) -> list[str]:
    """The values of an axis: variants as the campaign lists them, quantities by size, other words as it lists them.

    Of a run that does not say how its campaign lists them, by the alphabet.
    """
    if axis == VARIANT and run.variants:
        return [variant.name for variant in run.variants]
    places = {words: place for place, words in enumerate(run.listed_points)}
    specs = [spec for spec in run.specs if axis in spec.point]
    specs.sort(key=lambda spec: (places.get(point_words(spec.point), len(places)), spec.point[axis]))
    return order_values(spec.point[axis] for spec in specs)


def points_of_run(run: StoredRun) -> list[Point]:
    """All points of a run's sweep, in their order."""
    axes = dict.fromkeys(axis for spec in run.specs for axis in spec.point)
    return in_order([spec.point for spec in run.specs], {axis: labels_of_axis(run, axis) for axis in axes})


def compared_trials_of(run: StoredRun) -> list[ComparedTrials]:
    """The tables of a run in order; what an experiment measured at several rates of one point, as it was measured."""
    tables = sort_compared_trials(run.results)
    experiments, points = _places_of_experiments(run), _places_of_points(run)
    return sorted(tables, key=lambda table: (experiments[table.experiment], points[point_words(table.point)]))


def findings_of(run: StoredRun) -> list[Finding]:
    """What the experiments of a run found, in order; at one point by system, then block by block."""
    experiments, points = _places_of_experiments(run), _places_of_points(run)

    def place_of_finding(finding: Finding) -> tuple[int, int, str, int]:
        at_point = points.get(point_words(finding.point), len(points))
        return experiments[finding.experiment], at_point, finding.system, finding.block

    return sorted(run.findings, key=place_of_finding)


def _places_of_experiments(run: StoredRun) -> dict[str, int]:
    measured = [result.spec.experiment for result in run.results]
    names = dict.fromkeys([*measured, *(finding.experiment for finding in run.findings)])
    return {name: place for place, name in enumerate(names)}


def _places_of_points(run: StoredRun) -> dict[str, int]:
    return {point_words(point): place for place, point in enumerate(points_of_run(run))}
