"""The measured window of a trial, second by second, from what was read back of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegauge.statistics.histograms import EMPTY, Histogram, add
from tidegauge.store.details import TrialDetails
from tidegauge.store.hlog import each_interval

SECONDS_MAX = 3600
"""Decoding a second's histogram takes a fraction of a millisecond: a report must not take minutes for a day of them."""
STRETCHES_MAX = 240
"""Histograms held at once; more would take memory and show no more."""


def window_rows(details: TrialDetails) -> list[Mapping[str, Any]]:
    """The rows of `seconds.parquet` that lie in the window; [] where they are not known."""
    if details.window_ns is None:
        return []
    begin, end = details.window_ns
    return [row for row in details.seconds if row["from_mono_ns"] >= begin and row["until_mono_ns"] <= end]


def response_by_stretch(details: TrialDetails) -> list[Histogram]:
    """Response times of equal stretches of the window, of a second each, or so many that there are `STRETCHES_MAX`.

    By when acknowledgements came. [] for a window of more than `SECONDS_MAX`, and where logs can't be read. A log
    counts, in ms, from its first interval, which is the first second with an acknowledgement.
    """
    rows = window_rows(details)
    base = next((row["from_mono_ns"] for row in details.seconds if row["acked_msgs"]), None)
    if base is None or not rows or len(rows) > SECONDS_MAX:
        return []
    seconds = -(-len(rows) // STRETCHES_MAX)
    stretch_of = {round((row["from_mono_ns"] - base) / 1e6): place // seconds for place, row in enumerate(rows)}
    found: dict[int, Histogram] = {}
    try:
        for interval in each_interval(details.trial.directory / "response.hlog"):
            stretch = _near(stretch_of, round(interval.start_s * 1000))
            if stretch is not None:
                found[stretch] = add(found.get(stretch, EMPTY), interval.histogram)
    except (OSError, ValueError, IndexError):
        return []
    return [found[stretch] for stretch in sorted(found)]


def _near(stretch_of: Mapping[int, int], start_ms: int) -> int | None:
    """The stretch of the second that begins then, as far as rounding allows."""
    return next((stretch_of[at] for at in (start_ms, start_ms - 1, start_ms + 1) if at in stretch_of), None)
