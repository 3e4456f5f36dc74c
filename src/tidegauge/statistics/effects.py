"""What each axis of a sweep does to a figure, from a design that has only some of all points.

The figure's logarithm is taken as a sum of one part for each value of each axis, so that an effect is a factor: "p99 is
3.1 times as high at linger.ms=50 as at 0". Repeats of a point are averaged after the mean of each block is taken away.

A design of few points can't fit the parts of all axes at once and still tell noise from effects. So axes enter one
after the other, as long as one does more than chance (forward selection): each time the axis that explains most beside
those that are in, by the F test, if its p value times the number of axes is at most 0.05 (Bonferroni). It is tested
against how far repeats of one point differ, where there are enough of them, else against what is left unexplained.
Where no axis has an effect, one is reported in at most 5 of 100 sweeps.

An axis' factor is fitted by least squares beside the axes that are in. Its interval is as wide as the larger of the
two says: so what axes do together makes it wider, never narrower. The intervals hold for all pairs of values of all
axes at once (Bonferroni).

What axes do together (an interaction) that a design can't tell from what one does alone is its confounding. The share
named for an axis and a pair of others is the squared cosine between the weights by which the axis' effect is computed
and what the pair does together: 1 where they are one and the same in this design, 0 where it is none of it, as in a
full design.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from tidegauge.extras import has_package
from tidegauge.statistics.intervals import CONFIDENCE

FREEDOM_MIN = 3
"""Points beyond the fitted parts that are needed to tell an effect from noise."""
REPEATS_FREEDOM_MIN = 6
"""Repeats, beyond the first of each point, from which on they say how large noise is."""
CONFOUNDED_SHARE_MIN = 0.4
CONFOUNDED_MAX = 2
"""Pairs that are named for one axis, those with the largest shares."""
_ESTIMABLE = 1e-8
_TINY = 1e-24

Matrix = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Observation:
    """A figure at one point in one block; above 0."""

    point: Mapping[str, str]
    block: int
    value: float


@dataclass(frozen=True)
class Confounding:
    """What would show as an effect of an axis, too: what two others do together, or another by itself.

    `share`: how much of it, 0 to 1.
    """

    axes: tuple[str, ...]
    share: float


@dataclass(frozen=True)
class Effect:
    """What an axis does, from the value with the lowest figure to the one with the highest.

    Attributes:
        ratio: of the figure at `highest` to that at `lowest`, 1 or more; None where lost trials leave it open.
        low, high: the interval of this ratio; None without one.
        is_shown: whether the interval lies wholly above 1.
        confounded: with what it may be mixed, the most first; of effects that are shown.
    """

    axis: str
    lowest: str = ""
    highest: str = ""
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    is_shown: bool = False
    confounded: tuple[Confounding, ...] = ()


@dataclass(frozen=True)
class Effects:
    """The effects of all axes, the largest first.

    Attributes:
        points: how many were used.
        freedom: degrees of freedom by which noise is known; 0 = too few for intervals.
        noise: the factor by which a point's figure is off what the effects say, one standard deviation.
        has_repeats: whether repeats of points are enough to say how large noise is by itself.
    """

    effects: tuple[Effect, ...]
    points: int
    freedom: int
    noise: float | None
    has_repeats: bool = False

    @property
    def shown(self) -> tuple[Effect, ...]:
        """Those that are more than chance."""
        return tuple(effect for effect in self.effects if effect.is_shown)


def compute_effects(observations: Sequence[Observation]) -> Effects | None:
    """The effects of every axis with several values; None without such an axis or without scipy."""
    # In the order in which they occur.
    values: dict[str, dict[str, None]] = defaultdict(dict)
    for observation in observations:
        for axis, value in observation.point.items():
            values[axis][value] = None
    values_by_axis = {axis: list(listed) for axis, listed in values.items() if len(listed) > 1}
    if not values_by_axis or not has_package("scipy"):
        return None
    logs_by_point = _logs_by_point(observations)
    sweep = _Sweep.from_logs(values_by_axis, logs_by_point)
    chosen = _choose_axes(sweep)
    contrasts = sum(math.comb(len(values), 2) for values in values_by_axis.values())
    effects = [_effect_of_axis(axis, chosen, sweep, contrasts) for axis in values_by_axis]
    effects = [replace(effect, confounded=_confounding(effect, chosen, sweep)) for effect in effects]
    ranked = sorted(effects, key=lambda effect: (not effect.is_shown, -(effect.ratio or 0.0)))
    fit = sweep.fit(chosen)
    noise = sweep.noise(fit)
    freedom, variance = noise if noise is not None else (0, None)
    size = math.exp(math.sqrt(variance)) if variance is not None else None
    return Effects(tuple(ranked), len(logs_by_point), freedom, size, sweep.repeats is not None)


_PointKey = tuple[tuple[str, str], ...]


def _logs_by_point(observations: Sequence[Observation]) -> dict[_PointKey, list[float]]:
    """Logarithms at each point, less how far the mean of their block is from that of all."""
    by_point: dict[_PointKey, dict[int, float]] = defaultdict(dict)
    for observation in observations:
        by_point[tuple(sorted(observation.point.items()))][observation.block] = math.log(observation.value)
    blocks = {observation.block for observation in observations}
    # Only points that every block has can say how blocks differ.
    whole = [logs for logs in by_point.values() if set(logs) == blocks]
    means = {block: float(np.mean([logs[block] for logs in whole])) if whole else 0.0 for block in blocks}
    middle = float(np.mean(list(means.values())))
    return {point: [value - means[block] + middle for block, value in logs.items()] for point, logs in by_point.items()}


@dataclass(frozen=True)
class _Fit:
    """Parts of some axes, fitted by least squares. `columns`: where those of each axis are, from its second value on.

    `squares`: the sum of what is left, squared; `freedom`: of how many independent numbers that is the sum.
    """

    columns: Mapping[str, range]
    design: Matrix
    inverse: Matrix
    parts: Matrix
    squares: float
    freedom: int

    def contrast(self, axis: str, first: int, second: int) -> Matrix:
        """What gives the difference between two values of an axis, when multiplied with the parts."""
        weights = np.zeros(self.design.shape[1])
        for place, sign in ((first, -1.0), (second, 1.0)):
            if place:
                weights[self.columns[axis][place - 1]] += sign
        return weights

    def is_estimable(self, contrast: Matrix) -> bool:
        """Whether the points tell this difference from others: they may not, where trials are missing."""
        return bool(np.abs(contrast - contrast @ self.inverse @ self.design).max() < _ESTIMABLE)


@dataclass(frozen=True)
class _Sweep:
    """The mean of logarithms at each point, and for each axis its columns of 0 and 1, one a value but the first.

    `repeats`: degrees of freedom of how far repeats differ, and the variance of a point's mean by them; None of few.
    """

    values: Mapping[str, Sequence[str]]
    indicators: Mapping[str, Matrix]
    logs: Matrix
    repeats: tuple[int, float] | None

    @classmethod
    def from_logs(
        cls, values: Mapping[str, Sequence[str]], logs_by_point: Mapping[_PointKey, Sequence[float]]
    ) -> _Sweep:
        points = [dict(point) for point in logs_by_point]
        indicators = {
            axis: np.array([[float(point[axis] == value) for value in listed[1:]] for point in points])
            for axis, listed in values.items()
        }
        logs = np.array([float(np.mean(logs)) for logs in logs_by_point.values()])
        return cls(values, indicators, logs, _variance_of_repeats(list(logs_by_point.values())))

    def noise(self, fit: _Fit) -> tuple[int, float] | None:
        """Degrees of freedom and variance of a point, by repeats or by what a fit leaves, whichever is larger.

        By repeats alone where a fit leaves too little; None without these.
        """
        if fit.freedom < FREEDOM_MIN:
            return self.repeats
        left = fit.freedom, max(fit.squares / fit.freedom, _TINY)
        return left if self.repeats is None else max(left, self.repeats, key=lambda noise: noise[1])

    def fit(self, axes: Sequence[str]) -> _Fit:
        """The parts of these axes."""
        columns, width = {}, 1
        for axis in axes:
            columns[axis] = range(width, width + self.indicators[axis].shape[1])
            width = columns[axis].stop
        design = np.hstack([np.ones((len(self.logs), 1)), *(self.indicators[axis] for axis in axes)])
        inverse = np.linalg.pinv(design)
        parts = inverse @ self.logs
        residual = self.logs - design @ parts
        freedom = len(self.logs) - int(np.linalg.matrix_rank(design))
        return _Fit(columns, design, inverse, parts, float(residual @ residual), freedom)


def _variance_of_repeats(logs_by_point: Sequence[Sequence[float]]) -> tuple[int, float] | None:
    repeats = max(map(len, logs_by_point))
    # The mean of each block was taken away, which costs one of each block but the first.
    freedom = sum(len(logs) - 1 for logs in logs_by_point) - (repeats - 1)
    if freedom < REPEATS_FREEDOM_MIN:
        return None
    squares = sum(float(np.var(logs)) * len(logs) for logs in logs_by_point)
    return freedom, max(squares / freedom * float(np.mean([1 / len(logs) for logs in logs_by_point])), _TINY)


def _choose_axes(sweep: _Sweep) -> list[str]:
    """The axes that do more than chance, in the order in which they explain most."""
    from scipy.special import fdtrc  # Loaded when needed: it takes a while.

    chosen: list[str] = []
    while len(chosen) < len(sweep.values):
        before = sweep.fit(chosen)
        tried = []
        for axis in sweep.values:
            fit = sweep.fit([*chosen, axis]) if axis not in chosen else before
            spent = before.freedom - fit.freedom
            if spent < 1 or fit.freedom < FREEDOM_MIN:
                continue
            freedom, noise = sweep.repeats or (fit.freedom, max(fit.squares / fit.freedom, _TINY))
            explained = max(0.0, before.squares - fit.squares) / spent
            tried.append((float(fdtrc(spent, freedom, explained / noise)), -explained, axis))
        p_least, _, axis_most = min(tried, default=(1.0, 0.0, ""))
        if p_least * len(sweep.values) > 1 - CONFIDENCE:
            break
        chosen.append(axis_most)
    return chosen


def _effect_of_axis(axis: str, chosen: Sequence[str], sweep: _Sweep, contrasts: int) -> Effect:
    """The largest difference between two values of an axis, beside the axes that do more than chance."""
    from scipy.special import stdtrit

    fit = sweep.fit(chosen if axis in chosen else [*chosen, axis])
    reach, noise = None, sweep.noise(fit)
    if noise is not None:
        # Beyond it chance takes any of all contrasts, either way, in 5 of 100 sweeps.
        freedom, variance = noise
        reach = float(stdtrit(freedom, 1 - (1 - CONFIDENCE) / (2 * contrasts))) * math.sqrt(variance)
    differences = []
    for first, second in combinations(range(len(sweep.values[axis])), 2):
        contrast = fit.contrast(axis, first, second)
        if fit.is_estimable(contrast):
            difference = float(contrast @ fit.parts)
            ends = (first, second) if difference >= 0 else (second, first)
            differences.append((abs(difference), ends, contrast @ fit.inverse))
    if not differences:
        return Effect(axis)
    difference, (lowest, highest), weights = max(differences, key=lambda each: each[0])
    half = reach * float(np.linalg.norm(weights)) if reach is not None else None
    values = sweep.values[axis]
    return Effect(
        axis,
        values[lowest],
        values[highest],
        math.exp(difference),
        math.exp(difference - half) if half is not None else None,
        math.exp(difference + half) if half is not None else None,
        axis in chosen and half is not None and difference > half,
    )


def _confounding(effect: Effect, chosen: Sequence[str], sweep: _Sweep) -> tuple[Confounding, ...]:
    """The pairs of other axes whose doing together is mixed most with an effect that is more than chance."""
    if not effect.is_shown:
        return ()
    fit, values = sweep.fit(chosen), sweep.values[effect.axis]
    contrast = fit.contrast(effect.axis, values.index(effect.lowest), values.index(effect.highest))
    # The effect is the sum of all logarithms, each times its weight.
    weights = contrast @ fit.inverse
    others = [axis for axis in sweep.values if axis != effect.axis]
    # Those that are fitted beside it are told from it already.
    alone = [((axis,), _alone(axis, sweep)) for axis in others if axis not in chosen]
    together = [(pair, _together(pair, sweep)) for pair in combinations(others, 2)]
    shares = [
        Confounding(axes, min(1.0, float(np.sum((base.T @ weights) ** 2) / np.sum(weights**2))))
        for axes, base in (*alone, *together)
        if base.size
    ]
    shares.sort(key=lambda confounding: -confounding.share)
    return tuple(each for each in shares[:CONFOUNDED_MAX] if each.share >= CONFOUNDED_SHARE_MIN)


def _alone(axis: str, sweep: _Sweep) -> Matrix:
    """An orthonormal base of what an axis does at these points."""
    indicators = sweep.indicators[axis]
    return _orthonormal(indicators - indicators.mean(axis=0))


def _together(pair: tuple[str, str], sweep: _Sweep) -> Matrix:
    """An orthonormal base of what two axes do together at these points, beyond what each does alone."""
    first, second = (sweep.indicators[axis] for axis in pair)
    alone = np.hstack([np.ones((len(first), 1)), first, second])
    products = np.einsum("pi,pj->pij", first, second).reshape(len(first), -1)
    return _orthonormal(products - alone @ (np.linalg.pinv(alone) @ products))


def _orthonormal(columns: Matrix) -> Matrix:
    base, sizes, _ = np.linalg.svd(columns, full_matrices=False)
    return np.asarray(base[:, sizes > _ESTIMABLE])
