"""Encoded HdrHistograms (V2, compressed, values in ns): decoded, merged, and summed up for a reader.

Percentiles are never averaged. One is given only where at least ten samples lie beyond it: otherwise one straggler more
or less would decide it. So p99.99 wants 100,000 samples, p99.9 10,000, p99 1,000, p95 200 and p50 20.

The decoder is our own because a trial has hundreds of histograms and the Python package adds those of different
ranges one bucket at a time (about 10 ms each). Where a value is counted depends on the lowest value and the digits
only, not on the range, so merging is one addition of arrays. Tests hold every part against the package.

Format: HdrHistogram 2.2.2, `AbstractHistogram.encodeIntoCompressedByteBuffer` and `ZigZagEncoding` (LEB128, 64 bit).
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidegauge.model.trial import NO_LATENCY, Latency

Counts = NDArray[np.int64]

_OUTER = struct.Struct(">II")
_INNER = struct.Struct(">IIIIQQd")
_COOKIE_MASK = 0xFFFFFF0F
_COMPRESSED_COOKIE = 0x1C849304
_PLAIN_COOKIE = 0x1C849303
_STORED = b"\x78\x01"
"""How zlib begins what it has not compressed."""
_DIGITS = 3
_LOWEST_NS = 1
_HALF_MAGNITUDE = 10
"""Power of two of the buckets of each doubling, which these digits take."""
_LENGTH_MAX = 1 << 20
_BYTES_BEFORE_LAST_MAX = 7
_STEPS = bytes((byte + 1) // 2 if byte & 1 else 1 for byte in range(0x80)) + bytes(0x80)
_COUNTS = bytes(0 if byte & 1 else byte // 2 for byte in range(0x80)) + bytes(0x80)
"""Buckets that a number of one byte stands for, and what it counts; bytes that others follow count with the last."""
_PLAIN_BYTES_MAX = 16 << 20
"""Of an encoding when it is unpacked: at most nine bytes a bucket, and its head."""
_AT_ONCE_BYTES = 1 << 16
"""Packed bytes that are summed in one go, in arrays that stay: new ones cost three times as much, in page faults."""


@dataclass(frozen=True)
class Histogram:
    """Counts of values in ns with three significant digits. `counts[i]` belongs to the values of bucket i.

    The finest bucket is of 1 ns.
    """

    counts: Counts

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
        """`percentile_ns` of several percentiles, from one sum over the counts."""
        summed = np.cumsum(self.counts)
        total = int(summed[-1]) if summed.size else 0
        if not total:
            return [0] * len(percentiles)
        ranks = [min(max(1, math.ceil(percentile * total / 100 - 1e-6)), total) for percentile in percentiles]
        ends: list[int] = self.highest_ns(np.searchsorted(summed, ranks)).tolist()
        return ends

    def highest_ns(self, indexes: Counts) -> Counts:
        """The upper ends of buckets."""
        low, width = _bounds_of_buckets(indexes)
        return low + width - 1

    def mean_ns(self) -> float:
        """The mean of the buckets' middles; 0 when there are no samples."""
        used = np.flatnonzero(self.counts)
        if not used.size:
            return 0.0
        low, width = _bounds_of_buckets(used)
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
        low, _ = _bounds_of_buckets(used)
        return float(self.counts[used][low > value_ns].sum() / self.counts.sum())

    def count_below(self, value_ns: int) -> int:
        """How many samples are in buckets that lie wholly below a value."""
        used = np.flatnonzero(self.counts)
        return int(self.counts[used][self.highest_ns(used) < value_ns].sum())


EMPTY = Histogram(np.zeros(0, dtype=np.int64))


def decode_histogram(encoded: bytes) -> Histogram:
    """The histogram in its encoded bytes; no bytes at all mean an empty one.

    Raises ValueError if they are damaged, or not of three significant digits down to 1 ns.
    """
    if not encoded:
        return EMPTY
    return _decode_sum([encoded])


def add_histograms(first: Histogram, other: Histogram) -> Histogram:
    """The samples of both."""
    if not first.counts.size:
        return other
    if not other.counts.size:
        return first
    counts = np.zeros(max(first.counts.size, other.counts.size), dtype=np.int64)
    counts[: first.counts.size] += first.counts
    counts[: other.counts.size] += other.counts
    return Histogram(counts)


