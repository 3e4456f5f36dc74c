"""Processing times: distributions whose mean and percentiles are known from their formulas."""

from __future__ import annotations

import math
from itertools import pairwise
from statistics import NormalDist

import pytest

from tidegauge.model.processing import QUANTILES, TAIL_S_MAX, Processing, ProcessingKind


def percentile_s(processing: Processing, share: float) -> float:
    return processing.times_s()[int(share * QUANTILES)]


def test_constant_times_are_all_alike() -> None:
    processing = Processing(ProcessingKind.CONSTANT, 0.02)
    assert set(processing.times_s()) == {0.02}
    assert processing.mean_s == pytest.approx(0.02)


def test_exponential_times_have_their_mean_and_percentiles() -> None:
    processing = Processing(ProcessingKind.EXPONENTIAL, 0.01)
    assert processing.mean_s == pytest.approx(0.01, rel=1e-3)
    assert percentile_s(processing, 0.5) == pytest.approx(0.01 * math.log(2), rel=1e-3)
    assert percentile_s(processing, 0.99) == pytest.approx(0.01 * math.log(100), rel=5e-3)


@pytest.mark.parametrize("kind", [ProcessingKind.LOGNORMAL, ProcessingKind.PARETO])
def test_skewed_times_have_the_median_and_the_p99_that_were_asked_for(kind: ProcessingKind) -> None:
    processing = Processing(kind, 0.005, 0.1)
    assert percentile_s(processing, 0.5) == pytest.approx(0.005, rel=2e-3)
    assert percentile_s(processing, 0.99) == pytest.approx(0.1, rel=2e-2)
    assert all(shorter <= longer for shorter, longer in pairwise(processing.times_s()))


def test_the_mean_of_lognormal_times_is_that_of_the_formula() -> None:
    sigma = math.log(0.02 / 0.005) / NormalDist().inv_cdf(0.99)
    mean_s = 0.005 * math.exp(sigma**2 / 2)
    assert Processing(ProcessingKind.LOGNORMAL, 0.005, 0.02).mean_s == pytest.approx(mean_s, rel=1e-3)


def test_pareto_has_the_heavier_tail() -> None:
    longest_s = {
        kind: Processing(kind, 0.005, 0.1).times_s()[-1] for kind in (ProcessingKind.LOGNORMAL, ProcessingKind.PARETO)
    }
    assert longest_s[ProcessingKind.PARETO] > 1.5 * longest_s[ProcessingKind.LOGNORMAL]


def test_no_message_takes_longer_than_consumers_may_be_silent() -> None:
    processing = Processing(ProcessingKind.PARETO, 0.001, 2.0)
    assert processing.times_s()[-1] == TAIL_S_MAX


@pytest.mark.parametrize(
    ("processing", "words"),
    [
        (Processing(ProcessingKind.CONSTANT, 0.02), "20ms"),
        (Processing(ProcessingKind.CONSTANT, 0.0125), "12.5ms"),
        (Processing(ProcessingKind.EXPONENTIAL, 1.5), "exponential 1.5s"),
        (Processing(ProcessingKind.LOGNORMAL, 0.005, 0.1), "lognormal 5ms p99 100ms"),
    ],
)
def test_they_are_named_as_campaigns_write_them(processing: Processing, words: str) -> None:
    assert str(processing) == words
