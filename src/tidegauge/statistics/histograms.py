"""Encoded HdrHistograms (V2, compressed, values in ns) decoded and merged. Percentiles are never averaged.

The decoder is our own because a trial has hundreds of histograms and the Python package adds those of different
ranges one bucket at a time (about 10 ms each). Where a value is counted depends on the lowest value and the digits
only, not on the range, so merging is one addition of arrays. Tests hold every part against the package.

Format: HdrHistogram 2.2.2, `AbstractHistogram.encodeIntoCompressedByteBuffer` and `ZigZagEncoding` (LEB128, 64 bit).
"""

from __future__ import annotations

import math
import struct
import zlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]

_OUTER = struct.Struct(">II")
_INNER = struct.Struct(">IIIIQQd")
_COOKIE_MASK = 0xFFFFFF0F
_COMPRESSED_COOKIE = 0x1C849304
_PLAIN_COOKIE = 0x1C849303
_DIGITS = 3
_LENGTH_MAX = 1 << 20


@dataclass(frozen=True)
class Histogram:
    """Counts of values in ns with three significant digits. `counts[i]` belongs to the values of bucket i.

    `unit_magnitude` is the power of two of the finest bucket: 0 for 1 ns.
    """

    counts: Counts
    unit_magnitude: int = 0

    @property
    def count(self) -> int:
        """How many samples."""
        return int(self.counts.sum())

    def percentile_ns(self, percentile: float) -> int:
        """The smallest recorded value with at least this share of samples at or below it (upper end of its bucket).

        0 when there are no samples.
        """
        return self.percentiles_ns(percentile)[0]

    def percentiles_ns(self, *percentiles: float) -> list[int]:
        """The same of several percentiles, from one sum over the counts."""
        summed = np.cumsum(self.counts)
        total = int(summed[-1]) if summed.size else 0
        if not total:
            return [0] * len(percentiles)
        ranks = [min(max(1, math.ceil(percentile * total / 100 - 1e-6)), total) for percentile in percentiles]
        ends: list[int] = self.highest_ns(np.searchsorted(summed, ranks)).tolist()
        return ends

    def highest_ns(self, indexes: Counts) -> Counts:
        """The upper ends of buckets."""
        low, width = _buckets(indexes, self.unit_magnitude)
        return low + width - 1

    def mean_ns(self) -> float:
        """The mean of the buckets' middles; 0 when there are no samples."""
        used = np.flatnonzero(self.counts)
        if not used.size:
            return 0.0
        low, width = _buckets(used, self.unit_magnitude)
        counts = self.counts[used].astype(np.float64)
        return float(((low + width // 2) * counts).sum() / counts.sum())

    def max_ns(self) -> int:
        """The upper end of the highest bucket used; 0 when there are no samples."""
        return self.percentile_ns(100.0)

    def share_above(self, value_ns: int) -> float:
        """The share of samples in buckets that lie wholly above a value; 0 when there are no samples."""
        used = np.flatnonzero(self.counts)
        if not used.size:
            return 0.0
        low, _ = _buckets(used, self.unit_magnitude)
        return float(self.counts[used][low > value_ns].sum() / self.counts.sum())


EMPTY = Histogram(np.zeros(0, dtype=np.int64))


def decode(encoded: bytes) -> Histogram:
    """The histogram in its encoded bytes; no bytes at all mean an empty one.

    Raises ValueError if they are damaged, or not of three significant digits.
    """
    if not encoded:
        return EMPTY
    try:
        cookie, length = _OUTER.unpack_from(encoded)
        if cookie & _COOKIE_MASK != _COMPRESSED_COOKIE or length > len(encoded) - _OUTER.size:
            raise ValueError("not an encoded histogram")
        plain = zlib.decompress(encoded[_OUTER.size : _OUTER.size + length])
        inner, payload_bytes, _, digits, lowest, _, _ = _INNER.unpack_from(plain)
    except (struct.error, zlib.error) as error:
        raise ValueError(f"not an encoded histogram: {error}") from error
    if inner & _COOKIE_MASK != _PLAIN_COOKIE or digits != _DIGITS or lowest < 1:
        raise ValueError(f"a histogram of an unknown kind (cookie {inner:x}, {digits} digits)")
    body = np.frombuffer(plain, dtype=np.uint8, count=payload_bytes, offset=_INNER.size)
    return Histogram(_expand(_unpack(body)), int(lowest).bit_length() - 1)


def add(one: Histogram, other: Histogram) -> Histogram:
    """The samples of both. ValueError if their finest buckets differ."""
    if not one.counts.size:
        return other
    if not other.counts.size:
        return one
    if one.unit_magnitude != other.unit_magnitude:
        raise ValueError("histograms of different resolution can't be merged")
    counts = np.zeros(max(one.counts.size, other.counts.size), dtype=np.int64)
    counts[: one.counts.size] += one.counts
    counts[: other.counts.size] += other.counts
    return Histogram(counts, one.unit_magnitude)


def _unpack(body: NDArray[np.uint8]) -> Counts:
    """ZigZag LEB128 numbers: seven bits a byte, low first, the high bit says that more follow."""
    if not body.size:
        return np.zeros(0, dtype=np.int64)
    ends = np.flatnonzero(body < 0x80)
    if not ends.size or ends[-1] != body.size - 1:
        raise ValueError("an encoded histogram that ends in the middle of a number")
    starts = np.concatenate(([0], ends[:-1] + 1))
    lengths = ends - starts + 1
    if lengths.max() > 8:
        raise ValueError("an encoded histogram with a count above 2^55")
    place = np.arange(body.size) - np.repeat(starts, lengths)
    parts = (body & 0x7F).astype(np.int64) << (7 * place)
    raw = np.add.reduceat(parts, starts)
    unpacked: Counts = (raw >> 1) ^ -(raw & 1)
    return unpacked


def _expand(numbers: Counts) -> Counts:
    """Positive numbers are counts; a negative one stands for so many empty buckets."""
    steps = np.where(numbers < 0, -numbers, 1)
    length = int(steps.sum())
    if length > _LENGTH_MAX:
        raise ValueError("an encoded histogram with too many buckets")
    counts = np.zeros(length, dtype=np.int64)
    places = np.cumsum(steps) - steps
    present = numbers >= 0
    counts[places[present]] = numbers[present]
    return counts


def _buckets(indexes: NDArray[np.int64], unit_magnitude: int) -> tuple[Counts, Counts]:
    """Lowest value and width, in ns, of buckets: 2048 fine ones, then 1024 for each doubling."""
    half_magnitude = 10
    half = 1 << half_magnitude
    bucket = (indexes >> half_magnitude) - 1
    sub = (indexes & (half - 1)) + half
    first = bucket < 0
    sub = np.where(first, sub - half, sub)
    shift = np.where(first, 0, bucket) + unit_magnitude
    one = np.int64(1)
    return (sub.astype(np.int64) << shift, one << shift)