def samples_without(whole: Histogram, part: Histogram) -> Histogram:
    """The samples of a histogram without those of another that it contains."""
    counts = np.zeros(max(whole.counts.size, part.counts.size), dtype=np.int64)
    counts[: whole.counts.size] += whole.counts
    counts[: part.counts.size] -= part.counts
    return Histogram(np.maximum(counts, 0))


def moved_in_time(histogram: Histogram, by_ns: float, *, mirrored: bool = False, least: bool = False) -> Histogram:
    """Every sample later by `by_ns`, which may be negative; what falls below 0 is 0.

    Args:
        mirrored: samples are how far times lie below 0.
        least: of a sample the least that it can be in its bucket, else the most.
    """
    used = np.flatnonzero(histogram.counts)
    if not used.size:
        return EMPTY
    low, width = _bounds_of_buckets(used)
    values = low if least is not mirrored else low + width - 1
    by_whole_ns = math.floor(by_ns) if least else math.ceil(by_ns)
    values_ns = np.maximum(0, (-values if mirrored else values) + by_whole_ns)
    shift = np.maximum(0, np.frexp(values_ns.astype(np.float64))[1].astype(np.int64) - 1 - _HALF_MAGNITUDE)
    places = (shift << _HALF_MAGNITUDE) + (values_ns >> shift)
    return Histogram(np.bincount(places, weights=histogram.counts[used]).astype(np.int64))


def sum_of(histograms: Iterable[Histogram]) -> Histogram:
    """The samples of all."""
    return reduce(add_histograms, histograms, EMPTY)


def merged_encodings(encoded: Sequence[bytes]) -> bytes:
    """The samples of all, encoded; "" where none has any. Raises ValueError like `decode_histogram`.

    All are decoded in one go: a second of a thousand workers has thousands of small ones, and each by itself would cost
    more in calls than in work.
    """
    nonempty = [each for each in encoded if each]
    if len(nonempty) <= 1:
        return nonempty[0] if nonempty else b""
    return encode_histogram(_decode_sum(nonempty))


def encode_histogram(histogram: Histogram) -> bytes:
    """The histogram's encoding, as `decode_histogram` and HdrHistogram's own tools read it; "" of one without samples.

    As the worker leaves its own, uncompressed: see `compressed`.
    """
    used = np.flatnonzero(histogram.counts)
    if not used.size:
        return b""
    body = _pack_counts(histogram.counts[: used[-1] + 1])
    # Everything that can be counted in the buckets that are there; a reader makes as many.
    highest_ns = max(int(histogram.highest_ns(used[-1:])[0]), 2)
    head = _INNER.pack(_PLAIN_COOKIE | 0x10, len(body), 0, _DIGITS, _LOWEST_NS, highest_ns, 1.0)
    packed = zlib.compress(head + body, level=0)
    return _OUTER.pack(_COMPRESSED_COOKIE | 0x10, len(packed)) + packed


def compressed(encoded: bytes) -> bytes:
    """An encoding made smaller, if the worker left it uncompressed. Raises ValueError if it is damaged."""
    if encoded[_OUTER.size : _OUTER.size + 2] != _STORED:
        return encoded
    try:
        packed = zlib.compress(_unpack_bytes(encoded[_OUTER.size :]))
    except zlib.error as error:
        raise ValueError(f"not an encoded histogram: {error}") from error
    return _OUTER.pack(_COMPRESSED_COOKIE | 0x10, len(packed)) + packed


def _decode_sum(encoded: Sequence[bytes]) -> Histogram:
    bodies = list(map(_packed_counts_of, encoded))
    room = max(_AT_ONCE_BYTES, *map(len, bodies)) if len(bodies) > 1 else len(bodies[0])
    places, counted = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.float64)
    total = EMPTY
    first, waiting_bytes = 0, 0
    for number, body in enumerate(bodies):
        if waiting_bytes + len(body) > room:
            total = add_histograms(total, _sum_at_once(bodies[first:number], places, counted))
            first, waiting_bytes = number, 0
        waiting_bytes += len(body)
    return add_histograms(total, _sum_at_once(bodies[first:], places, counted))


