"""Latency by percentile, from merged histograms: what averages hide, up to where ten samples still lie beyond."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tidegauge.comparison.blocks import Block
from tidegauge.model.trial import LoadResult, Validity
from tidegauge.numbers import ms
from tidegauge.report.plots.model import Axis, Form, Plot, Scale, Series
from tidegauge.statistics.figures import prompt_readers
from tidegauge.statistics.histograms import EMPTY, Histogram, add
from tidegauge.store.details import END_TO_END, TrialDetails

NS_PER_MS = 1e6
BEYOND_MIN = 10
"""Samples that must lie beyond a percentile that is drawn, as in tables."""
_POINTS_PER_DECADE = 12

Details = Mapping[str, TrialDetails]


def percentile_plots(block: Block, details: Details, prefix: str) -> list[Plot]:
    """Response time, and end-to-end latency of the slowest subscription, each where there is any."""
    kinds = [
        ("response", "Response time by percentile", "from the intended send to the acknowledgement"),
        (END_TO_END, "End-to-end latency by percentile", "from the intended send to the receipt"),
    ]
    found = []
    for kind, title, meaning in kinds:
        series = [line for system in block.systems if (line := _system(block, system, details, kind)) is not None]
        if series:
            plot_id = f"{prefix}-{kind}-percentiles"
            x = Axis("share of messages that took at most so long", Scale.PERCENTILE, Form.PERCENT)
            y = Axis(f"{title.partition(' by')[0].lower()}, ms", Scale.LOG, Form.MS)
            found.append(Plot(plot_id, title, _description(meaning, series), x, y, tuple(series)))
    return found


def curve(*histograms: Histogram) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Percentiles, in percent, and the largest latency in ms at each; none without enough samples for the median."""
    count = min((histogram.count for histogram in histograms), default=0)
    highest = 1 - BEYOND_MIN / count if count > 2 * BEYOND_MIN else 0.0
    if highest < 0.5:
        return (), ()
    decades = -math.log10(1 - highest)
    steps = max(2, math.ceil(decades * _POINTS_PER_DECADE))
    shares = [1 - 10 ** (-decades * step / steps) for step in range(1, steps + 1)]
    landmarks = [share for share in (0.5, 0.9, 0.95, 0.99, 0.999, 0.9999) if share <= highest]
    percentiles = tuple(sorted({round(100 * share, 7) for share in (*shares, *landmarks)}))
    return percentiles, tuple(
        max(histogram.percentile_ns(percentile) for histogram in histograms) / NS_PER_MS for percentile in percentiles
    )


def _merged(results: Sequence[LoadResult], details: Details, kind: str) -> list[Histogram]:
    """Samples of all trials; of end-to-end those of each subscription but late readers, as the figures have it."""
    whole: dict[str, Histogram] = {}
    for result in results:
        prompt = {reader.name for reader in prompt_readers(result)}
        late = {reader.name for reader in result.subscriptions} - prompt
        trial = details.get(result.spec.trial_id)
        for tag, histogram in trial.histograms.items() if trial is not None else ():
            series, _, subscription = tag.partition("/")
            if series == kind and subscription not in late:
                whole[tag] = add(whole.get(tag, EMPTY), histogram)
        # Whoever received nothing has no histogram, and must not be hidden by those that did.
        seen = {tag.partition("/")[2] for tag in whole}
        if kind == END_TO_END and prompt - seen and seen != {""}:
            whole.update({f"{kind}/{name}": EMPTY for name in prompt - seen})
    return list(whole.values())


def _system(block: Block, system: str, details: Details, kind: str) -> Series | None:
    """A system's usable trials merged; where all are INVALID those, named as such."""
    used = [load for load in block.usable(system) or block.of(system) if isinstance(load, LoadResult)]
    percentiles, latencies = curve(*_merged(used, details, kind))
    if not percentiles:
        return None
    label = "INVALID" if all(result.validity is Validity.INVALID for result in used) else ""
    return Series(system, label, percentiles, latencies)


def _description(meaning: str, series: Sequence[Series]) -> str:
    parts = []
    for line in series:
        at = dict(zip(line.x, line.y, strict=True))
        figures = ", ".join(
            f"p{percentile:g} {ms(at[percentile])} ms" for percentile in (50, 99, 99.9) if percentile in at
        )
        parts.append(f"{line.name}: {figures}")
    return f"Latency {meaning}; a flat line is steady, a steep end is a long tail. {'; '.join(parts)}."
