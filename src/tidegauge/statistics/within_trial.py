"""How much a figure moved within one trial: the block bootstrap over its seconds.

Messages of one second share its pauses, and neighbouring seconds share queues, so neither is a sample by itself: runs
of neighbouring seconds are drawn again, long enough that their ends hardly know of one another. Percentiles come from
the drawn seconds' histograms merged, never from percentiles of seconds.

Such an interval says how steady the figure was in this trial. It does not know what another trial would give (another
layout on disk, other neighbours, another JIT compilation), so no verdict rests on it, and it is labelled wherever it
is shown.

Sources: H. R. Künsch, "The Jackknife and the Bootstrap for General Stationary Observations", Annals of Statistics 17
(1989); E. Carlstein, "The Use of Subseries Values for Estimating the Variance of a General Statistic from a Stationary
Sequence", Annals of Statistics 14 (1986), for the length of blocks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tidegauge.extras import has_package
from tidegauge.statistics.histograms import SAMPLES_MIN, Histogram, sum_of
from tidegauge.statistics.intervals import CONFIDENCE, TAILS, Interval, Method, t_quantile

SECONDS_MIN = 10
_PIECES_MAX = 600
"""A trial of hours is thinned to so many stretches first."""
_RESAMPLES = 1000
_SEED = 20_260_102

Floats = NDArray[np.float64]


def mean_within(values: Sequence[float]) -> Interval | None:
    """The mean of a figure of each second (a rate), with its interval within the trial.

    None with fewer than ten seconds, or a mean that is not positive, or without scipy.
    """
    series = np.asarray(values, dtype=np.float64)
    if series.size < SECONDS_MIN or not series.mean() > 0 or not has_package("scipy"):
        return None
    if series.size > _PIECES_MAX:
        stretch = -(-series.size // _PIECES_MAX)
        series = series[: series.size - series.size % stretch].reshape(-1, stretch).mean(axis=1)
    length = block_length(series)
    drawn = series[_draw_places(series.size, length)].mean(axis=1)
    return _interval_within(float(series.mean()), drawn, series.size, length)


def percentile_within(seconds: Sequence[Histogram], percentile: float) -> Interval | None:
    """A percentile in ms of all seconds merged, with its interval within the trial.

    None with fewer than ten seconds or too few samples for the percentile (`histograms.SAMPLES_MIN`), or without scipy.
    """
    pieces = [second for second in seconds if second.count]
    stretch = -(-len(pieces) // _PIECES_MAX)
    if stretch > 1:
        pieces = [sum_of(pieces[at : at + stretch]) for at in range(0, len(pieces), stretch)]
    whole = sum_of(pieces)
    if len(pieces) < SECONDS_MIN or whole.count < SAMPLES_MIN[percentile] or not has_package("scipy"):
        return None
    each = np.log([max(1, piece.percentile_ns(percentile)) for piece in pieces])
    length = block_length(each)
    drawn = _percentile_of_resamples(pieces, whole, _draw_places(len(pieces), length), percentile)
    return _interval_within(whole.percentile_ns(percentile) / 1e6, drawn / 1e6, len(pieces), length)


def block_length(series: Floats) -> int:
    """How many neighbours belong together: by the correlation of each value with the next, at most a fifth of all."""
    count = series.size
    around = series - series.mean()
    spread = float((around**2).sum())
    next_to = float((around[:-1] * around[1:]).sum()) / spread if spread > 0 else 0.0
    correlation = min(0.95, max(0.0, next_to))
    length = math.pow(math.sqrt(6) * correlation / (1 - correlation**2), 2 / 3) * math.cbrt(count)
    return max(1, min(count // 5, math.ceil(max(length, math.cbrt(count)))))


def _draw_places(count: int, length: int) -> NDArray[np.int64]:
    """Places of resampled series: runs of `length` neighbours, the last one followed by the first."""
    runs = -(-count // length)
    starts = np.random.default_rng(_SEED).integers(0, count, (_RESAMPLES, runs))
    places = (starts[:, :, None] + np.arange(length)) % count
    drawn: NDArray[np.int64] = places.reshape(_RESAMPLES, -1)[:, :count]
    return drawn


def _interval_within(estimate: float, drawn: Floats, count: int, length: int) -> Interval:
    """Quantiles of what was drawn, widened by Student's t: so few blocks show too little of the spread."""
    from scipy.special import ndtri

    blocks = count // length
    wider = t_quantile(blocks - 1) / float(ndtri((1 + CONFIDENCE) / 2))
    moved = np.log(np.maximum(drawn, estimate * 1e-9) / estimate)
    low, high = np.quantile(moved, TAILS)
    return Interval(
        estimate=estimate,
        low=estimate * math.exp(wider * min(0.0, float(low))),
        high=estimate * math.exp(wider * max(0.0, float(high))),
        blocks=blocks,
        method=Method.WITHIN_TRIAL,
        deviation=float(moved.std()),
    )


def _percentile_of_resamples(
    pieces: Sequence[Histogram], whole: Histogram, places: NDArray[np.int64], percentile: float
) -> Floats:
    """The percentile, in ns, of each resampled trial: counts of its seconds added up bucket by bucket."""
    used = np.flatnonzero(whole.counts)
    counts = np.zeros((len(pieces), used.size))
    for row, piece in enumerate(pieces):
        within_piece = used[used < piece.counts.size]
        counts[row, : within_piece.size] = piece.counts[within_piece]
    columns = _columns_of_percentile(np.cumsum(counts, axis=1), places, percentile)
    values: Floats = whole.highest_ns(used)[columns].astype(np.float64)
    return values


def _columns_of_percentile(running: Floats, places: NDArray[np.int64], percentile: float) -> NDArray[np.int64]:
    """The first column in which each resampled trial has reached its percentile.

    `running`: for each second, its counts up to each column. They are added up only where halving asks for them.
    """
    drawn, seconds = places.shape[0], running.shape[0]
    cells = places + seconds * np.arange(drawn)[:, None]
    times = np.bincount(cells.ravel(), minlength=drawn * seconds).reshape(drawn, seconds).astype(np.float64)
    ranks = np.maximum(1.0, np.ceil(percentile * (times @ running[:, -1]) / 100 - 1e-6))
    low, high = np.zeros(drawn, dtype=np.int64), np.full(drawn, running.shape[1] - 1)
    while (low < high).any():
        middle = (low + high) // 2
        reached = np.einsum("ij,ji->i", times, running[:, middle]) >= ranks
        low, high = np.where(reached, low, middle + 1), np.where(reached, middle, high)
    return low