def _sum_at_once(bodies: Sequence[bytes], places: Counts, counted: NDArray[np.float64]) -> Histogram:
    """The sum of histograms, each by its packed counts.

    Packed are ZigZag LEB128 numbers: seven bits a byte, low first, the high bit says that more follow. Positive ones
    are counts, a negative one stands for so many empty buckets. Nearly all have one byte, which tables translate.

    Args:
        places, counted: arrays to work in, at least as long as all packed counts together.
    """
    packed = b"".join(bodies)
    places, counted = places[: len(packed)], counted[: len(packed)]
    long_ends, long_numbers = _long_numbers(np.frombuffer(packed, dtype=np.uint8), list(map(len, bodies)))
    # Floating point, as weights are: sums are exact up to 2^53.
    counted[:] = np.frombuffer(packed.translate(_COUNTS), dtype=np.uint8)
    counted[long_ends] = np.maximum(long_numbers, 0)
    steps = np.frombuffer(packed.translate(_STEPS), dtype=np.uint8)
    places[:] = steps
    places[long_ends] = np.minimum(np.where(long_numbers < 0, -long_numbers, 1), _LENGTH_MAX + 1)
    # One sum over all of them, from which what came before each is taken off: a sum for each would be a call for each.
    np.cumsum(places, out=places)
    lengths = np.array([len(body) for body in bodies if body], dtype=np.int64)
    until = places[np.cumsum(lengths) - 1]
    before = np.concatenate(([0], until[:-1]))[: lengths.size]
    places -= np.repeat(before, lengths)
    length = int((until - before).max(initial=0))
    if length > _LENGTH_MAX:
        raise ValueError("an encoded histogram with too many buckets")
    # The end of what a number stands for is known now: a count is in the bucket before it, and others count nothing.
    places -= 1
    np.maximum(places, 0, out=places)
    counts = np.bincount(places, weights=counted, minlength=length)
    return Histogram(counts.astype(np.int64))


def _long_numbers(packed: NDArray[np.uint8], lengths: Sequence[int]) -> tuple[Counts, Counts]:
    """Finds the ends and values of numbers of several bytes. Raises ValueError if one isn't whole in its histogram."""
    more = np.flatnonzero(packed >= 0x80)
    begins = np.zeros(packed.size + 1, dtype=bool)
    begins[np.cumsum(lengths)] = True
    if begins[more + 1].any():
        raise ValueError("an encoded histogram that ends in the middle of a number")
    ends = more[packed[more + 1] < 0x80] + 1
    values = packed[ends].astype(np.int64)
    open_, place = np.arange(ends.size), 1
    while open_.size:
        before = ends[open_] - place
        follows = (before >= 0) & (packed[before] >= 0x80)
        open_, before = open_[follows], before[follows]
        if open_.size and place > _BYTES_BEFORE_LAST_MAX:
            raise ValueError("an encoded histogram with a count above 2^55")
        values[open_] = values[open_] << 7 | packed[before] & 0x7F
        place += 1
    return ends, (values >> 1) ^ -(values & 1)


def _packed_counts_of(encoded: bytes) -> bytes:
    """The packed counts of an encoding. Raises ValueError."""
    try:
        cookie, length = _OUTER.unpack_from(encoded)
        if cookie & _COOKIE_MASK != _COMPRESSED_COOKIE or length > len(encoded) - _OUTER.size:
            raise ValueError("not an encoded histogram")
        plain = _unpack_bytes(encoded[_OUTER.size : _OUTER.size + length])
        inner, payload_bytes, _, digits, lowest, _, _ = _INNER.unpack_from(plain)
    except (struct.error, zlib.error) as error:
        raise ValueError(f"not an encoded histogram: {error}") from error
    if inner & _COOKIE_MASK != _PLAIN_COOKIE or digits != _DIGITS or lowest != _LOWEST_NS:
        raise ValueError(f"a histogram of an unknown kind (cookie {inner:x}, {digits} digits, from {lowest} ns on)")
    if payload_bytes > len(plain) - _INNER.size:
        raise ValueError("an encoded histogram that is cut off")
    return plain[_INNER.size : _INNER.size + payload_bytes]


