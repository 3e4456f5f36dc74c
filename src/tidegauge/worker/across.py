"""End-to-end latency of messages that go from host to host, whose clocks are known within bounds. Pure.

A consumer subtracts the intended time, put on its own clock by how far the other was estimated to be ahead. If the
other's clock was really ahead by something in [low, high], the latency is what it found plus something in
[low - estimate, high - estimate]: so every percentile lies between that of all latencies at their least and that of all
at their most, whatever the clocks did in between.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any

from tidegauge.model.load import ClockBound, SubscriptionTotals, TotalFigures
from tidegauge.model.reason import Reason, ReasonKind
from tidegauge.model.trial import Latency, SubscriptionResult
from tidegauge.numbers import ms, trimmed
from tidegauge.statistics.clocks import Offset
from tidegauge.statistics.histograms import (
    PERCENTILES,
    Histogram,
    decode_histogram,
    encode_histogram,
    moved_in_time,
    samples_without,
    sum_of,
    summarise_histogram,
)

CLOCK_SHARE_MAX = 0.10
"""Of an end-to-end time, by which it may be wrong since it was measured with two clocks, to be given at all."""

Bounds = Mapping[tuple[int, int], Offset]
"""Of each two workers, by number from 0, on hosts of their own: the second's clock minus the first's in the window."""


def across_clocks(
    together: TotalFigures, each: Sequence[TotalFigures], bounds: Bounds, ahead_ns: Sequence[int]
) -> TotalFigures:
    """The totals of all workers, with end-to-end times as clocks allow them, and how well these are known.

    Args:
        each: of every worker by itself.
        ahead_ns: by how much each one's clock was taken to be ahead of the controller's.
    """
    # By receiver and sender: how much further the sender's clock was ahead than it was taken to be.
    errors = {
        (first, second): replace(
            offset,
            low_ns=offset.low_ns - (ahead_ns[second] - ahead_ns[first]),
            high_ns=offset.high_ns - (ahead_ns[second] - ahead_ns[first]),
        )
        for (first, second), offset in bounds.items()
    }
    clocks = tuple(
        ClockBound(first + 1, second + 1, offset.low_ns, offset.high_ns)
        for (first, second), offset in sorted(bounds.items(), key=itemgetter(0))
        if first < second
    )
    subscriptions = tuple(
        _with_bounds(
            merged,
            [next((sub for sub in totals.subscriptions if sub.name == merged.name), None) for totals in each],
            errors,
        )
        for merged in together.subscriptions
    )
    return replace(together, subscriptions=subscriptions, clocks=clocks)


def _with_bounds(
    merged: SubscriptionTotals, each: Sequence[SubscriptionTotals | None], errors: Bounds
) -> SubscriptionTotals:
    same, low, middle, high = [], [], [], []
    impossible = 0
    for receiver, sub in enumerate(each):
        if sub is None:
            continue
        apart = [(part.worker, decode_histogram(part.end_to_end), decode_histogram(part.before)) for part in sub.apart]
        same.append(samples_without(decode_histogram(sub.end_to_end), sum_of(after for _, after, _ in apart)))
        for sender, after, before in apart:
            error = errors[receiver, sender]
            low.append(_latencies_moved_by(after, before, error.low_ns, least=True))
            middle.append(_latencies_moved_by(after, before, (error.low_ns + error.high_ns) / 2))
            high.append(_latencies_moved_by(after, before, error.high_ns))
            # Those that were surely received before they were intended, though all are later by so much.
            impossible += (
                round(before.share_above(math.ceil(error.high_ns)) * before.count)
                if error.high_ns >= 0
                else before.count + after.count_below(math.ceil(-error.high_ns))
            )
    if not low:
        return merged
    return replace(
        merged,
        end_to_end=encode_histogram(sum_of([*same, *middle])),
        end_to_end_low=encode_histogram(sum_of([*same, *low])),
        end_to_end_high=encode_histogram(sum_of([*same, *high])),
        # Not even the bounds explain them: a clock is not what it was assumed to be.
        negative_latency=merged.negative_latency + impossible,
    )


def _latencies_moved_by(after: Histogram, before: Histogram, by_ns: float, *, least: bool = False) -> Histogram:
    return sum_of([moved_in_time(after, by_ns, least=least), moved_in_time(before, by_ns, mirrored=True, least=least)])


def end_to_end_times(sub: SubscriptionTotals) -> dict[str, Latency]:
    """The end-to-end times of a `SubscriptionResult`, and their bounds where they cross clocks."""
    middle = summarise_histogram(sub.end_to_end)
    if not sub.end_to_end_low and not sub.end_to_end_high:
        return {"end_to_end": middle}
    low, high = summarise_histogram(sub.end_to_end_low), summarise_histogram(sub.end_to_end_high)
    # Percentiles that clocks leave more than a tenth of room on either side.
    unknown_percentiles = [
        name
        for name in PERCENTILES
        if (most := getattr(high, name)) is not None
        and (most - getattr(low, name)) / 2 > CLOCK_SHARE_MAX * getattr(middle, name)
    ]
    unknown: dict[str, Any] = dict.fromkeys(unknown_percentiles)
    return {"end_to_end": replace(middle, **unknown), "end_to_end_low": low, "end_to_end_high": high}


def clock_warnings(subscriptions: Sequence[SubscriptionResult], *, by_phases: bool) -> Iterator[Reason]:
    """Which end-to-end times clocks are not known well enough for, with their bounds."""
    across = [(sub, sub.end_to_end_low, sub.end_to_end_high) for sub in subscriptions]
    crossing = [(sub, low, high) for sub, low, high in across if low and high]
    for sub, low, high in crossing:
        bounds = [
            f"p{trimmed(percentile)} {ms(getattr(low, name))} to {ms(getattr(high, name))} ms"
            for name, percentile in PERCENTILES.items()
            if getattr(sub.end_to_end, name) is None and getattr(high, name) is not None
        ]
        if bounds:
            text = f"end-to-end times of {sub.name} are only known within bounds: {', '.join(bounds)}"
            yield Reason(ReasonKind.CLOCKS, text)
    if crossing and by_phases:
        text = "end-to-end times of phases are by clocks as they were when the trial began"
        yield Reason(ReasonKind.CLOCKS, text)
