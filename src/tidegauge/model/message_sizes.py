"""Messages of several sizes: shares of a few, a lognormal distribution, or as they are given, in one file or several.

Drawn ones are made before a trial, as many as the load generator keeps bodies: each size as often as its share says, in
an order that the seed decides. Messages go through them in turn, so that any long part of a trial has the same mix.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from math import isqrt
from operator import mul
from statistics import NormalDist, fmean

from tidegauge.numbers import percent, plural, size

HEADER_BYTES = 48
"""What a message says of itself: trial, producer, sequence, intended time, checksums."""
MESSAGE_BYTES_MAX = 20 << 20
POOL_BYTES_MAX = 16 << 20
"""What a load generator keeps of different bodies."""
BODIES = 4093
"""Different bodies, where they fit. A prime, as those dealt out to partitions by turns should be."""
SHARE_OFF_MAX = 0.05
"""By how much of itself the share of a size may be missed where few bodies fit."""


class SizeKind(StrEnum):
    """How the sizes of messages are distributed."""

    MIXED = "mixed"
    LOGNORMAL = "lognormal"
    LINES = "lines"
    FILES = "files"

    @property
    def is_given(self) -> bool:
        """Whether messages are given one by one: as the lines of a file, or the files of a directory."""
        return self in {SizeKind.LINES, SizeKind.FILES}


@dataclass(frozen=True)
class MessageSizes:
    """Sizes of whole messages, with the header of each.

    Attributes:
        kind: which of the following say it.
        sizes_bytes: of `MIXED`, the smallest first.
        shares: of each of these, 0 to 1; together 1.
        median_bytes: of `LOGNORMAL`.
        p99_bytes: the same.
        given: of `LINES` and `FILES`, how many messages there are.
        given_bytes_mean: their mean.
        given_bytes_most: the largest.
    """

    kind: SizeKind
    sizes_bytes: tuple[int, ...] = ()
    shares: tuple[float, ...] = ()
    median_bytes: int = 0
    p99_bytes: int = 0
    given: int = 0
    given_bytes_mean: float = 0.0
    given_bytes_most: int = 0

    def __str__(self) -> str:
        """As people read it: "mixed sizes (70% 100 B, 25% 1 KiB, 5% 64 KiB; 3.518 KiB on average)"."""
        mean = f"{size(self.mean_bytes)} on average"
        if self.kind is SizeKind.MIXED:
            parts = zip(self.shares, self.sizes_bytes, strict=True)
            return f"mixed sizes ({', '.join(f'{percent(share)} {size(of_size)}' for share, of_size in parts)}; {mean})"
        if self.kind is SizeKind.LOGNORMAL:
            return f"lognormal sizes (half up to {size(self.median_bytes)}, 99% up to {size(self.p99_bytes)}; {mean})"
        if self.kind is SizeKind.LINES:
            return f"the {plural(self.given, 'line')} of a file (up to {size(self.most_bytes)}; {mean})"
        return f"the {plural(self.given, 'file')} of a directory (up to {size(self.most_bytes)}; {mean})"

    def pool_bytes(self, bodies: int = 0) -> list[int]:
        """The sizes of the messages that a load generator keeps, the smallest first; [] where they are given.

        `bodies`: at least so many, if they fit.
        """
        if self.kind.is_given:
            return []
        fit = int(POOL_BYTES_MAX / self._mean_by_shares_bytes)
        return self._spread(_prime_to(max(1, min(fit, max(bodies, BODIES)))))

    def shuffled_pool_bytes(self, seed: int, bodies: int) -> list[int]:
        """The same in the order in which they are sent."""
        sizes_bytes = self.pool_bytes(bodies)
        random.Random(seed).shuffle(sizes_bytes)
        return sizes_bytes

    @cached_property
    def mean_bytes(self) -> float:
        """The mean of what is sent."""
        return self.given_bytes_mean if self.kind.is_given else fmean(self.pool_bytes())

    @cached_property
    def least_bytes(self) -> int:
        """The smallest of what is sent; of given ones a bound."""
        return HEADER_BYTES if self.kind.is_given else self.pool_bytes()[0]

    @cached_property
    def most_bytes(self) -> int:
        """The largest of what is sent."""
        return self.given_bytes_most if self.kind.is_given else self.pool_bytes()[-1]

    def share_off_most(self) -> float:
        """By how much of itself the share of a size is missed at most; 0 where sizes have no shares."""
        if self.kind is not SizeKind.MIXED:
            return 0.0
        pool = self.pool_bytes()
        return max(
            abs(pool.count(size_bytes) / len(pool) / share - 1)
            for size_bytes, share in zip(self.sizes_bytes, self.shares, strict=True)
        )

    @property
    def _mean_by_shares_bytes(self) -> float:
        if self.kind is SizeKind.MIXED:
            return math.fsum(map(mul, self.sizes_bytes, self.shares))
        return fmean(self._spread(BODIES))

    def _spread(self, bodies: int) -> list[int]:
        """So many sizes: the middle of each of as many slices of the distribution."""
        places = [(place + 0.5) / bodies for place in range(bodies)]
        if self.kind is SizeKind.LOGNORMAL:
            sigma = math.log(self.p99_bytes / self.median_bytes) / NormalDist().inv_cdf(0.99)
            drawn = (self.median_bytes * math.exp(sigma * NormalDist().inv_cdf(place)) for place in places)
            return [min(max(round(size_bytes), HEADER_BYTES), MESSAGE_BYTES_MAX) for size_bytes in drawn]
        sizes_bytes, place, below = [], 0, 0.0
        for size_bytes, share in zip(self.sizes_bytes, self.shares, strict=True):
            below += share
            while place < bodies and places[place] < below:
                sizes_bytes.append(size_bytes)
                place += 1
        # What rounding left of the shares' sum.
        return sizes_bytes + [self.sizes_bytes[-1]] * (bodies - place)


def _prime_to(number: int) -> int:
    """The largest prime that is not above a number; 1 below 2."""
    while number > 1 and not is_prime(number):
        number -= 1
    return number


def is_prime(number: int) -> bool:
    """Whether a number of at least 2 has no divisor but 1 and itself."""
    return all(number % divisor for divisor in range(2, isqrt(number) + 1))
