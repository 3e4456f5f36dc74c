"""`rates-at` in a campaign: at which point of a sweep the rates are found that all other points take their shares of.

Without it a share (`50% of lowest sustainable`) is one of what was found at each point: every point has its own rate.
With `rates-at: {partitions: 100}` the experiments that find rates are made with 100 partitions only, before the others,
and every number of partitions faces the same load. Axes that it does not name keep rates of their own. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tidegauge.config.source import Source
from tidegauge.errors import nearest
from tidegauge.experiments import max_throughput, peak

KEY = "rates-at"
FINDERS = (peak.EXPERIMENT.name, max_throughput.NAME)
"""Experiments whose answer is a rate that others take a share of."""


def read_rates_at(source: Source, points: Sequence[Mapping[str, str]], label: Any) -> Mapping[str, str]:
    """The axes that it names, each with its value as points have it; {} after noting what is wrong in `source`.

    Args:
        points: those of the campaign's sweep.
        label: how a value of a sweep is called.
    """
    if KEY not in source.data:
        return {}
    given = source.data[KEY]
    if not isinstance(given, dict) or not given:
        source.complain((KEY,), "must be a mapping of axes of the sweep to a value of each, such as {partitions: 100}")
        return {}
    found = {}
    axes = {axis: list(dict.fromkeys(point[axis] for point in points)) for axis in (points[0] if points else ())}
    for axis, value in given.items():
        if axis not in axes:
            source.complain((KEY, axis), f"the sweep has no such axis{nearest(axis, list(axes))}")
        elif label(value) not in axes[axis]:
            source.complain((KEY, axis), f"'{label(value)}' is none of its values: {', '.join(axes[axis])}")
        else:
            found[axis] = label(value)
    return found


def reference(point: Mapping[str, str], rates_at: Mapping[str, str]) -> Mapping[str, str]:
    """The point whose rates hold at `point`: itself, where `rates_at` names no axis."""
    return {axis: rates_at.get(axis, value) for axis, value in point.items()}


def is_made(experiment: str, point: Mapping[str, str], rates_at: Mapping[str, str]) -> bool:
    """Whether an experiment is made at a point: one that finds rates only where these are to be found."""
    return experiment not in FINDERS or dict(reference(point, rates_at)) == dict(point)
