"""Messages of several sizes: what is sent has the shares, the median and the p99 that were asked for."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise

import pytest
from scipy.stats import kstest, lognorm

from tidegauge.model.message_sizes import BODIES, HEADER_BYTES, POOL_BYTES_MAX, MessageSizes, SizeKind
from tidegauge.model.workload import Payload

MIXED = MessageSizes(SizeKind.MIXED, (100, 1024, 65536), (0.7, 0.25, 0.05))
LOGNORMAL = MessageSizes(SizeKind.LOGNORMAL, median_bytes=1024, p99_bytes=65536)


def test_each_size_of_a_mix_comes_as_often_as_its_share_says() -> None:
    counts = Counter(MIXED.pool_bytes())
    assert {size_bytes: count / BODIES for size_bytes, count in counts.items()} == pytest.approx(
        {100: 0.7, 1024: 0.25, 65536: 0.05}, abs=1 / BODIES
    )
    assert MIXED.mean_bytes == pytest.approx(0.7 * 100 + 0.25 * 1024 + 0.05 * 65536, rel=0.005)
    assert MIXED.most_bytes == 65536
    assert MIXED.share_off_most() < 0.005


def test_lognormal_sizes_are_distributed_as_their_formula_says() -> None:
    """The largest distance between what is sent and the distribution is that of a grid: half a slice, and rounding."""
    sigma = math.log(64) / 2.3263478740408408
    pool = LOGNORMAL.pool_bytes()
    assert len(pool) > 3000
    distance = kstest(pool, lognorm(s=sigma, scale=1024).cdf).statistic
    assert distance == pytest.approx(lognorm(s=sigma, scale=1024).cdf(HEADER_BYTES), abs=0.003)
    assert pool[len(pool) // 2] == pytest.approx(1024, rel=0.01)
    assert pool[int(0.99 * len(pool))] == pytest.approx(65536, rel=0.03)
    assert min(pool) == HEADER_BYTES
    assert all(smaller <= larger for smaller, larger in pairwise(pool))


def test_what_is_kept_fits_into_the_pool_and_has_a_prime_number() -> None:
    large = MessageSizes(SizeKind.MIXED, (1024, 1 << 20), (0.9, 0.1))
    pool = large.pool_bytes()
    assert sum(pool) <= 1.1 * POOL_BYTES_MAX
    assert len(pool) == 157
    assert large.share_off_most() < 0.05
    tiny = MessageSizes(SizeKind.MIXED, (100, 10 << 20), (0.99, 0.01))
    assert tiny.share_off_most() > 0.05


def test_more_are_kept_where_compression_needs_more() -> None:
    small = MessageSizes(SizeKind.MIXED, (100, 200), (0.5, 0.5))
    assert len(small.pool_bytes()) == BODIES
    assert len(small.pool_bytes(20_011)) == 20_011


def test_the_seed_decides_the_order_and_nothing_else() -> None:
    first, again, other = (MIXED.shuffled_pool_bytes(seed, 0) for seed in (1, 1, 2))
    assert first == again != other
    assert sorted(first) == sorted(other) == MIXED.pool_bytes()
    # No stretch of it is of small ones only: each tenth has its large ones.
    tenths = [first[start : start + 400] for start in range(0, 4000, 400)]
    assert all(5 <= tenth.count(65536) <= 40 for tenth in tenths)


def test_lines_are_in_their_file() -> None:
    lines = MessageSizes(SizeKind.LINES, given=3, given_bytes_mean=80.5, given_bytes_most=100)
    assert lines.pool_bytes() == []
    assert (lines.mean_bytes, lines.most_bytes) == (80.5, 100)
    assert str(lines) == "the 3 lines of a file (up to 100 B; 80 B on average)"


def test_a_payload_is_named_with_its_sizes() -> None:
    assert str(Payload(1024)) == "1 KiB messages"
    assert Payload(1024).message_bytes_max == 1024
    mixed = Payload(3609, sizes=MIXED)
    assert mixed.message_bytes_max == 65536
    assert str(mixed) == ("messages of mixed sizes (70% 100 B, 25% 1 KiB, 5% 64 KiB; 3.524 KiB on average)")
    assert str(LOGNORMAL) == "lognormal sizes (half up to 1 KiB, 99% up to 64 KiB; 4.886 KiB on average)"