def _unpack_bytes(packed: bytes) -> bytes:
    """Unpacks an encoding's inside.

    Raises `ValueError` where it becomes more than any histogram has, `zlib.error` where it is damaged.
    """
    unpacking = zlib.decompressobj()
    plain = unpacking.decompress(packed, _PLAIN_BYTES_MAX)
    if not unpacking.eof:
        raise ValueError("not an encoded histogram: cut off, or too large")
    return plain


def _pack_counts(counts: Counts) -> bytes:
    """Counts as ZigZag LEB128 numbers; several empty buckets in a row are one negative number."""
    used = np.flatnonzero(counts)
    packed = bytearray()
    end = 0
    for place, count in zip(used.tolist(), counts[used].tolist(), strict=True):
        if place - end > 1:
            _append_number(packed, (place - end) * 2 - 1)
        elif place > end:
            packed.append(0)
        _append_number(packed, count * 2)
        end = place + 1
    return bytes(packed)


def _append_number(packed: bytearray, number: int) -> None:
    while number >= 0x80:
        packed.append(number & 0x7F | 0x80)
        number >>= 7
    packed.append(number)


def _bounds_of_buckets(indexes: Counts) -> tuple[Counts, Counts]:
    """Lowest value and width, in ns, of buckets: 2048 fine ones, then 1024 for each doubling."""
    doubling = np.maximum(0, (indexes >> _HALF_MAGNITUDE) - 1)
    return (indexes - (doubling << _HALF_MAGNITUDE)) << doubling, np.int64(1) << doubling


_BEYOND_MIN = 10

_NINES = {"p99_ms": 99.0, "p999_ms": 99.9, "p9999_ms": 99.99}
PERCENTILES = {"p50_ms": 50.0, "p75_ms": 75.0, "p90_ms": 90.0, "p95_ms": 95.0, **_NINES}
"""Which percentile each field of a `Latency` holds."""
SAMPLES_MIN = {
    percentile: math.ceil(round(_BEYOND_MIN / (1 - percentile / 100), 3)) for percentile in PERCENTILES.values()
}
"""Samples needed for each percentile that is printed."""


def latency_summary(histogram: Histogram) -> Latency:
    """Count, mean, percentiles (None with fewer samples than `SAMPLES_MIN` wants) and maximum; times in ms."""
    count = histogram.count
    if not count:
        return NO_LATENCY
    *each_ns, max_ns = histogram.percentiles_ns(*PERCENTILES.values(), 100.0)
    percentiles = {
        field: value_ns / 1e6 if count >= SAMPLES_MIN[percentile] else None
        for (field, percentile), value_ns in zip(PERCENTILES.items(), each_ns, strict=True)
    }
    return Latency(count=count, mean_ms=histogram.mean_ns() / 1e6, max_ms=max_ns / 1e6, **percentiles)


def without_unknown_tail(latency: Latency, without_outcome: int) -> Latency:
    """A summary without its p99.9 and p99.99 where messages without an outcome would have decided them.

    What failed, or was never answered, took longest of all and is in no histogram. As soon as it is as many messages as
    lie beyond a percentile, that percentile is not known. Of p99 and below a trial's reasons say that they are those of
    the others: from a thousandth of the messages on it is DOUBTFUL.
    """
    messages = latency.count + without_outcome
    unknown: dict[str, Any] = {
        field: None
        for field, percentile in PERCENTILES.items()
        if percentile > 99 and without_outcome and without_outcome >= (1 - percentile / 100) * messages - 1e-6
    }
    return replace(latency, **unknown)


def live_ms(encoded: bytes) -> tuple[float | None, float | None]:
    """p50 and p99 of one second for the live view and the steady test; None when nothing was recorded in it.

    Without a sample minimum: they guide, they are not published.
    """
    histogram = decode_histogram(encoded)
    if not histogram.count:
        return None, None
    p50_ns, p99_ns = histogram.percentiles_ns(50.0, 99.0)
    return p50_ns / 1e6, p99_ns / 1e6


def summarise_histogram(encoded: bytes) -> Latency:
    """`latency_summary` of an encoded histogram."""
    return latency_summary(decode_histogram(encoded))
